/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Disks on the kernel command line, and what an initramfs needs to attach them. */
#pragma once
#include "uri.h"

enum boot_via {      /* how a disk becomes a block device */
	BOOT_KERNEL, /* the kernel's own initiator */
	BOOT_UBLK,
	BOOT_NBD, /* the kernel's NBD client */
};
const char *kernel_boot_via_name(uint8_t via); /* "kernel", "ublk", "nbd" */

struct boot_disk {
	char uri[URI_MAX]; /* may hold a password */
	uint8_t via;       /* enum boot_via */
	char from[20];     /* "rd.rdmastor", "operand" */
	struct diag why;   /* err: the text is invalid; attach nothing for it */
};
/* Parse "URI[,via=kernel|ublk|nbd]"; an error goes to disk->why. The URI itself is not parsed. */
void kernel_boot_disk(struct boot_disk *, const char *text, const char *from);
/* Set the error for a URI of a scheme that can't be attached. Returns -errno. */
int kernel_boot_unknown_scheme(const char *name, struct diag *);

/* Parameters on the kernel command line (dracut.cmdline(7)). */
struct boot_params {
	struct boot_disk *disk; /* of rd.rdmastor= */
	unsigned disks;
	uint32_t timeout_ms; /* of rd.rdmastor.timeout=; 0: unset, or no limit */
	bool never;          /* the parameter is 0: no limit */
	struct diag timeout; /* err: a value of it is invalid and was ignored */
	/* whether --from-cmdline of the other applets finds a target, valid or not */
	bool nvme, iscsi;
	bool nfs; /* over RDMA */
};
/* Read the parameters; the caller calls kernel_boot_params_free(), also after a failure. */
int kernel_boot_params_read(int root, struct boot_params *, struct diag *);
void kernel_boot_params_free(struct boot_params *); /* wipes the URIs */

/* What an initramfs needs to attach a disk. */
enum boot_need_kind {
	BOOT_NEED_MODULE, /* kernel module: "nvme_rdma" */
	BOOT_NEED_PARAM,  /* kernel parameter: "rd.rdmastor=nvme+rdma://…" */
	BOOT_NEED_FILE,   /* file with a secret: "/etc/nvme/key" */
	BOOT_NEED_KINDS
};
struct boot_needs {
	struct boot_need {
		uint8_t kind;
		char text[URI_MAX + 32];
	} * need; /* the owner frees it */
	unsigned count;
};
struct kernel_list;
struct kernel_serving;
/* Append the needs of the listed disks: of all, or only of those that hold the root file system. */
int kernel_boot_needs(int root, const struct kernel_list *, const struct kernel_serving *, bool all,
	struct boot_needs *, struct diag *);
/* Append the needs of a disk given by its URI: its files and, unless it is attached, its parameter
 * without secrets and its modules: the initiator, and the drivers of all network cards and RDMA
 * devices that may reach it. */
int kernel_boot_needs_disk(int root, const struct kernel_list *, const struct boot_disk *,
	bool attached, struct boot_needs *, struct diag *);
