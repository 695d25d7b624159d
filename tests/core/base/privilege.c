/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Users are found by name and number; root gives up everything but what it is to keep, for good,
 * also in later threads. */
#include "privilege.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

Test(privilege, users)
{
	struct privilege_user user;
	struct diag diag = { 0 };

	cr_assert_eq(privilege_find(&user, "root", &diag), 0);
	cr_assert(user.uid == 0 && user.gid == 0 && user.groups >= 1);
	cr_assert_eq(privilege_find(&user, "0", &diag), 0);
	cr_assert_str_eq(user.name, "root");
	cr_assert_eq(privilege_find(&user, NULL, &diag), 0);
	cr_assert_str_eq(user.name, "nobody");
	cr_assert(user.uid && user.gid && !user.groups);
	/* no such user is known, but the number will do */
	cr_assert_eq(privilege_find(&user, "3999999999", &diag), 0);
	cr_assert(user.uid == 3999999999u && user.gid == user.uid && !user.groups);
	cr_assert_eq(privilege_find(&user, "no-such-user", &diag), -ENOENT);
	diag_says(&diag, DIAG_NOT_FOUND, NULL, "no-such-user");
	diag = (struct diag){ 0 };
	cr_assert_eq(privilege_find(&user, "4294967295", &diag), -ENOENT); /* (uid_t)-1 */
	cr_assert_eq(privilege_find(&user, "", &diag), -ENOENT);
}

/* --- as root, in a child of its own */

