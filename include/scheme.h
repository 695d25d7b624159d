/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The URI schemes that the command line accepts: for completion and for errors about a scheme. */
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

struct scheme {
	const char *start; /* "nvme+tcp://", as it is typed */
	const char *about; /* "NVMe over TCP: HOST[:PORT]/NQN[/NSID]" */
	uint8_t uses;
};
extern const struct scheme schemes[]; /* a row without start ends it */
