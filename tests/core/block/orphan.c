/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A write whose submitter has left lands before anything that overlaps it, over whichever lane that
 * comes. */
/* Link: leap */
#include "../../fake/disk.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#define MSEC  1000000ull
#define BLOCK 512

struct set {
	struct loop *loop;
	struct fake_disk *disk;
	struct lane *a, *b; /* the client that leaves has a, the next one b */
	struct pool *pool;
	const void *client; /* of the next request; NULL: unknown */
	unsigned slots, over;
};

struct req {
	struct set *set;
	struct io io;
	struct bdev_orphan orphan;
	struct buf buf;
	bool more;           /* requests of the command follow */
	unsigned over, turn; /* times done; the number of requests done before it */
	uint64_t lower[64];
};

static void set_init(struct set *s)
{
	const struct loop_options opt = { .name = "test" };

	*s = (struct set){ 0 };
	cr_assert_eq(loop_new(&s->loop, &opt, NULL), 0);
	s->disk = fake_disk_new(s->loop, 1 << 20, BLOCK);
	cr_assert_eq(lane_open(&s->a, &s->disk->bdev, s->loop, NULL), 0);
	cr_assert_eq(lane_open(&s->b, &s->disk->bdev, s->loop, NULL), 0);
	cr_assert_eq(pool_new(&s->pool, 4096, 16, NULL), 0);
	cr_assert_eq(lane_map(s->a, s->pool, NULL), 0);
	cr_assert_eq(lane_map(s->b, s->pool, NULL), 0);
}

static void set_fini(struct set *s)
{
	lane_unmap(s->a, s->pool);
	lane_unmap(s->b, s->pool);
	pool_free(s->pool);
	lane_close(s->a);
	lane_close(s->b);
	fake_disk_free(s->disk);
	loop_free(s->loop);
}

static void done(struct io *io)
{
	struct req *req = container_of(io, struct req, io);

	if (!req->more)
		bdev_orphan_end(&req->orphan);
	req->turn = req->set->over++;
	req->over++;
}

/* A further request of the command. */
static void again(struct set *s, struct req *req, struct lane *lane, enum io_kind kind,
	unsigned block, unsigned blocks, int byte)
{
	if (!req->buf.p)
		req->buf = pool_buf(s->pool, s->slots++);
	req->io = (struct io){
		.kind = (uint8_t)kind,
		.off = block * BLOCK,
		.len = blocks * BLOCK,
		.buf = &req->buf,
		.done = done,
		.lower = req->lower,
		.status = 1,
		.own = &req->orphan,
	};
	memset(req->buf.p, byte, req->io.len);
	bdev_submit(lane, &req->io);
}

static void submit(struct set *s, struct req *req, struct lane *lane, enum io_kind kind,
	unsigned block, unsigned blocks, int byte)
{
	*req = (struct req){
		.set = s, .buf = pool_buf(s->pool, s->slots++), .orphan.client = s->client
	};
	again(s, req, lane, kind, block, blocks, byte);
}

/* Its submitter leaves; lane NULL: and nothing is cancelled. */
static void leave(struct set *s, struct req *req, struct lane *lane)
{
	if (bdev_changes_blocks(req->io.kind))
		bdev_orphan(&s->disk->bdev, &req->orphan, BDEV_CLIENT, &req->io, req->io.off,
			req->io.len);
	if (lane)
		bdev_cancel(lane, &req->io);
}

static void turn_for(struct set *s, unsigned ms)
{
	loop_wait(s->loop, &(volatile int){ 0 }, loop_clock() + ms * MSEC);
}

static void stuck_write(struct set *s, struct req *old)
{
	s->disk->hold = s->disk->keep = true;
	submit(s, old, s->a, IO_WRITE, 8, 4, 'o');
	turn_for(s, 1);
	leave(s, old, s->a);
	/* of lane b all is answered from here on; lane a looks again later */
	s->disk->hold = false;
	cr_assert_eq(s->disk->bdev.orphans, 1);
}

/* Lane a's disk answers the request that it has, and gets the next one of the command. */
static void next_run(struct set *s, struct req *req, unsigned block, unsigned blocks, int byte)
{
	req->more = true;
	s->disk->stuck = NULL;
	while (!req->over)
		turn_for(s, 1);
	req->over = 0;
	s->disk->stuck = s->a;
	again(s, req, s->a, IO_WRITE, block, blocks, byte);
}

