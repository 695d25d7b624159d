/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Encode, decode and negotiate MPA's set-up frames (RFC 5044 section 7.1, RFC 6581). iwarp_cm.c
 * sends and receives them. */
#include "mpa.h"
#include "min.h"
#include <errno.h>

static const char *key(bool reply)
{
	return reply ? MPA_KEY_REP : MPA_KEY_REQ;
}

int mpa_len(const uint8_t *p, size_t len, bool reply, struct diag *diag)
{
	const struct mpa_frame *frame = (const void *)p;
	uint16_t priv_len;

	if (memcmp(p, key(reply), len < MPA_KEY_LEN ? len : MPA_KEY_LEN))
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"not an MPA %s: the peer does not speak iWARP",
			reply ? "reply" : "request");
	if (len < sizeof(*frame))
		return 0;
	if (frame->revision < 1 || frame->revision > 2)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "unsupported MPA revision %u",
			frame->revision);
	priv_len = get_be16(frame->priv_len);
	if (priv_len > MPA_PRIV_MAX)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"MPA private data of %u bytes exceeds the limit of %u", priv_len,
			MPA_PRIV_MAX);
	return (int)(sizeof(*frame) + priv_len);
}

int mpa_get(struct mpa *mpa, const uint8_t *p, size_t len, bool reply, struct diag *diag)
{
	struct rd rd = rd_init(p, len);
	const struct mpa_frame *frame;
	const struct mpa_limits *limits;
	int all = mpa_len(p, len, reply, diag);

	if (all < 0)
		return all;
	if (!all || (size_t)all != len)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"MPA frame of %zu bytes declares a length of %d", len, all);
	frame = rd_take(&rd, sizeof(*frame));
	*mpa = (struct mpa){
		.revision = frame->revision,
		.markers = frame->flags & MPA_MARKERS,
		.crc = frame->flags & MPA_CRC,
		.reject = reply && (frame->flags & MPA_REJECT),
		.large = frame->flags & MPA_LARGE,
		.enhanced = frame->revision >= 2 && (frame->flags & MPA_ENHANCED),
		.ird = MPA_LIMIT_ANY,
		.ord = MPA_LIMIT_ANY,
	};
	if (mpa->enhanced) {
		limits = rd_take(&rd, sizeof(*limits));
		if (!limits)
			return diag_set(diag, DIAG_PROTOCOL, EPROTO,
				"enhanced MPA frame without read limits (IRD, ORD)");
		uint16_t ird = get_be16(limits->ird), ord = get_be16(limits->ord);
		mpa->ird = ird & MPA_LIMIT_MASK;
		mpa->ord = ord & MPA_LIMIT_MASK;
		mpa->peer = ird & MPA_IRD_PEER;
		mpa->rtr = (ird & MPA_IRD_RTR_EMPTY ? MPA_RTR_EMPTY : 0) |
			   (ord & MPA_ORD_RTR_WRITE ? MPA_RTR_WRITE : 0) |
			   (ord & MPA_ORD_RTR_READ ? MPA_RTR_READ : 0);
	}
	mpa->priv = rd.p;
	mpa->priv_len = (uint16_t)rd_left(&rd);
	return 0;
}

