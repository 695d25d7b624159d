/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The box: runs a program as if on a node of a simulated fabric. What the kernel would do for it,
 * ib_umad, ib_srp and sysfs, is done here on its system calls; the wire is the socket of a
 * simulator. */
#pragma once
#include "ibsim.h"
#include "wire/mad.h"
#include <linux/seccomp.h>
#include <rdma/ib_user_mad.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#define BOX_PORTS  4
#define BOX_FILES  32
#define BOX_FD     900 /* the program sees our files as descriptors from here on */
#define BOX_AGENTS 32  /* a file; IB_UMAD_MAX_AGENTS */
#define BOX_PATH   512

/* --- the simulator: box_sim.c */
struct sim_queue {
	struct sim_queued *head, **tail;
};
struct sim {
	int ctl, data;
	/* qpn stands for queue pair 1 of this client, unless it is the one that gets all requests
	 */
	uint32_t client, qpn;
	bool issm;
	struct sim_queue in, out;
};
/* or ends the program */
void sim_attach(struct sim *, const char *base, const char *node, uint32_t id, bool issm);
void sim_detach(struct sim *);
int sim_ask(struct sim *, enum sim_ctl_type, void *data, size_t len); /* the answer replaces data */
void sim_set_issm(struct sim *, bool);
void sim_put(struct sim *, const struct sim_packet *);
void sim_flush(struct sim *); /* what could not be sent yet */
void sim_drain(struct sim *);
bool sim_get(struct sim *, struct sim_packet *);

/* --- a port of the machine: box_sys.c, box_caps.c */
struct port {
	struct sim sim;
	unsigned number; /* N of umadN and ibsimN */
	uint8_t pkeys[64];
	struct node_info node;
	struct port_info info;
	uint64_t read_ms; /* when info was read */
};

struct caps_entry {
	uint64_t guid;
	uint32_t mask;
};
struct caps_route { /* what was seen at the end of a directed route */
	uint8_t hops, hop[SMP_HOPS_MAX + 1];
	uint64_t guid;
	uint16_t lid;
};
struct caps { /* bits that are or-ed into the capability masks this program reads of ports */
	const char *path; /* of a file with lines "GUID MASK", read again whenever it changed */
	struct timespec mtime;
	struct caps_entry *entry;
	struct caps_route *route;
	unsigned entries, fixed, routes;
};
void caps_add(struct caps *, const char *word); /* "GUID=MASK" or "@FILE" */
void caps_apply(struct caps *, struct sim_packet *);

/* --- files of ib_umad and ib_srp: box_file.c, box_umad.c, box_srp.c */
enum file_kind { FILE_UMAD, FILE_ISSM, FILE_ADD_TARGET };

struct packet { /* received, not read yet */
	struct packet *next;
	struct ib_user_mad_hdr hdr;
	size_t len;
	bool timed_out; /* a request of the program, given back */
	uint8_t mad[];
};

struct agent {
	bool used, rmpp;
	uint8_t mgmt_class, version, oui[3];
	uint32_t qpn, hi_tid;
	uint64_t methods[2];
};

struct file {
	bool used, pkey_index, settled;
	enum file_kind kind;
	struct port *port;
	/* the program holds the other end: it is readable while there are packets, and gone when
	 * the program closed it */
	int pipe;
	struct agent agent[BOX_AGENTS];
	struct packet *head, **tail;
	bool reading; /* the program waits in the read below */
	struct seccomp_notif read;
};

/* --- requests that wait for their answers: box_sent.c */
struct sent {
	struct sent *next;
	struct file *file;
	unsigned agent;
	uint64_t tid, due_ms;
	uint32_t timeout_ms, retries;
	struct ib_user_mad_hdr hdr;
	struct { /* of an answer in segments */
		uint8_t *data;
		size_t len, room;
		uint32_t segment, window; /* the last one there; the last one the sender may send */
	} rx;
	size_t len;
	uint8_t mad[];
};

struct box {
	struct port port[BOX_PORTS];
	struct file file[BOX_FILES];
	struct sent *sent;
	struct caps caps;
	struct counter *counter;
	unsigned ports, counters, hosts;
	uint32_t hi_tid;
	bool instant;      /* requests to no receiver fail at once, not after their timeout */
	int listener, sys; /* sys: the program's /sys/class */
	FILE *log;
};

/* < 0: none of ours */
int file_open(struct box *, const struct seccomp_notif *, const char *path, int flags);
/* of the call's descriptor; NULL: none of ours */
struct file *file_of(struct box *, const struct seccomp_notif *);
void file_reap(struct box *); /* those the program has closed, in whatever way */
bool file_nonblocking(const struct seccomp_notif *);
void file_readable(const struct file *, bool);

void umad_read(struct box *, struct file *, const struct seccomp_notif *);
void umad_write(struct box *, struct file *, const struct seccomp_notif *);
void umad_ioctl(struct box *, struct file *, const struct seccomp_notif *);
void umad_deliver(struct box *, struct file *, unsigned agent, const struct packet *like,
	const void *mad, size_t len);
void umad_release(struct box *, struct file *);
void umad_received(struct box *, struct port *, struct sim_packet *);

int srp_add_target(struct box *, struct port *, char *line); /* 0 or -errno, as ib_srp answers */

void sys_make(struct box *);
void sys_refresh(struct box *);
void sys_write(int dir, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

struct sent *sent_new(struct box *, struct file *, unsigned agent, const struct ib_user_mad_hdr *,
	const uint8_t *mad, size_t len);
struct sent *sent_find(struct box *, uint64_t tid, uint8_t mgmt_class);
void sent_transmit(struct box *, struct file *, const struct agent *,
	const struct ib_user_mad_hdr *, const uint8_t *mad, size_t len);
bool sent_segment(struct sent *, const struct mad_hdr *); /* true: it was the last, rx is whole */
void sent_free(struct box *, struct sent *);
void sent_forget(struct box *, const struct file *, int agent); /* -1: all agents */
void sent_expire(struct box *, struct sent *);
uint64_t sent_timers(struct box *); /* when it wants to be called again, or UINT64_MAX */

/* --- RMPP: box_rmpp.c */
bool rmpp_class(uint8_t mgmt_class);
size_t rmpp_header(uint8_t mgmt_class); /* bytes in front of the data, in each segment */
bool rmpp_active(const void *mad);
bool rmpp_is_data(const struct mad_hdr *);
void rmpp_ack(uint8_t ack[MAD_LEN], const struct mad_hdr *of, uint32_t segment, uint32_t window);
/* Segment `number` of a message; the number of segments there are. */
unsigned rmpp_cut(uint8_t segment[MAD_LEN], const uint8_t *mad, size_t len, unsigned number);

/* --- the program: box_child.c, box_mem.c */
pid_t child_start(struct box *, char **argv);
void mem_answer(struct box *, const struct seccomp_notif *, int64_t value, int err);
void mem_pass(struct box *, const struct seccomp_notif *);  /* the kernel does it */
bool mem_alive(struct box *, const struct seccomp_notif *); /* still in that call */
bool mem_read(const struct seccomp_notif *, uint64_t from, void *, size_t);
bool mem_write(const struct seccomp_notif *, uint64_t to, const void *, size_t);
/* what write or writev writes; -errno */
ssize_t mem_gather(const struct seccomp_notif *, void *, size_t room);
void mem_path(const struct seccomp_notif *, char path[BOX_PATH]); /* of open or openat, absolute */

/* --- box.c */
uint64_t now_ms(void);
void count_mad(struct box *, const char *direction, const uint8_t *mad);
void box_log(struct box *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void box_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
