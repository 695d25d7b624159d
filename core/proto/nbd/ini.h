/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How the parts of the NBD client fit together: the handshake, bytes in and bytes out
 * (ini_hello.[ch]); a link is a stream that shakes hands (ini_link.c); a lane is a link with
 * requests in flight (ini_lane.c sends, ini_rx.c receives); ini.c makes a bdev of the first link.
 */
#pragma once
#include "bdev.h"
#include "cutter.h"
#include "inflight.h"
#include "ini_hello.h"
#include "later.h"
#include "resolve.h"
#include "stream.h"
#include "wire/nbd.h"

#define NBD_INI_STAGE 65536 /* bytes of headers and small payloads taken by one receive */
#define NBD_INI_SPANS 32    /* separate parts of a read that may have arrived out of order */
/* longest read: in pieces of 256 KiB it cannot have more separate parts */
#define NBD_INI_READ (8u << 20)

/* What an attach asked for: fixed from then on, read by every link on any thread. */
struct nbd_ini_conf {
	char host[ADDR_HOST]; /* "" = a unix socket */
	uint16_t port;
	struct addr dst, src;  /* dst: family 0 until the host is looked up */
	char where[ADDR_TEXT]; /* dst, for messages */
	char iface[16];
	char name[URI_MAX];
	/* of one connection and its handshake, of the first with the lookup of the host; 0 = none
	 */
	uint32_t timeout_ms;
	uint32_t io_ms; /* of one request */
	uint16_t depth, links;
};
int nbd_ini_conf_init(struct nbd_ini_conf *, struct uri *, const struct bdev_env *, struct diag *);

/* A connection. `up` comes with the handshake done (hello.listed: with the list), or at once for
 * one that is adopted; after it, what arrives is the owner's. */
struct nbd_ini_link {
	const struct nbd_ini_link_events *ev;
	const struct nbd_ini_conf *conf;
	struct loop *loop;
	struct stream *stream;
	struct nbd_ini_hello hello;
	struct stream_out out; /* the handshake's, then the last message */
	union {
		struct nbd_request request;
		struct nbd_opt opt;
	} bye;
	struct loop_timer timer;
	uint64_t deadline_ns;
	bool up, sending, closing;
	struct diag why;
	struct cutter cutter;
	uint8_t stage[NBD_INI_STAGE];
};
struct nbd_ini_link_events {
	void (*up)(struct nbd_ini_link *);
	const struct cutter_events *replies; /* while up; NULL: nothing is read */
	void (*sent)(struct nbd_ini_link *, struct stream_out *);
	void (*down)(struct nbd_ini_link *); /* once; why is set */
};
/* deadline_ns: of the handshake; 0 = none */
int nbd_ini_link_dial(struct nbd_ini_link *, struct loop *, const struct nbd_ini_conf *,
	uint64_t deadline_ns, const struct nbd_ini_link_events *, struct diag *);
/* Takes over the descriptor of a connection whose handshake was done elsewhere. */
int nbd_ini_link_adopt(struct nbd_ini_link *, struct loop *, const struct nbd_ini_conf *, int fd,
	const struct nbd_ini_link_events *, struct diag *);
int nbd_ini_link_detach(struct nbd_ini_link *); /* the descriptor; not from inside an upcall */
/* `down` follows; gives -err */
int nbd_ini_link_fail(struct nbd_ini_link *, enum diag_code, int err, const char *text);
/* the same for a cause known to the owner */
void nbd_ini_link_end(struct nbd_ini_link *, const struct diag *why);
/* says good-bye where it can, at once; allowed on a zeroed one */
void nbd_ini_link_fini(struct nbd_ini_link *);

/* A request in flight. */
struct nbd_ini_span {
	uint32_t from, to;
};
struct nbd_ini_slot {
	struct inflight_slot flight; /* first; the owner is a struct io */
	struct stream_out out;
	struct nbd_request request;
	uint64_t cookie; /* as it stands in the request */
	uint32_t len;    /* of the request: less than the io's at an odd end of the export */
	uint32_t error;  /* the first the server gave */
	uint8_t count;   /* READ: parts that have arrived, apart from each other, sorted */
	struct nbd_ini_span span[NBD_INI_SPANS];
	/* MAP: the answer so far */
	bool mapped, full;
	uint32_t runs, part, part_flags; /* part: bytes of a block that several extents share */
	uint64_t at;
};

struct nbd_ini_dev;
struct nbd_ini_lane {
	struct lane lane;
	struct nbd_ini_dev *dev;
	struct nbd_ini_link link;
	struct nbd_ini_deal deal; /* this link's */
	struct inflight inflight;
	uint64_t serial;
	struct later later; /* done without a request */
	struct loop_work announce;
	bool flowing; /* requests may be sent */
	/* receiving */
	struct nbd_answer answer;
	struct nbd_ini_slot *sink; /* of the payload that is coming */
	uint32_t extents;          /* of it, to come */
};
/* ini_list.c: of struct proto */
int nbd_discover(struct loop *, struct uri *, const struct bdev_env *,
	void (*found)(const char *uri, void *user), void *user, struct diag *);
int nbd_ini_lane(struct lane **, struct bdev *, struct loop *, struct diag *);
/* The request is answered: its io is done once it has also left. */
void nbd_ini_over(struct nbd_ini_lane *, struct nbd_ini_slot *);
extern const struct cutter_events nbd_ini_replies; /* ini_rx.c */

/* The disk. Lanes, on any thread, read what is fixed from UP on, and share only `spare` and
 * `links`. */
struct nbd_ini_dev {
	struct bdev bdev;
	struct nbd_ini_conf conf;
	struct resolve resolve;
	uint64_t deadline_ns;     /* of the opening; 0 = none */
	struct nbd_ini_link link; /* the first, until it is up */
	struct nbd_ini_deal deal;
	struct loop_work settle;
	uint64_t end;   /* of the export; at an odd end less than lim.size */
	int spare;      /* its descriptor from then on, for the first lane; atomic; -1 = taken */
	unsigned links; /* open ones; atomic */
	bool write;
};
