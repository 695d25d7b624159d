/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A disk over two paths to iSCSI targets. The network of one is cut with a write that is stuck in
 * the disk: the session lives on at its target, until the other path reinstates it. Targets that
 * don't know the session, lie or stall fence nothing, and the write keeps the quiet time. */
/* Link: leap */
#include "../../core/block/paths.h"
#include "leap.h"
#include "serving.h"
#include "wire/iscsi.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
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
	bool forgets;      /* logins lose TSIH and CID */
	unsigned mute;     /* connections with this number, and later ones, get no answer */
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

static void forget(uint8_t *bytes, ssize_t len)
{
	struct iscsi_login_req *req = (void *)bytes;

	if (len < ISCSI_BHS || ISCSI_OPCODE(req->opcode) != ISCSI_LOGIN_REQ)
		return;
	req->tsih = put_be16(0);
	req->cid = put_be16(0);
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
	if (!from && net->forgets)
		forget(bytes, got);
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
	for (unsigned i = 0; i < 2; i++)
		cr_assert_eq(loop_fd_add(loop, &wire->end[i], NULL), 0);
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

static void begin_with(unsigned transports, bool two_targets)
{
	static struct loop *loops[2];

	serving_begin(1 << 20, transports, 0);
	loops[0] = loops[1] = loop; /* two lanes of the disk */
	opt.loops = loops;
	opt.nloops = 2;
	serving_start_iscsi();
	if (two_targets) {
		struct target_options same = opt;

		same.disk[0].name = SERVING_IQN;
		cr_assert_eq(iscsi_serve(&other, loop, &same, 1000, &why), 0, "%s", why.text);
	}
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

static void begin(bool two_targets, struct write *old)
{
	char uri[200];

	begin_with(TRANSPORT_TCP, two_targets);
	network_begin(&network[0], port_of(target));
	network_begin(&network[1], port_of(two_targets ? other : target));
	snprintf(uri, sizeof(uri), "iscsi://127.0.0.1:%u/" SERVING_IQN "/0?path=127.0.0.1:%u",
		network[0].port, network[1].port);
	open_disk(uri, old);
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

Test(iscsi_fence, a_path_that_is_cut_is_fenced_by_another)
{
	struct write old;

	begin(false, &old);
	network_cut(&network[0]);
	lose_path();
	turns(500);
	cr_assert_neq(backing->last, backing->stuck, "the copy is not behind the first one");
	cr_assert(old.over, "it waits for neither the first one nor the quiet time");
	proves_order(&old);
	end();
}

/* The target sees the end of the connection, but the disk has the write. */
static void ends_with_a_reset(unsigned transports, const char *scheme, const char *keys)
{
	struct write old;
	char uri[200];

	begin_with(transports, false);
	snprintf(uri, sizeof(uri), "%s://127.0.0.1:%u/" SERVING_IQN "/0?path=127.0.0.1:%u%s",
		scheme, port_of(target), port_of(target), keys);
	open_disk(uri, &old);
	lose_path();
	proves_order(&old);
	end();
}

Test(iscsi_fence, a_path_that_is_reset_is_fenced_by_another)
{
	ends_with_a_reset(TRANSPORT_TCP, "iscsi", "");
}
Test(iscsi_fence, over_iser)
{
	ends_with_a_reset(TRANSPORT_IWARP, "iser", "&rdma=iwarp");
}

/* A server that does not know the session would accept its reinstatement, which fences nothing. */
Test(iscsi_fence, another_target_of_the_same_name_fences_nothing)
{
	struct write old;

	begin(true, &old);
	network_cut(&network[0]);
	lose_path();
	keeps_quiet_time(&old);
	end();
}

Test(iscsi_fence, a_target_that_ignores_what_it_is_asked_fences_nothing)
{
	struct write old;

	begin(false, &old);
	network_cut(&network[0]);
	network[1].forgets = true;
	lose_path();
	keeps_quiet_time(&old);
	end();
}

/* The path is reopened after the attempt to fence it, not before. */
static void stalls(unsigned answers)
{
	struct write old;
	uint32_t attempts;

	begin(false, &old);
	attempts = paths->path[0].attempts;
	network_cut(&network[0]);
	network[1].mute = network[1].wires + answers;
	lose_path();
	turns(1500);
	cr_assert_eq(paths->path[0].attempts, attempts);
	turns(1000);
	cr_assert_gt(paths->path[0].attempts, attempts);
	keeps_quiet_time(&old);
	end();
}

Test(iscsi_fence, a_target_that_stalls_when_it_is_asked)
{
	stalls(0);
}
Test(iscsi_fence, a_target_that_stalls_when_it_reinstates)
{
	stalls(1);
}
