/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Looking at fabrics in memory by directed route. */
/* Link: leap */
#include "walk.h"
#include "mad_port.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

static struct loop *loop;
static struct mad *mad;
static struct diag diag;

static void open_with(unsigned nodes, uint32_t answer_ms)
{
	const struct mad_limits limits = { .answer_ms = answer_ms };

	fake_fabric_init(nodes);
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	cr_assert_eq(mad_open(&mad, loop, &fake_fabric.port[0], &limits, NULL), 0);
	diag = (struct diag){ 0 };
}

static void fini(void)
{
	mad_close(mad);
	loop_free(loop);
	fake_fabric_free();
}
TestSuite(walk, .fini = fini);

static const struct mad_end_port *find(const struct mad_topology *view, uint64_t guid)
{
	for (unsigned i = 0; i < view->count; i++)
		if (view->port[i].guid == guid)
			return &view->port[i];
	return NULL;
}

Test(walk, every_port_is_seen_once)
{
	const struct mad_end_port *seen;
	struct mad_topology view;

	open_with(100, 2000);
	fake_fabric.node[31].management = false;
	fake_fabric.node[99].state = PORT_INIT;
	fake_fabric.sa_dead = true;
	cr_assert_eq(mad_walk(mad, 60000, &view, &diag), 0, "%s", diag.text);
	cr_assert_eq(view.nodes, 1 + 1 + 4 + 100, "ourselves, the root, its switches, the nodes");
	cr_assert_eq(view.count, 106);
	cr_assert_eq(view.silent, 0);
	seen = find(&view, 0x200000 + 31);
	cr_assert_not(seen->management);
	cr_assert_eq(seen->lid, 10 + 31);
	cr_assert_eq(seen->prefix, 0xfe80000000000000);
	cr_assert_eq(seen->hops, 3);
	cr_assert_arr_eq(seen->hop, ((uint8_t[]){ 1, 2, 2 }), 3);
	cr_assert_eq(find(&view, 0x200000 + 99)->state, PORT_INIT);
	cr_assert_eq(find(&view, 0x200000 + 98)->state, PORT_ACTIVE);
	cr_assert(find(&view, 0x200000 + 98)->management);
	free(view.port);
}

Test(walk, who_does_not_answer_is_counted)
{
	struct mad_topology view;

	open_with(40, 1500);
	fake_fabric.node[3].dead = fake_fabric.node[30].dead = true;
	cr_assert_eq(mad_walk(mad, 60000, &view, &diag), 0, "%s", diag.text);
	cr_assert_eq(view.silent, 2);
	cr_assert_null(find(&view, 0x200003));
	cr_assert_not_null(find(&view, 0x200004));
	free(view.port);
}

Test(walk, it_ends_when_the_time_is_up)
{
	struct mad_topology view;

	open_with(10, 5000);
	fake_fabric.node[0].dead = true;
	cr_assert_eq(mad_walk(mad, 200, &view, &diag), -ETIMEDOUT);
	diag_says(&diag, DIAG_TIMEOUT, "fake0 port 1", "fabric");
	cr_assert_null(view.port);
}

static void another_guid(void *arg, uint8_t *datagram, size_t *len)
{
	struct smp_dr *smp = (void *)datagram;
	uint64_t *guid = arg;

	(void)len;
	if (get_be16(smp->mad.attr) == SMP_NODE_INFO) {
		struct node_info *info = (void *)smp->data;

		info->type = MAD_NODE_SWITCH;
		info->ports = 255;
		info->node_guid = info->port_guid = put_be64(++*guid);
	}
}

/* Switches of 255 ports that report another GUID on each query. */
Test(walk, liars_do_not_keep_it_forever)
{
	uint64_t guid = 0x777000;
	struct mad_topology view;

	open_with(2, 50);
	fake_fabric.mangle = another_guid;
	fake_fabric.arg = &guid;
	if (!mad_walk(mad, 1000, &view, &diag))
		free(view.port);
}

Test(walk, one_route)
{
	struct mad_end_port seen;

	open_with(10, 1500);
	cr_assert_eq(mad_route_parse(&seen, "0,1,1,5", &diag), 0);
	cr_assert_eq(mad_query_route(mad, &seen, &diag), 0, "%s", diag.text);
	cr_assert_eq(seen.guid, 0x200004);
	cr_assert_eq(seen.lid, 14);
	cr_assert(seen.management);
	cr_assert_eq(mad_route_parse(&seen, "0", &diag), 0);
	cr_assert_eq(mad_query_route(mad, &seen, &diag), 0);
	cr_assert_eq(seen.guid, fake_fabric.port[0].guid);
	cr_assert_eq(mad_route_parse(&seen, "0,1,9", &diag), 0);
	cr_assert_eq(mad_query_route(mad, &seen, &diag), -ETIMEDOUT);
	diag_says(&diag, DIAG_UNREACHABLE, NULL, "timed_out");
}

Test(walk, routes_are_checked)
{
	static const char *const bad[] = { "", "1", "0,", ",0", "0,0", "0,256", "0,-1", "0,1x",
		"0;1", "x" };
	char text[400] = "0";
	struct mad_end_port seen;

	open_with(1, 100);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_assert_eq(mad_route_parse(&seen, bad[i], &diag), -EINVAL, "%s", bad[i]);
	for (unsigned i = 0; i < 63; i++)
		strcat(text, ",255");
	cr_assert_eq(mad_route_parse(&seen, text, &diag), 0);
	cr_assert_eq(seen.hops, 63);
	strcat(text, ",1");
	cr_assert_eq(mad_route_parse(&seen, text, &diag), -E2BIG);
}
