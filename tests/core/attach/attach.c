/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* core/attach/attach.c with a protocol row that only counts its calls: order of steps, parallel and
 * sequential attachments, deadlines, retries, cancel, and rollback limited to what was created. The
 * clock leaps, except where child processes are used. */
/* Link: leap socket bind kernel_disk_opens fork */
#include "attach.h"
#include "attach_row.h"
#include "leap.h"
#include "says.h"
#include "tree.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MSEC 1000000ull

int __real_socket(int, int, int) __attribute__((weak));
int __real_bind(int, const void *, unsigned) __attribute__((weak));
int __wrap_socket(int, int, int);
int __wrap_bind(int, const void *, unsigned);
int __wrap_kernel_disk_opens(int, const char *);
pid_t __real_fork(void) __attribute__((weak));
pid_t __wrap_fork(void);

/* No uevents: the timer alone. */
int __wrap_socket(int domain, int type, int protocol)
{
	return domain == 16 ? -1 : __real_socket(domain, type, protocol);
}

int __wrap_bind(int fd, const void *address, unsigned len)
{
	return __real_bind(fd, address, len);
}

int __wrap_kernel_disk_opens(int root, const char *name)
{
	(void)root;
	(void)name;
	return 0;
}

static int fork_err;
static unsigned forks;

pid_t __wrap_fork(void)
{
	forks++;
	errno = fork_err;
	return fork_err ? -1 : __real_fork();
}

struct fake {
	struct attach attach;
	unsigned find_ms, ready_ms, dial_ms, disk_ms, undo_ms; /* how long each takes; NEVER */
	int find_err, ready_err, dial_err, look_err, undo_err;
	bool makes, slow; /* slow: its dial takes five seconds of a turn */
	struct addr addr;
	const char *answers; /* the address to which a dial succeeds; NULL: any */
	bool only_answers;   /* it answers, and then the dial fails */
	char dialled[200];   /* all addresses, with the time that each had */
	struct loop_timer timer;
	uint64_t dialled_at, over_at, retried_at;
	unsigned finds, readies, dials, undos, dones, stops, retries, gives_up;
	int err; /* of the step under way */
	enum diag_code code;
};
#define NEVER 0xffffffffu

static struct loop *loop;
static uint64_t began;
static unsigned dialling, most;
static struct tree tree;

static struct fake *fake_of(const struct attach *attach)
{
	return (struct fake *)(void *)(uintptr_t)attach;
}

static void step_over(struct loop_timer *timer)
{
	struct fake *fake = container_of(timer, struct fake, timer);

	if (fake->err)
		diag_set(&fake->attach.why, fake->code ? fake->code : DIAG_REFUSED, -fake->err,
			"as the test wants");
	attach_step(&fake->attach, fake->err);
}

static void take(struct fake *fake, unsigned ms, int err)
{
	fake->err = err;
	fake->timer.fire = step_over;
	if (ms == NEVER)
		return;
	if (ms)
		loop_timer_set(loop, &fake->timer, loop_clock() + ms * MSEC);
	else
		step_over(&fake->timer);
}

static void fake_find(struct attach *attach)
{
	fake_of(attach)->finds++;
	take(fake_of(attach), fake_of(attach)->find_ms, fake_of(attach)->find_err);
}

static void fake_ready(struct attach *attach)
{
	fake_of(attach)->readies++;
	take(fake_of(attach), fake_of(attach)->ready_ms, fake_of(attach)->ready_err);
}

/* The others of a name fail as the test wants. */
static void dial_address(struct fake *fake)
{
	struct attach *attach = &fake->attach;
	size_t used = strlen(fake->dialled);
	bool right;
	char at[ADDR_TEXT];

	cr_assert_eq(attach->addr->others, 0, "one at a time");
	right = !strcmp(addr_host(attach->addr, at), fake->answers);
	attach->made = fake->makes && right && !fake->only_answers;
	if (right)
		attach_answered(attach);
	snprintf(fake->dialled + used, sizeof(fake->dialled) - used, "%s%s %llu", used ? ", " : "",
		at,
		attach->until ? (unsigned long long)((attach->until - loop_clock()) / MSEC) : 0);
	take(fake, fake->dial_ms, right && !fake->only_answers ? 0 : fake->dial_err);
}

static void fake_dial(struct attach *attach)
{
	struct fake *fake = fake_of(attach);

	leap_now += fake->slow ? 5000 * MSEC : 0;
	fake->dials++;
	dialling++;
	most = dialling > most ? dialling : most;
	attach->made = fake->makes;
	snprintf(attach->what, sizeof(attach->what), "fake0");
	if (fake->answers)
		dial_address(fake);
	else
		take(fake, fake->dial_ms, fake->dial_err);
}

