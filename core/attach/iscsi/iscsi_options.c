/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse initiator, settings and targets of iSCSI sessions. Options take precedence over keys of the
 * URI, these over the environment. */
#include "iscsi_logins.h"
#include "iscsi_settings.h"
#include "kernel_iscsi.h"
#include "policy.h"
#include "uri_read.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECRET_MIN      12 /* 96 bits: RFC 7143 section 12.1.3 */
#define REPLACEMENT_MAX 86400

static const char *first(const char *a, const char *b, const char *c)
{
	return a ? a : b ? b : c;
}

/* *secret: NULL if there is none. */
static int read_secret(const struct out_notes *notes, struct iscsi_credentials *credentials,
	const struct iscsi_credential_options *options, const struct uri_iscsi_identity *keys,
	unsigned i, const char **secret, struct diag *diag)
{
	const char *file = first(options->file[i], keys->secret_file[i], NULL);
	int err = 0;

	*secret = credentials->secret[i];
	credentials->file[i] = options->fd[i] ? NULL : file;
	if (options->fd[i] || file)
		err = secret_read(notes, i ? "--target-secret-fd" : "--secret-fd", options->fd[i],
			file, credentials->secret[i], ISCSI_SECRET, diag);
	else
		*secret = first(keys->secret[i],
			getenv(i ? "LIBISCSI_CHAP_TARGET_PASSWORD" : "LIBISCSI_CHAP_PASSWORD"),
			NULL);
	if (!err && *secret && (!**secret || strlen(*secret) > ISCSI_SECRET - 2))
		err = diag_set(diag, DIAG_USAGE, EINVAL, "CHAP secret: must be 1 to %u bytes",
			ISCSI_SECRET - 2);
	else if (!err && *secret && strlen(*secret) < SECRET_MIN)
		out_warn(notes, "the %sCHAP secret has %zu bytes: RFC 7143 requires at least %d",
			i ? "target's " : "", strlen(*secret), SECRET_MIN);
	return err;
}

static int read_auth(const struct out_notes *notes, struct iscsi_credentials *credentials,
	const struct iscsi_credential_options *options, const struct uri_iscsi_identity *keys,
	struct diag *diag)
{
	struct iscsi_auth *auth = &credentials->from.auth;
	int err = read_secret(notes, credentials, options, keys, 0, &auth->secret, diag);

	auth->user = first(options->user[0], keys->user[0], getenv("LIBISCSI_CHAP_USERNAME"));
	auth->target_user =
		first(options->user[1], keys->user[1], getenv("LIBISCSI_CHAP_TARGET_USERNAME"));
	if (!err)
		err = read_secret(notes, credentials, options, keys, 1, &auth->target_secret, diag);
	credentials->algs = first(options->algs, keys->algs, NULL);
	if (!err && credentials->algs)
		err = iscsi_chap_algs(credentials->algs, &auth->algs, diag);
	if (err)
		return err;
	if (auth->user && !auth->secret) {
		diag_set(diag, DIAG_USAGE, EINVAL, "no secret for user '%s'", auth->user);
		return diag_hint(diag, "use --secret-file FILE, --secret-fd N or "
				       "LIBISCSI_CHAP_PASSWORD in the environment"),
		       -EINVAL;
	}
	if (!auth->user && auth->secret)
		return diag_set(diag, DIAG_USAGE, EINVAL, "a secret needs --user");
	if (!auth->target_secret && auth->target_user)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"no secret for target user '%s': expected --target-secret-file",
			auth->target_user);
	if (auth->target_secret && !auth->user)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"mutual CHAP also needs --user and --secret-file");
	return 0;
}

int iscsi_credentials_read(const struct out_notes *notes, int root,
	const struct iscsi_credential_options *options, struct uri *uri,
	struct iscsi_credentials *credentials, struct diag *diag)
{
	struct uri_iscsi_identity keys = uri_iscsi_identity(uri);
	const char *name = first(options->initiator, keys.initiator, NULL);
	int err;

