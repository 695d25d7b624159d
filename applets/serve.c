/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* serve: run a target until stopped. core/proto serves, core/kernel identifies the disks, daemon.c
 * handles start and stop. */
#include "serve.h"
#include "daemon.h"
#include "disk.h"
#include "patience.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct serve_options {
	struct opt_common common;
	struct daemon_options life;
	struct opt_list rdma, tcp, nqn, allow_host;
	bool nvmf;
};

#define AT(field) offsetof(struct serve_options, field)
static const struct opt rows[] = {
	{ "nvmf", 0, OPT_FLAG, AT(nvmf), NULL, "run an NVMe-oF target" },
	{ "rdma", 0, OPT_LIST, AT(rdma), "ADDRESS",
		"listen for RDMA at [HOST]:PORT[?rdma=verbs|iwarp|auto][&crc=0]; repeatable" },
	{ "tcp", 0, OPT_LIST, AT(tcp), "ADDRESS", "listen for TCP at [HOST]:PORT; repeatable" },
	{ "nqn", 0, OPT_LIST, AT(nqn), "NQN",
		"NQN of the next disk's subsystem; the same NQN adds a namespace; repeatable" },
	{ "allow-host", 0, OPT_LIST, AT(allow_host), "NQN",
		"host NQN allowed to connect; default any; repeatable" },
	DAEMON_ROWS(struct serve_options, life),
	{ 0 },
};
#undef AT

static const struct serve_options defaults = { .life = DAEMON_DEFAULTS };

struct nvmf_front {
	struct front front;
	struct nvme_target_options target_opt;
	struct nvme_target *target;
	struct disk_identity id[NVME_TARGET_DISKS];
};

static struct nvmf_front *nvmf_front(const struct front *front)
{
	return container_of(front, struct nvmf_front, front);
}

static const struct serve_options *options(const struct front *front)
{
	return front->daemon->call->opts;
}

static bool wanted(const void *opts)
{
	const struct serve_options *serve = opts;

	return serve->nvmf;
}

static bool same_address(const struct addr *a, const struct addr *b)
{
	return a->len == b->len && !memcmp(&a->ss, &b->ss, a->len);
}

/* The same address for RDMA and TCP is one listener. ways 0: RDMA, as the address says. */
static int add_listen(
	struct nvme_target_options *opt, const char *given, unsigned ways, struct diag *diag)
{
	char text[ADDR_TEXT + 64];
	struct addr_rdma how = { 0 };
	struct addr at = { 0 };
	int err = 0;

	if (snprintf(text, sizeof(text), "%s", given) >= (int)sizeof(text))
		return diag_set(diag, DIAG_USAGE, EINVAL, "address '%.40s...' is too long", given);
	if (!strncmp(text, "unix:", 5))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"NVMe-oF can't be served on a unix socket: expected [HOST]:PORT");
	if (!(ways & NVME_TARGET_TCP)) {
		err = addr_rdma(&how, text, diag);
		ways = (how.verbs ? NVME_TARGET_RDMA_VERBS : 0u) |
		       (how.iwarp ? NVME_TARGET_RDMA_IWARP : 0u);
	}
	if (!err)
		err = addr_parse(&at, text, NVME_PORT, diag);
	if (err)
		return err;
	for (unsigned i = 0; i < opt->listens; i++)
		if (same_address(&opt->listen[i].at, &at)) {
			opt->listen[i].ways |= ways;
			opt->listen[i].no_crc |= how.no_crc;
			return 0;
		}
	if (opt->listens == NVME_TARGET_LISTENS)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"too many listen addresses: must be 1 to %d", NVME_TARGET_LISTENS);
	opt->listen[opt->listens++] = (struct nvme_target_listen){ at, ways, how.no_crc };
	return 0;
}

static int read_addresses(
	struct nvme_target_options *opt, const struct serve_options *opts, struct diag *diag)
{
	int err = 0;

	for (unsigned i = 0; !err && i < opts->rdma.count; i++)
		if ((err = add_listen(opt, opts->rdma.item[i], 0, diag)))
			diag_ctx(diag, "--rdma %s", opts->rdma.item[i]);
	for (unsigned i = 0; !err && i < opts->tcp.count; i++)
		if ((err = add_listen(opt, opts->tcp.item[i], NVME_TARGET_TCP, diag)))
			diag_ctx(diag, "--tcp %s", opts->tcp.item[i]);
	return err;
}

