/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Discovery over TCP against targets in this process: long logs, logs that change, referrals and
 * their loops. */
/* Link: leap */
#include "../fake/discover.h"
#include "../fake/nvme_target.h"
#include "leap.h"
#include "says.h"
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct tcp_target tt[3];
static struct loop *loop;
static struct nvmf_log got;
static struct diag why;
static uint32_t timeout_ms; /* the host's timeout, which only silent targets use up */

static void begin(void)
{
	static const struct loop_options options = { .name = "test" };

	timeout_ms = 20000;
	cr_assert_eq(loop_new(&loop, &options, NULL), 0);
	for (int i = 0; i < 3; i++) {
		target_init(&tt[i].target);
		tt[i].target.id.cntrltype = NVME_CTRL_DISCOVERY;
		/* as nvmet's discovery controller says */
		tt[i].target.id.capsule = tt[i].target.id.reply = 0;
		tt[i].target.log.genctr = 10 + (uint64_t)i;
		tcp_target_start(&tt[i]);
	}
}

static void end(void)
{
	nvmf_log_free(&got);
	loop_free(loop);
	for (int i = 0; i < 3; i++) {
		tcp_target_stop(&tt[i]);
		target_fini(&tt[i].target);
	}
}

static void add(int at, uint8_t subtype, const char *name, uint16_t port)
{
	struct target *t = &tt[at].target;
	struct nvmf_record *r = &t->record[t->log.numrec++];

	*r = (struct nvmf_record){ .trtype = NVMF_TRTYPE_TCP,
		.adrfam = NVMF_ADRFAM_IP4,
		.subtype = subtype,
		.traddr = "127.0.0.1" };
	snprintf(r->subnqn, sizeof(r->subnqn), "%s", name);
	snprintf(r->trsvcid, sizeof(r->trsvcid), "%u", port);
}

static void refer(int at, int to)
{
	add(at, NVMF_SUBTYPE_REFERRAL, NVMF_DISCOVERY_NQN, tt[to].port);
}

static int ask(unsigned hops)
{
	const struct bdev_env env = { .hostnqn = "nqn.me", .timeout_ms = timeout_ms };
	char text[100];
	struct uri uri;

	snprintf(text, sizeof(text), "nvme+tcp://127.0.0.1:%u", tt[0].port);
	cr_assert_eq(uri_parse(&uri, text, &why), 0);
	return discover(loop, &uri, &env, hops, &got, &why);
}

enum { STAYING, ONE_HOP, FOLLOWING = 8 };

static void is(unsigned at, const char *name, uint8_t hops)
{
	cr_assert_lt(at, got.count);
	cr_assert_str_eq(got.record[at].subnqn, name);
	cr_assert_eq(got.record[at].hops, hops);
}

Test(nvme_discovery, an_empty_log)
{
	begin();
	cr_assert_eq(ask(FOLLOWING), 0, "%s", why.text);
	cr_assert_eq(got.count, 0);
	cr_assert_eq(got.genctr, 10);
	cr_assert_eq(tt[0].target.hello.kato_ms, 0);
	cr_assert_str_eq(tt[0].target.hello.subnqn, NVMF_DISCOVERY_NQN);
	cr_assert_str_eq(tt[0].target.hello.hostnqn, "nqn.me");
	end();
}

/* A target that listens on all addresses, and reports that. */
Test(nvme_discovery, an_unspecified_address_is_the_one_that_was_asked)
{
	begin();
	add(0, NVMF_SUBTYPE_NVME, "nqn.a", 4420);
	strcpy(tt[0].target.record[0].traddr, "0.0.0.0");
	add(0, NVMF_SUBTYPE_NVME, "nqn.b", 4420);
	strcpy(tt[0].target.record[1].traddr, "::");
	tt[0].target.record[1].adrfam = NVMF_ADRFAM_IP6;
	refer(0, 1);
	strcpy(tt[0].target.record[2].traddr, "0.0.0.0");
	add(1, NVMF_SUBTYPE_NVME, "nqn.c", 4420);
	strcpy(tt[1].target.record[0].traddr, "fe80::1%77");
	tt[1].target.record[0].adrfam = NVMF_ADRFAM_IP6;
	cr_assert_eq(ask(FOLLOWING), 0, "%s", why.text);
	cr_assert_eq(got.count, 4);
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_str_eq(got.record[i].traddr, "127.0.0.1");
		cr_assert_eq(got.record[i].adrfam, NVMF_ADRFAM_IP4);
	}
	is(3, "nqn.c", 1);
	cr_assert_str_eq(got.record[3].traddr, "fe80::1");
	end();
}

