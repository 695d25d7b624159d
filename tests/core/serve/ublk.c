/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The life of a device, with a driver that the test plays: which one is taken, what it is made
 * with, what the driver may answer. */
/* Link: leap */
#include "ublk.h"
#include "disk.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES 4
#define OUR_KEY 0x1234
#define KEPT    (1ull << 63 | OUR_KEY)

struct device {
	bool there;
	struct ublk_dev_info info;
	struct ublk_params params;
	bool begun; /* to be recovered, with no queue yet */
};

static struct driver {
	struct device device[DEVICES];
	uint64_t features;
	uint32_t fail_op; /* this command */
	int fail_with;
	unsigned delete_ms;              /* until the last process has closed it */
	unsigned held;                   /* reports of processes that have it open */
	unsigned busy;                   /* so many times recovery is refused */
	unsigned opened, closed, failed; /* queues */
	bool no_nodes;                   /* in /dev */
	bool hang;                       /* START_DEV never returns, and a queue fails during it */
	struct ublk_queue *queue;
	char dir[32];
	int dev;
	struct loop *loop;
	struct fake_disk *disk;
	struct ublk_options opt;
	unsigned ended;
} d;

static void node(unsigned id, bool there)
{
	char name[32];

	snprintf(name, sizeof(name), "ublkc%u", id);
	if (there && !d.no_nodes)
		close(openat(d.dev, name, O_CREAT | O_RDWR, 0600));
	else
		unlinkat(d.dev, name, 0);
}

int ublk_ctl_open(struct ublk_ctl *ctl, struct loop *loop, int dev, struct diag *diag)
{
	(void)diag;
	*ctl = (struct ublk_ctl){ .loop = loop, .dev = dev, .features = d.features };
	return 0;
}

void ublk_ctl_close(struct ublk_ctl *ctl)
{
	(void)ctl;
}

void ublk_ctl_give_up(struct ublk_ctl *ctl, int result)
{
	ctl->result = result;
	ctl->done = 1;
}

static int add(struct ublk_dev_info *info, uint32_t id)
{
	for (unsigned i = 0; i < DEVICES; i++) {
		if (d.device[i].there || (id != UINT32_MAX && id != i))
			continue;
		cr_assert_eq(info->dev_id, id);
		info->dev_id = i;
		info->queues = info->queues < 4 ? info->queues : 4; /* CPUs */
		d.device[i] = (struct device){ .there = true, .info = *info };
		node(i, true);
		return 0;
	}
	return -EEXIST;
}

static void lose_all(void)
{
	for (unsigned i = 0; i < d.opened; i++)
		loop_post(d.loop, &d.queue[i].drained);
}

/* A queue's refusal arrives while the kernel waits for all tags. */
static int hang(struct ublk_ctl *ctl)
{
	d.queue[0].refused = -EBUSY;
	loop_post(d.loop, &d.queue[0].failed);
	ctl->done = 0;
	cr_assert(loop_wait(d.loop, &ctl->done, loop_clock() + 5000000000));
	return ctl->result;
}

int ublk_ctl_run(struct ublk_ctl *ctl, uint32_t op, uint32_t id, uint64_t data, void *payload,
	uint16_t len, uint64_t deadline)
{
	struct device *device = id < DEVICES && d.device[id].there ? &d.device[id] : NULL;

	(void)deadline;
	if (op == d.fail_op)
		return d.fail_with;
	if (op == UBLK_CTL_ADD_DEV)
		return add(payload, id);
	if (!device)
		return -ENODEV;
	switch (op) {
	case UBLK_CTL_SET_PARAMS:
		cr_assert_eq(len, sizeof(struct ublk_params));
		memcpy(&device->params, payload, len);
		return 0;
	case UBLK_CTL_GET_PARAMS:
		memcpy(payload, &device->params, len);
		return 0;
	case UBLK_CTL_GET_QUEUE_AFFINITY:
		memset(payload, 0xff, len);
		return 0;
	case UBLK_CTL_START_USER_RECOVERY:
		if (d.busy) {
			d.busy--;
			return -EBUSY;
		}
		if (device->begun || !(device->info.flags & UBLK_FEATURE_USER_RECOVERY))
			return -EINVAL;
		device->begun = true;
		return 0;
	case UBLK_CTL_START_DEV:
	case UBLK_CTL_END_USER_RECOVERY:
		cr_assert_eq(data, getpid());
		if (d.hang)
			return hang(ctl);
		device->info.state = UBLK_LIVE;
		device->info.pid = (int)data;
		return 0;
	case UBLK_CTL_STOP_DEV:
		device->info.state = UBLK_DEAD;
		lose_all();
		return 0;
	case UBLK_CTL_DEL_DEV:
		if (d.delete_ms)
			loop_wait(d.loop, &(volatile int){ 0 },
				loop_clock() + d.delete_ms * 1000000ull);
		device->there = false;
		node(id, false);
		return 0;
	default:
		cr_assert_fail("unknown command");
	}
	return -EINVAL;
}

