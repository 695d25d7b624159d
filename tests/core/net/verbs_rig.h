/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A verbs device for tests of the data path and of registrations: it notes every memory region and
 * every request, and completes what the test lets it. It stands for libibverbs, librdmacm and the
 * connection manager (verbs_cm.c). */
#pragma once
#include "../../../core/net/dom.h"
#include "../../../core/net/verbs.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define REGIONS  64
#define REQUESTS 256

struct region {
	struct ibv_mr mr; /* first */
	int access;
	bool on;
};

static struct rig {
	struct ibv_device device;
	struct ibv_context context;
	struct ibv_pd pd;
	struct ibv_comp_channel channel;
	struct ibv_cq cq;
	struct ibv_qp qp;
	struct rdma_cm_id id;
	struct region region[REGIONS]; /* a key is 1 + the place, each used once */
	unsigned regions;
	int reg_err; /* of the next registration */
	/* posted and not yet completed: [done, posted) */
	struct ibv_send_wr wr[REQUESTS];
	struct ibv_sge sge[REQUESTS];
	unsigned order[REQUESTS]; /* in which they complete */
	unsigned posted, done, allowed;
	enum ibv_wc_status status; /* of what completes from now on */
	unsigned closes;
	struct rdma_event_channel events;
	struct verbs_ep ve;
} rig;

static uint32_t rig_vendor; /* of the device, set before rig_up() */

static inline struct region *region_of(uint32_t key)
{
	cr_assert(key && key <= rig.regions);
	return &rig.region[key - 1];
}

/* How many of the peer's rights there are now. */
static inline unsigned writable(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < rig.regions; i++)
		count += rig.region[i].on && (rig.region[i].access & IBV_ACCESS_REMOTE_WRITE);
	return count;
}

static inline unsigned registered(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < rig.regions; i++)
		count += rig.region[i].on;
	return count;
}

/* libibverbs */
#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *p, size_t len, int access)
{
	struct region *region = &rig.region[rig.regions];

	if (rig.reg_err) {
		errno = rig.reg_err;
		return NULL;
	}
	cr_assert_lt(rig.regions, REGIONS);
	cr_assert(len, "an empty region");
	rig.regions++;
	*region = (struct region){ { .context = pd->context,
					   .pd = pd,
					   .addr = p,
					   .length = len,
					   .lkey = rig.regions,
					   .rkey = rig.regions },
		access, true };
	return &region->mr;
}

struct ibv_mr *ibv_reg_mr_iova2(
	struct ibv_pd *pd, void *p, size_t len, uint64_t iova, unsigned access)
{
	cr_assert_eq(iova, (uintptr_t)p);
	return ibv_reg_mr(pd, p, len, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct region *region = (struct region *)mr;

	cr_assert(region->on, "deregistered twice");
	region->on = false;
	return 0;
}

static inline int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp, (void)bad;
	for (; wr; wr = wr->next) {
		cr_assert_lt(rig.posted, REQUESTS);
		cr_assert_eq(wr->num_sge, 1);
		rig.sge[rig.posted] = *wr->sg_list;
		rig.order[rig.posted] = rig.posted;
		rig.wr[rig.posted++] = *wr;
	}
	return 0;
}

static inline int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
	int count = 0;

	(void)cq;
	while (count < most && rig.done < rig.allowed && rig.done < rig.posted) {
		const struct ibv_send_wr *wr = &rig.wr[rig.order[rig.done++]];

		if ((wr->send_flags & IBV_SEND_SIGNALED) || rig.status)
			wc[count++] = (struct ibv_wc){ .wr_id = wr->wr_id, .status = rig.status };
	}
	return count;
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	*attr = (struct ibv_device_attr){ .vendor_id = rig_vendor,
		.max_qp_wr = 512,
		.max_sge = 4,
		.max_sge_rd = 4,
		.max_cqe = 4096,
		.max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16 };
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	rig.pd.context = context;
	return &rig.pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	(void)pd;
	cr_assert_eq(registered(), 0, "a registration outlives its domain");
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	rig.channel = (struct ibv_comp_channel){ context, eventfd(0, EFD_CLOEXEC), 0 };
	return &rig.channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	return close(channel->fd);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int size, void *cq_context,
	struct ibv_comp_channel *channel, int vector)
{
	(void)channel, (void)vector;
	rig.cq = (struct ibv_cq){ .context = context, .cq_context = cq_context, .cqe = size };
	return &rig.cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	(void)cq;
	return 0;
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	return status == IBV_WC_WR_FLUSH_ERR ? "flushed" : "failed";
}

