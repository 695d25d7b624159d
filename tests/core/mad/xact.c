/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests in flight: tries, deadlines, late and strange answers, windows, a device that goes. */
/* Link: leap */
#include "xact.h"
#include "mad_port.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>

static struct loop *loop;
static struct mad *mad;

static void open_with(struct mad_limits limits)
{
	cr_assert_eq(mad_open(&mad, loop, &fake_fabric.port[0], &limits, NULL), 0);
}

static void setup(void)
{
	fake_fabric_init(8);
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
}

static void fini(void)
{
	mad_close(mad);
	loop_free(loop);
	fake_fabric_free();
}
TestSuite(xact, .init = setup, .fini = fini);

struct ask {
	struct mad_req req;
	uint32_t first_ms; /* 0 = 50 */
	int done;
	struct mad_answer answer;
	uint16_t change_id;
};

static void done(struct mad_req *req, const struct mad_answer *answer)
{
	struct ask *ask = container_of(req, struct ask, req);

	ask->done++;
	ask->answer = *answer;
	if (answer->mad)
		ask->change_id = (uint16_t)wire_be(answer->mad + sizeof(struct dm_hdr), 2);
}

static void send(struct ask *ask, unsigned lid)
{
	ask->req = (struct mad_req){
		.to = { .lid = (uint16_t)lid, .qpn = 1 },
		.mgmt_class = MAD_CLASS_DM,
		.method = MAD_GET,
		.attr = DM_IO_UNIT_INFO,
		.first_ms = ask->first_ms ? ask->first_ms : 50,
		.done = done,
	};
	mad_send(mad, &ask->req);
}

static void wait_for(struct ask *ask, unsigned count, unsigned ms)
{
	uint64_t end = loop_clock() + ms * 1000000ull;

	for (unsigned i = 0; i < count; i++)
		loop_wait(loop, &ask[i].done, end);
}

Test(xact, an_answer_is_matched)
{
	struct ask ask = { 0 };

	open_with((struct mad_limits){ 0 });
	send(&ask, 10);
	cr_assert_eq(ask.done, 0, "never from mad_send()");
	wait_for(&ask, 1, 5000);
	cr_assert_eq(ask.done, 1);
	cr_assert_eq(ask.answer.err, 0);
	cr_assert_eq(ask.answer.status, 0);
	cr_assert_eq(ask.change_id, 1);
	cr_assert_eq(mad_counters(mad)->sent, 1);
}

Test(xact, a_lost_request_is_sent_again)
{
	struct ask ask = { 0 };

	fake_fabric.node[0].drop = 2;
	open_with((struct mad_limits){ .answer_ms = 5000, .tries = 3 });
	send(&ask, 10);
	wait_for(&ask, 1, 10000);
	cr_assert_eq(ask.answer.err, 0);
	cr_assert_eq(mad_counters(mad)->sent, 3);
	cr_assert_eq(mad_counters(mad)->retries, 2);
}

Test(xact, a_silent_peer_costs_the_time_and_no_more_tries)
{
	struct ask ask = { 0 };
	uint64_t begin = loop_clock();

	fake_fabric.node[0].dead = true;
	open_with((struct mad_limits){ .answer_ms = 400, .tries = 3 });
	send(&ask, 10);
	wait_for(&ask, 1, 10000);
	cr_assert_eq(ask.answer.err, -ETIMEDOUT);
	cr_assert_geq(loop_clock() - begin, 190000000, "50 and 100 ms, and 50 again");
	cr_assert_eq(mad_counters(mad)->sent, 3);
	cr_assert_eq(mad_counters(mad)->timeouts, 1);
}

Test(xact, a_peer_that_should_have_answered_long_ago_is_not_waited_for_to_the_end)
{
	struct ask ask = { 0 };
	uint64_t begin = loop_clock();

	fake_fabric.node[0].dead = true;
	open_with((struct mad_limits){ .answer_ms = 3000, .tries = 3 });
	send(&ask, 10); /* whose waits are 200 ms in all */
	wait_for(&ask, 1, 10000);
	cr_assert_eq(ask.answer.err, -ETIMEDOUT);
	cr_assert_geq(loop_clock() - begin, 1190000000);
	cr_assert_lt(loop_clock() - begin, 2900000000);
	cr_assert_eq(mad_counters(mad)->sent, 3);
}

