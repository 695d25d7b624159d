/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The disks of a host: input, disks without duplicates, and the reason for an empty list. */
#include "services.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct disk_search s;
static struct diag diag;

static void init(void)
{
	s = (struct disk_search){ .text = "host" };
	diag = (struct diag){ 0 };
}
TestSuite(disk_search, .init = init);

Test(disk_search, hosts_and_uris_are_read)
{
	static const struct {
		const char *text, *host;
		unsigned port;
		bool all;
	} rows[] = {
		{ "10.0.0.1", "10.0.0.1", 0, true },
		{ "server:4420", "server", 4420, true },
		{ "fd00::1", "fd00::1", 0, true },
		{ "[fd00::1]:4420", "fd00::1", 4420, true },
		{ "nvme+tcp://server:4420", "server", 4420, false },
		{ "nvme+tcp://server/nqn.x", NULL, 0, false },
		{ "", NULL, 0, false },
		{ "a/b", NULL, 0, false },
		{ "user@host", NULL, 0, false },
		{ ":4420", NULL, 0, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int err;

		init();
		err = disk_search_read(&s, rows[i].text, &diag);
		cr_assert_eq(err, rows[i].host ? 0 : -EINVAL, "%s: %s", rows[i].text, diag.text);
		if (err)
			continue;
		cr_assert_str_eq(s.host.host, rows[i].host);
		cr_assert_eq(s.host.port, rows[i].port);
		cr_assert_eq(s.all, rows[i].all);
	}
}

Test(disk_search, disks_are_listed_once_up_to_a_limit)
{
	char uri[64];

	disk_search_add("nbd://host/a", &s);
	disk_search_add("nbd://host/a", &s);
	disk_search_add("nbd://host", &s);
	cr_assert(s.count == 1 && s.listed == 2);
	for (unsigned i = 1; i < DISK_SEARCH_MAX; i++) {
		snprintf(uri, sizeof(uri), "nbd://host/%u", i);
		disk_search_add(uri, &s);
	}
	cr_assert(s.count == DISK_SEARCH_MAX && !s.more);
	disk_search_add("nbd://host/more", &s);
	cr_assert(s.count == DISK_SEARCH_MAX && s.more);
	disk_search_free(&s);
}

static void failed(enum diag_code code, const char *text)
{
	struct disk_query *query = &s.query[s.queries];

	query->service = &services[s.queries++];
	diag_set(&query->why, code, EIO, "%s", text);
}

Test(disk_search, the_shared_reason_is_reported)
{
	failed(DIAG_NOT_FOUND, "no such host");
	failed(DIAG_NOT_FOUND, "no such host");
	cr_assert(disk_search_same_reason(&s));
	cr_assert_eq(disk_search_none(&s, &diag), -EIO);
	diag_says(&diag, DIAG_NOT_FOUND, "host", "no_such_host");
}

Test(disk_search, a_refused_list_is_reported)
{
	failed(DIAG_REFUSED, "refused");
	failed(DIAG_AUTH, "CHAP required");
	failed(DIAG_NOT_FOUND, "no target");
	cr_assert_eq(disk_search_none(&s, &diag), -EIO);
	diag_says(&diag, DIAG_AUTH, "host", "NVMe_over_RDMA CHAP");
}

Test(disk_search, otherwise_there_is_no_disk)
{
	failed(DIAG_REFUSED, "refused");
	failed(DIAG_NOT_FOUND, "no target");
	cr_assert_eq(disk_search_none(&s, &diag), -ENOENT);
	diag_says(&diag, DIAG_NOT_FOUND, "host", "no_disk lists_none");
	s.queries = 0;
	diag = (struct diag){ 0 };
	failed(DIAG_REFUSED, "refused");
	failed(DIAG_REFUSED, "refused by another");
	cr_assert_eq(disk_search_none(&s, &diag), -EIO);
	diag_says(&diag, DIAG_REFUSED, "host", "no_protocol default_port HOST:PORT");
}
