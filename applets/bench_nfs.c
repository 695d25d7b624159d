/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* bench --matrix --all --kernel: NFS over RDMA. A process makes a file in a tmpfs, lets the
 * kernel's NFS server export it to this machine, waits, and undoes all that. */
#include "bench_nfs.h"
#include "bench_kernel.h"
#include "disk_open.h"
#include "kernel_nfsd.h"
#include "nfs.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define READY_MS  40000
#define UNDONE_MS 60000
#define POLL_MS   10
#define TRIES     300 /* to find the grace period ended, and the file system unused */
#define TRY_US    100000
#define LIMIT     "15"       /* seconds to mount */
#define SPARE     (1u << 20) /* of the tmpfs, for its own use */
#define OPTIONS   "vers=4.2,soft,timeo=100,retrans=1"

enum { CONTROL, EXPORT, MOUNT, FOLDERS };
enum { LIFELINE, REPORT, ROOT, DESCRIPTORS }; /* of the process */

struct bench_nfs {
	struct child_call server;
	int lifeline, report;
	char top[PATH_MAX], folder[FOLDERS][PATH_MAX + 16], host[64];
	uint64_t size;
	struct bench_child mount;
	char source[80], file[PATH_MAX + 32]; /* file: "": why not */
	struct diag why, undone;
};

static void remove_folders(const struct bench_nfs *nfs)
{
	for (unsigned i = 0; i < FOLDERS; i++)
		rmdir(nfs->folder[i]);
	rmdir(nfs->top);
}

/* --- In the process */

static int make_file(const struct bench_nfs *nfs, struct diag *diag)
{
	char path[PATH_MAX + 32], options[64];
	int fd, err = 0;

	snprintf(options, sizeof(options), "mode=0700,size=%" PRIu64, nfs->size + SPARE);
	if (mount("rdmastor", nfs->folder[EXPORT], "tmpfs", MS_NOSUID | MS_NODEV, options))
		return diag_sys(diag, errno, "mount a tmpfs on %s", nfs->folder[EXPORT]);
	snprintf(path, sizeof(path), "%s/disk", nfs->folder[EXPORT]);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)nfs->size))
		err = diag_sys(diag, errno, "create %s", path);
	if (fd >= 0)
		close(fd);
	return err;
}

static int export_file(const struct bench_nfs *nfs, struct kernel_nfsd *nfsd, struct diag *diag)
{
	int err;

	if (kernel_nfsd_check(ROOT, diag))
		return -diag->err;
	if (mount("nfsd", nfs->folder[CONTROL], "nfsd", 0, NULL))
		return diag_sys(diag, errno, "mount the file system nfsd");
	err = kernel_nfsd_start(ROOT, nfsd, diag);
	for (unsigned i = 0; !err && i < TRIES && kernel_nfsd_in_grace(ROOT, nfsd); i++)
		usleep(TRY_US);
	return err;
}

static void unmount(const char *folder, struct diag *diag)
{
	int busy = 0;

	while (umount2(folder, UMOUNT_NOFOLLOW)) {
		if (errno == EINVAL || errno == ENOENT)
			return;
		if (errno != EBUSY || busy++ == TRIES) {
			if (umount2(folder, UMOUNT_NOFOLLOW | MNT_FORCE | MNT_DETACH))
				diag_sys(diag, errno, "unmount %s", folder);
			return;
		}
		usleep(TRY_US);
	}
}

/* The client first: it ends its session with the server. */
static void undo(const struct bench_nfs *nfs, struct kernel_nfsd *nfsd, struct diag *diag)
{
	struct diag why[FOLDERS + 1] = { 0 };

	unmount(nfs->folder[MOUNT], &why[MOUNT]);
	kernel_nfsd_stop(ROOT, nfsd, &why[FOLDERS]);
	unmount(nfs->folder[CONTROL], &why[CONTROL]);
	unmount(nfs->folder[EXPORT], &why[EXPORT]);
	remove_folders(nfs);
	for (unsigned i = 0; i <= FOLDERS; i++)
		if (why[i].err)
			*diag = why[i];
}

/* The command may be killed, and its end is that of the lifeline. */
static int serve(int lifeline, const void *arg, void *out)
{
	const struct bench_nfs *nfs = arg;
	struct diag why = { 0 }, *undone = out;
	struct kernel_nfsd nfsd = { .control = nfs->folder[CONTROL] + 1, /* below the root */
		.path = nfs->folder[EXPORT],
		.client = nfs->host,
		.port = NFS_RDMA_PORT };
	char byte;

	setsid();
	signal(SIGTERM, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (!make_file(nfs, &why))
		export_file(nfs, &nfsd, &why);
	if (why.code == DIAG_BUSY)
		diag_hint(&why, "mount an export of it, and measure a file there with --matrix");
	if (write(REPORT, &why, sizeof(why)) < 0)
		why.err = EPIPE;
	close(REPORT);
	while (!why.err && read(lifeline, &byte, 1) < 0 && errno == EINTR)
		;
	undo(nfs, &nfsd, undone);
	return 0;
}

/* --- In the command */

static int make_folders(struct bench_nfs *nfs, struct diag *diag)
{
	static const char *const name[FOLDERS] = { "control", "export", "mount" };
	const char *parent = getenv("TMPDIR");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/rdmastor-nfs-XXXXXX",
		parent && *parent && strlen(parent) < sizeof(path) - sizeof("/rdmastor-nfs-XXXXXX")
			? parent
			: "/tmp");
	if (!mkdtemp(path))
		return diag_sys(diag, errno, "create %s", path);
	if (!realpath(path, nfs->top)) {
		diag_sys(diag, errno, "find %s", path);
		rmdir(path);
		return -diag->err;
	}
	for (unsigned i = 0; i < FOLDERS; i++) {
		snprintf(nfs->folder[i], sizeof(nfs->folder[i]), "%s/%s", nfs->top, name[i]);
		if (mkdir(nfs->folder[i], 0700))
			return diag_sys(diag, errno, "create %s", nfs->folder[i]);
	}
	return 0;
}

