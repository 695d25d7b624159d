/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Remote ports of ib_srp (scsi_transport_srp): their time-outs, and taking them away. */
#include "child.h"
#include "kernel_scsi.h"
#include "kernel_srp.h"
#include "loop.h"
#include "sys/sys.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CLASS      "sys/class/srp_remote_ports"
#define PARAMETERS "sys/module/ib_srp/parameters"
#define BLOCK_MAX  600  /* SCSI_DEVICE_BLOCK_MAX_TIMEOUT */
#define WRITE_MS   5000 /* a time-out is written under the port's mutex, which a reconnect holds */
#define STEP_MS    10
#define GRACE_MS   500

static int read_seconds(int root, const char *dir, const char *name)
{
	char text[24];

	if (kernel_sys_read(root, text, sizeof(text), "%s/%s", dir, name) <= 0)
		return VALUE_UNKNOWN;
	return strcmp(text, "off") && text[0] != '-' ? (int)strtol(text, NULL, 10) : VALUE_OFF;
}

static void read_tmo(int root, const char *dir, struct srp_tmo *tmo)
{
	tmo->reconnect_delay = read_seconds(root, dir, "reconnect_delay");
	tmo->fast_io_fail_tmo = read_seconds(root, dir, "fast_io_fail_tmo");
	tmo->dev_loss_tmo = read_seconds(root, dir, "dev_loss_tmo");
}

struct search {
	unsigned host;
	char name[24];
};

static void look(const char *name, void *arg)
{
	struct search *search = arg;
	unsigned host, port;
	char end;

	if (sscanf(name, "port-%u:%u%c", &host, &port, &end) == 2 && host == search->host)
		snprintf(search->name, sizeof(search->name), "%.23s", name);
}

int kernel_srp_rport(int root, unsigned host, struct srp_rport *rport)
{
	struct search search = { .host = host };
	char dir[80], text[24];

	*rport = (struct srp_rport){ 0 };
	kernel_sys_list(root, CLASS, look, &search);
	if (!search.name[0])
		return -ENOENT;
	snprintf(rport->name, sizeof(rport->name), "%s", search.name);
	snprintf(dir, sizeof(dir), CLASS "/%s", search.name);
	kernel_sys_read(root, rport->state, sizeof(rport->state), "%s/state", dir);
	read_tmo(root, dir, &rport->tmo);
	if (kernel_sys_read(root, text, sizeof(text), "%s/failed_reconnects", dir) > 0)
		rport->failed_reconnects = (unsigned)strtoul(text, NULL, 10);
	return 0;
}

void kernel_srp_tmo_default(int root, struct srp_tmo *tmo)
{
	read_tmo(root, PARAMETERS, tmo);
	if (tmo->reconnect_delay == VALUE_UNKNOWN)
		tmo->reconnect_delay = 10;
	if (tmo->fast_io_fail_tmo == VALUE_UNKNOWN)
		tmo->fast_io_fail_tmo = 15;
	if (tmo->dev_loss_tmo == VALUE_UNKNOWN)
		tmo->dev_loss_tmo = 600;
}

int kernel_srp_tmo_check(const struct srp_tmo *tmo, struct diag *diag)
{
	int delay = tmo->reconnect_delay, fail = tmo->fast_io_fail_tmo, loss = tmo->dev_loss_tmo;

	if (delay == 0)
		return diag_set(
			diag, DIAG_USAGE, ERANGE, "reconnect_delay: must be at least 1, or off");
	if (fail > BLOCK_MAX)
		return diag_set(diag, DIAG_USAGE, ERANGE,
			"fast_io_fail_tmo: must be 0 to %d, or off", BLOCK_MAX);
	if (fail == VALUE_OFF && loss > BLOCK_MAX)
		return diag_set(diag, DIAG_USAGE, ERANGE,
			"dev_loss_tmo: must be 0 to %d, or off, while fast_io_fail_tmo is off",
			BLOCK_MAX);
	if (fail >= 0 && loss >= 0 && fail >= loss)
		return diag_set(diag, DIAG_USAGE, ERANGE,
			"fast_io_fail_tmo (%d) must be less than dev_loss_tmo (%d)", fail, loss);
	if (delay == VALUE_OFF && fail == VALUE_OFF && loss == VALUE_OFF)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"reconnect_delay, fast_io_fail_tmo and dev_loss_tmo must not all be off");
	return 0;
}

struct words {
	char path[100], text[16];
};

