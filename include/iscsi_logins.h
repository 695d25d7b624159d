/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iSCSI sessions from the command line, URIs and boot configuration: the initiator, settings,
 * targets, all logins of one run; and their printed results. */
#pragma once
#include "attach.h"
#include "attach_iscsi.h"
#include "kernel_iscsi.h"
#include "kernel_iscsi_conf.h"
#include "opt_list.h"

struct iscsi_credential_options {
	const char *initiator, *algs, *user[2], *file[2], *fd[2]; /* [0] ours, [1] the target's */
};
#define ISCSI_SECRET 258   /* targets accept at most 256 bytes */
struct iscsi_credentials { /* must not be copied; the owner erases it */
	struct iscsi_identity from;
	struct kernel_initiator name;
	const char *file[2]; /* of the secrets; NULL: not from a file */
	const char *algs;    /* list of CHAP digests; NULL: the default */
	char secret[2][ISCSI_SECRET];
};
/* Read name, user and secrets of the initiator: from options, then the URI, then the environment.
 * Options and URI must outlive the credentials. */
int iscsi_credentials_read(const struct out_notes *, int root,
	const struct iscsi_credential_options *, struct uri *, struct iscsi_credentials *,
	struct diag *);

#define ISCSI_SETTING_INDEX(field, ...) ISCSI_AT_##field,
enum { ISCSI_SETTING_LIST(ISCSI_SETTING_INDEX) };
struct iscsi_setting_options {
	const char *on_loss, *value[ISCSI_SETTINGS];
};
/* Read settings from options, then the URI (may be NULL); the rest has defaults. *given: the
 * settings that were specified, a bit mask in the order of iscsi_setting[]. */
int iscsi_settings_read(const struct iscsi_setting_options *, struct uri *, struct iscsi_settings *,
	uint32_t *given, struct diag *);

struct iscsi_target_options {
	const char *target, *transport;
	struct opt_list portals;
};
struct iscsi_target { /* must not be copied */
	struct uri uri;
	char name[ISCSI_NAME_MAX + 1]; /* "": unset */
	char spelling[URI_MAX];        /* as the user wrote it */
	struct addr portal;
	bool any; /* transport auto: iSER or TCP */
	uint8_t carrier;
	uint64_t lun;     /* SCSI_LUN_ALL: unset */
	int tpgt;         /* of --portal; -1: unset */
	const char *from; /* of the boot configuration: "iBFT target0"; else NULL */

	/* set by iscsi_logins_read() */
	struct iscsi_credentials credentials;
	const char *host;      /* of the URI; NULL: `portal` is its address */
	uint16_t port;         /* of host */
	uint32_t given;        /* as of iscsi_settings_read() */
	unsigned first, count; /* its sessions in iscsi_logins.attach */
};
struct iscsi_targets {
	struct iscsi_target *target;
	unsigned count;
};
/* Read the targets of the operands, except names of sessions, of --portal, and of the boot
 * configuration (NULL: none), which must outlive them. Its invalid entries are reported and counted
 * as problems, unless all are invalid. Call iscsi_targets_free() also on failure. */
int iscsi_targets_read(const struct out_notes *, char *const *operand, unsigned operands,
	const struct iscsi_target_options *, struct iscsi_boot_config *, struct iscsi_targets *,
	struct diag *);
/* Resolve their names, which may block until `until` (loop_clock(); 0: no limit). */
int iscsi_targets_resolve(struct iscsi_targets *, uint64_t until, struct diag *);
void iscsi_targets_free(struct iscsi_targets *); /* also erases secrets */
/* Parse a URI of the schemes iser and iscsi, or dracut's string. */
int iscsi_uri_read(struct uri *, const char *text, struct diag *);
/* Convert "HOST[:PORT][,TAG]", as iscsiadm and iser-discover print portals, to a URI. *tpgt: the
 * portal group tag, -1 without one. */
int iscsi_portal_uri(const char *portal, char uri[URI_MAX], int *tpgt, struct diag *);
/* Return true if an operand is not a URI or dracut's string: "session1", "1", "/dev/sda". */
bool iscsi_is_plain_word(const char *word);
/* Find the session of such an operand. -ENOENT: no such session, or not a disk of one. */
struct kernel_iscsi_session;
int iscsi_session_of(int root, const char *word, struct kernel_iscsi_session *, struct diag *);
/* List the sessions with this number ("3"), target and portal ("HOST[:PORT][,TAG]", which is
 * resolved); NULL: any. The list may be empty; the caller frees it, also after a failure. */
int iscsi_sessions_of(int root, const char *sid, const char *target, const char *portal,
	struct kernel_iscsi_session **, unsigned *count, struct diag *);

/* ---- The logins of iser-login. */
struct iscsi_login_options {
	struct iscsi_target_options targets;
	struct iscsi_credential_options credentials;
	struct iscsi_setting_options set;
	const char *lun, *src, *iface, *tpgt;
	bool from_cmdline, ibft, no_wait;
};
struct iscsi_logins { /* zeroed, then set by the owner */
	const struct attach_env *env;
	char *const *operand; /* URIs */
	unsigned operands;
	const struct iscsi_login_options *options;
	int root;
	uint64_t until; /* loop_clock(); 0: none */
	void (*done)(struct iscsi_logins *);

