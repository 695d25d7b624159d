/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find out why a remote disk, or any of them, can't be used on this machine: checks, each with a
 * result and what to do about it. Everything but netlink and the network is reached under a root
 * descriptor. */
#pragma once
#include "diag.h"
#include "loop.h"
#include "out.h"
#include "uri.h"
#include <stdbool.h>
#include <stdint.h>

enum doctor_topic { /* printed in this order */
	DOCTOR_KERNEL,
	DOCTOR_MODULES,
	DOCTOR_RDMA,
	DOCTOR_LIMITS,
	DOCTOR_IDENTITY,
	DOCTOR_BOOT,
	DOCTOR_NETWORK,
	DOCTOR_FIREWALL,
	DOCTOR_TARGET,
	DOCTOR_TOPICS,
};
/* INFO: without a URI, something that this machine lacks and that may never be used */
enum doctor_state { DOCTOR_OK, DOCTOR_INFO, DOCTOR_WARNING, DOCTOR_FAILURE, DOCTOR_STATES };

struct finding {
	uint8_t topic, state;
	bool detail; /* in text only with --verbose: unimportant, or follows from another one */
	const char *check; /* stable word: "port-state" */
	const char *lacks; /* of INFO: "RDMA"; in text all are one line without --verbose */
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
	/* Run an applet as main() does. In a child. */
	int (*run)(int argc, char **word);
	/* The MTU of a port of an RDMA device in bytes, in use and possible; 0 or -errno. */
	int (*port_mtu)(const char *dev, unsigned port, unsigned *active, unsigned *max);

	/* Filled in. */
	struct finding *finding;
	unsigned findings;
	struct diag why; /* err: the URI's target does not answer as the URI says */

	/* private */
	struct uri *parsed;  /* NULL: no URI */
	struct addr address; /* of its host, once it is found; family 0: none */
	bool local;          /* the address is one of this machine */
	char release[80];    /* of the kernel; "" = unknown */
	bool blind;          /* /sys is not mounted */
	bool failed;         /* out of memory */
	struct finding spare;
};
/* Run all checks. Errors: the URI is invalid, or out of memory; a check that fails is a finding. */
int doctor_examine(struct doctor *, struct diag *);
unsigned doctor_count(const struct doctor *, enum doctor_state);
/* JSON: the list "findings", and how many are in each state. Text: a line for each, and hints;
 * quiet: only warnings and failures. */
void doctor_show(struct out *, const struct doctor *, bool verbose, bool quiet);
void doctor_free(struct doctor *);
