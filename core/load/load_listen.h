/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The server and its clients, over sockets or RDMA. */
#pragma once
#include "admission.h"
#include "listener.h"
#include "load.h"

#define LOAD_IDLE_MS 30000 /* without a complete request, or without receiving an answer */

/* First member of each kind's struct. Used by its own loop except for the members marked. */
struct load_client {
	struct load_server *server;
	struct loop *loop;
	void (*begin)(struct load_client *); /* runs on its loop */
	void (*end)(struct load_client *);   /* load_client_ended() follows */
	struct loop_msg begin_msg, end_msg, evict_msg;
	/* used by the server's loop: */
	struct load_client *next;
	struct target_admission_entry place;
	uint64_t memory; /* bytes that it requested */
	bool removed;
	bool ended; /* used by its own loop */
};

struct load_server {
	struct loop *loop;
	struct listener listener;
	struct loop *const *loops;
	unsigned nloops, dealt;
	struct target_admission places; /* each address is a host */
	uint64_t memory;                /* of all clients, bytes */
	struct load_client *client;
	bool ping; /* clients are rping's */
	bool stopping;
	int empty; /* no clients are left */
};

/* Check whether another client from that address is admitted; may evict one to make room. */
bool load_client_room(struct load_server *, const struct addr *peer);
/* Assign the client to a loop, where `begin` runs; call load_client_room() first. Returns NULL, or
 * the reason why it was refused: then the caller frees it. */
const char *load_client_add(struct load_server *, struct load_client *, const struct addr *peer,
	void (*begin)(struct load_client *), void (*end)(struct load_client *));
/* Call when the client accesses nothing any more; it is freed later. */
void load_client_ended(struct load_client *);
/* load_answer.c */
void load_answer(struct load_server *, struct ep_incoming *);
