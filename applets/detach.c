/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* detach: remove a block device that export made, served or not. Each kind of device is a row. */
#include "applet.h"
#include "export.h"
#include "kernel_disk.h"
#include "kernel_identity.h"
#include "kernel_nbd.h"
#include "kernel_process.h"
#include "kernel_serving.h"
#include "loop.h"
#include "uri.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WAIT_MS     15000
#define ANSWER_MS   1000 /* for a process to report what it serves */
#define IN_USE_HINT "to detach it anyway and lose unwritten data: --force"

struct detach_options {
	struct opt_common common;
	bool force;
};

static const struct opt rows[] = {
	{ "force", 0, OPT_FLAG, offsetof(struct detach_options, force), NULL,
		"detach even if the device is in use or its disk does not answer" },
	{ 0 },
};
static const struct detach_options defaults = { .common.timeout_ms = WAIT_MS };

struct detach {
	struct call *call;
	const struct detach_options *opts;
	struct loop *loop;
	int root;
	char path[80]; /* /dev/ublkb0 */
	unsigned number;
};

struct device_kind {
	const char *name; /* of /dev/NAMEn */
	int (*look)(struct detach *, bool *exists);
	int (*end)(struct detach *);
};

static int another_programs(const struct detach *d)
{
	diag_set(d->call->diag, DIAG_BUSY, EBUSY, "belongs to another program");
	return diag_hint(d->call->diag, "to detach it anyway: --force");
}

/* 0 also for a device that does not exist. */
static int ublk_there(struct detach *d, bool *exists)
{
	struct ublk_info info;
	char node[80];
	int dev, err;

	*exists = false;
	snprintf(node, sizeof(node), "/dev/ublkc%u", d->number);
	if (access(node, F_OK) && access(d->path, F_OK))
		return 0;
	dev = kernel_ublk_open(d->root, d->call->diag);
	if (dev < 0)
		return dev;
	err = ublk_query(dev, d->loop, d->number, &info, d->call->diag);
	close(dev);
	if (err == -ENODEV)
		return 0;
	if (err)
		return err;
	*exists = true;
	if (!info.ours && !d->opts->force)
		return another_programs(d);
	out_text(d->call->out, "server", NULL, "%s", info.live ? "live" : "gone");
	if (info.live)
		out_u64(d->call->out, "pid", NULL, (uint64_t)info.pid);
	return 0;
}

static int in_use(struct detach *d, const char *users)
{
	diag_set(d->call->diag, DIAG_BUSY, EBUSY, "is in use: %s", users);
	return diag_hint(d->call->diag, IN_USE_HINT);
}

/* A process that has the device open while its disk does not answer can neither write more nor
 * close it: then the disk is the reason. A server whose disk does not answer holds up the end of
 * its device: with --force it is killed first. Its id is that of its own process namespace, so look
 * whether it is the one. */
static int ublk_end(struct detach *d)
{
	int dev = kernel_ublk_open(d->root, d->call->diag), err = 0;
	uint32_t bound_ms = d->opts->common.timeout_ms;
	struct ublk_info info;
	char users[400], node[80];

	if (dev < 0)
		return dev;
	if (!d->opts->force && kernel_openers(d->root, d->path, users, sizeof(users)) >= 0 &&
		users[0]) {
		err = ublk_flush(dev, d->loop, d->number, bound_ms, d->call->diag);
		err = err ? err : in_use(d, users);
	}
	if (!err)
		err = ublk_delete(dev, d->loop, d->number, false, bound_ms, d->call->diag);
	if (err && err != -ENODEV && d->opts->force) {
		snprintf(node, sizeof(node), "/dev/ublkc%u", d->number);
		if (err == -ETIMEDOUT && !ublk_query(dev, d->loop, d->number, &info, NULL) &&
			info.live && kernel_process_has_open(d->root, info.pid, node) &&
			!kill(info.pid, SIGKILL))
			call_warn(d->call, "%s: its server did not answer and was killed", d->path);
		*d->call->diag = (struct diag){ 0 };
		err = ublk_delete(dev, d->loop, d->number, true, bound_ms, d->call->diag);
	}
	close(dev);
	return err == -ENODEV ? 0 : err;
}

static int nbd_there(struct detach *d, bool *exists)
{
	char backend[600];

	*exists = !kernel_nbd_backend(d->root, d->number, backend, sizeof(backend));
	if (!*exists || d->opts->force ||
		!strncmp(backend, KERNEL_NBD_ID_PREFIX, strlen(KERNEL_NBD_ID_PREFIX)))
		return 0;
	return another_programs(d);
}

