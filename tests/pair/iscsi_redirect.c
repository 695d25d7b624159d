/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Logins over TCP that a target redirects to where they fail: portals that refuse, hang up or never
 * answer, circles, chains beyond the limit, and addresses of no use. Those that succeed are in
 * iscsi_ini_login.c. */
/* Link: leap stream_dial getaddrinfo freeaddrinfo */
#include "host.h"
#include "iscsi_pipe.h"
#include "lookups.h"
#include "says.h"
#include <criterion/criterion.h>

#define FIRST "10.0.0.1:3260"

/* What happens to the connections to `to`. */
static enum { WORKS, REFUSES, HANGS_UP, NEVER_ANSWERS } fault;
static const char *faulty;
static char dialed[512];         /* where to, "10.0.0.1:3260 10.0.0.7:3261 " */
static const char *const *chain; /* portals that each redirect to the next one; NULL: the end */
static unsigned at;

int __wrap_stream_dial(struct stream **, struct loop *, const struct stream_dial *,
	const struct stream_events *, void *user, struct diag *);
int __real_stream_dial(struct stream **, struct loop *, const struct stream_dial *,
	const struct stream_events *, void *user, struct diag *);

int __wrap_stream_dial(struct stream **out, struct loop *on, const struct stream_dial *dial,
	const struct stream_events *events, void *user, struct diag *diag)
{
	int rc = __real_stream_dial(out, on, dial, events, user, diag);
	char text[ADDR_TEXT];

	addr_text(&dial->dst, text);
	cr_assert_lt(strlen(dialed) + strlen(text) + 2, sizeof(dialed));
	strcat(strcat(dialed, text), " ");
	if (rc || !faulty || strcmp(text, faulty))
		return rc;
	switch (fault) {
	case WORKS:
		break;
	case REFUSES:
		diag_set(&(*out)->why, DIAG_REFUSED, ECONNREFUSED, "connection refused");
		pipe_of(*out)->over = true;
		break;
	case HANGS_UP:
		pipe_of(*out)->hung = true;
		break;
	case NEVER_ANSWERS:
		pipe_of(*out)->up = true; /* and never reports so */
		break;
	}
	return rc;
}

/* A response was received: the next login is redirected to the next portal of the chain. */
static void gave(struct pipe *pipe, const uint8_t *bytes, uint32_t len)
{
	(void)pipe;
	(void)bytes;
	if (len < ISCSI_BHS || !chain || !target.redirects)
		return;
	target.redirect = chain[at] ? chain[at] : target.redirect;
	target.redirects = chain[at] ? 1000 : 0;
	at += !!chain[at];
}

static void begin(void)
{
	host_begin(0);
	target_begin(loop);
	target.gave = gave;
	faulty = NULL;
	chain = NULL;
	dialed[0] = 0;
}

/* target_end() asserts that no connection is left. */
static void end(void)
{
	host_hang_up();
	target_end(loop);
	loop_free(loop);
}
TestSuite(iscsi_redirect, .init = begin, .fini = end);

static int attach(void)
{
	struct bdev_env env = { .write = true, .timeout_ms = 2000, .initiator = "iqn.x:me" };

	dialed[0] = 0;
	return host_attach("iscsi://10.0.0.1/iqn.2024-01.test:one/0", &env);
}

static int attach_over(const char *const *portals)
{
	chain = portals;
	at = 1;
	target.redirect = portals[0];
	target.redirects = 1000;
	return attach();
}

static void redirect_to(const char *to, int its_fault)
{
	target.redirect = faulty = to;
	target.redirects = 1;
	fault = its_fault;
}

Test(iscsi_redirect, to_a_portal_that_refuses_the_connection)
{
	redirect_to("10.0.0.7:3261", REFUSES);
	cr_assert_eq(attach(), -ECONNREFUSED, "%s", why.text);
	diag_says(&why, DIAG_REFUSED, FIRST, "10.0.0.7:3261 refused");
	cr_assert_str_eq(dialed, "10.0.0.1:3260 10.0.0.7:3261 ");
	cr_assert_eq(target.logins, 0);
}

Test(iscsi_redirect, to_a_portal_that_hangs_up)
{
	redirect_to("10.0.0.7:3261", HANGS_UP);
	cr_assert_eq(attach(), -ECONNRESET, "%s", why.text);
	diag_says(&why, DIAG_CLOSED, FIRST, "10.0.0.7:3261 closed login");
	cr_assert_str_eq(dialed, "10.0.0.1:3260 10.0.0.7:3261 ");
}

Test(iscsi_redirect, to_a_portal_that_never_answers)
{
	redirect_to("10.0.0.7:3261", NEVER_ANSWERS);
	cr_assert_eq(attach(), -ETIMEDOUT, "%s", why.text);
	diag_says(&why, DIAG_TIMEOUT, FIRST, "10.0.0.7:3261");
	cr_assert_str_eq(dialed, "10.0.0.1:3260 10.0.0.7:3261 ");
}

