/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The initiator's logins and discovery sessions, over TCP and iSER (RFC 7143, RFC 7145). */
#pragma once
#include "iscsi_carrier.h"
#include "resolve.h"
#include "wire/iscsi.h"

/* CHAP. The caller owns the strings, which must outlive their users. */
struct iscsi_auth {
	const char *user, *secret; /* user NULL: no CHAP */
	/* target_secret enables mutual CHAP. target_user NULL: any name of the target. */
	const char *target_user, *target_secret;
	unsigned algs; /* bits by enum iscsi_chap_alg - ISCSI_CHAP_MD5; 0: all but MD5 */
};
#define ISCSI_CHAP_ALL 0xfu /* of iscsi_auth.algs */
/* Parse a list such as "sha3-256,sha256,sha1,md5"; "sha-256" (libiscsi) is sha256. -EINVAL: unknown
 * algorithm. */
int iscsi_chap_algs(const char *text, unsigned *bits, struct diag *);

const char *iscsi_carrier_name(enum iscsi_carrier); /* "tcp", "iser" */

struct iscsi_identity { /* of an initiator */
	const char *initiator;
	bool named; /* initiator was set by the user */
	struct iscsi_auth auth;
};
/* Return the initiator name that an existing session must have to count as our own. NULL: any. */
static inline const char *iscsi_own_name(const struct iscsi_identity *from)
{
	return from->named ? from->initiator : NULL;
}

struct iscsi_record { /* one portal of one target, as reported by SendTargets */
	char name[ISCSI_NAME_MAX + 1];
	char host[256]; /* a name, or an address without brackets */
	uint16_t port;
	int tpgt; /* target portal group tag; -1: not reported */
};
struct iscsi_target_list {
	struct iscsi_record *record;
	unsigned count;
	struct addr at; /* the portal that has answered, after redirects */
	unsigned redirects;
	struct diag skipped; /* the first invalid name or address in the list */
	unsigned skips;      /* number of invalid names and addresses */
	char route[160];     /* of the connection, for messages */
	char alg[16];        /* CHAP digest; "": no CHAP */
};

/* The portals that redirects have led to, to detect loops. */
#define ISCSI_REDIRECTS 8
struct iscsi_redirects {
	struct addr visited[ISCSI_REDIRECTS + 1]; /* [count] is the current one */
	unsigned count;
	void (*resolved)(struct iscsi_redirects *);
	struct diag why;

	/* private */
	struct resolve resolve;
	char to[300];
};
/* ---- Login */
enum iscsi_digest { /* values to offer, in order of preference */
	ISCSI_DIGEST_NONE,
	ISCSI_DIGEST_CRC32C,
	ISCSI_DIGEST_CRC32C_NONE,
	ISCSI_DIGEST_NONE_CRC32C
};
struct iscsi_offered_params {               /* parameters to offer (RFC 7143, 13); sizes in bytes */
	uint8_t header_digest, data_digest; /* enum iscsi_digest; ignored over iSER */
	bool initial_r2t, immediate_data;
	uint32_t first_burst, max_burst, max_recv, max_r2t, erl;
	uint32_t target_recv; /* iSER's TargetRecvDataSegmentLength */
	uint32_t time2retain; /* s: the target knows a lost session at most for this time */
};
struct iscsi_agreed_params { /* the parameters that a login has agreed on */
	bool header_digest, data_digest, initial_r2t, immediate_data, pdu_in_order,
		sequence_in_order;
	uint32_t max_recv, max_xmit; /* data segments: limits of this side, of the target */
	uint32_t first_burst, max_burst, max_r2t, erl, time2wait, time2retain;
	uint32_t exp_statsn, max_cmdsn;
	uint16_t tsih;
	int tpgt;     /* -1: not reported */
	char alg[16]; /* CHAP digest; "": no CHAP */
};

/* Connects to a portal and logs in, following redirects, over any carrier. Its owner embeds it,
 * zeroed, and must not move it. Upcalls come from the loop; iscsi_dial_start() calls connect(). */
struct iscsi_dial;
struct iscsi_dial_ops {
	/* Start connecting to result.at: set conn, with the dial as its user. */
	int (*connect)(struct iscsi_dial *, uint32_t timeout_ms,
		const struct iscsi_carrier_events *, struct diag *);
	/* NULL, or: connected; the last moment to set offered and isid. */
	int (*up)(struct iscsi_dial *, struct diag *);
	/* 1: finish; -errno: fail. 0, only in core/proto/iscsi: pdu(), which otherwise may be NULL,
	 * receives what follows. */
	int (*logged_in)(struct iscsi_dial *, struct diag *);
	void (*pdu)(
		struct iscsi_dial *, const struct iscsi_bhs *, const uint8_t *data, uint32_t len);
	/* Called once, unless iscsi_dial_end() is called before. Success: why.err is 0. */
	void (*done)(struct iscsi_dial *);
};
struct iscsi_login;
struct iscsi_login_result {
	bool answers;    /* the target has sent a login response */
	uint16_t status; /* ISCSI_LOGIN_STATUS of the last response; 0: success, or no response */
	struct addr at;  /* the portal, after redirects */
	unsigned redirects;
	char route[160];                   /* of the connection, for messages */
	struct iscsi_agreed_params agreed; /* after the login */
};
struct iscsi_dial {
	/* Set by the owner; what pointers lead to must outlive the dial. */
	const struct iscsi_dial_ops *ops;
	struct loop *loop;
	const char *target; /* NULL: a discovery session */
	const struct iscsi_identity *from;
	const struct iscsi_offered_params *offered; /* NULL: defaults */
	const uint8_t *isid;                        /* 6 bytes; NULL: random */
	uint8_t carrier;                            /* enum iscsi_carrier */
	uint16_t tsih;      /* 0: a new session; else ask for a second connection of this one */
	bool numbers;       /* reject redirects to host names: nothing is resolved */
	bool keep_open;     /* conn, until iscsi_dial_end(); for longer done() sets it to NULL */
	uint64_t until;     /* deadline, loop_clock(); 0: none */
	uint32_t limit_ms;  /* for each connection with its login; 0: none */
	struct addr portal; /* to connect to; once up, only the address that answered */