static int nbd_end(struct detach *d)
{
	int err = kernel_nbd_disconnect(d->root, d->number, NULL, d->opts->force,
		d->opts->common.timeout_ms, d->call->diag);

	if (err == -ETIMEDOUT || err == -EBUSY)
		diag_hint(d->call->diag, IN_USE_HINT);
	return err;
}

static const struct device_kind kinds[] = {
	{ "ublkb", ublk_there, ublk_end },
	{ "nbd", nbd_there, nbd_end },
};

/* "/dev/ublkb0", "ublkb0", or a link to it. */
static const struct device_kind *read_device(struct detach *d, const char *text)
{
	char *real = strchr(text, '/') ? realpath(text, NULL) : NULL;
	const char *path = real ? real : text,
		   *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	const struct device_kind *kind = NULL;
	uint64_t number;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds) && !kind; i++) {
		size_t len = strlen(kinds[i].name);

		if (strncmp(name, kinds[i].name, len) ||
			parse_u64(name + len, 0, INT_MAX, &number, NULL))
			continue;
		kind = &kinds[i];
		d->number = (unsigned)number;
		snprintf(d->path, sizeof(d->path), "/dev/%s%u", kind->name, d->number);
	}
	free(real);
	if (!kind)
		diag_set(d->call->diag, DIAG_USAGE, EINVAL,
			"invalid device '%s': expected /dev/ublkbN or /dev/nbdN", text);
	return kind;
}

/* A descriptor of the process that serves this device and nothing else, and so ends with it; -1: no
 * such process. */
static int server_of(const struct detach *d)
{
	struct kernel_serving serving = { 0 };
	int fd = -1;

	kernel_serving_trusted(d->root, d->loop, ANSWER_MS, &serving, NULL);
	for (unsigned i = 0; i < serving.processes && fd < 0; i++) {
		const struct serving_process *process = &serving.process[i];

		if (process->fronts == 1 && process->front[0].disks == 1 &&
			!strcmp(process->front[0].disk[0].device, d->path))
			fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	}
	kernel_serving_free(&serving);
	return fd;
}

/* The server closes its disk after the device is gone. Wait for it: the machine may be about to
 * stop, which would cut the connection. */
static int end(struct detach *d, const struct device_kind *kind)
{
	struct pollfd server = { .fd = server_of(d), .events = POLLIN };
	uint32_t bound_ms = d->opts->common.timeout_ms;
	uint64_t until = loop_clock() + bound_ms * MSEC, now;
	int err = kind->end(d), left_ms;

	if (server.fd < 0)
		return err;
	now = loop_clock();
	left_ms = !bound_ms ? -1 : now < until ? (int)((until - now) / MSEC) : 0;
	if (!err && !poll(&server, 1, left_ms))
		call_warn(d->call, "%s: its server has not closed the disk yet", d->path);
	close(server.fd);
	return err;
}

static int detach(struct detach *d, const struct device_kind *kind)
{
	struct out *out = d->call->out;
	bool exists, dry_run = d->opts->common.dry_run;
	char users[400];
	int err = kind->look(d, &exists);

	if (err)
		return err;
	out_text(out, "device", NULL, "%s", d->path);
	out_bool(out, "existed", NULL, exists);
	if (!exists) {
		out_bool(out, "detached", NULL, false);
		out_line(out, "%s: does not exist: nothing to detach", d->path);
		return 0;
	}
	if (!d->opts->force && kernel_holders(d->root, d->path, NULL, users, sizeof(users)) >= 0 &&
		users[0])
		return in_use(d, users);
	err = dry_run ? 0 : end(d, kind);
	if (err)
		return err;
	out_bool(out, "detached", NULL, !dry_run);
	out_line(out, "%s: %s", d->path, dry_run ? "would be detached" : "detached");
	return 0;
}

static int run(struct call *call)
{
	struct detach d = { .call = call, .opts = call->opts };
	const struct device_kind *kind = read_device(&d, call->operand[0]);
	int err;

	if (!kind)
		return -EINVAL;
	d.root = kernel_root();
	if (d.root < 0)
		return diag_sys(call->diag, errno, "open /");
	err = loop_new(&d.loop, &call->loop, call->diag);
	if (!err) {
		err = detach(&d, kind);
		loop_free(d.loop);
	}
	close(d.root);
	return err ? diag_ctx(call->diag, "%s", d.path) : EXIT_DONE;
}

const struct applet applet_detach = {
	.name = "detach",
	.operands = "DEVICE",
	.summary = "remove a block device made by export",
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct detach_options),
	.examples = "  rdmastor detach /dev/ublkb0\n",
	.min = 1,
	.max = 1,
	.has_dry_run = true,
	.run = run,
};