static int fake_look(struct attach *attach)
{
	struct fake *fake = fake_of(attach);

	if (!fake->dialled_at) {
		fake->dialled_at = loop_clock();
		dialling--;
	}
	if (fake->look_err)
		return diag_set(&attach->why, DIAG_CLOSED, -fake->look_err, "it has gone");
	return fake->disk_ms != NEVER && loop_clock() >= fake->dialled_at + fake->disk_ms * MSEC;
}

static void fake_timeout_error(struct attach *attach)
{
	diag_set(&attach->why, DIAG_TIMEOUT, ETIMEDOUT, "no disk of fake0");
}

static void fake_undo(struct attach *attach)
{
	fake_of(attach)->undos++;
	take(fake_of(attach), fake_of(attach)->undo_ms, fake_of(attach)->undo_err);
}

static void fake_stop(struct attach *attach)
{
	fake_of(attach)->stops++;
	loop_timer_del(loop, &fake_of(attach)->timer);
}

static bool search_hangs, search_is_enough;

static void fake_users(const struct attach *attach, int root, struct attach_users *found)
{
	int fd = openat(root, "busy", O_RDONLY);
	ssize_t got = fd < 0 ? 0 : read(fd, found->text, sizeof(found->text) - 1);

	(void)attach;
	found->text[got > 0 ? got : 0] = 0;
	found->enough = search_is_enough;
	while (search_hangs)
		pause();
}

static struct attach_proto row = { .ready = fake_ready,
	.connect = fake_dial,
	.poll = fake_look,
	.set_timeout_error = fake_timeout_error,
	.undo = fake_undo,
	.stop = fake_stop };

static void done(struct attach *attach)
{
	fake_of(attach)->dones++;
	fake_of(attach)->over_at = loop_clock();
}

static bool retrying(struct attach *attach)
{
	cr_assert(attach->why.err);
	fake_of(attach)->retries++;
	fake_of(attach)->retried_at = loop_clock();
	return fake_of(attach)->retries != fake_of(attach)->gives_up;
}

static void set_up(void)
{
	const struct loop_options options = { .name = "test" };

	cr_assert_eq(loop_new(&loop, &options, NULL), 0);
	tree = tree_new();
	began = loop_clock();
}

static void tear_down(void)
{
	loop_free(loop);
	tree_free(&tree);
}

TestSuite(attach, .init = set_up, .fini = tear_down);

static struct fake fake_new(unsigned timeout_ms)
{
	return (struct fake){ .attach = { .proto = &row,
				      .loop = loop,
				      .root = tree.root,
				      .deadline = timeout_ms ? began + timeout_ms * MSEC : 0,
				      .done = done,
				      .retrying = retrying },
		.makes = true };
}

static void run(struct fake *fake, unsigned count)
{
	struct attach *list[8] = { 0 };

	for (unsigned i = 0; i < count; i++)
		list[i] = &fake[i].attach;
	cr_assert_eq(attach_run(loop, list, count, NULL), 0);
	for (unsigned i = 0; i < count; i++)
		cr_assert_eq(fake[i].dones, 1);
}

static uint64_t ms_of(uint64_t at)
{
	return (at - began) / MSEC;
}

Test(attach, all_at_once)
{
	struct fake fake[4];

	for (unsigned i = 0; i < 4; i++) {
		fake[i] = fake_new(0);
		fake[i].ready_ms = 10;
		fake[i].dial_ms = 100;
		fake[i].disk_ms = 100 * i;
	}
	run(fake, 4);
	cr_assert_eq(most, 4);
	for (unsigned i = 0; i < 4; i++) {
		cr_assert_eq(fake[i].attach.why.err, 0);
		cr_assert_eq(fake[i].undos, 0);
		cr_assert_geq(ms_of(fake[i].over_at), 110 + 100 * i);
		cr_assert_leq(ms_of(fake[i].over_at), 110 + 100 * i + 250);
	}
}

Test(attach, nothing_that_takes_time)
{
	struct fake fake = fake_new(1);

	run(&fake, 1);
	cr_assert_eq(fake.attach.why.err, 0);
	cr_assert_eq(ms_of(fake.over_at), 0);
}

Test(attach, no_wait)
{
	struct fake fake = fake_new(0);

	fake.disk_ms = NEVER;
	fake.attach.no_wait = true;
	run(&fake, 1);
	cr_assert_eq(fake.attach.why.err, 0);
}

