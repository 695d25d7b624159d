/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attach through the kernel: one state machine for every initiator and mount, asynchronous on the
 * caller's loop: find -> ready -> connect -> wait -> done. After a failure or a cancel, and to
 * detach: users -> undo -> done. Any number run at once. A protocol is a row of functions (struct
 * attach_proto); only the frame waits, retries and rolls back. */
#pragma once
#include "child.h"
#include "diag.h"
#include "kernel_scsi.h"
#include "loop.h"
#include "uri.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attach;
struct attach_users;

/* All functions run on the loop of the attachment, except users(). find, ready, connect and undo
 * each end with one attach_step(), which may be called before they return. They limit themselves
 * to attach.until; the frame stops them two seconds later. On failure they set attach.why. */
struct attach_proto {
	/* SUBSYSTEMs of uevents that trigger poll(), besides "block": "nvme nvme-subsystem" */
	const char *events;
	/* the applet that ends a connection, for hints: "iser-logout"; NULL: no hint */
	const char *detached_by;
	/* Of the ready attachments of one loop and queue, connect one at a time. limit_ms begins
	 * when it is this one's turn. */
	bool serialized;
	/* Return the id of the queue for `serialized`. NULL: one queue. */
	uint64_t (*queue)(const struct attach *);
	/* Look up what the owner left out. Runs in parallel with others. May be NULL. */
	void (*find)(struct attach *);
	/* Prepare modules, device nodes, RDMA devices and keys. May be NULL. */
	void (*ready)(struct attach *);
	/* Connect, log in or mount. Set attach.made once there is something to undo. */
	void (*connect)(struct attach *);
	/* Name each disk that must open with attach_disk(). Return 1 if all of them exist, 0 if
	 * not yet, -errno with attach.why set if they never will. Must not block: read sysfs only.
	 * Called after uevents, attach_schedule_poll() and by a timer. NULL: do not wait. */
	int (*poll)(struct attach *);
	/* Set attach.why when poll() has not succeeded by the deadline. NULL: "timed out". */
	void (*set_timeout_error)(struct attach *);
	/* Find the users of what this attachment made. Runs in a child with a limit of two seconds;
	 * users found until then count. If it times out without one, nothing is undone unless
	 * `enough` is set. NULL: no users are possible. */
	void (*users)(const struct attach *, int root, struct attach_users *);
	/* Disconnect, log out or unmount what this attachment made. Set attach.why on failure; the
	 * frame restores the first error afterwards. */
	void (*undo)(struct attach *);
	/* Cancel whatever is in flight, in any state. Do not call attach_step(). */
	void (*stop)(struct attach *);
	/* Release the resources of an attempt that has ended. May be called twice. May be NULL. */
	void (*release)(struct attach *);
};

/* Choose among several addresses of a host by connecting over TCP (addr_keep_peer()). */
struct attach_reach {
	void (*done)(struct attach_reach *); /* from the loop; the owner sets it */
	struct addr *addr;
	struct stream *stream;
};
/* Return false if there is one address only, or on error: done() is not called. Otherwise done()
 * follows within timeout_ms; if no address answers, *addr keeps all of them. */
bool attach_reach_start(struct attach_reach *, struct loop *, struct addr *, uint32_t timeout_ms);
void attach_reach_stop(struct attach_reach *); /* cancel without done(); any time */

#define ATTACH_USERS 400
struct attach_users {
	char text[ATTACH_USERS]; /* "sda1 mounted on /mnt"; "" = none */
	bool enough;             /* the required part of the search is complete */
};

struct attach { /* embedded first in the protocol's struct; zeroed, then set by the owner */
	const struct attach_proto *proto;
	struct loop *loop;
	int root;
	uint64_t deadline;     /* of all attempts, loop_clock(); 0 = none */
	uint32_t limit_ms;     /* of one attempt; 0 = none */
	uint32_t retry_ms;     /* pause between attempts; 0 = one attempt */
	bool no_wait;          /* end after connect: do not wait for disks */
	bool find_only;        /* end after find: a dry run */
	bool owner_serializes; /* the owner connects one at a time: ignore proto->serialized */
	bool force;            /* undo even if it is in use */
	/* Called once at the end, from the loop or inside attach_cancel(). May free or restart the
	 * attachment. May be NULL. */
	void (*done)(struct attach *);
	/* Called before each pause, with the error in why. Return false to give up. May be NULL. */
	bool (*retrying)(struct attach *);
	void (*note)(struct attach *, const char *text); /* print; may be NULL */

	/* For the row. */
	uint64_t until; /* limit of the step, set by the frame; 0 = none */
	bool made;      /* there is something to undo */
	char what[32];  /* its kernel name: "nvme2", "host6" */

