/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Logical units and block devices of a SCSI host, in sysfs. Paths are relative to a root
 * descriptor. */
#pragma once
#include "uri_read.h"
#include <stdbool.h>
#include <stddef.h>

struct scsi_lun {
	char name[48]; /* "6:0:0:1" */
	uint64_t lun;  /* as the kernel numbers LUNs, scsilun_to_int() */
	int type;      /* peripheral device type, SPC-4 table 139; -1: unknown */
	bool disk;     /* its type has a block device */
	char vendor[16], model[32], state[20];
	char wwid[140]; /* "naa.6001…"; "": unknown */
	char node[32];  /* "sda"; "": no block device yet */
	unsigned major, minor;
	uint64_t size;  /* bytes */
	uint32_t block; /* bytes */
	bool ro;
	bool joined; /* set by the caller: a multipath device is printed instead */
};
bool kernel_scsi_loaded(int root);              /* sd_mod is loaded or built in */
int kernel_scsi_ready(int root, struct diag *); /* load the driver of disks, sd_mod */
bool kernel_scsi_host(int root, unsigned host); /* whether the host exists */
/* Make the kernel scan for LUNs; may block for long. -errno */
int kernel_scsi_scan(int root, unsigned host);
/* List the LUNs of a host by number. The caller frees the list. */
int kernel_scsi_luns(int root, unsigned host, struct scsi_lun **, unsigned *count, struct diag *);
/* Print the name of udev's link, "/dev/disk/by-id/wwn-0x6001…"; "": unknown. */
void kernel_scsi_by_id(const struct scsi_lun *, char text[200]);
struct scsi_hosts { /* hosts that end together; this one is always among them */
	const unsigned *host;
	unsigned count;
};
/* List users of this host's disks: "sda: mounted on /mnt; sdb: swap"; "": unused. Of a multipath
 * map over disks of these hosts alone, list the users, unless a host stays that is used. */
void kernel_scsi_users(int root, unsigned host, const struct scsi_hosts *, char *text, size_t len);
/* Remove such maps above this host's disks. force: not those in use, but let their pending I/O
 * fail. -EBUSY: one is in use. May block. */
int kernel_scsi_flush(
	int root, unsigned host, const struct scsi_hosts *, bool force, struct diag *);
/* Whether the root file system is on one of its disks; true if unknown. */
bool kernel_scsi_has_root(int root, unsigned host);
/* Return the number of the host of "/dev/sda", "sda1" or a link to one of them. -ENOENT: none. */
int kernel_scsi_host_of(int root, const char *device);
/* Print it as an object of the open list. print: "dev" or "by-id" prints only that path as text;
 * NULL: all. */
struct out;
void kernel_scsi_show(struct out *, const struct scsi_lun *, const char *print);
/* Remove nodes in /dev of removed units, where the kernel does not. */
void kernel_scsi_drop_nodes(int root, const struct scsi_lun *, unsigned count);
