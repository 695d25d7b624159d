/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Run an applet in a process of its own and read its JSON document. */
#pragma once
#include "child.h"

struct cJSON;

struct applet_run { /* zeroed, then set by the owner; may be restarted after done() */
	struct loop *loop;
	int (*run)(int argc, char **argv); /* applet_main(); called in the child */
	char *const *argv; /* applet and arguments, --json among them; NULL-terminated */
	/* loop_clock(): the child gets SIGTERM 3 s later; 0: only by applet_run_expire() */
	uint64_t until;
	bool messages;                     /* print its messages */
	void (*done)(struct applet_run *); /* once, from the loop */

	struct diag why;      /* filled in: the applet's error; err 0: success */
	struct cJSON *result; /* filled in: its document, or NULL; applet_run_free() */

	bool expired; /* private from here */
	int results;
	struct child_call call;
};
/* Return 0 if done() follows, -errno with why set otherwise. */
int applet_run_start(struct applet_run *);
/* Read the document of an applet that continues to run. False: it is not complete yet. */
bool applet_run_ready(struct applet_run *);
/* End the child now. done() follows; why is EINTR unless there is a document. */
void applet_run_expire(struct applet_run *);
void applet_run_free(struct applet_run *); /* not while it runs */
/* Pass each string under a key of the document, at any depth, that begins with `start`. */
void applet_run_texts(const struct applet_run *, const char *key, const char *start,
	void (*each)(const char *text, void *arg), void *arg);
/* Read the error under a top-level key of the document. The diag is unchanged if there is none. */
void applet_run_error(const struct applet_run *, const char *key, struct diag *);