	/* Results. why.err 0: attached, and every disk opens; after a detach: removed. */
	struct diag why;
	char users[ATTACH_USERS]; /* why a connection was not undone; "" = it was undone */

	/* Private. */
	uint8_t state;
	bool detaching, cancelled;
	int step;
	uint64_t since, probe_grace_until; /* until then udev may hold new disks open */
	struct loop_work work;
	struct loop_timer timer;
	struct attach *next; /* in the queues of its row */
	uint64_t queue;
	struct attach *next_running; /* of attach_run() */
	struct child_call users_call;
	struct attach_users found;
	struct attach_load {
		struct child_call call;
		void (*done)(struct attach *, int err);
	} load;
	struct diag first;
	struct attach_wait {
		struct attach *next;
		struct loop_timer timer;
		uint64_t polled_at;
		uint32_t gap_ms;
		bool poll_again, complete;
		struct attach_disk {
			char name[32];
			bool named, opens; /* named by the last poll() */
		} * disk;
		unsigned disks;
		struct child_call opening;
		uint8_t *opened;
	} wait;
};
void attach_start(struct attach *);
/* Stop an attachment or a detach, and roll back the former. why is EINTR. done() may be called
 * before this returns. */
void attach_cancel(struct attach *);
/* Stop at once, without rollback or done(). Any time; afterwards the owner may free it. */
void attach_drop(struct attach *);
/* Remove an existing connection, which `what` and fields of the row name. -EBUSY in why, with
 * `users`: in use and left alone. */
void attach_detach(struct attach *);
/* Start those of the list that are not started (NULL: skip), and run the loop until these and all
 * others started on this loop have ended. The first SIGINT, SIGTERM or SIGHUP cancels all of them,
 * the second drops them. The attachments must not move. Return 0, or -errno with diag if signals
 * could not be caught or memory is short. */
int attach_run(struct loop *, struct attach *const *, unsigned count, struct diag *);
bool attach_is_done(const struct attach *);

/* ---- For rows. */

/* End the step with 0, or with -errno and attach.why set. The next one starts from the loop. */
void attach_step(struct attach *, int err);
/* Return the earlier of the step's limit and now + ms. */
uint64_t attach_limit(const struct attach *, uint64_t ms);
/* Start a child; if that fails, end the step with the error. */
void attach_call(struct attach *, struct child_call *);
/* Set why of a failed removal. hint: for -ETIMEDOUT, how else it ends. Return a negative errno. */
int attach_not_removed(struct attach *, int err, const char *hint);
/* Load kernel modules with call.fn: in a child, or directly if all are loaded already. call.out
 * begins with a struct diag for the error. done() is called with 0, or -errno and attach.why set;
 * maybe before this returns. */
void attach_load(struct attach *, const struct child_call *, bool loaded,
	void (*done)(struct attach *, int err));
/* Describe the users found by a search that ended with err: "unknown (...)" if it is incomplete. */
void attach_users_text(const struct attach_users *, int err, char text[ATTACH_USERS]);
/* Pass text to note(). Pass details only if loop_options.verbose is set. */
void attach_note(struct attach *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Note each line of the kernel's log, if loop_options.verbose is set. */
void attach_note_log(struct attach *, const char *log);
/* Called by poll(): this disk must open. name: as in /dev. */
void attach_disk(struct attach *, const char *name);
/* Called by set_timeout_error(): return the first disk that has not opened, "" = none. */
const char *attach_unopened(const struct attach *);
/* Have poll() called soon. */
void attach_schedule_poll(struct attach *);
/* Return true if no device has this name or path, so that there is nothing to detach. */
bool attach_is_gone(int root, const char *word);
/* Hint at the command that attaches this URI (encoded) without the kernel's initiator. */
void attach_hint_userspace(const char *uri, struct diag *);

/* ---- For rows of SCSI initiators: wait for the LUNs of a host. */

struct attach_luns { /* zeroed, then set before attach_step() ends connect */
	unsigned host;
	uint64_t lun; /* SCSI_LUN_ALL, or the only one to wait for */
	bool scanned; /* expect no more LUNs; otherwise wait until the list settles */

	struct scsi_lun *list; /* filled in; attach_luns_free() */
	unsigned count;

	uint64_t changed_at; /* private from here */
	unsigned last_count;
	char missing[64];
};
/* The row's poll(). -ENOENT: no such LUN, or no LUN at all; -ENODEV: the host was removed. */
int attach_luns_poll(struct attach *, struct attach_luns *);
void attach_luns_timeout_error(struct attach *, struct attach_luns *);
void attach_luns_free(struct attach_luns *);
