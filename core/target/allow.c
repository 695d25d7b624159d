/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which addresses may connect to a target. */
#include "serve.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

/* Store the address as 16 bytes, with IPv4 mapped, so that one comparison suffices. */
static bool flatten(const struct sockaddr_storage *ss, uint8_t out[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (ss->ss_family == AF_INET6) {
		memcpy(out, &((const struct sockaddr_in6 *)(const void *)ss)->sin6_addr, 16);
		return true;
	}
	if (ss->ss_family == ADDR_IB) {
		memcpy(out, ((const struct addr_ib *)(const void *)ss)->gid, 16);
		return true;
	}
	if (ss->ss_family != AF_INET)
		return false;
	memcpy(out, mapped, sizeof(mapped));
	memcpy(out + 12, &((const struct sockaddr_in *)(const void *)ss)->sin_addr, 4);
	return true;
}

static bool is_in_net(const uint8_t *peer, const uint8_t *net, unsigned bits)
{
	if (memcmp(peer, net, bits / 8))
		return false;
	return !(bits % 8) || !((peer[bits / 8] ^ net[bits / 8]) >> (8 - bits % 8));
}

bool target_allows_peer(const struct target_allows *allows, const struct addr *peer)
{
	uint8_t at[16], net[16];

	if (!allows->count || peer->ss.ss_family == AF_UNIX)
		return true;
	if (!flatten(&peer->ss, at))
		return false;
	for (unsigned i = 0; i < allows->count; i++) {
		const struct target_allow *allow = &allows->item[i];

		if (flatten(&allow->net.ss, net) &&
			is_in_net(at, net,
				allow->prefix + (allow->net.ss.ss_family == AF_INET ? 96 : 0)))
			return true;
	}
	return false;
}

int target_allows_add(struct target_allows *allows, const char *text, struct diag *diag)
{
	struct target_allow allow = { 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)(void *)&allow.net.ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)&allow.net.ss;
	const char *slash = strchrnul(text, '/');
	char host[INET6_ADDRSTRLEN];
	uint64_t bits, most;

	if (allows->count == TARGET_ALLOWS)
		return diag_set(diag, DIAG_USAGE, E2BIG,
			"too many addresses and networks: must be 1 to %d", TARGET_ALLOWS);
	snprintf(host, sizeof(host), "%.*s", (int)(slash - text), text);
	if (inet_pton(AF_INET, host, &in->sin_addr) == 1)
		allow.net.ss.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1)
		allow.net.ss.ss_family = AF_INET6;
	else
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid address '%s': expected an IP address or a network such as "
			"10.0.0.0/8",
			text);
	allow.net.len = allow.net.ss.ss_family == AF_INET ? sizeof(*in) : sizeof(*in6);
	bits = most = allow.net.ss.ss_family == AF_INET ? 32 : 128;
	if (*slash && parse_u64(slash + 1, 0, most, &bits, NULL))
		return diag_set(diag, DIAG_USAGE, EINVAL, "'%s': prefix length must be 0 to %u",
			text, (unsigned)most);
	allow.prefix = (uint8_t)bits;
	allows->item[allows->count++] = allow;
	return 0;
}
