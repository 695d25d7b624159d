/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Bytes of commands; answers, whole, cut, refused and lying; members of a group. The bytes are
 * those of a little-endian machine, as the kernel's own tool (tools/net/ynl) sends them. */
#include "handshake_nl.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <string.h>

static uint8_t bytes[512];

Test(handshake_nl, commands)
{
	static const uint8_t find[] = { 36, 0, 0, 0, 16, 0, 1, 0, 7, 0, 0, 0, 0, 0, 0, 0, 3, 1, 0,
		0, 14, 0, 2, 0, 'h', 'a', 'n', 'd', 's', 'h', 'a', 'k', 'e', 0, 0, 0 };
	static const uint8_t accept[] = { 28, 0, 0, 0, 0x22, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 2, 1,
		0, 0, 8, 0, 2, 0, 1, 0, 0, 0 };
	static const uint8_t done[] = { 44, 0, 0, 0, 0x22, 0, 5, 0, 9, 0, 0, 0, 0, 0, 0, 0, 3, 1, 0,
		0, 8, 0, 1, 0, 13, 0, 0, 0, 8, 0, 2, 0, 5, 0, 0, 0, 8, 0, 3, 0, 0x78, 0x56, 0x34,
		0x12 };

	cr_assert_eq(handshake_nl_find(bytes, 7), sizeof(find));
	cr_assert_arr_eq(bytes, find, sizeof(find));
	cr_assert_eq(handshake_nl_accept(bytes, 0x22, 8), sizeof(accept));
	cr_assert_arr_eq(bytes, accept, sizeof(accept));
	cr_assert_eq(handshake_nl_done(bytes, 0x22, 9, 5, EACCES, 0x12345678), sizeof(done));
	cr_assert_arr_eq(bytes, done, sizeof(done));
	cr_assert_eq(handshake_nl_done(bytes, 0x22, 9, 5, 0, 0), sizeof(done) - 8, "without a key");
}

/* --- answers */

static size_t used;

static void begin(uint16_t type, uint32_t seq, uint8_t command)
{
	const struct nlmsghdr head = { .nlmsg_type = type, .nlmsg_seq = seq };
	const struct genlmsghdr generic = { .cmd = command };

	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + NLMSG_HDRLEN, &generic, sizeof(generic));
	used = NLMSG_HDRLEN + GENL_HDRLEN;
}

static void put(uint16_t type, const void *value, size_t len)
{
	const struct nlattr attr = { .nla_type = type, .nla_len = (uint16_t)(NLA_HDRLEN + len) };

	memcpy(bytes + used, &attr, sizeof(attr));
	memcpy(bytes + used + NLA_HDRLEN, value, len);
	used += (size_t)NLA_ALIGN(NLA_HDRLEN + len);
}

static void put_u32(uint16_t type, uint32_t value)
{
	put(type, &value, sizeof(value));
}

static size_t end(void)
{
	const uint32_t len = (uint32_t)used;

	memcpy(bytes, &len, sizeof(len));
	return used;
}

static size_t group(uint8_t *to, uint16_t index, const char *name, uint32_t id)
{
	uint8_t before[sizeof(bytes)];
	size_t len, begin_at = used;

	memcpy(before, bytes, sizeof(bytes));
	put(CTRL_ATTR_MCAST_GRP_NAME, name, strlen(name) + 1);
	put_u32(CTRL_ATTR_MCAST_GRP_ID, id);
	len = used - begin_at;
	to[0] = (uint8_t)(NLA_HDRLEN + len);
	to[1] = 0;
	to[2] = (uint8_t)index;
	to[3] = NLA_F_NESTED >> 8;
	memcpy(to + NLA_HDRLEN, bytes + begin_at, len);
	memcpy(bytes, before, sizeof(bytes));
	used = begin_at;
	return NLA_HDRLEN + len;
}

static size_t family(uint32_t seq)
{
	const uint16_t id = 0x22;
	uint8_t groups[128];
	size_t len;

	begin(GENL_ID_CTRL, seq, CTRL_CMD_NEWFAMILY);
	put(CTRL_ATTR_FAMILY_NAME, "handshake", 10);
	put(CTRL_ATTR_FAMILY_ID, &id, sizeof(id));
	put_u32(CTRL_ATTR_VERSION, 1);
	len = group(groups, 1, "none", 6);
	len += group(groups + len, 2, "tlshd", 7);
	put(CTRL_ATTR_MCAST_GROUPS | NLA_F_NESTED, groups, len);
	return end();
}

