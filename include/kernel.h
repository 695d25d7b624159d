/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the running system says: the only room that names a path in /sys, /proc, /dev or /etc. All
 * of it is reached under a root descriptor, so that a tree of files is a fixture. */
#pragma once
#include "child.h"
#include "diag.h"
#include "loop.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Host identity by cli.md's chain: option or URI (wanted, may be NULL) → /etc/nvme files → kernel
 * command line → DMI UUID (known-fake ones rejected) → machine-id → random. An empty file counts as
 * absent; a missing host id is derived from the NQN's UUID. */
struct identity {
	char hostnqn[224];
	uint8_t hostid[16];
	char nqn_from[64], id_from[64]; /* for --verbose: "DMI product UUID" */
	int random;                     /* made up for this run: warn */
};
int kernel_identity(
	int root, const char *wanted_nqn, const char *wanted_id, struct identity *, struct diag *);
int kernel_root(void); /* descriptor of "/" */

/* What the kernel's log says from a mark on: the reason behind an errno. Where it may not be read
 * it says nothing. */
struct kernel_log {
	int fd; /* 0 or less: none */
};
void kernel_log_mark(int root, struct kernel_log *);
/* The lines that `want` takes, oldest first, each with a newline, as far as they fit. Ends the log.
 */
void kernel_log_since(struct kernel_log *, bool (*want)(const char *line), char *text, size_t len);

