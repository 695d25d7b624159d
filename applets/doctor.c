/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* doctor: find out why remote disks, or the one of a URI, can't be used here. */
#include "doctor.h"
#include "applet.h"
#include "disk_open.h"
#include "kernel_identity.h"
#include "loop.h"
#include "rdma_port.h"
#include <errno.h>
#include <unistd.h>

#define TIMEOUT_MS 20000
#define DAY_MS     86400000u

static const struct opt rows[] = {
	{ 0 },
};

static const struct opt_common defaults = { .timeout_ms = TIMEOUT_MS };

/* 0 if nothing failed; 1 if the URI can't be used as it is; else 3. */
static int exit_status(struct call *call, const struct doctor *doctor)
{
	const unsigned failures = doctor_count(doctor, DOCTOR_FAILURE);

	if (!failures)
		return EXIT_DONE;
	*call->diag = doctor->why;
	call->diag->hint[0] = 0; /* the finding has it */
	if (!doctor->why.err)
		diag_set(call->diag, DIAG_SYSTEM, EIO, "%u of %u checks failed", failures,
			doctor->findings);
	return doctor->why.err ? EXIT_FAILED : EXIT_PARTLY;
}

static int examine(struct call *call, struct doctor *doctor)
{
	const struct opt_common *opts = call->opts;
	struct out *out = call->out;
	int err = loop_new(&doctor->loop, &call->loop, call->diag);

	if (err)
		return err;
	err = doctor_examine(doctor, call->diag);
	if (!err) {
		out_text(out, "program", NULL, "%s", applet_version);
		out_text(out, "libraries", NULL, "%s", applet_libraries);
		if (doctor->uri)
			out_text(out, "uri", NULL, "%s", doctor->uri);
		if (opts->verbose)
			out_line(out, "rdmastor %s (%s)", applet_version, applet_libraries);
		doctor_show(out, doctor, opts->verbose, opts->quiet);
		err = exit_status(call, doctor);
	}
	doctor_free(doctor);
	loop_free(doctor->loop);
	return err;
}

static int run(struct call *call)
{
	const struct opt_common *opts = call->opts;
	struct doctor doctor = { .root = kernel_root(),
		.uri = call->operands ? call->operand[0] : NULL,
		.deadline = loop_clock() + (opts->no_timeout ? DAY_MS : opts->timeout_ms) * MSEC,
		.verbose = opts->verbose,
		.run = applet_exec,
		.port_mtu = rdma_port_mtu };
	int err;

	if (doctor.root < 0)
		return diag_sys(call->diag, errno, "open /");
	if (doctor.uri)
		disk_check_secrets(call, doctor.uri);
	err = examine(call, &doctor);
	close(doctor.root);
	return err;
}

const struct applet applet_doctor = {
	.name = "doctor",
	.operands = "[URI]",
	.schemes = SCHEME_ALL,
	.keys = disk_keys,
	.summary = "find out why a remote disk can't be used on this machine",
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct opt_common),
	.examples = "  rdmastor doctor\n"
		    "  rdmastor doctor nvme+rdma://10.0.0.1/nqn.2024-01.com.example:disk1\n"
		    "  rdmastor doctor --json | jq '.findings[] | select(.state != \"ok\")'\n",
	.max = 1,
	.run = run,
};
