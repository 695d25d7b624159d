/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The disks as logical units of one SRP target, by RDMA/CM. Serving is core/proto/srp's. */
#include "disk_open.h"
#include "front.h"
#include "fronts.h"
#include "kernel_rdma.h"
#include "names.h"
#include "srp_target.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct srp_front {
	struct front front;
	struct srp_target_options opt;
	struct srp_target *target;
	char guid[17];
};

static struct srp_front *front_of(const struct front *front)
{
	return container_of((struct front *)(uintptr_t)front, struct srp_front, front);
}

/* An initiator port as the kernel shows it: 32 hexadecimal digits, perhaps behind 0x. */
static int add_initiator(struct srp_target_options *opt, const char *text, struct diag *diag)
{
	const char *digits = strncmp(text, "0x", 2) ? text : text + 2;

	if (strlen(digits) != 32 || strspn(digits, "0123456789abcdefABCDEF") != 32 ||
		!gid_parse(opt->initiator[opt->initiators], digits))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"--allow-initiator: invalid SRP initiator port '%s': expected 32 "
			"hexadecimal digits",
			text);
	opt->initiators++;
	return 0;
}

static int read_options(struct front *front)
{
	struct srp_target_options *opt = &front_of(front)->opt;
	const struct serve_want *want = front->want;
	const struct call *call = front->daemon->call;
	int err = 0;

	if (call->operands > SRP_TARGET_DISKS)
		return diag_set(call->diag, DIAG_USAGE, E2BIG, "too many disks: must be 1 to %d",
			SRP_TARGET_DISKS);
	for (unsigned i = 0; !err && i < want->allow_initiator.count; i++)
		err = add_initiator(opt, want->allow_initiator.item[i], call->diag);
	for (unsigned i = 0; !err && i < want->rdma.count; i++)
		if ((err = front_listen_add(opt->listen, &opt->listens, "SRP", 0,
			     want->rdma.item[i], 0, call->diag)))
			diag_ctx(call->diag, "--rdma %s", want->rdma.item[i]);
	return err;
}

static void disk_changed(struct front *front, struct bdev *bdev)
{
	struct srp_target *target = front_of(front)->target;

	if (bdev->state == BDEV_UP && target)
		srp_target_resized(target, bdev);
}

/* The target's identifier is made of its first disk's identity, so that it stays the same. */
static int add_disk(struct srp_front *f, unsigned i)
{
	const struct daemon *d = f->front.daemon;
	struct srp_target_disk *disk = &f->opt.disk[i];
	struct disk_identity id;
	int err = disk_identify(d->call, d->call->operand[i], d->disk[i], &id);

	if (err)
		return err;
	disk->bdev = d->disk[i];
	disk->ro = d->opts->ro;
	memcpy(disk->uuid, id.uuid, sizeof(disk->uuid));
	memcpy(disk->nguid, id.nguid, sizeof(disk->nguid));
	memcpy(disk->serial, id.serial, sizeof(disk->serial));
	if (!i)
		memcpy(f->opt.guid, id.uuid, sizeof(f->opt.guid));
	hex_text(f->guid, f->opt.guid, sizeof(f->opt.guid));
	f->opt.disks++;
	return 0;
}

static int start(struct front *front)
{
	struct srp_front *f = front_of(front);
	const struct daemon *d = front->daemon;
	struct daemon_wait wait;
	struct diag rdma = { 0 };
	uint32_t ms;
	int err = daemon_time_left(d, &ms);

	f->opt.loops = d->loops;
	f->opt.nloops = d->nloops;
	f->opt.full = daemon_full;
	f->opt.user = front;
	for (unsigned i = 0; !err && i < d->disks; i++)
		err = add_disk(f, i);
	if (err)
		return err;
	kernel_rdma_ready(d->root, &rdma); /* loads modules for verbs where it can */
	daemon_wait_begin(&wait, d->call, d->loop);
	err = srp_target_start(&f->target, d->loop, &f->opt, ms, d->call->diag);
	daemon_wait_end(&wait, d->loop);
	if (err)
		return disk_blame_rdma(d->call->diag, &rdma);
	for (unsigned i = 0; i < f->opt.listens && !f->opt.initiators; i++)
		daemon_warn_open(d, &f->opt.listen[i].at, "--allow-initiator");
	return 0;
}

