/* SPDX-License-Identifier: MIT */
/*
 * Of IGT's igt_kmod.h, what the UALink tests use. The library of 1.27 does not have
 * it yet, see igt-build.sh.
 */
#ifndef IGT_KMOD_H
#define IGT_KMOD_H

void igt_kunit(const char *module_name, const char *suite, const char *opts);

#endif /* IGT_KMOD_H */
