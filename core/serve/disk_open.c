/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Open disks for an applet. core/block implements the schemes, core/kernel finds holders of disks
 * and loads RDMA modules. */
#include "disk_open.h"
#include "kernel_disk.h"
#include "kernel_identity.h"
#include "kernel_iscsi.h"
#include "kernel_rdma.h"
#include "loop.h"
#include "names.h"
#include "policy.h"
#include "privilege.h"
#include "stream.h"
#include "tls.h"
#include "uri.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define LEFT_MS  2000 /* for the last requests of a killed process */
#define STEP_MS  20
#define PAUSE_MS 500 /* between attempts to reach a target that is not up yet */

static int root_fd = -1;

int disk_root(struct diag *diag)
{
	if (root_fd < 0)
		root_fd = kernel_root();
	return root_fd < 0 ? diag_sys(diag, errno, "open /") : root_fd;
}

void disk_root_close(void)
{
	if (root_fd >= 0)
		close(root_fd);
	root_fd = -1;
}

int disk_env(const struct call *call, struct bdev_env *env, const char *on_loss)
{
	const struct opt_common *common = call->opts;
	struct kernel_initiator initiator;
	struct identity identity;
	int rc, root = disk_root(call->diag);

	*env = (struct bdev_env){ .timeout_ms =
					  common->no_timeout ? BDEV_NEVER : common->timeout_ms,
		.on_loss_ms = LOSS_DEFAULT * 1000 };
	rc = on_loss ? loss_read(on_loss, "--on-loss", LOSS_MAX, &env->on_loss_ms, call->diag) : 0;
	if (!rc)
		rc = root < 0 ? root : kernel_identity(root, NULL, NULL, &identity, call->diag);
	if (!rc)
		rc = kernel_initiator(root, NULL, &initiator, call->diag);
	if (rc)
		return rc;
	memcpy(env->initiator, initiator.name, sizeof(env->initiator));
	memcpy(env->hostnqn, identity.hostnqn, sizeof(env->hostnqn));
	memcpy(env->hostid, identity.hostid, sizeof(env->hostid));
	if (call->loop.verbose)
		call_note(call, "host NQN %s (%s)", identity.hostnqn, identity.nqn_from);
	return 0;
}

int disk_on_loss(const struct call *call, const char *text, const char *on_loss, uint32_t *ms)
{
	struct uri *uri = uri_new(text);
	const char *own = uri ? uri_value(uri, "loss") : NULL;
	int err = 0;

	*ms = LOSS_DEFAULT * 1000;
	if (own || on_loss)
		err = loss_read(
			own ? own : on_loss, own ? "loss=" : "--on-loss", LOSS_MAX, ms, call->diag);
	free(uri);
	return err;
}

/* Omit keys that only concern how to reach the disk, as they may change. */
static void key_of_uri(struct uri *uri, char key[DISK_KEY])
{
	const char *socket = uri_value(uri, "socket");
	char start[URI_MAX];

	uri_start(start, uri->scheme, uri->host, uri->port);
	snprintf(key, DISK_KEY, "%s/%s%s%s", start, uri->path, socket ? "?socket=" : "",
		socket ? socket : "");
}

static bool anonymous;

void disk_make_anonymous(void)
{
	anonymous = true;
}

bool disk_key(const char *text, const struct bdev *bdev, char key[DISK_KEY])
{
	static const struct bdev_id unknown;
	const struct bdev_id *is = bdev ? &bdev->id : &unknown;
	const uint8_t *id = bdev_id_known(is->nguid, 16) ? is->nguid : is->uuid;
	char path[URI_MAX], real[PATH_MAX];
	struct uri *uri = uri_new(text);
	bool by_uri = false;
	size_t len;

	key[0] = 0;
	if (anonymous) {
		;
	} else if (bdev_id_known(id, 16)) {
		hex_text(key, id, 16);
	} else if (is->serial[0]) { /* namespaces of a controller share it */
		snprintf(key, DISK_KEY, "%s %s %s", is->model, is->serial, uri ? uri->path : "");
	} else if (bdev_uri_path(text, path, sizeof(path)) && realpath(path, real)) {
		if (disk_root(NULL) < 0 ||
			kernel_disk_text(disk_root(NULL), real, key, DISK_KEY, NULL))
			key[0] = 0;
	} else {
		by_uri = true;
		if (uri && uri_is_address(text))
			key_of_uri(uri, key);
	}
	free(uri);
	len = strlen(key);
	if (len && bdev && bdev->is_part)
		snprintf(key + len, DISK_KEY - len, " part %llu+%llu",
			(unsigned long long)bdev->start, (unsigned long long)bdev->lim.size);
	return key[0] && !by_uri;
}

int disk_identify(const struct call *call, const char *operand, const struct bdev *bdev,
	struct disk_identity *identity)
{
	char path[URI_MAX], real[PATH_MAX], own[DISK_KEY] = "";
	bool file =
		!anonymous && bdev_uri_path(operand, path, sizeof(path)) && realpath(path, real);
	int root = disk_root(call->diag), err;

