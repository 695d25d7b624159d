/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The contents of the firmware's iBFT: its readers, and the setup of its network interfaces. */
#pragma once
#include "kernel_iscsi_conf.h"

#define IBFT_NICS    8
#define IBFT_TARGETS 8
#define IBFT_ADDR    40
#define IBFT_DAMAGES 8

struct ibft_nic_info { /* texts as the kernel's iscsi_ibft prints them; "": unset */
	unsigned index, flags, origin, prefix;
	char addr[IBFT_ADDR], mask[16], gateway[IBFT_ADDR], dns[2][IBFT_ADDR], dhcp[IBFT_ADDR];
	char vlan[8], mac[18];
	char netdev[16];
};
struct ibft_target_info {
	unsigned index, flags, nic, chap_type; /* nic: index of one, which may be missing */
	char name[ISCSI_NAME_MAX + 1], addr[IBFT_ADDR], lun[24];
	uint64_t number; /* of the LUN, as Linux numbers it */
	uint16_t port;
	char user[2][ISCSI_BOOT_TEXT], secret[2][ISCSI_BOOT_TEXT];
};
struct ibft {
	char initiator[ISCSI_NAME_MAX + 1];
	struct ibft_nic_info nic[IBFT_NICS];
	unsigned nics;
	struct ibft_target_info target[IBFT_TARGETS];
	unsigned targets;
	char from[40]; /* the directory or table that was read */
	/* "invalid iBFT of the firmware: …" for each structure that is left out */
	char damage[IBFT_DAMAGES][96];
	unsigned damages;
};
/* Read the iBFT from the kernel's iscsi_ibft, which is loaded, or else from the ACPI table. Entries
 * without flags are left out. -ENOENT: no iBFT or no target; -EPROTO: the table or all its targets
 * are invalid. */
int kernel_ibft_targets(int root, struct ibft *, struct diag *);
/* Return the NIC of a target; NULL: none. */
const struct ibft_nic_info *kernel_ibft_nic(const struct ibft *, const struct ibft_target_info *);
/* Configure the NIC: address, link up, VLAN, and a route to the target. Needs CAP_NET_ADMIN. */
int kernel_ibft_network(
	int root, const struct ibft_nic_info *, const struct ibft_target_info *, struct diag *);
/* Read the iBFT like kernel_ibft_targets(), but succeed without targets. */
int kernel_ibft(int root, struct ibft *, struct diag *);
/* Load a module that the firmware's settings need, unless kernel_ibft_never_load() was called.
 * Return why it is not loaded, or NULL. */
const char *kernel_ibft_module(int root, const char *module);
/* Parse the ACPI table; does not set netdevs. */
int kernel_ibft_table(const void *table, size_t len, struct ibft *, struct diag *);
/* Return the number of CHAP users that the CHAP type of a target needs. */
static inline unsigned kernel_ibft_chap_users(unsigned chap_type)
{
	return chap_type < 2 ? chap_type : 2;
}
/* Convert a target of the iBFT. */
void kernel_ibft_boot_target(
	const struct ibft *, const struct ibft_target_info *, struct iscsi_boot_target *);
