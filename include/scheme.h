/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The URI schemes that the command line accepts: for completion, hints, and errors about a scheme.
 */
#pragma once
#include <stdint.h>

enum {                        /* what a scheme can be used for */
	SCHEME_DISK = 1 << 0, /* opened in userspace */
	/* the kernel's initiators, as the applets of that family drive them */
	SCHEME_NVMF = 1 << 1,
	SCHEME_ISCSI = 1 << 2,
	SCHEME_SRP = 1 << 3,
	SCHEME_NFS = 1 << 4,
};

struct scheme {            /* the part of a struct proto that needs no bdev */
	const char *start; /* "nvme+tcp://", as it is typed */
	const char *about; /* "NVMe over TCP: HOST[:PORT]/NQN[/NSID]"; NULL: not offered */
	uint8_t uses;
	const char *applet; /* attaches it through the kernel, where nothing here does */
};
/* proto/list.c: the head of each struct proto (session.h); NULL ends it. */
extern const struct scheme *const schemes[];
const struct scheme *scheme_find(const char *name); /* "nvme+tcp"; NULL: unknown */
