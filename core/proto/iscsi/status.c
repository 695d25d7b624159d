/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What targets answer in numbers, in words (RFC 7143, 11.13.5 and 11.17.1). */
#include "login.h"
#include <errno.h>

static const struct {
	uint16_t status; /* class and detail */
	uint8_t code;
	int err;
	const char *text;
} statuses[] = {
	{ ISCSI_INITIATOR_ERROR, DIAG_REFUSED, EPROTO, "the target finds the login at fault, without saying why" },
	{ ISCSI_NOT_PROVED, DIAG_AUTH, EACCES, "the target does not accept who we are: authentication failed" },
	{ ISCSI_FORBIDDEN, DIAG_AUTH, EPERM, "the target does not allow this initiator in" },
	{ ISCSI_NOT_FOUND, DIAG_NOT_FOUND, ENOENT, "there is no target of this name here" },
	{ ISCSI_REMOVED, DIAG_NOT_FOUND, ENOENT, "the target has been removed, and is not known elsewhere" },
	{ ISCSI_OTHER_VERSION, DIAG_UNSUPPORTED, EPROTONOSUPPORT, "the target does not speak this version of iSCSI" },
	{ ISCSI_TOO_MANY, DIAG_BUSY, EBUSY, "the target takes no more connections to this session" },
	{ ISCSI_MISSING, DIAG_REFUSED, EINVAL, "the target misses a parameter of the login" },
	{ ISCSI_NOT_INCLUDED, DIAG_REFUSED, EINVAL, "the target cannot join this connection to the session" },
	{ ISCSI_SESSION_TYPE, DIAG_UNSUPPORTED, EOPNOTSUPP, "the target does not have sessions of this type" },
	{ ISCSI_NO_SESSION, DIAG_NOT_FOUND, ENOENT, "the target does not know this session" },
	{ ISCSI_OUT_OF_PLACE, DIAG_PROTOCOL, EPROTO, "the target finds a request out of place in a login" },
	{ ISCSI_TARGET_ERROR, DIAG_IO, EREMOTEIO, "the target has an error of its own" },
	{ ISCSI_UNAVAILABLE, DIAG_BUSY, EAGAIN, "the target does not serve for the moment" },
	{ ISCSI_NO_RESOURCES, DIAG_BUSY, EAGAIN, "the target has no resources left for a session" },
};

int iscsi_login_status(uint8_t status_class, uint8_t detail, bool with_secret, struct diag *diag)
{
	uint16_t status = ISCSI_LOGIN_STATUS(status_class, detail);
	int err = 0;

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]) && !err; i++)
		if (statuses[i].status == status)
			err = diag_set(diag, statuses[i].code, statuses[i].err, "%s (login status %04x)", statuses[i].text, status);
	if (!err)
		err = diag_set(diag, DIAG_REFUSED, EREMOTEIO, "the target refuses the login with status %04x", status);
	if (status == ISCSI_NOT_PROVED && with_secret)
		diag_hint(diag, "the user, the secret or the initiator's name is not what the target has");
	else if (status == ISCSI_NOT_PROVED)
		diag_hint(diag, "it wants CHAP: give the user with --user and the secret with --secret-file");
	else if (status == ISCSI_FORBIDDEN)
		diag_hint(diag, "the initiator's name must be in the target's access list: --initiator gives another");
	return err;
}

const char *iscsi_reject_word(uint8_t reason)
{
	static const char *const words[] = { [2] = "data digest error", [3] = "no recovery by SNACK", [4] = "protocol error", [5] = "command not supported",
		[6] = "too many immediate commands", [7] = "task in progress", [8] = "invalid data acknowledgement", [9] = "invalid PDU field",
		[10] = "out of resources", [11] = "negotiation reset", [12] = "waiting for logout" };

	return reason < sizeof(words) / sizeof(words[0]) && words[reason] ? words[reason] : "no known reason";
}
