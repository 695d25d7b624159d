/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iSCSI targets on the command line. */
#include "iser_target.h"
#include "kernel_iscsi_session.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MSEC 1000000ull

static uint32_t left_ms(uint64_t until)
{
	uint64_t now = loop_clock();

	return !until ? 0 : until > now + MSEC ? (uint32_t)((until - now) / MSEC) : 1;
}

static int read_name(struct iser_target *target, const char *name, size_t len, struct diag *diag)
{
	if (len < 5 ||
		(strncmp(name, "iqn.", 4) && strncmp(name, "eui.", 4) && strncmp(name, "naa.", 4)))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid iSCSI name '%.*s': expected iqn.*, eui.* or naa.*", (int)len,
			name);
	if (len > ISCSI_NAME_MAX)
		return diag_set(diag, DIAG_USAGE, ENAMETOOLONG,
			"target name too long: must be at most %d bytes", ISCSI_NAME_MAX);
	snprintf(target->name, sizeof(target->name), "%.*s", (int)len, name);
	return 0;
}

/* IQN, or IQN/LUN */
static int read_path(struct iser_target *target, struct diag *diag)
{
	const char *path = target->uri.path, *slash = strchr(path, '/');
	struct diag why = { 0 };
	int err =
		*path ? read_name(target, path, slash ? (size_t)(slash - path) : strlen(path), diag)
		      : 0;

	if (err || !slash || !slash[1])
		return err;
	if (parse_u64(slash + 1, 0, SCSI_LUN_ALL - 1, &target->lun, &why))
		return diag_set(diag, DIAG_USAGE, why.err, "LUN in '%s': %s", target->uri.spelling,
			why.text);
	return 0;
}

static int read_uri(struct iser_target *target, const char *text, uint64_t until, struct diag *diag)
{
	int err = uri_parse(&target->uri, text, diag);

	if (err)
		return err;
	snprintf(target->spelling, sizeof(target->spelling), "%s", target->uri.spelling);
	if (strcmp(target->uri.scheme, "iser") && strcmp(target->uri.scheme, "iscsi"))
		return diag_set(diag, DIAG_USAGE, EINVAL, "'%s' is not an iser: or iscsi: URI",
			target->uri.spelling);
	target->carrier = strcmp(target->uri.scheme, "iser") ? ISCSI_TCP : ISCSI_ISER;
	target->lun = SCSI_LUN_ALL;
	target->tpgt = -1;
	err = read_path(target, diag);
	return err ? err
		   : uri_resolve(&target->uri, ISCSI_PORT, left_ms(until), &target->portal, diag);
}

int iser_portal_uri(const char *portal, char uri[URI_MAX], int *tpgt, struct diag *diag)
{
	size_t len = strcspn(portal, ",");
	const char *colon = memchr(portal, ':', len);
	bool v6 = *portal != '[' && colon &&
		  memchr(colon + 1, ':', len - (size_t)(colon + 1 - portal));
	struct diag why = { 0 };
	uint64_t tag;

	*tpgt = -1;
	if (portal[len] && strcmp(portal + len, ",-1")) { /* -1 is printed for an unknown one */
		if (parse_u64(portal + len + 1, 0, 65535, &tag, &why))
			return diag_set(
				diag, DIAG_USAGE, why.err, "portal group tag: %s", why.text);
		*tpgt = (int)tag;
	}
	snprintf(uri, URI_MAX, v6 ? "iscsi://[%.*s]" : "iscsi://%.*s", (int)len, portal);
	return 0;
}

static int read_portal(struct iser_target *target, const struct iser_words *words,
	const char *portal, uint64_t until, struct diag *diag)
{
	const char *transport = words->transport ? words->transport : "auto";
	char whole[URI_MAX];
	int tpgt, err;

	if (strchr(portal, '@') || strchr(portal, '/'))
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "--portal: invalid portal: expected HOST[:PORT]");
	err = iser_portal_uri(portal, whole, &tpgt, diag);
	if (!err)
		err = read_uri(target, whole, until, diag);
	if (err && diag && (!diag->object[0] || !strncmp(diag->object, "iscsi://", 8)))
		snprintf(diag->object, sizeof(diag->object), "--portal %.240s", portal);
	if (err)
		return err;
	if (words->target) {
		err = read_name(target, words->target, strlen(words->target), diag);
		snprintf(target->spelling, sizeof(target->spelling), "%.300s at %.300s",
			words->target, portal);
	} else {
		snprintf(target->spelling, sizeof(target->spelling), "%.300s", portal);
	}
	target->tpgt = tpgt;
	target->any = !strcmp(transport, "auto");
	target->carrier = !strcmp(transport, "tcp") ? ISCSI_TCP : ISCSI_ISER;
	return err;
}

static void add_key(struct uri *uri, const char *name, const char *value)
{
	if (*value && uri->keys < URI_KEYS)
		uri->key[uri->keys++] = (struct uri_key){ .name = name, .value = value };
}

/* Translate open-iscsi's records to keys of a URI. */
static void add_params(struct uri *uri, const struct iscsi_wishes *wishes)
{
	for (unsigned n = 0; wishes && n < wishes->params; n++) {
		const char *param = wishes->param[n], *value = strchr(param, '=') + 1;

		for (unsigned i = 0; i < ISCSI_SETTINGS; i++)
			if (!strncmp(iscsi_setting[i].record, param, (size_t)(value - param - 1)) &&
				!iscsi_setting[i].record[value - param - 1])
				add_key(uri, iscsi_setting[i].option, value);
	}
}

