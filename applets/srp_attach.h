/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An SRP target as the user names it: a URI, an add_target string, options. */
#pragma once
#include "applet.h"
#include "kernel_srp.h"

struct srp_words {
	const char *value[SRP_OPTS];
	const char *dev;
	uint32_t port;
};

#define SRP_ROW(type, opt, name, arg, help)                                                        \
	{                                                                                          \
		name, 0, OPT_TEXT, offsetof(type, words.value[SRP_OPT_##opt]), arg, help           \
	}
#define SRP_NAME_ROWS(type)                                                                        \
	{ "device", 'i', OPT_TEXT, offsetof(type, words.dev), "DEVICE",                            \
		"local RDMA device, such as mlx5_0" },                                             \
		{ "port", 'p', OPT_U32, offsetof(type, words.port), "NUMBER",                      \
			"port of that device", 1, 254 },                                           \
		SRP_ROW(type, ID_EXT, "id-ext", "HEX", "identifier extension of the target"),      \
		SRP_ROW(type, IOC_GUID, "ioc-guid", "HEX", "GUID of its I/O controller"),          \
		SRP_ROW(type, DGID, "dgid", "GID", "InfiniBand: GID of its port"),                 \
		SRP_ROW(type, PKEY, "pkey", "HEX", "InfiniBand: partition key; default ffff"),     \
		SRP_ROW(type, SERVICE_ID, "service-id", "HEX", "InfiniBand: service ID"),          \
		SRP_ROW(type, DEST, "dest", "HOST:PORT", "RDMA/CM: address of the target")

struct srp_target {
	struct srp_want want;
	struct srp_place place;
	struct uri uri;  /* scheme "" = none */
	const char *dev; /* the local port, NULL and 0: to be chosen */
	uint32_t port;
	struct srp_local asked; /* the one that knows the LID */
	const char *on_loss;    /* of the URI */
	uint32_t timeout_ms;
};
/* A word that names an existing connection: "host6", "/dev/sda". */
bool srp_is_device(const char *word);
/* Of the operand (may be NULL) and the options. timeout_ms: kept unless the URI says another. */
int srp_target_read(
	struct srp_target *, const char *operand, const struct srp_words *, struct diag *);
/* "0002c903004ed0b2 at fe80…:0002c903004ed0b3", "… at 10.0.0.1:5555" */
const char *srp_target_text(const struct srp_want *, char text[200]);
/* The SCSI host of such a word. Errors: not an SRP connection. */
int srp_device_host(int root, const char *word, struct kernel_srp *, struct diag *);

/* What the user left out and the target itself tells: the GID of a LID, the service and partition.
 * Needs: id_ext and ioc_guid. */
bool srp_lookup_needed(const struct srp_target *);
int srp_lookup(struct loop *, int root, struct srp_target *, uint32_t timeout_ms, struct diag *);
