/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Handshakes on a socket whose keys a kernel gets, played by the test: both roles and hashes, bytes
 * one by one, what follows the handshake, peers that fail, close or stay silent. */
/* Link: leap setsockopt */
#include "tls_socket.h"
#include "../../../core/net/tls_conn.h"
#include "../../../core/net/tls_creds.h"
#include "leap.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ID "NVMe1R01 nqn.h nqn.s x"

static int refuse; /* errno of TCP_ULP */
static bool has_ulp;
static uint8_t given[3][sizeof(struct tls12_crypto_info_aes_gcm_256)]; /* by TLS_TX, TLS_RX */
static socklen_t given_len[3];

int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (level == IPPROTO_TCP && name == 31) {
		errno = refuse;
		has_ulp = !refuse && !strcmp(value, "tls");
		return refuse ? -1 : 0;
	}
	if (level != 282)
		return __real_setsockopt(fd, level, name, value, len);
	cr_assert(has_ulp && (name == TLS_TX || name == TLS_RX) && len <= sizeof(given[0]));
	memcpy(given[name], value, len);
	given_len[name] = len;
	return 0;
}

static struct loop *loop;
static int fd[2]; /* ours, the peer's */
static struct tls_socket *ts;
static struct tls_conn *peer;
static struct tls_creds *creds[2];
static volatile int ended;
static struct diag result;

static void done(void *user, const struct diag *why)
{
	cr_assert_eq(user, &ts);
	cr_assert_not(ended);
	result = *why;
	ended = 1;
}

static struct tls_shared_key keys[2]; /* of the client, of the server */

static bool find(const void *user, const char *identity, size_t len, struct tls_shared_key *to)
{
	(void)user;
	*to = keys[1];
	return len == strlen(ID) && !memcmp(identity, ID, len);
}

static void drop(void *user)
{
	(void)user;
}

static struct tls_creds *creds_of(bool server)
{
	const struct tls_names names = { .kind = "the key", .noun = "host" };
	const struct tls_finder finder = { .find = find, .free = drop };
	struct tls_creds *made = NULL;
	struct diag why = { 0 };

	if (server)
		tls_creds_new_finder(&made, &finder, &names, &why);
	else
		tls_creds_new_key(&made, ID, &keys[0], &names, &why);
	cr_assert(made, "%s", why.text);
	return made;
}

static void begin(bool server, bool sha384, uint32_t timeout_ms)
{
	struct diag why = { 0 };

	refuse = ended = 0;
	has_ulp = false;
	memset(given, 0, sizeof(given));
	for (unsigned i = 0; i < 2; i++) {
		keys[i] = (struct tls_shared_key){ .len = sha384 ? 48 : 32, .sha384 = sha384 };
		memset(keys[i].key, 0x5a, keys[i].len);
	}
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &why), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	for (unsigned i = 0; i < 2; i++)
		creds[i] = creds_of(i ? !server : server);
	cr_assert_eq(tls_socket_new(&ts, loop, fd[0], creds[0], timeout_ms, done, &ts, &why), 0);
	peer = tls_conn_new(creds[1], NULL, NULL, &why);
}

static void finish(void)
{
	tls_socket_free(ts);
	tls_conn_free(peer);
	for (unsigned i = 0; i < 2; i++)
		tls_creds_free(creds[i]);
	if (fd[1] >= 0)
		close(fd[1]);
	close(fd[0]);
	loop_free(loop);
}

/* A turn of our side, if something is ready there. */
static void turn(void)
{
	loop_wait(loop, &ended, loop_clock() + 1000);
}

static void peer_sends(size_t most)
{
	struct iovec out = tls_conn_pending(peer);

	while (out.iov_len) {
		ssize_t sent = send(fd[1], out.iov_base, out.iov_len < most ? out.iov_len : most,
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent <= 0)
			return;
		tls_conn_sent(peer, (size_t)sent);
		turn();
		out = tls_conn_pending(peer);
	}
}

/* Until nothing moves. */
static void handshake(size_t most)
{
	bool begins = tls_conn_begins(peer), moved = true;

	if (begins)
		tls_handshake_run(&peer->job);
	while (moved) {
		struct iovec room;
		ssize_t got;

		peer_sends(most);
		turn();
		room = tls_conn_room(peer);
		got = recv(fd[1], room.iov_base, room.iov_len < most ? room.iov_len : most,
			MSG_DONTWAIT);
		moved = got > 0;
		if (moved)
			tls_conn_received(peer, (size_t)got);
		while (!peer->handshake_done && !peer->why.err && tls_conn_has_record(peer))
			tls_handshake_run(&peer->job);
	}
	peer_sends(most);
	turn();
}

