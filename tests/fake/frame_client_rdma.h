/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Hosts of SCSI over RDMA, for frame_client.h: an endpoint of software iWARP, memory for data and
 * messages, TEST UNIT READY. Each has a loop of its own, which turns only while the host does its
 * part: otherwise its endpoint answers no READ and takes nothing. */
#pragma once
#include "ep.h"
#include "frame_target.h"

#define RDMA_DEPTH   16
#define RDMA_MOST    (512u << 10)
#define RDMA_MESSAGE 8320 /* bytes at most */

struct rdma_frame_client {
	struct frame_client client; /* first */
	struct loop *loop;
	struct loop_work turned;
	volatile int over_turn;
	struct ep *ep;
	struct pool *pool;
	struct ep_rx rx[RDMA_DEPTH + 2];
	struct ep_op op[RDMA_DEPTH + 1]; /* of commands, and another one */
	bool busy[RDMA_DEPTH], reads[RDMA_DEPTH], testing;
	bool known;  /* its memory, to the endpoint */
	bool unsent; /* commands to which there is no answer yet */
	uint32_t sn; /* the protocol's */
};

/* What a row has in `own`. */
struct rdma_proto {
	target_serve *serve;
	struct target_disk_options disk; /* without bdev */
	/* Private data of the connect request; its length. */
	int (*request)(struct rdma_frame_client *, uint8_t priv[EP_PRIV_MAX]);
	void (*up)(struct rdma_frame_client *);
	void (*read_data)(struct rdma_frame_client *, const uint8_t *message, uint32_t len);
	/* Make the slot's message; data: the command's memory, NULL: none. Returns its length. */
	uint32_t (*command)(struct rdma_frame_client *, unsigned slot, const uint8_t cdb[16],
		const uint8_t *data, uint32_t len);
};

/* For protocols: the zeroed message of a slot, and that it is complete. */
uint8_t *rdma_message(struct rdma_frame_client *, unsigned slot);
void rdma_send(struct rdma_frame_client *, unsigned slot, uint32_t len);
void rdma_test(struct rdma_frame_client *); /* after the login */
void rdma_answered(struct rdma_frame_client *, uint64_t slot, uint8_t status);
uint32_t rdma_key(const struct rdma_frame_client *);
uint64_t rdma_address(const struct rdma_frame_client *, const uint8_t *data);

/* For rows. A session of a host that begins ends the one before. */
int rdma_start(const struct frame_server *, struct diag *);
struct frame_client *rdma_dial(unsigned host);
void rdma_leave(struct frame_client *);
void rdma_poll(struct frame_client *, bool join);
void rdma_read(struct frame_client *, uint64_t off, uint32_t len);
void rdma_write(struct frame_client *, uint64_t off, uint32_t len, const void *data);
#define RDMA_ROW                                                                                   \
	.depth = RDMA_DEPTH, .most = RDMA_MOST, .open_limit = true, .give_limit = true,            \
	.take_limit = true, .replaces = true, .start = rdma_start, .stop = frame_target_stop,      \
	.count = frame_target_count, .connections = frame_target_connections, .dial = rdma_dial,   \
	.leave = rdma_leave, .poll = rdma_poll, .read = rdma_read, .write = rdma_write
