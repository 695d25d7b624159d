/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* COMPARE AND WRITE of several initiators at the iSCSI target over TCP is atomic, also among writes
 * and on several threads, for ThreadSanitizer. */
/* Link: leap */
#include "iscsi_hostile_rig.h"

struct counting {
	bool asked, compares; /* one that compares: its answer is awaited */
	uint32_t value;
};

/* A step of a session that adds to the counter in the first block; true: it did. */
static bool count_on(struct iscsi_host *h, struct counting *c)
{
	static const uint8_t zeroes[BLOCK];
	uint8_t data[2 * BLOCK] = { 0 };
	struct iscsi_scsi_cmd cmd;
	bool added = false;

	if (c->asked && h->replies < h->asked)
		return false;
	if (c->asked && c->compares) {
		cr_assert(!h->status || h->status == 2 || h->status == 8, "%x", h->status);
		cr_assert(h->status != 2 || (h->text[4] & 0xf) == 0xe); /* MISCOMPARE */
		added = !h->status;
	}
	c->compares = c->asked && !c->compares;
	c->asked = true;
	if (!c->compares) {
		cmd = iscsi_host_command(h, ISCSI_CMD_READ, BLOCK);
		iscsi_host_rw(&cmd, 0x28, 0, 1);
		iscsi_host_ask(h, &cmd, NULL, 0);
		return added;
	}
	cr_assert_eq(memcmp(h->data + 4, zeroes, BLOCK - 4), 0);
	c->value = (uint32_t)wire_be(h->data, 4);
	wire_put_be(data, 4, c->value);
	wire_put_be(data + BLOCK, 4, c->value + 1);
	cmd = iscsi_host_command(h, ISCSI_CMD_WRITE, sizeof(data));
	cmd.cdb[0] = 0x89;
	cmd.cdb[13] = 1;
	iscsi_host_ask(h, &cmd, data, sizeof(data));
	return added;
}

/* Until so many have been added, by sessions at two targets. */
static void count_all(struct bdev *bdev, unsigned nloops, uint32_t most)
{
	struct counting counting[HOSTS] = { 0 };
	struct target *first = NULL;
	struct iscsi_scsi_cmd cmd;
	uint32_t added = 0;

	start(bdev, nloops);
	for (unsigned i = 0; i < HOSTS; i++) {
		if (i == HOSTS / 2) {
			first = target;
			start(bdev, nloops);
		}
		join_with(i, "k=1", 4, false);
	}
	while (added < most) {
		volatile int never = 0;

		for (unsigned i = 0; i < HOSTS; i++) {
			iscsi_host_poll(host[i]);
			cr_assert(!host[i]->over);
			added += count_on(host[i], &counting[i]);
			iscsi_host_poll(host[i]);
		}
		loop_wait(loop, &never, loop_clock() + (leap_now ? MSEC : 0));
	}
	for (unsigned i = 0; i < HOSTS; i++) {
		UNTIL(host[i]->replies == host[i]->asked);
		added += counting[i].compares && !host[i]->status;
	}
	cmd = iscsi_host_command(host[0], ISCSI_CMD_READ, BLOCK);
	iscsi_host_rw(&cmd, 0x28, 0, 1);
	cr_assert_eq(status_of(host[0], cmd), 0);
	cr_assert_eq(wire_be(host[0]->data, 4), added);
	for (unsigned i = 0; i < HOSTS; i++)
		iscsi_host_leave(host[i]);
	cr_assert_eq(target_stop(target, leap_limit_ms(5000), &why), 0, "%s", why.text);
	cr_assert_eq(target_stop(first, leap_limit_ms(5000), &why), 0, "%s", why.text);
	cr_assert_eq(bdev->orphans, 0);
	fake_disk_free(disk);
}

/* A disk that answers in any order: no addition is lost. */
Test(iscsi_hostile, compare_and_write_is_atomic)
{
	set_up();
	memset(disk->bytes, 0, BLOCK);
	disk->bdev.lim.sole_writer = true;
	disk->seed = 7;
	disk->pace_ns = MSEC;
	count_all(&disk->bdev, 1, 500);
	loop_free(loop);
}

Test(iscsi_hostile, compare_and_write_on_threads)
{
	const struct bdev_env env = { .write = true };
	struct workers *workers;
	struct bdev *ram;

	leap_now = 0;
	most_turns = 0;
	set_up();
	cr_assert_eq(
		workers_start(&workers, WORKERS, &(struct loop_options){ .name = "workers" }, &why),
		0);
	for (unsigned i = 0; i < WORKERS; i++)
		loops[i] = workers_loop(workers, i);
	cr_assert_eq(bdev_open(&ram, loop, "ram:8M?block=512", &env, &why), 0);
	count_all(ram, WORKERS, 100);
	workers_stop(workers);
	bdev_close(ram);
	loop_free(loop);
}

/* A write that the disk has lands before the comparison, one that comes later behind the write. */
Test(iscsi_hostile, compare_and_write_among_writes)
{
	static uint8_t data[2 * 8 * BLOCK];
	struct iscsi_host *h, *other;
	struct iscsi_scsi_cmd cmd;

	begin();
	disk->bdev.lim.sole_writer = true;
	h = join(1, 1);
	other = join(2, 2);
	for (unsigned i = 0; i < 3; i++) {
		memset(data, 'a' + (int)i, 8 * BLOCK);
		memset(data + 8 * BLOCK, 'n', 8 * BLOCK);
		disk->hold = disk->keep = true;
		cmd = writing(other, 64, 8);
		iscsi_host_ask(other, &cmd, data, 8 * BLOCK);
		turns(5);
		cmd = iscsi_host_command(h, ISCSI_CMD_WRITE, sizeof(data));
		cmd.cdb[0] = 0x89;
		cmd.cdb[9] = 64;
		cmd.cdb[13] = 8;
		iscsi_host_ask(h, &cmd, data, sizeof(data));
		turns(5);
		cmd = writing(other, 68, 8);
		iscsi_host_ask(other, &cmd, pattern, 8 * BLOCK);
		turns(50);
		cr_assert(h->replies < h->asked && other->replies < other->asked);
		disk->hold = disk->keep = false;
		UNTIL(h->replies == h->asked && other->replies == other->asked);
		cr_assert_eq(h->status, 0);
		cr_assert_eq(other->status, 0);
		memset(before + 64 * BLOCK, 'n', 4 * BLOCK);
		memcpy(before + 68 * BLOCK, pattern, 8 * BLOCK);
		unchanged();
	}
	cmd = iscsi_host_command(h, ISCSI_CMD_WRITE, sizeof(data));
	cmd.cdb[0] = 0x89;
	cmd.cdb[9] = 64;
	cmd.cdb[13] = 8;
	iscsi_host_ask(h, &cmd, data, sizeof(data)); /* miscompare */
	UNTIL(h->replies == h->asked);
	cr_assert(h->status == 2 && (h->text[4] & 0xf) == 0xe);
	end();
}
