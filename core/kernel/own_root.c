/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A root of one's own for a process that needs the kernel alone: a file system in memory with sysfs and proc in it. Whatever becomes of the
 * one it was started in (switch_root empties an initramfs, and moves /sys and /proc), paths lead to the kernel. */
#include "kernel.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLACE "/dev" /* there is one everywhere, and this process needs nothing in it */

static int fill(void)
{
	static const char *const of_kernel[][2] = { { "/sys", PLACE "/sys" }, { "/proc", PLACE "/proc" } };

	if (mount("rdmastor", PLACE, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=64k,mode=755"))
		return errno;
	for (unsigned i = 0; i < 2; i++)
		if (mkdir(of_kernel[i][1], 0555) || mount(of_kernel[i][0], of_kernel[i][1], NULL, MS_BIND, NULL))
			return errno;
	return 0;
}

/* The root of an initramfs cannot be left, but covered. */
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

int kernel_own_root(struct diag *diag)
{
	int err = fill(), root;

	if (!err)
		err = enter();
	if (!err && chdir("/"))
		err = errno;
	if (err)
		return diag_sys(diag, err, "a root directory of its own");
	root = kernel_root();
	return root < 0 ? diag_sys(diag, errno, "open /") : root;
}