int ublk_ctl_info(struct ublk_ctl *ctl, uint32_t id, struct ublk_dev_info *info, uint64_t deadline)
{
	(void)ctl;
	(void)deadline;
	if (id >= DEVICES || !d.device[id].there)
		return -ENODEV;
	*info = d.device[id].info;
	return 0;
}

int ublk_sync(struct loop *loop, int dev, uint32_t id, uint64_t deadline)
{
	(void)loop;
	(void)dev;
	(void)deadline;
	cr_assert(d.device[id].there);
	return d.fail_op == 1 ? d.fail_with : 0;
}

int ublk_halt(struct loop *loop, int dev, uint32_t id, uint64_t deadline)
{
	struct ublk_ctl ctl = { .loop = loop, .dev = dev };

	return ublk_ctl_run(&ctl, UBLK_CTL_STOP_DEV, id, 0, NULL, 0, deadline);
}

int ublk_queue_open(struct loop *loop, void *arg)
{
	struct ublk_place *place = arg;

	if (d.fail_op == 2)
		return diag_set(place->diag, DIAG_IO, EIO, "the lane");
	if (!d.opened++)
		d.queue = place->queue;
	return lane_open(&place->queue->lane, place->bdev, loop, place->diag);
}

int ublk_queue_fail(struct loop *loop, void *queue)
{
	(void)loop;
	(void)queue;
	d.failed++;
	return 0;
}

int ublk_queue_close(struct loop *loop, void *queue)
{
	(void)loop;
	d.closed++;
	lane_close(((struct ublk_queue *)queue)->lane);
	return 0;
}

static void ended(struct ublk *u, void *user)
{
	(void)u;
	(void)user;
	d.ended++;
}

static void held(unsigned id, void *user)
{
	(void)user;
	cr_assert_eq(id, 0);
	d.held++;
}

static void setup(void)
{
	struct diag diag = { 0 };

	d = (struct driver){ .features = 0x1fe, .dir = "/tmp/ublk-XXXXXX" };
	cr_assert(mkdtemp(d.dir));
	d.dev = open(d.dir, O_RDONLY | O_DIRECTORY);
	cr_assert_eq(loop_new(&d.loop, &(struct loop_options){ .name = "test" }, &diag), 0);
	d.disk = fake_disk_new(d.loop, 8 << 20, 512);
	d.disk->bdev.lim.lanes = 1;
	d.opt = (struct ublk_options){ .bdev = &d.disk->bdev,
		.dev = d.dev,
		.id = -1,
		.key = OUR_KEY,
		.ended = ended,
		.held = held };
	d.opt.loops = &d.loop;
	d.opt.nloops = 1;
}

static void teardown(void)
{
	for (unsigned i = 0; i < DEVICES; i++)
		node(i, false);
	fake_disk_free(d.disk);
	loop_free(d.loop);
	close(d.dev);
	rmdir(d.dir);
}

static struct ublk *start(int expected)
{
	struct diag diag = { 0 };
	struct ublk *u = NULL;
	int rc;

	d.opened = d.closed = 0;
	rc = ublk_start(&u, d.loop, &d.opt, 1000, &diag);
	cr_assert_eq(rc, expected, "%d %s", rc, diag.text);
	return u;
}

