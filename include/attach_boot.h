/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attach what this machine boots from, all in parallel on one loop, with retries until a deadline.
 * Only an export of a disk is a process of its own. */
#pragma once
#include "applet_run.h"
#include "kernel_boot.h"
#include "kernel_serving.h"
#include "loop.h"
#include "out.h"

struct boot_job {
	struct boot *boot;
	const struct boot_kind *kind; /* NULL: `why` is a usage error */
	const char *applet;           /* the one that attaches the same; NULL: none */
	const struct boot_disk *disk; /* NULL: what other parameters and the firmware name */
	const char *from;             /* "rd.rdmastor", "rd.nvmf" */
	bool done, retry_reported;
	bool cut_short;       /* the deadline precedes the end of this attempt */
	bool why_is_previous; /* `why` is of the previous attempt */
	const char *existing; /* its device if already attached, or NULL */
	struct diag why;      /* err 0: success */
	struct diag previous; /* `why` of the attempt before */
	uint64_t until;       /* of the attempt */
	void *request;        /* of its kind, of the last attempt; NULL: none */
	struct loop_timer retry_timer;
};

struct boot { /* zeroed, then set by the owner; functions are not NULL */
	struct loop *loop;
	int root;          /* kernel_root() */
	const char *dir;   /* where to mount an NFS root; NULL: don't */
	uint64_t deadline; /* loop_clock(); 0: none */
	bool dry_run;
	struct out_notes notes;                    /* verbose: print the steps, too */
	bool skip_nvmf, skip_iscsi, skip_nfs;      /* leave these parameters to other programs */
	int (*run)(int argc, char **argv);         /* an applet, in a child */
	void (*on_retry)(const struct boot_job *); /* once per job, before its first retry */

	struct boot_job *job; /* filled in */
	unsigned jobs;
	unsigned pending; /* jobs not done, and the start of the monitor; the loop stops at 0 */
	bool stopping;
	bool has_iscsi; /* there are iSCSI sessions, which need their monitor */
	unsigned sid;   /* the number of one of them */
	struct boot_monitor {
		bool started, starting;
		char session[20], *argv[4];
		struct applet_run run;
	} monitor;
};
/* Check scheme, `via` and keys of a disk that has no error yet; one goes to disk->why. */
void boot_check_disk(struct boot_disk *);
/* Find what processes of root and of this user serve, without block devices that their drivers
 * don't confirm. Runs the loop. The caller frees it with kernel_serving_free(), also after a
 * failure. */
int boot_find_served(int root, struct loop *, struct kernel_serving *, struct diag *);
/* Create a job for each disk of the kernel command line and the operands; of equal ones the last
 * counts. All arguments must outlive the boot. serving: exports that run already, or NULL. -ENOMEM;
 * what is wrong with a disk is in why of its job. */
int boot_plan(struct boot *, const struct boot_params *, const struct boot_disk *operand,
	unsigned operands, const struct kernel_serving *, struct diag *);
/* Start all jobs. Run the loop afterwards, unless pending is 0. The monitor of iSCSI sessions
 * starts with the first one if other jobs are pending; otherwise, or if that fails, the owner
 * starts it. */
void boot_start(struct boot *);
/* End all attempts, and roll them back; the loop stops when they have ended. The second call ends
 * the rollback: hints in why of the jobs name what may be left. */
void boot_stop(struct boot *);
void boot_free(struct boot *); /* only if pending is 0 */

/* Print the results as a list. Return the number of jobs that attached nothing. diag gets the last
 * failure; the others are printed. */
unsigned boot_show(const struct boot *, struct out *, struct diag *);

/* Pass each block device, and the directory of a mount. */
void boot_devices(const struct boot_job *, void (*each)(const char *text, void *arg), void *arg);
/* In a dry run: pass the URI of each disk, and each kernel module that is missing. */
void boot_uris(const struct boot_job *, void (*each)(const char *text, void *arg), void *arg);
void boot_missing(const struct boot_job *, void (*each)(const char *text, void *arg), void *arg);
/* Return true if the job failed, but attached some of its disks. */
bool boot_partly(const struct boot_job *);
/* Pass the failures of the job's disks, except the one that is `why`. */
void boot_other_failures(
	const struct boot_job *, void (*each)(const struct diag *, void *arg), void *arg);

/* Append what an initramfs needs for a device, or a URI, attached or not; NULL: for the root file
 * system. */
int boot_find_needs(int root, const char *operand, const struct kernel_serving *,
	struct boot_needs *, struct diag *);
