/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attach what this machine boots from: each disk by its own applet, all in parallel in child
 * processes, with retries until a deadline. */
#pragma once
#include "applet_run.h"
#include "diag.h"
#include "kernel_boot.h"
#include "kernel_serving.h"
#include "loop.h"
#include <stdbool.h>
#include <stdint.h>

#define BOOT_WORDS 10

struct boot_job {
	struct boot *boot;
	const struct boot_disk *disk; /* NULL: what an applet finds with --from-cmdline */
	const char *from;             /* "rd.rdmastor", "rd.nvmf" */
	char *word[BOOT_WORDS];       /* name of the applet and its arguments; NULL ends them */
	bool over, told;
	bool cut;             /* the deadline comes before the end of this attempt */
	bool kept;            /* `why` is that of the attempt before */
	const char *existing; /* its device if it is attached already, or NULL */
	struct diag why;      /* err 0: done */
	char timeout[24];
	struct applet_run run; /* the last one */
	struct loop_timer again;
};

struct boot { /* zeroed, then set by the owner */
	struct loop *loop;
	const char *dir;   /* where to mount an NFS root; NULL: don't */
	uint64_t deadline; /* loop_clock(); 0 = none */
	bool dry_run, verbose;
	bool skip_nvmf, skip_iscsi, skip_nfs; /* words of others */
	/* Runs an applet as main() does. In a child. */
	int (*run)(int argc, char **word);
	void (*waits)(const struct boot_job *); /* once per job: it failed, and is tried again */

	struct boot_job *job; /* filled in */
	unsigned jobs;
	unsigned left; /* the loop stops at 0 */
	bool stopping;
};
/* Choose the applet that attaches the disk, by its URI and `via`; the caller names the URI in diag. */
int boot_choose_applet(const struct boot_disk *, const char **applet, struct diag *);
/* Make the jobs for these words and operands; of those that name a disk repeatedly the last counts.
 * They stay in place, as does what is served already (NULL: unknown). */
int boot_plan(struct boot *, const struct boot_words *, const struct boot_disk *operand,
	unsigned operands, const struct kernel_serving *, struct diag *);
void boot_start(struct boot *); /* then loop_run(), unless left is 0 */
void boot_stop(struct boot *);  /* ends the attempts; the loop stops when they have ended */
void boot_free(struct boot *);

/* The texts of a key in the job's result, at any depth, that begin with `start`. */
void boot_result_texts(const struct boot_job *, const char *key, const char *start,
	void (*each)(const char *text, void *arg), void *arg);
/* It failed, but some of what its applet found is attached. */
bool boot_partly(const struct boot_job *);
/* Of an applet that found several things: its failures except `why`. */
void boot_other_failures(
	const struct boot_job *, void (*each)(const struct diag *, void *arg), void *arg);
