/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Name, user and secrets of the initiator: options first, then keys of the URI, then the
 * environment. */
#include "iscsi_who.h"
#include "kernel_identity.h"
#include "secret.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECRET_LEAST 12 /* 96 bits: RFC 7143 section 12.1.3 */

static const char *first(const char *a, const char *b, const char *c)
{
	return a ? a : b ? b : c;
}

/* *secret is NULL without one. */
static int read_secret(const struct call *call, struct iscsi_who *who,
	const struct iscsi_who_options *opts, struct uri *uri, unsigned i, const char **secret)
{
	static const char *const variable[2] = { "LIBISCSI_CHAP_PASSWORD",
		"LIBISCSI_CHAP_TARGET_PASSWORD" };
	const char *file = first(opts->file[i],
		uri ? uri_value(uri, i ? "target-secret-file" : "secret-file") : NULL, NULL);
	const char *plain = first(!uri ? NULL
				  : i  ? uri_value(uri, "target_password")
				       : uri->password,
		getenv(variable[i]), NULL);
	struct diag *diag = call->diag;
	int err = 0;

	*secret = who->secret[i];
	if (opts->fd[i])
		err = secret_of_fd(i ? "--target-secret-fd" : "--secret-fd", opts->fd[i],
			who->secret[i], ISCSI_SECRET, diag);
	else if (file)
		err = secret_of_file(call, file, who->secret[i], ISCSI_SECRET, diag);
	else
		*secret = plain;
	if (!err && *secret && (!**secret || strlen(*secret) > ISCSI_SECRET - 2))
		err = diag_set(diag, DIAG_USAGE, EINVAL, "CHAP secret: must be 1 to %u bytes",
			ISCSI_SECRET - 2);
	else if (!err && *secret && strlen(*secret) < SECRET_LEAST)
		call_note(call, "the %sCHAP secret has %zu bytes: RFC 7143 requires at least %d",
			i ? "target's " : "", strlen(*secret), SECRET_LEAST);
	return err;
}

static int read_auth(const struct call *call, struct iscsi_who *who,
	const struct iscsi_who_options *opts, struct uri *uri)
{
	struct iscsi_auth *auth = &who->from.auth;
	const char *algs = first(opts->algs, uri ? uri_value(uri, "auth") : NULL, NULL);
	struct diag *diag = call->diag;
	int err = read_secret(call, who, opts, uri, 0, &auth->secret);

	auth->user = first(opts->user[0], uri ? uri->user : NULL, getenv("LIBISCSI_CHAP_USERNAME"));
	auth->target_user = first(opts->user[1], uri ? uri_value(uri, "target_user") : NULL,
		getenv("LIBISCSI_CHAP_TARGET_USERNAME"));
	if (!err)
		err = read_secret(call, who, opts, uri, 1, &auth->target_secret);
	if (!err && algs)
		err = iscsi_chap_algs(algs, &auth->algs, diag);
	if (err)
		return err;
	if (auth->user && !auth->secret) {
		diag_set(diag, DIAG_USAGE, EINVAL, "no secret for user '%s'", auth->user);
		return diag_hint(diag, "use --secret-file FILE, --secret-fd N or "
				       "LIBISCSI_CHAP_PASSWORD in the environment"),
		       -EINVAL;
	}
	if (!auth->user && auth->secret)
		return diag_set(diag, DIAG_USAGE, EINVAL, "a secret needs --user");
	if (!auth->target_secret && auth->target_user)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"no secret for target user '%s': expected --target-secret-file",
			auth->target_user);
	if (auth->target_secret && !auth->user)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"mutual CHAP also needs --user and --secret-file");
	return 0;
}

static int read_name(struct call *call, const char *wanted, struct iscsi_who *who)
{
	int root = kernel_root(), err;

	if (root < 0)
		return diag_sys(call->diag, errno, "open /");
	err = kernel_initiator(root, wanted, &who->name, call->diag);
	close(root);
	if (err)
		return err;
	if (call->loop.verbose)
		call_note(call, "initiator name %s (%s)", who->name.name, who->name.from);
	if (who->name.random)
		call_note(call, "random initiator name for this run: %s", who->name.name);
	who->from.initiator = who->name.name;
	return 0;
}

int iscsi_who_read(struct call *call, const struct iscsi_who_options *opts, struct uri *uri,
	struct iscsi_who *who)
{
	int err;

	*who = (struct iscsi_who){ 0 };
	err = read_auth(call, who, opts, uri);
	return err ? err
		   : read_name(call,
			     first(opts->initiator, uri ? uri_value(uri, "initiator") : NULL, NULL),
			     who);
}

void iscsi_who_forget(struct iscsi_who *who)
{
	explicit_bzero(who, sizeof(*who));
}