static void show_disks(struct out *out, const struct srp_front *f)
{
	out_list(out, "disks");
	for (unsigned i = 0; i < f->opt.disks; i++) {
		out_object(out, NULL);
		out_text(out, "target", NULL, "%s", f->guid);
		out_u64(out, "lun", NULL, i);
		daemon_show_disk(out, f->front.daemon, i);
		out_text(out, "serial", NULL, "%s", f->opt.disk[i].serial);
		out_end(out);
	}
	out_end(out);
}

/* Software iWARP is for rdmastor alone: ib_srp needs a device. */
static void show_way(struct out *out, const struct srp_front *f, unsigned i)
{
	char host[ADDR_TEXT], portal[ADDR_TEXT + 16];
	struct addr bound;
	unsigned ways = srp_target_ways(f->target, i, &bound);
	const char *keys = ways & WAY_VERBS ? "" : "?rdma=iwarp";

	if (!(ways & (WAY_VERBS | WAY_IWARP)))
		return;
	front_host_text(&bound, host);
	snprintf(portal, sizeof(portal), strchr(host, ':') ? "[%s]:%u" : "%s:%u", host,
		addr_port(&bound));
	out_object(out, NULL);
	out_text(out, "transport", NULL, "rdma");
	out_text(out, "traddr", NULL, "%s", host);
	out_text(out, "trsvcid", NULL, "%u", addr_port(&bound));
	out_bool(out, "iwarp", NULL, !(ways & WAY_VERBS));
	out_text(out, "target", NULL, "%s", f->guid);
	out_text(out, "rdmastor", "rdmastor:   ", "srp+cm://%s/%s/%s/0%s", portal, f->guid, f->guid,
		keys);
	if (ways & WAY_VERBS)
		out_text(out, "add_target", "add_target: ", "id_ext=%s,ioc_guid=%s,dest=%s",
			f->guid, f->guid, portal);
	out_end(out);
}

static void show(const struct front *front, struct out *out)
{
	const struct srp_front *f = front_of(front);
	char size[48];

	out_object(out, "srp");
	show_disks(out, f);
	for (unsigned i = 0; i < f->opt.disks; i++)
		out_line(out, "%s: LUN %u of SRP target %s, %s", f->opt.disk[i].bdev->uri, i,
			f->guid, daemon_size_text(f->opt.disk[i].bdev->lim.size, size));
	out_list(out, "connect");
	for (unsigned i = 0; i < f->opt.listens; i++)
		show_way(out, f, i);
	out_end(out);
	out_end(out);
}

static void status(const struct front *front, struct out *out)
{
	const struct srp_front *f = front_of(front);
	struct srp_target_status now;

	srp_target_get_status(f->target, &now);
	out_text(out, "protocol", NULL, "srp");
	out_u64(out, "clients", "initiators: ", now.initiators);
	out_u64(out, "queues", "channels:   ", now.channels);
	out_u64(out, "refused", "refused:    ", now.refused);
	daemon_show_count(out, &now.count);
	show_disks(out, f);
	out_list(out, "listeners");
	for (unsigned i = 0; i < f->opt.listens; i++) {
		struct addr bound;
		unsigned ways = srp_target_ways(f->target, i, &bound);

		if (!(ways & (WAY_VERBS | WAY_IWARP)))
			continue;
		out_object(out, NULL);
		addr_show(out, "rdma", &bound);
		out_bool(out, "iwarp", NULL, !(ways & WAY_VERBS));
		out_end(out);
	}
	out_end(out);
}

/* A target that ends gets no news of a disk. */
static int stop(struct front *front, uint32_t timeout_ms, struct diag *diag)
{
	struct srp_front *f = front_of(front);
	struct srp_target *target = f->target;

	f->target = NULL;
	return srp_target_stop(target, timeout_ms, diag);
}

const struct front_kind front_srp = {
	.serving = "serving SRP initiators",
	.size = sizeof(struct srp_front),
	.read = read_options,
	.start = start,
	.show = show,
	.status = status,
	.changed = disk_changed,
	.stop = stop,
};
