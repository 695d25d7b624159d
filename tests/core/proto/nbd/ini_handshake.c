/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The client's side of the NBD handshake, byte by byte: what it says, what it makes of the answers.
 * What a server may not say is in tests/cli/nbd-lying-handshake.sh. */
#include "ini_handshake.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct nbd_ini_handshake h;
static struct diag why;

static void begin(const char *name)
{
	memset(&h, 0, sizeof(h));
	why = (struct diag){ 0 };
	h.name = name;
}

/* A message, cut at every byte before it is given whole; gives what feed gave. */
static int feed(const void *p, size_t len)
{
	int used = 0;

	h.out_len = 0;
	for (size_t have = 0; have <= len && !used; have++)
		used = nbd_ini_handshake_feed(&h, p, have, &why);
	return used;
}

static void greet(uint16_t flags)
{
	struct nbd_greeting hi = { put_be64(NBD_GREETING_MAGIC), put_be64(NBD_OPT_MAGIC),
		put_be16(flags) };

	cr_assert_eq(feed(&hi, sizeof(hi)), sizeof(hi), "%s", why.text);
}

static int rep(uint32_t option, uint32_t type, const void *data, uint32_t len)
{
	uint8_t bytes[300];
	struct nbd_rep head = { put_be64(NBD_REP_MAGIC), put_be32(option), put_be32(type),
		put_be32(len) };

	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), data, len);
	return feed(bytes, sizeof(head) + len);
}

static int ack(uint32_t option)
{
	return rep(option, NBD_REP_ACK, "", 0);
}

static void receive(const char *bytes, size_t len)
{
	cr_assert_eq(h.out_len, len, "%zu bytes, not %zu", h.out_len, len);
	cr_assert_arr_eq(h.out, bytes, len);
}
#define RECEIVE(bytes) receive(bytes, sizeof(bytes) - 1)
#define EXPORT         "\0\0\0\0\0\0\0\20\0\0\1\11"

Test(nbd_ini_handshake, structured_replies_and_block_status)
{
	begin("disk");
	greet(3);
	RECEIVE("\0\0\0\3IHAVEOPT\0\0\0\10\0\0\0\0");
	cr_assert_eq(ack(NBD_OPT_STRUCTURED_REPLY), 20);
	RECEIVE("IHAVEOPT\0\0\0\12\0\0\0\37\0\0\0\4disk\0\0\0\1\0\0\0\17base:allocation");
	cr_assert_gt(
		rep(NBD_OPT_SET_META_CONTEXT, NBD_REP_META_CONTEXT, "\0\0\1\7base:allocation", 19),
		0);
	cr_assert_eq(h.out_len, 0);
	cr_assert_eq(ack(NBD_OPT_SET_META_CONTEXT), 20);
	RECEIVE("IHAVEOPT\0\0\0\7\0\0\0\14\0\0\0\4disk\0\1\0\3");
	cr_assert_gt(rep(NBD_OPT_GO, NBD_REP_INFO, EXPORT, 12), 0);
	cr_assert_gt(rep(NBD_OPT_GO, NBD_REP_INFO, "\0\3\0\0\20\0\0\0\20\0\2\0\0\0", 14), 0);
	cr_assert_gt(rep(NBD_OPT_GO, NBD_REP_INFO, "\0\71whatever", 10), 0);
	cr_assert_eq(ack(NBD_OPT_GO), 20);
	cr_assert_eq(h.step, INI_DONE);
	cr_assert(h.negotiated.structured && h.negotiated.meta && h.negotiated.context == 0x107);
	cr_assert(h.negotiated.terms.size == 1 << 20 && h.negotiated.terms.flags == 0x109 &&
		  h.negotiated.terms.minimum == 4096);
}

