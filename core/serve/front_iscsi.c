/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Export disks as logical units of iSCSI targets, over TCP and iSER. core/proto/iscsi serves them.
 */
#include "front.h"
#include "iscsi.h"
#include "names.h"
#include <errno.h>
#include <stdio.h>

struct iscsi_front {
	struct net_front net;
	char name[TARGET_DISKS][sizeof(IQN_OWN) + UUID_TEXT];
};

static int check_name(const char *option, const char *name, struct diag *diag)
{
	if (iscsi_name_valid(name))
		return 0;
	return diag_set(diag, DIAG_USAGE, EINVAL,
		"--%s: invalid iSCSI name '%s': expected iqn.*, eui.* or naa.*, up to 223 bytes",
		option, name);
}

/* Accept any name that a login can have, as initiators choose theirs. */
static int check_initiator(const char *option, const char *name, struct diag *diag)
{
	if (name_is_plain(name))
		return 0;
	return diag_set(diag, DIAG_USAGE, EINVAL,
		"--%s: invalid initiator name '%s': must be 1 to %d bytes without blanks and "
		"control characters",
		option, name, NAME_PLAIN_MAX);
}

static int read_options(struct front *front)
{
	struct net_front *net = net_of(front);
	const struct serve_front_options *options = net_options(net);
	int err = net_read_disks(net, "iqn", &options->iqn, check_name);

	for (unsigned i = 0; i < 2; i++) {
		net->opt.user[i] = options->user[i];
		net->opt.secret[i] = options->secret[i];
	}
	if (!err)
		err = net_read_hosts(
			net, "allow-initiator", &options->allow_initiator, check_initiator);
	return err ? err : net_read_listens(net, "iSER", "iSCSI", ISCSI_PORT);
}

/* Without --iqn each disk is a target, with a permanent name made of its identity. */
static void name_disks(struct iscsi_front *f)
{
	struct target_options *opt = &f->net.opt;
	char uuid[UUID_TEXT];

	for (unsigned i = 0; i < opt->disks; i++) {
		snprintf(f->name[i], sizeof(f->name[i]), IQN_OWN "%s",
			uuid_text(uuid, opt->disk[i].uuid));
		if (!opt->disk[i].name)
			opt->disk[i].name = f->name[i];
	}
}

static int start(struct front *front)
{
	struct net_front *net = net_of(front);
	int err = net_identify(net, &net_options(net)->iqn);

	if (err)
		return err;
	name_disks(container_of(net, struct iscsi_front, net));
	err = net_serve(net, iscsi_serve, "--rdma 'HOST:PORT?rdma=iwarp', or --tcp HOST:PORT");
	if (!err && !net->opt.hosts && !net->opt.user[0])
		net_warn_open(net, "--allow-initiator");
	return err;
}

static void show_disks(struct out *out, const struct net_front *net)
{
	out_list(out, "disks");
	for (unsigned i = 0; i < net->opt.disks; i++) {
		out_object(out, NULL);
		out_text(out, "target", NULL, "%s", net->opt.disk[i].name);
		out_u64(out, "lun", NULL, net_index(net, i));
		daemon_show_disk(out, net->front.daemon, i);
		out_text(out, "serial", NULL, "%s", net->opt.disk[i].serial);
		out_end(out);
	}
	out_end(out);
}

/* a comment that a shell ignores */
#define IWARP_ONLY " # the initiator needs an iWARP device, such as siw"

/* transports: TCP, or those of RDMA. */
static void show_transport(struct out *out, const struct net_portal *at, uint16_t group,
	const char *name, const char *user, unsigned transports)
{
	bool rdma = transports != TRANSPORT_TCP;
	const char *only = transports == TRANSPORT_IWARP ? IWARP_ONLY : "";
	char uri[URI_MAX], keys[URI_MAX] = "", word[OUT_SHELL(NAME_PLAIN_MAX)];

	uri_start(uri, rdma ? "iser" : "iscsi", at->host, at->port);
	uri_add_name(uri, name);
	uri_add_unit(uri, 0);
	if (user)
		uri_add_key(keys, "user", user);
	out_shell(name, word, sizeof(word));
	out_object(out, NULL);
	net_show_portal(out, at, transports);
	out_text(out, "target", NULL, "%s", name);
	out_text(out, "rdmastor", "rdmastor:   ", "%s%s", uri, keys);
	out_text(out, "iscsiadm", "iscsiadm:   ",
		"iscsiadm -m discovery -t st -p %s%s && iscsiadm -m node -T %s -p %s%s -l%s",
		at->text, rdma ? " -I iser" : "", word, at->text, rdma ? " -I iser" : "", only);
	out_text(out, "iscsistart", "iscsistart: ",
		"iscsistart -i iqn.2024-01.com.example:host -t %s -a %s -p %u -g %u%s%s", word,
		at->host, at->port, group, rdma ? " -P iface.transport_name=iser" : "", only);
	if (transports != TRANSPORT_IWARP)
		out_text(out, "libiscsi", "libiscsi:   ", "%s", uri);
	out_end(out);
}

static void show(const struct front *front, struct out *out)
{
	const struct net_front *net = net_of(front);
	const struct target_options *opt = &net->opt;
	char size[48];

	out_object(out, "iscsi");
	show_disks(out, net);
	for (unsigned i = 0; i < opt->disks; i++)
		out_line(out, "%s: LUN %u of %s, %s", opt->disk[i].bdev->uri, net_index(net, i),
			opt->disk[i].name, daemon_size_text(opt->disk[i].bdev->lim.size, size));
	out_list(out, "connect");
	for (unsigned i = 0; i < opt->listens; i++) {
		struct net_portal at;
		struct addr bound;
		unsigned transports = target_transports(net->target, i, &bound);

		net_portal_of(&at, &bound);
		for (unsigned disk = 0; disk < opt->disks; disk++) {
			if (net_index(net, disk))
				continue;
			if (transports & TRANSPORT_RDMA)
				show_transport(out, &at, opt->listen[i].group, opt->disk[disk].name,
					opt->user[0], transports & TRANSPORT_RDMA);
			if (transports & TRANSPORT_TCP)
				show_transport(out, &at, opt->listen[i].group, opt->disk[disk].name,
					opt->user[0], TRANSPORT_TCP);
		}
	}
	out_end(out);
	out_end(out);
}

static void status(const struct front *front, struct out *out)
{
	net_show_status(net_of(front), out, "iscsi", "sessions: ", NULL, show_disks);
}

const struct front_kind front_iscsi = {
	.serving = "serving iSCSI initiators",
	.size = sizeof(struct iscsi_front),
	.read = read_options,
	.start = start,
	.show = show,
	.count = net_count,
	.status = status,
	.set_access = net_set_access,
	.changed = net_changed,
	.stop = net_stop,
};
