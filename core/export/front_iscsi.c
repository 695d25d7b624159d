/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The disks as logical units of iSCSI targets, over TCP and iSER. Serving is core/proto/iscsi's. */
#include "disk_open.h"
#include "front.h"
#include "fronts.h"
#include "iscsi_target.h"
#include "kernel_rdma.h"
#include "names.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define IQN "iqn.2026-01.org.rdmastor:"

struct iscsi_front {
	struct front front;
	struct iscsi_target_options opt;
	struct iscsi_target *target;
	struct disk_identity id[ISCSI_TARGET_DISKS];
	char name[ISCSI_TARGET_DISKS][sizeof(IQN) + 40];
};

static struct iscsi_front *front_of(const struct front *front)
{
	return container_of((struct front *)(uintptr_t)front, struct iscsi_front, front);
}

static int check_name(const char *option, const char *name, struct diag *diag)
{
	if (iscsi_name_valid(name))
		return 0;
	return diag_set(diag, DIAG_USAGE, EINVAL,
		"--%s: invalid iSCSI name '%s': expected iqn.*, eui.* or naa.*, up to 223 bytes",
		option, name);
}

static int read_options(struct front *front)
{
	struct iscsi_target_options *opt = &front_of(front)->opt;
	const struct serve_want *want = front->want;
	const struct call *call = front->daemon->call;
	int err = 0;

	if (call->operands > ISCSI_TARGET_DISKS)
		return diag_set(call->diag, DIAG_USAGE, E2BIG, "too many disks: must be 1 to %d",
			ISCSI_TARGET_DISKS);
	if (want->iqn.count > call->operands)
		return diag_set(call->diag, DIAG_USAGE, EINVAL, "--iqn %s: more names than disks",
			want->iqn.item[call->operands]);
	for (unsigned i = 0; !err && i < want->iqn.count; i++)
		err = check_name("iqn", want->iqn.item[i], call->diag);
	for (unsigned i = 0; !err && i < want->allow_initiator.count; i++) {
		err = check_name("allow-initiator", want->allow_initiator.item[i], call->diag);
		opt->initiator[opt->initiators++] = want->allow_initiator.item[i];
	}
	for (unsigned i = 0; !err && i < want->rdma.count; i++)
		if ((err = front_listen_add(opt->listen, &opt->listens, "iSER", ISCSI_PORT,
			     want->rdma.item[i], 0, call->diag)))
			diag_ctx(call->diag, "--rdma %s", want->rdma.item[i]);
	for (unsigned i = 0; !err && i < want->tcp.count; i++)
		if ((err = front_listen_add(opt->listen, &opt->listens, "iSCSI", ISCSI_PORT,
			     want->tcp.item[i], WAY_TCP, call->diag)))
			diag_ctx(call->diag, "--tcp %s", want->tcp.item[i]);
	opt->auth = (struct iscsi_auth){ .user = want->user[0],
		.secret = want->secret[0],
		.target_user = want->user[1],
		.target_secret = want->secret[1] };
	return err;
}

static void disk_changed(struct front *front, struct bdev *bdev)
{
	struct iscsi_target *target = front_of(front)->target;

	if (bdev->state == BDEV_UP && target)
		iscsi_target_resized(target, bdev);
}

/* Without --iqn each disk is a target of its own, whose name stays the same: made of its identity.
 */
static int add_disk(struct iscsi_front *f, unsigned i)
{
	const struct daemon *d = f->front.daemon;
	const struct opt_list *names = &((const struct serve_want *)f->front.want)->iqn;
	struct iscsi_target_disk *disk = &f->opt.disk[i];
	struct disk_identity *id = &f->id[i];
	int err = disk_identify(d->call, d->call->operand[i], d->disk[i], id);
	char uuid[UUID_TEXT];

	if (err)
		return err;
	snprintf(f->name[i], sizeof(f->name[i]), IQN "%s", uuid_text(uuid, id->uuid));
	disk->bdev = d->disk[i];
	disk->name = i < names->count ? names->item[i] : f->name[i];
	disk->ro = d->opts->ro;
	memcpy(disk->uuid, id->uuid, sizeof(disk->uuid));
	memcpy(disk->nguid, id->nguid, sizeof(disk->nguid));
	memcpy(disk->serial, id->serial, sizeof(disk->serial));
	f->opt.disks++;
	return 0;
}

static int start(struct front *front)
{
	struct iscsi_front *f = front_of(front);
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
	if (((const struct serve_want *)front->want)->rdma.count)
		kernel_rdma_ready(d->root, &rdma); /* loads modules for verbs where it can */
	daemon_wait_begin(&wait, d->call, d->loop);
	err = iscsi_target_start(&f->target, d->loop, &f->opt, ms, d->call->diag);
	daemon_wait_end(&wait, d->loop);
	if (err)
		return front_blame_rdma(err, f->opt.listen, f->opt.listens, &rdma, d->call->diag);
	for (unsigned i = 0; i < f->opt.listens && !f->opt.initiators && !f->opt.auth.user; i++)
		daemon_warn_open(d, &f->opt.listen[i].at, "--allow-initiator");
	return 0;
}

