/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which discovery controllers nvmf-discover queries, from its operand, options or configuration
 * files. */
#pragma once
#include "nvmf_want.h"

struct nvmf_query {
	char text[URI_MAX];           /* for uri_parse() */
	char shown[URI_MAX];          /* as the user knows it: for messages and JSON */
	const char *hostnqn, *hostid; /* NULL = this machine's */
};

struct nvmf_queries {
	struct nvmf_query *query;
	unsigned count;
	bool either;              /* one host over both transports: one answer is enough */
	struct nvmf_entries conf; /* what the queries point to */
};
/* config: a file, or NULL. Without operand and options the files in /etc/nvme are read. Errors:
 * usage, and of files. */
int nvmf_queries_read(struct call *, int root, const struct nvmf_options *, const char *config,
	struct nvmf_queries *);
void nvmf_queries_free(struct nvmf_queries *);
