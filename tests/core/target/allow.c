/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which addresses may connect. */
#include "serve.h"
#include "uri.h"
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>

static struct addr peer(const char *text)
{
	struct addr addr = { 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)(void *)&addr.ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)&addr.ss;

	if (inet_pton(AF_INET, text, &in->sin_addr) == 1)
		addr.ss.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1)
		addr.ss.ss_family = AF_INET6;
	return addr;
}

static bool allowed(const char *net, const char *who)
{
	struct target_allows allows = { 0 };
	struct addr addr = peer(who);

	cr_assert_eq(target_allows_add(&allows, net, NULL), 0, "%s", net);
	return target_allows_peer(&allows, &addr);
}

Test(target_allow, networks_and_addresses)
{
	static const struct {
		const char *net, *who;
		bool in;
	} rows[] = {
		{ "10.0.0.0/8", "10.255.0.1", true },
		{ "10.0.0.0/8", "11.0.0.0", false },
		{ "10.0.0.0/8", "::ffff:10.1.2.3", true }, /* as a socket on [::] sees it */
		{ "192.168.1.128/25", "192.168.1.127", false },
		{ "192.168.1.128/25", "192.168.1.200", true },
		{ "10.1.2.3", "10.1.2.3", true },
		{ "10.1.2.3", "10.1.2.4", false },
		{ "0.0.0.0/0", "1.2.3.4", true },
		{ "0.0.0.0/0", "fd00::1", false },
		{ "::/0", "1.2.3.4", true },
		{ "fd00::/12", "fd0f::1", true },
		{ "fd00::/12", "fd10::1", false },
		{ "::1", "::1", true },
		{ "::1", "::2", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(allowed(rows[i].net, rows[i].who), rows[i].in, "%s in %s", rows[i].who,
			rows[i].net);
}

Test(target_allow, nobody_listed_is_everybody)
{
	struct target_allows allows = { 0 };
	struct addr addr = peer("1.2.3.4");

	cr_assert(target_allows_peer(&allows, &addr));
}

Test(target_allow, unix_clients_need_the_socket_only)
{
	struct target_allows allows = { 0 };
	struct addr addr = { .ss.ss_family = AF_UNIX };

	cr_assert_eq(target_allows_add(&allows, "10.0.0.1", NULL), 0);
	cr_assert(target_allows_peer(&allows, &addr));
	addr.ss.ss_family = AF_UNSPEC;
	cr_assert(!target_allows_peer(&allows, &addr), "an unknown address");
}

Test(target_allow, port_on_infiniband)
{
	static const uint8_t gid[16] = { 0xfe, 0x80, [15] = 1 };
	struct target_allows allows = { 0 };
	struct addr addr;

	addr_set_ib(&addr, gid, 0xffff, 1);
	cr_assert_eq(target_allows_add(&allows, "10.0.0.0/8", NULL), 0);
	cr_assert(!target_allows_peer(&allows, &addr));
	cr_assert_eq(target_allows_add(&allows, "fe80::1", NULL), 0);
	cr_assert(target_allows_peer(&allows, &addr));
}

Test(target_allow, no_more_than_fit)
{
	struct target_allows allows = { 0 };
	struct diag diag = { 0 };

	for (unsigned i = 0; i < TARGET_ALLOWS; i++)
		cr_assert_eq(target_allows_add(&allows, "10.0.0.1", NULL), 0);
	cr_assert_eq(target_allows_add(&allows, "10.0.0.1", &diag), -E2BIG);
	cr_assert_eq(diag.code, DIAG_USAGE);
}

Test(target_allow, what_is_no_network)
{
	static const char *const words[] = { "", "/", "10.0.0", "10.0.0.0/", "10.0.0.0/33",
		"::/129", "10.0.0.0/8x", "host", "10.0.0.0/-1",
		"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc" };
	struct target_allows allows = { 0 };
	struct diag diag;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		diag = (struct diag){ 0 };
		cr_assert_lt(target_allows_add(&allows, words[i], &diag), 0, "%s", words[i]);
		cr_assert_eq(diag.code, DIAG_USAGE);
	}
}
