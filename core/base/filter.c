/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Leave all system calls but those that serving needs: a seccomp filter. The list has what the
 * static binary can call at all, without what changes users, mounts, modules and keys, or executes
 * programs. libseccomp would be larger than this list by far, and resolves nothing that the headers
 * don't. */
#include "privilege.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __aarch64__
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH AUDIT_ARCH_X86_64
#endif

static const uint16_t allowed[] = {
	/* data */
	SYS_io_uring_enter,
	SYS_epoll_pwait,
	SYS_sendmsg,
	SYS_recvmsg,
	SYS_sendto,
	SYS_recvfrom,
	SYS_read,
	SYS_write,
	SYS_readv,
	SYS_writev,
	SYS_pread64,
	SYS_pwrite64,
	SYS_preadv,
	SYS_pwritev,
	SYS_futex,
	SYS_fallocate,
	SYS_fsync,
	SYS_fdatasync,
	SYS_ftruncate,
	SYS_lseek,
	SYS_fadvise64,
	/* sockets */
	SYS_socket,
	SYS_socketpair,
	SYS_bind,
	SYS_listen,
	SYS_accept,
	SYS_accept4,
	SYS_connect,
	SYS_shutdown,
	SYS_setsockopt,
	SYS_getsockopt,
	SYS_getsockname,
	SYS_getpeername,
	/* descriptors and files */
	SYS_close,
	SYS_close_range,
	SYS_dup,
	SYS_dup3,
	SYS_pipe2,
	SYS_fcntl,
	SYS_flock,
	SYS_openat,
	SYS_newfstatat,
	SYS_fstat,
	SYS_statx,
	SYS_fstatfs,
	SYS_statfs,
	SYS_getdents64,
	SYS_readlinkat,
	SYS_faccessat,
	SYS_faccessat2,
	SYS_mkdirat,
	SYS_unlinkat,
	SYS_renameat,
	SYS_renameat2,
	SYS_umask,
	SYS_getcwd,
	SYS_inotify_init1,
	SYS_inotify_add_watch,
	/* events and time */
	SYS_io_uring_setup,
	SYS_io_uring_register,
	SYS_epoll_create1,
	SYS_epoll_ctl,
	SYS_eventfd2,
	SYS_signalfd4,
	SYS_timerfd_create,
	SYS_timerfd_settime,
	SYS_ppoll,
	SYS_pselect6,
	SYS_nanosleep,
	SYS_clock_nanosleep,
	SYS_clock_gettime,
	SYS_clock_getres,
	SYS_gettimeofday,
	SYS_restart_syscall,
	/* memory */
	SYS_mmap,
	SYS_munmap,
	SYS_mremap,
	SYS_mprotect,
	SYS_madvise,
	SYS_brk,
	SYS_mlock,
	SYS_munlock,
	SYS_shmget,
	SYS_shmat,
	SYS_shmdt,
	SYS_shmctl,
	SYS_getrandom,
	/* threads, processes and signals */
	SYS_exit,
	SYS_exit_group,
	SYS_set_tid_address,
	SYS_set_robust_list,
	SYS_gettid,
	SYS_getpid,
	SYS_getppid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_getresuid,
	SYS_getresgid,
	SYS_getgroups,
	SYS_capget,
	SYS_prctl,
	SYS_wait4,
	SYS_pidfd_open,
	SYS_kill,
	SYS_tkill,
	SYS_tgkill,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_rt_sigtimedwait,
	SYS_sigaltstack,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_sched_setaffinity,
	SYS_getpriority,
	SYS_setpriority,
	SYS_prlimit64,
	SYS_getrlimit,
	SYS_setrlimit,
	SYS_getrusage,
	SYS_sysinfo,
	SYS_uname,
	SYS_membarrier,
#ifdef SYS_open /* older ones of x86 */
	SYS_open,
	SYS_stat,
	SYS_lstat,
	SYS_access,
	SYS_poll,
	SYS_select,
	SYS_pipe,
	SYS_dup2,
	SYS_rename,
	SYS_mkdir,
	SYS_rmdir,
	SYS_unlink,
	SYS_readlink,
	SYS_epoll_create,
	SYS_epoll_wait,
	SYS_eventfd,
	SYS_signalfd,
	SYS_inotify_init,
	SYS_fork,
	SYS_arch_prctl,
#endif
};
#define COUNT (sizeof(allowed) / sizeof(*allowed))

/* In a namespace of its own a process has all capabilities. */
#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
		CLONE_NEWPID | CLONE_NEWNET)

#define LOAD(field)        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what)       BPF_STMT(BPF_RET | BPF_K, what)
#define SKIP_UNLESS(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1)
#define SKIP_IF(value)     BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0)
#define SKIP(unless, n)    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, unless, 0, n)
#define FIXED              15

int privilege_filter(void)
{
	struct sock_filter code[FIXED + 2 * COUNT + 1] = {
		LOAD(arch),
		SKIP_IF(ARCH),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		/* typing into the caller's shell */
		SKIP(SYS_ioctl, 5),
		LOAD(args[1]),
		SKIP_IF(TIOCSTI),
		SKIP(TIOCLINUX, 1),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		RETURN(SECCOMP_RET_ALLOW),
		SKIP(SYS_clone, 4),
		LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		RETURN(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .filter = code };
	unsigned n = FIXED;
	long err;

	for (unsigned i = 0; i < COUNT; i++) {
		code[n++] = (struct sock_filter)SKIP_UNLESS(allowed[i]);
		code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	}
	code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_KILL_PROCESS);
	program.len = (unsigned short)n;
	err = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
	return err < 0 ? -errno : err ? -ESRCH : 0; /* > 0: a thread that has another filter */
}
