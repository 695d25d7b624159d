/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The protocol between `bench --tcp` or `bench --rdma` and `bench --listen`; private to them. */
#pragma once
#include "wire.h"

#define BENCH_MAGIC      "rdmbench"
#define BENCH_VERSION    1
#define BENCH_SIZE_MAX   (16u << 20)
#define BENCH_DEPTH_MAX  1024u
#define BENCH_MEMORY_MAX (64u << 20) /* receives of one connection */
#define BENCH_MEMORY_ALL                                                                           \
	(512u << 20) /* all that the clients of one server have together; of one address: half */

/* TCP: each request is answered by so many bytes, in order. */
struct bench_request {
	uint8_t magic[8];
	le32 bytes; /* 1 to BENCH_SIZE_MAX */
	uint8_t zero[52];
};
WIRE_SIZE(struct bench_request, 64);

enum bench_op { BENCH_SEND, BENCH_WRITE, BENCH_READ, BENCH_OPS };

/* RDMA: private data of the connect request; one connection is one row of the table. */
struct bench_hello {
	uint8_t magic[8];
	uint8_t version, op;
	/* 0: the server answers each message with one like it; 1: it says how many it took (struct
	 * bench_credit); 2: it sends messages of its own at the same time (struct bench_both) */
	uint8_t bandwidth;
	uint8_t zero;
	le32 size, depth;
	le32 rkey; /* where the server's answers to WRITEs go */
	le64 raddr;
};
WIRE_SIZE(struct bench_hello, 32);

struct bench_welcome { /* of the reply; of a rejection: a text */
	uint8_t magic[8];
	uint8_t version;
	/* Seconds without a message after which the server closes the connection. 0: it does
	 * not accept BENCH_KEEP_ALIVE. */
	uint8_t keep_alive;
	uint8_t zero[2];
	le32 depth; /* receives that the server has posted, at most the requested number */
	le32 rkey;  /* memory for the client's WRITEs and READs */
	le64 raddr;
};
WIRE_SIZE(struct bench_welcome, 28);

#define BENCH_KEEP_ALIVE 0xffffffffu

/* Follows a WRITE, and asks for an answer; from the server: messages taken since the last.
 * BENCH_KEEP_ALIVE, from a client that WRITEs or READs: still measuring; no answer. */
struct bench_credit {
	le32 messages;
};
WIRE_SIZE(struct bench_credit, 4);

/* In both directions at once, all messages but data; which of them are data of SENDs, the magic
 * decides. */
enum bench_what {
	BENCH_START,  /* from the client: send, too; the answer: sending */
	BENCH_TAKEN,  /* so many SENDs were received since the last one */
	BENCH_END,    /* from the client, behind its last message: stop, but not before one message
			 was sent since the count */
	BENCH_REPORT, /* the answer: number of messages that the server has sent */
	BENCH_COUNT,  /* from the client, once all connections have started; the answer: that number
			 now */
};
struct bench_both {
	uint8_t magic[8];
	le32 what;
	uint8_t zero[4];
	le64 messages;
};
WIRE_SIZE(struct bench_both, 24);
