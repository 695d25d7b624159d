/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ANA states as our initiator follows them: of controllers in tests/fake, which also lie, and of
 * our own target, whose groups switch under load. */
/* Link: leap */
#include "../fake/nvme_target.h"
#include "access.h"
#include "says.h"
#include "serving.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NQN  "nqn.2024-01.test:disk"
#define HOST "nqn.2014-08.org.nvmexpress:uuid:abff48c0-ecbe-4d8c-a64a-54f12797e8c2"
#define LEN  4096

static const struct bdev_env env = {
	.hostnqn = HOST, .hostid = { 9 }, .write = true, .timeout_ms = 5000, .on_loss_ms = 30000
};
static struct tcp_target tt[2];
static char lines[8192];

static void report(struct bdev *bdev, bool bad, const char *line)
{
	size_t at = strlen(lines);

	(void)bdev;
	snprintf(lines + at, sizeof(lines) - at, "%s%s\n", bad ? "! " : "", line);
}

static void turns(unsigned ms)
{
	loop_wait(loop, &(volatile int){ 0 }, loop_clock() + ms * MSEC);
}

/* --- controllers in tests/fake */

static _Atomic uint8_t states[2];

/* Group 7 has the namespace. */
static void put_log(uint8_t *page, uint8_t state)
{
	struct nvme_ana_log *log = (void *)page;
	struct nvme_ana_group *group = (void *)(log + 1);

	log->groups = put_le16(2);
	group[0] = (struct nvme_ana_group){ .grpid = put_le32(3), .state = NVME_ANA_CHANGE };
	group[1] = (struct nvme_ana_group){ .grpid = put_le32(7), .state = state };
}

static void ana(struct target *t, uint8_t *page, uint32_t len)
{
	cr_assert_geq(len, 80);
	put_log(page, states[t == &tt[1].target]);
}

static void begin(unsigned count, void (*log)(struct target *, uint8_t *, uint32_t))
{
	host_begin(0);
	lines[0] = 0;
	for (unsigned i = 0; i < count; i++) {
		struct target *t = &tt[i].target;

		target_init(t);
		states[i] = NVME_ANA_OPTIMIZED;
		t->ana = log;
		t->id.cmic = NVME_CMIC_ANA;
		t->id.oaes = NVME_OAES_NS_ATTR | NVME_OAES_ANA;
		t->id.anatt = 10;
		t->id.nanagrpid = 8;
		t->id.nn = 4;
		t->ns.anagrpid = 7;
		tcp_target_start(&tt[i]);
	}
}

static void end(unsigned count)
{
	host_end();
	for (unsigned i = 0; i < count; i++) {
		tcp_target_stop(&tt[i]);
		target_fini(&tt[i].target);
		tt[i] = (struct tcp_target){ 0 };
	}
}

static void open_paths(unsigned count, const char *keys)
{
	char text[300], other[100] = "";

	if (count == 2)
		snprintf(other, sizeof(other), "path=127.0.0.1:%u&", tt[1].port);
	snprintf(text, sizeof(text), "nvme+tcp://127.0.0.1:%u/" NQN "/1?%squeues=1%s", tt[0].port,
		other, keys);
	host_open(text, &env);
	disk->report = report;
	turns(600); /* until the better one of several paths is used */
}

static int read_once(struct pool *pool)
{
	struct buf buf = pool_buf(pool, 0);

	return host_io(IO_READ, 0, 0, LEN, &buf);
}

static void reads_are(unsigned a, unsigned b)
{
	cr_assert_eq(tt[0].target.reads, a, "%u", tt[0].target.reads);
	cr_assert_eq(tt[1].target.reads, b, "%u", tt[1].target.reads);
}

/* The state changes, and the controller reports that, if it can. */
static void state_is(unsigned at, uint8_t state)
{
	unsigned reads = tt[at].target.ana_reads;

	states[at] = state;
	cr_assert(tcp_target_notice(&tt[at], NVME_NOTICE_ANA));
	for (unsigned i = 0; i < 1000 && tt[at].target.ana_reads == reads; i++)
		turns(5);
	cr_assert_gt(tt[at].target.ana_reads, reads);
	turns(20);
}

