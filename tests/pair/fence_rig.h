/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A disk over two paths, whose networks can be cut and forge what they carry; a write that is stuck
 * in the disk of the target. */
#pragma once
#include "../../core/block/paths.h"
#include "leap.h"
#include "serving.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define LEN      4096
#define QUIET_MS 5000
#define WIRES    64

/* --- networks that can be cut, and lie */

struct wire {
	struct network *network;
	struct loop_fd end[2]; /* the host's, the target's */
	unsigned number;       /* of the connections of this network, from 0 */
};
struct network {
	struct loop_fd listener;
	unsigned port, to; /* the target's */
	bool cut;          /* nothing passes any more */
	/* change what one end has sent, 0: the host; NULL: nothing is changed */
	void (*forge)(unsigned from, uint8_t *bytes, size_t len);
	unsigned mute; /* connections with this number, and later ones, get no answer */
	unsigned wires;
	struct wire wire[WIRES];
};
static struct network network[2];

static void hang_up(struct wire *wire)
{
	for (unsigned i = 0; i < 2; i++) {
		loop_fd_del(loop, &wire->end[i]);
		close(wire->end[i].fd);
		wire->end[i].fd = -1;
	}
}

static void carry(struct wire *wire, unsigned from)
{
	const struct network *net = wire->network;
	uint8_t bytes[65536];
	ssize_t got;

	if (net->cut) {
		loop_fd_del(loop, &wire->end[from]);
		return;
	}
	got = recv(wire->end[from].fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (got < 0 && errno == EAGAIN)
		return;
	if (got <= 0) {
		hang_up(wire);
		return;
	}
	if (net->forge)
		net->forge(from, bytes, (size_t)got);
	if (from && wire->number >= net->mute)
		return;
	cr_assert_eq(send(wire->end[!from].fd, bytes, (size_t)got, MSG_NOSIGNAL), got);
}

static void host_sends(struct loop_fd *fd, uint32_t events)
{
	(void)events;
	carry(container_of(fd, struct wire, end[0]), 0);
}

static void target_sends(struct loop_fd *fd, uint32_t events)
{
	(void)events;
	carry(container_of(fd, struct wire, end[1]), 1);
}

static struct sockaddr_in here(unsigned port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)port) };
}

static void connected(struct loop_fd *fd, uint32_t events)
{
	struct network *net = container_of(fd, struct network, listener);
	struct wire *wire = &net->wire[net->wires];
	struct sockaddr_in at = here(net->to);

	(void)events;
	if (net->cut)
		return;
	cr_assert_lt(net->wires, WIRES);
	*wire = (struct wire){ .network = net, .number = net->wires++ };
	wire->end[0] = (struct loop_fd){
		.fd = accept(fd->fd, NULL, NULL), .events = EPOLLIN, .ready = host_sends
	};
	wire->end[1] = (struct loop_fd){
		.fd = socket(AF_INET, SOCK_STREAM, 0), .events = EPOLLIN, .ready = target_sends
	};
	cr_assert_eq(connect(wire->end[1].fd, (struct sockaddr *)&at, sizeof(at)), 0);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(setsockopt(wire->end[i].fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 },
				     sizeof(int)),
			0);
		cr_assert_eq(loop_fd_add(loop, &wire->end[i], NULL), 0);
	}
}

static void network_begin(struct network *net, unsigned to)
{
	struct sockaddr_in at = here(0);
	socklen_t len = sizeof(at);

	*net = (struct network){ .to = to, .mute = WIRES };
	net->listener = (struct loop_fd){
		.fd = socket(AF_INET, SOCK_STREAM, 0), .events = EPOLLIN, .ready = connected
	};
	cr_assert_eq(bind(net->listener.fd, (struct sockaddr *)&at, len), 0);
	cr_assert_eq(listen(net->listener.fd, WIRES), 0);
	cr_assert_eq(getsockname(net->listener.fd, (struct sockaddr *)&at, &len), 0);
	net->port = ntohs(at.sin_port);
	cr_assert_eq(loop_fd_add(loop, &net->listener, NULL), 0);
}

static void network_cut(struct network *net)
{
	net->cut = true;
	loop_fd_change(loop, &net->listener, 0);
}

