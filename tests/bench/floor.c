/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a socket alone can do here: 64-byte requests, replies of one size, one process a side, one
 * unix or TCP connection. Each side takes all that has arrived in one receive and answers it in one
 * send: the bound of every server that uses sockets. With tls=own and tls=kernel its bytes are in
 * records of TLS 1.3 with AES-128-GCM, protected by our engine or by the kernel (kTLS, over TCP
 * only). floor [bs=4096] [qd=32] [seconds=0.5] [spin=1] [tcp=1] [tls=own|kernel] [client=CPU]
 * [server=CPU] */
#include "../../core/net/tls_conn.h"
#include "hist.h"
#include <errno.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "applet.h"

#define REQUEST   64u
#define DEPTH_MAX 1024

const struct applet *const applets[] = { NULL };

/* One end of the connection. */
struct end {
	int fd;
	bool spin;
	struct tls_conn
		*tls; /* NULL: the socket has the plain bytes, or the kernel protects them */
};

static void die(const char *what)
{
	fprintf(stderr, "floor: %s: %s\n", what, errno ? strerror(errno) : "wrong argument");
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (cpu >= 0 && sched_setaffinity(0, sizeof(set), &set))
		die("processor");
}

static size_t receive(const struct end *end, uint8_t *p, size_t len)
{
	ssize_t n;

	do
		n = recv(end->fd, p, len, end->spin ? MSG_DONTWAIT : 0);
	while (n < 0 && errno == EAGAIN);
	if (n < 0)
		die("receive");
	return (size_t)n;
}

static size_t get_some(const struct end *end, uint8_t *p, size_t len)
{
	const struct iovec to = { p, len };
	struct diag why = { 0 };

	if (!end->tls)
		return receive(end, p, len);
	for (;;) {
		ssize_t n = tls_conn_take(end->tls, &(struct tls_cursor){ &to, 1, 0 }, &why);
		struct iovec room;
		size_t more;

		if (n < 0)
			die(why.text);
		if (n)
			return (size_t)n;
		room = tls_conn_room(end->tls);
		more = receive(end, room.iov_base, room.iov_len);
		if (!more)
			return 0;
		tls_conn_received(end->tls, more);
	}
}

static void send_all(const struct end *end, const uint8_t *p, size_t len)
{
	while (len) {
		ssize_t n = send(end->fd, p, len, MSG_NOSIGNAL);
		if (n < 0)
			exit(0); /* the other side is done */
		p += n;
		len -= (size_t)n;
	}
}

static void put_all(const struct end *end, const uint8_t *p, size_t len)
{
	struct diag why = { 0 };

	if (!end->tls)
		send_all(end, p, len);
	while (end->tls && len) {
		const struct iovec from = { (void *)(uintptr_t)p, len };
		ssize_t n = tls_conn_put(end->tls, &from, 1, &why);
		struct iovec out = tls_conn_pending(end->tls);

		if (n < 0)
			die(why.text);
		send_all(end, out.iov_base, out.iov_len);
		tls_conn_sent(end->tls, out.iov_len);
		p += n;
		len -= (size_t)n;
	}
}

/* As after a handshake, with keys that both ends know. */
static struct tls_conn *own_engine(bool server)
{
	static const uint8_t secret[2][32] = { "of the client", "of the server" };
	struct tls_conn *tls = calloc(1, sizeof(*tls));

	if (!tls || tls_key_set(&tls->tx, secret[server], 32) ||
		tls_key_set(&tls->rx, secret[!server], 32))
		die("keys");
	tls->secured = true;
	tls->tx_limit = TLS_KEY_RECORDS;
	return tls;
}

static void set_kernel_key(int fd, int direction, const struct tls_key *key)
{
	struct tls12_crypto_info_aes_gcm_128 info = { .info = { TLS_1_3_VERSION,
							      TLS_CIPHER_AES_GCM_128 } };
	uint8_t bytes[32];

	if (tls_key_bytes(key, bytes))
		die("keys");
	memcpy(info.key, bytes, sizeof(info.key));
	memcpy(info.salt, key->nonce, sizeof(info.salt));
	memcpy(info.iv, key->nonce + sizeof(info.salt), sizeof(info.iv));
	if (setsockopt(fd, SOL_TLS, direction, &info, sizeof(info)))
		die("keys of the kernel");
}

