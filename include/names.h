/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Names of hosts, targets, ports and disks: a parser, check and printer for each kind. Parsers
 * accept the whole text or leave the result unchanged. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAME_PLAIN_MAX 223
#define UUID_TEXT      37
#define NQN_UUID_TEXT  (32 + UUID_TEXT)
#define GID_TEXT       40
/* Prefix of generated IQNs. Linux's target accepts only naming authorities with a dot. */
#define IQN_OWN "iqn.2026-01.org.rdmastor:"

int hex_digit(char c); /* -1: not a hexadecimal digit */
/* Parse 1 to `digits` (at most 16) hexadecimal digits without 0x. */
bool hex_parse(uint64_t *, const char *text, unsigned digits);
const char *hex_text(char *text, const uint8_t *bytes, size_t len); /* text: 2 * len + 1 */

/* Check for 1 to 223 bytes without blanks and control characters, as in NQNs and iSCSI names. */
bool name_is_plain(const char *);
bool nqn_valid(const char *);        /* nqn.*, and plain (NVMe Base 2.1, 4.7) */
bool iscsi_name_valid(const char *); /* iqn.*, eui.* or naa.*, and plain (RFC 7143, 4.2.7) */

/* Copy an iSCSI name, in lower case if its type is in capitals ("IQN.*"): names have no case and
 * are stored in lower case (RFC 7143, 4.2.7.1). */
void iscsi_name_copy(char to[NAME_PLAIN_MAX + 1], const char *name);

/* Parse 32 hexadecimal digits, with or without dashes between bytes, as firmware, machine-id and
 * users write UUIDs. */
bool uuid_parse(uint8_t uuid[16], const char *text);
const char *uuid_text(char text[UUID_TEXT], const uint8_t uuid[16]); /* RFC 9562, 4 */
void uuid_mark_random(uint8_t uuid[16]);                             /* RFC 9562, 5.4 */
const char *nqn_of_uuid(char text[NQN_UUID_TEXT], const uint8_t uuid[16]);

bool gid_parse(uint8_t gid[16], const char *text); /* an IPv6 address, or 32 hexadecimal digits */
const char *gid_text(char text[GID_TEXT], const uint8_t gid[16]); /* eight groups, as in sysfs */

/* The kernel's number of a LUN (scsilun_to_int()), from its eight bytes (SAM-5, 4.7) or from text:
 * a number, or up to four groups of up to four hexadecimal digits, "4752-3a4f-6b7e-2f99". */
uint64_t lun_number(const uint8_t lun[8]);
bool lun_parse(uint64_t *lun, const char *text);
