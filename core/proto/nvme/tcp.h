/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The two halves of the TCP carrier: tcp.c sends, tcp_rx.c receives. */
#pragma once
#include "nvme.h"
#include "pdu.h"

struct nvme_tcp_slot {
	struct nvme_slot slot; /* first */
	struct nvme_sqe sqe;
	struct nvme_pdu_out cmd, h2c;
	uint32_t moved; /* bytes of data that came, or that were given to H2CData PDUs */
	uint32_t left;  /* bytes of the R2T in work that no PDU has yet */
	uint16_t ttag;
	bool inside;  /* the write data is in the capsule */
	bool sending; /* an H2CData PDU: its `sent` is to come */
};

struct nvme_tcp {
	struct nvme_queue queue; /* first */
	struct nvme_pdu_out hello;
	struct loop_timer timer; /* for ICResp */
	uint64_t deadline_ns;
	uint32_t max_h2c;
	bool greeted, closing;
	struct nvme_tcp_slot *filling; /* whose data is being received */
	struct nvme_pdus pdus;
};

extern const struct nvme_pdu_events nvme_tcp_pdu_events;
void nvme_tcp_fail(struct nvme_tcp *, enum diag_code, int err, const char *text);
void nvme_tcp_greeted(struct nvme_tcp *, const struct nvme_tcp_pdu *);
void nvme_tcp_ready_for(struct nvme_tcp *, struct nvme_tcp_slot *, const struct nvme_tcp_pdu *);
void nvme_tcp_readable(struct stream *);
