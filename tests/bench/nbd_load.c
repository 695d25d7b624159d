/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Load on an NBD server: random reads or writes of one size at one queue depth over one connection;
 * all requests that are due leave in one send, payload that arrives is looked at no more than a
 * sink would. fio's nbd engine is its own bottleneck. nbd-load SOCKET|HOST:PORT [bs=4096] [qd=32]
 * [seconds=2] [rw=read|write] [spin=1] */
#include "hist.h"
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define DEPTH_MAX 1024
#define TAKE_MAX  (512u << 10) /* bytes of one receive: more would not stay in the cache */
#define REPLY     16

struct request { /* NBD protocol: transmission, request header */
	uint32_t magic;
	uint16_t flags, type;
	uint64_t cookie, offset;
	uint32_t length;
} __attribute__((packed));

struct load {
	int fd;
	uint32_t bs, qd, flying;
	bool write, spin;
	uint64_t size, seed, sent_at[DEPTH_MAX], deadline;
	uint8_t *out, *in;
	size_t in_size, out_len;
	uint8_t head[REPLY];
	uint32_t head_len, payload; /* of the reply that is arriving: header so far, data to come */
	uint64_t cookie;
	struct hist hist;
};

static void die(const char *what)
{
	fprintf(stderr, "nbd-load: %s: %s\n", what,
		errno ? strerror(errno) : "wrong argument or protocol error");
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void get_all(int fd, void *p, size_t len)
{
	if (len && recv(fd, p, len, MSG_WAITALL) !=
			   (ssize_t)len) /* recv() of nothing waits on a unix socket */
		die("receive");
}

static void put_all(int fd, const void *from, size_t len)
{
	const uint8_t *p = from;
	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);
		if (n < 0)
			die("send");
		p += n;
		len -= (size_t)n;
	}
}

static int dial(const char *where)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr_in in = { .sin_family = AF_INET };
	const char *colon = strrchr(where, ':');
	char host[64];
	int one = 1, fd = socket(colon ? AF_INET : AF_UNIX, SOCK_STREAM, 0);

	if (colon) {
		snprintf(host, sizeof(host), "%.*s", (int)(colon - where), where);
		in.sin_port = htons((uint16_t)atoi(colon + 1));
		inet_pton(AF_INET, host, &in.sin_addr);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (connect(fd, (struct sockaddr *)&in, sizeof(in)))
			die(where);
	} else {
		snprintf(un.sun_path, sizeof(un.sun_path), "%s", where);
		if (connect(fd, (struct sockaddr *)&un, sizeof(un)))
			die(where);
	}
	return fd;
}

static uint64_t negotiate(int fd)
{
	uint8_t hello[18], reply[20], data[256];
	struct {
		uint32_t client;
		uint64_t magic;
		uint32_t option, length, name_length;
		uint16_t infos;
	} __attribute__((packed))
	go = { htobe32(3), htobe64(0x49484156454f5054), htobe32(7), htobe32(6), 0, 0 };
	uint64_t size = 0;

	get_all(fd, hello, sizeof(hello));
	put_all(fd, &go, sizeof(go));
	for (;;) {
		uint32_t type, length;
		get_all(fd, reply, sizeof(reply));
		memcpy(&type, reply + 12, 4);
		memcpy(&length, reply + 16, 4);
		type = be32toh(type);
		length = be32toh(length);
		if (length > sizeof(data))
			die("negotiation");
		get_all(fd, data, length);
		if (type == 3 && length == 12 && !data[0] && !data[1])
			memcpy(&size, data + 2, 8);
		if (type == 1)
			return be64toh(size);
		if (type != 3)
			die("negotiation");
	}
}

/* Orderly: nbdkit 1.32 aborts when a connection ends under its requests. */
static void disconnect(int fd)
{
	struct request request = { .magic = htobe32(0x25609513), .type = htobe16(2) };

	put_all(fd, &request, sizeof(request));
	close(fd);
}