Test(iscsi_redirect, to_a_portal_that_refuses_the_login)
{
	redirect_to("10.0.0.7:3261", WORKS);
	target.status = ISCSI_NOT_FOUND;
	cr_assert_eq(attach(), -ENOENT, "%s", why.text);
	diag_says(&why, DIAG_NOT_FOUND, FIRST, "10.0.0.7:3261 0203");
	cr_assert_str_eq(dialed, "10.0.0.1:3260 10.0.0.7:3261 ");
}

Test(iscsi_redirect, a_login_that_is_not_redirected_names_its_portal_once)
{
	target.status = ISCSI_NOT_FOUND;
	cr_assert_eq(attach(), -ENOENT, "%s", why.text);
	cr_assert_str_eq(why.object, FIRST);
	cr_assert_null(strstr(why.text, "10.0.0.1"), "%s", why.text);
}

Test(iscsi_redirect, to_itself)
{
	static const char *const portals[] = { FIRST, NULL };

	cr_assert_eq(attach_over(portals), -ELOOP, "%s", why.text);
	diag_says(&why, DIAG_PROTOCOL, FIRST, "loop 10.0.0.1");
	cr_assert_str_eq(dialed, "10.0.0.1:3260 ");
}

Test(iscsi_redirect, in_a_circle)
{
	static const char *const portals[] = { "10.0.0.2", "10.0.0.3:3261,1", "10.0.0.1", NULL };

	cr_assert_eq(attach_over(portals), -ELOOP, "%s", why.text);
	diag_says(&why, DIAG_PROTOCOL, FIRST, "loop 10.0.0.1");
	cr_assert_str_eq(dialed, "10.0.0.1:3260 10.0.0.2:3260 10.0.0.3:3261 ");
}

Test(iscsi_redirect, a_circle_that_does_not_begin_at_the_first_portal)
{
	static const char *const portals[] = { "10.0.0.2", "10.0.0.3", "10.0.0.2:3260", NULL };

	cr_assert_eq(attach_over(portals), -ELOOP, "%s", why.text);
	diag_says(&why, DIAG_PROTOCOL, FIRST, "loop 10.0.0.2");
	cr_assert_str_eq(dialed, "10.0.0.1:3260 10.0.0.2:3260 10.0.0.3:3260 ");
}

/* Another port is another portal. */
static const char *const long_chain[] = { "10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3", "10.0.0.1:4",
	"10.0.0.1:5", "10.0.0.1:6", "10.0.0.1:7", "10.0.0.1:8", "10.0.0.1:9", NULL };
#define EIGHT                                                                                      \
	"10.0.0.1:3260 10.0.0.1:1 10.0.0.1:2 10.0.0.1:3 10.0.0.1:4 10.0.0.1:5 10.0.0.1:6 "         \
	"10.0.0.1:7 10.0.0.1:8 "

Test(iscsi_redirect, a_chain_of_the_longest_length)
{
	const char *portals[ISCSI_REDIRECTS + 1] = { 0 };

	memcpy(portals, long_chain, ISCSI_REDIRECTS * sizeof(*portals));
	cr_assert_eq(attach_over(portals), 0, "%s", why.text);
	cr_assert_eq(target.logins, 1);
	cr_assert_str_eq(dialed, EIGHT);
}

Test(iscsi_redirect, a_chain_that_is_too_long)
{
	cr_assert_eq(attach_over(long_chain), -ELOOP, "%s", why.text);
	diag_says(&why, DIAG_PROTOCOL, FIRST, "more_than_8");
	cr_assert_str_eq(dialed, EIGHT);
	cr_assert_eq(target.logins, 0);
}

Test(iscsi_redirect, to_an_invalid_address)
{
	static const char *const addresses[] = { "", "[::1", "10.0.0.7:0", "10.0.0.7:70000",
		"10.0.0.7:x", ":3260" };

	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		redirect_to(addresses[i], WORKS);
		cr_assert_lt(attach(), 0, "%s", addresses[i]);
		diag_says(&why, DIAG_PROTOCOL, FIRST, "");
		cr_assert_str_eq(dialed, "10.0.0.1:3260 ", "%s", addresses[i]);
		host_hang_up();
	}
}

Test(iscsi_redirect, to_an_unknown_name)
{
	redirect_to("none.example:3260", WORKS);
	cr_assert_eq(attach(), -ENOENT, "%s", why.text);
	diag_says(&why, DIAG_NOT_FOUND, FIRST, "none.example");
	cr_assert_str_eq(dialed, "10.0.0.1:3260 ");
	cr_assert_eq(names_asked("none.example"), 1);
}

/* The disk is up. A later session is redirected, fails, and the next one succeeds. */
Test(iscsi_redirect, of_a_later_session)
{
	cr_assert_eq(attach(), 0, "%s", why.text);
	redirect_to("10.0.0.7:3261", REFUSES);
	cr_assert_not(host_try_lane(&lane));
	diag_says(&why, DIAG_REFUSED, FIRST, "10.0.0.7:3261 refused");
	cr_assert_eq(disk->state, BDEV_UP);
	lane_close(lane);
	faulty = NULL;
	host_open_lane();
	cr_assert_eq(target.redirects, 0);
}
