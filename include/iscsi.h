/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Asking an iSCSI target what it has: discovery sessions over TCP and over iSER, and whether a
 * portal answers. RFC 7143, RFC 7145. */
#pragma once
#include "datamover.h"
#include "diag.h"
#include "loop.h"
#include "resolve.h"
#include "uri.h"
#include "wire/iscsi.h"

struct iscsi_auth { /* CHAP; user NULL: none. Texts are the caller's and outlive the call */
	const char *user, *secret;
	/* mutual where there is a secret; user NULL: whatever the target calls itself */
	const char *target_user, *target_secret;
	unsigned algs; /* bits by enum iscsi_chap_alg - ISCSI_CHAP_MD5; 0: all */
};
/* "sha3-256,sha256,sha1,md5" or the words of libiscsi ("sha-256") → bits; -EINVAL names what is
 * none. */
int iscsi_chap_algs(const char *text, unsigned *bits, struct diag *);

#define ISCSI_TARGET_PORTAL_TAG 1 /* of our own target */

enum iscsi_carrier { ISCSI_TCP, ISCSI_ISER, ISCSI_CARRIERS };
const char *iscsi_carrier_word(enum iscsi_carrier); /* "tcp", "iser" */

struct iscsi_from {            /* who asks */
	const char *initiator; /* its name */
	bool named;            /* by the user: sessions of other names are not its own */
	struct iscsi_auth auth;
};
/* The name that an existing session has if it is its own; NULL: any, as the user named none. */
static inline const char *iscsi_own_name(const struct iscsi_from *from)
{
	return from->named ? from->initiator : NULL;
}

struct iscsi_record { /* one portal of one target, as it was told */
	char name[ISCSI_NAME_MAX + 1];
	char host[256]; /* without brackets; a name or an address */
	uint16_t port;
	int tpgt; /* -1: not told */
};
struct iscsi_found {
	struct iscsi_record *record;
	unsigned count;
	struct addr at; /* who answered in the end: another than was asked after a redirect */
	unsigned redirects;
	struct diag skipped; /* the first name or address of the list that is not understood */
	unsigned skips;      /* how many there are */
	char way[160];       /* as of struct stream and struct ep */
	char alg[16];        /* of CHAP; "" = the target let us in without */
};
/* Whom redirects have led to so far, from where one began: who is there already is not gone to
 * again. */
#define ISCSI_HOPS 8
struct iscsi_hops {
	struct addr visited[ISCSI_HOPS + 1];
	unsigned count;
	/* on the loop: why.err 0, and visited[count] is where to go, or why */
	void (*arrived)(struct iscsi_hops *);
	struct diag why;

	/* its own */
	struct resolve resolve;
	char to[300];
};
void iscsi_hops_begin(
	struct iscsi_hops *, const struct addr *at, void (*arrived)(struct iscsi_hops *));
/* On to HOST:PORT: `arrived` follows, never from inside this call. numbers: a name is not looked
 * up, but an error. timeout_ms 0 = as long as the resolver takes. */
void iscsi_hops_on(
	struct iscsi_hops *, struct loop *, const char *to, bool numbers, uint32_t timeout_ms);
void iscsi_hops_end(struct iscsi_hops *); /* any time: `arrived` does not come any more */

/* --- Logging in. */
/* offered, in this order */
enum iscsi_digest {
	ISCSI_DIGEST_NONE,
	ISCSI_DIGEST_CRC32C,
	ISCSI_DIGEST_CRC32C_NONE,
	ISCSI_DIGEST_NONE_CRC32C
};
struct iscsi_offer {                        /* wishes */
	uint8_t header_digest, data_digest; /* enum iscsi_digest; not over iSER */
	bool initial_r2t, immediate_data;
	uint32_t first_burst, max_burst, max_recv, max_r2t, erl;
	uint32_t target_recv; /* iSER's TargetRecvDataSegmentLength */
};
struct iscsi_agreed { /* what holds after the login */
	bool header_digest, data_digest, initial_r2t, immediate_data, pdu_in_order,
		sequence_in_order;
	uint32_t max_recv, max_xmit; /* data segments: ours, the target's */
	uint32_t first_burst, max_burst, max_r2t, erl, time2wait, time2retain;
	uint32_t exp_statsn, max_cmdsn;
	uint16_t tsih;
	int tpgt;     /* -1: not told */
	char alg[16]; /* of CHAP; "" = let in without */
};

/* From a portal to a session: connect, log in, follow redirects, over any carrier. Driven by its
 * events. Embedded in its owner; stays where it is until it is over. */
