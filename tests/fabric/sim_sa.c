// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The subnet administrator: what it answers, and in which mood. Which records match is left to
// sim_sa_table.c.
#include "sim.h"
#include <stdlib.h>

#define SA_CAPS 0x0602 /* without the match of capability masks */

static bool is_here(const struct sim *sim, const struct port *port)
{
	return fabric_is_sm(sim, port) ||
	       (sim->sa.mood == SA_REDIRECT && port == &sim->port[sim->sa.redirect]);
}

static void send_one(struct sim *sim, struct client *client, const struct sim_packet *req,
	const struct sa_hdr *hdr, uint16_t status, const void *data, size_t len)
{
	uint8_t mad[MAD_LEN] = { 0 };
	struct sa_hdr *out = (void *)mad;

	*out = *hdr;
	out->mad.status = put_be16(status);
	out->mad.method = hdr->mad.method == MAD_SET ? MAD_GET | MAD_RESPONSE
						     : hdr->mad.method | MAD_RESPONSE;
	memset(&out->rmpp, 0, sizeof(out->rmpp));
	if (len)
		memcpy(mad + sizeof(*out), data, len);
	net_answer(sim, client, req, mad, sim->sa.slow_ms);
}

static void put_class(const struct sim *sim, struct class_port_info *info)
{
	*info = (struct class_port_info){
		.base_version = 1,
		.class_version = SA_CLASS_VERSION,
		.cap_mask = put_be16(SA_CAPS | (sim->sa.match ? SA_CAP_PORT_INFO_MASK_MATCH : 0)),
		.cap_mask2_resp_time = put_be32(18),
	};
	if (sim->sa.mood != SA_REDIRECT)
		return;
	info->redirect_lid = put_be16(sim->port[sim->sa.redirect].lid);
	info->redirect_pkey = put_be16(0xffff);
	info->redirect_qp = put_be32(1);
	info->redirect_qkey = put_be32(0x80010000);
	fabric_gid(sim, &sim->port[sim->sa.redirect], info->redirect_gid);
}

/* 13.5.2: whatever was asked, the answer is ClassPortInfo and says where to ask again. */
static void send_class(struct sim *sim, struct client *client, const struct sim_packet *req,
	const struct sa_hdr *hdr, uint16_t status)
{
	struct class_port_info info;
	struct sa_hdr out = *hdr;

	out.mad.attr = put_be16(MAD_CLASS_PORT_INFO);
	out.mad.method = MAD_GET;
	out.attr_offset = put_be16(sizeof(info) / 8);
	put_class(sim, &info);
	send_one(sim, client, req, &out, status, &info, sizeof(info));
}

static void send_records(struct sim *sim, struct client *client, const struct sim_packet *req,
	const struct sa_hdr *hdr)
{
	struct sa_records found = { 0 };
	struct sa_hdr out = *hdr;
	uint16_t status = 0;
	bool table = hdr->mad.method == MAD_GET_TABLE;

	if (!sa_select(sim, client, hdr, req->mad + sizeof(*hdr), &found)) {
		send_one(sim, client, req, hdr, STATUS_UNSUPPORTED, NULL, 0);
		return;
	}
	if (!table && found.count != 1)
		status = found.count ? SA_STATUS_TOO_MANY : SA_STATUS_NO_RECORDS;
	out.attr_offset =
		put_be16((uint16_t)(found.each / 8 + (sim->sa.lie == LIE_OFFSET ? 1000 : 0)));
	if (table) {
		rmpp_send(sim, client, req, &out, &found);
		return;
	}
	send_one(sim, client, req, &out, status, found.data, status ? 0 : found.each);
	free(found.data);
}

static bool same_service(const struct sim_service *a, const struct sim_service *b)
{
	return get_be64(a->id) == get_be64(b->id) && !memcmp(a->gid, b->gid, sizeof(a->gid)) &&
	       get_be16(a->pkey) == get_be16(b->pkey);
}

/* Leases do not end. */
static uint16_t set_service(struct sim *sim, const struct sim_service *record, bool set)
{
	struct sim_service *more;

	for (unsigned i = 0; i < sim->services; i++)
		if (same_service(&sim->service[i], record)) {
			sim->service[i] = set ? *record : sim->service[--sim->services];
			return 0;
		}
	if (!set)
		return SA_STATUS_NO_RECORDS;
	more = realloc(sim->service, (sim->services + 1) * sizeof(*more));
	if (!more)
		return STATUS_NO_RESOURCE;
	more[sim->services++] = *record;
	sim->service = more;
	return 0;
}

static void change(struct sim *sim, struct client *client, const struct sim_packet *req,
	const struct sa_hdr *hdr)
{
	const void *data = req->mad + sizeof(*hdr);
	struct sa_hdr out = *hdr;
	uint16_t status = STATUS_UNSUPPORTED;
	size_t len = SA_DATA_LEN;

	if (get_be16(hdr->mad.attr) == MAD_INFORM_INFO && hdr->mad.method == MAD_SET)
		status = event_subscribe(sim, client, req, data);
	else if (get_be16(hdr->mad.attr) == ATTR_SERVICE_RECORD)
		status = set_service(sim, data, hdr->mad.method == MAD_SET);
	out.attr_offset = put_be16(sizeof(struct inform_info) / 8 + 1);
	send_one(sim, client, req, &out, status, data, len);
}

/* True: the mood has answered. */
static bool moody(struct sim *sim, struct client *client, const struct sim_packet *req,
	const struct sa_hdr *hdr, const struct port *port)
{
	uint8_t mood = sim->sa.mood;

	if (mood == SA_FINE || (mood == SA_REDIRECT && !fabric_is_sm(sim, port)))
		return false;
	if (sim->sa.left && !--sim->sa.left)
		sim->sa.mood = SA_FINE;
	if (mood == SA_SILENT)
		sim->count.unheard++;
	else if (mood == SA_BUSY)
		send_one(sim, client, req, hdr, MAD_STATUS_BUSY, NULL, 0);
	else
		send_class(sim, client, req, hdr, MAD_STATUS_REDIRECT);
	return true;
}

static void serve(struct sim *sim, struct client *client, const struct sim_packet *req,
	const struct sa_hdr *hdr)
{
	switch (hdr->mad.method) {
	case MAD_GET:
		if (get_be16(hdr->mad.attr) == MAD_CLASS_PORT_INFO) {
			send_class(sim, client, req, hdr, 0);
			return;
		}
		send_records(sim, client, req, hdr);
		return;
	case MAD_GET_TABLE:
		send_records(sim, client, req, hdr);
		return;
	case MAD_SET:
	case METHOD_DELETE:
		change(sim, client, req, hdr);
		return;
	default:
		send_one(sim, client, req, hdr, STATUS_UNSUPPORTED, NULL, 0);
	}
}

void sa_ask(struct sim *sim, struct client *client, const struct sim_packet *req)
{
	const struct port *port = fabric_port(sim, net_lid(req));
	const struct sa_hdr *hdr = (const void *)req->mad;

	if (!port || !is_here(sim, port)) {
		sim->count.unheard++;
		return;
	}
	if (hdr->mad.method == (MAD_REPORT | MAD_RESPONSE)) {
		event_answered(sim, client, get_be64(hdr->mad.tid));
		return;
	}
	if (hdr->mad.method & MAD_RESPONSE)
		return;
	if (hdr->mad.method == MAD_GET_TABLE && hdr->rmpp.type > 1) {
		rmpp_received(sim, client, hdr);
		return;
	}
	sim->count.sa++;
	if (!moody(sim, client, req, hdr, port))
		serve(sim, client, req, hdr);
}