static void last_run(struct set *s, struct req *req)
{
	req->more = false;
	s->disk->stuck = NULL;
	while (!req->over)
		turn_for(s, 1);
}

enum { BEFORE, OVER_START, INSIDE, OVER_END, AROUND, BEHIND, PLACES };
static const struct {
	unsigned block, blocks;
	bool waits;
} place[PLACES] = {
	[BEFORE] = { 4, 4, false },
	[OVER_START] = { 7, 2, true },
	[INSIDE] = { 9, 1, true },
	[OVER_END] = { 11, 2, true },
	[AROUND] = { 6, 8, true },
	[BEHIND] = { 12, 4, false },
};

Test(orphan, only_what_overlaps_waits)
{
	static const enum io_kind kind[] = { IO_WRITE, IO_READ, IO_TRIM, IO_ZERO };

	for (unsigned k = 0; k < sizeof(kind) / sizeof(kind[0]); k++)
		for (unsigned i = 0; i < PLACES; i++) {
			struct set s;
			struct req old, new;

			set_init(&s);
			stuck_write(&s, &old);
			submit(&s, &new, s.b, kind[k], place[i].block, place[i].blocks, 'n');
			while (!old.over || !new.over)
				turn_for(&s, 1);
			cr_assert_eq(new.io.status, 0);
			cr_assert_eq(old.turn < new.turn, place[i].waits, "kind %u, place %u",
				kind[k], i);
			cr_assert_eq(s.disk->bdev.orphans, 0);
			set_fini(&s);
		}
}

Test(orphan, a_newer_write_is_not_overwritten_and_a_read_sees_no_block_that_changes_later)
{
	struct set s;
	struct req old, new, read;
	struct io flush = { .kind = IO_FLUSH };

	set_init(&s);
	stuck_write(&s, &old);
	submit(&s, &read, s.b, IO_READ, 8, 1, 0);
	cr_assert(!bdev_gate(s.b, &flush), "a flush waits for no orphan");
	submit(&s, &new, s.a, IO_WRITE, 10, 1, 'n'); /* the same lane serves the next client too */
	while (!old.over || !new.over || !read.over)
		turn_for(&s, 1);
	cr_assert_eq(read.buf.p[0], 'o');
	cr_assert_eq(s.disk->bytes[9 * BLOCK], 'o');
	cr_assert_eq(s.disk->bytes[10 * BLOCK], 'n');
	cr_assert(old.over == 1 && new.over == 1 && read.over == 1);
	set_fini(&s);
}

Test(orphan, what_waits_can_be_cancelled_and_abandoned_and_is_never_sent)
{
	struct set s;
	struct req old, cancelled, left, next;

	set_init(&s);
	stuck_write(&s, &old);
	submit(&s, &cancelled, s.b, IO_WRITE, 8, 1, 'c');
	submit(&s, &left, s.b, IO_WRITE, 9, 1, 'l');
	cr_assert(bdev_cancel(s.b, &cancelled.io));
	cr_assert(!cancelled.over, "not inside");
	leave(&s, &left, s.b);
	submit(&s, &next, s.b, IO_WRITE, 9, 1, 'n');
	while (!cancelled.over || !left.over || !next.over)
		turn_for(&s, 1);
	cr_assert_eq(cancelled.io.status, -ECANCELED);
	cr_assert_eq(left.io.status, -ECANCELED);
	cr_assert_eq(s.disk->bytes[8 * BLOCK], 'o');
	cr_assert_eq(s.disk->bytes[9 * BLOCK], 'n');
	set_fini(&s);
}

Test(orphan, reads_and_cancelled_writes_leave_nothing_behind)
{
	struct set s;
	struct req read, write, next;

	set_init(&s);
	s.disk->hold = true;
	submit(&s, &read, s.a, IO_READ, 8, 1, 0);
	submit(&s, &write, s.a, IO_WRITE, 8, 1, 'o');
	turn_for(&s, 1);
	leave(&s, &read, s.a);
	leave(&s, &write, s.a);
	cr_assert_eq(s.disk->bdev.orphans, 0);
	cr_assert_eq(write.io.status, -ECANCELED);
	s.disk->hold = false;
	submit(&s, &next, s.b, IO_WRITE, 8, 1, 'n');
	while (!next.over)
		turn_for(&s, 1);
	cr_assert_eq(s.disk->bytes[8 * BLOCK], 'n');
	set_fini(&s);
}