Test(nbd_ini_handshake, a_server_of_simple_replies)
{
	begin("");
	greet(1);
	RECEIVE("\0\0\0\1IHAVEOPT\0\0\0\10\0\0\0\0");
	cr_assert_gt(rep(NBD_OPT_STRUCTURED_REPLY, NBD_REP_ERR_UNSUP, "no", 2), 0);
	RECEIVE("IHAVEOPT\0\0\0\7\0\0\0\10\0\0\0\0\0\1\0\3");
	cr_assert_gt(rep(NBD_OPT_GO, NBD_REP_INFO, EXPORT, 12), 0);
	cr_assert_eq(ack(NBD_OPT_GO), 20);
	cr_assert(h.step == INI_DONE && !h.negotiated.structured && !h.negotiated.meta &&
		  !h.negotiated.terms.minimum);
}

Test(nbd_ini_handshake, contexts_before_an_error_do_not_count)
{
	begin("");
	greet(3);
	ack(NBD_OPT_STRUCTURED_REPLY);
	rep(NBD_OPT_SET_META_CONTEXT, NBD_REP_META_CONTEXT, "\0\0\0\1base:allocation", 19);
	cr_assert_gt(rep(NBD_OPT_SET_META_CONTEXT, NBD_REP_ERR_POLICY, "", 0), 0);
	cr_assert(h.step == INI_GO && !h.negotiated.meta);
}

Test(nbd_ini_handshake, a_server_without_go)
{
	uint8_t answer[134] = EXPORT;

	begin("x");
	greet(1);
	ack(NBD_OPT_STRUCTURED_REPLY);
	ack(NBD_OPT_SET_META_CONTEXT);
	cr_assert_gt(rep(NBD_OPT_GO, NBD_REP_ERR_UNSUP, "", 0), 0);
	RECEIVE("IHAVEOPT\0\0\0\1\0\0\0\1x");
	memmove(answer, answer + 2, 10);
	memset(answer + 10, 0, 124);
	cr_assert_eq(feed(answer, 134), 134, "with its zeroes");
	cr_assert(h.step == INI_DONE && h.negotiated.terms.size == 1 << 20 &&
		  h.negotiated.terms.flags == 0x109 && h.negotiated.structured);
}

Test(nbd_ini_handshake, newstyle_that_is_not_fixed_knows_export_name_only)
{
	begin("x");
	greet(2);
	RECEIVE("\0\0\0\2IHAVEOPT\0\0\0\1\0\0\0\1x");
	cr_assert_eq(feed(EXPORT + 2, 10), 10, "without zeroes");
	cr_assert(h.step == INI_DONE && !h.negotiated.structured);
}

Test(nbd_ini_handshake, refusals_in_the_servers_words)
{
	begin("x");
	greet(3);
	ack(NBD_OPT_STRUCTURED_REPLY);
	ack(NBD_OPT_SET_META_CONTEXT);
	cr_assert_eq(rep(NBD_OPT_GO, NBD_REP_ERR_UNKNOWN, "no\x1b[31m such", 12), -ENOENT);
	diag_says(&why, DIAG_NOT_FOUND, NULL, "export 'x' no\x1b[31m_such");
}

Test(nbd_ini_handshake, sizes_without_a_smallest_are_none)
{
	begin("x");
	greet(3);
	ack(NBD_OPT_STRUCTURED_REPLY);
	ack(NBD_OPT_SET_META_CONTEXT);
	cr_assert_gt(rep(NBD_OPT_GO, NBD_REP_INFO, EXPORT, 12), 0);
	cr_assert_gt(rep(NBD_OPT_GO, NBD_REP_INFO, "\0\3\0\0\0\0\0\0\47\17\0\0\0\0", 14), 0);
	cr_assert_eq(ack(NBD_OPT_GO), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "minimum block 0");
}

Test(nbd_ini_handshake, a_name_of_the_longest_fits)
{
	static char name[URI_MAX];

	memset(name, 'n', sizeof(name) - 1);
	begin(name);
	greet(3);
	ack(NBD_OPT_STRUCTURED_REPLY);
	cr_assert_eq(h.out_len, sizeof(struct nbd_opt) + 4 + URI_MAX - 1 + 4 + 4 + 15);
}

static char names[64];

static void listed(struct nbd_ini_handshake *hello, const uint8_t *name, size_t len)
{
	(void)hello;
	snprintf(names + strlen(names), sizeof(names) - strlen(names), "%.*s,", (int)len,
		(const char *)name);
}

