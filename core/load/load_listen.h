/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The answering side: what a server knows of its clients, whatever they speak. */
#pragma once
#include "load.h"
#include "ways.h"

struct load_client { /* first member of each kind; its own loop's but for `next` */
	struct load_server *server;
	struct loop *loop;
	void (*begin)(struct load_client *); /* on its loop */
	void (*end)(struct load_client *);   /* load_client_gone() follows */
	struct loop_msg hello, bye;
	struct load_client *next;
	uint64_t memory; /* bytes it asked for */
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
	int empty; /* no client is left */
};

/* Deals it to a loop, where it begins. */
void load_client_add(struct load_server *, struct load_client *,
	void (*begin)(struct load_client *), void (*end)(struct load_client *));
/* The client touches nothing any more; it is freed soon. */
void load_client_gone(struct load_client *);
/* load_answer.c */
void load_answer(struct load_server *, struct ep_incoming *);
