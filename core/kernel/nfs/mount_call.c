/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* mount(2) with a timeout. NFS waits in TASK_KILLABLE almost everywhere, so SIGKILL ends it and the
 * kernel rolls back. Where it does not, a child stays behind and unmounts a mount that completes
 * after the timeout. */
#include "child.h"
#include "kernel_nfs.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#define MSEC     1000000ull
#define GRACE_MS 1500

int kernel_umount(const char *dir)
{
	return umount2(dir, UMOUNT_NOFOLLOW) ? -errno : 0;
}

struct errand {
	const struct kernel_mount_ask *ask;
	unsigned before; /* number of the mount that was there */
};

static bool same_option(const char *asked, const char *there, const char *name)
{
	char a[16], b[16];

	return !kernel_mount_option(asked, name, a, sizeof(a)) ||
	       !kernel_mount_option(there, name, b, sizeof(b)) || !strcmp(a, b);
}

/* Not one of another version or transport, which was tried next. */
static bool is_there(int root, const struct errand *errand)
{
	const struct kernel_mount_ask *ask = errand->ask;
	struct kernel_mounted there;

	return !kernel_mounted(root, ask->dir, &there) && there.id != errand->before &&
	       !strcmp(there.source, ask->source) && same_option(ask->data, there.super, "vers") &&
	       same_option(ask->data, there.super, "proto");
}

/* SIGTERM becomes SIGKILL for the process that mounts: the kernel heeds no other. Killed, it may
 * have mounted all the same. */
static int mount_aside(int root, const void *arg, void *out)
{
	const struct errand *errand = arg;
	const struct kernel_mount_ask *ask = errand->ask;
	int status = 0, err;
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
	err = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
	return err == EINTR && is_there(root, errand) ? 0 : err;
}

static void unmount(int root, const void *arg, void *out)
{
	const struct errand *errand = arg;

	(void)out;
	if (is_there(root, errand))
		umount2(errand->ask->dir, UMOUNT_NOFOLLOW | MNT_DETACH);
}

int kernel_mount(int root, const struct kernel_mount_ask *ask, bool *late)
{
	uint64_t look = loop_clock() + ask->patience_ms * MSEC;
	struct kernel_mounted before = { 0 };
	struct errand errand = { .ask = ask };
	struct child_call call = { .fn = mount_aside,
		.undo = unmount,
		.arg = &errand,
		.until = ask->until,
		.grace_ms = GRACE_MS };
	bool stopped = false;
	int err;

	*late = false;
	kernel_mounted(root, ask->dir, &before);
	errand.before = before.id;
	err = child_call_start(&call, NULL, &root, 1);
	if (err)
		return err;
	if (ask->meanwhile && (!ask->until || ask->until > look) && !child_call_wait(&call, look)) {
		stopped = ask->meanwhile(ask->arg);
		if (stopped)
			child_call_expire(&call);
	}
	child_call_wait(&call, 0);
	*late = call.err == -ETIMEDOUT && !stopped;
	return call.err && stopped ? -ECANCELED : call.err;
}
