// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Sending tables in segments (13.6), as far as the receiver allows. The description can
// have some lost; sending then resumes with the first lost one, as receivers drop segments that are
// out of order.
#include "sim.h"
#include <stdlib.h>

#define EACH    SA_DATA_LEN
#define PAYLOAD (MAD_LEN - 36) /* what a segment counts: the administrator's header and data */
#define WAIT_MS 50
#define ROUNDS  40 /* without any progress */
enum { RMPP_DATA = 1, RMPP_ACK = 2 };
enum { RMPP_FIRST = 2, RMPP_LAST = 4 };

struct transfer {
	struct transfer *next;
	struct client *client;
	struct sim_packet req; /* the request */
	struct sa_hdr hdr;
	uint8_t *data;
	size_t len;
	uint32_t segments, at, acked, window; /* last ones: sent, acknowledged, allowed */
	uint32_t hole;                        /* the first one lost since; 0 = none */
	uint64_t due_ns;
	unsigned rounds;
};

static void drop(struct transfer **at)
{
	struct transfer *transfer = *at;

	*at = transfer->next;
	free(transfer->data);
	free(transfer);
}

static void send_segment(struct sim *sim, struct transfer *transfer, uint32_t segment)
{
	uint8_t mad[MAD_LEN] = { 0 };
	struct sa_hdr *hdr = (void *)mad;
	size_t from = (size_t)(segment - 1) * EACH, left = transfer->len - from,
	       len = left < EACH ? left : EACH;
	size_t all = transfer->len + (size_t)transfer->segments * (PAYLOAD - EACH);
	bool last = segment == transfer->segments;

	*hdr = transfer->hdr;
	hdr->rmpp = (struct mad_rmpp){
		.version = 1,
		.type = RMPP_DATA,
		.rtime_flags = (uint8_t)(0xf8 | MAD_RMPP_ACTIVE | (segment == 1 ? RMPP_FIRST : 0) |
					 (last ? RMPP_LAST : 0)),
		.segment = put_be32(segment),
		.length = put_be32((uint32_t)(last           ? len + PAYLOAD - EACH
					      : segment == 1 ? all
							     : 0)),
	};
	if (sim->sa.lie == LIE_LENGTH)
		hdr->rmpp.length = put_be32(last ? 7 : 0xfffffff0);
	if (len)
		memcpy(mad + sizeof(*hdr), transfer->data + from, len);
	if (!fabric_chance(sim, sim->sa.loss)) {
		net_answer(sim, transfer->client, &transfer->req, mad, 0);
		return;
	}
	sim->count.lost++;
	if (!transfer->hole)
		transfer->hole = segment;
}

/* Send what the window allows. True: the transfer is complete. */
static bool push(struct sim *sim, struct transfer *transfer)
{
	while (transfer->at < transfer->segments && transfer->at < transfer->window &&
		!net_full(transfer->client))
		send_segment(sim, transfer, ++transfer->at);
	transfer->due_ns = sim->now + TICK_MS(WAIT_MS);
	return transfer->at == transfer->segments && !transfer->hole && sim->sa.flood;
}

void rmpp_more(struct sim *sim, struct client *client)
{
	for (struct transfer **at = &sim->transfer; *at;)
		if ((*at)->client == client && push(sim, *at))
			drop(at);
		else
			at = &(*at)->next;
}

static struct transfer **find(struct sim *sim, const struct client *client, uint64_t tid)
{
	struct transfer **at = &sim->transfer;

	while (*at && ((*at)->client != client || get_be64((*at)->hdr.mad.tid) != tid))
		at = &(*at)->next;
	return at;
}

void rmpp_send(struct sim *sim, struct client *client, const struct sim_packet *req,
	const struct sa_hdr *hdr, struct sa_records *records)
{
	struct transfer *transfer =
		*find(sim, client, get_be64(hdr->mad.tid)) ? NULL : calloc(1, sizeof(*transfer));

	if (!transfer) { /* it is on its way */
		free(records->data);
		return;
	}
	*transfer = (struct transfer){
		.next = sim->transfer,
		.client = client,
		.req = *req,
		.hdr = *hdr,
		.data = records->data,
		.len = records->len,
		.segments = records->len ? (uint32_t)((records->len + EACH - 1) / EACH) : 1,
		.window = sim->sa.flood ? UINT32_MAX : 1,
	};
	transfer->hdr.mad.method |= MAD_RESPONSE;
	transfer->hdr.mad.status = put_be16(0);
	sim->transfer = transfer;
	if (push(sim, transfer))
		drop(&sim->transfer);
}

void rmpp_received(struct sim *sim, struct client *client, const struct sa_hdr *hdr)
{
	struct transfer **at = find(sim, client, get_be64(hdr->mad.tid));
	uint32_t segment = get_be32(hdr->rmpp.segment), window = get_be32(hdr->rmpp.length);

	if (!*at)
		return;
	if (hdr->rmpp.type != RMPP_ACK || segment == (*at)->segments) {
		drop(at);
		return;
	}
	if (segment > (*at)->segments || segment < (*at)->acked)
		return;
	(*at)->acked = segment;
	(*at)->rounds = 0;
	(*at)->hole = 0;
	if (!sim->sa.flood)
		(*at)->window = window;
	if ((*at)->at < segment)
		(*at)->at = segment;
	if (push(sim, *at))
		drop(at);
}

void rmpp_forget(struct sim *sim, const struct client *client)
{
	for (struct transfer **at = &sim->transfer; *at;)
		if ((*at)->client == client)
			drop(at);
		else
			at = &(*at)->next;
}

/* Send lost segments again. True: the transfer is complete, or has failed after all retries. */
static bool again(struct sim *sim, struct transfer *transfer)
{
	if (transfer->at < transfer->segments && transfer->at < transfer->window)
		return push(sim, transfer); /* it waited for room */
	if (transfer->hole) {
		transfer->rounds = transfer->hole - 1 > transfer->acked ? 0 : transfer->rounds;
		transfer->acked = transfer->hole - 1;
	}
	if (++transfer->rounds > ROUNDS)
		return true;
	transfer->at = transfer->acked;
	transfer->hole = 0;
	return push(sim, transfer);
}

int64_t rmpp_timers(struct sim *sim)
{
	int64_t next = -1, left;

	for (struct transfer **at = &sim->transfer; *at;) {
		if ((*at)->due_ns <= sim->now && again(sim, *at)) {
			drop(at);
			continue;
		}
		left = (int64_t)((*at)->due_ns - sim->now);
		if (next < 0 || left < next)
			next = left;
		at = &(*at)->next;
	}
	return next;
}