bool bench_nfs_fits(const char *disk)
{
	return bdev_uri_in_memory(disk) && strncasecmp(disk, "null:", strlen("null:"));
}

static int start_server(struct bench_nfs *nfs, int root, struct diag *diag)
{
	int lifeline[2], report[2], fds[DESCRIPTORS], err;

	if (pipe2(lifeline, O_CLOEXEC))
		return diag_sys(diag, errno, "pipe");
	if (pipe2(report, O_CLOEXEC | O_NONBLOCK)) {
		err = diag_sys(diag, errno, "pipe");
		close(lifeline[0]);
		close(lifeline[1]);
		return err;
	}
	nfs->lifeline = lifeline[1];
	nfs->report = report[0];
	fds[LIFELINE] = lifeline[0];
	fds[REPORT] = report[1];
	fds[ROOT] = root;
	nfs->server = (struct child_call){ .fn = serve,
		.arg = nfs,
		.out = &nfs->undone,
		.out_len = sizeof(nfs->undone),
		.detached = true };
	err = child_call_start(&nfs->server, NULL, fds, DESCRIPTORS);
	close(lifeline[0]);
	close(report[1]);
	return err ? diag_sys(diag, -err, "fork") : 0;
}

int bench_nfs_start(
	struct bench *bench, const char *rdma, uint64_t size, struct bench_nfs **started)
{
	struct bench_nfs *nfs = *started = calloc(1, sizeof(*nfs));
	int root;

	if (!nfs)
		return diag_sys(bench->call->diag, ENOMEM, "NFS server");
	nfs->size = size;
	snprintf(nfs->host, sizeof(nfs->host), "%.*s", (int)strcspn(rdma, ":"), rdma);
	snprintf(nfs->source, sizeof(nfs->source), "nfs+rdma://%s/", nfs->host);
	root = disk_root(&nfs->why);
	if (root >= 0 && !bench_kernel_check_rdma(rdma, &nfs->why) &&
		!kernel_nfsd_ready(root, &nfs->why) && !make_folders(nfs, &nfs->why))
		start_server(nfs, root, &nfs->why);
	if (nfs->why.err)
		remove_folders(nfs);
	return 0;
}

static int wait_ready(struct bench *bench, struct bench_nfs *nfs)
{
	uint64_t until = loop_clock() + READY_MS * MSEC;
	ssize_t len;

	while ((len = read(nfs->report, &nfs->why, sizeof(nfs->why))) < 0) {
		loop_wait(bench->task.loop, &bench->task.stop, loop_clock() + POLL_MS * MSEC);
		if (bench->task.stop)
			return -EINTR;
		if (loop_clock() >= until) {
			diag_set(&nfs->why, DIAG_TIMEOUT, ETIMEDOUT,
				"the NFS server did not get ready");
			return 0;
		}
	}
	if (len != sizeof(nfs->why))
		diag_set(&nfs->why, DIAG_CLOSED, EPIPE, "the NFS server's process has ended");
	return 0;
}

int bench_nfs_mount(struct bench *bench, struct bench_nfs *nfs)
{
	struct bench_child *child = &nfs->mount;
	int err;

	if (nfs->why.err)
		return 0;
	err = wait_ready(bench, nfs);
	if (err || nfs->why.err)
		return err;
	bench_child_add(child,
		(const char *const[]){ "nfsrdma-mount", nfs->source, nfs->folder[MOUNT], "--json",
			"--quiet", "--options", OPTIONS, "--timeout", LIMIT, NULL });
	if (bench_child_start(bench, child) || bench_child_finish(bench, child))
		nfs->why = child->run.why;
	else
		snprintf(nfs->file, sizeof(nfs->file), "%s/disk", nfs->folder[MOUNT]);
	return bench->task.stop ? -EINTR : 0;
}

void bench_nfs_source(struct bench_nfs *nfs, struct bench_sources *sources)
{
	if (!nfs || sources->count == MATRIX_DISKS)
		return;
	if (nfs->file[0])
		sources->uri[sources->count] = nfs->file;
	sources->disk[sources->count++] = (struct matrix_disk){
		.name = BENCH_NFS, .uri = nfs->file[0] ? nfs->source : "not served", .why = nfs->why
	};
}

int bench_nfs_stop(struct bench *bench, struct bench_nfs *nfs)
{
	int rc = EXIT_DONE;

	if (!nfs)
		return rc;
	bench_child_free(bench, &nfs->mount);
	if (nfs->lifeline)
		close(nfs->lifeline);
	if (nfs->report)
		close(nfs->report);
	if (!child_call_wait(&nfs->server, loop_clock() + UNDONE_MS * MSEC))
		diag_set(&nfs->undone, DIAG_TIMEOUT, ETIMEDOUT, "timed out");
	if (nfs->undone.err) {
		call_warn(bench->call, "%s: not stopped: %s", BENCH_NFS, nfs->undone.text);
		call_note(bench->call, "hint: umount -l %s; echo 0 >/proc/fs/nfsd/threads",
			nfs->folder[MOUNT]);
		rc = EXIT_PARTLY;
	}
	free(nfs);
	return rc;
}
