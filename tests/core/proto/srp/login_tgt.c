/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target's side of a login byte by byte: the requests of Linux's ib_srp in both forms, also
 * with the identifiers of SRP revision 10, and what it reads of the response. */
#include "disk.h"
#include "ep_pair.h"
#include "host.h"
#include "serve.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>

static struct fake_disk *backing;
static struct target *target;
static struct target_options opt;
static struct ep_peer peer;

static void begin(sa_family_t family)
{
	static const uint8_t gid[16] = { 0xfe, 0x80, [15] = 1 };

	host_begin(0);
	peer = (struct ep_peer){ 0 };
	ep_pair_peer(loop, &peer);
	backing = fake_disk_new(loop, 1 << 20, 512);
	opt.disk[0] = (struct target_disk_options){ .bdev = &backing->bdev, .uuid = "TARGETID" };
	opt.disks = opt.listens = opt.nloops = 1;
	opt.loops = &loop;
	opt.listen[0].transports = TRANSPORT_VERBS;
	opt.listen[0].at.ss.ss_family = family;
	if (family == ADDR_IB)
		addr_set_ib(&opt.listen[0].at, gid, 0xffff, 7);
	cr_assert_eq(srp_serve(&target, loop, &opt, 1000, NULL), 0);
}

static void end(void)
{
	struct diag diag = { 0 };

	cr_assert_eq(target_stop(target, NO_LIMIT_MS, &diag), 0, "%s", diag.text);
	fake_disk_free(backing);
	host_end();
}

static void log_in(const uint8_t *request, unsigned len)
{
	volatile int never = 0;

	peer.called = NULL;
	peer.rejected = false;
	cr_assert(ep_pair_call(&peer, request, len, 4));
	for (int i = 0; i < 6; i++)
		loop_wait(loop, &never, loop_clock() + 1000000);
}

static void begins_with(const uint8_t *bytes, unsigned len)
{
	for (unsigned i = 0; i < len; i++)
		cr_assert_eq(peer.reply[i], bytes[i], "byte %u: %#x", i, peer.reply[i]);
}

static void expect(const uint8_t *bytes, unsigned len)
{
	cr_assert_eq(peer.reply_len, len);
	begins_with(bytes, len);
}

/* Behind the response is which target it is. */
static void accepts(const uint8_t bytes[52])
{
	static const uint8_t magic[] = { 'r', 'd', 'm', 'a', 's', 't', 'o', 'r' };

	cr_assert_not_null(peer.called);
	cr_assert_eq(peer.reply_len, 52 + 16);
	begins_with(bytes, 52);
	cr_assert_arr_eq(peer.reply + 52, magic, sizeof(magic));
}

#define TAG       1, 2, 3, 4, 5, 6, 7, 8
#define INITIATOR 0, 0, 0, 0, 0, 0, 0, 5, 'H', 'O', 'S', 'T', 'H', 'O', 'S', 'T'
#define ID        'T', 'A', 'R', 'G', 'E', 'T', 'I', 'D'

/* 64 requests of up to 8,260 bytes; responses of up to 64; both kinds of descriptors. */
#define RESPONSE 0xc0, 0, 0, 0, 0, 0, 0, 64, TAG, 0, 0, 0x20, 0x44, 0, 0, 0, 64, 0, 0x06

/* struct srp_login_req_rdma, with immediate data from byte 68 on as Linux has it. */
static const uint8_t by_cm[56] = { TAG, 0, 0x06, 0x80, 0x00, 0, 0, 0x20, 0x44, INITIATOR, ID, ID, 0,
	68 };
/* struct srp_login_req */
static const uint8_t by_service[64] = { 0x00, [8] = TAG, 0, 0, 0x20, 0x44, [25] = 0x06, 0x80, 0x00,
	0, 68, [32] = INITIATOR, ID, ID };

Test(srp_login_tgt, a_login_by_rdma_cm)
{
	static const uint8_t bytes[52] = { RESPONSE, 0x80 };

	begin(AF_INET);
	log_in(by_cm, sizeof(by_cm));
	accepts(bytes);
	log_in(by_cm, sizeof(by_cm) - 1);
	cr_assert(peer.rejected);
	end();
}

Test(srp_login_tgt, a_login_by_a_service_on_infiniband)
{
	static const uint8_t bytes[52] = { RESPONSE, 0x80 };

	begin(ADDR_IB);
	log_in(by_service, sizeof(by_service));
	accepts(bytes);
	log_in(by_service, sizeof(by_service) - 1);
	cr_assert(peer.rejected);
	end();
}

/* An add_target line with io_class=ff00: the initiator sends its GUID first. Our ID_EXT is our
 * IOC_GUID, so that the target is found in either order; what --allow-initiator names is compared
 * as it was sent. */
Test(srp_login_tgt, an_initiator_with_identifiers_of_revision_10)
{
	static const uint8_t old[16] = { 'H', 'O', 'S', 'T', 'H', 'O', 'S', 'T', [15] = 5 };
	static const uint8_t bytes[52] = { RESPONSE, 0x80 };
	uint8_t request[64];

	memcpy(request, by_service, sizeof(request));
	memcpy(request + 32, old, sizeof(old));
	opt.hosts = 1;
	opt.host[0] = "484f5354484f53540000000000000005";
	begin(ADDR_IB);
	log_in(request, sizeof(request));
	accepts(bytes);
	log_in(by_service, sizeof(by_service));
	cr_assert(peer.rejected, "the order of r16a is another port");
	end();
}

/* As Linux's srp_cm_rej_handler() reads it. */
Test(srp_login_tgt, a_refusal)
{
	static const uint8_t bytes[32] = { 0xc2, [4] = 0x00, 0x01, 0x00, 0x03, TAG, [25] = 0x06 };
	uint8_t request[64];

	memcpy(request, by_service, sizeof(request));
	request[63]++;
	begin(ADDR_IB);
	log_in(request, sizeof(request));
	cr_assert(peer.rejected);
	expect(bytes, sizeof(bytes));
	end();
}
