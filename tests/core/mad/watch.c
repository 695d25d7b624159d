/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A port that is watched: subscriptions, Reports, changes. The clock is the test's own and leaps to
 * what is due next, so that a day takes a moment. */
/* Link: leap */
#include "leap.h"
#include "mad_port.h"
#include "says.h"
#include "xact.h"
#include <criterion/criterion.h>
#include <errno.h>

#define SECOND 1000000000ull
#define ALL    7 /* traps subscribed to */

static struct loop *loop;
static struct mad *mad;
static struct {
	struct mad_watch watch;
	struct mad_notice last;
	unsigned notices, changes, what, statuses;
	int status, ended;
	struct diag diag;
	enum { STAY, LEAVE_ON_NOTICE, LEAVE_ON_CHANGE, LEAVE_ON_STATUS } leave;
} it;

static void ended(struct mad_watch *watch)
{
	cr_assert_eq(watch, &it.watch);
	it.ended = 1;
}

static void noticed(struct mad_watch *watch, const struct mad_notice *notice)
{
	cr_assert_eq(watch, &it.watch);
	cr_assert_not(mad->watch.ended, "none after mad_unwatch()");
	it.notices++;
	it.last = *notice;
	if (it.leave == LEAVE_ON_NOTICE)
		mad_unwatch(mad, ended);
}

static void changed(struct mad_watch *watch, unsigned what)
{
	cr_assert_eq(watch, &it.watch);
	cr_assert_not(mad->watch.ended);
	it.changes++;
	it.what |= what;
	if (it.leave == LEAVE_ON_CHANGE)
		mad_unwatch(mad, ended);
}

static void subscribed(struct mad_watch *watch, int err, struct diag *diag)
{
	cr_assert_eq(watch, &it.watch);
	cr_assert_not(mad->watch.ended);
	cr_assert_eq(!err, !diag);
	it.statuses++;
	it.status = err;
	if (diag)
		it.diag = *diag;
	if (it.leave == LEAVE_ON_STATUS)
		mad_unwatch(mad, ended);
}

static const uint8_t good[MAD_LEN] = {
	1,
	MAD_CLASS_SA,
	SA_CLASS_VERSION,
	MAD_REPORT,
	[17] = MAD_NOTICE,
	[56] = NOTICE_GENERIC,
	[61] = 64,
	[81] = 9,
};

static void setup(void)
{
	fake_fabric_init(4);
	memset(&it, 0, sizeof(it));
	it.status = 1;
	it.watch = (struct mad_watch){
		.notice = noticed, .changed = changed, .subscribed = subscribed
	};
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	cr_assert_eq(mad_open(&mad, loop, &fake_fabric.port[0], NULL, NULL), 0);
}

static void begin(void)
{
	cr_assert_eq(mad_watch(mad, &it.watch, NULL), 0);
	cr_assert_eq(it.statuses, 0, "never from inside");
}

static void pass(double seconds)
{
	loop_wait(loop, &(int){ 0 }, leap_now + (uint64_t)(seconds * 1e9));
}

static void end(void)
{
	if (!mad->watch.ended)
		mad_unwatch(mad, ended);
	loop_wait(loop, &it.ended, leap_now + 2 * SECOND);
	cr_assert(it.ended);
}

static void fini(void)
{
	if (mad->watch.owner && !it.ended)
		end();
	mad_close(mad);
	loop_free(loop);
	fake_fabric_free();
}
TestSuite(watch, .init = setup, .fini = fini);

static void once_more(void)
{
	fini();
	setup();
}

