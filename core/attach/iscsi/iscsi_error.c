/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Failures as the numbers of open-iscsi's tools (iscsiadm(8)). */
#include "iscsi_start.h"

uint8_t iscsi_adm_status(const struct diag *why)
{
	static const uint8_t status[] = {
		[DIAG_REFUSED] = 4, /* connection failed */
		[DIAG_UNREACHABLE] = 4,
		[DIAG_CLOSED] = 4,
		[DIAG_USAGE] = 7,
		[DIAG_TIMEOUT] = 8,
		[DIAG_PERMISSION] = 13,
		[DIAG_NOT_FOUND] = 21,
		[DIAG_AUTH] = 24,
		[DIAG_UNSUPPORTED] = 27,
		[DIAG_BUSY] = 28,
	};

	return why->code < sizeof(status) && status[why->code] ? status[why->code] : 1;
}

unsigned iscsi_start_error(const struct attach_iscsi *one, const char **text)
{
	static const struct {
		uint8_t number;
		uint32_t codes; /* enum diag_code that mean it */
		const char *text;
	} errors[] = {
		{ 3, 1u << DIAG_NO_MEMORY, "no available memory" },
		{ 5, 1u << DIAG_PROTOCOL, "encountered iSCSI login failure" },
		{ 8,
			1u << DIAG_REFUSED | 1u << DIAG_UNREACHABLE | 1u << DIAG_CLOSED |
				1u << DIAG_TIMEOUT,
			"connection timed out" },
		{ 12, 1u << DIAG_NO_MODULE | 1u << DIAG_NO_DEVICE,
			"iSCSI driver not found. Please make sure it is loaded, and retry the "
			"operation" },
		{ 13, 1u << DIAG_PERMISSION, "daemon access denied" },
		{ 15, 1u << DIAG_BUSY, "session exists" },
		{ 19, 0, "encountered non-retryable iSCSI login failure" },
		{ 21, 1u << DIAG_NOT_FOUND, "no objects found" },
		{ 24, 1u << DIAG_AUTH, "iSCSI login failed due to authorization failure" },
		{ 9, ~0u, "internal error" },
	};
	unsigned number = 0, i = 0;

	if (one->result.status == ISCSI_LOGIN_STATUS(ISCSI_LOGIN_INITIATOR, 1) ||
		one->result.status == ISCSI_LOGIN_STATUS(ISCSI_LOGIN_INITIATOR, 2))
		number = 24;
	else if (one->result.status >> 8 == ISCSI_LOGIN_INITIATOR)
		number = 19;
	else if (one->result.status >> 8 == ISCSI_LOGIN_TARGET) /* retried until the time was up */
		number = 8;
	while (number ? errors[i].number != number : !(errors[i].codes >> one->attach.why.code & 1))
		i++;
	*text = errors[i].text;
	return errors[i].number;
}
