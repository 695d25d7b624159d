/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the files of the NBD server know of one another: the server and its workers (srv.c),
 * who may connect (srv_allow.c), a connection's life (srv_conn.c), its handshake (srv_hello.c), its
 * requests (srv_request.c), its replies (srv_reply.c). */
#pragma once
#include "nbd_server.h"
#include "split.h"
#include "stream.h"
#include "wire/nbd.h"
#include <sys/types.h>

/* of a name or description of ours: bounds the reply to LIST, and lets an NBD URI hold the name */
#define NBD_NAME_MAX 512
/* bytes of one option's data that are worth reading: a name and some queries */
#define NBD_OPTION_MAX  8192
#define NBD_OPTION_SKIP (1u << 20) /* more than this is no option but an attack */
#define NBD_OPTIONS     256        /* in one handshake */
#define NBD_HELLO_OUT   (NBD_EXPORTS * (sizeof(struct nbd_rep) + 4 + 2 * NBD_NAME_MAX) + 1024)
#define NBD_STAGE       65536 /* bytes of headers and small payloads taken by one recv */
#define NBD_TEXT        96    /* of an error message to the client */

/* The handshake: bytes in, bytes out, no descriptor. */
enum nbd_srv_hello_state {
	NBD_HELLO_FLAGS,
	NBD_HELLO_OPTIONS,
	NBD_HELLO_SKIP,
	NBD_HELLO_DONE,
	NBD_HELLO_END
};
struct nbd_srv_hello {
	const struct nbd_export *export;
	unsigned exports;
	/* Makes ready to serve that export; a failure is told to the client. */
	int (*enter)(struct nbd_srv_hello *, unsigned export, struct diag *);
	void *user; /* enter's */
	uint8_t state;
	bool fixed, no_zeroes, structured;
	unsigned chosen; /* valid in DONE */
	unsigned meta;   /* 1 + the export whose base:allocation is selected */
	unsigned options;
	uint32_t skip;
	struct stream_out reply; /* the bytes of out on their way, if sending */
	bool sending;
	size_t out_len;
	uint8_t out[NBD_HELLO_OUT];
};
void nbd_srv_hello_start(struct nbd_srv_hello *);
/* Takes at most one message from p; gives how many bytes were used, 0 = needs more. Needs: out
 * empty, state before DONE. */
size_t nbd_srv_hello_feed(struct nbd_srv_hello *, const uint8_t *p, size_t len);
uint16_t nbd_srv_flags(const struct nbd_export *, bool structured);

struct nbd_server;
struct nbd_srv_conn;

struct nbd_srv_worker {
	struct nbd_server *server;
	struct loop *loop;
	struct lane *lane[NBD_EXPORTS];
	struct nbd_srv_conn *conns; /* on this worker's thread, as is ending */
	bool ending;
	struct io_count count; /* read by the server's thread */
	unsigned clients;      /* on the server's */
};

/* One request of a client, worked off in one piece or several. */
struct nbd_srv_req {
	struct nbd_srv_req *next; /* free, or another long simple read */
	uint8_t cookie[8];
	uint64_t off;
	uint32_t len, left; /* left: not yet given to a slot */
	uint16_t flags;
	uint8_t cmd;
	uint32_t pieces;              /* with a slot now */
	uint32_t error;               /* first failure, as NBD says it */
	const char *why;              /* text for it, NULL = none */
	bool ordered, refused;        /* a long read in simple replies; its error has been sent */
	uint32_t out;                 /* ordered: bytes on the out-list so far */
	struct nbd_srv_slot *waiting; /* ordered: done, by offset */
};

/* One piece in work: its request to the disk, its buffer, its reply. */
struct nbd_srv_slot {
	struct split split;
	/* the blocks it may still change, once its client may have left */
	struct bdev_orphan orphan;
	struct stream_out out;     /* head and data */
	struct nbd_srv_slot *next; /* free, held, or its request's waiting */
	struct nbd_srv_conn *conn;
	struct nbd_srv_req *req;
	uint8_t *base;
	uint64_t off, len;    /* in blocks of the disk */
	uint64_t from;        /* the piece's offset as the client counts */
	uint32_t skip, bytes; /* the client's part of the buffer */
	uint32_t error;
	uint32_t send, head_len; /* bytes of buffer and head that the reply has */
	bool flying;
	uint8_t head[sizeof(struct nbd_chunk) + 6 + NBD_TEXT + 8];
};