static unsigned lun_of(const struct iscsi_target_options *opt, unsigned disk)
{
	unsigned lun = 0;

	for (unsigned i = 0; i < disk; i++)
		lun += !strcmp(opt->disk[i].name, opt->disk[disk].name);
	return lun;
}

static void show_disks(struct out *out, const struct iscsi_front *f)
{
	out_list(out, "disks");
	for (unsigned i = 0; i < f->opt.disks; i++) {
		out_object(out, NULL);
		out_text(out, "target", NULL, "%s", f->opt.disk[i].name);
		out_u64(out, "lun", NULL, lun_of(&f->opt, i));
		daemon_show_disk(out, f->front.daemon, i);
		out_text(out, "serial", NULL, "%s", f->opt.disk[i].serial);
		out_end(out);
	}
	out_end(out);
}

#define RDMA (WAY_VERBS | WAY_IWARP)
/* a comment that a shell ignores */
#define IWARP_ONLY " # the initiator needs an iWARP device, such as siw"

/* ways: TCP, or those of RDMA. */
static void show_way(struct out *out, const struct addr *bound, const char *name, unsigned ways)
{
	bool rdma = ways & RDMA;
	const char *scheme = rdma ? "iser" : "iscsi", *only = ways == WAY_IWARP ? IWARP_ONLY : "";
	char host[ADDR_TEXT], portal[ADDR_TEXT + 16];

	front_host_text(bound, host);
	snprintf(portal, sizeof(portal), strchr(host, ':') ? "[%s]:%u" : "%s:%u", host,
		addr_port(bound));
	out_object(out, NULL);
	out_text(out, "transport", NULL, "%s", rdma ? "rdma" : "tcp");
	out_text(out, "traddr", NULL, "%s", host);
	out_text(out, "trsvcid", NULL, "%u", addr_port(bound));
	if (rdma)
		out_bool(out, "iwarp", NULL, !(ways & WAY_VERBS));
	out_text(out, "target", NULL, "%s", name);
	out_text(out, "rdmastor", "rdmastor:   ", "%s://%s/%s/0", scheme, portal, name);
	out_text(out, "iscsiadm", "iscsiadm:   ",
		"iscsiadm -m discovery -t st -p %s%s && iscsiadm -m node -T %s -p %s%s -l%s",
		portal, rdma ? " -I iser" : "", name, portal, rdma ? " -I iser" : "", only);
	out_text(out, "iscsistart", "iscsistart: ",
		"iscsistart -i iqn.2026-01.org.example:host -t %s -a %s -p %u -g %u%s%s", name,
		host, addr_port(bound), ISCSI_TARGET_PORTAL_TAG,
		rdma ? " -P iface.transport_name=iser" : "", only);
	if (ways != WAY_IWARP)
		out_text(out, "libiscsi", "libiscsi:   ", "%s://%s/%s/0", scheme, portal, name);
	out_end(out);
}

static void show(const struct front *front, struct out *out)
{
	const struct iscsi_front *f = front_of(front);
	const struct iscsi_target_options *opt = &f->opt;
	char size[48];

	out_object(out, "iscsi");
	show_disks(out, f);
	for (unsigned i = 0; i < opt->disks; i++)
		out_line(out, "%s: LUN %u of %s, %s", opt->disk[i].bdev->uri, lun_of(opt, i),
			opt->disk[i].name, daemon_size_text(opt->disk[i].bdev->lim.size, size));
	out_list(out, "connect");
	for (unsigned i = 0; i < opt->listens; i++) {
		struct addr bound;
		unsigned ways = iscsi_target_ways(f->target, i, &bound);

		for (unsigned disk = 0; disk < opt->disks; disk++) {
			if (ways & RDMA && !lun_of(opt, disk))
				show_way(out, &bound, opt->disk[disk].name, ways & RDMA);
			if (ways & WAY_TCP && !lun_of(opt, disk))
				show_way(out, &bound, opt->disk[disk].name, WAY_TCP);
		}
	}
	out_end(out);
	out_end(out);
}

static void status(const struct front *front, struct out *out)
{
	const struct iscsi_front *f = front_of(front);
	struct iscsi_target_status now;

	iscsi_target_get_status(f->target, &now);
	out_text(out, "protocol", NULL, "iscsi");
	out_u64(out, "clients", "sessions: ", now.sessions);
	out_u64(out, "refused", "refused:  ", now.refused);
	daemon_show_count(out, &now.count);
	show_disks(out, f);
	out_list(out, "listeners");
	for (unsigned i = 0; i < f->opt.listens; i++) {
		struct addr bound;
		unsigned ways = iscsi_target_ways(f->target, i, &bound);

		if (ways & RDMA) {
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

/* A target that ends gets no news of a disk. */
static int stop(struct front *front, uint32_t timeout_ms, struct diag *diag)
{
	struct iscsi_front *f = front_of(front);
	struct iscsi_target *target = f->target;

	f->target = NULL;
	return iscsi_target_stop(target, timeout_ms, diag);
}

const struct front_kind front_iscsi = {
	.serving = "serving iSCSI initiators",
	.size = sizeof(struct iscsi_front),
	.read = read_options,
	.start = start,
	.show = show,
	.status = status,
	.changed = disk_changed,
	.stop = stop,
};
