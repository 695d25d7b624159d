/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Export each disk as a block device of this host, /dev/ublkbN, by ublk.c. */
#include "disk_open.h"
#include "front_kind.h"
#include "kernel_disk.h"
#include "kernel_nbd.h"
#include "ublk.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ublk_front {
	struct front front;
	int dev;
	struct ublk **device; /* one per disk; NULL: it was detached */
	unsigned devices;
	struct loop_work reap;
	int lost;                /* error of a detached device */
	bool stuck;              /* a device that failed to start still uses its disk */
	uint64_t blind_until_ns; /* of a stop that can't see the users; 0: none yet */
};

static int read_options(struct front *front)
{
	const struct export_front_options *options = front->options;
	const struct call *call = front->daemon->call;
	struct ublk_front *f = container_of(front, struct ublk_front, front);

	f->dev = -1;
	if (options->ublk.has_number && call->rest > 1)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"--ublk %u: one number for %u disks: omit it", options->ublk.number,
			call->rest);
	f->dev = kernel_ublk_open(front->daemon->root, call->diag);
	return f->dev < 0 ? f->dev : 0;
}

/* A later run recognises its device by this key. */
static uint64_t key_of(const char *uri, const struct bdev *disk)
{
	uint64_t key = 0xcbf29ce484222325;
	char text[DISK_KEY];

	disk_key(uri, disk, text);
	for (const char *p = text; *p; p++)
		key = (key ^ (uint8_t)*p) * 0x100000001b3; /* FNV-1a */
	return text[0] ? key | 1 : 0;
}

/* False: the device was detached. */
static bool look_at_device(const struct ublk_front *f, unsigned i, struct ublk_info *info)
{
	if (f->device[i])
		ublk_info(f->device[i], info);
	return f->device[i];
}

/* Free detached devices, and what holds their disks. */
static void reap(struct loop_work *work)
{
	struct ublk_front *f = container_of(work, struct ublk_front, reap);
	const struct daemon *d = f->front.daemon;
	struct ublk_info info;

	for (unsigned i = 0; i < f->devices; i++) {
		struct ublk *device = f->device[i];
		struct diag why = { 0 };
		int err;

		if (!look_at_device(f, i, &info) || info.live)
			continue;
		f->device[i] = NULL;
		err = ublk_stop(device, d->opts->stop_timeout_ms, &why);
		if (err)
			call_warn(d->call, "%s: %s", why.object, why.text);
		f->lost = f->lost ? f->lost : err;
	}
}

static void ended(struct ublk *device, void *user)
{
	struct ublk_front *f = user;
	struct daemon *d = f->front.daemon;
	struct ublk_info info;
	unsigned left = 0;

	for (unsigned i = 0; i < f->devices; i++)
		left += look_at_device(f, i, &info) && info.live;
	ublk_info(device, &info);
	call_note(d->call, "/dev/ublkb%u: detached", info.id);
	if (left || d->fronts > 1)
		loop_work_add(d->loop, &f->reap);
	else
		d->stop_requested = 1;
}

static void held(unsigned id, void *user)
{
	const struct ublk_front *f = user;

	call_note(f->front.daemon->call,
		"/dev/ublkb%u: left by an earlier run: waiting for the last process to close it",
		id);
}

static int start(struct front *front)
{
	struct ublk_front *f = container_of(front, struct ublk_front, front);
	struct daemon *d = front->daemon;
	const struct export_front_options *options = front->options;
	struct ublk_options opt = { .dev = f->dev,
		.id = options->ublk.has_number ? (int)options->ublk.number : -1,
		.depth = options->depth,
		.buffer = (uint32_t)options->buffer,
		.ro = d->opts->ro,
		.unprivileged = geteuid(),
		.loops = d->loops,
		.nloops = d->nloops,
		.ended = ended,
		.held = held,
		.user = f };
	uint32_t ms;
	int err = 0;

	f->device = calloc(d->disks, sizeof(struct ublk *));
	if (!f->device)
		return diag_sys(d->call->diag, ENOMEM, "%u devices", d->disks);
	f->reap.run = reap;
	for (; !err && f->devices < d->disks; f->devices += !err) {
		opt.bdev = d->disk[f->devices];
		opt.key = key_of(d->call->operand[f->devices], opt.bdev);
		err = daemon_time_left(d, &ms);
		if (!err)
			err = ublk_start(&f->device[f->devices], d->loop, &opt, ms, d->call->diag);
	}
	f->stuck = err && f->device[f->devices];
	return err;
}

static void show(const struct front *front, struct out *out)
{
	const struct ublk_front *f = container_of(front, struct ublk_front, front);
	struct ublk_info info;
	char path[32];

	out_list(out, "devices");
	for (unsigned i = 0; i < f->devices; i++) {
		if (!look_at_device(f, i, &info))
			continue;
		snprintf(path, sizeof(path), "/dev/ublkb%u", info.id);
		daemon_show_device(out, front->daemon, i, path, info.size, info.recovered);
		out_u64(out, "queues", NULL, info.queues);
		out_u64(out, "queue_depth", NULL, info.depth);
		out_u64(out, "buffer_size", NULL, info.buffer);
		out_end(out);
	}
	out_end(out);
}

