/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The list of initiators that authenticate. */
#pragma once
#include "iscsi_initiators.h"
#include "wire/iscsi.h"
#include <stdbool.h>
#include <string.h>

#define ISCSI_CHAP_NAME_MAX   255
#define ISCSI_CHAP_SECRET_MAX 256

struct iscsi_initiator {
	char name[ISCSI_NAME_MAX + 1]; /* "*": those without a line of their own */
	/* [0] of the initiator, [1] of the target; "": none, and for user[1] its iSCSI name */
	char user[2][ISCSI_CHAP_NAME_MAX + 1], secret[2][ISCSI_CHAP_SECRET_MAX + 1];
	bool md5; /* is permitted */
	unsigned line;
};

struct iscsi_initiators {
	struct iscsi_initiator *initiator;
	unsigned count;
	bool md5; /* is permitted to one of them */
};

/* The line has the initiator's own name, not "*". */
static inline bool iscsi_initiator_is_own(const struct iscsi_initiator *initiator)
{
	return initiator && strcmp(initiator->name, "*") != 0;
}

/* Neither secrets nor rights differ. */
bool iscsi_initiator_is_same(const struct iscsi_initiator *, const struct iscsi_initiator *);
/* NULL: no line applies to the initiator. Takes as long for any name. */
const struct iscsi_initiator *iscsi_initiators_find(
	const struct iscsi_initiators *, const char *name);