const char *ibv_event_type_str(enum ibv_event_type type)
{
	(void)type;
	return "event";
}

struct ibv_device **ibv_get_device_list(int *count)
{
	struct ibv_device **list = calloc(2, sizeof(*list));

	*count = 1;
	list[0] = &rig.device;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

/* librdmacm */
struct rdma_event_channel *rdma_create_event_channel(void)
{
	rig.events.fd = eventfd(0, EFD_CLOEXEC);
	return &rig.events;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	close(channel->fd);
}

struct ibv_context **rdma_get_devices(int *count)
{
	cr_assert_null(count);
	return calloc(1, sizeof(struct ibv_context *));
}

void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	attr->cap.max_inline_data = 64;
	rig.qp = (struct ibv_qp){ .context = pd->context, .qp_context = &rig.ve };
	id->qp = &rig.qp;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	id->qp = NULL;
}

/* the connection manager */
struct diag *verbs_why(struct verbs_ep *ve)
{
	return ve->ep.why.err ? NULL : &ve->ep.why;
}

void verbs_close(struct ep *ep)
{
	rig.closes++;
	ep->state = EP_CLOSING;
}

void verbs_drained(struct verbs_ep *ve)
{
	(void)ve;
}

void verbs_cm_calls_end(struct verbs *verbs)
{
	(void)verbs;
}

/* Nothing of these is used here. */
#define UNUSED(call, ...)                                                                          \
	call                                                                                       \
	{                                                                                          \
		cr_assert_fail("not expected");                                                    \
		return __VA_ARGS__;                                                                \
	}
#undef ibv_query_port
#pragma GCC diagnostic ignored "-Wunused-parameter"
UNUSED(int ibv_query_port(struct ibv_context *c, uint8_t n, struct _compat_ibv_port_attr *a), -1)
UNUSED(int ibv_query_gid(struct ibv_context *c, uint8_t n, int i, union ibv_gid *gid), -1)
UNUSED(int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask), -1)
UNUSED(int ibv_get_cq_event(struct ibv_comp_channel *c, struct ibv_cq **cq, void **p), -1)
UNUSED(void ibv_ack_cq_events(struct ibv_cq *cq, unsigned n))
UNUSED(int ibv_get_async_event(struct ibv_context *c, struct ibv_async_event *e), -1)
UNUSED(void ibv_ack_async_event(struct ibv_async_event *e))
UNUSED(void verbs_cm_readable(struct loop_fd *fd, uint32_t events))
UNUSED(void verbs_established(struct verbs_ep *ve))

/* An endpoint that is up on a device of that kind, with so many READs at once. */
static inline struct verbs_ep *rig_up(
	enum ibv_transport_type transport, uint32_t ord, const struct ep_events *events)
{
	static const struct loop_options options = { .name = "test" };
	struct verbs_ep *ve = &rig.ve;
	struct diag why = { 0 };
	struct loop *loop;

	rig = (struct rig){ .device = { .transport_type = transport, .name = "fake0" },
		.context = { .async_fd = eventfd(0, EFD_CLOEXEC) },
		.allowed = REQUESTS };
	rig.context.device = &rig.device;
	rig.context.ops.post_send = post_send;
	rig.context.ops.poll_cq = poll_cq;
	cr_assert_eq(loop_new(&loop, &options, &why), 0, "%s", why.text);
	*ve = (struct verbs_ep){ .id = &rig.id,
		.ep = { .ev = events,
			.loop = loop,
			.state = EP_UP,
			.caps = { .send = 32,
				.recv = 4,
				.sge = 1,
				.inline_max = 64,
				.read_sge = 4,
				.ord = ord } } };
	ve->sent_end = &ve->sent;
	ve->read_end = &ve->read;
	ve->held_end = &ve->held;
	ve->rx_end = &ve->rx;
	cr_assert_eq(verbs_of_loop(&ve->verbs, loop, &why), 0, "%s", why.text);
	cr_assert_eq(verbs_slot_alloc(ve->verbs, ve, &why), 0);
	cr_assert_eq(verbs_dev_get(&ve->dev, ve->verbs, &rig.context, &why), 0, "%s", why.text);
	ve->ep.dom = ve->dev->dom;
	cr_assert_eq(verbs_queue_new(ve, &why), 0, "%s", why.text);
	return ve;
}

/* The pools are unregistered. */
static inline void rig_down(struct verbs_ep *ve)
{
	verbs_queue_free(ve);
	cr_assert_eq(registered(), 0);
	verbs_slot_release(ve);
	verbs_dev_put(ve->dev);
	loop_free(ve->ep.loop);
	close(rig.context.async_fd);
}
