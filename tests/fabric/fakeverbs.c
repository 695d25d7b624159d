/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* To be preloaded into srptools, which want a queue pair of their own beside ib_umad: a libibverbs of one device with one datagram
 * queue pair, which sends and receives MADs as a client of the simulator. For the foreign peer only; ours needs no verbs. */
#include "ibsim.h"
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#undef ibv_query_port
#undef ibv_reg_mr

#define QPN   0x123
#define DEPTH 64
#define GRH   40
#define MAD   256
#define PKEYS 32
#define PORT  "/sys/class/infiniband/ibsim0/ports/1/"

struct fake_ah {
	struct ibv_ah ah;
	uint16_t dlid;
};

struct done {
	struct ibv_wc wc[DEPTH];
	unsigned first, count;
};

static struct ibv_device device = {
	.node_type = IBV_NODE_CA,
	.transport_type = IBV_TRANSPORT_IB,
	.name = "ibsim0",
	.dev_name = "uverbs0",
};
static struct ibv_context context;
static struct ibv_comp_channel channel;
static struct ibv_cq *recv_cq, *send_cq;
static struct ibv_qp queue_pair;
static struct done received, sent;
static struct {
	uint64_t wr_id;
	uint8_t *to;
} posted[DEPTH];
static unsigned first_posted, posts;
static bool armed;
static int data = -1, control = -1, async_pipe[2] = { -1, -1 };
static uint32_t client;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* --- the simulator */

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
	return how(fd, (struct sockaddr *)&addr, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 2 + (size_t)len));
}

static int ask(enum sim_ctl_type type, void *what, size_t len)
{
	struct sim_ctl ctl = { .magic = SIM_MAGIC, .client = client, .type = type, .len = (uint32_t)len };

	if (len)
		memcpy(ctl.data, what, len);
	if (send(control, &ctl, sizeof(ctl), 0) < 0 || recv(control, &ctl, sizeof(ctl), 0) < 0 || ctl.type == SIM_ERROR)
		return -1;
	if (len)
		memcpy(what, ctl.data, len);
	return 0;
}

static void detach(void)
{
	ask(SIM_DISCONNECT, NULL, 0);
}

static void attach(void)
{
	const char *base = getenv("BOX_SOCKET"), *node = getenv("BOX_NODE");
	struct sim_client self = { .id = 1u << 30 | (uint32_t)getpid(), .qpn = QPN };

	if (!base || !node) {
		fputs("fakeverbs: not in a box\n", stderr);
		_exit(125);
	}
	snprintf(self.node, sizeof(self.node), "%s", node);
	control = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	data = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (named(control, bind, "%s:ctl%u", base, self.id) || named(control, connect, "%s:ctl", base) ||
		named(data, bind, "%s:in%u", base, self.id) || ask(SIM_CONNECT, &self, sizeof(self)))
		die("fakeverbs: simulator");
	client = self.id;
	if (named(data, connect, "%s:out%u", base, client))
		die("fakeverbs: simulator");
	atexit(detach);
}

/* --- completions; all with the lock held */

static void wake(void)
{
	uint64_t one = 1;

	if (write(channel.fd, &one, sizeof(one)) < 0)
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
		.qp_num = QPN,
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

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
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

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	const struct fake_ah *ah = (const void *)wr->wr.ud.ah;
	struct ibv_wc wc = { .wr_id = wr->wr_id, .status = IBV_WC_SUCCESS, .opcode = IBV_WC_SEND, .qp_num = QPN };
	struct sim_packet packet = {
		.dlid = htons(ah->dlid),
		.dqp = htonl(wr->wr.ud.remote_qpn),
		.sqp = htonl(QPN),
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

static int poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *wc)
{
	struct done *done = cq == send_cq ? &sent : &received;
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

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
	(void)solicited;
	if (cq != recv_cq)
		return 0;
	pthread_mutex_lock(&lock);
	armed = !received.count;
	if (!armed)
		wake();
	pthread_mutex_unlock(&lock);
	return 0;
}

/* --- libibverbs */

struct ibv_device **ibv_get_device_list(int *count)
{
	struct ibv_device **list = calloc(2, sizeof(*list));

	list[0] = &device;
	if (count)
		*count = 1;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *of)
{
	return of->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *of)
{
	pthread_t thread;

	context.device = of;
	context.ops.post_recv = post_recv;
	context.ops.post_send = post_send;
	context.ops.poll_cq = poll_cq;
	context.ops.req_notify_cq = req_notify_cq;
	context.num_comp_vectors = 1;
	if (async_pipe[0] < 0 && pipe2(async_pipe, O_CLOEXEC))
		die("fakeverbs: pipe");
	context.async_fd = async_pipe[0];
	if (data < 0) {
		attach();
		pthread_create(&thread, NULL, receive, NULL);
	}
	return &context;
}

int ibv_close_device(struct ibv_context *of)
{
	(void)of;
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *of)
{
	channel.context = of;
	channel.fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	return &channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *of)
{
	return close(of->fd);
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *of)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	pd->context = of;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *of, int depth, void *arg, struct ibv_comp_channel *on, int vector)
{
	struct ibv_cq *cq = calloc(1, sizeof(*cq));

	(void)vector;
	cq->context = of;
	cq->channel = on;
	cq->cqe = depth;
	cq->cq_context = arg;
	if (on)
		recv_cq = cq;
	else
		send_cq = cq;
	return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	free(cq);
	return 0;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	struct ibv_mr *mr = calloc(1, sizeof(*mr));

	(void)access;
	mr->pd = pd;
	mr->context = pd->context;
	mr->addr = addr;
	mr->length = len;
	return mr;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	free(mr);
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	queue_pair.context = pd->context;
	queue_pair.pd = pd;
	queue_pair.qp_num = QPN;
	queue_pair.qp_type = attr->qp_type;
	return &queue_pair;
}

