/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A disk as /dev/nbdN of this kernel: the kernel's nbd driver at one end of socket pairs, the NBD
 * server at the other. */
#pragma once
#include "nbd_server.h"

struct nbd_dev;
/* Strings, server and bdev outlive the device. */
struct nbd_dev_options {
	int root; /* descriptor of "/" */
	struct nbd_server *server;
	unsigned export;   /* of the server */
	struct bdev *bdev; /* the export's */
	int index;         /* N; -1 = the device a former run left with this id, else a new one */
	/* 0 = 1: only that one is waited for without end. A request on one of several that stays
	 * unanswered for hold_ms and half a minute takes its connection down and goes out again
	 * over another. */
	unsigned connections;
	uint32_t buffer; /* the server's, of one request: longer ones are not asked for */
	/* how long the disk holds requests while it has no path, and the kernel while nobody serves
	 * it; UINT32_MAX = for ever */
	uint32_t hold_ms;
	uint32_t timeout_ms; /* to get ready; 0 = as long as it takes */
	/* what is behind it: a process started again takes its device over by it; NULL = never */
	const char *id;
	/* The device is gone though nobody here stopped it (`detach`): nbd_dev_stop() is due. On
	 * the caller's loop. */
	void (*ended)(struct nbd_dev *, void *user);
	void *user;
};

/* On the server's loop, which it runs meanwhile. The device can be opened when this returns.
 * -EBUSY: it is served by another process. nbd_dev_free() is due after a failure too. */
int nbd_dev_start(struct nbd_dev **, struct loop *, const struct nbd_dev_options *, struct diag *);
void nbd_dev_changed(struct nbd_dev *); /* bdev->lim.size is new */
unsigned nbd_dev_index(const struct nbd_dev *);
unsigned nbd_dev_connections(const struct nbd_dev *); /* alive now */
bool nbd_dev_recovered(const struct nbd_dev *);       /* taken over from a former run */
/* Before the server stops; runs the loop. What others wrote to the device is with the disk then,
 * and the device gone. -EBUSY: it is held, by whom the diag says, and served on. After any other
 * failure it is left as it is, for a run to come. */
int nbd_dev_stop(struct nbd_dev *, uint32_t timeout_ms, struct diag *);
/* Before the server stops, also after nbd_dev_stop(): no connection is made any more, and a device
 * that is still there waits for a run to come. -EINPROGRESS: the kernel did not answer what it was
 * asked, and the process is to end. */
int nbd_dev_leave(struct nbd_dev *, uint32_t timeout_ms, struct diag *);
void nbd_dev_free(struct nbd_dev *); /* after the server has stopped */
