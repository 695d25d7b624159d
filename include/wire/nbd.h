/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NBD protocol: layouts and constants, and the codec that server and client share
 * (core/proto/nbd/codec.c). Sections are those of doc/proto.md of the NetworkBlockDevice project.
 */
#pragma once
#include "wire.h"

#define NBD_PORT       10809
#define NBD_STRING_MAX 4096 /* "Conventions" */
/* "Size constraints": what a client may send without having asked */
#define NBD_PAYLOAD_MAX (32u << 20)

/* "Newstyle negotiation": the server's first message; the client answers with be32 client flags. */
#define NBD_GREETING_MAGIC UINT64_C(0x4e42444d41474943)
#define NBD_OPT_MAGIC      UINT64_C(0x49484156454f5054)
/* in the place of NBD_OPT_MAGIC: "Oldstyle negotiation" */
#define NBD_OLDSTYLE_MAGIC UINT64_C(0x0000420281861253)
struct nbd_greeting {
	be64 magic, opt_magic;
	be16 flags;
};
WIRE_SIZE(struct nbd_greeting, 18);
/* the same bits in the client's answer */
enum { NBD_FLAG_FIXED_NEWSTYLE = 1, NBD_FLAG_NO_ZEROES = 2 };

struct nbd_opt {
	be64 magic;
	be32 option, len;
};
WIRE_SIZE(struct nbd_opt, 16);

/* "Option types" */
enum {
	NBD_OPT_EXPORT_NAME = 1,
	NBD_OPT_ABORT = 2,
	NBD_OPT_LIST = 3,
	NBD_OPT_STARTTLS = 5,
	NBD_OPT_INFO = 6,
	NBD_OPT_GO = 7,
	NBD_OPT_STRUCTURED_REPLY = 8,
	NBD_OPT_LIST_META_CONTEXT = 9,
	NBD_OPT_SET_META_CONTEXT = 10,
};

#define NBD_REP_MAGIC UINT64_C(0x0003e889045565a9)
struct nbd_rep {
	be64 magic;
	be32 option, type, len;
};
WIRE_SIZE(struct nbd_rep, 20);

/* "Option reply types" */
enum {
	NBD_REP_ACK = 1,
	NBD_REP_SERVER = 2,
	NBD_REP_INFO = 3,
	NBD_REP_META_CONTEXT = 4,
};
#define NBD_REP_ERR(n)              (UINT32_C(0x80000000) + (n))
#define NBD_REP_ERR_UNSUP           NBD_REP_ERR(1)
#define NBD_REP_ERR_POLICY          NBD_REP_ERR(2)
#define NBD_REP_ERR_INVALID         NBD_REP_ERR(3)
#define NBD_REP_ERR_PLATFORM        NBD_REP_ERR(4)
#define NBD_REP_ERR_TLS_REQD        NBD_REP_ERR(5)
#define NBD_REP_ERR_UNKNOWN         NBD_REP_ERR(6)
#define NBD_REP_ERR_SHUTDOWN        NBD_REP_ERR(7)
#define NBD_REP_ERR_BLOCK_SIZE_REQD NBD_REP_ERR(8)
#define NBD_REP_ERR_TOO_BIG         NBD_REP_ERR(9)

/* The reply to EXPORT_NAME; zeroes are left out when both sides said NO_ZEROES. */
struct nbd_export_name_rep {
	be64 size;
	be16 flags;
	uint8_t zeroes[124];
};
WIRE_SIZE(struct nbd_export_name_rep, 134);

/* NBD_REP_INFO of NBD_OPT_INFO and NBD_OPT_GO; NAME and DESCRIPTION are be16 type + text. */
enum { NBD_INFO_EXPORT = 0, NBD_INFO_NAME = 1, NBD_INFO_DESCRIPTION = 2, NBD_INFO_BLOCK_SIZE = 3 };
struct nbd_info_export {
	be16 type;
	be64 size;
	be16 flags;
};
WIRE_SIZE(struct nbd_info_export, 12);
struct nbd_info_block_size {
	be16 type;
	be32 minimum, preferred, maximum;
};
WIRE_SIZE(struct nbd_info_block_size, 14);

/* "Transmission flags" */
enum {
	NBD_FLAG_HAS_FLAGS = 1 << 0,
	NBD_FLAG_READ_ONLY = 1 << 1,
	NBD_FLAG_SEND_FLUSH = 1 << 2,
	NBD_FLAG_SEND_FUA = 1 << 3,
	NBD_FLAG_ROTATIONAL = 1 << 4,
	NBD_FLAG_SEND_TRIM = 1 << 5,
	NBD_FLAG_SEND_WRITE_ZEROES = 1 << 6,
	NBD_FLAG_SEND_DF = 1 << 7,
	NBD_FLAG_CAN_MULTI_CONN = 1 << 8,
	NBD_FLAG_SEND_FAST_ZERO = 1 << 11,
};

/* "Metadata querying" */
#define NBD_META_ALLOCATION "base:allocation"
enum { NBD_STATE_HOLE = 1, NBD_STATE_ZERO = 2 };

/* "Request message"; a WRITE's payload follows. The cookie ("handle") is the client's; the server
 * never interprets it. */
#define NBD_REQUEST_MAGIC 0x25609513u
struct nbd_request {
	be32 magic;
	be16 flags, type;
	uint8_t cookie[8];
	be64 off;
	be32 len;
};
WIRE_SIZE(struct nbd_request, 28);

/* "Request types" */
enum {
	NBD_CMD_READ = 0,
	NBD_CMD_WRITE = 1,
	NBD_CMD_DISC = 2,
	NBD_CMD_FLUSH = 3,
	NBD_CMD_TRIM = 4,
	NBD_CMD_CACHE = 5,
	NBD_CMD_WRITE_ZEROES = 6,
	NBD_CMD_BLOCK_STATUS = 7,
	NBD_CMDS,
};

