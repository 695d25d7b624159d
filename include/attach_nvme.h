/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attach NVMe-oF subsystems through the kernel: from options, URIs and configuration to targets,
 * their connection, the discovery controllers that offer them, and the printed result. */
#pragma once
#include "attach.h"
#include "kernel_identity.h"
#include "kernel_nvmf.h"
#include "nvmf.h"
#include "tls_upcall.h"

/* ---- Options of nvme-cli's fabrics commands, and ours. */

struct nvmf_target;
/* A member of the option struct of an applet; NVMF_ROWS of applets/nvmf_rows.h are its rows. */
struct nvmf_options {
	const char *value[NVMF_KEYS];
	bool flag[NVMF_KEYS];
	/* [0] the host's, [1] the controller's */
	const char *on_loss, *secret_file[2], *secret_fd[2];
	const char *tls_key_file, *tls_key_fd, *tls_key_identity;
	bool tls_key_compat;
	const struct nvmf_target *tls_source; /* use the TLS key of this target; NULL: read one */
	bool no_secrets;                      /* read no secret files and environment variables */
};

/* Check the values of options alone, so that errors name the option as typed. TLS keys and keyrings
 * are checked by nvmf_target_read(). */
int nvmf_options_check(const struct nvmf_options *, struct diag *);
/* Warn about secrets on the command line. */
void nvmf_warn_secrets(const struct out_notes *, const struct nvmf_options *);

/* ---- The target of one connection. */

#define NVMF_SECRET 160
struct nvmf_target { /* contains pointers into itself: must not be copied or moved */
	const struct attach_env *env;
	struct uri uri;
	struct nvmf_params params;
	struct nvmf_route route;
	struct identity identity; /* of the host */
	struct addr addr;         /* once resolved */
	const char *host;         /* the host name; NULL: it is an address */
	struct diag why;          /* error of the lookup of its name */
	char nqn[256], port[8], traddr[ADDR_TEXT], hostid[40], iface[32], number[4][16],
		secret[2][NVMF_SECRET];
	const char *secret_from[2]; /* NULL: none */
	struct {
		struct nvme_key psk; /* len 0: none */
		const char *from, *identity, *ring;
		bool old;           /* --tls-key-compat */
		char number[2][12]; /* serial numbers of keyring and key, once inserted */
	} tls;
	bool find_paths;           /* paths=auto */
	uint32_t nsid, timeout_ms; /* nsid 0: all namespaces */
	char uuid[40];             /* of the only namespace to attach; "": all */
	char policy[LOSS_TEXT];    /* "wait=60", "fail-fast"; "": separate timeouts */
};
/* Set a target from options, and from the URI (may be NULL), whose keys rank below them. Without an
 * NQN it is the discovery controller. Resolves no names. Environment, options and URI must outlive
 * the target. Call nvmf_target_wipe() afterwards, also on failure. */
int nvmf_target_read(struct nvmf_target *, const struct attach_env *, int root,
	const struct nvmf_options *, const char *uri, struct diag *);
void nvmf_target_keys(const char *uri, struct uri_key_names *); /* .keys of an applet */
#define NVMF_LOOKUPS 16                                         /* in parallel */
struct nvmf_lookups { /* zeroed, then set by the owner; must not move */
	struct loop *loop;
	struct nvmf_target *const *target;
	unsigned count;
	void (*done)(struct nvmf_lookups *); /* once, maybe inside start or cancel */

	struct attach lookup[NVMF_LOOKUPS]; /* private from here */
	unsigned first, some;               /* the targets that are looked up now */
	struct attach_group group;
};
/* Resolve the host names of these targets, many in parallel: sets addr or why. */
void nvmf_lookups_start(struct nvmf_lookups *);
/* End it, if it runs: why.err of the targets without another error is EINTR. */
void nvmf_lookups_cancel(struct nvmf_lookups *);
/* The same to the end, running the loop. A signal cancels it. */
void nvmf_targets_resolve(struct loop *, struct nvmf_target *const *, unsigned count);
/* Set the addresses that have a route, and the port. Then the target is complete. */
int nvmf_target_set_addr(struct nvmf_target *, const struct addr *, struct diag *);
/* The same for a target of nvmf_target_read() that was looked up, with further options of the first
 * entry for its subsystem and address, if any. */
int nvmf_target_complete(struct nvmf_target *, int root, const struct nvmf_options *,
	const char *uri, const struct nvmf_entries *, struct diag *);
int nvmf_target_route(struct nvmf_target *, struct diag *); /* after a change of addr */
void nvmf_target_wipe(struct nvmf_target *);                /* erase the secrets */
/* Return "nqn.x at rdma 10.0.0.1:4420". */
const char *nvmf_target_text(const struct nvmf_target *, char *text, size_t len);
/* Return "nvme+tcp://10.0.0.1:4420/NQN", without the parts that are NULL. The well-known discovery
 * NQN is omitted. Transport and address are required. */
const char *nvmf_uri(const char *const value[NVMF_KEYS], char uri[URI_MAX]);
/* Print the host NQN and its source with --verbose; warn if it is random. */
void nvmf_show_identity(const struct nvmf_target *);

