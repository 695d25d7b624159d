/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Inside of reservations: what reservation.c (rules), reservation_text.c (contents of a file) and
 * reservation_state.c (the folder, and the thread that writes) share. */
#pragma once
#include "reservation.h"

#define RESERVATION_MOST 4096 /* registrations of a disk */

struct reservation_registrant {
	struct reservation_registrant *next; /* registered later */
	uint64_t key;
	unsigned members; /* of the host */
	struct reservation_host host;
	/* while a change is planned */
	struct reservation_registrant *copy; /* in the plan */
	bool removed, preempted;
	uint8_t events; /* bits of enum reservation_event: for its members */
};

struct reservation_job { /* one call of reservation_change() */
	struct reservation_job *next;
	struct reservation_member *member;
	struct reservation_request req;
	struct target_cmd *cmd;
	void (*then)(struct target_cmd *, enum reservation_result);
	enum reservation_result result;
	struct loop_msg msg;
};

static inline bool reservation_type_valid(unsigned type)
{
	return type < 9 && 1u << type & 0x1ea;
}

/* reservation.c */
/* On the thread of the state: make the change, then post the job to the loop of its command. */
void reservation_job_run(struct reservation_job *);
void reservation_set_free(struct reservation_set *);
/* Begin with those of an earlier process; return the number of registrations. */
unsigned reservation_set_begin(struct reservations *, const struct reservation_set *);

/* reservation_text.c */
/* Format the contents of a file, which the caller frees; NULL: no memory. Nothing is in it unless
 * set->persist. Registrants that are removed are omitted. */
char *reservation_text(const struct reservation_set *, const uint8_t nguid[16], size_t *len);
/* Parse it. Only what reservation_text() can have written is accepted. -EINVAL: damaged; -ENOTSUP:
 * another version; -EXDEV: of another disk. The caller frees the set. */
int reservation_text_read(struct reservation_set *, const uint8_t nguid[16], const char *text,
	size_t len, struct diag *);

/* reservation_state.c */
/* Queue a job; they are run in order. */
void reservation_state_queue(struct reservation_state *, struct reservation_job *);
/* On its thread: replace the file of a disk. After a failure the file is that of `before`. */
int reservation_state_save(struct reservation_state *, const struct reservations *,
	const char *text, size_t len, const char *before, size_t before_len);