static void put_request(struct load *load, uint64_t cookie, uint64_t now)
{
	struct request request = { .magic = htobe32(0x25609513),
		.type = htobe16(load->write),
		.cookie = cookie,
		.length = htobe32(load->bs) };

	load->seed = load->seed * 6364136223846793005u + 1442695040888963407u;
	request.offset = htobe64((load->seed >> 20) % (load->size / load->bs) * load->bs);
	memcpy(load->out + load->out_len, &request, sizeof(request));
	load->out_len += sizeof(request) + (load->write ? load->bs : 0);
	load->sent_at[cookie] = now;
	load->flying++;
}

static void head_done(struct load *load)
{
	uint32_t error;

	memcpy(&error, load->head + 4, 4);
	memcpy(&load->cookie, load->head + 8, 8);
	if (error || load->cookie >= load->qd) {
		errno = 0;
		die("reply");
	}
	load->head_len = 0;
	load->payload = load->write ? 0 : load->bs;
}

/* Every reply that is whole frees its request for a new one, until time is up. */
static void take(struct load *load, const uint8_t *p, size_t len, uint64_t now)
{
	while (len) {
		size_t missing = load->payload ? load->payload : REPLY - load->head_len,
		       part = len < missing ? len : missing;

		if (load->payload) {
			load->payload -= (uint32_t)part;
		} else {
			memcpy(load->head + load->head_len, p, part);
			load->head_len += (uint32_t)part;
			if (part == missing)
				head_done(load);
			else
				return;
		}
		p += part;
		len -= part;
		if (!load->payload) {
			hist_add(&load->hist, now - load->sent_at[load->cookie]);
			load->flying--;
			if (now < load->deadline)
				put_request(load, load->cookie, now);
		}
	}
}

/* One receive of all that has arrived, one send of all that is due. */
static void turn(struct load *load)
{
	uint64_t now;
	ssize_t n;

	do
		n = recv(load->fd, load->in, load->in_size, load->spin ? MSG_DONTWAIT : 0);
	while (n < 0 && errno == EAGAIN);
	if (n <= 0)
		die("receive");
	now = now_ns();
	take(load, load->in, (size_t)n, now);
	put_all(load->fd, load->out, load->out_len);
	load->out_len = 0;
}

int main(int argc, char **argv)
{
	static struct load load = { .bs = 4096, .qd = 32, .seed = 1 };
	double seconds = 2;
	uint64_t start;

	for (int i = 2; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		if (!value)
			die(argv[i]);
		*value++ = 0;
		if (!strcmp(argv[i], "bs"))
			load.bs = (uint32_t)atoi(value);
		else if (!strcmp(argv[i], "qd"))
			load.qd = (uint32_t)atoi(value);
		else if (!strcmp(argv[i], "seconds"))
			seconds = atof(value);
		else if (!strcmp(argv[i], "rw"))
			load.write = !strcmp(value, "write");
		else if (!strcmp(argv[i], "spin"))
			load.spin = atoi(value);
		else
			die(argv[i]);
	}
	if (argc < 2 || load.qd < 1 || load.qd > DEPTH_MAX)
		die("usage: nbd-load SOCKET|HOST:PORT [bs=] [qd=] [seconds=] [rw=] [spin=]");
	load.fd = dial(argv[1]);
	load.size = negotiate(load.fd);
	load.in_size = (size_t)(REPLY + load.bs) * load.qd < TAKE_MAX
			       ? (size_t)(REPLY + load.bs) * load.qd
			       : TAKE_MAX;
	load.in = malloc(load.in_size);
	load.out = calloc(load.qd, sizeof(struct request) + load.bs);
	if (!load.in || !load.out)
		die("memory");
	start = now_ns();
	load.deadline = start + (uint64_t)(seconds * 1e9);
	for (uint32_t i = 0; i < load.qd; i++)
		put_request(&load, i, start);
	put_all(load.fd, load.out, load.out_len);
	load.out_len = 0;
	while (load.flying)
		turn(&load);
	hist_print(&load.hist, (double)(now_ns() - start) / 1e9, load.bs);
	disconnect(load.fd);
	return 0;
}