	*credentials = (struct iscsi_credentials){ .from.initiator = credentials->name.name };
	credentials->from.named = name;
	err = uri_done(uri, diag); /* a key of secrets may be misspelt */
	if (!err)
		err = read_auth(notes, credentials, options, &keys, diag);
	if (!err)
		err = kernel_initiator(root, name, &credentials->name, diag);
	if (!err && notes->verbose)
		out_note(notes, "initiator name %s (%s)", credentials->name.name,
			credentials->name.from);
	if (!err && credentials->name.random)
		out_warn_once(
			notes, "random initiator name for this run: %s", credentials->name.name);
	return err;
}

/* The loss policy becomes the kernel's replacement timeout. */
int iscsi_settings_read(const struct iscsi_setting_options *options, struct uri *uri,
	struct iscsi_settings *set, uint32_t *given, struct diag *diag)
{
	const char *key = uri ? uri_value(uri, "loss") : NULL,
		   *loss = first(options->on_loss, key, NULL);
	uint32_t ms;
	int err = 0;

	iscsi_settings_init(set);
	set->replacement_timeout = LOSS_DEFAULT;
	*given = 0;
	for (unsigned i = 0; !err && i < ISCSI_SETTINGS; i++) {
		struct diag why = { 0 };

		key = uri ? uri_value(uri, iscsi_setting[i].option) : NULL;
		if (!options->value[i] && !key)
			continue;
		*given |= 1u << i;
		if (iscsi_settings_set(set, iscsi_setting[i].option,
			    first(options->value[i], key, NULL), &why))
			err = diag_set(diag, DIAG_USAGE, why.err, "%s%s",
				options->value[i] ? "--" : "", why.text);
	}
	/* the kernel would use 5 instead of 0 */
	if (!err && !set->noop_timeout && set->noop_interval)
		err = diag_set(diag, DIAG_USAGE, ERANGE,
			"--noop-timeout: must be 1 to 86400, or 0 with --noop-interval 0");
	if (err || !loss || options->value[ISCSI_AT_replacement_timeout])
		return err;
	*given |= 1u << ISCSI_AT_replacement_timeout;
	err = loss_read(loss, options->on_loss ? "--on-loss" : "loss=", REPLACEMENT_MAX, &ms, diag);
	if (!err)
		set->replacement_timeout = loss_seconds(ms);
	return err;
}

int iscsi_uri_read(struct uri *uri, const char *text, struct diag *diag)
{
	int err = uri_parse(uri, text, diag);

	if (!err && strcmp(uri->scheme, "iser") && strcmp(uri->scheme, "iscsi"))
		err = diag_set(diag, DIAG_USAGE, EINVAL, "'%s' is not an iser: or iscsi: URI",
			uri->spelling);
	if (!err && !uri->host[0])
		err = diag_set(diag, DIAG_USAGE, EINVAL, "no host in '%s'%s", uri->spelling,
			uri_is_iscsi(text) ? ": rdmastor does not query DHCP" : "");
	return err;
}

static void add_key(struct uri *uri, const char *name, const char *value)
{
	if (*value && uri->keys < URI_KEYS)
		uri->key[uri->keys++] = (struct uri_key){ .name = name, .value = value };
}

/* Make a URI of an entry of the boot configuration, to which it points. */
static int uri_from_boot_target(
	struct uri *uri, const struct iscsi_boot_target *entry, struct diag *diag)
{
	char text[URI_MAX];
	int err;

	kernel_iscsi_boot_uri(entry, text);
	err = uri_parse(uri, text, diag);
	uri->user = entry->user[0][0] ? entry->user[0] : NULL;
	uri->password = entry->secret[0][0] ? entry->secret[0] : NULL;
	if (!err) {
		add_key(uri, "target_user", entry->user[1]);
		add_key(uri, "target_password", entry->secret[1]);
	}
	return err;
}

int iscsi_portal_uri(const char *portal, char uri[URI_MAX], int *tpgt, struct diag *diag)
{
	size_t len = strcspn(portal, ",");
	const char *colon = memchr(portal, ':', len);
	bool v6 = *portal != '[' && colon &&
		  memchr(colon + 1, ':', len - (size_t)(colon + 1 - portal));
	struct diag why = { 0 };
	uint64_t tag;

	*tpgt = -1;
	if (portal[len] && strcmp(portal + len, ",-1")) { /* printed for an unknown group */
		if (parse_u64(portal + len + 1, 0, 65535, &tag, &why))
			return diag_set(
				diag, DIAG_USAGE, why.err, "portal group tag: %s", why.text);
		*tpgt = (int)tag;
	}
	snprintf(uri, URI_MAX, v6 ? "iscsi://[%.*s]" : "iscsi://%.*s", (int)len, portal);
	return 0;
}

