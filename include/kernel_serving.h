/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Status reports of running serve and export processes. Each process listens on an abstract unix
 * socket "rdmastor/PID" in its network namespace, which needs no file and vanishes with the
 * process. It sends one JSON document per connection, to root and to its own user only. */
#pragma once
#include "diag.h"
#include "kernel_disk.h"
#include "loop.h"
#include "uri.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The reporting side. Each connection gets one send() that never blocks and is closed; then the
 * socket pauses for some milliseconds, so that callers can't keep the loop busy. */
struct kernel_report {
	/* the document; freed after it was sent. NULL: no memory */
	char *(*text)(void *user, size_t *len);
	void *user;
	struct loop *loop;
	struct loop_fd fd;
	struct loop_timer rest;
	uid_t allowed[2]; /* besides root: real and effective user at kernel_report_owner() */
	bool on;
};
void kernel_report_owner(struct kernel_report *); /* Record the user; call before changing it. */
/* text and user are set */
int kernel_report_start(struct kernel_report *, struct loop *, struct diag *);
void kernel_report_stop(struct kernel_report *); /* allowed when not started */

/* The reading side. "", 0 and UNKNOWN: not reported. */
#define SERVING_UNKNOWN UINT64_MAX
struct serving_listener {
	char transport[8]; /* rdma, tcp, unix */
	char traddr[ADDR_TEXT], trsvcid[8], service_id[17], path[ADDR_TEXT];
	bool iwarp; /* of rdma: software iWARP only */
};

/* How a disk, or one path to it, can be reached. */
struct serving_state {
	char word[8];                          /* up, lost, failed */
	double lost_seconds, fails_in_seconds; /* -1: not reported; it does not fail */
	char reason[16];                       /* code word, of what is not up */
};
#define SERVING_STATE_TEXT 64
/* "lost 12 s, I/O fails in 48 s" */
const char *kernel_serving_state_text(const struct serving_state *, char text[SERVING_STATE_TEXT]);
/* A line for a path that is not up. */
void kernel_serving_path_line(
	struct out *, unsigned number, const char *uri, const struct serving_state *);
/* JSON members: state, lost_seconds, fails_in_seconds, reason. */
void kernel_serving_put_state(struct out *, const struct serving_state *);

struct serving_path {
	char uri[URI_MAX];
	struct serving_state state;
};

struct serving_disk {
	char uri[URI_MAX], subnqn[256], target[256], name[520], device[80];
	struct serving_state state;
	struct serving_path *path;
	unsigned paths;
	struct holders holders;
	unsigned nsid;
	uint64_t lun;
	uint64_t size, block_size;
	bool read_only;
};

/* One way in which a process offers its disks. */
struct serving_front {
	char protocol[16]; /* nvme, nbd, ublk */
	uint64_t clients, refused, queues, connections;
	uint64_t reads, writes, read_bytes, written_bytes, errors;
	uint64_t read_rate, written_rate; /* bytes per second, of the last seconds */
	struct serving_disk *disk;
	struct serving_listener *listener;
	unsigned disks, listeners;
};

struct serving_process {
	int pid;
	unsigned uid;    /* both by the kernel; UINT32_MAX: unknown */
	char applet[32]; /* serve, export */
	double seconds;  /* since it was ready */
	bool stopping;
	struct diag why; /* err: it gave no answer */
	struct serving_front *front;
	unsigned fronts;
};

struct kernel_serving {
	struct serving_process *process; /* by pid */
	unsigned processes;
	unsigned left_out; /* processes of other users, beyond the first 64 */
};
/* Asks all of them at once, on the loop, which it runs for at most timeout_ms. A process whose
 * socket is another's (a forged name, a process of another PID namespace) is left out; one that
 * does not answer is listed with the reason. */
int kernel_serving(
	int root, struct loop *, uint32_t timeout_ms, struct kernel_serving *, struct diag *);
/* The same, of root's processes and this user's only: any process may claim anything, and acting on
 * it gives it the caller's authority. For all but display. */
int kernel_serving_trusted(
	int root, struct loop *, uint32_t timeout_ms, struct kernel_serving *, struct diag *);
bool kernel_serving_is_trusted(const struct serving_process *);
void kernel_serving_free(struct kernel_serving *);
void kernel_serving_clear(struct serving_process *);
