/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The library fakeverbs.h tells of: as much of libibverbs as srptools call. */
#include "fakeverbs.h"
#include <endian.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#undef ibv_query_port
#undef ibv_reg_mr

#define PKEYS 32
#define PORT  "/sys/class/infiniband/ibsim0/ports/1/"

static struct ibv_device device = {
	.node_type = IBV_NODE_CA,
	.transport_type = IBV_TRANSPORT_IB,
	.name = "ibsim0",
	.dev_name = "uverbs0",
};
static struct ibv_context context;
static int async_pipe[2] = { -1, -1 };

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
	context.device = of;
	context.ops.post_recv = fake_post_recv;
	context.ops.post_send = fake_post_send;
	context.ops.poll_cq = fake_poll_cq;
	context.ops.req_notify_cq = fake_req_notify_cq;
	context.num_comp_vectors = 1;
	if (async_pipe[0] < 0 && pipe2(async_pipe, O_CLOEXEC))
		return NULL;
	context.async_fd = async_pipe[0];
	fake_attach();
	return &context;
}

int ibv_close_device(struct ibv_context *of)
{
	(void)of;
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *of)
{
	fake_qp.channel.context = of;
	fake_qp.channel.fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	return &fake_qp.channel;
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

struct ibv_cq *ibv_create_cq(
	struct ibv_context *of, int depth, void *arg, struct ibv_comp_channel *on, int vector)
{
	struct ibv_cq *cq = calloc(1, sizeof(*cq));

	(void)vector;
	cq->context = of;
	cq->channel = on;
	cq->cqe = depth;
	cq->cq_context = arg;
	if (on)
		fake_qp.recv_cq = cq;
	else
		fake_qp.send_cq = cq;
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
	struct ibv_qp *qp = &fake_qp.qp;

	qp->context = pd->context;
	qp->pd = pd;
	qp->qp_num = FAKE_QPN;
	qp->qp_type = attr->qp_type;
	return qp;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	(void)qp;
	(void)mask;
	if (attr->qp_state == IBV_QPS_ERR)
		fake_flush();
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
	/* older programs give no more room */
	memset(attr, 0, offsetof(struct ibv_port_attr, port_cap_flags2));
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
	*cq = fake_qp.recv_cq;
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
	*event = (struct ibv_async_event){ .event_type = (enum ibv_event_type)type,
		.element.port_num = 1 };
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)event;
}