Test(nvme_discovery, a_long_log_comes_in_pieces_of_mdts)
{
	char name[16];

	begin();
	tt[0].target.id.mdts = 1; /* 8 KiB: eight records a read */
	for (int i = 0; i < TARGET_RECORDS; i++) {
		snprintf(name, sizeof(name), "nqn.%d", i);
		add(0, NVMF_SUBTYPE_NVME, name, 4420);
	}
	cr_assert_eq(ask(STAYING), 0, "%s", why.text);
	cr_assert_eq(got.count, TARGET_RECORDS);
	for (unsigned i = 0; i < TARGET_RECORDS; i++) {
		snprintf(name, sizeof(name), "nqn.%u", i);
		is(i, name, 0);
	}
	end();
}

Test(nvme_discovery, a_log_that_changes_is_read_again)
{
	begin();
	add(0, NVMF_SUBTYPE_NVME, "nqn.a", 4420);
	tt[0].target.moving = 4;
	cr_assert_eq(ask(STAYING), 0, "%s", why.text);
	cr_assert_eq(got.genctr, 14);
	cr_assert_eq(got.count, 1);
	end();
}

Test(nvme_discovery, a_log_that_never_rests_is_given_up)
{
	begin();
	add(0, NVMF_SUBTYPE_NVME, "nqn.a", 4420);
	tt[0].target.moving = 1000;
	cr_assert_eq(ask(STAYING), -EAGAIN);
	diag_says(&why, DIAG_BUSY, NULL, "discovery_log 5");
	cr_assert_eq(got.count, 0);
	end();
}

Test(nvme_discovery, a_log_too_long_to_be_true)
{
	begin();
	tt[0].target.log.numrec = 1ull << 40;
	cr_assert_eq(ask(STAYING), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "discovery_log 1099511627776");
	end();
}

/* One of 65,530 records refers to another with `others`. */
static void as_long_as_two(unsigned others)
{
	begin();
	refer(0, 1);
	tt[0].target.log.numrec = 65530;
	for (unsigned i = 0; i < others; i++)
		add(1, NVMF_SUBTYPE_NVME, "nqn.b", 4420);
	cr_assert_eq(ask(FOLLOWING), 0, "%s", why.text);
}

Test(nvme_discovery, as_many_records_as_allowed)
{
	as_long_as_two(6);
	cr_assert_eq(got.count, 65536);
	is(65535, "nqn.b", 1);
	cr_assert_eq(got.failures, 0);
	end();
}

Test(nvme_discovery, too_many_records_of_several_controllers)
{
	as_long_as_two(7);
	cr_assert_eq(got.count, 65530);
	cr_assert_eq(got.failures, 1);
	diag_says(&got.failure[0].why, DIAG_PROTOCOL, NULL, "discovery_records 65536");
	end();
}

Test(nvme_discovery, referrals_are_followed_once_each)
{
	begin();
	add(0, NVMF_SUBTYPE_NVME, "nqn.a", 4420);
	refer(0, 1);
	refer(0, 0);
	refer(1, 0);
	refer(1, 2);
	add(1, NVMF_SUBTYPE_NVME, "nqn.b", 4420);
	refer(2, 1);
	add(2, NVMF_SUBTYPE_NVME, "nqn.c", 4420);
	cr_assert_eq(ask(FOLLOWING), 0, "%s", why.text);
	cr_assert_eq(got.count, 8);
	is(0, "nqn.a", 0);
	is(5, "nqn.b", 1);
	is(7, "nqn.c", 2);
	cr_assert_eq(got.failures, 0);
	cr_assert_eq(got.genctr, 10, "of the controller asked");
	end();
}

