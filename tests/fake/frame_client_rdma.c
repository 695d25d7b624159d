/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See frame_client_rdma.h. */
#include "frame_client_rdma.h"
#include "../../core/net/iwarp.h"
#include <stdlib.h>
#include <string.h>

#define RECEIVES (RDMA_DEPTH + 2)
#define GRAIN    65536 /* bytes that a turn may give: a READ is answered as a whole */

static const struct rdma_proto *proto(void)
{
	return frame_kind->own;
}

/* Without CRCs, which ThreadSanitizer makes slow. */
int rdma_start(const struct frame_server *with, struct diag *diag)
{
	const struct target_options own = { .disk[0] = proto()->disk,
		.listen[0] = { .transports = TRANSPORT_IWARP, .no_crc = true },
		.buffer = 131072 }; /* scsi.h */

	return frame_target_start(proto()->serve, &own, with, diag);
}

/* --- the endpoint */

/* Buffers of the pool. */
enum { WRITTEN, READ, MESSAGES, POOL };

static struct rdma_frame_client *rdma_of(struct frame_client *client)
{
	return (struct rdma_frame_client *)client;
}

static uint8_t *room(const struct rdma_frame_client *rdma, unsigned i)
{
	return pool_buf(rdma->pool, MESSAGES).p + i * RDMA_MESSAGE;
}

static void turned(struct loop_work *work)
{
	container_of(work, struct rdma_frame_client, turned)->over_turn = 1;
}

static void turn(struct rdma_frame_client *rdma)
{
	rdma->over_turn = 0;
	loop_work_add(rdma->loop, &rdma->turned);
	loop_wait(rdma->loop, &rdma->over_turn, 0);
}

static int request(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	struct rdma_frame_client *rdma = ep->user;
	unsigned access = EP_REMOTE_READ | EP_REMOTE_WRITE;

	if (ep->ops->reg(ep, rdma->pool, access, &ep->why))
		abort();
	rdma->known = true;
	for (unsigned i = 0; i < RECEIVES; i++)
		rdma->rx[i] = (struct ep_rx){ .next = i + 1 < RECEIVES ? &rdma->rx[i + 1] : NULL,
			.p = room(rdma, i),
			.cap = RDMA_MESSAGE,
			.lkey = rdma->pool->key[ep->dom].lkey };
	ep->ops->repost(ep, rdma->rx);
	return proto()->request(rdma, priv);
}

static void up(struct ep *ep)
{
	proto()->up(ep->user);
}

static void read_data(struct ep *ep, struct ep_rx *rx)
{
	proto()->read_data(ep->user, rx->p, rx->len);
	rx->next = NULL;
	ep->ops->repost(ep, rx);
}

static void sent(struct ep *ep, struct ep_op *op)
{
	(void)ep;
	(void)op;
}

static void idle(struct ep *ep)
{
	(void)ep;
}

static void down(struct ep *ep)
{
	struct rdma_frame_client *rdma = ep->user;

	rdma->client.over = true;
}

/* Not by ep_dial(), which tries again. */
struct frame_client *rdma_dial(unsigned host)
{
	static const struct loop_options options = { .name = "client" };
	static const struct ep_events events = { request, up, read_data, sent, idle, down };
	const struct ep_dial how = { .dst = *frame_target_addr(),
		.no_crc = true,
		.caps = { .send = RDMA_DEPTH + 1,
			.recv = RECEIVES,
			.sge = 1,
			.ird = 1,
			.max_msg = RDMA_MESSAGE } };
	struct rdma_frame_client *rdma = calloc(1, sizeof(*rdma));

	if (!rdma || loop_new(&rdma->loop, &options, NULL) ||
		pool_new(&rdma->pool, RDMA_MOST, POOL, NULL))
		abort();
	rdma->client.host = host; /* for request() */
	rdma->turned.run = turned;
	if (iwarp_dial(&rdma->ep, rdma->loop, &how, &events, rdma, NULL))
		abort();
	return &rdma->client;
}

