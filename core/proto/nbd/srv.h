/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the files of the NBD server know of one another: the server as a row on core/target (srv.c),
 * who may connect (srv_allow.c), a connection's bytes (srv_conn.c), its handshake (srv_hello.c),
 * its requests (srv_request.c), its replies (srv_reply.c). */
#pragma once
#include "cutter.h"
#include "srv_hello.h"
#include "target.h"

#define NBD_STAGE 65536 /* bytes of headers and small payloads taken by one receive */
#define NBD_TEXT  96    /* of an error message to the client */

struct nbd_server {
	struct target target; /* first */
	struct nbd_options opt;
};

/* One request of a client, done by one command or several. */
struct nbd_srv_req {
	struct nbd_srv_req *next; /* free, or another long simple read */
	uint64_t serial;          /* in the order of arrival; 0: free */
	uint8_t cookie[8];
	uint64_t off;
	uint32_t len, left; /* left: not yet given to a command */
	uint16_t flags;
	uint8_t cmd;
	uint32_t pieces;             /* with a command now */
	uint32_t error;              /* the first failure, an NBD error */
	const char *why;             /* text for it, NULL = none */
	bool ordered, refused;       /* a long read in simple replies; its error has been sent */
	uint32_t granted;            /* ordered: bytes of the pieces that have got a buffer */
	uint32_t out;                /* ordered: bytes on the out-list so far */
	struct nbd_srv_cmd *waiting; /* ordered: done, by offset */
};

/* One piece, with its reply. */
struct nbd_srv_cmd {
	struct target_cmd cmd; /* first */
	struct stream_out out; /* head and data */
	/* in the order of sending, held, silent, or of its request's waiting ones */
	struct nbd_srv_cmd *next;
	struct nbd_srv_req *req;
	uint64_t off, len;       /* in blocks of the disk */
	uint64_t from;           /* the piece's offset as the client counts */
	uint32_t skip, bytes;    /* the client's part of the buffer */
	uint32_t error;          /* an NBD error */
	uint32_t send, head_len; /* bytes of buffer and head that the reply has */
	uint8_t head[sizeof(struct nbd_chunk) + 6 + NBD_TEXT + 8];
};

struct nbd_srv_conn {
	struct target_conn conn; /* first */
	struct stream *stream;
	int fd; /* until the stream has it */
	char host[64];
	struct nbd_srv_hello *hello; /* NULL once serving */
	struct nbd_adopted *owner;   /* of an adopted one, which needs no handshake */
	const struct nbd_export *export;
	const struct bdev_limits *lim;
	bool structured, meta;
	bool goodbye; /* the client asked for the end */
	uint16_t features;
	uint32_t buffer; /* bytes of one */
	struct nbd_srv_req *reqs, *free_req;
	uint64_t serial;
	/* Admission, then what other connections to the export have at the disk becomes orphans:
	 * the client may have given up an earlier connection that is still alive here. No request
	 * is done before. */
	bool fencing, ready;
	struct loop_msg hop;
	struct target_fence fence;

	/* in */
	struct cutter cutter;
	struct nbd_srv_req *cur; /* not wholly given to commands yet */
	/* Its payload is next in the stream; with an error: that is dropped before the answer. */
	struct nbd_srv_cmd *writing;

	/* out */
	struct nbd_srv_cmd *sending, **sending_end; /* with the socket; only the first is due */
	struct nbd_srv_cmd *silent; /* done, and another piece of the request replies */
	struct nbd_srv_req
		*exclusive; /* ordered read that is being sent: nothing else may come between */
	struct nbd_srv_cmd *held, **held_end;
	struct nbd_srv_req *ordered; /* other ordered reads, oldest first */
	uint8_t stage[NBD_STAGE];
};

static inline struct nbd_server *nbd_server_of(const struct nbd_srv_conn *c)
{
	return (struct nbd_server *)c->conn.target;
}
static inline struct nbd_srv_conn *nbd_srv_conn_of(const struct nbd_srv_cmd *nc)
{
	return (struct nbd_srv_conn *)nc->cmd.conn;
}

/* srv.c */
/* The handshake is done: asks for admission, then fences. A turn follows. */
void nbd_srv_admit(struct nbd_srv_conn *);

/* srv_conn.c */
extern const struct target_carrier nbd_srv_carrier;

/* srv_request.c */
/* Memory for the requests of a connection; may be called again after a failure. */
int nbd_srv_room(struct nbd_srv_conn *, struct diag *);
extern const struct cutter_events nbd_srv_stream; /* once the handshake is done */
void nbd_srv_requests(struct nbd_srv_conn *); /* works off what is in the stage as far as it goes */
void nbd_srv_req_free(struct nbd_srv_conn *, struct nbd_srv_req *);
bool nbd_srv_req_over(const struct nbd_srv_req *); /* no piece in work, none to come */
/* of the row */
uint32_t nbd_srv_decode(struct target_cmd *), nbd_srv_status(const struct io *);
void nbd_srv_work(struct target_cmd *), nbd_srv_complete(struct target_cmd *, uint32_t status);

/* srv_reply.c */
void nbd_srv_reply(struct nbd_srv_cmd *);   /* the piece is done, or has failed */
void nbd_srv_replied(struct nbd_srv_cmd *); /* and its reply has left */
/* a read longer than a buffer, in simple replies */
void nbd_srv_ordered_add(struct nbd_srv_conn *, struct nbd_srv_req *);
void nbd_srv_ordered_run(struct nbd_srv_conn *); /* sends what may go now */
void nbd_srv_silence(struct nbd_srv_conn *);     /* ends commands that have nothing to send */

/* srv_allow.c */
bool nbd_srv_allowed(const struct nbd_options *, const struct sockaddr_storage *peer);
