/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The tests of frame.h. The clock is fake: it moves on only while nothing has anything to do, so
 * that times are those of waiting. */
#include "frame.h"
#include "disk.h"
#include "leap.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MSEC     1000000ull
#define SIZE     (16u << 20)
#define OWN      (1u << 20) /* the honest client's part of the disk, from the start */
#define OTHERS   24
#define PART     (600u << 10) /* of the disk, for each of these: a read at most */
#define WORKERS  3
#define BUFFER   65536
#define BUFFERS  16
#define STALL_MS 30000
#define PACE_MS  1
#define SOON_MS  100 /* no host delays another by more */
#define NAMES_MS 20  /* nor do many names of one address */

static struct loop *loop, *loops[WORKERS];
static struct fake_disk *backing;
static struct frame_server with;
static struct frame_client *honest, *other[OTHERS];
static uint8_t noise[1 << 20];
static struct diag why;
static struct loop_timer beat;
static uint64_t beat_ns; /* of the clients */
static void (*behave)(struct frame_client *);
static volatile int never, answered;
static unsigned seed, beats;
static struct workers *workers; /* NULL: all on one loop, with the fake clock */

/* --- where clients come from */

int __real_connect(int, const struct sockaddr *, socklen_t);
int __wrap_connect(int, const struct sockaddr *, socklen_t);

/* 127.0.0.address; 0: by route */
static uint8_t address, others_at;

int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len)
{
	const struct sockaddr_in from = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + address) };

	if (address && to->sa_family == AF_INET)
		cr_assert_eq(bind(fd, (const struct sockaddr *)&from, sizeof(from)), 0);
	return __real_connect(fd, to, len);
}

/* --- all clients act on their own */

static void beat_fired(struct loop_timer *timer)
{
	beats++;
	address = others_at;
	for (unsigned i = 0; i < OTHERS; i++)
		if (other[i] && !other[i]->over)
			behave(other[i]);
	address = 0;
	if (honest) {
		frame_client_poll(honest, true);
		answered = honest->answered == honest->asked;
	}
	loop_timer_set(loop, timer, loop_now(loop) + beat_ns);
}

static void pass(unsigned ms)
{
	beat_ns = ms > 1000 ? 10 * MSEC : MSEC;
	loop_wait(loop, &never, loop_clock() + ms * MSEC);
	beat_ns = MSEC;
}

void frame_quiet(struct frame_client *client)
{
	frame_client_poll(client, true);
}

static void begin(const struct frame_kind *kind)
{
	const struct loop_options opt = { .name = "test" };

	leap_tune = true;
	frame_kind = kind;
	behave = frame_quiet;
	seed = 7;
	for (unsigned i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)rand_r(&seed);
	cr_assert_eq(loop_new(&loop, &opt, NULL), 0);
	for (unsigned i = 0; i < WORKERS; i++)
		loops[i] = loop;
	backing = fake_disk_new(loop, SIZE, 512);
	with = (struct frame_server){ .bdev = &backing->bdev,
		.loop = loop,
		.loops = loops,
		.nloops = 1,
		.connections = 1000,
		.buffer = BUFFER,
		.buffers = BUFFERS,
		.stall_ms = leap_limit_ms(STALL_MS) };
	beat.fire = beat_fired;
	beat_ns = MSEC;
	loop_timer_set(loop, &beat, loop_now(loop));
}

static void start(void)
{
	cr_assert_eq(frame_kind->start(&with, &why), 0, "%s", why.text);
}

static struct frame_client *joined(unsigned host)
{
	struct frame_client *client = frame_client_dial(host);

	for (unsigned i = 0; (i < 100 || !leap_now) && !client->joined; i++) {
		frame_client_poll(client, true);
		pass(1);
	}
	cr_assert(client->joined && !client->over);
	return client;
}

static void leave(struct frame_client **client)
{
	frame_client_leave(*client);
	*client = NULL;
}

static void leave_all(void)
{
	leave(&honest);
	for (unsigned i = 0; i < OTHERS; i++)
		leave(&other[i]);
}

static void end(void)
{
	loop_timer_del(loop, &beat);
	fake_disk_free(backing);
	loop_free(loop);
}

