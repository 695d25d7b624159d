/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* From the words of a command line and keys of URIs to iSCSI sessions: the initiator, settings,
 * targets, all logins of one run; and their results, printed. Failures are in call->diag. */
#pragma once
#include "applet.h"
#include "attach_iscsi.h"
#include "kernel_iscsi.h"
#include "kernel_iscsi_conf.h"

/* Rows of options; `member` of the applet's option struct is the struct they fill. */
#define ISCSI_ROW_(type, at, name, letter, arg, help)                                              \
	{                                                                                          \
		name, letter, OPT_TEXT, offsetof(type, at), arg, help                              \
	}

struct iscsi_who_words {
	const char *initiator, *algs, *user[2], *file[2], *fd[2]; /* [0] ours, [1] the target's */
};
#define ISCSI_WHO_ROWS(type, member)                                                               \
	ISCSI_ROW_(type, member.initiator, "initiator", 'i', "NAME",                               \
		"name of this initiator; default from /etc/iscsi, boot parameters or the machine " \
		"id"),                                                                             \
		ISCSI_ROW_(type, member.user[0], "user", 'u', "NAME", "CHAP user name"),           \
		ISCSI_ROW_(type, member.file[0], "secret-file", 0, "FILE",                         \
			"file with the CHAP secret"),                                              \
		ISCSI_ROW_(type, member.fd[0], "secret-fd", 0, "N",                                \
			"open descriptor to read the CHAP secret from"),                           \
		ISCSI_ROW_(type, member.user[1], "target-user", 0, "NAME",                         \
			"required CHAP name of the target in mutual CHAP; default any"),           \
		ISCSI_ROW_(type, member.file[1], "target-secret-file", 0, "FILE",                  \
			"file with the target's secret: enables mutual CHAP"),                     \
		ISCSI_ROW_(type, member.fd[1], "target-secret-fd", 0, "N",                         \
			"open descriptor to read the target's secret from"),                       \
		ISCSI_ROW_(type, member.algs, "chap-algs", 0, "LIST",                              \
			"CHAP digests to offer, of sha3-256, sha256, sha1, md5; default all")
#define ISCSI_SECRET 258 /* targets accept at most 256 bytes */
struct iscsi_who {       /* not to be copied; wiped by its owner */
	struct iscsi_from from;
	struct kernel_initiator name;
	const char *file[2]; /* where the secrets come from; NULL: not a file */
	char secret[2][ISCSI_SECRET];
};
/* Name, user and secrets of the initiator: options first, then keys of the URI, which must outlive
 * this, then the environment. */
int iscsi_who_read(
	struct call *, int root, const struct iscsi_who_words *, struct uri *, struct iscsi_who *);

#define ISCSI_SETTING_INDEX(field, ...) ISCSI_AT_##field,
enum { ISCSI_SETTING_LIST(ISCSI_SETTING_INDEX) };
struct iscsi_set_words {
	const char *on_loss, *value[ISCSI_SETTINGS];
};
/* *given: bits by the order of iscsi_setting[] of the settings that were given. The URI may be
 * NULL. */
int iscsi_set_read(const struct iscsi_set_words *, struct uri *, struct iscsi_settings *,
	uint32_t *given, struct diag *);

struct iscsi_target_words {
	const char *target, *transport;
	struct opt_list portals;
};
#define ISCSI_TARGET_ROWS(type, member)                                                            \
	ISCSI_ROW_(type, member.target, "target", 'T', "IQN", "name of the target"),               \
		{ "portal", 'p', OPT_LIST, offsetof(type, member.portals), "HOST[:PORT]",          \
			"portal of the target; repeatable" },                                      \
		ISCSI_ROW_(type, member.transport, "transport", 't', "auto|iser|tcp",              \
			"transport for --portal; auto: iSER, else TCP; default auto")
/* iscsiadm's options that mean the same in iser-login and iser-logout */
#define ISCSI_FOREIGN_ROWS                                                                         \
	{ "iscsiadm", "--targetname", "use -T IQN or --target IQN" },                              \
		{ "iscsiadm", "-I|--interface", "use --transport iser or --transport tcp" },       \
		{ "iscsiadm", "-r|--sid", "give only the session, such as session1" },             \
		{ "iscsiadm", "-o new|-o delete|--op",                                             \
			"omit it: no database of targets is kept" },                               \
	{                                                                                          \
		"iscsiadm", "-d|--debug", "use --verbose"                                          \
	}
struct iscsi_target { /* not to be copied */
	struct uri uri;
	char name[ISCSI_NAME_MAX + 1]; /* "" = unset */
	char spelling[URI_MAX];        /* as the user wrote it */
	struct addr portal;
	bool any; /* over iSER or TCP */
	uint8_t carrier;
	uint64_t lun; /* SCSI_LUN_ALL: unset */
	int tpgt;     /* of --portal; -1: unset */

