/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/nvme core/target core/net */
/* A host over TCP that sends anything: from the first byte, also to a target that expects TLS
 * there, after ICReq, on an admin queue, on an I/O queue, on both of them. Each input gets a new
 * target and listener, on a unix socket as ports would run out, and must free all of it. */
#include "../../core/proto/nvme/codec.h"
#include "../../core/proto/nvme/hosts.h"
#include "../../core/proto/nvme/psk.h"
#include "disk.h"
#include "script.h"
#include "serve.h"
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NQN      "nqn.t"
#define CNTLID   1     /* of a target's first controller */
#define TURN_MAX 10000 /* turns */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte of an input. */
enum far { FROM_START, GREETED, ADMIN, IO }; /* its two lowest bits */
enum { DISCOVERY = 4, PIECES = 8, ENDS = 32, SHUFFLED = 128 };
enum { SECURED = 4 }; /* with FROM_START: there are hosts with TLS */
/* with IO: turns of length, queue and bytes; HELD: the disk answers only after the whole input */
enum { BOTH = 4, HELD = 8 };
enum end { HOST_CLOSES, HOST_BREAKS_OFF, TARGET_STOPS, ADMIN_GOES_FIRST };

static struct loop *loop;
static struct fake_disk *disk;
static struct target *target;
static struct addr bound;
static bool secured; /* handshakes run on another thread */

static void turns(unsigned count)
{
	volatile int never = 0;

	for (; count; count--)
		if (secured)
			loop_wait(loop, &never, loop_clock() + MSEC);
		else
			script_turn(loop);
}

static const struct nvme_hosts *hosts(void)
{
	static struct nvme_host host = { .nqn = "nqn.host",
		.tls = { .len = 32, .hash = 1, .key = "key" } };
	static struct nvme_hosts list = { .host = &host, .count = 1, .tls = 1 };

	if (!list.creds && nvme_tls_of_hosts(&list, NULL))
		abort();
	return &list;
}

static void begin(bool shuffled)
{
	static const struct loop_options options = { .name = "fuzz" };
	struct target_options opt = {
		.disks = 1, .listens = 1, .nloops = 1, .depth = 4, .buffers = 2
	};
	struct addr *at = &opt.listen[0].at;

	if (loop_new(&loop, &options, NULL))
		abort();
	disk = fake_disk_new(loop, 1 << 16, 512);
	disk->seed = shuffled;
	opt.disk[0] =
		(struct target_disk_options){ .bdev = &disk->bdev, .name = NQN, .serial = "S1" };
	opt.loops = &loop;
	opt.chap.hosts = secured ? hosts() : NULL;
	/* With nothing but its family bound it gets a name of its own that no file system knows. */
	at->ss.ss_family = AF_UNIX;
	at->len = sizeof(at->ss.ss_family);
	opt.listen[0].transports = TRANSPORT_TCP | TRANSPORT_IWARP;
	if (nvme_serve(&target, loop, &opt, 1000, NULL))
		abort();
	target_transports(target, 0, &bound);
}

static int dial(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&bound.ss, bound.len))
		abort();
	return fd;
}

