/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* InfiniBand management datagrams from userspace: ports, transactions, and finding the I/O
 * controllers of a fabric. Nothing here needs verbs, a queue pair or a thread; a port is opened for
 * as long as its struct mad lives. */
#pragma once
#include "diag.h"
#include "loop.h"
#include "port_events.h"
#include "wire/mad.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Ports, as the system lists them. */
#define MAD_DEV_LEN   64
#define PKEY_DEFAULT  0xffff
#define MAD_PKEYS_MAX 128

struct mad_port_info {
	char dev[MAD_DEV_LEN], link_layer[24];
	uint8_t port, state /* enum port_state */, phys /* 3 = disabled, 5 = link up */, lmc, sm_sl;
	bool infiniband; /* link layer */
	uint16_t lid, sm_lid;
	uint64_t prefix, guid; /* of GID 0 */
	uint16_t pkeys, pkey[MAD_PKEYS_MAX];
};

/* How the user names a port; all empty: the first active one on InfiniBand. */
struct mad_port_choice {
	const char *dev;  /* "mlx5_0" */
	uint32_t port;    /* 0 = the best of dev */
	const char *umad; /* "/dev/infiniband/umad0" */
	const char *gid;  /* its GID 0, "fe80::2:c903:a0:b0c1", or 32 digits */
	bool any_link;    /* a port on Ethernet will do: the caller asks by GID, as RoCE does */
};
/* Says in one line what is wrong with the port chosen: link layer first, then state, then LID. */
int mad_port_choose(struct mad_port_info *, const struct mad_port_choice *, struct diag *);
/* What keeps an InfiniBand port from being used: not up, no subnet manager yet, no LID. */
int mad_port_usable(const struct mad_port_info *, struct diag *);
/* what an end port in this state, or active without a LID, lacks */
const char *mad_state_why(uint8_t state);
/* "fe80::1" or 32 hexadecimal digits. */
int mad_gid_parse(uint8_t gid[16], const char *text, struct diag *);
void mad_gid_make(uint8_t gid[16], uint64_t prefix, uint64_t guid);

struct mad_addr {           /* of a queue pair: 0, 1, or where one was redirected to */
	uint32_t qpn, qkey; /* 0: that of queue pair 1 */
	uint16_t lid, pkey_index;
	uint8_t sl, path_bits; /* of our own LID */
	bool grh;              /* by GID: routers, RoCE */
	uint8_t gid_index, gid[16];
};
/* All ports; free() them. */
int mad_dev_list(struct mad_port_info **, unsigned *count, struct diag *);

/* Transactions. */
struct mad;
struct mad_limits {      /* 0 = the default */
	uint32_t window; /* requests that have neither been answered nor waited for once: 128 */
	uint32_t each;   /* in flight to one destination: 1; to the subnet administrator: sa */
	uint32_t sa;     /* 8 */
	/* One request, over all its tries: 5000, at most an hour; a table four times as much.
	 * Device management that is silent after its last wait (first_ms) gets two fifths of it at
	 * least */
	uint32_t answer_ms;
	uint32_t tries; /* 3 */
};
int mad_open(struct mad **, struct loop *, const struct mad_port_info *, const struct mad_limits *,
	struct diag *);
/* needs: no scan, no watch; requests in flight are forgotten, without upcall */
void mad_close(struct mad *);
const struct mad_port_info *mad_port(const struct mad *);

struct mad_answer;
struct mad_req { /* embedded in its owner, who sets the first part */
	struct mad_addr to;
	uint8_t mgmt_class, method;
	uint16_t attr;
	uint32_t mod;
	uint64_t mask;    /* SA: component mask */
	const void *data; /* attribute to send, at its place in the datagram; stays until done */
	uint16_t len;     /* of class SA it may be more than fits into one datagram */
	bool urgent;      /* before those that wait */
	uint8_t hops;     /* directed route: hop[0 … hops - 1] are the ports to leave by */
	const uint8_t *hop;
	/* before the second try; it doubles. 0 = 250. At least 50, and so that all tries fit */
	uint32_t first_ms;
	/* once, from the loop; may send again, may free */
	void (*done)(struct mad_req *, const struct mad_answer *);
	/* mad's own */
	struct mad *owner;
	struct mad_req *next;
	struct loop_timer timer;
	uint64_t end_ns;
	uint32_t wait_ms;
	uint16_t slot, last_status;
	uint8_t state, tries;
	bool redirected; /* `to` is no longer as the owner said */
};

