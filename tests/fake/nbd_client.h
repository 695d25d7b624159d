/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* For the tests of the NBD server: a client of it that says every byte itself. The server runs
 * whenever the client waits. */
#pragma once
#include "disk.h"
#include "nbd_server.h"
#include "wire/nbd.h"

#define MSEC   1000000ull
#define BUFFER 65536
#define SIZE   (4u << 20) /* of the disk */

struct client {
	struct loop *loop;
	struct fake_disk *disk;
	struct nbd_server *server;
	struct diag diag;
	char path[64];        /* of the socket */
	int fd;               /* -1: closed by the test */
	uint8_t in[6u << 20]; /* what came */
	size_t len;
};

/* server, disk, and one client before its handshake */
struct client *client_set(uint32_t block, uint32_t slots, bool ro);
struct client *client_set_hello(uint32_t block, uint32_t slots, bool ro, uint32_t handshake_ms);
int client_strike(struct client *); /* frees all; what nbd_server_stop() gave */
int client_dial(struct client *);   /* another connection */
void client_turns(struct client *, unsigned ms);
/* until that many bytes have come, or none come any more */
size_t client_hear(struct client *, size_t bytes);
bool client_closed(struct client *);
void client_say(struct client *, const void *, size_t len);
void client_option(struct client *, uint32_t code, const void *data, uint32_t len);
void client_hello(struct client *, bool structured); /* the whole handshake */
void client_ask(
	struct client *, uint16_t type, uint16_t flags, uint8_t cookie, uint64_t off, uint32_t len);
/* of the simple reply there; its cookie must fit */
uint32_t client_simple_error(const struct client *, size_t at, uint8_t cookie);

struct client_chunk { /* of a structured reply */
	uint16_t flags, type;
	uint8_t cookie;
	uint32_t len;
	const uint8_t *data;
};
struct client_chunk client_next_chunk(struct client *);
uint32_t client_chunk_error(struct client *);

static inline unsigned nbd_clients(const struct nbd_server *server)
{
	struct target_status status;

	nbd_server_get_status(server, &status);
	return status.clients;
}
