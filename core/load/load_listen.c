/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The server of `bench --tcp` and `bench --rdma`: listeners and TCP sockets. load_answer.c handles
 * RDMA connections. */
#include "load_listen.h"
#include "wire/bench.h"
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define HELLO_MS    5000
#define CLIENTS_MAX 256
#define TURN_NS     10000000     /* then handle other events */
#define REPLY       (256u << 10) /* buffer for all answers */
#define PIECES      64           /* per send */
#define OWED_MAX    (256u << 20) /* stop reading requests while more than this is to be sent */

struct socket_client {
	struct load_client client; /* first member */
	struct loop_fd fd;
	struct loop_timer idle;
	uint64_t active_ns; /* time of its last whole request, or when it had taken all answers */
	uint8_t in[BENCH_DEPTH_MAX * sizeof(struct bench_request)];
	size_t have;
	uint64_t owed;
};

static uint8_t reply[REPLY]; /* read-only; not const, which would enlarge the program file */

static void drop(struct socket_client *sc, const char *why)
{
	struct loop *loop = sc->client.loop;

	if (why)
		loop_trace(loop, "bench client: %s", why);
	loop_fd_del(loop, &sc->fd);
	loop_timer_del(loop, &sc->idle);
	close(sc->fd.fd);
	load_client_ended(&sc->client);
}

static bool answer(struct socket_client *sc)
{
	while (sc->owed) {
		struct iovec iov[PIECES];
		struct msghdr msg = { .msg_iov = iov };
		uint64_t left = sc->owed;
		ssize_t n;

		for (; left && msg.msg_iovlen < PIECES; msg.msg_iovlen++) {
			size_t len = left < REPLY ? (size_t)left : REPLY;
			iov[msg.msg_iovlen] = (struct iovec){ reply, len };
			left -= len;
		}
		n = sendmsg(sc->fd.fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0)
			sc->owed -= (uint64_t)n;
		if (!sc->owed)
			sc->active_ns = loop_now(sc->client.loop);
	}
	return true;
}

/* Parse complete requests. False: invalid. */
static bool parse_requests(struct socket_client *sc)
{
	size_t at = 0;

	for (; sc->have - at >= sizeof(struct bench_request); at += sizeof(struct bench_request)) {
		const struct bench_request *request = (const void *)(sc->in + at);
		uint32_t bytes = get_le32(request->bytes);

		if (memcmp(request->magic, BENCH_MAGIC, sizeof(request->magic)) || !bytes ||
			bytes > BENCH_SIZE_MAX)
			return false;
		sc->owed += bytes;
	}
	if (at)
		sc->active_ns = loop_now(sc->client.loop);
	sc->have -= at;
	memmove(sc->in, sc->in + at, sc->have);
	return true;
}

static void readable(struct loop_fd *fd, uint32_t events)
{
	struct socket_client *sc = container_of(fd, struct socket_client, fd);
	uint64_t begin = loop_clock(), last = begin, now = begin,
		 spin_ns = loop_options(sc->client.loop)->poll_us * 1000ull;

	(void)events;
	while (now - begin < TURN_NS) {
		ssize_t n = -1;

		if (sc->owed < OWED_MAX)
			n = recv(
				fd->fd, sc->in + sc->have, sizeof(sc->in) - sc->have, MSG_DONTWAIT);
		else
			errno = EAGAIN;
		now = loop_clock();
		if (n > 0) {
			last = now;
			sc->have += (size_t)n;
			if (!parse_requests(sc)) {
				drop(sc, "invalid request");
				return;
			}
		} else if (!n || (errno != EAGAIN && errno != EINTR)) {
			drop(sc, n ? strerror(errno) : NULL);
			return;
		}
		if (sc->owed && !answer(sc)) {
			drop(sc, strerror(errno));
			return;
		}
		if (sc->owed || (n < 0 && now - last >= spin_ns))
			break;
	}
	loop_fd_change(sc->client.loop, fd,
		(sc->owed < OWED_MAX ? EPOLLIN : 0) | (sc->owed ? EPOLLOUT : 0));
}

/* Disconnect a client that stays idle. The timer is moved only when it fires. */
static void idle(struct loop_timer *timer)
{
	struct socket_client *sc = container_of(timer, struct socket_client, idle);
	uint64_t due = sc->active_ns + LOAD_IDLE_MS * MSEC;

	if (loop_now(sc->client.loop) >= due)
		drop(sc, "idle for 30 s");
	else
		loop_timer_set(sc->client.loop, timer, due);
}

static void socket_begin(struct load_client *client)
{
	struct socket_client *sc = container_of(client, struct socket_client, client);

	sc->active_ns = loop_now(client->loop);
	loop_timer_set(client->loop, &sc->idle, sc->active_ns + LOAD_IDLE_MS * MSEC);
	if (loop_fd_add(client->loop, &sc->fd, NULL))
		drop(sc, "no memory");
}

static void socket_end(struct load_client *client)
{
	drop(container_of(client, struct socket_client, client), NULL);
}

static void incoming_socket(int fd, const struct addr *peer, void *user)
{
	struct load_server *server = user;
	struct socket_client *sc = load_client_room(server, peer) ? calloc(1, sizeof(*sc)) : NULL;

	if (sc) {
		sc->fd = (struct loop_fd){ .fd = fd, .events = EPOLLIN, .ready = readable };
		sc->idle.fire = idle;
	}
	if (!sc || load_client_add(server, &sc->client, peer, socket_begin, socket_end)) {
		free(sc);
		close(fd);
	}
}

