/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The event loop: epoll, timers, end-of-turn work, pollers, messages from other threads. Turns may
 * nest (loop_wait inside an upcall), so each running turn keeps its iterators in a struct turn on a
 * stack, which removals correct. */
#include "loop.h"
#include "out.h"
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64
/* poller rounds per clock read, which takes microseconds on some virtual machines */
#define POLL_BURST 16
#define POLL_ON    (SEC / 1000) /* then handle the other events */
/* Spinning turns per sched_yield(), which costs as much as polling two sockets. If another task
 * took the CPU at the last one, yield in the first of these turns, else in the last. */
#define SPIN_YIELD       4
#define SPIN_YIELD_ALONE 16
#define SPIN_TAKEN       2000 /* ns; a sched_yield() without another task takes a fifth of it */
/* While one descriptor is the only active one, poll it directly for this long instead of calling
 * epoll_wait(): doing both costs twice as much. */
#define SPIN_BLIND (SEC / 20000)
/* more than a time slice: a loop that shares its CPU with busy tasks loses it that often */
#define SPIN_AGAIN (SEC / 100)
/* longer than a client's work on one batch, shorter than a time slice */
#define SPIN_LOST (SEC / 5000)
#define STOP_POLL (SEC / 10) /* between two looks at a flag that another thread sets */

struct turn { /* what a running turn has not handled yet */
	struct turn *outer;
	struct epoll_event event[BATCH];
	int next, count;
	struct loop_poller *poller;
};

struct loop {
	int epoll;
	struct loop_fd wake;
	struct loop_options options;
	uint64_t now;
	int stop;
	bool no_spin;
	unsigned spins;    /* since the last event */
	bool shared;       /* another task took the CPU at the last sched_yield() */
	uint64_t epoll_at; /* time of the last epoll_wait() */
	/* the last descriptor that was ready; the same if it alone was ready twice running */
	struct loop_fd *last, *alone;
	uint64_t last_event, spin_lost, spin_rest_until, spin_rest;
	uint64_t spin_began, spin_ns;
	pthread_t thread;
	struct loop_timer *timers; /* the earliest: root of the heap */
	uint64_t timers_set;
	struct loop_work *work, **work_end;
	struct loop_poller *pollers;
	struct loop_local *local;
	struct turn *turn;
	_Atomic(struct loop_msg *) posted;
	struct loop_msg *inbox, **inbox_end;
};

uint64_t loop_clock(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SEC + (uint64_t)t.tv_nsec;
}

uint64_t loop_now(const struct loop *loop)
{
	return loop->now;
}

const struct loop_options *loop_options(const struct loop *loop)
{
	return &loop->options;
}

uint32_t loop_poll_auto(void)
{
	/* about the cost of waking a sleeping virtual CPU */
	return sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 40 : 0;
}

void loop_raise_fd_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

void loop_no_spin(struct loop *loop)
{
	loop->no_spin = true;
}

uint64_t loop_spin_ns(const struct loop *loop)
{
	return loop->spin_ns;
}

/* Any thread pushes messages on a stack. The owner reverses what it takes, which keeps each
 * sender's order. */
static void collect_posted(struct loop *loop)
{
	struct loop_msg *taken =
				atomic_exchange_explicit(&loop->posted, NULL, memory_order_acquire),
			*head = NULL, *last = taken;

	while (taken) {
		struct loop_msg *next = taken->next;
		taken->next = head;
		head = taken;
		taken = next;
	}
	if (head) {
		*loop->inbox_end = head;
		loop->inbox_end = &last->next;
	}
}

static void run_posted(struct loop *loop)
{
	collect_posted(loop);
	while (loop->inbox) {
		struct loop_msg *msg = loop->inbox;
		loop->inbox = msg->next;
		if (!loop->inbox)
			loop->inbox_end = &loop->inbox;
		msg->run(msg);
	}
}

