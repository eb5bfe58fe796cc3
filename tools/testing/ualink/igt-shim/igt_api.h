/* SPDX-License-Identifier: MIT */
/*
 * Declarations of that part of libigt.so.0 which the UALink tests use.
 *
 * The library's soname has not changed since it has one, and what is declared
 * here is the same in 1.27, 2.0 and 2.5. The spelling of the macros is that of
 * the current tree (igt_main() and igt_fixture() take parentheses), so that the
 * tests build unchanged inside of it, with its own igt.h.
 *
 * Not here, because they differ between versions of the library: igt_ioctl
 * (thread-local or not), drm_close_driver(), anything of KMS.
 */
#ifndef IGT_API_H
#define IGT_API_H

#include <errno.h>
#include <getopt.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

enum igt_log_level {
	IGT_LOG_DEBUG,
	IGT_LOG_INFO,
	IGT_LOG_WARN,
	IGT_LOG_CRITICAL,
	IGT_LOG_NONE,
};

typedef int (*igt_opt_handler_t)(int opt, int opt_index, void *data);
typedef void (*igt_exit_handler_t)(int sig);

#define ARRAY_SIZE(arr)		(sizeof(arr) / sizeof((arr)[0]))

#define IGTA_PRINTF(f, a)	__attribute__((format(printf, f, a)))
#define IGTA_NORETURN		__attribute__((noreturn))

/* Entry and exit */
void igt_subtest_init_parse_opts(int *argc, char **argv, const char *short_opts,
				 const struct option *long_opts, const char *help,
				 igt_opt_handler_t handler, void *data);
IGTA_NORETURN void igt_exit(void);
void igt_install_exit_handler(igt_exit_handler_t fn);

/* Control flow; the jump buffer is the library's. */
extern sigjmp_buf igt_subtest_jmpbuf;
bool __igt_fixture(void);
void __igt_fixture_complete(void);
bool __igt_run_subtest(const char *name, const char *file, const int line);
void __igt_subtest_group_save(int *save, int *desc);
void __igt_subtest_group_restore(int save, int desc);

/* Results */
void igt_success(void);
IGTA_NORETURN IGTA_PRINTF(5, 6)
void __igt_skip_check(const char *file, const int line, const char *func,
		      const char *check, const char *fmt, ...);
IGTA_NORETURN IGTA_PRINTF(6, 7)
void __igt_fail_assert(const char *domain, const char *file, const int line,
		       const char *func, const char *assertion,
		       const char *fmt, ...);
IGTA_PRINTF(1, 2)
void igt_describe_f(const char *fmt, ...);
IGTA_PRINTF(3, 4)
void igt_log(const char *domain, enum igt_log_level level, const char *fmt, ...);

/* Processes */
bool __igt_fork(void);
int __igt_waitchildren(void);
void igt_waitchildren(void);
void igt_waitchildren_timeout(int seconds, const char *reason);
void igt_kill_children(int signal);

/* Devices, debugfs and sysfs */
int igt_debugfs_dir(int fd);
int igt_sysfs_open(int fd);

#define IGT_TEST_DESCRIPTION(text) \
	const char *__igt_test_description = text

#define IGTA_CAT_(a, b)		a ## b
#define IGTA_CAT(a, b)		IGTA_CAT_(a, b)
#define IGTA_ID(stem)		IGTA_CAT(igta_ ## stem ## _, __LINE__)
#ifndef IGT_LOG_DOMAIN
#define IGT_LOG_DOMAIN		NULL
#endif

/* int igt_main() { ... } */
#define igt_main()							\
	main(int argc, char **argv)					\
	{								\
		extern void IGTA_ID(body)(void);			\
									\
		igt_subtest_init_parse_opts(&argc, argv, NULL, NULL,	\
					    NULL, NULL, NULL);		\
		IGTA_ID(body)();					\
		igt_exit();						\
	}								\
	void IGTA_ID(body)(void)

/*
 * A failing or skipping fixture jumps here from within the library, which has
 * then done what __igt_fixture_complete() does: leave the loop at once.
 */
#define igt_fixture()							\
	for (volatile int IGTA_ID(once) = 0;				\
	     !IGTA_ID(once) && __igt_fixture() &&			\
	     !sigsetjmp(igt_subtest_jmpbuf, 1);				\
	     IGTA_ID(once) = 1, __igt_fixture_complete())

/*
 * The library leaves a subtest by siglongjmp(): igt_success(), at the end of
 * the first turn, does so too, and the test before the second turn ends the
 * loop. The name is evaluated once for each turn.
 */
