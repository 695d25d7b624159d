/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Configure a network interface as the firmware had it, by ioctl(2): address, VLAN, link state, and
 * a route to the target. */
#include "ibft.h"
#include "kernel_facts.h"
#include "kernel_sys.h"
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_vlan.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/route.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

struct in6_ifreq_ioctl { /* struct in6_ifreq of linux/ipv6.h, which conflicts with the headers of
			    every libc */
	struct in6_addr addr;
	uint32_t prefix;
	int index;
};

struct setup {
	int root, fd; /* a socket of the address's family */
	const struct ibft_nic_info *nic;
	int family;
	uint8_t own[16], target[16], gateway[16];
	unsigned bits, prefix; /* of the address; of the route's network */
	bool has_gateway;
	char netdev[16];
	struct diag *diag;
};

static int refused(const struct setup *s, const char *what)
{
	int err = errno;

	diag_set(s->diag, err == EPERM || err == EACCES ? DIAG_PERMISSION : DIAG_SYSTEM, err,
		"set %s of %s: %s", what, s->netdev, diag_errno_text(err));
	if (err == EPERM || err == EACCES)
		diag_hint(s->diag, "network set-up needs root (CAP_NET_ADMIN)");
	return -err;
}

static int read_addrs(struct setup *s, const struct ibft_target_info *target)
{
	const struct ibft_nic_info *nic = s->nic;

	s->family = strchr(nic->addr, ':') ? AF_INET6 : AF_INET;
	s->bits = s->family == AF_INET ? 32 : 128;
	s->prefix = nic->prefix;
	if (!nic->netdev[0])
		return diag_set(s->diag, DIAG_NO_DEVICE, ENODEV,
			"no network interface with the address %s of the iBFT", nic->mac);
	strcpy(s->netdev, nic->netdev);
	if (inet_pton(s->family, nic->addr, s->own) != 1)
		return diag_set(s->diag, DIAG_PROTOCOL, EPROTO, "no address for %s in the iBFT",
			nic->netdev);
	if (inet_pton(s->family, target->addr, s->target) != 1)
		return diag_set(s->diag, DIAG_PROTOCOL, EPROTO,
			"the iBFT mixes IPv4 and IPv6: target address %s on %s", target->addr,
			nic->netdev);
	if (!s->prefix && nic->mask[0]) { /* before Linux 4.18 iscsi_ibft reported only the mask */
		struct in_addr mask;

		s->prefix = inet_pton(AF_INET, nic->mask, &mask) == 1
				    ? (unsigned)__builtin_popcount(mask.s_addr)
				    : 0;
	}
	if (!s->prefix || s->prefix > s->bits)
		return diag_set(s->diag, DIAG_PROTOCOL, EPROTO,
			"no network mask for %s in the iBFT", nic->netdev);
	s->has_gateway = inet_pton(s->family, nic->gateway, s->gateway) == 1;
	return 0;
}

static bool same_network(const struct setup *s)
{
	unsigned bytes = s->prefix / 8, rest = s->prefix % 8;

	return !memcmp(s->own, s->target, bytes) &&
	       (!rest || !((s->own[bytes] ^ s->target[bytes]) >> (8 - rest)));
}

static int set_up(const struct setup *s, const char *netdev)
{
	struct ifreq req = { 0 };

	strcpy(req.ifr_name, netdev);
	if (ioctl(s->fd, SIOCGIFFLAGS, &req))
		return refused(s, "the link");
	req.ifr_flags |= IFF_UP;
	return ioctl(s->fd, SIOCSIFFLAGS, &req) ? refused(s, "the link") : 0;
}

/* "eth0.5         | 5  | eth0" in /proc/net/vlan/config */
static bool find_vlan(struct setup *s, unsigned id)
{
	char *text = kernel_sys_read_all(s->root, "proc/net/vlan/config"), *rest = text, *line,
	     name[16], below[16];
	bool found = false;
	unsigned number;

	while (!found && (line = strsep(&rest, "\n")))
		if (sscanf(line, "%15[^ |] | %u | %15s", name, &number, below) == 3 &&
			number == id && !strcmp(below, s->nic->netdev)) {
			strcpy(s->netdev, name);
			found = true;
		}
	free(text);
	return found;
}

