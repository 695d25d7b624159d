/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A host or client leaves while the disk has a write of its, and comes back: the old write lands
 * before anything newer. */
/* Link: leap */
#include "../../core/block/paths.h"
#include "nbd_client.h"
#include "serving.h"
#include "wire/nbd.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOST   "nqn.2014-08.org.nvmexpress:uuid:abff48c0-ecbe-4d8c-a64a-54f12797e8c2"
#define OTHER  "nqn.2014-08.org.nvmexpress:uuid:1d9c3b0e-52f2-4a2e-9c0f-1b7f8f3c6a11"
#define BLOCKS 8
#define LEN    (BLOCKS * 512)

struct write {
	struct io io;
	struct buf buf;
	volatile int over;
	uint64_t lower[128];
};

static void over(struct io *io)
{
	container_of(io, struct write, io)->over = 1;
}

static void submit(struct write *w, struct pool *pool, enum io_kind kind, uint64_t off, int byte)
{
	*w = (struct write){ .buf = pool_buf(pool, 0) };
	cr_assert_leq(disk->lim.io_size, sizeof(w->lower));
	memset(w->buf.p, byte, LEN);
	w->io = (struct io){ .kind = (uint8_t)kind,
		.off = off,
		.len = LEN,
		.buf = &w->buf,
		.done = over,
		.lower = w->lower,
		.status = 1 };
	bdev_submit(lane, &w->io);
}

static void turns(unsigned ms)
{
	loop_wait(loop, &(volatile int){ 0 }, loop_clock() + ms * MSEC);
}

static void attach_as(const char *nqn, bool iwarp, uint8_t hostid)
{
	struct bdev_env env = { .hostid = { hostid }, .write = true, .timeout_ms = 5000 };
	char text[200];

	snprintf(env.hostnqn, sizeof(env.hostnqn), "%s", nqn);
	snprintf(text, sizeof(text), "nvme+%s://127.0.0.1:%u/" SERVING_NQN "/1%s",
		iwarp ? "rdma" : "tcp", serving_port(), iwarp ? "?rdma=iwarp" : "");
	cr_assert_eq(host_attach(text, &env), 0, "%s", why.text);
	host_open_lane();
}

static void attach(bool iwarp, uint8_t hostid)
{
	attach_as(HOST, iwarp, hostid);
}

static void host_comes_back(bool iwarp)
{
	struct write old, new, other, back;
	struct pool *pool[2];

	serving_begin(1 << 20, TRANSPORT_TCP | TRANSPORT_IWARP, 0);
	serving_start();
	attach(iwarp, 9);
	cr_assert_eq(
		disk->lim.quiesce_ms, 5000 + 2000, "the keep-alive timeout and the target's CQT");
	for (unsigned i = 0; i < 2; i++)
		cr_assert_eq(pool_new(&pool[i], LEN, 1, NULL), 0);
	cr_assert_eq(lane_map(lane, pool[0], NULL), 0);
	backing->hold = backing->keep = true;
	submit(&old, pool[0], IO_WRITE, 65536, 'o');
	for (unsigned i = 0; i < 1000 && !backing->submitted; i++)
		turns(5);
	cr_assert_eq(backing->submitted, 1);
	diag_set(&why, DIAG_CLOSED, ECONNABORTED, "test");
	lane->ops->abort(lane, &why);
	cr_assert(loop_wait(loop, &old.over, loop_clock() + 5000 * MSEC));
	cr_assert_eq(old.io.status, -ENOTCONN);
	lane_unmap(lane, pool[0]);
	host_hang_up();
	for (unsigned i = 0; i < 1000 && !backing->bdev.orphans; i++)
		turns(5);
	cr_assert_eq(backing->bdev.orphans, 1);

	attach(iwarp, 9);
	for (unsigned i = 0; i < 2; i++)
		cr_assert_eq(lane_map(lane, pool[i], NULL), 0);
	submit(&new, pool[0], IO_WRITE, 65536 + 512, 'n');
	submit(&other, pool[1], IO_WRITE, 0, 'x');
	for (unsigned i = 0; i < 1000 && backing->submitted < 2; i++)
		turns(5);
	turns(50);
	cr_assert_eq(backing->submitted, 2, "only the other blocks are written");
	backing->hold = false;
	cr_assert(loop_wait(loop, &new.over, loop_clock() + 5000 * MSEC));
	cr_assert(loop_wait(loop, &other.over, loop_clock() + 5000 * MSEC));
	cr_assert(!new.io.status && !other.io.status);
	submit(&back, pool[0], IO_READ, 65536, 0);
	cr_assert(loop_wait(loop, &back.over, loop_clock() + 5000 * MSEC));
	cr_assert_eq(back.buf.p[0], 'o');
	cr_assert_eq(back.buf.p[512], 'n', "the old write landed after the new one");
	cr_assert_eq(backing->bdev.orphans, 0);
	for (unsigned i = 0; i < 2; i++) {
		lane_unmap(lane, pool[i]);
		pool_free(pool[i]);
	}
	serving_end();
}

