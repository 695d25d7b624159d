/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The answer to SendTargets (RFC 7143, appendix C), and addresses in text. */
#pragma once
#include "iscsi.h"
#include "text.h"

#define ISCSI_TARGETS_TEXT (1u << 20)
#define ISCSI_RECORDS      16384

/* Parse HOST[:PORT][,TAG]; HOST is a name, an IPv4 address or an IPv6 address in brackets. portal:
 * the portal that reports it, for addr_localize(). -EPROTO. */
int iscsi_address_parse(
	const char *text, const struct addr *portal, struct iscsi_record *, struct diag *);
/* Parse the answer of `portal`, which is also the address of targets listed without one. Invalid
 * names and addresses are skipped; an error only if nothing else is listed. The caller frees the
 * list, also after an error. */
int iscsi_targets_parse(
	struct iscsi_text *, const struct addr *portal, struct iscsi_target_list *, struct diag *);
