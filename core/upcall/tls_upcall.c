/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* From the kernel's request to its answer: take it, find the key, do the handshake on the socket,
 * report the key that the connection has. */
#include "tls_upcall.h"
#include "kernel_handshake.h"
#include "kernel_nvmf.h"
#include "tls_socket.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#define AT_ONCE    128   /* more than the kernel keeps waiting: a new one is not ended at once */
#define TIMEOUT_MS 30000 /* if the kernel sets none */

struct session {
	struct session *next;
	struct tls_upcall *upcall;
	struct kernel_handshake request;
	struct tls_creds *creds;
	struct tls_socket *socket;
	struct session *self; /* for the finder, which gets a constant pointer */
	int32_t ring, key;    /* of the host's key; that of the connection */
	char identity[KERNEL_PSK_IDENTITY], peer[ADDR_TEXT];
};

struct tls_upcall {
	struct loop *loop;
	int root;
	const struct tls_upcall_events *ev;
	struct kernel_handshakes *handshakes;
	struct session *first; /* the newest first */
	unsigned sessions;
	struct loop_work work;
};

static void session_free(struct session *session)
{
	tls_socket_free(session->socket);
	tls_creds_free(session->creds);
	free(session);
}

static void unlink_session(struct session *session)
{
	struct session **at = &session->upcall->first;

	while (*at != session)
		at = &(*at)->next;
	*at = session->next;
	session->upcall->sessions--;
}

/* Tell the kernel, then the owner, who may close the upcall. */
static void end(struct session *session, const struct diag *result)
{
	struct tls_upcall *upcall = session->upcall;
	struct diag why = *result, report = { 0 };
	const struct tls_upcall_end ended = { .server = session->request.server,
		.peer = session->peer,
		.identity = session->identity,
		.why = &why };

	if (kernel_handshakes_done(upcall->handshakes, &session->request, why.err,
		    why.err ? 0 : session->key, &report) &&
		!why.err)
		why = report;
	unlink_session(session);
	loop_work_add(upcall->loop, &upcall->work);
	upcall->ev->ended(upcall->ev->arg, &ended);
	session_free(session);
}

static void done(void *user, const struct diag *why)
{
	end(user, why);
}

/* --- keys */

static void share(const struct kernel_psk *psk, struct tls_shared_key *to)
{
	*to = (struct tls_shared_key){ .len = psk->len, .sha384 = psk->sha384 };
	memcpy(to->key, psk->key, psk->len);
}

static int client_creds(struct session *session, struct diag *diag)
{
	const struct tls_names names = { .kind = "the key in the kernel", .noun = "host" };
	struct tls_shared_key key;
	struct kernel_psk psk;
	int err;

	if (!session->request.key)
		return diag_set(diag, DIAG_NOT_FOUND, ENOKEY, "the kernel names no key");
	err = kernel_psk_read(session->request.key, &psk, diag);
	if (!err) {
		share(&psk, &key);
		session->key = psk.serial;
		memcpy(session->identity, psk.identity, sizeof(session->identity));
		err = tls_creds_new_key(&session->creds, psk.identity, &key, &names, diag);
	}
	explicit_bzero(&psk, sizeof(psk));
	explicit_bzero(&key, sizeof(key));
	return err;
}

static void drop_nothing(void *user)
{
	(void)user; /* the session is freed by its owner */
}

/* An unknown host gets a random key, of the hash that its identity names. */
static void unknown_key(const char *identity, struct tls_shared_key *to)
{
	*to = (struct tls_shared_key){ .sha384 = kernel_psk_is_sha384(identity, 0) };
	to->len = to->sha384 ? 48 : 32;
	if (getrandom(to->key, to->len, 0) != to->len)
		to->len = 0;
}

/* For messages: strangers choose it. */
static void name_key(struct session *session, const char *identity)
{
	size_t len = strlen(identity);

	for (size_t i = 0; i <= len; i++)
		session->identity[i] =
			identity[i] && (identity[i] < ' ' || identity[i] > '~') ? '?' : identity[i];
}

static bool find(const void *user, const char *identity, size_t len, struct tls_shared_key *to)
{
	/* the handshake runs on the loop's thread */
	struct session *session = *(struct session *const *)user;
	char text[KERNEL_PSK_IDENTITY] = "";
	struct kernel_psk psk;
	bool found;

	if (len < sizeof(text) && !memchr(identity, 0, len))
		memcpy(text, identity, len);
	found = text[0] && !kernel_psk_find(session->ring, text, &psk);
	if (found) {
		share(&psk, to);
		session->key = psk.serial;
	} else {
		unknown_key(text, to);
	}
	name_key(session, text);
	explicit_bzero(&psk, sizeof(psk));
	return found;
}

