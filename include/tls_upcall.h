/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Answer the kernel's requests for TLS handshakes with pre-shared keys, in the place of tlshd:
 * those of its NVMe/TCP initiator and target. */
#pragma once
#include "diag.h"
#include "loop.h"

struct tls_upcall;
struct tls_upcall_end {         /* of a handshake */
	const char *peer;       /* address and port */
	const char *identity;   /* of the key; "": unknown */
	bool server;            /* this side */
	const struct diag *why; /* err 0: the connection is encrypted */
};
struct tls_upcall_events {
	void *arg;
	/* Called from the loop. It may not close the upcall. */
	void (*ended)(void *arg, const struct tls_upcall_end *);
};
/* Answer all requests of this network namespace. The events must outlive it. */
int tls_upcall_open(struct tls_upcall **, struct loop *, int root, const struct tls_upcall_events *,
	struct diag *);
/* Handshakes in progress fail. NULL is allowed. */
void tls_upcall_close(struct tls_upcall *);
bool tls_upcall_is_busy(const struct tls_upcall *); /* a handshake is in progress */
