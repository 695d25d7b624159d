/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's nbd driver: find our device, give it sockets, disconnect it. nbd_nl.c sends the
 * messages; core/serve serves the sockets. */
#include "child.h"
#include "kernel_disk.h"
#include "kernel_nbd.h"
#include "kernel_sys.h"
#include "loop.h"
#include "modules/modules.h"
#include "nbd_nl.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/nbd-netlink.h>
#include <linux/nbd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DISCONNECT_MS 5000 /* if the caller sets no limit */
#define NBD_HINT      "--nbd needs no kernel module: it exports the disk to NBD clients"

int kernel_nbd_ready(int root, struct diag *diag)
{
	const char *why;

	if (kernel_sys_exists(root, "sys/module/nbd"))
		return 0;
	why = kernel_module_load(root, "nbd");
	if (kernel_sys_exists(root, "sys/module/nbd"))
		return 0;
	kernel_module_missing("nbd", why, diag);
	diag_hint(diag, NBD_HINT);
	return -kernel_module_errno(why);
}

int kernel_nbd_backend(int root, unsigned index, char *text, size_t len)
{
	char path[64];

	snprintf(path, sizeof(path), "sys/block/nbd%u/pid", index);
	text[0] = 0;
	if (!kernel_sys_exists(root, path))
		return -ENOENT;
	kernel_sys_read(root, text, len, "sys/block/nbd%u/backend", index);
	return 0;
}

static bool is_ours(int root, unsigned index, const char *id)
{
	char text[2300];

	return id && !kernel_nbd_backend(root, index, text, sizeof(text)) && !strcmp(text, id);
}

struct search {
	int root, index;
	const char *id;
};

static void check_device(const char *name, void *arg)
{
	struct search *search = arg;
	unsigned index;
	char end;

	if (sscanf(name, "nbd%u%c", &index, &end) == 1 &&
		is_ours(search->root, index, search->id) &&
		(search->index < 0 || index < (unsigned)search->index))
		search->index = (int)index;
}

/* Find the device left by a previous run; -1 = none. */
static int find_device(int root, const struct kernel_nbd *nbd)
{
	struct search search = { .root = root, .index = -1, .id = nbd->id };

	if (nbd->index >= 0)
		return is_ours(root, (unsigned)nbd->index, nbd->id) ? nbd->index : -1;
	if (nbd->id)
		kernel_sys_list(root, "sys/block", check_device, &search);
	return search.index;
}

static int refused(int err, int index, struct diag *diag)
{
	char name[32] = "an NBD device";

	if (index >= 0)
		snprintf(name, sizeof(name), "/dev/nbd%d", index);
	switch (-err) {
	case EPERM:
		diag_set(diag, DIAG_PERMISSION, EPERM, "only root can change block devices");
		break;
	case ENOTSUP:
		diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP,
			"this kernel's nbd driver has no netlink interface (added in Linux 4.12)");
		diag_hint(diag, NBD_HINT);
		break;
	case EBUSY:
		diag_set(diag, DIAG_BUSY, EBUSY, "is in use");
		break;
	case ETIMEDOUT:
		diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
			"the kernel's nbd driver did not answer in time: another device may block "
			"it");
		break;
	default:
		diag_sys(diag, -err, "the kernel's nbd driver");
	}
	diag_ctx(diag, "%s", name);
	return err;
}

struct tuning {
	struct setting {
		char path[64], text[16];
	} set[2];
	unsigned count;
};

static void put_setting(struct tuning *tuning, int index, const char *name, uint32_t value)
{
	struct setting *set = &tuning->set[tuning->count++];

	snprintf(set->path, sizeof(set->path), "sys/block/nbd%d/queue/%s", index, name);
	snprintf(set->text, sizeof(set->text), "%u\n", value);
}

static uint64_t after(uint32_t timeout_ms)
{
	return timeout_ms ? loop_clock() + timeout_ms * 1000000ull : 0;
}

/* Runs in a child. Best effort: a value out of range leaves the driver's default. */
static int tune(int root, const void *arg, void *out)
{
	const struct tuning *tuning = arg;

	(void)out;
	for (unsigned i = 0; i < tuning->count; i++) {
		const struct setting *set = &tuning->set[i];
		int fd = openat(root, set->path, O_WRONLY | O_TRUNC | O_CLOEXEC);

		if (fd < 0)
			continue;
		(void)!write(fd, set->text, strlen(set->text));
		close(fd);
	}
	return 0;
}

void kernel_nbd_tune(int root, const struct kernel_nbd *nbd)
{
	struct tuning tuning = { .count = 0 };
	struct child_call call = { .fn = tune, .arg = &tuning, .until = after(nbd->timeout_ms) };

	if (nbd->longest)
		put_setting(&tuning, nbd->index, "max_sectors_kb", nbd->longest / 1024);
	/* the driver's own timer, which without NBD_ATTR_TIMEOUT only checks for requests of dead
	 * connections */
	if (!nbd->timeout_s && nbd->resend_s)
		put_setting(&tuning, nbd->index, "io_timeout", nbd->resend_s * 1000);
	child_call_run(&call, &root, 1);
}

static int unlike(const struct kernel_nbd *nbd, struct diag *diag)
{
	diag_ctx(diag, "/dev/nbd%d", nbd->index);
	diag_hint(diag, "rdmastor detach --force /dev/nbd%d", nbd->index);
	return -EINVAL;
}

static bool read_queue(
	int root, const struct kernel_nbd *nbd, const char *name, char *text, size_t len)
{
	return kernel_sys_read(root, text, len, "sys/block/nbd%d/queue/%s", nbd->index, name) > 0;
}