Test(xact, a_slow_peer_gets_its_own_time_after_the_last_try)
{
	struct ask ask = { 0 };
	uint64_t begin = loop_clock();

	fake_fabric.node[0].dead = true;
	open_with((struct mad_limits){ .answer_ms = 1400, .tries = 3 });
	ask.first_ms = 300; /* after 200 and 400 ms, which is what fits */
	send(&ask, 10);
	wait_for(&ask, 1, 10000);
	cr_assert_eq(ask.answer.err, -ETIMEDOUT);
	cr_assert_geq(loop_clock() - begin, 890000000);
	cr_assert_lt(loop_clock() - begin, 1390000000);
}

Test(xact, an_answer_to_an_earlier_try_counts)
{
	struct ask ask = { 0 };

	fake_fabric.node[0].delay_ms = 300;
	open_with((struct mad_limits){ .answer_ms = 5000, .tries = 3 });
	send(&ask, 10);
	wait_for(&ask, 1, 10000);
	cr_assert_eq(ask.answer.err, 0);
	cr_assert_gt(mad_counters(mad)->sent, 1, "retried before the answer");
	cr_assert_eq(ask.done, 1);
	loop_wait(loop, &(int){ 0 }, loop_clock() + 600000000);
	cr_assert_eq(ask.done, 1, "the second answer is dropped");
	cr_assert_geq(mad_counters(mad)->unmatched, 1);
}

/* What ibsrpdm does wrong: the time-out of one target is taken for the next one's answer. */
Test(xact, a_delayed_answer_is_not_that_of_the_next_request)
{
	struct ask first = { 0 }, next = { 0 };

	fake_fabric.node[0].delay_ms = 250;
	fake_fabric.node[1].delay_ms = 400;
	fake_fabric.node[1].change_every = 1; /* so that it says 2 */
	open_with((struct mad_limits){ .answer_ms = 100, .tries = 1 });
	send(&first, 10);
	wait_for(&first, 1, 5000);
	cr_assert_eq(first.answer.err, -ETIMEDOUT);
	mad_close(mad);
	open_with((struct mad_limits){ .answer_ms = 5000, .tries = 1 });
	send(&first, 10);
	send(&next, 11);
	mad_cancel(mad, &first.req); /* its answer comes first */
	wait_for(&next, 1, 5000);
	cr_assert_eq(next.answer.err, 0);
	cr_assert_eq(next.change_id, 2);
	cr_assert_eq(first.done, 1, "forgotten");
}

Test(xact, twice_the_same_answer_is_one)
{
	struct ask ask[8] = { 0 };

	fake_fabric.twice = true;
	open_with((struct mad_limits){ 0 });
	for (unsigned i = 0; i < 8; i++)
		send(&ask[i], 10 + i);
	wait_for(ask, 8, 5000);
	loop_wait(loop, &(int){ 0 }, loop_clock() + 50000000);
	for (unsigned i = 0; i < 8; i++)
		cr_assert_eq(ask[i].done, 1);
	cr_assert_eq(mad_counters(mad)->unmatched, 8);
}

Test(xact, busy_is_asked_again_until_the_end)
{
	struct ask ask[2] = { 0 };

	fake_fabric.node[0].busy = 2;
	fake_fabric.node[1].busy = 1000;
	open_with((struct mad_limits){ .answer_ms = 3000, .tries = 3 });
	send(&ask[0], 10);
	send(&ask[1], 11);
	wait_for(ask, 2, 10000);
	cr_assert_eq(ask[0].answer.err, 0);
	cr_assert_eq(ask[1].answer.err, -EBUSY);
}

static void strange(void *arg, uint8_t *datagram, size_t *len)
{
	unsigned *what = arg;
	struct mad_hdr *hdr = (void *)datagram;

	switch ((*what)++ % 7) {
	case 0:
		hdr->mgmt_class = MAD_CLASS_SA;
		break;
	case 1:
		hdr->method = MAD_GET;
		break;
	case 2:
		hdr->attr = put_be16(DM_IOC_PROFILE);
		break;
	case 3:
		hdr->tid = put_be64(get_be64(hdr->tid) ^ 0x10000);
		break;
	case 4:
		hdr->tid = put_be64(get_be64(hdr->tid) ^ 0x1000); /* of no transaction */
		break;
	case 5:
		*len = 100;
		break;
	default:
		*len = 3;
		break;
	}
}

