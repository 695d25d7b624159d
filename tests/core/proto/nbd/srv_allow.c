/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who may connect over TCP. */
/* Link: leap */
#include "srv.h"
#include <arpa/inet.h>
#include <criterion/criterion.h>

static struct sockaddr_storage peer(const char *text)
{
	struct sockaddr_storage ss = { 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)(void *)&ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)&ss;

	if (inet_pton(AF_INET, text, &in->sin_addr) == 1)
		ss.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1)
		ss.ss_family = AF_INET6;
	return ss;
}

static bool allowed(const char *net, const char *who)
{
	struct nbd_options opt = { .allows = 1 };
	struct sockaddr_storage ss = peer(who);

	cr_assert_eq(nbd_allow_parse(&opt.allow[0], net, NULL), 0, "%s", net);
	return nbd_srv_allowed(&opt, &ss);
}

Test(nbd_allow, networks_and_addresses)
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

Test(nbd_allow, nobody_listed_is_everybody)
{
	struct nbd_options opt = { 0 };
	struct sockaddr_storage ss = peer("1.2.3.4");

	cr_assert(nbd_srv_allowed(&opt, &ss));
}

Test(nbd_allow, unix_clients_need_the_socket_only)
{
	struct nbd_options opt = { .allows = 1 };
	struct sockaddr_storage ss = { .ss_family = AF_UNIX };

	cr_assert_eq(nbd_allow_parse(&opt.allow[0], "10.0.0.1", NULL), 0);
	cr_assert(nbd_srv_allowed(&opt, &ss));
}

Test(nbd_allow, what_is_no_network)
{
	static const char *const words[] = { "", "/", "10.0.0", "10.0.0.0/", "10.0.0.0/33",
		"::/129", "10.0.0.0/8x", "host", "10.0.0.0/-1",
		"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc" };
	struct nbd_allow allow;
	struct diag diag;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		diag = (struct diag){ 0 };
		cr_assert_lt(nbd_allow_parse(&allow, words[i], &diag), 0, "%s", words[i]);
		cr_assert_eq(diag.code, DIAG_USAGE);
	}
}
