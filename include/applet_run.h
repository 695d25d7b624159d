/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Run an applet in a process of its own and read its JSON document. */
#pragma once
#include "child.h"
#include "diag.h"
#include "loop.h"
#include <stdbool.h>
#include <stdint.h>

struct cJSON;

struct applet_run { /* zeroed, then set by the owner; may be started again once over */
	struct loop *loop;
	/* Runs an applet as main() does. In the child. */
	int (*run)(int argc, char **word);
	char *const *word; /* its name and arguments, --json among them; NULL ends them */
	uint64_t until;    /* loop_clock(): it has ended by itself; later it is ended */
	bool messages;     /* print its messages */
	void (*done)(struct applet_run *); /* once, from the loop */

	struct diag why;      /* when over: its error; err 0: it succeeded */
	struct cJSON *result; /* its document, or NULL */

	bool expired; /* private from here */
	int results;
	struct child_call call;
};
/* 0, and `done` follows; or -errno with why. */
int applet_run_start(struct applet_run *);
void applet_run_expire(struct applet_run *); /* end it now; `done` follows, with EINTR */
void applet_run_free(struct applet_run *);   /* of one that is over or not started */
/* The texts of a key in the document, at any depth, that begin with `start`. */
void applet_run_texts(const struct applet_run *, const char *key, const char *start,
	void (*each)(const char *text, void *arg), void *arg);
/* The error under a key of the document; err stays 0 if there is none. */
void applet_run_error(const struct applet_run *, const char *key, struct diag *);
/* The failures in its lists of results, and whether one of these succeeded. */
void applet_run_failures(
	const struct applet_run *, void (*each)(const struct diag *, void *arg), void *arg);
bool applet_run_partly(const struct applet_run *);
