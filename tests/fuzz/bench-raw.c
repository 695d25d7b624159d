/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/load core/net */
/* Both sides of `bench --tcp` and `bench --rdma`, and of rping, against a peer that sends anything.
 * The first byte of the input selects the side: requests on a socket; a hello and messages over
 * RDMA to the server; a welcome and answers to the client. */
#include "ep_pair.h"
#include "load.h"
#include "script.h"
#include "wire/bench.h"
#include "wire/rping.h"
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define MEMORY_AT  0x1000
#define MEMORY_KEY 7
#define MEMORY_LEN 65536
#define TURN_MAX   10000 /* turns */
#define ITERATIONS 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum side { SOCKET, SERVER, CLIENT, PING_SERVER, PING_CLIENT, SIDES };

static struct loop *loop;
static struct ep_peer peer;
static struct script script;
static struct ep *client; /* that was accepted */
static bool gone;

static void went(struct ep_peer *p, struct ep *ep)
{
	(void)p;
	(void)ep;
	gone = true;
}

/* A device that gives as little as the input says. */
static void begin(void)
{
	static uint8_t memory[MEMORY_LEN];
	uint8_t few = script_byte(&script);

	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL))
		abort();
	gone = false;
	peer = (struct ep_peer){ .gone = went,
		.memory = memory,
		.memory_at = MEMORY_AT,
		.memory_len = MEMORY_LEN,
		.memory_key = MEMORY_KEY };
	peer.delayed_sent = few & 1;
	peer.limit.inline_max = few & 2 ? 1 : 0;
	peer.limit.ord = few & 4 ? 1 : 0;
	peer.limit.recv = few & 8 ? 8 + (few >> 4) : 0;
	peer.limit.send = few & 8 ? 16 + (few >> 4) : 0;
	ep_pair_peer(loop, &peer);
}

static void turns(unsigned count)
{
	while (count--)
		script_turn(loop);
}

static struct load_server *serve(bool ping)
{
	struct load_listen conf = {
		.tcp = true, .ping = ping, .iwarp = true, .verbs = true, .loops = &loop, .nloops = 1
	};
	struct load_server *server;

	/* With nothing but its family bound it gets a name of its own that no file system knows. */
	conf.at.ss.ss_family = AF_UNIX;
	conf.at.len = sizeof(conf.at.ss.ss_family);
	if (load_listen(&server, loop, &conf, 5000, NULL))
		abort();
	return server;
}

static void drain(int fd)
{
	static uint8_t bytes[1 << 16];

	while (recv(fd, bytes, sizeof(bytes), 0) > 0)
		;
}

/* Answers of up to 16 MiB are not waited for. */
static void strange_requests(const struct load_server *server)
{
	const struct addr *at = load_server_addr(server);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	uint8_t bytes[256];

	if (fd < 0 || connect(fd, (const struct sockaddr *)&at->ss, at->len))
		abort();
	while (script.p < script.end) {
		uint32_t len = script_bytes(&script, bytes, script_byte(&script));

		if (len && send(fd, bytes, len, MSG_NOSIGNAL) < 0)
			break;
		turns(1);
		drain(fd);
	}
	turns(4);
	close(fd);
}

/* Each message, and now and then a cut. */
static void strange_messages(struct ep *ep, unsigned count)
{
	uint8_t bytes[256];

	while (count-- && !gone && script.p < script.end) {
		uint8_t len = script_byte(&script);
		uint32_t have;

		if (len == 255) {
			ep_pair_cut(ep);
			gone = true;
			return;
		}
		have = script_bytes(&script, bytes, len);
		if (len & 1)
			ep_pair_deliver_inval(ep, bytes, have, MEMORY_KEY);
		else
			ep_pair_deliver(ep, bytes, have);
	}
}

static void strange_client(bool ping)
{
	struct bench_hello hello = { 0 };
	uint32_t len = ping ? 0 : script_bytes(&script, (uint8_t *)&hello, sizeof(hello));

	/* as good as all sizes that are allowed, and copied sooner */
	if (get_le32(hello.size) <= BENCH_SIZE_MAX)
		hello.size = put_le32(get_le32(hello.size) & 0xffff);
	if (!ep_pair_call(&peer, &hello, len, script_byte(&script)))
		abort();
	turns(4);
	if (!peer.called)
		return;
	while (!gone && script.p < script.end) {
		strange_messages(peer.called, 1 + script_byte(&script) % 8);
		turns(2);
	}
	turns(4);
	if (!gone)
		ep_pair_cut(peer.called);
	turns(4);
}

