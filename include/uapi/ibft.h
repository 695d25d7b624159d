/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The iSCSI Boot Firmware Table as it stands in the ACPI table of that name (IBM, "iSCSI Boot
 * Firmware Table (iBFT) as Defined in ACPI 3.0b", version 1.03). Offsets count from the table's
 * begin; a text's length is without the NUL that ends it. */
#pragma once
#include "wire.h"

enum { IBFT_CONTROL = 1, IBFT_INITIATOR, IBFT_NIC, IBFT_TARGET }; /* ids of structures */

#define IBFT_VALID 1 /* flags of NICs and targets */
#define IBFT_BOOT  2 /* the firmware has booted by it */

#define IBFT_ORIGIN_DHCP 3 /* of a NIC's address */

struct ibft_header {       /* 3.2.1, an ACPI header */
	char signature[4]; /* "iBFT" */
	le32 length;       /* of all */
	uint8_t revision, checksum;
	char oem[6], oem_table[8];
	uint8_t reserved[24];
};
WIRE_SIZE(struct ibft_header, 48);

struct ibft_part { /* 3.3, begins each structure */
	uint8_t id, version;
	le16 length; /* with this */
	uint8_t index, flags;
};
WIRE_SIZE(struct ibft_part, 6);

struct ibft_control { /* 3.4; more offsets of NICs and targets may follow */
	struct ibft_part part;
	le16 extensions, initiator, nic0, target0, nic1, target1;
};
WIRE_SIZE(struct ibft_control, 18);

struct ibft_text {
	le16 length, offset;
};

struct ibft_initiator { /* 3.5 */
	struct ibft_part part;
	uint8_t isns[16], slp[16], radius[2][16];
	struct ibft_text name;
};
WIRE_SIZE(struct ibft_initiator, 74);

struct ibft_nic { /* 3.6; addresses of IPv4 are mapped ones, ::ffff:0:0/96 */
	struct ibft_part part;
	uint8_t addr[16], prefix, origin, gateway[16], dns[2][16], dhcp[16];
	le16 vlan;
	uint8_t mac[6];
	le16 pci;
	struct ibft_text host;
};
WIRE_SIZE(struct ibft_nic, 102);

struct ibft_target { /* 3.7 */
	struct ibft_part part;
	uint8_t addr[16];
	le16 port;
	/* chap_type: 0 none, 1 CHAP, 2 mutual CHAP; nic: index of the one it is reached by */
	uint8_t lun[8], chap_type, nic;
	struct ibft_text name, user, secret, target_user, target_secret;
};
WIRE_SIZE(struct ibft_target, 54);
