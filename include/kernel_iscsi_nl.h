/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's iSCSI initiator by NETLINK_ISCSI: commands, events, and its connections as a carrier
 * of the Datamover Interface (RFC 5047). The login itself is in core/proto/iscsi, sessions are in
 * attach_iscsi.h. All calls belong to the thread of the loop. */
#pragma once
#include "iscsi_carrier.h"
#include "uapi/iscsi_if.h"
#include <sys/types.h>

struct kernel_iscsi_transport {
	uint64_t handle;
};
/* Get the handle of a transport; loads iscsi_tcp or ib_iser. iSER also needs an RDMA device. The
 * diag names what is missing. */
int kernel_iscsi_transport(
	int root, enum iscsi_carrier, struct kernel_iscsi_transport *, struct diag *);
/* Whether kernel_iscsi_transport() would load nothing. */
bool kernel_iscsi_loaded(int root, enum iscsi_carrier);
/* Get the handle without loading modules. */
int kernel_iscsi_transport_find(
	int root, enum iscsi_carrier, struct kernel_iscsi_transport *, struct diag *);

/* --- Commands and events. Commands use a socket of their own, and their reply is read within the
 * call. The kernel executes one command at a time for the whole host, so none may block there:
 * DESTROY_SESSION waits until disks are flushed, and is only for sessions without disks. Events
 * arrive on a second socket in the multicast group; a running iscsid receives them, too. */
struct kernel_iscsi;

struct kernel_iscsi_event {
	/* enum iscsi_if_event except ISCSI_IF_ERROR; others are dropped */
	uint32_t type;
	uint32_t sid, cid; /* cid 0 for events of a session */
	/* CONN_ERROR: enum iscsi_if_reason; CONN_LOGIN_STATE: the state; session events: the number
	 * of the SCSI host */
	uint32_t value;
	/* RECV_PDU, with len bytes of data; valid until the callback returns */
	const struct iscsi_bhs *bhs;
	const uint8_t *data;
	uint32_t len;
};
struct kernel_iscsi_watch { /* receives events that no hook matches; embedded in its owner */
	void (*event)(struct kernel_iscsi_watch *, const struct kernel_iscsi_event *);
	/* events were lost, as the socket's buffer was full: read the state from sysfs */
	void (*lost)(struct kernel_iscsi_watch *);
};
/* Open both sockets and receive events on the loop. The watch may be NULL. -EPROTONOSUPPORT: the
 * module scsi_transport_iscsi is not loaded. */
int kernel_iscsi_open(
	struct kernel_iscsi **, struct loop *, struct kernel_iscsi_watch *, struct diag *);
struct loop *kernel_iscsi_loop(const struct kernel_iscsi *);
void kernel_iscsi_close(struct kernel_iscsi *); /* Its hooks and connections must be gone. */
/* Send one command with `len` bytes of payload; the message is replaced by the reply. Returns 0 or
 * the kernel's -errno: iferror, or for BIND, START and SEND_PDU also r.code. -EPROTO:
 * malformed reply; -EPERM: not root. Sets no diag; the caller names the object. */
int kernel_iscsi_command(struct kernel_iscsi *, enum iscsi_if_command, struct iscsi_if_msg *,
	const void *more, uint32_t len);
/* Set a parameter of a bound connection, also while it is in use. -ENOSYS: the transport does not
 * have it. */
int kernel_iscsi_set(struct kernel_iscsi *, uint64_t transport, struct iscsi_if_conn,
	enum iscsi_if_param, const char *text);

/* --- Connections. Connecting: the transport connects, a session and its connection are created
 * (with `recover`, an existing one is stopped with STOP_CONN RECOVER first), and the connection is
 * bound. Then ev->up is called, and login PDUs may be sent. */
struct kernel_iscsi_conn_params {
	uint8_t carrier;    /* enum iscsi_carrier */
	uint64_t transport; /* its handle */
	struct addr to;
	struct addr src;                /* family 0: any */
	const char *netdev;             /* NULL: any; TCP only */
	uint32_t timeout_ms;            /* to connect; 0: the network's own limit */
	uint16_t cmds_max, queue_depth; /* of a new session */
	bool recover;                   /* reconnect `conn` of an existing session */
	struct iscsi_if_conn conn;
};
struct kernel_iscsi_conn { /* for its owner to read */
	/* `why` has the kernel's reason at connection_terminate_notify; recv_limit is the largest
	 * MaxRecvDataSegmentLength to declare */
	struct iscsi_carrier_conn dm;
	struct iscsi_if_conn id; /* valid from `up` on */
	uint32_t host;           /* number of the SCSI host; unset with `recover` */
	uint64_t transport;      /* its handle */
	bool unbound;            /* its disks are removed, after kernel_iscsi_unbind() */
	void (*on_unbound)(struct kernel_iscsi_conn *); /* called when that happens; may be NULL */
};
/* Start connecting. ops->connection_terminate rolls it back: a new session is destroyed, an
 * existing one is left stopped as by STOP_CONN RECOVER. ops->enable_full_feature sets
 * MaxRecvDataSegmentLength; kernel_iscsi_start() then lets commands through. The kernel uses task
 * tags of its own for login PDUs; upcalls have the caller's. */
int kernel_iscsi_connect(struct kernel_iscsi_conn **, struct kernel_iscsi *,
	const struct kernel_iscsi_conn_params *, const struct iscsi_carrier_events *, void *user,
	struct diag *);
/* Take over a connection that is in use, to log out on it; ev->up is not called. End it with
 * kernel_iscsi_remove() or kernel_iscsi_conn_free(). */
int kernel_iscsi_adopt(struct kernel_iscsi_conn **, struct kernel_iscsi *, uint64_t transport,
	struct iscsi_if_conn, const struct iscsi_carrier_events *, void *user, struct diag *);
int kernel_iscsi_conn_set(struct kernel_iscsi_conn *, enum iscsi_if_param, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Flush and remove the session's disks in the background; on_unbound follows. -errno */
int kernel_iscsi_unbind(struct kernel_iscsi_conn *);
/* End the connection and its session; no other event of them is reported after this call. 0: the
 * kernel removes the session in the background, however long its disks take, and then
 * connection_terminate_notify follows. -EINVAL: another process is removing it; other -errno. */
int kernel_iscsi_remove(struct kernel_iscsi_conn *);
/* Set the interface name that sysfs shows. Best effort. */
void kernel_iscsi_conn_netdev(struct kernel_iscsi_conn *, const char *netdev);
int kernel_iscsi_start(struct kernel_iscsi_conn *, struct diag *);
/* Free the connection's state here; the kernel keeps the connection. No upcall follows. Not from
 * inside an upcall. */
void kernel_iscsi_conn_free(struct kernel_iscsi_conn *);

const char *kernel_iscsi_reason(uint32_t reason); /* text of enum iscsi_if_reason */