struct nbd_srv_conn {
	struct nbd_server *server;
	struct nbd_srv_worker *worker;
	struct loop *loop; /* the worker's */
	struct stream *stream;
	struct addr addr; /* of the client */
	int fd;           /* until the stream has it, -1 */
	struct loop_work turn;
	struct loop_timer deadline;
	struct loop_msg msg; /* to the worker when accepted, back to the server when over */
	struct nbd_srv_conn *next, **link;
	char peer[ADDR_TEXT];
	bool gone;      /* nothing more is sent or received; freed when nothing flies */
	bool ending;    /* nothing more is received */
	bool goodbye;   /* as the client asked for it */
	bool cancelled; /* the disk was asked to drop what it holds */

	struct nbd_srv_hello *hello; /* NULL once serving */
	bool adopted;                /* knows its export without one */
	struct nbd_adopted *owner;   /* of one that is */

	const struct nbd_export *export;
	const struct bdev_limits *lim;
	struct lane *lane;
	bool structured, meta, mapped;
	uint16_t features;
	struct pool *pool;
	struct nbd_srv_slot *slots, *free;
	struct nbd_srv_req *reqs, *free_req;
	uint8_t *lower;
	unsigned count, used, flying;
	struct nbd_srv_fence *fence; /* one a worker */
	unsigned fences;             /* on their way: no request is done until they are back */

	/* in */
	size_t head, tail; /* of stage */
	/* holds the answer to a write until its payload has been dropped */
	struct nbd_srv_slot *refused;
	uint32_t drop;             /* of that payload */
	struct nbd_srv_req *cur;   /* not wholly given to slots yet */
	struct nbd_srv_slot *fill; /* takes payload */
	uint32_t got;              /* of its bytes */

	/* out */
	unsigned sending; /* replies that the socket has not taken */
	struct nbd_srv_req
		*exclusive; /* ordered read that is being sent: nothing else may come between */
	struct nbd_srv_slot *held, **held_end;
	struct nbd_srv_req *ordered; /* other ordered reads, oldest first */
	uint8_t stage[NBD_STAGE];
};

/* srv_conn.c */
int nbd_srv_conn_new(struct nbd_srv_conn **, struct nbd_server *, int fd, const struct addr *,
	const char *peer, struct diag *);
/* One that needs no handshake. */
int nbd_srv_conn_adopt(struct nbd_srv_conn **, struct nbd_server *, unsigned export, int fd,
	const char *peer, struct diag *);
/* on the worker's thread; ends with nbd_srv_conn_over() */
void nbd_srv_conn_start(struct nbd_srv_conn *, struct nbd_srv_worker *);
void nbd_srv_conn_end(struct nbd_srv_conn *); /* answers what has arrived, then over */
void nbd_srv_conn_abort(struct nbd_srv_conn *, const char *why); /* over as soon as nothing flies */
void nbd_srv_conn_wake(struct nbd_srv_conn *);                   /* a turn at the end of this one */
void nbd_srv_conn_moved(
	struct nbd_srv_conn *); /* the same, if something waits for what is free now */

/* srv_request.c */
int nbd_srv_init(struct nbd_srv_conn *, unsigned export, struct diag *);
/* Whether the lane takes the buffers of a client: what a client is refused for is told to the
 * client only. */
int nbd_srv_try(const struct nbd_options *, struct lane *, uint32_t block, struct diag *);
void nbd_srv_fini(struct nbd_srv_conn *);
void nbd_srv_fence(struct nbd_srv_conn *); /* makes orphans of its requests that change blocks */
void nbd_srv_stop(struct nbd_srv_conn *);  /* requests longer than the disk takes go no further */
void nbd_srv_cancel(struct nbd_srv_conn *);
void nbd_srv_requests(
	struct nbd_srv_conn *); /* works off what is in the stage as far as slots go */
void nbd_srv_slot_free(struct nbd_srv_slot *);
void nbd_srv_req_free(struct nbd_srv_conn *, struct nbd_srv_req *);
bool nbd_srv_req_over(const struct nbd_srv_req *); /* no piece in work, none to come */

/* srv_reply.c */
void nbd_srv_reply(struct nbd_srv_slot *);   /* the slot's piece is done */
void nbd_srv_replied(struct nbd_srv_slot *); /* and its reply has left */
/* a read longer than a buffer, in simple replies */
void nbd_srv_ordered_add(struct nbd_srv_conn *, struct nbd_srv_req *);

/* srv_allow.c */
bool nbd_srv_allowed(const struct nbd_options *, const struct sockaddr_storage *peer);

/* srv.c */
const struct nbd_options *nbd_server_options(const struct nbd_server *);
struct loop *nbd_server_loop(const struct nbd_server *);
/* A client may have given up an earlier connection that is still alive here: what others of its
 * export have at the disk becomes orphans. false: no memory. c->fences counts down, then
 * nbd_srv_conn_wake(). */
bool nbd_server_fence(struct nbd_srv_conn *);
/* on the server's thread: takes it off the books and frees it */
void nbd_srv_conn_over(struct nbd_srv_conn *);
