/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attach what this machine boots from: each disk by its own applet, all in parallel in child
 * processes, with retries until a deadline. */
#pragma once
#include "applet_run.h"
#include "kernel_boot.h"
#include "kernel_serving.h"

#define BOOT_ARGS 10

struct boot_job {
	struct boot *boot;
	const struct boot_disk *disk; /* NULL: what the applet finds with --from-cmdline */
	const char *from;             /* "rd.rdmastor", "rd.nvmf" */
	char *argv[BOOT_ARGS];        /* applet and arguments, NULL-terminated */
	bool done, retry_reported;
	bool cut_short;       /* the deadline precedes the end of this attempt */
	bool why_is_previous; /* `why` is of the previous attempt */
	const char *existing; /* its device if already attached, or NULL */
	struct diag why;      /* err 0: success */
	char timeout[24];
	struct applet_run run; /* the last one */
	struct loop_timer retry_timer;
};

struct boot { /* zeroed, then set by the owner */
	struct loop *loop;
	const char *dir;   /* where to mount an NFS root; NULL: don't */
	uint64_t deadline; /* loop_clock(); 0: none */
	bool dry_run, verbose;
	bool skip_nvmf, skip_iscsi, skip_nfs;      /* leave these parameters to other programs */
	int (*run)(int argc, char **argv);         /* applet_main(); called in the child */
	void (*on_retry)(const struct boot_job *); /* once per job, before its first retry */

	struct boot_job *job; /* filled in */
	unsigned jobs;
	unsigned pending; /* jobs not done; the loop stops at 0 */
	bool stopping;
};
/* Choose the applet that attaches the disk, by URI and `via`. The caller adds the URI to diag. */
int boot_choose_applet(const struct boot_disk *, const char **applet, struct diag *);
/* Create a job for each disk of the kernel command line and the operands; of equal ones the last
 * counts. All arguments must outlive the boot. serving: exports that run already, or NULL. -ENOMEM;
 * what is wrong with a disk is in why of its job. */
int boot_plan(struct boot *, const struct boot_params *, const struct boot_disk *operand,
	unsigned operands, const struct kernel_serving *, struct diag *);
/* Start all jobs. Run the loop afterwards, unless pending is 0. */
void boot_start(struct boot *);
/* End all attempts; the loop stops when the children have ended. */
void boot_stop(struct boot *);
void boot_free(struct boot *);

/* Pass each string under a key of the job's document, at any depth, that begins with `start`. */
void boot_result_texts(const struct boot_job *, const char *key, const char *start,
	void (*each)(const char *text, void *arg), void *arg);
/* Return true if the job failed, but attached some of what its applet found. */
bool boot_partly(const struct boot_job *);
/* Pass the failures in the job's document, except the one that is `why`. */
void boot_other_failures(
	const struct boot_job *, void (*each)(const struct diag *, void *arg), void *arg);
