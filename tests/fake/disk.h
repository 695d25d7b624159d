/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A disk in memory that can do wrong: bad blocks, failing and falsified writes, answers out of
 * order. */
#pragma once
#include "bdev.h"

struct fake_disk {
	struct bdev bdev;
	struct loop_work tell;
	uint8_t *bytes, *safe;       /* safe: as of the last flush */
	uint64_t unsafe, unsafe_end; /* what was changed since, and more */
	uint8_t *hole;               /* per block of 512: MAP calls it a hole */
	uint32_t *hits;              /* per block of 512: how often it was read or written */
	uint64_t bad_off, bad_len;   /* reads that touch it fail */
	int bad_status;
	uint32_t bad_detail;
	int flush_status; /* of every flush */
	uint64_t pace_ns; /* time per request, one at a time on each lane; 0: all at once */
	bool hold;        /* completes only cancelled requests; any thread may change it */
	bool keep;        /* not even these */
	bool no_lane;     /* its lanes stay LANE_OPENING */
	const struct lane *stuck, *last;        /* holds as well; that got the last request */
	const struct pool *pool;                /* of the last write */
	unsigned cancelled, aborted, submitted; /* requests */
	int map_status;                         /* of the next pool that is mapped */
	uint64_t fail_write; /* the write that touches this byte fails; UINT64_MAX = none */
	uint64_t falsify;    /* this byte is written wrongly; UINT64_MAX = none */
	unsigned seed;       /* not 0: answers come in random order */
	uint64_t read, written, zeroed, flushes;      /* bytes, bytes, bytes, number */
	void (*wrote)(struct fake_disk *, void *arg); /* after each write */
	void *arg;
};

/* All kinds of requests allowed, up to 1 MiB; change bdev.lim before it is used. Call lane_open()
 * on it as it is: it is UP. */
struct fake_disk *fake_disk_new(struct loop *, uint64_t size, uint32_t block);
void fake_disk_free(struct fake_disk *);
