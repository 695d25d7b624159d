/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The fake NFS server on a TCP port. */
#include "nfs_server.h"
#include "wire/rpc.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener;
static pthread_t thread;
static struct nfs_server *server;

static bool read_all(int fd, uint8_t *to, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = read(fd, to + at, len - at);

		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

static void write_part(int fd, const uint8_t *bytes, size_t len, bool last)
{
	uint8_t all[65540];

	wire_put_be(all, 4, len | (last ? RPC_LAST_FRAGMENT : 0));
	memcpy(all + 4, bytes, len);
	for (size_t at = 0; at < len + 4; at += server->manner == NFS_SERVER_BYTES ? 1 : len + 4)
		if (send(fd, all + at, server->manner == NFS_SERVER_BYTES ? 1 : len + 4,
			    MSG_NOSIGNAL) < 0)
			return;
}

static void answer_tcp(int fd, const uint8_t *call, size_t len)
{
	static uint8_t reply[65536];
	uint8_t mark[4];
	size_t n = nfs_server_reply(server, call, len, reply, sizeof(reply));

	if (server->manner == NFS_SERVER_HUGE || server->manner == NFS_SERVER_EMPTY) {
		wire_put_be(mark, 4, server->manner == NFS_SERVER_HUGE ? 0x7fffffff : 0);
		send(fd, mark, 4, MSG_NOSIGNAL);
	} else if (server->manner == NFS_SERVER_FRAGMENTS) {
		write_part(fd, reply, 5, false);
		write_part(fd, reply + 5, n - 5, false);
		write_part(fd, reply, 0, true);
	} else if (server->manner != NFS_SERVER_MUTE) {
		write_part(fd, reply, n, true);
	}
}

static void *serve(void *arg)
{
	uint8_t mark[4], call[8192];
	int fd, on = 1;

	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		/* for a fake clock: no byte waits for the acknowledgement of another */
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		while (read_all(fd, mark, 4)) {
			uint32_t len = (uint32_t)wire_be(mark, 4) & ~RPC_LAST_FRAGMENT;

			if (len > sizeof(call) || !read_all(fd, call, len))
				break;
			answer_tcp(fd, call, len);
		}
		close(fd);
	}
	return arg;
}

struct addr nfs_server_start(struct nfs_server *s)
{
	struct addr addr = { .len = sizeof(addr.ss) };

	server = s;
	addr_parse(&addr, "127.0.0.1:0", 0, NULL);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&addr.ss, addr.len) || listen(listener, 8))
		abort();
	getsockname(listener, (struct sockaddr *)&addr.ss, &addr.len);
	pthread_create(&thread, NULL, serve, NULL);
	return addr;
}

void nfs_server_stop(void)
{
	shutdown(listener, SHUT_RDWR);
	pthread_join(thread, NULL);
	close(listener);
}