	/* iscsi_logins_read()'s */
	struct iscsi_who who;
	uint32_t given;        /* settings that were given */
	unsigned first, count; /* of the wants */
};
struct iscsi_targets {
	struct iscsi_target *target;
	unsigned count;
};
/* Targets of the operands that are URIs or dracut's strings, of the options, and of the wishes
 * (NULL: none). An invalid wish is reported and counted as a problem if there are others. until:
 * limit of name lookups. Call iscsi_targets_free() also on failure; the wishes live longer. */
int iscsi_targets_read(struct call *, const struct iscsi_target_words *, struct iscsi_wishes *,
	uint64_t until, struct iscsi_targets *);
void iscsi_targets_free(struct iscsi_targets *); /* wipes */
/* A URI of the schemes iser and iscsi, or one made of a wish, to which it points. */
int iscsi_uri_read(struct uri *, const char *text, struct diag *);
int iscsi_uri_of_wish(struct uri *, const struct iscsi_wish *, struct diag *);
/* "HOST[:PORT][,TAG]", as iscsiadm and iser-discover print portals, as a URI. *tpgt: the portal
 * group tag, -1 without one. */
int iscsi_portal_uri(const char *portal, char uri[URI_MAX], int *tpgt, struct diag *);
/* Does the word name an existing session: "session1", "1", "/dev/sda"? */
bool iscsi_is_session(const char *word);
/* Its session. -ENOENT, -EINVAL. */
struct kernel_iscsi_session;
int iscsi_session_of(int root, const char *word, struct kernel_iscsi_session *, struct diag *);

/* iser-login, as a request. */
struct iscsi_logins_words {
	struct iscsi_target_words targets;
	struct iscsi_who_words who;
	struct iscsi_set_words set;
	const char *lun, *src, *iface, *tpgt;
	bool from_cmdline, ibft, no_wait;
};
struct iscsi_logins { /* the first four are the owner's */
	struct call *call;
	const struct iscsi_logins_words *words;
	int root;
	uint64_t until;

	struct iscsi_wishes
		wishes; /* problems: parts of the boot configuration that were skipped */
	struct iscsi_targets targets;
	struct attach_iscsi *attach; /* of all targets, in their order */
	unsigned count;
};
/* Words to wants. Reports the sources of a boot configuration with --verbose and --dry-run, and its
 * invalid parts always. Sets up the network if the command line asks for the firmware's, except in
 * a dry run. Call iscsi_logins_free() also on failure. */
int iscsi_logins_read(struct iscsi_logins *);
void iscsi_logins_keys(const char *uri, struct uri_asked *); /* iser-login's .keys */
/* Attach them; then TCP where iSER had no answer and either will do, then rd.iscsi.login_retry_max,
 * then settings of sessions that existed. 0: each has its result. */
int iscsi_logins_run(struct iscsi_logins *, struct loop *);
void iscsi_logins_free(struct iscsi_logins *); /* wipes */

/* --- iscsistart: settings by open-iscsi's record names, sessions from wishes. */
struct iscsi_records {
	struct iscsi_settings set;
	bool iser;
	uint32_t retry_max;
	unsigned algs;
	char initiator[ISCSI_NAME_MAX + 1], netdev[16];
	/* NULL: not given; else the value that was passed, which iscsi_start_free() wipes */
	const char *user[2], *secret[2];
};
/* -ENOENT: unknown. */
int iscsi_record_set(
	struct iscsi_records *, int root, const char *name, const char *value, struct diag *);
/* A name without effect here: for the daemon, the database or offload cards. */
bool iscsi_record_is_other(const char *name);
struct iscsi_start {
	/* the owner's; stay where they are */
	int root;
	struct iscsi_records records;
	struct iscsi_wishes wishes;
	void (*retrying)(struct iscsi_start *, const struct attach_iscsi *); /* why it failed */
	void *user;

	struct attach_iscsi *attach; /* one for each wish */
	struct iscsi_from *from;
	uint64_t bound; /* of retries */
};
/* All of them at once, retried as open-iscsi does. until: 0 = none. 0: each has its result. */
int iscsi_start_run(struct iscsi_start *, struct loop *, uint64_t until, struct diag *);
bool iscsi_start_resolved(const struct attach_iscsi *); /* its host has an address */
void iscsi_start_free(struct iscsi_start *);            /* wipes */

/* --- Sessions, printed. JSON members that several applets have; host "", port 0: unknown; alg "":
 * without CHAP. */
void iscsi_show_portal(struct out *, const char *host, unsigned port);
void iscsi_show_chap(struct out *, const char *alg);
/* An object of the open list: a login's result. A failed one has no line of text. print: as of
 * kernel_scsi_show(). */
void iscsi_show_login(struct out *, int root, const struct attach_iscsi *, const char *print);
/* The portal, the target and, unless all are wanted, the LUN. */
void iscsi_attach_uri(const struct attach_iscsi *, char uri[URI_MAX]);
/* What a dry run prints. */
void iscsi_show_plan(struct out *, const struct attach_iscsi *, const struct kernel_iscsi_session *,
	unsigned count);