Test(attach, in_turn_and_each_attempt_has_its_own_time)
{
	struct fake fake[3];

	row.serialized = true;
	for (unsigned i = 0; i < 3; i++) {
		fake[i] = fake_new(0);
		fake[i].dial_ms = 100;
		fake[i].attach.limit_ms = 150;
	}
	fake[0].dial_ms = NEVER;
	fake[0].makes = false;
	run(fake, 3);
	diag_says(&fake[0].attach.why, DIAG_TIMEOUT, NULL, "2.15");
	cr_assert_eq(fake[0].stops, 1);
	cr_assert_eq(fake[0].undos, 0);
	cr_assert_eq(ms_of(fake[0].over_at), 2150, "two seconds to end by itself");
	cr_assert_eq(fake[1].attach.why.err, 0);
	cr_assert_eq(ms_of(fake[1].over_at), 2250);
	cr_assert_eq(fake[2].attach.why.err, 0);
	cr_assert_eq(ms_of(fake[2].over_at), 2350);
	row.serialized = false;
}

Test(attach, all_find_at_once_and_then_dial_in_turn)
{
	struct fake fake[4] = { fake_new(0), fake_new(0), fake_new(0), fake_new(0) };

	row.serialized = true;
	row.find = fake_find;
	for (unsigned i = 0; i < 4; i++) {
		fake[i].find_ms = 100;
		fake[i].dial_ms = 10;
	}
	fake[1].find_err = -ENOENT;
	fake[2].attach.find_only = true;
	fake[3].attach.owner_serializes = true;
	run(fake, 4);
	cr_assert_eq(fake[0].attach.why.err, 0);
	cr_assert_eq(ms_of(fake[0].dialled_at), 110);
	cr_assert_eq(fake[1].attach.why.err, ENOENT);
	cr_assert_eq(fake[1].readies + fake[1].dials + fake[1].undos, 0);
	cr_assert_eq(fake[2].attach.why.err, 0);
	cr_assert_eq(ms_of(fake[2].over_at), 100);
	cr_assert_eq(fake[2].readies + fake[2].dials, 0);
	cr_assert_eq(ms_of(fake[3].dialled_at), 110, "in no turn");
	row.serialized = false;
	row.find = NULL;
}

static uint64_t even(const struct attach *attach)
{
	return (uint64_t)((const struct fake *)(const void *)attach)->dial_ms & 1;
}

/* Odd times are one queue, even ones another. */
Test(attach, queues_of_one_row_do_not_wait_for_each_other)
{
	struct fake fake[4] = { fake_new(0), fake_new(0), fake_new(0), fake_new(0) };

	row.serialized = true;
	row.queue = even;
	fake[0].dial_ms = 1000;
	fake[1].dial_ms = 11;
	fake[2].dial_ms = 100;
	fake[3].dial_ms = 13;
	run(fake, 4);
	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(fake[i].attach.why.err, 0);
	cr_assert_eq(ms_of(fake[0].dialled_at), 1000);
	cr_assert_eq(ms_of(fake[1].dialled_at), 11);
	cr_assert_eq(ms_of(fake[2].dialled_at), 1100);
	cr_assert_eq(ms_of(fake[3].dialled_at), 24);
	row.serialized = false;
	row.queue = NULL;
}

/* One is connected, the other is still being looked up. */
Test(attach, a_cancel_ends_a_search_and_rolls_back_the_others)
{
	struct fake fake[2] = { fake_new(0), fake_new(0) };

	row.find = fake_find;
	fake[0].disk_ms = fake[1].find_ms = NEVER;
	attach_start(&fake[0].attach);
	attach_start(&fake[1].attach);
	loop_wait(loop, (volatile int[]){ 0 }, began + 50 * MSEC);
	cr_assert_eq(fake[0].dials, 1);
	attach_cancel(&fake[0].attach);
	attach_cancel(&fake[1].attach);
	run(fake, 2);
	cr_assert_eq(fake[0].attach.why.err, EINTR);
	cr_assert_eq(fake[0].undos, 1);
	cr_assert_eq(fake[1].attach.why.err, EINTR);
	cr_assert_eq(fake[1].readies + fake[1].undos, 0);
	row.find = NULL;
}

Test(attach, a_turn_that_does_not_come_in_time)
{
	struct fake fake[2] = { fake_new(0), fake_new(500) };

	row.serialized = true;
	fake[0].dial_ms = 1000;
	run(fake, 2);
	diag_says(&fake[1].attach.why, DIAG_TIMEOUT, NULL, "0.5 connecting");
	cr_assert_eq(fake[1].dials, 0);
	cr_assert_eq(fake[1].undos, 0);
	cr_assert_eq(fake[0].attach.why.err, 0);
	row.serialized = false;
}

