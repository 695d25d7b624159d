/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Common to fronts that are network targets. */
#include "front.h"
#include "kernel_rdma.h"
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

/* --- options */

int net_read_disks(struct net_front *net, const char *option, const struct opt_list *names,
	int (*valid)(const char *, const char *, struct diag *))
{
	const struct call *call = net->front.daemon->call;
	int err = 0;

	if (call->operands > TARGET_DISKS)
		return diag_set(call->diag, DIAG_USAGE, E2BIG, "too many disks: must be 1 to %d",
			TARGET_DISKS);
	if (names->count > call->operands)
		return diag_set(call->diag, DIAG_USAGE, EINVAL, "--%s %s: more names than disks",
			option, names->item[call->operands]);
	for (unsigned i = 0; !err && i < names->count; i++)
		err = valid(option, names->item[i], call->diag);
	return err;
}

int net_read_hosts(struct net_front *net, const char *option, const struct opt_list *hosts,
	int (*valid)(const char *, const char *, struct diag *))
{
	int err = 0;

	for (unsigned i = 0; !err && i < hosts->count; i++) {
		err = valid(option, hosts->item[i], net->front.daemon->call->diag);
		net->opt.host[net->opt.hosts++] = hosts->item[i];
	}
	return err;
}

/* transports 0: RDMA, by the keys of the address. */
static int add_listen(struct target_options *opt, const char *protocol, uint16_t port,
	const char *given, uint16_t group, unsigned transports, struct diag *diag)
{
	char text[ADDR_TEXT + 64];
	struct addr_rdma how = { 0 };
	struct addr at = { 0 };
	int err = 0;

	group = group ? group : 1;
	if (snprintf(text, sizeof(text), "%s", given) >= (int)sizeof(text))
		return diag_set(diag, DIAG_USAGE, EINVAL, "address '%.40s...' is too long", given);
	if (!strncmp(text, "unix:", 5))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"%s can't be served on a unix socket: expected [HOST]:PORT", protocol);
	if (!(transports & TRANSPORT_TCP)) {
		err = addr_rdma(&how, text, diag);
		transports =
			(how.verbs ? TRANSPORT_VERBS : 0u) | (how.iwarp ? TRANSPORT_IWARP : 0u);
	}
	if (!err)
		err = addr_parse(&at, text, port, diag);
	if (err)
		return err;
	for (unsigned i = 0; i < opt->listens; i++)
		if (opt->listen[i].at.len == at.len &&
			!memcmp(&opt->listen[i].at.ss, &at.ss, at.len)) {
			if (opt->listen[i].group != group)
				return diag_set(diag, DIAG_USAGE, EINVAL,
					"the same address is in groups %u and %u",
					opt->listen[i].group, group);
			opt->listen[i].transports |= transports;
			opt->listen[i].no_crc |= how.no_crc;
			return 0;
		}
	if (opt->listens == TARGET_LISTENS)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"too many listen addresses: must be 1 to %d", TARGET_LISTENS);
	opt->listen[opt->listens++] = (struct listen_addr){
		.at = at, .transports = transports, .no_crc = how.no_crc, .group = group
	};
	return 0;
}

int net_read_listens(struct net_front *net, const char *rdma, const char *tcp, uint16_t port)
{
	const struct serve_front_options *options = net_options(net);
	struct diag *diag = net->front.daemon->call->diag;
	int err = daemon_read_allow(net->front.daemon, &options->allow, &net->opt.allows);

	for (unsigned i = 0; !err && i < options->rdma.count; i++)
		if (add_listen(&net->opt, rdma, port, options->rdma.item[i], options->rdma.tag[i],
			    0, diag))
			return diag_ctx(diag, "--rdma %s", options->rdma.item[i]);
	for (unsigned i = 0; !err && i < options->tcp.count; i++)
		if (add_listen(&net->opt, tcp, port, options->tcp.item[i], options->tcp.tag[i],
			    TRANSPORT_TCP, diag))
			return diag_ctx(diag, "--tcp %s", options->tcp.item[i]);
	return err;
}

