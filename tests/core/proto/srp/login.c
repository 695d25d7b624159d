/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The initiator's login byte by byte, as SRP r16a, table 12, and Linux's struct srp_login_req_rdma
 * have it, and where it is sent: both forms of the request, and the identifiers of targets of
 * revision 10. The targets of the pair tests share wire/srp.h with the initiator, so that they
 * would not notice a field at a wrong place. */
#include "ep_pair.h"
#include "host.h"
#include "says.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#define SERVICE "srp://fe800000000000000002c90300003001/0002c903000e8acd/0002c903000e8ace"
#define CM      "srp+cm://10.0.0.1:5555/0002c903000e8acd/0002c903000e8ace"

static const struct bdev_env env = { .timeout_ms = NO_LIMIT_MS, .hostid = "HOSTHOST" };
static struct ep_peer peer;
static uint8_t sent[EP_PRIV_MAX];
static unsigned sent_len;
static const void *answer; /* to the login; NULL: refused without data */
static unsigned answer_len;
static bool is_refused;

static void request(struct ep_peer *me, struct ep *ep, const uint8_t *priv, unsigned len)
{
	(void)me;
	memcpy(sent, priv, len);
	sent_len = len;
	if (is_refused)
		ep_pair_reject(ep, 28, answer, answer_len);
	else
		ep_pair_accept(ep, answer, answer_len);
}

/* The disk does not come up. */
static void log_in(const char *uri)
{
	host_begin(0);
	peer = (struct ep_peer){ .request = request };
	ep_pair_peer(loop, &peer);
	cr_assert_lt(host_attach(uri, &env), 0);
	host_end();
}

static void log_in_refused(const char *uri)
{
	answer = NULL;
	answer_len = 0;
	is_refused = true;
	log_in(uri);
}

#define INITIATOR     0, 0, 0, 0, 0, 0, 0, 5, 'H', 'O', 'S', 'T', 'H', 'O', 'S', 'T'
#define INITIATOR_R10 'H', 'O', 'S', 'T', 'H', 'O', 'S', 'T', 0, 0, 0, 0, 0, 0, 0, 5
#define ID_EXT        0x00, 0x02, 0xc9, 0x03, 0x00, 0x0e, 0x8a, 0xce
#define IOC_GUID      0x00, 0x02, 0xc9, 0x03, 0x00, 0x0e, 0x8a, 0xcd

static void expect(const uint8_t *bytes, size_t len)
{
	cr_assert_eq(sent_len, len);
	for (unsigned i = 0; i < len; i++)
		cr_assert_eq(sent[i], bytes[i], "byte %u: %#x", i, sent[i]);
}

Test(srp_login, the_request_by_rdma_cm)
{
	static const uint8_t bytes[56] = { [9] = 0x06, /* direct and indirect descriptors */
		0x80,
		0x00, /* immediate data; SRP_LOGIN_REQ */
		0x00,
		0x00,
		0x20,
		0x40, /* 64 bytes and 8 KiB */
		INITIATOR,
		ID_EXT,
		IOC_GUID,
		0x00,
		0x40 };
	static const uint8_t plain[56] = {
		[9] = 0x06, 0x00, 0x00, 0x00, 0x00, 0x01, 0x40, INITIATOR, ID_EXT, IOC_GUID
	};

	log_in_refused(CM "?initiator_ext=5");
	expect(bytes, sizeof(bytes));
	cr_assert_eq(peer.dst.ss.ss_family, AF_INET);
	log_in_refused(CM "?initiator_ext=5&immediate=no");
	expect(plain, sizeof(plain));
}

Test(srp_login, the_request_by_a_service_on_infiniband)
{
	static const uint8_t bytes[64] = { [16] = 0x00,
		0x00,
		0x20,
		0x40,
		[25] = 0x06,
		0x80,
		0x00,
		0x00,
		0x40,
		[32] = INITIATOR,
		ID_EXT,
		IOC_GUID };
	static const char *const uris[] = { SERVICE "?service_id=7&initiator_ext=5",
		SERVICE "?service_id=7&initiator_ext=5&io_class=0100",
		SERVICE "?service_id=7&initiator_ext=5&io_class=100" };

	for (unsigned i = 0; i < sizeof(uris) / sizeof(*uris); i++) {
		log_in_refused(uris[i]);
		expect(bytes, sizeof(bytes));
	}
}