Test(late_write, nvme_tcp_host_comes_back)
{
	host_comes_back(false);
}
Test(late_write, iwarp_host_comes_back)
{
	host_comes_back(true);
}

/* One of two paths is lost with a write that is stuck in the disk. The other path has the target
 * end the controller, so the write is answered as soon as the disk is done, not after the quiet
 * time, and a newer one lands behind both copies of it. */
static void a_lost_path_is_fenced(bool iwarp)
{
	struct bdev_env env = {
		.hostid = { 9 }, .write = true, .timeout_ms = 5000, .on_loss_ms = 60000
	};
	const struct paths *paths;
	struct write old, new, back;
	struct pool *pool[2];
	struct lane *cut;
	char text[200];
	uint64_t freed;

	serving_begin(1 << 20, TRANSPORT_TCP | TRANSPORT_IWARP, 0);
	serving_start();
	snprintf(env.hostnqn, sizeof(env.hostnqn), HOST);
	snprintf(text, sizeof(text), "nvme+%s://127.0.0.1:%u/" SERVING_NQN "/1?path=127.0.0.1:%u%s",
		iwarp ? "rdma" : "tcp", serving_port(), serving_port(), iwarp ? "&rdma=iwarp" : "");
	host_open(text, &env);
	paths = container_of(disk, struct paths, bdev);
	cr_assert_eq(paths->path[1].state, PATH_UP);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(pool_new(&pool[i], LEN, 1, NULL), 0);
		cr_assert_eq(lane_map(lane, pool[i], NULL), 0);
	}
	backing->hold = backing->keep = true;
	submit(&old, pool[0], IO_WRITE, 65536, 'o');
	for (unsigned i = 0; i < 1000 && !backing->submitted; i++)
		turns(5);
	diag_set(&why, DIAG_CLOSED, ECONNABORTED, "test");
	cut = paths->lanes->leg[0].lane;
	cut->ops->abort(cut, &why);
	turns(500);
	cr_assert_eq(backing->submitted, 1, "the copy waits for the first one");
	cr_assert_not(old.over);
	backing->hold = false;
	freed = loop_clock();
	cr_assert(loop_wait(loop, &old.over, loop_clock() + 20000 * MSEC));
	cr_assert_eq(old.io.status, 0);
	cr_assert_lt(loop_clock() - freed, 1000 * MSEC);
	submit(&new, pool[1], IO_WRITE, 65536 + 512, 'n');
	cr_assert(loop_wait(loop, &new.over, loop_clock() + 5000 * MSEC));
	submit(&back, pool[0], IO_READ, 65536, 0);
	cr_assert(loop_wait(loop, &back.over, loop_clock() + 5000 * MSEC));
	cr_assert_eq(back.buf.p[0], 'o');
	cr_assert_eq(back.buf.p[512], 'n');
	for (unsigned i = 0; i < 2; i++) {
		lane_unmap(lane, pool[i]);
		pool_free(pool[i]);
	}
	serving_end();
}