void net_rights(const struct front *front, struct rights *rights)
{
	const struct target_options *opt = &net_of(front)->opt;

	rights->identity = true;
	for (unsigned i = 0; i < opt->listens; i++) {
		rights->verbs |= (opt->listen[i].transports & TRANSPORT_VERBS) != 0;
		rights->low_port |= rights_low_port(&opt->listen[i].at);
	}
}

/* --- start and stop */

int net_identify(struct net_front *net, const struct opt_list *names)
{
	const struct daemon *d = net->front.daemon;
	struct target_options *opt = &net->opt;

	for (unsigned i = 0; i < d->disks; i++) {
		struct target_disk_options *disk = &opt->disk[i];
		const struct disk_identity *id;
		int err = daemon_identify(net->front.daemon, i, &id);

		if (err)
			return err;
		disk->bdev = d->disk[i];
		disk->name = i < names->count ? names->item[i] : NULL;
		disk->ro = d->opts->ro;
		memcpy(disk->uuid, id->uuid, sizeof(disk->uuid));
		memcpy(disk->nguid, id->nguid, sizeof(disk->nguid));
		memcpy(disk->serial, id->serial, sizeof(disk->serial));
		opt->disks++;
	}
	opt->loops = d->loops;
	opt->nloops = d->nloops;
	opt->full = daemon_full;
	opt->full_user = &net->front;
	return 0;
}

/* Listening has failed. If all addresses need an RDMA device, report what RDMA lacks, and a hint
 * how to do without. */
static int blame_rdma(int err, const struct target_options *opt, const struct diag *rdma,
	const char *instead, struct diag *why)
{
	for (unsigned i = 0; i < opt->listens; i++)
		if (opt->listen[i].transports != TRANSPORT_VERBS)
			return err;
	err = kernel_rdma_blame(why, rdma);
	why->hint[0] = 0;
	diag_hint(why, "without an RDMA device: %s", instead);
	return err;
}

int net_serve(struct net_front *net, target_serve *serve, const char *instead)
{
	const struct daemon *d = net->front.daemon;
	struct daemon_wait wait;
	struct diag rdma = { 0 };
	uint32_t ms;
	int err = daemon_time_left(d, &ms);

	if (err)
		return err;
	if (net_options(net)->rdma.count || net_options(net)->ib.count)
		kernel_rdma_ready(d->root, &rdma); /* loads the modules for verbs if possible */
	daemon_wait_begin(&wait, d->call, d->loop);
	err = serve(&net->target, d->loop, &net->opt, ms, d->call->diag);
	daemon_wait_end(&wait, d->loop);
	return err ? blame_rdma(err, &net->opt, &rdma, instead, d->call->diag) : 0;
}

void net_warn_open(const struct net_front *net, const char *option)
{
	for (unsigned i = 0; i < net->opt.listens && !net->opt.allows.count; i++)
		daemon_warn_open(net->front.daemon, &net->opt.listen[i].at, option);
}

void net_changed(struct front *front, struct bdev *bdev)
{
	struct net_front *net = net_of(front);

	if (bdev->state == BDEV_UP && net->target)
		target_resized(net->target, bdev);
}

/* A stopping target is not notified of changed disks. */
int net_stop(struct front *front, uint32_t timeout_ms, struct diag *diag)
{
	struct net_front *net = net_of(front);
	struct target *target = net->target;

	net->target = NULL;
	return target_stop(target, timeout_ms, diag);
}

/* --- output */

unsigned net_index(const struct net_front *net, unsigned disk)
{
	const struct target_disk_options *all = net->opt.disk;
	unsigned index = 0;

	for (unsigned i = 0; i < disk; i++)
		index += !strcmp(all[i].name, all[disk].name);
	return index;
}

