/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kinds of what a machine boots from: a row of functions for each. */
#pragma once
#include "attach.h"
#include "attach_boot.h"

#define BOOT_ATTEMPT_MS 20000u

struct boot_request { /* the first member of a kind's own */
	struct boot_job *job;
	/* The limit is that of the attempt. Messages are printed with --verbose only: the result
	 * has the failures. */
	struct attach_env env;
};

struct boot_kind {
	size_t size; /* of its request */
	/* List the keys of a URI, as .keys of an applet does. */
	void (*keys)(const char *uri, struct uri_key_names *);
	/* Read the URI, or parameters and firmware, into job->request, which is zeroed behind its
	 * first member, and attach what they name; in a dry run only look it up. It must not block.
	 * Return -errno with job->why set, or 0: boot_attempt_done() follows, maybe before this
	 * returns. It ends by job->until or, if it waits for other attachments, boot->deadline. */
	int (*start)(struct boot_job *);
	void (*cancel)(struct boot_job *); /* boot_attempt_done() follows, maybe inside */
	void (*free)(struct boot_job *);   /* what the request points to; NULL: nothing */
	/* Pass results. NULL: none. */
	void (*devices)(
		const struct boot_job *, void (*each)(const char *text, void *arg), void *arg);
	void (*uris)(const struct boot_job *, void (*each)(const char *text, void *arg), void *arg);
	void (*missing)(
		const struct boot_job *, void (*each)(const char *text, void *arg), void *arg);
	void (*failures)(
		const struct boot_job *, void (*each)(const struct diag *, void *arg), void *arg);
	bool (*partly)(const struct boot_job *); /* a disk is attached, though another is not */
};
extern const struct boot_kind boot_nvme, boot_iscsi, boot_srp, boot_nfs, boot_export;

/* The attempt has ended; job->why.err 0: all is attached. */
void boot_attempt_done(struct boot_job *);
