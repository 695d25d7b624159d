/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Choose the local port of a login. ib_srp does not: each port has its own add_target, and a login
 * through the wrong one fails. */
#include "kernel_srp.h"
#include "kernel_sys.h"
#include "names.h"
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLASS  "sys/class/infiniband"
#define NO_GID "0000:0000:0000:0000:0000:0000:0000:0000"
#define MAPPED                                                                                     \
	{                                                                                          \
		[10] = 0xff, [11] = 0xff                                                           \
	}        /* RFC 4291, 2.5.5.2 */
#define IPOIB 32 /* ARPHRD_INFINIBAND: 4 bytes, then the port's GID */

struct search {
	int root;
	const char *dev;         /* NULL = any */
	unsigned port;           /* 0 = any */
	char prefix[20];         /* InfiniBand: the first four groups of the GID */
	char gid[2][GID_TEXT];   /* RDMA/CM: GIDs that correspond to the local address; "" = none */
	char iface[IF_NAMESIZE]; /* or the interface with that address if no port has these GIDs */
	struct addr own;
	bool any;    /* accept any port, as the user named it */
	char at[64]; /* the device being examined */
	struct srp_local found;
	unsigned devices, count, down;
	char *text; /* the other matches after the first */
	size_t len;
	char all[300]; /* all ports, for the message */
};

static void note(
	char *text, size_t len, const char *fmt, const char *dev, unsigned port, const char *more)
{
	size_t at = strlen(text);

	if (at < len)
		snprintf(text + at, len - at, fmt, at ? ", " : "", dev, port, more);
}

/* Stop at the first gap: tables have room for a thousand entries, but few are used. */
static bool has_gid(const struct search *search, const char *dir)
{
	char text[64], dev[64];

	for (unsigned i = 0;
		kernel_sys_read(search->root, text, sizeof(text), "%s/gids/%u", dir, i) > 0; i++) {
		if (!strcmp(text, NO_GID))
			continue;
		if (!strcmp(text, search->gid[0]) || !strcmp(text, search->gid[1]))
			return true;
		if (search->iface[0] &&
			kernel_sys_read(search->root, dev, sizeof(dev), "%s/gid_attrs/ndevs/%u",
				dir, i) > 0 &&
			!strcmp(dev, search->iface))
			return true;
	}
	return false;
}

static bool fits(const struct search *search, const char *dir)
{
	char text[64];

	if (search->any)
		return true;
	if (search->prefix[0])
		return kernel_sys_read(search->root, text, sizeof(text), "%s/gids/0", dir) > 0 &&
		       !strncmp(text, search->prefix, strlen(search->prefix));
	return has_gid(search, dir);
}

static bool before(const char *dev, unsigned port, const struct srp_local *other)
{
	int order = strcmp(dev, other->dev);

	return order < 0 || (!order && port < other->port);
}

static void add_match(struct search *search, unsigned port)
{
	if (search->count++) {
		bool first = before(search->at, port, &search->found);

		note(search->text, search->len, "%s%s port %u%s",
			first ? search->found.dev : search->at, first ? search->found.port : port,
			"");
		if (!first)
			return;
	}
	snprintf(search->found.dev, sizeof(search->found.dev), "%s", search->at);
	search->found.port = port;
}

static void check_port(const char *name, void *arg)
{
	struct search *search = arg;
	unsigned port = (unsigned)strtoul(name, NULL, 10);
	char dir[150], state[40] = "", link[24] = "";

	snprintf(dir, sizeof(dir), CLASS "/%.63s/ports/%.10s", search->at, name);
	kernel_sys_read(search->root, state, sizeof(state), "%s/state", dir);
	kernel_sys_read(search->root, link, sizeof(link), "%s/link_layer", dir);
	note(search->all, sizeof(search->all), "%s%s port %u (%s)", search->at, port,
		*link ? link : "no link layer");
	if ((search->dev && strcmp(search->dev, search->at)) ||
		(search->port && search->port != port) || !fits(search, dir) ||
		(search->prefix[0] && !search->any && strcmp(link, "InfiniBand")))
		return;
	if (strstr(state, "ACTIVE"))
		add_match(search, port);
	else
		search->down++;
}

static void check_device(const char *name, void *arg)
{
	struct search *search = arg;
	char path[100];

	if (strlen(name) >= sizeof(search->at))
		return;
	search->devices++;
	snprintf(search->at, sizeof(search->at), "%s", name);
	snprintf(path, sizeof(path), CLASS "/%s/ports", name);
	kernel_sys_list(search->root, path, check_port, search);
}

static int own_address(const struct srp_params *params, struct addr *own, struct diag *diag)
{
	const char *dest = params->value[SRP_OPT_DEST], *src = params->value[SRP_OPT_SRC];
	struct addr to;
	int err = addr_parse(&to, dest, 0, diag), fd;

	if (err || *src)
		return err ? err : addr_parse(own, src, 1, diag);
	own->len = sizeof(own->ss);
	fd = socket(to.ss.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to.ss, to.len) ||
		getsockname(fd, (struct sockaddr *)&own->ss, &own->len))
		err = diag_set(diag, DIAG_UNREACHABLE, errno, "no route to %s: %s", dest,
			diag_errno_text(errno));
	if (fd >= 0)
		close(fd);
	return err;
}