static int make_vlan(struct setup *s, unsigned id)
{
	struct vlan_ioctl_args args = { .cmd = ADD_VLAN_CMD, .u.VID = (int)id };
	const char *why;

	if (find_vlan(s, id))
		return 0;
	why = kernel_sys_exists(s->root, "proc/net/vlan") ? ""
							  : kernel_ibft_module(s->root, "8021q");
	strcpy(args.device1, s->nic->netdev);
	if (ioctl(s->fd, SIOCSIFVLAN, &args) && errno != EEXIST) {
		if (errno == ENOPKG || errno == ENOTTY || errno == EINVAL)
			return diag_set(s->diag, DIAG_NO_MODULE, kernel_module_errno(why),
				"VLAN %u of %s: kernel module 8021q is not loaded: %s", id,
				s->netdev, why);
		return refused(s, "the VLAN");
	}
	return find_vlan(s, id)
		       ? 0
		       : diag_set(s->diag, DIAG_SYSTEM, ENODEV,
				 "VLAN %u of %s not found after its creation", id, s->nic->netdev);
}

static struct sockaddr addr4(const uint8_t addr[4])
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr sa;

	memcpy(&in.sin_addr, addr, 4);
	memcpy(&sa, &in, sizeof(sa));
	return sa;
}

static int set_addr4(const struct setup *s)
{
	uint32_t mask = htonl(UINT32_MAX << (32 - s->prefix));
	struct ifreq req = { .ifr_addr = addr4(s->own) };

	strcpy(req.ifr_name, s->netdev);
	if (ioctl(s->fd, SIOCSIFADDR, &req))
		return refused(s, "the address");
	req.ifr_netmask = addr4((const uint8_t *)&mask);
	return ioctl(s->fd, SIOCSIFNETMASK, &req) ? refused(s, "the network mask") : 0;
}

static int set_addr6(const struct setup *s)
{
	struct in6_ifreq_ioctl req = { .prefix = s->prefix,
		.index = (int)if_nametoindex(s->netdev) };

	memcpy(&req.addr, s->own, sizeof(req.addr));
	return ioctl(s->fd, SIOCSIFADDR, &req) && errno != EEXIST ? refused(s, "the address") : 0;
}

static int add_route4(struct setup *s, bool direct)
{
	static const uint8_t host[4] = { 0xff, 0xff, 0xff, 0xff };
	struct rtentry route = { .rt_dst = addr4(s->target),
		.rt_genmask = addr4(host),
		.rt_flags = RTF_UP | RTF_HOST,
		.rt_dev = s->netdev };

	if (!direct) {
		route.rt_gateway = addr4(s->gateway);
		route.rt_flags |= RTF_GATEWAY;
	}
	return ioctl(s->fd, SIOCADDRT, &route) && errno != EEXIST ? refused(s, "the route") : 0;
}

static int add_route6(struct setup *s, bool direct)
{
	struct in6_rtmsg route = { .rtmsg_dst_len = 128,
		.rtmsg_metric = 1,
		.rtmsg_flags = RTF_UP | RTF_HOST,
		.rtmsg_ifindex = (int)if_nametoindex(s->netdev) };

	memcpy(&route.rtmsg_dst, s->target, 16);
	if (!direct) {
		memcpy(&route.rtmsg_gateway, s->gateway, 16);
		route.rtmsg_flags |= RTF_GATEWAY;
	}
	return ioctl(s->fd, SIOCADDRT, &route) && errno != EEXIST ? refused(s, "the route") : 0;
}

static int set_all(struct setup *s)
{
	unsigned vlan = (unsigned)atoi(s->nic->vlan);
	bool direct = same_network(s);
	int err = 0;

	if (!direct && !s->has_gateway)
		return diag_set(s->diag, DIAG_PROTOCOL, EPROTO,
			"the target is in another network than %s, and the iBFT has no gateway",
			s->netdev);
	if (vlan) {
		err = set_up(s, s->nic->netdev);
		err = err ? err : make_vlan(s, vlan);
	}
	if (!err)
		err = set_up(s, s->netdev);
	if (!err)
		err = s->family == AF_INET ? set_addr4(s) : set_addr6(s);
	if (!err)
		err = s->family == AF_INET ? add_route4(s, direct) : add_route6(s, direct);
	return err;
}

int kernel_ibft_network(int root, const struct ibft_nic_info *nic,
	const struct ibft_target_info *target, struct diag *diag)
{
	struct setup s = { .root = root, .nic = nic, .diag = diag };
	int err = read_addrs(&s, target);

	if (err)
		return err;
	s.fd = socket(s.family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s.fd < 0)
		return diag_sys(diag, errno, "open a socket");
	err = set_all(&s);
	close(s.fd);
	return err;
}