static void refused(int err, enum diag_code code, const char *words)
{
	struct diag diag = { 0 };
	struct ublk *u = NULL;

	d.opened = d.closed = 0;
	cr_assert_eq(ublk_start(&u, d.loop, &d.opt, 1000, &diag), -err, "%s", diag.text);
	diag_says(&diag, code, NULL, words);
	cr_assert_eq(d.opened, d.closed);
}

Test(ublk, a_device_is_made_as_the_disk_is)
{
	const struct ublk_params *p = &d.device[0].params;
	struct diag diag = { 0 };
	struct ublk_info info;
	struct ublk *u;

	setup();
	d.disk->bdev.lim.best = 16384;
	d.disk->bdev.lim.fua = true;
	d.disk->bdev.lim.depth = 40;
	d.disk->bdev.lim.max[IO_WRITE] = 130000;
	d.disk->bdev.lim.quiesce_ms = 7000;
	u = start(0);
	cr_assert_eq(d.queue->quiet_ns, 0, "a new device waits for nothing");
	cr_assert_eq(d.device[0].info.key, KEPT);
	cr_assert_eq(d.device[0].info.flags, 0x58, "recovery, reissue, encoded opcodes");
	cr_assert_eq(d.device[0].info.depth, 40);
	cr_assert_eq(d.device[0].info.max_bytes, 126976, "whole pages");
	cr_assert_eq(p->types, UBLK_PARAM_BASIC | UBLK_PARAM_DISCARD);
	cr_assert_eq(p->sectors, 16384);
	cr_assert_eq(p->logical_shift, 9);
	cr_assert_eq(p->physical_shift, 12);
	cr_assert_eq(p->best_shift, 14);
	cr_assert_eq(p->max_sectors, 248);
	cr_assert_eq(p->attrs, UBLK_ATTR_VOLATILE_CACHE | UBLK_ATTR_FUA);
	cr_assert_eq(p->max_discard_sectors, d.disk->bdev.lim.max[IO_TRIM] / 512);
	cr_assert_eq(p->max_zero_sectors, d.disk->bdev.lim.max[IO_ZERO] / 512);
	cr_assert_eq(p->discard_granularity, 4096);
	ublk_info(u, &info);
	cr_assert(info.live && !info.recovered && info.id == 0 && info.size == 8 << 20);
	cr_assert_eq(ublk_stop(u, 1000, &diag), 0, "%s", diag.text);
	cr_assert_not(d.device[0].there);
	cr_assert_eq(d.disk->flushes, 1);
	cr_assert_eq(d.ended, 0);
	teardown();
}

Test(ublk, a_disk_that_can_little)
{
	const struct ublk_params *p = &d.device[0].params;
	struct diag diag = { 0 };
	struct ublk *u;

	setup();
	d.disk->bdev.lim.max[IO_FLUSH] = d.disk->bdev.lim.max[IO_TRIM] =
		d.disk->bdev.lim.max[IO_ZERO] = 0;
	u = start(0);
	cr_assert_eq(p->types, UBLK_PARAM_BASIC);
	cr_assert_eq(p->attrs, 0);
	cr_assert_eq(ublk_stop(u, 1000, &diag), 0);
	d.opt.ro = true;
	u = start(0);
	cr_assert_eq(p->attrs, UBLK_ATTR_READ_ONLY);
	cr_assert_eq(ublk_stop(u, 1000, &diag), 0);
	cr_assert_eq(d.disk->flushes, 0);
	d.disk->bdev.lim.block = 8192;
	refused(EINVAL, DIAG_UNSUPPORTED, "8192 4096");
	teardown();
}

Test(ublk, without_a_key_or_the_feature_nothing_is_left_to_recover)
{
	struct diag diag = { 0 };
	struct ublk *u;

	setup();
	d.opt.key = 0;
	u = start(0);
	cr_assert_eq(d.device[0].info.flags, 0x40);
	cr_assert_eq(ublk_stop(u, 1000, &diag), 0);
	d.opt.key = 7;
	d.features &= ~(uint64_t)UBLK_FEATURE_USER_RECOVERY_REISSUE;
	u = start(0);
	cr_assert_eq(d.device[0].info.key, 1ull << 63);
	cr_assert_eq(ublk_stop(u, 1000, &diag), 0);
	teardown();
}

