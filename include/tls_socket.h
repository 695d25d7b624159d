/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* TLS 1.3 on a TCP socket that the kernel uses: this process does the handshake, then the kernel
 * has the keys and handles records (Documentation/networking/tls.rst). No byte behind the handshake
 * is read. The calculations run on the loop's thread: for loops without a data path. */
#pragma once
#include "loop.h"
#include "tls.h"

struct tls_socket;
/* Begin a handshake; `done` is called once, from the loop: why.err 0: the kernel has the keys.
 * timeout_ms 0: none. The socket remains the owner's; its O_NONBLOCK does not matter. */
int tls_socket_new(struct tls_socket **, struct loop *, int fd, struct tls_creds *,
	uint32_t timeout_ms, void (*done)(void *user, const struct diag *why), void *user,
	struct diag *);
void tls_socket_free(struct tls_socket *); /* in any state; NULL is allowed */
