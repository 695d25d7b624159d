/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The answering side: a server and its clients, of any protocol. */
#pragma once
#include "load.h"
#include "ways.h"

struct load_client { /* first member of each kind's struct; used only by its own loop, except for
			`next` */
	struct load_server *server;
	struct loop *loop;
	void (*begin)(struct load_client *); /* runs on its loop */
	void (*end)(struct load_client *);   /* load_client_gone() follows */
	struct loop_msg hello, bye;
	struct load_client *next;
	uint64_t memory; /* bytes that it requested */
	bool gone;
};

struct load_server {
	struct loop *loop;
	struct ways ways;
	struct loop *const *loops;
	unsigned nloops, dealt, clients;
	uint64_t memory; /* of all clients, bytes */
	struct load_client *client;
	bool ping; /* clients are rping's */
	bool stopping;
	int empty; /* no clients are left */
};

/* Assign the client to a loop, where `begin` runs. */
void load_client_add(struct load_server *, struct load_client *,
	void (*begin)(struct load_client *), void (*end)(struct load_client *));
/* The client accesses nothing any more; it is freed soon. */
void load_client_gone(struct load_client *);
/* load_answer.c */
void load_answer(struct load_server *, struct ep_incoming *);
