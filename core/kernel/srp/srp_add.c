/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Log in through the kernel's SRP initiator, ib_srp. If it fails, find the reason in the kernel's
 * log, as the errno alone is vague. */
#include "kernel_scsi.h"
#include "kernel_srp.h"
#include "kernel_sys.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Meaning of a log line. The first match counts. */
struct reason {
	const char *log_text; /* text in the log; if it ends with "0x", a hex number follows */
	unsigned long number;
	uint8_t code;
	const char *text, *hint;
	int err; /* 0: that of add_target */
};

/* ib_srp of Linux 3.x to 6.12; REJ reasons: IBA 12.6.7.2; login reject reasons: SRP-2, table 19 */
static const struct reason reasons[] = {
	{ "REJECTED, reason 0x", 0x10000, DIAG_REFUSED,
		"the target rejects the login: it can't create a channel", NULL },
	{ "REJECTED, reason 0x", 0x10001, DIAG_REFUSED,
		"the target rejects the login: out of resources, or its port is disabled", NULL },
	{ "REJECTED, reason 0x", 0x10002, DIAG_REFUSED,
		"the target rejects the login: requests of this size are too large",
		"use a smaller cmd_sg_entries" },
	{ "REJECTED, reason 0x", 0x10003, DIAG_REFUSED,
		"the target rejects the login: wrong id_ext or ioc_guid, or no such session",
		"list the IDs of each target with: rdmastor srp-discover -c" },
	{ "REJECTED, reason 0x", 0x10004, DIAG_REFUSED,
		"the target rejects the login: unsupported data descriptor format", NULL },
	{ "REJECTED, reason 0x", 0x10005, DIAG_REFUSED,
		"the target rejects the login: it supports only one channel", "use ch_count=1" },
	{ "REJECTED, reason 0x", 0x10006, DIAG_AUTH,
		"the target rejects the login: no free channel, or initiator not allowed",
		"add this port's GID to the target's access list (ACL)" },
	{ "REJECTED, reason 0x", 0, DIAG_REFUSED, "the target rejects the login", NULL },
	{ "requested max_it_iu_len too large", 0, DIAG_REFUSED,
		"the target rejects the login: requests of this size are too large",
		"use a smaller cmd_sg_entries" },
	{ "giving up on stale connection", 0, DIAG_REFUSED,
		"the target still has an old connection of this initiator",
		"the target drops it after a while: try again later" },
	{ "REJ reason 0x", 3, DIAG_REFUSED, "the target rejects the connection: out of resources",
		NULL },
	{ "REJ reason 0x", 4, DIAG_TIMEOUT, "the target timed out waiting for the connection",
		NULL },
	{ "REJ reason 0x", 8, DIAG_REFUSED, "no listener for this service at the target",
		"check that the target's SRP driver is running", ECONNREFUSED },
	{ "REJ reason 0x", 12, DIAG_REFUSED, "the target's port does not own this GID", NULL },
	{ "REJ reason 0x", 28, DIAG_REFUSED, "the target rejects the connection", NULL },
	{ "REJ reason 0x", 0, DIAG_REFUSED, "the target rejects the connection", NULL },
	{ "REJ reason: IB_CM_REJ_CONSUMER_DEFINED", 0, DIAG_REFUSED,
		"the target rejects the connection",
		"check that the target listens at this address", ECONNREFUSED },
	{ "REJ reason: ", 0, DIAG_REFUSED, "the target rejects the connection", NULL },
	{ "Path record query failed", 0, DIAG_UNREACHABLE,
		"the subnet administrator has no path to the target", NULL },
	{ "Got failed path rec status", 0, DIAG_UNREACHABLE,
		"the subnet administrator has no path to the target", NULL },
	{ "No route available from", 0, DIAG_UNREACHABLE,
		"the kernel has no route to the target through this port", NULL },
	{ "Resolving address", 0, DIAG_UNREACHABLE, "the target's address does not answer",
		"check the address, and the neighbour table: ip neigh" },
	{ "unknown parameter or missing value", 0, DIAG_UNSUPPORTED,
		"this kernel's ib_srp does not support one of the options", "remove the option" },
	{ " parameter", 0, DIAG_UNSUPPORTED, "this kernel's ib_srp rejects one of the options",
		NULL },
	{ "bad ", 0, DIAG_UNSUPPORTED, "this kernel's ib_srp rejects one of the options", NULL },
	{ "Sending CM REQ failed", 0, DIAG_UNREACHABLE,
		"the target does not answer the kernel's connection request", NULL },
	{ "SCSI scan failed", 0, DIAG_IO, "the connection broke during the scan for disks", NULL },
};

