/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A disk as local block device /dev/nbdN: socket pairs connect the kernel's nbd driver to the NBD
 * server. */
#pragma once
#include "nbd_server.h"

struct nbd_dev;
/* Strings, server and bdev must outlive the device. */
struct nbd_dev_options {
	int root; /* descriptor of "/" */
	struct nbd_server *server;
	unsigned export;   /* index of the export in the server */
	struct bdev *bdev; /* the bdev of that export */
	int index; /* N; -1: the device of an earlier run with this id, otherwise a new one */
	/* 0: 1. With several, the kernel closes a connection after hold_ms and half a minute
	 * without a reply, and sends the request over another. With one there is no timeout. */
	unsigned connections;
	uint32_t buffer; /* limit of the server for one request, bytes */
	/* time for which the disk holds requests without a path, and the kernel without a server;
	 * UINT32_MAX: no limit */
	uint32_t hold_ms;
	uint32_t timeout_ms; /* limit to become ready; 0: none */
	/* identifies the disk, so that a restarted process takes over its device; NULL: never */
	const char *id;
	/* On the caller's loop: another process (`detach`) has disconnected the device. There is
	 * nothing left to stop. */
	void (*ended)(struct nbd_dev *, void *user);
	void *user;
};

/* Connect the device, on the server's loop, which it runs. After success it can be opened. -EBUSY:
 * another process serves it. Call nbd_dev_free() after a failure, too. */
int nbd_dev_start(struct nbd_dev **, struct loop *, const struct nbd_dev_options *, struct diag *);
void nbd_dev_changed(struct nbd_dev *); /* call after bdev->lim.size has changed */
unsigned nbd_dev_index(const struct nbd_dev *);
unsigned nbd_dev_connections(const struct nbd_dev *); /* connections alive now */
bool nbd_dev_recovered(const struct nbd_dev *); /* whether it was taken over from an earlier run */
/* Call before the server stops; runs the loop. Flushes the device to the disk and removes it.
 * -EBUSY: it is in use, see the diag, and stays served. After any other failure it is left for a
 * later run. */
int nbd_dev_stop(struct nbd_dev *, uint32_t timeout_ms, struct diag *);
/* Call before the server stops, also after nbd_dev_stop(): no new connections are made, and a
 * device that still exists waits for a later run. -EINPROGRESS: the kernel did not answer a
 * command; the process has to end. */
int nbd_dev_leave(struct nbd_dev *, uint32_t timeout_ms, struct diag *);
void nbd_dev_free(struct nbd_dev *); /* call after the server has stopped */
