/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find out why remote disks can't be used on this host: checks with results and hints. Paths are
 * relative to a root descriptor. */
#pragma once
#include "loop.h"
#include "out.h"
#include "uri.h"

/* INFO: only without a URI: a missing part that may never be needed */
enum doctor_state { DOCTOR_OK, DOCTOR_INFO, DOCTOR_WARNING, DOCTOR_FAILURE, DOCTOR_STATES };

struct finding {
	uint8_t topic, state; /* enum doctor_topic (private), doctor_state */
	bool detail; /* printed only with --verbose: unimportant, or follows from another one */
	const char *check;   /* stable word: "port-state" */
	const char *missing; /* INFO: "RDMA"; all are one line of text without --verbose */
	char object[256], text[512], hint[512];
	struct fact { /* data for JSON */
		const char *key;
		bool is_text;
		uint64_t number;
		char text[256];
	} fact[8];
	unsigned facts;
};

struct doctor { /* zeroed, then set by the owner */
	int root;
	struct loop *loop;
	const char *uri;   /* NULL: examine the machine alone */
	uint64_t deadline; /* loop_clock() */
	bool verbose;
	/* Run an applet as main() does; called in a child. */
	int (*run)(int argc, char **word);
	/* Get the MTU of an RDMA port in bytes, active and maximum; 0 or -errno. */
	int (*port_mtu)(const char *dev, unsigned port, unsigned *active, unsigned *max);

	/* Filled in. */
	struct finding *finding;
	unsigned findings;
	struct diag why; /* err: the target does not answer, or does not match the URI */

	/* private */
	struct uri *parsed;  /* NULL: no URI */
	struct addr address; /* of its host, when resolved; family 0: none */
	bool local;          /* the address is one of this host */
	char release[80];    /* kernel release; "": unknown */
	bool no_sysfs;       /* /sys is not mounted */
	bool failed;         /* out of memory */
	struct finding spare;
};
/* Run all checks; runs the loop. A failed check is a finding. Errors: invalid URI, out of memory.
 */
int doctor_examine(struct doctor *, struct diag *);
/* Return the number of findings in this state. */
unsigned doctor_count(const struct doctor *, enum doctor_state);
/* Print the findings: in JSON the list "findings" and the counts, as text a line and a hint each.
 * quiet: only warnings and failures. */
void doctor_show(struct out *, const struct doctor *, bool verbose, bool quiet);
void doctor_free(struct doctor *);
