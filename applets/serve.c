/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* serve: offer disks to other hosts as a target, until stopped. */
#include "daemon.h"
#include "daemon_rows.h"
#include "disk_open.h"
#include "iscsi.h"
#include "uri.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct serve_options {
	struct opt_common common;
	struct daemon_options life;
	struct serve_front_options front; /* of all protocols */
	struct opt_list group;
	const char *cntlid_range;
	bool nvmf, iscsi, srp;
};
enum serve_part { SERVE_FIRST, SERVE_NVMF, SERVE_ISCSI, SERVE_SRP, SERVE_PARTS };

#define CNTLID_MAX 65519 /* Base 2.1, 3.1.2.1: higher ones are reserved */
#define CNTLIDS    1024  /* most connections of the target */

#define AT(field) offsetof(struct serve_options, field)
static const struct opt rows[] = {
	{ "nvmf", 0, OPT_PART, AT(nvmf), NULL, "run an NVMe-oF target at the addresses behind it",
		SERVE_NVMF },
	{ "iscsi", 0, OPT_PART, AT(iscsi), NULL, "run an iSCSI target at the addresses behind it",
		SERVE_ISCSI },
	{ "srp", 0, OPT_PART, AT(srp), NULL, "run an SRP target at the addresses behind it",
		SERVE_SRP },
	{ "rdma", 0, OPT_LIST, AT(front.rdma), "ADDRESS",
		"listen for RDMA at [HOST]:PORT[?rdma=verbs|iwarp|auto][&crc=0]; repeatable" },
	{ "tcp", 0, OPT_LIST, AT(front.tcp), "ADDRESS",
		"listen for TCP at [HOST]:PORT; repeatable" },
	{ "ib", 0, OPT_LIST, AT(front.ib), "PORT",
		"listen for SRP by service ID on an InfiniBand port, DEV[/N] or its GID; "
		"repeatable" },
	{ "group", 0, OPT_LIST, AT(group), "N",
		"group of the listen address before it, whose state serve-ctl sets; default 1; "
		"repeatable" },
	{ "state", 0, OPT_TEXT, AT(life.state), "DIR",
		"folder in which reservations survive the end of this process" },
	{ "cntlid-range", 0, OPT_TEXT, AT(cntlid_range), "MIN-MAX",
		"IDs of NVMe controllers; servers of one subsystem need disjoint ranges" },
	{ "nqn", 0, OPT_LIST, AT(front.nqn), "NQN",
		"NQN of the next disk's subsystem; the same NQN adds a namespace; repeatable" },
	{ "allow-host", 0, OPT_LIST, AT(front.allow_host), "NQN",
		"host NQN allowed to connect; default any; repeatable" },
	{ "hosts-file", 0, OPT_TEXT, AT(front.hosts_file), "FILE",
		"hosts that must authenticate or use TLS: lines HOSTNQN [dhchap=KEY "
		"[dhchap-ctrl=KEY]] [tls=KEY] [concat=required]" },
	{ "dhchap-hash", 0, OPT_TEXT, AT(front.chap_hash), "NAME",
		"sha256, sha384 or sha512; default what the host prefers" },
	{ "dhchap-dhgroup", 0, OPT_TEXT, AT(front.chap_group), "NAME",
		"null or ffdhe2048 to ffdhe8192; default the smallest of the host, null last" },
	{ "iqn", 0, OPT_LIST, AT(front.iqn), "NAME",
		"name of the next disk's iSCSI target; the same name adds a LUN; repeatable" },
	{ "allow-initiator", 0, OPT_LIST, AT(front.allow_initiator), "NAME",
		"iSCSI initiator, or SRP initiator port, allowed to log in; default any; "
		"repeatable" },
	{ "allow", 0, OPT_LIST, AT(front.allow), "ADDRESS[/BITS]",
		"address or network allowed to connect; default any; repeatable" },
	{ "initiators-file", 0, OPT_TEXT, AT(front.initiators_file), "FILE",
		"initiators that must authenticate: lines NAME|* user=NAME secret=SECRET "
		"[target-user=NAME] [target-secret=SECRET] [chap=md5]" },
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
	{ "an earlier version", "--secret-file|--target-user|--target-secret-file",
		"use --initiators-file FILE with a line '* user=NAME secret=SECRET'" },
	{ "qemu-nbd", "-r|--read-only", "use --ro" },
	{ "qemu-nbd", "--fork", "use --daemon" },
	{ 0 },
};

