/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One login from its string to a SCSI host. add_target does not say which host it made, nor /sys to
 * which address one made by RDMA/CM is connected: what is new afterwards is it. */
#include "kernel_scsi.h"
#include "kernel_srp.h"
#include "loop.h"
#include "sys/modules.h"
#include "sys/sys.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MODULE    "sys/module/ib_srp"
#define UNDO_MS   5000
#define GLANCE_MS 1000    /* enough for udev to close a new disk again */
#define LOGIN_MS  3600000 /* without a bound */
#define LEAVE_MS  60000   /* of a former connection, likewise */
#define STEP_MS   20
#define MSEC      1000000ull

int kernel_srp_number(const char *host)
{
	unsigned number;
	char end;

	return sscanf(host, "host%u%c", &number, &end) == 1 && number <= INT32_MAX ? (int)number
										   : -1;
}

static uint64_t hex(const char *text)
{
	return strtoull(text, NULL, 16);
}

static bool same_path(const struct kernel_srp *host, const struct srp_want *want)
{
	char gid[33];

	for (unsigned i = 0; i < 16; i++)
		snprintf(gid + 2 * i, 3, "%02x", host->dgid[i]);
	return (!want->value[SRP_OPT_DGID][0] || !strcmp(gid, want->value[SRP_OPT_DGID])) &&
	       (!want->value[SRP_OPT_SERVICE_ID][0] ||
		       host->service_id == hex(want->value[SRP_OPT_SERVICE_ID]));
}

static bool same_target(
	const struct kernel_srp *host, const struct srp_want *want, const struct srp_local *local)
{
	return host->id_ext == hex(want->value[SRP_OPT_ID_EXT]) &&
	       host->ioc_guid == hex(want->value[SRP_OPT_IOC_GUID]) &&
	       (!local || !host->dev[0] ||
		       (!strcmp(host->dev, local->dev) && host->port == local->port));
}

bool kernel_srp_fits(
	const struct kernel_srp *host, const struct srp_want *want, const struct srp_local *local)
{
	bool cm = want->value[SRP_OPT_DEST][0];

	return same_target(host, want, local) &&
	       (cm ? host->by_cm : !host->by_cm && same_path(host, want));
}

static const struct kernel_srp *find(
	const struct kernel_srp *list, unsigned count, const char *host)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(list[i].host, host))
			return &list[i];
	return NULL;
}

struct before {
	struct kernel_srp *list;
	unsigned count;
};

/* The host that this login made; false: none is there. */
static bool made_host(int root, const struct srp_want *want, const struct srp_local *local,
	const struct before *before, struct srp_made *made)
{
	struct kernel_srp *list;
	bool found = false;
	unsigned count;

	if (kernel_srp_list(root, &list, &count, NULL))
		return false;
	for (unsigned i = 0; i < count && !found; i++) {
		found = kernel_srp_fits(&list[i], want, local) &&
			!find(before->list, before->count, list[i].host);
		if (found)
			made->host = list[i];
	}
	free(list);
	return found;
}

/* The kernel has it already: which host. What it compares is identifier extension, GUID, initiator
 * extension and, by RDMA/CM, the address. -EAGAIN: none is seen, so that it is on its way out: the
 * kernel forgets a target some time after its host. */
static int existing(int root, const struct srp_want *want, const struct srp_local *local,
	struct srp_made *made, struct diag *diag)
{
	unsigned fit = 0, other = 0, count;
	struct kernel_srp *list;
	int err = kernel_srp_list(root, &list, &count, diag);

	if (err)
		return err;
	for (unsigned i = 0; i < count; i++) {
		other += same_target(&list[i], want, local);
		if (kernel_srp_fits(&list[i], want, local) && !fit++)
			made->host = list[i];
	}
	free(list);
	made->existed = fit;
	made->alike = fit ? fit - 1 : 0;
	if (fit)
		return 0;
	if (!other)
		return diag_set(diag, DIAG_BUSY, EAGAIN,
			"a former connection to this target is still being removed");
	diag_set(diag, DIAG_BUSY, EEXIST,
		"the kernel is already connected to this target by another path");
	return diag_hint(
		diag, "connect this path as a separate initiator with another initiator_ext");
}

struct login {
	struct kernel_srp_add add;
	struct diag *diag;
	volatile int over;
	int err;
};

static void done(struct kernel_srp_add *add, int err, struct diag *diag)
{
	struct login *login = container_of(add, struct login, add);

	login->err = err;
	login->over = 1;
	if (err && login->diag)
		*login->diag = *diag;
}

static int log_in(int root, const char *line, const struct srp_local *local, uint64_t until,
	struct srp_made *made, struct diag *diag)
{
	struct login login = { .diag = diag,
		.add = { .done = done, .words = made->words, .words_len = sizeof(made->words) } };
	uint64_t now = loop_clock(), ms = !until        ? LOGIN_MS
					  : until > now ? (until - now) / MSEC + 1
							: 1;
	int err = loop_new(&login.add.loop, &(struct loop_options){ .name = "srp" }, diag);

	if (err)
		return err;
	err = kernel_srp_add_start(root, &login.add, local->dev, local->port, line,
		ms > LOGIN_MS ? LOGIN_MS : (uint32_t)ms, diag);
	if (!err) {
		loop_wait(login.add.loop, &login.over, 0);
		err = login.err;
	}
	loop_free(login.add.loop);
	return err;
}

