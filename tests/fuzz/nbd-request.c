/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/nbd core/target */
/* An NBD client after the handshake, over a real socket and a disk that answers out of order. The
 * first byte says whether the rest is raw bytes or records of requests that are well-formed but for
 * their values. */
#include "disk.h"
#include "nbd_server.h"
#include "wire/nbd.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TURN_MAX 20000 /* turns until a connection counts as hung */
#define PAYLOAD  200000

static struct loop *loop;
static struct fake_disk *disk;
static struct nbd_server *server;
static struct nbd_options options = {
	.exports = 1, .listens = 1, .slots = 3, .buffer = 65536, .nloops = 1, .loops = &loop
};
static volatile int turned;

static void mark(struct loop_work *work)
{
	(void)work;
	turned = 1;
}

static void turn(void)
{
	struct loop_work work = { .run = mark };

	turned = 0;
	loop_work_add(loop, &work);
	loop_wait(loop, &turned, 0);
}

/* Discard received bytes. 0: none available, -1: closed. */
static int drain(int fd)
{
	static uint8_t sink[1 << 20];
	ssize_t n = recv(fd, sink, sizeof(sink), MSG_DONTWAIT);

	return n > 0 ? 1 : n < 0 && errno == EAGAIN ? 0 : -1;
}

static bool say(int fd, const void *p, size_t len)
{
	const uint8_t *from = p;

	for (int turns_left = TURN_MAX; len; turns_left--) {
		ssize_t n = send(fd, from, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0) {
			from += n;
			len -= (size_t)n;
			continue;
		}
		if (errno != EAGAIN || drain(fd) < 0)
			return false;
		if (!turns_left)
			abort();
		turn();
	}
	return true;
}

static void say_records(int fd, const uint8_t *data, size_t size)
{
	static uint8_t payload[PAYLOAD];

	for (; size >= 8; data += 8, size -= 8) {
		uint32_t len = (uint32_t)(data[5] << 16 | data[6] << 8 | data[7]),
			 off = (uint32_t)(data[2] << 16 | data[3] << 8 | data[4]);
		struct nbd_request req = { .magic = put_be32(NBD_REQUEST_MAGIC),
			.cookie = { data[0] } };

		req.flags = put_be16(data[1]);
		req.type = put_be16(data[0] % 9);
		req.off = put_be64(data[1] & 0x40 ? off : off & ~511u);
		if (data[0] & 0x80)
			len &= ~511u;
		req.len = put_be32(len);
		if (data[0] % 9 == NBD_CMD_DISC && size >= 16)
			continue;
		if (!say(fd, &req, sizeof(req)))
			return;
		for (uint32_t part; data[0] % 9 == NBD_CMD_WRITE && len; len -= part) {
			part = len < PAYLOAD ? len : PAYLOAD;
			if (!say(fd, payload, part))
				return;
		}
	}
}

static unsigned clients(void)
{
	struct target_status status;

	nbd_server_get_status(server, &status);
	return status.clients;
}

static int dial(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&options.listen[0].ss, options.listen[0].len))
		abort();
	return fd;
}

static void negotiate(int fd, bool structured)
{
	static const uint8_t options_first[] = "IHAVEOPT\0\0\0\10\0\0\0\0IHAVEOPT\0\0\0\12\0\0\0"
					       "\33\0\0\0\0\0\0\0\1\0\0\0\17base:allocation";

	say(fd, "\0\0\0\3", 4);
	if (structured)
		say(fd, options_first, sizeof(options_first) - 1);
	say(fd, "IHAVEOPT\0\0\0\1\0\0\0\0", 16);
}

static void hang_up(int fd)
{
	close(fd);
	for (int turns_left = TURN_MAX; clients(); turns_left--) {
		if (!turns_left)
			abort();
		turn();
	}
}

/* The handshake leads to the transmission phase: hello, two acknowledgements and a context, size
 * and flags. */
static void check_handshake(bool structured)
{
	ssize_t expected = 18 + (structured ? 20 + 39 + 20 : 0) + 10;
	uint8_t bytes[256];
	int fd = dial();

	negotiate(fd, structured);
	for (int turns_left = TURN_MAX;
		recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_PEEK) < expected; turns_left--) {
		if (!turns_left)
			abort();
		turn();
	}
	hang_up(fd);
}

static void start(void)
{
	struct sockaddr_un *un = (struct sockaddr_un *)(void *)&options.listen[0].ss;
	struct diag diag = { 0 };
	int len;

	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, &diag))
		abort();
	disk = fake_disk_new(loop, 1 << 20, 512);
	disk->bdev.lim.max[IO_READ] = 40000;
	disk->bdev.lim.fua = true;
	options.export[0] = (struct nbd_export){ .name = "", .bdev = &disk->bdev };
	un->sun_family = AF_UNIX;
	len = snprintf(un->sun_path + 1, 64, "rdmastor-fuzz-%d", (int)getpid());
	options.listen[0].len = (socklen_t)(sizeof(sa_family_t) + 1 + (size_t)len);
	if (nbd_server_start(&server, loop, &options, &diag))
		abort();
	check_handshake(false);
	check_handshake(true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd;

	if (!server)
		start();
	if (size < 2)
		return 0;
	disk->seed = data[1];
	disk->bad_off = data[1] * 4096u;
	disk->bad_len = data[0] & 4;
	fd = dial();
	negotiate(fd, data[0] & 1);
	if (data[0] & 2)
		say(fd, data + 2, size - 2);
	else
		say_records(fd, data + 2, size - 2);
	for (int idle = 0; idle < (data[0] & 8 ? 1 : 30) && drain(fd) >= 0; idle++)
		turn();
	hang_up(fd);
	return 0;
}
