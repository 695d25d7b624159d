/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's drivers for block devices served from userspace: ublk and NBD. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stddef.h>

/* Load the ublk driver and return a descriptor of /dev with its control device. Errors name what is
 * missing (driver, control device, io_uring) and hint at --nbd-dev. */
int kernel_ublk_open(int root, struct diag *);

/* The kernel's NBD client, by generic netlink. The calls may block until the device's requests in
 * flight and other users of generic netlink are done, so never call them from a thread that serves
 * these requests. A child process talks to the kernel, so this process can always end. */
#define KERNEL_NBD_CONNECTIONS 16
#define KERNEL_NBD_ID_PREFIX   "rdmastor " /* of the backend identifiers of our devices */
struct kernel_nbd {
	/* N of /dev/nbdN; -1: the device with this id from an earlier run, else the first free one.
	 * Set to the device in use. */
	int index;
	uint64_t size;  /* bytes */
	uint32_t block; /* 512 … 4096 */
	uint16_t flags; /* NBD_FLAG_*, as nbd_server_flags() gives them */
	const int *fds; /* connected sockets; the kernel takes its own references */
	/* sockets to offer to an existing device; of them, connections of a new one */
	unsigned nfds, connections;
	/* A request that is not answered within this time closes its connection and is sent again
	 * over another. 0: the kernel waits as long as the connection lives, which requires a
	 * device with one connection (Linux 6.12, nbd_xmit_timeout()). */
	uint32_t timeout_s;
	/* with timeout_s 0: time until a request of a dead connection is sent again over the next
	 * one */
	uint32_t resend_s;
	uint32_t dead_s;     /* how long requests are held without a live connection */
	uint32_t longest;    /* bytes per request; 0: the driver's default */
	uint32_t timeout_ms; /* limit for the kernel to answer one call; 0: none */
	/* the device's backend identifier (Linux 5.14), by which a restarted process takes over its
	 * device; NULL: never */
	const char *id;
	/* Set if the device existed: it takes as many sockets as it has dead connections, perhaps
	 * none. */
	bool recovered;
};
int kernel_nbd_ready(int root, struct diag *); /* load the driver */
/* Connect a new device, or offer the sockets to the existing one. On return it can be opened.
 * -EINVAL: the existing device differs in size, block size or write cache. */
int kernel_nbd_connect(int root, struct kernel_nbd *, struct diag *);
/* Set `longest` and `resend_s` of a new device in sysfs. Waits for requests in flight, so call it
 * once the sockets are served. Best effort. */
void kernel_nbd_tune(int root, const struct kernel_nbd *);
/* Replace dead connections of device `index` by the sockets in fds. -ENODEV: disconnected. */
int kernel_nbd_renew(const struct kernel_nbd *, struct diag *);
/* Change the size; uses index, id, size, block. */
int kernel_nbd_resize(const struct kernel_nbd *, struct diag *);
/* Read the backend identifier of a connected device, "": none. -ENOENT: not connected. */
int kernel_nbd_backend(int root, unsigned index, char *text, size_t len);
/* Flush and disconnect a device; with an id, only if the device has it (else 0). -EBUSY: it is in
 * use, and the diag names its users; -ETIMEDOUT: the flush timed out; it stays connected then.
 * `force`: disconnect without these checks. */
int kernel_nbd_disconnect(
	int root, unsigned index, const char *id, bool force, uint32_t timeout_ms, struct diag *);