/* Check that the properties its users know still apply; the driver can only change the size. */
static int check_former(int root, const struct kernel_nbd *nbd, struct diag *diag)
{
	char text[32];
	unsigned long long sectors;
	unsigned block;

	if (kernel_sys_read(root, text, sizeof(text), "sys/block/nbd%d/size", nbd->index) > 0 &&
		sscanf(text, "%llu", &sectors) == 1 && sectors * 512 > nbd->size) {
		diag_set(diag, DIAG_MISMATCH, EINVAL,
			"left by an earlier run: size %llu exceeds the disk's %llu bytes",
			sectors * 512, (unsigned long long)nbd->size);
		return unlike(nbd, diag);
	}
	if (read_queue(root, nbd, "logical_block_size", text, sizeof(text)) &&
		sscanf(text, "%u", &block) == 1 && block != nbd->block) {
		diag_set(diag, DIAG_MISMATCH, EINVAL,
			"left by an earlier run: block size %u instead of %u", block, nbd->block);
		return unlike(nbd, diag);
	}
	if (nbd->flags & NBD_FLAG_SEND_FLUSH &&
		read_queue(root, nbd, "write_cache", text, sizeof(text)) &&
		!strcmp(text, "write through")) {
		diag_set(diag, DIAG_MISMATCH, EINVAL,
			"left by an earlier run: it has no write cache, so the disk's would never "
			"be flushed");
		return unlike(nbd, diag);
	}
	return 0;
}

int kernel_nbd_renew(const struct kernel_nbd *nbd, struct diag *diag)
{
	int err = kernel_nbd_nl_call(NBD_CMD_RECONFIGURE, NBD_NL_SOCKETS, nbd);

	if (err == -EINVAL) /* the driver returns EINVAL for any error; here this is the only
			       possible one */
		return diag_set(
			diag, DIAG_CLOSED, ENODEV, "/dev/nbd%d was disconnected", nbd->index);
	return err < 0 ? refused(err, nbd->index, diag) : 0;
}

int kernel_nbd_connect(int root, struct kernel_nbd *nbd, struct diag *diag)
{
	struct kernel_nbd fresh;
	int found, err;

	nbd->recovered = false;
	if (nbd->block > 4096)
		return diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP,
			"block size %u: the kernel's nbd driver supports at most 4096", nbd->block);
	found = find_device(root, nbd);
	if (found >= 0) {
		nbd->index = found;
		nbd->recovered = true;
		err = check_former(root, nbd, diag);
		return err ? err : kernel_nbd_renew(nbd, diag);
	}
	fresh = *nbd;
	fresh.nfds = nbd->connections;
	err = kernel_nbd_nl_call(
		NBD_CMD_CONNECT, NBD_NL_SIZE | NBD_NL_POLICY | NBD_NL_SOCKETS, &fresh);
	if (err < 0)
		return refused(err, nbd->index, diag);
	nbd->index = err;
	return 0;
}

int kernel_nbd_resize(const struct kernel_nbd *nbd, struct diag *diag)
{
	int err = kernel_nbd_nl_call(NBD_CMD_RECONFIGURE, NBD_NL_SIZE, nbd);

	return err < 0 ? refused(err, nbd->index, diag) : 0;
}

/* Runs in a child, as it may take any time and must not keep the sockets open that serve the
 * device. */
static int flush(int root, const void *path, void *out)
{
	int fd = openat(root, path, O_RDONLY | O_EXCL | O_CLOEXEC);

	(void)out;
	if (fd < 0)
		return errno;
	return fsync(fd) ? errno : 0;
}

static int quiet(int root, unsigned index, uint32_t timeout_ms, struct diag *diag)
{
	char path[32], users[400];
	struct child_call call = { .fn = flush, .arg = path + 1, .until = after(timeout_ms) };
	int err;

	snprintf(path, sizeof(path), "/dev/nbd%u", index);
	if (kernel_holders(root, path, NULL, users, sizeof(users)) == 0 && users[0])
		return diag_set(diag, DIAG_BUSY, EBUSY, "is in use: %s", users);
	err = child_call_run(&call, &root, 1);
	if (err == -EBUSY)
		return diag_set(diag, DIAG_BUSY, EBUSY,
			"is in use: another process has it open exclusively");
	if (err == -ETIMEDOUT)
		return diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
			"data may not be on the disk: flush timed out after %g s",
			timeout_ms / 1000.);
	if (err)
		return diag_sys(diag, -err, "data may not be on the disk: flush");
	if (kernel_openers(root, path, users, sizeof(users)) == 0 && users[0])
		return diag_set(diag, DIAG_BUSY, EBUSY, "is in use: %s", users);
	return 0;
}

int kernel_nbd_disconnect(int root, unsigned index, const char *id, bool force, uint32_t timeout_ms,
	struct diag *diag)
{
	struct kernel_nbd nbd = { .index = (int)index };
	char any[8];
	int err;

	if (id ? !is_ours(root, index, id) : kernel_nbd_backend(root, index, any, sizeof(any)))
		return 0;
	err = force ? 0 : quiet(root, index, timeout_ms, diag);
	if (err) {
		diag_ctx(diag, "/dev/nbd%u", index);
		return err;
	}
	nbd.timeout_ms = timeout_ms ? timeout_ms : DISCONNECT_MS;
	err = kernel_nbd_nl_call(NBD_CMD_DISCONNECT, 0, &nbd);
	return err < 0 ? refused(err, (int)index, diag) : 0;
}
