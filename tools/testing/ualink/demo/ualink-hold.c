// SPDX-License-Identifier: MIT
/*
 * ualink-hold EXPORTS IMPORTS: the first accelerator exports so many objects of 64 KiB,
 * of which the second imports so many. Says "ready", and holds them until the end of
 * its input, so that others can have a look.
 */
#include <stdio.h>
#include <stdlib.h>

#include "accel.h"

#define SIZE	KIB(64)

int main(int argc, char **argv)
{
	unsigned int count, exports, imports;
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	struct accel *accels;
	int fd;

	if (argc != 3)
		die("usage: ualink-hold EXPORTS IMPORTS");
	exports = atoi(argv[1]);
	imports = atoi(argv[2]);

	accels = accel_scan(&count);
	if (count < 2 || !accel_same_pod(&accels[0], &accels[1]))
		die("there are no two accelerators of a pod");
	accel_open(&accels[0]);
	accel_open(&accels[1]);
	for (unsigned int i = 0; i < exports; i++) {
		must(accel_export(&accels[0], accel_bo(&accels[0], SIZE, 0), handle));
		if (i < imports)
			must(accel_import(&accels[1], handle, i, &fd));
	}
	printf("ready\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