Test(watch, reports_come_and_are_answered)
{
	uint8_t gid[16];

	begin();
	pass(0.1);
	cr_assert_eq(it.status, 0);
	cr_assert_eq(fake_fabric.subscribed, ALL);
	cr_assert_eq(fake_fabric.informs, 3);
	fake_notice(MAD_TRAP_IN_SERVICE, 0x200001, 0);
	pass(0.1);
	mad_gid_make(gid, 0xfe80000000000000, 0x200001);
	cr_assert_eq(it.last.trap, 64);
	cr_assert_arr_eq(it.last.gid, gid, 16);
	cr_assert_eq(it.last.lid, 0);
	fake_notice(MAD_TRAP_OUT_OF_SERVICE, 0x200002, 0);
	pass(0.1);
	cr_assert_eq(it.last.trap, 65);
	fake_notice(MAD_TRAP_CAP_MASK, 12, 0x00580048);
	pass(0.1);
	cr_assert_eq(it.last.trap, 144);
	cr_assert_eq(it.last.lid, 12);
	cr_assert_eq(it.last.cap_mask, 0x00580048);
	cr_assert_arr_eq(it.last.gid, ((uint8_t[16]){ 0 }), 16);
	cr_assert_eq(it.notices, 3);
	cr_assert_eq(fake_fabric.answered, 3);
	cr_assert_eq(fake_fabric.answer[3], MAD_REPORT | MAD_RESPONSE);
	cr_assert_eq(wire_be(fake_fabric.answer + 8, 8), 3, "its transaction id");
	cr_assert_eq(wire_be(fake_fabric.answer + 56 + 4, 2), 144, "its notice");
	cr_assert_eq(mad_counters(mad)->reports, 3);
	end();
	cr_assert_eq(fake_fabric.subscribed, 0);
	cr_assert_not(fake_fabric.reports);
	cr_assert_eq(it.statuses, 1);
	cr_assert_eq(it.changes, 0);
}

Test(watch, once_more_with_the_same)
{
	begin();
	pass(0.1);
	end();
	it.ended = it.statuses = 0;
	begin();
	pass(0.1);
	cr_assert_eq(fake_fabric.subscribed, ALL);
	cr_assert_eq(it.statuses, 1);
	fake_notice(MAD_TRAP_IN_SERVICE, 0x200001, 0);
	mad_port_event(mad, PORT_EVENT_PKEYS);
	pass(0.1);
	cr_assert_eq(it.notices, 1);
	cr_assert_eq(it.changes, 1);
}

Test(watch, one_to_a_port)
{
	struct mad_watch other = { 0 };
	struct diag diag = { 0 };

	begin();
	cr_assert_eq(mad_watch(mad, &other, &diag), -EALREADY);
	diag_says(&diag, DIAG_BUSY, NULL, "port");
}

static void same_again(void *arg, uint8_t *datagram, size_t *len)
{
	(void)arg;
	(void)len;
	wire_put_be(datagram + 8, 8, 77);
}

Test(watch, a_repeated_report_is_answered_twice)
{
	begin();
	pass(0.1);
	fake_fabric.mangle = same_again;
	fake_notice(MAD_TRAP_IN_SERVICE, 0x200001, 0);
	fake_notice(MAD_TRAP_IN_SERVICE, 0x200001, 0);
	pass(0.1);
	fake_fabric.mangle = NULL;
	cr_assert_eq(fake_fabric.answered, 2);
	cr_assert_eq(it.notices, 2);
}

Test(watch, changes_of_the_port_are_reported_within_a_second_and_subscribed_again)
{
	static const struct {
		size_t at;
		unsigned what;
	} change[] = {
		{ offsetof(struct mad_port_info, lid), PORT_EVENT_LID },
		{ offsetof(struct mad_port_info, sm_lid), PORT_EVENT_SM },
		{ offsetof(struct mad_port_info, prefix), PORT_EVENT_GID },
	};

	begin();
	pass(0.1);
	for (unsigned i = 0; i < 3; i++) {
		uint8_t *value = (uint8_t *)&fake_fabric.port[0] + change[i].at;

		it.what = 0;
		fake_fabric.informs = fake_fabric.subscribed = 0;
		*value ^= 0x40;
		pass(1.01);
		cr_assert_eq(it.what, change[i].what, "%u", i);
		cr_assert_eq(it.changes, i + 1);
		pass(1);
		cr_assert_eq(fake_fabric.informs, 3, "%u", i);
		cr_assert_eq(fake_fabric.subscribed, ALL);
	}
	cr_assert_eq(mad_port(mad)->lid, 0x41);
	cr_assert_eq(mad_port(mad)->sm_lid, 0x42);
	cr_assert_eq(it.statuses, 1, "no subscription was reported as lost");
}