#define IGTA_RUN(name)	__igt_run_subtest(name, __FILE__, __LINE__)
#define igt_subtest(name)						\
	for (; IGTA_RUN(name) && !sigsetjmp(igt_subtest_jmpbuf, 1);	\
	     igt_success())
#define igt_subtest_f(...)						\
	for (char IGTA_ID(name)[256];					\
	     snprintf(IGTA_ID(name), sizeof(IGTA_ID(name)),		\
		      __VA_ARGS__),					\
	     IGTA_RUN(IGTA_ID(name)) &&					\
	     !sigsetjmp(igt_subtest_jmpbuf, 1);				\
	     igt_success())
#define igt_subtest_group()						\
	for (int IGTA_ID(once) = 0, IGTA_ID(save) = 0, IGTA_ID(desc) = 0; \
	     !IGTA_ID(once) &&						\
	     (__igt_subtest_group_save(&IGTA_ID(save), &IGTA_ID(desc)), 1); \
	     IGTA_ID(once) = 1,						\
	     __igt_subtest_group_restore(IGTA_ID(save), IGTA_ID(desc)))
#define igt_describe(text)	igt_describe_f("%s", text)

#define igt_fork(child, n)						\
	for (int child = 0; child < (n); child++)			\
		for (; __igt_fork(); exit(0))

#define igt_debug(...)	igt_log(IGT_LOG_DOMAIN, IGT_LOG_DEBUG, __VA_ARGS__)
#define igt_info(...)	igt_log(IGT_LOG_DOMAIN, IGT_LOG_INFO, __VA_ARGS__)
#define igt_warn(...)	igt_log(IGT_LOG_DOMAIN, IGT_LOG_WARN, __VA_ARGS__)

/* The message may be NULL. */
#define IGTA_FAIL(text, ...)						\
	__igt_fail_assert(IGT_LOG_DOMAIN, __FILE__, __LINE__, __func__,	\
			  text, __VA_ARGS__)
#define IGTA_SKIP(text, ...)						\
	__igt_skip_check(__FILE__, __LINE__, __func__, text, __VA_ARGS__)

#define igt_assert(e)							\
	do {								\
		if (!(e))						\
			IGTA_FAIL(#e, NULL);				\
	} while (0)
#define igt_assert_f(e, ...)						\
	do {								\
		if (!(e))						\
			IGTA_FAIL(#e, __VA_ARGS__);			\
	} while (0)
#define igt_require(e)							\
	do {								\
		if (!(e))						\
			IGTA_SKIP(#e, NULL);				\
	} while (0)
#define igt_require_f(e, ...)						\
	do {								\
		if (!(e))						\
			IGTA_SKIP(#e, __VA_ARGS__);			\
	} while (0)

#define IGTA_CMP(type, fmt, a, op, b)					\
	do {								\
		type igta_a = (a), igta_b = (b);			\
									\
		if (!(igta_a op igta_b))				\
			IGTA_FAIL(#a " " #op " " #b,			\
				  "got " fmt ", not " #op " " fmt "\n",	\
				  igta_a, igta_b);			\
	} while (0)
#define igt_assert_eq(a, b)	IGTA_CMP(int, "%d", a, ==, b)
#define igt_assert_neq(a, b)	IGTA_CMP(int, "%d", a, !=, b)
#define igt_assert_lt(a, b)	IGTA_CMP(int, "%d", a, <, b)
#define igt_assert_lte(a, b)	IGTA_CMP(int, "%d", a, <=, b)
#define igt_assert_eq_u32(a, b)	\
	IGTA_CMP(unsigned int, "%#x", a, ==, b)
#define igt_assert_neq_u32(a, b) \
	IGTA_CMP(unsigned int, "%#x", a, !=, b)
#define igt_assert_eq_u64(a, b)	\
	IGTA_CMP(unsigned long long, "%#llx", a, ==, b)
#define igt_assert_neq_u64(a, b) \
	IGTA_CMP(unsigned long long, "%#llx", a, !=, b)
#define igt_assert_lt_u64(a, b)	\
	IGTA_CMP(unsigned long long, "%#llx", a, <, b)
#define igt_assert_lte_u64(a, b) \
	IGTA_CMP(unsigned long long, "%#llx", a, <=, b)
#define igt_assert_fd(fd)	\
	igt_assert_f((fd) >= 0, "file descriptor " #fd " is %d\n", (fd))

#endif /* IGT_API_H */
