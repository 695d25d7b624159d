/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The disks that several connections of one command reach: which of them are one, and the multipath
 * device that joins its paths: the NVMe driver's, or a map of dm-multipath. */
#pragma once
#include "attach.h"
#include "diag.h"
#include "loop.h"
#include "out.h"

struct multipath_path {     /* a disk of one connection; texts must stay valid until the end */
	const char *via;    /* the connection: "nvme0", "session1", "host6" */
	const char *target; /* "": unknown */
	uint64_t unit;      /* of the target: namespace ID, LUN */
	const char *node;   /* "nvme0n1", "sda" */
	const char *wwid;   /* "": unknown */
	bool *joined;       /* set if a multipath device joins it: print that instead */

	/* private */
	unsigned first, others; /* index of the first path to this disk; its number of others */
	char device[32], name[140], by_id[220]; /* of the first one: "dm-0", "/dev/mapper/mpatha" */
	const char *missing;                    /* of the first one */
};
struct multipath { /* zeroed, then set by the owner */
	int root;
	struct loop *loop;
	const struct out_notes *notes;
	uint64_t deadline;  /* loop_clock(); 0: none */
	bool nvme;          /* the driver joins paths itself */
	const char *detach; /* the applet that ends a connection: "iser-logout" */

	struct multipath_path *path; /* multipath_free() */
	unsigned count;
};
/* Add a path. -ENOMEM. */
int multipath_add(struct multipath *, const struct multipath_path *, struct diag *);
/* Add the disks of a SCSI connection, or the only one that it was made for. The list must not
 * change until the end. -ENOMEM. */
int multipath_add_luns(struct multipath *, const char *via, const char *target,
	struct attach_luns *, struct diag *);
/* Find disks with several paths and their multipath devices, for which multipathd is given up to
 * five seconds; runs the loop. Warns of paths that nothing joins, as they are separate devices.
 * -EXDEV: a unit of one target is another disk over another connection. */
int multipath_join(struct multipath *, struct diag *);
/* Print the multipath devices: text lines, and members of the open JSON object. print: NULL, or
 * "dev" or "by-id" for their paths only. Prints nothing without a disk with several paths. */
void multipath_show(const struct multipath *, struct out *, const char *print);
/* Report failures other than those of the results. If these have not `failed`, the first one
 * becomes *diag, and true is returned. The others are notes, and members of the JSON list
 * "other_errors". */
bool multipath_end(const struct multipath *, struct out *, bool failed, const struct diag *why,
	unsigned count, struct diag *);
void multipath_free(struct multipath *);
