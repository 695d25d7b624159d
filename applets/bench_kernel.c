/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* bench --matrix --all --kernel: serve the disk to the kernel's initiators, attach it, and detach
 * it in the reverse order. Each has a server of its own, whose disk has a random identity: so the
 * kernel takes none of them for another path to a disk that it knows. */
#include "bench_kernel.h"
#include "bench_nfs.h"
#include "disk_open.h"
#include "kernel_sys.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READY_MS 20000
#define LIMIT    "15" /* seconds to attach, and to detach */
#define TCP      "127.0.0.1:0"

/* The order of rows. */
static const struct initiator {
	const char *name;
	const char *serve, *protocol, *listen; /* listen: NULL: the server makes the device */
	const char *scheme, *attach, *option[3];
	const char *detach;
} initiators[] = {
	{ "kernel nvme+tcp", "serve", "--nvmf", "--tcp", "nvme+tcp:", "nvmf-connect", { NULL },
		"nvmf-disconnect" },
	{ "kernel nvme+rdma", "serve", "--nvmf", "--rdma", "nvme+rdma:", "nvmf-connect", { NULL },
		"nvmf-disconnect" },
	{ "kernel iscsi", "serve", "--iscsi", "--tcp", "iscsi:", "iser-login",
		{ "--monitor", "off" }, "iser-logout" },
	{ "kernel iser", "serve", "--iscsi", "--rdma", "iser:", "iser-login",
		{ "--monitor", "off" }, "iser-logout" },
	{ "kernel srp+cm", "serve", "--srp", "--rdma", "srp+cm:", "srp-connect", { NULL },
		"srp-disconnect" },
	{ .name = "kernel ublk", .serve = "export", .protocol = "--ublk", .detach = "detach" },
	{ .name = "kernel nbd", .serve = "export", .protocol = "--nbd-dev", .detach = "detach" },
};
#define INITIATORS (sizeof(initiators) / sizeof(*initiators))

struct attachment {
	const struct initiator *initiator;
	struct bench_child server, attach;
	char target[URI_MAX]; /* to detach: URI or device; "": nothing */
	char device[80];      /* "": why not */
	char made[600];       /* by a server: what tells it from a later device of this number */
	struct diag why;
};

struct bench_kernel {
	struct attachment attachment[INITIATORS];
	struct bench_nfs *nfs; /* NULL: not measured */
};

int bench_kernel_check_rdma(const char *rdma, struct diag *diag)
{
	if (strstr(rdma, "rdma=verbs"))
		return 0;
	diag_set(diag, DIAG_NO_DEVICE, ENODEV,
		"no RDMA device whose network interface has an IPv4 address");
	diag_hint(diag, "create one with: rdma link add rxe0 type rxe netdev NETDEV");
	return -ENODEV;
}

static bool needs_rdma(const struct initiator *initiator)
{
	return initiator->listen && !strcmp(initiator->listen, "--rdma");
}

/* A hint for a missing module is another way to the disk, which is measured anyway. */
static void fail(struct attachment *at, const struct diag *why)
{
	at->why = *why;
	if (why->code == DIAG_NO_MODULE)
		at->why.hint[0] = 0;
}

static void start_server(struct bench *bench, struct attachment *at, const char *disk,
	const char *mode, const char *rdma)
{
	const struct initiator *initiator = at->initiator;
	const char *on_loss = bench->opts->on_loss;
	struct bench_child *server = &at->server;

	if (needs_rdma(initiator) && bench_kernel_check_rdma(rdma, &at->why))
		return;
	bench_child_add(server, (const char *const[]){ initiator->serve, disk, mode, "--anonymous",
					"--json", "--quiet", initiator->protocol, NULL });
	if (initiator->listen)
		bench_child_add(server, (const char *const[]){ initiator->listen,
						needs_rdma(initiator) ? rdma : TCP, NULL });
	if (on_loss)
		bench_child_add(server, (const char *const[]){ "--on-loss", on_loss, NULL });
	if (bench_child_start(bench, server))
		fail(at, &server->run.why);
}