/* "Command flags" */
enum {
	NBD_CMD_FLAG_FUA = 1 << 0,
	NBD_CMD_FLAG_NO_HOLE = 1 << 1,
	NBD_CMD_FLAG_DF = 1 << 2,
	NBD_CMD_FLAG_REQ_ONE = 1 << 3,
	NBD_CMD_FLAG_FAST_ZERO = 1 << 4,
};

/* "Simple reply message"; a READ's data follows. */
#define NBD_SIMPLE_REPLY_MAGIC 0x67446698u
struct nbd_simple_reply {
	be32 magic, error;
	uint8_t cookie[8];
};
WIRE_SIZE(struct nbd_simple_reply, 16);

/* "Structured reply chunk message" */
#define NBD_STRUCTURED_REPLY_MAGIC 0x668e33efu
struct nbd_chunk {
	be32 magic;
	be16 flags, type;
	uint8_t cookie[8];
	be32 len;
};
WIRE_SIZE(struct nbd_chunk, 20);
enum { NBD_REPLY_FLAG_DONE = 1 };

/* "Structured reply types" */
enum {
	NBD_REPLY_TYPE_NONE = 0,
	NBD_REPLY_TYPE_OFFSET_DATA = 1,       /* be64 offset, data */
	NBD_REPLY_TYPE_OFFSET_HOLE = 2,       /* be64 offset, be32 length */
	NBD_REPLY_TYPE_BLOCK_STATUS = 5,      /* be32 context, extents */
	NBD_REPLY_TYPE_ERRORS = 0x8000,       /* set in the type of every error, known or not */
	NBD_REPLY_TYPE_ERROR = 0x8001,        /* be32 error, be16 length of message, message */
	NBD_REPLY_TYPE_ERROR_OFFSET = 0x8002, /* the same, be64 offset */
};
struct nbd_extent {
	be32 len, flags;
};
WIRE_SIZE(struct nbd_extent, 8);
#define NBD_EXTENTS_MAX (1u << 20) /* in one chunk */
/* of an error's payload: a string, and numbers of types yet to come */
#define NBD_ERROR_MAX (NBD_STRING_MAX + 64)

/* "Error values": the only ones there are */
enum {
	NBD_EPERM = 1,
	NBD_EIO = 5,
	NBD_ENOMEM = 12,
	NBD_EINVAL = 22,
	NBD_ENOSPC = 28,
	NBD_EOVERFLOW = 75,
	NBD_ENOTSUP = 95,
	NBD_ESHUTDOWN = 108,
};

/* The codec. A `get` takes only what is whole and keeps to the protocol; the bytes it points to are
 * the message's own. */

/* Data of NBD_OPT_INFO and NBD_OPT_GO: name, number of information requests, their types. */
struct nbd_go {
	const char *name;
	uint32_t name_len;
	uint32_t info_types; /* 1 << NBD_INFO_… for each; unknown types are ignored */
};
bool nbd_go_get(struct nbd_go *, const void *data, size_t len);
void nbd_go_put(struct wr *, const struct nbd_go *);

/* Data of NBD_OPT_LIST_META_CONTEXT and NBD_OPT_SET_META_CONTEXT: name, number of queries, queries.
 */
struct nbd_meta {
	const char *name;
	uint32_t name_len, queries;
	bool allocation, base; /* among the queries: NBD_META_ALLOCATION, and "base:" alone */
};
bool nbd_meta_get(struct nbd_meta *, const void *data, size_t len);
void nbd_meta_put(struct wr *, const struct nbd_meta *); /* puts the queries that are set */

/* What a server says of an export in its NBD_REP_INFO: of EXPORT and BLOCK_SIZE; other types are
 * left alone. */
struct nbd_terms {
	uint64_t size;
	uint16_t flags;
	uint32_t minimum, preferred, maximum; /* 0: unspecified */
};
bool nbd_info_get(struct nbd_terms *, uint16_t *type, const void *data, size_t len);

/* The header of a reply, whichever of the two it is, with the fixed part of a chunk's payload. */
struct nbd_answer {
	/* done: nothing more comes for this request; of a simple reply always set */
	bool simple, done;
	uint16_t type; /* of a chunk */
	uint64_t cookie;
	uint32_t error; /* of a simple reply, of ERROR and its kin */
	uint64_t off;   /* DATA, HOLE */
	/* bytes of payload that still follow: data, extents, text; HOLE: of the hole, and nothing
	 * follows */
	uint32_t len;
	uint32_t context;  /* BLOCK_STATUS */
	uint16_t text_len; /* of an error's payload: its message, with which it begins */
};
/* Bytes it took, 0 = needs more, -1 = breach of the protocol, *why says which. */
int nbd_answer_get(struct nbd_answer *, const void *p, size_t have, const char **why);
void nbd_simple_put(struct nbd_simple_reply *, uint32_t error, const uint8_t cookie[8]);
void nbd_chunk_put(
	struct nbd_chunk *, uint16_t type, bool done, const uint8_t cookie[8], uint32_t len);

/* A message for people, as text of at most room - 1 bytes: up to a NUL, cut between characters.
 * What is not UTF-8 is left as it is. Returns its length. */
size_t nbd_text_get(char *text, size_t room, const void *message, size_t len);
/* The same for sending: what is not UTF-8 becomes '?'. */
size_t nbd_text_put(char *message, size_t room, const char *text);

/* "Error values", and back. ENOTSUP is the answer to FAST_ZERO only; what is not in the list counts
 * as EINVAL. */
uint32_t nbd_error_of(int err, bool fast);
int nbd_errno_of(uint32_t error, bool fast); /* positive errno */