Test(late_write, nvme_tcp_path_is_fenced_by_another)
{
	a_lost_path_is_fenced(false);
}
Test(late_write, iwarp_path_is_fenced_by_another)
{
	a_lost_path_is_fenced(true);
}

/* A host leaves while the disk trims blocks for it. Another host's changes of these blocks wait,
 * its reads do not, and nothing waits that does not overlap. */
Test(late_write, a_trim_holds_back_changes_of_its_blocks_only)
{
	struct write trim, read, other, same;
	struct pool *pool[3];

	serving_begin(1 << 20, TRANSPORT_TCP, 0);
	serving_start();
	attach(false, 9);
	for (unsigned i = 0; i < 3; i++)
		cr_assert_eq(pool_new(&pool[i], LEN, 1, NULL), 0);
	backing->hold = backing->keep = true;
	submit(&trim, pool[0], IO_TRIM, 65536, 0);
	for (unsigned i = 0; i < 1000 && !backing->submitted; i++)
		turns(5);
	diag_set(&why, DIAG_CLOSED, ECONNABORTED, "test");
	lane->ops->abort(lane, &why);
	cr_assert(loop_wait(loop, &trim.over, loop_clock() + 5000 * MSEC));
	host_hang_up();
	for (unsigned i = 0; i < 1000 && !backing->bdev.orphans; i++)
		turns(5);
	cr_assert_eq(backing->bdev.orphans, 1);
	attach_as(OTHER, false, 8);
	for (unsigned i = 0; i < 3; i++)
		cr_assert_eq(lane_map(lane, pool[i], NULL), 0);
	submit(&same, pool[0], IO_WRITE, 65536, 'n');
	submit(&read, pool[1], IO_READ, 65536, 0);
	submit(&other, pool[2], IO_WRITE, 0, 'x');
	for (unsigned i = 0; i < 1000 && backing->submitted < 3; i++)
		turns(5);
	turns(50);
	cr_assert_eq(backing->submitted, 3);
	cr_assert_eq(backing->bdev.orphans, 1);
	backing->hold = false;
	cr_assert(loop_wait(loop, &read.over, loop_clock() + 5000 * MSEC));
	cr_assert(loop_wait(loop, &other.over, loop_clock() + 5000 * MSEC));
	cr_assert(loop_wait(loop, &same.over, loop_clock() + 5000 * MSEC));
	cr_assert(!read.io.status && !other.io.status && !same.io.status);
	cr_assert_eq(backing->bytes[65536], 'n', "the trim landed after the write");
	for (unsigned i = 0; i < 3; i++) {
		lane_unmap(lane, pool[i]);
		pool_free(pool[i]);
	}
	serving_end();
}

/* The host has given up its first association without the target knowing; another host's is its
 * own. */
static void second_association(uint8_t hostid, unsigned orphans)
{
	struct write old, new;
	struct pool *pool[2];
	struct bdev *old_disk;
	struct lane *old_lane;

	serving_begin(1 << 20, TRANSPORT_TCP, 0);
	serving_start();
	attach(false, 9);
	for (unsigned i = 0; i < 2; i++)
		cr_assert_eq(pool_new(&pool[i], LEN, 1, NULL), 0);
	cr_assert_eq(lane_map(lane, pool[0], NULL), 0);
	backing->hold = backing->keep = true;
	submit(&old, pool[0], IO_WRITE, 65536, 'o');
	for (unsigned i = 0; i < 1000 && !backing->submitted; i++)
		turns(5);
	old_disk = disk;
	old_lane = lane;
	attach(false, hostid);
	cr_assert_eq(backing->bdev.orphans, orphans);
	cr_assert_eq(lane_map(lane, pool[1], NULL), 0);
	submit(&new, pool[1], IO_WRITE, 65536, 'n');
	for (unsigned i = 0; i < 20 && backing->submitted < 2; i++)
		turns(5);
	cr_assert_eq(backing->submitted, orphans ? 1 : 2);
	backing->hold = false;
	cr_assert(loop_wait(loop, &old.over, loop_clock() + 5000 * MSEC));
	cr_assert(loop_wait(loop, &new.over, loop_clock() + 5000 * MSEC));
	cr_assert(!old.io.status && !new.io.status, "the first association still works");
	if (orphans)
		cr_assert_eq(backing->bytes[65536], 'n');
	lane_unmap(old_lane, pool[0]);
	lane_unmap(lane, pool[1]);
	for (unsigned i = 0; i < 2; i++)
		pool_free(pool[i]);
	lane_close(old_lane);
	old_disk->ops->free(old_disk);
	serving_end();
}

