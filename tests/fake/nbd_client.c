/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An NBD server over a fake disk, and one end of a socket to it. */
#include "nbd_client.h"
#include "wire/nbd.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int client_dial(struct client *s)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(un.sun_path, s->path);
	cr_assert_eq(connect(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	return fd;
}

struct client *client_set_hello(uint32_t block, uint32_t slots, bool ro, uint32_t handshake_ms)
{
	struct client *s = calloc(1, sizeof(*s));
	struct nbd_options opt = { .exports = 1,
		.listens = 1,
		.slots = slots,
		.buffer = BUFFER,
		.nloops = 1,
		.loops = &s->loop,
		.handshake_ms = handshake_ms };
	struct sockaddr_un *un = (struct sockaddr_un *)(void *)&opt.listen[0].ss;

	cr_assert_eq(loop_new(&s->loop, &(struct loop_options){ .name = "test" }, &s->diag), 0);
	s->disk = fake_disk_new(s->loop, SIZE, block);
	for (size_t i = 0; i < SIZE; i++)
		s->disk->bytes[i] = (uint8_t)(i * 2654435761u >> 13);
	opt.export[0] = (struct nbd_export){ .name = "", .bdev = &s->disk->bdev, .ro = ro };
	snprintf(s->path, sizeof(s->path), "/tmp/nbd-test-%d", (int)getpid());
	un->sun_family = AF_UNIX;
	strcpy(un->sun_path, s->path);
	opt.listen[0].len = sizeof(*un);
	cr_assert_eq(nbd_server_start(&s->server, s->loop, &opt, &s->diag), 0, "%s", s->diag.text);
	s->fd = client_dial(s);
	return s;
}

struct client *client_set(uint32_t block, uint32_t slots, bool ro)
{
	return client_set_hello(block, slots, ro, 30000);
}

int client_strike(struct client *s)
{
	int err = nbd_server_stop(s->server, 3000, &s->diag);

	if (s->fd >= 0)
		close(s->fd);
	fake_disk_free(s->disk);
	loop_free(s->loop);
	free(s);
	return err;
}

void client_turns(struct client *s, unsigned ms)
{
	volatile int never = 0;

	loop_wait(s->loop, &never, loop_clock() + ms * MSEC);
}

/* Runs the server until that many bytes have come, or none come any more. */
size_t client_hear(struct client *s, size_t bytes_min)
{
	size_t start = s->len;

	for (int idle = 0; s->len - start < bytes_min && idle < 400; idle++) {
		ssize_t n = recv(s->fd, s->in + s->len, bytes_min - (s->len - start), MSG_DONTWAIT);

		if (n > 0) {
			s->len += (size_t)n;
			idle = 0;
		} else if (!n || errno != EAGAIN) {
			break;
		} else {
			client_turns(s, 1);
		}
	}
	return s->len - start;
}

bool client_closed(struct client *s)
{
	char byte;

	for (int i = 0; i < 400; i++) {
		ssize_t n = recv(s->fd, &byte, 1, MSG_DONTWAIT);

		if (!n || (n < 0 && errno != EAGAIN))
			return true;
		client_turns(s, 1);
	}
	return false;
}

void client_say(struct client *s, const void *p, size_t len)
{
	const uint8_t *from = p;

	while (len) {
		ssize_t n = send(s->fd, from, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0) {
			from += n;
			len -= (size_t)n;
		} else {
			cr_assert_eq(errno, EAGAIN);
			client_turns(s, 1);
		}
	}
}

void client_option(struct client *s, uint32_t code, const void *data, uint32_t len)
{
	struct nbd_opt opt = { put_be64(NBD_OPT_MAGIC), put_be32(code), put_be32(len) };

	client_say(s, &opt, sizeof(opt));
	client_say(s, data, len);
}

void client_hello(struct client *s, bool structured)
{
	static const uint8_t meta[] = "\0\0\0\0\0\0\0\1\0\0\0\17base:allocation";

	client_say(s, "\0\0\0\3", 4);
	cr_assert_eq(client_hear(s, 18), 18);
	if (structured) {
		client_option(s, NBD_OPT_STRUCTURED_REPLY, "", 0);
		client_option(s, NBD_OPT_SET_META_CONTEXT, meta, sizeof(meta) - 1);
		cr_assert_eq(client_hear(s, 20 + 39 + 20), 79);
	}
	client_option(s, NBD_OPT_GO, "\0\0\0\0\0\1\0\3", 8);
	cr_assert_eq(client_hear(s, 32 + 34 + 20), 86);
	s->len = 0;
}

void client_ask(
	struct client *s, uint16_t type, uint16_t flags, uint8_t cookie, uint64_t off, uint32_t len)
{
	struct nbd_request req = { put_be32(NBD_REQUEST_MAGIC), put_be16(flags), put_be16(type),
		{ cookie }, put_be64(off), put_be32(len) };

	client_say(s, &req, sizeof(req));
}

/* The simple reply at `at`: its error; its cookie must fit. */
uint32_t client_simple_error(const struct client *s, size_t at, uint8_t cookie)
{
	const struct nbd_simple_reply *rep =
		(const struct nbd_simple_reply *)(const void *)(s->in + at);

	cr_assert_leq(at + sizeof(*rep), s->len, "no reply for %u", cookie);
	cr_assert_eq(get_be32(rep->magic), NBD_SIMPLE_REPLY_MAGIC);
	cr_assert_eq(rep->cookie[0], cookie, "reply for %u, not %u", rep->cookie[0], cookie);
	return get_be32(rep->error);
}

struct client_chunk client_next_chunk(struct client *s)
{
	size_t at = s->len;
	const struct nbd_chunk *wire;
	struct client_chunk chunk;

	cr_assert_eq(client_hear(s, sizeof(*wire)), sizeof(*wire), "no chunk");
	wire = (const struct nbd_chunk *)(const void *)(s->in + at);
	cr_assert_eq(get_be32(wire->magic), NBD_STRUCTURED_REPLY_MAGIC);
	chunk = (struct client_chunk){ get_be16(wire->flags), get_be16(wire->type), wire->cookie[0],
		get_be32(wire->len), s->in + s->len };
	cr_assert_eq(client_hear(s, chunk.len), chunk.len);
	return chunk;
}

uint32_t client_chunk_error(struct client *s)
{
	struct client_chunk chunk = client_next_chunk(s);

	cr_assert_eq(chunk.type, NBD_REPLY_TYPE_ERROR);
	cr_assert_eq(chunk.flags, NBD_REPLY_FLAG_DONE);
	return (uint32_t)wire_be(chunk.data, 4);
}
