/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iscsi-login ADDRESS [KEY=VALUE]…: an iSCSI target that can be logged in to and asked what there
 * is, with our target's side of the login, for the initiators of others. Keys: user, secret,
 * target-user, target-secret, algs (CHAP); only (who may); moved (where iqn.x:moved is). Says
 * "ready". */
#include "../../../core/net/tcp.h"
#include "../../../core/proto/iscsi/login_tgt.h"
#include "applet.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

const struct applet *const applets[] = { NULL };

static struct server {
	struct iscsi_auth auth;
	const char *only, *moved;
	struct addr at;
	struct loop *loop;
} server = { .auth.algs = ISCSI_CHAP_ALL };

struct conn {
	struct stream *stream;
	struct iscsi_login_tgt login;
	bool full, busy, last; /* last: the connection ends behind what is on its way */
	struct loop_work gone;
	uint32_t got, len;
	struct iscsi_bhs bhs; /* of the PDU that arrives */
	uint8_t data[ISCSI_PDU_DATA + 3];
	struct stream_out out;
	uint8_t pdu[ISCSI_BHS + ISCSI_PDU_DATA + 3];
};

static uint16_t admit(
	void *user, const struct iscsi_login_names *asked, struct iscsi_login_grant *grant)
{
	struct server *s = user;

	printf("%s asks for %s\n", asked->initiator, asked->target ? asked->target : "a list");
	*grant = (struct iscsi_login_grant){
		.auth = s->auth, .redirect = s->moved, .tpgt = 1, .tsih = 1
	};
	if (s->only && strcmp(s->only, asked->initiator))
		return ISCSI_FORBIDDEN;
	if (!asked->target || !strcmp(asked->target, "iqn.x:here"))
		return 0;
	return s->moved && !strcmp(asked->target, "iqn.x:moved") ? ISCSI_MOVED_FOR_NOW
								 : ISCSI_NOT_FOUND;
}

static void put(struct conn *conn, const void *bhs, const void *data, uint32_t len)
{
	uint32_t padded = (len + 3) & ~3u;

	if (conn->busy) {
		stream_close(conn->stream);
		return;
	}
	memcpy(conn->pdu, bhs, ISCSI_BHS);
	((struct iscsi_bhs *)conn->pdu)->data_len = put_be24(len);
	memcpy(conn->pdu + ISCSI_BHS, data, len);
	memset(conn->pdu + ISCSI_BHS + len, 0, padded - len);
	conn->out = (struct stream_out){ .iov = { { conn->pdu, ISCSI_BHS + padded } }, .niov = 1 };
	conn->busy = true;
	stream_send(conn->stream, &conn->out);
}

static void log_in(struct conn *conn)
{
	struct iscsi_login_tgt *login = &conn->login;
	struct diag why = { 0 };
	int next = iscsi_login_tgt_receive(login, &conn->bhs, conn->data, conn->len, &why);

	if (next < 0)
		printf("refused: %s\n", why.text);
	else if (next != ISCSI_LOGIN_SEND)
		printf("%s %s%s%s\n", login->initiator,
			next == ISCSI_LOGIN_DONE ? "is in" : "is sent on",
			login->by_chap ? ", by CHAP with " : "",
			login->by_chap ? iscsi_chap_name(login->chap.alg) : "");
	conn->full = next == ISCSI_LOGIN_DONE;
	conn->last = next < 0 || next == ISCSI_LOGIN_MOVED;
	if (login->answer)
		put(conn, &login->rsp, login->data, iscsi_login_tgt_len(login));
	else
		stream_close(conn->stream);
}

/* The request's number, and the one that is expected behind it. */
static be32 expected(const struct iscsi_text_req *req)
{
	return put_be32(get_be32(req->cmdsn) + !(req->opcode & ISCSI_IMMEDIATE));
}

static void list(struct conn *conn, const struct iscsi_text_req *req)
{
	struct iscsi_text_rsp rsp = { .opcode = ISCSI_TEXT_RSP,
		.flags = ISCSI_FINAL,
		.itt = req->itt,
		.ttt = put_be32(ISCSI_NO_TAG),
		.statsn = put_be32(conn->login.statsn++),
		.exp_cmdsn = expected(req),
		.max_cmdsn = expected(req) };
	char at[ADDR_TEXT];
	uint8_t text[512];
	struct wr w = wr_init(text, sizeof(text));

	for (unsigned i = 0; i < 2; i++) {
		iscsi_text_put(&w, "TargetName", "%s", i ? "iqn.x:moved" : "iqn.x:here");
		iscsi_text_put(&w, "TargetAddress", "%s,1", addr_text(&server.at, at));
	}
	put(conn, &rsp, text, (uint32_t)(w.p - text));
}

static void log_out(struct conn *conn, const struct iscsi_text_req *req)
{
	struct iscsi_text_rsp rsp = { .opcode = ISCSI_LOGOUT_RSP,
		.flags = ISCSI_FINAL,
		.itt = req->itt,
		.statsn = put_be32(conn->login.statsn++),
		.exp_cmdsn = expected(req),
		.max_cmdsn = expected(req) };

	conn->last = true;
	put(conn, &rsp, NULL, 0);
}

