/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One failure: the object, the reason and, where known, a hint. The caller owns and zeroes it.
 * Control plane functions take a `struct diag *` last and return 0 or -errno; after success it may
 * hold anything. Only functions that just pass it on to those below accept NULL: others read it.
 * The data path carries numbers (io.status, io.detail), which become text when printed. */
#pragma once
#include <stdint.h>

enum diag_code { /* stable: JSON has them as diag_code_word() */
	DIAG_NONE,
	DIAG_USAGE,
	DIAG_REFUSED,
	DIAG_UNREACHABLE,
	DIAG_TIMEOUT,
	DIAG_AUTH,
	DIAG_NOT_FOUND,
	DIAG_BUSY,
	DIAG_NO_DEVICE,
	DIAG_NO_MODULE,
	DIAG_UNSUPPORTED,
	DIAG_PROTOCOL,
	DIAG_PERMISSION,
	DIAG_NO_MEMORY, /* also: the locked-memory limit */
	DIAG_IO,
	DIAG_MISMATCH,
	DIAG_CLOSED,
	DIAG_SYSTEM,
};

struct diag {
	int err;      /* positive errno; 0: no failure */
	uint8_t code; /* enum diag_code */
	char object[256], text[512], hint[400];
};

/* These functions return -err. Call them where the cause is known. A NULL diag is allowed, but then
 * diag_ctx() and diag_hint() return -EIO: return the errno itself if a caller depends on it. Text:
 * lower case, no full stop, no "failed to"; quote what the user typed. */
int diag_set(struct diag *, enum diag_code, int err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Derive code and text from an errno; fmt is what was tried: "open /dev/sdz: no such file or
 * directory". */
int diag_sys(struct diag *, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* From the errno of a failed TCP connect; the address is the object. */
int diag_connect(struct diag *, int err);
/* ECONNREFUSED is a reset by the host's kernel or a firewall, or an ICMP error. */
#define DIAG_NO_LISTENER "nothing listens there, or a firewall rejects it"

/* Name the object, without the secrets of a URI. Only the first (innermost) call counts. */
int diag_ctx(struct diag *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Add a hint; only one that is certain to help. */
int diag_hint(struct diag *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Hint at the MTU: small replies of the host arrive, the first large one does not. */
int diag_hint_mtu(struct diag *, const char *host);
#define HINT_OTHER_PROTOCOL "see what answers there: rdmastor discover %s"
#define HINT_RDMA_DEVICE                                                                           \
	"load the adapter's RDMA driver, or create a software device: rdma link add rxe0 type "    \
	"rxe netdev eth0"

/* Join the reasons of two attempts: "NAME: text; OTHER_NAME: other", or only one if it contains the
 * other. */
void diag_both(struct diag *, const char *name, const char *text, const char *other_name,
	const char *other);

/* Print a duration, rounded: "10 s", "0.5 s", "250 ms". */
#define DIAG_SECONDS 24
const char *diag_seconds(uint64_t ms, char text[DIAG_SECONDS]);

const char *diag_code_word(enum diag_code); /* "refused" */
const char *diag_errno_word(int err);       /* "ECONNREFUSED"; the same under every libc */
const char *diag_errno_text(int err);       /* "connection refused"; the same under every libc */
