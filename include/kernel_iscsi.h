/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sessions of the kernel's iSCSI initiators in sysfs, and the processes that restore them. Paths
 * are relative to a root descriptor. Values outside their range are reported as unknown. */
#pragma once
#include "policy.h"
#include "uri.h"

/* struct iscsi_agreed_params as sysfs reports it: lengths in bytes, flags 0 or 1, numbers;
 * VALUE_UNKNOWN. */
struct kernel_iscsi_agreed_params {
	int header_digest, data_digest;
	int max_recv, max_xmit; /* MaxRecvDataSegmentLength of this host and of the target */
	int first_burst, max_burst;
	int initial_r2t, immediate_data, pdu_in_order, sequence_in_order;
	int max_r2t, erl;
};

/* Seconds, or VALUE_OFF, VALUE_UNKNOWN. */
struct kernel_iscsi_tmo {
	/* how long I/O is held while the connection is lost; off: until it is restored */
	int recovery;
	int abort, lu_reset, target_reset;
	/* silence before a NOP-Out is sent, and the limit for its answer; 0: none is sent */
	int recv, ping;
};

struct kernel_iscsi_session {
	unsigned sid, host; /* sessionN, hostN */
	int target_id;      /* third number of H:C:T:L; VALUE_UNKNOWN while there is none */
	char transport[16]; /* of /sys/class/iscsi_transport: "tcp", "iser"; "": unknown */
	char target[225], initiator[225]; /* names */
	char iface[64];                   /* open-iscsi's name of the local interface record */
	char netdev[16];                  /* network interface it is bound to; "": none, or iSER */
	int tpgt;                         /* target portal group tag */
	char state[16];                   /* FREE, LOGGED_IN, FAILED */
	char target_state[16]; /* UNBOUND, ALLOCATED, SCANNED, UNBINDING; before Linux 6.2 "" */
	int fast_abort;        /* no data is sent for aborted commands; 0, 1, VALUE_UNKNOWN */
	int creator;           /* process that created it; 0: unknown */
	struct kernel_iscsi_agreed_params agreed;
	struct kernel_iscsi_tmo tmo;
	unsigned connections, cid; /* number of connections; the lowest cid, as are all below */
	char connection_state[16]; /* up, down, failed, bound; before Linux 5.7 "" */
	/* portal that it logs in to; an address, although open-iscsi also accepts a name */
	char portal[ADDR_TEXT];
	/* addresses of the live connection: remote (after a redirect not the portal), local; "":
	 * not connected */
	char address[ADDR_TEXT], local[ADDR_TEXT];
	uint16_t portal_port, port; /* 0: unknown */
};
/* List all sessions by number. The caller frees the list. */
int kernel_iscsi_sessions(int root, struct kernel_iscsi_session **, unsigned *count, struct diag *);
/* Read one session. -ENOENT: it does not exist, or is being removed. */
int kernel_iscsi_session(int root, unsigned sid, struct kernel_iscsi_session *);
/* Find the session of the initiator (NULL: any) with the target, portal (port, and any of its
 * addresses) and transport. An unknown initiator of a session matches. NULL: none. */
const struct kernel_iscsi_session *kernel_iscsi_session_find(const struct kernel_iscsi_session *,
	unsigned count, const char *initiator, const char *transport, const char *target,
	const struct addr *portal);

/* CHAP credentials of a session; "": none. */
#define KERNEL_ISCSI_SECRET 256
struct kernel_iscsi_secrets {
	char user[KERNEL_ISCSI_SECRET], secret[KERNEL_ISCSI_SECRET];
	/* mutual CHAP: what the target must prove */
	char target_user[KERNEL_ISCSI_SECRET], target_secret[KERNEL_ISCSI_SECRET];
};
/* Read them; the caller wipes them. -EACCES: not root; -EOVERFLOW: longer than the buffer. */
int kernel_iscsi_secrets(int root, unsigned sid, struct kernel_iscsi_secrets *, struct diag *);

/* Set the recovery timeout in seconds or VALUE_OFF, from the next loss on. -EBUSY: the connection
 * is lost now. */
int kernel_iscsi_recovery_set(int root, unsigned sid, int seconds, struct diag *);

/* Serialize logins to one target and portal between processes. The lock is released with the
 * descriptor; without a lock file (fd < 0) every call succeeds. */
int kernel_iscsi_login_lock_open(int root); /* returns the descriptor, or -errno */
/* Return the ID of the lock for one target and portal. */
uint64_t kernel_iscsi_login_lock_id(
	const char *transport, const char *target, const struct addr *portal);
/* Take the lock without waiting. False: another descriptor holds it. */
bool kernel_iscsi_login_trylock(int fd, uint64_t id);
void kernel_iscsi_login_unlock(int fd, uint64_t id);

/* Lost connections are restored by our session monitor, one per host, or by open-iscsi's iscsid. */

/* Become the session monitor: lock a file of the kernel's module, which only root can open and
 * which needs no writable file system. The lock ends with the process. Returns its descriptor.
 * -EBUSY: another process holds it. */
int kernel_iscsi_monitor_lock(int root, struct diag *);
int kernel_iscsi_monitor(int root); /* process ID of the session monitor; 0: none */
/* Return the process ID of iscsid; 0: not running. Only a process of root counts, and not one in
 * another network namespace. */
int kernel_iscsid(int root);
bool kernel_process_lives(int root, int pid);

/* The initiator name of this host. */
struct kernel_initiator {
	char name[224];
	char from[64]; /* its source, for --verbose */
	int random;    /* generated for this run; warn the user */
};
/* Find it. First match: user_name (may be NULL), /etc/iscsi/initiatorname.iscsi, kernel command
 * line, iBFT, the host's identity (DMI UUID, machine-id, host ID), random. */
int kernel_initiator(int root, const char *user_name, struct kernel_initiator *, struct diag *);