static void stop_and_end(void)
{
	leave_all();
	cr_assert_eq(frame_kind->stop(5000, &why), 0, "%s", why.text);
	end();
}

/* --- the honest client */

static uint64_t wait_answer(void)
{
	uint64_t from = loop_clock();

	answered = 0;
	frame_client_poll(honest, true);
	loop_wait(loop, &answered, leap_limit(60000 * MSEC));
	cr_assert(answered && !honest->over, "the honest client gets no answer");
	cr_assert_eq(honest->failed, 0);
	return loop_clock() - from;
}

/* Writes somewhere and reads it back; the longer time of the two. */
static uint64_t write_and_read(void)
{
	uint32_t len = rand_r(&seed) % 4 ? FRAME_READ_MAX : frame_kind->most;
	uint64_t off = rand_r(&seed) % ((OWN - len) / 512 + 1) * 512ull, took, longest;
	const uint8_t *data = noise + rand_r(&seed) % (sizeof(noise) - len);

	frame_kind->write(honest, off, len, data);
	longest = wait_answer();
	cr_assert(workers || !memcmp(backing->bytes + off, data, len), "other data was written");
	memset(honest->read_data, 0, sizeof(honest->read_data));
	frame_kind->read(honest, off, len);
	took = wait_answer();
	cr_assert_eq(memcmp(honest->read_data, data, FRAME_READ_MAX), 0, "other data was read");
	return took > longest ? took : longest;
}

/* For that long, among all others. */
static void honest_works(unsigned rounds, unsigned most_ms)
{
	uint64_t longest = 0;

	for (unsigned i = 0; i < rounds; i++) {
		uint64_t took = write_and_read();

		longest = took > longest ? took : longest;
		if (i % 10 == 0)
			pass(7);
	}
	cr_assert_leq(longest, most_ms * MSEC, "an honest request took %g ms, expected at most %u",
		(double)longest / MSEC, most_ms);
}

/* --- what others do */

static uint64_t own_part(const struct frame_client *client)
{
	return OWN + client->host * (uint64_t)PART;
}

void frame_silent(struct frame_client *client)
{
	frame_client_poll(client, false);
}

/* Its writes get no data. */
void frame_frozen(struct frame_client *client)
{
	client->give = 0;
	frame_client_poll(client, true);
	while (client->joined && client->asked < frame_kind->depth)
		frame_kind->write(client, own_part(client), BUFFER, noise);
}

/* Data comes for as long as it takes to get a buffer, then no more. */
void frame_half_frozen(struct frame_client *client)
{
	if (!client->asked)
		client->give = BUFFER / 2;
	frame_client_poll(client, true);
	while (client->joined && client->asked < frame_kind->depth)
		frame_kind->write(client, own_part(client), BUFFER, noise);
}

/* It does not take its replies. */
void frame_deaf(struct frame_client *client)
{
	frame_client_poll(client, true);
	if (!client->joined)
		return;
	while (client->asked < frame_kind->depth)
		frame_kind->read(client, own_part(client), frame_kind->most);
	client->deaf = true;
}

/* As many requests as it may have, always. */
void frame_greedy(struct frame_client *client)
{
	frame_client_poll(client, true);
	while (client->joined && client->asked - client->answered < frame_kind->depth)
		frame_kind->read(client, own_part(client), frame_kind->most);
}

void frame_greedy_writes(struct frame_client *client)
{
	frame_client_poll(client, true);
	while (client->joined && client->asked - client->answered < frame_kind->depth)
		frame_kind->write(client, own_part(client), BUFFER, noise);
}

/* 8 KiB in a millisecond. */
static void slow(struct frame_client *client)
{
	if (!client->joined)
		client->give = 0;
	client->give += (uint32_t)(8192 * beat_ns / MSEC);
	frame_client_poll(client, true);
	while (client->joined && client->asked - client->answered < 4)
		frame_kind->write(client, own_part(client), BUFFER, noise);
}

static void dial_other(unsigned i, unsigned host)
{
	address = others_at;
	other[i] = frame_client_dial(host);
	address = 0;
}

/* A few at a time: an address has few connections that have not joined. */
static void dial_others(unsigned count, void (*how)(struct frame_client *))
{
	behave = how;
	for (unsigned i = 0; i < count; i++) {
		dial_other(i, i + 1);
		if (i % 8 == 7)
			pass(20);
	}
}

