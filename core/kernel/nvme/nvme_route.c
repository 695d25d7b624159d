/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Set the origin of a connection in the form that each driver takes: an interface for nvme-tcp, an
 * address for nvme-rdma. */
#include "kernel_nvmf.h"
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static bool link_local(const struct addr *addr)
{
	return addr->ss.ss_family == AF_INET6 &&
	       IN6_IS_ADDR_LINKLOCAL(
		       &((const struct sockaddr_in6 *)(const void *)&addr->ss)->sin6_addr);
}

static void host_text(char out[ADDR_TEXT], const struct addr *addr, const char *iface)
{
	const struct sockaddr_in6 *sin6 = (const void *)&addr->ss;

	if (addr->ss.ss_family != AF_INET6) {
		addr_host(addr, out);
		return;
	}
	inet_ntop(AF_INET6, &sin6->sin6_addr, out, ADDR_TEXT);
	if (link_local(addr) && iface)
		snprintf(out + strlen(out), ADDR_TEXT - strlen(out), "%%%s", iface);
}

/* Find the interface's first address that can reach the target: same family, link-local to
 * link-local. */
static int address_of(
	const char *iface, const struct addr *target, char out[ADDR_TEXT], struct diag *diag)
{
	struct ifaddrs *list, *at;
	bool found = false, exists = if_nametoindex(iface);

	if (!exists)
		return diag_set(diag, DIAG_NO_DEVICE, ENODEV, "no network interface '%s'", iface);
	if (getifaddrs(&list))
		return diag_sys(diag, errno, "addresses of %s", iface);
	for (at = list; at && !found; at = at->ifa_next) {
		struct addr own = { 0 };

		if (strcmp(at->ifa_name, iface) || !at->ifa_addr ||
			at->ifa_addr->sa_family != target->ss.ss_family)
			continue;
		own.len = target->ss.ss_family == AF_INET ? sizeof(struct sockaddr_in)
							  : sizeof(struct sockaddr_in6);
		memcpy(&own.ss, at->ifa_addr, own.len);
		if (link_local(&own) != link_local(target))
			continue;
		host_text(out, &own, iface);
		found = true;
	}
	freeifaddrs(list);
	if (!found)
		return diag_set(diag, DIAG_NOT_FOUND, EADDRNOTAVAIL,
			"interface '%s' has no %s%s address", iface,
			link_local(target) ? "link-local " : "",
			target->ss.ss_family == AF_INET ? "IPv4" : "IPv6");
	return 0;
}

/* The scope of an address is the interface in the address, or else the given one. */
static int scope(const char *key, const char *text, const struct addr *addr, const char *iface,
	char out[ADDR_TEXT], struct diag *diag)
{
	const struct sockaddr_in6 *sin6 = (const void *)&addr->ss;
	char own[IF_NAMESIZE];

	if (!link_local(addr)) {
		host_text(out, addr, NULL);
		return 0;
	}
	if (sin6->sin6_scope_id && if_indextoname(sin6->sin6_scope_id, own)) {
		if (iface && strcmp(own, iface))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"%s '%s' is on %s, but host_iface is %s", key, text, own, iface);
		iface = own;
	}
	if (!iface) {
		diag_set(diag, DIAG_USAGE, EINVAL,
			"%s '%s': a link-local address requires an interface", key, text);
		return diag_hint(diag, "append it (%s%%eth0), or add --host-iface eth0", text);
	}
	host_text(out, addr, iface);
	return 0;
}

int kernel_nvmf_route(struct nvmf_params *params, struct nvmf_route *made, struct diag *diag)
{
	const char *given = made->iface ? made->iface : params->value[NVMF_HOST_IFACE],
		   *source = made->iface ? NULL : params->value[NVMF_HOST_TRADDR], *iface = given;
	char scoped[IF_NAMESIZE] = "";
	struct addr target, own;
	int err = addr_resolve(&target, params->value[NVMF_TRADDR], 1, ADDR_LOOKUP_MS, diag);

	if (err)
		return err;
	if (source) {
		err = addr_source(&own, "host_traddr", source, diag);
		if (!err && own.ss.ss_family != target.ss.ss_family)
			err = diag_set(diag, DIAG_USAGE, EINVAL,
				"host_traddr '%s' and traddr '%s' must be of the same address "
				"family",
				source, params->value[NVMF_TRADDR]);
		if (err)
			return err;
		if (!iface && link_local(&own) &&
			if_indextoname(
				((struct sockaddr_in6 *)(void *)&own.ss)->sin6_scope_id, scoped))
			iface = scoped;
	}
	err = scope("traddr", params->value[NVMF_TRADDR], &target, iface, made->traddr, diag);
	if (!err && source && !iface && link_local(&target) &&
		if_indextoname(((struct sockaddr_in6 *)(void *)&target.ss)->sin6_scope_id, scoped))
		iface = scoped;
	if (!err && source)
		err = scope("host_traddr", source, &own, iface, made->host_traddr, diag);
	if (err)
		return err;
	params->value[NVMF_TRADDR] = made->traddr;
	if (source)
		params->value[NVMF_HOST_TRADDR] = made->host_traddr;
	if (strcmp(params->value[NVMF_TRANSPORT], "rdma") || !given)
		return 0;
	if (!source) {
		err = address_of(given, &target, made->host_traddr, diag);
		if (err)
			return err;
		made->iface = given;
		params->value[NVMF_HOST_TRADDR] = made->host_traddr;
	}
	params->value[NVMF_HOST_IFACE] = NULL;
	return 0;
}
