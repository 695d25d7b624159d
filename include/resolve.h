/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Resolve host names without blocking a loop: getaddrinfo() runs on a few threads of the process.
 * The last addresses of each name are cached and used until resolve_mark_stale(), and afterwards if
 * a new lookup fails. */
#pragma once
#include "loop.h"
#include "uri.h"

#define RESOLVE_THREADS  16   /* per process; more names wait for a thread */
#define RESOLVE_NAMES    128  /* cached or in progress; -EBUSY if all are in progress */
#define RESOLVE_STALE_MS 1000 /* use a stale address if a new lookup takes longer */

struct resolve_name;

/* Filled in by a thread, under the resolver's lock, before it writes to the eventfd. */
struct resolve_waiter {
	struct resolve_waiter *next;
	struct resolve_name *name; /* NULL: not waiting */
	int fd, eai;
	struct addr addr;
};

/* One lookup. The caller zeroes it, sets `done`, and keeps it until done or cancelled. */
struct resolve {
	void (*done)(struct resolve *); /* on the loop: addr, or why with err set */
	struct addr addr;
	struct diag why;
	/* private */
	struct resolve_waiter waiter;
	struct loop *loop;
	struct loop_fd fd;
	struct loop_timer timer;
	struct loop_work done_work;
	bool on;
	uint16_t port;
	uint32_t timeout_ms;
	char host[ADDR_HOST];
};
/* Start a lookup; `done` follows, never from inside this call. timeout_ms 0: the resolver's own
 * limit. Fails, without `done`, if the host is invalid or no lookup can be started. */
int resolve_start(struct resolve *, struct loop *, const char *host, uint16_t port,
	uint32_t timeout_ms, struct diag *);
/* Make `done` follow with this reason, whether a lookup was started or not. */
void resolve_fail(struct resolve *, struct loop *, const struct diag *why);
/* Cancel `done`. Does nothing if no lookup was started. */
void resolve_cancel(struct resolve *);
/* Mark the cached addresses of the host, NULL: of all hosts, as stale, as connecting to them
 * failed. Call from any thread. */
void resolve_mark_stale(const char *host);
/* Set a deadline (loop_clock()) for every addr_resolve(), addr_parse() and uri_resolve() of this
 * process. 0: only their own limits apply; RESOLVE_NEVER: no limits at all. */
#define RESOLVE_NEVER UINT64_MAX
void resolve_set_deadline(uint64_t deadline_ns);
