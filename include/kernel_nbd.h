/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's drivers for block devices served from userspace: ublk and NBD. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Descriptor of /dev with the ublk driver loaded and its control device there; else which of
 * driver, control device, io_uring (kernel.io_uring_disabled) is missing, with the way round
 * (--nbd-dev). */
int kernel_ublk_open(int root, struct diag *);

/* The kernel's own NBD client, by generic netlink. These calls may wait for requests that the
 * device has in flight, and for what others ask of generic netlink: they are not for a thread that
 * answers those. The kernel is asked by a process of its own, so that the end of this one never
 * waits for it. */
#define KERNEL_NBD_CONNECTIONS 16
#define KERNEL_NBD_OURS        "rdmastor " /* what identifiers of ours begin with */
struct kernel_nbd {
	/* N of /dev/nbdN; -1 = the one a former run left (id), else the first free one; given: the
	 * one taken */
	int index;
	uint64_t size;  /* bytes */
	uint32_t block; /* 512 … 4096 */
	uint16_t flags; /* NBD_FLAG_*, as nbd_server_flags() gives them */
	const int *fds; /* connected sockets; the kernel keeps references of its own */
	/* offered to a device that exists; given to a new one, of these */
	unsigned nfds, connections;
	/* A request unanswered for so long takes its connection down with it and goes out again
	 * over another. 0 = the kernel waits for as long as the connection lives; that needs a
	 * device of one connection (Linux 6.12, nbd_xmit_timeout()). */
	uint32_t timeout_s;
	/* timeout_s 0: how soon a request that went down with its connection goes out again over
	 * the next one */
	uint32_t resend_s;
	uint32_t dead_s;     /* requests are held this long while no connection lives */
	uint32_t longest;    /* bytes of a request; 0 = as the driver likes */
	uint32_t timeout_ms; /* for the kernel to answer one call; 0 = as long as it takes */
	/* the device's backend identifier (Linux 5.14): a process started again takes its device
	 * over by it; NULL = never */
	const char *id;
	/* given: the device existed and was offered the sockets: it takes as many as it has dead
	 * connections, perhaps none */
	bool recovered;
};
int kernel_nbd_ready(int root, struct diag *); /* loads the driver */
/* Connects, or gives new sockets to, the device: it can be opened when this returns. */
int kernel_nbd_connect(int root, struct kernel_nbd *, struct diag *);
/* What a new device still needs and only /sys takes, `longest` and `resend_s`. Waits for requests
 * in flight: once the sockets are served. */
void kernel_nbd_tune(int root, const struct kernel_nbd *);
/* New sockets (fds) for the connections of device `index` that are dead. -ENODEV: it was
 * disconnected. */
int kernel_nbd_renew(const struct kernel_nbd *, struct diag *);
int kernel_nbd_resize(const struct kernel_nbd *, struct diag *); /* index, id, size, block */
/* The backend identifier of a device that is connected, "" = none; -ENOENT: it is not. */
int kernel_nbd_backend(int root, unsigned index, char *text, size_t len);
/* What others wrote to it is on its disk, then it is gone. -EBUSY with those named who hold it or
 * have it open, and -ETIMEDOUT when it does not take what is to be written: it stays. `force`: no
 * questions asked. With an id only the device that has it: another is none. */
int kernel_nbd_disconnect(
	int root, unsigned index, const char *id, bool force, uint32_t timeout_ms, struct diag *);
