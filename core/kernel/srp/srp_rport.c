/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Remote ports of ib_srp (scsi_transport_srp): set their timeouts and remove them. */
#include "kernel_srp.h"
#include "kernel_sys.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLASS      "sys/class/srp_remote_ports"
#define PARAMETERS "sys/module/ib_srp/parameters"
#define BLOCK_MAX  600 /* SCSI_DEVICE_BLOCK_MAX_TIMEOUT */

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

static void read_rport(const char *name, void *arg)
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
	kernel_sys_list(root, CLASS, read_rport, &search);
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

static int write_values(int root, const char *port, const char *name, const char *text)
{
	char path[100];
	size_t len = strlen(text);
	int fd, err = 0;

	snprintf(path, sizeof(path), CLASS "/%s/%s", port, name);
	fd = openat(root, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	errno = 0;
	if (write(fd, text, len) != (ssize_t)len)
		err = errno ? -errno : -EIO;
	close(fd);
	return err;
}

static int write_seconds(
	int root, const char *port, const char *name, int *now, int seconds, struct diag *diag)
{
	char text[16];
	int err;

	if (seconds == *now)
		return 0;
	snprintf(text, sizeof(text), seconds == VALUE_OFF ? "off" : "%d", seconds);
	err = write_values(root, port, name, text);
	*now = seconds;
	return err ? diag_sys(diag, -err, "write %s to /" CLASS "/%s/%s", text, port, name) : 0;
}

struct srp_tmo kernel_srp_tmo_merge(const struct srp_tmo *tmo, const struct srp_tmo *now)
{
	struct srp_tmo to = *tmo;

	if (to.reconnect_delay == VALUE_UNKNOWN)
		to.reconnect_delay = now->reconnect_delay;
	if (to.fast_io_fail_tmo == VALUE_UNKNOWN)
		to.fast_io_fail_tmo = now->fast_io_fail_tmo;
	if (to.dev_loss_tmo == VALUE_UNKNOWN)
		to.dev_loss_tmo = now->dev_loss_tmo;
	return to;
}

/* The kernel checks each value against the current values of the other two. With a reconnect delay
 * and without dev_loss_tmo any fast_io_fail_tmo is valid, so go through that state. */
int kernel_srp_tmo_set(int root, unsigned host, const struct srp_tmo *tmo, struct diag *diag)
{
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
	to = kernel_srp_tmo_merge(tmo, &now);
	err = kernel_srp_tmo_check(&to, diag);
	if (err)
		return err;
	if (now.reconnect_delay == VALUE_OFF && (now.fast_io_fail_tmo != to.fast_io_fail_tmo ||
							now.dev_loss_tmo != to.dev_loss_tmo))
		err = write_seconds(root, rport.name, "reconnect_delay", &now.reconnect_delay,
			to.reconnect_delay == VALUE_OFF ? 10 : to.reconnect_delay, diag);
	if (!err && now.fast_io_fail_tmo != to.fast_io_fail_tmo)
		err = write_seconds(
			root, rport.name, "dev_loss_tmo", &now.dev_loss_tmo, VALUE_OFF, diag);
	if (!err)
		err = write_seconds(root, rport.name, "fast_io_fail_tmo", &now.fast_io_fail_tmo,
			to.fast_io_fail_tmo, diag);
	if (!err)
		err = write_seconds(
			root, rport.name, "dev_loss_tmo", &now.dev_loss_tmo, to.dev_loss_tmo, diag);
	return err ? err
		   : write_seconds(root, rport.name, "reconnect_delay", &now.reconnect_delay,
			     to.reconnect_delay, diag);
}

int kernel_srp_delete(int root, unsigned host)
{
	struct srp_rport rport;
	int err = kernel_srp_rport(root, host, &rport);

	return err ? err : write_values(root, rport.name, "delete", "1");
}
