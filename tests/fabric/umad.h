/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The programs that run in boxes talk to /dev/infiniband/umad0 as the kernel has it, without a
 * library; any failure ends them. */
#pragma once
#include "wire/mad.h"
#include <rdma/ib_user_mad.h>

#define UMAD_SYS  "/sys/class/infiniband/ibsim0/ports/1/"
#define UMAD_QKEY 0x80010000

struct umad {
	struct ib_user_mad_hdr hdr;
	uint8_t mad[MAD_LEN];
};

int umad_open(void);
unsigned umad_register(int fd, uint8_t mgmt_class, uint8_t version, uint32_t qpn, uint64_t methods);
void umad_send(int fd, const struct umad *);
void umad_recv(int fd, struct umad *); /* hdr.status says whether it is one of ours given back */
unsigned umad_sys(const char *name);   /* a number below UMAD_SYS */
