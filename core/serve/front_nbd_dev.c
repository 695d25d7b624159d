/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Export each disk as a block device of this host, /dev/nbdN, by the kernel's NBD client. nbd_dev.c
 * handles the device, core/proto/nbd the server behind it. */
#include "disk_open.h"
#include "front_kind.h"
#include "kernel_nbd.h"
#include "nbd_dev.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define BUFFER (256 << 10)
#define SLOTS  64

struct dev_front {
	struct front front;
	struct nbd_options nbd;
	struct nbd_server *server;
	struct nbd_dev *dev[NBD_EXPORTS];
	char name[NBD_EXPORTS][12], id[NBD_EXPORTS][DISK_KEY + 16];
	unsigned devs;                  /* started devices */
	bool disconnected[NBD_EXPORTS]; /* reported as gone */
};

static int read_options(struct front *front)
{
	struct dev_front *f = container_of(front, struct dev_front, front);
	const struct export_front_options *options = front->options;
	const struct call *call = front->daemon->call;

	if (call->rest > NBD_EXPORTS)
		return diag_set(call->diag, DIAG_USAGE, E2BIG, "too many disks: must be 1 to %d",
			NBD_EXPORTS);
	if (options->nbd_dev.has_number && call->rest > 1)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"--nbd-dev %u: one number for %u disks: omit it", options->nbd_dev.number,
			call->rest);
	f->nbd.slots = options->slots ? options->slots : SLOTS;
	f->nbd.buffer = options->buffer ? (uint32_t)options->buffer : BUFFER;
	for (unsigned i = 0; i < call->rest && options->connections > 1; i++) {
		uint32_t hold_ms;
		int err = disk_on_loss(
			call, call->operand[i], front->daemon->opts->on_loss, &hold_ms);

		if (err)
			return err;
		if (hold_ms != UINT32_MAX)
			continue;
		diag_set(call->diag, DIAG_USAGE, EINVAL,
			"--connections %u: with --on-loss forever the kernel supports only one "
			"connection",
			options->connections);
		return diag_hint(call->diag, "use --on-loss SECONDS, or omit --connections");
	}
	return kernel_nbd_ready(front->daemon->root, call->diag);
}

/* Another process has disconnected the device. Without any device there is nothing left to do. */
static void ended(struct nbd_dev *dev, void *user)
{
	struct dev_front *f = user;
	const struct daemon *d = f->front.daemon;
	unsigned left = 0;

	for (unsigned i = 0; i < f->devs; i++) {
		if (f->dev[i] == dev)
			f->disconnected[i] = true;
		left += !f->disconnected[i];
	}
	call_warn(d->call, "/dev/nbd%u: disconnected by another process", nbd_dev_index(dev));
	if (!left && d->fronts == 1)
		f->front.daemon->stop_requested = 1;
}

static int start_dev(struct dev_front *f, unsigned i)
{
	const struct daemon *d = f->front.daemon;
	const struct export_front_options *options = f->front.options;
	struct nbd_dev_options dev = { .server = f->server,
		.export = i,
		.bdev = d->disk[i],
		.index = -1,
		.connections = options->connections,
		.buffer = f->nbd.buffer,
		.root = d->root,
		.ended = ended,
		.user = f };
	char key[DISK_KEY];
	int err = disk_on_loss(d->call, d->call->operand[i], d->opts->on_loss, &dev.hold_ms);

	if (!err)
		err = daemon_time_left(d, &dev.timeout_ms);
	if (err)
		return err;
	if (options->nbd_dev.has_number)
		dev.index = (int)options->nbd_dev.number;
	disk_key(d->call->operand[i], d->disk[i], key);
	/* ram: memory ends with the process, so no later process has this identifier */
	if (key[0])
		snprintf(f->id[i], sizeof(f->id[i]), KERNEL_NBD_ID_PREFIX "%s%s", key,
			f->nbd.export[i].ro || d->disk[i]->lim.ro ? " ro" : "");
	else
		snprintf(f->id[i], sizeof(f->id[i]), KERNEL_NBD_ID_PREFIX "process %d at %llu",
			(int)getpid(), (unsigned long long)loop_clock());
	dev.id = f->id[i];
	f->devs++;
	return nbd_dev_start(&f->dev[i], d->loop, &dev, d->call->diag);
}

