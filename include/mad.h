/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* InfiniBand management datagrams from userspace: ports, transactions, and discovery of the I/O
 * controllers of a fabric. Needs no verbs, queue pair or thread. Sections are those of the
 * InfiniBand Architecture Specification, volume 1. */
#pragma once
#include "port_events.h"
#include "wire/mad.h"
#include <sys/types.h>

/* Ports of this host. */
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

/* A port as the user specifies it; all empty: the first active InfiniBand port. */
struct mad_port_choice {
	const char *dev;  /* "mlx5_0" */
	uint32_t port;    /* 0: the best port of dev */
	const char *umad; /* "/dev/infiniband/umad0" */
	const char *gid;  /* GID 0: "fe80::2:c903:a0:b0c1", or 32 hexadecimal digits */
	bool any_link;    /* allow RoCE: the caller queries by GID only */
};
/* Select a port. It may be down: see mad_port_usable(). Returns 0 or -errno. */
int mad_port_choose(struct mad_port_info *, const struct mad_port_choice *, struct diag *);
/* Return 0, or -ENETDOWN for an InfiniBand port that is not active or has no LID. */
int mad_port_usable(const struct mad_port_info *, struct diag *);
/* Describe why a port in this state, or an active one without a LID, can't be used. */
const char *mad_port_state_text(uint8_t state);
/* Parse "fe80::1" or 32 hexadecimal digits; -EINVAL. */
int mad_gid_parse(uint8_t gid[16], const char *text, struct diag *);
void mad_gid_make(uint8_t gid[16], uint64_t prefix, uint64_t guid);

/* List all ports; the caller frees the array. */
int mad_dev_list(struct mad_port_info **, unsigned *count, struct diag *);

/* Transactions. All functions run on the loop's thread. */
struct mad;
struct mad_limits {      /* 0: the default */
	uint32_t window; /* requests in their first wait for an answer (128) */
	uint32_t each;   /* device management requests in flight to one LID (1, at most 255) */
	uint32_t sa;     /* like window, for the subnet administrator (8) */
	/* Time for one request with all its tries (5000, at most an hour); four times as much for
	 * a table. A device management request without any answer ends earlier: first_ms after its
	 * last try, but not before 2/5 of this time. */
	uint32_t answer_ms;
	uint32_t tries; /* 3, at most 7 */
};
/* Open a port; mad_close() releases it. limits may be NULL. */
int mad_open(struct mad **, struct loop *, const struct mad_port_info *, const struct mad_limits *,
	struct diag *);
/* Close, and drop the requests in flight without callback. End all scans and the watch before. */
void mad_close(struct mad *);
const struct mad_port_info *mad_port(const struct mad *); /* kept up to date by a watch */

/* I/O controllers (16.3). */
struct mad_service { /* an SRP service; others are not stored */
	struct mad_service *next;
	uint64_t id;
	uint8_t index;
	char name[41];
};

struct mad_ioc {
	struct mad_ioc *next;
	uint8_t slot; /* from 1 */
	bool known;   /* its profile was received; otherwise only slot is valid */
	uint64_t guid;
	uint32_t vendor_id, device_id, send_size;
	uint16_t io_class;
	uint8_t services; /* number of service entries of any kind in the profile */
	char id[65];
	struct mad_service *service, **last;
};

struct mad_unit { /* the I/O unit behind a port, as seen in one partition */
	struct mad_unit *next;
	uint16_t pkey, change_id;
	uint8_t max_controllers, list[128];
	struct mad_ioc *ioc, **last;
};

enum mad_step {        /* the query in progress, or the one that failed */
	MAD_STEP_LID,  /* PathRecord of the GID */
	MAD_STEP_NODE, /* GUID */
	MAD_STEP_PORT, /* prefix, capability mask */
	MAD_STEP_PATH, /* PathRecord in a partition: do both ports have it */
	MAD_STEP_SET,  /* Set(ClassPortInfo), for Topspin units */
	MAD_STEP_UNIT,
	MAD_STEP_IOC,
	MAD_STEP_SERVICE,
	MAD_STEP_AGAIN, /* change ID */
	MAD_STEP_DONE,
};

struct mad_target { /* a port that was queried for an I/O unit */
	uint16_t lid;
	uint64_t prefix, guid; /* 0: unknown */
	struct mad_unit *unit; /* one per shared partition */
	/* The first failure, -errno; 0: none. What was found before and after it stays valid. */
	int err;
	uint16_t status;
	uint8_t failed;                 /* enum mad_step */
	bool management;                /* it reports device management */
	bool is_switch;                 /* all of its ports have its LID */
	struct mad_target_query *query; /* private to the scan, NULL afterwards */
};
/* Describe a failure: "no answer to the request for IOUnitInfo". Returns text, or a constant. */
const char *mad_target_error(const struct mad_target *, char text[128]);