struct iscsi_dial;
struct iscsi_dial_ops {
	/* Begin to connect to result.at: sets dm; its user is the dial. */
	int (*connect)(struct iscsi_dial *, uint32_t timeout_ms, const struct datamover_events *,
		struct diag *);
	/* NULL, or: connected. Offer and ISID may be set here. */
	int (*up)(struct iscsi_dial *, struct diag *);
	/* 1: that was all; 0: PDUs follow, until iscsi_dial_finish(); -errno */
	int (*logged_in)(struct iscsi_dial *, struct diag *);
	/* NULL if none follow */
	void (*pdu)(
		struct iscsi_dial *, const struct iscsi_bhs *, const uint8_t *data, uint32_t len);
	/* Once, from the loop: why.err 0, and then dm is the owner's if it stays. Not after
	 * iscsi_dial_end(). */
	void (*done)(struct iscsi_dial *);
};
struct iscsi_login;
struct iscsi_login_result {
	bool answers; /* a login response has come */
	/* class and detail of the last response, ISCSI_LOGIN_STATUS; 0 = success, or none */
	uint16_t status;
	struct addr at; /* the portal, or where redirects led */
	unsigned redirects;
	char way[160];              /* as of a datamover */
	struct iscsi_agreed agreed; /* once logged in */
};
struct iscsi_dial {
	/* The owner's, zeroes else; what is pointed to lives until it is over */
	const struct iscsi_dial_ops *ops;
	struct loop *loop;
	const char *target; /* NULL: a discovery session */
	const struct iscsi_from *from;
	const struct iscsi_offer *offer; /* NULL: nothing in particular is wished */
	const uint8_t *isid;             /* of 6 bytes; NULL: random */
	uint8_t carrier;                 /* enum iscsi_carrier */
	bool numbers;                    /* a redirect to a name is an error: nothing is resolved */
	bool stays;                      /* the connection outlives this */
	uint64_t until;                  /* loop_clock, 0 = no end */
	uint32_t limit_ms;               /* of each connection and its login; 0 = none */
	struct addr portal;

	/* Filled in */
	struct diag why;
	struct iscsi_login_result result;
	struct datamover *dm;

	/* after the login: the request in flight, for messages; NULL: a timeout is no failure */
	const char *awaits;
	struct loop_timer timer;
	struct iscsi_login *login;

	uint8_t state; /* private from here */
	bool moved;
	struct iscsi_hops hops;
	struct loop_work later;
};
void iscsi_dial_start(struct iscsi_dial *);
/* Ends it after the upcall that is running. NULL: success. */
void iscsi_dial_finish(struct iscsi_dial *, const struct diag *why);
void iscsi_dial_end(struct iscsi_dial *); /* any time, over or not; hangs up */

/* --- Discovery sessions. */
struct iscsi_text { /* zeroed: empty */
	char *bytes;
	size_t len, room;
	unsigned pdus;
};
struct iscsi_ask {              /* from connecting to logout; zeroed, then set by its owner */
	struct iscsi_dial dial; /* loop, from, carrier, portal, until: the owner's */
	bool list;              /* SendTargets */
	void (*done)(struct iscsi_ask *); /* NULL, or: it is over, and dial.why says how */
	void *user;

	volatile int over;
	struct iscsi_text text; /* of SendTargets */

	uint32_t itt, exp_statsn; /* private from here */
	struct loop_timer again;
	unsigned tries;
};
void iscsi_ask_start(struct iscsi_ask *);
int iscsi_ask_found(struct iscsi_ask *, struct iscsi_found *, struct diag *); /* of a list */
void iscsi_ask_end(struct iscsi_ask *); /* any time, over or not */

/* SendTargets=All to one portal; runs the loop until it is answered or the time is up (0 = none).
 * -ECONNREFUSED and other connect errors: no target was reached. */
int iscsi_discover(struct loop *, const struct addr *, enum iscsi_carrier,
	const struct iscsi_from *, uint32_t timeout_ms, struct iscsi_found *, struct diag *);
void iscsi_found_free(struct iscsi_found *);
/* The URI of the target at the portal of a record. */
void iscsi_record_uri(const struct iscsi_record *, enum iscsi_carrier, char uri[URI_MAX]);

struct iscsi_probe {
	struct addr addr;
	uint8_t carrier; /* enum iscsi_carrier */
	/* Filled in */
	bool answers;    /* the peer speaks iSCSI, even if it refuses */
	struct diag why; /* why there is no session */
	char way[160];
};
/* A discovery session with each and nothing asked in it, several at once. */
int iscsi_probe(struct loop *, const struct iscsi_from *, struct iscsi_probe *, unsigned count,
	uint32_t timeout_ms, struct diag *);
