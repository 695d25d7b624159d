/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What an attachment needs of its protocol: a row of functions (struct attach_proto), and what rows
 * call. Only the frame waits, retries and rolls back. All of it runs on the attachment's loop. */
#pragma once
#include "attach.h"

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
	/* Look up what the owner left out, after the name. Runs in parallel with others. May be
	 * NULL. */
	void (*find)(struct attach *);
	/* Prepare modules, device nodes, RDMA devices and keys. Called for each address. May be
	 * NULL. */
	void (*ready)(struct attach *);
	/* Connect, log in or mount. Set attach.made once there is something to undo. If a name has
	 * several addresses, attach.until is this one's share of the time. */
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
	/* Before undo(): remove the multipath maps over what this attachment made, which have no
	 * users; with `force` let their pending I/O fail. Runs in a child. Returns 0, or -errno and
	 * the diag set: then nothing is undone. May be NULL. */
	int (*flush)(const struct attach *, int root, struct diag *);
	/* Disconnect, log out or unmount what this attachment made. Set attach.why on failure; the
	 * frame restores the first error afterwards. */
	void (*undo)(struct attach *);
	/* Cancel whatever is in flight, in any state. Do not call attach_step(). */
	void (*stop)(struct attach *);
	/* Release the resources of an attempt that has ended. May be called twice. May be NULL. */
	void (*release)(struct attach *);
};

/* End the step with 0, or with -errno and attach.why set. The next one starts from the loop. */
void attach_step(struct attach *, int err);
/* Called in connect: the target has answered at this address, so no other one is tried, and `until`
 * is the limit of the attempt. */
void attach_answered(struct attach *);
/* Return the earlier of the step's limit and now + ms. */
uint64_t attach_limit(const struct attach *, uint64_t ms);
/* Start a child with `root` as its descriptor; call->done follows. If that fails, end the step with
 * the error. */
void attach_call(struct attach *, struct child_call *);
/* Set why of a failed removal. hint: for -ETIMEDOUT, how else it ends. Return a negative errno. */
int attach_not_removed(struct attach *, int err, const char *hint);
/* Load kernel modules with call.fn: in a child, or directly if `loaded`, as all are. call.out
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
/* Hint at the command that attaches this URI (encoded) without the kernel's initiator. */
void attach_hint_userspace(const char *uri, struct diag *);

/* The row's poll(). -ENOENT: no such LUN, or no LUN at all; -ENODEV: the host was removed. */
int attach_luns_poll(struct attach *, struct attach_luns *);
void attach_luns_timeout_error(struct attach *, struct attach_luns *);