Test(watch, a_port_that_goes_down_and_comes_back)
{
	begin();
	pass(0.1);
	fake_fabric.port[0].state = PORT_DOWN;
	fake_fabric.port[0].phys = 2;
	pass(3);
	cr_assert_eq(it.what, PORT_EVENT_STATE);
	cr_assert_eq(it.status, -ENETDOWN);
	diag_says(&it.diag, DIAG_UNREACHABLE, "fake0 port 1", "DOWN");
	pass(600);
	cr_assert_eq(it.statuses, 2, "once");
	cr_assert_eq(fake_fabric.informs, 3, "nothing is sent while the port is down");
	fake_fabric.port[0].state = PORT_INIT;
	fake_fabric.port[0].sm_lid = 0;
	pass(3);
	fake_fabric.port[0].state = PORT_ACTIVE;
	pass(3);
	cr_assert_eq(it.status, -ENETUNREACH);
	diag_says(&it.diag, DIAG_UNREACHABLE, "fake0 port 1", "subnet_manager");
	fake_fabric.port[0].sm_lid = 2;
	pass(3);
	cr_assert_eq(it.status, 0);
	cr_assert_eq(fake_fabric.informs, 6);
}

Test(watch, the_partition_table_is_gone_round)
{
	fake_fabric.port[0].pkeys = MAD_PKEYS_MAX;
	mad_close(mad);
	cr_assert_eq(mad_open(&mad, loop, &fake_fabric.port[0], NULL, NULL), 0);
	begin();
	pass(0.1);
	fake_fabric.port[0].pkey[127] = 0x8001;
	pass(MAD_PKEYS_MAX / 8 + 1);
	cr_assert_eq(it.what, PORT_EVENT_PKEYS);
	cr_assert_eq(mad_port(mad)->pkey[127], 0x8001);
	fake_fabric.port[0].pkey[1] = 0x8002;
	mad_port_event(mad, PORT_EVENT_PKEYS);
	pass(0.01);
	cr_assert_eq(mad_port(mad)->pkey[1], 0x8002, "the whole of it when the kernel says so");
	pass(5);
	cr_assert_eq(fake_fabric.informs, 3, "that ends no subscription");
}

Test(watch, events_of_the_kernel)
{
	begin();
	pass(0.1);
	fake_fabric.subscribed = 0; /* a subnet manager that was restarted */
	mad_port_event(mad, PORT_EVENT_REREGISTER);
	mad_port_event(mad, PORT_EVENT_SM);
	cr_assert_eq(it.changes, 0, "never from inside");
	pass(0.01);
	cr_assert_eq(it.changes, 1);
	cr_assert_eq(it.what, PORT_EVENT_REREGISTER | PORT_EVENT_SM);
	pass(1);
	cr_assert_eq(fake_fabric.subscribed, ALL);
	cr_assert_eq(fake_fabric.informs, 6, "once for both");
	mad_port_event(mad, 0x8000);
	pass(0.01);
	cr_assert_eq(it.changes, 1);
}

Test(watch, an_administrator_that_forgot_without_a_word_is_asked_again)
{
	begin();
	pass(0.1);
	fake_fabric.subscribed = 0;
	pass(1.5 * MAD_RENEW_MS / 1000 + 1);
	cr_assert_eq(fake_fabric.subscribed, ALL);
	cr_assert_leq(fake_fabric.informs, 3 * 4);
	cr_assert_eq(it.statuses, 1);
}