Test(attach, a_cancelled_turn_passes_on)
{
	struct fake fake[3] = { fake_new(0), fake_new(0), fake_new(0) };

	row.serialized = true;
	for (unsigned i = 0; i < 3; i++) {
		fake[i].dial_ms = i < 2 ? NEVER : 10;
		fake[i].makes = false;
		attach_start(&fake[i].attach);
	}
	loop_wait(loop, (volatile int[]){ 0 }, began + 50 * MSEC);
	cr_assert_eq(fake[0].dials + fake[1].dials + fake[2].dials, 1);
	attach_cancel(&fake[1].attach);
	attach_cancel(&fake[0].attach);
	attach_cancel(&fake[0].attach);
	run(fake, 3);
	cr_assert_eq(fake[0].attach.why.err, EINTR);
	cr_assert_eq(fake[1].attach.why.err, EINTR);
	cr_assert_eq(fake[1].dials, 0);
	cr_assert_eq(fake[2].attach.why.err, 0);
	cr_assert_eq(ms_of(fake[2].over_at), 60);
	row.serialized = false;
}

/* The target has 10.0.0.1, 10.0.0.2 and 10.0.0.3; only `answers` does. */
static struct fake with_addresses(unsigned timeout_ms, const char *answers)
{
	struct fake fake = fake_new(timeout_ms);

	cr_assert_eq(addr_parse(&fake.addr, "10.0.0.1:7", 0, NULL), 0);
	for (unsigned i = 2; i <= 3; i++) {
		char text[] = "10.0.0.0:7";
		struct addr other;

		text[7] = (char)('0' + i);
		cr_assert_eq(addr_parse(&other, text, 0, NULL), 0);
		cr_assert(addr_add(&fake.addr, (const struct sockaddr *)&other.ss));
	}
	fake.answers = answers;
	fake.dial_err = -ECONNREFUSED;
	return fake;
}

Test(attach, the_address_that_answers)
{
	struct fake fake = with_addresses(9000, "10.0.0.2");
	char at[ADDR_TEXT];

	fake.attach.addr = &fake.addr;
	fake.dial_ms = 1000;
	fake.disk_ms = 5000;
	run(&fake, 1);
	cr_assert_eq(fake.attach.why.err, 0, "%s", fake.attach.why.text);
	cr_assert_str_eq(fake.dialled, "10.0.0.1 3000, 10.0.0.2 8000",
		"an equal share, then all that is left");
	cr_assert(fake.readies == 2 && fake.finds == 0 && fake.undos == 0);
	cr_assert_str_eq(addr_text(&fake.addr, at), "10.0.0.2:7");
	cr_assert_eq(fake.addr.others, 0);
}

Test(attach, no_address_that_answers)
{
	static const struct {
		enum diag_code code;
		int err;
	} causes[] = { { DIAG_REFUSED, ECONNREFUSED }, { DIAG_UNREACHABLE, EHOSTUNREACH },
		{ DIAG_NO_DEVICE, ENODEV }, { DIAG_TIMEOUT, ETIMEDOUT } };

	for (unsigned i = 0; i < sizeof(causes) / sizeof(*causes); i++) {
		struct fake fake = with_addresses(0, "none");

		fake.attach.addr = &fake.addr;
		fake.code = causes[i].code;
		fake.dial_err = -causes[i].err;
		run(&fake, 1);
		cr_assert_str_eq(fake.dialled, "10.0.0.1 10000, 10.0.0.2 10000, 10.0.0.3 0");
		diag_says(&fake.attach.why, causes[i].code, "10.0.0.1:7, 10.0.0.2:7, 10.0.0.3:7",
			"as_the_test_wants");
		cr_assert(fake.undos == 0 && fake.addr.others == 2, "for the next attempt");
	}
}

/* A target that answers is the reason of a failure, whether there is something to undo or not. */
Test(attach, an_answer_is_the_last_address)
{
	struct fake fake[3];

	for (unsigned i = 0; i < 3; i++) {
		fake[i] = with_addresses(0, "10.0.0.2");
		fake[i].attach.addr = &fake[i].addr;
		fake[i].only_answers = true;
	}
	fake[0].makes = false;
	fake[1].only_answers = false;
	fake[1].look_err = -ETIMEDOUT;
	fake[2].dial_err = -ECONNRESET;
	run(fake, 3);
	for (unsigned i = 0; i < 2; i++)
		cr_assert_eq(fake[i].dials, 2);
	diag_says(&fake[0].attach.why, DIAG_REFUSED, "10.0.0.2:7", "as_the_test_wants");
	cr_assert_eq(fake[1].undos, 1);
	diag_says(&fake[1].attach.why, DIAG_CLOSED, "10.0.0.2:7", "it_has_gone");
	cr_assert_eq(fake[2].dials, 1, "the first one has rejected it");
}