static void woken(struct loop_fd *fd, uint32_t events)
{
	uint64_t count;
	(void)events;
	while (read(fd->fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
	run_posted(container_of(fd, struct loop, wake));
}

void loop_post(struct loop *loop, struct loop_msg *msg)
{
	struct loop_msg *head = atomic_load_explicit(&loop->posted, memory_order_relaxed);
	uint64_t one = 1;

	do
		msg->next = head;
	while (!atomic_compare_exchange_weak_explicit(
		&loop->posted, &head, msg, memory_order_release, memory_order_relaxed));
	if (!head)
		while (write(loop->wake.fd, &one, sizeof(one)) < 0 && errno == EINTR)
			;
}

int loop_new(struct loop **out, const struct loop_options *options, struct diag *diag)
{
	struct loop *loop = calloc(1, sizeof(*loop));
	int err;

	if (!loop)
		return diag_sys(diag, ENOMEM, "event loop");
	loop->options = *options;
	loop->thread = pthread_self();
	loop->now = loop_clock();
	loop->work_end = &loop->work;
	loop->inbox_end = &loop->inbox;
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->wake = (struct loop_fd){
		.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .events = EPOLLIN, .ready = woken
	};
	if (loop->epoll < 0 || loop->wake.fd < 0) {
		err = diag_sys(diag, errno, "event loop");
		goto fail;
	}
	err = loop_fd_add(loop, &loop->wake, diag);
	if (err)
		goto fail;
	*out = loop;
	return 0;
fail:
	if (loop->wake.fd >= 0)
		close(loop->wake.fd);
	if (loop->epoll >= 0)
		close(loop->epoll);
	free(loop);
	return err;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	run_posted(loop);
	while (loop->local) {
		struct loop_local *local = loop->local;
		loop->local = local->next;
		local->fini(local);
	}
	close(loop->wake.fd);
	close(loop->epoll);
	free(loop);
}

int loop_fd_add(struct loop *loop, struct loop_fd *fd, struct diag *diag)
{
	struct epoll_event event = { .events = fd->events, .data.ptr = fd };
	if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd->fd, &event))
		return diag_sys(diag, errno, "watch descriptor %d", fd->fd);
	fd->on = true;
	return 0;
}

void loop_fd_change(struct loop *loop, struct loop_fd *fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = fd };
	if (!fd->on || fd->events == events)
		return;
	fd->events = events;
	epoll_ctl(loop->epoll, EPOLL_CTL_MOD, fd->fd, &event);
}

void loop_fd_del(struct loop *loop, struct loop_fd *fd)
{
	if (!fd->on)
		return;
	fd->on = false;
	if (loop->last == fd)
		loop->last = loop->alone = NULL;
	epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd->fd, NULL);
	for (struct turn *turn = loop->turn; turn; turn = turn->outer)
		for (int i = turn->next; i < turn->count; i++)
			if (turn->event[i].data.ptr == fd)
				turn->event[i].data.ptr = NULL;
}

static bool is_sooner(const struct loop_timer *a, const struct loop_timer *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->serial < b->serial;
}

/* Timers are a pairing heap: no allocation, no limit, and thousands of timers of one peer slow the
 * others only by their logarithm. The later root becomes the first child of the earlier one. */
static struct loop_timer *meld(struct loop_timer *a, struct loop_timer *b)
{
	if (!a || !b)
		return a ? a : b;
	if (is_sooner(b, a)) {
		struct loop_timer *sooner = b;
		b = a;
		a = sooner;
	}
	b->prev = a;
	b->next = a->child;
	if (b->next)
		b->next->prev = b;
	a->child = b;
	return a;
}

static struct loop_timer *detach(struct loop_timer **list)
{
	struct loop_timer *timer = *list;

	if (timer) {
		*list = timer->next;
		timer->next = timer->prev = NULL;
	}
	return timer;
}

/* Meld siblings into one heap: in pairs, then the pairs from last to first. */
static struct loop_timer *meld_all(struct loop_timer *siblings)
{
	struct loop_timer *pairs = NULL, *heap = NULL;

	while (siblings) {
		struct loop_timer *a = detach(&siblings), *pair = meld(a, detach(&siblings));
		pair->next = pairs;
		pairs = pair;
	}
	while (pairs)
		heap = meld(heap, detach(&pairs));
	return heap;
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t at_ns)
{
	loop_timer_del(loop, timer);
	timer->at_ns = at_ns;
	timer->serial = loop->timers_set++;
	timer->child = timer->next = timer->prev = NULL;
	timer->on = true;
	loop->timers = meld(loop->timers, timer);
}

void loop_timer_del(struct loop *loop, struct loop_timer *timer)
{
	if (!timer->on)
		return;
	timer->on = false;
	if (timer->prev)
		*(timer->prev->child == timer ? &timer->prev->child : &timer->prev->next) =
			timer->next;
	else
		loop->timers = NULL;
	if (timer->next)
		timer->next->prev = timer->prev;
	loop->timers = meld(loop->timers, meld_all(timer->child));
}

void loop_work_add(struct loop *loop, struct loop_work *work)
{
	if (work->on)
		return;
	work->on = true;
	work->next = NULL;
	*loop->work_end = work;
	loop->work_end = &work->next;
}