Test(xact, answers_of_others_are_dropped)
{
	unsigned what = 0;
	struct ask ask[7] = { 0 };

	fake_fabric.mangle = strange;
	fake_fabric.arg = &what;
	open_with((struct mad_limits){ .answer_ms = 200, .tries = 1 });
	for (unsigned i = 0; i < 7; i++)
		send(&ask[i], 10 + i);
	wait_for(ask, 7, 5000);
	for (unsigned i = 0; i < 7; i++)
		cr_assert_eq(ask[i].answer.err, -ETIMEDOUT, "%u", i);
	cr_assert_eq(mad_counters(mad)->unmatched, 7);
}

Test(xact, few_at_once_and_one_to_each)
{
	struct ask ask[64] = { 0 };

	for (unsigned i = 0; i < 8; i++)
		fake_fabric.node[i].delay_ms = 5;
	/* after a stall of this machine, no request is repeated */
	open_with((struct mad_limits){ .window = 4, .tries = 1 });
	for (unsigned i = 0; i < 64; i++)
		send(&ask[i], 10 + i / 16);
	wait_for(ask, 64, 20000);
	for (unsigned i = 0; i < 64; i++)
		cr_assert_eq(ask[i].answer.err, 0);
	cr_assert_eq(fake_fabric.most_each, 1);
	cr_assert_leq(fake_fabric.most_in_flight, 4);
}

Test(xact, more_to_each_than_can_be_counted)
{
	static struct ask ask[300];

	fake_fabric.node[0].delay_ms = 5;
	open_with((struct mad_limits){ .window = 300, .each = 300, .tries = 1 });
	for (unsigned i = 0; i < 300; i++)
		send(&ask[i], 10);
	wait_for(ask, 300, 20000);
	for (unsigned i = 0; i < 300; i++)
		cr_assert_eq(ask[i].answer.err, 0);
	cr_assert_gt(fake_fabric.most_each, 1);
	cr_assert_leq(fake_fabric.most_each, UINT8_MAX);
}

Test(xact, the_dead_do_not_hold_the_window)
{
	static struct ask ask[8]; /* in flight to the end */

	for (unsigned i = 0; i < 7; i++)
		fake_fabric.node[i].dead = true;
	open_with((struct mad_limits){ .window = 1, .answer_ms = 60000, .tries = 7 });
	for (unsigned i = 0; i < 8; i++)
		send(&ask[i], 10 + i);
	wait_for(&ask[7], 1, 30000);
	cr_assert_eq(ask[7].done, 1);
	cr_assert_eq(ask[0].done, 0);
}

Test(xact, a_device_that_goes_ends_all)
{
	struct ask ask[3] = { 0 };

	fake_fabric.node[0].dead = true;
	open_with((struct mad_limits){ .window = 2 });
	send(&ask[0], 10);
	loop_wait(loop, &(int){ 0 }, loop_clock() + 20000000);
	fake_fabric.gone = true;
	fake_fabric.node[1].dead = false;
	send(&ask[1], 11);
	send(&ask[2], 12);
	wait_for(ask, 3, 5000);
	cr_assert_eq(ask[0].answer.err, -ENETDOWN);
	cr_assert_eq(ask[1].done, 1);
	cr_assert_lt(ask[1].answer.err, 0);
	cr_assert_lt(ask[2].answer.err, 0);
}

Test(xact, forgetting_takes_it_out_of_the_queue)
{
	struct ask ask[4] = { 0 };

	fake_fabric.node[0].delay_ms = 400;
	open_with((struct mad_limits){ .window = 1 });
	for (unsigned i = 0; i < 4; i++)
		send(&ask[i], 10);
	loop_wait(loop, &(int){ 0 }, loop_clock() + 5000000);
	mad_cancel(mad, &ask[3].req);
	mad_cancel(mad, &ask[1].req);
	mad_cancel(mad, &ask[1].req);
	wait_for(&ask[0], 1, 5000);
	wait_for(&ask[2], 1, 5000);
	send(&ask[3], 11);
	wait_for(&ask[3], 1, 5000);
	cr_assert_eq(ask[0].done + ask[2].done + ask[3].done, 3);
	cr_assert_eq(ask[1].done, 0);
}

Test(xact, an_open_that_is_refused_names_the_port)
{
	struct diag diag = { 0 };
	struct mad *none;

	fake_fabric.open_err = EACCES;
	cr_assert_eq(mad_open(&none, loop, &fake_fabric.port[0], NULL, &diag), -EACCES);
	diag_says(&diag, DIAG_PERMISSION, "fake0 port 1", "");
	fake_fabric.open_err = 0;
	open_with((struct mad_limits){ 0 });
}