/* Return the tag of the last listen address before that word of the command line; NULL: none. */
static uint16_t *find_tag(struct serve_front_options *front, int before)
{
	struct opt_list *const lists[] = { &front->rdma, &front->tcp, &front->ib };
	uint16_t *found = NULL;
	int best = -1;

	for (unsigned i = 0; i < 3; i++)
		for (unsigned n = 0; n < lists[i]->count; n++)
			if (lists[i]->word[n] < before && lists[i]->word[n] > best) {
				best = lists[i]->word[n];
				found = &lists[i]->tag[n];
			}
	return found;
}

/* Set the tags of listen addresses to the groups behind them. */
static int read_groups(struct call *call, struct serve_front_options *front)
{
	const struct serve_options *opts = call->opts;

	for (unsigned i = 0; i < opts->group.count; i++) {
		uint16_t *tag = find_tag(front, opts->group.word[i]);
		uint64_t number;

		if (parse_u64(opts->group.item[i], 1, UINT16_MAX, &number, call->diag))
			return diag_ctx(call->diag, "--group %s", opts->group.item[i]);
		if (!tag)
			return diag_set(call->diag, DIAG_USAGE, EINVAL,
				"--group %s: must follow a listen address", opts->group.item[i]);
		if (*tag)
			return diag_set(call->diag, DIAG_USAGE, EINVAL,
				"--group %s: its listen address is already in group %u",
				opts->group.item[i], *tag);
		*tag = (uint16_t)number;
	}
	return 0;
}

/* Any number of hosts can connect, so the range must not be exhausted before the connections. */
static int read_cntlid_range(struct call *call, struct serve_front_options *front)
{
	const struct serve_options *opts = call->opts;
	unsigned min, max;
	int end = 0;

	if (!opts->cntlid_range)
		return 0;
	if (sscanf(opts->cntlid_range, "%5u-%5u%n", &min, &max, &end) != 2 ||
		opts->cntlid_range[end] || !min || max > CNTLID_MAX || max < min ||
		max - min + 1 < CNTLIDS)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"--cntlid-range %s: expected MIN-MAX with at least %u IDs from 1 to %u",
			opts->cntlid_range, CNTLIDS, CNTLID_MAX);
	front->cntlid_min = (uint16_t)min;
	front->cntlid_max = (uint16_t)max;
	return 0;
}

/* What is behind the protocol; with one protocol alone the order does not matter. */
static int pick(struct call *call, const char *option, const struct opt_list *all, unsigned part,
	bool alone, struct opt_list *to)
{
	for (unsigned i = 0; i < all->count; i++) {
		if (!alone && !all->part[i])
			return diag_set(call->diag, DIAG_USAGE, EINVAL,
				"--%s %s: must follow --nvmf, --iscsi or --srp", option,
				all->item[i]);
		if (alone || all->part[i] == part) {
			to->tag[to->count] = all->tag[i];
			to->item[to->count++] = all->item[i];
		}
	}
	return 0;
}

static int split(
	struct call *call, const char *protocol, unsigned part, struct serve_front_options *front)
{
	const struct serve_options *opts = call->opts;
	struct serve_front_options tagged = opts->front;
	bool alone = opts->nvmf + opts->iscsi + opts->srp == 1;
	int err = read_groups(call, &tagged);

	front->allow = opts->front.allow;
	if (!err)
		err = pick(call, "rdma", &tagged.rdma, part, alone, &front->rdma);
	if (!err)
		err = pick(call, "tcp", &tagged.tcp, part, alone, &front->tcp);
	if (!err && part == SERVE_SRP)
		err = pick(call, "ib", &tagged.ib, part, alone, &front->ib);
	if (!err && part != SERVE_NVMF)
		err = pick(call, "allow-initiator", &opts->front.allow_initiator, part, alone,
			&front->allow_initiator);
	if (!err && !front->rdma.count && !front->tcp.count && !front->ib.count)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"no listen address given for %s: expected --rdma ADDRESS or --tcp ADDRESS",
			protocol);
	return err;
}