/* As Linux's srp_send_req() has it: the GUID first in both identifiers, and nothing else differs.
 */
Test(srp_login, the_identifiers_for_a_target_of_revision_10)
{
	static const uint8_t bytes[64] = { [16] = 0x00,
		0x00,
		0x20,
		0x40,
		[25] = 0x06,
		0x80,
		0x00,
		0x00,
		0x40,
		[32] = INITIATOR_R10,
		IOC_GUID,
		ID_EXT };
	static const char *const uris[] = { SERVICE "?service_id=7&initiator_ext=5&io_class=ff00",
		SERVICE "?service_id=7&initiator_ext=5&io_class=FF00" };

	for (unsigned i = 0; i < sizeof(uris) / sizeof(*uris); i++) {
		log_in_refused(uris[i]);
		expect(bytes, sizeof(bytes));
	}
}

/* RDMA/CM asks the SA for a path in this partition, and connects in it. */
Test(srp_login, the_partition_and_the_service_of_the_connection)
{
	static const struct {
		const char *uri;
		uint16_t pkey;
		uint64_t service;
	} rows[] = { { SERVICE "?service_id=7", 0xffff, 7 },
		{ SERVICE "?pkey=ffff&service_id=0002c903000e8acd", 0xffff, 0x0002c903000e8acd },
		{ SERVICE "?pkey=8102&service_id=7", 0x8102, 7 },
		{ SERVICE "?pkey=203&service_id=7", 0x0203, 7 }, /* a limited member */
		{ SERVICE "?pkey=7fff&service_id=ffffffffffffffff", 0x7fff, UINT64_MAX } };
	static const uint8_t gid[16] = { 0xfe, 0x80, [8] = 0, 2, 0xc9, 3, 0, 0, 0x30, 1 };

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct addr_ib to;

		log_in_refused(rows[i].uri);
		cr_assert_eq(peer.dst.ss.ss_family, ADDR_IB);
		memcpy(&to, &peer.dst.ss, sizeof(to));
		cr_assert_eq(get_be16(to.pkey), rows[i].pkey, "%s", rows[i].uri);
		cr_assert_arr_eq(to.gid, gid, sizeof(gid));
		cr_assert_eq(addr_service(&peer.dst), rows[i].service, "%s", rows[i].uri);
	}
}

static void answered(
	const char *uri, bool is_reject, const uint8_t *bytes, unsigned len, const char *words)
{
	answer = bytes;
	answer_len = len;
	is_refused = is_reject;
	log_in(uri);
	text_says(why.text, words);
}

/* SRP_LOGIN_REJ of r16a, table 14. */
Test(srp_login, the_reason_of_a_refusal)
{
	static const uint8_t rej[32] = { 0xc2, [4] = 0x00, 0x01, 0x00, 0x03, [25] = 0x06 };

	answered(CM, true, rej, sizeof(rej), "ID_EXT IOC_GUID 0x00010003");
	answered(SERVICE "?service_id=7", true, rej, sizeof(rej), "ID_EXT IOC_GUID 0x00010003");
	answered(SERVICE "?service_id=7&io_class=ff00", true, rej, sizeof(rej), "0x00010003");
}

/* SRP_LOGIN_RSP of r16a, table 13: the request limit, and the longest request that the target
 * takes.
 */
Test(srp_login, the_limits_of_a_response)
{
	static const uint8_t no_request[52] = { 0xc0, [4] = 0xff, 0xff, 0xff, 0xfd, [16] = 0x00,
		0x00, 0x20, 0x40, 0x00, 0x00, 0x01, 0x40, 0x00, 0x06, 0x10 };
	static const uint8_t too_short[52] = { 0xc0, [4] = 0x00, 0x00, 0x00, 0x40, [16] = 0x00,
		0x00, 0x00, 0x3f, 0x00, 0x00, 0x01, 0x40, 0x00, 0x06, 0x10 };

	answered(CM, false, no_request, sizeof(no_request), "limit_-3");
	answered(CM, false, too_short, sizeof(too_short), "63_bytes");
	answered(CM, false, no_request, sizeof(no_request) - 1, "without login_response");
}
