/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What names an iSCSI target on the command line. */
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
	if (len < 5 || (strncmp(name, "iqn.", 4) && strncmp(name, "eui.", 4) && strncmp(name, "naa.", 4)))
		return diag_set(diag, DIAG_USAGE, EINVAL, "'%.*s' is no iSCSI name: iqn.…, eui.… or naa.… is expected", (int)len, name);
	if (len > ISCSI_NAME_MAX)
		return diag_set(diag, DIAG_USAGE, ENAMETOOLONG, "a target's name has at most %d bytes", ISCSI_NAME_MAX);
	snprintf(target->name, sizeof(target->name), "%.*s", (int)len, name);
	return 0;
}

/* IQN, or IQN/LUN */
static int read_path(struct iser_target *target, struct diag *diag)
{
	const char *path = target->uri.path, *slash = strchr(path, '/');
	struct diag why = { 0 };
	int err = *path ? read_name(target, path, slash ? (size_t)(slash - path) : strlen(path), diag) : 0;

	if (err || !slash || !slash[1])
		return err;
	if (parse_u64(slash + 1, 0, SCSI_LUN_ALL - 1, &target->lun, &why))
		return diag_set(diag, DIAG_USAGE, why.err, "the LUN of '%s': %s", target->uri.spelling, why.text);
	return 0;
}

static int read_uri(struct iser_target *target, const char *text, uint64_t until, struct diag *diag)
{
	int err = uri_parse(&target->uri, text, diag);

	if (err)
		return err;
	snprintf(target->spelling, sizeof(target->spelling), "%s", target->uri.spelling);
	if (strcmp(target->uri.scheme, "iser") && strcmp(target->uri.scheme, "iscsi"))
		return diag_set(diag, DIAG_USAGE, EINVAL, "'%s' is not an iser: or iscsi: URI", target->uri.spelling);
	target->carrier = strcmp(target->uri.scheme, "iser") ? ISCSI_TCP : ISCSI_ISER;
	target->lun = SCSI_LUN_ALL;
	err = read_path(target, diag);
	return err ? err : uri_resolve(&target->uri, ISCSI_PORT, left_ms(until), &target->portal, diag);
}

static int read_portal(struct iser_target *target, const struct iser_words *words, const char *portal, uint64_t until, struct diag *diag)
{
	const char *colon = strchr(portal, ':'), *transport = words->transport ? words->transport : "auto";
	char whole[URI_MAX];
	int err;

	if (strchr(portal, '@') || strchr(portal, '/'))
		return diag_set(diag, DIAG_USAGE, EINVAL, "--portal: HOST[:PORT] is expected");
	snprintf(whole, sizeof(whole), *portal != '[' && colon && strchr(colon + 1, ':') ? "iscsi://[%s]" : "iscsi://%s", portal);
	err = read_uri(target, whole, until, diag);
	if (err)
		return err;
	if (words->target) {
		err = read_name(target, words->target, strlen(words->target), diag);
		snprintf(target->spelling, sizeof(target->spelling), "%.300s at %.300s", words->target, portal);
	} else {
		snprintf(target->spelling, sizeof(target->spelling), "%.300s", portal);
	}
	target->any = !strcmp(transport, "auto");
	target->carrier = !strcmp(transport, "tcp") ? ISCSI_TCP : ISCSI_ISER;
	return err;
}

int iser_targets_read(struct call *call, const struct iser_words *words, uint64_t until, struct iser_targets *targets)
{
	unsigned most = call->operands + words->portals.count;
	int err = 0;

	*targets = (struct iser_targets){ .target = calloc(most ? most : 1, sizeof(*targets->target)) };
	if (!targets->target)
		return diag_sys(call->diag, ENOMEM, "targets");
	if (words->transport && !words->portals.count)
		return diag_set(call->diag, DIAG_USAGE, EINVAL, "--transport goes with --portal: a URI says it by its scheme");
	if (words->target && !words->portals.count)
		return diag_set(call->diag, DIAG_USAGE, EINVAL, "--target goes with --portal, which says where the target is");
	for (unsigned i = 0; !err && i < call->operands; i++)
		if (strstr(call->operand[i], "://"))
			err = read_uri(&targets->target[targets->count++], call->operand[i], until, call->diag);
	for (unsigned i = 0; !err && i < words->portals.count; i++)
		err = read_portal(&targets->target[targets->count++], words, words->portals.item[i], until, call->diag);
	return err;
}

void iser_targets_free(struct iser_targets *targets)
{
	for (unsigned i = 0; i < targets->count; i++)
		explicit_bzero(&targets->target[i].uri, sizeof(targets->target[i].uri));
	free(targets->target);
	*targets = (struct iser_targets){ 0 };
}

bool iser_is_session(const char *word)
{
	return !strstr(word, "://");
}

static int session_number(const char *word)
{
	unsigned sid;
	char end;

	if (sscanf(word, "session%u%c", &sid, &end) == 1 || sscanf(word, "%u%c", &sid, &end) == 1)
		return sid <= INT32_MAX ? (int)sid : -1;
	return -1;
}

int iser_session_of(int root, const char *word, struct kernel_iscsi_session *session, struct diag *diag)
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
		diag_set(diag, DIAG_NOT_FOUND, ENOENT, "there is no iSCSI session of this name");
	else
		diag_set(diag, DIAG_NOT_FOUND, ENOENT, "is no disk of an iSCSI session");
	return diag_hint(diag, "a URI, session1 or /dev/sda is expected; rdmastor status shows them");
}