static int read_wish(struct iser_target *target, const struct iscsi_wish *wish,
	const struct iscsi_wishes *wishes, uint64_t until, struct diag *diag)
{
	struct uri *uri = &target->uri;
	char text[URI_MAX];
	int err;

	target->wish = malloc(sizeof(*target->wish));
	if (!target->wish)
		return diag_sys(diag, ENOMEM, "targets");
	*target->wish = *wish;
	wish = target->wish;
	kernel_iscsi_uri(wish, text);
	err = read_uri(target, text, until, diag);
	if (err)
		return diag_ctx(diag, "%s", wish->from), err;
	uri->user = wish->user[0][0] ? wish->user[0] : NULL;
	uri->password = wish->secret[0][0] ? wish->secret[0] : NULL;
	add_key(uri, "target_user", wish->user[1]);
	add_key(uri, "target_password", wish->secret[1]);
	add_key(uri, "initiator", wishes ? wishes->initiator : "");
	add_params(uri, wishes);
	return 0;
}

static void free_target(struct iser_target *target)
{
	explicit_bzero(&target->uri, sizeof(target->uri));
	if (target->wish)
		explicit_bzero(target->wish, sizeof(*target->wish));
	free(target->wish);
	target->wish = NULL;
}

static int read_wishes(struct call *call, struct iscsi_wishes *wishes, uint64_t until,
	struct iser_targets *targets)
{
	struct diag last = { 0 };

	for (unsigned i = 0; i < wishes->count; i++) {
		struct iser_target *target = &targets->target[targets->count];
		struct diag why = { 0 };

		if (!read_wish(target, &wishes->wish[i], wishes, until, &why)) {
			targets->count++;
			continue;
		}
		free_target(target);
		wishes->problems++;
		if (last.err)
			call_note(call, "%s: %s", last.object, last.text);
		last = why;
	}
	if (!targets->count) {
		*call->diag = last;
		return -last.err;
	}
	if (last.err)
		call_note(call, "%s: %s", last.object, last.text);
	return 0;
}

/* dracut's form of a URI */
static int read_string(
	struct iser_target *target, const char *text, uint64_t until, struct diag *diag)
{
	struct iscsi_wish wish;
	int err = kernel_iscsi_string(text, &wish, diag);

	snprintf(wish.from, sizeof(wish.from), "%s", wish.iser ? "iser:" : "iscsi:");
	if (!err && wish.firmware)
		err = diag_set(diag, DIAG_USAGE, EINVAL,
			"'%s' means the firmware's targets: use --ibft", text);
	else if (!err && !wish.host[0])
		err = diag_set(diag, DIAG_USAGE, EINVAL,
			"no host given for %s: rdmastor does not query DHCP", wish.name);
	if (!err)
		err = read_wish(target, &wish, NULL, until, diag);
	explicit_bzero(&wish, sizeof(wish));
	return err;
}

int iser_targets_read(struct call *call, const struct iser_words *words,
	struct iscsi_wishes *wishes, uint64_t until, struct iser_targets *targets)
{
	unsigned most = call->operands + words->portals.count + (wishes ? wishes->count : 0);
	int err = 0;

	*targets = (struct iser_targets){ .target = calloc(
						  most ? most : 1, sizeof(*targets->target)) };
	if (!targets->target)
		return diag_sys(call->diag, ENOMEM, "targets");
	if (words->transport && !words->portals.count)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"--transport needs --portal: the scheme of a URI selects the transport");
	if (words->target && !words->portals.count)
		return diag_set(
			call->diag, DIAG_USAGE, EINVAL, "--target needs --portal HOST[:PORT]");
	for (unsigned i = 0; !err && i < call->operands; i++)
		if (strstr(call->operand[i], "://"))
			err = read_uri(&targets->target[targets->count++], call->operand[i], until,
				call->diag);
		else if (kernel_iscsi_is_string(call->operand[i]))
			err = read_string(&targets->target[targets->count++], call->operand[i],
				until, call->diag);
	if (!err && wishes)
		err = read_wishes(call, wishes, until, targets);
	for (unsigned i = 0; !err && i < words->portals.count; i++)
		err = read_portal(&targets->target[targets->count++], words, words->portals.item[i],
			until, call->diag);
	return err;
}

void iser_targets_free(struct iser_targets *targets)
{
	for (unsigned i = 0; i < targets->count; i++)
		free_target(&targets->target[i]);
	free(targets->target);
	*targets = (struct iser_targets){ 0 };
}

bool iser_is_session(const char *word)
{
	return !strstr(word, "://") && !kernel_iscsi_is_string(word);
}

static int session_number(const char *word)
{
	unsigned sid;
	char end;

	if (sscanf(word, "session%u%c", &sid, &end) == 1 || sscanf(word, "%u%c", &sid, &end) == 1)
		return sid <= INT32_MAX ? (int)sid : -1;
	return -1;
}

int iser_session_of(
	int root, const char *word, struct kernel_iscsi_session *session, struct diag *diag)
{
	int sid = session_number(word), host = sid < 0 ? kernel_scsi_host_of(root, word) : -1;
	struct kernel_iscsi_session *list;
	bool found = false;
	unsigned count;
	int err = kernel_iscsi_sessions(root, &list, &count, diag);

	if (err)
		return err;
	for (unsigned i = 0; i < count && !found; i++) {
		found = sid >= 0 ? (int)list[i].sid == sid : host >= 0 && (int)list[i].host == host;
		if (found)
			*session = list[i];
	}
	free(list);
	if (found)
		return 0;
	if (sid >= 0 || host < 0)
		diag_set(diag, DIAG_NOT_FOUND, ENOENT, "no such iSCSI session");
	else
		diag_set(diag, DIAG_NOT_FOUND, ENOENT, "not a disk of an iSCSI session");
	return diag_hint(
		diag, "expected a URI, session1 or /dev/sda; list sessions with: rdmastor status");
}
