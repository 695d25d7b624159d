/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Host names to addresses without blocking a loop: getaddrinfo() runs on a few threads of the
 * process, one per name. The last address of each name is kept: it is used again until
 * resolve_doubt(), and afterwards if a new lookup fails. */
#pragma once
#include "loop.h"
#include "uri.h"

#define RESOLVE_THREADS  4    /* at most, per process; further names wait for one */
#define RESOLVE_NAMES    32   /* kept or being looked up; -EBUSY when all are being looked up */
#define RESOLVE_AGAIN_MS 1000 /* a doubted address is used when a new lookup takes longer */

struct resolve_name;

/* What a thread fills in, under the resolver's lock, before it writes to the eventfd. */
struct resolve_waiter {
	struct resolve_waiter *next;
	struct resolve_name *name; /* NULL: not waiting */
	int fd, eai;
	struct addr addr;
};

/* One lookup, zeroed but for `done`; stays where it is until done or cancelled. */
struct resolve {
	void (*done)(struct resolve *); /* on the loop: why.err 0 and addr, or why */
	struct addr addr;
	struct diag why;

	/* its own */
	struct resolve_waiter waiter;
	struct loop *loop;
	struct loop_fd fd;
	struct loop_timer timer;
	struct loop_work later;
	bool on;
	uint16_t port;
	uint32_t timeout_ms;
	char host[ADDR_HOST];
};
/* `done` follows, never from inside this call. timeout_ms 0 = as long as the resolver takes. An
 * error: the host is not a name or address, or no lookup can be started; no `done` then. */
int resolve_start(struct resolve *, struct loop *, const char *host, uint16_t port,
	uint32_t timeout_ms, struct diag *);
/* `done` follows with that reason, whether a lookup was started or not. */
void resolve_fail(struct resolve *, struct loop *, const struct diag *why);
void resolve_cancel(struct resolve *); /* no `done` any more; allowed when not started */
/* No connection to the host's address came about: the next lookup asks again. Any thread. */
void resolve_doubt(const char *host);
/* The end of every addr_resolve(), addr_parse() and uri_resolve() of this process, by loop_clock();
 * 0 = only their own limits; RESOLVE_NEVER: not even those. */
#define RESOLVE_NEVER UINT64_MAX
void resolve_bound(uint64_t deadline_ns);
