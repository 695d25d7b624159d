/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A libibverbs to preload into srptools, which need a queue pair in addition to ib_umad: one device
 * with one datagram queue pair, which sends and receives MADs as a client of the simulator. Only
 * for srptools; rdmastor needs no verbs for this. */
#pragma once
#include <infiniband/verbs.h>
#include <stdint.h>

#define FAKE_QPN 0x123

struct fake_ah {
	struct ibv_ah ah;
	uint16_t dlid;
};

/* The queue pair: fakeverbs_qp.c. It completes to recv_cq, which wakes who waits for channel, and
 * to send_cq. */
struct fake_qp {
	struct ibv_qp qp;
	struct ibv_comp_channel channel;
	struct ibv_cq *recv_cq, *send_cq;
};
extern struct fake_qp fake_qp;

void fake_attach(void); /* to the simulator; once */
void fake_flush(void);  /* every receive that was posted comes back */
int fake_post_recv(struct ibv_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **bad);
int fake_post_send(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **bad);
int fake_poll_cq(struct ibv_cq *, int room, struct ibv_wc *);
int fake_req_notify_cq(struct ibv_cq *, int solicited);
