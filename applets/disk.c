/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Open disks for an applet. Schemes are left to core/block, holders and RDMA modules to
 * core/kernel. */
#include "disk.h"
#include "kernel.h"
#include "policy.h"
#include "uri.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MSEC    1000000ull
#define LEFT_MS 2000 /* for the last requests of a process that was killed */
#define STEP_MS 20

int disk_env(const struct call *call, struct bdev_env *env, const char *on_loss)
{
	const struct opt_common *common = call->opts;
	struct identity who;
	int rc, root = kernel_root();

	*env = (struct bdev_env){ .timeout_ms = common->never ? BDEV_NEVER : common->timeout_ms,
		.on_loss_ms = LOSS_DEFAULT * 1000 };
	rc = on_loss ? loss_read(on_loss, "--on-loss", LOSS_MAX, &env->on_loss_ms, call->diag) : 0;
	if (!rc)
		rc = root < 0 ? diag_sys(call->diag, errno, "open /")
			      : kernel_identity(root, NULL, NULL, &who, call->diag);
	if (root >= 0)
		close(root);
	if (rc)
		return rc;
	memcpy(env->hostnqn, who.hostnqn, sizeof(env->hostnqn));
	memcpy(env->hostid, who.hostid, sizeof(env->hostid));
	if (call->loop.verbose)
		call_note(call, "host NQN %s (%s)", who.hostnqn, who.nqn_from);
	return 0;
}

/* On the heap, as a struct uri is some kilobytes. NULL if text is not a URI, which bdev_open()
 * reports. */
static struct uri *parse(const char *text)
{
	struct uri *uri = calloc(1, sizeof(*uri));

	if (uri && uri_parse(uri, text, NULL) == 0)
		return uri;
	free(uri);
	return NULL;
}

bool disk_path(const char *text, char *path, size_t len)
{
	struct uri *uri = parse(text);
	bool is_file = uri && !strcmp(uri->scheme, "file") &&
		       (size_t)snprintf(path, len, "%s", uri->path) < len;

	free(uri);
	return is_file;
}

int disk_on_loss(const struct call *call, const char *text, const char *on_loss, uint32_t *ms)
{
	struct uri *uri = parse(text);
	const char *own = uri ? uri_value(uri, "loss") : NULL;
	int err = 0;

	*ms = LOSS_DEFAULT * 1000;
	if (own || on_loss)
		err = loss_read(
			own ? own : on_loss, own ? "loss=" : "--on-loss", LOSS_MAX, ms, call->diag);
	free(uri);
	return err;
}

/* Namespaces of a controller share its serial number: add the path. */
static void key_of_serial(const char *text, const struct bdev_id *id, char key[DISK_KEY])
{
	struct uri *uri = parse(text);

	snprintf(key, DISK_KEY, "%s %s %s", id->model, id->serial, uri ? uri->path : "");
	free(uri);
}

/* The disk without the keys that say how to reach it, which may change. */
static void key_of_uri(const char *text, char key[DISK_KEY])
{
	struct uri *uri = parse(text);
	const char *socket = uri ? uri_value(uri, "socket") : NULL;
	bool bracket = uri && strchr(uri->host, ':');
	char port[8] = "";

	if (uri && uri->port)
		snprintf(port, sizeof(port), ":%u", uri->port);
	if (uri && strstr(text, "://"))
		snprintf(key, DISK_KEY, "%s://%s%s%s%s/%s%s%s", uri->scheme, bracket ? "[" : "",
			uri->host, bracket ? "]" : "", port, uri->path, socket ? "?socket=" : "",
			socket ? socket : "");
	free(uri);
}

bool disk_key(const char *uri, const struct bdev *bdev, char text[DISK_KEY])
{
	static const struct bdev_id unknown;
	const struct bdev_id *is = bdev ? &bdev->id : &unknown;
	const uint8_t *id = disk_id_known(is->nguid, 16) ? is->nguid : is->uuid;
	char path[URI_MAX], real[PATH_MAX];
	int root;

	text[0] = 0;
	if (disk_id_known(id, 16)) {
		for (unsigned i = 0; i < 16; i++)
			snprintf(text + 2 * i, 3, "%02x", id[i]);
	} else if (is->serial[0]) {
		key_of_serial(uri, is, text);
	} else if (disk_path(uri, path, sizeof(path)) && realpath(path, real)) {
		root = kernel_root();
		if (root < 0 || kernel_disk_text(root, real, text, DISK_KEY, NULL))
			text[0] = 0;
		if (root >= 0)
			close(root);
	} else {
		key_of_uri(uri, text);
		return false;
	}
	return text[0];
}

bool disk_id_known(const uint8_t *id, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (id[i])
			return true;
	return false;
}

