/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Addresses that need no name server; and that a name never takes longer than allowed. */
/* Link: leap getaddrinfo freeaddrinfo */
#include "lookups.h"
#include "resolve.h"
#include "says.h"
#include "uri.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#define MSEC 1000000ull

Test(addr, parse_and_text)
{
	char scoped[64];
	const struct {
		const char *in, *text, *host;
	} rows[] = {
		{ "10.0.0.1:4420", "10.0.0.1:4420", "10.0.0.1" },
		{ "10.0.0.1", "10.0.0.1:7", "10.0.0.1" },
		{ "[::1]:10809", "[::1]:10809", "::1" },
		{ "[::1]", "[::1]:7", "::1" },
		{ "::1", "[::1]:7", "::1" },
		{ "[fe80::1%lo]:5", scoped, NULL },
		{ "localhost:1", "127.0.0.1:1", "127.0.0.1" },
		{ "LocalHost", "127.0.0.1:7", "127.0.0.1" },
		{ "10.0.0.1:0", "10.0.0.1:0", "10.0.0.1" },
		{ "unix:/run/x", "unix:/run/x", "/run/x" },
		{ "unix:x:y", "unix:x:y", "x:y" },
	};

	snprintf(scoped, sizeof(scoped), "[fe80::1%%%u]:5", if_nametoindex("lo"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct diag diag = { 0 };
		struct addr addr;
		char text[ADDR_TEXT];

		cr_assert_eq(addr_parse(&addr, rows[i].in, 7, &diag), 0, "%s: %s", rows[i].in,
			diag.text);
		cr_expect_str_eq(addr_text(&addr, text), rows[i].text);
		if (rows[i].host)
			cr_expect_str_eq(addr_host(&addr, text), rows[i].host);
	}
}

/* The scope of a peer is nothing here. */
Test(addr, what_a_peer_reports_is_localized)
{
	char own[64], scoped[64], text[ADDR_TEXT];
	const struct {
		const char *via, *host, *here;
	} rows[] = {
		{ "[fe80::9%lo]:1", "fe80::1", scoped },
		{ "[fe80::9%lo]:1", "fe80::1%77", scoped },
		{ "[fe80::9%lo]:1", "fe80::1%no-such-if", scoped },
		{ "[fe80::9%lo]:1", "::", own },
		{ "[fe80::9%lo]:1", "0.0.0.0", own },
		{ "[fe80::9%lo]:1", "fd00::1", "fd00::1" },
		{ "[fe80::9%lo]:1", "10.0.0.1", "10.0.0.1" },
		{ "10.0.0.9:1", "fe80::1%77", "fe80::1" },
		{ "10.0.0.9:1", "::", "10.0.0.9" },
		{ "unix:x", "0.0.0.0", "0.0.0.0" },
		{ "10.0.0.9:1", "fe80.example", "fe80.example" },
		{ "10.0.0.9:1", "", "" },
	};

	snprintf(own, sizeof(own), "fe80::9%%%u", if_nametoindex("lo"));
	snprintf(scoped, sizeof(scoped), "fe80::1%%%u", if_nametoindex("lo"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct addr via, bare;

		cr_assert_eq(addr_parse(&via, rows[i].via, 0, NULL), 0);
		snprintf(text, sizeof(text), "%s", rows[i].host);
		addr_localize(text, sizeof(text), &via);
		cr_expect_str_eq(text, rows[i].here, "%s by %s", rows[i].host, rows[i].via);
		bare = addr_unscoped(&via);
		cr_expect(!strchr(addr_text(&bare, text), '%') &&
			  addr_port(&bare) == addr_port(&via));
	}
}

Test(addr, local_is_what_only_this_machine_reaches)
{
	const char *local[] = { "127.0.0.1", "127.1.2.3:5", "[::1]:5", "unix:x" };
	const char *open[] = { "10.0.0.1", "128.0.0.1", ":5", "[::]:5", "[fe80::1%lo]" };
	struct addr addr;

	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
		cr_assert_eq(addr_parse(&addr, local[i], 7, NULL), 0);
		cr_expect(addr_is_local(&addr), "%s", local[i]);
	}
	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
		cr_assert_eq(addr_parse(&addr, open[i], 7, NULL), 0);
		cr_expect_not(addr_is_local(&addr), "%s", open[i]);
	}
}

