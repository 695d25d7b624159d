/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* export --nbd-dev: each disk as a block device of this machine, /dev/nbdN, by the kernel's own NBD
 * client. The device is core/export's, the server behind it core/proto/nbd's. */
#include "disk.h"
#include "export_fronts.h"
#include "kernel.h"
#include "nbd_dev.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define BUFFER (256 << 10)
#define SLOTS  64

struct dev_front {
	struct front front;
	int root;
	struct nbd_options nbd;
	struct nbd_server *server;
	struct nbd_dev *dev[NBD_EXPORTS];
	char name[NBD_EXPORTS][12], id[NBD_EXPORTS][DISK_KEY + 16];
	unsigned devs;          /* started */
	bool gone[NBD_EXPORTS]; /* told of */
};

static struct dev_front *dev_front(const struct front *front)
{
	return container_of(front, struct dev_front, front);
}

static const struct export_options *options(const struct front *front)
{
	return front->daemon->call->opts;
}

static bool wanted(const void *opts)
{
	return ((const struct export_options *)opts)->nbd_dev.on;
}

static int check_connections(const struct front *front)
{
	const struct call *call = front->daemon->call;
	unsigned connections = options(front)->connections;
	int err = 0;

	for (unsigned i = 0; !err && i < call->rest && connections > 1; i++) {
		uint32_t hold_ms;

		err = disk_on_loss(call, call->operand[i], options(front)->life.on_loss, &hold_ms);
		if (!err && hold_ms == UINT32_MAX) {
			err = diag_set(call->diag, DIAG_USAGE, EINVAL,
				"--connections %u: with --on-loss forever the kernel supports only "
				"one connection",
				connections);
			diag_hint(call->diag, "use --on-loss SECONDS, or omit --connections");
		}
	}
	return err;
}

static int read_options(struct front *front)
{
	struct dev_front *f = dev_front(front);
	const struct export_options *opts = options(front);
	const struct call *call = front->daemon->call;
	int err = 0;

	f->root = -1;
	if (call->rest > NBD_EXPORTS)
		return diag_set(call->diag, DIAG_USAGE, E2BIG, "too many disks: must be 1 to %d",
			NBD_EXPORTS);
	if (opts->nbd_dev.given && call->rest > 1)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"--nbd-dev %u: one number for %u disks: omit it", opts->nbd_dev.number,
			call->rest);
	f->nbd.slots = opts->slots ? opts->slots : SLOTS;
	f->nbd.buffer = opts->buffer ? (uint32_t)opts->buffer : BUFFER;
	if (!err)
		err = check_connections(front);
	if (err)
		return err;
	f->root = kernel_root();
	return f->root < 0 ? diag_sys(call->diag, errno, "open /")
			   : kernel_nbd_ready(f->root, call->diag);
}

/* Somebody else has disconnected it. Without any device there is nothing left to do. */
static void ended(struct nbd_dev *dev, void *user)
{
	struct dev_front *f = user;
	const struct daemon *d = f->front.daemon;
	unsigned left = 0;

	for (unsigned i = 0; i < f->devs; i++) {
		if (f->dev[i] == dev)
			f->gone[i] = true;
		left += !f->gone[i];
	}
	call_note(d->call, "/dev/nbd%u: disconnected by another process", nbd_dev_index(dev));
	if (!left && d->fronts == 1)
		f->front.daemon->over = 1;
}

static int start_dev(struct dev_front *f, unsigned i)
{
	const struct daemon *d = f->front.daemon;
	const struct export_options *opts = d->call->opts;
	struct nbd_dev_options dev = { .server = f->server,
		.export = i,
		.bdev = d->disk[i],
		.index = -1,
		.connections = opts->connections,
		.buffer = f->nbd.buffer,
		.root = f->root,
		.ended = ended,
		.user = f };
	char key[DISK_KEY];
	int err = disk_on_loss(d->call, d->call->operand[i], opts->life.on_loss, &dev.hold_ms);

	if (!err)
		err = daemon_time_left(d, &dev.timeout_ms);
	if (err)
		return err;
	if (opts->nbd_dev.given)
		dev.index = (int)opts->nbd_dev.number;
	disk_key(d->call->operand[i], d->disk[i], key);
	/* memory is gone with the process: nobody after it has that identifier */
	if (key[0])
		snprintf(f->id[i], sizeof(f->id[i]), KERNEL_NBD_OURS "%s%s", key,
			f->nbd.export[i].ro || d->disk[i]->lim.ro ? " ro" : "");
	else
		snprintf(f->id[i], sizeof(f->id[i]), KERNEL_NBD_OURS "process %d at %llu",
			(int)getpid(), (unsigned long long)loop_clock());
	dev.id = f->id[i];
	f->devs++;
	return nbd_dev_start(&f->dev[i], d->loop, &dev, d->call->diag);
}