/* ---- A connection through the kernel. */

struct attach_nvme {
	struct attach attach; /* .proto: attach_nvme_row, .what: as ctrl.name */
	/* set by the owner, valid until the end. To detach: NULL, and ctrl is set. */
	struct nvmf_target *target;
	bool exclusive; /* fail with -EALREADY if the connection exists */
	bool named;     /* notes begin with the target */

	/* Filled in. */
	struct nvmf_ctrl ctrl;
	bool existed;           /* was connected before */
	struct nvmf_disk *disk; /* attach_nvme_free() */
	unsigned disks;

	/* private from here */
	struct child_call call;
	struct nvmf_log_mark log_mark;
	struct kernel_log scan_log; /* from before the connection: of the scan for namespaces */
	struct attach_nvme_result { /* of the child */
		struct diag why;
		struct nvmf_ring_key key;
		char known[NVMF_SUPPORTED];
	} result;
	struct nvmf_ring_key added; /* by one of the attempts */
	struct nvmf_nodes nodes;
	int instance;
	struct attach_nvme_active {
		int count; /* -EAGAIN: not listed yet */
		uint32_t nsid[NVMF_DISKS];
	} active;
	struct tls_upcall *upcall; /* while the kernel connects; NULL: another process answers */
	struct tls_upcall_events upcall_events;
	struct diag handshake; /* why the last one failed */
	uint32_t missing_nsid;
	unsigned last_count;
	uint64_t changed_at;
};
extern const struct attach_proto attach_nvme_row;
/* Initialize for attach_start(); then set deadlines and callbacks. */
void attach_nvme_init(struct attach_nvme *, struct nvmf_target *, struct loop *, int root);
/* If it has failed, also remove the key of TLS that it added to the kernel's keyring: free those of
 * a command when all have ended, as they may use the same key. */
void attach_nvme_free(struct attach_nvme *);
/* Find the users of all disks that removing these controllers would remove; "": none. Blocks for
 * up to two seconds. */
void attach_nvme_users(int root, const struct nvmf_ctrl *, unsigned count, char text[ATTACH_USERS]);
/* As kernel_nvmf_flush(), for up to two seconds; with force it does not fail. */
int attach_nvme_flush(
	int root, const struct nvmf_ctrl *, unsigned count, bool force, struct diag *);

/* ---- A discovery controller, queried from userspace. */

struct nvmf_query {
	/* .why is set before the start: an invalid entry, not to be queried */
	struct attach attach;
	/* set by the owner */
	char text[URI_MAX];       /* for uri_parse() */
	char shown[URI_MAX];      /* for messages and JSON */
	const char *nqn, *hostid; /* of the host, as typed; NULL: this machine's */
	struct identity identity; /* made of them */
	bool never;               /* no time limit */
	void *user;

	/* Filled in */
	struct nvmf_discovery discovery; /* log: nvmf_log_free() */
	struct diag rdma;                /* what the machine lacks for RDMA; err 0: nothing */
	uint64_t since;                  /* start of the query; then uri and env are set */
	struct uri uri;
	struct bdev_env env;
};
/* Initialize for attach_start(); then set deadlines and callbacks. */
void nvmf_query_init(struct nvmf_query *, struct loop *, int root, bool referrals);
struct nvmf_queries { /* of nvmf-discover */
	struct nvmf_query *query;
	unsigned count;
	bool any_transport;       /* the two queries are one host: one answer is enough */
	struct nvmf_entries conf; /* what the queries point to */

	/* set by nvmf_queries_run() */
	struct nvmf_log log; /* of all, without duplicates */
	unsigned logs;       /* queries that succeeded */
	unsigned fails;      /* others, unless one answer was enough; their .attach.why is set */
};
/* Read the queries from the operand (NULL: none), or options, or config: a file, NULL: the files in
 * /etc/nvme. An invalid entry of a file becomes a failed query. Other errors: usage, and of reading
 * files. Call nvmf_queries_free() also on failure. */
int nvmf_queries_read(const struct out_notes *, int root, const char *operand,
	const struct nvmf_options *, const char *config, struct nvmf_queries *, struct diag *);
/* Prepare all queries: sets their identity, or why. timeout_ms: 0: the usual limit, or with `never`
 * none. */
void nvmf_queries_init(struct nvmf_queries *, struct loop *, int root, bool referrals,
	uint32_t timeout_ms, bool never);
/* Query all in parallel. Returns 0 if one succeeded; then diag has the first failure, if any. */
int nvmf_queries_run(struct nvmf_queries *, struct loop *, struct diag *);
void nvmf_queries_free(struct nvmf_queries *);

/* ---- The targets that a command line names, to be connected each. */

struct nvmf_names { /* zeroed, then set by the owner */
	const struct attach_env *env;
	struct loop *loop;
	int root;
	char *const *operand; /* URIs; none: one target by the options */
	unsigned operands;
	const struct nvmf_options *options;
	const char *config; /* file with further options of them; NULL, "none": none */