Test(watch, who_has_the_reports_already)
{
	fake_fabric.reports_taken = true;
	begin();
	pass(1);
	cr_assert_eq(it.status, -EBUSY);
	diag_says(&it.diag, DIAG_BUSY, "fake0 port 1", "subnet_administrator reports");
	pass(1000);
	cr_assert_eq(it.statuses, 1);
	cr_assert_eq(fake_fabric.informs, 0);
	fake_fabric.port[0].lid = 9;
	pass(1.01);
	cr_assert_eq(it.what, PORT_EVENT_LID, "the port is watched all the same");
	fake_fabric.reports_taken = false;
	pass(91);
	cr_assert_eq(it.status, 0);
}

Test(watch, refusals_are_named)
{
	fake_fabric.inform_status = 0x0700;
	begin();
	pass(1);
	cr_assert_eq(it.status, -EPROTO);
	diag_says(&it.diag, DIAG_PROTOCOL, "fake0 port 1", "LID_2 reports 0x0700 denied");
	pass(3600);
	cr_assert_eq(it.statuses, 1);
	cr_assert_lt(fake_fabric.informs, 3 * 130, "less and less often");
	cr_assert_gt(fake_fabric.informs, 3 * 30);
	fake_fabric.inform_status = 0;
	pass(91);
	cr_assert_eq(it.status, 0);
}

Test(watch, a_silent_or_busy_administrator)
{
	fake_fabric.sa_dead = true;
	begin();
	pass(1);
	fake_report(0, good, MAD_LEN);
	pass(5);
	cr_assert_eq(mad_counters(mad)->reports, 0, "LID 0 is invalid");
	cr_assert_eq(it.status, -ETIMEDOUT);
	diag_says(&it.diag, DIAG_TIMEOUT, "fake0 port 1", "LID_2 answer reports");
	cr_assert_not_null(text_missing(it.diag.text, "busy"));
	fake_fabric.sa_dead = false;
	fake_fabric.inform_status = MAD_STATUS_BUSY;
	pass(20);
	cr_assert_not_null(
		text_missing(it.diag.text, "busy"), "only the first failure is reported");
	fake_fabric.inform_status = 0;
	fake_fabric.inform_drop = 2;
	pass(60);
	cr_assert_eq(it.status, 0);
	cr_assert_eq(it.statuses, 2);
}

Test(watch, a_busy_administrator_is_reported)
{
	fake_fabric.inform_status = MAD_STATUS_BUSY;
	begin();
	pass(10);
	diag_says(&it.diag, DIAG_TIMEOUT, "fake0 port 1", "LID_2 busy reports");
}

Test(watch, redirected_to_who_reports_from_there)
{
	fake_fabric.sa_elsewhere = 30;
	begin();
	pass(1);
	cr_assert_eq(it.status, 0);
	cr_assert_eq(fake_fabric.subscribed, ALL);
	fake_report(30, good, sizeof(good));
	pass(0.1);
	cr_assert_eq(it.notices, 1);
	fake_fabric.sa_nowhere = true;
	mad_port_event(mad, PORT_EVENT_REREGISTER);
	pass(2);
	cr_assert_eq(it.status, -EPROTO);
	diag_says(&it.diag, DIAG_PROTOCOL, "fake0 port 1", "redirected");
}