Test(orphan, orphans_that_are_not_sent_yet_wait_for_older_ones_only)
{
	struct set s;
	struct req old, second, third, next;

	set_init(&s);
	stuck_write(&s, &old);
	submit(&s, &second, s.b, IO_WRITE, 8, 4, '2');
	leave(&s, &second, NULL);
	submit(&s, &third, s.a, IO_WRITE, 9, 2, '3');
	leave(&s, &third, NULL);
	submit(&s, &next, s.b, IO_READ, 8, 4, 0);
	cr_assert_eq(s.disk->bdev.orphans, 3);
	while (!old.over || !second.over || !third.over || !next.over)
		turn_for(&s, 1);
	cr_assert(old.turn < second.turn && second.turn < third.turn && third.turn < next.turn);
	cr_assert_eq(s.disk->bdev.orphans, 0);
	set_fini(&s);
}

/* Those that leave later can't hold back a request again and again. */
Test(orphan, a_request_does_not_wait_for_commands_abandoned_after_it_arrived)
{
	struct set s;
	struct req old, read, write, later = { 0 }, next;

	set_init(&s);
	stuck_write(&s, &old);
	submit(&s, &read, s.b, IO_READ, 8, 4, 0);
	submit(&s, &write, s.b, IO_WRITE, 8, 4, 'w');
	bdev_orphan(&s.disk->bdev, &later.orphan, BDEV_CLIENT, &old.io, 8 * BLOCK, 4 * BLOCK);
	submit(&s, &next, s.b, IO_READ, 8, 4, 0);
	while (!old.over)
		turn_for(&s, 1);
	turn_for(&s, 20);
	cr_assert(read.over && write.over);
	cr_assert(old.turn < read.turn && old.turn < write.turn);
	turn_for(&s, 20);
	cr_assert(!next.over);
	bdev_orphan_end(&later.orphan);
	while (!next.over)
		turn_for(&s, 1);
	cr_assert_eq(s.disk->bdev.orphans, 0);
	set_fini(&s);
}

/* A command that reads one disk and then writes another one. */
Test(orphan, the_order_is_one_over_all_disks)
{
	struct set s;
	struct req first = { 0 }, second = { 0 }, here = { 0 }, copy;
	struct fake_disk *other;
	struct lane *lane;

	set_init(&s);
	other = fake_disk_new(s.loop, 1 << 20, BLOCK);
	cr_assert_eq(lane_open(&lane, &other->bdev, s.loop, NULL), 0);
	cr_assert_eq(lane_map(lane, s.pool, NULL), 0);
	bdev_orphan(&other->bdev, &first.orphan, BDEV_CLIENT, NULL, 0, BLOCK);
	bdev_orphan(&other->bdev, &second.orphan, BDEV_CLIENT, NULL, 8 * BLOCK, BLOCK);
	bdev_orphan(&s.disk->bdev, &here.orphan, BDEV_CLIENT, NULL, 0, BLOCK);
	submit(&s, &copy, s.b, IO_READ, 8, 1, 0);
	copy.more = true;
	while (!copy.over)
		turn_for(&s, 1);
	copy.more = false;
	again(&s, &copy, lane, IO_WRITE, 8, 1, 'c');
	turn_for(&s, 20);
	cr_assert_eq(copy.over, 1);
	bdev_orphan_end(&second.orphan);
	while (copy.over < 2)
		turn_for(&s, 1);
	bdev_orphan_end(&first.orphan);
	bdev_orphan_end(&here.orphan);
	lane_unmap(lane, s.pool);
	lane_close(lane);
	fake_disk_free(other);
	set_fini(&s);
}

/* A command in several runs is one orphan to its client: its later runs pass, and nothing of the
 * client comes between them. */
Test(orphan, covers_the_rest_of_a_command)
{
	struct set s;
	struct req old, other;

	set_init(&s);
	s.client = &s;
	s.disk->stuck = s.a;
	submit(&s, &old, s.a, IO_WRITE, 8, 4, '1');
	turn_for(&s, 1);
	bdev_orphan(&s.disk->bdev, &old.orphan, BDEV_CLIENT, &old.io, 8 * BLOCK, 8 * BLOCK);
	submit(&s, &other, s.b, IO_WRITE, 14, 1, 'n');
	next_run(&s, &old, 12, 4, '2');
	cr_assert(!other.over, "it overlaps what is still to come");
	last_run(&s, &old);
	while (!other.over)
		turn_for(&s, 1);
	cr_assert_eq(s.disk->bytes[14 * BLOCK], 'n');
	cr_assert_eq(s.disk->bytes[15 * BLOCK], '2');
	cr_assert_eq(s.disk->bdev.orphans, 0);
	set_fini(&s);
}