/* Looking at the fabric hop by hop, by directed route: needs neither a subnet manager nor LIDs,
 * only links. */
struct mad_seen { /* an end port */
	uint64_t prefix, guid;
	uint16_t lid;
	uint8_t state; /* enum port_state */
	bool management;
	uint8_t hops, hop[SMP_HOPS_MAX];
};
struct mad_view {
	struct mad_seen *port;
	unsigned count;         /* end ports; free() port */
	unsigned nodes, silent; /* all nodes; links without an answer behind them */
};
/* "0,1,3" as infiniband-diags write it: from ourselves (0) by our port 1, from the switch there by
 * its port 3. Sets hops and hop. */
int mad_route_parse(struct mad_seen *, const char *text, struct diag *);
int mad_look(struct mad *, struct mad_seen *, struct diag *); /* at the end of one route */
int mad_walk(struct mad *, uint32_t timeout_ms, struct mad_view *, struct diag *); /* everywhere */

/* Finding I/O controllers. */
struct mad_service { /* of SRP; others are not kept */
	struct mad_service *next;
	uint64_t id;
	uint8_t index;
	char name[41];
};

struct mad_ioc {
	struct mad_ioc *next;
	uint8_t slot; /* from 1 */
	bool known;   /* false: it did not tell its profile */
	uint64_t guid;
	uint32_t vendor_id, device_id, send_size;
	uint16_t io_class;
	uint8_t services; /* as it says, of any kind */
	char id[65];
	struct mad_service *service, **last;
};

struct mad_unit { /* the I/O unit behind a port, as seen in one partition */
	struct mad_unit *next;
	uint16_t pkey, change_id;
	uint8_t max_controllers, list[128];
	struct mad_ioc *ioc, **last;
};

enum mad_step {        /* where a port is, or what failed */
	MAD_STEP_LID,  /* from the GID */
	MAD_STEP_NODE, /* GUID */
	MAD_STEP_PORT, /* prefix, capability mask */
	MAD_STEP_PATH, /* is a partition shared */
	MAD_STEP_SET,  /* ClassPortInfo, for those that want it */
	MAD_STEP_UNIT,
	MAD_STEP_IOC,
	MAD_STEP_SERVICE,
	MAD_STEP_AGAIN, /* change id */
	MAD_STEP_DONE,
};

struct mad_target { /* a port that says it has device management */
	uint16_t lid;
	uint64_t prefix, guid;         /* 0 = not known */
	struct mad_unit *unit, **last; /* one a shared partition */
	/* The first thing that went wrong; what was found before and after it is kept. */
	int err;
	uint16_t status;
	uint8_t failed;  /* enum mad_step */
	bool management; /* it says that it has device management */
	bool is_switch;  /* all of its ports have its LID */
	/* The scan's own */
	uint8_t step, changes, silent, slot;
	uint16_t service;
	uint64_t end_ns;
	uint16_t pkey_at; /* index into the port's table */
	uint32_t first_ms;
	struct mad_addr addr;
	struct mad_unit *now;
	struct mad_ioc *ioc;
	struct mad_req req;
	struct mad_scan_job *scan;
	union {
		struct class_port_info set;
		struct path_record path;
		struct port_info_record port;
		struct node_record node;
	} ask;
};
/* Why: "no answer to the request for IOUnitInfo". */
const char *mad_target_why(const struct mad_target *, char text[128]);

/* a port by its LID, without a subnet administrator; or by its GID, which on InfiniBand one must
 * resolve */
