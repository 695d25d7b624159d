/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Initiators that know iSCSI and send too much of it, or don't read the answers: the target
 * allocates nothing more and stays bounded. */
/* Link: leap malloc calloc realloc */
#include "iscsi_hostile_rig.h"

static unsigned allocations;

void *__real_malloc(size_t);
void *__wrap_malloc(size_t);
void *__wrap_malloc(size_t len)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __real_malloc(len);
}

void *__real_calloc(size_t, size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_calloc(size_t count, size_t len)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __real_calloc(count, len);
}

void *__real_realloc(void *, size_t);
void *__wrap_realloc(void *, size_t);
void *__wrap_realloc(void *p, size_t len)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __real_realloc(p, len);
}

/* The target stops reading once it has two answers that could not leave. */
Test(iscsi_hostile, pings_without_reading)
{
	struct iscsi_host *h;
	unsigned sent = 0, made;

	begin();
	h = join(1, 1);
	h->deaf = true;
	honest_works();
	made = allocations;
	for (unsigned i = 0; i < 10000; i++) {
		if (sizeof(h->out) - h->out_len > 8192) {
			ping(h, h->cmdsn, 4096);
			sent++;
		}
		if (i % 16 == 0)
			turn();
		if (i % 1000 == 0)
			honest_works();
	}
	cr_assert_eq(allocations, made, "%u allocations", allocations - made);
	cr_assert_gt(sent, 100);
	h->deaf = false;
	/* what waits in sockets can wait for timers of the kernel */
	for (; h->seen[ISCSI_NOP_IN] != sent && !h->over; turn())
		usleep(1000);
	cr_assert_not(h->over);
	cr_assert_eq(status_of(h, iscsi_host_command(h, 0, 0)), 0);
	end();
}

static unsigned connections(void)
{
	unsigned count = 0;

	for (const struct target_conn *conn = target->conns; conn; conn = conn->peer_next)
		count++;
	return count;
}

/* The target's socket: the one that is connected to the initiator's. */
static int accepted(const struct iscsi_host *h)
{
	struct sockaddr_in own, peer;
	socklen_t len = sizeof(own);

	cr_assert_eq(getsockname(h->fd, (struct sockaddr *)&own, &len), 0);
	for (int fd = 0;; fd++) {
		cr_assert_lt(fd, 256);
		len = sizeof(peer);
		if (!getpeername(fd, (struct sockaddr *)&peer, &len) &&
			peer.sin_port == own.sin_port)
			return fd;
	}
}

/* After one of these numbers of pings the first answer can't leave. Once half of the next has come,
 * the target needs its other answer for that: it sends no ping of its own. */
Test(iscsi_hostile, half_a_ping_without_reading)
{
	static const int small = 4096;
	static const uint8_t rest[4096];

	begin();
	for (unsigned count = 0; count < 16; count++) {
		struct iscsi_host *h = join(1, 1);

		h->deaf = true;
		cr_assert_eq(setsockopt(h->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
		cr_assert_eq(
			setsockopt(accepted(h), SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
		for (unsigned i = 0; i < count; i++) {
			ping(h, h->cmdsn, 8192);
			turns(2);
		}
		ping(h, h->cmdsn, 8192);
		h->out_len -= h->out_len < sizeof(rest) ? 0 : sizeof(rest);
		pass(45);
		iscsi_host_add(h, rest, sizeof(rest));
		turns(2);
		honest_works();
	}
	end();
}

/* A thousand that do not log in, each after some of its login: the honest session is not delayed,
 * an initiator from another port gets in, and few of them are kept. */
Test(iscsi_hostile, a_thousand_pending_connections)
{
	static struct iscsi_host *raw_client[1000];
	struct iscsi_login_req req = { .opcode = ISCSI_LOGIN_REQ | ISCSI_IMMEDIATE,
		.flags = ISCSI_STAGES(ISCSI_STAGE_SECURITY, 0) };
	unsigned count = 0, most = 0;

	begin();
	for (unsigned i = 0; i < 1000; i++) {
		struct iscsi_host *h = raw_client[i] = iscsi_host_dial(&bound);

		if (i % 3 == 1)
			iscsi_host_add(h, pattern + ISCSI_OPCODE(i), 47);
		else if (i % 3 == 2)
			iscsi_host_put(h, &req, "InitiatorName=iqn.i2", 21);
		iscsi_host_poll(h);
		if (i % 10)
			continue;
		honest_works();
		count = connections();
		most = count > most ? count : most;
	}
	cr_assert_leq(most, 100, "%u connections", most);
	join(1, 1);
	honest_works();
	for (unsigned i = 0; i < 1000; i++)
		iscsi_host_leave(raw_client[i]);
	end();
}

/* A command window full of writes without data, of several sessions. */
Test(iscsi_hostile, windows_full_of_writes)
{
	unsigned made;

	begin();
	for (unsigned i = 1; i < HOSTS; i++)
		join(i, (uint8_t)i);
	made = allocations;
	for (unsigned n = 0; n < 64; n++)
		for (unsigned i = 1; i < HOSTS; i++)
			ask_write(host[i], 0, 2048);
	turns(20);
	for (unsigned i = 1; i < HOSTS; i++)
		cr_assert_leq(host[i]->seen[ISCSI_R2T], BUFFERS);
	honest_works();
	cr_assert_eq(allocations, made);
	for (unsigned i = 0; i < 2 * STALL_MS / 1000; i++) {
		volatile int never = 0;

		loop_wait(loop, &never, loop_clock() + 1000 * MSEC);
		honest_works();
	}
	for (unsigned i = 1; i < HOSTS; i++)
		UNTIL(host[i]->over);
	end();
}
