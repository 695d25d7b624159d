/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the SCSI layer made of a connection: from a host to its logical units and their block
 * devices. Everything is reached under a root descriptor. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCSI_LUN_ALL UINT64_MAX

struct scsi_lun {
	char name[48]; /* "6:0:0:1" */
	uint64_t lun;  /* as the kernel counts, scsilun_to_int() */
	int type;      /* peripheral device type, SPC-4 table 139; -1 = unknown */
	bool disk;     /* its type has a block device */
	char vendor[16], model[32], state[20];
	char wwid[140]; /* "naa.6001…"; "" = unknown */
	char node[32];  /* "sda"; "" = no block device yet */
	unsigned major, minor;
	uint64_t size;  /* bytes */
	uint32_t block; /* bytes */
	bool ro;
};
bool kernel_scsi_loaded(int root);
int kernel_scsi_ready(int root, struct diag *); /* load the driver of disks, sd_mod */
bool kernel_scsi_host(int root, unsigned host); /* it exists */
/* Let the kernel look for LUNs; may take long. -errno */
int kernel_scsi_scan(int root, unsigned host);
/* Those of a host, by number. free() the list. */
int kernel_scsi_luns(int root, unsigned host, struct scsi_lun **, unsigned *count, struct diag *);
/* The link that udev makes, "/dev/disk/by-id/wwn-0x6001…"; "" = none that is sure. */
void kernel_scsi_by_id(const struct scsi_lun *, char text[200]);
/* Users of this host's disks: "sda mounted on /mnt; sdb swap"; "" = unused. */
void kernel_scsi_users(int root, unsigned host, char *text, size_t len);
/* the root file system is on one of its disks, or unknown */
bool kernel_scsi_has_root(int root, unsigned host);
/* "/dev/sda", "sda1", a link to one of them: the host's number, or -ENOENT. */
int kernel_scsi_host_of(int root, const char *device);
/* Print it as an object of the open list. print: NULL, or "dev" or "by-id" for only that path as
 * text.
 */
struct out;
void kernel_scsi_show(struct out *, const struct scsi_lun *, const char *print);
/* Remove nodes of removed units that were created by hand. */
void kernel_scsi_drop_nodes(int root, const struct scsi_lun *, unsigned count);