static void protect(struct end *end, const char *engine, bool server)
{
	int no_padding = 1;

	if (!strcmp(engine, "none"))
		return;
	if (strcmp(engine, "own") != 0 && strcmp(engine, "kernel") != 0)
		die("tls=");
	end->tls = own_engine(server);
	if (!strcmp(engine, "own"))
		return;
	if (setsockopt(end->fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls")))
		die("kTLS");
	set_kernel_key(end->fd, TLS_TX, &end->tls->tx);
	set_kernel_key(end->fd, TLS_RX, &end->tls->rx);
	if (setsockopt(end->fd, SOL_TLS, TLS_RX_EXPECT_NO_PAD, &no_padding, sizeof(no_padding)))
		die("kTLS without padding");
	free(end->tls);
	end->tls = NULL;
}

static void serve(const struct end *end, uint32_t bs, uint32_t qd)
{
	uint8_t *in = malloc(REQUEST * qd), *out = calloc(qd, bs);
	size_t have = 0, n;

	if (!in || !out)
		die("memory");
	while ((n = get_some(end, in + have, REQUEST * qd - have))) {
		have += n;
		put_all(end, out, have / REQUEST * bs);
		have %= REQUEST;
	}
	exit(0);
}

static void load(const struct end *end, uint32_t bs, uint32_t qd, double seconds)
{
	static uint64_t sent_at[DEPTH_MAX];
	static struct hist hist;
	size_t room = (size_t)bs * qd < 512 << 10 ? (size_t)bs * qd : 512 << 10, have = 0;
	uint8_t *in = malloc(room), *out = calloc(qd, REQUEST);
	uint64_t start = now_ns(), now = start, deadline = start + (uint64_t)(seconds * 1e9),
		 oldest = 0;

	if (!in || !out)
		die("memory");
	for (uint32_t i = 0; i < qd; i++)
		sent_at[i] = start;
	put_all(end, out, (size_t)REQUEST * qd);
	while (now < deadline) {
		uint32_t whole;

		have += get_some(end, in, room);
		now = now_ns();
		whole = (uint32_t)(have / bs);
		have %= bs;
		for (uint32_t i = 0; i < whole; i++, oldest++) {
			hist_add(&hist, now - sent_at[oldest % qd]);
			sent_at[oldest % qd] = now;
		}
		put_all(end, out, (size_t)REQUEST * whole);
	}
	hist_print(&hist, (double)(now - start) / 1e9, bs);
}

static void tcp_pair(int pair[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	socklen_t len = sizeof(at);

	pair[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0 || pair[0] < 0 || bind(listener, (struct sockaddr *)&at, len) ||
		listen(listener, 1) || getsockname(listener, (struct sockaddr *)&at, &len) ||
		connect(pair[0], (struct sockaddr *)&at, len))
		die("connection");
	pair[1] = accept(listener, NULL, NULL);
	if (pair[1] < 0)
		die("connection");
	close(listener);
	for (int i = 0; i < 2; i++)
		setsockopt(pair[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

int main(int argc, char **argv)
{
	uint32_t bs = 4096, qd = 32;
	int pair[2], client = -1, server = -1;
	double seconds = 0.5;
	bool spin = false, tcp = false;
	const char *engine = "none";
	struct end end = { 0 };
	pid_t pid;

	for (int i = 1; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		if (!value)
			die(argv[i]);
		*value++ = 0;
		if (!strcmp(argv[i], "bs"))
			bs = (uint32_t)atoi(value);
		else if (!strcmp(argv[i], "qd"))
			qd = (uint32_t)atoi(value);
		else if (!strcmp(argv[i], "seconds"))
			seconds = atof(value);
		else if (!strcmp(argv[i], "spin"))
			spin = atoi(value);
		else if (!strcmp(argv[i], "tcp"))
			tcp = atoi(value);
		else if (!strcmp(argv[i], "tls"))
			engine = value;
		else if (!strcmp(argv[i], "client"))
			client = atoi(value);
		else if (!strcmp(argv[i], "server"))
			server = atoi(value);
		else
			die(argv[i]);
	}
	if (!bs || qd < 1 || qd > DEPTH_MAX)
		die("usage: floor [bs=] [qd=] [seconds=] [spin=] [tcp=] [tls=own|kernel] [client=] "
		    "[server=]");
	if (tcp)
		tcp_pair(pair);
	else if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		die("socket");
	pid = fork();
	if (pid < 0)
		die("fork");
	end = (struct end){ .fd = pair[!pid], .spin = spin };
	close(pair[!!pid]);
	protect(&end, engine, !pid);
	pin(pid ? client : server);
	if (!pid)
		serve(&end, bs, qd);
	load(&end, bs, qd, seconds);
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	close(end.fd);
	return 0;
}
