/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What serve prints: how to connect, in the words of those who connect, and how it goes. */
#include "daemon.h"
#include "disk.h"
#include "serve.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

/* A target on all addresses is reached under the first that others can use, IPv4 before IPv6. */
static void host_text(const struct addr *addr, char text[ADDR_TEXT])
{
	struct ifaddrs *all = NULL;
	struct addr best = { .ss.ss_family = AF_INET, .len = sizeof(struct sockaddr_in) };

	if (!addr_is_any(addr)) {
		addr_host(addr, text);
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

/* What only hosts with an iWARP device can run is marked as such, by a comment that a shell
 * ignores. */
#define IWARP_ONLY " # the host needs an iWARP device, such as siw"

static void show_way(struct out *out, const struct addr *bound, const char *nqn, bool rdma,
	const char *keys, bool iwarp)
{
	char host[ADDR_TEXT];
	const char *trtype = rdma ? "rdma" : "tcp", *upper = rdma ? "RDMA" : "TCP";
	bool v6;

	host_text(bound, host);
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

static void put_disks(struct out *out, const struct nvme_target_options *opt)
{
	out_list(out, "disks");
	for (unsigned i = 0; i < opt->disks; i++) {
		const struct nvme_target_disk *t = &opt->disk[i];

		out_object(out, NULL);
		out_text(out, "subnqn", NULL, "%s", t->nqn);
		out_u64(out, "nsid", NULL, nsid_of(opt, i));
		disk_show(out, t->bdev, t->ro);
		out_text(out, "serial", NULL, "%s", t->serial);
		out_end(out);
	}
	out_end(out);
}

static void show_disks(struct out *out, const struct nvme_target_options *opt)
{
	char size[16];

	put_disks(out, opt);
	for (unsigned i = 0; i < opt->disks; i++) {
		const struct nvme_target_disk *t = &opt->disk[i];

		out_line(out, "%s: namespace %u of %s, %s (%llu bytes)", t->bdev->uri,
			nsid_of(opt, i), t->nqn, out_human(t->bdev->lim.size, size),
			(unsigned long long)t->bdev->lim.size);
	}
}

static bool seen(const struct nvme_target_options *opt, unsigned disk)
{
	for (unsigned i = 0; i < disk; i++)
		if (!strcmp(opt->disk[i].nqn, opt->disk[disk].nqn))
			return true;
	return false;
}

static const char *rdma_keys(unsigned ways, bool no_crc)
{
	if (ways & NVME_TARGET_RDMA_VERBS)
		return no_crc ? "?crc=0" : "";
	return no_crc ? "?rdma=iwarp&crc=0" : "?rdma=iwarp";
}

void serve_show(
	struct out *out, const struct nvme_target *target, const struct nvme_target_options *opt)
{
	show_disks(out, opt);
	out_list(out, "connect");
	for (unsigned i = 0; i < opt->listens; i++) {
		struct addr bound;
		unsigned ways = nvme_target_ways(target, i, &bound);

		for (unsigned d = 0; d < opt->disks; d++) {
			if (seen(opt, d))
				continue;
			if (ways & (NVME_TARGET_RDMA_VERBS | NVME_TARGET_RDMA_IWARP))
				show_way(out, &bound, opt->disk[d].nqn, true,
					rdma_keys(ways, opt->listen[i].no_crc),
					!(ways & NVME_TARGET_RDMA_VERBS));
			if (ways & NVME_TARGET_TCP)
				show_way(out, &bound, opt->disk[d].nqn, false, "", false);
		}
	}
	out_end(out);
}

static void put_listeners(
	struct out *out, const struct nvme_target *target, const struct nvme_target_options *opt)
{
	out_list(out, "listeners");
	for (unsigned i = 0; i < opt->listens; i++) {
		struct addr bound;
		unsigned ways = nvme_target_ways(target, i, &bound);

		if (ways & (NVME_TARGET_RDMA_VERBS | NVME_TARGET_RDMA_IWARP)) {
			daemon_show_listener(out, "rdma", &bound);
			out_bool(out, "iwarp", NULL, !(ways & NVME_TARGET_RDMA_VERBS));
			out_end(out);
		}
		if (ways & NVME_TARGET_TCP) {
			daemon_show_listener(out, "tcp", &bound);
			out_end(out);
		}
	}
	out_end(out);
}

void serve_status(
	struct out *out, const struct nvme_target *target, const struct nvme_target_options *opt)
{
	struct nvme_target_status status;

	nvme_target_get_status(target, &status);
	out_text(out, "protocol", NULL, "nvme");
	out_u64(out, "clients", "hosts:   ", status.hosts);
	out_u64(out, "queues", "queues:  ", status.queues);
	out_u64(out, "refused", "refused: ", status.turned_away);
	daemon_show_count(out, &status.count);
	put_disks(out, opt);
	put_listeners(out, target, opt);
}