/* What the old association still has to do is fenced, too: a command in many runs. */
Test(late_write, the_later_runs_of_a_command_are_fenced)
{
	struct write old, new;
	struct pool *pool;
	struct bdev *old_disk;
	struct lane *old_lane;

	serving_begin(1 << 20, TRANSPORT_TCP, 0);
	backing->bdev.lim.max[IO_ZERO] = 4096;
	serving_start();
	attach(false, 9);
	cr_assert_eq(pool_new(&pool, LEN, 1, NULL), 0);
	backing->hold = backing->keep = true;
	old = (struct write){ .io = { .kind = IO_ZERO,
				      .off = 65536,
				      .len = 65536,
				      .done = over,
				      .lower = old.lower,
				      .status = 1 } };
	bdev_submit(lane, &old.io);
	for (unsigned i = 0; i < 1000 && !backing->submitted; i++)
		turns(5);
	old_disk = disk;
	old_lane = lane;
	attach(false, 9);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	submit(&new, pool, IO_WRITE, 65536 + 61440, 'n');
	turns(50);
	cr_assert_eq(backing->submitted, 1);
	backing->hold = false;
	cr_assert(loop_wait(loop, &old.over, loop_clock() + 5000 * MSEC));
	cr_assert(loop_wait(loop, &new.over, loop_clock() + 5000 * MSEC));
	cr_assert(!old.io.status && !new.io.status);
	cr_assert_eq(backing->bytes[65536 + 61440], 'n',
		"a later run of the old command came after the new write");
	lane_unmap(lane, pool);
	pool_free(pool);
	lane_close(old_lane);
	old_disk->ops->free(old_disk);
	serving_end();
}

Test(late_write, same_host_connects_again_while_its_old_association_is_alive)
{
	second_association(9, 1);
}
Test(late_write, another_host_is_not_fenced)
{
	second_association(8, 0);
}

Test(late_write, nbd_client_comes_back)
{
	struct client *s = client_set(512, 4, false);
	static uint8_t data[LEN];

	client_hello(s, false);
	s->disk->hold = s->disk->keep = true;
	memset(data, 'o', LEN);
	client_ask(s, NBD_CMD_WRITE, 0, 1, 8192, LEN);
	client_say(s, data, LEN);
	client_turns(s, 20);
	cr_assert_eq(s->disk->submitted, 1);
	close(s->fd);
	client_turns(s, 20);
	cr_assert_eq(s->disk->bdev.orphans, 1);
	s->fd = client_dial(s);
	s->len = 0;
	client_hello(s, false);
	s->len = 0;
	memset(data, 'n', LEN);
	client_ask(s, NBD_CMD_WRITE, 0, 2, 8192, LEN);
	client_say(s, data, LEN);
	client_turns(s, 50);
	cr_assert_eq(s->disk->submitted, 1);
	s->disk->hold = false;
	cr_assert_eq(client_hear(s, 16), 16);
	cr_assert_eq(client_simple_error(s, 0, 2), 0);
	cr_assert_eq(s->disk->bytes[8192], 'n', "the old write landed after the new one");
	cr_assert_eq(client_strike(s), 0);
}