Test(addr, a_peer_reports_addresses_of_its_own)
{
	static const struct {
		const char *host, *via;
		uint16_t port;
		bool own;
	} rows[] = {
		{ "10.0.0.2", "10.0.0.1", 1, true },
		{ "2001:db8::2", "10.0.0.1", 1, true },
		{ "fe80::2%lo", "10.0.0.1", 1, true },
		{ "127.0.0.2", "127.0.0.1", 1, true },
		{ "::1", "127.0.0.1", 1, true },
		{ "223.255.255.255", "10.0.0.1", 1, true },
		{ "10.0.0.2", "10.0.0.1", 0, false },
		{ "127.0.0.2", "10.0.0.1", 1, false },
		{ "::1", "10.0.0.1", 1, false },
		{ "0.0.0.0", "10.0.0.1", 1, false },
		{ "::", "10.0.0.1", 1, false },
		{ "224.0.0.1", "10.0.0.1", 1, false },
		{ "255.255.255.255", "127.0.0.1", 1, false },
		{ "ff02::1", "10.0.0.1", 1, false },
		{ "fe80::2", "10.0.0.1", 1, false },
	};
	struct addr addr, via;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_eq(addr_numeric(&addr, rows[i].host, rows[i].port, NULL), 0);
		cr_assert_eq(addr_numeric(&via, rows[i].via, 7, NULL), 0);
		cr_expect_eq(addr_is_of_peer(&addr, &via), rows[i].own, "%s by %s", rows[i].host,
			rows[i].via);
	}
}

Test(addr, the_same_address_has_the_same_port_and_interface)
{
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{ "10.0.0.1:5", "10.0.0.1:5", true },
		{ "[2001:db8::1]:5", "[2001:db8:0::1]:5", true },
		{ "[fe80::1%lo]:5", "[fe80::1%lo]:5", true },
		{ "10.0.0.1:5", "10.0.0.1:6", false },
		{ "10.0.0.1:5", "10.0.0.2:5", false },
		{ "10.0.0.1:5", "[2001:db8::1]:5", false },
		{ "[fe80::1%lo]:5", "[fe80::1]:5", false },
		{ "[2001:db8::1]:5", "[2001:db8::2]:5", false },
		{ "unix:x", "unix:x", false },
	};
	struct addr a, b;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_eq(addr_parse(&a, rows[i].a, 0, NULL), 0);
		cr_assert_eq(addr_parse(&b, rows[i].b, 0, NULL), 0);
		cr_expect_eq(addr_same(&a, &b), rows[i].same, "%s %s", rows[i].a, rows[i].b);
	}
}

Test(addr, ports_and_all_addresses)
{
	static const struct {
		const char *text;
		uint16_t port;
		bool any;
	} rows[] = {
		{ "10.0.0.1:5", 5, false },
		{ "0.0.0.0:65535", 65535, true },
		{ "[::]:5", 5, true },
		{ "[::1]", 7, false },
		{ "[::ffff:0.0.0.0]:5", 5, false },
		{ "unix:x", 0, false },
	};
	struct addr addr;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_eq(addr_parse(&addr, rows[i].text, 7, NULL), 0);
		cr_expect_eq(addr_port(&addr), rows[i].port, "%s", rows[i].text);
		cr_expect_eq(addr_is_any(&addr), rows[i].any, "%s", rows[i].text);
	}
}

Test(addr, any_address_is_usable)
{
	struct addr addr;

	cr_assert_eq(addr_parse(&addr, ":0", 0, NULL), 0);
	int fd = socket(addr.ss.ss_family, SOCK_STREAM, 0);

	cr_assert_geq(fd, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&addr.ss, addr.len), 0);
}

Test(addr, none_has_no_text)
{
	struct addr addr = { 0 };
	char text[ADDR_TEXT] = "x";

	cr_assert_str_eq(addr_text(&addr, text), "");
}

