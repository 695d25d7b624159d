/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Text of iSCSI PDUs: "key=value\0…" (RFC 7143, 6.1), gathered over PDUs with the C bit; numbers
 * and binary values. */
#pragma once
#include "iscsi.h"
#include "wire.h"

#define ISCSI_TEXT_PDUS 256  /* one text may be spread over so many */
#define ISCSI_VALUE_MAX 8192 /* 6.1: what a receiver must take of one value */

/* The data of one PDU more; `most` is the longest text that is taken. -EPROTO, -EMSGSIZE, -ENOMEM.
 */
int iscsi_text_add(
	struct iscsi_text *, const uint8_t *data, uint32_t len, size_t most, struct diag *);
void iscsi_text_clear(struct iscsi_text *);
void iscsi_text_free(struct iscsi_text *);
/* The next pair, from *at = 0 on, both terminated in the text itself. 1: there is one; 0: the end;
 * -EPROTO: what stands there is none. */
int iscsi_text_next(struct iscsi_text *, size_t *at, char **key, char **value, struct diag *);

void iscsi_text_put(struct wr *, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void iscsi_text_put_binary(struct wr *, const char *key, const uint8_t *, size_t len); /* as 0x… */

/* The next item of "a,b,c" that has room, from *at = the list on. */
bool iscsi_list_next(const char **at, char *item, size_t room);
/* 0x… or 0b… (base64); the number of bytes, -1: it is neither, or more than room. */
int iscsi_binary_get(const char *text, uint8_t *to, size_t room);