bool kernel_srp_logged(const char *line)
{
	return strstr(line, "ib_srp: ") || strstr(line, "REJ reason");
}

static const char *where(const struct reason *reason, const char *log)
{
	const char *at = strstr(log, reason->log_text);

	return at && (!reason->number ||
			     strtoul(at + strlen(reason->log_text), NULL, 16) == reason->number)
		       ? at
		       : NULL;
}

/* Copy the line that contains `at`, without "scsi host6: ib_srp: ". */
static void quote(const char *log, const char *at, char *line, size_t len)
{
	while (at > log && at[-1] != '\n')
		at--;
	if (!strncmp(at, "scsi host", 9)) {
		at += 9 + strspn(at + 9, "0123456789:");
		at += strspn(at, " ");
	}
	if (!strncmp(at, "ib_srp: ", 8))
		at += 8;
	snprintf(line, len, "%.*s", (int)strcspn(at, "\n"), at);
}

void kernel_srp_log_of_failed(int root, int own, char *log)
{
	unsigned host, only = 0;
	char *to = log, *end;
	bool any = false;

	for (char *at = log; *at; at = end) {
		end = at + strcspn(at, "\n");
		end += *end == '\n';
		if (sscanf(at, "scsi host%u:", &host) == 1) {
			if ((int)host != own && kernel_scsi_host(root, host))
				continue;
			if (any && host != only) {
				*log = 0;
				return;
			}
			any = true;
			only = host;
		}
		memmove(to, at, (size_t)(end - at));
		to += end - at;
	}
	*to = 0;
}

int kernel_srp_add_why(int err, const char *log, struct diag *diag)
{
	char line[200];

	for (unsigned i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		const char *at = where(&reasons[i], log);

		if (!at)
			continue;
		quote(log, at, line, sizeof(line));
		err = reasons[i].err ? reasons[i].err : err;
		diag_set(diag, reasons[i].code, err, "%s (ib_srp: %s)", reasons[i].text, line);
		return reasons[i].hint ? diag_hint(diag, "%s", reasons[i].hint) : -err;
	}
	if (!*log)
		return diag_sys(diag, err, "login by add_target");
	quote(log, log + strlen(log) - 1, line, sizeof(line));
	return diag_sys(diag, err, "login by add_target (ib_srp: %s)", line);
}

static void path_of(const struct srp_local *local, char path[160])
{
	snprintf(path, 160, "sys/class/infiniband_srp/srp-%s-%u/add_target", local->dev,
		local->port);
}

int kernel_srp_supports(int root, const struct srp_local *local, struct diag *diag)
{
	char path[160];

	path_of(local, path);
	return kernel_sys_exists(root, path)
		       ? 0
		       : diag_set(diag, DIAG_NO_DEVICE, ENODEV,
				 "ib_srp does not support this port: no /%s", path);
}

int kernel_srp_add(int root, const struct srp_local *local, const char *line)
{
	size_t len = strlen(line);
	char path[160];
	int fd, err = 0;

	path_of(local, path);
	fd = openat(root, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	errno = 0;
	if (write(fd, line, len) != (ssize_t)len)
		err = errno ? -errno : -EIO;
	close(fd);
	return err;
}
