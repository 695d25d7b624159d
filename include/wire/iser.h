/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iSER: the header before each PDU (RFC 7145, 9) and the private data of connect requests. */
#pragma once
#include "wire.h"

struct iser_hdr { /* of an iSCSI control-type PDU */
	uint8_t flags;
	uint8_t reserved[3];
	be32 write_stag;
	be64 write_base;
	be32 read_stag;
	be64 read_base;
};
WIRE_SIZE(struct iser_hdr, 28);
#define ISER_CONTROL    0x10 /* opcode in the upper four bits */
#define ISER_WRITE_STAG 0x08 /* is valid: where the target reads the data of a write */
#define ISER_READ_STAG  0x04 /* where it writes that of a read */
#define ISER_OPCODE(f)  ((f)&0xf0)

struct iser_private { /* InfiniBand's annex A12, as Linux has it */
	uint8_t flags;
	uint8_t reserved[3];
};
WIRE_SIZE(struct iser_private, 4);
enum { ISER_NO_INVALIDATE = 0x40, ISER_NO_ZBVA = 0x80 };
