/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Texts of login statuses and Reject reasons (RFC 7143, 11.13.5 and 11.17.1). */
#include "login.h"
#include <errno.h>

static const struct {
	uint16_t status; /* class and detail */
	uint8_t code;
	int err;
	const char *text;
} statuses[] = {
	{ ISCSI_INITIATOR_ERROR, DIAG_REFUSED, EPROTO,
		"the target rejects the login as an initiator error" },
	{ ISCSI_NOT_PROVED, DIAG_AUTH, EACCES, "authentication failed" },
	{ ISCSI_FORBIDDEN, DIAG_AUTH, EPERM, "the target does not allow this initiator" },
	{ ISCSI_NOT_FOUND, DIAG_NOT_FOUND, ENOENT, "no target of this name" },
	{ ISCSI_REMOVED, DIAG_NOT_FOUND, ENOENT, "the target was removed without a new address" },
	{ ISCSI_OTHER_VERSION, DIAG_UNSUPPORTED, EPROTONOSUPPORT,
		"the target does not support this version of iSCSI" },
	{ ISCSI_TOO_MANY, DIAG_BUSY, EBUSY,
		"the target accepts no more connections in this session" },
	{ ISCSI_MISSING, DIAG_REFUSED, EINVAL, "the target reports a missing login parameter" },
	{ ISCSI_NOT_INCLUDED, DIAG_REFUSED, EINVAL,
		"the target can't add this connection to the session" },
	{ ISCSI_SESSION_TYPE, DIAG_UNSUPPORTED, EOPNOTSUPP,
		"the target does not support this type of session" },
	{ ISCSI_NO_SESSION, DIAG_NOT_FOUND, ENOENT, "the target does not know this session" },
	{ ISCSI_OUT_OF_PLACE, DIAG_PROTOCOL, EPROTO,
		"the target reports an invalid request during login" },
	{ ISCSI_TARGET_ERROR, DIAG_IO, EREMOTEIO, "internal error of the target" },
	{ ISCSI_UNAVAILABLE, DIAG_BUSY, EAGAIN, "the target is temporarily unavailable" },
	{ ISCSI_NO_RESOURCES, DIAG_BUSY, EAGAIN, "the target is out of resources for a session" },
};

int iscsi_login_status(uint8_t status_class, uint8_t detail, bool with_secret, struct diag *diag)
{
	uint16_t status = ISCSI_LOGIN_STATUS(status_class, detail);
	int err = 0;

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]) && !err; i++)
		if (statuses[i].status == status)
			err = diag_set(diag, statuses[i].code, statuses[i].err,
				"%s (login status %04x)", statuses[i].text, status);
	if (!err)
		err = diag_set(diag, DIAG_REFUSED, EREMOTEIO,
			"the target rejects the login (login status %04x)", status);
	if (status == ISCSI_NOT_PROVED && with_secret)
		diag_hint(diag, "check the user, the secret and the initiator name in the target's "
				"configuration");
	else if (status == ISCSI_NOT_PROVED)
		diag_hint(diag, "the target may require CHAP: --user and --secret-file");
	else if (status == ISCSI_FORBIDDEN)
		diag_hint(diag, "add the initiator name to the target's access list, or use "
				"another: --initiator NAME");
	return err;
}

const char *iscsi_reject_text(uint8_t reason)
{
	static const char *const words[] = { [2] = "data digest error",
		[3] = "SNACK rejected",
		[4] = "protocol error",
		[5] = "command not supported",
		[6] = "too many immediate commands",
		[7] = "task in progress",
		[8] = "invalid data acknowledgement",
		[9] = "invalid PDU field",
		[10] = "out of resources",
		[11] = "negotiation reset",
		[12] = "waiting for logout" };

	return reason < sizeof(words) / sizeof(words[0]) && words[reason] ? words[reason]
									  : "unknown reason";
}