/* rping's server, which corrupts the data it returns if the input says so. */
static void pinged(struct ep_peer *p, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	static uint8_t data[RPING_SIZE_MAX];
	const struct rping_place *place = (const void *)bytes;
	uint32_t size = get_be32(place->size);
	uint8_t how = script_byte(&script), *at;

	(void)p;
	if (len != sizeof(*place) || size > sizeof(data))
		abort();
	at = ep_pair_memory(ep, get_be32(place->rkey), get_be64(place->addr), size,
		how & 1 ? EP_REMOTE_WRITE : EP_REMOTE_READ);
	if (!at)
		abort();
	if (how & 1)
		memcpy(at, data, size);
	else
		memcpy(data, at, size);
	if (how & 2)
		data[(how >> 2) % size] ^= how;
	strange_messages(ep, 1);
}

static void strange_welcome(struct ep_peer *p, struct ep *ep, const uint8_t *priv, unsigned len)
{
	const struct bench_hello *hello = (const void *)priv;
	struct bench_welcome welcome;
	uint8_t how = script_byte(&script);
	uint32_t have = script_bytes(&script, (uint8_t *)&welcome, sizeof(welcome));

	if (p->message == pinged ? len != 0
				 : len != sizeof(*hello) ||
					   memcmp(hello->magic, BENCH_MAGIC, sizeof(hello->magic)))
		abort();
	if (how & 1) {
		gone = true;
		ep_pair_reject(ep, 28, &welcome, have);
		return;
	}
	client = ep;
	ep_pair_accept(ep, &welcome, have);
	if (how & 2)
		strange_messages(ep, 2); /* before it knows that it is connected */
}

static void raw_message(struct ep_peer *p, struct ep *ep, const uint8_t *bytes, uint32_t len)
{
	(void)p;
	(void)bytes;
	(void)len;
	strange_messages(ep, 1);
}

/* When the input is used up the peer hangs up, so that every run ends. */
static bool unasked(struct loop_poller *poller)
{
	static unsigned idle;

	(void)poller;
	if (!client || gone || ++idle % 4)
		return true;
	strange_messages(client, 1);
	if (!gone && script.p == script.end) {
		gone = true;
		ep_pair_cut(client);
	}
	return true;
}

static bool never_sleeps(struct loop_poller *poller)
{
	(void)poller;
	return false;
}

static void strange_server(bool ping)
{
	static struct load_rdma_result result;
	struct loop_poller poller = { .poll = unasked, .arm = never_sleeps };
	uint8_t what = script_byte(&script), depth = script_byte(&script);
	struct load_rdma conf = { .backend = LOAD_VERBS,
		.op = what % 3,
		.bandwidth = what & 64,
		.both = what & 128,
		.size = 1u << (what >> 2 & 15),
		.depth = depth + 1u,
		.iterations = ITERATIONS,
		.timeout_ms = 60000 };
	struct diag why = { 0 };

	client = NULL;
	peer.request = strange_welcome;
	peer.message = ping ? pinged : raw_message;
	if (ping) {
		conf.op = LOAD_OP_PING;
		conf.bandwidth = false;
	}
	loop_poller_add(loop, &poller);
	if (load_rdma(loop, &conf, &result, &why)) {
		if (!why.err || !why.text[0])
			abort();
	} else if (!result.iterations || result.seconds < 0 || result.seconds > 60 ||
		   result.depth > conf.depth) {
		abort();
	}
	loop_poller_del(loop, &poller);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum side side = size ? data[0] % SIDES : SOCKET;
	struct load_server *server;

	script = (struct script){ .p = data + !!size, .end = data + size };
	begin();
	if (side == CLIENT || side == PING_CLIENT) {
		strange_server(side == PING_CLIENT);
	} else {
		server = serve(side == PING_SERVER);
		if (side == SOCKET)
			strange_requests(server);
		else
			strange_client(side == PING_SERVER);
		load_server_stop(server);
	}
	loop_free(loop);
	return 0;
}
