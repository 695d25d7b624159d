/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Asymmetric logical unit access of an initiator (SPC-4, 5.15): the state of the target port group
 * of the path is its access. A report without that group counts as none. */
#include "ini.h"
#include "wire.h"

#define TRANSITION_MS 60000 /* if the target does not report how long one takes; as Linux */

#define PREF 0x80 /* of a group: the target prefers its ports */

enum { DESIGNATOR_PORT = 4, DESIGNATOR_GROUP = 5 };

static const struct {
	uint8_t access;
	const char *word;
} states[16] = {
	[0x0] = { BDEV_ACCESS_OPTIMIZED, "optimized" },
	[0x1] = { BDEV_ACCESS_NON_OPTIMIZED, "non-optimized" },
	[0x2] = { BDEV_ACCESS_CLOSED, "standby" },
	[0x3] = { BDEV_ACCESS_CLOSED, "unavailable" },
	[0x4] = { BDEV_ACCESS_NON_OPTIMIZED, "lba-dependent" },
	[0xe] = { BDEV_ACCESS_CLOSED, "offline" },
	[0xf] = { BDEV_ACCESS_CHANGING, "transition" },
};

void scsi_ini_read_port(struct scsi_ini *ini, const uint8_t *designator)
{
	uint8_t type = designator[1] & 0xf;

	if ((designator[1] & 0x30) != 0x10 || designator[3] != 4)
		return;
	if (type == DESIGNATOR_GROUP)
		ini->group = (int32_t)wire_be(designator + 6, 2);
	else if (type == DESIGNATOR_PORT)
		ini->port = (int32_t)wire_be(designator + 6, 2);
}

bool scsi_ini_reports_access(const struct scsi_ini *ini)
{
	return ini->tpgs && (ini->group >= 0 || ini->port >= 0);
}

/* Whether it is the group of the path: by its number or, if that is unknown, by its ports. */
static bool is_own_group(const struct scsi_ini *ini, const uint8_t *group, uint32_t ports)
{
	if (ini->group >= 0)
		return wire_be(group + 2, 2) == (uint64_t)ini->group;
	for (uint32_t i = 0; i < ports; i++)
		if (wire_be(group + 8 + 4 * i + 2, 2) == (uint64_t)ini->port)
			return true;
	return false;
}

/* Linux 6.12 leaves the extended header out of the reported length, so the last descriptor is
 * longer than that allows. */
void scsi_ini_read_groups(struct scsi_ini *ini, const uint8_t *page, uint32_t len)
{
	uint64_t end = len < 4 ? 0 : wire_be(page, 4) + 4;
	uint32_t at = 4, ports, room;

	ini->access = BDEV_ACCESS_OPTIMIZED;
	ini->access_word = NULL;
	ini->preferred = false;
	if (len >= 8 && ini->extended && (page[4] & 0x70) == 0x10) {
		if (!ini->up && page[5])
			ini->transition_ms = page[5] * 1000u;
		at = 8;
	}
	for (; at < end && at + 8 <= len; at += 8 + 4 * ports) {
		ports = page[at + 7];
		room = (len - at - 8) / 4;
		if (!is_own_group(ini, page + at, ports < room ? ports : room))
			continue;
		ini->access = states[page[at] & 0xf].access;
		ini->access_word = states[page[at] & 0xf].word;
		ini->access_group = (uint16_t)wire_be(page + at + 2, 2);
		ini->preferred = page[at] & PREF;
		return;
	}
}

void scsi_ini_reset_access(struct scsi_ini *ini)
{
	ini->group = ini->port = -1;
	ini->extended = true;
	ini->transition_ms = TRANSITION_MS;
}