static void send_sa(struct ask *ask, uint16_t attr, const void *data, uint16_t len)
{
	ask->req = (struct mad_req){
		.to = { .lid = 2, .qpn = 1 },
		.mgmt_class = MAD_CLASS_SA,
		.method = MAD_GET,
		.attr = attr,
		.data = data,
		.len = len,
		.done = done,
	};
	mad_send(mad, &ask->req);
}

Test(xact, a_redirection_is_followed_once)
{
	struct ask ask[3] = { 0 };

	fake_fabric.sa_elsewhere = 30;
	open_with((struct mad_limits){ 0 });
	send_sa(&ask[0], MAD_CLASS_PORT_INFO, NULL, 0);
	wait_for(ask, 1, 5000);
	cr_assert_eq(ask[0].answer.err, 0);
	cr_assert_eq(ask[0].answer.status, 0);
	cr_assert_eq(ask[0].req.to.lid, 30);
	cr_assert_eq(mad_counters(mad)->sent, 2);
	fake_fabric.sa_nowhere = true;
	send_sa(&ask[1], MAD_CLASS_PORT_INFO, NULL, 0);
	wait_for(&ask[1], 1, 5000);
	cr_assert_eq(ask[1].answer.err, 0);
	cr_assert_eq(ask[1].answer.status, MAD_STATUS_REDIRECT);
	cr_assert_eq(mad_counters(mad)->sent, 4);
	fake_fabric.sa_elsewhere = 0xc000;
	send_sa(&ask[2], MAD_CLASS_PORT_INFO, NULL, 0);
	wait_for(&ask[2], 1, 5000);
	cr_assert_eq(ask[2].answer.status, MAD_STATUS_REDIRECT);
	cr_assert_eq(mad_counters(mad)->sent, 5, "invalid LID");
}

Test(xact, a_long_request_goes_in_segments)
{
	static uint8_t data[1000];
	struct ask ask[2] = { 0 };

	memset(data, 1, sizeof(data));
	open_with((struct mad_limits){ 0 });
	send_sa(&ask[0], MAD_CLASS_PORT_INFO, data, 200);
	wait_for(ask, 1, 5000);
	cr_assert_eq(fake_fabric.long_len, 0, "that is one datagram still");
	ask[0].done = 0;
	send_sa(&ask[0], MAD_CLASS_PORT_INFO, data, sizeof(data));
	wait_for(ask, 1, 5000);
	cr_assert_eq(ask[0].answer.err, 0);
	cr_assert_eq(fake_fabric.long_len, sizeof(struct sa_hdr) + sizeof(data));
	cr_assert_eq(fake_fabric.long_sum, sizeof(data));
	send(&ask[1], 10);
	ask[1].req.data = data;
	ask[1].req.len = 200; /* device management has no segments */
	wait_for(&ask[1], 1, 5000);
	cr_assert_eq(ask[1].answer.err, -EINVAL);
}

Test(xact, the_urgent_go_first)
{
	struct ask ask[3] = { 0 };

	fake_fabric.sa_delay_ms = 50;
	open_with((struct mad_limits){ .sa = 1 });
	for (unsigned i = 0; i < 2; i++)
		send_sa(&ask[i], MAD_CLASS_PORT_INFO, NULL, 0);
	loop_wait(loop, &(int){ 0 }, loop_clock() + 5000000);
	send_sa(&ask[2], MAD_CLASS_PORT_INFO, NULL, 0);
	mad_cancel(mad, &ask[2].req);
	ask[2].req.urgent = true;
	mad_send(mad, &ask[2].req);
	wait_for(&ask[2], 1, 5000);
	cr_assert_eq(ask[0].done, 1);
	cr_assert_eq(ask[1].done, 0);
	wait_for(&ask[1], 1, 5000);
	cr_assert_eq(ask[1].done, 1);
}

Test(xact, retries_are_limited)
{
	struct ask ask = { 0 };

	open_with((struct mad_limits){ .answer_ms = UINT32_MAX });
	send(&ask, 10);
	wait_for(&ask, 1, 5000);
	cr_assert_eq(ask.answer.err, 0);
	cr_assert_geq(fake_fabric.timeout_ms, 3600000, "the kernel does not give up before us");
	cr_assert_leq(fake_fabric.timeout_ms, INT32_MAX);
}