Test(handshake_nl, the_family_has_a_number_and_a_group)
{
	struct handshake_nl nl;
	size_t len = family(3);

	cr_assert_eq(handshake_nl_found(bytes, len, 3, &nl), 0);
	cr_assert(nl.family == 0x22 && nl.group == 7);
	cr_assert_eq(handshake_nl_found(bytes, len, 4, &nl), -EINPROGRESS, "of another command");
	for (size_t cut = 0; cut < len; cut++) {
		const uint32_t shorter = (uint32_t)cut;

		cr_assert_eq(handshake_nl_found(bytes, cut, 3, &nl), -EPROTO, "%zu", cut);
		memcpy(bytes, &shorter, sizeof(shorter));
		cr_assert(handshake_nl_found(bytes, cut, 3, &nl) == -EPROTO || nl.group == 7, "%zu",
			cut);
		family(3);
	}
}

static size_t error(uint32_t seq, int number)
{
	begin(NLMSG_ERROR, seq, 0);
	memcpy(bytes + NLMSG_HDRLEN, &number, sizeof(number));
	used += sizeof(struct nlmsghdr);
	return end();
}

Test(handshake_nl, refusals)
{
	struct kernel_handshake request;
	struct handshake_nl nl;

	cr_assert_eq(handshake_nl_found(bytes, error(3, -ENOENT), 3, &nl), -ENOENT);
	cr_assert_eq(handshake_nl_accepted(bytes, error(3, -EAGAIN), 3, &request), -EAGAIN);
	cr_assert_eq(request.fd, -1);
	cr_assert_eq(handshake_nl_accepted(bytes, error(3, 0), 3, &request), -EPROTO);
	cr_assert_eq(handshake_nl_acked(bytes, error(3, -EBUSY), 3), -EBUSY);
	cr_assert_eq(handshake_nl_acked(bytes, error(3, 0), 3), 0);
	cr_assert_eq(handshake_nl_acked(bytes, error(3, 12), 3), -EPROTO);
	cr_assert_eq(handshake_nl_acked(bytes, error(2, 0), 3), -EINPROGRESS);
}

static size_t request_of(uint32_t type)
{
	begin(0x22, 5, 2);
	put_u32(1, 12);
	put_u32(3, type);
	put_u32(4, 10000);
	put_u32(5, 2);
	put_u32(6, 0x12345678);
	put_u32(6, 0x11111111);
	put_u32(99, 1);
	return end();
}

Test(handshake_nl, requests)
{
	struct kernel_handshake request;
	size_t len = request_of(1);

	cr_assert_eq(handshake_nl_accepted(bytes, len, 5, &request), 0);
	cr_assert(request.fd == 12 && !request.server && request.psk);
	cr_assert(request.timeout_ms == 10000 && request.key == 0x12345678);
	cr_assert_eq(handshake_nl_accepted(bytes, len, 6, &request), -EINPROGRESS);
	cr_assert_eq(handshake_nl_accepted(bytes, request_of(2), 5, &request), 0);
	cr_assert(request.server);
	cr_assert_eq(handshake_nl_accepted(bytes, request_of(3), 5, &request), -EPROTO);
	begin(0x22, 5, 2);
	put_u32(3, 1);
	cr_assert_eq(handshake_nl_accepted(bytes, end(), 5, &request), -EPROTO, "no descriptor");
	begin(0x22, 5, 1);
	put_u32(1, 12);
	put_u32(3, 1);
	cr_assert_eq(handshake_nl_accepted(bytes, end(), 5, &request), -EINPROGRESS, "READY");
}

Test(handshake_nl, lengths_that_lie)
{
	struct kernel_handshake request;

	for (unsigned lie = 0; lie < 200; lie++) {
		size_t len = request_of(1);

		bytes[20] = (uint8_t)lie; /* of the first attribute */
		cr_assert(handshake_nl_accepted(bytes, len, 5, &request) == -EPROTO || lie == 8,
			"%u", lie);
	}
}

Test(handshake_nl, members)
{
	static const char text[] = "sk               Eth Pid        Groups   Rmem     Wmem     "
				   "Dump  Locks    Drops    "
				   "Inode\n"
				   "00000000fb1ede1a 0   0          00000040 0        0        0   "
				   "  2        0        16\n"
				   "00000000b524adb5 16  0          00000000 0        0        0   "
				   "  2        0        17\n"
				   "00000000b524adb6 16  812        00002040 0        0        0   "
				   "  2        0        18\n";

	cr_assert(handshake_nl_has_member(text, 7));
	cr_assert(handshake_nl_has_member(text, 14));
	cr_assert_not(handshake_nl_has_member(text, 6));
	cr_assert_not(handshake_nl_has_member(text, 39), "beyond what is shown");
	cr_assert_not(handshake_nl_has_member(text, 0));
	cr_assert_not(handshake_nl_has_member("", 7));
}
