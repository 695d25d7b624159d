/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An iSCSI initiator that sends exactly what a test specifies, well-formed or not. The target's
 * numbers and digests are checked all the time; a fault of it is an abort(). Nothing here waits:
 * iscsi_host_poll() moves bytes, and the caller turns the target's loop. */
#pragma once
#include "wire/iscsi.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ISCSI_HOST_R2TS  64
#define ISCSI_HOST_RECV  8192 /* MaxRecvDataSegmentLength; also of what it sends */
#define ISCSI_HOST_BURST 32768

struct addr;

struct iscsi_host_r2t {
	uint32_t itt, ttt, offset, len, datasn;
};
struct iscsi_host {
	int fd;
	bool up; /* logged in */
	/* dirty: it has sent what no initiator may, so answers may be missing or too many; deaf:
	 * receives nothing; mute: answers no ping */
	bool digests, dirty, deaf, mute, over;
	uint32_t cmdsn, itt, statsn, asked, replies;
	uint8_t status; /* of the last command */
	struct iscsi_host_r2t r2t[ISCSI_HOST_R2TS];
	unsigned r2ts;
	/* by opcode: how many PDUs have come, the last one */
	unsigned seen[64];
	struct iscsi_bhs last[64];
	uint8_t text[ISCSI_HOST_RECV]; /* of the last PDU with text or sense */
	uint32_t text_len;
	size_t in_len, out_len;
	uint8_t in[2 * ISCSI_HOST_RECV + 256], out[1u << 18], data[65536];
};

struct iscsi_host *iscsi_host_dial(const struct addr *);
void iscsi_host_leave(struct iscsi_host *); /* hangs up and frees; NULL is allowed */
void iscsi_host_poll(struct iscsi_host *);

void iscsi_host_add(struct iscsi_host *, const void *, size_t len); /* any bytes */
/* With its length and digests; nothing is sent if there is no room for it. */
void iscsi_host_put(struct iscsi_host *, void *pdu, const void *data, uint32_t len);
/* A login in one step, from the operational stage; target NULL: discovery. */
struct iscsi_host_login {
	const char *name, *target;
	uint8_t isid;
	bool digests;
	bool default_burst; /* FirstBurstLength is not negotiated; else 8 KiB */
	const char *keys;   /* more of them, each with its 0 before it; may be NULL */
	size_t keys_len;
};
void iscsi_host_login(struct iscsi_host *, const struct iscsi_host_login *);
struct iscsi_scsi_cmd iscsi_host_command(struct iscsi_host *, uint8_t flags, uint32_t expected);
void iscsi_host_rw(struct iscsi_scsi_cmd *, uint8_t opcode, uint32_t lba, uint16_t blocks);
void iscsi_host_ask(struct iscsi_host *, struct iscsi_scsi_cmd *, const void *data, uint32_t len);
/* Send a Data-Out for r2t[i]. The R2T is removed once all of its data is sent. */
void iscsi_host_give(
	struct iscsi_host *, unsigned i, uint32_t len, uint8_t flags, const void *data);
