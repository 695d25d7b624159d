/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* List namespaces from /sys/class/block, and subsystems from /sys/class/nvme-subsystem. The applet
 * prints them. */
#include "child.h"
#include "grow.h"
#include "kernel_nvmf.h"
#include "kernel_sys.h"
#include "loop.h"
#include "nvme.h"
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BLOCK       "sys/class/block"
#define SUBSYSTEMS  "sys/class/nvme-subsystem"
#define PAGE        4096
#define IDENTIFY_MS 1000

struct gathering {
	int root;
	void *item;
	unsigned count;
	bool failed;           /* out of memory */
	char subsystem[24];    /* the subsystem being read */
	const char *namespace; /* NULL = any */
	unsigned disk[2];      /* its device number */
};

static void *add_item(struct gathering *g, size_t each)
{
	void *item = grow_array(&g->item, &g->count, 1, each);

	g->failed |= !item;
	return item;
}

static int finish_list(struct gathering *g, size_t each, int (*order)(const void *, const void *),
	unsigned *count, struct diag *diag)
{
	*count = g->count;
	if (g->count)
		qsort(g->item, g->count, each, order);
	if (!g->failed)
		return 0;
	free(g->item);
	g->item = NULL;
	*count = 0;
	return diag_sys(diag, ENOMEM, "list of NVMe devices");
}

static uint64_t number(int root, const char *disk, const char *name)
{
	char text[32];

	return kernel_sys_read(root, text, sizeof(text), BLOCK "/%s/%s", disk, name) > 0
		       ? strtoull(text, NULL, 10)
		       : 0;
}

struct identifying {
	char node[40];
	uint32_t nsid;
};

