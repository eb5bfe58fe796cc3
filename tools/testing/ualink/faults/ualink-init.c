// SPDX-License-Identifier: MIT
/*
 * ualink-init [PROGRAM [ARGUMENTS...]] - process 1 of a machine that has nothing but
 * this: mounts what the other programs need, runs one, and starts the machine anew,
 * which ends an emulator that is told so. The first serial line is the kernel's. The
 * second one is the program's, so that no message of the kernel tears its lines; it
 * ends with "exit N".
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static void mount_one(const char *type, const char *path)
{
	mkdir(path, 0755);
	if (mount(type, path, type, 0, NULL) && errno != EBUSY)
		fprintf(stderr, "ualink-init: cannot mount %s: %s\n", path, strerror(errno));
}

static void mount_all(void)
{
	mount_one("devtmpfs", "/dev");
	mount_one("proc", "/proc");
	mount_one("sysfs", "/sys");
	mount_one("debugfs", "/sys/kernel/debug");
	mount_one("configfs", "/sys/kernel/config");
	mount_one("tmpfs", "/tmp");
}

static int run(char **argv)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		execv(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	while (pid > 0 && wait(&status) != pid)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void print_file(const char *path)
{
	char text[1024];
	FILE *file = fopen(path, "r");
	size_t size = file ? fread(text, 1, sizeof(text), file) : 0;

	fwrite(text, 1, size, stdout);
	if (file)
		fclose(file);
}

int main(int argc, char **argv)
{
	int status = 0;

	if (getpid() != 1)
		return 2;
	mount_all();
	if (!freopen("/dev/ttyS1", "w", stdout) || !freopen("/dev/ttyS1", "w", stderr))
		perror("/dev/ttyS1");
	setlinebuf(stdout);
	if (argc > 1)
		status = run(argv + 1);
	print_file("/sys/kernel/debug/kcsan");
	printf("exit %d\n", status);
	tcdrain(STDOUT_FILENO);
	reboot(RB_AUTOBOOT);
	return 1;
}
