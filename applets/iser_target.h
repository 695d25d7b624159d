/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iSCSI targets as given to iser-login and iser-logout: URIs, or a name and portals. */
#pragma once
#include "iscsi_attach.h"
#include "iscsi_who.h"
#include "kernel_iscsi_conf.h"
#include "kernel_iscsi_session.h"

struct iser_words {
	const char *target, *transport;
	struct opt_list portals;
	uint32_t tpgt;
};
#define ISER_NAME_ROWS(type)                                                                       \
	{ "target", 'T', OPT_TEXT, offsetof(type, words.target), "IQN", "name of the target" },    \
		{ "portal", 'p', OPT_LIST, offsetof(type, words.portals), "HOST[:PORT]",           \
			"portal of the target; repeatable" },                                      \
	{                                                                                          \
		"transport", 't', OPT_TEXT, offsetof(type, words.transport), "auto|iser|tcp",      \
			"transport for --portal; auto: iSER, else TCP; default auto"               \
	}

/* iscsiadm's options that mean the same in both applets. */
#define ISER_FOREIGN_ROWS                                                                          \
	{ "iscsiadm", "--targetname", "use -T IQN or --target IQN" },                              \
		{ "iscsiadm", "-I", "use --transport iser or --transport tcp" },                   \
		{ "iscsiadm", "--interface", "use --transport iser or --transport tcp" },          \
		{ "iscsiadm", "-r", "give only the session, such as session1" },                   \
		{ "iscsiadm", "--sid", "give only the session, such as session1" },                \
		{ "iscsiadm", "-o new", "omit it: no database of targets is kept" },               \
		{ "iscsiadm", "-o delete", "omit it: no database of targets is kept" },            \
		{ "iscsiadm", "--op", "omit it: no database of targets is kept" },                 \
		{ "iscsiadm", "-d", "use --verbose" },                                             \
	{                                                                                          \
		"iscsiadm", "--debug", "use --verbose"                                             \
	}

struct iser_target { /* not to be copied */
	struct uri uri;
	char name[ISCSI_NAME_MAX + 1]; /* "" = unset */
	char spelling[URI_MAX];        /* as the user wrote it */
	struct addr portal;
	bool any; /* over iSER or TCP */
	uint8_t carrier;
	uint64_t lun;            /* SCSI_LUN_ALL: unset */
	int tpgt;                /* of --portal; -1: unset */
	struct iscsi_wish *wish; /* what the URI was made of; NULL: it was given */
};
struct iser_targets {
	struct iser_target *target;
	unsigned count;
};
/* Targets of the operands that are URIs or dracut's strings, of the options, and of the wishes
 * (NULL: none). An invalid wish is reported and counted as a problem if there are others. until:
 * limit of name lookups. Call iser_targets_free() also on failure. */
int iser_targets_read(struct call *, const struct iser_words *, struct iscsi_wishes *,
	uint64_t until, struct iser_targets *);
void iser_targets_free(struct iser_targets *); /* wipes */
/* "HOST[:PORT][,TAG]", as iscsiadm and iser-discover print portals, as a URI. *tpgt: the portal
 * group tag, -1 without one. */
int iser_portal_uri(const char *portal, char uri[URI_MAX], int *tpgt, struct diag *);
/* Does the word name an existing session: "session1", "1", "/dev/sda"? */
bool iser_is_session(const char *word);
/* Its session. -ENOENT, -EINVAL. */
int iser_session_of(int root, const char *word, struct kernel_iscsi_session *, struct diag *);
