/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read controllers and their namespaces from /sys/class/nvme and /sys/class/block. Skip entries
 * that disappear during the scan. */
#include "grow.h"
#include "kernel_sys.h"
#include "nvme.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int kernel_nvme_write(int root, const char *text, const char *fmt, ...)
{
	char path[256];
	va_list args;
	int fd, err = 0;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	fd = openat(root, path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static bool ctrl_name(const char *name)
{
	unsigned n;
	char end;

	return sscanf(name, "nvme%u%c", &n, &end) == 1 && strlen(name) < 16;
}

/* Read a timeout in seconds; "off" = never. */
static int read_seconds(int root, const char *ctrl, const char *name)
{
	char text[32], *end;
	long value;

	if (kernel_sys_read(root, text, sizeof(text), NVME_CLASS "/%s/%s", ctrl, name) <= 0)
		return VALUE_UNKNOWN;
	if (!strcmp(text, "off"))
		return VALUE_OFF;
	value = strtol(text, &end, 10);
	return *end || value < 0 || value > INT32_MAX ? VALUE_UNKNOWN : (int)value;
}

/* "traddr=10.0.0.1,trsvcid=4420,src_addr=10.0.0.2" */
static void read_address(int root, struct nvmf_ctrl *ctrl)
{
	const struct {
		const char *name;
		char *to;
		size_t room;
	} parts[] = {
		{ "traddr", ctrl->traddr, sizeof(ctrl->traddr) },
		{ "trsvcid", ctrl->trsvcid, sizeof(ctrl->trsvcid) },
		{ "host_traddr", ctrl->host_traddr, sizeof(ctrl->host_traddr) },
		{ "host_iface", ctrl->host_iface, sizeof(ctrl->host_iface) },
		{ "src_addr", ctrl->src_addr, sizeof(ctrl->src_addr) },
	};
	char text[1024], *rest = text, *word;

	if (kernel_sys_read(root, text, sizeof(text), NVME_CLASS "/%s/address", ctrl->name) <= 0)
		return;
	while ((word = strsep(&rest, ","))) {
		char *value = strchr(word, '=');

		if (!value)
			continue;
		*value++ = 0;
		for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++)
			if (!strcmp(word, parts[i].name))
				snprintf(parts[i].to, parts[i].room, "%s", value);
	}
}

/* "3f2a1b0c"; empty while the connection is lost */
static int32_t read_key(int root, const char *ctrl, const char *name)
{
	char text[16], *end;
	unsigned long number;

	if (kernel_sys_read(root, text, sizeof(text), NVME_CLASS "/%s/%s", ctrl, name) <= 0)
		return 0;
	number = strtoul(text, &end, 16);
	return *end || number > INT32_MAX ? 0 : (int32_t)number;
}

static void read_tls(int root, struct nvmf_ctrl *ctrl)
{
	char path[64];

	snprintf(path, sizeof(path), NVME_CLASS "/%s/tls_key", ctrl->name);
	ctrl->tls = kernel_sys_exists(root, path);
	ctrl->tls_key = read_key(root, ctrl->name, "tls_key");
	ctrl->tls_configured_key = read_key(root, ctrl->name, "tls_configured_key");
}

int kernel_nvmf_state(int root, const char *name, char state[16])
{
	return ctrl_name(name) && kernel_sys_read(root, state, 16, NVME_CLASS "/%s/state", name) > 0
		       ? 0
		       : -ENOENT;
}

int kernel_nvmf_read_ctrl(int root, const char *name, struct nvmf_ctrl *ctrl)
{
	char text[16], own[16];

	if (!ctrl_name(name))
		return -ENOENT;
	snprintf(own, sizeof(own), "%s", name);
	name = own; /* the caller's name may be inside *ctrl */
	*ctrl = (struct nvmf_ctrl){ 0 };
	memcpy(ctrl->name, own, sizeof(own));
	if (kernel_nvmf_state(root, name, ctrl->state))
		return -ENOENT;
	kernel_sys_read(
		root, ctrl->transport, sizeof(ctrl->transport), NVME_CLASS "/%s/transport", name);
	kernel_sys_read(root, ctrl->nqn, sizeof(ctrl->nqn), NVME_CLASS "/%s/subsysnqn", name);
	kernel_sys_read(root, ctrl->hostnqn, sizeof(ctrl->hostnqn), NVME_CLASS "/%s/hostnqn", name);
	kernel_sys_read(root, ctrl->hostid, sizeof(ctrl->hostid), NVME_CLASS "/%s/hostid", name);
	read_address(root, ctrl);
	ctrl->ctrl_loss_tmo = read_seconds(root, name, "ctrl_loss_tmo");
	ctrl->reconnect_delay = read_seconds(root, name, "reconnect_delay");
	ctrl->fast_io_fail_tmo = read_seconds(root, name, "fast_io_fail_tmo");
	if (kernel_sys_read(root, text, sizeof(text), NVME_CLASS "/%s/queue_count", name) > 0)
		ctrl->queues = (unsigned)strtoul(text, NULL, 10);
	read_tls(root, ctrl);
	return 0;
}

struct list {
	int root;
	void *item;
	unsigned count;
	bool failed;
	const char *ctrl;
};

static void *sorted(struct list *list, size_t each, int (*order)(const void *, const void *))
{
	if (list->failed) {
		free(list->item);
		list->item = NULL;
		list->count = 0;
	}
	if (list->count)
		qsort(list->item, list->count, each, order);
	return list->item;
}

static void add_ctrl(const char *name, void *arg)
{
	struct list *list = arg;
	struct nvmf_ctrl ctrl, *to;

	if (kernel_nvmf_read_ctrl(list->root, name, &ctrl) || !strcmp(ctrl.transport, "pcie") ||
		!strncmp(ctrl.transport, "apple", 5))
		return;
	to = grow_array(&list->item, &list->count, 1, sizeof(ctrl));
	list->failed |= !to;
	if (to)
		*to = ctrl;
}

static int by_number(const void *a, const void *b)
{
	return atoi(((const struct nvmf_ctrl *)a)->name + 4) -
	       atoi(((const struct nvmf_ctrl *)b)->name + 4);
}

int kernel_nvmf_list(int root, struct nvmf_ctrl **ctrls, unsigned *count, struct diag *diag)
{
	struct list list = { .root = root };

	kernel_sys_list(root, NVME_CLASS, add_ctrl, &list);
	*ctrls = sorted(&list, sizeof(struct nvmf_ctrl), by_number);
	*count = list.count;
	return list.failed ? diag_sys(diag, ENOMEM, "list of controllers") : 0;
}

bool kernel_nvmf_same_host(const char *a, const char *b)
{
	struct addr left, right;

	if (!strcmp(a, b))
		return true;
	if (addr_numeric(&left, a, 1, NULL) || addr_numeric(&right, b, 1, NULL))
		return false;
	return left.len == right.len && !memcmp(&left.ss, &right.ss, left.len);
}

static bool matches_if_set(const char *params, const char *is)
{
	return !params || kernel_nvmf_same_host(params, is);
}

/* The kernel, too, distinguishes hosts by NQN and ID. */
static bool same_identity(const char *params, const char *is)
{
	return !params || !*is || !strcmp(params, is);
}

static bool matches(const struct nvmf_params *params, const struct nvmf_ctrl *ctrl)
{
	const char *const *value = params->value;

	return !strcmp(ctrl->transport, value[NVMF_TRANSPORT]) &&
	       !strcmp(ctrl->nqn, value[NVMF_NQN]) &&
	       kernel_nvmf_same_host(ctrl->traddr, value[NVMF_TRADDR]) &&
	       (!value[NVMF_TRSVCID] || !strcmp(ctrl->trsvcid, value[NVMF_TRSVCID])) &&
	       same_identity(value[NVMF_HOSTNQN], ctrl->hostnqn) &&
	       same_identity(value[NVMF_HOSTID], ctrl->hostid) &&
	       matches_if_set(value[NVMF_HOST_TRADDR], ctrl->host_traddr) &&
	       (!value[NVMF_HOST_IFACE] || !strcmp(ctrl->host_iface, value[NVMF_HOST_IFACE])) &&
	       strncmp(ctrl->state, "delet", 5) && strcmp(ctrl->state, "dead");
}

struct finding {
	int root;
	const struct nvmf_params *params;
	struct nvmf_ctrl *found;
};

const char *kernel_nvmf_missing(
	int root, const struct nvmf_params *params, const struct nvmf_ctrl *ctrl)
{
	const char *const *value = params->value;
	char text[5] = ""; /* "none", or the beginning of a secret */

	if ((value[NVMF_TLS] || value[NVMF_CONCAT]) && !ctrl->tls)
		return "TLS";
	if (value[NVMF_DHCHAP_CTRL_SECRET])
		kernel_sys_read(
			root, text, sizeof(text), NVME_CLASS "/%s/dhchap_ctrl_secret", ctrl->name);
	return strcmp(text, "none") ? NULL : "authentication of the controller";
}

/* Of several connections: one that has all that is asked for, and the lowest number. */
static bool precedes(
	const struct finding *finding, const struct nvmf_ctrl *a, const struct nvmf_ctrl *b)
{
	bool lesser = kernel_nvmf_missing(finding->root, finding->params, a);

	if (lesser != !!kernel_nvmf_missing(finding->root, finding->params, b))
		return !lesser;
	return by_number(a, b) < 0;
}

/* Compare the NQN first, which rules out most controllers. */
static void match_ctrl(const char *name, void *arg)
{
	struct finding *finding = arg;
	struct nvmf_ctrl ctrl, *found = finding->found;

	if (!ctrl_name(name) ||
		kernel_sys_read(finding->root, ctrl.nqn, sizeof(ctrl.nqn),
			NVME_CLASS "/%s/subsysnqn", name) <= 0 ||
		strcmp(ctrl.nqn, finding->params->value[NVMF_NQN]) ||
		kernel_nvmf_read_ctrl(finding->root, name, &ctrl) ||
		!matches(finding->params, &ctrl))
		return;
	if (!found->name[0] || precedes(finding, &ctrl, found))
		*found = ctrl;
}

int kernel_nvmf_find(int root, const struct nvmf_params *params, struct nvmf_ctrl *ctrl)
{
	struct nvmf_ctrl found = { 0 };
	struct finding finding = { root, params, &found };

	kernel_sys_list(root, NVME_CLASS, match_ctrl, &finding);
	if (!found.name[0])
		return -ENOENT;
	*ctrl = found;
	return 0;
}

/* "nvme0c1n2", a path to the disk nvme0n2, or the disk itself. False: not a namespace. */
static bool disk_name(const char *name, char disk[32])
{
	unsigned a, b, c;
	char end;

	if (sscanf(name, "nvme%uc%un%u%c", &a, &b, &c, &end) == 3)
		snprintf(disk, 32, "nvme%un%u", a, c);
	else if (sscanf(name, "nvme%un%u%c", &a, &b, &end) == 2)
		snprintf(disk, 32, "nvme%un%u", a, b);
	else
		return false;
	return true;
}

static uint64_t block_number(int root, const char *disk, const char *name)
{
	char text[32];

	return kernel_sys_read(root, text, sizeof(text), "sys/class/block/%s/%s", disk, name) > 0
		       ? strtoull(text, NULL, 10)
		       : 0;
}

static void add_disk(const char *name, void *arg)
{
	struct list *list = arg;
	struct nvmf_disk disk = { 0 }, *to;
	char text[32];

	if (!disk_name(name, disk.name))
		return;
	if (kernel_sys_read(
		    list->root, text, sizeof(text), NVME_CLASS "/%s/%s/nsid", list->ctrl, name) > 0)
		disk.nsid = (uint32_t)strtoul(text, NULL, 10);
	if (kernel_sys_read(list->root, text, sizeof(text), "sys/class/block/%s/dev", disk.name) <=
			0 ||
		sscanf(text, "%u:%u", &disk.major, &disk.minor) != 2)
		return;
	if (!disk.nsid)
		disk.nsid = (uint32_t)block_number(list->root, disk.name, "nsid");
	disk.size = block_number(list->root, disk.name, "size") * 512;
	disk.block = (uint32_t)block_number(list->root, disk.name, "queue/logical_block_size");
	kernel_sys_read(
		list->root, disk.wwid, sizeof(disk.wwid), "sys/class/block/%s/wwid", disk.name);
	if (list->count >= NVMF_DISKS)
		return;
	to = grow_array(&list->item, &list->count, 1, sizeof(disk));
	list->failed |= !to;
	if (to)
		*to = disk;
}

static int by_nsid(const void *a, const void *b)
{
	uint32_t left = ((const struct nvmf_disk *)a)->nsid,
		 right = ((const struct nvmf_disk *)b)->nsid;

	return left < right ? -1 : left > right;
}

int kernel_nvmf_disks(
	int root, const char *ctrl, struct nvmf_disk **disks, unsigned *count, struct diag *diag)
{
	struct list list = { .root = root, .ctrl = ctrl };
	char path[64];

	snprintf(path, sizeof(path), NVME_CLASS "/%s", ctrl);
	kernel_sys_list(root, path, add_disk, &list);
	*disks = sorted(&list, sizeof(struct nvmf_disk), by_nsid);
	*count = list.count;
	return list.failed ? diag_sys(diag, ENOMEM, "list of namespaces") : 0;
}

static void look_for_tls(const char *name, void *arg)
{
	struct list *list = arg;
	char path[64];

	snprintf(path, sizeof(path), NVME_CLASS "/%.24s/tls_key", name);
	list->count += kernel_sys_exists(list->root, path);
}

bool kernel_nvmf_any_tls(int root)
{
	struct list list = { .root = root };

	kernel_sys_list(root, NVME_CLASS, look_for_tls, &list);
	return list.count;
}