static int read_place(struct iscsi_target *target, struct diag *diag)
{
	const struct uri *uri = &target->uri;
	struct uri_iscsi iscsi;
	int err = uri_iscsi_read(&iscsi, uri, URI_KERNEL, diag), known;

	if (!err)
		err = uri_refuse_disk_keys(uri, diag);
	snprintf(target->spelling, sizeof(target->spelling), "%s", uri->spelling);
	if (err)
		return err;
	memcpy(target->name, iscsi.target, sizeof(target->name));
	target->lun = iscsi.lun;
	target->carrier = strcmp(uri->scheme, "iser") ? ISCSI_TCP : ISCSI_ISER;
	target->tpgt = -1;
	target->port = uri->port ? uri->port : ISCSI_PORT;
	known = addr_known(&target->portal, uri->host, target->port, diag);
	target->host = known ? NULL : uri->host;
	return known < 0 ? known : 0;
}

static int read_uri(struct iscsi_target *target, const char *text, struct diag *diag)
{
	int err = iscsi_uri_read(&target->uri, text, diag);

	return err ? err : read_place(target, diag);
}

static int read_portal(struct iscsi_target *target, const struct iscsi_target_options *options,
	const char *portal, struct diag *diag)
{
	const char *transport = first(options->transport, "auto", NULL);
	char whole[URI_MAX];
	int tpgt, err;

	if (strchr(portal, '@') || strchr(portal, '/'))
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "--portal: invalid portal: expected HOST[:PORT]");
	err = iscsi_portal_uri(portal, whole, &tpgt, diag);
	if (!err)
		err = read_uri(target, whole, diag);
	if (err && (!diag->object[0] || !strncmp(diag->object, "iscsi://", 8)))
		snprintf(diag->object, sizeof(diag->object), "--portal %.240s", portal);
	if (err)
		return err;
	snprintf(target->spelling, sizeof(target->spelling), "%.300s%s%.300s",
		options->target ? options->target : "", options->target ? " at " : "", portal);
	target->tpgt = tpgt;
	target->any = !strcmp(transport, "auto");
	target->carrier = !strcmp(transport, "tcp") ? ISCSI_TCP : ISCSI_ISER;
	return options->target ? uri_iscsi_name(target->name, options->target,
					 strlen(options->target), diag)
			       : 0;
}

static int read_boot_target(struct iscsi_target *target, const struct iscsi_boot_target *entry,
	const struct iscsi_boot_config *boot_config, struct diag *diag)
{
	static const char chap_algs[] = ISCSI_CHAP_ALGS_RECORD;
	/* firmware and other boot tools mean MD5 by CHAP, and have no word for it */
	const char *algs = entry->user[0][0] ? "sha3-256,sha256,sha1,md5" : NULL;
	struct uri *uri = &target->uri;
	int err = uri_from_boot_target(uri, entry, diag);

	target->from = entry->from;
	if (!err)
		err = read_place(target, diag);
	if (err)
		return diag_ctx(diag, "%s", entry->from), err;
	add_key(uri, "initiator", boot_config ? boot_config->initiator : "");
	/* open-iscsi's records are keys of a URI here */
	for (unsigned n = 0; boot_config && n < boot_config->params; n++) {
		const char *param = boot_config->param[n];
		size_t len = strcspn(param, "=");

		if (len == sizeof(chap_algs) - 1 && !memcmp(param, chap_algs, len))
			algs = param + len + 1;
		for (unsigned i = 0; i < ISCSI_SETTINGS; i++)
			if (!strncmp(iscsi_setting[i].record, param, len) &&
				!iscsi_setting[i].record[len])
				add_key(uri, iscsi_setting[i].option, param + len + 1);
	}
	add_key(uri, "auth", algs ? algs : "");
	return 0;
}

static void wipe_target(struct iscsi_target *target)
{
	explicit_bzero(target, sizeof(*target));
}

