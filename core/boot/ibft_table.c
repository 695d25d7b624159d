/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse an iBFT as the firmware left it, with every offset and length checked, into the texts that
 * iscsi_ibft would show. */
#include "ibft.h"
#include "iscsi_conf.h"
#include "names.h"
#include "uapi/ibft.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DAMAGED "invalid iBFT of the firmware: %s at offset %zu"

struct table {
	const uint8_t *at;
	size_t len;
	struct ibft *to;
};

/* Leave out the structure at hand; false. */
static bool leave_out(const struct table *t, const char *what, size_t offset)
{
	struct ibft *to = t->to;

	if (to->damages < IBFT_DAMAGES)
		snprintf(to->damage[to->damages++], sizeof(to->damage[0]), DAMAGED, what, offset);
	return false;
}

/* NULL: the part is absent or does not fit. */
static const void *find_part(const struct table *t, size_t offset, size_t size)
{
	const struct ibft_part *part = (const void *)(t->at + offset);

	if (offset > t->len || t->len - offset < size || get_le16(part->length) < size ||
		get_le16(part->length) > t->len - offset)
		return NULL;
	return part;
}

static bool parse_text(const struct table *t, struct ibft_text text, char *to, size_t room)
{
	size_t len = get_le16(text.length), offset = get_le16(text.offset);

	*to = 0;
	if (!len)
		return true;
	if (offset > t->len || len > t->len - offset)
		return leave_out(t, "text beyond the end", offset);
	while (len && !t->at[offset + len - 1]) /* some firmware counts the NUL */
		len--;
	if (len >= room || memchr(t->at + offset, 0, len))
		return leave_out(t, "text too long or with a NUL", offset);
	memcpy(to, t->at + offset, len);
	to[len] = 0;
	return true;
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i])
			return false;
	return true;
}

static void parse_addr(const uint8_t addr[16], char text[IBFT_ADDR])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	*text = 0;
	if (is_zero(addr, 16))
		return;
	if (!memcmp(addr, mapped, 12)) {
		snprintf(text, IBFT_ADDR, "%u.%u.%u.%u", addr[12], addr[13], addr[14], addr[15]);
		return;
	}
	gid_text(text, addr); /* prints eight groups, like an IPv6 address */
}

static bool parse_nic(struct table *t, size_t offset)
{
	const struct ibft_nic *nic = find_part(t, offset, sizeof(*nic));
	struct ibft_nic_info *to = &t->to->nic[t->to->nics];

	if (!nic)
		return leave_out(t, "NIC beyond the end", offset);
	if (!nic->part.flags || t->to->nics == IBFT_NICS)
		return true;
	*to = (struct ibft_nic_info){ .index = nic->part.index,
		.flags = nic->part.flags,
		.origin = nic->origin,
		.prefix = nic->prefix };
	parse_addr(nic->addr, to->addr);
	parse_addr(nic->gateway, to->gateway);
	parse_addr(nic->dns[0], to->dns[0]);
	parse_addr(nic->dns[1], to->dns[1]);
	parse_addr(nic->dhcp, to->dhcp);
	if (nic->prefix && nic->prefix <= 32) {
		struct in_addr mask = { htonl(UINT32_MAX << (32 - nic->prefix)) };

		inet_ntop(AF_INET, &mask, to->mask, sizeof(to->mask));
	}
	snprintf(to->vlan, sizeof(to->vlan), "%u", get_le16(nic->vlan));
	snprintf(to->mac, sizeof(to->mac), "%02x:%02x:%02x:%02x:%02x:%02x", nic->mac[0],
		nic->mac[1], nic->mac[2], nic->mac[3], nic->mac[4], nic->mac[5]);
	t->to->nics++;
	return true;
}

static void parse_lun(const uint8_t lun[8], struct ibft_target_info *to)
{
	int len = 0;

	for (unsigned i = 0; i < 8; i++)
		len += snprintf(to->lun + len, sizeof(to->lun) - (size_t)len, "%x", lun[i]);
	to->number = lun_number(lun);
}

