/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* mount(2) with a timeout. NFS waits in TASK_KILLABLE almost everywhere, so SIGKILL ends it and the
 * kernel rolls back. Where it does not, a child stays behind and unmounts a mount that completes
 * after the timeout. */
#include "child.h"
#include "kernel_nfs.h"
#include "loop.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#define MSEC     1000000ull
#define GRACE_MS 1500

int kernel_umount(const char *dir)
{
	return umount2(dir, UMOUNT_NOFOLLOW) ? -errno : 0;
}

enum { UNDER_WAY, ENDED, GIVEN_UP };

/* With the process that stays behind. */
struct shared {
	pid_t mounter;
	int state;
	bool stop;
};

struct errand {
	const struct kernel_mount_ask *ask;
	struct shared *shared;
	unsigned before; /* number of the mount that was there */
};

static bool settle(struct shared *shared, int state)
{
	int was = UNDER_WAY;

	return __atomic_compare_exchange_n(
		&shared->state, &was, state, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

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

/* stop() sets the flag, then looks for the process; this is the other order, so one of them sees
 * the other. */
static int do_mount(const struct kernel_mount_ask *ask, struct shared *shared)
{
	__atomic_store_n(&shared->mounter, getpid(), __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&shared->stop, __ATOMIC_SEQ_CST))
		return ETIMEDOUT;
	return mount(ask->source, ask->dir, ask->type, ask->flags, ask->data) ? errno : 0;
}

static int stand_by(int root, const void *arg)
{
	const struct errand *errand = arg;
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		return errno;
	if (!pid)
		_exit(do_mount(errand->ask, errand->shared));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (settle(errand->shared, ENDED))
		return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
	/* killed, it may have been done all the same */
	if ((WIFSIGNALED(status) || !WEXITSTATUS(status)) && is_there(root, errand))
		umount2(errand->ask->dir, UMOUNT_NOFOLLOW | MNT_DETACH);
	return 0;
}

static bool wait_end(int watch, int ms)
{
	struct pollfd poll_fd = { .fd = watch, .events = POLLIN };
	uint64_t end = ms < 0 ? 0 : loop_clock() + (uint64_t)ms * MSEC;
	int rc;

	while ((rc = poll(&poll_fd, 1, ms)) < 0 && errno == EINTR)
		if (ms >= 0)
			ms = end > loop_clock() ? (int)((end - loop_clock()) / MSEC) : 0;
	return rc > 0;
}

static void stop(struct shared *shared)
{
	pid_t mounter;

	__atomic_store_n(&shared->stop, true, __ATOMIC_SEQ_CST);
	mounter = __atomic_load_n(&shared->mounter, __ATOMIC_SEQ_CST);
	if (mounter)
		kill(mounter, SIGKILL);
}

/* -1: no limit. */
static int left_ms(const struct kernel_mount_ask *ask)
{
	uint64_t now = loop_clock(), left = ask->until > now + MSEC ? (ask->until - now) / MSEC : 1;

	return !ask->until || left > INT_MAX ? -1 : (int)left;
}

/* 0: it has ended by itself. */
static int await(const struct kernel_mount_ask *ask, int watch)
{
	int left = left_ms(ask);

	if (ask->meanwhile && (left < 0 || left > (int)ask->patience_ms)) {
		if (wait_end(watch, (int)ask->patience_ms))
			return 0;
		if (ask->meanwhile(ask->arg))
			return -ECANCELED;
		left = left_ms(ask);
	}
	return wait_end(watch, left) ? 0 : -ETIMEDOUT;
}

static int run(int root, const struct errand *errand)
{
	int watch, status = EIO, err, over;
	pid_t pid;

	err = child_aside(&pid, &watch, &root, 1, stand_by, errand);
	if (err)
		return err;
	over = await(errand->ask, watch);
	if (over)
		stop(errand->shared);
	if (over && !wait_end(watch, GRACE_MS) && settle(errand->shared, GIVEN_UP)) {
		close(watch);
		return over;
	}
	wait_end(watch, -1); /* it has settled that it ends */
	close(watch);
	child_ended(pid, &status);
	if (over) /* it may have been done when its time was up */
		return is_there(root, errand) ? 0 : over;
	return -status;
}

int kernel_mount(int root, const struct kernel_mount_ask *ask, bool *late)
{
	struct kernel_mounted before = { 0 };
	struct errand errand = { .ask = ask };
	int err;

	*late = false;
	kernel_mounted(root, ask->dir, &before);
	errand.before = before.id;
	errand.shared = mmap(NULL, sizeof(*errand.shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (errand.shared == MAP_FAILED)
		return -errno;
	err = run(root, &errand);
	munmap(errand.shared, sizeof(*errand.shared));
	*late = err == -ETIMEDOUT;
	return err;
}