static unsigned still_here(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < OTHERS; i++)
		count += other[i] && !other[i]->over;
	return count;
}

/* Before it lies what they did not take. The last of that can wait in the kernel for its window
 * probe, whose time is the real one. */
static void all_see_the_end(void)
{
	for (unsigned i = 0; i < OTHERS; i++)
		other[i]->deaf = false;
	for (; still_here(); pass(1))
		usleep(1000);
}

/* --- tests, for any kind */

void frame_beside(const struct frame_kind *kind, void (*how)(struct frame_client *), bool ended)
{
	unsigned each, left; /* connections of the server */

	begin(kind);
	start();
	honest = joined(0);
	each = kind->connections();
	dial_others(OTHERS, how);
	honest_works(100, SOON_MS);
	pass(2 * STALL_MS);
	left = kind->connections();
	behave = frame_quiet;
	if (ended) {
		/* that of NVMe's admin commands stays */
		cr_assert_leq(left, each + (each - 1) * OTHERS, "%u of %u each", left, each);
		all_see_the_end();
	}
	pass(200);
	honest_works(10, SOON_MS);
	stop_and_end();
}

/* What the honest client waits for is its turn, not all that others have asked for before: one
 * request of each of them, and what holds the buffers. */
void frame_beside_greedy(const struct frame_kind *kind, void (*how)(struct frame_client *))
{
	const unsigned pieces = kind->most / BUFFER,
		       most_ms = (OTHERS + 2 * BUFFERS) * pieces * PACE_MS;

	begin(kind);
	start();
	honest = joined(0);
	backing->pace_ns = PACE_MS * MSEC;
	dial_others(OTHERS, how);
	for (unsigned i = 0; i < 20; i++) {
		uint64_t took = write_and_read();

		cr_assert_leq(took, most_ms * MSEC,
			"an honest request took %g ms, expected at most %u", (double)took / MSEC,
			most_ms);
	}
	for (unsigned i = 0; i < OTHERS; i++)
		cr_assert(!other[i]->over && !other[i]->failed && other[i]->answered > 1,
			"greedy client %u: %u answers", i, other[i]->answered);
	stop_and_end();
}

/* A host that is slow but makes progress is served. */
void frame_beside_slow(const struct frame_kind *kind)
{
	begin(kind);
	start();
	honest = joined(0);
	dial_others(OTHERS, slow);
	honest_works(100, SOON_MS);
	pass(2000);
	cr_assert_eq(still_here(), OTHERS);
	for (unsigned i = 0; i < OTHERS; i++)
		cr_assert(other[i]->answered > 1 && !other[i]->failed, "slow client %u: %u answers",
			i, other[i]->answered);
	stop_and_end();
}

/* 4 KiB each 30 ms: just enough not to count as stopped. */
static void dribble(struct frame_client *client)
{
	if (!client->joined)
		client->give = 0;
	else if (beats % 30 == 0)
		client->give += 4096;
	frame_client_poll(client, true);
	while (client->joined && client->asked - client->answered < 4)
		frame_kind->write(client, own_part(client), BUFFER, noise);
}

/* Hosts that were ended come back at once, under their names. */
static void come_back(void)
{
	for (unsigned i = 0; i < OTHERS; i++) {
		if (!other[i]->over)
			continue;
		leave(&other[i]);
		dial_other(i, i + 1);
	}
}

/* One address has many names, each with something in work that takes a second. Others don't wait
 * for that; nor does a host of that address, once it has shown that it is quick. */
void frame_beside_names(const struct frame_kind *kind, bool here)
{
	uint64_t longest = 0;

	begin(kind);
	start();
	others_at = here ? 0 : 2;
	honest = joined(0);
	dial_others(OTHERS, dribble);
	pass(100);
	for (unsigned i = 0; i < 200; i++) {
		uint64_t took;

		come_back();
		took = write_and_read();
		if (!here || i >= 20)
			longest = took > longest ? took : longest;
		if (i % 10 == 0)
			pass(7);
	}
	cr_assert_leq(
		longest, NAMES_MS * MSEC, "an honest request took %g ms", (double)longest / MSEC);
	stop_and_end();
}