static int start(struct front *front)
{
	struct dev_front *f = dev_front(front);
	const struct daemon *d = front->daemon;
	const struct export_options *opts = d->call->opts;
	unsigned sockets = d->disks * (opts->connections ? opts->connections : 1);
	int err;

	for (unsigned i = 0; i < d->disks; i++) {
		struct nbd_export *export = &f->nbd.export[f->nbd.exports++];

		snprintf(f->name[i], sizeof(f->name[i]), "%u", i);
		*export = (struct nbd_export){
			.name = f->name[i], .bdev = d->disk[i], .ro = d->opts->ro
		};
	}
	f->nbd.loops = d->loops;
	/* further threads would only hold memory that is locked */
	f->nbd.nloops = d->nloops < sockets ? d->nloops : sockets;
	err = nbd_server_start(&f->server, d->loop, &f->nbd, d->call->diag);
	for (unsigned i = 0; !err && i < d->disks; i++)
		err = start_dev(f, i);
	return err;
}

static void show(const struct front *front, struct out *out)
{
	const struct dev_front *f = dev_front(front);
	const struct daemon *d = front->daemon;
	char size[16];

	out_list(out, "devices");
	for (unsigned i = 0; i < f->devs; i++) {
		const struct bdev *disk = d->disk[i];
		unsigned index = nbd_dev_index(f->dev[i]);
		bool recovered = nbd_dev_recovered(f->dev[i]);

		out_object(out, NULL);
		out_text(out, "device", NULL, "/dev/nbd%u", index);
		out_u64(out, "connections", NULL, nbd_dev_connections(f->dev[i]));
		out_bool(out, "recovered", NULL, recovered);
		disk_show(out, disk, d->opts->ro);
		out_end(out);
		out_line(out, "/dev/nbd%u: %s, %s (%llu bytes)%s", index, disk->uri,
			out_human(disk->lim.size, size), (unsigned long long)disk->lim.size,
			recovered ? ", taken over from an earlier run" : "");
	}
	out_end(out);
}

static void device(const struct front *front, char text[URI_MAX])
{
	snprintf(text, URI_MAX, "/dev/nbd%u", nbd_dev_index(dev_front(front)->dev[0]));
}

static void status(const struct front *front, struct out *out)
{
	const struct dev_front *f = dev_front(front);
	const struct daemon *d = front->daemon;
	struct io_count count;
	unsigned connections = 0;
	char path[32], who[400];

	for (unsigned i = 0; i < f->devs; i++)
		connections += nbd_dev_connections(f->dev[i]);
	nbd_server_count(f->server, &count);
	out_text(out, "protocol", NULL, "nbd");
	out_u64(out, "connections", NULL, connections);
	daemon_show_count(out, &count);
	out_list(out, "disks");
	for (unsigned i = 0; i < f->devs; i++) {
		connections = nbd_dev_connections(f->dev[i]);
		snprintf(path, sizeof(path), "/dev/nbd%u", nbd_dev_index(f->dev[i]));
		if (kernel_holders(f->root, path, who, sizeof(who)) < 0)
			who[0] = 0;
		out_object(out, NULL);
		out_text(out, "device", NULL, "%s", path);
		disk_show(out, d->disk[i], d->opts->ro);
		out_u64(out, "connections", NULL, connections);
		out_text(out, "holders", NULL, "%s", who);
		out_end(out);
		out_line(
			out, "%s: connections: %u%s%s", path, connections, who[0] ? ", " : "", who);
	}
	out_end(out);
}

static void changed(struct front *front, struct bdev *bdev)
{
	struct dev_front *f = dev_front(front);

	for (unsigned i = 0; i < f->devs; i++)
		if (front->daemon->disk[i] == bdev)
			nbd_dev_changed(f->dev[i]);
}

/* What others wrote comes through the server, which therefore stops later. */
static int release(struct front *front, uint32_t timeout_ms, struct diag *diag)
{
	struct dev_front *f = dev_front(front);
	int err = 0;

	for (unsigned i = 0; i < f->devs && !err; i++)
		err = nbd_dev_stop(f->dev[i], timeout_ms, diag);
	return err;
}

static int stop(struct front *front, uint32_t timeout_ms, struct diag *diag)
{
	struct dev_front *f = dev_front(front);
	int err = 0, stopped;

	/* what never got ready goes, but one of a former run stays as it was found */
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
	if (f->root >= 0)
		close(f->root);
	return stopped;
}

const struct front_kind export_nbd_dev = {
	.serving = "serving block devices",
	.local = true,
	.size = sizeof(struct dev_front),
	.wanted = wanted,
	.read = read_options,
	.start = start,
	.show = show,
	.uri = device,
	.status = status,
	.changed = changed,
	.release = release,
	.stop = stop,
};
