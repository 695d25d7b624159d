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

enum iscsi_carrier { ISCSI_TCP, ISCSI_ISER, ISCSI_CARRIERS };
const char *iscsi_carrier_word(enum iscsi_carrier); /* "tcp", "iser" */

struct iscsi_from {            /* who asks */
	const char *initiator; /* its name */
	struct iscsi_auth auth;
};

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
	char way[160]; /* as of struct stream and struct ep */
	char alg[16];  /* of CHAP; "" = the target let us in without */
};
/* SendTargets=All to one portal; runs the loop until it is answered or the time is up (0 = none).
 * -ECONNREFUSED and other errors of connecting: nobody was asked. */
int iscsi_discover(struct loop *, const struct addr *, enum iscsi_carrier,
	const struct iscsi_from *, uint32_t timeout_ms, struct iscsi_found *, struct diag *);
void iscsi_found_free(struct iscsi_found *);

struct iscsi_probe {
	struct addr addr;
	uint8_t carrier; /* enum iscsi_carrier */
	/* Filled in */
	bool answers;    /* somebody there speaks iSCSI, perhaps to refuse */
	struct diag why; /* no session came about */
	char way[160];
};
/* A discovery session with each and nothing asked in it, several at once. */
int iscsi_probe(struct loop *, const struct iscsi_from *, struct iscsi_probe *, unsigned count,
	uint32_t timeout_ms, struct diag *);

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

/* The login phase of a normal session over any carrier, driven by its owner's events: requests go
 * out, responses are put in. */
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
	uint32_t exp_statsn;
	uint16_t tsih;
	int tpgt;     /* -1: not told */
	char alg[16]; /* of CHAP; "" = let in without */
};
struct iscsi_signin;
enum iscsi_signin_next { ISCSI_SIGNIN_MORE, ISCSI_SIGNIN_DONE, ISCSI_SIGNIN_MOVED };
/* target and from live until it is freed. */
int iscsi_signin_new(struct iscsi_signin **, const char *target, enum iscsi_carrier,
	const struct iscsi_from *, const struct iscsi_offer *, const uint8_t isid[6],
	struct diag *);
/* the first request */
int iscsi_signin_begin(struct iscsi_signin *, struct datamover *, struct diag *);
/* A PDU that came; what is to be answered is sent. enum iscsi_signin_next, or -errno: it has
 * failed. */
int iscsi_signin_take(struct iscsi_signin *, const struct iscsi_bhs *, const uint8_t *data,
	uint32_t len, struct diag *);
bool iscsi_signin_answers(const struct iscsi_signin *);    /* a login response has come */
uint16_t iscsi_signin_status(const struct iscsi_signin *); /* ISCSI_LOGIN_STATUS of the last one */
void iscsi_signin_agreed(const struct iscsi_signin *, struct iscsi_agreed *); /* after DONE */
const char *iscsi_signin_moved(const struct iscsi_signin *); /* after MOVED: to HOST:PORT */
void iscsi_signin_free(struct iscsi_signin *);               /* wipes; NULL allowed */