Test(attach, an_address_that_takes_all_of_its_share)
{
	struct fake fake = with_addresses(30000, "none");

	fake.attach.addr = &fake.addr;
	fake.makes = false;
	fake.dial_ms = NEVER;
	run(&fake, 1);
	cr_assert_str_eq(fake.dialled, "10.0.0.1 10000, 10.0.0.2 9000, 10.0.0.3 7000");
	diag_says(
		&fake.attach.why, DIAG_TIMEOUT, "10.0.0.1:7, 10.0.0.2:7, 10.0.0.3:7", "timed_out");
	cr_assert_eq(ms_of(fake.over_at), 32000, "two seconds to end by itself");
}

/* Each attempt has all of them, within its own limit. */
Test(attach, addresses_of_other_attempts)
{
	struct fake fake = with_addresses(0, "none");

	fake.attach.addr = &fake.addr;
	fake.dial_ms = 1000;
	fake.attach.limit_ms = 6000;
	fake.attach.retry_ms = 1000;
	fake.gives_up = 2;
	run(&fake, 1);
	cr_assert_str_eq(fake.dialled, "10.0.0.1 2000, 10.0.0.2 2500, 10.0.0.3 4000, "
				       "10.0.0.1 2000, 10.0.0.2 2500, 10.0.0.3 4000");
	cr_assert_eq(fake.addr.others, 2);
}

/* The device of the second address is missing. */
Test(attach, an_address_that_can_not_be_prepared)
{
	struct fake fake = with_addresses(0, "10.0.0.2");

	fake.attach.addr = &fake.addr;
	fake.ready_err = -ENODEV;
	fake.code = DIAG_NO_DEVICE;
	run(&fake, 1);
	cr_assert(fake.readies == 3 && fake.dials == 0);
	diag_says(&fake.attach.why, DIAG_NO_DEVICE, "10.0.0.1:7, 10.0.0.2:7, 10.0.0.3:7",
		"as_the_test_wants");
}

Test(attach, addresses_end_with_a_cancel)
{
	struct fake fake = with_addresses(0, "none");

	fake.attach.addr = &fake.addr;
	fake.dial_ms = NEVER;
	attach_start(&fake.attach);
	loop_wait(loop, (volatile int[]){ 0 }, began + 50 * MSEC);
	attach_cancel(&fake.attach);
	run(&fake, 1);
	cr_assert(fake.attach.why.err == EINTR && fake.dials == 1 && fake.addr.others == 2);
}

Test(attach, failures_and_what_is_rolled_back)
{
	struct fake fake[6];

	for (unsigned i = 0; i < 6; i++)
		fake[i] = fake_new(1000);
	fake[0].ready_err = -ENODEV;
	fake[1].dial_err = -ECONNREFUSED;
	fake[2].dial_err = -ECONNREFUSED;
	fake[2].makes = false;
	fake[3].disk_ms = NEVER;
	fake[4].look_err = -ENODEV;
	fake[4].undo_err = -EIO;
	fake[5].disk_ms = NEVER;
	fake[5].undo_ms = NEVER;
	run(fake, 6);
	cr_assert_eq(fake[0].attach.why.err, ENODEV);
	cr_assert_eq(fake[0].dials + fake[0].undos, 0);
	cr_assert_eq(fake[1].attach.why.err, ECONNREFUSED);
	cr_assert_eq(fake[1].undos, 1, "half a connection");
	cr_assert_eq(fake[2].undos, 0, "one that existed, or never came");
	diag_says(&fake[3].attach.why, DIAG_TIMEOUT, NULL, "fake0");
	cr_assert_eq(fake[3].undos, 1);
	cr_assert_eq(ms_of(fake[3].over_at), 1000);
	cr_assert_eq(fake[4].attach.why.err, ENODEV, "the first reason, not the rollback's");
	cr_assert_eq(fake[4].stops, 1, "does not wait for the pending call");
	cr_assert_eq(ms_of(fake[4].over_at), 0);
	diag_says(&fake[5].attach.why, DIAG_TIMEOUT, NULL, "fake0");
	cr_assert_eq(ms_of(fake[5].over_at), 1000 + 5000 + 2000);
}