/* What the kernel got is the peer's other key (linux/tls.h). */
static void check_key(int direction, const struct tls_key *key)
{
	const struct tls12_crypto_info_aes_gcm_128 *aes128 = (const void *)given[direction];
	const struct tls12_crypto_info_aes_gcm_256 *aes256 = (const void *)given[direction];
	static const uint8_t zero[8];
	uint8_t bytes[32];

	cr_assert_eq(tls_key_bytes(key, bytes), 0);
	cr_assert_eq(aes128->info.version, TLS_1_3_VERSION);
	if (key->key_len == 16) {
		cr_assert_eq(given_len[direction], sizeof(*aes128));
		cr_assert_eq(aes128->info.cipher_type, TLS_CIPHER_AES_GCM_128);
		cr_assert_arr_eq(aes128->key, bytes, 16);
		cr_assert_arr_eq(aes128->salt, key->nonce, 4);
		cr_assert_arr_eq(aes128->iv, key->nonce + 4, 8);
		cr_assert_arr_eq(aes128->rec_seq, zero, 8);
	} else {
		cr_assert_eq(given_len[direction], sizeof(*aes256));
		cr_assert_eq(aes256->info.cipher_type, TLS_CIPHER_AES_GCM_256);
		cr_assert_arr_eq(aes256->key, bytes, 32);
		cr_assert_arr_eq(aes256->salt, key->nonce, 4);
		cr_assert_arr_eq(aes256->iv, key->nonce + 4, 8);
		cr_assert_arr_eq(aes256->rec_seq, zero, 8);
	}
}

Test(tls_socket, both_roles_and_hashes)
{
	for (unsigned way = 0; way < 8; way++) {
		begin(way & 1, way & 2, 10000);
		handshake(way & 4 ? 1 : 65536);
		cr_assert(ended && !result.err, "%u: %s", way, result.text);
		cr_assert(peer->handshake_done);
		check_key(TLS_TX, &peer->rx);
		check_key(TLS_RX, &peer->tx);
		finish();
	}
}

/* The client's first record may arrive together with its Finished: the kernel has to find it. */
Test(tls_socket, what_follows_stays_in_the_socket)
{
	const struct iovec text = { "ICReq", 5 };
	struct iovec out;
	uint8_t record[256], all[4096];
	struct diag why;
	size_t len;
	ssize_t got;

	begin(true, false, 10000);
	tls_handshake_run(&peer->job);
	peer_sends(65536);
	while (!peer->handshake_done) {
		struct iovec room = tls_conn_room(peer);

		turn();
		got = recv(fd[1], room.iov_base, room.iov_len, 0);
		tls_conn_received(peer, (size_t)got);
		while (!peer->handshake_done && tls_conn_has_record(peer))
			tls_handshake_run(&peer->job);
	}
	out = tls_conn_pending(peer); /* Finished */
	len = out.iov_len;
	memcpy(all, out.iov_base, len);
	tls_conn_sent(peer, len);
	cr_assert_eq(tls_conn_put(peer, &text, 1, &why), 5);
	out = tls_conn_pending(peer);
	memcpy(all + len, out.iov_base, out.iov_len);
	cr_assert_eq(send(fd[1], all, len + out.iov_len, 0), (ssize_t)(len + out.iov_len));
	turn();
	cr_assert(ended && !result.err, "%s", result.text);
	got = recv(fd[0], record, sizeof(record), MSG_DONTWAIT);
	cr_assert_eq(got, (ssize_t)out.iov_len);
	cr_assert_arr_eq(record, out.iov_base, out.iov_len);
	finish();
}

Test(tls_socket, wrong_keys)
{
	begin(false, false, 10000);
	keys[1].key[0] ^= 1;
	handshake(65536);
	cr_assert(ended && result.err == EACCES);
	diag_says(&result, DIAG_AUTH, NULL, "server rejected TLS key");
	cr_assert_eq(given_len[TLS_TX], 0);
	finish();
	begin(true, false, 10000);
	keys[1].key[0] ^= 1;
	handshake(65536);
	cr_assert(ended && result.err == EACCES);
	diag_says(&result, DIAG_AUTH, NULL, "wrong host");
	cr_assert(peer->why.err, "the client gets an alert");
	finish();
}

Test(tls_socket, a_peer_that_closes_or_says_something_else)
{
	uint8_t hello[1024];

	begin(false, false, 10000);
	turn();
	cr_assert_gt(recv(fd[1], hello, sizeof(hello), MSG_DONTWAIT), 0);
	close(fd[1]);
	fd[1] = -1;
	turn();
	cr_assert(ended);
	diag_says(&result, DIAG_CLOSED, NULL, "server closed TLS handshake");
	finish();
	begin(true, false, 10000);
	cr_assert_eq(send(fd[1], "\0\0\200\0\0\0\0\0", 8, 0), 8);
	turn();
	turn();
	cr_assert(ended && result.err, "plain NVMe/TCP");
	finish();
}

Test(tls_socket, a_silent_peer)
{
	begin(false, false, 10000);
	cr_assert(loop_wait(loop, &ended, leap_limit(60 * SEC)));
	diag_says(&result, DIAG_TIMEOUT, NULL, "server TLS handshake time");
	finish();
	begin(true, false, 0);
	cr_assert_not(loop_wait(loop, &ended, leap_limit(3600 * SEC)), "no limit");
	finish();
}

Test(tls_socket, a_kernel_without_tls)
{
	begin(false, false, 10000);
	refuse = ENOENT;
	handshake(65536);
	cr_assert(ended);
	diag_says(&result, DIAG_NO_MODULE, NULL, "CONFIG_TLS");
	text_says(result.hint, "modprobe tls");
	finish();
	begin(false, false, 10000);
	refuse = ENOTCONN;
	handshake(65536);
	cr_assert(ended && result.err == ENOTCONN);
	finish();
}
