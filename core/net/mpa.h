/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The MPA set-up frames in host form, and their negotiation. */
#pragma once
#include "diag.h"
#include "wire/iwarp.h"

#define MPA_FRAME_MAX (sizeof(struct mpa_frame) + MPA_PRIV_MAX)

enum mpa_rtr { MPA_RTR_EMPTY = 1, MPA_RTR_WRITE = 2, MPA_RTR_READ = 4 }; /* flags */

struct mpa {
	uint8_t revision;
	bool markers, crc, reject, large;
	bool enhanced;       /* revision 2; only then the members up to rtr are valid */
	bool peer;           /* peer-to-peer model */
	uint8_t rtr;         /* offered; in a reply: chosen */
	uint16_t ird, ord;   /* of the sender; MPA_LIMIT_ANY = unset */
	const uint8_t *priv; /* private data of the upper layer */
	uint16_t priv_len;
};

/* Length of the whole frame that begins with these bytes; 0 = more bytes are needed. */
int mpa_len(const uint8_t *p, size_t len, bool reply, struct diag *);
int mpa_get(struct mpa *, const uint8_t *p, size_t len, bool reply, struct diag *);
size_t mpa_put(uint8_t out[MPA_FRAME_MAX], const struct mpa *, bool reply);

/* Build the reply to a request, without private data: own.crc, .large, .ird and .ord are this
 * side's preferences. */
struct mpa mpa_make_reply(const struct mpa *req, const struct mpa *own);
/* Check whether the request can be served at all. */
int mpa_acceptable(const struct mpa *req, struct diag *);
/* Apply the reply to the initiator's request: limits ord to what the responder serves. `term`: the
 * Terminate code for the peer on failure. */
int mpa_apply_reply(const struct mpa *req, const struct mpa *rep, uint32_t *ird, uint32_t *ord,
	unsigned *term, struct diag *);

/* The largest DDP segment whose FPDU fits a TCP segment of that size; the maximum if the peer takes
 * larger ones. */
uint32_t mpa_ulpdu(uint32_t mss, bool large);
