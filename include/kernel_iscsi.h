/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sessions of the kernel's iSCSI initiators as /sys tells them. Everything is reached under a root
 * descriptor; what the kernel says is held against what it may say, and what does not fit counts as
 * not told. */
#pragma once
#include "diag.h"
#include "policy.h"
#include "uri.h"
#include <stdbool.h>
#include <stdint.h>

/* What initiator and target agreed on, RFC 7143, 13; lengths in bytes, the others 0 and 1 but for
 * the last. Numbers, or VALUE_UNKNOWN. */
struct kernel_iscsi_agreed {
	int header_digest, data_digest;
	int max_recv, max_xmit; /* data segments of this machine's and of the target's choice */
	int first_burst, max_burst;
	int initial_r2t, immediate_data, pdu_in_order, sequence_in_order;
	int max_r2t, erl;
};

/* Seconds, or VALUE_OFF, VALUE_UNKNOWN. */
struct kernel_iscsi_tmo {
	/* how long requests are held while the connection is lost; off: until it is back */
	int recovery;
	int abort, lu_reset, target_reset;
	/* silence after which a ping goes out, and for its answer; 0: none goes out */
	int recv, ping;
};

struct kernel_iscsi_session {
	unsigned sid, host; /* sessionN, hostN */
	int target_id;      /* the third of H:C:T:L; VALUE_UNKNOWN while it has none */
	/* as /sys/class/iscsi_transport calls it: "tcp", "iser", "bnx2i"; "" = not told */
	char transport[16];
	char target[225], initiator[225]; /* names */
	char iface[64];                   /* how open-iscsi calls the way from this machine */
	char netdev[16]; /* the network interface it is bound to; "" = none, and not told of iSER */
	int tpgt;
	char state[16];        /* FREE, LOGGED_IN, FAILED */
	char target_state[16]; /* UNBOUND, ALLOCATED, SCANNED, UNBINDING; before Linux 6.2 "" */
	/* commands that are aborted get no data any more; 0, 1, VALUE_UNKNOWN */
	int fast_abort;
	int creator; /* process that made it; 0 = not told */
	struct kernel_iscsi_agreed agreed;
	struct kernel_iscsi_tmo tmo;
	/* Its connections; the rest is of the one with the lowest number. */
	unsigned connections, cid;
	char connection_state[16]; /* up, down, failed, bound; before Linux 5.7 "" */
	/* where it logs in: a number, but open-iscsi may have been given a name */
	char portal[ADDR_TEXT];
	/* connected now: to (a redirect makes it another than portal), from; "" when not */
	char address[ADDR_TEXT], local[ADDR_TEXT];
	uint16_t portal_port, port; /* 0 = not told */
};
/* By number; free() the list. */
int kernel_iscsi_sessions(int root, struct kernel_iscsi_session **, unsigned *count, struct diag *);
/* -ENOENT: it is gone, or going */
int kernel_iscsi_session(int root, unsigned sid, struct kernel_iscsi_session *);
/* The one of that initiator (NULL: any; "" in the list: unknown, matches) to that target and portal
 * (ports count) over that transport; NULL = none. */
const struct kernel_iscsi_session *kernel_iscsi_session_find(const struct kernel_iscsi_session *,
	unsigned count, const char *initiator, const char *transport, const char *target,
	const struct addr *portal);

/* What it logs in with, "" = nothing; the caller wipes it. Only root may ask: -EACCES. Longer than
 * there is room: -EOVERFLOW. */
#define KERNEL_ISCSI_SECRET 256
struct kernel_iscsi_secrets {
	char user[KERNEL_ISCSI_SECRET], secret[KERNEL_ISCSI_SECRET];
	/* what the target is to prove */
	char target_user[KERNEL_ISCSI_SECRET], target_secret[KERNEL_ISCSI_SECRET];
};
int kernel_iscsi_secrets(int root, unsigned sid, struct kernel_iscsi_secrets *, struct diag *);

/* From the next loss on; seconds or VALUE_OFF. -EBUSY: the connection is lost now. */
int kernel_iscsi_recovery_set(int root, unsigned sid, int seconds, struct diag *);

/* Turns at logging in to a target and portal, which processes take; they end with the descriptor.
 * Where there are none (fd below 0) everybody has his. */
int kernel_iscsi_turns(int root); /* a descriptor, or -errno */
uint64_t kernel_iscsi_turn(const char *transport, const char *target, const struct addr *portal);
/* false: somebody else has it; true as well when this descriptor has */
bool kernel_iscsi_turn_take(int fd, uint64_t turn);
void kernel_iscsi_turn_leave(int fd, uint64_t turn);

/* Who logs in again when the connection of a session of the kernel's iSCSI initiators is lost: a
 * keeper of ours, one for the whole machine, or open-iscsi's daemon. Everything is reached under a
 * root descriptor. */

/* The keeper holds a lock on a file of the kernel's module, which needs no place to write, which
 * only root can take and which ends with the process. Its descriptor; -EBUSY: another process has
 * it. */
int kernel_iscsi_keeper_lock(int root, struct diag *);
int kernel_iscsi_keeper(int root); /* process id, 0: there is none */
/* Process id of open-iscsi's daemon, 0: it does not run. The name alone anybody can have: it is
 * root's, and not in another network namespace. */
int kernel_iscsid(int root);
bool kernel_process_lives(int root, int pid);

/* What the running system says about iSCSI. */

/* The initiator's name: wanted (may be NULL) → /etc/iscsi/initiatorname.iscsi → kernel command line
 * → iBFT → made of the machine's identity (DMI UUID → machine-id → host id) → random. */
struct kernel_initiator {
	char name[224];
	char from[64]; /* for --verbose */
	int random;    /* made up for this run: warn */
};
int kernel_initiator(int root, const char *wanted, struct kernel_initiator *, struct diag *);
