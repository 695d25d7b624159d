/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Detach a process so that it survives switch_root and needs only the kernel: it releases
 * everything it inherited, and has its own root in memory with sysfs and proc. switch_root empties
 * an initramfs and moves /sys and /proc. */
#include "kernel_identity.h"
#include "kernel_process.h"
#include "kernel_sys.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLACE    "/dev" /* exists everywhere, and this process needs nothing in it */
#define FDS_MAX  65536
#define AREA_MAX (8 << 20)

static int fill(void)
{
	static const char *const of_kernel[][2] = { { "/sys", PLACE "/sys" },
		{ "/proc", PLACE "/proc" } };

	if (mount("rdmastor", PLACE, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		    "size=64k,mode=755"))
		return errno;
	for (unsigned i = 0; i < 2; i++)
		if (mkdir(of_kernel[i][1], 0555) ||
			mount(of_kernel[i][0], of_kernel[i][1], NULL, MS_BIND, NULL))
			return errno;
	return 0;
}

/* An initramfs can't be left by pivot_root, only covered. */
static int enter(void)
{
	if (chdir(PLACE))
		return errno;
	if (!syscall(SYS_pivot_root, ".", "."))
		return umount2(".", MNT_DETACH) ? errno : 0;
	if (mount(".", "/", NULL, MS_MOVE, NULL) || chroot("."))
		return errno;
	return 0;
}

static int own_root(struct diag *diag)
{
	int err = fill(), root;

	if (!err)
		err = enter();
	if (!err && chdir("/"))
		err = errno;
	if (err)
		return diag_sys(diag, err, "create a private root directory");
	root = kernel_root();
	return root < 0 ? diag_sys(diag, errno, "open /") : root;
}

static void close_except(const int *keep, unsigned count)
{
	long most = sysconf(_SC_OPEN_MAX);

	for (int fd = 3; fd < (most > 0 && most < FDS_MAX ? most : FDS_MAX); fd++) {
		bool listed = false;

		for (unsigned i = 0; i < count; i++)
			listed |= keep[i] == fd;
		if (!listed)
			close(fd);
	}
}

static void silence(int root)
{
	int null = openat(root, "dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < 3; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
	if (null > 2)
		close(null);
}

/* Replace the arguments and wipe the environment, which may contain a secret: fields 48 to 51 of
 * stat have their addresses (proc(5)). */
static void rename_process(int root, const char *name)
{
	char stat[1024], *at = program_invocation_name, *field;
	unsigned long begin, end, env, env_end;

	prctl(PR_SET_NAME, name);
	/* wipe strings outside that area, too: those with secrets were moved */
	for (char **var = environ; var && *var; var++)
		explicit_bzero(*var, strlen(*var));
	clearenv();
	if (kernel_sys_read(root, stat, sizeof(stat), "proc/self/stat") <= 0)
		return;
	field = strrchr(stat, ')');
	for (int i = 2; field && i < 48; i++)
		field = strchr(field + 1, ' ');
	if (!field || sscanf(field, " %lu %lu %lu %lu", &begin, &end, &env, &env_end) != 4 ||
		begin != (unsigned long)at || end < begin + 2 || env < end || env_end < env ||
		env_end - begin > AREA_MAX)
		return;
	explicit_bzero(at, env_end - begin);
	snprintf(at, end - begin, "@%s", name);
}

int kernel_detach_process(
	int root, const char *name, const int *keep, unsigned count, struct diag *diag)
{
	struct diag why = { 0 };
	bool mounts;
	int own;

	setsid();
	silence(root);
	close_except(keep, count);
	rename_process(root, name);
	kernel_survive(root, NULL, &mounts, diag);
	if (mounts)
		kernel_leave_mounts(root, NULL, 0); /* these mounts remain if pivot_root fails */
	own = mounts ? own_root(&why) : -EPERM;
	if (own >= 0)
		return own;
	if (diag && !diag->err)
		*diag = why;
	return root;
}
