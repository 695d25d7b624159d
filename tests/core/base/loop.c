/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The event loop: order, removal from inside upcalls, nesting, messages and calls between threads.
 */
#include "loop.h"
#include "mem.h"
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

static struct loop *new_loop(void)
{
	struct loop *loop;
	struct diag diag;
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &diag), 0, "%s",
		diag.text);
	return loop;
}

struct tick {
	struct loop_timer timer;
	struct loop *loop;
	char *log;
	char name;
	volatile int done;
};

static void ticked(struct loop_timer *timer)
{
	struct tick *tick = container_of(timer, struct tick, timer);
	char text[2] = { tick->name, 0 };
	strcat(tick->log, text);
	tick->done = 1;
}

Test(loop, timers_fire_in_order_of_time)
{
	struct loop *loop = new_loop();
	char log[8] = "";
	struct tick t[4];
	uint64_t now = loop_clock();
	const int ms[4] = { 9, 1, 5, 5 };

	for (int i = 0; i < 4; i++) {
		t[i] = (struct tick){ .timer.fire = ticked, .log = log, .name = (char)('a' + i) };
		loop_timer_set(loop, &t[i].timer, now + (uint64_t)ms[i] * 1000000);
	}
	loop_timer_del(loop, &t[3].timer);
	loop_wait(loop, &t[0].done, 0);
	cr_assert_str_eq(log, "bca");
	cr_assert(loop_clock() - now >= 9000000);
	loop_free(loop);
}

Test(loop, timers_of_one_time_fire_in_the_order_they_were_set)
{
	struct loop *loop = new_loop();
	char log[32] = "";
	struct tick t[20];
	uint64_t now = loop_clock();

	for (int i = 0; i < 20; i++) {
		t[i] = (struct tick){ .timer.fire = ticked, .log = log, .name = (char)('a' + i) };
		loop_timer_set(loop, &t[i].timer, now);
	}
	loop_timer_set(loop, &t[3].timer, now);
	loop_timer_del(loop, &t[7].timer);
	loop_wait(loop, &t[3].done, 0);
	cr_assert_str_eq(log, "abcefgijklmnopqrstd");
	loop_free(loop);
}

struct crowd {
	struct loop *loop;
	struct one {
		struct loop_timer timer;
		struct crowd *crowd;
		bool wanted;
	} one[500];
	uint64_t last;
	unsigned seed, fired;
};

static unsigned dice(struct crowd *crowd, unsigned sides)
{
	crowd->seed = crowd->seed * 1103515245 + 12345;
	return crowd->seed / 65536 % sides;
}

/* Sets, moves or deletes one of the timers, perhaps the one that is firing. */
static void disturb(struct crowd *crowd, uint64_t least)
{
	struct one *one = &crowd->one[dice(crowd, 500)];

	one->wanted = dice(crowd, 3);
	if (one->wanted)
		loop_timer_set(crowd->loop, &one->timer, least + dice(crowd, 200));
	else
		loop_timer_del(crowd->loop, &one->timer);
	cr_assert_eq(one->timer.on, one->wanted);
}

static void crowd_fired(struct loop_timer *timer)
{
	struct one *one = container_of(timer, struct one, timer);
	struct crowd *crowd = one->crowd;

	cr_assert(one->wanted);
	cr_assert_not(timer->on);
	cr_assert_geq(timer->at_ns, crowd->last);
	crowd->last = timer->at_ns;
	one->wanted = false;
	if (++crowd->fired < 20000)
		for (unsigned i = 0; i < 3; i++)
			disturb(crowd, crowd->last);
}

Test(loop, many_timers_moved_and_deleted_while_others_fire)
{
	struct crowd crowd = { .loop = new_loop(), .seed = 7 };
	struct tick end = { .timer.fire = ticked, .log = (char[8]){ "" }, .name = 'e' };
	uint64_t began = loop_clock() - 1000000000;

	for (unsigned i = 0; i < 500; i++)
		crowd.one[i] = (struct one){ .timer.fire = crowd_fired, .crowd = &crowd };
	for (unsigned i = 0; i < 5000; i++)
		disturb(&crowd, began);
	loop_timer_set(crowd.loop, &end.timer, began + 900000000);
	loop_wait(crowd.loop, &end.done, 0);
	cr_assert_geq(crowd.fired, 20000);
	for (unsigned i = 0; i < 500; i++)
		cr_assert_not(crowd.one[i].wanted);
	loop_free(crowd.loop);
}