Test(nvme_ana, events_move_requests)
{
	struct pool *pool;

	begin(2, ana);
	states[0] = NVME_ANA_NON_OPTIMIZED;
	open_paths(2, "");
	cr_assert_eq(pool_new(&pool, LEN, 1, NULL), 0);
	cr_assert(tt[0].target.events & NVME_EVENT_ANA);
	cr_assert(tt[0].target.events & NVME_EVENT_NS_ATTR);
	cr_assert_eq(read_once(pool), 0);
	reads_are(0, 1);
	state_is(1, NVME_ANA_INACCESSIBLE);
	text_says(lines, "! access_state inaccessible 1_other_path");
	cr_assert_eq(read_once(pool), 0);
	reads_are(1, 1);
	state_is(0, NVME_ANA_OPTIMIZED);
	state_is(1, NVME_ANA_NON_OPTIMIZED);
	text_says(lines, "access_state non-optimized");
	cr_assert_eq(read_once(pool), 0);
	reads_are(2, 1);
	state_is(0, NVME_ANA_PERSISTENT_LOSS);
	cr_assert_eq(read_once(pool), 0);
	reads_are(2, 2);
	pool_free(pool);
	end(2);
}

/* No event announces it: the status of a request does. */
Test(nvme_ana, a_status_makes_it_read_the_log)
{
	struct pool *pool;
	uint64_t start;

	begin(2, ana);
	tt[0].target.id.oaes = tt[1].target.id.oaes = 0;
	states[1] = NVME_ANA_NON_OPTIMIZED;
	open_paths(2, "");
	cr_assert_eq(pool_new(&pool, LEN, 1, NULL), 0);
	cr_assert_eq(tt[0].target.events, 0);
	states[0] = NVME_ANA_INACCESSIBLE;
	tt[0].target.io_status = NVME_ANA_STATUS_INACCESSIBLE;
	start = loop_clock();
	cr_assert_eq(read_once(pool), 0);
	cr_assert_lt(loop_clock() - start, 90 * MSEC, "at once");
	reads_are(0, 1);
	turns(200);
	text_says(lines, "access_state inaccessible");
	/* without events a closed path is polled */
	tt[0].target.io_status = 0;
	states[0] = NVME_ANA_OPTIMIZED;
	turns(1500);
	cr_assert_eq(read_once(pool), 0);
	reads_are(1, 1);
	pool_free(pool);
	end(2);
}

Test(nvme_ana, a_single_path_waits_and_says_why_it_fails)
{
	struct pool *pool;
	uint64_t start;

	begin(1, ana);
	open_paths(1, "&loss=3");
	cr_assert_eq(pool_new(&pool, LEN, 1, NULL), 0);
	state_is(0, NVME_ANA_INACCESSIBLE);
	start = loop_clock();
	cr_assert_eq(read_once(pool), -EHOSTUNREACH);
	cr_assert_geq(loop_clock() - start, 2500 * MSEC);
	cr_assert_lt(loop_clock() - start, 4000 * MSEC);
	diag_says(&disk->why, DIAG_UNREACHABLE, NULL, "access_state inaccessible");
	cr_assert_eq(tt[0].target.reads, 0, "not even sent");
	state_is(0, NVME_ANA_OPTIMIZED);
	cr_assert_eq(read_once(pool), 0);
	state_is(0, NVME_ANA_CHANGE);
	start = loop_clock();
	cr_assert_eq(read_once(pool), -EHOSTUNREACH);
	cr_assert_geq(loop_clock() - start, 9500 * MSEC, "ANATT");
	cr_assert_lt(loop_clock() - start, 11000 * MSEC);
	pool_free(pool);
	end(1);
}

/* A namespace that moves to another group. */
Test(nvme_ana, a_new_group_of_the_namespace)
{
	struct pool *pool;

	begin(2, ana);
	states[1] = NVME_ANA_NON_OPTIMIZED;
	open_paths(2, "");
	cr_assert_eq(pool_new(&pool, LEN, 1, NULL), 0);
	tt[0].target.ns.anagrpid = 3; /* which is changing */
	cr_assert(tcp_target_notice(&tt[0], NVME_NOTICE_NS_CHANGED));
	turns(200);
	cr_assert_eq(read_once(pool), 0);
	reads_are(0, 1);
	pool_free(pool);
	end(2);
}

