/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The MPA set-up frames as host values, and what both sides make of them. */
#pragma once
#include "diag.h"
#include "wire/iwarp.h"

#define MPA_FRAME_MAX (sizeof(struct mpa_frame) + MPA_PRIV_MAX)

enum mpa_rtr { MPA_RTR_EMPTY = 1, MPA_RTR_WRITE = 2, MPA_RTR_READ = 4 }; /* flags */

struct mpa {
	uint8_t revision;
	bool markers, crc, reject, large;
	bool enhanced;       /* the rest up to rtr is said */
	bool peer;           /* peer-to-peer model */
	uint8_t rtr;         /* offered, or (reply) chosen */
	uint16_t ird, ord;   /* of who sends the frame; MPA_LIMIT_ANY = not said */
	const uint8_t *priv; /* the upper layer's */
	uint16_t priv_len;
};

/* Length of the whole frame that begins so; 0 = more bytes are needed to tell. */
int mpa_len(const uint8_t *p, size_t len, bool reply, struct diag *);
int mpa_get(struct mpa *, const uint8_t *p, size_t len, bool reply, struct diag *);
size_t mpa_put(uint8_t out[MPA_FRAME_MAX], const struct mpa *, bool reply);

/* The reply to a request, without private data: want.crc, .large, .ird and .ord are what this side
 * would like. */
struct mpa mpa_answer(const struct mpa *req, const struct mpa *want);
/* Whether the request can be served at all. */
int mpa_acceptable(const struct mpa *req, struct diag *);
/* The initiator takes a reply to what it asked: ord becomes what the responder serves. `term` is
 * what to tell the peer on failure. */
int mpa_settle(const struct mpa *req, const struct mpa *rep, uint32_t *ird, uint32_t *ord,
	unsigned *term, struct diag *);

/* The largest DDP segment whose FPDU fits a TCP segment of that size; a peer that takes larger ones
 * gets the largest. */
uint32_t mpa_ulpdu(uint32_t mss, bool large);