static void device_path(const struct front *front, char text[URI_MAX])
{
	struct ublk_info info;

	text[0] = 0;
	if (look_at_device(container_of(front, struct ublk_front, front), 0, &info))
		snprintf(text, URI_MAX, "/dev/ublkb%u", info.id);
}

static void count(const struct front *front, struct io_count *sum)
{
	const struct ublk_front *f = container_of(front, struct ublk_front, front);
	struct ublk_info info;

	*sum = (struct io_count){ 0 };
	for (unsigned i = 0; i < f->devices; i++)
		if (look_at_device(f, i, &info)) {
			sum->reads += info.count.reads;
			sum->writes += info.count.writes;
			sum->read_bytes += info.count.read_bytes;
			sum->written_bytes += info.count.written_bytes;
			sum->errors += info.count.errors;
		}
}

static void status(const struct front *front, struct out *out)
{
	const struct ublk_front *f = container_of(front, struct ublk_front, front);
	char path[32], users[400];
	struct ublk_info info;

	out_text(out, "protocol", NULL, "ublk");
	daemon_show_count(out, front);
	out_list(out, "disks");
	for (unsigned i = 0; i < f->devices; i++) {
		if (!look_at_device(f, i, &info))
			continue;
		snprintf(path, sizeof(path), "/dev/ublkb%u", info.id);
		daemon_show_held(out, front->daemon, i, path, users, sizeof(users));
		out_u64(out, "requests", NULL, info.requests);
		out_end(out);
		out_line(out, "%s: %llu requests%s%s", path, (unsigned long long)info.requests,
			users[0] ? ", " : "", users);
	}
	out_end(out);
}

static void changed(struct front *front, struct bdev *disk)
{
	const struct ublk_front *f = container_of(front, struct ublk_front, front);
	const struct daemon *d = front->daemon;
	struct ublk_info info;

	for (unsigned i = 0; i < f->devices; i++) {
		if (d->disk[i] != disk || !look_at_device(f, i, &info))
			continue;
		if (info.size != disk->lim.size)
			call_warn(d->call,
				"%s: new size: %llu bytes: /dev/ublkb%u keeps %llu, a ublk device "
				"can't be resized",
				disk->uri, (unsigned long long)disk->lim.size, info.id,
				(unsigned long long)info.size);
	}
}

/* Don't wait for a process that has the device open while its disk does not answer: it can neither
 * write nor close it. Nor without limit for users that can't be seen: after a switch of the root
 * this process may be left without /sys and /proc. */
static int release(struct front *front, uint32_t timeout_ms, struct diag *diag)
{
	struct ublk_front *f = container_of(front, struct ublk_front, front);
	const struct daemon *d = front->daemon;
	uint32_t flush_ms = timeout_ms ? timeout_ms : 1;
	char name[16], users[400];
	struct ublk_info info;
	enum kernel_use use;

	if (!f->blind_until_ns)
		f->blind_until_ns = loop_clock() + flush_ms * UINT64_C(1000000);
	for (unsigned i = 0; i < f->devices; i++) {
		if (!look_at_device(f, i, &info) || !info.live)
			continue;
		snprintf(name, sizeof(name), "ublkb%u", info.id);
		use = kernel_use_of(d->root, name, users, sizeof(users));
		if (use == KERNEL_UNUSED ||
			(use == KERNEL_OPEN &&
				ublk_flush(f->dev, d->loop, info.id, flush_ms, NULL)) ||
			(use == KERNEL_UNKNOWN && loop_clock() >= f->blind_until_ns))
			continue;
		diag_set(diag, DIAG_BUSY, EBUSY, "is in use: %s",
			use == KERNEL_UNKNOWN ? "unknown, as /sys and /proc are not mounted here"
					      : users);
		return diag_ctx(diag, "/dev/%s", name);
	}
	return 0;
}

static int stop(struct front *front, uint32_t timeout_ms, struct diag *diag)
{
	struct ublk_front *f = container_of(front, struct ublk_front, front);
	uint64_t began = loop_clock();
	int first = 0;

	loop_work_del(front->daemon->loop, &f->reap);
	while (f->devices) {
		uint64_t spent_ms = (loop_clock() - began) / 1000000;
		int err = ublk_stop(f->device[--f->devices],
			spent_ms < timeout_ms ? timeout_ms - (uint32_t)spent_ms : 1,
			first ? NULL : diag);

		if (err == -EINPROGRESS)
			return err;
		first = first ? first : err;
	}
	if (f->stuck)
		return -EINPROGRESS;
	if (!first && f->lost)
		first = diag_set(diag, DIAG_IO, -f->lost,
			"data of a detached device may not be on its disk");
	free(f->device);
	if (f->dev >= 0)
		close(f->dev);
	return first;
}

const struct front_kind front_ublk = {
	.serving = "serving block devices",
	.local = true,
	.size = sizeof(struct ublk_front),
	.read = read_options,
	.start = start,
	.show = show,
	.uri = device_path,
	.count = count,
	.status = status,
	.changed = changed,
	.release = release,
	.stop = stop,
};
