/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Export disks as namespaces of an NVMe-oF target over RDMA and TCP. core/proto/nvme serves
 * them. */
#include "disk_open.h"
#include "front.h"
#include "fronts.h"
#include "kernel_rdma.h"
#include "names.h"
#include "nvmf_target.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct nvme_front {
	struct front front;
	struct nvme_target_options opt;
	struct nvme_target *target;
	struct disk_identity id[NVME_TARGET_DISKS];
};

static int add_listen(
	struct nvme_target_options *opt, const char *given, unsigned ways, struct diag *diag)
{
	return front_listen_add(
		opt->listen, &opt->listens, "NVMe-oF", NVME_PORT, given, ways, diag);
}

static int check_nqn(const char *name, const char *nqn, struct diag *diag)
{
	if (nqn_valid(nqn))
		return 0;
	return diag_set(diag, DIAG_USAGE, EINVAL,
		"--%s: invalid NQN '%s': expected nqn.*, up to 223 bytes, no blanks", name, nqn);
}

static int read_options(struct front *front)
{
	struct nvme_target_options *opt = &container_of(front, struct nvme_front, front)->opt;
	const struct serve_want *want = front->want;
	const struct call *call = front->daemon->call;
	int err = 0;

	if (call->operands > NVME_TARGET_DISKS)
		return diag_set(call->diag, DIAG_USAGE, E2BIG, "too many disks: must be 1 to %d",
			NVME_TARGET_DISKS);
	if (want->nqn.count > call->operands)
		return diag_set(call->diag, DIAG_USAGE, EINVAL, "--nqn %s: more NQNs than disks",
			want->nqn.item[call->operands]);
	for (unsigned i = 0; !err && i < want->nqn.count; i++)
		err = check_nqn("nqn", want->nqn.item[i], call->diag);
	for (unsigned i = 0; !err && i < want->allow_host.count; i++) {
		err = check_nqn("allow-host", want->allow_host.item[i], call->diag);
		opt->host[opt->hosts++] = want->allow_host.item[i];
	}
	for (unsigned i = 0; !err && i < want->rdma.count; i++)
		if ((err = add_listen(opt, want->rdma.item[i], 0, call->diag)))
			diag_ctx(call->diag, "--rdma %s", want->rdma.item[i]);
	for (unsigned i = 0; !err && i < want->tcp.count; i++)
		if ((err = add_listen(opt, want->tcp.item[i], WAY_TCP, call->diag)))
			diag_ctx(call->diag, "--tcp %s", want->tcp.item[i]);
	return err;
}

static void disk_changed(struct front *front, struct bdev *bdev)
{
	struct nvme_target *target = container_of(front, struct nvme_front, front)->target;

	if (bdev->state == BDEV_UP && target)
		nvme_target_resized(target, bdev);
}

/* Hosts take two namespaces with one identity for one disk, and two identities for two disks, each
 * with its own page cache. */
static int refuse_twice(const struct nvme_front *f, unsigned i)
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

static int add_disk(struct nvme_front *f, unsigned i)
{
	const struct daemon *d = f->front.daemon;
	const struct opt_list *nqns = &((const struct serve_want *)f->front.want)->nqn;
	struct nvme_target_disk *disk = &f->opt.disk[i];
	struct disk_identity *id = &f->id[i];
	int err = disk_identify(d->call, d->call->operand[i], d->disk[i], id);

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
	f->opt.disks++;
	return 0;
}

static int listen_all(struct nvme_front *f)
{
	const struct daemon *d = f->front.daemon;
	struct daemon_wait wait;
	struct diag rdma = { 0 };
	uint32_t ms;
	int err = daemon_time_left(d, &ms);

	if (err)
		return err;
	if (((const struct serve_want *)f->front.want)->rdma.count)
		kernel_rdma_ready(d->root, &rdma); /* loads the modules for verbs if possible */
	daemon_wait_begin(&wait, d->call, d->loop);
	err = nvme_target_start(&f->target, d->loop, &f->opt, ms, d->call->diag);
	daemon_wait_end(&wait, d->loop);
	return err ? front_blame_rdma(err, f->opt.listen, f->opt.listens, &rdma, d->call->diag) : 0;
}

static int start(struct front *front)
{
	struct nvme_front *f = container_of(front, struct nvme_front, front);
	const struct daemon *d = front->daemon;
	int err = 0;

	f->opt.loops = d->loops;
	f->opt.nloops = d->nloops;
	f->opt.full = daemon_full;
	f->opt.user = front;
	for (unsigned i = 0; !err && i < d->disks; i++)
		err = add_disk(f, i);
	if (!err)
		err = listen_all(f);
	for (unsigned i = 0; !err && i < f->opt.listens && !f->opt.hosts; i++)
		daemon_warn_open(d, &f->opt.listen[i].at, "--allow-host");
	return err;
}

/* What only hosts with an iWARP device can run is marked as such, by a comment that a shell
 * ignores. */
#define IWARP_ONLY " # the host needs an iWARP device, such as siw"