Test(attach, other_attempts)
{
	struct fake fake[5] = { fake_new(3500), fake_new(0), fake_new(3500), fake_new(0),
		fake_new(0) };

	for (unsigned i = 0; i < 5; i++) {
		fake[i].attach.retry_ms = 1000;
		fake[i].dial_err = -ECONNREFUSED;
		fake[i].makes = false;
	}
	fake[1].ready_err = -EINVAL;
	fake[1].attach.retry_ms = 0;
	fake[2].attach.limit_ms = 100;
	fake[2].dial_ms = NEVER;
	fake[3].gives_up = 2;
	fake[4].code = DIAG_MISMATCH;
	run(fake, 5);
	cr_assert_eq(fake[0].attach.why.err, ECONNREFUSED);
	cr_assert(fake[3].dials == 2 && fake[3].attach.why.err == ECONNREFUSED);
	/* at 0, 1 and 2 s, then after half of the remaining time, while that is at least 0.1 s */
	cr_assert_eq(fake[0].dials, 7);
	cr_assert_leq(ms_of(fake[0].over_at), 3500);
	cr_assert_eq(fake[1].readies, 1);
	cr_assert_eq(fake[2].dials, 2, "0.1 s and two to end, a pause, and until the deadline");
	cr_assert_eq(fake[4].dials, 1, "waiting can't help");
}

/* A turn that takes long does not make the loop sleep longer. */
Test(attach, the_first_look_is_at_once)
{
	struct fake fake = fake_new(0);

	fake.slow = true;
	run(&fake, 1);
	cr_assert_eq(fake.attach.why.err, 0);
	cr_assert_eq(ms_of(fake.dialled_at), 5000);
}

static struct fake later;

static void starts_another(struct attach *attach)
{
	done(attach);
	attach_start(&later.attach);
}

/* A discovery controller has answered. */
Test(attach, what_is_started_meanwhile_is_waited_for)
{
	struct fake fake = fake_new(0);

	later = fake_new(0);
	later.dial_ms = 500;
	fake.attach.done = starts_another;
	run(&fake, 1);
	cr_assert_eq(later.dones, 1);
	cr_assert_eq(later.attach.why.err, 0);
	cr_assert_geq(ms_of(later.over_at), 500);
}

static void interrupt(struct loop_timer *timer)
{
	(void)timer;
	raise(SIGINT);
}

Test(attach, what_is_started_meanwhile_is_interrupted)
{
	struct loop_timer timer = { .fire = interrupt };
	struct fake fake = fake_new(0);

	later = fake_new(0);
	later.dial_ms = NEVER;
	fake.attach.done = starts_another;
	loop_timer_set(loop, &timer, began + 100 * MSEC);
	run(&fake, 1);
	cr_assert_eq(later.attach.why.err, EINTR);
	cr_assert_eq(fake.attach.why.err, 0);
}

Test(attach, interrupted_wherever_it_is)
{
	struct loop_timer timer = { .fire = interrupt };
	struct fake fake[5];

	for (unsigned i = 0; i < 5; i++)
		fake[i] = fake_new(0);
	fake[0].ready_ms = NEVER;
	fake[1].dial_ms = NEVER;
	fake[2].disk_ms = NEVER;
	fake[2].undo_ms = 100;
	fake[3].dial_err = -EIO;
	fake[3].attach.retry_ms = 1000;
	loop_timer_set(loop, &timer, began + 100 * MSEC);
	run(fake, 5);
	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(fake[i].attach.why.err, EINTR, "%u: %d", i, fake[i].attach.why.err);
	cr_assert_eq(fake[0].undos, 0);
	cr_assert_eq(fake[1].undos, 1);
	cr_assert_eq(fake[2].undos, 1);
	cr_assert_eq(ms_of(fake[2].over_at), 200);
	cr_assert_eq(fake[3].dials, 1);
	cr_assert_eq(fake[4].attach.why.err, 0, "it was there already");
	cr_assert_eq(fake[4].undos, 0);
}

Test(attach, a_second_signal_ends_it)
{
	struct loop_timer timer[2] = { { .fire = interrupt }, { .fire = interrupt } };
	struct fake fake = fake_new(0);
	struct attach *list = &fake.attach;

	fake.disk_ms = fake.undo_ms = NEVER;
	loop_timer_set(loop, &timer[0], began + 100 * MSEC);
	loop_timer_set(loop, &timer[1], began + 200 * MSEC);
	cr_assert_eq(attach_run(loop, &list, 1, NULL), 0);
	diag_says(&fake.attach.why, DIAG_CLOSED, NULL, "interrupted");
	text_says(fake.attach.why.hint, "fake0 status");
	cr_assert_eq(fake.dones, 1);
	cr_assert(attach_is_done(&fake.attach));
	cr_assert_eq(ms_of(loop_clock()), 200);
}

