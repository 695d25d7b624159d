/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The ports to query, on fabrics in memory. */
/* Link: leap */
#include "mad_port.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>

static struct loop *loop;
static struct mad *mad;
static struct diag diag;
static unsigned notes;
static char last[512];

static void note(void *arg, const char *text)
{
	(void)arg;
	notes++;
	snprintf(last, sizeof(last), "%s", text);
}

static void init(void)
{
	fake_fabric_init(100);
	fake_fabric.sa_dead = true;
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	cr_assert_eq(mad_open(&mad, loop, &fake_fabric.port[0],
			     &(struct mad_limits){ .answer_ms = 2000 }, NULL),
		0);
}

static void fini(void)
{
	mad_close(mad);
	loop_free(loop);
	fake_fabric_free();
}
TestSuite(mad_select, .init = init, .fini = fini);

Test(mad_select, nothing_is_the_whole_fabric)
{
	struct mad_selection s = { .note = note };

	cr_assert_eq(mad_select_find(&s, mad, 0, &diag), 0, "%s", diag.text);
	cr_assert_null(mad_select_ports(&s));
	mad_select_free(&s);
}

Test(mad_select, lids_and_gids_are_taken_as_they_are)
{
	struct mad_selection s = { .note = note };

	cr_assert_eq(mad_select_lid(&s, 41, &diag), 0);
	cr_assert_eq(mad_select_gid(&s, "fe80::1", &diag), 0);
	cr_assert_eq(mad_select_find(&s, mad, 0, &diag), 0, "%s", diag.text);
	cr_assert_eq(s.count, 2);
	cr_assert_eq(mad_select_ports(&s)[0].lid, 41);
	cr_assert(mad_select_ports(&s)[1].gid[15] == 1 && !mad_select_ports(&s)[1].lid);
	cr_assert_lt(mad_select_gid(&s, "::ffff:10.0.0.1", &diag), 0);
	diag_says(&diag, DIAG_UNSUPPORTED, "", "--gid IPv4");
	mad_select_free(&s);
}

Test(mad_select, a_walk_finds_ports_with_device_management)
{
	struct mad_selection s = { .walk = true, .note = note };

	fake_fabric.node[31].management = false;
	fake_fabric.node[99].state = PORT_INIT;
	cr_assert_eq(mad_select_find(&s, mad, 60000, &diag), 0, "%s", diag.text);
	cr_assert_eq(s.count, 98);
	for (unsigned i = 0; i < s.count; i++)
		cr_assert(s.port[i].known && s.port[i].lid != 10 + 31 && s.port[i].lid != 10 + 99);
	cr_assert_eq(notes, 2, "its size, and the port that is not active");
	mad_select_free(&s);
}

Test(mad_select, a_walk_that_finds_no_port_selects_none)
{
	struct mad_selection s = { .walk = true, .note = note };

	for (unsigned i = 0; i < 100; i++)
		fake_fabric.node[i].management = false;
	cr_assert_eq(mad_select_find(&s, mad, 60000, &diag), 0, "%s", diag.text);
	cr_assert_eq(s.count, 0);
	cr_assert_not_null(mad_select_ports(&s), "not the whole fabric");
	mad_select_free(&s);
}

Test(mad_select, routes_end_at_ports_with_a_lid)
{
	struct mad_selection s = { .note = note }, down = { .note = note }, none = { .note = note };

	fake_fabric.node[99].state = PORT_INIT;
	cr_assert_eq(mad_select_route(&s, "0,1,2,2", &diag), 0);
	cr_assert_eq(mad_select_find(&s, mad, 0, &diag), 0, "%s", diag.text);
	cr_assert_eq(s.count, 1);
	cr_assert_eq(s.port[0].lid, 10 + 31);
	mad_select_free(&s);
	cr_assert_lt(mad_select_route(&none, "1,2", &diag), 0);
	diag_says(&diag, DIAG_USAGE, "", "route 1,2");
	mad_select_free(&none);
	diag = (struct diag){ 0 };
	fake_fabric.node[31].state = PORT_INIT;
	cr_assert_eq(mad_select_route(&down, "0,1,2,2", &diag), 0);
	cr_assert_eq(mad_select_find(&down, mad, 0, &diag), -EHOSTUNREACH);
	text_says(last, "0,1,2,2");
	mad_select_free(&down);
}