static int check_nqn(const char *name, const char *nqn, struct diag *diag)
{
	if (!strncmp(nqn, "nqn.", 4) && strlen(nqn) <= 223 && !strpbrk(nqn, " \t\n"))
		return 0;
	return diag_set(diag, DIAG_USAGE, EINVAL,
		"--%s: invalid NQN '%s': expected nqn.*, up to 223 bytes, no blanks", name, nqn);
}

static int read_options(struct front *front)
{
	struct nvme_target_options *opt = &nvmf_front(front)->target_opt;
	const struct serve_options *opts = options(front);
	const struct call *call = front->daemon->call;
	int err = 0;

	if (call->operands > NVME_TARGET_DISKS)
		return diag_set(call->diag, DIAG_USAGE, E2BIG, "too many disks: must be 1 to %d",
			NVME_TARGET_DISKS);
	if (opts->nqn.count > call->operands)
		return diag_set(call->diag, DIAG_USAGE, EINVAL, "--nqn %s: more NQNs than disks",
			opts->nqn.item[call->operands]);
	for (unsigned i = 0; !err && i < opts->nqn.count; i++)
		err = check_nqn("nqn", opts->nqn.item[i], call->diag);
	for (unsigned i = 0; !err && i < opts->allow_host.count; i++) {
		err = check_nqn("allow-host", opts->allow_host.item[i], call->diag);
		opt->host[opt->hosts++] = opts->allow_host.item[i];
	}
	return err ? err : read_addresses(opt, opts, call->diag);
}

static void disk_changed(struct front *front, struct bdev *bdev)
{
	struct nvme_target *target = nvmf_front(front)->target;

	if (bdev->state == BDEV_UP && target)
		nvme_target_resized(target, bdev);
}

/* What a disk is by itself: a file or device under its real path, a remote one by what its target
 * says. */
static int identify(const struct call *call, const char *operand, const struct bdev *bdev,
	struct disk_identity *who)
{
	char path[URI_MAX], real[PATH_MAX], own[DISK_KEY] = "";
	bool file = disk_path(operand, path, sizeof(path)) && realpath(path, real);
	int err, root = kernel_root();

	if (root < 0)
		return diag_sys(call->diag, errno, "open /");
	if (!file)
		disk_key(operand, bdev, own);
	err = kernel_disk_identity(root, file ? real : NULL, own, who, call->diag);
	close(root);
	if (!err && file && who->lasts != DISK_IDENTITY_ALWAYS)
		call_note(call,
			"%s: no DMI UUID or machine-id: the disk's identity changes at the next %s",
			bdev->uri, who->lasts == DISK_IDENTITY_BOOT ? "reboot" : "start");
	if (!err && call->loop.verbose)
		call_note(call, "%s: serial number %s (%s)", bdev->uri, who->serial, who->from);
	return err;
}

/* Hosts take two namespaces of one identity for one, and of two identities for two disks, whose
 * blocks they cache each for itself. */
static int refuse_twice(const struct nvmf_front *f, unsigned i)
{
	const struct daemon *d = f->front.daemon;

	for (unsigned other = 0; other < i; other++) {
		if (memcmp(f->id[other].nguid, f->id[i].nguid, sizeof(f->id[i].nguid)))
			continue;
		diag_set(d->call->diag, DIAG_USAGE, EEXIST,
			"is the same disk as '%.300s': a disk can be only one namespace",
			d->disk[other]->uri);
		diag_ctx(d->call->diag, "%s", d->disk[i]->uri);
		return diag_hint(d->call->diag,
			"give it once: several hosts can connect to it, at several addresses");
	}
	return 0;
}

static int add_disk(struct nvmf_front *f, unsigned i)
{
	const struct daemon *d = f->front.daemon;
	const struct opt_list *nqns = &options(&f->front)->nqn;
	struct nvme_target_disk *disk = &f->target_opt.disk[i];
	struct disk_identity *id = &f->id[i];
	int err = identify(d->call, d->call->operand[i], d->disk[i], id);

	if (!err)
		err = refuse_twice(f, i);
	if (err)
		return err;
	disk->bdev = d->disk[i];
	disk->nqn = i < nqns->count ? nqns->item[i] : id->nqn;
	disk->ro = d->opts->ro;
	memcpy(disk->uuid, id->uuid, sizeof(disk->uuid));
	memcpy(disk->nguid, id->nguid, sizeof(disk->nguid));
	memcpy(disk->serial, id->serial, sizeof(disk->serial));
	f->target_opt.disks++;
	return 0;
}

static void full(const struct diag *why, void *user)
{
	const struct nvmf_front *f = user;

	call_note(f->front.daemon->call, "%s%s%s", why->text, why->hint[0] ? ": " : "", why->hint);
}

