/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The two halves of the TCP carrier: tcp.c sends, tcp_rx.c receives. */
#pragma once
#include "nvme.h"
#include "pdu.h"

struct tcp_slot {
	struct pdu_out cmd, h2c;
	struct nvme_data data;
	struct nvme_cqe cqe;
	uint32_t moved; /* bytes of data that came, or that were given to H2CData PDUs */
	uint32_t left;  /* bytes of the R2T in work that no PDU has yet */
	uint16_t ttag;
	bool busy;            /* from submit to reply */
	bool inside;          /* the write data is in the capsule */
	bool unsent, sending; /* the capsule, an H2CData PDU: its `sent` is to come */
	bool replied;
};

struct tcp {
	struct nvme_queue queue; /* first */
	struct tcp_slot *slot;
	struct pdu_out hello;
	struct loop_timer timer; /* for ICResp */
	uint64_t deadline_ns;
	uint32_t max_h2c;
	bool greeted, closing;
	struct tcp_slot *filling; /* whose data is being received */
	struct pdus pdus;
};

extern const struct pdu_events tcp_pdu_events;
void tcp_fail(struct tcp *, enum diag_code, int err, const char *text);
/* Reports the reply once everything of the command has left. */
void tcp_finish(struct tcp *, struct tcp_slot *);
void tcp_greeted(struct tcp *, const struct nvme_tcp_pdu *);
void tcp_ready_for(struct tcp *, struct tcp_slot *, const struct nvme_tcp_pdu *);
void tcp_readable(struct stream *);