/* A port, by LID, which needs no subnet administrator, or by GID, which must be resolved on
 * InfiniBand. */
struct mad_port_id {
	uint16_t lid; /* 0: by GID */
	bool known;   /* lid and gid are of the same port */
	uint8_t gid[16];
};

struct mad_end_port;
/* The ports to query, by LID, by GID, at the end of directed routes, or all that a walk finds: one
 * of these kinds. Zeroed, then set by the owner, who calls mad_select_free(), and after a failure
 * nothing else: an entry may be empty. */
struct mad_selection {
	bool walk;
	void (*note)(void *arg, const char *text); /* a port that can't be queried; a walk's size */
	void *arg;

	struct mad_port_id *port; /* the result */
	unsigned count;
	struct mad_end_port *route;
	unsigned routes;
};
int mad_select_lid(struct mad_selection *, uint16_t lid, struct diag *);
int mad_select_gid(struct mad_selection *, const char *text, struct diag *);
int mad_select_route(struct mad_selection *, const char *text, struct diag *);
/* Walk, or follow the routes, to find the ports there. Fails if the own port can't be used for a
 * scan, or if no route ends at a port with a LID. Runs the loop. timeout_ms: of a walk, 0: none. */
int mad_select_find(struct mad_selection *, struct mad *, uint32_t timeout_ms, struct diag *);
/* Return the `count` ports, for mad_scan_options.only. NULL: nothing was selected. */
const struct mad_port_id *mad_select_ports(const struct mad_selection *);
void mad_select_free(struct mad_selection *);

struct mad_scan_options {
	const struct mad_port_id *only; /* query only these ports; NULL: the whole fabric */
	unsigned count;
	/* With `only`: ask the subnet administrator about LID, device management and shared
	 * partitions of each port, as for a whole fabric. Otherwise query the ports themselves, in
	 * the default partition, even if they report no device management. Ignored on RoCE. */
	bool by_sa;
	/* With by_sa: query I/O units even if the PortInfoRecord reports no device management; it
	 * is stale for a while after a port has announced it (trap 144). */
	bool trust_management;
	uint32_t timeout_ms; /* limit of the scan, which keeps what was found by then; 0: none */
	void (*progress)(void *arg, unsigned done, unsigned all); /* now and then; may be NULL */
	/* Called for each port when its query is complete or has failed, so that no port waits for
	 * silent ones. The target is valid until it returns. May be NULL. */
	void (*target_done)(void *arg, const struct mad_target *);
	void *arg; /* of both */
};

struct mad_scan_result {
	struct mad_target *target; /* in the order of the SA's table, or of `only` */
	unsigned count, failed;
	size_t bytes; /* allocated for units, controllers and services; bounded */
	/* The subnet administrator's table ended inside a record: targets may be missing. */
	bool cut;
};
/* Start a scan; several can run on one loop and one port. Copies the options, and `only`. done() is
 * called once, from the loop, with 0 or -errno, unless cancelled; the job is freed afterwards. The
 * result belongs to done(), which calls mad_scan_result_free(); it is empty if err is not 0. A
 * failed target does not fail the scan. Returns 0 or -ENOMEM; all other errors are passed to
 * done(). */
struct mad_scan_job;
int mad_scan_start(struct mad *, const struct mad_scan_options *,
	void (*done)(void *arg, struct mad_scan_result *, int err, struct diag *), void *arg,
	struct mad_scan_job **);
/* Cancel without done(). Not from progress(), target_done() or done(). */
void mad_scan_cancel(struct mad_scan_job *);
/* Run a scan and the loop until it is complete. */
int mad_scan(
	struct mad *, const struct mad_scan_options *, struct mad_scan_result *, struct diag *);
void mad_scan_result_free(struct mad_scan_result *);

/* Notices of the subnet administrator (13.4.8.2 Notice, 15.2.5.12 InformInfo), and changes of the
 * own port. */
enum mad_trap { MAD_TRAP_IN_SERVICE = 64, MAD_TRAP_OUT_OF_SERVICE = 65, MAD_TRAP_CAP_MASK = 144 };

struct mad_notice {
	uint16_t trap;     /* enum mad_trap */
	uint8_t gid[16];   /* 64, 65: of the port; 144: zero */
	uint16_t lid;      /* 144: of the port, unicast; otherwise 0 */
	uint32_t cap_mask; /* 144: the new one, PORT_CAP_… */
};