static void take(struct conn *conn)
{
	if (!conn->full)
		log_in(conn);
	else if (ISCSI_OPCODE(conn->bhs.opcode) == ISCSI_TEXT_REQ)
		list(conn, (const void *)&conn->bhs);
	else if (ISCSI_OPCODE(conn->bhs.opcode) == ISCSI_LOGOUT_REQ)
		log_out(conn, (const void *)&conn->bhs);
	else
		stream_close(conn->stream);
	fflush(stdout);
}

static void readable(struct stream *stream)
{
	struct conn *conn = stream->user;
	struct iovec iov;
	ssize_t n;

	do {
		uint32_t padded = (conn->len + 3) & ~3u;

		iov = conn->got < ISCSI_BHS ? (struct iovec){ (uint8_t *)&conn->bhs + conn->got,
			ISCSI_BHS - conn->got }
					    : (struct iovec){ conn->data + conn->got - ISCSI_BHS,
						      ISCSI_BHS + padded - conn->got };
		n = stream_recv(stream, &iov, 1);
		if (n <= 0)
			break;
		conn->got += (uint32_t)n;
		if (conn->got == ISCSI_BHS)
			conn->len = get_be24(conn->bhs.data_len);
		if (conn->got < ISCSI_BHS ||
			(!conn->bhs.ahs_len && conn->len <= ISCSI_PDU_DATA &&
				conn->got < ISCSI_BHS + ((conn->len + 3) & ~3u)))
			continue;
		if (conn->bhs.ahs_len || conn->len > ISCSI_PDU_DATA) {
			n = -1;
			break;
		}
		conn->got = 0;
		take(conn);
	} while (stream->state == STREAM_UP);
	if (n < 0)
		stream_close(stream);
}

static void sent(struct stream *stream, struct stream_out *out)
{
	struct conn *conn = container_of(out, struct conn, out);

	conn->busy = false;
	if (conn->last)
		stream_close(stream);
}

static void forget(struct loop_work *gone)
{
	struct conn *conn = container_of(gone, struct conn, gone);

	stream_free(conn->stream);
	iscsi_login_tgt_end(&conn->login);
	free(conn);
}

static void down(struct stream *stream)
{
	struct conn *conn = stream->user;

	loop_work_add(server.loop, &conn->gone);
}

static const struct stream_events events = { .readable = readable, .sent = sent, .down = down };

static void accepted(int fd, const struct addr *peer, void *user)
{
	struct iscsi_login_tgt_params how = {
		.admit = admit, .user = user, .recv_max = ISCSI_PDU_DATA
	};
	struct conn *conn = calloc(1, sizeof(*conn));
	struct diag why = { 0 };
	uint8_t random[17];

	if (!conn || getrandom(random, sizeof(random), 0) != sizeof(random) ||
		stream_accept(&conn->stream, server.loop, fd, peer, &events, conn, &why)) {
		fprintf(stderr, "%s\n", why.text);
		exit(1);
	}
	conn->gone.run = forget;
	iscsi_login_tgt_start(&conn->login, &how, random);
}

/* Whether the argument was key= */
static bool set(const char *argument, const char *key, const char **to)
{
	size_t len = strlen(key);

	if (strncmp(argument, key, len) || argument[len] != '=')
		return false;
	*to = argument + len + 1;
	return true;
}

int main(int argc, char **argv)
{
	struct tcp_listen how = { .stream = accepted, .user = &server, .timeout_ms = 10000 };
	struct iscsi_auth *auth = &server.auth;
	struct tcp_listener *listener;
	struct diag why = { 0 };
	const char *algs = NULL;
	bool good = argc > 1 && !addr_parse(&how.at, argv[1], ISCSI_PORT, &why);

	for (int i = 2; good && i < argc; i++)
		good = set(argv[i], "user", &auth->user) || set(argv[i], "secret", &auth->secret) ||
		       set(argv[i], "target-user", &auth->target_user) ||
		       set(argv[i], "target-secret", &auth->target_secret) ||
		       set(argv[i], "algs", &algs) || set(argv[i], "only", &server.only) ||
		       set(argv[i], "moved", &server.moved);
	server.at = how.at;
	if (!good || !auth->user != !auth->secret || !auth->target_user != !auth->target_secret ||
		(algs && iscsi_chap_algs(algs, &auth->algs, &why)) ||
		loop_new(&server.loop, &(struct loop_options){ .name = "iscsi-login" }, &why) ||
		tcp_listen(&listener, server.loop, &how, &why)) {
		fprintf(stderr, "usage: iscsi-login ADDRESS [KEY=VALUE]... %s\n", why.text);
		return 2;
	}
	printf("ready\n");
	fflush(stdout);
	loop_run(server.loop);
	return 0;
}
