/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Control the kernel's NFS server (fs/nfsd/nfsctl.c) and fill its caches (net/sunrpc/cache.c): a
 * domain for the address of the client, the export of the domain, and the directory of its root. */
#include "kernel_nfsd.h"
#include "kernel_sys.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS "4"
#define GRACE   "10" /* the kernel's least */
#define DOMAIN  "rdmastor"
#define NEVER   "2147483647" /* when an entry expires */
#define FLAGS                                                                                      \
	(0x2 | 0x10 | 0x400 | 0x2000) /* insecure port, async, no subtree check, FSID is given */
#define ANONYMOUS "65534 65534"

/* The last one gets entries by requests. */
static const char *const caches[] = { "auth.unix.ip", "nfsd.export", "nfsd.fh", "auth.unix.gid" };

/* In one write(2), as the kernel takes a command. */
static int put(int root, struct diag *diag, const char *text, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static int put(int root, struct diag *diag, const char *text, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;
	int fd, err = 0;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	fd = openat(root, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return diag_sys(diag, errno, "open /%s", path);
	if (write(fd, text, strlen(text)) < 0)
		err = diag_sys(
			diag, errno, "write %.*s to /%s", (int)strcspn(text, "\n"), text, path);
	close(fd);
	return err;
}

static int set(int root, const struct kernel_nfsd *nfsd, const char *name, const char *value,
	struct diag *diag)
{
	char text[80];

	snprintf(text, sizeof(text), "%s\n", value);
	return put(root, diag, text, "%s/%s", nfsd->control, name);
}

int kernel_nfsd_check(int root, struct diag *diag)
{
	char text[1024];
	const char *threads;

	if (kernel_sys_read(root, text, sizeof(text), "proc/net/rpc/nfsd") < 0)
		return 0;
	threads = strstr(text, "\nth ");
	if (!threads || !strtoul(threads + strlen("\nth "), NULL, 10))
		return 0;
	return diag_set(diag, DIAG_BUSY, EBUSY, "this machine has an NFS server already");
}

/* A listener without threads is that of a server which is about to start. */
static int check_idle(int root, const struct kernel_nfsd *nfsd, struct diag *diag)
{
	char threads[16], ports[256];
	ssize_t len = kernel_sys_read(root, threads, sizeof(threads), "%s/threads", nfsd->control);

	if (len >= 0)
		len = kernel_sys_read(root, ports, sizeof(ports), "%s/portlist", nfsd->control);
	if (len < 0)
		return diag_sys(diag, (int)-len, "read the state of the NFS server");
	if (!strtoul(threads, NULL, 10) && !ports[0])
		return 0;
	return diag_set(diag, DIAG_BUSY, EBUSY, "this machine has an NFS server already");
}

static int configure(int root, struct kernel_nfsd *nfsd, struct diag *diag)
{
	char listener[32];
	int err;

	kernel_sys_read(root, nfsd->versions, sizeof(nfsd->versions), "%s/versions", nfsd->control);
	kernel_sys_read(root, nfsd->grace, sizeof(nfsd->grace), "%s/nfsv4gracetime", nfsd->control);
	snprintf(listener, sizeof(listener), "rdma %u", nfsd->port);
	/* NFS 3 needs rpcbind */
	err = set(root, nfsd, "versions", "-3 +4.2", diag);
	if (!err)
		err = set(root, nfsd, "nfsv4gracetime", GRACE, diag);
	if (!err)
		err = set(root, nfsd, "portlist", listener, diag);
	return err;
}

/* The path in hexadecimal, as it may have any bytes. */
static int fill_caches(int root, const struct kernel_nfsd *nfsd, struct diag *diag)
{
	char path[2 * PATH_MAX + 3] = "\\x", text[sizeof(path) + 128];
	size_t len = strlen(nfsd->path);
	int err;

	if (len >= PATH_MAX)
		return diag_sys(diag, ENAMETOOLONG, "export %s", nfsd->path);
	for (size_t i = 0; i < len; i++)
		snprintf(path + 2 + 2 * i, 3, "%02x", (uint8_t)nfsd->path[i]);
	snprintf(text, sizeof(text), "nfsd %s %s %s\n", nfsd->client, NEVER, DOMAIN);
	err = put(root, diag, text, "proc/net/rpc/%s/channel", caches[0]);
	snprintf(text, sizeof(text), "%s %s %s %d %s 0\n", DOMAIN, path, NEVER, FLAGS, ANONYMOUS);
	if (!err)
		err = put(root, diag, text, "proc/net/rpc/%s/channel", caches[1]);
	snprintf(text, sizeof(text), "%s 1 \\x00000000 %s %s\n", DOMAIN, NEVER, path);
	if (!err)
		err = put(root, diag, text, "proc/net/rpc/%s/channel", caches[2]);
	return err;
}

int kernel_nfsd_start(int root, struct kernel_nfsd *nfsd, struct diag *diag)
{
	int err = check_idle(root, nfsd, diag);

	if (err)
		return err;
	nfsd->started = true;
	err = configure(root, nfsd, diag);
	if (!err)
		err = fill_caches(root, nfsd, diag);
	if (!err)
		err = set(root, nfsd, "threads", THREADS, diag);
	if (err)
		kernel_nfsd_stop(root, nfsd, &(struct diag){ 0 });
	else /* refused if nothing tracks clients: then it ends by time */
		set(root, nfsd, "v4_end_grace", "Y", &(struct diag){ 0 });
	return err;
}

bool kernel_nfsd_in_grace(int root, const struct kernel_nfsd *nfsd)
{
	char ended[8];

	return kernel_sys_read(root, ended, sizeof(ended), "%s/v4_end_grace", nfsd->control) > 0 &&
	       ended[0] == 'N';
}

int kernel_nfsd_stop(int root, struct kernel_nfsd *nfsd, struct diag *diag)
{
	struct diag why[sizeof(caches) / sizeof(*caches) + 3] = { 0 };
	unsigned count = 0;
	char now[24];

	if (!nfsd->started)
		return 0;
	nfsd->started = false;
	snprintf(now, sizeof(now), "%" PRId64 "\n", (int64_t)time(NULL));
	set(root, nfsd, "threads", "0", &why[count++]);
	for (unsigned i = 0; i < sizeof(caches) / sizeof(*caches); i++)
		put(root, &why[count++], now, "proc/net/rpc/%s/flush", caches[i]);
	if (nfsd->versions[0])
		set(root, nfsd, "versions", nfsd->versions, &why[count++]);
	if (nfsd->grace[0])
		set(root, nfsd, "nfsv4gracetime", nfsd->grace, &why[count++]);
	for (unsigned i = 0; i < count; i++)
		if (why[i].err) {
			*diag = why[i];
			return -diag->err;
		}
	return 0;
}
