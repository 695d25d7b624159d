/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The folder with the reservations that survive the end of this process: a file for each disk,
 * named by its identity. A change is made by a thread: it writes a new file, replaces the old one,
 * and only then the change takes effect. */
#pragma once
#include "diag.h"
#include <stdint.h>

struct bdev;
struct loop;
struct reservation_state;

/* Called on the loop, at most once every 10 s, when the file of a disk could not be written, and so
 * a command has failed. */
typedef void reservation_not_saved(const struct diag *why, void *user);

/* Open the folder, lock it until the end of the process, and check that files can be written.
 * -EBUSY: another process has it. */
int reservation_state_open(struct reservation_state **, const char *dir, struct loop *,
	reservation_not_saved *, void *user, struct diag *);
/* Let the helper use this folder (helper.h). 0 or -ENOMEM. */
int reservation_state_allow(const char *dir);
/* Restore the reservations of a disk. Call it before targets serve the disk, which must outlive the
 * state. *restored: the number of registrations; 0 also if there is no file. */
int reservation_state_add(struct reservation_state *, const struct bdev *, const uint8_t nguid[16],
	unsigned *restored, struct diag *);
/* After all targets have stopped. NULL is allowed. */
void reservation_state_close(struct reservation_state *);