	struct iscsi_boot_config boot_config; /* filled in; .problems: entries that were skipped */
	struct iscsi_targets targets;
	struct attach_iscsi *attach; /* of all targets, in their order */
	unsigned count;

	/* private from here */
	struct loop *loop;
	struct attach_group group;
	unsigned round;
	uint64_t retries_since;
};
/* Read targets, credentials and settings. Report the invalid parts of a boot configuration, and its
 * sources with --verbose and in a dry run. Set up the network if the kernel command line requests
 * the firmware's, except in a dry run. Call iscsi_logins_free() also on failure. */
int iscsi_logins_read(struct iscsi_logins *, struct diag *);
void iscsi_logins_keys(const char *uri, struct uri_key_names *); /* .keys of iser-login */
/* Attach all; in a dry run, only resolve names. Those of the boot configuration that can't be
 * resolved become problems of it, without sessions, unless none can. Retry with transport auto over
 * TCP if iSER got no answer, then as rd.iscsi.login_retry_max says. Change the settings of sessions
 * that existed. done() is called once, maybe inside this or the cancel, with the results in
 * .attach.why, and must not free them. */
void iscsi_logins_start(struct iscsi_logins *, struct loop *);
/* End and roll back what is in progress. */
void iscsi_logins_cancel(struct iscsi_logins *);
/* The same to the end, running the loop. Return 0 or -errno. */
int iscsi_logins_run(struct iscsi_logins *, struct loop *, struct diag *);
void iscsi_logins_free(struct iscsi_logins *); /* also erases secrets */

/* ---- The logins of iscsistart: settings by open-iscsi's record names. */
struct iscsi_records {
	struct iscsi_settings set;
	bool iser;
	uint32_t retry_max;
	unsigned algs;
	char initiator[ISCSI_NAME_MAX + 1], netdev[16];
	/* the values that were passed, NULL: unset; iscsi_start_free() erases the secrets */
	const char *user[2], *secret[2];
};
struct iscsi_start { /* zeroed, then set by the owner; must not move */
	int root;
	struct out *out;
	const char *version; /* of open-iscsi */
	bool as_tool;        /* print messages and results as open-iscsi's tool */
	bool verbose;        /* report retries */
	void (*note)(struct iscsi_start *, const char *text); /* print a message */
	const void *user;

	struct iscsi_records records;
	struct iscsi_boot_config boot_config;
	struct attach_iscsi *attach; /* one for each target of the boot configuration */
	struct iscsi_identity *from;
	uint64_t retry_until;
	bool records_open; /* the list of iscsi_start_print() */
};
struct iscsi_start_options { /* of open-iscsi's tool, as typed; NULL: unset */
	const char *config, *initiator, *target, *tgpt, *address, *port;
	const char *user[2], *secret[2]; /* [0] ours, [1] the target's */
	struct opt_list params;
	bool firmware; /* the targets of the firmware instead of one by options */
};
/* Set the targets and the initiator's name. Their strings must outlive s. DIAG_USAGE:
 * invalid options; other errors are the firmware's. */
int iscsi_start_targets(struct iscsi_start *, const struct iscsi_start_options *, struct diag *);
/* Then set the records, from the file and the parameters, and the credentials of each target. */
int iscsi_start_settings(struct iscsi_start *, const struct iscsi_start_options *, struct diag *);
/* Attach all in parallel, with open-iscsi's retries. Runs the loop. until: loop_clock(), 0: none.
 * Return 0 with the results in .attach.why, or -errno. */
int iscsi_start_run(struct iscsi_start *, struct loop *, uint64_t until, struct diag *);
/* Print the sessions, or without iscsi_start_run() the plan. Return the number of failed logins; if
 * all failed, the reason is in diag, unless the tool has printed it. */
unsigned iscsi_start_show(struct iscsi_start *, struct diag *);
bool iscsi_start_has_session(const struct iscsi_start *); /* a login succeeded */
/* Print the firmware's targets; as kernel_ibft_records(). */
int iscsi_start_print(struct iscsi_start *, struct diag *);
/* Set up their network and print it; as kernel_ibft_set_up(). */
int iscsi_start_network(struct iscsi_start *, bool dry_run, struct diag *);
void iscsi_start_free(struct iscsi_start *); /* also erases secrets */

/* Return the exit status of iscsiadm for a failure; 1: another one. */
uint8_t iscsi_adm_status(const struct diag *);

/* ---- Printed results. */

/* Print JSON members. host "", port 0: unknown; alg "": without CHAP. */
void iscsi_show_portal(struct out *, const char *host, unsigned port);
void iscsi_show_chap(struct out *, const char *alg);
/* Print the result of a login as an object of the open list. Text lines only for a success. print:
 * as in kernel_scsi_show(). */
void iscsi_show_login(struct out *, int root, const struct attach_iscsi *, const char *print);
/* Print the URI of portal, target and, unless it is SCSI_LUN_ALL, LUN. */
void iscsi_attach_uri(const struct attach_iscsi *, char uri[URI_MAX]);
/* Print the plan of a dry run. list: the existing sessions. */
void iscsi_show_plan(struct out *, const struct out_notes *, int root, const struct attach_iscsi *,
	const struct kernel_iscsi_session *, unsigned count);
