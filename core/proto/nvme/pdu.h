/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What both ends of NVMe/TCP do alike: PDUs laid out for the stream's out-list, and cut out of what
 * arrives. What a PDU means is tcp_rx.c's and tgt_tcp_rx.c's. */
#pragma once
#include "codec.h"
#include "stream.h"

#define PDU_STAGING 65536

struct pdu_out { /* one PDU on its way */
	struct stream_out out;
	uint8_t head[NVME_TCP_HEAD_MAX];
	le32 ddgst;
};

struct pdus;
struct pdu_events { /* false: the session is over, and no upcall follows */
	/* pdus->pdu is whole; one with data says pdu_data(), or ends the session */
	bool (*header)(struct pdus *);
	/* all of pdus->pdu's is in place; good: its digest is right */
	bool (*data)(struct pdus *, bool good);
	/* what arrived is no PDU; the session is over */
	void (*bad)(struct pdus *, uint16_t fes, uint32_t fei, const char *text);
};

struct pdus { /* of one connection */
	const struct pdu_events *ev;
	struct stream *stream;
	unsigned dgst, align;    /* agreed on */
	struct nvme_tcp_pdu pdu; /* the one being received */
	uint8_t part;            /* of it */
	bool over;
	uint32_t pad, rest; /* to skip before the data; data to come */
	uint32_t crc;
	bool large;    /* what comes next is likely to be data worth a receive of its own */
	uint8_t plain; /* PDUs since the last with data, up to two */
	uint8_t *sink;
	uint32_t from, to; /* what is in staging */
	uint8_t staging[PDU_STAGING];
};

/* quiet: as in struct stream_out. Data stays where it is until then. */
void pdu_send(struct pdus *, struct pdu_out *, struct nvme_tcp_pdu *, uint8_t *data, bool quiet);
void pdu_data(struct pdus *, uint8_t *to);
/* Takes what the stream has; false: the stream has ended. */
bool pdu_receive(struct pdus *);
/* A TermReq, as told by who. */
void pdu_term_text(char *text, size_t size, const char *who, const struct nvme_tcp_pdu *);