static void fill(struct frame_client *client)
{
	for (unsigned i = 0; i < frame_kind->depth; i++)
		if (i % 2)
			frame_kind->read(client, own_part(client), FRAME_READ_MAX);
		else
			frame_kind->write(client, own_part(client), FRAME_READ_MAX, noise);
}

static void let_go(struct loop_timer *timer)
{
	(void)timer;
	backing->hold = false;
}

void frame_drains(const struct frame_kind *kind)
{
	struct loop_timer later = { .fire = let_go };

	begin(kind);
	start();
	other[0] = joined(1);
	other[1] = joined(2);
	backing->hold = true;
	fill(other[0]);
	fill(other[1]);
	pass(20);
	cr_assert_eq(other[0]->answered, 0);
	loop_timer_set(loop, &later, loop_clock() + 200 * MSEC);
	cr_assert_eq(kind->stop(5000, &why), 0, "%s", why.text);
	pass(20);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(other[i]->answered, kind->depth, "%u answers", other[i]->answered);
		cr_assert_eq(other[i]->failed, 0);
		cr_assert(other[i]->over);
	}
	cr_assert_gt(backing->flushes, 0);
	cr_assert_eq(memcmp(backing->safe, backing->bytes, SIZE), 0);
	leave_all();
	end();
}

/* They delay it no longer than it may take. */
void frame_stops_under(const struct frame_kind *kind, void (*how)(struct frame_client *))
{
	uint64_t flushes, from;
	int rc;

	begin(kind);
	start();
	dial_others(8, how);
	flushes = backing->flushes;
	from = loop_clock();
	rc = kind->stop(1000, &why);
	cr_assert(!rc || rc == -ETIMEDOUT, "%d: %s", rc, why.text);
	cr_assert_leq(loop_clock() - from, 3000 * MSEC);
	cr_assert_gt(backing->flushes, flushes);
	leave_all();
	end();
}

/* The disk gives back what it only holds: all ends, but data may be missing. */
void frame_stops_with_a_slow_disk(const struct frame_kind *kind)
{
	struct loop_timer later = { .fire = let_go };
	uint64_t from;

	begin(kind);
	start();
	other[0] = joined(1);
	backing->hold = true;
	fill(other[0]);
	pass(20);
	from = loop_clock();
	loop_timer_set(loop, &later, from + 1100 * MSEC); /* for the flush */
	cr_assert_eq(kind->stop(1000, &why), -ETIMEDOUT, "%s", why.text);
	cr_assert_eq(why.code, DIAG_TIMEOUT);
	cr_assert_leq(loop_clock() - from, 3000 * MSEC);
	cr_assert_gt(backing->cancelled, 0);
	pass(20);
	cr_assert(other[0]->over);
	leave_all();
	end();
}

/* What it does not give back either may still use its memory: nothing is freed. */
void frame_stops_with_a_dead_disk(const struct frame_kind *kind)
{
	uint64_t from;

	begin(kind);
	start();
	other[0] = joined(1);
	backing->hold = backing->keep = true;
	fill(other[0]);
	pass(20);
	from = loop_clock();
	cr_assert_eq(kind->stop(500, &why), -EINPROGRESS, "%s", why.text);
	cr_assert_leq(loop_clock() - from, 3000 * MSEC);
	cr_assert_gt(backing->submitted, 0);
}

/* A host that comes back over another connection: what the earlier one still has at the disk lands
 * before what is written now. Another host's reads do not wait for it. */
void frame_fences(const struct frame_kind *kind)
{
	static uint8_t old[FRAME_READ_MAX], new[FRAME_READ_MAX];

	memset(old, 'o', sizeof(old));
	memset(new, 'n', sizeof(new));
	begin(kind);
	with.nloops = WORKERS; /* each has a lane */
	start();
	other[0] = joined(1);
	backing->hold = true;
	kind->write(other[0], 0, sizeof(old), old);
	pass(20);
	cr_assert_eq(backing->submitted, 1);
	backing->stuck = backing->last;
	backing->hold = false;
	honest = joined(1);
	kind->write(honest, 0, sizeof(new), new);
	pass(50);
	cr_assert_eq(honest->answered, 0, "it overtook what the disk still has");
	if (!kind->nameless) {
		other[1] = joined(2);
		kind->read(other[1], 0, sizeof(old));
		pass(50);
		cr_assert_eq(other[1]->answered, 1, "another host waits for it");
	}
	backing->stuck = NULL;
	wait_answer();
	pass(50);
	cr_assert_eq(memcmp(backing->bytes, new, sizeof(new)), 0);
	cr_assert_eq(backing->bdev.orphans, 0);
	leave_all();
	cr_assert_eq(kind->stop(5000, &why), 0, "%s", why.text);
	end();
}

