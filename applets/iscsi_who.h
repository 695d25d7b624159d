/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Identity of the initiator: name and CHAP secrets, from options, URIs, files, descriptors and the
 * environment. */
#pragma once
#include "applet.h"
#include "iscsi.h"
#include "kernel_iscsi.h"
#include "uri.h"

#define ISCSI_SECRET 258 /* targets accept at most 256 bytes */

/* ISCSI_WHO_ROWS() are their rows, this struct being the member `who`. */
struct iscsi_who_options {
	const char *initiator, *algs, *user[2], *file[2], *fd[2]; /* [0] ours, [1] the target's */
};
#define ISCSI_WHO_ROW_(type, name, letter, field, arg, help)                                       \
	{                                                                                          \
		name, letter, OPT_TEXT, offsetof(type, who.field), arg, help                       \
	}
#define ISCSI_WHO_ROWS(type)                                                                       \
	ISCSI_WHO_ROW_(type, "initiator", 'i', initiator, "NAME",                                  \
		"name of this initiator; default from /etc/iscsi, boot parameters or the machine " \
		"id"),                                                                             \
		ISCSI_WHO_ROW_(type, "user", 'u', user[0], "NAME", "CHAP user name"),              \
		ISCSI_WHO_ROW_(                                                                    \
			type, "secret-file", 0, file[0], "FILE", "file with the CHAP secret"),     \
		ISCSI_WHO_ROW_(type, "secret-fd", 0, fd[0], "N",                                   \
			"open descriptor to read the CHAP secret from"),                           \
		ISCSI_WHO_ROW_(type, "target-user", 0, user[1], "NAME",                            \
			"required CHAP name of the target in mutual CHAP; default any"),           \
		ISCSI_WHO_ROW_(type, "target-secret-file", 0, file[1], "FILE",                     \
			"file with the target's secret: enables mutual CHAP"),                     \
		ISCSI_WHO_ROW_(type, "target-secret-fd", 0, fd[1], "N",                            \
			"open descriptor to read the target's secret from"),                       \
		ISCSI_WHO_ROW_(type, "chap-algs", 0, algs, "LIST",                                 \
			"CHAP digests to offer, of sha3-256, sha256, sha1, md5; default all")

struct iscsi_who { /* not to be copied */
	struct iscsi_from from;
	struct kernel_initiator name;
	char secret[2][ISCSI_SECRET];
};
/* Reads keys of the URI (NULL: none), which must outlive this. */
int iscsi_who_read(
	struct call *, const struct iscsi_who_options *, struct uri *, struct iscsi_who *);
void iscsi_who_forget(struct iscsi_who *);
