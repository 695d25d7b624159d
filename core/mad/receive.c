/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Receive datagrams: match answers with requests in flight, pass on requests of others, count and
 * drop the rest. */
#include "xact.h"
#include <errno.h>

#define ROOM_MAX (64u << 20)
#define TURN     256 /* cost of datagrams per turn */
#define REQUEST  8   /* cost of a request of another node, which is answered */

/* Set is answered with GetResp; 13.4.5. */
static uint8_t response(uint8_t method)
{
	return (method == MAD_SET ? MAD_GET : method) | MAD_RESPONSE;
}

static bool redirects(const struct mad_hdr *hdr)
{
	return get_be16(hdr->status) & MAD_STATUS_REDIRECT;
}

/* A redirection is GetResp(ClassPortInfo) for any request; 13.5.2. Some nodes use the method of the
 * request instead. */
static bool answers(const struct mad_req *req, const struct mad_hdr *hdr)
{
	bool elsewhere = redirects(hdr) && get_be16(hdr->attr) == MAD_CLASS_PORT_INFO;

	if (hdr->method == response(req->method))
		return elsewhere || get_be16(hdr->attr) == req->attr;
	return elsewhere && hdr->method == response(MAD_GET);
}

/* Find the request that a datagram answers. */
static struct mad_req *match(struct mad *mad, const struct mad_hdr *hdr)
{
	uint32_t tid = (uint32_t)get_be64(hdr->tid);
	struct xact_slot *slot = &mad->slot[tid % XACT_SLOTS];
	struct mad_req *req = slot->req;

	if (!req || slot->round != tid >> 16 || hdr->mgmt_class != req->mgmt_class ||
		!answers(req, hdr))
		return NULL;
	return req;
}

static int pkey_index(const struct mad_port_info *port, uint16_t pkey)
{
	for (int i = 0; i < port->pkeys; i++)
		if (port->pkey[i] && (port->pkey[i] & 0x7fff) == (pkey & 0x7fff))
			return i;
	return -ENOENT;
}

/* Follow ClassPortInfo to where the class is served instead; 13.5.2. Only once, as two nodes could
 * redirect to each other. */
static bool redirect(struct mad *mad, struct mad_req *req, const uint8_t *datagram, size_t len)
{
	const struct class_port_info *info =
		(const void *)(datagram + mad_xact_data_at(req->mgmt_class));
	struct mad_addr to = { 0 };
	uint16_t pkey;
	int index;

	if (req->redirected ||
		(req->mgmt_class != MAD_CLASS_SA && req->mgmt_class != MAD_CLASS_DM) ||
		len < mad_xact_data_at(req->mgmt_class) + sizeof(*info))
		return false;
	pkey = get_be16(info->redirect_pkey);
	index = pkey ? pkey_index(&mad->port, pkey) : req->to.pkey_index;
	to.lid = get_be16(info->redirect_lid);
	to.sl = get_be32(info->redirect_tc_sl_fl) >> 20 & 0xf;
	to.qpn = get_be32(info->redirect_qp) & 0xffffff;
	to.qkey = get_be32(info->redirect_qkey);
	if (index < 0 || !mad_lid_valid(to.lid) || !to.qpn)
		return false;
	to.pkey_index = (uint16_t)index;
	loop_trace(mad->loop, "LID %u redirects to LID %u, queue pair %u", req->to.lid, to.lid,
		to.qpn);
	mad_xact_release(mad, req);
	req->to = to;
	req->redirected = true;
	mad_xact_enqueue(mad, req);
	return true;
}

static size_t least(const struct mad_req *req)
{
	return req->method == MAD_GET_TABLE ? sizeof(struct sa_hdr) : MAD_LEN;
}

static void handle_response(struct mad *mad, const uint8_t *datagram, size_t len)
{
	const struct mad_hdr *hdr = (const void *)datagram;
	struct mad_req *req = match(mad, hdr);
	struct mad_answer answer = { .mad = datagram, .len = len };

	if (!req || len < least(req)) {
		mad->counters.unmatched++;
		return;
	}
	answer.status = get_be16(hdr->status);
	if (req->mgmt_class == MAD_CLASS_SMP_DR)
		answer.status &= (uint16_t)~MAD_STATUS_DR_D;
	if (answer.status == MAD_STATUS_BUSY) {
		req->last_status = answer.status; /* resent with its next try */
		return;
	}
	mad->counters.answers++;
	if (!redirects(hdr) || !redirect(mad, req, datagram, len))
		mad_xact_finish(mad, req, &answer);
}

/* Handle a datagram; returns its cost. */
static unsigned handle_datagram(
	struct mad *mad, const struct mad_addr *from, const uint8_t *datagram, size_t len)
{
	const struct mad_hdr *hdr = (const void *)datagram;

	if (len >= sizeof(*hdr) && hdr->method & MAD_RESPONSE) {
		handle_response(mad, datagram, len);
		return 1;
	}
	if (mad->watch.owner && mad_watch_request(&mad->watch, from, datagram, len))
		mad->counters.reports++;
	else
		mad->counters.unmatched++;
	return REQUEST;
}

void mad_xact_readable(struct loop_fd *fd, uint32_t events)
{
	struct mad *mad = container_of(fd, struct mad, fd);

	(void)events;
	for (unsigned spent = 0; spent < TURN && !mad->removed_err; spent++) {
		const uint8_t *datagram;
		struct mad_addr from;
		ssize_t len = mad_dev_recv(mad->dev, &mad->room, &datagram, &from);

		if (len == -EAGAIN)
			return;
		if (len == -ENOSPC && mad->room <= ROOM_MAX)
			continue;
		if (len < 0) {
			mad_xact_gone(mad, len == -ENOSPC ? -EMSGSIZE : -ENETDOWN);
			return;
		}
		if (len)
			spent += handle_datagram(mad, &from, datagram, (size_t)len);
		mad->room = XACT_ROOM; /* tables are rare, so free their memory */
	}
}
