/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Identities of this host and of the disks it serves. Paths are relative to a root descriptor, so
 * tests use a directory. */
#pragma once
#include "diag.h"
#include <stddef.h>

int kernel_root(void); /* open "/"; the caller closes the descriptor */

/* Identity of this host for NVMe. */
struct identity {
	char hostnqn[224];
	uint8_t hostid[16];
	/* their sources: a file, a controller ("nvme0"), "option" or "random"; of the ID also
	 * "hostnqn" */
	char nqn_from[64], id_from[64];
	int random; /* generated for this run; warn the user */
};
/* Find the host NQN and host ID. First match: user_nqn and user_id (may be NULL), /etc/nvme, kernel
 * command line, DMI UUID unless known to be fake, machine-id, random. An empty file counts as
 * absent. A missing host ID is derived from the NQN. Errors: an invalid value of the user. */
int kernel_identity(
	int root, const char *user_nqn, const char *user_id, struct identity *, struct diag *);

void kernel_identity_random(uint8_t uuid[16]); /* generate a UUID of version 4 */
/* Return the random ID of this host in this run, for a machine without one. The first call chooses
 * it; children inherit it. Not thread-safe. */
const uint8_t *kernel_identity_run(void);
/* Put it into the environment, for the same program to find it there. */
void kernel_identity_pass(void);

/* Read the identity of this machine for all disks that are identified later, when this process may
 * not read it any more. Not thread-safe. */
void kernel_identity_keep(int root);

/* Identity of a served disk: the same after a restart, different on another host. It is a hash of
 * the host's identity (DMI UUID, machine-id, host ID or boot ID) and of the disk's own: the WWID of
 * a block device, file system and inode of a file, `own` of anything else. */
enum disk_identity_lasts {
	DISK_IDENTITY_RUN,  /* random: new at every start */
	DISK_IDENTITY_BOOT, /* until this host reboots */
	DISK_IDENTITY_ALWAYS,
};
struct disk_identity {
	uint8_t uuid[16], nguid[16];
	char serial[21], nqn[224];
	char from[160]; /* for --verbose: "naa.5000c500, machine-id" */
	enum disk_identity_lasts lasts;
};
/* path NULL: not a file or device, use `own`; own "": random. */
int kernel_disk_identity(
	int root, const char *path, const char *own, struct disk_identity *, struct diag *);

/* Describe the disk's own identity: "file system 0b5a… inode 12", "naa.5000c500… partition 1". */
int kernel_disk_text(int root, const char *path, char *text, size_t len, struct diag *);