static bool wants_rdma(const char *text)
{
	struct uri *uri = parse(text);
	const char *way = uri ? uri_value(uri, "rdma") : NULL;
	bool wants = uri && strstr(uri->scheme, "+rdma") && !(way && !strcmp(way, "iwarp"));

	free(uri);
	return wants;
}

static int in_use(struct diag *diag, const char *path, const char *who)
{
	if (who[0]) {
		diag_set(diag, DIAG_BUSY, EBUSY, "in use: %s", who);
		diag_ctx(diag, "%s", path);
	}
	diag_hint(diag, "to write to it anyway: --force");
	return -EBUSY;
}

static int refuse_held(int root, const char *path, struct diag *diag)
{
	char who[400];

	if (kernel_holders(root, path, who, sizeof(who)) < 0 || !who[0])
		return 0;
	return in_use(diag, path, who);
}

/* False: `who` lists processes that opened the disk, but none is known to lock it. */
static bool locked_by(const char *path, char *who, size_t len)
{
	int root = kernel_root();
	bool locked;

	who[0] = 0;
	if (root < 0)
		return false;
	locked = !kernel_lockers(root, path, who, len) && who[0];
	if (!locked)
		kernel_openers(root, path, who, len);
	close(root);
	return locked;
}

/* The last requests of a process that was killed hold the disk until they have ended. */
static int open_local(const char *path, struct bdev **disk, struct loop *loop, const char *uri,
	const struct bdev_env *env, struct diag *diag)
{
	uint64_t until = loop_clock() + LEFT_MS * MSEC;
	volatile int never = 0;
	char who[400];
	int rc;

	while ((rc = bdev_open(disk, loop, uri, env, diag)) == -EBUSY) {
		if (locked_by(path, who, sizeof(who)) || loop_clock() >= until)
			return in_use(diag, path, who);
		*diag = (struct diag){ 0 };
		loop_wait(loop, &never, loop_clock() + STEP_MS * MSEC);
	}
	return rc;
}

void disk_warn_writers(const struct call *call, const char *uri)
{
	char path[URI_MAX], who[400] = "";
	int root = disk_path(uri, path, sizeof(path)) ? kernel_root() : -1;

	if (root < 0)
		return;
	if (!kernel_writers(root, path, who, sizeof(who)) && who[0])
		call_note(call, "%s: in use for writing: %s: the copy may be inconsistent", path,
			who);
	close(root);
}

int disk_blame_rdma(struct diag *why, const struct diag *rdma)
{
	const char *other_way;
	char text[sizeof(why->text)];

	if (!rdma->err || (why->code != DIAG_NO_DEVICE && why->code != DIAG_NO_MODULE))
		return -why->err;
	other_way = strchr(why->text, ';');
	snprintf(text, sizeof(text), "%.250s%.250s", rdma->text, other_way ? other_way : "");
	why->err = rdma->err;
	why->code = rdma->code;
	memcpy(why->text, text, sizeof(text));
	snprintf(why->hint, sizeof(why->hint), "%s", rdma->hint);
	return -rdma->err;
}

static const struct call *reporting; /* a process has one */

static void report(struct bdev *bdev, const char *line)
{
	(void)bdev;
	call_note(reporting, "%s", line);
}

int disk_open(const struct call *call, struct bdev **disk, struct loop *loop, const char *uri,
	const struct bdev_env *env)
{
	struct diag rdma = { 0 };
	char path[URI_MAX];
	int rc, root = kernel_root();
	bool local = disk_path(uri, path, sizeof(path));
	uint64_t since;

	if (root < 0)
		return diag_sys(call->diag, errno, "open /");
	rc = env->write && !env->force && local ? refuse_held(root, path, call->diag) : 0;
	if (!rc && wants_rdma(uri))
		kernel_rdma_ready(root, &rdma);
	close(root);
	if (rc)
		return rc;
	if (rdma.err && call->loop.verbose)
		call_note(call, "%s", rdma.text);
	since = loop_clock();
	if (local)
		rc = open_local(path, disk, loop, uri, env, call->diag);
	else
		rc = bdev_open(disk, loop, uri, env, call->diag);
	if (!rc) {
		reporting = call;
		(*disk)->report = report;
		if ((*disk)->why.err)
			call_note(call, "%s: %s", (*disk)->uri, (*disk)->why.text);
		if ((*disk)->why.hint[0] && !((const struct opt_common *)call->opts)->quiet)
			out_message("hint: %s", (*disk)->why.hint);
		return 0;
	}
	rc = disk_blame_rdma(call->diag, &rdma);
	bdev_suggest(loop, uri, env, since, call->diag);
	return rc;
}

void disk_show(struct out *out, const struct bdev *bdev, bool ro)
{
	out_text(out, "uri", NULL, "%s", bdev->uri);
	out_u64(out, "size", NULL, bdev->lim.size);
	out_u64(out, "block_size", NULL, bdev->lim.block);
	out_bool(out, "read_only", NULL, ro || bdev->lim.ro);
}
