/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's NFS client: the words of -o, mount(2), what is mounted, and what the kernel command
 * line wants mounted. */
#pragma once
#include "diag.h"
#include "uri.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Options as mount(8) and nfs(5) have them, taken apart: what mount(2) takes as flags, what is ours
 * to fill in or to check, and the rest, which is the kernel's. */
#define NFS_OPTIONS_MAX 3072 /* mount(2) takes a page */
enum { NFS_LOCK_OPEN = 0, NFS_LOCK_WANTED, NFS_LOCK_NAMED /* nolock, local_lock= */ };
struct nfs_options {
	unsigned long flags;        /* MS_RDONLY … */
	char pass[NFS_OPTIONS_MAX]; /* for the kernel as they were given: "soft,timeo=50" */
	uint8_t major;              /* 3, 4; 0 = not named */
	int8_t minor;               /* -1 = not named */
	uint16_t port, mountport;   /* 0 = not named */
	char addr[ADDR_TEXT];       /* "" = not named */
	bool clientaddr, mountaddr, mountproto, mountvers; /* given: they are in pass */
	uint8_t lock;
	bool remount, background;
	int retry_min; /* -1 = not named */
};
void kernel_nfs_options_init(struct nfs_options *);
/* Adds what one -o says. Refuses what does not apply to RDMA. */
int kernel_nfs_options_read(struct nfs_options *, const char *text, struct diag *);

/* "HOST:/PATH", "[ADDRESS]:/PATH", or nfs+rdma://HOST[:PORT]/PATH[?vers=…&ro&timeout=…] */
struct nfs_source {
	char name[1200]; /* as the kernel takes it */
	char host[256], path[1025];
};
/* The URI's keys are added to the options, and its time-out. */
int kernel_nfs_source_read(const char *text, struct nfs_source *, struct nfs_options *,
	uint32_t *timeout_ms, struct diag *);
/* Of the URI; .keys of applets. */
void kernel_nfs_source_keys(const char *text, struct uri_asked *);

/* The flags as words, "ro,nosuid"; "" = none. */
void kernel_nfs_flags_text(unsigned long flags, char *text, size_t len);

struct nfs_numbers { /* resolved: what the kernel cannot find out itself */
	bool rdma;
	uint8_t major, minor;
	struct addr server;     /* with the port */
	char client[ADDR_TEXT]; /* own address, NFS 4 */
	uint16_t mountport;     /* NFS 3 */
	bool nolock;
};
/* The last argument of mount(2). */
int kernel_nfs_options_write(const struct nfs_options *, const struct nfs_numbers *,
	char text[NFS_OPTIONS_MAX], struct diag *);

/* All that kernel_nfs_ready() could load is there. */
bool kernel_nfs_loaded(int root, bool rdma, uint8_t major);
/* The kernel's modules for it are there, loaded here if need be; version 0: of any version. */
int kernel_nfs_ready(int root, bool rdma, uint8_t major, struct diag *);
/* The own address from which this one is reached. */
int kernel_source_addr(const struct addr *to, char text[ADDR_TEXT], struct diag *);

struct kernel_mount_ask { /* the arguments of mount(2) */
	const char *source, *dir, *type, *data;
	unsigned long flags;
};
/* Which of the options the kernel does not take, in its own words: asked option by option, nothing
 * is mounted. False: it takes all, or cannot be asked (before Linux 5.6). */
bool kernel_mount_refuses(const struct kernel_mount_ask *, char *text, size_t len);
/* A directory as the list of mounts names it, without touching what is mounted on it. Blocks if the
 * way to it leads through a mount that does not answer. */
int kernel_mount_find(int root, const char *typed, char dir[PATH_MAX]);
/* The same in a child, for a few seconds: -ETIMEDOUT. */
int kernel_mount_dir(int root, const char *typed, char dir[PATH_MAX]);

struct kernel_mounted {
	unsigned id; /* of this mount, which another at the same place has not */
	/* of the file system: "rw,vers=4.2,proto=rdma" */
	char source[1200], type[32], options[512], super[2048];
	char transport[16]; /* as the file system's statistics name it; "" = they do not */
};
/* What is mounted at this very place, the topmost; -ENOENT: nothing. */
int kernel_mounted(int root, const char *dir, struct kernel_mounted *);
/* as they are mounted */
void kernel_nfs_mounts(int root,
	void (*each)(const char *dir, const struct kernel_mounted *, void *arg), void *arg);
/* A value in a list of options: "vers" in "rw,vers=4.2"; false: it is not there. */
bool kernel_mount_option(const char *options, const char *name, char *value, size_t len);

/* What dracut's and Debian's initramfs, and the kernel itself, take for an NFS root. -ENOENT: the
 * command line names none. */
struct nfs_root {
	char source[1200];  /* "10.0.0.1:/path" */
	char options[1024]; /* as of -o */
	char from[64];      /* the word: "root=nfs:…", shortened */
	bool rdma; /* proto=rdma, rdma or nfs+rdma://; also if the word is invalid otherwise */
};
int kernel_nfs_root(int root, struct nfs_root *, struct diag *);
int kernel_nfs_root_read(const char *cmdline, struct nfs_root *, struct diag *);