/* Feed the reply to NBD_OPT_LIST, then an ACK. Return 0 or -errno. */
static int list(uint16_t flags, const char *data, uint32_t len)
{
	struct nbd_greeting hi = { put_be64(NBD_GREETING_MAGIC), put_be64(NBD_OPT_MAGIC),
		put_be16(flags) };
	struct nbd_rep rep = { put_be64(NBD_REP_MAGIC), put_be32(NBD_OPT_LIST),
		put_be32(NBD_REP_SERVER), put_be32(len) };
	uint8_t in[128];
	int used;

	h = (struct nbd_ini_handshake){ .name = "x", .listed = listed };
	why = (struct diag){ 0 };
	used = nbd_ini_handshake_feed(&h, (const uint8_t *)&hi, sizeof(hi), &why);
	names[0] = 0;
	if (used < 0)
		return used;
	memcpy(in, &rep, sizeof(rep));
	memcpy(in + sizeof(rep), data, len);
	h.out_len = 0;
	used = nbd_ini_handshake_feed(&h, in, sizeof(rep) + len, &why);
	if (used < 0)
		return used;
	rep.type = put_be32(NBD_REP_ACK);
	rep.len = put_be32(0);
	used = nbd_ini_handshake_feed(&h, (const uint8_t *)&rep, sizeof(rep), &why);
	cr_assert(used < 0 || h.step == INI_DONE);
	return used < 0 ? used : 0;
}

Test(nbd_ini_handshake, exports_are_listed)
{
	cr_assert_eq(list(NBD_FLAG_FIXED_NEWSTYLE, "\0\0\0\3onetext", 11), 0);
	cr_assert_str_eq(names, "one,");
	cr_assert_eq(list(0, "", 0), -EPROTONOSUPPORT);
	cr_assert_eq(list(NBD_FLAG_FIXED_NEWSTYLE, "\0\0\0", 3), -EPROTO);
	cr_assert_eq(list(NBD_FLAG_FIXED_NEWSTYLE, "\0\0\0\4one", 7), -EPROTO);
	cr_assert_eq(list(NBD_FLAG_FIXED_NEWSTYLE,
			     "\xff\xff\xff\xff"
			     "one",
			     7),
		-EPROTO);
	cr_assert_eq(list(NBD_FLAG_FIXED_NEWSTYLE, "\0\0\0\3o\0e", 7), -EPROTO);
	cr_assert_str_eq(names, "");
}

static int refuse_list(uint32_t type, const char *text)
{
	struct nbd_greeting hi = { put_be64(NBD_GREETING_MAGIC), put_be64(NBD_OPT_MAGIC),
		put_be16(NBD_FLAG_FIXED_NEWSTYLE) };

	begin("x");
	h.listed = listed;
	nbd_ini_handshake_feed(&h, (const uint8_t *)&hi, sizeof(hi), &why);
	return rep(NBD_OPT_LIST, type, text, (uint32_t)strlen(text));
}

Test(nbd_ini_handshake, a_refusal_has_the_words_of_the_server)
{
	char longest[281] = "";

	memset(longest, 'm', sizeof(longest) - 1);
	begin("disk");
	greet(3);
	ack(NBD_OPT_STRUCTURED_REPLY);
	ack(NBD_OPT_SET_META_CONTEXT);
	cr_assert_lt(rep(NBD_OPT_GO, NBD_REP_ERR_PLATFORM, "no\x1b[2J\nroom", 12), 0);
	diag_says(&why, DIAG_REFUSED, NULL, "'disk' 'no\x1b_2J\nroom'");
	begin("disk");
	greet(3);
	cr_assert_lt(
		rep(NBD_OPT_STRUCTURED_REPLY, NBD_REP_ERR_SHUTDOWN, longest, sizeof(longest) - 1),
		0);
	cr_assert_eq(strspn(strchr(why.text, '\'') + 1, "m"), NBD_INI_TEXT - 1);
	cr_assert_lt(refuse_list(NBD_REP_ERR_POLICY, "not for you"), 0);
	diag_says(&why, DIAG_REFUSED, NULL, "list exports 'not for you'");
	cr_assert_lt(refuse_list(NBD_REP_ERR_UNSUP, "what"), 0);
	diag_says(&why, DIAG_UNSUPPORTED, NULL, "list exports 'what'");
}

