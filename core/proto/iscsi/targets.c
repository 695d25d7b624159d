/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reading what SendTargets gives: names and addresses of a peer that may say anything. */
#include "targets.h"
#include "grow.h"
#include "names.h"
#include "uri.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int bad_address(const char *text, struct diag *diag)
{
	return diag_set(
		diag, DIAG_PROTOCOL, EPROTO, "TargetAddress=%.100s is not an address", text);
}

static bool host_is_good(const char *host, bool v6)
{
	struct in6_addr addr;

	if (v6)
		return inet_pton(AF_INET6, host, &addr) == 1;
	for (const char *p = host; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr(".-_", *p))
			return false;
	return *host;
}

int iscsi_address_parse(
	const char *text, const struct addr *portal, struct iscsi_record *record, struct diag *diag)
{
	bool v6 = *text == '[';
	const char *host = text + v6;
	size_t len = strcspn(host, v6 ? "]" : ":,");
	const char *rest = host + len + (v6 && host[len]);
	uint64_t port = ISCSI_PORT, tag;
	char number[8];

	if (len >= sizeof(record->host) || (v6 && !host[len]))
		return bad_address(text, diag);
	memcpy(record->host, host, len);
	record->host[len] = 0;
	if (*rest == ':') {
		size_t n = strcspn(++rest, ",");

		if (n >= sizeof(number))
			return bad_address(text, diag);
		memcpy(number, rest, n);
		number[n] = 0;
		if (parse_u64(number, 0, UINT16_MAX, &port, NULL) || !port)
			return bad_address(text, diag);
		rest += n;
	}
	record->port = (uint16_t)port;
	record->tpgt = -1;
	if (*rest == ',') {
		if (parse_u64(rest + 1, 0, UINT16_MAX, &tag, NULL))
			return bad_address(text, diag);
		record->tpgt = (int)tag;
	} else if (*rest) {
		return bad_address(text, diag);
	}
	if (v6)
		record->host[strcspn(record->host, "%")] = 0;
	if (!host_is_good(record->host, v6))
		return bad_address(text, diag);
	addr_localize(record->host, sizeof(record->host), portal);
	return 0;
}

/* RFC 7143, 4.2.7.2; characters beyond ASCII are left to the target. */
static int check_name(const char *name, struct diag *diag)
{
	size_t len = strlen(name);

	return name_is_plain(name) ? 0
	       : len && len <= ISCSI_NAME_MAX
		       ? diag_set(diag, DIAG_PROTOCOL, EPROTO,
				 "target name with blanks or control characters")
		       : diag_set(diag, DIAG_PROTOCOL, EPROTO, "target name of %zu bytes", len);
}

static struct iscsi_record *add(
	struct iscsi_target_list *found, const char *name, struct diag *diag)
{
	struct iscsi_record *record;

	if (found->count == ISCSI_RECORDS) {
		diag_set(diag, DIAG_PROTOCOL, E2BIG, "more than %u portals", ISCSI_RECORDS);
		return NULL;
	}
	record = grow(found->record, found->count);
	if (!record) {
		diag_sys(diag, ENOMEM, "list of targets");
		return NULL;
	}
	record->tpgt = -1;
	snprintf(record->name, sizeof(record->name), "%s", name);
	return record;
}

/* A target without an address has that of the portal that lists it. */
static int add_here(struct iscsi_target_list *found, const char *name, const struct addr *portal,
	struct diag *diag)
{
	struct iscsi_record *record = add(found, name, diag);
	char text[ADDR_TEXT];

	if (!record)
		return -EPROTO;
	snprintf(record->host, sizeof(record->host), "%s", addr_host(portal, text));
	/* sin6_port has the same offset */
	record->port = ntohs(((const struct sockaddr_in *)&portal->ss)->sin_port);
	return 0;
}

static void skip(struct iscsi_target_list *found, const struct diag *why)
{
	if (!found->skips++)
		found->skipped = *why;
}

static int add_address(struct iscsi_target_list *found, const char *name, const char *value,
	const struct addr *portal, struct diag *diag)
{
	struct iscsi_record at = { 0 }, *record;
	struct diag why = { 0 };

	if (iscsi_address_parse(value, portal, &at, &why)) {
		skip(found, &why);
		return 0;
	}
	record = add(found, name, diag);
	if (!record)
		return -EPROTO;
	memcpy(at.name, record->name, sizeof(at.name));
	*record = at;
	return 0;
}

/* *name NULL: the target's name is invalid; skip its addresses. */
static int handle_key(struct iscsi_target_list *found, const char *key, const char *value,
	const char **name, bool *addressed, const struct addr *portal, struct diag *diag)
{
	struct diag why = { 0 };
	int err = 0;

	if (!strcmp(key, "TargetName")) {
		err = *addressed ? 0 : add_here(found, *name, portal, diag);
		*name = check_name(value, &why) ? NULL : value;
		*addressed = !*name;
	} else if (!strcmp(key, "TargetAddress") && *name) {
		*addressed = true;
		err = add_address(found, *name, value, portal, diag);
	} else if (!strcmp(key, "TargetAddress") && !found->skips) {
		diag_set(&why, DIAG_PROTOCOL, EPROTO, "address before any target name");
	} else if (!strcmp(key, "SendTargets")) {
		err = diag_set(diag, DIAG_REFUSED, EOPNOTSUPP,
			"the target does not list its targets (SendTargets=%.40s)", value);
	}
	if (why.err)
		skip(found, &why);
	return err;
}

int iscsi_targets_parse(struct iscsi_text *text, const struct addr *portal,
	struct iscsi_target_list *found, struct diag *diag)
{
	const char *name = NULL;
	bool addressed = true;
	char *key, *value;
	size_t at = 0;
	int err = 0, n;

	while (!err && (n = iscsi_text_next(text, &at, &key, &value, diag)) > 0)
		err = handle_key(found, key, value, &name, &addressed, portal, diag);
	if (!err && n < 0)
		err = n;
	if (!err && !addressed)
		err = add_here(found, name, portal, diag);
	if (!err && !found->count && found->skips) {
		err = -found->skipped.err;
		if (diag)
			*diag = found->skipped;
	}
	return err;
}

void iscsi_target_list_free(struct iscsi_target_list *found)
{
	free(found->record);
	*found = (struct iscsi_target_list){ 0 };
}
