/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A disk behind ways that break on demand: flaky://HOST/ is the way registered under that name. Its
 * lanes answer after a random time, or never; what was in flight on a dying way may have been
 * executed, may not, or may be executed late. */
#pragma once
#include "bdev.h"
#include "protocol.h"
#include <pthread.h>
#include <stdatomic.h>

struct flaky_pending { /* a change the target still has in its hands */
	struct flaky_pending *next;
	uint64_t due_ns, off;
	uint32_t len;
	unsigned leaf; /* number of the one it came by */
	uint8_t data[];
};

struct flaky_disk {
	pthread_mutex_t lock;
	uint8_t *data;
	uint64_t size;
	struct flaky_pending *pending; /* sorted by due_ns */
	unsigned lates;                /* how many there were */
};

struct flaky_address { /* as a target reports it */
	const char *host;
	uint16_t port;
};

struct flaky_leaf;
struct flaky_path {
	const char *host;
	struct flaky_disk *disk;
	struct bdev_id id;
	uint64_t size;                 /* 0 = the disk's */
	uint32_t quiesce_ms, delay_us; /* most a request takes; 0 = answered in kick */
	uint32_t max_write;            /* 0 = 64 KiB */
	uint32_t detect_ms;            /* of the last attempt to open it */
	uint16_t lanes;                /* 0 = 64 */
	uint32_t lane_ms;              /* what a lane takes to open */
	uint32_t reads_max;            /* a lane fails after this number of reads; 0 = never */
	bool deaf;            /* lanes do not notice that the leaf died, until they are aborted */
	bool no_pending;      /* nothing is executed after the death */
	bool fences;          /* others can fence it: then nothing more of it is executed */
	bool keeps_identity;  /* of its sessions */
	atomic_int fence_err; /* of the next fence by this way; -errno, 0 = it succeeds */
	uint32_t fence_ms;    /* what a fence by this way takes, at least */
	atomic_uint fences_made;
	unsigned fenced;               /* number of the last leaf; protected by the disk's lock */
	atomic_bool silent;            /* attempts get no answer before their timeout */
	atomic_bool hold;              /* requests get no answer */
	atomic_bool bad_map, bad_lane; /* lanes refuse pools; are refused */
	atomic_int refuse;             /* attempts to turn away */
	atomic_int flush_status;       /* of the next flush */
	/* Requests to refuse with -EAGAIN and this detail, bits of enum bdev_retry. */
	atomic_int io_refuse;
	atomic_uint io_refuse_detail;
	unsigned io_refuse_dice; /* refuse one in so many; some are executed all the same */
	atomic_uint io_refused;
	uint8_t access; /* enum bdev_access; before the leaf opens */
	uint32_t group;
	bool preferred;      /* by its target */
	const char *warning; /* of the leaf, once it is up */
	uint32_t changing_ms;
	atomic_int lane_refuse; /* lanes to turn away for now */
	atomic_uint lanes_refused;
	/* what its target reports, after that time; a way whose host is a name has no list */
	const struct flaky_address *list;
	unsigned listed;
	uint32_t list_ms;
	struct diag list_why;
	atomic_uint searches;
	atomic_int attempts;
	atomic_int lanes_open, mapped, inflight;
	atomic_uint done[IO_KINDS]; /* answered */
	_Atomic uint64_t died_ns;   /* the last lane's death */
	struct flaky_leaf *leaf;    /* on the bdev's loop */
};

extern const struct proto flaky_proto, flaky_exposed_proto;

void flaky_disk_init(struct flaky_disk *, uint64_t size);
void flaky_disk_fini(struct flaky_disk *);
/* registers them, in place of those before */
void flaky_paths(struct flaky_path *paths, unsigned count, unsigned seed);
/* On the bdev's loop. */
bool flaky_kill(struct flaky_path *); /* the leaf and its lanes; false = it is not up */
bool flaky_kill_lane(struct flaky_path *, unsigned index); /* one lane only */
void flaky_access(struct flaky_path *, enum bdev_access);  /* what its target reports */
void flaky_resize(struct flaky_path *, uint64_t size);