Test(nvme_ana, controllers_without_a_log)
{
	struct pool *pool;

	begin(1, NULL);
	open_paths(1, "");
	cr_assert_eq(pool_new(&pool, LEN, 1, NULL), 0);
	cr_assert_eq(read_once(pool), 0);
	cr_assert_eq(disk->why.err, 0);
	pool_free(pool);
	end(1);
	begin(1, ana);
	tt[0].target.ns.anagrpid = 0;
	open_paths(1, "");
	cr_assert_eq(tt[0].target.ana_reads, 0);
	end(1);
}

/* --- those that lie */

static uint16_t lie_groups;
static uint32_t lie_nsids, lie_group;
static uint8_t lie_state;

static void lie(struct target *t, uint8_t *page, uint32_t len)
{
	struct nvme_ana_log *log = (void *)page;
	struct nvme_ana_group *group = (void *)(log + 1);

	(void)t;
	memset(page, 0xff, len);
	log->groups = put_le16(lie_groups);
	*group = (struct nvme_ana_group){
		.grpid = put_le32(lie_group), .nnsid = put_le32(lie_nsids), .state = lie_state
	};
}

static void refused(
	uint16_t groups, uint32_t group, uint32_t nsids, uint8_t state, const char *words)
{
	char text[200];

	lie_groups = groups;
	lie_group = group;
	lie_nsids = nsids;
	lie_state = state;
	begin(1, lie);
	snprintf(text, sizeof(text), "nvme+tcp://127.0.0.1:%u/" NQN "/1", tt[0].port);
	cr_assert_eq(host_attach(text, &env), -EPROTO, "%s", why.text);
	diag_says(&why, DIAG_PROTOCOL, NULL, words);
	end(1);
}

Test(nvme_ana, logs_that_lie)
{
	refused(0, 7, 0, 1, "ANA group_7");
	refused(65535, 3, 0, 1, "ANA group_2 65535");
	refused(1, 7, UINT32_MAX, 1, "ANA group_1");
	refused(1, 7, 0x40000000, 1, "ANA group_1"); /* times 4: 0 */
	refused(1, 3, 0, 1, "ANA group_7");
	refused(1, 7, 0, 0, "ANA reserved_state");
	refused(1, 7, 0, 5, "ANA reserved_state");
}

Test(nvme_ana, a_log_of_impossible_length)
{
	begin(1, ana);
	tt[0].target.id.nanagrpid = tt[0].target.id.nn = UINT32_MAX;
	tt[0].target.id.mnan = UINT32_MAX;
	open_paths(1, "");
	cr_assert_eq(tt[0].target.ana_reads, 1);
	end(1);
}

/* A log that becomes invalid ends the path, not the disk. */
Test(nvme_ana, a_log_that_lies_later)
{
	struct pool *pool;

	begin(2, ana);
	open_paths(2, "");
	cr_assert_eq(pool_new(&pool, LEN, 1, NULL), 0);
	states[0] = 9;
	cr_assert(tcp_target_notice(&tt[0], NVME_NOTICE_ANA));
	turns(200);
	text_says(lines, "! connection_lost ANA reserved_state_9 1_other");
	cr_assert_eq(read_once(pool), 0);
	reads_are(0, 1);
	pool_free(pool);
	end(2);
}

static void another_state(struct target *t, uint8_t *page, uint32_t len)
{
	static uint64_t count;

	(void)len;
	count = count * 6364136223846793005u + 1;
	put_log(page, t->ana_reads % 2 ? NVME_ANA_OPTIMIZED : NVME_ANA_NON_OPTIMIZED);
	((struct nvme_ana_log *)(void *)page)->chgcnt = put_le64(count);
}

/* An endless series of events costs ten reads of the log a second, and no request. */
Test(nvme_ana, changes_without_end)
{
	unsigned notices = 0, reads = 0;
	struct pool *pool;
	uint64_t start;

	begin(1, another_state);
	open_paths(1, "");
	cr_assert_eq(pool_new(&pool, LEN, 1, NULL), 0);
	for (start = loop_clock(); loop_clock() - start < 3000 * MSEC; reads++) {
		notices += tcp_target_notice(&tt[0], NVME_NOTICE_ANA);
		cr_assert_eq(read_once(pool), 0);
		turns(5);
	}
	cr_assert_gt(notices, 60);
	cr_assert_leq(tt[0].target.ana_reads, 35, "%u", tt[0].target.ana_reads);
	cr_assert_eq(tt[0].target.reads, reads);
	pool_free(pool);
	end(1);
}

