/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reservations of a disk (SPC-4 5.12; NVM Express Base 2.1, 8.1.25): a host registers a key, and a
 * registrant, or all of them, hold the reservation. They are kept in memory, per disk: what one
 * protocol's host reserves is reserved for hosts of the others, too. A registration belongs to the
 * host and outlives its connections. A host that is connected can always register, and keeps its
 * registration; so does the holder of the reservation in any case. Other registrations are kept in
 * limited numbers. If a host asks for it, and reservation_state.h has a folder for it, they are
 * also kept in a file, from which the next process restores them. All functions may be called on
 * any thread, unless stated otherwise. */
#pragma once
#include "reservation_state.h"
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

/* Return whether the lengths are those of an identifier and a name: a TransportID has at least 24
 * bytes (SPC-4 7.6.4), a host identifier 16. */
static inline bool reservation_host_valid(const struct reservation_host *host)
{
	bool id = host->protocol == RESERVATION_NVME ? host->id_len == 16 : host->id_len >= 24;

	return host->protocol <= RESERVATION_NVME && id && host->id_len <= RESERVATION_ID &&
	       host->name_at + host->name_len <= RESERVATION_ID;
}

/* Protects all private members below; never held while waiting. */
extern pthread_mutex_t reservation_lock;

struct reservation_registrant;
struct reservation_job;

/* The registrations and reservation of a disk. */
struct reservation_set {
	struct reservation_registrant *registrants, *holder; /* oldest first */
	uint8_t type;                                        /* of the holder's reservation */
	bool persist;                                        /* they are kept in the file, too */
	uint32_t generation;
};

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
	struct reservation_set now;
	struct reservation_state *state;       /* NULL: no file */
	uint8_t nguid[16];                     /* with a file: of the disk */
	bool saving;                           /* a change is being written to the file */
	const struct reservation_member *spc2; /* holder of a RESERVE 6 */
	/* a preemption that aborts commands; NULL: none. used on its loop */
	bool preempting;
	struct reservation_job *preempter;
	struct target_fence fence;
	uint64_t passed; /* number of a target */
};

/* Get the reservations of a disk; NULL: no memory. The last reservations_put() ends them, but
 * not their file. */
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
/* Return whether they can persist. */
static inline bool reservations_have_file(const struct reservations *disk)
{
	return disk->state;
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
	RESERVATION_PREEMPT,
	RESERVATION_PERSISTENCE /* only `persist`, which any host may change */
};
enum reservation_persist { RESERVATION_KEEP, RESERVATION_VOLATILE, RESERVATION_PERSISTENT };
struct reservation_request {
	enum reservation_action action;
	uint8_t type;        /* enum reservation_type, or an invalid value */
	uint8_t persist;     /* enum reservation_persist; REGISTER, ADD, REPLACE, PERSISTENCE */
	bool ignore_key;     /* REGISTER, REPLACE: whatever `key` is */
	bool abort;          /* PREEMPT: abort what preempted hosts have in work */
	uint64_t key, other; /* of the host; new, or of those to preempt */
};
enum reservation_result {
	RESERVATION_OK,
	RESERVATION_CONFLICT,
	RESERVATION_BAD_TYPE,
	RESERVATION_BAD_KEY,
	RESERVATION_WRONG_TYPE, /* RELEASE: of the host's own reservation */
	RESERVATION_NO_MEMORY,
	RESERVATION_BUSY,     /* another preemption still aborts commands */
	RESERVATION_NOT_SAVED /* the file could not be written, so nothing has changed */
};
/* Change the reservations, then call `then`, also from inside. On the loop of the command's
 * connection, without a request of it at the disk. The member stays until then. Before success, a
 * change of what is to persist is in the file, and what preempted hosts have in work at any target
 * of this process was aborted (proto->preempted). */
void reservation_change(struct reservation_member *, const struct reservation_request *,
	struct target_cmd *, void (*then)(struct target_cmd *, enum reservation_result));

/* RESERVE 6 and RELEASE 6. False: another host holds one, or keys are registered or about to be. */
bool reservation_reserve_6(struct reservation_member *);
void reservation_release_6(struct reservation_member *);
void reservation_reset_6(struct reservations *); /* of whatever host */

struct reservation_status {
	uint32_t generation;
	uint8_t type; /* 0: no reservation */
	uint64_t key; /* of its holder; 0: all registrants hold it */
	unsigned registrants;
	bool persist;     /* they survive the end of the process */
	bool can_persist; /* they would if a host asked for it */
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
