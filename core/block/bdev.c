/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Open disks by URI and close them, blocking or event-driven; in debug builds, check the contract
 * of io. Each scheme is implemented by its row. */
#include "bdev.h"
#include "block.h"
#include "part.h"
#include "protocol.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLOSE_MS 2000
/* wait longer than timeout=: at that deadline the lower layer reports the better reason */
#define GRACE_MS        500
#define PROBE_MS        5000 /* for one other protocol */
#define CANCEL_MS       100
#define FLUSH_CANCEL_MS 500 /* time for the disk to return the cancelled flush */

static int stream_attach(struct bdev **bdev, struct loop *loop, struct uri *uri,
	const struct bdev_env *env, struct diag *diag)
{
	return (env->write ? output_attach : input_attach)(bdev, loop, uri, env, diag);
}

const struct proto file_proto = { .scheme = { "file:", "file or block device: PATH", SCHEME_DISK },
	.local = true,
	.attach = file_attach };
const struct proto stream_proto = { .scheme = { "-" }, .local = true, .attach = stream_attach };
const struct proto ram_proto = {
	.scheme = { "ram:", "memory: SIZE", SCHEME_DISK }, .local = true, .attach = ram_attach
};
const struct proto null_proto = { .scheme = { "null:", "reads zeroes, discards writes: SIZE",
					  SCHEME_DISK },
	.local = true,
	.attach = null_attach };

bool bdev_id_known(const uint8_t *id, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (id[i])
			return true;
	return false;
}

static const struct proto *find_proto(const char *name)
{
	const struct scheme *scheme = scheme_find(name);
	const struct proto *proto = scheme ? container_of(scheme, struct proto, scheme) : NULL;

	return proto && proto->attach ? proto : NULL;
}

bool bdev_exposed(const struct uri *uri)
{
	const struct proto *proto = find_proto(uri->scheme);

	return proto && proto->exposed;
}

bool bdev_lists_paths(const struct uri *uri)
{
	const struct proto *proto = find_proto(uri->scheme);

	return proto && proto->lists_paths;
}

static int unknown_scheme(const struct uri *uri, struct diag *diag)
{
	const struct scheme *scheme = scheme_find(uri->scheme);

	if (scheme) {
		diag_set(diag, DIAG_UNSUPPORTED, EPROTONOSUPPORT,
			"'%s:' is only supported through the kernel", uri->scheme);
		diag_ctx(diag, "%s", uri->spelling);
		return diag_hint(diag,
			scheme->uses & SCHEME_NFS
				? "rdmastor %s '%s' DIR, then use the file in DIR"
				: "rdmastor %s '%s', then use the block device that it prints",
			scheme->applet, uri->spelling);
	}
	scheme_unknown(uri->scheme, SCHEME_DISK, "a path", diag);
	return diag_ctx(diag, "%s", uri->spelling);
}

/* Parse the keys that all schemes share. */
static int common_keys(struct uri *uri, struct bdev_env *env, struct diag *diag)
{
	bool ro = false;
	int err = uri_msec(uri, "timeout", &env->timeout_ms, diag);

	if (!err)
		err = uri_msec(uri, "detect", &env->detect_ms, diag);
	if (!err && env->detect_ms && env->detect_ms < BDEV_DETECT_MIN)
		err = diag_set(diag, DIAG_USAGE, ERANGE, "detect='%s': must be 0.1 s or more",
			uri_value(uri, "detect"));
	if (!err)
		err = uri_bool(uri, "ro", &ro, diag);
	if (ro)
		env->write = false;
	if (!env->timeout_ms)
		env->timeout_ms = BDEV_TIMEOUT_MS;
	return err;
}

typedef int attach_fn(
	struct bdev **, struct loop *, struct uri *, const struct bdev_env *, struct diag *);

static int start(attach_fn *attach, struct bdev **out, struct loop *loop, struct uri *uri,
	const struct bdev_env *env, void (*changed)(struct bdev *), void *user, struct diag *diag)
{
	struct bdev_env mine = *env;
	struct bdev *bdev;
	int err = common_keys(uri, &mine, diag);

	if (!err)
		err = attach(&bdev, loop, uri, &mine, diag);
	if (err)
		return diag_ctx(diag, "%s", uri->spelling);
	memcpy(bdev->uri, uri->spelling, sizeof(bdev->uri));
	bdev->changed = changed;
	bdev->user = user;
	*out = bdev;
	return 0;
}

