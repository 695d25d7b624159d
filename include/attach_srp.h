/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attach SRP targets through the kernel, from the words of the command line to what is printed of a
 * connection. */
#pragma once
#include "applet.h"
#include "attach.h"
#include "child.h"
#include "kernel_log.h"
#include "kernel_srp.h"

/* Options that say which target and how to connect to it: a member `words` of the applet's. */
struct srp_words {
	const char *value[SRP_OPTS], *dev, *lun;
	uint32_t port;
	/* the loss policy, and the remote port's timeouts that it sets */
	const char *on_loss, *reconnect_delay, *fast_io_fail_tmo, *dev_loss_tmo;
	struct opt_list params; /* of ib_srp */
	bool exclusive;
};
#define SRP_ROW(type, opt, name, arg, help)                                                        \
	{                                                                                          \
		name, 0, OPT_TEXT, offsetof(type, words.value[SRP_OPT_##opt]), arg, help           \
	}
#define SRP_NAME_ROWS(type)                                                                        \
	{ "device", 'i', OPT_TEXT, offsetof(type, words.dev), "DEVICE",                            \
		"local RDMA device, such as mlx5_0" },                                             \
		{ "port", 'p', OPT_U32, offsetof(type, words.port), "NUMBER",                      \
			"port of that device", 1, 254 },                                           \
		SRP_ROW(type, ID_EXT, "id-ext", "HEX", "identifier extension of the target"),      \
		SRP_ROW(type, IOC_GUID, "ioc-guid", "HEX", "GUID of its I/O controller"),          \
		SRP_ROW(type, DGID, "dgid", "GID", "InfiniBand: GID of its port"),                 \
		SRP_ROW(type, PKEY, "pkey", "HEX", "InfiniBand: partition key; default ffff"),     \
		SRP_ROW(type, SERVICE_ID, "service-id", "HEX", "InfiniBand: service ID"),          \
		SRP_ROW(type, DEST, "dest", "HOST:PORT", "RDMA/CM: address of the target")
#define SRP_LOSS_ROWS(type)                                                                        \
	{ "on-loss", 0, OPT_TEXT, offsetof(type, words.on_loss), "POLICY", OPT_ON_LOSS_HELP },     \
		{ "fast-io-fail-tmo", 0, OPT_TEXT, offsetof(type, words.fast_io_fail_tmo),         \
			"SECONDS", "fail I/O this long after the loss, or off" },                  \
		{ "dev-loss-tmo", 0, OPT_TEXT, offsetof(type, words.dev_loss_tmo), "SECONDS",      \
			"remove the disks this long after the loss, or off" },                     \
	{                                                                                          \
		"reconnect-delay", 0, OPT_TEXT, offsetof(type, words.reconnect_delay), "SECONDS",  \
			"time between reconnect attempts, or off; default 10"                      \
	}
bool srp_words_given(const struct srp_words *); /* that name a target */

struct attach_srp {
	struct attach attach; /* .proto: attach_srp_row, .what: as host.host */
	/* the owner's; what is pointed to lives until it is over */
	struct srp_want *want; /* checked, unless find() completes it; NULL: `host` is connected */
	const char *line;      /* NULL, or what to write to add_target instead of `want` */
	uint16_t lid;          /* the target's, instead of a GID; 0 = none */
	const char *dev;       /* the local port; NULL and 0: chosen */
	unsigned port;
	char *const *params; /* of ib_srp, "name=value" */
	unsigned param_count;
	struct srp_tmo tmo; /* for a new connection */
	bool tmo_given;     /* for one that existed, too */
	bool exclusive;     /* fail if the connection exists */
	/* of a daemon that tries again: fail if a former connection is still being removed; leave a
	 * login to itself that is late */
	bool leaves_no_wait;

	/* Filled in. To change or detach a connection: host, by the owner. */
	struct kernel_srp host;
	bool existed; /* was connected before */
	/* .lun: the owner's, SCSI_LUN_ALL or the only one to wait for and keep */
	struct attach_luns luns; /* attach_luns_free() */

	/* private from here */
	struct mad *mad; /* of find() */
	struct mad_scan_job *scan;
	struct srp_local local;
	/* logins that the kernel holds on to are counted, apart from all else */
	struct child_call login, call;
	struct kernel_log log;
	struct attach_srp_said {
		struct diag why;
		bool loaded;
		struct srp_local local;
		char others[200];
	} said;
	struct loop_timer timer;
	struct kernel_srp *before; /* connections when the login began */
	unsigned befores;
	bool logging_in;
	bool leaving;           /* a former connection is still being removed */
	uint64_t since, leaves; /* the login; until then a former connection may leave */
};
extern const struct attach_proto attach_srp_row;
/* Whether find() must ask the target for what the user left out: the GID of a LID, the service and
 * partition. */
bool attach_srp_incomplete(const struct attach_srp *);

/* A target as the user names it: a URI, an add_target string, options; or a connection. */
struct srp_target { /* zeroed, then set by the owner: word, timeout_ms */
	struct attach_srp srp;
	struct srp_want want;
	struct uri uri;
	const char *word, *on_loss; /* NULL: options alone name it; of the URI */
	uint32_t timeout_ms;        /* the URI may have another */
};
/* A word that names an existing connection: "host6", "/dev/sda". */
bool srp_is_device(const char *word);
/* The SCSI host of such a word. Errors: not an SRP connection. */
int srp_device_host(int root, const char *word, struct kernel_srp *, struct diag *);
/* Which target: `want`, and of srp the LID, the LUN and the local port. */
int srp_target_read(struct srp_target *, const struct srp_words *, struct diag *);
/* .keys of applets that read URIs so. */
void srp_target_keys(const char *uri, struct uri_asked *);
/* All that a connection needs; a failure in srp.attach.why, which names the target. */
int srp_target_prepare(struct srp_target *, int root, const struct srp_words *);
void srp_target_ctx(const struct srp_target *, struct diag *); /* name it there */
/* "0002c903004ed0b2 at fe80…:0002c903004ed0b3", "… at 10.0.0.1:5555" */
const char *srp_target_text(const struct srp_want *, char text[200]);

const char *srp_loss_text(const struct srp_tmo *, char text[200]);
/* JSON: on_loss in the grammar of --on-loss, and the timeouts; what is off or unknown is left out.
 */
void srp_loss_show(struct out *, const struct srp_tmo *);
/* Print a connection: text lines and members of the open JSON object. dest: "" = unknown; print:
 * NULL, dev, by-id; would: the timeouts that a dry run would set, NULL = none. */
void attach_srp_show(struct out *, const struct attach_srp *, const char *dest, const char *print,
	const struct srp_tmo *would);
