/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A disk behind the kernel's NBD client, played by the fake driver: requests, lost connections, a
 * device that is taken over, resized and disconnected. */
/* Link: leap */
#include "nbd_dev.h"
#include "disk.h"
#include "nbd_driver.h"
#include "says.h"
#include "wire/nbd.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MSEC 1000000ull
#define SIZE (4u << 20)

struct stage {
	struct tree tree;
	struct loop *loop;
	struct fake_disk *disk;
	struct nbd_server *server;
	struct nbd_dev *dev;
	struct diag diag;
	unsigned ends;
	uint32_t timeout_ms;
};

static void serve(struct stage *s)
{
	struct nbd_options opt = { .exports = 1,
		.nloops = 1,
		.loops = &s->loop,
		.export[0] = { .name = "", .bdev = &s->disk->bdev } };

	cr_assert_eq(nbd_server_start(&s->server, s->loop, &opt, &s->diag), 0, "%s", s->diag.text);
}

static void set(struct stage *s)
{
	*s = (struct stage){ .tree = tree_new() };
	nbd_driver_start(&s->tree);
	tree_file(&s->tree, "dev/nbd0", "");
	cr_assert_eq(loop_new(&s->loop, &(struct loop_options){ .name = "test" }, &s->diag), 0);
	s->disk = fake_disk_new(s->loop, SIZE, 512);
	for (size_t i = 0; i < SIZE; i++)
		s->disk->bytes[i] = (uint8_t)(i * 2654435761u >> 13);
	serve(s);
}

static void ended(struct nbd_dev *dev, void *user)
{
	(void)dev;
	((struct stage *)user)->ends++;
}

static int start(struct stage *s, unsigned connections)
{
	const struct nbd_dev_options opt = { .root = s->tree.root,
		.server = s->server,
		.bdev = &s->disk->bdev,
		.index = -1,
		.connections = connections,
		.buffer = 262144,
		.hold_ms = 60000,
		.timeout_ms = s->timeout_ms,
		.id = "rdmastor x",
		.ended = ended,
		.user = s };

	return nbd_dev_start(&s->dev, s->loop, &opt, &s->diag);
}

static void stop_server(struct stage *s)
{
	cr_assert_eq(nbd_server_stop(s->server, 3000, &s->diag), 0, "%s", s->diag.text);
	nbd_dev_free(s->dev);
	s->dev = NULL;
}

static void strike(struct stage *s)
{
	stop_server(s);
	fake_disk_free(s->disk);
	loop_free(s->loop);
	tree_free(&s->tree);
}

static void turns(struct stage *s, unsigned ms)
{
	volatile int never = 0;

	loop_wait(s->loop, &never, loop_clock() + ms * MSEC);
}

/* The kernel reads 4 KiB over that connection. */
static bool reads(struct stage *s, unsigned sock)
{
	const struct nbd_request request = { .magic = put_be32(NBD_REQUEST_MAGIC),
		.type = put_be16(NBD_CMD_READ),
		.cookie = "cookie",
		.off = put_be64(8192),
		.len = put_be32(4096) };
	struct {
		struct nbd_simple_reply head;
		uint8_t data[4096];
	} reply;
	size_t got = 0;

	if (send(nbd_driver.sock[sock], &request, sizeof(request), MSG_NOSIGNAL) != sizeof(request))
		return false;
	for (int idle = 0; got < sizeof(reply) && idle < 2000; idle++) {
		ssize_t n = recv(nbd_driver.sock[sock], (uint8_t *)&reply + got,
			sizeof(reply) - got, MSG_DONTWAIT);

		if (n > 0)
			got += (size_t)n;
		else
			turns(s, 1);
	}
	return got == sizeof(reply) && !memcmp(reply.head.cookie, "cookie", 6) &&
	       !get_be32(reply.head.error) && !memcmp(reply.data, s->disk->bytes + 8192, 4096);
}

static void until(struct stage *s, const unsigned *counter, unsigned least)
{
	for (int i = 0; __atomic_load_n(counter, __ATOMIC_ACQUIRE) < least && i < 3000; i++)
		turns(s, 1);
	cr_assert_geq(__atomic_load_n(counter, __ATOMIC_ACQUIRE), least);
}

Test(nbd_dev, the_kernel_reads_over_each_connection_and_the_end_is_clean)
{
	struct stage s;

	set(&s);
	cr_assert_eq(start(&s, 3), 0, "%s", s.diag.text);
	cr_assert_eq(nbd_dev_connections(s.dev), 3);
	cr_assert(!nbd_dev_recovered(s.dev));
	cr_assert_eq(nbd_driver.asked.size, SIZE);
	cr_assert_eq(nbd_driver.asked.block, 512);
	cr_assert(nbd_driver.asked.flags & NBD_FLAG_CAN_MULTI_CONN);
	cr_assert(!(nbd_driver.asked.flags & NBD_FLAG_SEND_DF));
	cr_assert_gt(nbd_driver.asked.timeout_s, 60, "the kernel waits longer than the disk");
	cr_assert_eq(nbd_driver.asked.dead_s, 60);
	for (unsigned i = 0; i < 3; i++)
		cr_assert(reads(&s, i));
	cr_assert_eq(nbd_dev_stop(s.dev, 3000, &s.diag), 0, "%s", s.diag.text);
	cr_assert_eq(nbd_driver.disconnects, 1);
	cr_assert_eq(s.ends, 0);
	strike(&s);
}

