/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's prerequisites for RDMA in userspace: ib_uverbs, rdma_ucm, and a device. */
#include "kernel_rdma.h"
#include "kernel_sys.h"
#include "modules/modules.h"
#include "privilege.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* In order of dependency; shown_by: paths that exist once it is loaded or built in. */
static const struct part {
	const char *module, *shown_by[2];
} parts[] = {
	{ "ib_core", { "sys/class/infiniband", "sys/module/ib_core" } },
	{ "ib_uverbs", { "sys/class/infiniband_verbs", "sys/module/ib_uverbs" } },
	{ "rdma_ucm", { "sys/class/misc/rdma_cm", "dev/infiniband/rdma_cm" } },
};
#define PARTS (sizeof(parts) / sizeof(*parts))

static bool present(int root, const struct part *part)
{
	return kernel_sys_exists(root, part->shown_by[0]) ||
	       kernel_sys_exists(root, part->shown_by[1]);
}

static void count(const char *name, void *arg)
{
	(void)name;
	++*(unsigned *)arg;
}

int kernel_rdma_missing(int root, const char *module, const char *why, struct diag *diag)
{
	unsigned devices = 0;

	kernel_sys_list(root, "sys/class/infiniband", count, &devices);
	if (module)
		return diag_set(diag, DIAG_NO_MODULE, kernel_module_errno(why),
			"%skernel module %s is not loaded: %s",
			devices ? "" : "no RDMA device: ", module, why);
	if (devices)
		return 0;
	diag_set(diag, DIAG_NO_DEVICE, ENODEV, "no RDMA device");
	diag_hint(diag, HINT_RDMA_DEVICE);
	return -ENODEV;
}

bool kernel_rdma_loaded(int root)
{
	for (unsigned i = 0; i < PARTS; i++)
		if (!present(root, &parts[i]))
			return false;
	return true;
}

int kernel_rdma_ready(int root, struct diag *diag)
{
	for (unsigned i = 0; i < PARTS; i++) {
		const char *why;

		if (present(root, &parts[i]))
			continue;
		why = kernel_module_load(root, parts[i].module);
		if (present(root, &parts[i]))
			continue;
		return kernel_rdma_missing(root, parts[i].module, why, diag);
	}
	return kernel_rdma_missing(root, NULL, NULL, diag);
}

struct nodes {
	int root;
	const struct privilege_user *user;
	bool mads;
	char denied[64];
};

static bool may_write(const struct privilege_user *user, const struct stat *st)
{
	bool member = st->st_gid == user->gid;

	for (unsigned i = 0; i < user->groups; i++)
		member |= st->st_gid == user->group[i];
	if (st->st_uid == user->uid)
		return st->st_mode & S_IWUSR;
	return st->st_mode & (member ? S_IWGRP : S_IWOTH);
}

static void check_node(const char *name, void *arg)
{
	struct nodes *nodes = arg;
	char path[64];
	struct stat st;

	if (strcmp(name, "rdma_cm") && strncmp(name, "uverbs", 6) &&
		!(nodes->mads && !strncmp(name, "umad", 4)))
		return;
	snprintf(path, sizeof(path), "dev/infiniband/%.40s", name);
	if (!fstatat(nodes->root, path, &st, 0) && !may_write(nodes->user, &st))
		snprintf(nodes->denied, sizeof(nodes->denied), "/%.60s", path);
}

bool kernel_rdma_denies(int root, const struct privilege_user *user, bool mads, char node[64])
{
	struct nodes nodes = { .root = root, .user = user, .mads = mads };

	kernel_sys_list(root, "dev/infiniband", check_node, &nodes);
	snprintf(node, 64, "%s", nodes.denied);
	return node[0];
}

static void first_name(const char *name, void *arg)
{
	char *to = arg;

	if (!*to || strcmp(name, to) < 0)
		snprintf(to, 32, "%.31s", name);
}

/* RoCE and iWARP have the interface of each GID in sysfs; IPoIB is a network device of the same
 * hardware. */
int kernel_rdma_netdev(int root, const char *dev, char *name, size_t len, struct diag *diag)
{
	char path[128], first[32] = "";

	snprintf(path, sizeof(path), "sys/class/infiniband/%.60s", dev);
	if (!*dev || strchr(dev, '/') || !kernel_sys_exists(root, path))
		return diag_set(diag, DIAG_NO_DEVICE, ENODEV, "no RDMA device '%s'", dev);
	if (kernel_sys_read(root, name, len, "%s/ports/1/gid_attrs/ndevs/0", path) > 0)
		return 0;
	snprintf(path, sizeof(path), "sys/class/infiniband/%.60s/device/net", dev);
	kernel_sys_list(root, path, first_name, first);
	if (!first[0])
		return diag_set(diag, DIAG_NO_DEVICE, ENODEV,
			"RDMA device '%s' has no network interface", dev);
	snprintf(name, len, "%s", first);
	return 0;
}

int kernel_rdma_blame(struct diag *why, const struct diag *rdma)
{
	const char *alternative;
	char text[sizeof(why->text)];

	if (!rdma->err || (why->code != DIAG_NO_DEVICE && why->code != DIAG_NO_MODULE))
		return -why->err;
	alternative = strchr(why->text, ';');
	snprintf(text, sizeof(text), "%.250s%.250s", rdma->text, alternative ? alternative : "");
	why->err = rdma->err;
	why->code = rdma->code;
	memcpy(why->text, text, sizeof(text));
	snprintf(why->hint, sizeof(why->hint), "%s", rdma->hint);
	return -rdma->err;
}
