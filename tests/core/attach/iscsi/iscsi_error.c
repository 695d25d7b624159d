/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Failures have the numbers of open-iscsi's tools. */
#include "../../../../core/attach/iscsi/iscsi_start.h"
#include <criterion/criterion.h>

Test(iscsi_error, logins_of_iscsistart)
{
	static const struct {
		enum diag_code code;
		unsigned status, number;
	} rows[] = {
		{ DIAG_TIMEOUT, 0, 8 },
		{ DIAG_REFUSED, 0, 8 },
		{ DIAG_NO_MODULE, 0, 12 },
		{ DIAG_BUSY, 0, 15 },
		{ DIAG_NOT_FOUND, 0, 21 },
		{ DIAG_AUTH, 0, 24 },
		{ DIAG_SYSTEM, 0, 9 },
		{ DIAG_PROTOCOL, 0, 5 },
		{ DIAG_PROTOCOL, ISCSI_LOGIN_STATUS(ISCSI_LOGIN_INITIATOR, 1), 24 },
		{ DIAG_PROTOCOL, ISCSI_LOGIN_STATUS(ISCSI_LOGIN_INITIATOR, 3), 19 },
		{ DIAG_PROTOCOL, ISCSI_LOGIN_STATUS(ISCSI_LOGIN_TARGET, 1), 8 },
	};
	const char *text;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct attach_iscsi one = { .attach.why.code = rows[i].code,
			.result.status = (uint16_t)rows[i].status };

		cr_assert_eq(iscsi_start_error(&one, &text), rows[i].number, "row %u", i);
		cr_assert(*text);
	}
}

Test(iscsi_error, statuses_of_iscsiadm)
{
	static const struct {
		enum diag_code code;
		uint8_t status;
	} rows[] = { { DIAG_REFUSED, 4 }, { DIAG_USAGE, 7 }, { DIAG_TIMEOUT, 8 },
		{ DIAG_NOT_FOUND, 21 }, { DIAG_AUTH, 24 }, { DIAG_BUSY, 28 }, { DIAG_SYSTEM, 1 } };

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(iscsi_adm_status(&(struct diag){ .code = rows[i].code }),
			rows[i].status, "row %u", i);
}
