/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iWARP's connection manager blocks in the kernel: siw's connect until TCP has connected, and
 * destroying any id until its connection attempt has ended (drivers/infiniband/core/iwcm.c, Linux
 * 6.12). Threads make these calls, so that our deadlines hold. */
#include "verbs.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct verbs_errand {
	struct verbs_errand *next;
	struct loop_msg msg;
	pthread_t thread;
	struct verbs *verbs;
	struct rdma_cm_id *id;
	struct rdma_conn_param param;
	uint8_t priv[EP_PRIV_MAX];
	int err;
	uint32_t slot, serial; /* of the endpoint that waits for the answer */
	/* from here on: of an id without an owner, to be destroyed */
	struct verbs_dev *dev;
	struct verbs_cq *cq;
	uint32_t reserved;
	bool bury, joined;
};

static void answer(void *arg)
{
	struct verbs_errand *errand = arg;
	loop_post(errand->verbs->loop, &errand->msg);
}

static void *connect_thread(void *arg)
{
	struct verbs_errand *errand = arg;

	pthread_cleanup_push(answer, errand);
	errand->err = rdma_connect(errand->id, &errand->param) ? errno : 0;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(1);
	return NULL;
}

static void bury(struct verbs_errand *errand)
{
	if (errand->id->qp)
		rdma_destroy_qp(errand->id);
	rdma_destroy_id(errand->id);
	errand->id = NULL;
}

static void *bury_thread(void *arg)
{
	bury(arg);
	answer(arg);
	return NULL;
}

static void join(struct verbs_errand *errand)
{
	if (!errand->joined)
		pthread_join(errand->thread, NULL);
	errand->joined = true;
}

static void unlink_errand(struct verbs_errand *errand)
{
	struct verbs_errand **at = &errand->verbs->errands;
	while (*at != errand)
		at = &(*at)->next;
	*at = errand->next;
}

/* After the thread was joined, and id and queue pair, if abandoned, were destroyed. */
static void errand_free(struct verbs_errand *errand)
{
	unlink_errand(errand);
	if (errand->bury) {
		verbs_cq_release(errand->cq, errand->reserved);
		verbs_dev_put(errand->dev);
	}
	free(errand);
}

static void answered(struct loop_msg *msg)
{
	struct verbs_errand *errand = container_of(msg, struct verbs_errand, msg);
	struct verbs *verbs = errand->verbs;
	struct verbs_ep *ve = errand->slot < verbs->slots ? verbs->slot[errand->slot] : NULL;
	int err = errand->err;

	join(errand);
	if (errand->bury && errand->id &&
		!pthread_create(&errand->thread, NULL, bury_thread, errand)) {
		errand->joined = false;
		return;
	}
	if (errand->bury && errand->id)
		bury(errand);
	ve = ve && ve->serial == errand->serial ? ve : NULL;
	errand_free(errand);
	if (!ve)
		return;
	ve->errand = NULL;
	if (err)
		verbs_connect_failed(ve, err);
}

static struct verbs_errand *errand_new(struct verbs_ep *ve)
{
	struct verbs_errand *errand = calloc(1, sizeof(*errand));

	if (!errand)
		return NULL;
	errand->verbs = ve->verbs;
	errand->id = ve->id;
	errand->slot = ve->slot;
	errand->serial = ve->serial;
	errand->err = ECANCELED;
	errand->msg.run = answered;
	errand->next = ve->verbs->errands;
	ve->verbs->errands = errand;
	return errand;
}

/* Run rdma_connect() in a thread; verbs_connect_failed() is called if it fails. */
int verbs_errand_connect(struct verbs_ep *ve, const struct rdma_conn_param *param)
{
	struct verbs_errand *errand = errand_new(ve);
	int err;

	if (!errand)
		return ENOMEM;
	errand->param = *param;
	memcpy(errand->priv, param->private_data, param->private_data_len);
	errand->param.private_data = errand->priv;
	err = pthread_create(&errand->thread, NULL, connect_thread, errand);
	if (err) {
		errand_free(errand);
		return err;
	}
	ve->errand = errand;
	return 0;
}

/* Take over id and queue pair of an abandoned attempt. In the error state the queue pair accesses
 * no memory, whatever the connection manager does with it. False: nothing was taken over. */
bool verbs_errand_bury(struct verbs_ep *ve)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct verbs_errand *errand = ve->errand;
	bool running = errand;

	if (ve->id->qp)
		ibv_modify_qp(ve->id->qp, &attr, IBV_QP_STATE);
	if (!errand)
		errand = errand_new(ve);
	if (!errand)
		return false;
	if (running) {
		pthread_cancel(errand->thread);
	} else if (pthread_create(&errand->thread, NULL, bury_thread, errand)) {
		errand_free(errand);
		return false;
	}
	ve->id->context = NULL;
	errand->dev = ve->dev;
	errand->dev->refs++;
	errand->cq = ve->cq;
	errand->reserved = ve->reserved;
	errand->bury = true;
	ve->cq = NULL;
	ve->id = NULL;
	ve->errand = NULL;
	return true;
}

/* The connection is up, so rdma_connect() has returned or is about to: join the thread. */
void verbs_errand_wait(struct verbs_ep *ve)
{
	if (ve->errand)
		join(ve->errand);
	ve->errand = NULL;
}

/* Call before the loop is freed. */
void verbs_errands_end(struct verbs *verbs)
{
	while (verbs->errands) {
		struct verbs_errand *errand = verbs->errands;
		join(errand);
		if (errand->bury && errand->id)
			bury(errand);
		errand_free(errand);
	}
}
