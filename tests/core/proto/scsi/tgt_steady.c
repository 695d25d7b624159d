/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reads and writes in the steady state take no memory, and no lock unless there is a reservation.
 */
/* Link: malloc calloc pthread_mutex_lock */
#include "tgt_rig.h"

static unsigned allocations, locks;

void *__real_malloc(size_t);
void *__wrap_malloc(size_t);
void *__wrap_malloc(size_t len)
{
	allocations++;
	return __real_malloc(len);
}

void *__real_calloc(size_t, size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_calloc(size_t count, size_t len)
{
	allocations++;
	return __real_calloc(count, len);
}

/* Counts the device servers' locks only: messages between loops have locks of their own. */
extern pthread_mutex_t scsi_lock, reservation_lock;
int __real_pthread_mutex_lock(pthread_mutex_t *);
int __wrap_pthread_mutex_lock(pthread_mutex_t *);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
	locks += lock == &scsi_lock || lock == &reservation_lock;
	return __real_pthread_mutex_lock(lock);
}

static void some_io(void)
{
	for (unsigned i = 0; i < 50; i++) {
		GOOD(ask(host, reading(ask10(0x28, 0, i, 8), 8 * BLOCK)));
		GOOD(ask(host, writing(ask16(0x8a, 0, i, 600), 600 * BLOCK)));
		GOOD(ask(host, (struct scsi_ask){ .attr = SCSI_ORDERED }));
	}
}

Test(scsi_tgt_steady, no_allocation_and_no_lock)
{
	unsigned before;

	begin();
	some_io();
	before = allocations;
	locks = 0;
	some_io();
	cr_assert_eq(allocations, before);
	cr_assert_eq(locks, 0);
	GOOD(ask(host, (struct scsi_ask){ .cdb = { 0x16 } }));
	locks = 0;
	some_io();
	cr_assert_gt(locks, 0, "the lock was not counted");
	end();
}