Test(addr, bad_ones_are_quoted)
{
	static const struct {
		const char *in, *words, *hint;
	} rows[] = {
		{ "", "address", "" },
		{ "10.0.0.1", "'10.0.0.1' port", "" },
		{ "::1", "'::1' port", "" },
		{ "[::1]", "'[::1]' port", "" },
		{ "10.0.0.1:", "'' '10.0.0.1:' 65535", "" },
		{ "10.0.0.1:65536", "'65536' '10.0.0.1:65536' 65535", "" },
		{ "10.0.0.1:http", "'http' '10.0.0.1:http' 65535", "" },
		{ "10.0.0.256:1", "'10.0.0.256' IP", "" },
		{ "127.1:1", "'127.1' IP", "" },
		{ "::1:x", "'::1:x' HOST:PORT", "[::1]" },
		{ "[::1", "'[::1' [ADDRESS]:PORT", "" },
		{ "[::1]4420", "'[::1]4420' [ADDRESS]:PORT", "" },
		{ "[10.0.0.1]:1", "'10.0.0.1' IPv6", "" },
		{ "[]:1", "'' IPv6", "" },
		{ "[::g]:1", "'::g' IP", "" },
		{ "unix:", "'unix:' path", "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct diag diag = { 0 };
		struct addr addr;

		cr_assert_lt(addr_parse(&addr, rows[i].in, 0, &diag), 0, "%s", rows[i].in);
		diag_says(&diag, DIAG_USAGE, NULL, rows[i].words);
		text_says(diag.hint, rows[i].hint);
		cr_assert_eq(!*diag.hint, !*rows[i].hint, "%s", diag.hint);
	}
}

Test(addr, an_unknown_scope_is_quoted)
{
	struct diag diag = { 0 };
	struct addr addr;

	cr_assert_eq(addr_parse(&addr, "[fe80::1%nosuchif0]:1", 0, &diag), -ENODEV);
	diag_says(&diag, DIAG_NO_DEVICE, NULL, "'nosuchif0' interface");
}

Test(addr, a_unix_path_may_have_107_bytes)
{
	struct diag diag = { 0 };
	struct addr addr;
	char text[5 + 108 + 1] = "unix:", back[ADDR_TEXT];

	memset(text + 5, 'p', 108);
	text[5 + 107] = 0;
	cr_assert_eq(addr_parse(&addr, text, 0, &diag), 0);
	cr_assert_str_eq(addr_text(&addr, back), text);
	text[5 + 107] = 'p';
	cr_assert_eq(addr_parse(&addr, text, 0, &diag), -ENAMETOOLONG);
	diag_says(&diag, DIAG_USAGE, NULL, "107");
}

Test(addr, a_scope_may_be_a_number)
{
	struct addr addr;
	char text[ADDR_TEXT];

	cr_assert_eq(addr_resolve(&addr, "fe80::1%7", 1, 0, NULL), 0);
	cr_assert_str_eq(addr_text(&addr, text), "[fe80::1%7]:1");
	cr_assert_lt(addr_resolve(&addr, "fe80::1%0", 1, 0, NULL), 0);
	cr_assert_lt(addr_resolve(&addr, "fe80::1%", 1, 0, NULL), 0);
}

Test(addr, a_name_takes_no_longer_than_allowed)
{
	struct diag diag = { 0 };
	struct addr addr;
	uint64_t start = loop_clock();

	names_hold("mute.example", true);
	cr_assert_eq(addr_resolve(&addr, "mute.example", 1, 50, &diag), -ETIMEDOUT);
	diag_says(&diag, DIAG_TIMEOUT, NULL, "'mute.example'");
	resolve_set_deadline(loop_clock() + 50 * MSEC);
	cr_assert_eq(addr_resolve(&addr, "mute.example", 1, 0, &diag), -ETIMEDOUT);
	cr_assert_eq(addr_resolve(&addr, "mute.example", 1, 20000, &diag), -ETIMEDOUT);
	cr_assert_eq(addr_parse(&addr, "mute.example:1", 1, &diag), -ETIMEDOUT);
	cr_assert_lt(loop_clock() - start, 4000 * MSEC, "took too long");
}

static void *let_go(void *arg)
{
	usleep(100000);
	names_hold("slow.example", false);
	return arg;
}

Test(addr, a_name_without_a_limit_is_waited_for)
{
	struct diag diag = { 0 };
	struct addr addr;
	pthread_t thread;

	names_set("slow.example", "10.0.0.1", 0);
	names_hold("slow.example", true);
	resolve_set_deadline(RESOLVE_NEVER);
	cr_assert_eq(pthread_create(&thread, NULL, let_go, NULL), 0);
	cr_assert_eq(addr_resolve(&addr, "slow.example", 1, 1, &diag), 0, "%s", diag.text);
	pthread_join(thread, NULL);
}

Test(addr, a_path_is_not_looked_up)
{
	struct diag diag = { 0 };
	struct addr addr;

	cr_assert_eq(addr_parse(&addr, "/run/x.sock", 1, &diag), -EINVAL);
	cr_assert_str_eq(diag.hint, "unix:/run/x.sock");
	cr_assert_eq(addr_resolve(&addr, "./x", 1, 0, &diag), -EINVAL);
	cr_assert_eq(names_most(), 0);
}

Test(addr, a_host_is_resolved_once)
{
	struct uri uri;
	struct addr addr;
	char text[ADDR_TEXT];

	cr_assert_eq(uri_parse(&uri, "nvme+tcp://localhost/nqn.x", NULL), 0);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(uri_resolve(&uri, 4420, 1000, &addr, NULL), 0);
		cr_assert_eq(uri.host, uri.numeric);
		cr_assert(
			!strcmp(uri.host, "127.0.0.1") || !strcmp(uri.host, "::1"), "%s", uri.host);
	}
	cr_assert_str_eq(addr_host(&addr, text), uri.host);
	cr_assert_str_eq(uri.spelling, "nvme+tcp://localhost/nqn.x");
}

Test(addr, names_are_limited)
{
	struct diag diag = { 0 };
	struct addr addr;
	char host[300];

	memset(host, 'h', sizeof(host) - 1);
	host[sizeof(host) - 1] = 0;
	cr_assert_eq(addr_resolve(&addr, host, 1, 100, &diag), -ENAMETOOLONG);
	cr_assert_eq(addr_resolve(&addr, "", 1, 100, &diag), -EINVAL);
	diag_says(&diag, DIAG_USAGE, NULL, "host");
}

