/* SPDX-License-Identifier: MIT */
/*
 * Stands in for IGT's own igt.h when tests are built against the library that
 * distributions ship, which comes without headers.
 */
#ifndef IGT_H
#define IGT_H

#include "igt_api.h"

#endif /* IGT_H */