void loop_work_del(struct loop *loop, struct loop_work *work)
{
	struct loop_work **at = &loop->work;
	if (!work->on)
		return;
	while (*at != work)
		at = &(*at)->next;
	*at = work->next;
	if (loop->work_end == &work->next)
		loop->work_end = at;
	work->on = false;
}

void loop_poller_add(struct loop *loop, struct loop_poller *poller)
{
	poller->next = loop->pollers;
	loop->pollers = poller;
}

void loop_poller_del(struct loop *loop, struct loop_poller *poller)
{
	struct loop_poller **at = &loop->pollers;
	while (*at && *at != poller)
		at = &(*at)->next;
	if (*at)
		*at = poller->next;
	for (struct turn *turn = loop->turn; turn; turn = turn->outer)
		if (turn->poller == poller)
			turn->poller = poller->next;
}

static void run_work(struct loop *loop)
{
	while (loop->work) {
		struct loop_work *work = loop->work;
		loop->work = work->next;
		if (!loop->work)
			loop->work_end = &loop->work;
		work->on = false;
		work->run(work);
	}
}

static void run_timers(struct loop *loop)
{
	while (loop->timers && loop->timers->at_ns <= loop->now) {
		struct loop_timer *timer = loop->timers;
		loop_timer_del(loop, timer);
		timer->fire(timer);
	}
}

static bool run_pollers(struct loop *loop, struct turn *turn)
{
	bool any = false;
	for (struct loop_poller *poller = loop->pollers; poller; poller = turn->poller) {
		turn->poller = poller->next;
		any |= poller->poll(poller);
	}
	turn->poller = NULL;
	return any;
}

static bool may_spin(const struct loop *loop)
{
	return (!loop->no_spin || loop->options.force_spin) && loop->now >= loop->spin_rest_until &&
	       loop->now - loop->last_event < loop->options.poll_us * 1000ull;
}

/* Only poll for a while: completions that a device writes to memory are seen sooner without system
 * calls in between. */
static void poll_on(struct loop *loop, struct turn *turn)
{
	uint64_t until = loop->now + POLL_ON;

	while (loop->now < until && may_spin(loop)) {
		uint64_t before = loop->now;
		bool some = false;

		for (unsigned i = 0; !some && i < POLL_BURST; i++)
			some = run_pollers(loop, turn);
		if (some)
			run_work(loop);
		loop->now = loop_clock();
		if (some)
			loop->last_event = loop->now;
		else
			loop->spin_ns += loop->now - before;
	}
}

static bool polls_on(const struct loop *loop)
{
	return loop->options.force_spin && loop->pollers;
}

/* Yield the CPU, so that a client on the same CPU loses nothing, unless force_spin is set. A task
 * that keeps the CPU for long twice running is no such client; then sleeping is better, as a
 * wake-up preempts. So stop spinning for a time that doubles up to a second. A single loss may come
 * from the hypervisor. */
static void spin(struct loop *loop)
{
	unsigned spins = loop->spins++;
	uint64_t before, now;

	loop->spin_began = spins ? loop->now : loop_clock();
	if (polls_on(loop) || (loop->shared ? spins % SPIN_YIELD : loop->spins % SPIN_YIELD_ALONE))
		return;
	before = loop_clock();
	sched_yield();
	now = loop_clock();
	loop->shared = now - before > SPIN_TAKEN;
	if (now - before > SPIN_LOST) {
		if (before - loop->spin_lost < SPIN_AGAIN) {
			loop->spin_rest =
				loop->spin_rest < SEC / 2 ? loop->spin_rest * 2 + SEC / 100 : SEC;
			loop->spin_rest_until = now + loop->spin_rest;
		}
		loop->spin_lost = now;
	} else if (now - loop->spin_rest_until > SEC) {
		loop->spin_rest = 0;
	}
}

static int sleep_ms(struct loop *loop, uint64_t deadline)
{
	uint64_t until = loop->timers ? loop->timers->at_ns : 0, now;

	if (loop->work || loop->inbox)
		return 0;
	if (may_spin(loop)) {
		spin(loop);
		return 0;
	}
	for (struct loop_poller *poller = loop->pollers; poller; poller = poller->next)
		if (!poller->arm(poller))
			return 0;
	if (deadline && (!until || deadline < until))
		until = deadline;
	if (!until)
		return -1;
	now = until > loop->now ? loop_clock() : until; /* the turn may have taken long */
	if (until <= now)
		return 0;
	until = (until - now + 999999) / 1000000;
	return until > 1000000 ? 1000000 : (int)until;
}

