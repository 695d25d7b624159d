/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests of the kernel for TLS handshakes on its own sockets
 * (Documentation/networking/tls-handshake.rst), and the keys that they are about. Requests belong
 * to a network namespace, and are taken by the first process that asks. Needs CAP_NET_ADMIN. */
#pragma once
#include "loop.h"
#include <errno.h>

/* Return 1 if a process waits for requests, 0 if none does. -EOPNOTSUPP: this kernel makes none;
 * another -errno: why it can't be found out. */
int kernel_handshakes_answered(int root);
/* Whether the caller has to answer them: no process does, or it can't be found out. */
static inline bool kernel_handshakes_unanswered(int root)
{
	int answered = kernel_handshakes_answered(root);

	return answered <= 0 && answered != -EOPNOTSUPP;
}

struct kernel_handshakes;
/* Wait for requests: `ready` is called from the loop when there may be some. */
int kernel_handshakes_open(struct kernel_handshakes **, struct loop *, void (*ready)(void *user),
	void *user, struct diag *);
void kernel_handshakes_close(struct kernel_handshakes *); /* NULL is allowed */

struct kernel_handshake {
	int fd; /* the connected socket: shared with the kernel, which keeps it open */
	bool server;
	bool psk;            /* authenticates with pre-shared keys */
	uint32_t timeout_ms; /* 0: none */
	int32_t key;         /* to offer; 0: none */
};
/* Take a request. The keyring of its keys is linked to this process. -EAGAIN: there is none.
 * -EBADMSG: it was of an unknown kind, and has been ended. */
int kernel_handshakes_accept(struct kernel_handshakes *, struct kernel_handshake *, struct diag *);
/* End it and close fd. err: 0, or a positive errno that the kernel reports; key: that of the
 * connection, 0: none. */
int kernel_handshakes_done(struct kernel_handshakes *, const struct kernel_handshake *, int err,
	int32_t key, struct diag *);

#define KERNEL_PSK_IDENTITY 576 /* room for the text */
struct kernel_psk {
	int32_t serial;
	char identity[KERNEL_PSK_IDENTITY];
	uint8_t key[48];
	uint8_t len;
	bool sha384; /* the hash that it is for; else SHA-256 */
};
/* The hash of a key is in its identity (NVMe TCP Transport 1.1, 3.6.1.3), "NVMe1R02 …"; of another
 * one its length decides. */
bool kernel_psk_is_sha384(const char *identity, unsigned len);
/* Read the identity of a key, which only its owner may: -ENOKEY, -EACCES. */
int kernel_psk_identity(int32_t serial, char identity[KERNEL_PSK_IDENTITY]);
/* Read a key by its number: -ENOKEY, -EACCES. */
int kernel_psk_read(int32_t serial, struct kernel_psk *, struct diag *);
/* The number of the key with exactly this identity in a keyring that is linked to this thread or
 * process. -ENOKEY: none; another -errno. */
int32_t kernel_psk_serial(int32_t ring, const char *identity);
/* Find it by its identity in a keyring, which is linked to the calling thread. -ENOKEY: none. */
int kernel_psk_find(int32_t ring, const char *identity, struct kernel_psk *);