Test(attach, detach)
{
	struct fake fake[3] = { fake_new(0), fake_new(0), fake_new(100) };

	fake[1].undo_err = -EPERM;
	fake[2].undo_ms = NEVER;
	for (unsigned i = 0; i < 3; i++) {
		fake[i].attach.force = true;
		attach_detach(&fake[i].attach);
	}
	run(fake, 3);
	cr_assert_eq(fake[0].attach.why.err, 0);
	cr_assert_eq(fake[0].undos, 1);
	cr_assert_eq(fake[1].attach.why.err, EPERM);
	cr_assert_eq(fake[2].attach.why.err, ETIMEDOUT);
	cr_assert_eq(fake[0].readies + fake[0].dials, 0);
}

static void with_users(void)
{
	row.users = fake_users;
}

Test(attach, nothing_in_use_is_undone)
{
	struct fake fake;

	with_users();
	tree_file(&tree, "busy", "fake0n1: mounted on /mnt");
	fake = fake_new(20);
	fake.disk_ms = NEVER;
	run(&fake, 1);
	diag_says(&fake.attach.why, DIAG_TIMEOUT, NULL, "fake0");
	text_says(fake.attach.why.hint, "fake0 fake0n1 /mnt");
	cr_assert_str_eq(fake.attach.users, "fake0n1: mounted on /mnt");
	cr_assert_eq(fake.undos, 0);
	cr_assert_geq(ms_of(fake.over_at), 2000, "who only looks has time to go");
}

static void is_done_with_it(struct loop_timer *timer)
{
	(void)timer;
	unlinkat(tree.root, "busy", 0);
}

Test(attach, users_who_only_looked)
{
	struct loop_timer timer = { .fire = is_done_with_it };
	struct fake fake;

	with_users();
	tree_file(&tree, "busy", "fake0n1: open in udevd");
	fake = fake_new(20);
	fake.disk_ms = NEVER;
	loop_timer_set(loop, &timer, began + 200 * MSEC);
	run(&fake, 1);
	cr_assert_str_eq(fake.attach.why.hint, "");
	cr_assert_str_eq(fake.attach.users, "");
	cr_assert_eq(fake.undos, 1);
}

Test(attach, detach_of_what_is_used)
{
	struct fake fake[2];

	with_users();
	tree_file(&tree, "busy", "fake0n1: swap");
	fake[0] = fake[1] = fake_new(1000);
	fake[1].attach.force = true;
	attach_detach(&fake[0].attach);
	attach_detach(&fake[1].attach);
	run(fake, 2);
	diag_says(&fake[0].attach.why, DIAG_BUSY, NULL, "swap");
	cr_assert_eq(fake[0].undos, 0);
	cr_assert_eq(fake[1].attach.why.err, 0);
	cr_assert_eq(fake[1].undos, 1);
}

/* In a child. */
static int fake_flush(const struct attach *attach, int root, struct diag *diag)
{
	(void)attach;
	return faccessat(root, "map", F_OK, 0)
		       ? 0
		       : diag_set(diag, DIAG_BUSY, EBUSY, "multipath device mpatha is in use");
}

static void unmap(struct loop_timer *timer)
{
	(void)timer;
	unlinkat(tree.root, "map", 0);
}

/* A user of its multipath device that can't be listed: the first error stays, with a hint. */
Test(attach, what_failed_stays_with_its_multipath_device)
{
	struct loop_timer timer = { .fire = unmap };
	struct fake fake;

	with_users();
	row.flush = fake_flush;
	tree_file(&tree, "map", "");
	fake = fake_new(20);
	fake.disk_ms = NEVER;
	run(&fake, 1);
	diag_says(&fake.attach.why, DIAG_TIMEOUT, NULL, "fake0");
	text_says(fake.attach.why.hint, "fake0 stays_connected mpatha in_use");
	text_says(fake.attach.users, "mpatha");
	cr_assert_eq(fake.undos, 0);
	cr_assert_geq(ms_of(fake.over_at), 2000);
	began = loop_clock();
	fake = fake_new(20);
	fake.disk_ms = NEVER;
	loop_timer_set(loop, &timer, began + 200 * MSEC);
	run(&fake, 1);
	cr_assert_eq(fake.undos, 1, "it is not in use any more");
	cr_assert_str_eq(fake.attach.why.hint, "");
	cr_assert_str_eq(fake.attach.users, "");
}

static int detach_with_a_search_that_hangs(struct fake *fake)
{
	with_users();
	search_hangs = true;
	*fake = fake_new(0);
	attach_detach(&fake->attach);
	run(fake, 1);
	return -fake->attach.why.err;
}

