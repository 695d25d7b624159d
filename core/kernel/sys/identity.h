/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What host and disk identities are made of. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Who this machine is, and no other; false: nothing tells. */
bool kernel_identity_machine(int root, uint8_t id[16], const char **from);
/* This boot of the machine, and no other; false: unknown. */
bool kernel_identity_boot(int root, uint8_t id[16]);
void kernel_identity_random(uint8_t uuid[16]);
/* What a block device says of itself: its WWID, or that of its disk and the partition's number;
 * false: nothing that lasts. */
bool kernel_identity_device(
	int root, unsigned dev_major, unsigned dev_minor, char *text, unsigned len);

struct identity_file { /* what the kernel knows of a file */
	const char *path;
	const uint8_t *fs_uuid; /* NULL: not reported */
	uint64_t fsid, inode;
	unsigned long fs_type;
	dev_t dev;
};
/* A text that no other file of the machine has: the same after a reboot if the file system has an
 * id that lasts. */
void kernel_identity_file(int root, const struct identity_file *, char *text, size_t len);