static int listen_all(struct nvmf_front *f)
{
	const struct daemon *d = f->front.daemon;
	struct patience patience;
	struct diag rdma = { 0 };
	bool verbs_only = true;
	uint32_t ms;
	int root, err = daemon_time_left(d, &ms);

	if (err)
		return err;
	for (unsigned i = 0; i < f->target_opt.listens; i++)
		verbs_only &= f->target_opt.listen[i].ways == NVME_TARGET_RDMA_VERBS;
	root = options(&f->front)->rdma.count ? kernel_root() : -1;
	if (root >= 0) { /* modules for verbs are loaded where they can be */
		kernel_rdma_ready(root, &rdma);
		close(root);
	}
	f->target_opt.full = full;
	f->target_opt.user = f;
	patience_begin(&patience, d->call, d->loop);
	err = nvme_target_start(&f->target, d->loop, &f->target_opt, ms, d->call->diag);
	patience_end(&patience, d->loop);
	if (!err || !verbs_only)
		return err;
	err = disk_blame_rdma(d->call->diag, &rdma);
	d->call->diag->hint[0] = 0;
	diag_hint(d->call->diag,
		"without an RDMA device: --rdma 'HOST:PORT?rdma=iwarp', or --tcp HOST:PORT");
	return err;
}

static int start(struct front *front)
{
	struct nvmf_front *f = nvmf_front(front);
	int err = 0;

	f->target_opt.loops = front->daemon->loops;
	f->target_opt.nloops = front->daemon->nloops;
	for (unsigned i = 0; !err && i < front->daemon->disks; i++)
		err = add_disk(f, i);
	if (!err)
		err = listen_all(f);
	for (unsigned i = 0; !err && i < f->target_opt.listens && !f->target_opt.hosts; i++)
		daemon_warn_open(front->daemon->call, &f->target_opt.listen[i].at, "--allow-host");
	return err;
}

static void show(const struct front *front, struct out *out)
{
	const struct nvmf_front *f = nvmf_front(front);

	serve_show(out, f->target, &f->target_opt);
}

static void status(const struct front *front, struct out *out)
{
	const struct nvmf_front *f = nvmf_front(front);

	serve_status(out, f->target, &f->target_opt);
}

/* No news of a disk reaches a target that ends. */
static int stop(struct front *front, uint32_t timeout_ms, struct diag *diag)
{
	struct nvmf_front *f = nvmf_front(front);
	struct nvme_target *target = f->target;

	f->target = NULL;
	return nvme_target_stop(target, timeout_ms, diag);
}

static const struct front_kind nvmf = {
	.serving = "serving NVMe-oF hosts",
	.size = sizeof(struct nvmf_front),
	.wanted = wanted,
	.read = read_options,
	.start = start,
	.show = show,
	.status = status,
	.changed = disk_changed,
	.stop = stop,
};

static const struct front_kind *const fronts[] = {
	&nvmf,
	NULL,
};

#define LISTEN_ADVICE "use --tcp HOST:PORT or --rdma HOST:PORT"
static const struct opt_foreign foreign[] = {
	{ "nvme-cli", "-a", LISTEN_ADVICE },
	{ "nvme-cli", "--traddr", LISTEN_ADVICE },
	{ "nvme-cli", "-s", LISTEN_ADVICE },
	{ "nvme-cli", "--trsvcid", LISTEN_ADVICE },
	{ "nvme-cli", "-t", LISTEN_ADVICE },
	{ "nvme-cli", "--transport", LISTEN_ADVICE },
	{ "nvme-cli", "-n", "use --nqn NQN" },
	{ "nvme-cli", "--subsysnqn", "use --nqn NQN" },
	{ "nvme-cli", "--hostnqn", "use --allow-host NQN" },
	{ "SPDK", "--allow-any-host", "omit it: any host may connect without --allow-host" },
	{ "SPDK", "--serial-number", "omit it: the serial number is derived from the disk" },
	{ "qemu-nbd", "-r", "use --ro" },
	{ "qemu-nbd", "--read-only", "use --ro" },
	{ "qemu-nbd", "--fork", "use --daemon" },
	{ 0 },
};

static int serve_main(struct call *call)
{
	const struct serve_options *opts = call->opts;

	if (!opts->nvmf)
		return diag_set(
			call->diag, DIAG_USAGE, EINVAL, "no protocol given: expected --nvmf");
	if (!opts->rdma.count && !opts->tcp.count)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"no listen address given: expected --rdma ADDRESS or --tcp ADDRESS");
	loop_fds_raise();
	return daemon_run(call, &opts->life, fronts);
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