/* In the error state every receive that was posted comes back. */
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	(void)qp;
	(void)mask;
	if (attr->qp_state != IBV_QPS_ERR)
		return 0;
	pthread_mutex_lock(&lock);
	for (; posts; posts--) {
		const struct ibv_wc wc = { .wr_id = posted[first_posted].wr_id, .status = IBV_WC_WR_FLUSH_ERR };

		first_posted = (first_posted + 1) % DEPTH;
		complete(&received, &wc);
	}
	wake();
	pthread_mutex_unlock(&lock);
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	(void)qp;
	return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct fake_ah *ah = calloc(1, sizeof(*ah));

	ah->ah.context = pd->context;
	ah->ah.pd = pd;
	ah->dlid = attr->dlid;
	return &ah->ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	free(ah);
	return 0;
}

static int read_number(const char *path, unsigned *value)
{
	FILE *from = fopen(path, "re");
	int got = from ? fscanf(from, "%i", (int *)value) : 0;

	if (from)
		fclose(from);
	return got == 1 ? 0 : -1;
}

int ibv_query_port(struct ibv_context *of, uint8_t port, struct _compat_ibv_port_attr *compat)
{
	struct ibv_port_attr *attr = (void *)compat;
	unsigned lid = 0, sm_lid = 0, state = 0;

	(void)of;
	(void)port;
	read_number(PORT "lid", &lid);
	read_number(PORT "sm_lid", &sm_lid);
	read_number(PORT "state", &state);
	memset(attr, 0, offsetof(struct ibv_port_attr, port_cap_flags2)); /* older programs give no more room */
	attr->lid = (uint16_t)lid;
	attr->sm_lid = (uint16_t)sm_lid;
	attr->state = (enum ibv_port_state)state;
	attr->pkey_tbl_len = PKEYS;
	attr->gid_tbl_len = 1;
	attr->link_layer = IBV_LINK_LAYER_INFINIBAND;
	attr->max_mtu = attr->active_mtu = IBV_MTU_4096;
	return 0;
}

int ibv_query_pkey(struct ibv_context *of, uint8_t port, int index, __be16 *pkey)
{
	char path[sizeof(PORT) + 32];
	unsigned value;

	(void)of;
	(void)port;
	snprintf(path, sizeof(path), PORT "pkeys/%d", index);
	if (read_number(path, &value))
		return -1;
	*pkey = htobe16((uint16_t)value);
	return 0;
}

int ibv_get_pkey_index(struct ibv_context *of, uint8_t port, __be16 pkey)
{
	__be16 own;

	for (int i = 0; i < PKEYS && !ibv_query_pkey(of, port, i, &own); i++)
		if (own == pkey)
			return i;
	return -1;
}

int ibv_get_cq_event(struct ibv_comp_channel *of, struct ibv_cq **cq, void **arg)
{
	uint64_t count;

	if (read(of->fd, &count, sizeof(count)) != sizeof(count))
		return -1;
	*cq = recv_cq;
	*arg = NULL;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned count)
{
	(void)cq;
	(void)count;
}

int ibv_get_async_event(struct ibv_context *of, struct ibv_async_event *event)
{
	char type;

	if (read(of->async_fd, &type, 1) != 1)
		return -1;
	*event = (struct ibv_async_event){ .event_type = (enum ibv_event_type)type, .element.port_num = 1 };
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)event;
}