/* As if the process that made it were dead. */
static void left_behind(unsigned id, uint64_t key, uint16_t state)
{
	struct device *device = &d.device[id];

	*device = (struct device){ .there = true,
		.info = { .queues = 1,
			.depth = 8,
			.state = state,
			.max_bytes = 65536,
			.dev_id = id } };
	device->info.key = key;
	device->info.flags = 0x58;
	device->info.pid = -1;
	device->params = (struct ublk_params){ .types = UBLK_PARAM_BASIC,
		.logical_shift = 9,
		.sectors = 16384,
		.attrs = UBLK_ATTR_VOLATILE_CACHE };
	node(id, true);
}

Test(ublk, a_former_runs_device_is_taken_over_when_its_server_is_gone)
{
	struct diag diag = { 0 };
	struct ublk_info info;
	uint64_t begun;
	struct ublk *u;

	setup();
	left_behind(0, 99, UBLK_QUIESCED);
	left_behind(2, KEPT, UBLK_QUIESCED);
	d.busy = 2;
	d.disk->bdev.lim.quiesce_ms = 7000;
	begun = loop_clock();
	u = start(0);
	ublk_info(u, &info);
	cr_assert(info.recovered && info.id == 2 && info.depth == 8);
	for (unsigned i = 0; i < d.opened; i++) {
		cr_assert_geq(d.queue[i].quiet_ns, begun + 7000000000ull);
		cr_assert_leq(d.queue[i].quiet_ns, loop_clock() + 7000000000ull);
	}
	cr_assert_eq(ublk_stop(u, 1000, &diag), 0);
	cr_assert(d.device[0].there && !d.device[2].there);
	teardown();
}

Test(ublk, the_one_that_waits_is_taken_and_a_taking_over_that_failed_is_gone_on_with)
{
	struct diag diag = { 0 };
	struct ublk_info info;
	struct ublk *u;

	setup();
	left_behind(0, KEPT, UBLK_LIVE);
	left_behind(1, KEPT, UBLK_QUIESCED);
	d.fail_op = UBLK_CTL_START_USER_RECOVERY;
	d.fail_with = -EINVAL;
	u = start(0);
	ublk_info(u, &info);
	cr_assert(info.recovered && info.id == 1);
	cr_assert_eq(ublk_stop(u, 1000, &diag), 0);
	d.opt.id = 0;
	refused(EINVAL, DIAG_SYSTEM, "/dev/ublkb0 invalid_argument");
	teardown();
}

Test(ublk, what_is_not_ours_is_left_alone)
{
	setup();
	left_behind(1, 99, UBLK_QUIESCED);
	d.opt.id = 1;
	refused(EBUSY, DIAG_BUSY, "/dev/ublkb1 detach");
	d.device[1].info.key = OUR_KEY; /* not as we leave it */
	refused(EBUSY, DIAG_BUSY, "/dev/ublkb1 detach");
	d.device[1].info.key = KEPT;
	d.device[1].info.flags |= UBLK_FEATURE_UNPRIVILEGED; /* another user's */
	refused(EBUSY, DIAG_BUSY, "/dev/ublkb1 detach");
	d.device[1].info.flags &= ~UBLK_FEATURE_UNPRIVILEGED;
	d.device[1].info.key = 1ull << 63; /* of memory */
	d.opt.key = 0;
	refused(EBUSY, DIAG_BUSY, "/dev/ublkb1 detach");
	cr_assert(d.device[1].there);
	cr_assert_eq(d.device[1].info.state, UBLK_QUIESCED);
	teardown();
}

Test(ublk, a_device_that_is_served_is_not_taken)
{
	setup();
	left_behind(1, KEPT, UBLK_LIVE);
	d.device[1].info.pid = 4321;
	d.busy = UINT32_MAX;
	refused(EBUSY, DIAG_BUSY, "/dev/ublkb1 process_4321");
	left_behind(1, KEPT, UBLK_DEAD);
	d.device[1].info.pid = getppid();
	refused(EBUSY, DIAG_BUSY, "/dev/ublkb1 process_");
	cr_assert(d.device[1].there);
	teardown();
}

