/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Keys of NVMe-oF in the text form that hosts and targets exchange: secrets of DH-HMAC-CHAP (Base
 * 2.1, 8.3.5.5.7) and configured PSKs of TLS (TCP Transport 1.1, 3.6.1.5). */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVME_KEY_MAX  64
#define NVME_KEY_TEXT 112 /* room for the text */

enum nvme_key_kind {
	NVME_KEY_DHCHAP, /* "DHHC-1:0n:…", of 32, 48 or 64 bytes */
	NVME_KEY_TLS     /* "NVMeTLSkey-1:0n:…", of 32 or 48 bytes */
};
struct nvme_key {
	uint8_t len;  /* 0: none */
	uint8_t hash; /* that transforms it. 0: none, 1: SHA-256, 2: SHA-384, 3: SHA-512 */
	uint8_t key[NVME_KEY_MAX];
};
/* Parse the text. name: for messages, which never quote the key. Errors: -EINVAL, and the key is
 * zeroed. */
int nvme_key_parse(
	struct nvme_key *, enum nvme_key_kind, const char *name, const char *text, struct diag *);
/* Print a new random key, to share as it is: it is not transformed. A hash other than 0 has keys of
 * its own length. -EAGAIN */
int nvme_key_new(
	char text[NVME_KEY_TEXT], enum nvme_key_kind, unsigned hash, unsigned len, struct diag *);

/* The PSK that TLS uses between one host and one subsystem, and the identity by which both ends
 * find it (TCP Transport 1.1, 3.6.1.3 and 3.6.1.4). */
#define NVME_PSK_DIGEST   65
#define NVME_PSK_IDENTITY (9 + 2 * 224 + NVME_PSK_DIGEST) /* room for the text */
struct nvme_psk {
	char identity[NVME_PSK_IDENTITY];
	uint8_t key[48];
	unsigned len; /* 32: for SHA-256 and AES-128-GCM, 48: for SHA-384 and AES-256-GCM */
};
struct nvme_psk_form {
	bool version0; /* of the identity; else version 1 */
	bool old;      /* derived as libnvme before 1.16 does, not by RFC 8446 */
};
/* Derive it from the configured PSK, which is of NVME_KEY_TLS. -EINVAL: an NQN is too long; with
 * version 0 both together are. */
int nvme_psk_derive(const struct nvme_key *, const char *hostnqn, const char *nqn,
	const struct nvme_psk_form *, struct nvme_psk *);
/* Derive it from a generated PSK (Base 2.1, 8.3.5.5.9) of 32 or 48 bytes. -EINVAL: an NQN is too
 * long. */
int nvme_psk_derive_generated(
	const uint8_t *, unsigned len, const char *hostnqn, const char *nqn, struct nvme_psk *);
struct nvme_psk_names {
	struct nvme_psk_form form;
	bool generated; /* else retained */
	unsigned len;   /* of the key */
	char hostnqn[224], subnqn[224];
};
/* Parse the identity of a PSK, which any peer may send. */
bool nvme_psk_parse(const char *identity, size_t len, struct nvme_psk_names *);
