/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests of the program: sent to the simulator, again after a timeout, and returned to the
 * program as failed without an answer. */
#include "box.h"
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>

/* segments; a receive queue of 512, as the kernel's by default, is good for eight senders */
#define WINDOW   64
#define TID_MASK 0xffffffffffffull /* ibsim keeps the number of the client in the upper 16 bits */

static void put(struct file *file, const struct agent *agent, const struct ib_user_mad_hdr *hdr,
	const uint8_t *mad, size_t len)
{
	struct sim *sim = &file->port->sim;
	uint32_t qpn = agent->qpn && !sim->issm ? sim->qpn : agent->qpn;
	struct sim_packet packet = {
		.dlid = hdr->lid,
		.slid = hdr->lid == 0xffff ? 0xffff : 0,
		.dqp = hdr->qpn,
		.sqp = htonl(qpn),
		.length = htobe64(MAD_LEN),
	};

	memcpy(packet.mad, mad, len < MAD_LEN ? len : MAD_LEN);
	sim_put(sim, &packet);
}

void sent_transmit(struct box *box, struct file *file, const struct agent *agent,
	const struct ib_user_mad_hdr *hdr, const uint8_t *mad, size_t len)
{
	uint8_t segment[MAD_LEN];
	unsigned count = 1;

	count_mad(box, "sent", mad);
	if (!agent->rmpp || !rmpp_class(((const struct mad_hdr *)mad)->mgmt_class) ||
		!rmpp_active(mad)) {
		put(file, agent, hdr, mad, len);
		return;
	}
	for (unsigned i = 1; i <= count; i++) {
		count = rmpp_cut(segment, mad, len, i);
		put(file, agent, hdr, segment, MAD_LEN);
	}
}

struct sent *sent_find(struct box *box, uint64_t tid, uint8_t mgmt_class)
{
	struct sent *sent;

	for (sent = box->sent; sent; sent = sent->next)
		if ((sent->tid & TID_MASK) == (tid & TID_MASK) &&
			((struct mad_hdr *)sent->mad)->mgmt_class == mgmt_class)
			break;
	return sent;
}

struct sent *sent_new(struct box *box, struct file *file, unsigned agent,
	const struct ib_user_mad_hdr *hdr, const uint8_t *mad, size_t len)
{
	struct sent *sent = calloc(1, sizeof(*sent) + len);

	if (!sent)
		box_die("out of memory");
	sent->file = file;
	sent->agent = agent;
	sent->tid = get_be64(((const struct mad_hdr *)mad)->tid);
	sent->timeout_ms = hdr->timeout_ms;
	sent->retries = hdr->retries;
	sent->due_ms = now_ms() + hdr->timeout_ms;
	sent->hdr = *hdr;
	sent->len = len;
	memcpy(sent->mad, mad, len);
	sent->next = box->sent;
	box->sent = sent;
	return sent;
}

void sent_free(struct box *box, struct sent *sent)
{
	struct sent **at = &box->sent;

	while (*at != sent)
		at = &(*at)->next;
	*at = sent->next;
	free(sent->rx.data);
	free(sent);
}

void sent_forget(struct box *box, const struct file *file, int agent)
{
	for (struct sent *sent = box->sent, *next; sent; sent = next) {
		next = sent->next;
		if (sent->file == file && (agent < 0 || sent->agent == (unsigned)agent))
			sent_free(box, sent);
	}
}

/* The kernel gives the common header back, and of its own all as it was given, with the status. */
void sent_expire(struct box *box, struct sent *sent)
{
	struct packet like = { .hdr = sent->hdr, .timed_out = true };

	like.hdr.status = ETIMEDOUT;
	count_mad(box, "timeout", sent->mad);
	umad_deliver(box, sent->file, sent->agent, &like, sent->mad, sizeof(struct mad_hdr));
	sent_free(box, sent);
}

uint64_t sent_timers(struct box *box)
{
	uint64_t now = now_ms(), soonest = UINT64_MAX;

	for (struct sent *sent = box->sent, *next; sent; sent = next) {
		next = sent->next;
		if (sent->due_ms <= now && !sent->retries) {
			sent_expire(box, sent);
			continue;
		}
		if (sent->due_ms <= now) {
			sent->retries--;
			sent->due_ms = now + sent->timeout_ms;
			sent_transmit(box, sent->file, &sent->file->agent[sent->agent], &sent->hdr,
				sent->mad, sent->len);
		}
		if (sent->due_ms < soonest)
			soonest = sent->due_ms;
	}
	return soonest;
}

static void grow(struct sent *sent, size_t len)
{
	size_t room = sent->rx.room ? sent->rx.room : 65536;

	while (room < len)
		room *= 2;
	if (room == sent->rx.room)
		return;
	sent->rx.data = realloc(sent->rx.data, room);
	sent->rx.room = room;
	if (!sent->rx.data)
		box_die("out of memory");
}

/* Acknowledge at the end of a window and of the message, which opens the next window. */
static void acknowledge(const struct sent *sent, const struct mad_hdr *mad)
{
	uint8_t ack[MAD_LEN];

	rmpp_ack(ack, mad, sent->rx.segment, sent->rx.window);
	put(sent->file, &sent->file->agent[sent->agent], &sent->hdr, ack, sizeof(ack));
}

bool sent_segment(struct sent *sent, const struct mad_hdr *mad)
{
	const struct mad_rmpp *rmpp = (const void *)(mad + 1);
	size_t header = rmpp_header(mad->mgmt_class), each = MAD_LEN - header, pad;
	bool last = rmpp->rtime_flags & 4;

	if (!rmpp_is_data(mad) || get_be32(rmpp->segment) != sent->rx.segment + 1)
		return false;
	sent->rx.segment++;
	sent->rx.window = sent->rx.window ? sent->rx.window : 1;
	sent->due_ms = now_ms() + sent->timeout_ms;
	grow(sent, sent->rx.len + MAD_LEN);
	if (!sent->rx.len) {
		memcpy(sent->rx.data, mad, MAD_LEN);
		sent->rx.len = MAD_LEN;
	} else {
		memcpy(sent->rx.data + sent->rx.len, (const uint8_t *)mad + header, each);
		sent->rx.len += each;
	}
	if (last || sent->rx.segment == sent->rx.window) {
		sent->rx.window = sent->rx.segment + WINDOW;
		acknowledge(sent, mad);
	}
	if (!last)
		return false;
	pad = 220 - get_be32(rmpp->length);
	sent->rx.len -= pad <= 220 ? pad : 0;
	return true;
}
