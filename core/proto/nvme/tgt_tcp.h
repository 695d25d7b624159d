/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The two halves of the target's TCP carrier: tgt_tcp.c sends, tgt_tcp_rx.c receives. */
#pragma once
#include "pdu.h"
#include "tgt.h"

/* a data digest error ends the command, not the connection (3.3.1.1.1) */
#define NVME_TGT_TCP_TRANSIENT NVME_STATUS(0, 0x22)

struct nvme_tgt_tcp_cmd {
	struct nvme_tgt_cmd cmd;  /* first */
	struct nvme_pdu_out data; /* C2HData; R2T */
	struct nvme_pdu_out reply;
	uint32_t inside; /* bytes of data that came in the capsule */
	uint32_t want;   /* bytes of an R2T still to come, and where they go */
	uint32_t got;
	uint32_t status; /* of the data: a wrong digest */
	bool asking;     /* the R2T has not left yet */
	bool success;    /* C2HData says so instead of a reply */
};

struct nvme_tgt_tcp {
	struct nvme_tgt_queue queue;    /* first */
	int fd;                         /* until opened */
	struct nvme_pdu_out hello, bye; /* ICResp, C2HTermReq */
	bool greeted;
	struct nvme_tgt_tcp_cmd *filling; /* whose data is being received */
	struct nvme_pdus pdus;
};

extern const struct nvme_pdu_events nvme_tgt_tcp_pdu_events;
/* Ends the session and tells the host why; fei: the offset of the wrong field. */
void nvme_tgt_tcp_terminate(struct nvme_tgt_tcp *, uint16_t fes, uint32_t fei, const char *text);
void nvme_tgt_tcp_greet(struct nvme_tgt_tcp *, const struct nvme_tcp_pdu *);
void nvme_tgt_tcp_readable(struct stream *);