static int read_boot_targets(const struct out_notes *notes, struct iscsi_boot_config *boot_config,
	struct iscsi_targets *targets, struct diag *diag)
{
	struct diag last = { 0 };

	for (unsigned i = 0; i < boot_config->count; i++) {
		struct iscsi_target *target = &targets->target[targets->count];
		struct diag why = { 0 };

		if (!read_boot_target(target, &boot_config->entry[i], boot_config, &why)) {
			targets->count++;
			continue;
		}
		wipe_target(target);
		if (!boot_config->problems++)
			boot_config->why = why;
		if (last.err)
			out_note(notes, "%s: %s", last.object, last.text);
		last = why;
	}
	if (!targets->count) {
		*diag = last;
		return -last.err;
	}
	if (last.err)
		out_note(notes, "%s: %s", last.object, last.text);
	return 0;
}

int iscsi_targets_read(const struct out_notes *notes, char *const *operand, unsigned operands,
	const struct iscsi_target_options *options, struct iscsi_boot_config *boot_config,
	struct iscsi_targets *targets, struct diag *diag)
{
	unsigned most = operands + options->portals.count + (boot_config ? boot_config->count : 0);
	struct iscsi_target *list = calloc(most + 1, sizeof(*list));
	int err = 0;

	*targets = (struct iscsi_targets){ .target = list };
	if (!list)
		return diag_sys(diag, ENOMEM, "targets");
	if (options->transport && !options->portals.count)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"--transport needs --portal: the scheme of a URI selects the transport");
	if (options->target && !options->portals.count)
		return diag_set(diag, DIAG_USAGE, EINVAL, "--target needs --portal HOST[:PORT]");
	for (unsigned i = 0; !err && i < operands; i++) {
		const char *word = operand[i];

		if (!iscsi_is_plain_word(word))
			err = read_uri(&list[targets->count++], word, diag);
	}
	if (!err && boot_config)
		err = read_boot_targets(notes, boot_config, targets, diag);
	for (unsigned i = 0; !err && i < options->portals.count; i++)
		err = read_portal(&list[targets->count++], options, options->portals.item[i], diag);
	return err;
}

int iscsi_targets_resolve(struct iscsi_targets *targets, uint64_t until, struct diag *diag)
{
	int err = 0;

	for (unsigned i = 0; i < targets->count && !err; i++) {
		struct iscsi_target *target = &targets->target[i];
		uint64_t now = loop_clock();
		uint32_t ms = !until               ? 0
			      : until > now + MSEC ? (uint32_t)((until - now) / MSEC)
						   : 1;

		if (target->host)
			err = addr_resolve(&target->portal, target->host, target->port, ms, diag);
		if (err)
			diag_ctx(diag, "%s", target->spelling);
	}
	return err;
}

void iscsi_targets_free(struct iscsi_targets *targets)
{
	for (unsigned i = 0; i < targets->count; i++)
		wipe_target(&targets->target[i]);
	free(targets->target);
	*targets = (struct iscsi_targets){ 0 };
}

bool iscsi_is_plain_word(const char *word)
{
	return !uri_is_address(word);
}

int iscsi_session_of(
	int root, const char *word, struct kernel_iscsi_session *session, struct diag *diag)
{
	bool numbered, found = false;
	int host = -1, err;
	struct kernel_iscsi_session *list;
	unsigned count, sid;
	char end;

	numbered = sscanf(word, "session%u%c", &sid, &end) == 1 ||
		   sscanf(word, "%u%c", &sid, &end) == 1;
	if (!numbered)
		host = kernel_scsi_host_of(root, word);
	err = kernel_iscsi_sessions(root, &list, &count, diag);
	if (err)
		return err;
	for (unsigned i = 0; i < count && !found; i++) {
		found = numbered ? list[i].sid == sid : host >= 0 && (int)list[i].host == host;
		if (found)
			*session = list[i];
	}
	free(list);
	if (found)
		return 0;
	diag_set(diag, DIAG_NOT_FOUND, ENOENT, "%s",
		numbered || host < 0 ? "no such iSCSI session" : "not a disk of an iSCSI session");
	return diag_hint(
		diag, "expected a URI, session1 or /dev/sda; list sessions with: rdmastor status");
}
