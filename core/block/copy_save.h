/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The map's file is read and written on a thread of its own: its directory may be slow, and the
 * loop keeps connections alive. */
#pragma once
#include "copy_map.h"

struct copy_saver {
	struct crew *crew;
	struct loop *home;
	const char *path;
	void (*saved)(struct copy_saver *, int status); /* 0 or -errno; on home's thread */
	volatile int idle;
	char *text; /* of the save in work */
	size_t len;
	int status;
	struct loop_msg msg;
};

int copy_saver_start(struct copy_saver *, struct loop *home, const char *path, struct diag *);
/* As copy_map_load(), and whether the map can be written. Runs the loop. */
int copy_saver_load(struct copy_saver *, struct copy_map *, struct diag *);
void copy_saver_save(struct copy_saver *, char *text, size_t len); /* frees the text. Needs: idle */
void copy_saver_wait(struct copy_saver *);                         /* until idle. Runs the loop */
void copy_saver_stop(struct copy_saver *);                         /* needs: idle */
