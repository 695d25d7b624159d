/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sessions of iscsistart: logged in in parallel with retries; open-iscsi's error numbers. */
#include "iscsistart_login.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEC     1000000000ull
#define SCAN_NS (60 * SEC)

static void tell_login(struct start *s, const struct start_session *session)
{
	const struct iscsi_wish *wish = &session->wish;

	out_line(s->call->out, START_NAME ": Logging into %s %s:%u,%d", wish->name, wish->host,
		wish->port, wish->tpgt);
}

/* Needs: the wish stays where it is. */
static void fill_want(struct start *s, unsigned i)
{
	struct start_session *session = &s->session[i];
	struct iscsi_wish *wish = &session->wish;
	struct iscsi_from *from = &s->from[i];
	struct iscsi_auth *auth = &from->auth;

	from->initiator = s->initiator;
	if (wish->secret[0][0]) /* a user without a secret is ignored, as by open-iscsi */
		*auth = (struct iscsi_auth){ .user = wish->user[0], .secret = wish->secret[0] };
	if (wish->secret[1][0])
		auth->target_secret = wish->secret[1];
	if (wish->user[1][0])
		auth->target_user = wish->user[1];
	auth->algs = s->algs;
	session->want = (struct iscsi_want){ .target = wish->name,
		.netdev = s->netdev[0] ? s->netdev : NULL,
		.carrier = s->iser ? ISCSI_ISER : ISCSI_TCP,
		.tpgt = -1,
		.from = from,
		.set = s->set,
		.lun = SCSI_LUN_ALL };
	if (session->target[0]) {
		session->want.boot_root = "ibft";
		session->want.boot_target = session->target;
		session->want.boot_nic = session->nic[0] ? session->nic : NULL;
	}
}

static uint8_t status_class(const struct iscsi_want *want)
{
	return (uint8_t)(want->status >> 8);
}

/* Could a retry succeed? */
static bool may_help(const struct start_session *session)
{
	const struct iscsi_want *want = &session->want;

	if (!want->why.err || want->why.err == EINTR || want->existed ||
		status_class(want) == ISCSI_LOGIN_INITIATOR)
		return false;
	return !session->resolved || status_class(want) == ISCSI_LOGIN_TARGET ||
	       want->why.code == DIAG_TIMEOUT || want->why.code == DIAG_REFUSED ||
	       want->why.code == DIAG_UNREACHABLE || want->why.code == DIAG_CLOSED;
}

static void resolve(struct start_session *session, uint32_t timeout_ms)
{
	struct iscsi_want *want = &session->want;

	want->why = (struct diag){ 0 };
	session->resolved =
		session->resolved || !addr_resolve(&want->portal, session->wish.host,
					     session->wish.port, timeout_ms, &want->why);
}

static int attempt(struct start *s, uint64_t until)
{
	struct iscsi_want *wants = calloc(s->sessions, sizeof(*wants));
	unsigned count = 0, back = 0;
	int err;

	if (!wants)
		return diag_sys(s->call->diag, ENOMEM, "iSCSI logins");
	for (unsigned i = 0; i < s->sessions; i++) {
		struct start_session *session = &s->session[i];

		if (!session->over)
			resolve(session, (uint32_t)s->set.login_timeout * 1000);
		if (!session->over && session->resolved)
			wants[count++] = session->want;
	}
	err = iscsi_attach(s->loop, s->root, wants, count, until, s->call->diag);
	for (unsigned i = 0; i < s->sessions && !err; i++) {
		struct start_session *session = &s->session[i];

		if (!session->over && session->resolved)
			session->want = wants[back++];
	}
	free(wants);
	return err;
}

static bool settle(struct start *s, bool last)
{
	bool again = false;

	for (unsigned i = 0; i < s->sessions; i++) {
		struct start_session *session = &s->session[i];

		if (session->over)
			continue;
		session->over = last || !may_help(session);
		again |= !session->over;
		if (!session->over && s->call->loop.verbose)
			start_tell(s->call, "%s: %s; retrying", session->wish.name,
				session->want.why.text);
	}
	return again;
}

int start_login(struct start *s)
{
	uint64_t begun = loop_clock(),
		 bound = begun + (uint64_t)s->set.login_timeout * s->retry_max * SEC, now;
	uint32_t timeout_ms = s->opts->common.timeout_ms;
	uint64_t end = timeout_ms ? begun + timeout_ms * (SEC / 1000) : 0;
	int err = 0;

	if (end && end < bound)
		bound = end;
	for (unsigned i = 0; i < s->sessions; i++) {
		fill_want(s, i);
		tell_login(s, &s->session[i]);
	}
	fflush(stdout);
	do {
		now = loop_clock();
		uint64_t until = now + (uint64_t)s->set.login_timeout * SEC + SCAN_NS;

		err = attempt(s, end && end < until ? end : until);
	} while (!err && settle(s, loop_clock() + SEC >= bound) && !sleep(1));
	return err;
}

unsigned start_error(const struct start_session *session, const char **text)
{
	static const struct {
		unsigned number;
		const char *text;
	} errors[] = { { 3, "no available memory" }, { 5, "encountered iSCSI login failure" },
		{ 8, "connection timed out" }, { 9, "internal error" },
		{ 12, "iSCSI driver not found. Please make sure it is loaded, and retry the "
		      "operation" },
		{ 13, "daemon access denied" }, { 15, "session exists" },
		{ 19, "encountered non-retryable iSCSI login failure" }, { 21, "no objects found" },
		{ 24, "iSCSI login failed due to authorization failure" } };
	static const uint8_t of_code[] = { [DIAG_NO_MEMORY] = 3,
		[DIAG_REFUSED] = 8,
		[DIAG_UNREACHABLE] = 8,
		[DIAG_CLOSED] = 8,
		[DIAG_TIMEOUT] = 8,
		[DIAG_NO_MODULE] = 12,
		[DIAG_NO_DEVICE] = 12,
		[DIAG_PERMISSION] = 13,
		[DIAG_BUSY] = 15,
		[DIAG_NOT_FOUND] = 21,
		[DIAG_AUTH] = 24,
		[DIAG_PROTOCOL] = 5,
		[DIAG_SYSTEM] = 9 };
	const struct iscsi_want *want = &session->want;
	unsigned number = want->why.code < sizeof(of_code) ? of_code[want->why.code] : 9;
	unsigned i;

	if (want->status == ISCSI_LOGIN_STATUS(ISCSI_LOGIN_INITIATOR, 1) ||
		want->status == ISCSI_LOGIN_STATUS(ISCSI_LOGIN_INITIATOR, 2))
		number = 24;
	else if (status_class(want) == ISCSI_LOGIN_INITIATOR)
		number = 19;
	else if (status_class(want) == ISCSI_LOGIN_TARGET) /* retried until the time was up */
		number = 8;
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]) - 1 &&
		    errors[i].number != (number ? number : 9);
		i++)
		;
	*text = errors[i].text;
	return errors[i].number;
}
