/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The rights of a server: which user it becomes, what it keeps, and what it prepares before. */
#include "child.h"
#include "disk_open.h"
#include "front_kind.h"
#include "helper.h"
#include "kernel_process.h"
#include "kernel_rdma.h"
#include "kernel_sys.h"
#include "reservation_state.h"
#include "uri.h"
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOW_PORTS 1024

bool rights_low_port(const struct addr *at)
{
	unsigned port =
		at->ss.ss_family == AF_INET || at->ss.ss_family == AF_INET6 ? addr_port(at) : 0;

	return port && port < LOW_PORTS;
}

int rights_read(struct rights *rights, struct diag *diag)
{
	int err = 0;

	if (geteuid() && !rights->name)
		return 0;
	err = privilege_find(&rights->user, rights->name, diag);
	if (!err && geteuid() && rights->user.uid != geteuid())
		err = diag_set(diag, DIAG_PERMISSION, EPERM, "only root can become another user");
	if (err)
		return diag_ctx(diag, "--user %s", rights->name), err;
	rights->drop = !geteuid() && rights->user.uid;
	return 0;
}

/* Root of a container is another user outside, and often the only one inside. */
static bool in_user_namespace(int root)
{
	unsigned inside, outside, count;
	char text[64];

	return kernel_sys_read(root, text, sizeof(text), "proc/self/uid_map") > 0 &&
	       sscanf(text, "%u %u %u", &inside, &outside, &count) == 3 &&
	       (inside || outside || count != UINT32_MAX);
}

/* A disk must not become unreachable because of the default. */
static int drop_default(struct rights *rights, const struct call *call, int root, uint64_t keep)
{
	struct diag why = { 0 };
	char denied[64] = "";

	if (rights->verbs || rights->mads)
		kernel_rdma_denies(root, &rights->user, rights->mads, denied);
	if (!denied[0] && !privilege_drop(&rights->user, keep, &why))
		return 0;
	if (denied[0])
		snprintf(rights->kept, sizeof(rights->kept),
			"without capabilities: %s is not for "
			"other users",
			denied);
	else if (call->loop.verbose || !in_user_namespace(root))
		snprintf(rights->kept, sizeof(rights->kept), "without capabilities: %.200s",
			why.text);
	return privilege_drop(NULL, keep, call->diag);
}

/* The sanitizers' runtime makes other system calls. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FILTER() 0
#else
#define FILTER() privilege_filter()
#endif

static void confine(const struct rights *rights, const struct call *call)
{
	int files = privilege_confine(), calls = FILTER();

	if (call->loop.verbose)
		call_note(call, "runs as user %s (%u)%s%s", geteuid() ? rights->user.name : "root",
			geteuid(), files ? "; no Landlock" : "", calls ? "; no seccomp" : "");
}

int rights_drop(struct rights *rights, const struct call *call, int root)
{
	uint64_t keep = privilege_lock_memory();
	int err;

	if (!rights->verbs && !rights->mads)
		keep = 0;
	if (rights->low_port)
		keep |= PRIVILEGE_CAP(CAP_NET_BIND_SERVICE);
	if (!rights->name) {
		err = drop_default(rights, call, root, keep);
	} else {
		err = privilege_drop(&rights->user, keep, call->diag);
		if (err)
			diag_ctx(call->diag, "--user %s", rights->name);
	}
	if (err)
		return err;
	confine(rights, call);
	return 0;
}

void rights_show(const struct rights *rights, const struct call *call)
{
	if (rights->kept[0])
		call_note(
			call, "runs as root%s%s", rights->kept[0] == ':' ? "" : " ", rights->kept);
}

/* --- of a daemon */

/* A helper_fn. The first call, before the server has given up its rights, opens the process, as its
 * number may be reused later; the others stop it. */
static int use_command(const char *pid, int *fd, void *data, size_t len)
{
	static int command = -1;

	(void)fd;
	(void)data;
	(void)len;
	if (command >= 0)
		return syscall(SYS_pidfd_send_signal, command, SIGTERM, NULL, 0) ? -errno : 0;
	command = (int)syscall(SYS_pidfd_open, (pid_t)strtol(pid, NULL, 10), 0);
	return command < 0 ? -errno : 0;
}