#define SKIPPED 77

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                 \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static void in_child(void (*fn)(void))
{
	int status;
	pid_t pid;

	if (geteuid() || prctl(PR_CAPBSET_READ, CAP_SETUID, 0, 0, 0) != 1)
		cr_skip_test("needs root");
	pid = fork();
	if (!pid) {
		fn();
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
		cr_skip_test("no Landlock in this kernel");
	cr_assert_eq(status, 0);
}

static const struct privilege_user other = {
	.name = "other", .uid = 4711, .gid = 4712, .group = { 4713, 4714 }, .groups = 2
};

/* A line of /proc/self/task/TID/status, as long as the process may read it. */
static uint64_t hex_of(const char *key)
{
	char line[256];
	uint64_t value = UINT64_MAX;
	FILE *status = fopen("/proc/thread-self/status", "re");

	CHECK(status);
	while (fgets(line, sizeof(line), status))
		if (!strncmp(line, key, strlen(key)))
			sscanf(line + strlen(key), ": %" SCNx64, &value);
	fclose(status);
	return value;
}

static void check_sets(uint64_t keep)
{
	CHECK(hex_of("CapPrm") == keep && hex_of("CapEff") == keep);
	CHECK(hex_of("CapInh") == 0 && hex_of("CapBnd") == 0 && hex_of("CapAmb") == 0);
	CHECK(hex_of("NoNewPrivs") == 1);
}

static void *in_thread(void *arg)
{
	check_sets(*(uint64_t *)arg);
	CHECK(getuid() == 4711 && geteuid() == 4711 && getgid() == 4712);
	return NULL;
}

static void becomes_another(void)
{
	uint64_t keep = PRIVILEGE_CAP(CAP_NET_BIND_SERVICE);
	pthread_t thread;
	gid_t group[4];
	char byte;
	int fd = open("/etc/passwd", O_RDWR | O_CLOEXEC);

	CHECK(!privilege_dropped());
	CHECK(!privilege_drop(&other, keep | PRIVILEGE_CAP(63), NULL));
	CHECK(privilege_dropped());
	check_sets(keep);
	CHECK(getgroups(4, group) == 2 && group[0] == 4713 && group[1] == 4714);
	CHECK(setuid(0) && setgid(0) && setgroups(0, NULL));
	CHECK(!prctl(PR_GET_DUMPABLE));
	CHECK(!pthread_create(&thread, NULL, in_thread, &keep) && !pthread_join(thread, NULL));
	/* what is open stays open, nothing else is opened */
	CHECK(read(fd, &byte, 1) == 1 && open("/etc/passwd", O_RDWR) < 0 && errno == EACCES);
	CHECK(!privilege_locks_memory());
}
Test(privilege, becomes_another_user_for_good)
{
	in_child(becomes_another);
}

static void keeps_user(void)
{
	CHECK(!privilege_drop(NULL, 0, NULL));
	check_sets(0);
	CHECK(!getuid() && setuid(4711) && chroot("/") && errno == EPERM);
}
Test(privilege, stays_root_without_capabilities)
{
	in_child(keeps_user);
}

static void keeps_death_signal(void)
{
	int signo = 0;

	prctl(PR_SET_PDEATHSIG, SIGUSR2);
	CHECK(!privilege_drop(&other, 0, NULL));
	CHECK(!prctl(PR_GET_PDEATHSIG, &signo) && signo == SIGUSR2);
}
Test(privilege, the_death_signal_of_the_parent_stays)
{
	in_child(keeps_death_signal);
}

static void cannot(void)
{
	struct diag diag = { 0 };

	/* as in a container that has only some rights */
	CHECK(!privilege_drop(NULL, PRIVILEGE_CAP(CAP_CHOWN), NULL));
	CHECK(privilege_drop(&other, 0, &diag) == -EPERM && diag.err == EPERM);
	CHECK(!getuid() && hex_of("CapEff") == PRIVILEGE_CAP(CAP_CHOWN));
	CHECK(!privilege_drop(NULL, 0, NULL));
	check_sets(0);
}
Test(privilege, a_user_that_it_cannot_become)
{
	in_child(cannot);
}

static void locks_memory(void)
{
	const struct rlimit small = { 65536, 65536 };
	struct rlimit now;
	uint64_t keep;

	CHECK(!setrlimit(RLIMIT_MEMLOCK, &small));
	keep = privilege_lock_memory();
	CHECK(!getrlimit(RLIMIT_MEMLOCK, &now));
	CHECK(keep == 0 ? now.rlim_cur == RLIM_INFINITY
			: keep == PRIVILEGE_CAP(CAP_IPC_LOCK) && now.rlim_cur == 65536);
	CHECK(!privilege_drop(&other, PRIVILEGE_CAP(CAP_IPC_LOCK), NULL));
	CHECK(privilege_locks_memory());
}
Test(privilege, a_limit_of_memory_that_cannot_be_raised)
{
	in_child(locks_memory);
}

static void is_confined(void)
{
	char *const argv[] = { "true", NULL };
	struct privilege_user root = { .name = "root" };
	char path[] = "/tmp/privilege-XXXXXX";
	int file = mkstemp(path), before = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	CHECK(!privilege_drop(&root, 0, NULL)); /* who may open all of these */
	err = privilege_confine();
	if (err == -ENOSYS || err == -EOPNOTSUPP)
		_exit(SKIPPED);
	CHECK(!err);
	CHECK(open("/etc/passwd", O_RDONLY) >= 0 && open("/proc/self/status", O_RDONLY) >= 0);
	CHECK(open("/dev/null", O_RDWR) >= 0);
	CHECK(open("/etc/passwd", O_WRONLY) < 0 && errno == EACCES);
	CHECK(open(path, O_RDONLY) < 0 && errno == EACCES);
	CHECK(openat(before, "bin/sh", O_RDONLY) < 0 && errno == EACCES);
	CHECK(open("/tmp/privilege-new", O_WRONLY | O_CREAT, 0600) < 0 && errno == EACCES);
	CHECK(unlink(path) && errno == EACCES);
	CHECK(execv("/bin/true", argv) && errno == EACCES);
	/* what is open stays so */
	CHECK(write(file, "x", 1) == 1 && !ftruncate(file, 100) && pread(file, path, 1, 0) == 1);
}
Test(privilege, opens_no_files_any_more)
{
	in_child(is_confined);
}

/* Returns the status of a child with the filter that makes allowed calls, then this one. */
static int status_after(int (*call)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		privilege_no_new();
		if (privilege_filter())
			_exit(SKIPPED);
		if (getpid() < 1 || write(STDERR_FILENO, "", 0) || open("/dev/null", O_RDONLY) < 0)
			_exit(2);
		call();
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
		cr_skip_test("no seccomp filters in this kernel");
	return status;
}

static int harmless(void)
{
	return fsync(-1);
}

static int forks(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return waitpid(pid, NULL, 0);
}

static int asks_a_terminal(void)
{
	struct winsize size;

	return ioctl(STDIN_FILENO, TIOCGWINSZ, &size);
}

static int executes(void)
{
	return execl("/bin/true", "true", NULL);
}

static int mounts(void)
{
	return mount("none", "/", "tmpfs", 0, NULL);
}

static int traces(void)
{
	return (int)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static int changes_user(void)
{
	return setuid(getuid());
}

static int makes_a_namespace(void)
{
	return (int)syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWNET | SIGCHLD, 0, 0, 0, 0);
}

static int types_into_the_terminal(void)
{
	return ioctl(STDIN_FILENO, TIOCSTI, "x");
}

static int unknown(void)
{
	return (int)syscall(100000);
}

Test(privilege, other_system_calls_kill)
{
	static int (*const calls[])(void) = { executes, mounts, traces, changes_user,
		makes_a_namespace, types_into_the_terminal, unknown };

	cr_assert_eq(status_after(harmless), 0);
	cr_assert_eq(status_after(forks), 0);
	cr_assert_eq(status_after(asks_a_terminal), 0);
	for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		int status = status_after(calls[i]);

		cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "%u: %x", i, status);
	}
}
