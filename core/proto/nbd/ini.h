/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The parts of the NBD client: the handshake, bytes in and bytes out (ini_handshake.[ch]); a link,
 * which is a stream with a handshake (ini_link.c); a lane, which is a link with requests in flight
 * (ini_lane.c sends, ini_rx.c receives); ini.c makes a bdev of the first link. */
#pragma once
#include "bdev.h"
#include "cutter.h"
#include "deferred.h"
#include "inflight.h"
#include "ini_handshake.h"
#include "resolve.h"
#include "stream.h"
#include "tls.h"
#include "wire/nbd.h"

#define NBD_INI_STAGE 65536 /* bytes of headers and small payloads per receive */
#define NBD_INI_SPANS 32    /* most separate parts of a read that arrive out of order */
/* longest read: in chunks of 256 KiB it can't have more separate parts */
#define NBD_INI_READ (8u << 20)
#define NBD_INI_TAIL 0x80000000 /* of io.detail: see nbd_ini_detail() */

/* Settings of an attachment: constant, read by every link on any thread. */
struct nbd_ini_conf {
	char host[ADDR_HOST]; /* "" = a unix socket */
	uint16_t port;
	struct addr dst, src;  /* dst: family 0 until the host is resolved */
	char where[ADDR_TEXT]; /* dst as text, for messages */
	char iface[16];
	char name[URI_MAX];
	/* for connecting and handshake, the first time with the name lookup; 0 = none */
	uint32_t timeout_ms;
	uint32_t io_ms;     /* per request */
	uint32_t detect_ms; /* a silent server is lost; 0: TCP's own limits */
	uint16_t depth, links;
	struct tls_files tls_files;   /* texts of the URI, until nbd_ini_conf_tls() */
	bool secure, psk;             /* with TLS, by a pre-shared key */
	bool tls_optional;            /* until UP: in clear if the server does not offer TLS */
	struct tls_creds *tls;        /* NULL: without TLS */
	char tls_hostname[ADDR_HOST]; /* in the server's certificate; "": any */
};
int nbd_ini_conf_init(struct nbd_ini_conf *, struct uri *, const struct bdev_env *, struct diag *);
/* Read keys and certificates. The owner frees conf->tls after the links. */
int nbd_ini_conf_tls(struct nbd_ini_conf *, struct diag *);

/* A connection. `up` follows the handshake (handshake.listed: with the list), or comes at once if
 * the connection is adopted; after it the owner gets what arrives. */
struct nbd_ini_link {
	const struct nbd_ini_link_events *ev;
	const struct nbd_ini_conf *conf;
	struct loop *loop;
	struct stream *stream;
	struct addr peer; /* once connected */
	struct nbd_ini_handshake handshake;
	struct stream_out out; /* of the handshake, then of the last message */
	union {
		struct nbd_request request;
		struct nbd_opt opt;
	} bye;
	struct loop_timer timer;
	uint64_t deadline_ns;
	uint8_t silent_beats;
	bool up, sending, closing;
	struct diag why;
	struct cutter cutter;
	uint8_t stage[NBD_INI_STAGE];
};
struct nbd_ini_link_events {
	void (*up)(struct nbd_ini_link *);
	const struct cutter_events *replies; /* set while up; NULL: nothing is read */
	void (*sent)(struct nbd_ini_link *, struct stream_out *);
	void (*down)(struct nbd_ini_link *); /* once; why is set */
};
/* deadline_ns: of the handshake; 0 = none */
int nbd_ini_link_dial(struct nbd_ini_link *, struct loop *, const struct nbd_ini_conf *,
	uint64_t deadline_ns, const struct nbd_ini_link_events *, struct diag *);
/* Take over a connection that has completed its handshake. */
int nbd_ini_link_adopt(struct nbd_ini_link *, struct loop *, const struct nbd_ini_conf *,
	const struct stream_detached *, const struct nbd_ini_link_events *, struct diag *);
/* Return the connection; not inside an upcall. */
struct stream_detached nbd_ini_link_detach(struct nbd_ini_link *);
/* `down` follows; returns -err */
int nbd_ini_link_fail(struct nbd_ini_link *, enum diag_code, int err, const char *text);
/* the same with the owner's reason */
void nbd_ini_link_end(struct nbd_ini_link *, const struct diag *why);
/* disconnects in order if possible, at once; allowed on a zeroed one */
void nbd_ini_link_fini(struct nbd_ini_link *);

/* A request in flight. */
struct nbd_ini_span {
	uint32_t from, to;
};
struct nbd_ini_slot {
	struct inflight_slot flight; /* first member; the owner is a struct io */
	struct stream_out out;
	struct nbd_request request;
	uint64_t cookie; /* as sent in the request */
	uint32_t len;    /* of the request: less than the io's at the end of an export with an odd
			    length */
	uint32_t error;  /* the first error of the server */
	uint32_t text;   /* the number of its message, 0 = none */
	uint8_t count;   /* READ: the parts that have arrived, sorted and not adjacent */
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
	struct nbd_ini_negotiated negotiated; /* result of this link's handshake */
	struct inflight inflight;
	uint64_t serial;
	struct deferred deferred; /* completed without a request */
	struct loop_work announce;
	bool flowing; /* requests may be sent */
	/* receiving */
	struct nbd_answer answer;
	struct nbd_ini_slot *sink; /* the request whose payload is being received */
	uint32_t extents;          /* bytes of extents to be received */
	uint8_t message[NBD_ERROR_MAX];
};
/* ini_list.c: for struct proto */
/* Set the warning about options that make TLS insecure, if there are any. optional: tls=optional;
 * secured: TLS is up. */
void nbd_ini_warn_insecure(
	const struct nbd_ini_conf *, bool optional, bool secured, struct diag *why);
int nbd_discover(struct loop *, struct uri *, const struct bdev_env *,
	void (*found)(const char *uri, void *user), void *user, struct diag *);
int nbd_ini_lane(struct lane **, struct bdev *, struct loop *, struct diag *);
/* The request was answered; its io is done once the request has also been sent. */
void nbd_ini_replied(struct nbd_ini_lane *, struct nbd_ini_slot *);
extern const struct cutter_events nbd_ini_replies; /* ini_rx.c */

/* ini_text.c; on any thread */
/* Keep a server's message, and return its number; 0: it is empty. */
uint32_t nbd_ini_text_store(const void *message, size_t len);
/* io.detail of a failed request: the server's error and the number of its message. tail: it was
 * refused because the size of the export is not a multiple of the server's minimum block, less than
 * 65536 and the length of the rest; else 0. */
uint32_t nbd_ini_detail(uint32_t error, uint32_t text, uint32_t tail);
const char *nbd_ini_status_text(uint32_t detail); /* valid until the thread's next call */

/* The disk. Lanes, on any thread, read what is constant from UP on, and share only `spare` and
 * `links`. */
struct nbd_ini_dev {
	struct bdev bdev;
	struct nbd_ini_conf conf;
	struct resolve resolve;
	uint64_t deadline_ns;     /* for opening; 0 = none */
	struct nbd_ini_link link; /* the first, until it is up */
	struct nbd_ini_negotiated negotiated;
	char security[sizeof(((struct stream *)0)->security)];
	struct tls_certificate chain[TLS_CHAIN]; /* of the server */
	unsigned chain_len;
	struct loop_work settle;
	uint64_t end; /* end of the export; if its length is odd, less than lim.size */
	/* then its connection, for the first lane; .fd: atomic; -1 = taken */
	struct stream_detached spare;
	unsigned links; /* number of open links; atomic */
	bool write;
};
