/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which iSCSI targets this machine is to have: what the firmware (iBFT), the kernel command line
 * and Debian's initramfs say. */
#pragma once
#include "diag.h"
#include "uri.h"
#include "wire/iscsi.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ISCSI_WISH_TEXT   257 /* users and secrets */
#define ISCSI_WISH_NO_LUN UINT64_MAX

struct iscsi_wish { /* one portal of one target; "" = not told */
	char name[ISCSI_NAME_MAX + 1];
	char host[256]; /* address or name, without brackets */
	uint16_t port;  /* 0 = not told */
	int tpgt;       /* -1 = not told */
	bool iser;
	bool firmware; /* names no target, but those that the firmware told */
	uint64_t lun;  /* as Linux counts them, the last number of H:C:T:L */
	char user[2][ISCSI_WISH_TEXT], secret[2][ISCSI_WISH_TEXT]; /* [0] ours, [1] the target's */
	char netdev[16];
	char boot_nic[20], boot_target[20]; /* "ethernet0", "target0" of the iBFT */
	char from[96]; /* for messages: "netroot=iscsi:", "iBFT target0"; holds no secret */
};

/* as a URI, without users and secrets */
void kernel_iscsi_uri(const struct iscsi_wish *, char text[URI_MAX]);

#define ISCSI_WISH_PARAMS 32
struct iscsi_wishes {
	struct iscsi_wish *wish;
	unsigned count;
	char initiator[ISCSI_NAME_MAX + 1], initiator_from[32]; /* "" = not told */
	char *param[ISCSI_WISH_PARAMS]; /* "node.session.timeo.replacement_timeout=30", for all */
	unsigned params;
	int retry_max;     /* -1 = not told */
	bool firmware;     /* the firmware's targets are wanted */
	bool network;      /* and its network set-up */
	unsigned problems; /* lines of `notes` that tell of something wanted and not understood */
	struct diag why;   /* the first of them */
	char notes[2048];  /* a line each */
};
/* The same of this machine, and the firmware's targets where they are wanted, whose initiator
 * counts where the command line names none. -ENOENT: nothing is wanted. */
int kernel_iscsi_wishes(int root, struct iscsi_wishes *, struct diag *);
/* the firmware's targets alone; -ENOENT: there are none */
int kernel_iscsi_firmware(int root, struct iscsi_wishes *, struct diag *);
void kernel_iscsi_wishes_free(struct iscsi_wishes *); /* wipes */

/* "name = value" lines of open-iscsi's configuration until `each` gives other than 0, which is
 * given. path NULL: the usual one, which may be missing. */
int kernel_iscsi_conf_file(int root, const char *path,
	int (*each)(const char *name, const char *value, void *arg), void *arg, struct diag *);

#define IBFT_NICS    8
#define IBFT_TARGETS 8
#define IBFT_ADDR    40
#define IBFT_DAMAGES 8

struct ibft_nic_info { /* texts as the kernel's iscsi_ibft has them; "" = not told */
	unsigned index, flags, origin, prefix;
	char addr[IBFT_ADDR], mask[16], gateway[IBFT_ADDR], dns[2][IBFT_ADDR], dhcp[IBFT_ADDR];
	char vlan[8], mac[18];
	char netdev[16];
};
struct ibft_target_info {
	unsigned index, flags, nic, chap_type; /* nic: index of one, which may be missing */
	char name[ISCSI_NAME_MAX + 1], addr[IBFT_ADDR], lun[24];
	uint64_t number; /* of the LUN, as Linux counts */
	uint16_t port;
	char user[2][ISCSI_WISH_TEXT], secret[2][ISCSI_WISH_TEXT];
};
struct ibft {
	char initiator[ISCSI_NAME_MAX + 1];
	struct ibft_nic_info nic[IBFT_NICS];
	unsigned nics;
	struct ibft_target_info target[IBFT_TARGETS];
	unsigned targets;
	char from[40]; /* where it was read */
	/* "invalid iBFT of the firmware: …" for a structure that is left out */
	char damage[IBFT_DAMAGES][96];
	unsigned damages;
};
/* As iscsi_ibft shows them, which is loaded if need be; where there is none, from the ACPI table
 * itself. Entries without flags are left out. -ENOENT: this machine's firmware has left none;
 * -EPROTO: none but invalid ones. */
int kernel_ibft_targets(int root, struct ibft *, struct diag *);
/* Print a target as a record of open-iscsi, with a line for each value; secrets are hidden. */
struct out;
void kernel_ibft_show(
	struct out *, const struct ibft *, const struct ibft_target_info *, const char *version);
/* NULL: there is none */
const struct ibft_nic_info *kernel_ibft_nic(const struct ibft *, const struct ibft_target_info *);
/* The NIC's address set, the link up, VLAN made, and the target's address routed over it. Needs
 * CAP_NET_ADMIN. */
int kernel_ibft_network(
	int root, const struct ibft_nic_info *, const struct ibft_target_info *, struct diag *);
/* The same for every target with a NIC; problems are counted and noted. */
void kernel_iscsi_network(int root, struct iscsi_wishes *);
/* the network interface with this hardware address; false: there is none */
bool kernel_mac_netdev(int root, const char *mac, char netdev[16]);