/* Whatever the target says to it. 0: it has closed. */
static ssize_t hear(int fd)
{
	uint8_t bytes[4096];
	ssize_t got, some = -1;

	while ((got = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		some = got;
	return got < 0 && errno == EAGAIN ? some : 0;
}

/* The target may have ended the connection in the middle of it. */
static void say(int fd, const uint8_t *bytes, size_t len, size_t piece)
{
	for (unsigned turns_left = TURN_MAX; len && turns_left; turns_left--) {
		ssize_t n = send(fd, bytes, piece && piece < len ? piece : len, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			return;
		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		}
		if (len) {
			turns(1);
			hear(fd);
		}
	}
}

/* One that the target has to like. */
static void ask(int fd, struct nvme_tcp_pdu *pdu, const void *data, uint8_t type)
{
	uint8_t head[NVME_TCP_HEAD_MAX], bytes[256];
	unsigned len = nvme_tcp_put(head, pdu, 0, 4);
	struct nvme_tcp_pdu answer;
	ssize_t got = -1;

	say(fd, head, len, 0);
	say(fd, data, pdu->data, 0);
	for (unsigned i = 0; i < TURN_MAX && got < 0; i++) {
		turns(1);
		got = recv(fd, bytes, sizeof(bytes), 0);
	}
	if (got <= 0 || nvme_tcp_get(&answer, bytes, (size_t)got, 0, NULL) || answer.type != type)
		abort();
	if (type == NVME_TCP_RSP && get_le16(answer.cqe.status))
		abort();
}

static void say_to_both(int admin, int io, const uint8_t *bytes, size_t len)
{
	while (len) {
		size_t part = *bytes >> 1;
		int fd = *bytes & 1 ? admin : io;

		bytes++;
		len--;
		part = part < len ? part : len;
		say(fd, bytes, part, 0);
		turns(2);
		hear(fd);
		bytes += part;
		len -= part;
	}
}

static void greet(int fd)
{
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_ICREQ };

	ask(fd, &pdu, NULL, NVME_TCP_ICRESP);
}

static void join(int fd, uint16_t qid, const char *nqn)
{
	struct nvmf_connect connect = {
		.qid = qid, .depth = 4, .cntlid = qid ? CNTLID : 0xffff, .hostnqn = "nqn.host"
	};
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_CMD,
		.data = sizeof(struct nvmf_connect_data) };
	struct nvmf_connect_data data;
	struct nvmf_connect_sqe sqe;

	memcpy(connect.subnqn, nqn, strlen(nqn));
	nvmf_connect_put(&sqe, &data, &connect);
	sqe.sgl = (struct nvme_sgl){ .type = NVME_SGL_OFFSET, .block.len = put_le32(sizeof(data)) };
	memcpy(&pdu.sqe, &sqe, sizeof(sqe));
	ask(fd, &pdu, &data, NVME_TCP_RSP);
}

static void enable(int fd)
{
	struct nvmf_property_sqe set = { .opcode = NVME_FABRICS,
		.fctype = NVMF_PROPERTY_SET,
		.offset = put_le32(NVME_CC),
		.value = put_le64(NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES) };
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_CMD };

	memcpy(&pdu.sqe, &set, sizeof(set));
	ask(fd, &pdu, NULL, NVME_TCP_RSP);
}

/* The target closes its side once the host has closed. */
static void closes(int fd)
{
	unsigned turns_left = TURN_MAX;

	shutdown(fd, SHUT_WR);
	while (hear(fd)) {
		if (!turns_left--)
			abort();
		turns(1);
	}
	close(fd);
}

static void leave(int fd, enum end how)
{
	if (how == HOST_BREAKS_OFF)
		close(fd);
	else
		closes(fd);
}

/* A host that owes the target something is not waited for; the disk owes nothing. */
static void stop_under(void)
{
	struct diag why = { 0 };

	if (target_stop(target, 3, &why) && why.code != DIAG_TIMEOUT)
		abort();
	target = NULL;
}

static bool deserted(void)
{
	struct target_status status;

	target_get_status(target, &status);
	return !status.clients && !status.queues;
}

static void finish(void)
{
	turns(20);
	for (unsigned turns_left = 100 * TURN_MAX; target && !deserted(); turns(1))
		if (!turns_left--)
			abort();
	if (target_stop(target, 5000, NULL))
		abort();
	fake_disk_free(disk);
	loop_free(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t piece[] = { 0, 1, 13, 97 };
	uint8_t how = size ? data[0] : 0;
	enum end end = how / ENDS & 3;
	enum far far = how & 3;
	int admin = -1, fd;

	secured = far == FROM_START && how & SECURED;
	begin(how & SHUFFLED);
	fd = dial();
	if (far >= GREETED)
		greet(fd);
	if (far >= ADMIN) {
		join(fd, 0, how & DISCOVERY && far == ADMIN ? NVMF_DISCOVERY_NQN : NQN);
		enable(fd);
	}
	if (far == IO) {
		admin = fd;
		fd = dial();
		greet(fd);
		join(fd, 1, NQN);
	}
	if (far == IO && how & BOTH && size > 1) {
		disk->hold = how & HELD;
		say_to_both(admin, fd, data + 1, size - 1);
		turns(4);
		disk->hold = false;
	} else if (size > 1) {
		say(fd, data + 1, size - 1, piece[how / PIECES & 3]);
		turns(4);
	}
	if (end == TARGET_STOPS)
		stop_under();
	if (end == ADMIN_GOES_FIRST && admin >= 0)
		closes(admin);
	leave(fd, end);
	if (end != ADMIN_GOES_FIRST && admin >= 0)
		leave(admin, end);
	finish();
	return 0;
}
