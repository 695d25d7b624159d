/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sources of host and disk identities. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The ID of this machine; false: unknown. */
bool kernel_identity_machine(int root, uint8_t id[16], const char **from);
/* The ID of the current boot; false: unknown. */
bool kernel_identity_boot(int root, uint8_t id[16]);
/* The identifier of a block device: its WWID, or that of its disk with the partition number; false:
 * no persistent one. */
bool kernel_identity_device(
	int root, unsigned dev_major, unsigned dev_minor, char *text, unsigned len);

struct identity_file { /* properties of a file */
	const char *path;
	const uint8_t *fs_uuid; /* NULL: not reported */
	uint64_t fsid, inode;
	unsigned long fs_type;
	dev_t dev;
};
/* A text that identifies the file on this machine, also after a reboot if the file system has a
 * persistent ID. */
void kernel_identity_file(int root, const struct identity_file *, char *text, size_t len);
