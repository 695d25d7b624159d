/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NBD server: exports over TCP, unix sockets, and sockets of the kernel's NBD client. */
#pragma once
#include "bdev.h"
#include "serve.h"
#include "tls.h"

#define NBD_EXPORTS     16
#define NBD_LISTENS     8
#define NBD_SOCKET_MODE 0600

struct nbd_export {
	const char *name; /* the first export is also the default export "" */
	const char *description;
	struct bdev *bdev;
	bool ro;
};

/* Strings, bdevs, credentials and loops must outlive the server. */
struct nbd_options {
	struct nbd_export export[NBD_EXPORTS];
	unsigned exports;
	struct addr listen[NBD_LISTENS];
	unsigned listens;
	struct target_allows allows; /* over TCP */
	struct tls_creds *tls;       /* all clients must use TLS; NULL: without it */
	unsigned mode;               /* of a unix socket; 0: NBD_SOCKET_MODE */
	unsigned clients;            /* limit of connections; 0: 64 */
	uint32_t handshake_ms;       /* timeout of the handshake; 0: 10 s */
	/* Bytes of a data buffer (0: 256 KiB); requests in flight of one client (0: 32). The
	 * clients of a worker share 4/3 as many buffers. */
	uint32_t buffer, slots;
	/* A client was refused because of the limits; called at most every 10 s, on the caller's
	 * loop. May be NULL. */
	void (*full)(const struct diag *why, void *user);
	void *user;
	/* loops of the workers, at least one; the first may be the caller's */
	struct loop *const *loops;
	unsigned nloops;
};

struct nbd_server;
/* Open one lane per export and worker, and listen, without waiting for an address to exist. A stale
 * unix socket is replaced; -EADDRINUSE: a server uses it. Functions run on the caller's loop. */
int nbd_server_start(
	struct nbd_server **, struct loop *, const struct nbd_options *, struct diag *);
/* Return the bound address, and the NBD URI of an export on it. */
const struct addr *nbd_server_addr(const struct nbd_server *, unsigned listen);
const char *nbd_server_scheme(const struct nbd_server *); /* "nbd" or "nbds" */
void nbd_server_uri(
	const struct nbd_server *, unsigned listen, unsigned export, char text[URI_MAX]);
void nbd_server_get_status(const struct nbd_server *, struct target_status *);
/* A connection whose client has opened an export. */
struct nbd_served_client {
	const struct nbd_export *export;
	const struct addr *address; /* AF_UNIX: of no use, but pid and uid are set */
	pid_t pid;                  /* 0: unknown */
	uid_t uid;
	/* of TLS: the cipher suite (NULL: without TLS), whether a pre-shared key was used, and its
	 * user, or the subject of the client's certificate; "": it has none */
	const char *cipher;
	bool psk;
	const char *identity;
};
typedef void nbd_each_client(const struct nbd_served_client *, void *arg);
/* Call it for each of them, the newest first. */
void nbd_server_each_client(const struct nbd_server *, nbd_each_client *, void *arg);
int nbd_server_stop(struct nbd_server *, uint32_t timeout_ms, struct diag *); /* as target_stop() */
/* Called once, on the server's loop, when the connection has ended and the disk has no request of
 * it, also while the server stops. goodbye: the client has sent NBD_CMD_DISC. */
struct nbd_adopted {
	void (*closed)(struct nbd_adopted *, bool goodbye);
};
/* Serve a connected, non-blocking socket without a handshake, with simple replies (the kernel's nbd
 * driver). `allows` does not apply, nor `clients` if the server does not listen. The descriptor is
 * consumed, also on failure. */
int nbd_server_adopt(struct nbd_server *, unsigned export, int fd, const char *peer,
	struct nbd_adopted *, struct diag *);
/* Return the transmission flags (NBD_FLAG_*) for such a client. */
uint16_t nbd_server_flags(const struct nbd_server *, unsigned export);
