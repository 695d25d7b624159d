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

static int no_address(const char *text, struct diag *diag)
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

int iscsi_address_get(const char *text, struct iscsi_record *record, struct diag *diag)
{
	bool v6 = *text == '[';
	const char *host = text + v6;
	size_t len = strcspn(host, v6 ? "]" : ":,");
	const char *rest = host + len + (v6 && host[len]);
	uint64_t port = ISCSI_PORT, tag;
	char number[8];

	if (len >= sizeof(record->host) || (v6 && !host[len]))
		return no_address(text, diag);
	memcpy(record->host, host, len);
	record->host[len] = 0;
	if (*rest == ':') {
		size_t n = strcspn(++rest, ",");

		if (n >= sizeof(number))
			return no_address(text, diag);
		memcpy(number, rest, n);
		number[n] = 0;
		if (parse_u64(number, 0, UINT16_MAX, &port, NULL) || !port)
			return no_address(text, diag);
		rest += n;
	}
	record->port = (uint16_t)port;
	record->tpgt = -1;
	if (*rest == ',') {
		if (parse_u64(rest + 1, 0, UINT16_MAX, &tag, NULL))
			return no_address(text, diag);
		record->tpgt = (int)tag;
	} else if (*rest) {
		return no_address(text, diag);
	}
	return host_is_good(record->host, v6) ? 0 : no_address(text, diag);
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

static struct iscsi_record *add(struct iscsi_found *found, const char *name, struct diag *diag)
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

/* A target without an address is at the one that was asked. */
static int add_here(
	struct iscsi_found *found, const char *name, const struct addr *asked, struct diag *diag)
{
	struct iscsi_record *record = add(found, name, diag);
	char text[ADDR_TEXT];

	if (!record)
		return -EPROTO;
	snprintf(record->host, sizeof(record->host), "%s", addr_host(asked, text));
	/* at the same place in both families */
	record->port = ntohs(((const struct sockaddr_in *)&asked->ss)->sin_port);
	return 0;
}

int iscsi_targets_get(struct iscsi_text *text, const struct addr *asked, struct iscsi_found *found,
	struct diag *diag)
{
	const char *name = NULL;
	bool addressed = true;
	char *key, *value;
	size_t at = 0;
	int err = 0, n;

	while (!err && (n = iscsi_text_next(text, &at, &key, &value, diag)) > 0) {
		if (!strcmp(key, "TargetName")) {
			err = addressed ? 0 : add_here(found, name, asked, diag);
			if (!err)
				err = check_name(value, diag);
			name = value;
			addressed = false;
		} else if (!strcmp(key, "TargetAddress")) {
			struct iscsi_record *record = name ? add(found, name, diag) : NULL;

			addressed = true;
			err = record ? iscsi_address_get(value, record, diag)
			      : name ? -EPROTO
				     : diag_set(diag, DIAG_PROTOCOL, EPROTO,
					       "address before any target name");
		} else if (!strcmp(key, "SendTargets")) {
			err = diag_set(diag, DIAG_REFUSED, EOPNOTSUPP,
				"the target does not list its targets (SendTargets=%.40s)", value);
		}
	}
	if (err || n < 0)
		return err ? err : n;
	return addressed ? 0 : add_here(found, name, asked, diag);
}

void iscsi_found_free(struct iscsi_found *found)
{
	free(found->record);
	*found = (struct iscsi_found){ 0 };
}