static void host_text(const struct addr *addr, char text[ADDR_TEXT])
{
	const struct addr bare = addr_unscoped(addr);
	struct ifaddrs *all = NULL;
	struct addr best = { .ss.ss_family = AF_INET, .len = sizeof(struct sockaddr_in) };

	if (!addr_is_any(addr)) {
		addr_host(&bare, text);
		return;
	}
	((struct sockaddr_in *)&best.ss)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	getifaddrs(&all);
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		const struct sockaddr_in6 *in6 = (const void *)i->ifa_addr;
		bool v4 = in6 && in6->sin6_family == AF_INET,
		     v6 = in6 && in6->sin6_family == AF_INET6;

		if (i->ifa_flags & IFF_LOOPBACK || !(i->ifa_flags & IFF_UP) ||
			(!v4 && (!v6 || IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))))
			continue;
		if (v6 && (!addr_is_local(&best) || addr->ss.ss_family == AF_INET))
			continue;
		best.len = v4 ? sizeof(struct sockaddr_in) : sizeof(*in6);
		memcpy(&best.ss, i->ifa_addr, best.len);
		if (v4)
			break;
	}
	freeifaddrs(all);
	addr_host(&best, text);
}

void net_portal_of(struct net_portal *portal, const struct addr *bound)
{
	host_text(bound, portal->host);
	portal->port = addr_port(bound);
	snprintf(portal->text, sizeof(portal->text),
		strchr(portal->host, ':') ? "[%s]:%u" : "%s:%u", portal->host, portal->port);
}

void net_show_portal(struct out *out, const struct net_portal *portal, unsigned transports)
{
	out_text(out, "transport", NULL, "%s", transports & TRANSPORT_TCP ? "tcp" : "rdma");
	out_text(out, "traddr", NULL, "%s", portal->host);
	out_text(out, "trsvcid", NULL, "%u", portal->port);
	if (!(transports & TRANSPORT_TCP))
		out_bool(out, "iwarp", NULL, !(transports & TRANSPORT_VERBS));
}

static void show_access(struct out *out, const struct net_front *net, unsigned i)
{
	out_u64(out, "group", NULL, net->opt.listen[i].group);
	out_text(out, "access", NULL, "%s", access_word(target_get_access(net->target, i)));
}

static void show_listeners(struct out *out, const struct net_front *net)
{
	out_list(out, "listeners");
	for (unsigned i = 0; i < net->opt.listens; i++) {
		struct addr bound;
		unsigned transports = target_transports(net->target, i, &bound);

		bound = addr_unscoped(&bound);
		if (transports & TRANSPORT_RDMA) {
			out_object(out, NULL);
			addr_show(out, "rdma", &bound);
			out_bool(out, "iwarp", NULL, !(transports & TRANSPORT_VERBS));
			show_access(out, net, i);
			out_end(out);
		}
		if (transports & TRANSPORT_TCP) {
			out_object(out, NULL);
			addr_show(out, "tcp", &bound);
			show_access(out, net, i);
			out_end(out);
		}
	}
	out_end(out);
}

int net_set_access(struct front *front, unsigned group, enum access access, enum access *before)
{
	return target_set_access(net_of(front)->target, group, access, before);
}

void net_count(const struct front *front, struct io_count *count)
{
	struct target_status now;

	target_get_status(net_of(front)->target, &now);
	*count = now.count;
}

void net_show_status(const struct net_front *net, struct out *out, const char *protocol,
	const char *clients, const char *queues,
	void (*disks)(struct out *, const struct net_front *))
{
	struct target_status now;

	target_get_status(net->target, &now);
	out_text(out, "protocol", NULL, "%s", protocol);
	out_u64(out, "clients", clients, now.clients);
	if (queues)
		out_u64(out, "queues", queues, now.queues);
	out_u64(out, "refused", "refused: ", now.refused);
	daemon_show_count(out, &net->front);
	disks(out, net);
	show_listeners(out, net);
}