static void incoming_rdma(struct ep_incoming *incoming, void *user)
{
	struct load_server *server = user;

	if (load_client_room(server, &incoming->peer))
		load_answer(server, incoming);
	else
		ep_reject(incoming, "too many clients", 16);
}

/* Runs on the loop chosen for the client. */
static void begin(struct loop_msg *msg)
{
	struct load_client *client = container_of(msg, struct load_client, begin_msg);

	if (!client->ended)
		client->begin(client);
}

bool load_client_room(struct load_server *server, const struct addr *peer)
{
	return target_admission_make_room(&server->places, peer);
}

/* Whether one address would use more than half of the memory, or all clients too much. */
static bool exceeds_memory(const struct load_server *server, const struct load_client *client)
{
	uint64_t own = client->memory;

	for (const struct load_client *other = server->client; other; other = other->next)
		if (other->place.peer_addr->network == client->place.peer_addr->network)
			own += other->memory;
	return own > BENCH_MEMORY_ALL / 2 || client->memory > BENCH_MEMORY_ALL - server->memory;
}

const char *load_client_add(struct load_server *server, struct load_client *client,
	const struct addr *peer, void (*begin_)(struct load_client *),
	void (*end)(struct load_client *))
{
	const char *wrong = NULL;
	char name[ADDR_TEXT];

	target_admission_add(&server->places, &client->place, peer);
	if (exceeds_memory(server, client))
		wrong = "no memory left for this client";
	else if (!target_admission_admit(
			 &server->places, &client->place, addr_host(peer, name), false))
		wrong = "too many clients of this address";
	if (wrong) {
		target_admission_remove(&server->places, &client->place);
		return wrong;
	}
	client->server = server;
	client->loop = server->loops[server->dealt++ % server->nloops];
	client->begin = begin_;
	client->end = end;
	client->begin_msg.run = begin;
	client->next = server->client;
	server->client = client;
	server->memory += client->memory;
	loop_post(client->loop, &client->begin_msg);
	return NULL;
}

/* Back on the server's loop. While the server stops, others may still walk the list. */
static void forget(struct loop_msg *msg)
{
	struct load_client *client = container_of(msg, struct load_client, end_msg),
			   **at = &client->server->client;
	struct load_server *server = client->server;

	target_admission_remove(&server->places, &client->place);
	server->memory -= client->memory;
	if (server->stopping) {
		server->empty = !server->places.count;
		return;
	}
	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	free(client);
}

/* On the client's loop again, after all messages to it. */
static void last(struct loop_msg *msg)
{
	struct load_client *client = container_of(msg, struct load_client, end_msg);

	msg->run = forget;
	loop_post(client->server->loop, msg);
}

static void remove_client(struct loop_msg *msg)
{
	struct load_client *client = container_of(msg, struct load_client, end_msg);

	client->removed = true; /* don't post to it any more */
	msg->run = last;
	loop_post(client->loop, msg);
}

void load_client_ended(struct load_client *client)
{
	if (client->ended)
		return;
	client->ended = true;
	client->end_msg.run = remove_client;
	loop_post(client->server->loop, &client->end_msg);
}

static void evicted(struct loop_msg *msg)
{
	struct load_client *client = container_of(msg, struct load_client, evict_msg);

	if (client->ended)
		return;
	loop_trace(client->loop, "bench client: its address has most, and another one needs one");
	client->end(client);
}

static void evict(struct target_admission_entry *place)
{
	struct load_client *client = container_of(place, struct load_client, place);

	client->evict_msg.run = evicted;
	if (!client->removed)
		loop_post(client->loop, &client->evict_msg);
}

static int end_client(struct loop *loop, void *arg)
{
	struct load_client *client = arg;

	(void)loop;
	if (!client->ended)
		client->end(client);
	return 0;
}

int load_listen(struct load_server **out, struct loop *loop, const struct load_listen *conf,
	uint32_t timeout_ms, struct diag *diag)
{
	struct load_server *server = calloc(1, sizeof(*server));
	int err;

	if (!server)
		return diag_sys(diag, ENOMEM, "server");
	*server = (struct load_server){
		.loop = loop, .loops = conf->loops, .nloops = conf->nloops, .ping = conf->ping
	};
	server->places =
		(struct target_admission){ .limit.connections = CLIENTS_MAX, .evict = evict };
	server->listener = (struct listener){ .at = conf->at,
		.stream = incoming_socket,
		.rdma = incoming_rdma,
		.user = server,
		.timeout_ms = HELLO_MS,
		.no_crc = conf->no_crc,
		.transports = (conf->verbs ? TRANSPORT_VERBS : 0) |
			      (conf->iwarp ? TRANSPORT_IWARP : 0) |
			      (conf->tcp ? TRANSPORT_TCP : 0) };
	err = listeners_open(&server->listener, 1, loop, timeout_ms, diag);
	if (err) {
		load_server_stop(server);
		return err;
	}
	*out = server;
	return 0;
}

const struct addr *load_server_addr(const struct load_server *server)
{
	return &server->listener.bound;
}

bool load_server_verbs(const struct load_server *server)
{
	return server->listener.up & TRANSPORT_VERBS;
}

void load_server_stop(struct load_server *server)
{
	if (!server)
		return;
	listeners_close(&server->listener, 1);
	server->stopping = true;
	server->empty = !server->places.count;
	for (struct load_client *client = server->client; client; client = client->next)
		loop_call(server->loop, client->loop, end_client, client);
	loop_wait(server->loop, &server->empty, 0);
	while (server->client) {
		struct load_client *client = server->client;

		server->client = client->next;
		free(client);
	}
	free(server);
}