static void rdma(const char *given, const char *rest, bool verbs, bool iwarp, bool no_crc)
{
	struct addr_rdma how;
	char text[64];

	snprintf(text, sizeof(text), "%s", given);
	cr_assert_eq(addr_rdma(&how, text, NULL), 0, "%s", given);
	cr_assert_str_eq(text, rest);
	cr_assert(how.verbs == verbs && how.iwarp == iwarp && how.no_crc == no_crc, "%s", given);
}

static void rdma_refused(const char *given, const char *words)
{
	struct diag diag = { 0 };
	struct addr_rdma how;
	char text[64];

	snprintf(text, sizeof(text), "%s", given);
	cr_assert_eq(addr_rdma(&how, text, &diag), -EINVAL, "%s", given);
	diag_says(&diag, DIAG_USAGE, NULL, words);
}

Test(addr, what_follows_it_says_how_to_speak_rdma)
{
	rdma("h:1", "h:1", true, true, false);
	rdma("h:1?rdma=auto", "h:1", true, true, false);
	rdma("[::1]:1?rdma=verbs", "[::1]:1", true, false, false);
	rdma("h:1?rdma=iwarp", "h:1", false, true, false);
	rdma("h:1?crc=0", "h:1", true, true, true);
	rdma("h:1?rdma=iwarp&crc=no", "h:1", false, true, true);
	rdma("h:1?crc=off&rdma=iwarp", "h:1", false, true, true);
	rdma("h:1?crc=0&crc=yes", "h:1", true, true, false);
	rdma_refused("h?rdma=fast", "'rdma=fast' rdma=verbs rdma=iwarp crc=0");
	rdma_refused("h?", "'' rdma=verbs rdma=iwarp crc=0");
	rdma_refused("h?crc=0&", "'' rdma=verbs rdma=iwarp crc=0");
	rdma_refused("h?crc", "'crc' rdma=verbs rdma=iwarp crc=0");
	rdma_refused("h?crc=0&rdma=verbs", "crc=0 iWARP rdma=verbs");
}

Test(addr, nobody_is_asked_for_a_number)
{
	struct diag diag = { 0 };
	char text[ADDR_TEXT];
	struct addr addr;

	cr_assert_eq(addr_numeric(&addr, "10.0.0.1", 3260, &diag), 0);
	cr_assert_str_eq(addr_text(&addr, text), "10.0.0.1:3260");
	cr_assert_eq(addr_numeric(&addr, "fd00:0::1", 3260, &diag), 0);
	cr_assert_str_eq(addr_text(&addr, text), "[fd00::1]:3260");
	cr_assert_eq(addr_numeric(&addr, "localhost", 3260, &diag), -EINVAL);
	diag_says(&diag, DIAG_USAGE, NULL, "'localhost' IP");
	cr_assert_eq(addr_numeric(&addr, "10.0.0.256", 3260, &diag), -EINVAL);
	cr_assert_eq(addr_numeric(&addr, "", 3260, &diag), -EINVAL);
}

Test(addr, a_service_on_infiniband)
{
	static const uint8_t gid[16] = { 0xfe, 0x80, [8] = 2, [15] = 7 };
	/* struct sockaddr_ib of Linux */
	static const uint8_t kernel[] = { 27, 0, 0xff, 0xf1, 0, 0, 0, 0, 0xfe, 0x80, 0, 0, 0, 0, 0,
		0, 2, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 1, 0x3f, 0x12, 0x34, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0 };
	struct addr addr, ip = { .ss.ss_family = AF_INET6 };
	char text[ADDR_TEXT];

	addr_set_ib(&addr, gid, 0xfff1, 0x13f1234);
	cr_assert_eq(addr.len, sizeof(kernel));
	cr_assert_arr_eq((uint8_t *)&addr.ss, kernel, sizeof(kernel));
	cr_assert_eq(addr_service(&addr), 0x13f1234);
	cr_assert_eq(addr_service(&ip), 0);
	cr_assert_eq(addr_port(&addr), 0);
	cr_assert(!addr_is_any(&addr) && !addr_is_local(&addr));
	cr_assert_str_eq(addr_host(&addr, text), "fe80::200:0:0:7");
	cr_assert_str_eq(addr_text(&addr, text), "fe80::200:0:0:7 service 13f1234");
	addr_set_ib(&addr, gid, 0xfff1, 0);
	cr_assert_eq(((uint8_t *)&addr.ss)[32], 0, "the kernel chooses the ID of a source");
	cr_assert_str_eq(addr_text(&addr, text), "fe80::200:0:0:7");
}