static int start(struct front *front)
{
	struct dev_front *f = container_of(front, struct dev_front, front);
	const struct daemon *d = front->daemon;
	const struct export_front_options *options = front->options;
	unsigned sockets = d->disks * (options->connections ? options->connections : 1);
	int err;

	for (unsigned i = 0; i < d->disks; i++) {
		struct nbd_export *export = &f->nbd.export[f->nbd.exports++];

		snprintf(f->name[i], sizeof(f->name[i]), "%u", i);
		*export = (struct nbd_export){
			.name = f->name[i], .bdev = d->disk[i], .ro = d->opts->ro
		};
	}
	f->nbd.loops = d->loops;
	/* more threads would only hold locked memory */
	f->nbd.nloops = d->nloops < sockets ? d->nloops : sockets;
	err = nbd_server_start(&f->server, d->loop, &f->nbd, d->call->diag);
	for (unsigned i = 0; !err && i < d->disks; i++)
		err = start_dev(f, i);
	return err;
}

static void device(const struct dev_front *f, unsigned i, char path[32])
{
	snprintf(path, 32, "/dev/nbd%u", nbd_dev_index(f->dev[i]));
}

static void show(const struct front *front, struct out *out)
{
	const struct dev_front *f = container_of(front, struct dev_front, front);
	const struct daemon *d = front->daemon;
	char path[32];

	out_list(out, "devices");
	for (unsigned i = 0; i < f->devs; i++) {
		device(f, i, path);
		daemon_show_device(
			out, d, i, path, d->disk[i]->lim.size, nbd_dev_recovered(f->dev[i]));
		out_u64(out, "connections", NULL, nbd_dev_connections(f->dev[i]));
		out_end(out);
	}
	out_end(out);
}

static void first_device(const struct front *front, char text[URI_MAX])
{
	device(container_of(front, struct dev_front, front), 0, text);
}

static void count(const struct front *front, struct io_count *sum)
{
	struct target_status now;

	nbd_server_get_status(container_of(front, struct dev_front, front)->server, &now);
	*sum = now.count;
}

static void status(const struct front *front, struct out *out)
{
	const struct dev_front *f = container_of(front, struct dev_front, front);
	unsigned connections = 0;
	char path[32], users[400];

	for (unsigned i = 0; i < f->devs; i++)
		connections += f->disconnected[i] ? 0 : nbd_dev_connections(f->dev[i]);
	out_text(out, "protocol", NULL, "nbd");
	out_u64(out, "connections", NULL, connections);
	daemon_show_count(out, front);
	out_list(out, "disks");
	for (unsigned i = 0; i < f->devs; i++) {
		if (f->disconnected[i])
			continue;
		connections = nbd_dev_connections(f->dev[i]);
		device(f, i, path);
		daemon_show_held(out, front->daemon, i, path, users, sizeof(users));
		out_u64(out, "connections", NULL, connections);
		out_end(out);
		out_line(out, "%s: connections: %u%s%s", path, connections, users[0] ? ", " : "",
			users);
	}
	out_end(out);
}

static void changed(struct front *front, struct bdev *bdev)
{
	struct dev_front *f = container_of(front, struct dev_front, front);

	for (unsigned i = 0; i < f->devs; i++)
		if (front->daemon->disk[i] == bdev)
			nbd_dev_changed(f->dev[i]);
}

/* Writes to the device go through the server, which therefore stops later. */
static int release(struct front *front, uint32_t timeout_ms, struct diag *diag)
{
	struct dev_front *f = container_of(front, struct dev_front, front);
	int err = 0;

	for (unsigned i = 0; i < f->devs && !err; i++)
		err = nbd_dev_stop(f->dev[i], timeout_ms, diag);
	return err;
}

static int stop(struct front *front, uint32_t timeout_ms, struct diag *diag)
{
	struct dev_front *f = container_of(front, struct dev_front, front);
	int err = 0, stopped;

	/* delete a device that never got ready, but leave one of an earlier run as it was found */
	for (unsigned i = 0; i < f->devs && !front->daemon->ready; i++)
		if (f->dev[i] && !nbd_dev_recovered(f->dev[i]))
			nbd_dev_stop(f->dev[i], timeout_ms, NULL);
	for (unsigned i = 0; i < f->devs; i++)
		err = nbd_dev_leave(f->dev[i], err ? 0 : timeout_ms, err ? NULL : diag)
			      ? -EINPROGRESS
			      : err;
	stopped = nbd_server_stop(f->server, timeout_ms, err ? NULL : diag);
	if (err)
		return err;
	for (unsigned i = 0; i < f->devs; i++)
		nbd_dev_free(f->dev[i]);
	return stopped;
}

const struct front_kind front_nbd_dev = {
	.serving = "serving block devices",
	.local = true,
	.size = sizeof(struct dev_front),
	.read = read_options,
	.start = start,
	.show = show,
	.uri = first_device,
	.count = count,
	.status = status,
	.changed = changed,
	.release = release,
	.stop = stop,
};
