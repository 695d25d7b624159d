/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attach through the kernel: one shape for every initiator and mount, asynchronous on the caller's
 * loop. An attachment goes find -> ready -> dial -> wait -> done; after a failure or a cancel it
 * goes users -> undo -> done, and so does a detach. Any number run at once. A protocol is a row of
 * functions (struct attach_proto); what waits, retries and rolls back is here alone. */
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

/* find, ready, dial and undo end with attach_step(), whenever that is: inside the call, too. Each
 * is bound by attach.until on its own (children have a deadline); two seconds later the frame stops
 * it. A step that failed has set attach.why. */
struct attach_proto {
	/* SUBSYSTEMs of uevents after which look() is worthwhile, besides "block": "nvme" */
	const char *events;
	/* the applet that ends a connection, for hints: "iser-logout"; NULL: none is named */
	const char *detached_by;
	/* The kernel takes one dial at a time: on each loop attachments of this row, once they are
	 * ready, dial in turn, and the time of an attempt begins with its turn. */
	bool in_turn;
	/* NULL, or the number of the queue: those of different queues dial at once. */
	uint64_t (*queue)(const struct attach *);
	/* Look up what the owner left out. Any number at once, before their turn. NULL: nothing
	 * to look up. */
	void (*find)(struct attach *);
	/* Modules, device nodes, an RDMA device, keys. NULL: nothing to prepare. */
	void (*ready)(struct attach *);
	/* Connect, log in, mount. Sets attach.made once there is something to undo. */
	void (*dial)(struct attach *);
	/* Name each disk that must open with attach_disk(). Return 1 if all of them exist, 0 if not
	 * yet, or -errno with attach.why set if they never will. Reads sysfs only. Called after
	 * uevents, attach_look() and by a timer. NULL: nothing to wait for. */
	int (*look)(struct attach *);
	/* Set attach.why at the deadline: what is missing. NULL: the frame's words. */
	void (*late)(struct attach *);
	/* Find the users of what this attachment made. Runs in a child that is ended after two
	 * seconds: what it has found by then counts, but nothing found is not enough to undo
	 * anything, unless the row has set `enough`. NULL: there can be no users. */
	void (*users)(const struct attach *, int root, struct attach_users *);
	/* Undo what this attachment made: disconnect, log out, unmount. why is free for its own
	 * failure: after a failed attach the frame keeps the first one. */
	void (*undo)(struct attach *);
	/* Drop what is in flight in find, ready, dial, look or undo, without attach_step(). */
	void (*stop)(struct attach *);
	/* NULL, or the attempt is over: let go what was held for it. May be called again. */
	void (*release)(struct attach *);
};

/* Of several addresses of a TCP port, keep the one that answers (addr_settle()). False: there is
 * only one; true: `done` follows, also where none does, and then all are kept. */
struct attach_reach {
	void (*done)(struct attach_reach *);
	struct addr *addr;
	struct stream *stream;
};
bool attach_reach_start(struct attach_reach *, struct loop *, struct addr *, uint32_t timeout_ms);
void attach_reach_stop(struct attach_reach *); /* no `done` any more; allowed when not started */

#define ATTACH_USERS 400
struct attach_users {
	char text[ATTACH_USERS]; /* "sda1 mounted on /mnt"; "" = none */
	bool enough;             /* all that must be searched was: the rest may time out */
};

struct attach { /* embedded first in the protocol's own; zeroed, then set by the owner */
	const struct attach_proto *proto;
	struct loop *loop;
	int root;
	uint64_t deadline; /* of all of it, loop_clock(); 0 = none */
	uint32_t limit_ms; /* of one attempt, from its turn on; 0 = none */
	uint32_t retry_ms; /* pause before another attempt after a failure; 0 = one attempt */
	bool no_wait;      /* done once dialled */
	bool find_only;    /* done once found: a dry run */
	bool own_turn;     /* the owner dials one at a time where the kernel needs that */
	bool force;        /* attach_detach(): even if it is in use */
	/* NULL, or once, from the loop; may free it or start it again */
	void (*done)(struct attach *);
	/* NULL, or before each pause: why has the reason. False: no other attempt. */
	bool (*retrying)(struct attach *);
	void (*note)(struct attach *, const char *text);

	/* The row's */
	uint64_t until; /* bounds the step: given by the frame; 0 = none */
	bool made;      /* by this attachment, to be undone if it fails */
	char what[32];  /* name of it: "nvme2", "host6" */

