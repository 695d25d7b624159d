/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NVMe Boot Firmware Table in the ACPI table of that name (NVM Express Boot Specification 1.0,
 * 3). Offsets count from the table's begin. Lists have descriptors of the length that the control
 * descriptor reports; everything else is a heap object. */
#pragma once
#include "wire.h"

/* structure ids */
enum {
	NBFT_CONTROL = 1,
	NBFT_HOST,
	NBFT_HFI,
	NBFT_SSNS,
	NBFT_SECURITY,
	NBFT_DISCOVERY,
	NBFT_HFI_TCP,
	NBFT_SSNS_EXTENDED = 9,
};

#define NBFT_VALID      1 /* flags of every descriptor */
#define NBFT_TRTYPE_TCP 3

struct nbft_ref { /* a heap object; length 0: none */
	le32 offset;
	le16 length;
};
WIRE_SIZE(struct nbft_ref, 6);

struct nbft_header {
	char signature[4]; /* "NBFT" */
	le32 length;       /* of all */
	uint8_t major, checksum;
	char oem[6], oem_table[8];
	le32 oem_revision, creator, creator_revision;
	le32 heap, heap_length;
	struct nbft_ref driver;
	uint8_t minor, reserved[13];
};
WIRE_SIZE(struct nbft_header, 64);

struct nbft_list {
	le32 offset;
	le16 length; /* of each descriptor */
	uint8_t version, count;
};
WIRE_SIZE(struct nbft_list, 8);

struct nbft_control { /* follows the header */
	uint8_t id, major, minor, reserved;
	le16 length;
	uint8_t flags, reserved2;
	struct nbft_ref host;
	uint8_t host_version, reserved3;
	struct nbft_list hfi, ssns, security, discovery;
	uint8_t reserved4[16];
};
WIRE_SIZE(struct nbft_control, 64);

struct nbft_host {
	uint8_t id, flags, hostid[16];
	struct nbft_ref nqn;
	uint8_t reserved[8];
};
WIRE_SIZE(struct nbft_host, 32);

struct nbft_hfi { /* a host fabric interface */
	uint8_t id, index, flags, trtype, reserved[12];
	struct nbft_ref transport; /* struct nbft_hfi_tcp */
	uint8_t reserved2[10];
};
WIRE_SIZE(struct nbft_hfi, 32);

#define NBFT_HFI_DEFAULT_ROUTE 2
#define NBFT_HFI_DHCP          4 /* the DHCP server is set */
#define NBFT_ORIGIN_DHCP       3 /* of the address, as Windows' NL_PREFIX_ORIGIN */

struct nbft_hfi_tcp { /* addresses of IPv4 are mapped ones, ::ffff:0:0/96 */
	uint8_t id, version, trtype, transport_version;
	le16 hfi;
	uint8_t flags;
	le32 pci;
	uint8_t mac[6];
	le16 vlan;
	uint8_t origin, addr[16], prefix, gateway[16], reserved;
	le16 metric;
	uint8_t dns[2][16], dhcp[16];
	struct nbft_ref host;
	uint8_t reserved2[18];
};
WIRE_SIZE(struct nbft_hfi_tcp, 128);

#define NBFT_SSNS_SECURITY      4
#define NBFT_SSNS_EXTENDED_USED 0x10
#define NBFT_SSNS_AVAILABILITY  0x180
#define NBFT_SSNS_UNAVAILABLE   0x100
#define NBFT_SSNS_HDR_DIGEST    2 /* transport flags; valid with NBFT_VALID */
#define NBFT_SSNS_DATA_DIGEST   4

struct nbft_ssns { /* a subsystem and a namespace */
	uint8_t id;
	le16 index, flags;
	uint8_t trtype;
	le16 transport_flags;
	uint8_t discovery, reserved;
	struct nbft_ref addr; /* 16 bytes */
	struct nbft_ref port; /* digits */
	le16 port_id;
	le32 nsid;
	uint8_t nid_type, nid[16], security, hfi, reserved2;
	struct nbft_ref more_hfis; /* an index in each byte */
	struct nbft_ref nqn, extended;
	uint8_t reserved3[62];
};
WIRE_SIZE(struct nbft_ssns, 128);

struct nbft_ssns_extended {
	uint8_t id, version;
	le16 ssns;
	le32 flags;
	le16 cntlid, queue_size;
	struct nbft_ref root_path; /* of DHCP */
};
WIRE_SIZE(struct nbft_ssns_extended, 18);

#define NBFT_SECURITY_AUTH          6 /* DH-HMAC-CHAP */
#define NBFT_SECURITY_AUTH_NONE     0
#define NBFT_SECURITY_AUTH_OPTIONAL 2
#define NBFT_SECURITY_TLS           0x60
#define NBFT_SECURITY_TLS_NONE      0
#define NBFT_SECURITY_TLS_OPTIONAL  0x20
#define NBFT_SECURITY_CIPHERS       0x200 /* restricted to those of a list */
#define NBFT_SECURITY_GROUPS        0x400
#define NBFT_SECURITY_HASHES        0x800

struct nbft_security { /* a security profile */
	uint8_t id, index;
	le16 flags;
	uint8_t secret_type, reserved;
	struct nbft_ref channels, protocols, ciphers, groups, hashes, secret;
	uint8_t reserved2[22];
};
WIRE_SIZE(struct nbft_security, 64);

struct nbft_discovery {
	uint8_t id, flags, index, hfi, security, reserved;
	struct nbft_ref uri, nqn;
	uint8_t reserved2[14];
};
WIRE_SIZE(struct nbft_discovery, 32);