struct mad_named {
	uint16_t lid; /* 0 = by GID */
	bool known;   /* gid is that of the LID */
	uint8_t gid[16];
};

struct mad_scan_options {
	const struct mad_named *only; /* ask these, and for no table */
	unsigned count;
	bool by_sa; /* `only`: the subnet administrator is asked about them (LID, device management,
		     * partitions shared) as of a whole fabric; else they are asked themselves,
		     * whatever they say, in the default partition. Not on RoCE */
	bool trust_management; /* by_sa: ask for I/O units whatever its PortInfoRecord says, which
				* is stale for a while after a port has announced device management
				* (trap 144) */
	uint32_t timeout_ms;   /* of the whole; what was found by then is kept. 0 = none */
	void (*progress)(void *arg, unsigned done, unsigned all); /* now and then */
	/* One port has told all there is, or failed: so that the living need not wait for the dead.
	 * `done` has it too, unless it turned out to be no I/O unit. Valid until it returns */
	void (*asked)(void *arg, const struct mad_target *);
	void *arg; /* of both */
};

struct mad_found {
	struct mad_target *target; /* in the order of the subnet administrator's answer */
	unsigned count, failed;
	size_t bytes; /* of what they said; bounded */
	/* the subnet administrator's table ended inside a record: there may be more targets */
	bool cut;
};
/* Begin a scan; one loop and one port can run several. `done` comes once, from the loop, unless it
 * is cancelled before; then the job is gone when `done` returns. What was found belongs to `done`
 * (mad_found_free(); empty when err, which diag explains, is not 0), and reports all failures; a
 * failed target is not a failed scan. Copies the options. Gives -ENOMEM only. */
struct mad_scan_job;
int mad_scan_start(struct mad *, const struct mad_scan_options *,
	void (*done)(void *arg, struct mad_found *, int err, struct diag *), void *arg,
	struct mad_scan_job **);
void mad_scan_cancel(struct mad_scan_job *); /* not from progress, asked or done */
/* The same, running the loop until it is done. */
int mad_scan(struct mad *, const struct mad_scan_options *, struct mad_found *, struct diag *);
void mad_found_free(struct mad_found *);

/* What the subnet administrator reports of the fabric (13.4.8.2 Notice, 15.2.5.12 InformInfo), and
 * the port's own changes. */
enum mad_trap { MAD_TRAP_IN_SERVICE = 64, MAD_TRAP_OUT_OF_SERVICE = 65, MAD_TRAP_CAP_MASK = 144 };

struct mad_notice {
	uint16_t trap;     /* enum mad_trap */
	uint8_t gid[16];   /* 64, 65: of the port; 144: zero */
	uint16_t lid;      /* 144: of the port, unicast; else 0 */
	uint32_t cap_mask; /* 144: the new one, PORT_CAP_… */
};

struct mad_watch { /* embedded in its owner, who sets the first part; one to a struct mad */
	/* All from the loop; none comes after mad_unwatch(), which they may call */
	void (*notice)(struct mad_watch *,
		const struct mad_notice *); /* may come twice for one event, and for none: a hint to
					     * look, no proof */
	/* PORT_EVENT_* bits; mad_port() has the new state already */
	void (*changed)(struct mad_watch *, unsigned what);
	/* When subscriptions begin to stand (err 0, diag NULL) and when they fail (-errno; diag
	 * says why: another program holds the port's Reports (-EBUSY), the subnet administrator
	 * does not answer (-ETIMEDOUT) or refuses (-EPROTO), the port is down (-ENETDOWN) or has no
	 * subnet manager (-ENETUNREACH)): once per change, not per try, the first time always. It
	 * keeps trying, at growing intervals up to a minute */
	void (*subscribed)(struct mad_watch *, int err, struct diag *);
	/* mad's own */
	struct mad *mad;
	void (*ended)(struct mad_watch *);
	struct loop_timer look, renew, end;
	struct loop_work tell;
	unsigned what; /* to tell */
	struct mad_subscription {
		struct mad_req req;
		struct inform_info ask;
		struct mad_watch *watch;
	} sub[3];
	uint32_t back_ms; /* until the next try after a failure */
	int told;         /* the last err of subscribed(); 1 = no call yet */
	int err;          /* of this round */
	struct diag diag;
	uint16_t sa_lid; /* who answered last */
	uint8_t waiting; /* subscriptions not answered */
};
/* Begins: subscribes to the three traps (InformInfo from queue pair 1, without verbs), answers
 * Reports, and subscribes again when the subnet manager, the LID, the prefix or the port has
 * changed or the subnet manager asks for it; and every MAD_RENEW_MS, half as much more or less,
 * because without mad_port_event() a restart of the subnet manager goes unnoticed. Looks at the
 * port once a second. An error is a device that is gone or a second watch (-EALREADY); if Reports
 * fail, subscribed() reports it and the port is still watched. */
