/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Options of iSCSI applets. member: of the applet's option struct, the struct that they fill. */
#pragma once
#include "attach_env.h"
#include "iscsi_logins.h"

#define ISCSI_ROW_(type, at, name, letter, arg, help)                                              \
	{                                                                                          \
		name, letter, OPT_TEXT, offsetof(type, at), arg, help                              \
	}
#define ISCSI_CREDENTIAL_ROWS(type, member)                                                        \
	ISCSI_ROW_(type, member.initiator, "initiator", 'i', "NAME",                               \
		"name of this initiator; default from /etc/iscsi, boot parameters or the machine " \
		"id"),                                                                             \
		ISCSI_ROW_(type, member.user[0], "user", 'u', "NAME", "CHAP user name"),           \
		ISCSI_ROW_(type, member.file[0], "secret-file", 0, "FILE",                         \
			"file with the CHAP secret; -: prompt for it"),                            \
		ISCSI_ROW_(type, member.fd[0], "secret-fd", 0, "N",                                \
			"open descriptor to read the CHAP secret from"),                           \
		ISCSI_ROW_(type, member.user[1], "target-user", 0, "NAME",                         \
			"required CHAP name of the target in mutual CHAP; default any"),           \
		ISCSI_ROW_(type, member.file[1], "target-secret-file", 0, "FILE",                  \
			"file with the target's secret: enables mutual CHAP; -: prompt for it"),   \
		ISCSI_ROW_(type, member.fd[1], "target-secret-fd", 0, "N",                         \
			"open descriptor to read the target's secret from"),                       \
		ISCSI_ROW_(type, member.algs, "chap-algs", 0, "LIST",                              \
			"CHAP digests to offer, of sha3-256, sha256, sha1, md5; default all but "  \
			"md5")
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
#define ISCSI_MONITOR_FOREIGN                                                                      \
	{                                                                                          \
		"an earlier rdmastor", "--keeper", "use --monitor"                                 \
	}
#define ISCSI_MONITOR_ROW(type, member)                                                            \
	{                                                                                          \
		"monitor", 0, OPT_TEXT, offsetof(type, member), "on|off",                          \
			"start a background process that restores lost connections; default on"    \
	}
