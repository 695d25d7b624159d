/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attach SRP targets through the kernel. */
#pragma once
#include "attach_luns.h"
#include "kernel_srp.h"

struct attach_srp {
	struct attach attach; /* .proto: attach_srp_row, .what: as host.host */
	/* the owner's; what is pointed to lives until it is over */
	const struct srp_want *want; /* checked and resolved; NULL: `host` is connected */
	const char *dev;             /* the local port; NULL and 0: chosen */
	unsigned port;
	char *const *params; /* of ib_srp, "name=value" */
	unsigned param_count;
	struct srp_tmo tmo; /* for a new connection */
	bool tmo_given;     /* for one that existed, too */
	uint32_t login_ms;  /* of a login; 0 = the deadline */
	bool exclusive;     /* fail if the connection exists */

	/* Filled in. To change or detach a connection: host, by the owner. */
	struct kernel_srp host;
	bool existed; /* was connected before */
	/* .lun: the owner's, SCSI_LUN_ALL or the only one to wait for and keep */
	struct attach_luns luns; /* attach_luns_free() */

	/* private from here */
	struct srp_local local;
	struct kernel_srp_add add;
	struct child_call call;
	struct attach_srp_said {
		struct diag why;
		bool loaded;
		struct srp_local local;
		char others[200];
	} said;
	struct loop_timer timer;
	struct kernel_srp *before; /* connections when the login began */
	unsigned befores;
	bool logging_in;
	uint64_t since, leaves; /* the login; until then a former connection may leave */
	char words[1024];       /* of the kernel about the login */
};
extern const struct attach_proto attach_srp_row;
