/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Common part of both ends of NVMe/TCP: lay out PDUs for the stream's out-list, and cut them out of
 * received data. tcp.c and tgt_tcp.c interpret them. */
#pragma once
#include "codec.h"
#include "cutter.h"
#include "stream.h"

#define PDU_STAGING 65536

struct nvme_pdu_out { /* one PDU to be sent */
	struct stream_out out;
	uint8_t head[NVME_TCP_HEAD_MAX];
	le32 ddgst;
};

struct nvme_pdus;
struct nvme_pdu_events { /* false: the session is over, and no upcall follows */
	/* pdus->pdu is complete; if it has data, call nvme_pdu_data() or end the session */
	bool (*header)(struct nvme_pdus *);
	/* all data of pdus->pdu is in place; good: its digest is valid */
	bool (*data)(struct nvme_pdus *, bool good);
	/* the data received is not a PDU; the session is over */
	void (*bad)(struct nvme_pdus *, uint16_t fes, uint32_t fei, const char *text);
};

struct nvme_pdus { /* state of one connection */
	const struct nvme_pdu_events *ev;
	struct stream *stream;
	unsigned dgst, align;    /* negotiated */
	struct nvme_tcp_pdu pdu; /* the one being received */
	bool closed;
	bool trailer; /* its data digest follows */
	uint32_t crc; /* of its data so far */
	struct cutter cutter;
	uint8_t staging[PDU_STAGING];
};

void nvme_pdu_init(struct nvme_pdus *, const struct nvme_pdu_events *);
/* quiet: as in struct stream_out. The data must stay valid until then. */
void nvme_pdu_send(struct nvme_pdus *, struct nvme_pdu_out *, struct nvme_tcp_pdu *, uint8_t *data,
	bool quiet);
void nvme_pdu_data(struct nvme_pdus *, uint8_t *to);
/* Receive from the stream; false: the stream has ended. */
bool nvme_pdu_receive(struct nvme_pdus *);
/* Describe a TermReq. sender: "host" or "controller". */
void nvme_pdu_term_text(char *text, size_t size, const char *sender, const struct nvme_tcp_pdu *);
