/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Lookups on a loop, with a fake resolver and a clock that leaps: queries, number of threads, and
 * the result without an answer. */
/* Link: leap getaddrinfo freeaddrinfo */
#include "resolve.h"
#include "leap.h"
#include "lookups.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netdb.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define MSEC 1000000ull

static struct loop *loop;
static unsigned over;
static volatile int one_over;

static void done(struct resolve *r)
{
	(void)r;
	over++;
	one_over = 1;
}

static void init(void)
{
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	over = 0;
}

static void fini(void)
{
	loop_free(loop);
}
TestSuite(resolve, .init = init, .fini = fini);

static void start(struct resolve *r, const char *host, uint32_t ms)
{
	struct diag why = { 0 };

	*r = (struct resolve){ .done = done };
	cr_assert_eq(resolve_start(r, loop, host, 4420, ms, &why), 0, "%s", why.text);
}

static void stop(struct loop_work *work)
{
	(void)work;
	loop_stop(loop);
}

/* No time passes. */
static void turn(void)
{
	struct loop_work work = { .run = stop };

	loop_work_add(loop, &work);
	loop_run(loop);
}

/* By the time, with all lookups on hold. */
static void leap_over(unsigned count)
{
	while (over < count) {
		one_over = 0;
		loop_wait(loop, &one_over, 0);
	}
	cr_assert_eq(over, count);
}

/* By a thread, which answers in its own time. */
static void wait_over(unsigned count)
{
	while (over < count) {
		turn();
		sched_yield();
	}
	cr_assert_eq(over, count);
}

static void wait_running(unsigned count)
{
	while (names_running() != count)
		sched_yield();
}

static void is(const struct resolve *r, const char *text)
{
	char addr[ADDR_TEXT];

	cr_assert_eq(r->why.err, 0, "%s", r->why.text);
	cr_assert_str_eq(addr_text(&r->addr, addr), text);
}

/* To its end, however that is. */
static void find(struct resolve *r, const char *host)
{
	unsigned before = over;

	start(r, host, 0);
	cr_assert_eq(over, before, "not from inside");
	wait_over(before + 1);
}

Test(resolve, numbers_need_no_thread)
{
	struct resolve r[3];

	start(&r[0], "10.0.0.1", 0);
	start(&r[1], "::1", 0);
	start(&r[2], "localhost", 0);
	cr_assert_eq(over, 0, "not from inside");
	turn();
	cr_assert_eq(over, 3);
	is(&r[0], "10.0.0.1:4420");
	is(&r[1], "[::1]:4420");
	is(&r[2], "127.0.0.1:4420");
	cr_assert_eq(names_most(), 0);
}

Test(resolve, a_word_that_is_not_a_host_is_refused_at_once)
{
	static const char *const rows[] = { "", "/run/x", "10.0.0.256", "fe80::1%", "a:b" };
	struct resolve r = { .done = done };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct diag why = { 0 };

		cr_expect_lt(resolve_start(&r, loop, rows[i], 1, 0, &why), 0, "%s", rows[i]);
	}
	turn();
	cr_assert_eq(over, 0);
	cr_assert_eq(names_most(), 0);
}

Test(resolve, a_name_and_what_is_wrong_with_one)
{
	struct resolve r;

	names_set("a.example", "10.0.0.1", 0);
	names_set("mute.example", NULL, EAI_AGAIN);
	find(&r, "a.example");
	is(&r, "10.0.0.1:4420");
	find(&r, "none.example");
	diag_says(&r.why, DIAG_NOT_FOUND, NULL, "none.example");
	find(&r, "mute.example");
	diag_says(&r.why, DIAG_UNREACHABLE, NULL, "mute.example");
}

Test(resolve, silence_ends_with_the_time)
{
	uint64_t since = leap_now;
	struct resolve r;

	names_hold("mute.example", true);
	start(&r, "mute.example", 7000);
	leap_over(1);
	diag_says(&r.why, DIAG_TIMEOUT, NULL, "mute.example 7_s");
	cr_assert_geq(leap_now - since, 7000 * MSEC);
	cr_assert_lt(leap_now - since, 7100 * MSEC);
}

Test(resolve, a_cancelled_one_is_forgotten)
{
	struct resolve *r = malloc(2 * sizeof(*r)), kept;

	cr_assert_not_null(r);
	resolve_cancel(&(struct resolve){ 0 });
	names_set("a.example", "10.0.0.1", 0);
	names_hold("a.example", true);
	start(&r[0], "a.example", 1000);
	start(&r[1], "10.0.0.1", 0);
	start(&kept, "a.example", 0);
	resolve_cancel(&r[0]);
	resolve_cancel(&r[1]);
	free(r);
	names_hold("a.example", false);
	wait_over(1);
	for (int i = 0; i < 100; i++)
		turn();
	cr_assert_eq(over, 1);
	is(&kept, "10.0.0.1:4420");
}