	/* Results */
	struct diag why;
	struct iscsi_login_result result;
	struct iscsi_carrier_conn *conn;

	/* After the login, the owner's: when timer fires, the dial fails with a timeout of
	 * pending_request, or succeeds if that is NULL. */
	const char *pending_request;
	struct loop_timer timer;
	struct iscsi_login *login;

	/* private */
	uint8_t state;
	bool redirected;
	struct iscsi_redirects redirects;
	struct loop_work finish_work;
};
void iscsi_dial_start(struct iscsi_dial *);
/* Cancel in any state, or clean up after done(), the only upcall that may call this. Terminates
 * conn; no done() follows. */
void iscsi_dial_end(struct iscsi_dial *);

/* ---- Discovery sessions (RFC 7143, 4.3 and appendix C) */
struct iscsi_text { /* gathered key=value pairs; zeroed: empty */
	char *bytes;
	size_t len, room;
	unsigned pdus;
};
struct iscsi_conf;
/* Logs in, requests a list, logs out. Zeroed but for what the owner sets. */
struct iscsi_discovery {
	struct iscsi_dial dial; /* loop, from, carrier, portal, until: the owner's */
	bool list;              /* send SendTargets=All; else only log in and out */
	/* as of a disk: local address, interface or RDMA device; NULL: any, and verbs */
	const struct iscsi_conf *conf;
	void (*done)(struct iscsi_discovery *); /* may be NULL; dial.why: the result */
	void *user;

	volatile int complete;  /* for loop_wait() */
	struct iscsi_text text; /* the target's answer */

	/* private */
	uint32_t itt, exp_statsn;
	struct loop_timer retry_timer;
	unsigned tries;
};
void iscsi_discovery_start(struct iscsi_discovery *);
/* After success with `list`: parse the answer. The caller frees the list, also after an error. */
int iscsi_discovery_parse(struct iscsi_discovery *, struct iscsi_target_list *, struct diag *);
void iscsi_discovery_end(struct iscsi_discovery *); /* as iscsi_dial_end() */

void iscsi_target_list_free(struct iscsi_target_list *);
/* Print the URI of a target at one of its portals. */
void iscsi_record_uri(const struct iscsi_record *, enum iscsi_carrier, char uri[URI_MAX]);

struct iscsi_probe {
	struct addr addr;
	uint8_t carrier; /* enum iscsi_carrier */
	/* Results */
	bool answers;    /* the peer speaks iSCSI, even if it refuses the login */
	struct diag why; /* err 0: the login succeeded */
	char route[160];
};
/* Log in to and out of each portal, up to 16 at once; runs the loop. -EINVAL, -ENOMEM: nothing was
 * probed. */
int iscsi_probe(struct loop *, const struct iscsi_identity *, struct iscsi_probe *, unsigned count,
	uint32_t timeout_ms, struct diag *);

/* All targets of a portal, over one carrier or both, and probes of their portals. Zeroed, then set
 * by the owner. Functions run the loop. */
#define ISCSI_SEARCH_PORTALS 64 /* that are probed */
struct iscsi_portal {
	const struct iscsi_record *record; /* the first one at this portal */
	struct diag why;                   /* its name was not resolved */
	struct iscsi_probe *probe[ISCSI_CARRIERS];
};
struct iscsi_search {
	struct loop *loop;
	const struct iscsi_identity *from;
	struct addr server;
	bool enabled[ISCSI_CARRIERS];
	uint64_t until; /* loop_clock(); 0: no limit */

	struct iscsi_target_list found[ISCSI_CARRIERS];
	struct diag why[ISCSI_CARRIERS];
	struct iscsi_portal portal[ISCSI_SEARCH_PORTALS];
	unsigned portals;

	struct iscsi_probe probe[ISCSI_SEARCH_PORTALS * ISCSI_CARRIERS]; /* private */
	unsigned probes;
};
/* List the targets over a carrier that is enabled: sets found or why, whose error it returns. */
int iscsi_search_list(struct iscsi_search *, enum iscsi_carrier);
/* Return 0 if a carrier succeeded, or the error of the one that reached the portal. */
int iscsi_search_status(const struct iscsi_search *, struct diag *);
/* Probe the portals of all records. Blocks in addr_resolve(). Errors as of iscsi_probe(). */
int iscsi_search_probe(struct iscsi_search *, struct diag *);
/* Return the record after `last` (NULL: the first) of both lists, without duplicates. */
const struct iscsi_record *iscsi_search_next(
	const struct iscsi_search *, const struct iscsi_record *last);
/* Return the portal of a record. NULL: it was not probed. */
const struct iscsi_portal *iscsi_search_portal(
	const struct iscsi_search *, const struct iscsi_record *);
/* Return the carrier to use: iSER if the portal answers over it, else TCP; without a probe or an
 * answer the one that listed the record. */
enum iscsi_carrier iscsi_search_carrier(const struct iscsi_search *, const struct iscsi_record *);
void iscsi_search_free(struct iscsi_search *);
