/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An open port: requests in flight (xact.c), received datagrams (receive.c), the watch (watch.c).
 */
#pragma once
#include "codec.h"
#include "dev.h"

struct mad_answer;
/* A request. Its owner embeds it and sets the first part. */
struct mad_req {
	struct mad_addr to;
	uint8_t mgmt_class, method;
	uint16_t attr;
	uint32_t mod;
	uint64_t mask;    /* SA: component mask */
	const void *data; /* attribute to send; must stay valid until done() */
	uint16_t len;     /* of data; only class SA may exceed one datagram */
	bool urgent;      /* send before the requests that are queued */
	uint8_t hops;     /* directed route: hop[0 … hops - 1] are the egress ports */
	const uint8_t *hop;
	/* Time until the second try (0: 250 ms); each further wait is twice as long. At least
	 * 50 ms, at most so long that all tries fit. */
	uint32_t first_ms;
	/* Called once, from the loop; may send the request again, or free it. */
	void (*done)(struct mad_req *, const struct mad_answer *);
	/* private */
	struct mad *owner;
	struct mad_req *next;
	struct loop_timer timer;
	uint64_t end_ns;
	uint32_t wait_ms;
	uint16_t slot, last_status;
	uint8_t state, tries;
	bool redirected; /* `to` was changed by a redirection */
};

#define XACT_ROOM  4096 /* receive buffer, bytes; grows for tables */
#define XACT_SLOTS 8192 /* most requests in flight: low bits of the transaction ID */

struct xact_slot {
	struct mad_req *req;
	uint16_t round; /* use of the slot; never 0, as OpenSM ignores transaction ID 0 */
	uint16_t next_free;
};

struct xact_queue { /* one for the subnet administrator, one for all others */
	struct mad_req *head, **last;
	uint32_t fresh, window;
};

struct mad_counters {
	uint64_t sent, retries, answers, unmatched /* late, of unknown senders, or duplicate */,
		timeouts, reports;
};

/* The state of a watch. */
struct mad_port_watch {
	struct mad_watch *owner; /* NULL: the port is not watched */
	struct mad *mad;
	void (*ended)(struct mad_watch *); /* NULL before mad_unwatch() */
	struct loop_timer poll, renew, end;
	struct loop_work report;
	unsigned what; /* changes to report */
	struct mad_subscription {
		struct mad_req req;
		struct inform_info inform;
		struct mad_port_watch *watch;
	} sub[3];
	uint32_t back_ms; /* until the next try after a failure */
	int reported_err; /* the last err of subscribed(); 1: none yet */
	int err;          /* of this round */
	struct diag diag;
	uint16_t sa_lid; /* the LID that answered last */
	uint8_t waiting; /* subscriptions without an answer */
};

struct mad {
	struct loop *loop;
	struct mad_port_info port;
	struct mad_dev *dev;
	struct mad_limits limits;
	struct mad_counters counters;
	struct loop_fd fd;
	struct loop_work work;
	struct xact_queue sa, others;
	struct xact_slot slot[XACT_SLOTS];
	uint16_t free;       /* XACT_SLOTS = none */
	uint8_t busy[65536]; /* requests in flight by LID */
	size_t room;
	int removed_err; /* -errno of the removed device */
	struct mad_port_watch watch;
};

size_t mad_xact_data_at(uint8_t mgmt_class); /* offset of the attribute in a datagram */
void mad_xact_enqueue(struct mad *, struct mad_req *);
void mad_xact_release(struct mad *,
	struct mad_req *); /* remove from those in flight: answers no longer match it */
void mad_xact_finish(struct mad *, struct mad_req *, const struct mad_answer *);
void mad_xact_readable(struct loop_fd *, uint32_t events);
/* End all requests with -err, and inform the watch. */
void mad_xact_gone(struct mad *, int err);

/* Handle a datagram that is not an answer. False: not for us, dropped. */
bool mad_watch_request(
	struct mad_port_watch *, const struct mad_addr *from, const uint8_t *datagram, size_t len);
void mad_watch_gone(struct mad_port_watch *); /* of a port that is watched */

/* Call before sending requests of classes other than subnet administration and device
 * management. */
int mad_register_class(struct mad *, uint8_t mgmt_class, struct diag *);
struct loop *mad_loop(const struct mad *);
const struct mad_counters *mad_counters(const struct mad *);

struct mad_answer {
	/* 0; -ETIMEDOUT; -EBUSY: busy until the deadline; -EMSGSIZE; -ENETDOWN: the device is gone;
	 * or an error of sending */
	int err;
	uint16_t status;    /* of the answer; a redirection only if it could not be followed */
	const uint8_t *mad; /* the whole datagram; valid only in `done` */
	size_t len;
};
void mad_send(struct mad *, struct mad_req *); /* never calls done() itself */
void mad_cancel(
	struct mad *, struct mad_req *); /* done is not called any more; allowed if not in flight */
