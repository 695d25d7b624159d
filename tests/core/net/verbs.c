/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What peers may write over verbs, above all on iWARP, where a READ needs a remote right to its
 * sink: only the memory of a READ that is in flight. */
/* Link: core/net/verbs.o core/net/verbs_dev.o */
#include "says.h"
#include "verbs_rig.h"

enum { EACH = 16384, BUFFERS = 8 };

static struct owner {
	struct pool *pool;
	struct ep_op op[32];
	unsigned sents;
	unsigned writable; /* by the peer, when the last `sent` came */
} owner;

static void sent(struct ep *ep, struct ep_op *op)
{
	(void)ep;
	cr_assert_eq(op, &owner.op[rig.order[owner.sents]], "not what was completed");
	owner.sents++;
	owner.writable = writable();
}

static void idle(struct ep *ep)
{
	(void)ep;
}

static const struct ep_events events = { .sent = sent, .idle = idle };

static struct verbs_ep *begin(enum ibv_transport_type transport, uint32_t ord)
{
	struct verbs_ep *ve = rig_up(transport, ord, &events);

	owner = (struct owner){ 0 };
	cr_assert_eq(pool_new(&owner.pool, EACH, BUFFERS, NULL), 0);
	cr_assert_eq(verbs_reg(&ve->ep, owner.pool, EP_READ_SINK, NULL), 0);
	return ve;
}

static void end(struct verbs_ep *ve)
{
	verbs_unreg(&ve->ep, owner.pool);
	rig_down(ve);
	pool_free(owner.pool);
}

static void post(struct verbs_ep *ve, unsigned at, enum ep_kind kind, uint32_t off, uint32_t len)
{
	owner.op[at] = (struct ep_op){ .kind = (uint8_t)kind,
		.nsge = 1,
		.rkey = 0x77,
		.sge = { { pool_buf(owner.pool, at % BUFFERS).p + off, len,
			owner.pool->key[ve->ep.dom].lkey } } };
	verbs_post(&ve->ep, &owner.op[at]);
}