int bdev_start(struct bdev **out, struct loop *loop, struct uri *uri, const struct bdev_env *env,
	void (*changed)(struct bdev *), void *user, struct diag *diag)
{
	const struct proto *proto = find_proto(uri->scheme);

	if (!proto)
		return unknown_scheme(uri, diag);
	return start(proto->attach, out, loop, uri, env, changed, user, diag);
}

struct wait {
	volatile int done;
	uint8_t state; /* wait until the state differs from this one */
};

static void bdev_waited(struct bdev *bdev)
{
	struct wait *wait = bdev->user;

	wait->done = bdev->state != wait->state;
}

/* ms: 0 = no limit */
static bool bdev_wait(struct bdev *bdev, struct wait *wait, uint32_t ms)
{
	bool done = loop_wait(bdev->loop, &wait->done, ms ? loop_clock() + ms * MSEC : 0);

	bdev->changed = NULL;
	bdev->user = NULL;
	return done;
}

static int copy_diag(const struct diag *why, struct diag *diag)
{
	assert(why->err);
	if (diag)
		*diag = *why;
	return -why->err;
}

static uint32_t uri_timeout(struct uri *uri, const struct bdev_env *env)
{
	struct bdev_env mine = *env;

	common_keys(uri, &mine, NULL);
	return mine.timeout_ms;
}

static bool uri_is_ro(struct uri *uri)
{
	struct bdev_env mine = { .write = true };

	common_keys(uri, &mine, NULL);
	return !mine.write;
}

int bdev_open(struct bdev **out, struct loop *loop, const char *text, const struct bdev_env *env,
	struct diag *diag)
{
	struct wait wait = { .state = BDEV_OPENING };
	struct bdev_env mine = *env;
	const struct proto *proto;
	struct part_range part;
	struct bdev *bdev;
	struct uri uri;
	uint32_t ms;
	int err = uri_parse(&uri, text, diag);
	char limit[DIAG_SECONDS];

	if (err)
		return err;
	proto = find_proto(uri.scheme);
	if (!proto)
		return unknown_scheme(&uri, diag);
	err = part_keys(&uri, &part, diag);
	if (err)
		return err;
	if (part.on) { /* what surrounds the part stays as it is */
		mine.create = 0;
		mine.replace = false;
	}
	ms = uri_timeout(&uri, env);
	err = start(proto->local ? proto->attach : paths_attach, &bdev, loop, &uri, &mine,
		bdev_waited, &wait, diag);
	if (err)
		return err;
	if (!bdev_wait(bdev, &wait, ms == BDEV_NEVER ? 0 : ms + GRACE_MS))
		err = diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT, "no answer within %s",
			diag_seconds(ms, limit));
	else if (bdev->state == BDEV_DOWN)
		err = copy_diag(&bdev->why, diag);
	else if (part.on)
		err = part_open(&bdev, bdev, &part, ms == BDEV_NEVER ? 0 : ms, diag);
	if (err) {
		diag_ctx(diag, "%s", uri.spelling);
		bdev->ops->free(bdev);
		return err;
	}
	bdev->lim.ro_disk |= uri_is_ro(&uri);
	*out = bdev;
	return 0;
}

void bdev_keys(const char *text, const struct bdev_env *env, struct uri_key_names *asked)
{
	struct uri *uri = uri_new(text);
	const struct proto *proto = uri ? find_proto(uri->scheme) : NULL;
	struct bdev_env mine = *env;
	struct paths_keys paths = { 0 };
	struct part_range part;
	struct bdev *bdev;

	if (proto && !part_keys(uri, &part, NULL) && !common_keys(uri, &mine, NULL) &&
		(proto->local || !paths_keys(uri, &paths, NULL)) &&
		proto->attach(&bdev, NULL, uri, &mine, NULL))
		*asked = uri->known;
	free(uri);
}