static void note_alone(struct loop *loop, const struct turn *turn)
{
	struct loop_fd *fd = turn->count == 1 ? turn->event[0].data.ptr : NULL;

	loop->alone = fd && fd->poll && fd == loop->last ? fd : NULL;
	loop->last = fd;
}

/* With a single active descriptor, polling it saves most of the cost of epoll_wait(). */
static bool may_poll_fd(const struct loop *loop)
{
	return loop->spin_began && loop->alone && loop->alone->events & EPOLLIN &&
	       loop->now - loop->epoll_at < SPIN_BLIND;
}

static void one_turn(struct loop *loop, uint64_t deadline)
{
	struct turn turn; /* not zeroed: the event array is 768 bytes */
	int timeout = sleep_ms(loop, deadline);
	bool direct = may_poll_fd(loop), any;

	turn.outer = loop->turn;
	turn.poller = NULL;
	turn.next = turn.count = 0;
	if (!direct)
		turn.count = epoll_wait(loop->epoll, turn.event, BATCH, timeout);
	loop->turn = &turn;
	loop->now = loop_clock();
	if (loop->spin_began) {
		loop->spin_ns += loop->now - loop->spin_began;
		loop->spin_began = 0;
	}
	if (!direct)
		loop->epoll_at = loop->now;
	if (turn.count > 0)
		note_alone(loop, &turn);
	any = direct ? loop->alone->poll(loop->alone) : turn.count > 0;
	while (turn.next < turn.count) {
		struct epoll_event *event = &turn.event[turn.next++];
		struct loop_fd *fd = event->data.ptr;
		if (fd)
			fd->ready(fd, event->events);
	}
	if (loop->inbox)
		run_posted(loop);
	any |= run_pollers(loop, &turn);
	run_timers(loop);
	run_work(loop);
	if (any) {
		loop->last_event = loop->now;
		loop->spins = 0;
	}
	if (polls_on(loop))
		poll_on(loop, &turn);
	loop->turn = turn.outer;
}

void loop_run(struct loop *loop)
{
	loop->thread = pthread_self();
	loop->now = loop_clock();
	while (!loop->stop)
		one_turn(loop, 0);
	loop->stop = 0;
}

void loop_stop(struct loop *loop)
{
	loop->stop = 1;
}

bool loop_wait(struct loop *loop, const volatile int *flag, uint64_t deadline_ns)
{
	loop->now = loop_clock();
	while (!*flag) {
		if (deadline_ns && loop->now >= deadline_ns)
			return false;
		one_turn(loop, deadline_ns);
	}
	return true;
}

bool loop_wait_until(struct loop *loop, const volatile int *flag, const volatile int *stop)
{
	while (!loop_wait(loop, flag, stop ? loop_clock() + STOP_POLL : 0))
		if (__atomic_load_n(stop, __ATOMIC_RELAXED))
			return false;
	return true;
}

void loop_local_add(struct loop *loop, struct loop_local *local)
{
	local->next = loop->local;
	loop->local = local;
}

struct loop_local *loop_local_find(struct loop *loop, const void *key)
{
	struct loop_local *local = loop->local;
	while (local && local->key != key)
		local = local->next;
	return local;
}

void loop_trace(const struct loop *loop, const char *fmt, ...)
{
	char text[700];
	va_list args;

	if (!loop->options.verbose)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	out_message(OUT_INFO, "%s: %s", loop->options.name ? loop->options.name : "rdmastor", text);
}

struct loop_call {
	struct loop_msg msg, back;
	struct loop *from, *to;
	int (*fn)(struct loop *, void *);
	void *arg;
	int result;
	volatile int done;
};

static void call_back(struct loop_msg *msg)
{
	container_of(msg, struct loop_call, back)->done = 1;
}

static void call_run(struct loop_msg *msg)
{
	struct loop_call *call = container_of(msg, struct loop_call, msg);
	call->result = call->fn(call->to, call->arg);
	loop_post(call->from, &call->back);
}

int loop_call(struct loop *from, struct loop *to, int (*fn)(struct loop *, void *), void *arg)
{
	struct loop_call call = { .msg.run = call_run,
		.back.run = call_back,
		.from = from,
		.to = to,
		.fn = fn,
		.arg = arg };
	if (from == to)
		return fn(to, arg);
	loop_post(to, &call.msg);
	loop_wait(from, &call.done, 0);
	return call.result;
}