static int split_srp(struct call *call, struct serve_front_options *front)
{
	int err = split(call, "--srp", SERVE_SRP, front);

	if (!err && front->tcp.count)
		return diag_set(call->diag, DIAG_UNSUPPORTED, ENOTSUP,
			"--tcp %s: --srp is served over RDMA only", front->tcp.item[0]);
	return err;
}

static int serve_main(struct call *call)
{
	const struct serve_options *opts = call->opts;
	struct serve_front_options nvmf = { .nqn = opts->front.nqn,
		.allow_host = opts->front.allow_host,
		.hosts_file = opts->front.hosts_file,
		.chap_hash = opts->front.chap_hash,
		.chap_group = opts->front.chap_group };
	struct serve_front_options iscsi = { .iqn = opts->front.iqn,
		.initiators_file = opts->front.initiators_file };
	struct serve_front_options srp = { 0 };
	const struct front_config fronts[] = {
		{ &front_nvme, opts->nvmf, &nvmf },
		{ &front_iscsi, opts->iscsi, &iscsi },
		{ &front_srp, opts->srp, &srp },
	};
	int err = 0;

	if (!opts->nvmf && !opts->iscsi && !opts->srp)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"no protocol given: expected --nvmf, --iscsi or --srp");
	if (!opts->nvmf &&
		(opts->front.nqn.count || opts->front.allow_host.count || opts->front.hosts_file))
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"--nqn, --allow-host and --hosts-file need --nvmf");
	if (!opts->front.hosts_file && (opts->front.chap_hash || opts->front.chap_group))
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"--dhchap-hash and --dhchap-dhgroup need --hosts-file");
	if (!opts->nvmf && opts->cntlid_range)
		return diag_set(call->diag, DIAG_USAGE, EINVAL, "--cntlid-range needs --nvmf");
	if (!opts->iscsi && (opts->front.iqn.count || opts->front.initiators_file))
		return diag_set(
			call->diag, DIAG_USAGE, EINVAL, "--iqn and --initiators-file need --iscsi");
	if (!opts->srp && opts->front.ib.count)
		return diag_set(call->diag, DIAG_USAGE, EINVAL, "--ib needs --srp");
	if (!opts->iscsi && !opts->srp && opts->front.allow_initiator.count)
		return diag_set(
			call->diag, DIAG_USAGE, EINVAL, "--allow-initiator needs --iscsi or --srp");
	if (opts->nvmf)
		err = read_cntlid_range(call, &nvmf);
	if (!err && opts->nvmf)
		err = split(call, "--nvmf", SERVE_NVMF, &nvmf);
	if (!err && opts->iscsi)
		err = split(call, "--iscsi", SERVE_ISCSI, &iscsi);
	if (!err && opts->srp)
		err = split_srp(call, &srp);
	if (!err) {
		loop_raise_fd_limit();
		err = daemon_run(call, &opts->life, fronts, sizeof(fronts) / sizeof(*fronts));
	}
	return err;
}

const struct applet applet_serve = {
	.name = "serve",
	.operands = "URI...",
	.schemes = SCHEME_DISK,
	.keys = disk_keys,
	.summary = "serve up to 32 disks as an NVMe-oF, iSCSI or SRP target",
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct serve_options),
	.foreign = foreign,
	.examples =
		"  rdmastor serve disk.img --nvmf --tcp :4420\n"
		"  rdmastor serve /dev/sdb --nvmf --rdma :4420 --tcp :4420 --allow-host NQN\n"
		"  rdmastor serve /dev/sdb --nvmf --tcp :4420 --hosts-file /etc/rdmastor/hosts\n"
		"  rdmastor serve /dev/sdb --nvmf --tcp 10.0.0.1:4420 --tcp 10.0.1.1:4420 "
		"--group 2\n"
		"  rdmastor serve disk.img --iscsi --tcp :3260\n"
		"  rdmastor serve disk.img --iscsi --tcp :3260 --initiators-file "
		"/etc/rdmastor/initiators\n"
		"  rdmastor serve disk.img --srp --rdma :5555\n"
		"  rdmastor serve disk.img --srp --ib mlx5_0/1\n"
		"  rdmastor serve nbd://10.0.0.7/vm1 --nvmf --tcp :4420 --ro\n",
	.min = 1,
	.max = 255,
	.run = serve_main,
};