/* Request `at` of the device is a READ into exactly that, with a key of its own. */
static void has_own_key(unsigned at, const uint8_t *p, uint32_t len)
{
	const struct region *region = region_of(rig.sge[at].lkey);

	cr_assert_eq(rig.wr[at].opcode, IBV_WR_RDMA_READ);
	cr_assert_eq(rig.sge[at].addr, (uintptr_t)p);
	cr_assert_eq(rig.sge[at].length, len);
	cr_assert_eq(region->mr.addr, p);
	cr_assert_eq(region->mr.length, len);
	cr_assert_eq(region->access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
}

Test(verbs, rights_of_a_pool)
{
	static const struct {
		unsigned access;
		int flags;
	} cases[] = {
		{ EP_LOCAL, 0 },
		{ EP_READ_SINK, 0 },
		{ EP_REMOTE_READ, IBV_ACCESS_REMOTE_READ },
		{ EP_REMOTE_READ | EP_READ_SINK, IBV_ACCESS_REMOTE_READ },
		{ EP_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE },
		{ EP_REMOTE_READ | EP_REMOTE_WRITE,
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE },
	};

	for (unsigned i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		struct verbs_ep *ve =
			rig_up(i & 1 ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB, 4, &events);

		cr_assert_eq(pool_new(&owner.pool, EACH, BUFFERS, NULL), 0);
		cr_assert_eq(verbs_reg(&ve->ep, owner.pool, cases[i / 2].access, NULL), 0);
		cr_assert_eq(rig.region[0].access, cases[i / 2].flags | IBV_ACCESS_LOCAL_WRITE,
			"case %u", i);
		cr_assert_eq(rig.region[0].mr.length, EACH * BUFFERS);
		end(ve);
	}
}

Test(verbs, iwarp_read_has_a_key_of_its_own_until_it_is_done)
{
	struct verbs_ep *ve = begin(IBV_TRANSPORT_IWARP, 4);

	cr_assert_eq(ve->ep.caps.read_sge, 1);
	cr_assert_eq(writable(), 0);
	post(ve, 0, EP_READ, 100, 5000);
	cr_assert_eq(writable(), 1);
	has_own_key(0, pool_buf(owner.pool, 0).p + 100, 5000);
	verbs_dev_poll(ve->dev);
	cr_assert_eq(owner.sents, 1);
	cr_assert_eq(owner.writable, 0, "the peer can change data that its owner has");
	end(ve);
}

Test(verbs, iwarp_reads_among_other_requests)
{
	struct verbs_ep *ve = begin(IBV_TRANSPORT_IWARP, 3);
	static const enum ep_kind kinds[] = { EP_READ, EP_WRITE, EP_READ, EP_SEND, EP_READ };
	static const unsigned left[] = { 2, 2, 1, 1, 0 };

	/* more rounds than the ring of keys has places */
	for (unsigned round = 0; round < 4; round++) {
		rig.posted = rig.done = rig.allowed = owner.sents = 0;
		for (unsigned i = 0; i < 5; i++)
			post(ve, i, kinds[i], 0, 4096 + i);
		cr_assert_eq(writable(), 3);
		for (unsigned i = 0; i < 5; i++) {
			if (kinds[i] == EP_READ)
				has_own_key(i, pool_buf(owner.pool, i).p, 4096 + i);
			else
				cr_assert_eq(rig.sge[i].lkey, owner.pool->key[ve->ep.dom].lkey);
			rig.allowed++;
			verbs_dev_poll(ve->dev);
			cr_assert_eq(owner.sents, i + 1);
			cr_assert_eq(owner.writable, left[i], "after request %u", i);
		}
	}
	end(ve);
}

/* siw completes a SEND when it has left, and a READ posted before it when its data has come. */
Test(verbs, iwarp_reads_that_complete_after_later_receives)
{
	struct verbs_ep *ve = begin(IBV_TRANSPORT_IWARP, 2);
	static const enum ep_kind kinds[] = { EP_READ, EP_SEND, EP_READ, EP_WRITE, EP_SEND };
	static const unsigned order[] = { 1, 0, 3, 4, 2 }, left[] = { 2, 1, 1, 1, 0 };

	/* more than the queue's positions and the owner's credit, so that each must come back */
	for (unsigned round = 0; round < 40; round++) {
		rig.posted = rig.done = rig.allowed = owner.sents = 0;
		rig.regions = 1; /* the pool's */
		for (unsigned i = 0; i < 5; i++)
			post(ve, i, kinds[i], 0, 4096);
		cr_assert_eq(rig.posted, 5, "round %u: no room left", round);
		memcpy(rig.order, order, sizeof(order));
		for (unsigned i = 0; i < 5; i++) {
			rig.allowed++;
			verbs_dev_poll(ve->dev);
			cr_assert_eq(owner.sents, i + 1);
			cr_assert_eq(owner.writable, left[i], "after completion %u", i);
		}
	}
	end(ve);
}

Test(verbs, iwarp_connection_that_dies_gives_its_keys_back)
{
	struct verbs_ep *ve = begin(IBV_TRANSPORT_IWARP, 4);

	rig.allowed = 2;
	rig.status = IBV_WC_WR_FLUSH_ERR;
	for (unsigned i = 0; i < 4; i++)
		post(ve, i, EP_READ, 0, 4096);
	cr_assert_eq(writable(), 4);
	verbs_dev_poll(ve->dev);
	cr_assert_eq(ve->ep.state, EP_CLOSING);
	cr_assert_eq(writable(), 2);
	verbs_queue_free(ve); /* the device is done with the rest */
	cr_assert_eq(writable(), 0);
	cr_assert_eq(owner.sents, 0);
	end(ve);
}

Test(verbs, iwarp_sink_that_cannot_be_registered)
{
	struct verbs_ep *ve = begin(IBV_TRANSPORT_IWARP, 4);

	post(ve, 0, EP_READ, 0, 4096);
	rig.reg_err = EPERM;
	post(ve, 1, EP_READ, 0, 8192);
	cr_assert_eq(rig.closes, 1);
	cr_assert_eq(rig.posted, 1);
	diag_says(&ve->ep.why, DIAG_PERMISSION, "", "register 8_KiB fake0");
	end(ve);
}

Test(verbs, iwarp_owner_that_posts_too_many_reads)
{
	struct verbs_ep *ve = begin(IBV_TRANSPORT_IWARP, 2);

	for (unsigned i = 0; i < 3; i++)
		post(ve, i, EP_READ, 0, 4096);
	cr_assert_eq(rig.posted, 2);
	cr_assert_eq(rig.closes, 1);
	diag_says(&ve->ep.why, DIAG_PROTOCOL, "", "2 reads");
	end(ve);
}

Test(verbs, infiniband_read_needs_no_key)
{
	struct verbs_ep *ve = begin(IBV_TRANSPORT_IB, 4);

	cr_assert_eq(ve->ep.caps.read_sge, 4);
	post(ve, 0, EP_READ, 0, 4096);
	cr_assert_eq(rig.sge[0].lkey, owner.pool->key[ve->ep.dom].lkey);
	cr_assert_eq(registered(), 1);
	cr_assert_eq(writable(), 0);
	verbs_dev_poll(ve->dev);
	cr_assert_eq(owner.sents, 1);
	end(ve);
}

Test(verbs, private_data_that_the_connection_manager_leaves)
{
	static const struct {
		enum ibv_transport_type transport;
		bool passive;
		uint32_t most;
		sa_family_t family;
	} cases[] = { { IBV_TRANSPORT_IB, false, 56 }, { IBV_TRANSPORT_IB, true, EP_PRIV_MAX },
		{ IBV_TRANSPORT_IWARP, false, EP_PRIV_MAX },
		{ IBV_TRANSPORT_IB, false, 92, ADDR_IB } };

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct verbs_ep *ve = rig_up(cases[i].transport, 4, &events);

		ve->passive = cases[i].passive;
		ve->dst.ss_family = cases[i].family;
		verbs_queue_free(ve);
		cr_assert_eq(verbs_queue_new(ve, NULL), 0);
		cr_assert_eq(ve->ep.caps.priv_max, cases[i].most, "case %u", i);
		rig_down(ve);
	}
}

/* libsiw looks for the key to invalidate where other requests have theirs, and the kernel's siw
 * refuses such a request inline. */
Test(verbs, siw_send_with_invalidate)
{
	struct verbs_ep *ve;

	rig_vendor = 0x626d74;
	ve = begin(IBV_TRANSPORT_IWARP, 4);
	cr_assert(ve->ep.caps.software);
	cr_assert_eq(ve->ep.caps.inline_max, 64);
	verbs_queue_free(ve);
	ve->passive = true;
	ve->ep.caps.inline_max = 64;
	cr_assert_eq(verbs_queue_new(ve, NULL), 0);
	cr_assert_eq(ve->ep.caps.inline_max, 0);
	post(ve, 0, EP_SEND_INVAL, 0, 16);
	cr_assert_eq(rig.wr[0].opcode, IBV_WR_SEND_WITH_INV);
	cr_assert_eq(rig.wr[0].invalidate_rkey, 0x77);
	cr_assert_eq(rig.wr[0].wr.rdma.rkey, 0x77);
	verbs_dev_poll(ve->dev);
	end(ve);
}
