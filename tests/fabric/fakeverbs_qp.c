/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The queue pair of fakeverbs, on the simulator's sockets. */
#include "fakeverbs.h"
#include "ibsim.h"
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define DEPTH 64
#define GRH   40
#define MAD   256

struct done {
	struct ibv_wc wc[DEPTH];
	unsigned first, count;
};

struct fake_qp fake_qp;
static struct done received, sent;
static struct {
	uint64_t wr_id;
	uint8_t *to;
} posted[DEPTH];
static unsigned first_posted, posts;
static bool armed;
static int data = -1, control = -1;
static uint32_t client;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void die(const char *what)
{
	perror(what);
	_exit(125);
}

static int named(int fd, int (*how)(int, const struct sockaddr *, socklen_t), const char *fmt, ...)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, fmt, args);
	va_end(args);
	return how(fd, (struct sockaddr *)&addr,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 2 + (size_t)len));
}

static int ask(enum sim_ctl_type type, void *what, size_t len)
{
	struct sim_ctl ctl = {
		.magic = SIM_MAGIC, .client = client, .type = type, .len = (uint32_t)len
	};

	if (len)
		memcpy(ctl.data, what, len);
	if (send(control, &ctl, sizeof(ctl), 0) < 0 || recv(control, &ctl, sizeof(ctl), 0) < 0 ||
		ctl.type == SIM_ERROR)
		return -1;
	if (len)
		memcpy(what, ctl.data, len);
	return 0;
}

static void detach(void)
{
	ask(SIM_DISCONNECT, NULL, 0);
}

/* --- completions; all with the lock held */

static void wake(void)
{
	uint64_t one = 1;

	if (write(fake_qp.channel.fd, &one, sizeof(one)) < 0)
		die("fakeverbs: channel");
}

static void complete(struct done *done, const struct ibv_wc *wc)
{
	if (done->count < DEPTH)
		done->wc[(done->first + done->count++) % DEPTH] = *wc;
}

static void take(const struct sim_packet *packet)
{
	struct ibv_wc wc = {
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_RECV,
		.byte_len = GRH + MAD,
		.slid = ntohs((uint16_t)packet->slid),
		.src_qp = ntohl(packet->sqp),
		.qp_num = FAKE_QPN,
	};

	if (!posts)
		return;
	wc.wr_id = posted[first_posted].wr_id;
	memcpy(posted[first_posted].to + GRH, packet->mad, MAD);
	if (packet->mad[3] & 0x80) /* ibsim put the number of its client into the transaction id */
		memset(posted[first_posted].to + GRH + 8, 0, 2);
	first_posted = (first_posted + 1) % DEPTH;
	posts--;
	complete(&received, &wc);
	if (armed)
		wake();
	armed = false;
}

static void *receive(void *arg)
{
	struct sim_packet packet;
	ssize_t got;

	while ((got = recv(data, &packet, sizeof(packet), 0)) >= 0) {
		if (got != sizeof(packet) || packet.status)
			continue;
		pthread_mutex_lock(&lock);
		take(&packet);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

int fake_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int err = 0;

	(void)qp;
	pthread_mutex_lock(&lock);
	for (; wr && !err; wr = wr->next) {
		unsigned at = (first_posted + posts) % DEPTH;

		if (posts == DEPTH) {
			*bad = wr;
			err = ENOMEM;
			continue;
		}
		posted[at].wr_id = wr->wr_id;
		posted[at].to = (uint8_t *)(uintptr_t)wr->sg_list[0].addr;
		posts++;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	const struct fake_ah *ah = (const void *)wr->wr.ud.ah;
	struct ibv_wc wc = { .wr_id = wr->wr_id,
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_SEND,
		.qp_num = FAKE_QPN };
	struct sim_packet packet = {
		.dlid = htons(ah->dlid),
		.dqp = htonl(wr->wr.ud.remote_qpn),
		.sqp = htonl(FAKE_QPN),
		.length = htobe64(MAD),
	};

	(void)qp;
	memcpy(packet.mad, (void *)(uintptr_t)wr->sg_list[0].addr, MAD);
	if (send(data, &packet, sizeof(packet), 0) < 0) {
		*bad = wr;
		return errno;
	}
	pthread_mutex_lock(&lock);
	complete(&sent, &wc);
	pthread_mutex_unlock(&lock);
	return 0;
}

int fake_poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *wc)
{
	struct done *done = cq == fake_qp.send_cq ? &sent : &received;
	int got = 0;

	pthread_mutex_lock(&lock);
	while (got < room && done->count) {
		wc[got++] = done->wc[done->first];
		done->first = (done->first + 1) % DEPTH;
		done->count--;
	}
	pthread_mutex_unlock(&lock);
	return got;
}

int fake_req_notify_cq(struct ibv_cq *cq, int solicited)
{
	(void)solicited;
	if (cq != fake_qp.recv_cq)
		return 0;
	pthread_mutex_lock(&lock);
	armed = !received.count;
	if (!armed)
		wake();
	pthread_mutex_unlock(&lock);
	return 0;
}

void fake_attach(void)
{
	const char *base = getenv("BOX_SOCKET"), *node = getenv("BOX_NODE");
	pthread_t thread;
	struct sim_client self = { .id = 1u << 30 | (uint32_t)getpid(), .qpn = FAKE_QPN };

	if (data >= 0)
		return;
	if (!base || !node) {
		fputs("fakeverbs: not in a box\n", stderr);
		_exit(125);
	}
	snprintf(self.node, sizeof(self.node), "%s", node);
	control = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	data = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (named(control, bind, "%s:ctl%u", base, self.id) ||
		named(control, connect, "%s:ctl", base) ||
		named(data, bind, "%s:in%u", base, self.id) ||
		ask(SIM_CONNECT, &self, sizeof(self)))
		die("fakeverbs: simulator");
	client = self.id;
	if (named(data, connect, "%s:out%u", base, client))
		die("fakeverbs: simulator");
	atexit(detach);
	pthread_create(&thread, NULL, receive, NULL);
}

void fake_flush(void)
{
	pthread_mutex_lock(&lock);
	for (; posts; posts--) {
		const struct ibv_wc wc = { .wr_id = posted[first_posted].wr_id,
			.status = IBV_WC_WR_FLUSH_ERR };

		first_posted = (first_posted + 1) % DEPTH;
		complete(&received, &wc);
	}
	wake();
	pthread_mutex_unlock(&lock);
}
