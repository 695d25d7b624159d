/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who this machine is, and which disks it has to serve. All of it is reached under a root
 * descriptor, so that a tree of files is a fixture. */
#pragma once
#include "diag.h"
#include <stddef.h>
#include <stdint.h>

int kernel_root(void); /* descriptor of "/" */

/* Host identity by cli.md's chain: option or URI (wanted, may be NULL) → /etc/nvme files → kernel
 * command line → DMI UUID (known-fake ones rejected) → machine-id → random. An empty file counts as
 * absent; a missing host id is derived from the NQN's UUID. */
struct identity {
	char hostnqn[224];
	uint8_t hostid[16];
	/* a file, a controller ("nvme0"), or "option", "random"; of the ID also "hostnqn" */
	char nqn_from[64], id_from[64];
	int random;                     /* made up for this run: warn */
};
int kernel_identity(
	int root, const char *wanted_nqn, const char *wanted_id, struct identity *, struct diag *);

void kernel_identity_random(uint8_t uuid[16]); /* new, of version 4 */

/* Identity of a served disk: made of the machine's (DMI UUID → machine-id → host id → boot ID) and
 * the disk's own: WWID of a block device, file system and inode of a file, `own` of anything else
 * ("": random). Stable across restarts, different on another machine. */
enum disk_identity_lasts {
	DISK_IDENTITY_RUN,  /* random: new with every start */
	DISK_IDENTITY_BOOT, /* until the machine reboots */
	DISK_IDENTITY_ALWAYS,
};
struct disk_identity {
	uint8_t uuid[16], nguid[16];
	char serial[21], nqn[224];
	char from[160]; /* for --verbose: "naa.5000c500, machine-id" */
	enum disk_identity_lasts lasts;
};
/* path NULL: no file or device */
int kernel_disk_identity(
	int root, const char *path, const char *own, struct disk_identity *, struct diag *);

/* The disk's own part of that as text: "file system 0b5a… inode 12", "naa.5000c500… partition 1".
 */
int kernel_disk_text(int root, const char *path, char *text, size_t len, struct diag *);