Test(nbd_ini_handshake, tls_comes_first)
{
	begin("x");
	h.tls = true;
	greet(3);
	RECEIVE("\0\0\0\3IHAVEOPT\0\0\0\5\0\0\0\0");
	cr_assert_eq(ack(NBD_OPT_STARTTLS), 20);
	cr_assert_eq(h.step, INI_SECURING);
	cr_assert_eq(h.out_len, 0);
	cr_assert_eq(ack(NBD_OPT_STARTTLS), 0, "nothing is handled before TLS is up");
	nbd_ini_handshake_secured(&h);
	RECEIVE("IHAVEOPT\0\0\0\10\0\0\0\0");
	cr_assert_eq(ack(NBD_OPT_STRUCTURED_REPLY), 20);
}

Test(nbd_ini_handshake, optional_tls_is_left_out_if_the_server_refuses_it)
{
	begin("x");
	h.tls = h.tls_optional = true;
	greet(3);
	RECEIVE("\0\0\0\3IHAVEOPT\0\0\0\5\0\0\0\0");
	cr_assert_eq(rep(NBD_OPT_STARTTLS, NBD_REP_ERR_POLICY, "no", 2), 22);
	cr_assert_not(h.tls);
	RECEIVE("IHAVEOPT\0\0\0\10\0\0\0\0");
	cr_assert_eq(ack(NBD_OPT_STRUCTURED_REPLY), 20);
	begin("x");
	h.tls = h.tls_optional = true;
	greet(2); /* no fixed newstyle */
	cr_assert_not(h.tls);
	cr_assert_eq(h.step, INI_EXPORT_NAME);
	begin("x");
	h.tls = h.tls_optional = true;
	greet(3);
	cr_assert_eq(ack(NBD_OPT_STARTTLS), 20);
	cr_assert(h.tls);
	cr_assert_eq(h.step, INI_SECURING);
	begin("x");
	h.tls = h.tls_optional = true;
	greet(3);
	cr_assert_lt(rep(NBD_OPT_STARTTLS, NBD_REP_SERVER, "", 0), 0);
	diag_says(&why, DIAG_PROTOCOL, "", "unexpected STARTTLS");
}

/* A server, or who speaks for it, can't talk the client out of TLS. */
Test(nbd_ini_handshake, no_server_gets_a_client_without_tls)
{
	static const uint32_t types[] = { NBD_REP_ERR_UNSUP, NBD_REP_ERR_POLICY,
		NBD_REP_ERR_INVALID };

	for (unsigned i = 0; i < sizeof(types) / sizeof(*types); i++) {
		begin("x");
		h.tls = true;
		greet(3);
		cr_assert_lt(rep(NBD_OPT_STARTTLS, types[i], "no", 2), 0);
		diag_says(&why, DIAG_UNSUPPORTED, "", "not offer TLS 'no'");
	}
	begin("x");
	h.tls = true;
	greet(3);
	cr_assert_lt(rep(NBD_OPT_STARTTLS, NBD_REP_SERVER, "", 0), 0);
	diag_says(&why, DIAG_PROTOCOL, "", "unexpected STARTTLS");
	for (uint16_t flags = 0; flags < 3; flags += 2) { /* no fixed newstyle */
		struct nbd_greeting hi = { put_be64(NBD_GREETING_MAGIC), put_be64(NBD_OPT_MAGIC),
			put_be16(flags) };

		begin("x");
		h.tls = true;
		cr_assert_lt(feed(&hi, sizeof(hi)), 0);
		diag_says(&why, DIAG_UNSUPPORTED, "", "not offer TLS");
	}
	begin("x");
	greet(3);
	cr_assert_lt(rep(NBD_OPT_STRUCTURED_REPLY, NBD_REP_ERR_TLS_REQD, "", 0), 0);
	diag_says(&why, DIAG_AUTH, "", "requires TLS");
}
