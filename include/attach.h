/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attach through the kernel: one state machine for every initiator and mount, asynchronous on the
 * caller's loop: find -> ready -> connect -> wait -> done. After a failure or a cancel, and to
 * detach: users -> undo -> done. Any number run at once. */
#pragma once
#include "child.h"
#include "kernel_scsi.h"
#include "out.h"
#include "resolve.h"
#include "uri.h"

struct attach_proto;

struct attach_group { /* zeroed, then set by the owner */
	/* Called right after done() of the last one: from the loop or inside attach_cancel(). */
	void (*done)(struct attach_group *);
	unsigned pending; /* attachments that have not ended */
};

struct attach_env {             /* of the command; must outlive its attachments */
	struct out_notes notes; /* where progress and warnings go */
	uint32_t timeout_ms;    /* of each attachment that sets none; 0: none */
	bool no_timeout;        /* names too are resolved without a limit */
	bool dry_run;
	bool keep_keys; /* of failed attempts, in the kernel's keyring */
};

#define ATTACH_USERS 400
struct attach_users {
	char text[ATTACH_USERS]; /* "sda1 mounted on /mnt"; "": none */
	bool enough;             /* the required part of the search is complete */
};

struct attach { /* embedded first in the protocol's struct; zeroed, then set by the owner */
	const struct attach_proto *proto;
	struct loop *loop;
	int root;          /* descriptor of "/": kernel_root() */
	uint64_t deadline; /* of all attempts, loop_clock(); 0: none */
	uint32_t limit_ms; /* of one attempt; 0: none */
	uint32_t retry_ms; /* pause between attempts; 0: one attempt. Usage errors end it */
	/* The name of *addr, resolved by find unless *addr is set; NULL: it has no name. */
	const char *host;
	uint16_t port;
	/* Limit of the lookup, and of the choice by TCP. 0: only the limits of the attempt for the
	 * lookup, ADDR_LOOKUP_MS for the choice. */
	uint32_t lookup_ms;
	bool choose_by_tcp;    /* of several addresses take one that answers over TCP, in find */
	bool no_wait;          /* end after connect: do not wait for disks */
	bool find_only;        /* end after find: a lookup, or a dry run; a detach: after `users` */
	bool owner_serializes; /* the owner connects one at a time: ignore proto->serialized */
	bool force;            /* undo even if it is in use */
	/* Called once at the end, from the loop or inside attach_cancel(). May free or restart the
	 * attachment. May be NULL. */
	void (*done)(struct attach *);
	/* Called before each pause, with the error in why. Return false to give up. May be NULL. */
	bool (*retrying)(struct attach *);
	void (*note)(struct attach *, const char *text); /* print; may be NULL */

	/* For the row. */
	/* Where to connect; NULL: not by address. From ready on it is a single address: the frame
	 * keeps the others of its name, and sets the next one until one answers. */
	struct addr *addr;
	uint64_t until, attempt_until; /* limits of the step and the attempt; 0: none */
	bool made;                     /* there is something to undo */
	char what[32];                 /* its kernel name: "nvme2", "host6", or directory */

	/* Results. why.err 0: attached, and every disk opens; after a detach: removed. */
	struct diag why;
	char users[ATTACH_USERS]; /* why a connection was not undone; "": it was undone */

	/* Private. */
	uint8_t state;
	bool detaching, cancelled, answered;
	int step;
	uint64_t left;         /* of limit_ms, in ns, for this and further addresses; 0: no limit */
	struct addr all, rest; /* addresses: of the attempt; the current one and those after it */
	struct addr_failures failures;
	uint64_t since, probe_grace_until; /* until then udev may hold new disks open */
	struct loop_work work;
	struct loop_timer timer;
	struct attach *next; /* in the queues of its row */
	uint64_t queue;
	struct attach *next_running; /* of attach_run() */
	struct attach_group *group;
	struct child_call users_call;
	struct attach_users found;
	struct resolve resolve;
	struct stream *stream; /* choose_by_tcp */
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
/* Start, or restart after the end. Results are cleared when the first step runs, from the loop. */
void attach_start(struct attach *);
/* Start one of a group, whose done() follows once all of it have ended, unless one is dropped. */
void attach_group_start(struct attach_group *, struct attach *);
/* Stop an attachment or a detach, and roll back the former. why is EINTR, or the earlier error if
 * it is rolled back already. The second call ends the rollback, with a hint in why at what may be
 * left. done() may be called before this returns. No effect unless it runs. */
void attach_cancel(struct attach *);
/* Stop at once, without rollback or done(); why is EINTR if it ran. Any time; afterwards the owner
 * may free it. */
void attach_drop(struct attach *);
/* Remove an existing connection, which `what` and fields of the row name. EBUSY in why, with
 * `users`: in use and left alone. */
void attach_detach(struct attach *);
/* Start those of the list that were never started (NULL: skip), and run the loop until these and
 * all others started on this loop have ended. Each SIGINT, SIGTERM or SIGHUP cancels all of them.
 * The attachments must not move. Return 0, or -errno with diag if signals could not be caught or
 * memory is short; failures of attachments are in their why. */
int attach_run(struct loop *, struct attach *const *, unsigned count, struct diag *);
bool attach_is_done(const struct attach *);

/* Return true if no device has this name or path, so that there is nothing to detach. */
bool attach_is_gone(int root, const char *word);
/* In a dry run: list those of the modules (NULL ends them) that are neither loaded, built in nor
 * installed, and warn of each. Loads nothing. */
void attach_show_missing(
	struct out *, const struct out_notes *, int root, const char *const *modules);
void attach_warn_missing(const struct out_notes *, const char *module);
void attach_each_missing(int root, const char *const *modules,
	void (*each)(const char *module, void *arg), void *arg);
/* The wait of a SCSI initiator for the LUNs of a host. */
struct attach_luns { /* zeroed, then set before connect ends (core/attach/attach_row.h) */
	unsigned host;
	uint64_t lun; /* SCSI_LUN_ALL, or the only one to wait for */
	bool scanned; /* expect no more LUNs; otherwise wait until the list settles */
	/* to detach: the hosts that are detached together; count 0: this one alone */
	struct scsi_hosts together;

	struct scsi_lun *list; /* filled in; attach_luns_free() */
	unsigned count;

	uint64_t changed_at; /* private from here */
	unsigned last_count;
	char missing[64];
};
void attach_luns_free(struct attach_luns *);
/* Pass the block devices: "/dev/sda". */
void attach_luns_devices(
	const struct attach_luns *, void (*each)(const char *path, void *arg), void *arg);
