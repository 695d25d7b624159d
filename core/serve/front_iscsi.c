/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Export disks as logical units of iSCSI targets, over TCP and iSER. core/proto/iscsi serves them.
 */
#include "front.h"
#include "iscsi.h"
#include "iscsi_initiators.h"
#include "names.h"
#include "secret_list.h"
#include <errno.h>
#include <stdio.h>

struct iscsi_front {
	struct net_front net;                /* first member */
	struct iscsi_initiators *initiators; /* NULL: no --initiators-file */
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
	struct iscsi_front *iscsi = (struct iscsi_front *)net;
	const struct serve_front_options *options = net_options(net);
	int err = net_read_disks(net, "iqn", &options->iqn, check_name);

	if (!err)
		err = net_read_hosts(
			net, "allow-initiator", &options->allow_initiator, check_initiator);
	if (!err && options->initiators_file)
		err = iscsi_initiators_read(
			&iscsi->initiators, options->initiators_file, front->daemon->call->diag);
	net->opt.initiators = iscsi->initiators;
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

static int allow(const struct front *front)
{
	const char *path = net_options(net_of(front))->initiators_file;

	return path ? secret_list_allow(path) : 0;
}

static bool reload(struct front *front)
{
	struct iscsi_front *iscsi = (struct iscsi_front *)net_of(front);
	const char *path = net_options(&iscsi->net)->initiators_file;
	const struct call *call = front->daemon->call;
	struct iscsi_initiators *initiators;
	struct diag why = { 0 };

	if (!iscsi->initiators)
		return false;
	iscsi->net.reload_later = !iscsi->net.target; /* it may have begun with the old ones */
	if (iscsi->net.reload_later)
		return true;
	if (iscsi_initiators_read(&initiators, path, &why)) {
		call_warn(call, "%s: %s; keeping the old initiators", why.object, why.text);
		return true;
	}
	iscsi_serve_initiators(iscsi->net.target, initiators);
	iscsi->net.opt.initiators = initiators;
	iscsi_initiators_free(iscsi->initiators);
	iscsi->initiators = initiators;
	call_note(call, "%s: %u initiators", path, iscsi_initiators_count(initiators));
	return true;
}

static int start(struct front *front)
{
	struct net_front *net = net_of(front);
	int err = net_identify(net, &net_options(net)->iqn);

	if (err)
		return err;
	name_disks(container_of(net, struct iscsi_front, net));
	err = net_serve(net, iscsi_serve, "--rdma 'HOST:PORT?rdma=iwarp', or --tcp HOST:PORT");
	if (!err && !net->opt.hosts && !net->opt.initiators)
		net_warn_open(net, "--initiators-file, --allow-initiator");
	if (!err && net->reload_later)
		reload(front);
	return err;
}

/* A target that can't be stopped may still use the initiators. */
static int stop(struct front *front, uint32_t timeout_ms, struct diag *diag)
{
	struct iscsi_front *iscsi = (struct iscsi_front *)net_of(front);
	int err = net_stop(front, timeout_ms, diag);

	if (err != -EINPROGRESS)
		iscsi_initiators_free(iscsi->initiators);
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

/* open-iscsi offers only MD5 by default. */
#define CHAP_ALGS "SHA3-256,SHA256,SHA1"

/* With CHAP a record is made without discovery, in which open-iscsi has only MD5. */
static void show_iscsiadm(struct out *out, const char *portal, const char *name, bool rdma,
	bool chap, const char *only)
{
	char node[OUT_SHELL(NAME_PLAIN_MAX) + ADDR_TEXT + 64];

	snprintf(node, sizeof(node), "iscsiadm -m node -T %s -p %s%s", name, portal,
		rdma ? " -I iser" : "");
	if (chap)
		out_text(out, "iscsiadm", "iscsiadm:   ",
			"%s -o new && %s -o update -n node.session.auth.authmethod -v CHAP "
			"-n node.session.auth.chap_algs -v " CHAP_ALGS
			" -n node.session.auth.username -v NAME "
			"-n node.session.auth.password -v SECRET && %s -l%s",
			node, node, node, only);
	else
		out_text(out, "iscsiadm",
			"iscsiadm:   ", "iscsiadm -m discovery -t st -p %s%s && %s -l%s", portal,
			rdma ? " -I iser" : "", node, only);
}

/* transports: TCP, or those of RDMA. chap: with words for a user and a secret. */
static void show_transport(struct out *out, const struct net_portal *at, uint16_t group,
	const char *name, bool chap, unsigned transports)
{
	bool rdma = transports != TRANSPORT_TCP;
	const char *only = transports == TRANSPORT_IWARP ? IWARP_ONLY : "";
	char uri[URI_MAX], word[OUT_SHELL(NAME_PLAIN_MAX)];

	uri_start(uri, rdma ? "iser" : "iscsi", at->host, at->port);
	uri_add_name(uri, name);
	uri_add_unit(uri, 0);
	out_shell(name, word, sizeof(word));
	out_object(out, NULL);
	net_show_portal(out, at, transports);
	out_text(out, "target", NULL, "%s", name);
	out_text(out, "rdmastor", "rdmastor:   ", "%s%s", uri,
		chap ? "?user=NAME&secret-file=FILE" : "");
	show_iscsiadm(out, at->text, word, rdma, chap, only);
	out_text(out, "iscsistart", "iscsistart: ",
		"iscsistart -i iqn.2024-01.com.example:host -t %s -a %s -p %u -g %u%s%s%s", word,
		at->host, at->port, group, rdma ? " -P iface.transport_name=iser" : "",
		chap ? " -u NAME -w SECRET -P node.session.auth.chap_algs=" CHAP_ALGS : "", only);
	if (transports != TRANSPORT_IWARP)
		out_text(out, "libiscsi", "libiscsi:   ", "%s://%s%s", rdma ? "iser" : "iscsi",
			chap ? "NAME@" : "", strstr(uri, "://") + 3);
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
					opt->initiators, transports & TRANSPORT_RDMA);
			if (transports & TRANSPORT_TCP)
				show_transport(out, &at, opt->listen[i].group, opt->disk[disk].name,
					opt->initiators, TRANSPORT_TCP);
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
	.rights = net_rights,
	.allow = allow,
	.start = start,
	.show = show,
	.count = net_count,
	.status = status,
	.set_access = net_set_access,
	.changed = net_changed,
	.reload = reload,
	.stop = stop,
};