struct offers { /* URIs that the server offers instead, as far as a hint has room */
	char text[300];
	unsigned more;
	char wanted[URI_MAX]; /* path of the wanted URI, encoded */
	bool has; /* an offered path is a prefix of the wanted one: only a part of that disk is
		     missing */
};

static void offer(const char *uri, void *user)
{
	struct offers *offers = user;
	size_t at = strlen(offers->text), len;
	const char *path = strstr(uri, "://");

	path = path ? strchr(path + 3, '/') : NULL;
	len = path ? strcspn(path, "?") : 0;
	offers->has |= len > 1 && !strncmp(offers->wanted, path, len) &&
		       (!offers->wanted[len] || offers->wanted[len] == '/');
	if (offers->more || at + strlen(uri) + 4 > sizeof(offers->text))
		offers->more++;
	else
		snprintf(offers->text + at, sizeof(offers->text) - at, "%s%s", at ? ", " : "", uri);
}

/* The server answers, but does not have the disk: suggest others. Linux's iSCSI target (6.12) calls
 * names that it does not know temporarily unavailable. */
static void suggest_others(struct loop *loop, const struct proto *proto, struct uri *uri,
	const struct bdev_env *env, uint32_t ms, struct diag *why)
{
	struct bdev_env mine = *env;
	struct offers offers = { 0 };

	uri_add_target(offers.wanted, uri);
	mine.timeout_ms = ms;
	if ((why->code != DIAG_NOT_FOUND && why->code != DIAG_BUSY) || why->hint[0] ||
		!proto->discover || proto->discover(loop, uri, &mine, offer, &offers, NULL) ||
		!offers.text[0] || offers.has)
		return;
	diag_hint(why, "available there: %s%s", offers.text, offers.more ? ", ..." : "");
}

/* Return the milliseconds left to find an alternative. */
static uint32_t suggest_ms(struct uri *uri, const struct bdev_env *env, uint64_t since_ns)
{
	uint64_t spent = (loop_clock() - since_ns) / MSEC;
	uint32_t ms = uri_timeout(uri, env);

	if (ms == BDEV_NEVER)
		return BDEV_TIMEOUT_MS;
	return spent < ms ? ms - (uint32_t)spent : 0;
}

bool bdev_suggest(struct loop *loop, const char *text, const struct bdev_env *env,
	uint64_t since_ns, struct diag *why)
{
	struct uri *uri = uri_new(text);
	const struct diag before = *why;
	const struct proto *proto = uri ? find_proto(uri->scheme) : NULL;
	uint32_t ms = proto ? suggest_ms(uri, env, since_ns) : 0;
	if (ms && proto->suggest)
		proto->suggest(loop, uri, ms, why);
	ms = proto ? suggest_ms(uri, env, since_ns) : 0;
	if (ms)
		suggest_others(loop, proto, uri, env, ms, why);
	free(uri);
	return strcmp(before.text, why->text) || strcmp(before.hint, why->hint);
}

/* Return whether the server has responded, even by a refusal. */
static bool spoke(const struct diag *why)
{
	return !why->err || why->code == DIAG_AUTH || why->code == DIAG_NOT_FOUND ||
	       why->code == DIAG_BUSY || why->code == DIAG_MISMATCH;
}

/* Query the server of `at` by another protocol. False: try the next one. */
static bool suggest_protocol(struct loop *loop, const struct proto *proto, const struct uri *at,
	const struct bdev_env *env, uint32_t ms, struct diag *why)
{
	struct uri *uri;
	const char *name = proto->scheme.about, *bracket = strchr(at->host, ':') ? "[]" : "";
	struct bdev_env mine = *env;
	struct offers offers = { 0 };
	struct diag theirs = { 0 };
	char text[sizeof(why->text)], server[URI_MAX];
	bool found;

	snprintf(server, sizeof(server), "%s%.1s%s%s:%u", proto->scheme.start, bracket, at->host,
		*bracket ? "]" : "", at->port);
	mine.timeout_ms = ms < PROBE_MS ? ms : PROBE_MS;
	uri = uri_new(server);
	found = uri;
	if (found) {
		proto->discover(loop, uri, &mine, offer, &offers, &theirs);
		found = spoke(&theirs);
	}
	free(uri);
	if (!found) /* nothing listens there by any protocol */
		return theirs.err == ECONNREFUSED || theirs.code == DIAG_UNREACHABLE;
	snprintf(text, sizeof(text), "%.460s; %.*s answers there", why->text,
		(int)strcspn(name, ":"), name);
	memcpy(why->text, text, sizeof(text));
	if (offers.text[0])
		diag_hint(why, "available there: %s%s", offers.text, offers.more ? ", ..." : "");
	else
		diag_hint(why, "list what it offers: rdmastor discover %s", server);
	return true;
}

