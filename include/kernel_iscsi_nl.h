/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's iSCSI initiator by NETLINK_ISCSI: commands, events, and its connections as a carrier
 * of the Datamover Interface. What is said in a login, and what a session is for, is decided
 * elsewhere (attach_iscsi.h). */
#pragma once
#include "datamover.h"
#include "loop.h"
#include "uapi/iscsi_if.h"
#include "uri.h"
#include <sys/types.h>

/* in the order of enum iscsi_carrier */
enum kernel_iscsi_kind { KERNEL_ISCSI_TCP, KERNEL_ISCSI_ISER, KERNEL_ISCSI_KINDS };
struct kernel_iscsi_transport {
	uint64_t handle;
};
/* Loads iscsi_tcp or ib_iser where it is not there; for iSER an RDMA device too is needed. Errors
 * name what is missing and the way out. */
int kernel_iscsi_transport(
	int root, enum kernel_iscsi_kind, struct kernel_iscsi_transport *, struct diag *);
/* there is nothing to load */
bool kernel_iscsi_loaded(int root, enum kernel_iscsi_kind);
/* nothing is loaded */
int kernel_iscsi_transport_there(
	int root, enum kernel_iscsi_kind, struct kernel_iscsi_transport *, struct diag *);

/* --- Commands and events. One socket asks, so that an answer is the next message on it, and is
 * read within the call: commands do not wait for the loop. The kernel executes one at a time for
 * the whole machine, so that none may wait there: DESTROY_SESSION waits for disks to be flushed,
 * and is only for sessions that have none. Another socket is in the multicast group; a running
 * iscsid hears the same. */
struct kernel_iscsi;

struct kernel_iscsi_event {
	/* enum iscsi_if_event but ISCSI_IF_ERROR; what else there is is not handed on */
	uint32_t type;
	uint32_t sid, cid; /* cid 0 where an event is a session's */
	/* CONN_ERROR: enum iscsi_if_reason; CONN_LOGIN_STATE: the state; of sessions: the SCSI
	 * host's number */
	uint32_t value;
	/* RECV_PDU, with len bytes of data; the socket's again on return */
	const struct iscsi_bhs *bhs;
	const uint8_t *data;
	uint32_t len;
};
struct kernel_iscsi_hook { /* wants what happens to one session; embedded in its owner */
	uint32_t sid;
	/* may remove its own and any other hook */
	void (*event)(struct kernel_iscsi_hook *, const struct kernel_iscsi_event *);
	struct kernel_iscsi_hook *next;
};
struct kernel_iscsi_watch { /* wants what no hook is for; embedded in its owner */
	void (*event)(struct kernel_iscsi_watch *, const struct kernel_iscsi_event *);
	/* events came faster than they were read: how things stand is to be looked up */
	void (*lost)(struct kernel_iscsi_watch *);
};
/* The watch may be NULL. */
int kernel_iscsi_open(
	struct kernel_iscsi **, struct loop *, struct kernel_iscsi_watch *, struct diag *);
struct loop *kernel_iscsi_loop(const struct kernel_iscsi *);
void kernel_iscsi_close(struct kernel_iscsi *); /* needs: no hook and no connection of it is left */
void kernel_iscsi_hook(struct kernel_iscsi *, struct kernel_iscsi_hook *);
/* allowed when it is not hooked */
void kernel_iscsi_unhook(struct kernel_iscsi *, struct kernel_iscsi_hook *);

/* One command with what follows it (len 0: nothing); the message is then the answer. 0, or -errno
 * as the kernel said it: of iferror, or for BIND, START, STOP and SEND_PDU of r.code too. -EPROTO:
 * an answer that is none; -EPERM: not root. Never a diag: the caller knows what for. */
int kernel_iscsi_command(struct kernel_iscsi *, enum iscsi_if_command, struct iscsi_if_msg *,
	const void *more, uint32_t len);
/* A parameter of a connection that is bound; of one that is live, too. -ENOSYS: this transport has
 * none such. */
int kernel_iscsi_set(struct kernel_iscsi *, uint64_t transport, struct iscsi_if_conn,
	enum iscsi_if_param, const char *text);

/* --- Connections. Dialling: the transport connects, a session and its connection are made (or,
 * `again`, taken through STOP_CONN RECOVER), both are bound; then `up`, and login PDUs may be sent.
 */
struct kernel_iscsi_how {
	enum kernel_iscsi_kind kind;
	uint64_t transport; /* its handle */
	struct addr to;
	struct addr src;                /* family 0: any */
	const char *netdev;             /* NULL: any; TCP alone */
	uint32_t timeout_ms;            /* to be connected; 0 = the network's own */
	uint16_t cmds_max, queue_depth; /* of a new session */
	bool again;                     /* the connection `conn` of a session that exists */
	struct iscsi_if_conn conn;
};
struct kernel_iscsi_conn { /* its owner reads it */
	/* `why` of connection_terminate_notify names the kernel's reason; recv_limit is what may be
	 * offered */
	struct datamover dm;
	struct iscsi_if_conn id; /* valid from `up` on */
	uint32_t host;           /* number of the SCSI host, unless `again` */
	uint64_t transport;      /* its handle */
	bool unbound;            /* its disks are gone, as asked for */
	void (*on_unbound)(struct kernel_iscsi_conn *); /* NULL, or that has just happened */
};
/* ops->connection_terminate undoes what dialling did: of a new session nothing is left, one of
 * before is as after STOP_CONN RECOVER. ops->enable_datamover sets what it is told as MAX_RECV;
 * kernel_iscsi_start() lets commands through. Login PDUs have the task tag of whoever sent them,
 * although the kernel gives its own. */
int kernel_iscsi_dial(struct kernel_iscsi_conn **, struct kernel_iscsi *,
	const struct kernel_iscsi_how *, const struct datamover_events *, void *user,
	struct diag *);
/* A connection as it is, to log out on: `up` is not called. It ends with kernel_iscsi_remove() and
 * kernel_iscsi_leave(). */
int kernel_iscsi_adopt(struct kernel_iscsi_conn **, struct kernel_iscsi *, uint64_t transport,
	struct iscsi_if_conn, const struct datamover_events *, void *user, struct diag *);
int kernel_iscsi_conn_set(struct kernel_iscsi_conn *, enum iscsi_if_param, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* the disks of its session are flushed and let go, in the background. -errno */
int kernel_iscsi_unbind(struct kernel_iscsi_conn *);
/* End the connection and its session; no other event of them is reported after this call. 0: the
 * kernel removes the session in the background, however long its disks take, and then
 * connection_terminate_notify follows. -EINVAL: another process is removing it; other -errno. */
int kernel_iscsi_remove(struct kernel_iscsi_conn *);
/* for the kernel to tell; where it does not, it does not matter */
void kernel_iscsi_conn_netdev(struct kernel_iscsi_conn *, const char *netdev);
int kernel_iscsi_start(struct kernel_iscsi_conn *, struct diag *);
/* The kernel keeps it; what is known of it here is freed. No upcall after it; not from inside one.
 */
void kernel_iscsi_leave(struct kernel_iscsi_conn *);

const char *kernel_iscsi_reason(uint32_t reason); /* enum iscsi_if_reason in words */