size_t mpa_put(uint8_t out[MPA_FRAME_MAX], const struct mpa *mpa, bool reply)
{
	struct wr wr = wr_init(out, MPA_FRAME_MAX);
	uint16_t limits = mpa->enhanced ? sizeof(struct mpa_limits) : 0;
	struct mpa_frame frame = {
		.flags = (mpa->markers ? MPA_MARKERS : 0) | (mpa->crc ? MPA_CRC : 0) |
			 (mpa->reject ? MPA_REJECT : 0) | (mpa->large ? MPA_LARGE : 0) |
			 (mpa->enhanced ? MPA_ENHANCED : 0),
		.revision = mpa->revision,
		.priv_len = put_be16((uint16_t)(limits + mpa->priv_len)),
	};

	memcpy(frame.key, key(reply), MPA_KEY_LEN);
	wr_bytes(&wr, &frame, sizeof(frame));
	if (limits) {
		struct mpa_limits l = {
			put_be16((mpa->ird & MPA_LIMIT_MASK) | (mpa->peer ? MPA_IRD_PEER : 0) |
				 (mpa->rtr & MPA_RTR_EMPTY ? MPA_IRD_RTR_EMPTY : 0)),
			put_be16((mpa->ord & MPA_LIMIT_MASK) |
				 (mpa->rtr & MPA_RTR_WRITE ? MPA_ORD_RTR_WRITE : 0) |
				 (mpa->rtr & MPA_RTR_READ ? MPA_ORD_RTR_READ : 0)),
		};
		wr_bytes(&wr, &l, sizeof(l));
	}
	wr_bytes(&wr, mpa->priv, mpa->priv_len);
	return wr.bad ? 0 : (size_t)(wr.p - out);
}

int mpa_acceptable(const struct mpa *req, struct diag *diag)
{
	if (req->markers)
		return diag_set(diag, DIAG_UNSUPPORTED, EOPNOTSUPP,
			"the peer requires MPA markers, which are not supported");
	return 0;
}

struct mpa mpa_make_reply(const struct mpa *req, const struct mpa *own)
{
	struct mpa rep = {
		.revision = req->revision,
		.crc = req->crc || own->crc, /* RFC 5044 section 7.1.1: CRCs are used if either
						 side wants them */
		.large = req->large && own->large,
		.enhanced = req->enhanced,
		.ird = own->ird,
		.ord = own->ord,
	};

	if (!req->enhanced)
		return rep;
	rep.ird = min_u32(own->ird, req->ord);
	rep.ord = min_u32(own->ord, req->ird);
	rep.peer = req->peer;
	if (req->peer)
		rep.rtr = req->rtr & MPA_RTR_WRITE  ? MPA_RTR_WRITE
			  : req->rtr & MPA_RTR_READ ? MPA_RTR_READ
						    : req->rtr & MPA_RTR_EMPTY;
	if (rep.rtr == MPA_RTR_READ && !rep.ird)
		rep.ird = 1;
	return rep;
}

int mpa_apply_reply(const struct mpa *req, const struct mpa *rep, uint32_t *ird, uint32_t *ord,
	unsigned *term, struct diag *diag)
{
	*term = TERM_MPA_FRAME;
	if (rep->markers)
		return diag_set(diag, DIAG_UNSUPPORTED, EOPNOTSUPP,
			"the peer requires MPA markers, which are not supported");
	if (req->crc && !rep->crc)
		return diag_set(
			diag, DIAG_PROTOCOL, EPROTO, "the peer ignored the request for CRCs");
	*ird = req->ird;
	*ord = req->ord;
	if (req->enhanced != rep->enhanced)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"the peer answered MPA revision %u with revision %u", req->revision,
			rep->revision);
	if (!rep->enhanced)
		return 0;
	if (rep->ird != MPA_LIMIT_ANY)
		*ord = min_u32(req->ord, rep->ird);
	*term = TERM_MPA_IRD;
	if (rep->ord != MPA_LIMIT_ANY && rep->ord > req->ird)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"the peer's read depth (ORD) of %u exceeds the offered %u", rep->ord,
			req->ird);
	*term = TERM_MPA_RTR;
	if (req->peer && !(rep->rtr & req->rtr))
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"the peer supports none of the offered ready-to-receive messages");
	return 0;
}

uint32_t mpa_ulpdu(uint32_t mss, bool large)
{
	uint32_t most = MPA_ULPDU_MAX, fits;

	if (large)
		return most;
	fits = mss > MPA_CRC_SIZE + MPA_LEN_SIZE ? ((mss - MPA_CRC_SIZE) & ~3u) - MPA_LEN_SIZE : 0;
	if (fits < MPA_ULPDU_MIN)
		return MPA_ULPDU_MIN;
	return fits < most ? fits : most;
}
