/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The disks as logical units of one SRP target, by RDMA/CM, and by service ID on InfiniBand, where
 * discovery finds it. Serving is core/proto/srp's, being found core/mad's. */
#include "disk_open.h"
#include "front.h"
#include "fronts.h"
#include "kernel_rdma.h"
#include "mad.h"
#include "names.h"
#include "srp_target.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct srp_front {
	struct front front;
	struct srp_target_options opt;
	struct srp_target *target;
	char guid[17], service[25];
	unsigned by_ip; /* the first listeners; then follow ports on InfiniBand */
	struct mad_agent *agent[FRONT_LISTENS];
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

/* "mlx5_0", "mlx5_0/1", a GID. */
static int read_port(
	const char *given, char dev[MAD_DEV_LEN], struct mad_port_choice *choice, struct diag *diag)
{
	size_t len = strcspn(given, "/");
	uint64_t number = 0;
	uint8_t gid[16];

	*choice = (struct mad_port_choice){ 0 };
	if (gid_parse(gid, given)) {
		choice->gid = given;
		return 0;
	}
	if (!len || len >= MAD_DEV_LEN ||
		(given[len] && parse_u64(given + len + 1, 1, 254, &number, NULL)))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"--ib: invalid port '%s': expected DEVICE[/NUMBER] or a GID", given);
	snprintf(dev, MAD_DEV_LEN, "%.*s", (int)len, given);
	choice->dev = dev;
	choice->port = (uint32_t)number;
	return 0;
}

static void unfound(struct mad_agent *agent, void *user)
{
	struct srp_front *f = user;

	loop_trace(f->front.daemon->loop, "device management has ended: its device is gone");
	for (unsigned i = 0; i < FRONT_LISTENS; i++)
		if (f->agent[i] == agent)
			f->agent[i] = NULL;
	mad_agent_stop(agent);
}

/* The service ID is made of the target's identifier, so that it stays the same; initiators need
 * not find it again. */
static uint64_t service_id(const struct srp_front *f)
{
	return EP_SERVICE | 0x4000 | ((f->opt.guid[6] & 0x3f) << 8 | f->opt.guid[7]);
}

static int add_port(struct srp_front *f, const char *given, struct diag *diag)
{
	const struct srp_target_options *opt = &f->opt;
	const struct mad_served served = { .guid = wire_be(opt->guid, sizeof(opt->guid)),
		.service_id = service_id(f),
		.text = "rdmastor SRP target",
		.service = f->service,
		.send_size = SRP_TARGET_IU,
		.rdma_size = 1u << 20,
		.depth = SRP_TARGET_DEPTH,
		.reads = 16 };
	unsigned i = opt->listens;
	struct mad_port_choice choice;
	struct mad_port_info port;
	char dev[MAD_DEV_LEN];
	uint8_t gid[16];
	int err = read_port(given, dev, &choice, diag);

	if (!err)
		err = mad_port_choose(&port, &choice, diag);
	if (err && diag->code == DIAG_UNSUPPORTED) /* instead of that of a discovery */
		diag_hint(diag, "on RoCE and iWARP listen by IP: --rdma HOST:PORT");
	if (!err && i == FRONT_LISTENS)
		err = diag_set(diag, DIAG_USAGE, EINVAL,
			"too many listen addresses: must be 1 to %d", FRONT_LISTENS);
	if (!err)
		err = mad_agent_start(
			&f->agent[i], f->front.daemon->loop, &port, &served, unfound, f, diag);
	if (err)
		return diag_ctx(diag, "--ib %s", given);
	mad_gid_make(gid, port.prefix, port.guid);
	f->opt.listen[i].ways = WAY_VERBS;
	addr_set_ib(&f->opt.listen[i].at, gid, PKEY_DEFAULT, service_id(f));
	f->opt.listens++;
	return 0;
}

static void stop_agents(struct srp_front *f)
{
	for (unsigned i = 0; i < FRONT_LISTENS; i++)
		if (f->agent[i])
			mad_agent_stop(f->agent[i]);
	memset(f->agent, 0, sizeof(f->agent));
}

static int read_options(struct front *front)
{
	struct srp_target_options *opt = &front_of(front)->opt;
	const struct serve_want *want = front->want;
	const struct call *call = front->daemon->call;
	struct mad_port_choice choice;
	char dev[MAD_DEV_LEN];
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
	front_of(front)->by_ip = opt->listens;
	for (unsigned i = 0; !err && i < want->ib.count; i++)
		err = read_port(want->ib.item[i], dev, &choice, call->diag);
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
	const struct opt_list *ports = &((const struct serve_want *)front->want)->ib;
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
	snprintf(f->service, sizeof(f->service), "SRP.T10:%s", f->guid);
	if (ports->count)
		err = kernel_umad_ready(d->root, d->call->diag);
	for (unsigned i = 0; !err && i < ports->count; i++)
		err = add_port(f, ports->item[i], d->call->diag);
	if (err) {
		stop_agents(f);
		return err;
	}
	daemon_wait_begin(&wait, d->call, d->loop);
	err = srp_target_start(&f->target, d->loop, &f->opt, ms, d->call->diag);
	daemon_wait_end(&wait, d->loop);
	if (err) {
		stop_agents(f);
		return disk_blame_rdma(d->call->diag, &rdma);
	}
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

/* Only kernel modules can announce device management in the port's capability mask: discovery finds
 * the target if the port is named. */
static void show_service(struct out *out, const struct srp_front *f, unsigned i)
{
	const struct addr_ib *ib = (const void *)&f->opt.listen[i].at.ss;
	const uint64_t id = service_id(f);
	char gid[33], host[ADDR_TEXT];

	hex_text(gid, ib->gid, sizeof(ib->gid));
	out_object(out, NULL);
	out_text(out, "transport", NULL, "rdma");
	out_text(out, "traddr", NULL, "%s", addr_host(&f->opt.listen[i].at, host));
	out_text(out, "service_id", NULL, "%016" PRIx64, id);
	out_bool(out, "iwarp", NULL, false);
	out_text(out, "target", NULL, "%s", f->guid);
	out_text(out, "rdmastor",
		"rdmastor:   ", "srp://%s/%s/%s/0?pkey=%04x&service_id=%016" PRIx64, gid, f->guid,
		f->guid, PKEY_DEFAULT, id);
	out_text(out, "add_target",
		"add_target: ", "id_ext=%s,ioc_guid=%s,dgid=%s,pkey=%04x,service_id=%016" PRIx64,
		f->guid, f->guid, gid, PKEY_DEFAULT, id);
	out_text(out, "discover", "discover:   ", "rdmastor srp-discover --gid %s", gid);
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
	for (unsigned i = 0; i < f->by_ip; i++)
		show_way(out, f, i);
	for (unsigned i = f->by_ip; i < f->opt.listens; i++)
		show_service(out, f, i);
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
	stop_agents(f);
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