/* Connections without a handshake keep no host out. */
void frame_makes_room(const struct frame_kind *kind)
{
	begin(kind);
	with.connections = 8;
	start();
	honest = joined(0);
	dial_others(OTHERS, frame_silent);
	cr_assert_leq(kind->connections(), 8);
	write_and_read();
	leave(&honest);
	honest = joined(1);
	write_and_read();
	cr_assert_leq(kind->connections(), 8);
	stop_and_end();
}

/* An address that has all connections, under many names, leaves some to another one. */
void frame_gives_way(const struct frame_kind *kind)
{
	begin(kind);
	with.connections = 16;
	start();
	others_at = 2;
	for (unsigned i = 0; i < OTHERS && kind->connections() < 16; i++) {
		dial_other(i, i + 1);
		for (unsigned ms = 0; ms < 100 && !other[i]->joined; ms++)
			pass(1);
		cr_assert(other[i]->joined);
	}
	cr_assert_eq(kind->connections(), 16);
	honest = joined(0);
	write_and_read();
	cr_assert_leq(kind->connections(), 16);
	cr_assert(!other[0]->over && !other[1]->over, "an old connection was ended");
	stop_and_end();
}

void frame_counts(const struct frame_kind *kind)
{
	struct io_count sum;

	begin(kind);
	start();
	honest = joined(0);
	kind->write(honest, 0, 4096, noise);
	wait_answer();
	kind->write(honest, 8192, 512, noise);
	wait_answer();
	kind->read(honest, 0, kind->most);
	wait_answer();
	kind->count(&sum);
	cr_assert_eq(sum.writes, 2);
	cr_assert_eq(sum.written_bytes, 4608);
	cr_assert_eq(sum.reads, 1);
	cr_assert_eq(sum.read_bytes, kind->most);
	cr_assert_eq(sum.errors, 0);
	backing->bad_len = 512;
	kind->read(honest, 0, 512);
	answered = 0;
	loop_wait(loop, &answered, loop_clock() + 1000 * MSEC);
	cr_assert_eq(honest->failed, 1);
	kind->count(&sum);
	cr_assert_eq(sum.errors, 1);
	stop_and_end();
}

/* On several threads and the real clock, for ThreadSanitizer: hosts of all sorts come and go. */
static void mixed(struct frame_client *client)
{
	static void (*const how[])(struct frame_client *) = { frame_silent, frame_frozen,
		frame_deaf, frame_greedy, slow, frame_greedy_writes };

	how[client->host % 6](client);
}

void frame_threads(const struct frame_kind *kind)
{
	const struct loop_options opt = { .name = "workers" };
	const struct bdev_env env = { .write = true };
	struct bdev *ram;

	leap_now = 0;
	begin(kind);
	cr_assert_eq(workers_start(&workers, WORKERS, &opt, &why), 0);
	for (unsigned i = 0; i < WORKERS; i++)
		loops[i] = workers_loop(workers, i);
	cr_assert_eq(bdev_open(&ram, loop, "ram:48M?block=512", &env, &why), 0);
	with.bdev = ram;
	with.nloops = WORKERS;
	start();
	honest = joined(0);
	dial_others(OTHERS, mixed);
	for (unsigned i = 0; i < 40; i++) {
		unsigned n = i % OTHERS, lives = 1 + i / OTHERS;

		write_and_read();
		leave(&other[n]);
		other[n] = frame_client_dial(n + 1 + (kind->replaces ? 0 : lives * OTHERS));
	}
	leave_all();
	cr_assert_eq(kind->stop(NO_LIMIT_MS, &why), 0, "%s", why.text);
	workers_stop(workers);
	bdev_close(ram);
	end();
}
