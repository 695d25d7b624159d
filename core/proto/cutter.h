/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Cut a protocol's PDUs out of a stream, wherever its reads begin and end. Headers pass through a
 * stage. Payload goes to a place chosen by the owner: if small, it is copied out of the stage; if
 * large, it is received in place, in one call with the header behind it. */
#pragma once
#include "stream.h"

#define CUTTER_STOP (-1)

struct cutter;
struct cutter_events {
	/* len > 0 bytes other than payload: a header, a trailer. Returns how many of them it used,
	 * 0 if it needs more (not allowed if the stage is full), or CUTTER_STOP, which uses none.
	 * What cutter_skip() and cutter_payload() announce begins behind those used. */
	int (*part)(struct cutter *, const uint8_t *p, uint32_t len);
	/* The whole payload is in place; false: stop. */
	bool (*payload)(struct cutter *);
	/* Optional, for digests: these bytes of the payload are in place. */
	void (*landed)(struct cutter *, const uint8_t *p, uint32_t len);
};

/* State of one connection. No callback may free it. */
struct cutter {
	const struct cutter_events *ev;
	uint8_t *stage;
	uint32_t size;
	uint32_t from, to;   /* unread part of the stage */
	uint32_t skip, rest; /* bytes to drop; bytes of payload to come after those */
	uint8_t *sink;       /* NULL: the payload is dropped */
	bool stopped;
	bool large;    /* the next payload is likely to be large, too */
	uint8_t plain; /* parts since the last payload */
	/* Receives per turn; the owner may lower it, so that answers are sent earlier. */
	uint8_t rounds;
};

/* size: at least the longest header; with exactly that, hardly any payload is copied. */
void cutter_init(struct cutter *, const struct cutter_events *, void *stage, uint32_t size);
/* Drop bytes before the payload, such as padding. */
void cutter_skip(struct cutter *, uint32_t len);
/* Expect len > 0 bytes of payload; to NULL: drop them. */
void cutter_payload(struct cutter *, uint8_t *to, uint32_t len);
/* Process the data of the stream until it is drained or a callback stops. Returns -errno if the
 * stream has ended. After a stop it continues with what the stage holds, so an owner that can't
 * take the next part just returns CUTTER_STOP again, and nothing is received. */
int cutter_receive(struct cutter *, struct stream *);
/* The same without receiving: needed for staged bytes, which cause no further wake-up. */
void cutter_resume(struct cutter *);
/* For an owner that has stopped: receive into the stage only, so that the next parts are at hand
 * and the end of the stream behind them is noticed. -errno as above. Needs cutter_has_room(). */
int cutter_receive_ahead(struct cutter *, struct stream *);
static inline bool cutter_has_room(const struct cutter *cutter)
{
	return !cutter->stopped || cutter->to - cutter->from < cutter->size;
}
/* In part(): no other callback follows, but the bytes it returns are used. */
static inline void cutter_stop(struct cutter *cutter)
{
	cutter->stopped = true;
}