struct text {
	char *at;
	size_t len;
};

/* The first one counts. */
static void set_text(const char *found, void *arg)
{
	const struct text *text = arg;

	if (!text->at[0])
		snprintf(text->at, text->len, "%s", found);
}

static void find_device(struct attachment *at, const struct bench_child *child)
{
	struct text device = { at->device, sizeof(at->device) };

	applet_run_texts(&child->run, "device", "/dev/", set_text, &device);
	if (!at->device[0])
		diag_set(&at->why, DIAG_NOT_FOUND, ENOENT, "%s: no block device", child->word[0]);
}

/* The sequence number of a ublk device, or the random identifier of the server of an NBD device.
 * "": no device. */
static void identify(const char *device, char *text, size_t len)
{
	const char *name = device + strlen("/dev/");
	const char *file = strncmp(name, "nbd", 3) ? "diskseq" : "backend";

	text[0] = 0;
	if (disk_root(NULL) >= 0 &&
		kernel_sys_read(disk_root(NULL), text, len, "sys/block/%s/%s", name, file) < 0)
		text[0] = 0;
}

static void find_made(struct attachment *at)
{
	find_device(at, &at->server);
	if (!at->device[0])
		return;
	snprintf(at->target, sizeof(at->target), "%s", at->device);
	identify(at->device, at->made, sizeof(at->made));
}

/* A device whose server has ended may be gone, and its number be another program's. */
static bool is_replaced(struct bench *bench, const struct attachment *at)
{
	char now[sizeof(at->made)];

	if (!at->made[0])
		return false;
	identify(at->device, now, sizeof(now));
	if (!now[0] || !strcmp(now, at->made))
		return false;
	call_warn(bench->call, "%s (%s): is another device by now: not detached",
		at->initiator->name, at->device);
	return true;
}

/* I/O must fail at once if the server is lost, so that the disk can be detached. An attempt is
 * never interrupted, as what it leaves is only then known. */
static void attach(struct bench *bench, struct attachment *at)
{
	const struct initiator *initiator = at->initiator;
	struct text target = { at->target, sizeof(at->target) };
	struct bench_child *child = &at->attach;

	if (!initiator->listen) {
		find_made(at);
		return;
	}
	applet_run_texts(&at->server.run, "rdmastor", initiator->scheme, set_text, &target);
	bench_child_add(
		child, (const char *const[]){ initiator->attach, at->target, "--json", "--quiet",
			       "--on-loss", "fail-fast", "--timeout", LIMIT, NULL });
	bench_child_add(child, initiator->option);
	if (bench_child_start(bench, child) || bench_child_finish(bench, child))
		fail(at, &child->run.why);
	else
		find_device(at, child);
}

static void refuse_to_end(struct task *task)
{
	const struct bench *bench = container_of(task, struct bench, task);

	call_warn_once(bench->call, "all disks are detached from the kernel first");
}

/* First of all, as it takes the longest to get ready. */
static int start_nfs(struct bench *bench, const char *disk, uint64_t size, const char *rdma,
	struct bench_nfs **nfs)
{
	if (bench_nfs_fits(disk))
		return bench_nfs_start(bench, rdma, size, nfs);
	call_note(bench->call, "NFS is not measured: only a disk ram:SIZE can be a file");
	return 0;
}

int bench_kernel_start(struct bench *bench, const char *disk, uint64_t size, const char *mode,
	const char *rdma, struct bench_kernel **started)
{
	struct bench_kernel *kernel = *started = calloc(1, sizeof(*kernel));
	uint64_t until = loop_clock() + READY_MS * MSEC;
	int err;

	if (!kernel)
		return diag_sys(bench->call->diag, ENOMEM, "initiators");
	bench->task.repeated = refuse_to_end;
	err = start_nfs(bench, disk, size, rdma, &kernel->nfs);
	if (err)
		return err;
	for (unsigned i = 0; i < INITIATORS; i++) {
		kernel->attachment[i].initiator = &initiators[i];
		start_server(bench, &kernel->attachment[i], disk, mode, rdma);
	}
	for (unsigned i = 0; i < INITIATORS; i++) {
		struct attachment *at = &kernel->attachment[i];

		if (!at->why.err && bench_child_ready(bench, &at->server, until) &&
			!bench->task.stop)
			fail(at, &at->server.run.why);
		if (!at->why.err && !bench->task.stop)
			attach(bench, at);
		if (bench->task.stop)
			return -EINTR;
	}
	return kernel->nfs ? bench_nfs_mount(bench, kernel->nfs) : 0;
}