static int identify(int root, const void *arg, void *page)
{
	const struct identifying *id = arg;
	struct nvme_admin_cmd cmd = {
		.opcode = 0x06, .nsid = id->nsid, .addr = (uintptr_t)page, .data_len = PAGE
	};
	int fd = openat(root, id->node, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return errno;
	rc = ioctl(fd, NVME_IOCTL_ADMIN_CMD, &cmd);
	return rc < 0 ? errno : rc ? EIO : 0;
}

static uint64_t get_le(const uint8_t *from, unsigned bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | from[bytes];
	return value;
}

/* Get NUSE and the metadata size of the current format (NVM Command Set 1.1, 4.1.5.1). */
static void query_usage(int root, struct nvme_namespace *ns)
{
	struct identifying id = { .nsid = ns->nsid };
	uint8_t page[PAGE] = { 0 };
	struct child_call call = { .fn = identify,
		.arg = &id,
		.out = page,
		.out_len = PAGE,
		.until = loop_clock() + IDENTIFY_MS * 1000000ull,
		.grace_ms = 100 };
	unsigned format;

	snprintf(id.node, sizeof(id.node), "dev/%s", ns->name);
	if (child_call_run(&call, &root, 1))
		return;
	format = (page[26] & 0xf) | (page[26] >> 1 & 0x30);
	ns->used = get_le(page + 16, 8) * ns->block;
	ns->used_known = true;
	ns->metadata = (uint32_t)get_le(page + 128 + 4 * format, 2);
}

static void add_namespace(const char *name, void *arg)
{
	struct gathering *g = arg;
	struct nvme_namespace *ns;
	unsigned disk, unit;
	char end, text[32];

	if (sscanf(name, "nvme%un%u%c", &disk, &unit, &end) != 2 ||
		strlen(name) >= sizeof(ns->name))
		return;
	ns = add_item(g, sizeof(*ns));
	if (!ns)
		return;
	snprintf(ns->name, sizeof(ns->name), "%s", name);
	snprintf(ns->generic, sizeof(ns->generic), "ng%un%u", disk, unit);
	snprintf(text, sizeof(text), "dev/%.26s", ns->generic);
	ns->generic_node = kernel_sys_exists(g->root, text);
	kernel_sys_read(g->root, ns->serial, sizeof(ns->serial), BLOCK "/%s/device/serial", name);
	kernel_sys_read(g->root, ns->model, sizeof(ns->model), BLOCK "/%s/device/model", name);
	kernel_sys_read(
		g->root, ns->firmware, sizeof(ns->firmware), BLOCK "/%s/device/firmware_rev", name);
	ns->nsid = (uint32_t)number(g->root, name, "nsid");
	ns->block = (uint32_t)number(g->root, name, "queue/logical_block_size");
	ns->size = number(g->root, name, "size") * 512;
	if (kernel_sys_read(g->root, text, sizeof(text), BLOCK "/%s/nuse", name) > 0) {
		ns->used = strtoull(text, NULL, 10) * ns->block;
		ns->used_known = true;
		ns->metadata = (uint32_t)number(g->root, name, "metadata_bytes");
	} else {
		query_usage(g->root, ns);
	}
}

static int compare(unsigned a, unsigned b)
{
	return a < b ? -1 : a > b;
}

static int by_device(const void *a, const void *b)
{
	unsigned left[2] = { 0 }, right[2] = { 0 };
	int order;

	sscanf(((const struct nvme_namespace *)a)->name, "nvme%un%u", &left[0], &left[1]);
	sscanf(((const struct nvme_namespace *)b)->name, "nvme%un%u", &right[0], &right[1]);
	order = compare(left[0], right[0]);
	return order ? order : compare(left[1], right[1]);
}

int kernel_nvme_namespaces(
	int root, struct nvme_namespace **list, unsigned *count, struct diag *diag)
{
	struct gathering g = { .root = root };
	int err;

	kernel_sys_list(root, BLOCK, add_namespace, &g);
	err = finish_list(&g, sizeof(struct nvme_namespace), by_device, count, diag);
	*list = g.item;
	return err;
}

struct path_search {
	const struct gathering *g;
	const char *ctrl;
	bool found;
	char ana[24];
};

/* Match "nvme0c1n2", a path to nvme0n2, or the namespace itself without multipath. */
static void match_path(const char *name, void *arg)
{
	struct path_search *search = arg;
	unsigned disk, ctrl, unit;
	char end;

	if (sscanf(name, "nvme%uc%un%u%c", &disk, &ctrl, &unit, &end) == 3) {
		if (disk != search->g->disk[0] || unit != search->g->disk[1])
			return;
		kernel_sys_read(search->g->root, search->ana, sizeof(search->ana),
			NVME_CLASS "/%s/%s/ana_state", search->ctrl, name);
		search->found = true;
	} else if (!strcmp(name, search->g->namespace)) {
		search->found = true;
	}
}

static void add_member(const char *name, void *arg)
{
	struct gathering *g = arg;
	struct path_search search = { .g = g, .ctrl = name };
	struct nvme_member *member;
	unsigned ctrl;
	char end, path[64];

	if (sscanf(name, "nvme%u%c", &ctrl, &end) != 1 || strlen(name) >= sizeof(member->name))
		return;
	snprintf(path, sizeof(path), NVME_CLASS "/%.15s", name);
	if (g->namespace)
		kernel_sys_list(g->root, path, match_path, &search);
	if ((g->namespace && !search.found) || !kernel_sys_exists(g->root, path))
		return;
	member = add_item(g, sizeof(*member));
	if (!member)
		return;
	memcpy(member->subsystem, g->subsystem, sizeof(member->subsystem));
	memcpy(member->ana, search.ana, sizeof(member->ana));
	snprintf(member->name, sizeof(member->name), "%s", name);
	kernel_sys_read(g->root, member->nqn, sizeof(member->nqn), SUBSYSTEMS "/%s/subsysnqn",
		g->subsystem);
	kernel_sys_read(g->root, member->policy, sizeof(member->policy), SUBSYSTEMS "/%s/iopolicy",
		g->subsystem);
	kernel_sys_read(g->root, member->type, sizeof(member->type), SUBSYSTEMS "/%s/subsystype",
		g->subsystem);
	kernel_sys_read(g->root, member->transport, sizeof(member->transport),
		NVME_CLASS "/%s/transport", name);
	kernel_sys_read(
		g->root, member->address, sizeof(member->address), NVME_CLASS "/%s/address", name);
	kernel_sys_read(
		g->root, member->state, sizeof(member->state), NVME_CLASS "/%s/state", name);
	kernel_sys_read(
		g->root, member->hostnqn, sizeof(member->hostnqn), NVME_CLASS "/%s/hostnqn", name);
	kernel_sys_read(
		g->root, member->hostid, sizeof(member->hostid), NVME_CLASS "/%s/hostid", name);
}

static void add_subsystem(const char *name, void *arg)
{
	struct gathering *g = arg;
	char path[64];

	if (strncmp(name, "nvme-subsys", 11) || strlen(name) >= sizeof(g->subsystem))
		return;
	snprintf(g->subsystem, sizeof(g->subsystem), "%s", name);
	snprintf(path, sizeof(path), SUBSYSTEMS "/%s", g->subsystem);
	kernel_sys_list(g->root, path, add_member, g);
}

static int by_member(const void *a, const void *b)
{
	const struct nvme_member *left = a, *right = b;
	int order = strcmp(left->hostnqn, right->hostnqn);

	if (!order)
		order = strcmp(left->hostid, right->hostid);
	if (!order)
		order = compare((unsigned)atoi(left->subsystem + 11),
			(unsigned)atoi(right->subsystem + 11));
	return order ? order
		     : compare((unsigned)atoi(left->name + 4), (unsigned)atoi(right->name + 4));
}

int kernel_nvme_members(
	int root, const char *device, struct nvme_member **list, unsigned *count, struct diag *diag)
{
	struct gathering g = { .root = root };
	char end;
	int err;

	if (device) {
		g.namespace = strrchr(device, '/') ? strrchr(device, '/') + 1 : device;
		if (sscanf(g.namespace, "nvme%un%u%c", &g.disk[0], &g.disk[1], &end) != 2)
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"'%s': expected a namespace such as /dev/nvme0n1", device);
	}
	kernel_sys_list(root, SUBSYSTEMS, add_subsystem, &g);
	err = finish_list(&g, sizeof(struct nvme_member), by_member, count, diag);
	*list = g.item;
	if (!err && device && !*count)
		err = diag_set(
			diag, DIAG_NOT_FOUND, ENOENT, "'%s': no such NVMe namespace", device);
	return err;
}
