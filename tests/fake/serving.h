/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target's end of a pair test, one in a program: our NVMe-oF, iSCSI or SRP target at 127.0.0.1,
 * or our NBD server on a unix socket, over a disk of tests/fake, on host.h's loop. */
#pragma once
#include "disk.h"
#include "host.h"
#include "nbd_server.h"
#include "serve.h"

#define SERVING_NQN "nqn.2024-01.test:disk"
#define SERVING_IQN "iqn.2024-01.test:disk"

extern struct fake_disk *backing;
extern struct target_options opt; /* may be changed until it starts */
extern struct target *target;

/* The loop, the disk, and options for one address: enum transport; verbs has port 4420,
 * others whichever is free. */
void serving_begin(uint32_t size, unsigned transports, uint32_t poll_us);
void serving_listen(struct listen_addr *, unsigned transports);
void serving_start(void);
unsigned serving_port(void);
/* The NBD server instead, with the first disk and the loops of `opt`. */
extern struct nbd_server *nbd_server;
extern struct tls_creds *serving_tls; /* NULL: without TLS */
void serving_start_nbd(unsigned slots);
const char *serving_socket(void);
/* The SRP target instead; both of its identifiers are 9. The iSCSI target, of that name. */
void serving_start_srp(void);
void serving_start_iscsi(void);
void serving_stop(void); /* the target, or the server, alone */
void serving_end(void);  /* hangs up first */