/* A RoCE device uses the address itself as GID. */
static void own_gid(const struct addr *own, uint8_t gid[16])
{
	if (own->ss.ss_family == AF_INET)
		memcpy(gid + 12, &((const struct sockaddr_in *)(const void *)&own->ss)->sin_addr,
			4);
	else
		memcpy(gid, &((const struct sockaddr_in6 *)(const void *)&own->ss)->sin6_addr, 16);
}

/* IPoIB does not: there the interface's hardware address ends with the port's GID. Called only if
 * needed, as some machines have many interfaces. */
static void find_interface(struct search *search)
{
	const struct addr *own = &search->own;
	uint8_t gid[16] = MAPPED;
	struct ifaddrs *list = NULL, *at;
	char text[80];
	unsigned byte[20];

	own_gid(own, gid);
	if (getifaddrs(&list))
		return;
	for (at = list; at && !search->iface[0]; at = at->ifa_next) {
		if (!at->ifa_addr || at->ifa_addr->sa_family != own->ss.ss_family ||
			(at->ifa_flags & IFF_LOOPBACK))
			continue;
		if (own->ss.ss_family == AF_INET
				? !memcmp(&((struct sockaddr_in *)(void *)at->ifa_addr)->sin_addr,
					  gid + 12, 4)
				: !memcmp(&((struct sockaddr_in6 *)(void *)at->ifa_addr)->sin6_addr,
					  gid, 16))
			snprintf(search->iface, sizeof(search->iface), "%s", at->ifa_name);
	}
	freeifaddrs(list);
	if (!search->iface[0] ||
		kernel_sys_read(search->root, text, sizeof(text), "sys/class/net/%s/type",
			search->iface) <= 0 ||
		strtoul(text, NULL, 10) != IPOIB ||
		kernel_sys_read(search->root, text, sizeof(text), "sys/class/net/%s/address",
			search->iface) <= 0)
		return;
	for (unsigned i = 0; i < 20; i++) {
		if (sscanf(text + 3 * i, "%2x", &byte[i]) != 1)
			return;
		if (i >= 4)
			gid[i - 4] = (uint8_t)byte[i];
	}
	gid_text(search->gid[1], gid);
}

static int set_criteria(struct search *search, const struct srp_params *params,
	char own_text[ADDR_TEXT], struct diag *diag)
{
	const char *dgid = params->value[SRP_OPT_DGID];
	uint8_t gid[16] = MAPPED;
	int err;

	own_text[0] = 0;
	if (*dgid) {
		for (unsigned i = 0; i < 4; i++)
			snprintf(search->prefix + 5 * i, sizeof(search->prefix) - 5 * i, "%.4s%s",
				dgid + 4 * i, i < 3 ? ":" : "");
		return 0;
	}
	err = own_address(params, &search->own, diag);
	if (err)
		return err;
	addr_host(&search->own, own_text);
	own_gid(&search->own, gid);
	gid_text(search->gid[0], gid);
	return 0;
}

static int no_port(const struct search *search, const struct srp_params *params, const char *own,
	struct diag *diag)
{
	if (!search->devices) {
		diag_set(diag, DIAG_NO_DEVICE, ENODEV, "no RDMA device");
		return diag_hint(diag, HINT_RDMA_DEVICE);
	}
	if (search->any && search->down)
		return diag_set(diag, DIAG_NO_DEVICE, ENETDOWN, "%s port %u is not active",
			search->dev ? search->dev : "the device's", search->port);
	if (search->any && search->port)
		diag_set(diag, DIAG_NO_DEVICE, ENODEV, "no %s port %u",
			search->dev ? search->dev : "RDMA device's", search->port);
	else if (search->any)
		diag_set(diag, DIAG_NO_DEVICE, ENODEV, "no RDMA device '%s'", search->dev);
	else if (search->down)
		diag_set(diag, DIAG_NO_DEVICE, ENETDOWN,
			"the port that leads to the target is not active");
	else if (*own)
		diag_set(diag, DIAG_NO_DEVICE, ENODEV,
			"no RDMA device has the address %s, the source address for %s", own,
			params->value[SRP_OPT_DEST]);
	else
		diag_set(diag, DIAG_NO_DEVICE, ENODEV,
			"no local InfiniBand port is in the subnet of dgid %s",
			params->value[SRP_OPT_DGID]);
	return diag_hint(diag, "available: %s%s", search->all,
		search->any || *own
			? ""
			: "; "
			  "select one with -i and -p, or connect by address with srp+cm:");
}

int kernel_srp_port(int root, const struct srp_params *params, const char *dev, unsigned port,
	struct srp_local *local, char *others, size_t len, struct diag *diag)
{
	struct search search = { .root = root,
		.dev = dev,
		.port = port,
		.any = dev && port,
		.text = others,
		.len = len };
	char own[ADDR_TEXT] = "";
	int err = search.any ? 0 : set_criteria(&search, params, own, diag);

	others[0] = 0;
	if (err)
		return err;
	kernel_sys_list(root, CLASS, check_device, &search);
	if (!search.count && search.gid[0][0]) {
		find_interface(&search);
		search.devices = search.down = 0;
		search.all[0] = 0;
		kernel_sys_list(root, CLASS, check_device, &search);
	}
	/* the device is known: choose among all its ports */
	if (!search.count && dev && !search.any) {
		struct search retry = {
			.root = root, .dev = dev, .any = true, .text = others, .len = len
		};

		kernel_sys_list(root, CLASS, check_device, &retry);
		search = retry;
	}
	if (!search.count)
		return no_port(&search, params, own, diag);
	*local = search.found;
	return 0;
}
