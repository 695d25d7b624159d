/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* If a target does not speak the transport of a URI, probe the other one by the first message. No
 * command is sent. */
#include "ep.h"
#include "nvme.h"
#include "protocol.h"
#include <stdio.h>

struct greeting {
	struct resolve resolve;
	volatile int finished;
	bool answered;
};

static void up(struct nvme_queue *queue)
{
	struct greeting *greeting = queue->user;

	greeting->answered = true;
	greeting->finished = 1;
}

static void idle(struct nvme_queue *queue)
{
	(void)queue;
}

static void down(struct nvme_queue *queue)
{
	struct greeting *greeting = queue->user;

	greeting->finished = 1;
}

static void found(struct resolve *resolve)
{
	struct greeting *greeting = container_of(resolve, struct greeting, resolve);

	greeting->finished = 1;
}

/* Set the address if the name was resolved before. */
static bool resolve_host(struct loop *loop, struct nvme_conf *conf, uint32_t ms)
{
	struct greeting greeting = { .resolve.done = found };

	if (conf->dst.ss.ss_family)
		return true;
	if (resolve_start(&greeting.resolve, loop, conf->host, conf->port, ms, NULL))
		return false;
	loop_wait(loop, &greeting.finished, 0);
	conf->dst = greeting.resolve.addr;
	return !greeting.resolve.why.err;
}

static bool speaks(
	const struct nvme_carrier *carrier, struct loop *loop, struct nvme_conf *conf, uint32_t ms)
{
	static const struct nvme_queue_events events = { up, idle, down };
	uint64_t end = loop_clock() + ms * MSEC, now;
	struct greeting greeting = { 0 };
	struct nvme_queue *queue;

	if (!resolve_host(loop, conf, ms))
		return false;
	now = loop_clock();
	ms = end > now + MSEC ? (uint32_t)((end - now) / MSEC) : 1;
	if (carrier->open(&queue, loop, conf, 0, NVME_ADMIN_DEPTH, ms, &events, &greeting, NULL))
		return false;
	loop_wait(loop, &greeting.finished, 0); /* the queue has a timeout */
	carrier->free(queue);
	return greeting.answered;
}

static bool nobody_answered(const struct diag *why)
{
	switch ((enum diag_code)why->code) {
	case DIAG_NO_DEVICE:
	case DIAG_NO_MODULE:
	case DIAG_UNREACHABLE:
	case DIAG_TIMEOUT:
	case DIAG_REFUSED:
		return true;
	default:
		return false;
	}
}

/* Suggest the URI with the scheme `other`, which answered, as it can be typed. */
static void suggest(const struct uri *uri, const char *other, const char *scheme, const char *keys,
	struct diag *why)
{
	char text[sizeof(why->text)], suggestion[URI_MAX];

	snprintf(text, sizeof(text), "%.460s; %s answers there", why->text, other);
	memcpy(why->text, text, sizeof(text));
	uri_start(suggestion, scheme, uri->host, uri->port ? uri->port : NVMF_PORT);
	if (uri->path[0])
		uri_add_target(suggestion, uri);
	diag_hint(why, "%s%s", suggestion, keys);
}

void nvme_rdma_suggest(struct loop *loop, struct uri *uri, uint32_t ms, struct diag *why)
{
	/* any value: the greeting contains no host */
	const struct bdev_env env = { .hostnqn = "nqn.2014-08.org.nvmexpress:anonymous",
		.timeout_ms = ms };
	struct nvme_conf conf;

	if (!nobody_answered(why) || nvme_conf_init(&conf, uri, &env, NVMF_PORT, NULL) ||
		conf.dev[0])
		return;
	if (conf.backend == EP_VERBS &&
		(why->code == DIAG_NO_DEVICE || why->code == DIAG_NO_MODULE))
		diag_hint(why, "software RDMA needs no RDMA device: rdma=iwarp");
	else if (conf.backend == EP_AUTO && speaks(&nvme_tcp, loop, &conf, ms))
		suggest(uri, "NVMe/TCP", "nvme+tcp", "", why);
}

/* A listener for software iWARP is a TCP port, too, which closes a connection that begins
 * differently. */
void nvme_tcp_suggest(struct loop *loop, struct uri *uri, uint32_t ms, struct diag *why)
{
	const struct bdev_env env = { .hostnqn = "nqn.2014-08.org.nvmexpress:anonymous",
		.timeout_ms = ms };
	struct nvme_conf conf;

	if (why->code != DIAG_CLOSED || nvme_conf_init(&conf, uri, &env, NVMF_PORT, NULL) ||
		conf.iface[0])
		return;
	conf.backend = EP_IWARP;
	if (speaks(&nvme_rdma, loop, &conf, ms))
		suggest(uri, "software iWARP", "nvme+rdma", "?rdma=iwarp", why);
}