Test(nvme_discovery, no_further_than_allowed)
{
	begin();
	refer(0, 1);
	refer(1, 2);
	add(2, NVMF_SUBTYPE_NVME, "nqn.c", 4420);
	cr_assert_eq(ask(ONE_HOP), 0, "%s", why.text);
	cr_assert_eq(got.count, 2);
	nvmf_log_free(&got);
	cr_assert_eq(ask(STAYING), 0, "%s", why.text);
	cr_assert_eq(got.count, 1);
	end();
}

Test(nvme_discovery, a_referral_that_fails_is_reported)
{
	begin();
	add(0, NVMF_SUBTYPE_REFERRAL, NVMF_DISCOVERY_NQN, 1);
	refer(0, 1);
	tt[0].target.record[tt[0].target.log.numrec++] = (struct nvmf_record){
		.trtype = NVMF_TRTYPE_FC, .subtype = NVMF_SUBTYPE_REFERRAL, .traddr = "nn-0x1"
	};
	add(1, NVMF_SUBTYPE_NVME, "nqn.b", 4420);
	cr_assert_eq(ask(FOLLOWING), 0, "%s", why.text);
	cr_assert_eq(got.count, 4);
	is(3, "nqn.b", 1);
	cr_assert_eq(got.failures, 2);
	cr_assert_str_eq(got.failure[0].uri, "nvme+tcp://127.0.0.1:1");
	cr_assert_eq(got.failure[0].why.err, ECONNREFUSED);
	diag_says(&got.failure[1].why, DIAG_UNSUPPORTED, NULL, "transport fc");
	end();
}

Test(nvme_discovery, a_refusal_is_named)
{
	begin();
	tt[0].target.connect = (struct nvmf_connect_reply){ .status = NVME_STATUS(1, 0x84) };
	cr_assert_eq(ask(STAYING), -EACCES);
	diag_says(&why, DIAG_AUTH, NULL, "nqn.2014-08.org.nvmexpress.discovery nqn.me");
	end();
}

/* Refer to ports without a listener, each at another address. */
static void refer_nowhere(int at, unsigned count)
{
	static unsigned addresses;

	while (count--) {
		struct nvmf_record *r = &tt[at].target.record[tt[at].target.log.numrec];

		add(at, NVMF_SUBTYPE_REFERRAL, NVMF_DISCOVERY_NQN, 1);
		addresses++;
		snprintf(r->traddr, sizeof(r->traddr), "127.1.%u.%u", addresses / 200,
			addresses % 200 + 1);
	}
}

/* 256 controllers, with the first; `more` than them. */
static void too_many(unsigned more)
{
	begin();
	refer(0, 1);
	refer(0, 2);
	refer_nowhere(0, 98);
	refer_nowhere(1, 100);
	refer_nowhere(2, 55);
	refer(2, 0);
	refer_nowhere(2, more);
	cr_assert_eq(ask(FOLLOWING), 0, "%s", why.text);
	cr_assert_eq(got.count, 100 + 100 + 56 + more);
	cr_assert_eq(got.failures, more ? 17 : 16);
	diag_says(&got.failure[15].why, DIAG_REFUSED, NULL, "refused");
	if (more)
		diag_says(&got.failure[16].why, DIAG_PROTOCOL, NULL, "more 256 controllers");
	end();
}

Test(nvme_discovery, as_many_controllers_as_allowed)
{
	too_many(0);
}

/* However many failed before. */
Test(nvme_discovery, too_many_controllers_are_reported)
{
	too_many(2);
}

