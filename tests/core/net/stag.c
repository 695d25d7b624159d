/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Steering tags: bounds, rights, owners, and tags that have gone stale. */
#include "stag.h"
#include "dom.h"
#include "says.h"
#include <criterion/criterion.h>
#include <stdlib.h>

static struct loop *loop;
static struct stags *stags;
static struct stag_holds mine, others;
static struct pool *pool;
static uint32_t stag;

static void set_up(void)
{
	struct diag diag;

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &diag), 0);
	cr_assert_eq(stags_of_loop(&stags, loop, &diag), 0);
	cr_assert_eq(pool_new(&pool, 4096, 4, &diag), 0);
	cr_assert_eq(stag_reg(stags, &mine, pool, EP_REMOTE_WRITE, &diag), 0);
	stag = pool->key[stags->dom].rkey;
}

static void tear_down(void)
{
	while (pool->refs[stags->dom]) {
		stag_unreg(stags, &mine, pool);
		stag_unreg(stags, &others, pool);
	}
	pool_free(pool);
	free(mine.hold);
	free(others.hold);
	loop_free(loop);
}

TestSuite(stag, .init = set_up, .fini = tear_down);

static enum stag_fault find(uint64_t to, uint32_t len)
{
	uint8_t *p = NULL;
	enum stag_fault fault = stag_find(stags, &mine, stag, to, len, EP_REMOTE_WRITE, &p);

	if (!fault)
		cr_assert_eq(p, pool->base + to);
	return fault;
}

Test(stag, bounds)
{
	cr_assert_eq(find(0, 1), STAG_OK);
	cr_assert_eq(find(0, 4 * 4096), STAG_OK);
	cr_assert_eq(find(4 * 4096 - 1, 1), STAG_OK);
	cr_assert_eq(find(4 * 4096, 0), STAG_OK);
	cr_assert_eq(find(0, 4 * 4096 + 1), STAG_BOUNDS);
	cr_assert_eq(find(4 * 4096 - 1, 2), STAG_BOUNDS);
	cr_assert_eq(find(4096, UINT32_MAX), STAG_BOUNDS);
	cr_assert_eq(find((uintptr_t)pool->base, 1), STAG_BOUNDS);
	cr_assert_eq(find(UINT64_MAX, 1), STAG_WRAP);
	cr_assert_eq(find(UINT64_MAX - 10, 100), STAG_WRAP);
}

Test(stag, rights_are_those_this_endpoint_gave)
{
	uint8_t *p;

	cr_assert_eq(stag_find(stags, &mine, stag, 0, 1, EP_REMOTE_READ, &p), STAG_RIGHTS);
	cr_assert_eq(stag_find(stags, &mine, stag, 0, 1, EP_READ_SINK, &p), STAG_RIGHTS);
	cr_assert_eq(stag_reg(stags, &others, pool, EP_REMOTE_READ, NULL), 0);
	cr_assert_eq(pool->key[stags->dom].rkey, stag, "one pool has one tag");
	cr_assert_eq(stag_find(stags, &others, stag, 0, 1, EP_REMOTE_READ, &p), STAG_OK);
	cr_assert_eq(stag_find(stags, &others, stag, 0, 1, EP_REMOTE_WRITE, &p), STAG_RIGHTS);
	cr_assert_eq(stag_find(stags, &mine, stag, 0, 1, EP_REMOTE_READ, &p), STAG_RIGHTS);
}

Test(stag, another_endpoints_memory_is_out_of_reach)
{
	uint8_t *p;

	cr_assert_eq(stag_find(stags, &others, stag, 0, 1, EP_REMOTE_WRITE, &p), STAG_NOT_YOURS);
	cr_assert_eq(stag_invalidate(stags, &others, stag), STAG_NOT_YOURS);
}

Test(stag, wild_tags)
{
	uint8_t *p;

	for (uint64_t wild = 0; wild <= UINT32_MAX; wild += 251)
		if (wild != stag)
			cr_assert_neq(
				stag_find(stags, &mine, (uint32_t)wild, 0, 1, 0, &p), STAG_OK);
	for (unsigned bit = 0; bit < 32; bit++)
		cr_assert_eq(stag_find(stags, &mine, stag ^ 1u << bit, 0, 1, 0, &p), STAG_UNKNOWN);
}

Test(stag, a_registration_counts)
{
	uint32_t old = stag;
	uint8_t *p;

	cr_assert_eq(stag_reg(stags, &mine, pool, EP_REMOTE_WRITE, NULL), 0);
	stag_unreg(stags, &mine, pool);
	cr_assert_eq(find(0, 1), STAG_OK);
	stag_unreg(stags, &mine, pool);
	cr_assert_eq(find(0, 1), STAG_UNKNOWN);
	cr_assert_eq(pool->refs[stags->dom], 0);
	stag_unreg(stags, &mine, pool);
	cr_assert_eq(pool->refs[stags->dom], 0);
	cr_assert_eq(stag_reg(stags, &mine, pool, EP_REMOTE_WRITE, NULL), 0);
	cr_assert_neq(pool->key[stags->dom].rkey, old, "a late message must not find the new one");
	cr_assert_eq(stag_find(stags, &mine, old, 0, 1, 0, &p), STAG_UNKNOWN);
}

Test(stag, withdrawn_until_it_is_registered_again)
{
	cr_assert_eq(stag_invalidate(stags, &mine, stag), STAG_OK);
	cr_assert_eq(find(0, 1), STAG_UNKNOWN);
	cr_assert_eq(stag_invalidate(stags, &mine, stag), STAG_UNKNOWN);
	cr_assert_eq(stag_reg(stags, &mine, pool, EP_REMOTE_WRITE, NULL), 0);
	cr_assert_eq(find(0, 1), STAG_OK);
}

Test(stag, what_the_peer_may_not_reach_it_cannot_withdraw)
{
	cr_assert_eq(stag_reg(stags, &others, pool, EP_READ_SINK, NULL), 0);
	cr_assert_eq(stag_invalidate(stags, &others, stag), STAG_RIGHTS);
}

Test(stag, many_pools)
{
	struct pool *many[40];
	uint8_t *p;

	for (unsigned i = 0; i < 40; i++) {
		cr_assert_eq(pool_new(&many[i], 4096, 1, NULL), 0);
		cr_assert_eq(stag_reg(stags, &mine, many[i], EP_REMOTE_WRITE, NULL), 0);
	}
	for (unsigned i = 0; i < 40; i++) {
		uint32_t tag = many[i]->key[stags->dom].rkey;
		cr_assert_eq(stag_find(stags, &mine, tag, 0, 4096, EP_REMOTE_WRITE, &p), STAG_OK);
		cr_assert_eq(p, many[i]->base);
		cr_assert_eq(
			stag_find(stags, &mine, tag, 4096, 1, EP_REMOTE_WRITE, &p), STAG_BOUNDS);
	}
	for (unsigned i = 0; i < 40; i++) {
		stag_unreg(stags, &mine, many[i]);
		pool_free(many[i]);
	}
}

Test(stag, domains_are_numbered_apart)
{
	struct diag diag;
	uint8_t dom, count = 1;

	while (!dom_alloc(loop, &dom, &diag)) {
		cr_assert_neq(dom, stags->dom);
		count++;
	}
	cr_assert_eq(count, POOL_DOMS);
	diag_says(&diag, DIAG_UNSUPPORTED, "", "8 RDMA_device");
	dom_free(loop, dom = stags->dom == 3 ? 4 : 3);
	cr_assert_eq(dom_alloc(loop, &count, &diag), 0);
	cr_assert_eq(count, dom);
}
