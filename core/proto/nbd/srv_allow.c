/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Check which hosts may connect to the NBD server over TCP. */
#include "srv.h"
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

bool nbd_srv_allowed(const struct nbd_options *opt, const struct sockaddr_storage *ss)
{
	uint8_t peer[16], net[16];

	if (!opt->allows || !flatten(ss, peer))
		return true;
	for (unsigned i = 0; i < opt->allows; i++) {
		const struct nbd_allow *allow = &opt->allow[i];

		if (flatten(&allow->net.ss, net) &&
			is_in_net(peer, net,
				allow->prefix + (allow->net.ss.ss_family == AF_INET ? 96 : 0)))
			return true;
	}
	return false;
}

int nbd_allow_parse(struct nbd_allow *allow, const char *text, struct diag *diag)
{
	struct sockaddr_in *in = (struct sockaddr_in *)(void *)&allow->net.ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)&allow->net.ss;
	const char *slash = strchrnul(text, '/');
	char host[INET6_ADDRSTRLEN];
	uint64_t bits, most;

	*allow = (struct nbd_allow){ 0 };
	snprintf(host, sizeof(host), "%.*s", (int)(slash - text), text);
	if (inet_pton(AF_INET, host, &in->sin_addr) == 1)
		allow->net.ss.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1)
		allow->net.ss.ss_family = AF_INET6;
	else
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid address '%s': expected an IP address or a network such as "
			"10.0.0.0/8",
			text);
	allow->net.len = allow->net.ss.ss_family == AF_INET ? sizeof(*in) : sizeof(*in6);
	bits = most = allow->net.ss.ss_family == AF_INET ? 32 : 128;
	if (*slash && parse_u64(slash + 1, 0, most, &bits, NULL))
		return diag_set(diag, DIAG_USAGE, EINVAL, "'%s': prefix length must be 0 to %u",
			text, (unsigned)most);
	allow->prefix = (uint8_t)bits;
	return 0;
}
