/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Names of hosts, targets, ports and disks: one parser, check and printer for each kind. Parsers
 * take the whole text or leave the result alone. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAME_PLAIN_MAX 223
#define UUID_TEXT      37
#define NQN_UUID_TEXT  (32 + UUID_TEXT)
#define GID_TEXT       40
/* Every IQN we generate begins with it. Linux's target accepts only naming authorities with a dot,
 * as reversed domain names have. */
#define IQN_OWN "iqn.2026-01.org.rdmastor:"

int hex_digit(char c); /* -1: not one */
/* 1 to `digits` (at most 16) hexadecimal digits; no 0x. */
bool hex_parse(uint64_t *, const char *text, unsigned digits);
const char *hex_text(char *text, const uint8_t *bytes, size_t len); /* text: 2 * len + 1 */

/* 1 to 223 bytes without blanks and control characters: every NQN and iSCSI name, whatever peers
 * make of them. */
bool name_is_plain(const char *);
bool nqn_valid(const char *);        /* nqn.*, and plain (NVMe Base 2.1, 4.7) */
bool iscsi_name_valid(const char *); /* iqn.*, eui.* or naa.*, and plain (RFC 7143, 4.2.7) */

/* Copies an iSCSI name. They have no case and are stored in lower case (RFC 7143, 4.2.7.1): one
 * that was written in capitals, as "IQN.*", is lower-cased; all others are left as they are. */
void iscsi_name_copy(char to[NAME_PLAIN_MAX + 1], const char *name);

/* 32 hexadecimal digits, with dashes anywhere between bytes or without: firmware, machine-id and
 * users write UUIDs in all of these ways. */
bool uuid_parse(uint8_t uuid[16], const char *text);
const char *uuid_text(char text[UUID_TEXT], const uint8_t uuid[16]); /* RFC 9562, 4 */
void uuid_mark_random(uint8_t uuid[16]);                             /* RFC 9562, 5.4 */
const char *nqn_of_uuid(char text[NQN_UUID_TEXT], const uint8_t uuid[16]);

bool gid_parse(uint8_t gid[16], const char *text); /* an IPv6 address, or 32 hexadecimal digits */
const char *gid_text(char text[GID_TEXT], const uint8_t gid[16]); /* eight groups, as in sysfs */

/* A LUN as the kernel numbers it (scsilun_to_int()): from its eight bytes (SAM-5, 4.7), or a text:
 * a number, or up to four groups of up to four hexadecimal digits, "4752-3a4f-6b7e-2f99". */
uint64_t lun_number(const uint8_t lun[8]);
bool lun_parse(uint64_t *lun, const char *text);
