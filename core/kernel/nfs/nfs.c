/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The modules of the kernel's NFS client and server, and the client address. */
#include "kernel_nfs.h"
#include "kernel_nfsd.h"
#include "kernel_sys.h"
#include "modules/modules.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

/* A built-in module without parameters has no directory in sysfs; only modules.builtin lists it. */
static bool built_in(int root, const char *module)
{
	struct utsname name;
	char path[512], file[64], *list;
	bool found;

	if (uname(&name))
		return false;
	snprintf(path, sizeof(path), "lib/modules/%s/modules.builtin", name.release);
	snprintf(file, sizeof(file), "/%s.ko", module);
	list = kernel_sys_read_all(root, path);
	found = list && strstr(list, file);
	free(list);
	return found;
}

static bool present(int root, const char *module)
{
	char path[128];

	snprintf(path, sizeof(path), "sys/module/%s", module);
	return kernel_sys_exists(root, path) || built_in(root, module);
}

static int need(int root, const char *module, struct diag *diag)
{
	const char *why;

	if (present(root, module))
		return 0;
	why = kernel_module_load(root, module);
	if (present(root, module))
		return 0;
	return kernel_module_missing(module, why, diag);
}

bool kernel_nfs_loaded(int root, bool rdma, uint8_t major)
{
	bool v3 = present(root, "nfsv3"), v4 = present(root, "nfsv4");

	return present(root, "nfs") && (v3 || major == 4) && (v4 || major == 3) &&
	       (!rdma || present(root, "rpcrdma"));
}

int kernel_nfs_ready(int root, bool rdma, uint8_t major, struct diag *diag)
{
	struct diag v3 = { 0 }, v4 = { 0 };
	int err = need(root, "nfs", diag);

	if (err)
		return err;
	if (major != 4)
		need(root, "nfsv3", &v3);
	if (major != 3)
		need(root, "nfsv4", &v4);
	if (major == 3 ? v3.err : v4.err && (major || v3.err)) {
		*diag = major == 3 ? v3 : v4;
		return -diag->err;
	}
	return rdma ? need(root, "rpcrdma", diag) : 0;
}

int kernel_nfsd_ready(int root, struct diag *diag)
{
	int err = need(root, "nfsd", diag);

	return err ? err : need(root, "rpcrdma", diag);
}

int kernel_source_addr(const struct addr *to, char text[ADDR_TEXT], struct diag *diag)
{
	int fd = socket(to->ss.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;
	struct addr own = { .len = sizeof(own.ss) };

	if (fd < 0 || connect(fd, (const struct sockaddr *)&to->ss, to->len) ||
		getsockname(fd, (struct sockaddr *)&own.ss, &own.len))
		err = errno;
	if (fd >= 0)
		close(fd);
	if (err)
		return diag_sys(diag, err, "look up the route to %s", addr_host(to, text));
	addr_host(&own, text);
	return 0;
}
