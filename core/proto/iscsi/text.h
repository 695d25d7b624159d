/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Text of iSCSI PDUs: "key=value\0…" (RFC 7143, 6.1), gathered over PDUs with the C bit; numbers
 * and binary values. */
#pragma once
#include "iscsi.h"
#include "wire.h"

#define ISCSI_TEXT_PDUS 256  /* most PDUs of one text */
#define ISCSI_VALUE_MAX 8192 /* 6.1: length of a value that a receiver must accept */

/* Append the data of a PDU; `most` is the longest text, in bytes. -EPROTO, -EMSGSIZE, -ENOMEM. */
int iscsi_text_add(
	struct iscsi_text *, const uint8_t *data, uint32_t len, size_t most, struct diag *);
void iscsi_text_clear(struct iscsi_text *); /* keeps the memory */
void iscsi_text_free(struct iscsi_text *);  /* wipes it */
/* Find the next pair; *at is 0 at first. key and value are terminated within the text, whose '='
 * becomes 0. 1: found; 0: the end; -EPROTO: malformed. */
int iscsi_text_next(struct iscsi_text *, size_t *at, char **key, char **value, struct diag *);

void iscsi_text_put(struct wr *, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void iscsi_text_put_binary(struct wr *, const char *key, const uint8_t *, size_t len); /* as 0x… */

/* Copy the next item of "a,b,c" that fits into room bytes; *at is the list at first. false: the
 * end.
 */
bool iscsi_list_next(const char **at, char *item, size_t room);
/* Decode 0x… or 0b… (base64). Return the number of bytes; -1: neither, or more than room. */
int iscsi_binary_get(const char *text, uint8_t *to, size_t room);