Test(attach, users_that_are_not_found_in_time)
{
	struct fake fake;

	cr_assert_eq(detach_with_a_search_that_hangs(&fake), -EBUSY);
	diag_says(&fake.attach.why, DIAG_BUSY, NULL, "unknown timed_out");
	cr_assert_eq(fake.undos, 0);
	fake = fake_new(20);
	fake.dial_err = -EIO;
	run(&fake, 1);
	cr_assert_eq(fake.attach.why.err, EIO);
	text_says(fake.attach.why.hint, "fake0 unknown timed_out");
	cr_assert_eq(fake.undos, 0, "a failed attachment stays, too");
}

Test(attach, what_was_found_before_a_search_hung)
{
	struct fake fake;

	search_is_enough = true;
	cr_assert_eq(detach_with_a_search_that_hangs(&fake), 0, "%s", fake.attach.why.text);
	cr_assert_eq(fake.undos, 1);
	search_is_enough = false;
	tree_file(&tree, "busy", "fake0n1: swap");
	cr_assert_eq(detach_with_a_search_that_hangs(&fake), -EBUSY);
	diag_says(&fake.attach.why, DIAG_BUSY, NULL, "swap");
	cr_assert_eq(fake.undos, 0);
}

Test(attach, a_search_that_can_not_be_made)
{
	struct fake fake;

	with_users();
	fork_err = EAGAIN;
	fake = fake_new(0);
	attach_detach(&fake.attach);
	run(&fake, 1);
	diag_says(&fake.attach.why, DIAG_BUSY, NULL, "unknown");
	cr_assert_eq(fake.undos, 0);
}

/* Modules: 0, an errno, or -1: modprobe hangs. */
static int load_gives;
static bool loaded_already;

static int load(int root, const void *arg, void *out)
{
	(void)root;
	while (load_gives < 0)
		pause();
	if (load_gives == ENOENT)
		diag_set(out, DIAG_NO_MODULE, ENOENT, "no module %s", (const char *)arg);
	return load_gives;
}

static void load_ready(struct attach *attach)
{
	static struct diag why = { .text = "of before", .err = EIO };

	attach_load(attach,
		&(struct child_call){ .fn = load,
			.arg = "fake",
			.out = &why,
			.out_len = sizeof(why),
			.until = attach->until },
		loaded_already, attach_step);
}

static int attach_with_modules(struct fake *fake, int gives, unsigned timeout_ms)
{
	with_users();
	row.ready = load_ready;
	load_gives = gives;
	*fake = fake_new(timeout_ms);
	forks = 0;
	run(fake, 1);
	cr_assert_eq(fake->dials, !fake->attach.why.err);
	return -fake->attach.why.err;
}

Test(attach, modules_are_loaded_in_a_child)
{
	struct fake fake;

	cr_assert_eq(attach_with_modules(&fake, 0, 5000), 0, "%s", fake.attach.why.text);
	cr_assert_eq(forks, 1);
	cr_assert_eq(attach_with_modules(&fake, ENOENT, 5000), -ENOENT);
	diag_says(&fake.attach.why, DIAG_NO_MODULE, NULL, "module fake");
	cr_assert_eq(attach_with_modules(&fake, EPERM, 5000), -EPERM);
	diag_says(&fake.attach.why, DIAG_NO_MODULE, NULL, "can't_load modules");
	cr_assert_eq(attach_with_modules(&fake, -1, 50), -ETIMEDOUT);
	diag_says(&fake.attach.why, DIAG_NO_MODULE, NULL, "modprobe_timed_out");
	fork_err = EAGAIN;
	cr_assert_eq(attach_with_modules(&fake, 0, 5000), -EAGAIN);
	text_says(fake.attach.why.text, "fork");
}

Test(attach, and_in_none_if_they_are_there)
{
	struct fake fake;

	loaded_already = true;
	cr_assert_eq(attach_with_modules(&fake, 0, 5000), 0, "%s", fake.attach.why.text);
	cr_assert_eq(attach_with_modules(&fake, ENOENT, 5000), -ENOENT);
	diag_says(&fake.attach.why, DIAG_NO_MODULE, NULL, "module fake");
	cr_assert_eq(forks, 0);
}

Test(attach, cancelled_while_modules_are_loaded)
{
	struct loop_timer timer = { .fire = interrupt };
	struct fake fake;

	with_users();
	loop_timer_set(loop, &timer, began + 50 * MSEC);
	cr_assert_eq(attach_with_modules(&fake, -1, 0), -EINTR);
	WAIT_UNTIL(!child_call_abandoned(&fake.attach.load.call));
}
