/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The life of a connection: clients that say goodbye, go, stay, or do not read. */
/* Link: leap */
#include "nbd_client.h"
#include "srv.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

Test(nbd_srv_conn, disconnect_answers_earlier_requests)
{
	struct client *s = client_set(512, 4, false);

	client_hello(s, false);
	s->disk->seed = 2;
	for (uint8_t i = 0; i < 30; i++)
		client_ask(s, NBD_CMD_READ, 0, i, 0, 512);
	client_ask(s, NBD_CMD_DISC, 0, 99, 0, 0);
	cr_assert_eq(client_hear(s, 30 * 528), 30 * 528);
	cr_assert(client_closed(s));
	client_strike(s);
}

/* Whatever a client was in the middle of, it may go, and the disk may still be at work then. */
Test(nbd_srv_conn, client_may_go_at_any_byte)
{
	static uint8_t data[1024];
	struct client *s = client_set(512, 4, false);

	s->disk->seed = 7;
	for (size_t cut = 0; cut < 120; cut++) {
		client_hello(s, cut % 2);
		client_ask(s, NBD_CMD_READ, 0, 1, 0, BUFFER * 8);
		client_ask(s, NBD_CMD_WRITE, 0, 2, 0, 1024);
		client_say(s, data, cut < 92 ? cut * 11 : 1024);
		client_turns(s, cut % 3);
		close(s->fd);
		client_turns(s, cut % 2);
		s->fd = client_dial(s);
	}
	client_hello(s, false);
	client_ask(s, NBD_CMD_READ, 0, 1, 0, 512);
	cr_assert_eq(client_hear(s, 528), 528);
	cr_assert_eq(client_strike(s), 0);
}

Test(nbd_srv_conn, handshake_has_a_deadline)
{
	struct client *s = client_set_hello(512, 4, false, 200);

	cr_assert_eq(client_hear(s, 18), 18);
	cr_assert(client_closed(s));
	cr_assert_eq(client_strike(s), 0);
}

/* The deadline ends with the handshake. */
Test(nbd_srv_conn, idle_client_may_stay)
{
	struct client *s = client_set_hello(512, 4, false, 1500);

	client_hello(s, false);
	client_turns(s, 1800);
	client_ask(s, NBD_CMD_READ, 0, 1, 0, 512);
	cr_assert_eq(client_hear(s, 528), 528);
	cr_assert_eq(client_strike(s), 0);
}

/* Unread replies occupy only this client's slots and do not delay other clients. */
Test(nbd_srv_conn, client_that_never_reads_harms_no_other)
{
	struct client *s = client_set(512, 4, false);
	int mute = s->fd, sent = 0;
	struct nbd_request req = { put_be32(NBD_REQUEST_MAGIC), .len = put_be32(BUFFER) };

	client_hello(s, false);
	for (int idle = 0; idle < 20; idle++, client_turns(s, 1))
		while (sent < 100000 &&
			send(mute, &req, sizeof(req), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(req)) {
			idle = 0;
			sent++;
		}
	cr_assert(sent > 1000 && sent < 100000, "%d", sent);
	s->fd = client_dial(s);
	s->len = 0;
	client_hello(s, false);
	client_ask(s, NBD_CMD_READ, 0, 1, 0, 512);
	cr_assert_eq(client_hear(s, 528), 528);
	cr_assert_eq(nbd_clients(s->server), 2);
	close(mute);
	cr_assert_eq(client_strike(s), 0);
}

Test(nbd_srv_conn, what_the_disk_holds_for_a_gone_client_is_dropped)
{
	struct client *s = client_set(512, 4, false);

	client_hello(s, false);
	s->disk->hold = true;
	for (uint8_t i = 0; i < 9; i++)
		client_ask(s, NBD_CMD_READ, 0, i, 0, 512);
	client_turns(s, 5);
	cr_assert_eq(s->disk->cancelled, 0);
	close(s->fd);
	client_turns(s, 5);
	cr_assert_eq(s->disk->cancelled, 4);
	cr_assert_eq(nbd_clients(s->server), 0);
	s->disk->hold = false;
	s->fd = -1;
	cr_assert_eq(client_strike(s), 0);
}

Test(nbd_srv_conn, failed_go_can_be_tried_again)
{
	struct client *s = client_set(512, 4, false);
	struct lane *lane = s->server->target.worker[0].lane[0];

	lane->state = LANE_DOWN;
	client_say(s, "\0\0\0\3", 4);
	cr_assert_eq(client_hear(s, 18), 18);
	client_option(s, NBD_OPT_GO, "\0\0\0\0\0\1\0\3", 8);
	s->len = 0;
	client_hear(s, 20);
	cr_assert_eq(wire_be(s->in + 12, 4), NBD_REP_ERR_POLICY);
	client_hear(s, (size_t)wire_be(s->in + 16, 4));
	lane->state = LANE_UP;
	client_option(s, NBD_OPT_GO, "\0\0\0\0\0\1\0\3", 8);
	cr_assert_eq(client_hear(s, 86), 86);
	s->len = 0;
	client_ask(s, NBD_CMD_READ, 0, 1, 0, 512);
	cr_assert_eq(client_hear(s, 528), 528);
	client_strike(s);
}
