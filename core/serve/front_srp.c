/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Export disks as logical units of one SRP target, by RDMA/CM, and by service ID on InfiniBand.
 * core/proto/srp serves them, core/mad answers discovery. */
#include "front.h"
#include "kernel_rdma.h"
#include "mad.h"
#include "names.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct srp_front {
	struct net_front net;
	char guid[17], service[25];
	unsigned by_ip; /* the first listeners; then follow ports on InfiniBand */
	struct mad_agent *agent[TARGET_LISTENS];
};

static struct srp_front *front_of(const struct front *front)
{
	return container_of(net_of(front), struct srp_front, net);
}

static const char *digits_of(const char *port)
{
	return strncmp(port, "0x", 2) ? port : port + 2;
}

/* An initiator port as the kernel shows it: 32 hexadecimal digits, perhaps behind 0x. */
static int check_port(const char *option, const char *text, struct diag *diag)
{
	const char *digits = digits_of(text);
	uint8_t id[16];

	if (strlen(digits) == 32 && strspn(digits, "0123456789abcdefABCDEF") == 32 &&
		gid_parse(id, digits))
		return 0;
	return diag_set(diag, DIAG_USAGE, EINVAL,
		"--%s: invalid SRP initiator port '%s': expected 32 hexadecimal digits", option,
		text);
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

/* Make the service ID of the target's identifier, so that it is permanent and initiators need no
 * new discovery. */
static uint64_t service_id(const struct srp_front *f)
{
	const uint8_t *guid = f->net.opt.disk[0].uuid;

	return EP_SERVICE | 0x4000 | ((guid[6] & 0x3f) << 8 | guid[7]);
}

static int add_port(struct srp_front *f, const char *given, uint16_t group, struct diag *diag)
{
	struct target_options *opt = &f->net.opt;
	const struct mad_agent_conf served = { .guid = wire_be(opt->disk[0].uuid, 8),
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
	if (!err && i == TARGET_LISTENS)
		err = diag_set(diag, DIAG_USAGE, EINVAL,
			"too many listen addresses: must be 1 to %d", TARGET_LISTENS);
	if (!err)
		err = mad_agent_start(
			&f->agent[i], f->net.front.daemon->loop, &port, &served, diag);
	if (err)
		return diag_ctx(diag, "--ib %s", given);
	mad_gid_make(gid, port.prefix, port.guid);
	opt->listen[i].transports = TRANSPORT_VERBS;
	opt->listen[i].group = group ? group : 1;
	addr_set_ib(&opt->listen[i].at, gid, PKEY_DEFAULT, service_id(f));
	opt->listens++;
	return 0;
}

static void stop_agents(struct srp_front *f)
{
	for (unsigned i = 0; i < TARGET_LISTENS; i++)
		if (f->agent[i])
			mad_agent_stop(f->agent[i]);
	memset(f->agent, 0, sizeof(f->agent));
}

static int read_options(struct front *front)
{
	static const struct opt_list unnamed = { 0 };
	struct net_front *net = net_of(front);
	const struct serve_front_options *options = net_options(net);
	struct diag *diag = front->daemon->call->diag;
	struct mad_port_choice choice;
	char dev[MAD_DEV_LEN];
	int err = net_read_disks(net, "", &unnamed, NULL);

	if (!err)
		err = net_read_hosts(net, "allow-initiator", &options->allow_initiator, check_port);
	for (unsigned i = 0; i < net->opt.hosts; i++)
		net->opt.host[i] = digits_of(net->opt.host[i]);
	if (!err)
		err = net_read_listens(net, "SRP", "SRP", 0);
	front_of(front)->by_ip = net->opt.listens;
	for (unsigned i = 0; !err && i < options->ib.count; i++)
		err = read_port(options->ib.item[i], dev, &choice, diag);
	return err;
}

/* Make the target's identifier of its first disk's identity, so that it is permanent. */
static int add_ports(struct srp_front *f)
{
	const struct daemon *d = f->net.front.daemon;
	const struct opt_list *ports = &net_options(&f->net)->ib;
	int err = ports->count ? kernel_umad_ready(d->root, d->call->diag) : 0;

	hex_text(f->guid, f->net.opt.disk[0].uuid, 8);
	snprintf(f->service, sizeof(f->service), "SRP.T10:%s", f->guid);
	for (unsigned i = 0; !err && i < ports->count; i++)
		err = add_port(f, ports->item[i], ports->tag[i], d->call->diag);
	return err;
}

static void add_rights(const struct front *front, struct rights *rights)
{
	net_rights(front, rights);
	rights->mads = net_options(net_of(front))->ib.count;
	rights->verbs |= rights->mads;
}

static int start(struct front *front)
{
	static const struct opt_list unnamed = { 0 };
	struct net_front *net = net_of(front);
	int err = net_identify(net, &unnamed);

	if (!err)
		err = add_ports(front_of(front));
	if (!err)
		err = net_serve(net, srp_serve, "--rdma 'HOST:PORT?rdma=iwarp'");
	if (err)
		stop_agents(front_of(front));
	else if (!net->opt.hosts)
		net_warn_open(net, "--allow-initiator");
	return err;
}

static void show_disks(struct out *out, const struct net_front *net)
{
	const struct srp_front *f = front_of(&net->front);

	out_list(out, "disks");
	for (unsigned i = 0; i < net->opt.disks; i++) {
		out_object(out, NULL);
		out_text(out, "target", NULL, "%s", f->guid);
		out_u64(out, "lun", NULL, i);
		daemon_show_disk(out, net->front.daemon, i);
		out_text(out, "serial", NULL, "%s", net->opt.disk[i].serial);
		out_end(out);
	}
	out_end(out);
}

static void target_uri(const struct srp_front *f, const char *scheme, const char *host,
	unsigned port, char uri[URI_MAX])
{
	uri_start(uri, scheme, host, port);
	uri_add_name(uri, f->guid);
	uri_add_name(uri, f->guid);
	uri_add_unit(uri, 0);
}

/* Only rdmastor can use software iWARP: ib_srp needs a device. */
static void show_way(struct out *out, const struct srp_front *f, unsigned i)
{
	struct net_portal at;
	struct addr bound;
	unsigned transports = target_transports(f->net.target, i, &bound);
	char uri[URI_MAX];

	if (!(transports & TRANSPORT_RDMA))
		return;
	net_portal_of(&at, &bound);
	target_uri(f, "srp+cm", at.host, at.port, uri);
	out_object(out, NULL);
	net_show_portal(out, &at, transports);
	out_text(out, "target", NULL, "%s", f->guid);
	out_text(out, "rdmastor", "rdmastor:   ", "%s%s", uri,
		transports & TRANSPORT_VERBS ? "" : "?rdma=iwarp");
	if (transports & TRANSPORT_VERBS)
		out_text(out, "add_target", "add_target: ", "id_ext=%s,ioc_guid=%s,dest=%s",
			f->guid, f->guid, at.text);
	out_end(out);
}

/* Only kernel modules can announce device management in the port's capability mask, so discovery
 * finds the target only if the port is specified. */
static void show_service(struct out *out, const struct srp_front *f, unsigned i)
{
	const struct addr_ib *ib = (const void *)&f->net.opt.listen[i].at.ss;
	const uint64_t id = service_id(f);
	char gid[33], host[ADDR_TEXT], uri[URI_MAX];

	hex_text(gid, ib->gid, sizeof(ib->gid));
	target_uri(f, "srp", gid, 0, uri);
	out_object(out, NULL);
	out_text(out, "transport", NULL, "rdma");
	out_text(out, "traddr", NULL, "%s", addr_host(&f->net.opt.listen[i].at, host));
	out_text(out, "service_id", NULL, "%016" PRIx64, id);
	out_bool(out, "iwarp", NULL, false);
	out_text(out, "target", NULL, "%s", f->guid);
	out_text(out, "rdmastor", "rdmastor:   ", "%s?pkey=%04x&service_id=%016" PRIx64, uri,
		PKEY_DEFAULT, id);
	out_text(out, "add_target",
		"add_target: ", "id_ext=%s,ioc_guid=%s,dgid=%s,pkey=%04x,service_id=%016" PRIx64,
		f->guid, f->guid, gid, PKEY_DEFAULT, id);
	out_text(out, "discover", "discover:   ", "rdmastor srp-discover --gid %s", gid);
	out_end(out);
}

static void show(const struct front *front, struct out *out)
{
	const struct srp_front *f = front_of(front);
	const struct target_options *opt = &f->net.opt;
	char size[48];

	out_object(out, "srp");
	show_disks(out, &f->net);
	for (unsigned i = 0; i < opt->disks; i++)
		out_line(out, "%s: LUN %u of SRP target %s, %s", opt->disk[i].bdev->uri, i, f->guid,
			daemon_size_text(opt->disk[i].bdev->lim.size, size));
	out_list(out, "connect");
	for (unsigned i = 0; i < f->by_ip; i++)
		show_way(out, f, i);
	for (unsigned i = f->by_ip; i < opt->listens; i++)
		show_service(out, f, i);
	out_end(out);
	out_end(out);
}

static void status(const struct front *front, struct out *out)
{
	net_show_status(net_of(front), out, "srp", "initiators: ", "channels:   ", show_disks);
}

static int stop(struct front *front, uint32_t timeout_ms, struct diag *diag)
{
	stop_agents(front_of(front));
	return net_stop(front, timeout_ms, diag);
}

const struct front_kind front_srp = {
	.serving = "serving SRP initiators",
	.size = sizeof(struct srp_front),
	.read = read_options,
	.rights = add_rights,
	.start = start,
	.show = show,
	.count = net_count,
	.status = status,
	.set_access = net_set_access,
	.changed = net_changed,
	.stop = stop,
};
