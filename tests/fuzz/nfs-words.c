/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/kernel/nfs core/boot */
/* What people write about NFS mounts: options, sources, the kernel command line; what is accepted
 * holds together when it is written out. */
#include "kernel_nfs.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_source(const char *text, struct nfs_options *o)
{
	struct nfs_source s;
	struct diag diag = { 0 };
	uint32_t ms = 0;

	if (kernel_nfs_source_read(text, &s, o, &ms, &diag)) {
		if (diag.code != DIAG_USAGE)
			abort();
		return;
	}
	if (!s.host[0] || s.path[0] != '/' || !strstr(s.name, ":/"))
		abort();
}

static void check_options(const char *text)
{
	struct nfs_numbers n = { .rdma = true, .major = 4, .minor = 2, .client = "10.0.0.1" };
	char out[NFS_OPTIONS_MAX], value[64];
	struct nfs_options o;
	struct diag diag = { 0 };

	kernel_nfs_options_init(&o);
	if (kernel_nfs_options_read(&o, text, &diag)) {
		if (diag.code != DIAG_USAGE)
			abort();
		return;
	}
	if ((o.major && o.major != 3 && o.major != 4) || (o.major == 3 && o.minor >= 0) ||
		o.minor > 2)
		abort();
	addr_parse(&n.server, "10.0.0.1:20049", 0, NULL);
	if (!kernel_nfs_options_write(&o, &n, out, &diag) &&
		(!kernel_mount_option(out, "vers", value, sizeof(value)) || strcmp(value, "4.2") ||
			!kernel_mount_option(out, "proto", value, sizeof(value)) ||
			strcmp(value, "rdma")))
		abort();
	kernel_nfs_flags_text(o.flags, out, sizeof(out));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct nfs_root root;
	struct nfs_options o;
	struct diag diag = { 0 };

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	kernel_nfs_options_init(&o);
	check_options(text);
	check_source(text, &o);
	if (!kernel_nfs_root_read(text, &root, &diag)) {
		if (!strstr(root.source, ":/") || strncmp(root.options, "r", 1))
			abort();
		check_source(root.source, &o);
		check_options(root.options);
	} else if (!diag.text[0]) {
		abort();
	}
	free(text);
	return 0;
}