/* Without CHAP its texts are unused, and some firmware leaves anything there. */
static bool parse_chap(
	const struct table *t, const struct ibft_target *target, struct ibft_target_info *to)
{
	const struct ibft_text user[] = { target->user, target->target_user },
			       secret[] = { target->secret, target->target_secret };
	bool good = true;

	for (unsigned i = 0; i < kernel_ibft_chap_users(target->chap_type) && good; i++)
		good = parse_text(t, user[i], to->user[i], ISCSI_BOOT_TEXT) &&
		       parse_text(t, secret[i], to->secret[i], ISCSI_BOOT_TEXT);
	return good;
}

static bool parse_target(struct table *t, size_t offset)
{
	const struct ibft_target *target = find_part(t, offset, sizeof(*target));
	struct ibft_target_info *to = &t->to->target[t->to->targets];

	if (!target)
		return leave_out(t, "target beyond the end", offset);
	if (!target->part.flags || t->to->targets == IBFT_TARGETS)
		return true;
	*to = (struct ibft_target_info){ .index = target->part.index,
		.flags = target->part.flags,
		.nic = target->nic,
		.chap_type = target->chap_type,
		.port = get_le16(target->port) };
	parse_addr(target->addr, to->addr);
	parse_lun(target->lun, to);
	if (!parse_text(t, target->name, to->name, sizeof(to->name)) || !parse_chap(t, target, to))
		return false;
	t->to->targets += to->name[0] && to->addr[0];
	return true;
}

static bool parse_initiator(struct table *t, size_t offset)
{
	const struct ibft_initiator *initiator = find_part(t, offset, sizeof(*initiator));

	return initiator
		       ? parse_text(t, initiator->name, t->to->initiator, sizeof(t->to->initiator))
		       : leave_out(t, "initiator beyond the end", offset);
}

static bool parse_part(struct table *t, size_t offset)
{
	const struct ibft_part *part = find_part(t, offset, sizeof(*part));

	if (!part)
		return leave_out(t, "structure beyond the end", offset);
	switch (part->id) {
	case IBFT_INITIATOR:
		return parse_initiator(t, offset);
	case IBFT_NIC:
		return parse_nic(t, offset);
	case IBFT_TARGET:
		return parse_target(t, offset);
	default:
		return true;
	}
}

static int damaged(struct diag *diag, const char *what, size_t offset)
{
	return diag_set(diag, DIAG_PROTOCOL, EPROTO, DAMAGED, what, offset);
}

/* Like the kernel, ignore the checksum: tables passed from loader to loader have wrong ones. */
int kernel_ibft_table(const void *bytes, size_t len, struct ibft *ibft, struct diag *diag)
{
	const struct ibft_header *header = bytes;
	struct table t = { .at = bytes, .to = ibft };
	const struct ibft_control *control;
	size_t offsets;

	*ibft = (struct ibft){ .from = "ACPI table iBFT" };
	if (len < sizeof(*header) ||
		(memcmp(header->signature, "iBFT", 4) && memcmp(header->signature, "IBFT", 4)))
		return damaged(diag, "no iBFT signature", 0);
	t.len = get_le32(header->length) < len ? get_le32(header->length) : len;
	control = find_part(&t, sizeof(*header), sizeof(*control));
	if (!control || control->part.id != IBFT_CONTROL)
		return damaged(diag, "no control structure", sizeof(*header));
	offsets = (get_le16(control->part.length) - offsetof(struct ibft_control, initiator)) /
		  sizeof(le16);
	for (size_t i = 0; i < offsets; i++) {
		le16 offset;

		memcpy(&offset,
			t.at + sizeof(*header) + offsetof(struct ibft_control, initiator) +
				i * sizeof(le16),
			sizeof(le16));
		if (get_le16(offset))
			parse_part(&t, get_le16(offset));
	}
	return 0;
}