static void network_end(struct network *net)
{
	loop_fd_del(loop, &net->listener);
	close(net->listener.fd);
	for (struct wire *wire = net->wire; wire < net->wire + net->wires; wire++)
		if (wire->end[0].fd >= 0)
			hang_up(wire);
}

/* --- the disk */

struct write {
	struct io io;
	struct buf buf;
	volatile int over;
	uint64_t over_ns;
	uint64_t lower[128];
};
static struct pool *pool[2];
static struct target *other; /* of the same name, over the same disk */
static const struct paths *paths;
static uint64_t lost_ns;

static void over(struct io *io)
{
	struct write *w = container_of(io, struct write, io);

	w->over_ns = loop_clock();
	w->over = 1;
}

static void submit(struct write *w, struct pool *from, enum io_kind kind, uint64_t off, int byte)
{
	*w = (struct write){ .buf = pool_buf(from, 0) };
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

static void wait_for(struct write *w, unsigned ms)
{
	cr_assert(loop_wait(loop, &w->over, loop_clock() + ms * MSEC), "it hangs");
	cr_assert_eq(w->io.status, 0);
}

static unsigned port_of(struct target *of)
{
	struct addr bound;

	cr_assert(target_transports(of, 0, &bound));
	return addr_port(&bound);
}

/* Two lanes of the disk. */
static void two_lanes(unsigned transports)
{
	static struct loop *loops[2];

	serving_begin(1 << 20, transports, 0);
	loops[0] = loops[1] = loop;
	opt.loops = loops;
	opt.nloops = 2;
}

/* A write is in the disk, by the first path. */
static void open_disk(const char *uri, struct write *old)
{
	struct bdev_env env = { .initiator = "iqn.2024-01.test:host",
		.write = true,
		.timeout_ms = 10000,
		.on_loss_ms = 60000 };

	host_open(uri, &env);
	paths = container_of(disk, struct paths, bdev);
	cr_assert_eq(paths->path[1].state, PATH_UP);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(pool_new(&pool[i], LEN, 1, NULL), 0);
		cr_assert_eq(lane_map(lane, pool[i], NULL), 0);
	}
	backing->hold = backing->keep = true;
	submit(old, pool[0], IO_WRITE, 65536, 'o');
	for (unsigned i = 0; i < 1000 && !backing->submitted; i++)
		turns(5);
	cr_assert_eq(backing->submitted, 1);
	backing->stuck = backing->last;
	backing->hold = false;
}

static void lose_path(void)
{
	struct lane *cut = paths->lanes->leg[0].lane;

	diag_set(&why, DIAG_CLOSED, ECONNABORTED, "test");
	cut->ops->abort(cut, &why);
	lost_ns = loop_clock();
}

static void end(void)
{
	for (unsigned i = 0; i < 2; i++) {
		lane_unmap(lane, pool[i]);
		pool_free(pool[i]);
	}
	host_hang_up();
	for (unsigned i = 0; i < 2; i++)
		if (network[i].port)
			network_end(&network[i]);
	if (other)
		cr_assert_eq(target_stop(other, leap_limit_ms(5000), &why), 0, "%s", why.text);
	serving_end();
}

/* The disk still has the first copy of the write, not the second one. Nothing newer lands before
 * it.
 */
static void proves_order(struct write *old)
{
	struct write new, back;

	turns(500);
	submit(&new, pool[1], IO_WRITE, 65536 + 512, 'n');
	turns(500);
	cr_assert_not(new.over);
	backing->stuck = NULL;
	wait_for(old, 1000);
	wait_for(&new, 1000);
	cr_assert_lt(old->over_ns, lost_ns + 2000 * MSEC, "it does not wait for the quiet time");
	submit(&back, pool[0], IO_READ, 65536, 0);
	wait_for(&back, 1000);
	cr_assert_eq(back.buf.p[0], 'o');
	cr_assert_eq(back.buf.p[512], 'n', "the old write landed after the new one");
}

static void keeps_quiet_time(struct write *old)
{
	backing->stuck = NULL;
	wait_for(old, 2 * QUIET_MS);
	cr_assert_geq(old->over_ns, lost_ns + QUIET_MS * MSEC);
}