/* A write that the server has no room to read stays unread when its client has left. */
Test(late_write, nbd_client_leaves_a_write_that_is_not_read)
{
	struct client *s = client_set(512, 2, false);
	static uint8_t old[2 * BUFFER], new[BUFFER];
	int left = s->fd;

	memset(old, 'o', sizeof(old));
	memset(new, 'n', sizeof(new));
	client_hello(s, false);
	s->disk->hold = s->disk->keep = true;
	for (uint8_t i = 0; i < 2; i++) {
		client_ask(s, NBD_CMD_WRITE, 0, i, i * BUFFER, BUFFER);
		client_say(s, old, BUFFER);
	}
	client_ask(s, NBD_CMD_WRITE, 0, 2, 2 * BUFFER, sizeof(old));
	client_say(s, old, sizeof(old));
	client_turns(s, 20);
	shutdown(left, SHUT_WR);
	client_turns(s, 20);
	s->len = 0;
	s->fd = client_dial(s);
	client_hello(s, false);
	s->len = 0;
	client_ask(s, NBD_CMD_WRITE, 0, 9, 2 * BUFFER, BUFFER);
	client_say(s, new, sizeof(new));
	client_turns(s, 20);
	s->disk->hold = s->disk->keep = false;
	cr_assert_eq(client_hear(s, 16), 16);
	cr_assert_eq(client_simple_error(s, 0, 9), 0);
	client_turns(s, 50);
	cr_assert_arr_eq(s->disk->bytes + 2 * BUFFER, new, BUFFER,
		"the write that was left behind was executed");
	close(left);
	client_strike(s);
}

/* The first connection is still alive, as after a cut of the network that only the client has
 * noticed. */
Test(late_write, nbd_client_connects_again)
{
	struct client *s = client_set(512, 4, false);
	static uint8_t data[LEN];
	int old = s->fd;

	client_hello(s, false);
	s->disk->hold = s->disk->keep = true;
	memset(data, 'o', LEN);
	client_ask(s, NBD_CMD_WRITE, 0, 1, 8192, LEN);
	client_say(s, data, LEN);
	client_turns(s, 20);
	s->fd = client_dial(s);
	s->len = 0;
	client_hello(s, false);
	s->len = 0;
	memset(data, 'n', LEN);
	client_ask(s, NBD_CMD_WRITE, 0, 2, 8192, LEN);
	client_say(s, data, LEN);
	client_turns(s, 50);
	cr_assert_eq(s->disk->submitted, 1);
	s->disk->hold = false;
	cr_assert_eq(client_hear(s, 16), 16);
	cr_assert_eq(client_simple_error(s, 0, 2), 0);
	cr_assert_eq(s->disk->bytes[8192], 'n', "the old write landed after the new one");
	close(old);
	cr_assert_eq(client_strike(s), 0);
}

/* A disconnect cancels the gated requests of a client. */
Test(late_write, nbd_trims_that_wait_end_with_their_client)
{
	struct client *s = client_set(512, 4, false);
	int old = s->fd;

	client_hello(s, false);
	s->disk->hold = s->disk->keep = true;
	client_ask(s, NBD_CMD_TRIM, 0, 1, 8192, LEN);
	client_turns(s, 20);
	s->fd = client_dial(s);
	client_hello(s, false);
	client_ask(s, NBD_CMD_TRIM, 0, 2, 8192, SIZE - 8192);
	client_turns(s, 20);
	cr_assert_eq(s->disk->submitted, 1);
	close(s->fd);
	client_turns(s, 20);
	cr_assert_eq(s->disk->bdev.orphans, 1);
	s->fd = client_dial(s);
	client_hello(s, false);
	client_ask(s, NBD_CMD_READ, 0, 3, 65536, LEN);
	client_turns(s, 20);
	cr_assert_eq(s->disk->submitted, 2);
	s->disk->hold = s->disk->keep = false;
	close(old);
	cr_assert_eq(client_strike(s), 0);
}