void kernel_srp_undo(int root, unsigned host, struct diag *diag)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000 };
	uint64_t until = loop_clock() + GLANCE_MS * MSEC;
	char who[100];

	do
		kernel_scsi_users(root, host, who, sizeof(who));
	while (who[0] && loop_clock() < until && !nanosleep(&step, NULL));
	if (who[0])
		diag_hint(diag, "host%u stays connected because it is in use: %s", host, who);
	else
		kernel_srp_disconnect(root, host, loop_clock() + UNDO_MS * MSEC, NULL);
}

static void too_late(uint64_t since, bool made, struct diag *diag)
{
	double seconds = (double)(loop_clock() - since) / 1e9;

	if (made)
		diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
			"login succeeded, but the scan for disks timed out after %.2g s", seconds);
	else
		diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
			"no answer from the target: login timed out after %.2g s", seconds);
}

static int attempt(int root, const struct srp_want *want, const struct srp_local *local,
	uint64_t until, struct srp_made *made, struct diag *diag)
{
	uint64_t since = loop_clock();
	struct before before;
	char line[SRP_LINE];
	bool new_one;
	int err = kernel_srp_list(root, &before.list, &before.count, diag);

	if (err)
		return err;
	kernel_srp_line(want, line);
	err = log_in(root, line, local, until, made, diag);
	new_one = made_host(root, want, local, &before, made);
	free(before.list);
	if (err == -ETIMEDOUT)
		too_late(since, new_one, diag);
	if (err == -EEXIST)
		return existing(root, want, local, made, diag);
	if (err && new_one)
		kernel_srp_undo(root, (unsigned)kernel_srp_number(made->host.host), diag);
	if (!err && !new_one)
		err = diag_set(diag, DIAG_CLOSED, ENOTCONN,
			"login succeeded, but the connection is already lost");
	return err;
}

int kernel_srp_connect(int root, const struct srp_want *want, const struct srp_local *local,
	uint64_t until, struct srp_made *made, struct diag *diag)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000 };
	uint64_t bound = until ? until : loop_clock() + LEAVE_MS * MSEC;
	int err;

	do {
		*made = (struct srp_made){ 0 };
		err = attempt(root, want, local, until, made, diag);
	} while (err == -EAGAIN && loop_clock() < bound && !nanosleep(&step, NULL));
	if (!err) {
		if (diag)
			*diag = (struct diag){ 0 };
		made->number = (unsigned)kernel_srp_number(made->host.host);
	}
	return err;
}

struct shown {
	int root;
	void (*each)(const char *name, const char *value, void *arg);
	void *arg;
};

static void show(const char *name, void *arg)
{
	const struct shown *shown = arg;
	char value[64];

	if (kernel_sys_read(shown->root, value, sizeof(value), MODULE "/parameters/%.60s", name) >=
		0)
		shown->each(name, value, shown->arg);
}

void kernel_srp_params(
	int root, void (*each)(const char *name, const char *value, void *arg), void *arg)
{
	struct shown shown = { .root = root, .each = each, .arg = arg };

	kernel_sys_list(root, MODULE "/parameters", show, &shown);
}

static bool is_name(const char *text, size_t len)
{
	return len && len < 40 && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") >= len;
}

static bool says_yes(const char *value)
{
	return !strcmp(value, "Y") || !strcmp(value, "y") || !strcmp(value, "1");
}

/* -EALREADY: it is loaded with another value. */
static int compare(int root, const char *param, struct diag *diag)
{
	size_t len = strcspn(param, "=");
	const char *value = param + len + 1;
	char now[64];
	bool flag;

	if (kernel_sys_read(root, now, sizeof(now), MODULE "/parameters/%.*s", (int)len, param) < 0)
		return diag_set(diag, DIAG_NOT_FOUND, ENOENT, "ib_srp has no parameter '%.*s'",
			(int)len, param);
	flag = !strcmp(now, "Y") || !strcmp(now, "N");
	if (flag ? says_yes(now) == says_yes(value) : !strcmp(now, value))
		return 0;
	diag_set(diag, DIAG_BUSY, EALREADY, "ib_srp is already loaded with %.*s=%s", (int)len,
		param, now);
	return diag_hint(diag, "if nothing is connected, unload it with: modprobe -r ib_srp");
}

int kernel_srp_load(int root, char *const *params, unsigned count, bool *loaded, struct diag *diag)
{
	const char *why;
	int err = 0;

	for (unsigned i = 0; i < count; i++) {
		size_t len = strcspn(params[i], "=");

		if (!is_name(params[i], len) || !params[i][len] || strpbrk(params[i], " \t\n\""))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"invalid --module-param '%s': expected NAME=VALUE", params[i]);
	}
	*loaded = !kernel_sys_exists(root, "sys/class/infiniband_srp");
	if (!*loaded || !count) {
		err = kernel_srp_ready(root, diag);
	} else {
		why = kernel_module_load_with(root, "ib_srp", params, count);
		if (!kernel_sys_exists(root, "sys/class/infiniband_srp"))
			return diag_set(diag, DIAG_NO_MODULE, ENOENT,
				"kernel module ib_srp is not loaded: %s", why);
	}
	for (unsigned i = 0; !err && i < count; i++)
		err = compare(root, params[i], diag);
	return err;
}