/* To the log, for who has no other place to write: a descriptor, -errno. One line each. */
int kernel_log_open(int root);
void kernel_log_say(int fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Identity of a served disk: made of the machine's (DMI UUID → machine-id → host id → boot ID) and
 * the disk's own: WWID of a block device, file system and inode of a file, `own` of anything else
 * ("": random). Stable across restarts, different on another machine. */
enum disk_identity_lasts {
	DISK_IDENTITY_RUN,  /* random: new with every start */
	DISK_IDENTITY_BOOT, /* until the machine reboots */
	DISK_IDENTITY_ALWAYS,
};
struct disk_identity {
	uint8_t uuid[16], nguid[16];
	char serial[21], nqn[224];
	char from[160]; /* for --verbose: "naa.5000c500, machine-id" */
	enum disk_identity_lasts lasts;
};
/* path NULL: no file or device */
int kernel_disk_identity(
	int root, const char *path, const char *own, struct disk_identity *, struct diag *);

/* The disk's own part of that as text: "file system 0b5a… inode 12", "naa.5000c500… partition 1".
 */
int kernel_disk_text(int root, const char *path, char *text, size_t len, struct diag *);

/* 0: the block device has a node, made where nothing else makes it, and opens; a drive without a
 * medium counts, a disk whose size is not known yet does not. May block. */
int kernel_disk_opens(int root, const char *name);

/* What holds a block device or a file: "mounted on /, swap, md0", "loop3"; "" = nothing does. */
int kernel_holders(int root, const char *path, char *text, size_t len);
/* Other processes whose image locks (core/block/file_lock.c) hinder a writer: "open in qemu-nbd
 * (process 123)"; "" = none that can be seen. */
int kernel_lockers(int root, const char *path, char *text, size_t len);
/* What may write to a file or device while it is read: file systems that are not mounted read-only,
 * also above partitions, dm, md and loop devices; swap; processes with a writer's image lock.
 * "" = nothing known. */
int kernel_writers(int root, const char *path, char *text, size_t len);
/* Other processes that have it open, as far as /proc tells: "open in fio (process 123), open in
 * qemu (process 99)". */
int kernel_openers(int root, const char *device, char *text, size_t len);
bool kernel_process_has(int root, int pid, const char *path); /* open */
/* RDMA as the system sees it, for messages when no device was found: which of ib_uverbs, rdma_ucm,
 * devices is missing. Loads the modules where it may. */
int kernel_rdma_ready(int root, struct diag *);
bool kernel_rdma_loaded(int root); /* there are no modules to load */
/* The network interface of an RDMA device; -ENODEV: it has none, or does not exist. */
int kernel_rdma_netdev(int root, const char *dev, char *name, size_t len, struct diag *);
/* Writes this process's id to a file and returns a descriptor, which keeps the file locked.
 * Symbolic links are not followed. -EBUSY: a live process has it; diag names that. It has it if it
 * keeps it locked, or if the file names it and it began before the file was written. A file with
 * anything else in it is refused. */
int kernel_pid_file(int root, const char *path, struct diag *);
/* Whether it would succeed now; changes nothing. */
int kernel_pid_file_check(int root, const char *path, struct diag *);
void kernel_pid_file_end(int fd, const char *path); /* removes it if it is still the one at path */
/* Readiness: NOTIFY_SOCKET (sd_notify protocol) and a descriptor given with --ready-fd. */
int kernel_notify_ready(int ready_fd, const char *status, struct diag *);
/* "STATUS=…", "WATCHDOG=1", as sd_notify(3) has them; to NOTIFY_SOCKET alone */
int kernel_notify(const char *text, struct diag *);
uint32_t kernel_watchdog_ms(void); /* within which WATCHDOG=1 is awaited; 0 = it is not */

/* Descriptor of /dev with the ublk driver loaded and its control device there; else which of
 * driver, control device, io_uring (kernel.io_uring_disabled) is missing, with the way round
 * (--nbd-dev). */
int kernel_ublk_open(int root, struct diag *);

/* The kernel's own NBD client, by generic netlink. These calls may wait for requests that the
 * device has in flight, and for what others ask of generic netlink: they are not for a thread that
 * answers those. The kernel is asked by a process of its own, so that the end of this one never
 * waits for it. */
#define KERNEL_NBD_CONNECTIONS 16
#define KERNEL_NBD_OURS        "rdmastor " /* what identifiers of ours begin with */
struct kernel_nbd {
	/* N of /dev/nbdN; -1 = the one a former run left (id), else the first free one; given: the
	 * one taken */
	int index;
	uint64_t size;  /* bytes */
	uint32_t block; /* 512 … 4096 */
	uint16_t flags; /* NBD_FLAG_*, as nbd_server_flags() gives them */
	const int *fds; /* connected sockets; the kernel keeps references of its own */
	/* offered to a device that exists; given to a new one, of these */
	unsigned nfds, connections;
	/* A request unanswered for so long takes its connection down with it and goes out again
	 * over another. 0 = the kernel waits for as long as the connection lives; that needs a
	 * device of one connection (Linux 6.12, nbd_xmit_timeout()). */
	uint32_t timeout_s;
	/* timeout_s 0: how soon a request that went down with its connection goes out again over
	 * the next one */
	uint32_t resend_s;
	uint32_t dead_s;     /* requests are held this long while no connection lives */
	uint32_t longest;    /* bytes of a request; 0 = as the driver likes */
	uint32_t timeout_ms; /* for the kernel to answer one call; 0 = as long as it takes */
	/* the device's backend identifier (Linux 5.14): a process started again takes its device
	 * over by it; NULL = never */
	const char *id;
	/* given: the device existed and was offered the sockets: it takes as many as it has dead
	 * connections, perhaps none */
	bool recovered;
};
int kernel_nbd_ready(int root, struct diag *); /* loads the driver */
/* Connects, or gives new sockets to, the device: it can be opened when this returns. */
int kernel_nbd_connect(int root, struct kernel_nbd *, struct diag *);
/* What a new device still needs and only /sys takes, `longest` and `resend_s`. Waits for requests
 * in flight: once the sockets are served. */
void kernel_nbd_tune(int root, const struct kernel_nbd *);
/* New sockets (fds) for the connections of device `index` that are dead. -ENODEV: it was
 * disconnected. */
int kernel_nbd_renew(const struct kernel_nbd *, struct diag *);
int kernel_nbd_resize(const struct kernel_nbd *, struct diag *); /* index, id, size, block */
/* The backend identifier of a device that is connected, "" = none; -ENOENT: it is not. */
int kernel_nbd_backend(int root, unsigned index, char *text, size_t len);
/* What others wrote to it is on its disk, then it is gone. -EBUSY with those named who hold it or
 * have it open, and -ETIMEDOUT when it does not take what is to be written: it stays. `force`: no
 * questions asked. With an id only the device that has it: another is none. */
int kernel_nbd_disconnect(
	int root, unsigned index, const char *id, bool force, uint32_t timeout_ms, struct diag *);

/* For a process behind a local block device: it must not need that device to free memory or to end,
 * and must outlive the switch from initramfs to root. Leaves the mount namespace, and in its own
 * one what may be mounted from such a device; oom_score_adj -1000; sets PR_SET_IO_FLUSHER; locks
 * memory; marks argv[0] (program_invocation_name) with '@' as systemd's root storage daemons are.
 * Call it before threads are started, which inherit, and after files were opened by name. What was
 * refused is told in diag as one line; never fatal. mounts, given: it has a namespace of its own.
 */
int kernel_survive(int root, char *argv0, bool *mounts, struct diag *);
/* In that namespace only, when no more files are opened by name: leaves all that is mounted from a
 * device or server, which to unmount elsewhere would end nothing as long as it is mounted here.
 * What the file `keep` is on stays (NULL: none). */
void kernel_leave_mounts(int root, const char *keep);
/* For a process that was forked to live on with the kernel alone, whatever becomes of the system it
 * was started in: another session, no standard input and output, no descriptor but 0 to 2 and those
 * to keep (`root` among them), the name "@name" in the list of processes and no environment,
 * kernel_survive(), kernel_leave_mounts(), and then a root directory of its own with sysfs and
 * proc. Its descriptor; `root` itself where that is refused, which diag tells. */
int kernel_stand_alone(int root, const char *name, const int *keep, unsigned count, struct diag *);

/* Management datagrams from userspace (ib_umad): loads the module; which part is missing. */
int kernel_umad_ready(int root, struct diag *);
uint64_t kernel_umad_names(int root); /* another number when other devices are there */

/* A connection of the kernel's SRP initiator. */
struct kernel_srp {
	char host[24]; /* "host6" */
	uint64_t id_ext, ioc_guid;
	bool by_cm; /* by RDMA/CM: then not the three below */
	uint64_t service_id;
	uint8_t dgid[16];
	uint16_t pkey;
	char dev[64];  /* "" when the kernel does not say */
	unsigned port; /* 0 as well */
};
int kernel_srp_list(int root, struct kernel_srp **, unsigned *count, struct diag *); /* free() it */
/* Which of them is connected as `want` says (but host); what the kernel does not tell of one counts
 * as equal. NULL = none. */
const struct kernel_srp *kernel_srp_find(
	const struct kernel_srp *, unsigned count, const struct kernel_srp *want, bool any_pkey);
/* The same without a list, for one: by which host; "" = by none. */
bool kernel_srp_connected(int root, const struct kernel_srp *want, bool any_pkey, char host[24]);
/* bytes of immediate data ib_srp sends; 0 = none, or not loaded */
uint32_t kernel_srp_imm_data(int root);
int kernel_srp_ready(int root, struct diag *); /* loads ib_srp */
/* The rules file, or the default one, whose text is NULL when there is none; free() it. `name` is
 * what to call it. `again`: it was read before, and must be a file that has not changed by that:
 * -ESPIPE. Then it does not block. */
int kernel_srp_rules(int root, const char *file, bool again, char *name, size_t name_len,
	char **text, size_t *len, struct diag *);
/* The lock of a port, the one that srp_daemon (rdma-core) takes too: a descriptor that holds it as
 * long as it is open. -EBUSY: the holder is named. -EROFS, -ENOENT …: there is no place for one. */
int kernel_srp_lock(int root, const char *dev, unsigned port, struct diag *);

/* One login of the kernel's initiator. Writing to add_target blocks until it has succeeded or
 * failed, so a process of its own does it. The kernel takes one at a time for each port. */
#define KERNEL_SRP_LEFT 4
struct kernel_srp_add { /* embedded in its owner, who sets the first part; zeroes else */
	/* Once, from the loop. 0: connected. -EEXIST: it was so already. Else the reason as the
	 * kernel's log tells it. */
	void (*done)(struct kernel_srp_add *, int err, struct diag *);
	struct loop *loop;
	char *words; /* NULL, or where the kernel's lines about it go */
	size_t words_len;
	/* kernel's own */
	struct child_call call;
	struct kernel_log log;
	uint32_t timeout_ms;
};
int kernel_srp_add_start(int root, struct kernel_srp_add *, const char *dev, unsigned port,
	const char *line, uint32_t timeout_ms, struct diag *);
/* no `done` any more; allowed when not started */
void kernel_srp_add_stop(struct kernel_srp_add *);
