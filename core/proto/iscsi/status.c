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
	{ 0x0200, DIAG_REFUSED, EPROTO, "the target finds the login at fault, without saying why" },
	{ 0x0201, DIAG_AUTH, EACCES, "the target does not accept who we are: authentication failed" },
	{ 0x0202, DIAG_AUTH, EPERM, "the target does not allow this initiator in" },
	{ 0x0203, DIAG_NOT_FOUND, ENOENT, "there is no target of this name here" },
	{ 0x0204, DIAG_NOT_FOUND, ENOENT, "the target has been removed, and is not known elsewhere" },
	{ 0x0205, DIAG_UNSUPPORTED, EPROTONOSUPPORT, "the target does not speak this version of iSCSI" },
	{ 0x0206, DIAG_BUSY, EBUSY, "the target takes no more connections to this session" },
	{ 0x0207, DIAG_REFUSED, EINVAL, "the target misses a parameter of the login" },
	{ 0x0208, DIAG_REFUSED, EINVAL, "the target cannot join this connection to the session" },
	{ 0x0209, DIAG_UNSUPPORTED, EOPNOTSUPP, "the target does not have sessions of this type" },
	{ 0x020a, DIAG_NOT_FOUND, ENOENT, "the target does not know this session" },
	{ 0x020b, DIAG_PROTOCOL, EPROTO, "the target finds a request out of place in a login" },
	{ 0x0300, DIAG_IO, EREMOTEIO, "the target has an error of its own" },
	{ 0x0301, DIAG_BUSY, EAGAIN, "the target does not serve for the moment" },
	{ 0x0302, DIAG_BUSY, EAGAIN, "the target has no resources left for a session" },
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
	if (status == 0x0201 && with_secret)
		diag_hint(diag, "the user, the secret or the initiator's name is not what the target has");
	else if (status == 0x0201)
		diag_hint(diag, "it wants CHAP: give the user with --user and the secret with --secret-file");
	else if (status == 0x0202)
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