Test(ublk, a_device_that_never_started_is_created_again)
{
	struct diag diag = { 0 };
	struct ublk *u;

	setup();
	left_behind(0, KEPT, UBLK_DEAD);
	u = start(0);
	cr_assert_eq(d.device[0].info.max_bytes, 256 << 10);
	cr_assert_eq(d.held, 0);
	cr_assert_eq(ublk_stop(u, 1000, &diag), 0);
	left_behind(0, KEPT, UBLK_DEAD);
	d.delete_ms = 1300;
	u = start(0);
	cr_assert_eq(d.held, 1, "waits for the process that has it open, and reports that");
	d.delete_ms = 0;
	cr_assert_eq(ublk_stop(u, 1000, &diag), 0);
	teardown();
}

Test(ublk, the_disk_must_still_be_what_the_device_is)
{
	setup();
	left_behind(0, KEPT, UBLK_QUIESCED);
	d.device[0].params.sectors++;
	refused(EINVAL, DIAG_MISMATCH, "/dev/ublkb0 8389120 8388608");
	cr_assert(d.device[0].there);
	d.device[0].params.sectors--;
	d.device[0].params.logical_shift = 12;
	refused(EINVAL, DIAG_MISMATCH, "/dev/ublkb0 4096 512");
	d.device[0].params.logical_shift = 9;
	d.opt.ro = true;
	refused(EROFS, DIAG_MISMATCH, "/dev/ublkb0");
	d.opt.ro = false;
	d.device[0].info.queues = 2;
	refused(EINVAL, DIAG_MISMATCH, "/dev/ublkb0 2_queue 1");
	d.device[0].info.queues = 1;
	d.device[0].params.attrs |= UBLK_ATTR_FUA;
	refused(EINVAL, DIAG_MISMATCH, "/dev/ublkb0 FUA");
	d.device[0].params.attrs = 0;
	refused(EINVAL, DIAG_MISMATCH, "/dev/ublkb0 write_cache flush");
	cr_assert_not(d.device[0].begun, "another attempt is as good");
	teardown();
}

Test(ublk, a_take_over_without_effect_is_repeated)
{
	struct diag diag = { 0 };
	struct ublk_info info;
	struct ublk *u;

	setup();
	left_behind(0, KEPT, UBLK_QUIESCED);
	d.fail_op = 2;
	refused(EIO, DIAG_IO, "the_lane");
	cr_assert(d.device[0].there && d.device[0].begun);
	d.fail_op = 0;
	u = start(0);
	ublk_info(u, &info);
	cr_assert(info.recovered && info.id == 0);
	cr_assert_eq(ublk_stop(u, 1000, &diag), 0);
	teardown();
}

static void fails_and_leaves_nothing(uint32_t op, int err, enum diag_code code, const char *words)
{
	d.fail_op = op;
	d.fail_with = -err;
	refused(err, code, words);
	d.fail_op = 0;
	for (unsigned i = 0; i < DEVICES; i++)
		cr_assert_not(d.device[i].there, "device %u is left", i);
}

Test(ublk, what_fails_on_the_way_leaves_no_device)
{
	setup();
	fails_and_leaves_nothing(
		UBLK_CTL_ADD_DEV, EPERM, DIAG_PERMISSION, "ublk operation_not_permitted");
	fails_and_leaves_nothing(
		UBLK_CTL_SET_PARAMS, EINVAL, DIAG_SYSTEM, "limits /dev/ublkb0 invalid_argument");
	fails_and_leaves_nothing(2, EIO, DIAG_IO, "the_lane");
	fails_and_leaves_nothing(
		UBLK_CTL_START_DEV, ENOMEM, DIAG_NO_MEMORY, "start /dev/ublkb0 out_of_memory");
	fails_and_leaves_nothing(UBLK_CTL_START_DEV, ETIMEDOUT, DIAG_TIMEOUT, "start /dev/ublkb0");
	d.no_nodes = true;
	fails_and_leaves_nothing(0, ENOENT, DIAG_NOT_FOUND, "/dev/ublkc0 no_such_file");
	d.no_nodes = false;
	d.hang = true;
	fails_and_leaves_nothing(0, EBUSY, DIAG_BUSY, "start /dev/ublkb0 busy");
	teardown();
}

