/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The answering side: a server and its clients, of any protocol. */
#pragma once
#include "load.h"
#include "places.h"
#include "ways.h"

#define LOAD_IDLE_MS 30000 /* without a whole request, or without taking an answer */

struct load_client { /* first member of each kind's struct; used by its own loop, but for what says
			otherwise */
	struct load_server *server;
	struct loop *loop;
	void (*begin)(struct load_client *); /* runs on its loop */
	void (*end)(struct load_client *);   /* load_client_gone() follows */
	struct loop_msg hello, bye, evict;
	/* on the server's loop */
	struct load_client *next;
	struct target_place place;
	uint64_t memory; /* bytes that it requested */
	bool left;
	bool gone; /* on its own loop */
};

struct load_server {
	struct loop *loop;
	struct ways ways;
	struct loop *const *loops;
	unsigned nloops, dealt;
	struct target_places places; /* each address is a host */
	uint64_t memory;             /* of all clients, bytes */
	struct load_client *client;
	bool ping; /* clients are rping's */
	bool stopping;
	int empty; /* no clients are left */
};

/* Whether there is a place for another client from that address; makes room for it. */
bool load_client_room(struct load_server *, const struct addr *peer);
/* Assign the client to a loop, where `begin` runs; needs load_client_room(). Not NULL: why not; the
 * client is the caller's to free. */
const char *load_client_add(struct load_server *, struct load_client *, const struct addr *peer,
	void (*begin)(struct load_client *), void (*end)(struct load_client *));
/* The client accesses nothing any more; it is freed soon. */
void load_client_gone(struct load_client *);
/* load_answer.c */
void load_answer(struct load_server *, struct ep_incoming *);
