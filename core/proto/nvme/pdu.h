/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What both ends of NVMe/TCP do alike: PDUs laid out for the stream's out-list, and cut out of what
 * arrives. What a PDU means is tcp.c's and tgt_tcp.c's. */
#pragma once
#include "codec.h"
#include "cutter.h"
#include "stream.h"

#define PDU_STAGING 65536

struct nvme_pdu_out { /* one PDU on its way */
	struct stream_out out;
	uint8_t head[NVME_TCP_HEAD_MAX];
	le32 ddgst;
};

struct nvme_pdus;
struct nvme_pdu_events { /* false: the session is over, and no upcall follows */
	/* pdus->pdu is whole; one with data says nvme_pdu_data(), or ends the session */
	bool (*header)(struct nvme_pdus *);
	/* all of pdus->pdu's is in place; good: its digest is right */
	bool (*data)(struct nvme_pdus *, bool good);
	/* what arrived is not a PDU; the session is over */
	void (*bad)(struct nvme_pdus *, uint16_t fes, uint32_t fei, const char *text);
};

struct nvme_pdus { /* of one connection */
	const struct nvme_pdu_events *ev;
	struct stream *stream;
	unsigned dgst, align;    /* agreed on */
	struct nvme_tcp_pdu pdu; /* the one being received */
	bool over;
	bool trailer; /* its data digest comes next */
	uint32_t crc; /* of its data so far */
	struct cutter cutter;
	uint8_t staging[PDU_STAGING];
};

void nvme_pdu_init(struct nvme_pdus *, const struct nvme_pdu_events *);
/* quiet: as in struct stream_out. Data stays where it is until then. */
void nvme_pdu_send(struct nvme_pdus *, struct nvme_pdu_out *, struct nvme_tcp_pdu *, uint8_t *data,
	bool quiet);
void nvme_pdu_data(struct nvme_pdus *, uint8_t *to);
/* Takes what the stream has; false: the stream has ended. */
bool nvme_pdu_receive(struct nvme_pdus *);
/* A TermReq, as told by who. */
void nvme_pdu_term_text(char *text, size_t size, const char *who, const struct nvme_tcp_pdu *);
