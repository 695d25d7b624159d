/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What this machine is to attach before its root file system is mounted. */
#pragma once
#include "diag.h"
#include "uri.h"
#include <stdbool.h>
#include <stdint.h>

enum boot_via {      /* which block device */
	BOOT_KERNEL, /* the kernel's own initiator */
	BOOT_UBLK,
	BOOT_NBD, /* the kernel's NBD client */
};
const char *kernel_boot_via_word(uint8_t via);

struct boot_disk {
	char uri[URI_MAX]; /* may hold a password */
	uint8_t via;
	char from[20];   /* "rd.rdmastor", "operand" */
	struct diag why; /* the word is invalid: attach nothing for it */
};
/* "URI[,via=kernel|ublk|nbd]" */
void kernel_boot_disk(struct boot_disk *, const char *text, const char *from);
int kernel_boot_unknown_scheme(const char *name, struct diag *); /* the error for a URI of it */

struct boot_words {
	struct boot_disk *disk;
	unsigned disks;
	uint32_t timeout_ms; /* rd.rdmastor.timeout=; 0 = unset */
	bool never;          /* it is 0: no time limit */
	struct diag timeout; /* why a value of it is ignored; err 0: none is */
	/* what the other applets' --from-cmdline finds, valid or not */
	bool nvme, iscsi;
	bool nfs; /* over RDMA */
};
/* rd.rdmastor=, rd.rdmastor.timeout= and the words of others on the kernel command line. */
int kernel_boot_words(int root, struct boot_words *, struct diag *);
void kernel_boot_words_free(struct boot_words *); /* wipes */

/* What attaches a disk in an initramfs. */
enum boot_need_kind {
	BOOT_NEED_MODULE, /* of the kernel: "nvme_rdma" */
	BOOT_NEED_WORD,   /* for its command line: "rd.rdmastor=nvme+rdma://…" */
	BOOT_NEED_FILE,   /* with a secret: "/etc/nvme/key" */
	BOOT_NEED_KINDS
};
struct boot_needs {
	struct boot_need {
		uint8_t kind;
		char text[URI_MAX + 32];
	} * need;
	unsigned count;
};
struct kernel_list;
struct kernel_serving;
/* Appends what the disks of the list need: all of them, or only those that the running system's
 * root is on. The owner frees `need`. */
int kernel_boot_needs(int root, const struct kernel_list *, const struct kernel_serving *, bool all,
	struct boot_needs *, struct diag *);
/* Appends what the disk needs that a word names: its files and, unless it is attached, the word
 * without secrets, and the modules: its initiator, and the drivers of this machine's cards that
 * could reach it. */
int kernel_boot_needs_disk(int root, const struct kernel_list *, const struct boot_disk *,
	bool attached, struct boot_needs *, struct diag *);
