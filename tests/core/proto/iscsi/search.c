/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The merged lists of two carriers, the carrier to use, and which failure is reported. */
#include "iscsi.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static struct iscsi_record tcp[] = { { "iqn.a", "10.0.0.1", 3260, 1 },
	{ "iqn.b", "10.0.0.1", 3260, 1 }, { "iqn.a", "10.0.0.1", 3260, 1 } };
static struct iscsi_record iser[] = { { "iqn.a", "10.0.0.1", 3260, 1 },
	{ "iqn.a", "10.0.0.2", 3260, 1 }, { "iqn.a", "10.0.0.1", 3261, 1 },
	{ "iqn.a", "10.0.0.1", 3260, 2 } };

static void fill(struct iscsi_search *s)
{
	*s = (struct iscsi_search){ .enabled = { true, true } };
	s->found[ISCSI_TCP] = (struct iscsi_target_list){ .record = tcp, .count = 3 };
	s->found[ISCSI_ISER] = (struct iscsi_target_list){ .record = iser, .count = 4 };
}

Test(iscsi_search, each_record_is_listed_once)
{
	const struct iscsi_record *expected[] = { &tcp[0], &tcp[1], &iser[1], &iser[2], &iser[3] };
	const struct iscsi_record *record = NULL;
	static struct iscsi_search s;
	unsigned n = 0;

	cr_assert_null(iscsi_search_next(&s, NULL));
	fill(&s);
	while ((record = iscsi_search_next(&s, record))) {
		cr_assert_lt(n, sizeof(expected) / sizeof(expected[0]));
		cr_assert_eq(record, expected[n++]);
	}
	cr_assert_eq(n, sizeof(expected) / sizeof(expected[0]));
}

Test(iscsi_search, iser_is_used_where_it_answers)
{
	struct iscsi_probe answers = { .answers = true }, silent = { 0 };
	static struct iscsi_search s;

	fill(&s);
	cr_assert_eq(iscsi_search_carrier(&s, &tcp[0]), ISCSI_TCP, "not probed");
	cr_assert_eq(iscsi_search_carrier(&s, &iser[1]), ISCSI_ISER);
	s.portal[s.portals++] = (struct iscsi_portal){ .record = &tcp[1] };
	s.portal[0].probe[ISCSI_TCP] = &answers;
	s.portal[0].probe[ISCSI_ISER] = &silent;
	cr_assert_eq(iscsi_search_portal(&s, &tcp[0]), &s.portal[0]);
	cr_assert_null(iscsi_search_portal(&s, &iser[1]));
	cr_assert_eq(iscsi_search_carrier(&s, &iser[3]), ISCSI_TCP, "the same portal");
	s.portal[0].probe[ISCSI_ISER] = &answers;
	cr_assert_eq(iscsi_search_carrier(&s, &tcp[0]), ISCSI_ISER);
	s.portal[0].probe[ISCSI_TCP] = s.portal[0].probe[ISCSI_ISER] = &silent;
	cr_assert_eq(iscsi_search_carrier(&s, &tcp[0]), ISCSI_TCP, "that has listed it");
}

Test(iscsi_search, the_failure_is_of_the_carrier_that_reached_the_portal)
{
	static const struct {
		bool tcp_enabled, iser_enabled;
		enum diag_code tcp, iser, reported;
	} rows[] = {
		{ true, true, DIAG_NONE, DIAG_REFUSED, DIAG_NONE },
		{ true, true, DIAG_REFUSED, DIAG_NONE, DIAG_NONE },
		{ true, true, DIAG_AUTH, DIAG_TIMEOUT, DIAG_AUTH },
		{ true, true, DIAG_REFUSED, DIAG_AUTH, DIAG_AUTH },
		{ true, true, DIAG_REFUSED, DIAG_NO_DEVICE, DIAG_REFUSED },
		{ true, true, DIAG_REFUSED, DIAG_NO_MODULE, DIAG_REFUSED },
		{ true, false, DIAG_REFUSED, DIAG_NONE, DIAG_REFUSED },
		{ false, true, DIAG_NONE, DIAG_TIMEOUT, DIAG_TIMEOUT },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static struct iscsi_search s;
		struct diag diag = { 0 };

		s.enabled[ISCSI_TCP] = rows[i].tcp_enabled;
		s.enabled[ISCSI_ISER] = rows[i].iser_enabled;
		s.why[ISCSI_TCP] =
			(struct diag){ .err = rows[i].tcp ? EIO : 0, .code = (uint8_t)rows[i].tcp };
		s.why[ISCSI_ISER] = (struct diag){ .err = rows[i].iser ? EIO : 0,
			.code = (uint8_t)rows[i].iser };
		cr_assert_eq(iscsi_search_status(&s, &diag), rows[i].reported ? -EIO : 0);
		cr_assert_eq(diag.code, rows[i].reported, "row %zu", i);
	}
}
