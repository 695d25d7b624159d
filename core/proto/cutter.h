/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Cuts the PDUs of a protocol out of a stream, at whatever bytes they arrive. Headers pass through
 * a stage; payload goes where its owner wants it: a small one is copied out of the stage, a large
 * one is received in place, in one call with the header behind it. */
#pragma once
#include "stream.h"

#define CUTTER_STOP (-1)

struct cutter;
struct cutter_events {
	/* len > 0 bytes of what is not payload: a header, a trailer. Returns how many of them it
	 * took, 0 when it needs more (not allowed when the stage is full), or CUTTER_STOP, which
	 * takes none. What cutter_skip() and cutter_payload() declare begins behind those taken. */
	int (*part)(struct cutter *, const uint8_t *p, uint32_t len);
	/* All of the payload is in place; false: stop. */
	bool (*payload)(struct cutter *);
	/* Optional: these bytes of the payload are in place now. For digests. */
	void (*landed)(struct cutter *, const uint8_t *p, uint32_t len);
};

/* Of one connection. No callback frees it. */
struct cutter {
	const struct cutter_events *ev;
	uint8_t *stage;
	uint32_t size;
	uint32_t from, to;   /* what is in the stage */
	uint32_t skip, rest; /* bytes to drop, then bytes of payload to come */
	uint8_t *sink;       /* NULL: the payload is dropped, too */
	bool stopped;
	bool large;    /* the next payload is likely to be large, too */
	uint8_t plain; /* parts since the last payload */
	/* Receives in one turn; the owner may lower it, so that answers leave earlier. */
	uint8_t rounds;
};

/* size: at least the longest header; exactly that, and hardly any payload is copied. */
void cutter_init(struct cutter *, const struct cutter_events *, void *stage, uint32_t size);
/* Drop bytes before the payload: padding. */
void cutter_skip(struct cutter *, uint32_t len);
/* len > 0 bytes of payload follow; to NULL: they are dropped. */
void cutter_payload(struct cutter *, uint8_t *to, uint32_t len);
/* Take what the stream has, until it has no more or a callback stops. Returns -errno if the stream
 * has ended. After a stop it continues with what the stage holds, so an owner that can't take
 * the next part just returns CUTTER_STOP once more, and nothing is received. */
int cutter_receive(struct cutter *, struct stream *);
/* The same without receiving: no wake-up comes for bytes that have left the socket. */
void cutter_resume(struct cutter *);
/* For an owner that has stopped, so that it finds the next parts at hand, and the end of the stream
 * behind them is noticed: receive into the stage alone. -errno as above. Needs cutter_has_room().
 */
int cutter_receive_ahead(struct cutter *, struct stream *);
static inline bool cutter_has_room(const struct cutter *cutter)
{
	return !cutter->stopped || cutter->to - cutter->from < cutter->size;
}
/* In part(): no other callback follows, but the bytes it returns are taken. */
static inline void cutter_stop(struct cutter *cutter)
{
	cutter->stopped = true;
}
