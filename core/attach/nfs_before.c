/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Look at an existing mount on the directory: the same mount is success; over another one only
 * --force mounts. */
#include "nfs_mounting.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static unsigned version_flag(unsigned major, unsigned minor)
{
	return major == 3 ? NFS_V3 : NFS_V40 << minor;
}

unsigned nfs_wanted(const struct nfs_options *o)
{
	if (!o->major)
		return NFS_ALL;
	if (o->major == 4 && o->minor < 0)
		return NFS_ALL & ~NFS_V3;
	return version_flag(o->major, o->minor < 0 ? 0 : (unsigned)o->minor);
}

static bool is_directory(const char *dir)
{
	struct stat st;

	return !stat(dir, &st) && S_ISDIR(st.st_mode);
}

unsigned nfs_mounted_version(const struct kernel_mounted *there)
{
	char value[16];

	if (strncmp(there->type, "nfs", 3) ||
		!kernel_mount_option(there->super, "vers", value, sizeof(value)))
		return 0;
	if (!strcmp(value, "3"))
		return NFS_V3;
	return value[0] == '4' && value[1] == '.' && value[2] >= '0' && value[2] <= '2'
		       ? NFS_V40 << (value[2] - '0')
		       : 0;
}

bool nfs_mounted_rdma(const struct kernel_mounted *there)
{
	char proto[16];

	return kernel_mount_option(there->super, "proto", proto, sizeof(proto)) &&
	       !strncmp(proto, "rdma", 4);
}

/* By name, or by address and path: a host has several names. */
static bool same_source(const struct nfs_mount *m, const struct kernel_mounted *there)
{
	const char *path = strstr(there->source, ":/");
	char host[ADDR_TEXT], addr[ADDR_TEXT];

	if (!strcmp(there->source, m->source.name))
		return true;
	return path && !strcmp(path + 1, m->source.path) &&
	       kernel_mount_option(there->super, "addr", addr, sizeof(addr)) &&
	       !strcmp(addr, addr_host(&m->server, host));
}

/* The kernel lists the port only if it is not TCP's. */
static void set_port(struct nfs_mount *m)
{
	char port[8];
	bool listed = kernel_mount_option(m->mounted.super, "port", port, sizeof(port));

	addr_set_port(&m->server, listed ? (uint16_t)strtoul(port, NULL, 10) : NFS_TCP_PORT);
}

int nfs_look_before(struct mounting *g, struct diag *diag)
{
	struct nfs_mount *m = g->m;
	unsigned version;

	/* stat() on a mount whose server is dead may block forever; systemd mounts over its own
	 * automount */
	if (kernel_mounted(g->root, m->dir, &m->mounted)) {
		if (is_directory(m->dir))
			return 0;
		diag_set(diag, DIAG_NOT_FOUND, ENOTDIR, "mount point: not a directory");
		return diag_ctx(diag, "%s", m->dir);
	}
	if (!strcmp(m->mounted.type, "autofs"))
		return 0;
	version = nfs_mounted_version(&m->mounted);
	if (version && same_source(m, &m->mounted) &&
		(nfs_mounted_rdma(&m->mounted) || m->fallback_tcp) &&
		version & nfs_wanted(&m->options)) {
		m->existed = true;
		set_port(m);
		m->version = version;
		m->rdma = nfs_mounted_rdma(&m->mounted);
		return 1;
	}
	if (m->over)
		return 0;
	if (version && same_source(m, &m->mounted))
		diag_set(diag, DIAG_BUSY, EBUSY, "%s is already mounted here as NFS %s over %s",
			m->source.name, nfs_version_word(version),
			nfs_mounted_rdma(&m->mounted) ? "RDMA" : "TCP");
	else
		diag_set(diag, DIAG_BUSY, EBUSY, "in use: %.300s (%s) is mounted here",
			m->mounted.source, m->mounted.type);
	diag_ctx(diag, "%s", m->dir);
	return diag_hint(diag, "umount %s, or mount over it: --force", m->dir);
}
