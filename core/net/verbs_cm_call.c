/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iWARP's connection manager blocks in the kernel: siw's connect until TCP has connected, and
 * destroying any id until its connection attempt has ended (drivers/infiniband/core/iwcm.c, Linux
 * 6.12). Threads make these calls, so that our deadlines hold. */
#include "verbs.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct verbs_cm_call {
	struct verbs_cm_call *next;
	struct loop_msg msg;
	pthread_t thread;
	struct verbs *verbs;
	struct rdma_cm_id *id;
	struct rdma_conn_param param;
	uint8_t priv[EP_PRIV_MAX];
	int err;
	uint32_t slot, serial; /* of the endpoint that waits for the answer */
	/* of an orphaned id, which is to be destroyed: */
	struct verbs_dev *dev;
	struct verbs_cq *cq;
	uint32_t reserved;
	bool orphaned, joined;
};

static void post_result(void *arg)
{
	struct verbs_cm_call *call = arg;
	loop_post(call->verbs->loop, &call->msg);
}

static void *connect_thread(void *arg)
{
	struct verbs_cm_call *call = arg;

	pthread_cleanup_push(post_result, call);
	call->err = rdma_connect(call->id, &call->param) ? errno : 0;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(1);
	return NULL;
}

static void destroy_id(struct verbs_cm_call *call)
{
	if (call->id->qp)
		rdma_destroy_qp(call->id);
	rdma_destroy_id(call->id);
	call->id = NULL;
}

static void *destroy_thread(void *arg)
{
	destroy_id(arg);
	post_result(arg);
	return NULL;
}

static void join(struct verbs_cm_call *call)
{
	if (!call->joined)
		pthread_join(call->thread, NULL);
	call->joined = true;
}

static void unlink_call(struct verbs_cm_call *call)
{
	struct verbs_cm_call **at = &call->verbs->cm_calls;
	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
}

/* The thread must be joined, and an orphaned id destroyed. */
static void call_free(struct verbs_cm_call *call)
{
	unlink_call(call);
	if (call->orphaned) {
		verbs_cq_release(call->cq, call->reserved);
		verbs_dev_put(call->dev);
	}
	free(call);
}

static void call_done(struct loop_msg *msg)
{
	struct verbs_cm_call *call = container_of(msg, struct verbs_cm_call, msg);
	struct verbs *verbs = call->verbs;
	struct verbs_ep *ve = call->slot < verbs->slots ? verbs->slot[call->slot] : NULL;
	int err = call->err;

	join(call);
	if (call->orphaned && call->id &&
		!pthread_create(&call->thread, NULL, destroy_thread, call)) {
		call->joined = false;
		return;
	}
	if (call->orphaned && call->id)
		destroy_id(call);
	ve = ve && ve->serial == call->serial ? ve : NULL;
	call_free(call);
	if (!ve)
		return;
	ve->cm_call = NULL;
	if (err)
		verbs_connect_failed(ve, err);
}

static struct verbs_cm_call *call_new(struct verbs_ep *ve)
{
	struct verbs_cm_call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->verbs = ve->verbs;
	call->id = ve->id;
	call->slot = ve->slot;
	call->serial = ve->serial;
	call->err = ECANCELED;
	call->msg.run = call_done;
	call->next = ve->verbs->cm_calls;
	ve->verbs->cm_calls = call;
	return call;
}

int verbs_cm_call_connect(struct verbs_ep *ve, const struct rdma_conn_param *param)
{
	struct verbs_cm_call *call = call_new(ve);
	int err;

	if (!call)
		return ENOMEM;
	call->param = *param;
	memcpy(call->priv, param->private_data, param->private_data_len);
	call->param.private_data = call->priv;
	err = pthread_create(&call->thread, NULL, connect_thread, call);
	if (err) {
		call_free(call);
		return err;
	}
	ve->cm_call = call;
	return 0;
}

/* In the error state the queue pair accesses no memory, whatever the connection manager does. */
bool verbs_cm_call_destroy(struct verbs_ep *ve)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct verbs_cm_call *call = ve->cm_call;
	bool running = call;

	if (ve->id->qp)
		ibv_modify_qp(ve->id->qp, &attr, IBV_QP_STATE);
	if (!call)
		call = call_new(ve);
	if (!call)
		return false;
	if (running) {
		pthread_cancel(call->thread);
	} else if (pthread_create(&call->thread, NULL, destroy_thread, call)) {
		call_free(call);
		return false;
	}
	ve->id->context = NULL;
	call->dev = ve->dev;
	call->dev->refs++;
	call->cq = ve->cq;
	call->reserved = ve->reserved;
	call->orphaned = true;
	ve->cq = NULL;
	ve->id = NULL;
	ve->cm_call = NULL;
	return true;
}

/* The connection is up, so rdma_connect() has returned or is about to: join the thread. */
void verbs_cm_call_join(struct verbs_ep *ve)
{
	if (ve->cm_call)
		join(ve->cm_call);
	ve->cm_call = NULL;
}

/* Call before the loop is freed. */
void verbs_cm_calls_end(struct verbs *verbs)
{
	while (verbs->cm_calls) {
		struct verbs_cm_call *call = verbs->cm_calls;
		join(call);
		if (call->orphaned && call->id)
			destroy_id(call);
		call_free(call);
	}
}