	/* filled in */
	struct nvmf_named {
		struct nvmf_target target;
		char uri[URI_MAX]; /* as typed, or built from the options */
	} * list;
	struct nvmf_target **target; /* of the list */
	unsigned count;

	struct nvmf_entries conf; /* private */
};
/* Read and complete all targets, running the loop to resolve their names. Call nvmf_names_free()
 * also on failure. */
int nvmf_names_read(struct nvmf_names *, struct diag *);
void nvmf_names_free(struct nvmf_names *); /* wipes secrets */

/* ---- Further paths to a subsystem, from the discovery controller at its address. */

struct nvmf_path {
	struct nvmf_path *next;
	char uri[URI_MAX];
	struct nvmf_target target; /* complete, unless why.err */
	struct diag why;           /* an invalid record, or the discovery itself has failed */
	struct nvmf_record record; /* private; the target's strings */
};
/* Query the discovery controllers of the targets with find_paths and their referrals in parallel,
 * running the loop, and list the paths to their subsystems, except the targets. A query that fails
 * is an item with why. Their time limits begin at `since`, loop_clock().
 * -EINTR: interrupted; other -errno if the loop could not be run. nvmf_paths_free() also after a
 * failure. */
int nvmf_paths_find(struct loop *, int root, uint64_t since, const struct nvmf_options *,
	struct nvmf_target *const *, unsigned count, struct nvmf_path **, struct diag *);
/* The time limit of a target in loop_clock(); 0: none. */
uint64_t nvmf_target_limit(const struct nvmf_target *, uint64_t since);
void nvmf_paths_free(struct nvmf_path *); /* wipes secrets; NULL is allowed */
/* Add the disks of a connection, which must not change until the end. -ENOMEM. */
struct multipath;
int attach_nvme_add_paths(struct multipath *, struct attach_nvme *, struct diag *);

/* ---- All that URIs and configuration name, and what the discovery controllers among them report:
 * all queries and connections run in parallel. */

struct nvmf_job { /* one result: a connection, or a discovery controller that failed */
	struct nvmf_job *next;
	char uri[URI_MAX];
	const char *from;      /* "command line", "/etc/nvme/discovery.conf line 3" */
	const char *discovery; /* URI of the controller that reports it; NULL: none */
	bool target_valid;
	bool discover; /* a discovery controller */
	bool hidden;   /* not a result: a duplicate, or a discovery controller that answered */
	struct nvmf_target target;
	struct attach_nvme nvme;
	struct diag why;

	/* private from here */
	struct nvmf_all *all;
	struct nvmf_options options;
	bool done;
	struct nvmf_query *query;
};
struct nvmf_all { /* zeroed, then set by the owner */
	const struct attach_env *env;
	struct loop *loop;
	char *const *operand; /* URIs */
	unsigned operands;
	const struct nvmf_options *options;
	const char *config; /* a file; NULL: those in /etc/nvme, unless the command line has URIs */
	bool from_cmdline, nbft, no_wait, referrals, retry, plan; /* plan: connect nothing */
	uint32_t limit_ms; /* of each query and connection; 0: the usual one */
	int root;
	/* Called for each result but duplicates, in input order, as early as possible. */
	void (*on_result)(struct nvmf_all *, struct nvmf_job *);
	void (*done)(struct nvmf_all *); /* all results were passed; unused by nvmf_all_run() */

	struct nvmf_entries conf; /* private from here */
	uint64_t until;
	struct nvmf_job *job, *shown;
	bool identity_shown;
	unsigned pending; /* attachments; and one for the lookups, and for a cancel in progress */
	struct nvmf_target **target;
	struct nvmf_lookups lookups;
};
/* Check options and read the configuration. *any: there is something to do. Call nvmf_all_free()
 * also on failure. */
int nvmf_all_read(struct nvmf_all *, bool *any, struct diag *);
/* Connect all. Return -errno, or 0: done() is called once, maybe inside this or the cancel, and
 * must not free them. */
int nvmf_all_start(struct nvmf_all *, struct diag *);
/* End and roll back what is in progress. */
void nvmf_all_cancel(struct nvmf_all *);
/* The same to the end, running the loop. */
int nvmf_all_run(struct nvmf_all *, struct diag *);
void nvmf_all_free(struct nvmf_all *);

/* ---- Printed results. */

/* Print what would be done: text lines and members of the open JSON object. */
int attach_nvme_plan(struct out *, int root, const struct nvmf_target *, struct diag *);
/* Print a connection in the same form. print: NULL, or "dev" or "by-id" for the paths of disks
 * only. */
void attach_nvme_show(struct out *, const struct attach_nvme *, const char *print);
/* Results of several connections, one object each in the open JSON list. The first failure becomes
 * that of the command; the others are notes. */
struct nvmf_results {
	struct out *out;
	const struct out_notes *notes;
	unsigned succeeded, failed;
	struct diag first;
};
void nvmf_result_end(struct nvmf_results *, const char *uri, struct diag *why); /* err 0: success */
/* End the list. Return 0, or -errno of the first failure, even if others succeeded. */
int nvmf_results_end(struct nvmf_results *, struct diag *);
