/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read and write the map file in a thread, as its file system may be slow and the loop must keep
 * connections alive. */
#pragma once
#include "copy_map.h"

struct copy_saver {
	struct workers *workers;
	struct loop *home;
	const char *path;
	void (*saved)(struct copy_saver *, int status); /* 0 or -errno; on home's thread */
	volatile int idle;
	char *text; /* the text being saved */
	size_t len;
	int status;
	struct loop_msg msg;
};

int copy_saver_start(struct copy_saver *, struct loop *home, const char *path, struct diag *);
/* Load like copy_map_load(), and check whether the map can be written. Runs the loop. */
int copy_saver_load(struct copy_saver *, struct copy_map *, struct diag *);
void copy_saver_save(
	struct copy_saver *, char *text, size_t len); /* takes ownership of the text; needs: idle */
void copy_saver_wait(struct copy_saver *);            /* wait until idle; runs the loop */
void copy_saver_stop(struct copy_saver *);            /* needs: idle */