/* Another client's reads pass; its writes wait for what the disk has at the moment, and for nothing
 * else of the command. */
Test(orphan, other_clients_wait_with_changes_only_and_for_one_run_only)
{
	static const enum io_kind kind[] = { IO_READ, IO_MAP, IO_WRITE, IO_TRIM, IO_ZERO };
	struct req old, now, later, next;

	for (unsigned k = 0; k < sizeof(kind) / sizeof(kind[0]); k++) {
		bool changes = bdev_changes_blocks(kind[k]);
		struct set s;

		set_init(&s);
		s.client = &s.a;
		s.disk->stuck = s.a;
		submit(&s, &old, s.a, IO_WRITE, 8, 4, '1');
		turn_for(&s, 1);
		bdev_orphan(
			&s.disk->bdev, &old.orphan, BDEV_CLIENT, &old.io, 0, s.disk->bdev.lim.size);
		s.client = &s.b;
		submit(&s, &now, s.b, kind[k], 10, 2, 'n');
		submit(&s, &later, s.b, kind[k], 12, 4, 'n');
		cr_assert_eq(s.disk->submitted, changes ? 2 : 3, "kind %u", kind[k]);
		next_run(&s, &old, 12, 4, '2');
		while (!now.over || !later.over)
			turn_for(&s, 1);
		cr_assert(!old.over);
		submit(&s, &next, s.b, kind[k], 15, 1, 'n');
		turn_for(&s, 20);
		cr_assert_eq(s.disk->submitted, changes ? 4 : 5, "kind %u", kind[k]);
		last_run(&s, &old);
		while (!next.over)
			turn_for(&s, 1);
		cr_assert_eq(s.disk->bdev.orphans, 0);
		set_fini(&s);
	}
}

/* A request of an orphan that waits itself is not at the disk: it holds back its client only. */
Test(orphan, a_request_that_waits_holds_back_its_client_only)
{
	struct set s;
	struct req old, waits, mine, others;

	set_init(&s);
	s.client = &s.a;
	stuck_write(&s, &old);
	s.client = &s.b;
	submit(&s, &waits, s.b, IO_WRITE, 10, 4, 'w');
	leave(&s, &waits, NULL);
	cr_assert_eq(s.disk->submitted, 1);
	submit(&s, &mine, s.b, IO_READ, 12, 1, 0);
	cr_assert_eq(s.disk->submitted, 1);
	s.client = &s;
	submit(&s, &others, s.b, IO_WRITE, 12, 1, 'n');
	cr_assert_eq(s.disk->submitted, 2);
	while (!old.over || !waits.over || !mine.over || !others.over)
		turn_for(&s, 1);
	cr_assert(old.turn < waits.turn && waits.turn < mine.turn);
	cr_assert_eq(s.disk->bdev.orphans, 0);
	set_fini(&s);
}

/* A command was reported as aborted to another client: all wait until the disk completes it. */
Test(orphan, all_wait_for_what_another_client_has_aborted)
{
	struct set s;
	struct req old, read, other;

	set_init(&s);
	s.client = &s.a;
	s.disk->hold = s.disk->keep = true;
	submit(&s, &old, s.a, IO_WRITE, 8, 4, 'o');
	turn_for(&s, 1);
	leave(&s, &old, NULL);
	bdev_orphan(&s.disk->bdev, &old.orphan, BDEV_ALL, &old.io, old.io.off, old.io.len);
	cr_assert_eq(s.disk->bdev.orphans, 1);
	leave(&s, &old, NULL); /* the order stays */
	s.disk->hold = false;
	s.client = &s.b;
	submit(&s, &read, s.b, IO_READ, 8, 1, 0);
	submit(&s, &other, s.b, IO_READ, 12, 1, 0);
	cr_assert_eq(s.disk->submitted, 2);
	while (!old.over || !read.over || !other.over)
		turn_for(&s, 1);
	cr_assert(old.turn < read.turn);
	cr_assert_eq(read.buf.p[0], 'o');
	set_fini(&s);
}

/* A command that is alone with its blocks: all wait for it, and it waits for what the disk has, of
 * whatever client, but not for what else they have to do there. */
