/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the firmware's iSCSI targets that the kernel's iscsi_ibft shows in /sys/firmware/ibft
 * (Documentation/ABI/testing/sysfs-ibft). */
#include "uapi/ibft.h"
#include "ibft.h"
#include "iscsi_conf.h"
#include "kernel_facts.h"
#include "kernel_sys.h"
#include "uri.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DIR        "sys/firmware/ibft"
#define ACPI_TABLE "sys/firmware/acpi/tables/iBFT"
#define TABLE_MAX  65536 /* its offsets have 16 bits */

static void read_text(int root, const char *part, const char *name, char *text, size_t len)
{
	if (kernel_sys_read(root, text, len, DIR "/%s/%s", part, name) < 0)
		*text = 0;
}

static unsigned read_number(int root, const char *part, const char *name, unsigned otherwise)
{
	char text[16];
	uint64_t number;

	read_text(root, part, name, text, sizeof(text));
	return parse_u64(text, 0, UINT32_MAX, &number, NULL) ? otherwise : (unsigned)number;
}

struct netdev_search {
	int root;
	const char *mac;
	char *found;
};

/* Match by address, but only interfaces with a device: bridges, bonds and VLANs have the same
 * address as the interface below. */
static void match_netdev(const char *name, void *arg)
{
	struct netdev_search *search = arg;
	char mac[40], type[16], path[64];

	if (strlen(name) >= 16 ||
		kernel_sys_read(search->root, mac, sizeof(mac), "sys/class/net/%s/address", name) <=
			0 ||
		strcasecmp(mac, search->mac) ||
		kernel_sys_read(search->root, type, sizeof(type), "sys/class/net/%s/type", name) <=
			0 ||
		strcmp(type, "1"))
		return;
	snprintf(path, sizeof(path), "sys/class/net/%s/device", name);
	if (!*search->found || kernel_sys_exists(search->root, path))
		strcpy(search->found, name);
}

bool kernel_mac_netdev(int root, const char *mac, char netdev[16])
{
	struct netdev_search search = { .root = root, .mac = mac, .found = netdev };

	*netdev = 0;
	kernel_sys_list(root, "sys/class/net", match_netdev, &search);
	return *netdev;
}

static void first_name(const char *name, void *arg)
{
	if (!*(char *)arg && strlen(name) < 16)
		strcpy(arg, name);
}

static void read_nic(int root, const char *part, struct ibft_nic_info *nic)
{
	char path[96];

	*nic = (struct ibft_nic_info){ .index = read_number(root, part, "index", 0),
		.flags = read_number(root, part, "flags", 0),
		.origin = read_number(root, part, "origin", 0),
		.prefix = read_number(root, part, "prefix-len", 0) };
	read_text(root, part, "ip-addr", nic->addr, sizeof(nic->addr));
	read_text(root, part, "subnet-mask", nic->mask, sizeof(nic->mask));
	read_text(root, part, "gateway", nic->gateway, sizeof(nic->gateway));
	read_text(root, part, "primary-dns", nic->dns[0], IBFT_ADDR);
	read_text(root, part, "secondary-dns", nic->dns[1], IBFT_ADDR);
	read_text(root, part, "dhcp", nic->dhcp, sizeof(nic->dhcp));
	read_text(root, part, "vlan", nic->vlan, sizeof(nic->vlan));
	read_text(root, part, "mac", nic->mac, sizeof(nic->mac));
	snprintf(path, sizeof(path), DIR "/%.16s/device/net", part);
	kernel_sys_list(root, path, first_name, nic->netdev);
	if (!nic->netdev[0])
		kernel_mac_netdev(root, nic->mac, nic->netdev);
}

/* Parse a LUN, whose eight bytes iscsi_ibft writes as hex digits without leading zeroes. In a LUN
 * with one level the third and later bytes are zeroes. With three digits before those, the first
 * digit is the first byte, which then can only mean addressing by number. */
static uint64_t lun_of(const char *text)
{
	size_t digits = strlen(text);
	char head[8] = "";
	unsigned first = 0, second = 0;

	if (digits < 8 || digits > 10 || strcmp(text + digits - 6, "000000"))
		return 0;
	memcpy(head, text, digits - 6);
	if (strlen(head) == 4)
		sscanf(head, "%2x%2x", &first, &second);
	else
		sscanf(head, "%1x%2x", &first, &second);
	return first << 8 | second;
}

static void read_target(int root, const char *part, struct ibft_target_info *target)
{
	*target = (struct ibft_target_info){ .index = read_number(root, part, "index", 0),
		.flags = read_number(root, part, "flags", 0),
		.nic = read_number(root, part, "nic-assoc", UINT32_MAX),
		.chap_type = read_number(root, part, "chap-type", 2),
		.port = (uint16_t)read_number(root, part, "port", ISCSI_PORT) };
	read_text(root, part, "target-name", target->name, sizeof(target->name));
	read_text(root, part, "ip-addr", target->addr, sizeof(target->addr));
	read_text(root, part, "lun", target->lun, sizeof(target->lun));
	target->number = lun_of(target->lun);
	for (unsigned i = 0; i < kernel_ibft_chap_users(target->chap_type); i++) {
		read_text(root, part, i ? "rev-chap-name" : "chap-name", target->user[i],
			ISCSI_BOOT_TEXT);
		read_text(root, part, i ? "rev-chap-name-secret" : "chap-secret", target->secret[i],
			ISCSI_BOOT_TEXT);
	}
}

struct ibft_read {
	int root;
	struct ibft *to;
};

