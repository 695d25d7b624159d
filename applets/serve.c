/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* serve: offer disks to other hosts as a target, until stopped. */
#include "fronts.h"
#include <errno.h>

struct serve_options {
	struct opt_common common;
	struct daemon_options life;
	struct serve_want want;
	bool nvmf;
};

#define AT(field) offsetof(struct serve_options, field)
static const struct opt rows[] = {
	{ "nvmf", 0, OPT_FLAG, AT(nvmf), NULL, "run an NVMe-oF target" },
	{ "rdma", 0, OPT_LIST, AT(want.rdma), "ADDRESS",
		"listen for RDMA at [HOST]:PORT[?rdma=verbs|iwarp|auto][&crc=0]; repeatable" },
	{ "tcp", 0, OPT_LIST, AT(want.tcp), "ADDRESS",
		"listen for TCP at [HOST]:PORT; repeatable" },
	{ "nqn", 0, OPT_LIST, AT(want.nqn), "NQN",
		"NQN of the next disk's subsystem; the same NQN adds a namespace; repeatable" },
	{ "allow-host", 0, OPT_LIST, AT(want.allow_host), "NQN",
		"host NQN allowed to connect; default any; repeatable" },
	DAEMON_ROWS(struct serve_options, life),
	{ 0 },
};
#undef AT

static const struct serve_options defaults = { .life = DAEMON_DEFAULTS };

static const struct opt_foreign foreign[] = {
	{ "nvme-cli", "-a|--traddr|-s|--trsvcid|-t|--transport",
		"use --tcp HOST:PORT or --rdma HOST:PORT" },
	{ "nvme-cli", "-n|--subsysnqn", "use --nqn NQN" },
	{ "nvme-cli", "--hostnqn", "use --allow-host NQN" },
	{ "SPDK", "--allow-any-host", "omit it: any host may connect without --allow-host" },
	{ "SPDK", "--serial-number", "omit it: the serial number is derived from the disk" },
	{ "qemu-nbd", "-r|--read-only", "use --ro" },
	{ "qemu-nbd", "--fork", "use --daemon" },
	{ 0 },
};

static int serve_main(struct call *call)
{
	const struct serve_options *opts = call->opts;
	const struct front_want fronts[] = {
		{ &front_nvme, opts->nvmf, &opts->want },
	};

	if (!opts->nvmf)
		return diag_set(
			call->diag, DIAG_USAGE, EINVAL, "no protocol given: expected --nvmf");
	if (!opts->want.rdma.count && !opts->want.tcp.count)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"no listen address given: expected --rdma ADDRESS or --tcp ADDRESS");
	loop_fds_raise();
	return daemon_run(call, &opts->life, fronts, sizeof(fronts) / sizeof(*fronts));
}

const struct applet applet_serve = {
	.name = "serve",
	.operands = "URI...",
	.schemes = SCHEME_DISK,
	.summary = "serve disks as an NVMe-oF target",
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct serve_options),
	.foreign = foreign,
	.examples = "  rdmastor serve disk.img --nvmf --tcp :4420\n"
		    "  rdmastor serve /dev/sdb --nvmf --rdma :4420 --tcp :4420 --allow-host NQN\n"
		    "  rdmastor serve nbd://10.0.0.7/vm1 --nvmf --tcp :4420 --ro\n",
	.min = 1,
	.max = 255,
	.run = serve_main,
};
