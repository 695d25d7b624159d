/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A server of some protocol over a disk of tests/fake, and its clients, controlled by the test.
 * Each protocol has one struct frame_kind, so that one set of tests covers all of them. No function
 * blocks: frame_client_poll() moves bytes, and the caller runs the loop. */
#pragma once
#include "bdev.h"

#define FRAME_READ_MAX 4096 /* bytes of a read that are kept */
#define FRAME_ALL      UINT32_MAX

struct frame_server {
	struct bdev *bdev;
	struct loop *loop;
	struct loop *const *loops;
	unsigned nloops;
	unsigned connections;     /* at once */
	uint32_t buffer, buffers; /* of one worker: bytes each, number */
	uint32_t stall_ms;
};

struct frame_client {
	const struct frame_kind *kind;
	unsigned host; /* number of its host; a host can have several connections */
	bool joined;   /* logged in: may send requests */
	bool over;     /* the server has ended the connection */
	/* Set by the test: */
	bool deaf;     /* receives nothing */
	uint32_t give; /* bytes of written data that may still be sent; FRAME_ALL: no limit */
	unsigned asked, answered, failed;  /* requests */
	uint8_t read_data[FRAME_READ_MAX]; /* the start of what was read last */
};

struct frame_kind {
	const char *name;
	unsigned depth; /* requests that one client may have */
	uint32_t most;  /* bytes of one */
	/* the server has a time limit for clients that have not joined, that owe data, and that do
	 * not receive their replies */
	bool open_limit, give_limit, take_limit;
	/* a new connection of a host ends its earlier one, even before the server sees that the
	 * host closed it */
	bool replaces;
	bool nameless;   /* a host is known by its address, and all clients have the same */
	const void *own; /* private data of the functions below */
	/* stop: on -EINPROGRESS nothing is freed. */
	int (*start)(const struct frame_server *, struct diag *);
	int (*stop)(uint32_t timeout_ms, struct diag *);
	void (*count)(struct io_count *);
	unsigned (*connections)(void); /* open ones of the server */
	struct frame_client *(*dial)(unsigned host);
	void (*leave)(struct frame_client *); /* closes the connection and frees it */
	void (*poll)(struct frame_client *, bool join);
	void (*read)(struct frame_client *, uint64_t off, uint32_t len);
	/* data must stay until the answer; concurrent writes of a client use the same data */
	void (*write)(struct frame_client *, uint64_t off, uint32_t len, const void *data);
};

/* The protocol under test. */
extern const struct frame_kind *frame_kind;

struct frame_client *frame_client_dial(unsigned host);
/* join: log in, so that it may send requests; otherwise it stays silent */
void frame_client_poll(struct frame_client *, bool join);
void frame_client_leave(struct frame_client *); /* NULL is allowed */

/* A socket of a client, for implementations of struct frame_kind. */
struct frame_wire {
	int fd;
	uint8_t out[1 << 16], in[1 << 16];
	size_t out_len, in_len;
};
void frame_wire_dial(struct frame_wire *, const struct addr *);
bool frame_wire_put(struct frame_wire *, const void *, size_t len); /* false: no room */
/* True: the other end has closed. */
bool frame_wire_poll(struct frame_wire *, bool deaf);
void frame_wire_drop(struct frame_wire *, size_t len); /* that was understood */
