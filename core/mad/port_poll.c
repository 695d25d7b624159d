/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Poll the state of a port from files in its sysfs directory, which is held open. Nothing is
 * allocated, as this runs once a second for the lifetime of a daemon. */
#include "port.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void read_attr(const struct mad_dev *dev, const char *name, char text[64])
{
	int fd = openat(dev->dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, text, 63);

	text[len > 0 ? len : 0] = 0;
	if (fd >= 0)
		close(fd);
}

/* Returns `bit` if *value has changed. A value that can't be read now is left unchanged. */
static unsigned poll_number(
	const struct mad_dev *dev, const char *name, unsigned old, unsigned bit, unsigned *value)
{
	char text[64], *end;
	unsigned long now;

	read_attr(dev, name, text);
	now = strtoul(text, &end, 0); /* "4: ACTIVE", "0x7" */
	*value = end == text ? old : (unsigned)now;
	return *value != old ? bit : 0;
}

static unsigned poll_gid(const struct mad_dev *dev, struct mad_port_info *info)
{
	uint64_t prefix, guid;
	uint8_t gid[16];
	char text[64];

	read_attr(dev, "gids/0", text);
	text[strcspn(text, "\n")] = 0;
	if (inet_pton(AF_INET6, text, gid) != 1)
		return 0;
	prefix = wire_be(gid, 8);
	guid = wire_be(gid + 8, 8);
	if (prefix == info->prefix && guid == info->guid)
		return 0;
	info->prefix = prefix;
	info->guid = guid;
	return PORT_EVENT_GID;
}

static unsigned poll_pkeys(struct mad_dev *dev, struct mad_port_info *info, unsigned pkeys)
{
	unsigned what = 0, value;
	char name[32];

	for (unsigned i = 0; i < pkeys && i < info->pkeys; i++) {
		dev->pkey_at = (dev->pkey_at + 1) % info->pkeys;
		snprintf(name, sizeof(name), "pkeys/%u", dev->pkey_at);
		what |= poll_number(dev, name, info->pkey[dev->pkey_at], PORT_EVENT_PKEYS, &value);
		info->pkey[dev->pkey_at] = (uint16_t)value;
	}
	return what;
}

int mad_dev_poll(struct mad_dev *dev, struct mad_port_info *info, unsigned pkeys)
{
	unsigned what, state, phys, lid, lmc, sm_lid, sm_sl;

	if (faccessat(dev->dir, "state", F_OK, 0) && (errno == ENOENT || errno == ENODEV))
		return -ENODEV;
	what = poll_number(dev, "state", info->state, PORT_EVENT_STATE, &state);
	poll_number(dev, "phys_state", info->phys, 0, &phys);
	what |= poll_number(dev, "lid", info->lid, PORT_EVENT_LID, &lid);
	what |= poll_number(dev, "lid_mask_count", info->lmc, PORT_EVENT_LID, &lmc);
	what |= poll_number(dev, "sm_lid", info->sm_lid, PORT_EVENT_SM, &sm_lid);
	what |= poll_number(dev, "sm_sl", info->sm_sl, PORT_EVENT_SM, &sm_sl);
	info->state = (uint8_t)state;
	info->phys = (uint8_t)phys;
	info->lid = (uint16_t)lid;
	info->lmc = (uint8_t)lmc;
	info->sm_lid = (uint16_t)sm_lid;
	info->sm_sl = (uint8_t)sm_sl;
	return (int)(what | poll_gid(dev, info) | poll_pkeys(dev, info, pkeys));
}