/* The reason that software iWARP failed is not the code, if there is no RDMA device. */
static bool may_be_another(const struct proto *own, const struct diag *why)
{
	return why->code == DIAG_CLOSED || why->code == DIAG_PROTOCOL ||
	       (own && own->exposed &&
		       (why->code == DIAG_NO_DEVICE || why->code == DIAG_NO_MODULE));
}

void bdev_suggest_protocol(struct loop *loop, const char *text, const struct bdev_env *env,
	uint64_t since_ns, struct diag *why)
{
	struct uri *uri = uri_new(text);
	bool done = !uri || !uri->host[0] || !uri->port ||
		    !may_be_another(find_proto(uri->scheme), why);

	/* those that need no RDMA first */
	for (unsigned exposed = 0; exposed < 2; exposed++)
		for (unsigned i = 0; schemes[i] && !done; i++) {
			const struct proto *proto = container_of(schemes[i], struct proto, scheme);
			uint32_t ms = suggest_ms(uri, env, since_ns);

			if (ms && proto->discover && proto->exposed == exposed &&
				proto != find_proto(uri->scheme))
				done = suggest_protocol(loop, proto, uri, env, ms, why);
		}
	free(uri);
}

int bdev_discover(struct loop *loop, const char *text, const struct bdev_env *env,
	void (*found)(const char *uri, void *user), void *user, struct diag *diag)
{
	struct uri *uri = calloc(1, sizeof(*uri));
	struct bdev_env mine = *env;
	const struct proto *proto;
	int err = uri ? uri_parse(uri, text, diag) : diag_sys(diag, ENOMEM, "discovery");

	proto = err ? NULL : find_proto(uri->scheme);
	if (!err && !proto)
		err = unknown_scheme(uri, diag);
	if (!err && !proto->discover)
		err = diag_set(diag, DIAG_UNSUPPORTED, EOPNOTSUPP,
			"%s servers have no list of their disks", uri->scheme);
	if (!err) {
		mine.timeout_ms = uri_timeout(uri, env);
		err = proto->discover(loop, uri, &mine, found, user, diag);
	}
	if (!err)
		err = uri_done(uri, diag);
	free(uri);
	return err;
}

bool bdev_path(struct bdev *bdev, unsigned i, struct bdev_path *path)
{
	if (bdev->state == BDEV_UP && bdev->ops->path)
		return bdev->ops->path(bdev, i, path);
	*path = (struct bdev_path){ .uri = bdev->uri };
	if (bdev->state != BDEV_UP) {
		path->state = BDEV_PATH_FAILED;
		path->reason = bdev->why.code;
	}
	return !i;
}

void bdev_close(struct bdev *bdev)
{
	struct wait wait = { .state = BDEV_UP };

	if (!bdev)
		return;
	if (bdev->state == BDEV_UP) {
		bdev->user = &wait;
		bdev->changed = bdev_waited;
		bdev->ops->stop(bdev);
		bdev_wait(bdev, &wait, CLOSE_MS);
	}
	bdev->ops->free(bdev);
}

/* Errors by which write-back reports lost data; file systems report others as one of these. */
static bool lost_data(int err)
{
	static const int errs[] = { EIO, ENOSPC, EDQUOT, ENODATA, ENOLINK, ETIMEDOUT, EREMOTEIO,
		EILSEQ, ESTALE, EFBIG };

	for (unsigned i = 0; i < sizeof(errs) / sizeof(errs[0]); i++)
		if (err == errs[i])
			return true;
	return false;
}

