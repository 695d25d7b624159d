/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reservations of a disk (SPC-4 5.12; NVM Express Base 2.1, 8.1.25): a host registers a key, and a
 * registrant, or all of them, hold the reservation. They are kept in memory, per disk: what one
 * protocol's host reserves is reserved for hosts of the others, too. A registration belongs to the
 * host and outlives its connections. A host that is connected can always register, and keeps its
 * registration; so does the holder of the reservation in any case. Other registrations are kept in
 * limited numbers. All functions may be called on any thread, unless stated otherwise. */
#pragma once
#include "target.h"
#include <pthread.h>
#include <string.h>

#define RESERVATION_ID 252 /* longest identifier of a host */

enum reservation_type { /* numbers of SPC-4 6.16.3.4 */
	RESERVATION_WRITE_EXCLUSIVE = 1,
	RESERVATION_EXCLUSIVE_ACCESS = 3,
	RESERVATION_WRITE_EXCLUSIVE_REGISTRANTS = 5,
	RESERVATION_EXCLUSIVE_ACCESS_REGISTRANTS = 6,
	RESERVATION_WRITE_EXCLUSIVE_ALL = 7,
	RESERVATION_EXCLUSIVE_ACCESS_ALL = 8
};
enum reservation_event { RESERVATION_PREEMPTED, RESERVATION_RELEASED, REGISTRATION_PREEMPTED };
enum reservation_protocol { RESERVATION_SCSI, RESERVATION_NVME };

/* A SCSI initiator port, by its TransportID, or an NVMe host, by its host identifier. */
struct reservation_host {
	uint8_t protocol;
	uint16_t target_port; /* group of the listener, of a registrant that of its registration */
	uint16_t id_len;
	uint16_t name_at, name_len; /* in id, also behind id_len: a name that hosts may share */
	uint8_t id[RESERVATION_ID];
};
static inline bool reservation_same_host(
	const struct reservation_host *a, const struct reservation_host *b)
{
	return a->protocol == b->protocol && a->id_len == b->id_len &&
	       !memcmp(a->id, b->id, a->id_len);
}

/* Protects all private members below; never held while waiting. */
extern pthread_mutex_t reservation_lock;

struct reservation_registrant;

/* A host at the disk, over one connection or controller. */
struct reservation_member {
	/* set by the caller */
	const struct reservation_host *host;
	/* Called on any thread, under a lock: may not call functions of this header. */
	void (*event)(struct reservation_member *, enum reservation_event);
	/* private */
	struct reservations *disk;
	struct reservation_member *next, **link;
	struct reservation_registrant *registrant; /* of its host; NULL: none */
	bool preempted; /* atomic: by a preemption whose fence is on its way */
};

struct reservations {
	uint32_t reserved; /* atomic: some host holds a reservation */
	/* private, under the lock */
	const struct bdev *bdev;
	struct reservations *next;
	unsigned users;
	struct reservation_member *members;
	struct reservation_registrant *registrants, *holder;
	uint8_t type; /* of the holder's reservation */
	uint32_t generation;
	const struct reservation_member *spc2; /* holder of a RESERVE 6 */
	/* a preemption that aborts commands; NULL: none. used on its loop */
	bool preempting;
	struct target_cmd *preempter;
	void (*then)(struct target_cmd *);
	struct target_fence fence;
	uint64_t passed; /* number of a target */
};

/* Get the reservations of a disk; NULL: no memory. The last reservations_put() ends them. */
struct reservations *reservations_get(const struct bdev *);
void reservations_put(struct reservations *); /* NULL is allowed */
/* Add a host, which has the registration of its other members; it is not in the list yet. */
void reservation_member_add(struct reservations *, struct reservation_member *);
/* Remove it, which ends its RESERVE 6. No event follows. No effect if it is not in the list. */
void reservation_member_remove(struct reservation_member *);

/* Return whether commands must be checked. */
static inline bool reservations_active(const struct reservations *disk)
{
	return __atomic_load_n(&disk->reserved, __ATOMIC_ACQUIRE);
}
/* Return whether a persistent reservation forbids that host to write, or to read. */
bool reservation_conflicts(const struct reservation_member *, bool writes);
/* Return whether another host holds a RESERVE 6. */
bool reservation_conflicts_6(const struct reservation_member *);

enum reservation_action {
	/* Register the key `other`, change it, or unregister (0). SCSI: `key` is the host's, 0 if
	 * it is not registered. */
	RESERVATION_REGISTER,
	/* NVMe: Register; a host that is registered must have that key. */
	RESERVATION_ADD,
	RESERVATION_REPLACE, /* NVMe: Replace and Unregister, of a registered host only */
	RESERVATION_RESERVE,
	RESERVATION_RELEASE,
	RESERVATION_CLEAR,
	RESERVATION_PREEMPT
};
struct reservation_request {
	enum reservation_action action;
	uint8_t type;        /* enum reservation_type, or an invalid value */
	bool ignore_key;     /* REGISTER, REPLACE: whatever `key` is */
	bool abort;          /* PREEMPT: call reservation_abort() after success */
	uint64_t key, other; /* of the host; new, or of those to preempt */
};
enum reservation_result {
	RESERVATION_OK,
	RESERVATION_CONFLICT,
	RESERVATION_BAD_TYPE,
	RESERVATION_BAD_KEY,
	RESERVATION_WRONG_TYPE, /* RELEASE: of the host's own reservation */
	RESERVATION_NO_MEMORY,
	RESERVATION_BUSY /* another preemption still aborts commands */
};
enum reservation_result reservation_change(
	struct reservation_member *, const struct reservation_request *);
/* Abort what preempted hosts have in work at any target of this process (proto->preempted), then
 * call `then`. On the loop of the command's connection, without a request of it at the disk. */
void reservation_abort(
	struct reservations *, struct target_cmd *, void (*then)(struct target_cmd *));

/* RESERVE 6 and RELEASE 6. False: another host holds one, or keys are registered. */
bool reservation_reserve_6(struct reservation_member *);
void reservation_release_6(struct reservation_member *);
void reservation_reset_6(struct reservations *); /* of whatever host */

struct reservation_status {
	uint32_t generation;
	uint8_t type; /* 0: no reservation */
	uint64_t key; /* of its holder; 0: all registrants hold it */
	unsigned registrants;
};
struct reservation_registration {
	const struct reservation_host *host;
	uint64_t key;
	bool holds;
};
/* Get the state, then call `each` for every registration, oldest first, under a lock: it may not
 * call functions of this header. */
void reservations_list(struct reservations *, struct reservation_status *,
	void (*each)(void *, const struct reservation_registration *), void *);
