/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* mount(2) with a deadline, on the caller's loop. NFS waits in TASK_KILLABLE almost everywhere, so
 * SIGKILL ends it and the kernel rolls back. Where it does not, a child stays behind and unmounts a
 * mount that completes after it was given up. */
#include "nfs_mount.h"
#include "nfs_steps.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_MS 1500

static bool same_option(const char *asked, const char *there, const char *name)
{
	char a[16], b[16];

	return !kernel_mount_option(asked, name, a, sizeof(a)) ||
	       !kernel_mount_option(there, name, b, sizeof(b)) || !strcmp(a, b);
}

/* Ignore a mount of another version or transport, which was tried next. */
static bool is_mounted(int root, const struct mount_call *call)
{
	const struct kernel_mount_args *ask = &call->ask;
	struct kernel_mounted there;

	return !kernel_mounted(root, ask->dir, &there) && there.id != call->old_mount_id &&
	       !strcmp(there.source, ask->source) && same_option(ask->data, there.super, "vers") &&
	       same_option(ask->data, there.super, "proto");
}

/* In the child: fork again to call mount(2), so that it can be killed. A killed mount may have
 * succeeded. */
static int mount_in_child(int root, const void *arg, void *out)
{
	const struct mount_call *call = arg;
	const struct kernel_mount_args *ask = &call->ask;
	int status = 0;
	sigset_t set;
	pid_t pid;

	(void)out;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pid = fork();
	if (pid < 0)
		return errno;
	if (!pid)
		_exit(mount(ask->source, ask->dir, ask->type, ask->flags, ask->data) ? errno : 0);
	while (!waitpid(pid, &status, WNOHANG))
		if (sigwaitinfo(&set, NULL) == SIGTERM)
			kill(pid, SIGKILL);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return is_mounted(root, call) ? 0 : ETIMEDOUT;
}

static void undo_in_child(int root, const void *arg, void *out)
{
	const struct mount_call *call = arg;

	(void)out;
	if (is_mounted(root, call))
		umount2(call->ask.dir, UMOUNT_NOFOLLOW | MNT_DETACH);
}

static void child_done(struct child_call *child)
{
	struct mount_call *call = container_of(child, struct mount_call, child);

	call->err = child->err;
	if (call->err && child->expired)
		call->err = call->stopped ? -ECANCELED : -ETIMEDOUT;
	call->done(call);
}

int mount_call_start(struct mount_call *call, struct loop *loop, int root, uint64_t until)
{
	struct kernel_mounted before = { 0 };

	kernel_mounted(root, call->ask.dir, &before);
	call->old_mount_id = before.id;
	call->stopped = false;
	call->child = (struct child_call){ .fn = mount_in_child,
		.undo = undo_in_child,
		.arg = call,
		.until = until,
		.grace_ms = GRACE_MS,
		.done = child_done };
	return child_call_start(&call->child, loop, &root, 1);
}

void mount_call_stop(struct mount_call *call)
{
	call->stopped = true;
	child_call_expire(&call->child);
}
