/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* For the tests of paths: one disk behind the ways flaky://a/, b and c. */
#pragma once
#include "flaky.h"

#define MSEC 1000000ull

struct rig {
	struct loop *loop;
	struct flaky_disk disk;
	struct flaky_path way[3];
	struct bdev_env env;
	struct bdev *bdev;
	struct lane *lane;
	struct pool *pool;
	struct diag diag;
};

struct req {
	struct io io;
	struct buf buf;
	uint64_t done_ns;
	volatile int over;
	uint64_t lower[128];
};

void rig_init(struct rig *);
void rig_open(struct rig *, const char *uri); /* the disk, a lane, the pool mapped */
void rig_fini(struct rig *); /* checks that no path still has a request or lane of it */
void rig_turn_for(struct rig *, unsigned ms);
int rig_io(struct rig *, enum io_kind); /* one, to its end */
/* of a disk and rig of its own: the URI is refused as wrong usage */
void rig_assert_usage(const char *uri, const char *words);
/* a line of the text that info prints */
void rig_assert_fact(struct rig *, const char *label, const char *words);

/* 4 KiB in the slot of that number; its status is 1 until it is done. */
void req_submit(struct rig *, struct req *, enum io_kind, unsigned slot);
bool req_wait(struct rig *, struct req *, unsigned ms); /* false: not done in time */