	/* Filled in: err 0: attached, and every disk opens; after a detach: gone */
	struct diag why;
	char users[ATTACH_USERS]; /* its users, for which it stays; "" = it does not stay */

	/* The frame's */
	uint8_t state;
	bool detaching, cancelled;
	int step;
	uint64_t since, glance; /* glance: until then users may be only looking */
	struct loop_work work;
	struct loop_timer timer;
	struct attach *next; /* in the queues of its row */
	uint64_t queue;
	struct attach *peer; /* that runs, too */
	struct child_call asking;
	struct attach_users found;
	struct attach_load {
		struct child_call call;
		void (*done)(struct attach *, int err);
	} load;
	struct diag first;
	struct attach_wait {
		struct attach *next;
		struct loop_timer timer;
		uint64_t looked;
		uint32_t gap_ms;
		bool again, complete;
		struct attach_disk {
			char name[32];
			bool wanted, opens;
		} * disk;
		unsigned disks;
		struct child_call opening;
		uint8_t *opened;
	} wait;
};
void attach_start(struct attach *);
/* Attach and detach alike: stop, roll back, and then done() with EINTR. */
void attach_cancel(struct attach *);
/* At once and without rollback or done(): the owner is about to free it. Any time. */
void attach_drop(struct attach *);
/* users -> undo -> done of something that exists: `what` and the row's own name it. -EBUSY in why,
 * and users: it is in use, and stays. */
void attach_detach(struct attach *);
/* Start these, unless started (NULL: skip), and run the loop until each is over, and each that is
 * started on this loop until then: done() may start others. SIGINT, SIGTERM or SIGHUP cancels all
 * of them, a second one drops them. Needs: they stay in place until it returns. */
int attach_run(struct loop *, struct attach *const *, unsigned count, struct diag *);
bool attach_is_over(const struct attach *);

/* For rows. The step under way has ended: 0, or -errno with attach.why set. */
void attach_step(struct attach *, int err);
/* The end of a part of the step: in so many milliseconds, or with the step. */
uint64_t attach_bound(const struct attach *, uint64_t ms);
/* Start a child for the step; if that fails, the step ends with that. */
void attach_call(struct attach *, struct child_call *);
/* why of a removal that failed; hint: what else ends it. Return err. */
int attach_not_removed(struct attach *, int err, const char *hint);
/* Load kernel modules. call.fn loads them: in a child unless they are all loaded already. call.out
 * begins with a struct diag for its reason. done() may come inside the call: 0, or -errno with
 * attach.why set. */
void attach_load(struct attach *, const struct child_call *, bool loaded,
	void (*done)(struct attach *, int err));
/* The text of a search that ended with err: "unknown (...)" if it was not finished. For searches
 * of a row's own. */
void attach_users_text(const struct attach_users *, int err, char text[ATTACH_USERS]);
/* Something to print. Details: only if loop_options.verbose is set. */
void attach_note(struct attach *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* What the kernel's log said, a note for each line, if loop_options.verbose is set. */
void attach_note_words(struct attach *, const char *words);
/* In look(): a disk that must open, by its kernel name. */
void attach_disk(struct attach *, const char *name);
/* In late(): the first of those disks that has not opened, "" = none. */
const char *attach_unopened(const struct attach *);
/* Something that look() waits for has changed. */
void attach_look(struct attach *);
/* Whether no device has this name or path: there is nothing to detach. */
bool attach_is_gone(int root, const char *word);
/* Hint at the command that attaches this URI, all encoded, without the kernel's initiator. */
void attach_hint_userspace(const char *uri, struct diag *);

/* The wait for LUNs of a SCSI host, for rows of SCSI initiators. */

struct attach_luns { /* zeroed, then set by the row before attach_step() ends its dial */
	unsigned host;
	uint64_t lun; /* SCSI_LUN_ALL, or the only one to wait for */
	bool scanned; /* expect no more LUNs; otherwise wait until the list settles */

	struct scsi_lun *list; /* filled in; attach_luns_free() */
	unsigned count;

	uint64_t changed; /* private from here */
	unsigned seen;
	char lacks[64];
};
/* The row's look(): -ENOENT: no such LUN, or no LUN at all; -ENODEV: the host is gone. */
int attach_luns_look(struct attach *, struct attach_luns *);
void attach_luns_late(struct attach *, struct attach_luns *); /* the row's late() */
void attach_luns_free(struct attach_luns *);
