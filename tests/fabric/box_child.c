/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Starts the program: in a mount name space with a /sys/class of its own, and with a filter that
 * hands the box every open, what is done with the descriptors of the box, and writing to standard
 * output, where shells have what they redirect. */
#include "box.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FD_LISTENER, FD_SYS, FDS };

union fds {
	struct cmsghdr hdr;
	char room[CMSG_SPACE(FDS * sizeof(int))];
};

static void fail(const char *what)
{
	fprintf(stderr, "box: %s: %s\n", what, strerror(errno));
	_exit(125);
}

static int install(void)
{
#define LOAD(member)   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define IS(value, yes) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), 0)
	struct sock_filter code[] = {
		/* 7: standard output or 9: one of ours? 12: yes, 13: no */
		LOAD(nr),
		IS(SYS_openat, 12 - 2),
		IS(SYS_open, 12 - 3),
		IS(SYS_ioctl, 9 - 4),
		IS(SYS_read, 9 - 5),
		IS(SYS_write, 7 - 6),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_writev, 0, 13 - 7),
		LOAD(args[0]),
		IS(STDOUT_FILENO, 12 - 9),
		LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, BOX_FD, 0, 13 - 11),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, BOX_FD + BOX_FILES, 13 - 12, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
#undef LOAD
#undef IS
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(
		SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

static void send_fds(int to, const int fds[FDS])
{
	char byte = 0;
	struct iovec data = { &byte, 1 };
	union fds control = { .hdr = { .cmsg_level = SOL_SOCKET,
				      .cmsg_type = SCM_RIGHTS,
				      .cmsg_len = CMSG_LEN(FDS * sizeof(int)) } };
	struct msghdr msg = { .msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.hdr), fds, FDS * sizeof(int));
	if (sendmsg(to, &msg, 0) != 1)
		fail("handing over the filter");
}

static void receive_fds(int from, int fds[FDS])
{
	char byte;
	struct iovec data = { &byte, 1 };
	union fds control;
	struct msghdr msg = { .msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };

	if (recvmsg(from, &msg, MSG_CMSG_CLOEXEC) != 1)
		_exit(125); /* the child has said why */
	memcpy(fds, CMSG_DATA(&control.hdr), FDS * sizeof(int));
}

static void child(int to, char **argv)
{
	int fds[FDS];
	sigset_t none;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		fail("mount name space");
	if (mount("box", "/sys/class", "tmpfs", 0, NULL))
		fail("/sys/class");
	fds[FD_SYS] = open("/sys/class", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fds[FD_LISTENER] = install();
	if (fds[FD_LISTENER] < 0)
		fail("seccomp filter with user notification");
	send_fds(to, fds);
	if (recv(to, &byte, 1, 0) != 1)
		_exit(125);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(argv[0], argv);
	fprintf(stderr, "box: %s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

pid_t child_start(struct box *box, char **argv)
{
	int ends[2], fds[FDS];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		box_die("socket pair: %m");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		box_die("fork: %m");
	if (!pid)
		child(ends[1], argv);
	close(ends[1]);
	receive_fds(ends[0], fds);
	box->listener = fds[FD_LISTENER];
	box->sys = fds[FD_SYS];
	sys_make(box);
	if (send(ends[0], "", 1, 0) != 1)
		box_die("%s: it did not start", argv[0]);
	close(ends[0]);
	return pid;
}