void rdma_leave(struct frame_client *client)
{
	struct rdma_frame_client *rdma = rdma_of(client);

	if (rdma->known)
		rdma->ep->ops->unreg(rdma->ep, rdma->pool);
	rdma->ep->ops->free(rdma->ep);
	pool_free(rdma->pool);
	loop_free(rdma->loop);
	free(rdma);
}

void rdma_poll(struct frame_client *client, bool join)
{
	struct rdma_frame_client *rdma = rdma_of(client);
	bool idles = !join || (client->joined && (client->deaf || client->give < GRAIN / 2));

	if (idles && !rdma->unsent) {
		client->over |= rdma->ep->ops->peer_closed(rdma->ep);
		return;
	}
	if (client->joined && client->give != FRAME_ALL)
		client->give -= client->give < GRAIN ? client->give : GRAIN;
	rdma->unsent = false;
	turn(rdma);
}

/* --- commands */

uint32_t rdma_key(const struct rdma_frame_client *rdma)
{
	return rdma->pool->key[rdma->ep->dom].rkey;
}

uint64_t rdma_address(const struct rdma_frame_client *rdma, const uint8_t *data)
{
	return pool_raddr(rdma->pool, rdma->ep->dom, data);
}

uint8_t *rdma_message(struct rdma_frame_client *rdma, unsigned slot)
{
	return memset(room(rdma, RECEIVES + slot), 0, RDMA_MESSAGE);
}

void rdma_send(struct rdma_frame_client *rdma, unsigned slot, uint32_t len)
{
	rdma->op[slot] = (struct ep_op){ .kind = EP_SEND,
		.nsge = 1,
		.sge[0] = {
			room(rdma, RECEIVES + slot), len, rdma->pool->key[rdma->ep->dom].lkey } };
	rdma->ep->ops->post(rdma->ep, &rdma->op[slot]);
}

static void put(struct rdma_frame_client *rdma, unsigned slot, const uint8_t cdb[16],
	const uint8_t *data, uint32_t len)
{
	rdma->busy[slot] = true;
	rdma_send(rdma, slot, proto()->command(rdma, slot, cdb, data, len));
}

/* TEST UNIT READY takes the unit attention of a new session. */
void rdma_test(struct rdma_frame_client *rdma)
{
	static const uint8_t cdb[16];

	rdma->testing = true;
	put(rdma, 0, cdb, NULL, 0);
}

void rdma_answered(struct rdma_frame_client *rdma, uint64_t slot, uint8_t status)
{
	struct frame_client *client = &rdma->client;

	if (slot >= RDMA_DEPTH || !rdma->busy[slot])
		abort();
	rdma->busy[slot] = false;
	if (rdma->testing) {
		rdma->testing = false;
		client->joined = !status;
		if (status)
			rdma_test(rdma);
		return;
	}
	client->answered++;
	client->failed += status != 0;
	if (rdma->reads[slot])
		memcpy(client->read_data, pool_buf(rdma->pool, READ).p, FRAME_READ_MAX);
}

static void ask(struct rdma_frame_client *rdma, bool reads, uint64_t off, uint32_t len)
{
	uint8_t cdb[16] = { reads ? 0x28 : 0x2a };
	unsigned slot = 0;

	while (rdma->busy[slot])
		slot++;
	rdma->reads[slot] = reads;
	wire_put_be(cdb + 2, 4, off / 512);
	wire_put_be(cdb + 7, 2, len / 512);
	put(rdma, slot, cdb, pool_buf(rdma->pool, reads ? READ : WRITTEN).p, len);
	rdma->client.asked++;
	rdma->unsent = true;
}

void rdma_read(struct frame_client *client, uint64_t off, uint32_t len)
{
	ask(rdma_of(client), true, off, len);
}

void rdma_write(struct frame_client *client, uint64_t off, uint32_t len, const void *data)
{
	struct rdma_frame_client *rdma = rdma_of(client);

	memcpy(pool_buf(rdma->pool, WRITTEN).p, data, len);
	ask(rdma, false, off, len);
}
