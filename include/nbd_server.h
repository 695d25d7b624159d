/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NBD server: disks as exports, over TCP, unix sockets, and sockets of the kernel's client. */
#pragma once
#include "bdev.h"
#include "diag.h"
#include "loop.h"
#include "serve.h"
#include "uri.h"

#define NBD_EXPORTS 16
#define NBD_LISTENS 8
#define NBD_ALLOWS  32

struct nbd_export {
	const char *name; /* the first export answers to "" as well */
	const char *description;
	struct bdev *bdev;
	bool ro;
};

struct nbd_allow { /* who may connect over TCP: a network, or one address */
	struct addr net;
	uint8_t prefix; /* bits */
};
/* "10.0.0.0/8", "fd00::1" */
int nbd_allow_parse(struct nbd_allow *, const char *text, struct diag *);

/* Strings, bdevs and loops outlive the server. */
struct nbd_options {
	struct nbd_export export[NBD_EXPORTS];
	unsigned exports;
	struct addr listen[NBD_LISTENS];
	unsigned listens;
	struct nbd_allow allow[NBD_ALLOWS];
	unsigned allows;   /* 0 = everybody */
	unsigned mode;     /* of a unix socket; 0 = 0600 */
	unsigned clients;  /* most at once; 0 = 64 */
	uint32_t hello_ms; /* for a client's handshake; 0 = 10 s */
	/* bytes of a data buffer (0 = 256 KiB), requests in work of one client (0 = 32); a worker
	 * has buffers for 4/3 of that, which its clients share */
	uint32_t buffer, slots;
	/* A client was refused for want of a place; at most every 10 s, on the caller's loop. May
	 * be NULL. */
	void (*full)(const struct diag *why, void *user);
	void *user;
	/* workers, each given connections for life; at least one; the first may be the caller's */
	struct loop *const *loops;
	unsigned nloops;
};

struct nbd_server;
/* Binds and listens (a stale unix socket is replaced, a live one is EADDRINUSE). On the caller's
 * loop. Opens one lane per export and worker. */
int nbd_server_start(
	struct nbd_server **, struct loop *, const struct nbd_options *, struct diag *);
/* The address as bound ("[::]:10809", a port chosen by the kernel), and the NBD URI of an export on
 * it. */
const struct addr *nbd_server_addr(const struct nbd_server *, unsigned listen);
void nbd_server_uri(
	const struct nbd_server *, unsigned listen, unsigned export, char text[URI_MAX]);
void nbd_server_get_status(const struct nbd_server *, struct target_status *);
int nbd_server_stop(struct nbd_server *, uint32_t timeout_ms, struct diag *); /* target_stop() */
/* A connected, non-blocking socket whose other end knows the export already (the kernel's nbd
 * driver): served without a handshake, simple replies, no limit by `allow`, nor by `clients` if the
 * server does not listen. Takes the descriptor, also when it fails. `over` comes once on the
 * server's loop when nothing of it is with the disk any more, also while the server stops;
 * `goodbye`: the other end has said that it wants no more (NBD_CMD_DISC). */
struct nbd_adopted {
	void (*over)(struct nbd_adopted *, bool goodbye);
};
int nbd_server_adopt(struct nbd_server *, unsigned export, int fd, const char *peer,
	struct nbd_adopted *, struct diag *);
/* The transmission flags such a peer must be told (NBD_FLAG_*). */
uint16_t nbd_server_flags(const struct nbd_server *, unsigned export);