Test(nvme_discovery, a_referral_by_name_asks_no_name_server)
{
	begin();
	refer(0, 1);
	snprintf(tt[0].target.record[0].traddr, sizeof(tt[0].target.record[0].traddr), "localhost");
	cr_assert_eq(ask(FOLLOWING), 0, "%s", why.text);
	cr_assert_eq(got.failures, 1);
	diag_says(&got.failure[0].why, DIAG_PROTOCOL, NULL, "localhost address");
	cr_assert_eq(tt[1].conns, 0);
	end();
}

Test(nvme_discovery, a_log_that_stops_coming_ends_in_time)
{
	uint64_t from;

	begin();
	from = loop_clock();
	add(0, NVMF_SUBTYPE_NVME, "nqn.a", 4420);
	timeout_ms = 2000;
	tt[0].target.silent_at = 7; /* Connect, CAP, CC, CSTS, Identify, head of the log, */
	cr_assert_eq(ask(STAYING), -ETIMEDOUT);
	diag_says(&why, DIAG_TIMEOUT, NULL, "get_discovery_log_page");
	cr_assert_lt(loop_clock() - from, 3000000000);
	end();
}

Test(nvme_discovery, a_referral_that_stalls_costs_no_other_record)
{
	begin();
	refer(0, 1);
	add(0, NVMF_SUBTYPE_NVME, "nqn.a", 4420);
	timeout_ms = 2000;
	tt[1].target.silent_at = 6;
	cr_assert_eq(ask(FOLLOWING), 0, "%s", why.text);
	cr_assert_eq(got.count, 2);
	is(1, "nqn.a", 0);
	cr_assert_eq(got.failures, 1);
	diag_says(&got.failure[0].why, DIAG_TIMEOUT, NULL, "");
	end();
}

/* The first takes all the time; the rest is not tried one by one. */
Test(nvme_discovery, no_time_left_is_reported_once)
{
	begin();
	for (int i = 0; i < 10; i++)
		refer(0, 1);
	for (int i = 1; i < 10; i++)
		snprintf(tt[0].target.record[i].trsvcid, sizeof(tt[0].target.record[i].trsvcid),
			"%d", i);
	timeout_ms = 2000;
	tt[1].target.silent_at = 1;
	cr_assert_eq(ask(FOLLOWING), 0, "%s", why.text);
	cr_assert_eq(got.failures, 2);
	diag_says(&got.failure[0].why, DIAG_TIMEOUT, NULL, "connect");
	diag_says(&got.failure[1].why, DIAG_TIMEOUT, NULL, "time");
	cr_assert_not_null(text_missing(got.failure[1].why.text, "connect"), "it is not asked");
	end();
}

/* The kernel accepts connections, and no program answers. */
static uint16_t listen_mutely(int *fd)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);

	*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(*fd, (struct sockaddr *)&sin, len), 0);
	cr_assert_eq(listen(*fd, 8), 0);
	cr_assert_eq(getsockname(*fd, (struct sockaddr *)&sin, &len), 0);
	return ntohs(sin.sin_port);
}

/* Each of them has ten seconds. The clock leaps as soon as the first controller, which has a
 * thread, is done. */
Test(nvme_discovery, all_end_in_time_without_a_limit_too)
{
	const struct bdev_env env = { .hostnqn = "nqn.me" };
	struct waited wait = { .discovery = {
				       .referrals = true, .max_hops = 8, .done = waited_over } };
	const struct nvmf_log *log = &wait.discovery.log;
	uint64_t from;
	char text[100];
	struct uri uri;
	int mute[12];

	begin();
	for (int i = 0; i < 12; i++)
		add(0, NVMF_SUBTYPE_REFERRAL, NVMF_DISCOVERY_NQN, listen_mutely(&mute[i]));
	snprintf(text, sizeof(text), "nvme+tcp://127.0.0.1:%u", tt[0].port);
	cr_assert_eq(uri_parse(&uri, text, &why), 0);
	from = loop_clock();
	cr_assert_eq(nvmf_discovery_start(&wait.discovery, loop, &uri, &env, &why), 0);
	while (!log->count && !wait.over)
		loop_wait(loop, &wait.over, loop_clock() + 1000000);
	for (int i = 0; i < 3; i++)
		tcp_target_stop(&tt[i]);
	loop_wait(loop, &wait.over, 0);
	cr_assert_lt(leap_now - from, 65000000000, "not two minutes");
	cr_assert_gt(leap_now - from, 55000000000);
	cr_assert_eq(wait.discovery.why.err, 0, "%s", wait.discovery.why.text);
	cr_assert_eq(log->count, 12);
	cr_assert_gt(log->failures, 4);
	diag_says(&log->failure[0].why, DIAG_TIMEOUT, NULL, "connect");
	diag_says(&log->failure[log->failures - 1].why, DIAG_TIMEOUT, NULL, "time");
	nvmf_log_free(&wait.discovery.log);
	for (int i = 0; i < 12; i++)
		close(mute[i]);
	loop_free(loop);
	for (int i = 0; i < 3; i++)
		target_fini(&tt[i].target);
}