Test(nbd_dev, one_connection_is_waited_for_without_end)
{
	struct stage s;

	set(&s);
	cr_assert_eq(start(&s, 0), 0, "%s", s.diag.text);
	cr_assert_eq(nbd_dev_connections(s.dev), 1);
	cr_assert_eq(nbd_driver.asked.timeout_s, 0);
	cr_assert_eq(nbd_dev_stop(s.dev, 3000, &s.diag), 0);
	strike(&s);
}

Test(nbd_dev, a_connection_that_dies_gets_a_successor)
{
	struct stage s;

	set(&s);
	cr_assert_eq(start(&s, 2), 0, "%s", s.diag.text);
	nbd_driver_kill(1);
	until(&s, &nbd_driver.renews, 1);
	turns(&s, 50);
	cr_assert_eq(nbd_dev_connections(s.dev), 2);
	cr_assert(reads(&s, 0));
	cr_assert(reads(&s, 1));
	cr_assert_eq(nbd_dev_stop(s.dev, 3000, &s.diag), 0);
	strike(&s);
}

Test(nbd_dev, a_refusal_is_tried_again)
{
	struct stage s;

	set(&s);
	cr_assert_eq(start(&s, 1), 0, "%s", s.diag.text);
	nbd_driver.fail = -ENOMEM;
	nbd_driver_kill(0);
	until(&s, &nbd_driver.renews, 1);
	turns(&s, 50);
	cr_assert(reads(&s, 0));
	cr_assert_eq(nbd_dev_stop(s.dev, 3000, &s.diag), 0);
	strike(&s);
}

Test(nbd_dev, who_disconnects_it_ends_it)
{
	struct stage s;

	set(&s);
	cr_assert_eq(start(&s, 2), 0, "%s", s.diag.text);
	cr_assert_eq(kernel_nbd_disconnect(s.tree.root, 0, NULL, true, 0, &s.diag), 0);
	until(&s, &s.ends, 1);
	turns(&s, 20);
	cr_assert_eq(s.ends, 1, "told once");
	cr_assert_eq(nbd_driver.renews, 0);
	cr_assert_eq(nbd_dev_stop(s.dev, 3000, &s.diag), 0);
	strike(&s);
}

/* The process behind it is gone, the sockets with it. */
static void leave(struct stage *s)
{
	cr_assert_eq(nbd_dev_leave(s->dev, 3000, &s->diag), 0);
	stop_server(s);
	for (unsigned i = 0; i < nbd_driver.socks; i++)
		if (nbd_driver.sock[i] >= 0)
			nbd_driver_kill(i);
}

Test(nbd_dev, the_device_of_a_former_run_is_taken_over_with_all_its_connections)
{
	struct stage s;

	set(&s);
	cr_assert_eq(start(&s, 3), 0, "%s", s.diag.text);
	leave(&s);
	serve(&s);
	s.disk->bdev.lim.size = SIZE / 2; /* smaller: refused, and the device is left alone */
	cr_assert_eq(start(&s, 1), -EINVAL);
	stop_server(&s);
	serve(&s);
	s.disk->bdev.lim.size = SIZE;
	cr_assert_eq(start(&s, 1), 0, "%s", s.diag.text);
	cr_assert(nbd_dev_recovered(s.dev));
	cr_assert_eq(nbd_dev_connections(s.dev), 3);
	cr_assert_eq(nbd_driver.connects, 1);
	for (unsigned i = 0; i < 3; i++)
		cr_assert(reads(&s, i));
	cr_assert_eq(nbd_dev_stop(s.dev, 3000, &s.diag), 0);
	strike(&s);
}

Test(nbd_dev, what_a_former_run_sent_is_waited_for)
{
	struct stage s;
	uint64_t began;

	set(&s);
	s.disk->bdev.lim.quiesce_ms = 400;
	cr_assert_eq(start(&s, 1), 0, "%s", s.diag.text);
	leave(&s);
	serve(&s);
	began = loop_clock();
	cr_assert_eq(start(&s, 1), 0, "%s", s.diag.text);
	cr_assert(nbd_dev_recovered(s.dev));
	cr_assert_geq(loop_clock() - began, 400 * MSEC);
	cr_assert(reads(&s, 0));
	cr_assert_eq(nbd_dev_stop(s.dev, 3000, &s.diag), 0);
	strike(&s);
}