void bench_kernel_sources(struct bench_kernel *kernel, struct bench_sources *sources)
{
	for (unsigned i = 0; kernel && i < INITIATORS && sources->count < MATRIX_DISKS; i++) {
		struct attachment *at = &kernel->attachment[i];

		if (at->device[0])
			sources->uri[sources->count] = at->device;
		sources->disk[sources->count++] = (struct matrix_disk){ .name = at->initiator->name,
			.uri = at->target[0] ? at->target : "not served",
			.server = at->server.run.call.pid,
			.why = at->why };
	}
	if (kernel)
		bench_nfs_source(kernel->nfs, sources);
}

static void rehearse(
	struct bench_sources *sources, const struct matrix_disk *disk, const char *name)
{
	if (sources->count == MATRIX_DISKS)
		return;
	sources->disk[sources->count] = *disk;
	sources->disk[sources->count++].name = name;
}

void bench_kernel_rehearse(struct bench_sources *sources, const struct matrix_disk *disk)
{
	for (unsigned i = 0; i < INITIATORS; i++)
		rehearse(sources, disk, initiators[i].name);
	if (bench_nfs_fits(disk->uri))
		rehearse(sources, disk, BENCH_NFS);
}

/* By force: once its server has ended, a disk that is in use by then is of no use to anyone. */
static int detach(struct bench *bench, const struct attachment *at)
{
	const char *applet = at->initiator->detach;
	struct bench_child child = { 0 };
	int err;

	bench_child_add(&child, (const char *const[]){ applet, at->target, "--force", "--json",
					"--quiet", "--timeout", LIMIT, NULL });
	err = bench_child_start(bench, &child);
	if (!err)
		err = bench_child_finish(bench, &child);
	if (err) {
		call_warn(bench->call, "%s (%s): not detached: %s", at->initiator->name, at->target,
			child.run.why.text);
		call_note(bench->call, "hint: rdmastor %s --force '%s'", applet, at->target);
	}
	bench_child_free(bench, &child);
	return err;
}

/* A server that makes the device itself may have done so although its turn never came. */
static void settle(struct bench *bench, struct attachment *at, uint64_t until)
{
	if (!at->initiator->listen && !at->target[0] && !at->why.err && at->server.run.loop &&
		!bench_child_settle(bench, &at->server, until))
		find_made(at);
}

int bench_kernel_stop(struct bench *bench, struct bench_kernel *kernel)
{
	uint64_t until = loop_clock() + READY_MS * MSEC;
	int rc;

	if (!kernel)
		return EXIT_DONE;
	rc = bench_nfs_stop(bench, kernel->nfs);
	for (unsigned i = 0; i < INITIATORS; i++)
		settle(bench, &kernel->attachment[i], until);
	for (unsigned i = INITIATORS; i--;)
		if (kernel->attachment[i].target[0] &&
			!is_replaced(bench, &kernel->attachment[i]) &&
			detach(bench, &kernel->attachment[i]))
			rc = EXIT_PARTLY;
	bench->task.repeated = NULL;
	for (unsigned i = 0; i < INITIATORS; i++)
		bench_child_expire(&kernel->attachment[i].server);
	for (unsigned i = 0; i < INITIATORS; i++) {
		bench_child_free(bench, &kernel->attachment[i].attach);
		bench_child_free(bench, &kernel->attachment[i].server);
	}
	free(kernel);
	return rc;
}
