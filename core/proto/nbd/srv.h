/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared by the files of the NBD server: the server on core/target (srv.c), the list of allowed
 * hosts (srv_allow.c), the bytes of a connection (srv_conn.c), its handshake (srv_handshake.c), its
 * requests (srv_request.c), its replies (srv_reply.c). */
#pragma once
#include "cutter.h"
#include "srv_handshake.h"
#include "target.h"

#define NBD_STAGE 65536 /* bytes of headers and small payloads per receive */
#define NBD_TEXT  200   /* longest error message to the client */

struct nbd_server {
	struct target target; /* first member */
	struct nbd_options opt;
};

/* One request of a client, executed by one command or several. */
struct nbd_srv_req {
	struct nbd_srv_req *next; /* next free one, or next long simple read */
	uint64_t serial;          /* number in the order of arrival; 0: free */
	uint8_t cookie[8];
	uint64_t off;
	uint32_t len, left; /* left: bytes not yet assigned to a command */
	uint16_t flags;
	uint8_t cmd;
	uint32_t pieces; /* pieces in commands now */
	uint32_t error;  /* the first error, an NBD code */
	const char *why; /* its message, NULL = none */
	bool ordered,
		refused; /* ordered: a long read with simple replies; refused: its error was sent */
	uint32_t granted;            /* ordered: bytes of the pieces that have a buffer */
	uint32_t out;                /* ordered: bytes on the out-list so far */
	struct nbd_srv_cmd *waiting; /* ordered: completed pieces, by offset */
	/* last member, not set before an error: the disk's reason for it; of a structured read, for
	 * that of the last piece that failed */
	char disk_why[NBD_TEXT + 1];
};

/* One piece, with its reply. */
struct nbd_srv_cmd {
	struct target_cmd cmd; /* first member */
	struct stream_out out; /* head and data */
	/* next in one of the lists: sending, held, silent, or its request's waiting */
	struct nbd_srv_cmd *next;
	struct nbd_srv_req *req;
	uint64_t off, len;       /* in bytes, aligned to the disk's blocks */
	uint64_t from;           /* the piece's offset as requested by the client */
	uint32_t skip, bytes;    /* the client's part of the buffer */
	uint32_t error;          /* an NBD code */
	uint32_t send, head_len; /* bytes of buffer and head in the reply */
	uint8_t head[sizeof(struct nbd_chunk) + 6 + NBD_TEXT + 8];
};

struct nbd_srv_conn {
	struct target_conn conn; /* first member */
	char host[64];
	struct ucred cred;                   /* of a client on a unix socket */
	struct nbd_srv_handshake *handshake; /* NULL after the handshake */
	struct nbd_adopted *owner; /* of an adopted connection, which needs no handshake */
	const struct nbd_export *export;
	const struct bdev_limits *lim;
	bool structured, meta;
	bool securing; /* the TLS handshake has begun */
	bool plain;    /* it was refused, as it did not use TLS */
	bool goodbye;  /* the client asked to disconnect */
	uint16_t features;
	uint32_t buffer; /* size of a data buffer, bytes */
	struct nbd_srv_req *reqs, *free_req;
	uint64_t serial;
	/* After admission, what other connections to the export have at the disk becomes orphans,
	 * as the client may have given up an earlier connection that is still alive here. No
	 * request is executed before that. */
	bool fencing, ready;
	struct loop_msg hop;
	struct target_fence fence;
	/* set before the hop to admission */
	const char *cipher; /* of TLS; NULL: without it */
	bool psk;
	char identity[TLS_IDENTITY];
	bool admitted; /* on the target's thread; all that nbd_served_client shows is constant */

	/* receiving */
	struct cutter cutter;
	struct nbd_srv_req *cur; /* not fully assigned to commands yet */
	/* The command whose payload follows in the stream; after an error the payload is dropped
	 * before the reply. */
	struct nbd_srv_cmd *writing;

	/* sending */
	struct nbd_srv_cmd *sending,
		**sending_end; /* passed to the socket; only the first has a deadline */
	struct nbd_srv_cmd
		*silent; /* done without a reply, as another piece of the request sends it */
	struct nbd_srv_req *
		exclusive; /* ordered read that is being sent: no other reply may come in between */
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
/* The handshake is complete: ask for admission, then fence. A turn follows. */
void nbd_srv_admit(struct nbd_srv_conn *);

/* srv_conn.c */
extern const struct target_carrier nbd_srv_carrier;

/* srv_request.c */
/* Allocate the requests of a connection; may be called again after a failure. */
int nbd_srv_room(struct nbd_srv_conn *, struct diag *);
extern const struct cutter_events nbd_srv_stream; /* used after the handshake */
void nbd_srv_requests(struct nbd_srv_conn *);     /* handles the staged data as far as possible */
void nbd_srv_req_free(struct nbd_srv_conn *, struct nbd_srv_req *);
bool nbd_srv_req_done(const struct nbd_srv_req *); /* no piece in a command, and none to come */
/* for struct target_proto */
uint32_t nbd_srv_decode(struct target_cmd *), nbd_srv_status(const struct io *);
void nbd_srv_work(struct target_cmd *), nbd_srv_complete(struct target_cmd *, uint32_t status);

/* srv_reply.c */
void nbd_srv_reply(struct nbd_srv_cmd *);   /* the piece is done or has failed */
void nbd_srv_replied(struct nbd_srv_cmd *); /* its reply was sent */
/* a read longer than a buffer, with simple replies */
void nbd_srv_ordered_add(struct nbd_srv_conn *, struct nbd_srv_req *);
void nbd_srv_ordered_run(struct nbd_srv_conn *); /* sends what may be sent now */
void nbd_srv_silence(struct nbd_srv_conn *);     /* ends commands without a reply */
