/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NBD client's receiving against a socket that is never empty: include/stream.h, in place of
 * core/net/tcp.c. What servers may not say is in tests/cli/nbd-lying-replies.sh. */
#include "ini.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#define COOKIE 0x10000
#define ENOUGH 1000

static struct nbd_ini_lane nl;
static struct {
	struct nbd_chunk head;
	be32 error;
	be16 text;
} error;
_Static_assert(sizeof(error) == 26, "no padding");
static size_t at;
static unsigned receives;

/* One error after another for one request, and never the last. */
ssize_t stream_recv(struct stream *stream, const struct iovec *iov, int count)
{
	ssize_t got = 0;

	(void)stream;
	cr_assert_lt(++receives, ENOUGH, "too many receives");
	for (int i = 0; i < count; i++)
		for (size_t n = 0; n < iov[i].iov_len; n++, got++)
			((uint8_t *)iov[i].iov_base)[n] =
				((const uint8_t *)&error)[at++ % sizeof(error)];
	return got;
}

int stream_dial(struct stream **stream, struct loop *loop, const struct stream_dial *dial,
	const struct stream_events *events, void *user, struct diag *diag)
{
	(void)stream, (void)loop, (void)dial, (void)events, (void)user, (void)diag;
	return -ENOTSUP;
}

int stream_attach(struct stream **stream, struct loop *loop, const struct stream_detached *from,
	const struct addr *peer, const struct stream_events *events, void *user, struct diag *diag)
{
	(void)stream, (void)loop, (void)from, (void)peer, (void)events, (void)user, (void)diag;
	return -ENOTSUP;
}

void stream_send(struct stream *stream, struct stream_out *out)
{
	(void)stream, (void)out;
}
struct stream_detached stream_detach(struct stream *stream)
{
	(void)stream;
	return (struct stream_detached){ .fd = -1 };
}

int stream_start_tls(struct stream *stream, const struct stream_tls *with, struct diag *diag)
{
	(void)stream, (void)with, (void)diag;
	return -ENOTSUP;
}
void stream_probe(struct stream *stream, uint32_t idle_ms)
{
	(void)stream, (void)idle_ms;
}

bool stream_is_unacknowledged(struct stream *stream, uint32_t ms)
{
	(void)stream, (void)ms;
	return false;
}

void stream_close(struct stream *stream)
{
	(void)stream;
}
void stream_reset(struct stream *stream)
{
	(void)stream;
}
void stream_free(struct stream *stream)
{
	(void)stream;
}

static void answer(struct nbd_ini_slot *slot, uint64_t cookie, uint32_t code, const char *text)
{
	const struct cutter_events *ev = &nbd_ini_replies;
	uint32_t len = (uint32_t)strlen(text);

	slot->cookie = cookie;
	nbd_chunk_put(&error.head, NBD_REPLY_TYPE_ERROR, false, (const uint8_t *)&cookie,
		sizeof(error.error) + sizeof(error.text) + len);
	error.error = put_be32(code);
	error.text = put_be16((uint16_t)len);
	cr_assert_eq(
		ev->part(&nl.link.cutter, (const uint8_t *)&error, sizeof(error)), sizeof(error));
	cr_assert_eq(nl.link.cutter.rest, len);
	if (nl.link.cutter.sink)
		memcpy(nl.link.cutter.sink, text, len);
	nl.link.cutter.rest = 0;
	cr_assert(ev->payload(&nl.link.cutter));
}

Test(nbd_ini_rx, the_message_of_the_first_error_counts)
{
	static struct io io = { .kind = IO_WRITE, .len = 4096 };
	static char longest[NBD_STRING_MAX + 1];
	struct nbd_ini_slot *slot;

	memset(longest, 'x', sizeof(longest) - 1);
	nl.negotiated.structured = true;
	cr_assert_eq(inflight_init(&nl.inflight, NULL, 1, sizeof(*slot), NULL, NULL), 0);
	cr_assert_not_null(slot = inflight_take(&nl.inflight, &io, 0));
	cutter_init(&nl.link.cutter, &nbd_ini_replies, nl.link.stage, sizeof(nl.link.stage));
	answer(slot, COOKIE, NBD_ENOSPC, "pool full");
	answer(slot, COOKIE, NBD_EIO, "and on fire");
	cr_assert_eq(slot->error, NBD_ENOSPC);
	cr_assert_str_eq(
		strchr(nbd_ini_status_text(nbd_ini_detail(slot->error, slot->text, 0)), ':'),
		": 'pool full'");
	slot->error = slot->text = 0;
	answer(slot, COOKIE, NBD_EIO, longest);
	cr_assert_eq(
		strspn(strchr(nbd_ini_status_text(nbd_ini_detail(NBD_EIO, slot->text, 0)), '\'') +
				1,
			"x"),
		NBD_INI_TEXT - 1);
	free(nl.inflight.slots);
}

Test(nbd_ini_rx, a_socket_that_is_never_empty)
{
	static struct io io = { .kind = IO_READ, .len = 4096 };
	const uint64_t cookie = COOKIE;
	struct nbd_ini_slot *slot;

	nbd_chunk_put(&error.head, NBD_REPLY_TYPE_ERROR, false, (const uint8_t *)&cookie,
		sizeof(error.error) + sizeof(error.text));
	error.error = put_be32(NBD_EIO);
	nl.negotiated.structured = true;
	cr_assert_eq(inflight_init(&nl.inflight, NULL, 1, sizeof(*slot), NULL, NULL), 0);
	cr_assert_not_null(slot = inflight_take(&nl.inflight, &io, 0));
	slot->cookie = COOKIE;
	slot->len = io.len;
	cutter_init(&nl.link.cutter, &nbd_ini_replies, nl.link.stage, sizeof(nl.link.stage));
	cr_assert_eq(cutter_receive(&nl.link.cutter, NULL), 0);
	cr_assert(receives && !nl.link.closing, "%s", nl.link.why.text);
	cr_assert_eq(slot->error, NBD_EIO);
	free(nl.inflight.slots);
}