static void read_part(const char *name, void *arg)
{
	const struct ibft_read *r = arg;
	struct ibft *to = r->to;

	if (!strncmp(name, "ethernet", 8) && to->nics < IBFT_NICS) {
		read_nic(r->root, name, &to->nic[to->nics]);
		to->nics += to->nic[to->nics].flags != 0;
	} else if (!strncmp(name, "target", 6) && to->targets < IBFT_TARGETS) {
		struct ibft_target_info *target = &to->target[to->targets];

		read_target(r->root, name, target);
		to->targets += target->flags && target->name[0] && target->addr[0];
	}
}

static int by_index(const void *a, const void *b)
{
	const struct ibft_target_info *left = a, *right = b;

	return left->index < right->index ? -1 : left->index > right->index;
}

static int read_table(int root, struct ibft *ibft, struct diag *diag)
{
	uint8_t *table = malloc(TABLE_MAX);
	ssize_t len = table ? kernel_sys_read_bytes(root, ACPI_TABLE, table, TABLE_MAX) : -ENOMEM;
	int err = len < 0 ? (int)len : kernel_ibft_table(table, (size_t)len, ibft, diag);

	secret_disable_dumps();
	if (len > 0)
		explicit_bzero(table, (size_t)len);
	free(table);
	for (unsigned i = 0; i < ibft->nics && !err; i++)
		kernel_mac_netdev(root, ibft->nic[i].mac, ibft->nic[i].netdev);
	return err;
}

static int no_table(int err, const char *why, struct diag *diag)
{
	if (err == -EACCES || err == -EPERM)
		return diag_set(
			diag, DIAG_PERMISSION, -err, "only root can read the firmware's iBFT");
	if (err == -ENOMEM)
		return diag_sys(diag, ENOMEM, "iBFT");
	diag_set(diag, DIAG_NOT_FOUND, ENOENT, "the firmware provides no iBFT");
	if (why)
		diag_hint(diag,
			"an iBFT outside ACPI needs the kernel module iscsi_ibft, which is not "
			"loaded: %s",
			why);
	return -ENOENT;
}

static bool never_load;

void kernel_ibft_never_load(void)
{
	never_load = true;
}

void kernel_ibft_load(int root)
{
	struct ibft ibft;
	bool vlan = false;

	if (!kernel_sys_exists(root, DIR "/initiator"))
		kernel_module_load(root, "iscsi_ibft");
	never_load = true;
	if (!kernel_ibft(root, &ibft, NULL))
		for (unsigned i = 0; i < ibft.nics; i++)
			vlan |= atoi(ibft.nic[i].vlan) != 0;
	if (vlan && !kernel_sys_exists(root, "proc/net/vlan"))
		kernel_module_load(root, "8021q");
	explicit_bzero(&ibft, sizeof(ibft));
}

const char *kernel_ibft_module(int root, const char *module)
{
	return never_load ? "modprobe failed" : kernel_module_load(root, module);
}

int kernel_ibft(int root, struct ibft *ibft, struct diag *diag)
{
	struct ibft_read r = { .root = root, .to = ibft };
	const char *why = NULL;
	int err;

	*ibft = (struct ibft){ .from = "/" DIR };
	if (!kernel_sys_exists(root, DIR "/initiator"))
		why = kernel_ibft_module(root, "iscsi_ibft");
	if (!kernel_sys_exists(root, DIR "/initiator")) {
		err = read_table(root, ibft, diag);
		return !err || err == -EPROTO ? err : no_table(err, why, diag);
	}
	read_text(root, "initiator", "initiator-name", ibft->initiator, sizeof(ibft->initiator));
	kernel_sys_list(root, DIR, read_part, &r);
	qsort(ibft->target, ibft->targets, sizeof(ibft->target[0]), by_index);
	return 0;
}

int kernel_ibft_targets(int root, struct ibft *ibft, struct diag *diag)
{
	int err = kernel_ibft(root, ibft, diag);

	if (err || ibft->targets)
		return err;
	return ibft->damages
		       ? diag_set(diag, DIAG_PROTOCOL, EPROTO, "%s", ibft->damage[0])
		       : diag_set(diag, DIAG_NOT_FOUND, ENOENT, "no target in the firmware's iBFT");
}

const struct ibft_nic_info *kernel_ibft_nic(
	const struct ibft *ibft, const struct ibft_target_info *target)
{
	for (unsigned i = 0; i < ibft->nics; i++)
		if (ibft->nic[i].index == target->nic)
			return &ibft->nic[i];
	return NULL;
}

void kernel_ibft_boot_target(const struct ibft *ibft, const struct ibft_target_info *target,
	struct iscsi_boot_target *entry)
{
	const struct ibft_nic_info *nic = kernel_ibft_nic(ibft, target);

	*entry = (struct iscsi_boot_target){
		.port = target->port ? target->port : ISCSI_PORT, .tpgt = -1, .lun = target->number
	};
	strcpy(entry->name, target->name);
	strcpy(entry->host, target->addr);
	memcpy(entry->user, target->user, sizeof(entry->user));
	memcpy(entry->secret, target->secret, sizeof(entry->secret));
	snprintf(entry->boot_target, sizeof(entry->boot_target), "target%u", target->index);
	if (nic)
		snprintf(entry->boot_nic, sizeof(entry->boot_nic), "ethernet%u", nic->index);
	snprintf(entry->from, sizeof(entry->from), "iBFT target%u (%s)", target->index, ibft->from);
}