int bdev_sync_status(struct bdev *bdev, const struct io *io, int status)
{
	int first = 0;

	if (io->kind != IO_FLUSH && !(io->flags & IO_FUA))
		return status;
	if (!status)
		return __atomic_load_n(&bdev->sync_error, __ATOMIC_RELAXED);
	if (lost_data(-status))
		__atomic_compare_exchange_n(&bdev->sync_error, &first, status, false,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return status;
}

static void lane_waited(struct lane *lane)
{
	struct wait *wait = lane->user;

	wait->done = lane->state != LANE_OPENING;
}

int lane_open(struct lane **out, struct bdev *bdev, struct loop *loop, struct diag *diag)
{
	return lane_open_until(out, bdev, loop, NULL, diag);
}

int lane_open_until(struct lane **out, struct bdev *bdev, struct loop *loop,
	const volatile int *stop, struct diag *diag)
{
	struct wait wait = { 0 };
	struct lane *lane;
	int err = bdev->ops->lane(&lane, bdev, loop, diag);

	if (err)
		return diag_ctx(diag, "%s", bdev->uri);
	lane->user = &wait;
	lane->changed = lane_waited;
	if (!loop_wait_until(loop, &wait.done, stop))
		err = diag_sys(diag, EINTR, "connect");
	lane->user = NULL;
	lane->changed = NULL;
	if (!err && lane->state == LANE_DOWN)
		err = copy_diag(&lane->why, diag);
	if (err) {
		diag_ctx(diag, "%s", bdev->uri);
		lane_close(lane);
		return err;
	}
	*out = lane;
	return 0;
}

void lane_close(struct lane *lane)
{
	if (lane)
		lane->ops->free(lane);
}

static void lane_kick(struct loop_work *work)
{
	struct lane *lane = container_of(work, struct lane, kick);

	lane->ops->kick(lane);
}

void lane_init(struct lane *lane, const struct lane_ops *ops, struct bdev *bdev, struct loop *loop)
{
	*lane = (struct lane){
		.ops = ops,
		.bdev = bdev,
		.loop = loop,
		.state = LANE_OPENING,
		.kick.run = lane_kick,
		.gate.fire = lane_gate_fired,
		.gated_end = &lane->gated,
	};
}

struct io_wait {
	struct io io;
	volatile int done;
};

static void io_waited(struct io *io)
{
	container_of(io, struct io_wait, io)->done = 1;
}

void lane_give_up(struct lane *lane)
{
	const struct diag why = { .err = ETIMEDOUT, .code = DIAG_TIMEOUT, .text = "no answer" };

	if (lane->given_up || !lane->ops->abort || lane->state != LANE_UP)
		return;
	lane->given_up = true;
	lane->ops->abort(lane, &why);
}

int bdev_io_wait(struct lane *lane, struct io *io, uint32_t timeout_ms)
{
	struct io_wait wait = { .io = *io };
	uint64_t deadline = timeout_ms ? loop_clock() + timeout_ms * MSEC : 0;
	bool expired = false, cancelled = false;

	wait.io.done = io_waited;
	wait.io.lower = calloc(1, lane->bdev->lim.io_size + 1);
	if (!wait.io.lower)
		return io->status = -ENOMEM;
	bdev_submit(lane, &wait.io);
	while (!loop_wait(lane->loop, &wait.done, deadline)) {
		cancelled = cancelled || bdev_cancel(lane, &wait.io);
		if (expired && !cancelled)
			lane_give_up(lane);
		expired = true;
		deadline = loop_clock() + CANCEL_MS * MSEC;
	}
	free(wait.io.lower);
	io->detail = wait.io.detail;
	io->status = wait.io.status;
	if ((expired && io->status == -ECANCELED) || (lane->given_up && io->status == -ENOTCONN))
		io->status = -ETIMEDOUT;
	return io->status;
}

struct flush {
	struct io io;
	volatile int done;
	uint64_t lower[];
};

static void flushed(struct io *io)
{
	container_of(io, struct flush, io)->done = 1;
}

/* A flush that the disk still holds at the deadline is not freed. */
int bdev_flush(struct lane *lane, uint64_t deadline, struct diag *diag)
{
	struct flush *flush = calloc(1, sizeof(*flush) + lane->bdev->lim.io_size);
	int status = flush ? -EINPROGRESS : -ENOMEM;
	const char *text = NULL;

	if (flush) {
		flush->io = (struct io){ .kind = IO_FLUSH, .done = flushed, .lower = flush->lower };
		bdev_submit(lane, &flush->io);
		if (!loop_wait(lane->loop, &flush->done, deadline))
			bdev_cancel(lane, &flush->io);
		if (loop_wait(lane->loop, &flush->done, loop_clock() + FLUSH_CANCEL_MS * MSEC)) {
			status = flush->io.status == -ECANCELED ? -ETIMEDOUT : flush->io.status;
			text = bdev_status_text(lane->bdev, &flush->io);
			free(flush);
		}
	}
	if (!status)
		return 0;
	if (status == -EINPROGRESS || status == -ETIMEDOUT)
		diag_set(diag, DIAG_TIMEOUT, -status,
			"data may not be on the disk: flush: timed out");
	else if (status == -EHOSTUNREACH)
		diag_set(diag, DIAG_UNREACHABLE, -status,
			"data may not be on the disk: flush: connection lost");
	else if (text)
		diag_set(diag, DIAG_IO, -status, "data may not be on the disk: flush: %s", text);
	else
		diag_sys(diag, -status, "data may not be on the disk: flush");
	diag_ctx(diag, "%s", lane->bdev->uri);
	return status;
}

#ifdef DEBUG_CONTRACTS
static void check_runs(const struct io *io, uint32_t block)
{
	const struct map_run *run = (const struct map_run *)(const void *)io->buf->p;
	uint64_t sum = 0;

	assert(io->detail && io->detail <= io->buf->cap / sizeof(*run));
	for (uint32_t i = 0; i < io->detail; i++) {
		assert(run[i].len && run[i].len % block == 0 && run[i].len <= io->len - sum);
		assert(!(run[i].flags & ~(MAP_HOLE | MAP_ZERO)));
		sum += run[i].len;
	}
}

static void checked_done(struct io *io)
{
	struct lane *lane = io->checked_lane;

	assert(lane); /* else done() was called twice, or inside submit */
	io->checked_lane = NULL;
	assert(io->lower == io->checked_lower);
	assert(io->status <= 0);
	if (io->kind == IO_MAP && !io->status)
		check_runs(io, lane->bdev->lim.block);
	if (io->kind == IO_COMPARE_WRITE && io->status == -EBADE)
		assert(io->detail < io->len);
	io->checked_done(io);
}

static void check_io(const struct bdev_limits *lim, const struct io *io)
{
	assert(io->kind < IO_KINDS && io->done);
	assert(lim->io_size == 0 || (io->lower && (uintptr_t)io->lower % 8 == 0));
	assert(io->len <= lim->max[io->kind]);
	if (io->kind == IO_FLUSH) {
		assert(!io->len && !io->off);
		return;
	}
	assert(io->len && io->len % lim->block == 0 && io->off % lim->block == 0 &&
		bdev_range_ok(lim, io->off, io->len));
	assert(!lim->ro || io->kind == IO_READ || io->kind == IO_MAP);
	if (io->kind == IO_READ || io->kind == IO_WRITE)
		assert(io->buf && io->len <= io->buf->cap);
	if (io->kind == IO_COMPARE_WRITE)
		assert(io->buf && io->len <= io->buf->cap / 2);
	if (io->kind == IO_MAP)
		assert(io->buf && io->buf->cap >= sizeof(struct map_run));
}

void bdev_check_submit(struct lane *lane, struct io *io)
{
	assert(lane->state != LANE_OPENING);
	check_io(&lane->bdev->lim, io);
	if (io->done != checked_done) {
		io->checked_done = io->done;
		io->done = checked_done;
	} else {
		assert(!io->checked_lane); /* else the io is still in flight */
	}
	io->checked_lower = io->lower;
	io->checked_lane = NULL;
	lane->ops->submit(lane, io);
	io->checked_lane = lane;
}
#endif