static unsigned overs;
static void counted(struct nvmf_discovery *discovery)
{
	cr_assert_null(discovery->state);
	overs++;
}

/* The first waits for a target that is silent; the second does not wait for the first. */
Test(nvme_discovery, several_at_once)
{
	const struct bdev_env env = { .hostnqn = "nqn.me", .timeout_ms = 20000 };
	struct nvmf_discovery two[2] = { { .done = counted }, { .done = counted } };
	char text[100];
	struct uri uri;

	begin();
	tt[0].target.silent_at = 3;
	add(1, NVMF_SUBTYPE_NVME, "nqn.b", 4420);
	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), "nvme+tcp://127.0.0.1:%u", tt[i].port);
		cr_assert_eq(uri_parse(&uri, text, &why), 0);
		cr_assert_eq(nvmf_discovery_start(&two[i], loop, &uri, &env, &why), 0);
	}
	loop_wait(loop, (const volatile int *)&overs, loop_clock() + 15000000000);
	cr_assert_eq(overs, 1);
	cr_assert_not_null(two[0].state);
	cr_assert_eq(two[1].why.err, 0, "%s", two[1].why.text);
	cr_assert_eq(two[1].log.count, 1);
	nvmf_discovery_cancel(&two[0]);
	nvmf_discovery_cancel(&two[0]);
	cr_assert_null(two[0].state);
	nvmf_log_free(&two[0].log);
	nvmf_log_free(&two[1].log);
	end();
}

static const char *uri_of(struct nvmf_record record, char uri[URI_MAX])
{
	record.adrfam = NVMF_ADRFAM_IP4;
	return nvmf_record_uri(&record, uri) ? uri : "none";
}

/* What a log says is not trusted: no part of it moves into another one of the URI. */
Test(nvme_discovery, the_uri_of_a_record)
{
	const struct nvmf_record good = { .trtype = NVMF_TRTYPE_TCP,
		.subtype = NVMF_SUBTYPE_NVME,
		.traddr = "fd00::1",
		.trsvcid = "4420",
		.subnqn = "nqn.a?b#c" };
	struct nvmf_record record = good;
	char uri[URI_MAX];

	cr_assert_str_eq(uri_of(good, uri), "nvme+tcp://[fd00::1]:4420/nqn.a%3Fb%23c");
	record.trtype = NVMF_TRTYPE_RDMA;
	strcpy(record.traddr, "10.0.0.1");
	cr_assert_str_eq(uri_of(record, uri), "nvme+rdma://10.0.0.1:4420/nqn.a%3Fb%23c");
	record.trtype = NVMF_TRTYPE_FC;
	cr_assert_str_eq(uri_of(record, uri), "none");
	record = good;
	record.subtype = NVMF_SUBTYPE_REFERRAL;
	cr_assert_str_eq(uri_of(record, uri), "none");
	record = good;
	strcpy(record.traddr, "10.0.0.1/nqn.x?tls=");
	cr_assert_str_eq(uri_of(record, uri), "none");
	record = good;
	strcpy(record.trsvcid, "4420/x");
	cr_assert_str_eq(uri_of(record, uri), "none");
}