#define MAD_RENEW_MS (10 * 60 * 1000)
int mad_watch(struct mad *, struct mad_watch *, struct diag *);
/* Ends: unsubscribes; `ended` comes from the loop when that is done, at most a second later. */
void mad_unwatch(struct mad *, struct mad_watch *, void (*ended)(struct mad_watch *));
/* An event of the kernel's (port_events.h) about this port: PORT_EVENT_* bits. Looks at once.
 * Without a watch: nothing. */
void mad_port_event(struct mad *, unsigned what);

/* SRP (T10 SRP-2, annex B): a service is one when its name is "SRP.T10:" and the target's
 * identifier extension. */
/* as ibsrpdm takes it: any text without blanks */
bool mad_srp_id_ext(const struct mad_service *, char id_ext[17]);
struct mad_srp {         /* one way to log in: a service of a controller, seen in one partition */
	char id_ext[17]; /* as the target spells it */
	uint64_t id /* the same */, ioc_guid, prefix, guid, service_id;
	uint16_t pkey, io_class;
	uint32_t send_size;
};
bool mad_srp_get(struct mad_srp *, const struct mad_target *, const struct mad_unit *,
	const struct mad_ioc *,
	/* false: its identifier extension is not a number; the rest is set */
	const struct mad_service *);
/* "target ID_EXT at GID" */
#define MAD_SRP_TEXT 64
const char *mad_srp_text(const struct mad_srp *, char text[MAD_SRP_TEXT]);
/* One line about a target's services that mad_srp_get() refuses; false: it refuses none. */
bool mad_srp_left_out(const struct mad_target *, char text[160]);
struct mad_srp_more { /* what a line may say beyond that; zeroes: nothing */
	/* the target port's GUID, which makes each path to a target another initiator */
	bool initiator_ext;
	uint32_t tl_retry_count;
	const char *options; /* ",name=number…" */
	uint32_t imm_data;   /* the kernel's ib_srp sends that much immediate data */
};
#define MAD_SRP_LINE 512
/* The line for add_target, without newline. Options of up to 128 bytes fit. */
void mad_srp_command(const struct mad_srp *, const struct mad_srp_more *, char line[MAD_SRP_LINE]);
void mad_srp_uri(const struct mad_target *, const struct mad_unit *, const struct mad_ioc *,
	const struct mad_service *, char line[256]);

/* Being found: device management of one controller with one service, on a port, for a target of
 * this process. No program can set IsDeviceManagementSupported in the port's capability mask, only
 * kernel modules: a scan that looks for it does not come here, one that names the port does. */
struct mad_served {
	uint64_t guid /* of the controller */, service_id;
	const char *text;    /* up to 64 bytes, as service; both stay */
	const char *service; /* its name, up to 40 bytes */
	uint32_t send_size, rdma_size;
	uint16_t depth;
	uint8_t reads;
};
struct mad_agent;
/* -EBUSY: another program, or ib_srpt, answers on this port. A device that goes is waited for. */
int mad_agent_start(struct mad_agent **, struct loop *, const struct mad_port_info *,
	const struct mad_served *, struct diag *);
void mad_agent_stop(struct mad_agent *);
