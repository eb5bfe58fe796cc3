/* SPDX-License-Identifier: MIT */
#ifndef TESTS_H
#define TESTS_H

#include <unistd.h>

#include "driver.h"

struct test {
	const char *name;
	void (*run)(void);
};

extern const struct test gpu_tests[], cp_tests[], fabric_tests[], link_tests[], fail_tests[];

/* Both GPUs of the pod; their accelerator ids are 1 and 2 */
extern struct device dev[2];
extern const char *dir;
/* What the emulator is to end with */
extern int exit_status;

void failed(const char *file, int line, const char *what);

#define CHECK(condition) ({ \
	bool check_ok = (condition); \
	if (!check_ok) \
		failed(__FILE__, __LINE__, #condition); \
	check_ok; \
})

#endif