Test(orphan, alone)
{
	struct set s;
	struct req old, mine, read, other;

	set_init(&s);
	s.client = &s.a;
	s.disk->stuck = s.a;
	submit(&s, &old, s.a, IO_WRITE, 8, 4, '1');
	turn_for(&s, 1);
	s.client = &s.b;
	mine = (struct req){ .set = &s, .orphan.client = &s.b };
	bdev_orphan(&s.disk->bdev, &mine.orphan, BDEV_EXCLUSIVE, NULL, 10 * BLOCK, 4 * BLOCK);
	bdev_orphan(&s.disk->bdev, &old.orphan, BDEV_CLIENT, &old.io, 0, s.disk->bdev.lim.size);
	submit(&s, &read, s.b, IO_READ, 13, 1, 0);
	submit(&s, &other, s.b, IO_READ, 14, 1, 0);
	cr_assert_eq(s.disk->submitted, 2);
	mine.more = true;
	again(&s, &mine, s.b, IO_READ, 10, 4, 0);
	cr_assert_eq(s.disk->submitted, 2, "the disk still has a write");
	next_run(&s, &old, 12, 4, '2');
	while (!mine.over)
		turn_for(&s, 1);
	cr_assert(!read.over && !old.over);
	mine.over = 0;
	again(&s, &mine, s.b, IO_WRITE, 10, 4, 'm');
	last_run(&s, &mine);
	last_run(&s, &old);
	while (!read.over || !other.over)
		turn_for(&s, 1);
	cr_assert_eq(s.disk->bytes[11 * BLOCK], 'm');
	cr_assert_eq(s.disk->bytes[12 * BLOCK], '2', "it did not wait for the command");
	cr_assert_eq(s.disk->bdev.orphans, 0);
	set_fini(&s);
}

/* More than are retried in one turn, some of them cancelled. */
Test(orphan, many_that_wait_are_done_once_each)
{
	enum { MANY = 150 };
	static struct req many[MANY];
	struct set s;
	struct req old;

	set_init(&s);
	pool_free(s.pool);
	cr_assert_eq(pool_new(&s.pool, 4096, MANY + 1, NULL), 0);
	stuck_write(&s, &old);
	s.disk->hold = true;
	for (unsigned i = 0; i < MANY; i++)
		submit(&s, &many[i], i & 1 ? s.a : s.b, IO_READ, 8, 1, 0);
	for (unsigned i = 0; i < MANY; i += 7)
		cr_assert(bdev_cancel(i & 1 ? s.a : s.b, &many[i].io));
	turn_for(&s, 100);
	s.disk->hold = false;
	for (unsigned i = 0; i < MANY; i++)
		while (!many[i].over)
			turn_for(&s, 1);
	turn_for(&s, 50);
	for (unsigned i = 0; i < MANY; i++) {
		cr_assert_eq(many[i].over, 1);
		cr_assert_eq(many[i].io.status, i % 7 ? 0 : -ECANCELED);
	}
	set_fini(&s);
}

/* One that began as a client's and is to be alone later waits for those that are alone already. */
Test(orphan, alone_later)
{
	struct set s;
	struct req delayed, first;

	set_init(&s);
	delayed = (struct req){ .set = &s, .orphan.client = &s.a };
	first = (struct req){ .set = &s, .orphan.client = &s.b };
	bdev_orphan(&s.disk->bdev, &delayed.orphan, BDEV_CLIENT, NULL, 10 * BLOCK, 4 * BLOCK);
	bdev_orphan(&s.disk->bdev, &first.orphan, BDEV_EXCLUSIVE, NULL, 10 * BLOCK, 4 * BLOCK);
	first.more = delayed.more = true;
	again(&s, &first, s.b, IO_READ, 10, 4, 0);
	while (!first.over)
		turn_for(&s, 1);
	bdev_orphan(&s.disk->bdev, &delayed.orphan, BDEV_EXCLUSIVE, NULL, 10 * BLOCK, 4 * BLOCK);
	again(&s, &delayed, s.a, IO_READ, 10, 4, 0);
	cr_assert_eq(s.disk->submitted, 1, "it waits");
	first.over = 0;
	again(&s, &first, s.b, IO_WRITE, 10, 4, 'f');
	last_run(&s, &first);
	while (!delayed.over)
		turn_for(&s, 1);
	cr_assert_eq(s.disk->bytes[11 * BLOCK], 'f');
	bdev_orphan_end(&delayed.orphan);
	cr_assert_eq(s.disk->bdev.orphans, 0);
	set_fini(&s);
}
