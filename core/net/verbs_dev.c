/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The RDMA devices of one loop: protection domain, completion queues, registrations, asynchronous
 * events. They are attached to the loop. Connections are in verbs_cm.c. */
#include "dom.h"
#include "grow.h"
#include "privilege.h"
#include "verbs.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define CM_DEVICE   "/dev/infiniband/rdma_cm"
#define CQ_MIN      1024   /* uses 64 KiB of locked memory on common devices */
#define ACK_EVERY   64     /* events per acknowledgement, which takes a lock */
#define SLOTS_MAX   0x4000 /* the slot has 14 bits in wr_id */
#define LOCK_LEAST  32768
#define LOCK_NEEDED 65536 /* the least a connection needs */

static const char local_key;

struct registration {
	struct ibv_mr *mr;
	unsigned access;
};

const char *verbs_dev_name(const struct verbs_dev *dev)
{
	return ibv_get_device_name(dev->context->device);
}

static void nonblocking(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static bool any_armed(const struct verbs_dev *dev)
{
	for (const struct verbs_cq *cq = dev->cqs; cq; cq = cq->next)
		if (cq->armed)
			return true;
	return false;
}

/* Each armed queue gives one event, so there is none to look for behind the last. */
static void channel_readable(struct loop_fd *fd, uint32_t events)
{
	struct verbs_dev *dev = container_of(fd, struct verbs_dev, channel_fd);
	struct ibv_cq *ibcq;
	void *context;

	(void)events;
	do {
		struct verbs_cq *cq;

		if (ibv_get_cq_event(dev->channel, &ibcq, &context)) {
			/* the device is gone; the connection manager reports that to its
			 * connections */
			if (errno != EAGAIN && errno != EINTR)
				loop_fd_del(dev->verbs->loop, fd);
			return;
		}
		cq = context;
		cq->armed = false;
		if (++cq->unacked == ACK_EVERY) {
			ibv_ack_cq_events(ibcq, ACK_EVERY);
			cq->unacked = 0;
		}
	} while (any_armed(dev));
}

/* Other loops share the context. So the one that reads the event only sets a word in the endpoint
 * and moves its queue pair to the error state; the endpoint's own loop sees the flushed
 * completions. Neither can be freed before the event is acknowledged. */
static void qp_failed(struct ibv_async_event *event)
{
	struct verbs_ep *ve = event->element.qp->qp_context;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	atomic_store(&ve->fatal, 1 + (unsigned)event->event_type);
	ibv_modify_qp(event->element.qp, &attr, IBV_QP_STATE);
}

static void async_readable(struct loop_fd *fd, uint32_t events)
{
	struct verbs_dev *dev = container_of(fd, struct verbs_dev, async_fd);
	struct ibv_async_event event;

	(void)events;
	while (!ibv_get_async_event(dev->context, &event)) {
		loop_trace(dev->verbs->loop, "%s: %s", verbs_dev_name(dev),
			ibv_event_type_str(event.event_type));
		if (event.event_type == IBV_EVENT_QP_FATAL ||
			event.event_type == IBV_EVENT_QP_REQ_ERR ||
			event.event_type == IBV_EVENT_QP_ACCESS_ERR)
			qp_failed(&event);
		ibv_ack_async_event(&event);
	}
	if (errno != EAGAIN && errno != EINTR)
		loop_fd_del(dev->verbs->loop, fd);
}

static bool poll_dev(struct loop_poller *poller)
{
	return verbs_dev_poll(container_of(poller, struct verbs_dev, poller));
}

static bool arm_dev(struct loop_poller *poller)
{
	return verbs_dev_arm(container_of(poller, struct verbs_dev, poller));
}

static void dev_free(struct verbs_dev *dev)
{
	struct loop *loop = dev->verbs->loop;

	loop_poller_del(loop, &dev->poller);
	loop_fd_del(loop, &dev->channel_fd);
	loop_fd_del(loop, &dev->async_fd);
	while (dev->cqs) {
		struct verbs_cq *cq = dev->cqs;
		dev->cqs = cq->next;
		if (cq->unacked)
			ibv_ack_cq_events(cq->cq, cq->unacked);
		ibv_destroy_cq(cq->cq);
		free(cq);
	}
	if (dev->channel)
		ibv_destroy_comp_channel(dev->channel);
	if (dev->pd)
		ibv_dealloc_pd(dev->pd);
	if (dev->held)
		rdma_free_devices(dev->held);
	dev->verbs->dev[dev->dom] = NULL;
	dom_free(loop, dev->dom);
	free(dev);
}

static int dev_open(struct verbs_dev *dev, struct diag *diag)
{
	struct loop *loop = dev->verbs->loop;
	int err;

	dev->held = rdma_get_devices(NULL);
	err = ibv_query_device(dev->context, &dev->attr);
	if (err)
		return diag_sys(diag, err, "query the limits of %s", verbs_dev_name(dev));
	dev->pd = ibv_alloc_pd(dev->context);
	dev->channel = dev->pd ? ibv_create_comp_channel(dev->context) : NULL;
	if (!dev->held || !dev->channel)
		return diag_sys(diag, errno, "open %s", verbs_dev_name(dev));
	dev->iwarp = dev->context->device->transport_type == IBV_TRANSPORT_IWARP;
	/* Software devices: rxe has this vendor ID, siw one of its own (drivers/infiniband/sw,
	 * Linux 6.12). */
	dev->software =
		dev->attr.vendor_id == 0xffffff || (dev->iwarp && dev->attr.vendor_id == 0x626d74);
	if (dev->software)
		loop_no_spin(loop);
	nonblocking(dev->channel->fd);
	nonblocking(dev->context->async_fd);
	dev->channel_fd = (struct loop_fd){
		.fd = dev->channel->fd, .events = EPOLLIN, .ready = channel_readable
	};
	dev->async_fd = (struct loop_fd){
		.fd = dev->context->async_fd, .events = EPOLLIN, .ready = async_readable
	};
	err = loop_fd_add(loop, &dev->channel_fd, diag);
	if (!err)
		err = loop_fd_add(loop, &dev->async_fd, diag);
	if (err)
		return err;
	dev->poller = (struct loop_poller){ .poll = poll_dev, .arm = arm_dev };
	loop_poller_add(loop, &dev->poller);
	return 0;
}

int verbs_dev_get(
	struct verbs_dev **out, struct verbs *verbs, struct ibv_context *context, struct diag *diag)
{
	struct verbs_dev *dev;
	uint8_t dom;
	int err;

	for (dom = 0; dom < POOL_DOMS; dom++)
		if (verbs->dev[dom] && verbs->dev[dom]->context == context) {
			verbs->dev[dom]->refs++;
			*out = verbs->dev[dom];
			return 0;
		}
	err = dom_alloc(verbs->loop, &dom, diag);
	if (err)
		return err;
	dev = calloc(1, sizeof(*dev));
	if (!dev) {
		dom_free(verbs->loop, dom);
		return diag_sys(diag, ENOMEM, "RDMA device");
	}
	dev->verbs = verbs;
	dev->context = context;
	dev->dom = dom;
	dev->refs = 1;
	verbs->dev[dom] = dev;
	err = dev_open(dev, diag);
	if (err) {
		dev_free(dev);
		return err;
	}
	*out = dev;
	return 0;
}

/* Freed at the end of the turn, as the caller may be a completion handler of the device. */
void verbs_dev_put(struct verbs_dev *dev)
{
	if (!--dev->refs)
		loop_work_add(dev->verbs->loop, &dev->verbs->reap);
}

static void reap(struct loop_work *work)
{
	struct verbs *verbs = container_of(work, struct verbs, reap);
	for (int dom = 0; dom < POOL_DOMS; dom++)
		if (verbs->dev[dom] && !verbs->dev[dom]->refs)
			dev_free(verbs->dev[dom]);
}

static void verbs_fini(struct loop_local *local)
{
	struct verbs *verbs = container_of(local, struct verbs, local);

	verbs_cm_calls_end(verbs);
	loop_work_del(verbs->loop, &verbs->reap);
	reap(&verbs->reap);
	loop_fd_del(verbs->loop, &verbs->channel_fd);
	rdma_destroy_event_channel(verbs->channel);
	free(verbs->slot);
	free(verbs);
}

static int no_rdma(int err, const char *module, struct diag *diag)
{
	switch (err) {
	case ENODEV:
		diag_set(diag, DIAG_NO_DEVICE, err, "no RDMA device");
		return diag_hint(diag, HINT_RDMA_DEVICE);
	case ENOENT:
	case ENXIO:
	case ENOSYS:
		diag_set(diag, DIAG_NO_MODULE, err,
			"no RDMA device: kernel module %s is not loaded", module);
		return diag_hint(diag, "modprobe -a ib_uverbs rdma_ucm");
	default:
		return diag_sys(diag, err, "open " CM_DEVICE);
	}
}

/* Up to this limit libibverbs prints a warning on stderr (check_memlock_limit() of rdma-core 56),
 * and the buffers of a connection do not fit. */
int verbs_check_memlock(struct diag *diag)
{
	struct rlimit limit;

	if (privilege_locks_memory() || getrlimit(RLIMIT_MEMLOCK, &limit) ||
		limit.rlim_cur > LOCK_LEAST)
		return 0;
	return mem_raise_memlock(LOCK_NEEDED, diag);
}

static int have_device(void)
{
	int count = 0;
	/* call it here, too, not only in librdmacm: this links the providers statically */
	struct ibv_device **list = ibv_get_device_list(&count);

	if (!list)
		return errno;
	ibv_free_device_list(list);
	if (!count)
		return ENODEV;
	/* check first: librdmacm waits 5 s if opening fails with EACCES (open_cdev() of rdma-core
	 * 56) */
	return access(CM_DEVICE, R_OK | W_OK) && errno == EACCES ? EACCES : 0;
}

int verbs_of_loop(struct verbs **out, struct loop *loop, struct diag *diag)
{
	struct loop_local *local = loop_local_find(loop, &local_key);
	struct verbs *verbs;
	int err;

	if (local) {
		*out = container_of(local, struct verbs, local);
		return 0;
	}
	err = verbs_check_memlock(diag);
	if (err)
		return err;
	err = have_device();
	if (err)
		return no_rdma(err, "ib_uverbs", diag);
	verbs = calloc(1, sizeof(*verbs));
	if (!verbs)
		return diag_sys(diag, ENOMEM, "RDMA");
	verbs->loop = loop;
	verbs->reap.run = reap;
	verbs->channel = rdma_create_event_channel();
	if (!verbs->channel) {
		err = no_rdma(errno, "rdma_ucm", diag);
		goto fail;
	}
	nonblocking(verbs->channel->fd);
	verbs->channel_fd = (struct loop_fd){
		.fd = verbs->channel->fd, .events = EPOLLIN, .ready = verbs_cm_readable
	};
	err = loop_fd_add(loop, &verbs->channel_fd, diag);
	if (err)
		goto fail;
	verbs->local = (struct loop_local){ .key = &local_key, .fini = verbs_fini };
	loop_local_add(loop, &verbs->local);
	*out = verbs;
	return 0;
fail:
	if (verbs->channel)
		rdma_destroy_event_channel(verbs->channel);
	free(verbs);
	return err;
}

int verbs_slot_alloc(struct verbs *verbs, struct verbs_ep *ve, struct diag *diag)
{
	uint32_t slot;

	for (slot = 0; slot < verbs->slots && verbs->slot[slot]; slot++)
		;
	if (slot == verbs->slots) {
		if (slot >= SLOTS_MAX || !grow_by(verbs->slot, verbs->slots, slot ? slot : 16))
			return diag_sys(diag, ENOMEM, "connection %u", slot + 1);
	}
	verbs->slot[slot] = ve;
	ve->slot = slot;
	ve->serial = ++verbs->serial;
	return 0;
}

void verbs_slot_release(struct verbs_ep *ve)
{
	if (ve->slot < ve->verbs->slots && ve->verbs->slot[ve->slot] == ve)
		ve->verbs->slot[ve->slot] = NULL;
}

int verbs_cq_reserve(
	struct verbs_dev *dev, uint32_t entries, struct verbs_cq **out, struct diag *diag)
{
	uint32_t size = entries > CQ_MIN ? entries : CQ_MIN, max = (uint32_t)dev->attr.max_cqe;
	struct verbs_cq *cq;

	for (cq = dev->cqs; cq; cq = cq->next)
		if (cq->size - cq->used >= entries) {
			cq->used += entries;
			*out = cq;
			return 0;
		}
	if (entries > max)
		return diag_set(diag, DIAG_UNSUPPORTED, ENOSPC,
			"%s: completion queue of %u entries exceeds the limit of %u",
			verbs_dev_name(dev), entries, max);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return diag_sys(diag, ENOMEM, "completion queue");
	cq->size = size < max ? size : max;
	cq->cq = ibv_create_cq(dev->context, (int)cq->size, cq, dev->channel, 0);
	if (!cq->cq) {
		free(cq);
		return diag_sys(diag, errno, "%s: create a completion queue of %u entries",
			verbs_dev_name(dev), size);
	}
	cq->dev = dev;
	cq->used = entries;
	cq->next = dev->cqs;
	dev->cqs = cq;
	*out = cq;
	return 0;
}

void verbs_cq_release(struct verbs_cq *cq, uint32_t entries)
{
	cq->stale += entries;
}

/* EP_READ_SINK grants peers nothing. On iWARP, where a READ needs remote rights to the local
 * buffer, verbs_post() registers the memory of each READ. */
int verbs_mr_new(struct verbs_dev *dev, struct ibv_mr **out, void *p, size_t len, unsigned access,
	struct diag *diag)
{
	int flags = IBV_ACCESS_LOCAL_WRITE, err;

	if (access & EP_REMOTE_WRITE)
		flags |= IBV_ACCESS_REMOTE_WRITE;
	if (access & EP_REMOTE_READ)
		flags |= IBV_ACCESS_REMOTE_READ;
	while (!(*out = ibv_reg_mr(dev->pd, p, len, flags))) {
		err = errno == ENOMEM ? mem_raise_memlock(len, diag)
				      : diag_sys(diag, errno, "register %zu KiB on %s",
						(len + 1023) / 1024, verbs_dev_name(dev));
		if (err)
			return err;
	}
	return 0;
}

int verbs_reg(struct ep *ep, struct pool *pool, unsigned access, struct diag *diag)
{
	struct verbs_dev *dev = verbs_ep(ep)->dev;
	struct registration *reg = pool->mr[dev->dom];
	int err;

	if (reg && (access & ~reg->access))
		return diag_set(diag, DIAG_UNSUPPORTED, EINVAL,
			"buffer pool is already registered on %s with fewer rights",
			verbs_dev_name(dev));
	if (!reg) {
		reg = calloc(1, sizeof(*reg));
		if (!reg)
			return diag_sys(diag, ENOMEM, "registration");
		reg->access = access;
		err = verbs_mr_new(dev, &reg->mr, pool->base, pool->len, access, diag);
		if (err) {
			free(reg);
			return err;
		}
		pool->mr[dev->dom] = reg;
		pool->key[dev->dom] =
			(struct mkey){ reg->mr->lkey, reg->mr->rkey, (uintptr_t)pool->base };
		dev->refs++;
	}
	pool->refs[dev->dom]++;
	return 0;
}

void verbs_unreg(struct ep *ep, struct pool *pool)
{
	struct verbs_dev *dev = verbs_ep(ep)->dev;
	struct registration *reg = dev ? pool->mr[dev->dom] : NULL;

	if (!reg || --pool->refs[dev->dom])
		return;
	ibv_dereg_mr(reg->mr);
	free(reg);
	pool->mr[dev->dom] = NULL;
	pool->key[dev->dom] = (struct mkey){ 0 };
	verbs_dev_put(dev);
}

/* Find an address of the device with that family to connect from, if its GIDs contain one
 * (RoCE). */
static void dev_address(struct ibv_context *context, int family, struct sockaddr_storage *src)
{
	struct ibv_port_attr port;
	struct ibv_device_attr attr;
	union ibv_gid gid;

	if (ibv_query_device(context, &attr))
		return;
	for (uint8_t p = 1; p <= attr.phys_port_cnt; p++) {
		if (ibv_query_port(context, p, &port) ||
			port.link_layer != IBV_LINK_LAYER_ETHERNET || port.state != IBV_PORT_ACTIVE)
			continue;
		for (int i = 0; i < port.gid_tbl_len; i++) {
			const struct in6_addr *in6 = (const void *)&gid;
			if (ibv_query_gid(context, p, i, &gid) || IN6_IS_ADDR_UNSPECIFIED(in6) ||
				IN6_IS_ADDR_LINKLOCAL(in6))
				continue;
			if (family == AF_INET && IN6_IS_ADDR_V4MAPPED(in6)) {
				struct sockaddr_in *sin = (struct sockaddr_in *)src;
				sin->sin_family = AF_INET;
				memcpy(&sin->sin_addr, gid.raw + 12, 4);
				return;
			}
			if (family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(in6)) {
				struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)src;
				sin6->sin6_family = AF_INET6;
				sin6->sin6_addr = *in6;
				return;
			}
		}
	}
}

/* Find the device by name. If src is empty, set it to an address of the device, if any. */
int verbs_dev_find(const char *name, int family, struct sockaddr_storage *src, struct diag *diag)
{
	struct ibv_context **list = rdma_get_devices(NULL);
	char names[256] = "";
	size_t used = 0;
	int err = -ENODEV;

	for (int i = 0; list && list[i]; i++) {
		const char *one = ibv_get_device_name(list[i]->device);
		if (!strcmp(one, name)) {
			if (!src->ss_family &&
				list[i]->device->transport_type != IBV_TRANSPORT_IWARP)
				dev_address(list[i], family, src);
			err = 0;
			break;
		}
		if (used < sizeof(names))
			used += (size_t)snprintf(
				names + used, sizeof(names) - used, "%s%s", used ? ", " : "", one);
	}
	if (list)
		rdma_free_devices(list);
	return err ? diag_set(diag, DIAG_NO_DEVICE, ENODEV,
			     "no RDMA device '%s'; this machine has %s", name,
			     used ? names : "none")
		   : 0;
}
