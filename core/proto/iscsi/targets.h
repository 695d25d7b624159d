/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The answer to SendTargets (RFC 7143, Appendix C), and addresses in text. */
#pragma once
#include "iscsi.h"
#include "text.h"

#define ISCSI_TARGETS_TEXT (1u << 20)
#define ISCSI_RECORDS      16384

/* HOST[:PORT][,TAG], host a name, an IPv4 address or an IPv6 one in brackets; asked: the address of
 * the portal that reports it (addr_localize()). */
int iscsi_address_get(const char *text, const struct addr *asked, struct iscsi_record *,
	struct diag *);
/* Takes the text apart; asked: also the address of targets that have none of their own there. A
 * name or an address that is not understood is skipped, and an error only where nothing else is
 * listed. iscsi_found_free() also when it fails. */
int iscsi_targets_get(
	struct iscsi_text *, const struct addr *asked, struct iscsi_found *, struct diag *);
