/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attach SRP targets through the kernel: options, URIs, the connection, and the printed result. */
#pragma once
#include "attach.h"
#include "child.h"
#include "kernel_log.h"
#include "kernel_srp.h"
#include "opt_list.h"

/* Options that name a target and how to connect to it: a member `srp` of the applet's options. */
struct srp_options {
	const char *value[SRP_OPTS], *dev, *lun;
	uint32_t port;
	/* the loss policy, and the remote port's timeouts that it sets */
	const char *on_loss, *reconnect_delay, *fast_io_fail_tmo, *dev_loss_tmo;
	struct opt_list module_params; /* of ib_srp */
	bool exclusive;
};
/* Return true if an option names the target. */
bool srp_options_name_target(const struct srp_options *);

struct attach_srp {
	struct attach attach; /* .proto: attach_srp_row, .what: as host.host */
	/* set by the owner; pointers must stay valid until the end */
	struct srp_params *params; /* complete, except for find(); NULL: `host` is connected */
	const char *line;          /* what to write to add_target instead of `params`, or NULL */
	uint16_t lid;              /* the target's, instead of a GID; 0: none */
	struct addr dest;          /* of `params`, for .attach.addr */
	const char *dev;           /* local device and port; NULL and 0: choose */
	unsigned port;
	char *const *module_params; /* of ib_srp, "name=value" */
	unsigned module_param_count;
	struct srp_tmo tmo; /* for a new connection */
	bool tmo_given;     /* for an existing connection, too */
	bool exclusive;     /* fail with -EALREADY if the connection exists */
	bool any_ext;       /* a connection by this path is the one, whatever its initiator_ext */
	/* of several paths by RDMA/CM to this target: of its connections at unknown addresses the
	 * nth is this one's */
	unsigned nth;
	/* for owners that retry: fail with -EAGAIN while an old connection is being removed, and do
	 * not undo a login that completes after its limit */
	bool no_removal_wait;
	/* address of whose abandoned logins are counted; NULL: those of this struct */
	const void *owner;

	/* Filled in. To change or detach a connection, the owner sets host. */
	struct kernel_srp host;
	bool existed; /* was connected before */
	/* .lun is set by the owner: SCSI_LUN_ALL, or the only one to wait for and to keep */
	struct attach_luns luns; /* attach_luns_free() */

	/* private from here */
	struct mad *mad; /* of find() */
	struct mad_scan_job *scan;
	struct srp_local local;
	struct child_call login, call; /* separate: abandoned logins are counted */
	struct kernel_log log;
	struct attach_srp_result { /* of the child */
		struct diag why;
		bool loaded;
		struct srp_local local;
		char others[200];
	} result;
	struct loop_timer timer;
	struct kernel_srp *old_hosts; /* before the login */
	unsigned old_host_count;
	bool logging_in;
	bool removal_pending; /* an old connection is still being removed */
	uint64_t since, refused_since, removal_deadline; /* refused_since 0: not refused */
};
extern const struct attach_proto attach_srp_row;
/* Return true if find() must query the target: for the GID of a LID, or for the service ID. */
bool attach_srp_incomplete(const struct attach_srp *);

/* A target as the user names it: a URI, an add_target string or options; or a connection. */
struct srp_target { /* zeroed, then set by the owner: word, timeout_ms; must not move */
	struct attach_srp srp;
	struct srp_params params;
	struct uri uri;
	char host[SRP_VALUE]; /* of dest, if it is a name */
	char name[40];        /* "IOC_GUID/ID_EXT", of attach_srp_add_paths() */
	const char *word;     /* the operand; NULL: options only */
	const char *on_loss;  /* of the URI */
	uint32_t timeout_ms;  /* overridden by the URI */
};
/* Return true if the operand is a connection ("host6", "/dev/sda"): not a URI or string. */
bool srp_is_device(const char *word);
/* Find the SCSI host of such an operand. -ENOENT: not an SRP connection. */
int srp_device_host(int root, const char *word, struct kernel_srp *, struct diag *);
/* Set params, and of srp: lid, luns.lun, dev and port. The options must outlive the target. */
int srp_target_read(struct srp_target *, const struct srp_options *, struct diag *);
void srp_target_keys(const char *uri, struct uri_key_names *); /* .keys of an applet */
/* Set all that a connection needs. Errors: in srp.attach.why, with the target as object. */
int srp_target_prepare(struct srp_target *, int root, const struct srp_options *);
void srp_target_ctx(const struct srp_target *, struct diag *); /* make it the diag's object */
/* Of prepared targets: set initiator_ext of each that is one of several paths to a target through
 * one local port, as srp_daemon -n does. It depends on the path alone, not on the order. */
void srp_targets_separate(struct srp_target *const *, unsigned count);
/* Whether they are one I/O controller and service. */
bool srp_target_same(const struct srp_target *, const struct srp_target *);
/* Whether their addresses, GIDs or LIDs are one. */
bool srp_target_same_path(const struct srp_target *, const struct srp_target *);
/* Add the disks of a connection, which must not change until the end. -ENOMEM. */
struct multipath;
int attach_srp_add_paths(struct multipath *, struct srp_target *, struct diag *);
/* For a dry run: choose the local port and find the connection of a target. local: dev "" if no
 * port can be used, for the reason no_port; others: further ports. Return 1 if it is connected, as
 * *there, 0 if not, or -errno. */
int srp_target_find(const struct attach_srp *, struct srp_local *, char others[200],
	struct kernel_srp *there, struct diag *no_port, struct diag *);

/* Print a connection: text lines and members of the open JSON object. print: NULL, or "dev" or
 * "by-id" for the paths of disks only. */
void srp_target_show(struct out *, const struct srp_target *, const char *print);
/* Print what would be done, in the same form. Returns 0 or -errno, as in srp.attach.why. */
int srp_target_plan(struct out *, const struct out_notes *, struct srp_target *);
