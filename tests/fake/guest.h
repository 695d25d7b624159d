/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A server of some protocol over a disk of tests/fake, and hosts of it that do exactly what a test
 * wants: one row per protocol, so that what must hold for all of them is tested once. Nothing here
 * waits: guest_poll() moves bytes, and the caller turns the loop. */
#pragma once
#include "bdev.h"

#define GUEST_HEARD 4096 /* of a read, what is kept */
#define GUEST_ALL   UINT32_MAX

struct guest_server {
	struct bdev *bdev;
	struct loop *loop;
	struct loop *const *loops;
	unsigned nloops;
	unsigned connections;     /* at once */
	uint32_t buffer, buffers; /* of one worker: bytes each, number */
	uint32_t stall_ms;
};

struct guest {
	const struct guest_kind *kind;
	unsigned host; /* its number: the same for all connections of one host */
	bool joined;   /* may ask */
	bool over;     /* the server has ended the connection */
	/* The test's: what it does not do. */
	bool deaf;     /* receives nothing */
	uint32_t give; /* bytes of written data that may still be sent; GUEST_ALL: no limit */
	unsigned asked, answered, failed; /* requests */
	uint8_t heard[GUEST_HEARD];       /* the start of what was read last */
};

struct guest_kind {
	const char *name;
	unsigned depth; /* requests that one guest may have */
	uint32_t most;  /* bytes of one */
	/* the server has a time limit for a guest that has not joined, for one that owes data, and
	 * for one that does not take its replies */
	bool open_limit, give_limit, take_limit;
	/* a host's next connection ends its earlier one, even if the FIN of that has not arrived
	 * yet */
	bool replaces;
	bool nameless;   /* a host is known by its address, and all guests have the same */
	const void *own; /* what the row's functions need */
	/* Frees nothing on -EINPROGRESS. */
	int (*start)(const struct guest_server *, struct diag *);
	int (*stop)(uint32_t timeout_ms, struct diag *);
	void (*count)(struct io_count *);
	unsigned (*connections)(void); /* that the server has now */
	struct guest *(*dial)(unsigned host);
	void (*leave)(struct guest *); /* hangs up and frees */
	void (*poll)(struct guest *, bool join);
	void (*read)(struct guest *, uint64_t off, uint32_t len);
	/* data stays until it is answered; all writes of a guest at one time have the same */
	void (*write)(struct guest *, uint64_t off, uint32_t len, const void *data);
};

/* The row of the program's tests. */
extern const struct guest_kind *guest_kind;

struct guest *guest_dial(unsigned host);
/* join: as far as it takes to ask; otherwise it stays silent */
void guest_poll(struct guest *, bool join);
void guest_leave(struct guest *); /* NULL is allowed */

/* A socket of a guest, for the rows. */
struct guest_wire {
	int fd;
	uint8_t out[1 << 16], in[1 << 16];
	size_t out_len, in_len;
};
void guest_wire_dial(struct guest_wire *, const struct addr *);
bool guest_wire_put(struct guest_wire *, const void *, size_t len); /* false: no room */
/* True: the other end has closed. */
bool guest_wire_poll(struct guest_wire *, bool deaf);
void guest_wire_drop(struct guest_wire *, size_t len); /* that was understood */
