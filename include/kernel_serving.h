/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Status reports of running serve and export processes. Each process listens on an abstract unix
 * socket "rdmastor/PID" in its network namespace, which needs no file and vanishes with the
 * process. It sends one JSON document per connection, to root and to its own user only. Over
 * another socket, "rdmastor/PID/control", it takes commands from them. */
#pragma once
#include "kernel_disk.h"
#include "loop.h"
#include "uri.h"
#include <sys/types.h>

#define SERVING_COMMAND 64   /* bytes of a command, with its final zero */
#define SERVING_RESULT  256  /* of its result */
#define SERVING_STARTS  "\n" /* the document of a process that is not ready: it is left out */

/* The reporting side, on its loop. Each connection gets one send() that never blocks and is closed;
 * then the socket pauses for some milliseconds, so that callers can't keep the loop busy. */
struct kernel_report {
	/* returns the document, which is freed after it was sent; NULL: out of memory */
	char *(*text)(void *user, size_t *len);
	/* executes a command of a caller; NULL: none are taken */
	int (*command)(void *user, const char *command, char result[SERVING_RESULT], struct diag *);
	void *user;
	struct loop *loop;
	struct loop_fd fd;
	struct loop_timer pause;
	struct loop_fd control, caller; /* of commands, one caller at a time; caller.fd -1: none */
	struct loop_timer limit;        /* of a caller, or of the pause after it */
	uid_t allowed[2]; /* besides root: real and effective user at kernel_report_owner() */
	bool on, controlled;
};
void kernel_report_owner(struct kernel_report *); /* Record the user; call before changing it. */
/* Start listening; the caller has set text and user. */
int kernel_report_start(struct kernel_report *, struct loop *, struct diag *);
void kernel_report_stop(struct kernel_report *); /* allowed when not started */

#define SERVING_HOSTS 256 /* hosts or NBD clients in a report, which must fit into a socket */

#define SERVING_UNKNOWN UINT64_MAX
/* The reading side. "", 0 and SERVING_UNKNOWN: not reported. */

/* How a disk, or one path to it, can be reached. */
struct serving_state {
	char word[8];                          /* up, lost, failed */
	double lost_seconds, fails_in_seconds; /* -1: not reported; never fails */
	char reason[16];                       /* code word, unless it is up */
};
#define SERVING_STATE_TEXT 64
/* Print the state as "lost 12 s, I/O fails in 48 s". */
const char *kernel_serving_state_text(const struct serving_state *, char text[SERVING_STATE_TEXT]);
/* Print the JSON members state, lost_seconds, fails_in_seconds and reason. */
void kernel_serving_put_state(struct out *, const struct serving_state *);

struct serving_path {
	char uri[URI_MAX];
	struct serving_state state;
	double retry_in_seconds; /* until the next attempt to connect; -1: none is scheduled */
	char access[20];         /* state of its ANA or target port group */
	uint64_t group;          /* its number */
	bool preferred;          /* by the URI */
	uint64_t requests;       /* sent over it since the disk was opened */
};
/* Print a line for each of `count` paths of a disk that have a state; not for one that is the only
 * one and up. Of several, the lines have the shares of the requests, as far as they are known.
 * before: an earlier sample of the same paths, or NULL: the shares since then. */
void kernel_serving_path_lines(struct out *, const struct serving_path *, unsigned count,
	const struct serving_path *before);
/* Print the JSON members of a path. */
void kernel_serving_put_path(struct out *, const struct serving_path *);

struct serving_disk {
	char uri[URI_MAX], subnqn[256], target[256], name[520], device[80];
	char policy[12]; /* which of several paths carries a request: failover, … */
	struct serving_state state;
	struct serving_path *path;
	unsigned paths;
	struct holders holders;
	unsigned nsid;
	uint64_t lun;
	uint64_t size, block_size;
	bool read_only;
};

/* A connected NVMe host. */
struct serving_host {
	char hostnqn[256], subnqn[256], traddr[ADDR_TEXT];
	char security[48]; /* as in serve.status.json */
	char tls_version[8], tls_cipher[40], tls_identity[580];
};

/* A connection of an NBD client. */
struct serving_nbd_client {
	char name[520]; /* of the export */
	char transport[8], traddr[ADDR_TEXT], trsvcid[8];
	uint64_t pid, uid; /* on a unix socket */
	char security[48]; /* as in export.status.json */
	char tls_version[8], tls_cipher[40], tls_identity[580];
};

/* One protocol by which a process offers its disks. */
struct serving_front {
	char protocol[16]; /* nvme, nbd, ublk */
	uint64_t clients, refused, queues, connections;
	uint64_t reads, writes, read_bytes, written_bytes, errors;
	uint64_t read_rate, written_rate; /* bytes per second, of the last seconds */
	struct serving_disk *disk;
	struct serving_listener *listener;
	struct serving_host *host;
	struct serving_nbd_client *nbd_client;
	unsigned disks, listeners, hosts, nbd_clients;
	uint64_t hosts_left_out, nbd_clients_left_out; /* connected, but not in the report */
};

struct serving_process {
	int pid;
	unsigned uid;    /* both are the kernel's; UINT32_MAX: unknown */
	char applet[32]; /* serve, export */
	double seconds;  /* since it was ready */
	bool stopping;
	struct diag why; /* err: it did not answer */
	struct serving_front *front;
	unsigned fronts;
};

struct kernel_serving {
	struct serving_process *process; /* by pid */
	unsigned processes;
	unsigned left_out; /* processes of other users, beyond the first 64 */
};
/* Query all processes in parallel; runs the loop for at most timeout_ms. A process is left out if
 * its socket belongs to another one (forged name, other PID namespace); one that does not answer is
 * listed with the reason. Call kernel_serving_free(), also after a failure. */
int kernel_serving(
	int root, struct loop *, uint32_t timeout_ms, struct kernel_serving *, struct diag *);
/* Query only processes of root and of this user. Use it for everything except display: any process
 * may report anything, and acting on a report lends it the caller's authority. */
int kernel_serving_trusted(
	int root, struct loop *, uint32_t timeout_ms, struct kernel_serving *, struct diag *);
void kernel_serving_free(struct kernel_serving *);
/* Send a command to a process of root or of this user, and wait for its result, at most timeout_ms
 * (0: no limit). Fails with -ESRCH if no such process takes commands. */
int kernel_serving_command(int pid, const char *command, uint32_t timeout_ms,
	char result[SERVING_RESULT], struct diag *);