Test(resolve, one_lookup_for_all_users_of_a_name)
{
	struct resolve r[20];

	names_set("a.example", "10.0.0.1", 0);
	names_hold("a.example", true);
	for (unsigned i = 0; i < 20; i++)
		start(&r[i], i % 2 ? "a.example" : "A.Example", 0);
	wait_running(1);
	names_hold("a.example", false);
	wait_over(20);
	for (unsigned i = 0; i < 20; i++)
		is(&r[i], "10.0.0.1:4420");
	cr_assert_eq(names_asked("a.example"), 1);
}

/* Attempts that time out and come again add none, and what no one waits for any more is not asked.
 */
Test(resolve, few_threads_however_many_names)
{
	struct resolve r[RESOLVE_NAMES], more = { .done = done };
	struct diag why = { 0 };
	char host[RESOLVE_NAMES][20];

	for (unsigned i = 0; i < RESOLVE_NAMES; i++) {
		snprintf(host[i], sizeof(host[i]), "n%u.example", i);
		names_hold(host[i], true);
		start(&r[i], host[i], 0);
	}
	wait_running(RESOLVE_THREADS);
	cr_assert_eq(resolve_start(&more, loop, "more.example", 1, 0, &why), -EBUSY);
	for (unsigned times = 0; times < 50; times++)
		for (unsigned i = 0; i < RESOLVE_THREADS; i++) {
			resolve_cancel(&r[i]);
			start(&r[i], host[i], 0);
		}
	for (unsigned i = RESOLVE_THREADS + 1; i < RESOLVE_NAMES; i++)
		resolve_cancel(&r[i]);
	for (unsigned i = 0; i < RESOLVE_NAMES; i++)
		names_hold(host[i], false);
	wait_over(RESOLVE_THREADS + 1);
	wait_running(0);
	cr_assert_eq(names_most(), RESOLVE_THREADS);
	for (unsigned i = 0; i < RESOLVE_NAMES; i++)
		cr_expect_eq(names_asked(host[i]), i <= RESOLVE_THREADS, "%s", host[i]);
	find(&more, "more.example");
	cr_assert_eq(more.why.code, DIAG_NOT_FOUND);
}

Test(resolve, an_address_is_used_until_it_is_doubted)
{
	struct resolve r;

	names_set("a.example", "10.0.0.1", 0);
	find(&r, "a.example");
	names_set("a.example", "10.0.0.2", 0);
	find(&r, "a.example");
	is(&r, "10.0.0.1:4420");
	cr_assert_eq(names_asked("a.example"), 1);
	resolve_mark_stale("a.example");
	resolve_mark_stale("never.example");
	find(&r, "a.example");
	is(&r, "10.0.0.2:4420");
	cr_assert_eq(names_asked("a.example"), 2);
	find(&r, "a.example");
	cr_assert_eq(names_asked("a.example"), 2);
	resolve_mark_stale(NULL);
	find(&r, "a.example");
	cr_assert_eq(names_asked("a.example"), 3);
}

Test(resolve, the_last_address_stands_in_for_an_answer)
{
	struct resolve r;
	uint64_t since;

	names_set("a.example", "10.0.0.1", 0);
	find(&r, "a.example");
	resolve_mark_stale("a.example");
	names_set("a.example", NULL, EAI_AGAIN);
	find(&r, "a.example");
	cr_assert_eq(names_asked("a.example"), 2);
	is(&r, "10.0.0.1:4420");
	names_hold("a.example", true);
	since = leap_now;
	start(&r, "a.example", 0);
	leap_over(3);
	is(&r, "10.0.0.1:4420");
	cr_assert_lt(leap_now - since, (RESOLVE_STALE_MS + 100) * MSEC);
	names_set("a.example", "10.0.0.3", 0);
	names_hold("a.example", false);
	wait_running(0);
	while (r.addr.ss.ss_family &&
		strcmp(addr_host(&r.addr, (char[ADDR_TEXT]){ 0 }), "10.0.0.3"))
		find(&r, "a.example");
}

Test(resolve, a_failure_of_the_owner_comes_like_an_answer)
{
	struct resolve r;
	struct diag why = { 0 };

	diag_set(&why, DIAG_CLOSED, ECONNABORTED, "closed");
	names_hold("a.example", true);
	start(&r, "a.example", 0);
	resolve_fail(&r, loop, &why);
	cr_assert_eq(over, 0, "not from inside");
	wait_over(1);
	cr_assert_eq(r.why.code, DIAG_CLOSED);
	r = (struct resolve){ .done = done };
	resolve_fail(&r, loop, &why);
	wait_over(2);
	cr_assert_eq(r.why.code, DIAG_CLOSED);
}