enum { FAR = 1000, PAGE = 4096 };
static uint8_t *pages;
static volatile unsigned touched;

static void touch(int signo, siginfo_t *info, void *context)
{
	uint8_t *at = info->si_addr;

	(void)context;
	if (at < pages || at >= pages + FAR * PAGE)
		signal(signo, SIG_DFL);
	touched++;
	mprotect(pages + (at - pages) / PAGE * PAGE, PAGE, PROT_READ | PROT_WRITE);
}

/* Each of them lies on a page of its own that cannot be touched unnoticed. */
Test(loop, a_timer_is_set_without_a_look_at_each_other)
{
	struct sigaction action = { .sa_sigaction = touch, .sa_flags = SA_SIGINFO };
	struct loop *loop = new_loop();
	char log[8] = "";
	struct tick t[3];
	uint64_t now = loop_clock();

	pages = mmap(NULL, FAR * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(pages, MAP_FAILED);
	for (unsigned i = 0; i < FAR; i++)
		loop_timer_set(
			loop, (void *)(pages + i * PAGE), now + 1000000000000 + i * 7919 % FAR);
	sigaction(SIGSEGV, &action, NULL);
	mprotect(pages, FAR * PAGE, PROT_NONE);
	for (unsigned i = 0; i < 3; i++) {
		t[i] = (struct tick){ .timer.fire = ticked, .log = log, .name = (char)('a' + i) };
		loop_timer_set(loop, &t[i].timer, now + i);
	}
	loop_timer_set(loop, &t[0].timer, now + 3);
	loop_timer_del(loop, &t[1].timer);
	loop_wait(loop, &t[0].done, 0);
	cr_assert_str_eq(log, "ca");
	cr_assert_leq(touched, 20, "%u of %u", touched, FAR);
	loop_free(loop);
	munmap(pages, FAR * PAGE);
}

Test(loop, a_wait_ends_at_its_deadline)
{
	struct loop *loop = new_loop();
	volatile int never = 0;
	uint64_t start = loop_clock();
	cr_assert_not(loop_wait(loop, &never, start + 3000000));
	cr_assert(loop_clock() - start >= 3000000);
	loop_free(loop);
}

Test(loop, a_wait_ends_when_it_is_stopped)
{
	struct loop *loop = new_loop();
	volatile int never = 0, now = 1;

	cr_assert_not(loop_wait_until(loop, &never, &now));
	cr_assert(loop_wait_until(loop, &now, &never));
	cr_assert(loop_wait_until(loop, &now, &now));
	cr_assert(loop_wait_until(loop, &now, NULL));
	loop_free(loop);
}

struct pair {
	struct loop_fd a, b;
	struct loop *loop;
	volatile int hits;
};

static void a_removes_b(struct loop_fd *fd, uint32_t events)
{
	struct pair *pair = container_of(fd, struct pair, a);
	(void)events;
	pair->hits++;
	loop_fd_del(pair->loop, &pair->a);
	loop_fd_del(pair->loop, &pair->b);
}

static void b_removes_a(struct loop_fd *fd, uint32_t events)
{
	struct pair *pair = container_of(fd, struct pair, b);
	(void)events;
	pair->hits++;
	loop_fd_del(pair->loop, &pair->a);
	loop_fd_del(pair->loop, &pair->b);
}

Test(loop, a_hook_removed_by_another_in_the_same_batch_is_not_called)
{
	struct loop *loop = new_loop();
	int p[2], q[2];
	struct pair pair = { .loop = loop };
	volatile int never = 0;

	cr_assert(!pipe(p) && !pipe(q) && write(p[1], "x", 1) == 1 && write(q[1], "x", 1) == 1);
	pair.a = (struct loop_fd){ .fd = p[0], .events = EPOLLIN, .ready = a_removes_b };
	pair.b = (struct loop_fd){ .fd = q[0], .events = EPOLLIN, .ready = b_removes_a };
	loop_fd_add(loop, &pair.a, NULL);
	loop_fd_add(loop, &pair.b, NULL);
	loop_wait(loop, &pair.hits, 0);
	loop_wait(loop, &never, loop_clock() + 2000000);
	cr_assert_eq(pair.hits, 1);
	loop_free(loop);
}

struct chain {
	struct loop_work work;
	struct loop *loop;
	volatile int runs;
};

static void work_again(struct loop_work *work)
{
	struct chain *chain = container_of(work, struct chain, work);
	if (++chain->runs < 3)
		loop_work_add(chain->loop, work);
}

Test(loop, work_queued_by_work_runs_in_the_same_turn)
{
	struct loop *loop = new_loop();
	struct chain chain = { .work.run = work_again, .loop = loop };
	loop_work_add(loop, &chain.work);
	loop_work_add(loop, &chain.work);
	loop_wait(loop, &chain.runs, 0);
	cr_assert_eq(chain.runs, 3);
	loop_work_add(loop, &chain.work);
	loop_work_del(loop, &chain.work);
	chain.runs = 0;
	cr_assert_not(loop_wait(loop, &chain.runs, loop_clock() + 1000000));
	loop_free(loop);
}

static int add_thread(struct loop *loop, void *arg)
{
	volatile int never = 0;
	(void)loop;
	loop_wait(loop, &never, loop_clock() + 1000000); /* nested turns on the member's loop */
	*(pthread_t *)arg = pthread_self();
	return 7;
}

struct numbered {
	struct loop_msg msg;
	int number, *last;
	atomic_int *done;
};

static void in_order(struct loop_msg *msg)
{
	struct numbered *n = container_of(msg, struct numbered, msg);
	cr_assert_eq(*n->last + 1, n->number);
	*n->last = n->number;
	if (n->number == 999)
		*n->done = 1;
}

Test(loop, calls_run_on_the_members_thread_and_messages_keep_their_order)
{
	struct loop *loop = new_loop();
	struct workers *workers;
	struct diag diag;
	pthread_t thread = pthread_self();
	static struct numbered n[1000];
	int last = -1;
	atomic_int done = 0;

	cr_assert_eq(workers_start(&workers, 2,
			     &(struct loop_options){ .name = "test", .poll_us = 5 }, &diag),
		0);
	cr_assert_eq(loop_call(loop, workers_loop(workers, 1), add_thread, &thread), 7);
	cr_assert_not(pthread_equal(thread, pthread_self()));
	cr_assert_eq(loop_call(loop, loop, add_thread, &thread), 7);
	cr_assert(pthread_equal(thread, pthread_self()));
	for (int i = 0; i < 1000; i++) {
		n[i] = (struct numbered){
			.msg.run = in_order, .number = i, .last = &last, .done = &done
		};
		loop_post(workers_loop(workers, 0), &n[i].msg);
	}
	while (!done)
		usleep(100);
	workers_stop(workers);
	loop_free(loop);
}

Test(mem, a_pool_is_page_aligned_and_zeroed)
{
	struct pool *pool;
	struct buf buf;
	cr_assert_eq(pool_new(&pool, 5000, 3, NULL), 0);
	cr_assert_eq(pool->each % 4096, 0);
	buf = pool_buf(pool, 2);
	cr_assert_eq((uintptr_t)buf.p % 4096, 0);
	cr_assert_eq(buf.p[pool->each - 1], 0);
	pool_free(pool);
	cr_assert_neq(pool_new(&pool, UINT32_MAX, 3, NULL), 0);
	cr_assert_neq(pool_new(&pool, 0, 3, NULL), 0);
}

struct event {
	struct loop_msg msg;
	volatile int over;
};

static void note_event(struct loop_msg *msg)
{
	container_of(msg, struct event, msg)->over = 1;
}

static uint64_t spun_in(const struct loop_options *options, bool forbid, bool spins)
{
	struct event event = { .msg.run = note_event };
	struct diag diag;
	struct loop *l;
	uint64_t spun;

	cr_assert_eq(loop_new(&l, options, &diag), 0);
	if (forbid)
		loop_no_spin(l);
	loop_post(l, &event.msg); /* it spins after an event only */
	loop_wait(l, &event.over, 0);
	do {
		loop_wait(l, &(int){ 0 }, loop_clock() + 20000000);
		spun = loop_spin_ns(l);
	} while (spins && !spun);
	loop_free(l);
	return spun;
}

Test(loop, tells_how_long_it_spun)
{
	struct loop_options options = { .name = "test" };

	cr_assert_eq(spun_in(&options, false, false), 0);
	options.poll_us = UINT32_MAX;
	cr_assert_gt(spun_in(&options, false, true), 0);
	cr_assert_eq(spun_in(&options, true, false), 0);
	options.force_spin = true;
	cr_assert_gt(spun_in(&options, true, true), 0);
}

struct busy {
	struct loop_fd alone, other;
	struct loop *loop;
	int in, out, looks, most;
	volatile int done;
};

/* Each byte that is taken is the cause of the next, so that there is something at every turn. */
static bool take_one(struct busy *busy)
{
	char byte;

	if (read(busy->in, &byte, 1) != 1)
		return false;
	cr_assert_eq(write(busy->out, &byte, 1), 1);
	return true;
}

static void alone_ready(struct loop_fd *fd, uint32_t events)
{
	(void)events;
	take_one(container_of(fd, struct busy, alone));
}

static bool alone_poll(struct loop_fd *fd)
{
	struct busy *busy = container_of(fd, struct busy, alone);
	bool any = take_one(busy);

	if (++busy->looks == busy->most)
		busy->done = 1;
	return any;
}

static void other_ready(struct loop_fd *fd, uint32_t events)
{
	struct busy *busy = container_of(fd, struct busy, other);
	(void)events;
	loop_fd_del(busy->loop, fd);
	busy->done = 1;
}

Test(loop, looks_at_what_is_active_alone_and_still_hears_others)
{
	struct busy busy = { .most = 100 };
	int p[2], q[2];

	cr_assert_eq(loop_new(&busy.loop,
			     &(struct loop_options){ .name = "test", .poll_us = UINT32_MAX }, NULL),
		0);
	cr_assert(!pipe(p) && !pipe(q));
	busy.in = p[0];
	busy.out = p[1];
	busy.alone = (struct loop_fd){
		.fd = p[0], .events = EPOLLIN, .ready = alone_ready, .poll = alone_poll
	};
	busy.other = (struct loop_fd){ .fd = q[0], .events = EPOLLIN, .ready = other_ready };
	loop_fd_add(busy.loop, &busy.alone, NULL);
	loop_fd_add(busy.loop, &busy.other, NULL);
	cr_assert_eq(write(p[1], "x", 1), 1);
	loop_wait(busy.loop, &busy.done, 0);
	busy.done = 0;
	busy.most = 0;
	cr_assert_eq(write(q[1], "x", 1), 1);
	loop_wait(busy.loop, &busy.done, 0);
	busy.looks = 0;
	loop_fd_change(busy.loop, &busy.alone, 0);
	loop_wait(busy.loop, &(int){ 0 }, loop_clock() + 2000000);
	cr_assert_eq(busy.looks, 0, "was looked at when it wanted nothing");
	loop_fd_del(busy.loop, &busy.alone);
	loop_wait(busy.loop, &(int){ 0 }, loop_clock() + 2000000);
	cr_assert_eq(busy.looks, 0, "was looked at when it was gone");
	loop_free(busy.loop);
}

struct keen {
	struct loop_poller poller;
	struct loop_work work;
	struct loop_timer timer;
	struct loop *loop;
	unsigned polls, works;
	volatile int over;
};

static bool always(struct loop_poller *poller)
{
	struct keen *keen = container_of(poller, struct keen, poller);

	cr_assert_leq(keen->polls - keen->works, 1,
		"what the last poll asked for was not done before this one");
	keen->polls++;
	loop_work_add(keen->loop, &keen->work);
	return true;
}

static bool arm_never(struct loop_poller *poller)
{
	(void)poller;
	return false;
}

static void count_work(struct loop_work *work)
{
	container_of(work, struct keen, work)->works++;
}

static void time_is_up(struct loop_timer *timer)
{
	container_of(timer, struct keen, timer)->over = 1;
}

Test(loop, a_poller_that_always_has_something_keeps_nobody_out)
{
	struct keen keen = { .poller = { .poll = always, .arm = arm_never },
		.work.run = count_work,
		.timer.fire = time_is_up };
	struct diag diag;

	cr_assert_eq(loop_new(&keen.loop,
			     &(struct loop_options){
				     .name = "test", .poll_us = UINT32_MAX, .force_spin = true },
			     &diag),
		0);
	loop_poller_add(keen.loop, &keen.poller);
	loop_timer_set(keen.loop, &keen.timer, loop_clock() + 20000000);
	loop_wait(keen.loop, &keen.over, 0);
	loop_poller_del(keen.loop, &keen.poller);
	loop_work_del(keen.loop, &keen.work);
	loop_free(keen.loop);
}
