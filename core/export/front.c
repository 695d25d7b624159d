/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What fronts that listen on the network have in common. */
#include "front.h"
#include "disk_open.h"
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

int front_listen_add(struct ways_listen listen[FRONT_LISTENS], unsigned *count,
	const char *protocol, uint16_t port, const char *given, unsigned ways, struct diag *diag)
{
	char text[ADDR_TEXT + 64];
	struct addr_rdma how = { 0 };
	struct addr at = { 0 };
	int err = 0;

	if (snprintf(text, sizeof(text), "%s", given) >= (int)sizeof(text))
		return diag_set(diag, DIAG_USAGE, EINVAL, "address '%.40s...' is too long", given);
	if (!strncmp(text, "unix:", 5))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"%s can't be served on a unix socket: expected [HOST]:PORT", protocol);
	if (!(ways & WAY_TCP)) {
		err = addr_rdma(&how, text, diag);
		ways = (how.verbs ? WAY_VERBS : 0u) | (how.iwarp ? WAY_IWARP : 0u);
	}
	if (!err)
		err = addr_parse(&at, text, port, diag);
	if (err)
		return err;
	for (unsigned i = 0; i < *count; i++)
		if (listen[i].at.len == at.len && !memcmp(&listen[i].at.ss, &at.ss, at.len)) {
			listen[i].ways |= ways;
			listen[i].no_crc |= how.no_crc;
			return 0;
		}
	if (*count == FRONT_LISTENS)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"too many listen addresses: must be 1 to %d", FRONT_LISTENS);
	listen[(*count)++] = (struct ways_listen){ .at = at, .ways = ways, .no_crc = how.no_crc };
	return 0;
}

int front_blame_rdma(int err, const struct ways_listen *listen, unsigned count,
	const struct diag *rdma, struct diag *why)
{
	for (unsigned i = 0; i < count; i++)
		if (listen[i].ways != WAY_VERBS)
			return err;
	err = disk_blame_rdma(why, rdma);
	why->hint[0] = 0;
	diag_hint(why, "without an RDMA device: --rdma 'HOST:PORT?rdma=iwarp', or --tcp HOST:PORT");
	return err;
}

void front_host_text(const struct addr *addr, char text[ADDR_TEXT])
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