Test(watch, who_has_nothing_to_report)
{
	static const struct {
		uint8_t at, value;
	} wrong[] = { { 0, 2 }, { 1, MAD_CLASS_DM }, { 2, 1 }, { 3, MAD_GET }, { 3, 0x05 },
		{ 3, MAD_REPORT | MAD_RESPONSE }, { 17, 3 } };
	static const struct {
		uint8_t at, value;
	} useless[] = { { 56, 0 }, { 61, 66 }, { 60, 1 }, { 81, 0 } };
	uint8_t bad[MAD_LEN * 2] = { 0 };

	begin();
	pass(0.1);
	memcpy(bad, good, MAD_LEN);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		memcpy(bad, good, MAD_LEN);
		bad[wrong[i].at] = wrong[i].value;
		fake_report(2, bad, MAD_LEN);
	}
	memcpy(bad, good, MAD_LEN);
	for (size_t len = 1; len < MAD_LEN; len++)
		fake_report(2, bad, len);
	fake_report(2, bad, sizeof(bad));
	fake_report(77, good, MAD_LEN);
	pass(1);
	cr_assert_eq(fake_fabric.answered, 0);
	cr_assert_eq(
		mad_counters(mad)->unmatched, sizeof(wrong) / sizeof(*wrong) + MAD_LEN - 1 + 2);
	for (unsigned i = 0; i < sizeof(useless) / sizeof(*useless); i++) {
		memcpy(bad, good, MAD_LEN);
		bad[useless[i].at] = useless[i].value;
		fake_report(2, bad, MAD_LEN);
	}
	memcpy(bad, good, MAD_LEN);
	bad[61] = 144; /* and its LID 0 */
	fake_report(2, bad, MAD_LEN);
	pass(1);
	cr_assert_eq(fake_fabric.answered, sizeof(useless) / sizeof(*useless) + 1,
		"so that they are not repeated");
	cr_assert_eq(it.notices, 0);
	fake_report(2, good, MAD_LEN);
	pass(1);
	cr_assert_eq(it.notices, 1);
}

Test(watch, nobody_watches)
{
	fake_report(2, good, MAD_LEN);
	mad_port_event(mad, PORT_EVENT_GONE);
	pass(1);
	cr_assert_eq(fake_fabric.answered, 0);
	cr_assert_eq(mad_counters(mad)->unmatched, 1);
	cr_assert_eq(fake_fabric.looks, 0);
}

Test(watch, a_flood_leaves_others_their_turns)
{
	unsigned before;

	begin();
	pass(0.1);
	before = leap_turns;
	for (unsigned i = 0; i < 20000; i++)
		fake_notice(MAD_TRAP_IN_SERVICE, 0x200000 + i % 4, 0);
	pass(0.5);
	cr_assert_eq(it.notices, 20000);
	cr_assert_geq(leap_turns - before, 20000 / 32);
}

Test(watch, a_device_that_goes)
{
	begin();
	pass(0.1);
	fake_fabric.gone = true;
	pass(1.01);
	cr_assert_eq(it.what, PORT_EVENT_GONE);
	cr_assert_eq(it.changes, 1);
	mad_port_event(mad, PORT_EVENT_GONE | PORT_EVENT_STATE);
	pass(100);
	cr_assert_eq(it.changes, 1);
	cr_assert_eq(it.statuses, 1);
	end();
	it.watch = (struct mad_watch){
		.notice = noticed, .changed = changed, .subscribed = subscribed
	};
	cr_assert_eq(mad_watch(mad, &it.watch, &it.diag), -ENETDOWN);
	cr_assert(it.diag.text[0]);
}

Test(watch, a_device_that_goes_while_it_subscribes_and_while_it_unsubscribes)
{
	fake_fabric.sa_dead = true;
	begin();
	pass(0.5);
	mad_port_event(mad, PORT_EVENT_GONE);
	pass(0.1);
	cr_assert_eq(it.what, PORT_EVENT_GONE);
	cr_assert_eq(it.statuses, 0);
	end();
	once_more();
	begin();
	pass(0.1);
	fake_fabric.sa_dead = true;
	mad_unwatch(mad, ended);
	pass(0.1);
	cr_assert_not(it.ended);
	fake_fabric.gone = true;
	fake_report(2, "", 0);
	pass(0.1);
	cr_assert(it.ended);
}

Test(watch, ends_within_a_second_whatever_the_administrator_does)
{
	uint64_t began;

	begin();
	pass(0.1);
	fake_fabric.sa_dead = true;
	began = leap_now;
	end();
	cr_assert_geq(leap_now - began, SECOND);
	cr_assert_leq(leap_now - began, SECOND + SECOND / 10);
	once_more();
	begin(); /* nothing was sent yet */
	began = leap_now;
	mad_unwatch(mad, ended);
	cr_assert_not(it.ended, "never from inside");
	end();
	cr_assert_leq(leap_now - began, SECOND / 10);
	cr_assert_eq(fake_fabric.informs, 0);
	cr_assert_eq(it.statuses, 0);
}