static void show_way(struct out *out, const struct addr *bound, const char *nqn, bool rdma,
	const char *keys, bool iwarp)
{
	char host[ADDR_TEXT];
	const char *trtype = rdma ? "rdma" : "tcp", *upper = rdma ? "RDMA" : "TCP";
	bool v6;

	front_host_text(bound, host);
	v6 = strchr(host, ':');
	out_object(out, NULL);
	out_text(out, "transport", NULL, "%s", trtype);
	out_text(out, "traddr", NULL, "%s", host);
	out_text(out, "trsvcid", NULL, "%u", addr_port(bound));
	if (rdma)
		out_bool(out, "iwarp", NULL, iwarp);
	out_text(out, "subnqn", NULL, "%s", nqn);
	out_text(out, "rdmastor", "rdmastor: ", "nvme+%s://%s%s%s:%u/%s%s", trtype, v6 ? "[" : "",
		host, v6 ? "]" : "", addr_port(bound), nqn, keys);
	out_text(out, "nvme_cli", NULL, "nvme connect -t %s -a %s -s %u -n %s", trtype, host,
		addr_port(bound), nqn);
	out_line(out, "nvme-cli: nvme connect -t %s -a %s -s %u -n %s%s", trtype, host,
		addr_port(bound), nqn, iwarp ? IWARP_ONLY : "");
	out_text(out, "spdk", "SPDK:     ", "trtype:%s adrfam:%s traddr:%s trsvcid:%u subnqn:%s",
		upper, v6 ? "IPv6" : "IPv4", host, addr_port(bound), nqn);
	out_end(out);
}

static unsigned nsid_of(const struct nvme_target_options *opt, unsigned disk)
{
	unsigned nsid = 1;

	for (unsigned i = 0; i < disk; i++)
		nsid += !strcmp(opt->disk[i].nqn, opt->disk[disk].nqn);
	return nsid;
}

static void show_disks(struct out *out, const struct nvme_front *f)
{
	out_list(out, "disks");
	for (unsigned i = 0; i < f->opt.disks; i++) {
		out_object(out, NULL);
		out_text(out, "subnqn", NULL, "%s", f->opt.disk[i].nqn);
		out_u64(out, "nsid", NULL, nsid_of(&f->opt, i));
		daemon_show_disk(out, f->front.daemon, i);
		out_text(out, "serial", NULL, "%s", f->opt.disk[i].serial);
		out_end(out);
	}
	out_end(out);
}

/* Print the connect command for every subsystem and each transport that is up. */
static void show(const struct front *front, struct out *out)
{
	const struct nvme_front *f = container_of(front, struct nvme_front, front);
	const struct nvme_target_options *opt = &f->opt;
	char size[48];

	show_disks(out, f);
	for (unsigned i = 0; i < opt->disks; i++)
		out_line(out, "%s: namespace %u of %s, %s", opt->disk[i].bdev->uri, nsid_of(opt, i),
			opt->disk[i].nqn, daemon_size_text(opt->disk[i].bdev->lim.size, size));
	out_list(out, "connect");
	for (unsigned i = 0; i < opt->listens; i++) {
		bool no_crc = opt->listen[i].no_crc;
		struct addr bound;
		unsigned ways = nvme_target_ways(f->target, i, &bound);
		const char *keys = ways & WAY_VERBS ? no_crc ? "?crc=0" : ""
				   : no_crc         ? "?rdma=iwarp&crc=0"
						    : "?rdma=iwarp";

		for (unsigned disk = 0; disk < opt->disks; disk++) {
			const char *nqn = opt->disk[disk].nqn;

			if (nsid_of(opt, disk) > 1)
				continue;
			if (ways & (WAY_VERBS | WAY_IWARP))
				show_way(out, &bound, nqn, true, keys, !(ways & WAY_VERBS));
			if (ways & WAY_TCP)
				show_way(out, &bound, nqn, false, "", false);
		}
	}
	out_end(out);
}

static void status(const struct front *front, struct out *out)
{
	const struct nvme_front *f = container_of(front, struct nvme_front, front);
	struct nvme_target_status now;

	nvme_target_get_status(f->target, &now);
	out_text(out, "protocol", NULL, "nvme");
	out_u64(out, "clients", "hosts:   ", now.hosts);
	out_u64(out, "queues", "queues:  ", now.queues);
	out_u64(out, "refused", "refused: ", now.turned_away);
	daemon_show_count(out, &now.count);
	show_disks(out, f);
	out_list(out, "listeners");
	for (unsigned i = 0; i < f->opt.listens; i++) {
		struct addr bound;
		unsigned ways = nvme_target_ways(f->target, i, &bound);

		if (ways & (WAY_VERBS | WAY_IWARP)) {
			out_object(out, NULL);
			addr_show(out, "rdma", &bound);
			out_bool(out, "iwarp", NULL, !(ways & WAY_VERBS));
			out_end(out);
		}
		if (ways & WAY_TCP) {
			out_object(out, NULL);
			addr_show(out, "tcp", &bound);
			out_end(out);
		}
	}
	out_end(out);
}

/* Once the target is stopping, disk changes are not passed on to it. */
static int stop(struct front *front, uint32_t timeout_ms, struct diag *diag)
{
	struct nvme_front *f = container_of(front, struct nvme_front, front);
	struct nvme_target *target = f->target;

	f->target = NULL;
	return nvme_target_stop(target, timeout_ms, diag);
}

const struct front_kind front_nvme = {
	.serving = "serving NVMe-oF hosts",
	.size = sizeof(struct nvme_front),
	.read = read_options,
	.start = start,
	.show = show,
	.status = status,
	.changed = disk_changed,
	.stop = stop,
};
