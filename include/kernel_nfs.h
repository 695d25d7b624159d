/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's NFS client: mount options and sources, mount(2), the mounts of this host, and the
 * NFS root on the kernel command line. */
#pragma once
#include "uri.h"
#include <limits.h>

/* Parsed options of mount(8) and nfs(5): the flags of mount(2), options that are checked or
 * completed here, and the rest, which is passed to the kernel. */
#define NFS_OPTIONS_MAX 3072 /* mount(2) takes a page */
enum { NFS_LOCK_UNSET = 0, NFS_LOCK_ON, NFS_LOCK_LOCAL /* nolock or local_lock= */ };
struct nfs_options {
	unsigned long flags;        /* MS_RDONLY … */
	char pass[NFS_OPTIONS_MAX]; /* for the kernel, unchanged: "soft,timeo=50" */
	uint8_t major;              /* 3, 4; 0: unset */
	int8_t minor;               /* -1: unset */
	uint16_t port, mountport;   /* 0: unset */
	char addr[ADDR_TEXT];       /* "": unset */
	bool clientaddr, mountaddr, mountproto, mountvers; /* they are set in `pass` */
	uint8_t lock;                                      /* NFS_LOCK_… */
	bool remount, background;
	int retry_min; /* minutes; -1: unset */
};
void kernel_nfs_options_init(struct nfs_options *);
/* Parse the value of one -o, in addition to earlier ones. Errors: usage, also for options that
 * exclude RDMA. */
int kernel_nfs_options_read(struct nfs_options *, const char *text, struct diag *);

/* "HOST:/PATH", "[ADDRESS]:/PATH", or nfs+rdma://HOST[:PORT]/PATH[?vers=…&ro&timeout=…] */
struct nfs_source {
	char name[1200]; /* the source for mount(2) */
	char host[256], path[1025];
};
/* Parse a source. The keys of a URI are added to the options; its timeout sets *timeout_ms. */
int kernel_nfs_source_read(const char *text, struct nfs_source *, struct nfs_options *,
	uint32_t *timeout_ms, struct diag *);
/* Report the keys that URIs of this scheme accept; .keys of applets. */
void kernel_nfs_source_keys(const char *text, struct uri_key_names *);

/* Print the flags as options, "ro,nosuid"; "": none. */
void kernel_nfs_flags_text(unsigned long flags, char *text, size_t len);

struct nfs_numbers { /* resolved values that the kernel does not look up itself */
	bool rdma;
	uint8_t major, minor;
	struct addr server;     /* with the port */
	char client[ADDR_TEXT]; /* source address, for NFS 4 */
	uint16_t mountport;     /* for NFS 3 */
	bool nolock;
};
/* Build the last argument of mount(2). */
int kernel_nfs_options_write(const struct nfs_options *, const struct nfs_numbers *,
	char text[NFS_OPTIONS_MAX], struct diag *);

/* Whether kernel_nfs_ready() would load nothing. */
bool kernel_nfs_loaded(int root, bool rdma, uint8_t major);
/* Load the kernel's modules for NFS; major 0: any version. */
int kernel_nfs_ready(int root, bool rdma, uint8_t major, struct diag *);
/* Find the source address of a route. */
int kernel_source_addr(const struct addr *to, char text[ADDR_TEXT], struct diag *);

struct kernel_mount_args { /* the arguments of mount(2) */
	const char *source, *dir, *type, *data;
	unsigned long flags;
};
/* Find the mount option that the kernel rejects, and its reason, by fsconfig(2); mounts nothing.
 * False: it accepts all, or does not report it (before Linux 5.6). */
bool kernel_mount_refuses(const struct kernel_mount_args *, char *text, size_t len);
/* Resolve a path to the name of a mount point in the list of mounts, without accessing what is
 * mounted on it. Blocks if an earlier component is on a mount of a dead server. -errno */
int kernel_mount_find(int root, const char *typed, char dir[PATH_MAX]);
/* Call kernel_mount_find() in a child. -ETIMEDOUT: not done within 5 s. */
int kernel_mount_dir(int root, const char *typed, char dir[PATH_MAX]);

struct kernel_mounted {
	unsigned id; /* unique, also among mounts on the same directory */
	/* super: options of the file system, "rw,vers=4.2,proto=rdma" */
	char source[1200], type[32], options[512], super[2048];
	char transport[16]; /* from mountstats; "": unknown */
};
/* Read the topmost mount on this directory. -ENOENT: none. */
int kernel_mounted(int root, const char *dir, struct kernel_mounted *);
/* Call `each` for every NFS mount, in the order of /proc/self/mountinfo. */
void kernel_nfs_mounts(int root,
	void (*each)(const char *dir, const struct kernel_mounted *, void *arg), void *arg);
/* Get the value of "vers" in "rw,vers=4.2"; false: absent. */
bool kernel_mount_option(const char *options, const char *name, char *value, size_t len);

/* NFS root of dracut's and Debian's initramfs, or of the kernel itself. */
struct nfs_root {
	char source[1200];  /* "10.0.0.1:/path" */
	char options[1024]; /* in the syntax of -o */
	char from[64];      /* the parameter: "root=nfs:…", may be cut */
	bool rdma; /* proto=rdma, rdma or nfs+rdma://; also set if the parameter is invalid */
};
/* Parse the NFS root on the kernel command line of this host. -ENOENT: none. */
int kernel_nfs_root(int root, struct nfs_root *, struct diag *);
/* Parse it in this text. */
int kernel_nfs_root_read(const char *cmdline, struct nfs_root *, struct diag *);