/* --- our own target */

#define WRITES 16
#define ROUNDS 4 /* of them between two switches: the clock stands still while they run */

struct write {
	struct io io;
	struct buf buf;
	unsigned left, count;
	uint64_t lower[128];
};

static struct write writes[WRITES];
static unsigned done_count;
static volatile int all_done, some_done;

static void written(struct io *io);

static void write_next(struct write *w)
{
	memset(w->buf.p, (int)(w->count * 7 + (unsigned)(w - writes)), LEN);
	w->count++;
	w->left--;
	w->io = (struct io){ .kind = IO_WRITE,
		.off = (uint64_t)(w - writes) * LEN,
		.len = LEN,
		.buf = &w->buf,
		.done = written,
		.lower = w->lower };
	bdev_submit(lane, &w->io);
}

static void written(struct io *io)
{
	struct write *w = container_of(io, struct write, io);

	cr_assert_eq(io->status, 0, "%d", io->status);
	cr_assert_arr_eq(backing->bytes + io->off, w->buf.p, LEN);
	done_count++;
	some_done = done_count >= WRITES;
	all_done = done_count == WRITES * ROUNDS;
	if (w->left)
		write_next(w);
}

static void set_access(unsigned port, enum access access)
{
	enum access before;

	cr_assert_eq(target_set_access(target, port + 1, access, &before), 0);
}

/* Writes begin; one port is closed, and later the other one opened. */
static void switch_under_load(unsigned closes, enum access closed, enum access opened)
{
	done_count = 0;
	some_done = all_done = 0;
	for (unsigned i = 0; i < WRITES; i++) {
		writes[i].left = ROUNDS;
		write_next(&writes[i]);
	}
	cr_assert(loop_wait(loop, &some_done, loop_clock() + 60000 * MSEC));
	set_access(closes, closed);
	turns(done_count % 200);
	set_access(!closes, opened);
	cr_assert(loop_wait(loop, &all_done, loop_clock() + 60000 * MSEC));
}

static void groups_switch(const char *keys)
{
	static const enum access closed[] = { ACCESS_INACCESSIBLE, ACCESS_CHANGE, ACCESS_LOSS };
	unsigned port[2];
	struct pool *pool;
	char text[300];
	struct addr bound;

	serving_begin(1 << 20, TRANSPORT_TCP, 0);
	serving_listen(&opt.listen[1], TRANSPORT_TCP);
	opt.listens = 2;
	opt.listen[0].group = 1;
	opt.listen[1].group = 2;
	serving_start();
	for (unsigned i = 0; i < 2; i++) {
		cr_assert(target_transports(target, i, &bound));
		port[i] = addr_port(&bound);
	}
	snprintf(text, sizeof(text),
		"nvme+tcp://127.0.0.1:%u/" SERVING_NQN "/1?path=127.0.0.1:%u%s", port[0], port[1],
		keys);
	host_open(text, &env);
	lines[0] = 0;
	disk->report = report;
	cr_assert_leq(disk->lim.io_size, sizeof(writes->lower));
	cr_assert_eq(pool_new(&pool, LEN, WRITES, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	for (unsigned i = 0; i < WRITES; i++)
		writes[i] = (struct write){ .buf = pool_buf(pool, i) };
	for (unsigned i = 0; i < 24; i++)
		switch_under_load(
			i % 2, closed[i % 3], i % 4 < 2 ? ACCESS_OPTIMIZED : ACCESS_NON_OPTIMIZED);
	cr_assert_null(strstr(lines, "connection lost"), "%s", lines);
	text_says(lines, "access_state inaccessible persistent-loss change");
	for (unsigned i = 0; i < WRITES; i++)
		cr_assert_eq(writes[i].count, 24 * ROUNDS);
	lane_unmap(lane, pool);
	pool_free(pool);
	serving_end();
}

Test(nvme_ana, groups_switch_under_load)
{
	groups_switch("");
}
Test(nvme_ana, groups_switch_under_load_on_both_paths)
{
	groups_switch("&policy=round-robin");
}
