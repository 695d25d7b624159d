/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's prerequisites for ublk: io_uring, the driver, and its control device. core/serve
 * talks to that device. */
#include "kernel_nbd.h"
#include "kernel_sys.h"
#include "modules/modules.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define CONTROL     "dev/ublk-control"
#define ALTERNATIVE "or use export --nbd-dev"

/* 2 disables io_uring for all processes (Linux 6.6). */
static int check_io_uring(int root, struct diag *diag)
{
	char text[16];

	if (kernel_sys_read(root, text, sizeof(text), "proc/sys/kernel/io_uring_disabled") <= 0 ||
		text[0] != '2')
		return 0;
	diag_set(diag, DIAG_UNSUPPORTED, EPERM,
		"io_uring is disabled: kernel.io_uring_disabled is 2");
	return diag_hint(diag, "sysctl kernel.io_uring_disabled=0 (as root), %s", ALTERNATIVE);
}

static int no_control(int root, const char *why, struct diag *diag)
{
	if (kernel_sys_exists(root, "sys/module/ublk_drv") ||
		kernel_sys_exists(root, "sys/class/misc/ublk-control"))
		return diag_set(diag, DIAG_NO_DEVICE, ENOENT,
			"ublk_drv is loaded, but /dev/ublk-control is missing: is /dev a "
			"devtmpfs?");
	kernel_module_missing("ublk_drv", why, diag);
	return diag_hint(diag, "ublk needs Linux 6.5 or later with CONFIG_BLK_DEV_UBLK; export "
			       "--nbd-dev does not");
}

int kernel_ublk_open(int root, struct diag *diag)
{
	const char *why = NULL;
	int err = check_io_uring(root, diag), dev;

	if (err)
		return err;
	if (!kernel_sys_exists(root, CONTROL))
		why = kernel_module_load(root, "ublk_drv");
	if (!kernel_sys_exists(root, CONTROL))
		return no_control(root, why, diag);
	if (faccessat(root, CONTROL, R_OK | W_OK, AT_EACCESS) < 0) {
		diag_set(diag, DIAG_PERMISSION, errno, "no permission to open /dev/ublk-control");
		return diag_hint(diag, "run as root, %s", ALTERNATIVE);
	}
	dev = openat(root, "dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dev < 0 ? diag_sys(diag, errno, "open /dev") : dev;
}