struct mad_watch { /* embedded in its owner until ended(); one per struct mad */
	/* All three are called from the loop, and not after mad_unwatch(), which they may call. A
	 * notice is a hint, not a proof: it can be repeated, or sent without an event. */
	void (*notice)(struct mad_watch *, const struct mad_notice *);
	/* The port has changed: PORT_EVENT_* bits. mad_port() returns the new state. */
	void (*changed)(struct mad_watch *, unsigned what);
	/* The subscriptions were made (err 0, diag NULL) or have failed: -EBUSY: another program
	 * receives the port's Reports; -ETIMEDOUT: no answer from the subnet administrator;
	 * -EPROTO: it refuses; -ENETDOWN: the port is down; -ENETUNREACH: no subnet manager. Called
	 * the first time and when err changes. Failures are retried, with delays of up to 90 s. */
	void (*subscribed)(struct mad_watch *, int err, struct diag *);
};
/* Watch a port: poll its state once a second, subscribe to the three traps (InformInfo from queue
 * pair 1, without verbs), and answer Reports. Subscribes again after each change of subnet manager,
 * LID, prefix or port state, on reregistration, and every MAD_RENEW_MS plus or minus half, as
 * without mad_port_event() a restart of the subnet manager goes unnoticed. Returns 0; -EALREADY:
 * the port is watched already; or -errno if the device was removed. */
#define MAD_RENEW_MS (10 * 60 * 1000)
int mad_watch(struct mad *, struct mad_watch *, struct diag *);
/* Unsubscribe and stop the watch of the port, once per watch; ended() is called from the loop at
 * most a second later, and may watch the port again or close it. Needs: the port is watched. */
void mad_unwatch(struct mad *, void (*ended)(struct mad_watch *));
/* Pass an event of port_events.h about this port: the watch polls it at once. No effect without a
 * watch. */
void mad_port_event(struct mad *, unsigned what);

/* Get the identifier extension of an SRP service (T10 SRP-2, annex B), named "SRP.T10:" and the
 * extension: like in ibsrpdm any text without blanks. False: not an SRP service. */
bool mad_srp_id_ext(const struct mad_service *, char id_ext[17]);
struct mad_srp {         /* one path to a target: a service of a controller, in one partition */
	char id_ext[17]; /* as the target spells it */
	uint64_t id /* the same */, ioc_guid, prefix, guid, service_id;
	uint16_t pkey, io_class;
	uint32_t send_size;
};
/* Fill in *srp. False: the identifier extension is not a number; the rest is set. */
bool mad_srp_get(struct mad_srp *, const struct mad_target *, const struct mad_unit *,
	const struct mad_ioc *, const struct mad_service *);
/* Write "target ID_EXT at GID". Returns text. */
#define MAD_SRP_TEXT 64
const char *mad_srp_text(const struct mad_srp *, char text[MAD_SRP_TEXT]);
/* Describe a target's services that mad_srp_get() rejects, in one line. False: none. */
bool mad_srp_describe_ignored(const struct mad_target *, char text[160]);
struct mad_srp_options { /* more options for a line; zeroes: none */
	/* Set initiator_ext to the target port's GUID: each path is another initiator. */
	bool initiator_ext;
	uint32_t tl_retry_count;
	const char *options; /* ",name=number…" */
	uint32_t imm_data;   /* immediate data of the kernel's ib_srp, bytes */
};
#define MAD_SRP_LINE 512
/* Write the line for add_target, without newline. Has room for 128 bytes of options. */
void mad_srp_command(
	const struct mad_srp *, const struct mad_srp_options *, char line[MAD_SRP_LINE]);
void mad_srp_uri(const struct mad_target *, const struct mad_unit *, const struct mad_ioc *,
	const struct mad_service *, char line[256]);

/* Device management agent (16.3) for a target of this process: one controller with one service. No
 * program can set IsDeviceManagementSupported in the port's capability mask, only kernel modules.
 * So scans of a whole fabric don't find it, those that specify the port do. */
struct mad_agent_conf {
	uint64_t guid /* of the controller */, service_id;
	const char *text;    /* up to 64 bytes; both strings must outlive the agent */
	const char *service; /* name of the service, up to 40 bytes */
	uint32_t send_size, rdma_size;
	uint16_t depth;
	uint8_t reads;
};
struct mad_agent;
/* Start answering on the loop. -EBUSY: another program, or ib_srpt, does so on this port. If the
 * device is removed, the agent waits for its return. */
int mad_agent_start(struct mad_agent **, struct loop *, const struct mad_port_info *,
	const struct mad_agent_conf *, struct diag *);
void mad_agent_stop(struct mad_agent *);