Test(ublk, the_end_by_others_is_reported_and_stopping_then_succeeds)
{
	struct diag diag = { 0 };
	struct ublk_info info;
	struct ublk *u;

	setup();
	u = start(0);
	lose_all();
	while (!d.ended)
		loop_wait(d.loop, &(volatile int){ 0 }, loop_clock() + 1000000);
	ublk_info(u, &info);
	cr_assert_not(info.live);
	d.device[0].there = false;
	cr_assert_eq(ublk_stop(u, 1000, &diag), 0, "%s", diag.text);
	cr_assert_eq(d.disk->flushes, 1);
	teardown();
}

Test(ublk, a_stop_does_not_wait_for_a_flush_that_is_never_answered)
{
	static struct ublk *u; /* what the disk keeps cannot be freed */
	struct diag diag = { 0 };
	uint64_t before;

	setup();
	u = start(0);
	d.disk->hold = d.disk->keep = true;
	before = loop_clock();
	cr_assert_eq(ublk_stop(u, 50, &diag), -EINPROGRESS, "not to be closed");
	cr_assert_lt(loop_clock() - before, 2000000000ull);
	diag_says(&diag, DIAG_TIMEOUT, d.disk->bdev.uri, "data flush timed_out");
}

Test(ublk, a_stop_says_what_may_not_be_on_the_disk)
{
	struct diag diag = { 0 };
	struct ublk *u;

	setup();
	u = start(0);
	d.disk->flush_status = -EIO;
	cr_assert_eq(ublk_stop(u, 1000, &diag), -EIO);
	diag_says(&diag, DIAG_IO, d.disk->bdev.uri, "data flush input/output_error");
	cr_assert_not(d.device[0].there);
	d.disk->flush_status = 0;
	u = start(0);
	d.fail_op = 1;
	d.fail_with = -EIO;
	memset(&diag, 0, sizeof(diag));
	cr_assert_eq(ublk_stop(u, 1000, &diag), -EIO);
	diag_says(&diag, DIAG_IO, NULL, "data /dev/ublkb0 flush input/output_error");
	u = start(0);
	d.fail_with = -ETIMEDOUT;
	memset(&diag, 0, sizeof(diag));
	cr_assert_eq(ublk_stop(u, 50, &diag), -EINPROGRESS);
	cr_assert(d.device[0].there, "left to another run");
	d.fail_op = 0;
	cr_assert_eq(ublk_stop(u, 1000, &diag), 0);
	teardown();
}

Test(ublk, another_process_ends_a_device)
{
	struct diag diag = { 0 };
	struct ublk_info info;

	setup();
	cr_assert_eq(ublk_delete(d.dev, d.loop, 3, false, 1000, &diag), -ENODEV);
	left_behind(3, 1, UBLK_QUIESCED);
	cr_assert_eq(ublk_query(d.dev, d.loop, 3, &info, &diag), 0);
	cr_assert(!info.live && !info.ours && info.depth == 8);
	cr_assert_eq(ublk_delete(d.dev, d.loop, 3, false, 1000, &diag), 0);
	cr_assert_not(d.device[3].there);
	left_behind(3, 1, UBLK_LIVE);
	d.device[3].info.pid = 77;
	d.fail_op = 1;
	d.fail_with = -ETIMEDOUT;
	cr_assert_eq(ublk_delete(d.dev, d.loop, 3, false, 1000, &diag), -ETIMEDOUT);
	diag_says(&diag, DIAG_TIMEOUT, NULL, "/dev/ublkb3 process_77 kill_-9_77");
	cr_assert(d.device[3].there);
	cr_assert_eq(ublk_delete(d.dev, d.loop, 3, true, 1000, &diag), 0);
	d.fail_op = UBLK_CTL_DEL_DEV;
	left_behind(3, 1, UBLK_QUIESCED);
	cr_assert_eq(ublk_delete(d.dev, d.loop, 3, false, 1000, &diag), -ETIMEDOUT);
	diag_says(&diag, DIAG_TIMEOUT, NULL, "/dev/ublkb3 process open");
	teardown();
}
