/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Choose the port that the user means, and report why it can't be used. port.c lists the ports. */
#include "dev.h"
#include "names.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PHYS_DISABLED 3
#define PHYS_LINK_UP  5

int mad_gid_parse(uint8_t gid[16], const char *text, struct diag *diag)
{
	if (gid_parse(gid, text))
		return 0;
	return diag_set(diag, DIAG_USAGE, EINVAL,
		"invalid GID '%s': expected an IPv6 address or 32 hex digits", text);
}

void mad_gid_make(uint8_t gid[16], uint64_t prefix, uint64_t guid)
{
	wire_put_be(gid, 8, prefix);
	wire_put_be(gid + 8, 8, guid);
}

/* Rank a port as the default. */
static unsigned rank(const struct mad_port_info *info, bool any_link)
{
	if (!info->infiniband)
		return any_link && info->state == PORT_ACTIVE ? 4 : 0;
	if (info->state == PORT_ACTIVE)
		return 5;
	if (info->phys == PHYS_LINK_UP)
		return 3;
	return info->phys == PHYS_DISABLED ? 1 : 2;
}

static const struct mad_port_info *find_port(const struct mad_port_info *list, unsigned count,
	const char *dev, unsigned port, const uint8_t *gid, bool any_link)
{
	const struct mad_port_info *best = NULL;

	for (unsigned i = 0; i < count; i++) {
		const struct mad_port_info *info = &list[i];
		uint8_t own[16];

		mad_gid_make(own, info->prefix, info->guid);
		if ((dev && strcmp(dev, info->dev)) || (port && port != info->port) ||
			(gid && memcmp(gid, own, sizeof(own))))
			continue;
		if (!best || rank(info, any_link) > rank(best, any_link))
			best = info;
	}
	return best;
}

static int not_found(const struct mad_port_info *list, unsigned count,
	const struct mad_port_choice *choice, const char *dev, unsigned port, struct diag *diag)
{
	if (!count) {
		diag_set(diag, DIAG_NO_DEVICE, ENODEV, "no RDMA device");
		return diag_hint(diag, HINT_RDMA_DEVICE);
	}
	if (choice->gid)
		return diag_set(diag, DIAG_NOT_FOUND, ENODEV,
			"no port of this machine has the GID %s", choice->gid);
	if (dev && !find_port(list, count, dev, 0, NULL, true)) {
		diag_set(diag, DIAG_NOT_FOUND, ENODEV, "no RDMA device '%s'", dev);
		return diag_hint(diag, "available: %s%s", list[0].dev,
			strcmp(list[0].dev, list[count - 1].dev) ? " and others" : "");
	}
	if (dev)
		return diag_set(diag, DIAG_NOT_FOUND, ENODEV, "%s has no port %u", dev, port);
	return diag_set(diag, DIAG_NOT_FOUND, ENODEV, "no RDMA device has a port %u", port);
}

static int wrong_link(const struct mad_port_info *info, bool named, struct diag *diag)
{
	if (!named)
		diag_set(diag, DIAG_UNSUPPORTED, ENODEV, "no InfiniBand port: its link layer is %s",
			info->link_layer);
	else
		diag_set(diag, DIAG_UNSUPPORTED, ENODEV,
			"no subnet administrator: its link layer is %s, not InfiniBand",
			info->link_layer);
	diag_hint(diag, "on RoCE query one target by its IPv6 GID: --gid fe80::...");
	return diag_ctx(diag, "%s port %u", info->dev, info->port);
}

int mad_port_choose(
	struct mad_port_info *out, const struct mad_port_choice *choice, struct diag *diag)
{
	char umad_dev[MAD_DEV_LEN];
	const char *dev = choice->dev, *slash = choice->umad ? strrchr(choice->umad, '/') : NULL;
	unsigned port = choice->port, count;
	const struct mad_port_info *info;
	struct mad_port_info *list;
	uint8_t gid[16];
	int err = 0;

	if (choice->gid && mad_gid_parse(gid, choice->gid, diag))
		return -EINVAL;
	if (choice->umad && mad_dev_of_umad(slash ? slash + 1 : choice->umad, umad_dev, &port))
		return diag_set(diag, DIAG_NOT_FOUND, ENODEV, "no MAD device '%s'", choice->umad);
	if (choice->umad)
		dev = umad_dev;
	err = mad_dev_list(&list, &count, diag);
	if (err)
		return err;
	info = find_port(list, count, dev, port, choice->gid ? gid : NULL, choice->any_link);
	if (!info) {
		err = not_found(list, count, choice, dev, port, diag);
	} else {
		*out = *info;
		if (!info->infiniband && !choice->any_link)
			err = wrong_link(info, dev || port || choice->gid, diag);
	}
	free(list);
	return err;
}

static const char *phys_state_text(unsigned phys)
{
	static const char *const texts[] = {
		"",
		"sleeping",
		"polling",
		"disabled",
		"training",
		"up",
		"recovering",
		"in test",
	};

	return phys && phys < sizeof(texts) / sizeof(*texts) ? texts[phys] : "in an unknown state";
}

const char *mad_port_state_text(uint8_t state)
{
	if (state <= PORT_DOWN)
		return "port is DOWN";
	if (state == PORT_INIT)
		return "port is INIT: no subnet manager has configured it";
	if (state == PORT_ARMED)
		return "port is ARMED: the subnet manager has not activated it";
	return "port has no LID: no subnet manager has configured it";
}

static int port_down(const struct mad_port_info *info, struct diag *diag)
{
	diag_set(diag, DIAG_UNREACHABLE, ENETDOWN, "port is DOWN: its link is %s",
		phys_state_text(info->phys));
	return diag_hint(diag, "%s",
		info->phys == PHYS_DISABLED ? "enable the port"
					    : "check the cable and the switch port");
}

int mad_port_usable(const struct mad_port_info *info, struct diag *diag)
{
	if (!info->infiniband || (info->state >= PORT_ACTIVE && info->lid >= MAD_LID_MIN &&
					 info->lid <= MAD_LID_MAX))
		return 0;
	if (info->state <= PORT_DOWN) {
		port_down(info, diag);
	} else {
		diag_set(diag, DIAG_UNREACHABLE, ENETDOWN, "%s", mad_port_state_text(info->state));
		diag_hint(diag, "start a subnet manager (opensm) or check the running one");
	}
	diag_ctx(diag, "%s port %u", info->dev, info->port);
	return -ENETDOWN;
}