static int server_creds(struct session *session, struct diag *diag)
{
	const struct tls_names names = { .kind = "the keys in the kernel", .noun = "host" };
	const struct tls_finder finder = {
		.find = find, .free = drop_nothing, .user = &session->self
	};
	int err = kernel_nvmf_keyring(session->upcall->root, NULL, &session->ring, diag);

	return err ? err : tls_creds_new_finder(&session->creds, &finder, &names, diag);
}

/* --- requests */

static void name_peer(struct session *session)
{
	struct addr addr = { .len = sizeof(addr.ss) };

	if (getpeername(session->request.fd, (struct sockaddr *)&addr.ss, &addr.len) ||
		!addr_text(&addr, session->peer))
		snprintf(session->peer, sizeof(session->peer), "an unknown peer");
}

static int begin(struct session *session, struct diag *diag)
{
	const struct kernel_handshake *request = &session->request;
	int err;

	name_peer(session);
	if (!request->psk)
		return diag_set(diag, DIAG_UNSUPPORTED, EOPNOTSUPP,
			"the kernel asks for TLS without a pre-shared key");
	err = request->server ? server_creds(session, diag) : client_creds(session, diag);
	return err ? err
		   : tls_socket_new(&session->socket, session->upcall->loop, request->fd,
			     session->creds, request->timeout_ms ? request->timeout_ms : TIMEOUT_MS,
			     done, session, diag);
}

/* Strangers that connect to the kernel's target and say nothing may not keep out others, or this
 * host's own connections. */
static void make_room(struct tls_upcall *upcall)
{
	struct session *oldest = NULL;
	struct diag why = { 0 };

	if (upcall->sessions < AT_ONCE)
		return;
	for (struct session *session = upcall->first; session; session = session->next)
		if (session->request.server)
			oldest = session;
	if (!oldest)
		return;
	diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT,
		"TLS handshake not finished when more than %d were in progress", AT_ONCE);
	tls_socket_free(oldest->socket); /* before its descriptor is closed */
	oldest->socket = NULL;
	end(oldest, &why);
}

/* Returns false if there is no request, or if it can't be taken now. */
static bool take_request(struct tls_upcall *upcall)
{
	struct session *session = calloc(1, sizeof(*session));
	struct diag why = { 0 };
	int err = session ? kernel_handshakes_accept(upcall->handshakes, &session->request, &why)
			  : -ENOMEM;

	if (err) {
		if (session && err != -EAGAIN)
			upcall->ev->ended(upcall->ev->arg,
				&(struct tls_upcall_end){ "a peer", "", false, &why });
		free(session);
		return err == -EBADMSG;
	}
	make_room(upcall);
	session->upcall = upcall;
	session->self = session;
	session->next = upcall->first;
	upcall->first = session;
	upcall->sessions++;
	if (begin(session, &why))
		end(session, &why);
	return true;
}

static void take_requests(struct loop_work *work)
{
	struct tls_upcall *upcall = container_of(work, struct tls_upcall, work);

	if (take_request(upcall))
		loop_work_add(upcall->loop, work);
}

static void ready(void *user)
{
	struct tls_upcall *upcall = user;

	loop_work_add(upcall->loop, &upcall->work);
}

int tls_upcall_open(struct tls_upcall **out, struct loop *loop, int root,
	const struct tls_upcall_events *ev, struct diag *diag)
{
	struct tls_upcall *upcall = calloc(1, sizeof(*upcall));
	int err;

	if (!upcall)
		return diag_sys(diag, ENOMEM, "TLS handshakes");
	*upcall = (struct tls_upcall){
		.loop = loop, .root = root, .ev = ev, .work.run = take_requests
	};
	err = kernel_handshakes_open(&upcall->handshakes, loop, ready, upcall, diag);
	if (err) {
		free(upcall);
		return err;
	}
	loop_work_add(loop, &upcall->work);
	*out = upcall;
	return 0;
}

void tls_upcall_close(struct tls_upcall *upcall)
{
	struct session *session;

	if (!upcall)
		return;
	while ((session = upcall->first)) {
		upcall->first = session->next;
		tls_socket_free(session->socket); /* before its descriptor is closed */
		session->socket = NULL;
		kernel_handshakes_done(upcall->handshakes, &session->request, ECANCELED, 0, NULL);
		session_free(session);
	}
	loop_work_del(upcall->loop, &upcall->work);
	kernel_handshakes_close(upcall->handshakes);
	free(upcall);
}

bool tls_upcall_is_busy(const struct tls_upcall *upcall)
{
	return upcall->first;
}