Test(nbd_dev, getting_ready_is_bounded)
{
	struct stage s;
	uint64_t began = loop_clock();

	set(&s);
	s.timeout_ms = 5000;
	s.disk->bdev.lim.quiesce_ms = 60000;
	cr_assert_eq(start(&s, 1), 0, "%s", s.diag.text);
	cr_assert(nbd_driver.asked.timeout_ms > 4000 && nbd_driver.asked.timeout_ms <= 5001, "%u",
		nbd_driver.asked.timeout_ms);
	leave(&s);
	serve(&s);
	cr_assert_eq(start(&s, 1), -ETIMEDOUT);
	diag_says(&s.diag, DIAG_TIMEOUT, "/dev/nbd0", "5_s run");
	stop_server(&s);
	serve(&s);
	s.disk->bdev.lim.quiesce_ms = 0;
	nbd_driver_kill(0);
	cr_assert_eq(start(&s, 1), 0, "%s", s.diag.text);
	cr_assert(nbd_dev_recovered(s.dev));
	cr_assert_lt(loop_clock() - began, 5000 * MSEC);
	cr_assert_eq(nbd_dev_stop(s.dev, 3000, &s.diag), 0);
	strike(&s);
}

static void die(struct loop_timer *timer)
{
	(void)timer;
	nbd_driver_kill(0);
}

Test(nbd_dev, a_former_run_that_is_dying_still_is_waited_for)
{
	struct loop_timer timer = { .fire = die };
	struct stage s;

	set(&s);
	cr_assert_eq(start(&s, 1), 0, "%s", s.diag.text);
	cr_assert_eq(nbd_dev_leave(s.dev, 3000, &s.diag), 0);
	stop_server(&s);
	serve(&s);
	loop_timer_set(s.loop, &timer, loop_clock() + 300 * MSEC);
	cr_assert_eq(start(&s, 1), 0, "%s", s.diag.text);
	cr_assert(nbd_dev_recovered(s.dev));
	cr_assert(reads(&s, 0));
	cr_assert_eq(nbd_dev_stop(s.dev, 3000, &s.diag), 0);
	strike(&s);
}

Test(nbd_dev, a_device_that_another_process_serves_is_not_taken_over)
{
	struct stage s;
	struct nbd_dev *other;

	set(&s);
	cr_assert_eq(start(&s, 2), 0, "%s", s.diag.text);
	other = s.dev;
	cr_assert_eq(start(&s, 2), -EBUSY);
	diag_says(&s.diag, DIAG_BUSY, "/dev/nbd0", "disk process");
	nbd_dev_free(s.dev);
	s.dev = other;
	cr_assert(reads(&s, 0));
	cr_assert(reads(&s, 1));
	cr_assert_eq(nbd_driver.disconnects, 0);
	cr_assert_eq(nbd_dev_stop(s.dev, 3000, &s.diag), 0);
	strike(&s);
}

Test(nbd_dev, the_kernel_gets_a_new_size)
{
	struct stage s;

	set(&s);
	cr_assert_eq(start(&s, 1), 0, "%s", s.diag.text);
	nbd_dev_changed(s.dev);
	turns(&s, 20);
	cr_assert_eq(nbd_driver.resizes, 0, "nothing new");
	s.disk->bdev.lim.size = SIZE - 65536;
	nbd_dev_changed(s.dev);
	until(&s, &nbd_driver.resizes, 1);
	cr_assert_eq(nbd_driver.size, SIZE - 65536);
	turns(&s, 20);
	cr_assert_eq(nbd_dev_stop(s.dev, 3000, &s.diag), 0);
	strike(&s);
}

Test(nbd_dev, what_cannot_be_flushed_is_left)
{
	struct stage s;

	set(&s);
	cr_assert_eq(start(&s, 1), 0, "%s", s.diag.text);
	cr_assert_eq(unlinkat(s.tree.root, "dev/nbd0", 0), 0);
	cr_assert_eq(nbd_dev_stop(s.dev, 3000, &s.diag), -ENOENT);
	cr_assert_eq(nbd_driver.disconnects, 0);
	strike(&s);
}

Test(nbd_dev, one_that_is_left_gets_no_new_connections)
{
	struct stage s;

	set(&s);
	cr_assert_eq(start(&s, 2), 0, "%s", s.diag.text);
	cr_assert_eq(nbd_dev_leave(s.dev, 3000, &s.diag), 0);
	cr_assert(reads(&s, 1), "served on until the server stops");
	nbd_driver_kill(0);
	turns(&s, 50);
	stop_server(&s);
	cr_assert_eq(nbd_driver.renews, 0);
	cr_assert_eq(nbd_driver.disconnects, 0);
	cr_assert_eq(s.ends, 0);
	serve(&s);
	strike(&s);
}