/* In a process of its own: it may have to wait for a reconnect. */
static int write_words(int root, const void *arg, void *out)
{
	const struct words *words = arg;
	int fd = openat(root, words->path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(words->text);

	(void)out;
	return fd >= 0 && write(fd, words->text, len) == (ssize_t)len ? 0 : errno ? errno : EIO;
}

#define WRITES 5
struct writes {
	struct words words[WRITES];
	unsigned count;
};

static int write_all(int root, const void *arg, void *at)
{
	const struct writes *writes = arg;
	int err = 0;

	for (unsigned i = 0; i < writes->count && !err; i++) {
		*(volatile unsigned *)at = i;
		err = write_words(root, &writes->words[i], NULL);
	}
	return err;
}

static void add_write(
	struct writes *writes, const char *port, const char *name, int *now, int seconds)
{
	struct words *words = &writes->words[writes->count];

	if (seconds == *now)
		return;
	snprintf(words->path, sizeof(words->path), CLASS "/%s/%s", port, name);
	snprintf(words->text, sizeof(words->text), seconds == VALUE_OFF ? "off" : "%d", seconds);
	*now = seconds;
	writes->count++;
}

static int run_writes(int root, struct writes *writes, struct diag *diag)
{
	unsigned at = 0;
	struct child_call call = { .fn = write_all,
		.arg = writes,
		.out = &at,
		.out_len = sizeof(at),
		.until = loop_clock() + WRITE_MS * 1000000ull,
		.grace_ms = GRACE_MS };
	int err = writes->count ? child_call_run(&call, &root, 1) : 0;

	return err ? diag_sys(diag, -err, "write %s to /%s", writes->words[at].text,
			     writes->words[at].path)
		   : 0;
}

/* The kernel holds each value against the other two as they are at that moment. With a delay and no
 * device loss any fast_io_fail_tmo goes, so that way leads from everywhere to everywhere. */
int kernel_srp_tmo_set(int root, unsigned host, const struct srp_tmo *want, struct diag *diag)
{
	struct writes writes = { 0 };
	struct srp_rport rport;
	struct srp_tmo now, to;
	int err = kernel_srp_rport(root, host, &rport);

	if (err)
		return diag_set(
			diag, DIAG_NOT_FOUND, ENOENT, "host%u has no SRP remote port", host);
	now = rport.tmo;
	if (now.fast_io_fail_tmo == VALUE_UNKNOWN || now.dev_loss_tmo == VALUE_UNKNOWN ||
		now.reconnect_delay == VALUE_UNKNOWN)
		return diag_set(diag, DIAG_UNSUPPORTED, EOPNOTSUPP,
			"this kernel's ib_srp has no loss timeouts: Linux 3.13 or later required");
	to.reconnect_delay = want->reconnect_delay == VALUE_UNKNOWN ? now.reconnect_delay
								    : want->reconnect_delay;
	to.fast_io_fail_tmo = want->fast_io_fail_tmo == VALUE_UNKNOWN ? now.fast_io_fail_tmo
								      : want->fast_io_fail_tmo;
	to.dev_loss_tmo =
		want->dev_loss_tmo == VALUE_UNKNOWN ? now.dev_loss_tmo : want->dev_loss_tmo;
	err = kernel_srp_tmo_check(&to, diag);
	if (err)
		return err;
	if (now.reconnect_delay == VALUE_OFF && (now.fast_io_fail_tmo != to.fast_io_fail_tmo ||
							now.dev_loss_tmo != to.dev_loss_tmo))
		add_write(&writes, rport.name, "reconnect_delay", &now.reconnect_delay,
			to.reconnect_delay == VALUE_OFF ? 10 : to.reconnect_delay);
	if (now.fast_io_fail_tmo != to.fast_io_fail_tmo)
		add_write(&writes, rport.name, "dev_loss_tmo", &now.dev_loss_tmo, VALUE_OFF);
	add_write(&writes, rport.name, "fast_io_fail_tmo", &now.fast_io_fail_tmo,
		to.fast_io_fail_tmo);
	add_write(&writes, rport.name, "dev_loss_tmo", &now.dev_loss_tmo, to.dev_loss_tmo);
	add_write(&writes, rport.name, "reconnect_delay", &now.reconnect_delay, to.reconnect_delay);
	return run_writes(root, &writes, diag);
}

void kernel_srp_hurry(int root, unsigned host)
{
	const struct srp_tmo soon = {
		.reconnect_delay = VALUE_UNKNOWN, .fast_io_fail_tmo = 0, .dev_loss_tmo = 1
	};

	kernel_srp_tmo_set(root, host, &soon, NULL);
}

static bool gone(int root, unsigned host)
{
	char path[64];

	snprintf(path, sizeof(path), "sys/class/scsi_host/host%u", host);
	return !kernel_sys_exists(root, path);
}

static int too_late(uint64_t since, struct diag *diag)
{
	diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
		"timed out after %.3g s waiting for the kernel to remove it",
		(double)(loop_clock() - since) / 1e9);
	return diag_hint(diag, "pending I/O fails when the remote port's timeouts expire, or at "
			       "once with --force");
}

static int refused(int err, struct diag *diag)
{
	if (err == -EACCES || err == -EPERM)
		return diag_set(diag, DIAG_PERMISSION, EPERM, "only root can disconnect");
	return diag_sys(diag, -err, "disconnect");
}

/* The kernel takes `delete` away at once and the host in the background. */
int kernel_srp_disconnect(int root, unsigned host, uint64_t until, struct diag *diag)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000 };
	struct words words = { .text = "1" };
	struct child_call call = {
		.fn = write_words, .arg = &words, .until = until, .grace_ms = GRACE_MS
	};
	struct srp_rport rport;
	struct scsi_lun *luns = NULL;
	uint64_t since = loop_clock();
	unsigned count = 0;
	int err = 0;

	if (gone(root, host))
		return 0;
	kernel_scsi_luns(root, host, &luns, &count, NULL);
	if (!kernel_srp_rport(root, host, &rport)) {
		snprintf(words.path, sizeof(words.path), CLASS "/%s/delete", rport.name);
		err = child_call_run(&call, &root, 1);
	}
	if (err == -ENOENT || err == -ENODEV || err == -ETIMEDOUT)
		err = 0;
	while (!err && !gone(root, host)) {
		if (until && loop_clock() >= until)
			err = too_late(since, diag);
		else
			nanosleep(&step, NULL);
	}
	if (err && err != -ETIMEDOUT)
		refused(err, diag);
	if (!err)
		kernel_scsi_drop_nodes(root, luns, count);
	free(luns);
	return err;
}
