/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections that are adopted, and the orderly stop. */
/* Link: leap */
#include "srv.h"
#include "nbd_client.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct owner {
	struct nbd_adopted adopted;
	unsigned over;
	bool goodbye;
};

static void adopted_over(struct nbd_adopted *adopted, bool goodbye)
{
	struct owner *owner = container_of(adopted, struct owner, adopted);

	owner->over++;
	owner->goodbye = goodbye;
}

/* It skips the handshake and does not count as a client. Its owner gets the reason for its end. */
Test(nbd_server, adopted_connection_is_served_at_once)
{
	struct client *s = client_set(512, 4, false);
	struct owner owner = { .adopted.closed = adopted_over };
	int fd[2];

	cr_assert_eq(
		nbd_server_flags(s->server, 0), nbd_srv_flags(&s->server->opt.export[0], false));
	for (unsigned round = 1; round <= 2; round++) {
		close(s->fd);
		cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
		cr_assert_eq(fcntl(fd[0], F_SETFL, O_NONBLOCK), 0);
		cr_assert_eq(
			nbd_server_adopt(s->server, 0, fd[0], "test", &owner.adopted, &s->diag), 0);
		s->fd = fd[1];
		client_ask(s, NBD_CMD_READ, 0, round, 512, 512);
		cr_assert_eq(client_hear(s, 528), 528);
		cr_assert(!memcmp(s->in + s->len - 512, s->disk->bytes + 512, 512));
		if (round == 1)
			client_ask(s, NBD_CMD_DISC, 0, 2, 0, 0);
		else
			shutdown(s->fd, SHUT_WR);
		cr_assert(client_closed(s));
		client_turns(s, 20);
		cr_assert_eq(owner.over, round);
		cr_assert_eq(owner.goodbye, round == 1);
	}
	cr_assert_eq(nbd_clients(s->server), 0);
	cr_assert_eq(client_strike(s), 0);
}

Test(nbd_server, stop_answers_what_flies_and_flushes)
{
	struct client *s = client_set(512, 8, false);
	struct fake_disk *disk = s->disk;
	uint64_t flushes = disk->flushes;
	static uint8_t data[4096];
	int fd = s->fd;

	client_hello(s, false);
	disk->seed = 1;
	memset(data, 0x77, sizeof(data));
	for (uint8_t i = 0; i < 8; i++) {
		client_ask(s, NBD_CMD_WRITE, 0, i, i * 4096u, 4096);
		client_say(s, data, sizeof(data));
	}
	client_turns(s, 1);
	cr_assert_eq(nbd_server_stop(s->server, 3000, &s->diag), 0);
	s->server = NULL;
	cr_assert_eq(recv(fd, s->in, 1000, MSG_DONTWAIT), 8 * 16);
	cr_assert_eq(disk->flushes, flushes + 1);
	cr_assert_eq(memcmp(disk->safe + 7 * 4096, data, 4096), 0);
	cr_assert_neq(access(s->path, F_OK), 0);
	client_strike(s);
}

Test(nbd_server, stop_that_cannot_flush_fails)
{
	struct client *s = client_set(512, 4, false);

	s->disk->flush_status = -EIO;
	cr_assert_eq(nbd_server_stop(s->server, 3000, &s->diag), -EIO);
	diag_says(&s->diag, DIAG_IO, s->disk->bdev.uri, "data flush input/output_error");
	s->server = NULL;
	client_strike(s);
}

Test(nbd_server, stop_gives_up_what_the_disk_holds)
{
	static uint8_t data[512];
	struct client *s = client_set(512, 4, false);
	struct fake_disk *disk = s->disk;

	client_hello(s, false);
	disk->hold = true;
	client_ask(s, NBD_CMD_WRITE, 0, 1, 0, 512);
	client_say(s, data, 512);
	client_turns(s, 5);
	cr_assert_eq(nbd_server_stop(s->server, 50, &s->diag), -ETIMEDOUT, "given back");
	diag_says(&s->diag, DIAG_TIMEOUT, s->disk->bdev.uri, "data flush timed_out");
	cr_assert_geq(disk->cancelled, 1);
	s->server = NULL;
	client_strike(s);
}

Test(nbd_server, stop_does_not_wait_for_a_flush_that_is_never_answered)
{
	static struct client *s; /* what the disk keeps cannot be freed */
	uint64_t before;

	s = client_set(512, 4, false);
	s->disk->hold = s->disk->keep = true;
	before = loop_clock();
	cr_assert_eq(nbd_server_stop(s->server, 50, &s->diag), -EINPROGRESS, "not to be closed");
	cr_assert_lt(loop_clock() - before, 2000 * MSEC);
	diag_says(&s->diag, DIAG_TIMEOUT, s->disk->bdev.uri, "data flush timed_out");
}
