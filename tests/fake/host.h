/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The host's end of a pair test, one in a program: a loop, a disk attached without `paths`, and a
 * lane to it. */
#pragma once
#include "bdev.h"

extern struct loop *loop;
extern struct bdev *disk;
extern struct lane *lane;
extern struct diag why;
/* the disk or the lane has made up its mind; for the test's own callbacks, too */
extern volatile int settled;

void host_begin(uint32_t poll_us);                         /* the loop */
int host_attach(const char *uri, const struct bdev_env *); /* 0, or -errno with `why` */
void host_open(const char *uri, const struct bdev_env *);  /* over `paths`, and a lane */
bool host_try_lane(struct lane **);                        /* false: `why` */
void host_open_lane(void);                                 /* `lane` */
/* waits; its status */
int host_io(uint8_t kind, uint8_t flags, uint64_t off, uint32_t len, struct buf *);
void host_hang_up(void); /* what there is of lane and disk */
void host_end(void);     /* and the loop */