	if (root < 0)
		return root;
	if (!file || bdev->is_part)
		disk_key(operand, bdev, own);
	err = kernel_disk_identity(
		root, file && !bdev->is_part ? real : NULL, own, identity, call->diag);
	if (!err && file && identity->lasts != DISK_IDENTITY_ALWAYS)
		call_warn_once(call,
			"no DMI UUID or machine-id: the identity of each disk changes at the next "
			"%s",
			identity->lasts == DISK_IDENTITY_BOOT ? "reboot" : "start");
	if (!err && call->loop.verbose)
		call_note(call, "%s: serial number %s (%s)", bdev->uri, identity->serial,
			identity->from);
	return err;
}

bool disk_needs_rdma(const char *text)
{
	struct uri *uri = uri_new(text);
	const char *rdma = uri ? uri_value(uri, "rdma") : NULL;
	bool needs = uri && strstr(uri->scheme, "+rdma") && !(rdma && !strcmp(rdma, "iwarp"));

	free(uri);
	return needs;
}

static void check_private_key(const struct call *call, const char *folder)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/client-key.pem", folder);
	secret_check_file(&call->notes, path);
}

/* "secret-file", "tls_psk_file" and the like */
static bool names_file(const struct uri_key *key)
{
	size_t len = strlen(key->name);

	return len >= 5 && !strcasecmp(key->name + len - 4, "file") && *key->value;
}

static bool is_disk(const struct uri_key *key)
{
	return !strcmp(key->name, "path") && strstr(key->value, "://");
}

void disk_check_secrets(const struct call *call, const char *text)
{
	struct uri *uri = uri_new(text);

	for (unsigned i = 0; uri && i < uri->keys; i++) {
		const struct uri_key *key = &uri->key[i];

		if (names_file(key))
			secret_check_file(&call->notes, key->value);
		else if (!strcmp(key->name, "tls-certificates"))
			check_private_key(call, key->value);
		else if (is_disk(key))
			disk_check_secrets(call, key->value);
	}
	free(uri);
}

int disk_allow(const char *text)
{
	struct uri *uri = uri_new(text);
	int err = 0;

	for (unsigned i = 0; !err && uri && i < uri->keys; i++) {
		const struct uri_key *key = &uri->key[i];

		if (names_file(key))
			err = secret_allow(key->value);
		else if (!strcmp(key->name, "socket"))
			err = stream_allow_connect(key->value);
		else if (is_disk(key))
			err = disk_allow(key->value);
	}
	if (!err && uri && !strncmp(uri->scheme, "nbd", 3) &&
		(uri->scheme[3] == 's' || uri_has(uri, "tls")))
		err = tls_client_allow(
			uri_value(uri, "tls-psk-file"), uri_value(uri, "tls-certificates"));
	free(uri);
	return err;
}

void disk_prepare(const struct call *call, const char *uri)
{
	int root = disk_root(NULL);
	struct diag rdma = { 0 };

	disk_check_secrets(call, uri);
	if (root < 0)
		return;
	disk_warn_random(call, root, uri);
	if (disk_needs_rdma(uri) && kernel_rdma_ready(root, &rdma) && call->loop.verbose)
		call_note(call, "%s", rdma.text);
}

void disk_keys(const char *text, struct uri_key_names *asked)
{
	const struct bdev_env env = { .hostnqn = "nqn.2014-08.org.nvmexpress:anonymous",
		.initiator = IQN_OWN "anonymous" };

	bdev_keys(text, &env, asked);
}

void disk_warn_random(const struct call *call, int root, const char *text)
{
	struct uri *uri = uri_new(text);
	const struct scheme *scheme = uri ? scheme_find(uri->scheme) : NULL;
	unsigned uses = scheme ? scheme->uses : 0;
	struct kernel_initiator initiator;
	struct identity identity;

	if (uses & SCHEME_NVMF && !uri_value(uri, "hostnqn") &&
		!kernel_identity(root, NULL, NULL, &identity, NULL) && identity.random)
		call_warn_once(call, "random host NQN for this run: %s", identity.hostnqn);
	if (uses & SCHEME_ISCSI && !uri_value(uri, "initiator") &&
		!kernel_initiator(root, NULL, &initiator, NULL) && initiator.random)
		call_warn_once(call, "random initiator name for this run: %s", initiator.name);
	free(uri);
}

static int in_use(struct diag *diag, const char *path, const char *users)
{
	if (users[0]) {
		diag_set(diag, DIAG_BUSY, EBUSY, "in use: %s", users);
		diag_ctx(diag, "%s", path);
	}
	diag_hint(diag, "to write to it anyway: --force");
	return -EBUSY;
}

/* False: `users` lists processes that opened the disk, but none is known to lock it. */
static bool locked_by(const char *path, char *users, size_t len)
{
	int root = disk_root(NULL);

	users[0] = 0;
	if (root < 0)
		return false;
	if (!kernel_lockers(root, path, users, len) && users[0])
		return true;
	kernel_openers(root, path, users, len);
	return false;
}