static void command_name(const struct daemon *d, char name[16])
{
	snprintf(name, 16, "%d", (int)d->run.pid);
}

static int call_command(const struct daemon *d)
{
	char name[16];
	int fd = -1;

	command_name(d, name);
	return helper_call(use_command, name, &fd, NULL, 0);
}

void daemon_stop_command(struct daemon *d)
{
	if (d->rights.drop)
		call_command(d);
	else
		kill(d->child, SIGTERM);
}

static int allow_command(const struct daemon *d)
{
	char name[16];

	command_name(d, name);
	return helper_allow(HELPER_FILES, use_command, name);
}

/* Set what the helper may do. */
static int allow(struct daemon *d)
{
	const struct daemon_options *opts = d->opts;
	int err = d->command ? allow_command(d) : 0;

	for (unsigned i = 0; !err && i < d->call->rest; i++)
		err = disk_allow(d->call->operand[i]);
	for (unsigned i = 0; !err && i < d->fronts; i++)
		if (d->front[i]->kind->allow)
			err = d->front[i]->kind->allow(d->front[i]);
	if (!err && opts->log)
		err = out_log_allow(opts->log);
	if (!err && opts->pid_file)
		err = kernel_pid_file_allow(d->root, opts->pid_file);
	if (!err && opts->state)
		err = reservation_state_allow(opts->state);
	return err ? diag_sys(d->call->diag, -err, "privileged helper") : 0;
}

static int start_helper(const struct daemon *d)
{
	int err = helper_start(d->root, d->call->diag);

	if (err || !d->command)
		return err;
	err = call_command(d);
	return err ? diag_sys(d->call->diag, -err, "open the process of the command") : 0;
}

/* Block devices of the kernel are made, served and removed with CAP_SYS_ADMIN, by its nodes. */
static void keep_root(struct daemon *d)
{
	if (d->rights.drop)
		snprintf(d->rights.kept, sizeof(d->rights.kept),
			": block devices of this machine need it");
	d->rights.drop = false;
}

int daemon_read_rights(struct daemon *d)
{
	bool local = false;
	int err;

	d->rights.name = d->opts->user;
	err = rights_read(&d->rights, d->call->diag);
	for (unsigned i = 0; i < d->fronts; i++) {
		local |= d->front[i]->kind->local;
		if (d->front[i]->kind->rights)
			d->front[i]->kind->rights(d->front[i], &d->rights);
	}
	for (unsigned i = 0; i < d->call->rest; i++)
		d->rights.verbs |= disk_needs_rdma(d->call->operand[i]);
	if (local)
		keep_root(d);
	if (!err && d->command)
		err = child_prepare(&d->run, d->call->diag);
	if (!err && d->rights.drop)
		err = allow(d);
	if (!err && d->rights.drop)
		err = start_helper(d);
	return err;
}

/* Do all for which it will be too late, so that each failure is that of root. */
static int prepare(struct daemon *d)
{
	const struct rights *rights = &d->rights;
	const struct disk_identity *identity;
	struct diag why = { 0 };
	int err = 0;

	for (unsigned i = 0; i < d->call->rest; i++)
		if (!d->disk[i])
			disk_prepare(d->call, d->call->operand[i]);
	if (rights->identity)
		kernel_identity_keep(d->root);
	for (unsigned i = 0; rights->identity && !err && i < d->call->rest; i++)
		if (d->disk[i])
			err = daemon_identify(d, i, &identity);
	if (rights->verbs)
		kernel_rdma_ready(d->root, &why);
	if (rights->mads)
		kernel_umad_ready(d->root, &why);
	out_log_hold(d->opts->daemon);
	kernel_notify_hold();
	return err;
}

int daemon_drop_rights(struct daemon *d)
{
	int err;

	if (!d->rights.drop) {
		privilege_no_new();
		return 0;
	}
	err = prepare(d);
	return err ? err : rights_drop(&d->rights, d->call, d->root);
}