Test(watch, nothing_is_reported_after_it_was_left)
{
	begin();
	pass(0.1);
	fake_fabric.sa_dead = true;
	mad_port_event(mad, PORT_EVENT_PKEYS | PORT_EVENT_REREGISTER);
	mad_unwatch(mad, ended);
	pass(0.1);
	fake_report(2, good, MAD_LEN);
	mad_port_event(mad, PORT_EVENT_SM);
	pass(0.1);
	cr_assert_not(it.ended);
	cr_assert_eq(it.changes + it.notices, 0);
	cr_assert_eq(fake_fabric.answered, 1, "it is answered nevertheless");
}

Test(watch, may_be_left_from_any_upcall)
{
	for (int leave = LEAVE_ON_NOTICE; leave <= LEAVE_ON_STATUS; leave++) {
		it.leave = leave;
		begin();
		pass(0.1);
		fake_notice(MAD_TRAP_IN_SERVICE, 0x200000, 0);
		pass(0.1);
		mad_port_event(mad, PORT_EVENT_REREGISTER);
		pass(1);
		cr_assert(it.ended, "%d", leave);
		cr_assert_eq(fake_fabric.subscribed, 0);
		once_more();
	}
}

/* Requests in flight or waiting. */
static unsigned in_flight(void)
{
	unsigned n = (mad->sa.head != NULL) + (mad->others.head != NULL);

	for (unsigned i = 0; i < XACT_SLOTS; i++)
		n += mad->slot[i].req != NULL;
	return n;
}

static unsigned dice(unsigned sides)
{
	static uint32_t state = 1;

	state = state * 1103515245 + 12345;
	return (state >> 16) % sides;
}

static void something_happens(void)
{
	switch (dice(10)) {
	case 0:
		fake_fabric.sa_dead = !fake_fabric.sa_dead;
		break;
	case 1:
		fake_fabric.port[0].sm_lid = (uint16_t)(2 + dice(3));
		break;
	case 2:
		fake_fabric.port[0].state =
			fake_fabric.port[0].state == PORT_ACTIVE ? PORT_DOWN : PORT_ACTIVE;
		break;
	case 3:
		fake_fabric.inform_drop = dice(8);
		break;
	case 4:
		fake_fabric.subscribed = 0;
		mad_port_event(mad, PORT_EVENT_REREGISTER);
		break;
	case 5:
		fake_fabric.inform_status = (uint16_t)(dice(3) == 0   ? 0x0100
						       : dice(3) == 0 ? MAD_STATUS_BUSY
								      : 0);
		break;
	case 6:
		fake_fabric.reports_taken = dice(3) == 0;
		break;
	default:
		fake_notice(dice(2) ? MAD_TRAP_IN_SERVICE : MAD_TRAP_CAP_MASK, 10 + dice(4),
			PORT_CAP_DM);
	}
}

Test(watch, a_day)
{
	const uint64_t end_of_day = leap_now + 24 * 3600 * SECOND;

	begin();
	while (leap_now < end_of_day) {
		pass(1 + dice(120));
		something_happens();
	}
	cr_assert_geq(fake_fabric.looks, 24 * 3600 - 60);
	cr_assert_leq(in_flight(), 3);
	fake_fabric.sa_dead = fake_fabric.reports_taken = false;
	fake_fabric.inform_status = fake_fabric.inform_drop = 0;
	fake_fabric.port[0].state = PORT_ACTIVE;
	pass(100);
	cr_assert_eq(it.status, 0);
	cr_assert_eq(fake_fabric.subscribed, ALL);
	cr_assert_eq(in_flight(), 0);
	end();
	cr_assert_eq(fake_fabric.subscribed, 0);
	cr_assert_eq(in_flight(), 0);
	cr_assert_not(mad->watch.poll.on || mad->watch.renew.on || mad->watch.end.on ||
		      mad->watch.report.on);
	for (unsigned i = 0; i < 3; i++)
		cr_assert_not(mad->watch.sub[i].req.timer.on);
}