/* The last requests of a killed process hold the disk until they complete. */
static int open_local(const char *path, struct bdev **disk, struct loop *loop, const char *uri,
	const struct bdev_env *env, struct diag *diag)
{
	uint64_t until = loop_clock() + LEFT_MS * MSEC;
	volatile int never = 0;
	char users[400];
	int rc;

	while ((rc = bdev_open(disk, loop, uri, env, diag)) == -EBUSY) {
		if (locked_by(path, users, sizeof(users)) || loop_clock() >= until)
			return in_use(diag, path, users);
		*diag = (struct diag){ 0 };
		loop_wait(loop, &never, loop_clock() + STEP_MS * MSEC);
	}
	return rc;
}

void disk_warn_writers(const struct call *call, const char *uri)
{
	char path[URI_MAX], users[400] = "";
	int root = bdev_uri_path(uri, path, sizeof(path)) ? disk_root(NULL) : -1;

	if (root >= 0 && !kernel_writers(root, path, users, sizeof(users)) && users[0])
		call_warn(call, "%s: in use for writing: %s: the copy may be inconsistent", path,
			users);
}

static const struct call *reporting; /* a process has one */

static void report(struct bdev *bdev, bool bad, const char *line)
{
	(void)bdev;
	if (bad)
		call_warn(reporting, "%s", line);
	else
		call_note(reporting, "%s", line);
}

/* Return whether waiting may help: the target starts, is configured, or its network comes up. */
static bool may_come_up(const struct diag *why)
{
	switch (why->code) {
	case DIAG_REFUSED:
	case DIAG_UNREACHABLE:
	case DIAG_TIMEOUT:
	case DIAG_CLOSED:
	case DIAG_NOT_FOUND:
	case DIAG_BUSY:
	case DIAG_NO_DEVICE:
		return true;
	default:
		return false;
	}
}

/* Start attempts for up to retry_ms; timeout_ms limits all of them together. */
static int open_remote(const struct call *call, struct bdev **disk, struct loop *loop,
	const char *uri, const struct bdev_env *env)
{
	bool limited = env->timeout_ms && env->timeout_ms != BDEV_NEVER;
	uint64_t begin = loop_clock(), until = begin + env->retry_ms * MSEC, now = begin, end;
	struct bdev_env mine = *env;
	volatile int never = 0;
	int rc;

	end = limited ? begin + env->timeout_ms * MSEC : UINT64_MAX;
	if (until > end)
		until = end;
	for (;;) {
		rc = bdev_open(disk, loop, uri, &mine, call->diag);
		if (!rc || !may_come_up(call->diag) || loop_clock() >= until)
			break;
		if (now == begin)
			call_note(call, "%s: %s; retrying for up to %g s", call->diag->object,
				call->diag->text, (double)(until - begin) / 1e9);
		now = loop_clock() + PAUSE_MS * MSEC;
		loop_wait(loop, &never, now < until ? now : until);
		now = loop_clock();
		if (now >= end)
			break;
		*call->diag = (struct diag){ 0 };
		if (limited)
			mine.timeout_ms = (uint32_t)((end - now) / MSEC) + 1;
	}
	if (!rc && now != begin)
		call_note(call, "%s: opened after %.1f s", (*disk)->uri,
			(double)(loop_clock() - begin) / 1e9);
	return rc;
}

static void warn_of(const struct call *call, const char *object, const struct diag *warning)
{
	call_warn(call, "%s: %s", object, warning->text);
	if (warning->hint[0] && !((const struct opt_common *)call->opts)->quiet)
		out_message(OUT_WARNING, "hint: %s", warning->hint);
}

int disk_open(const struct call *call, struct bdev **disk, struct loop *loop, const char *uri,
	const struct bdev_env *env)
{
	struct diag rdma = { 0 };
	struct bdev_path path_of;
	char path[URI_MAX], users[400];
	bool local = bdev_uri_path(uri, path, sizeof(path));
	int rc, root = disk_root(call->diag);
	uint64_t since;

	if (root < 0)
		return root;
	if (env->write && !env->force && local &&
		kernel_holders(root, path, NULL, users, sizeof(users)) >= 0 && users[0])
		return in_use(call->diag, path, users);
	if (!privilege_dropped())
		disk_prepare(call, uri);
	if (disk_needs_rdma(uri))
		kernel_rdma_ready(root, &rdma);
	since = loop_clock();
	if (local)
		rc = open_local(path, disk, loop, uri, env, call->diag);
	else
		rc = open_remote(call, disk, loop, uri, env);
	if (rc) {
		rc = kernel_rdma_blame(call->diag, &rdma);
		if (rc == -ENOENT)
			bdev_suggest_file(uri, call->diag);
		if (!bdev_suggest(loop, uri, env, since, call->diag))
			bdev_suggest_protocol(loop, uri, env, since, call->diag);
		return rc;
	}
	reporting = call;
	(*disk)->report = report;
	if ((*disk)->why.err)
		warn_of(call, (*disk)->uri, &(*disk)->why);
	for (unsigned i = 1; bdev_path(*disk, i, &path_of); i++)
		if (path_of.warning)
			warn_of(call, path_of.uri, path_of.warning);
	return 0;
}
