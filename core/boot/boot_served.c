/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Block devices that processes of this machine serve, as far as the drivers confirm them. */
#include "attach_boot.h"
#include "export.h"
#include "kernel_nbd.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_MS 1000 /* for a process to report what it serves */

struct driver {
	int root, dev; /* of ublk_query(); -1: not opened yet */
	struct loop *loop;
};

/* The pid of an NBD device is that of the process that connected it, which may be gone. Only root
 * can connect one. */
static bool driver_confirms(struct driver *driver, const char *device, int pid)
{
	char backend[600];
	struct ublk_info info;
	unsigned number;
	char end;

	if (sscanf(device, "/dev/nbd%u%c", &number, &end) == 1)
		return !kernel_nbd_backend(driver->root, number, backend, sizeof(backend)) &&
		       !strncmp(backend, KERNEL_NBD_ID_PREFIX, strlen(KERNEL_NBD_ID_PREFIX));
	if (sscanf(device, "/dev/ublkb%u%c", &number, &end) != 1)
		return false;
	if (driver->dev < 0)
		driver->dev = kernel_ublk_open(driver->root, NULL);
	return driver->dev >= 0 && !ublk_query(driver->dev, driver->loop, number, &info, NULL) &&
	       info.live && info.pid == pid;
}

int boot_find_served(int root, struct loop *loop, struct kernel_serving *serving, struct diag *diag)
{
	struct driver driver = { .root = root, .dev = -1, .loop = loop };
	int err = kernel_serving_trusted(root, loop, ANSWER_MS, serving, diag);

	for (unsigned i = 0; i < serving->processes; i++) {
		const struct serving_process *process = &serving->process[i];

		for (unsigned j = 0; j < process->fronts; j++)
			for (unsigned k = 0; k < process->front[j].disks; k++) {
				char *device = process->front[j].disk[k].device;

				if (device[0] && !driver_confirms(&driver, device, process->pid))
					device[0] = 0;
			}
	}
	if (driver.dev >= 0)
		close(driver.dev);
	return err;
}
