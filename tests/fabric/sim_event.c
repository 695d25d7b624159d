// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Who subscribed to which traps, and the reports to them, sent again until they are answered.
#include "sim.h"
#include <endian.h>
#include <stdlib.h>

#define AGAIN_MS 500
#define TIMES    60

struct subscription {
	struct subscription *next;
	struct client *client;
	struct sim_packet to; /* head of the request it came by */
	struct inform_info info;
};

struct report {
	struct report *next;
	struct client *client;
	struct sim_packet packet;
	uint64_t tid, due_ns;
	unsigned times;
};

static bool same(const struct subscription *sub, const struct client *client,
	const struct sim_packet *req, const struct inform_info *info)
{
	return sub->client == client && sub->to.sqp == req->sqp &&
	       get_be16(sub->info.trap) == get_be16(info->trap) &&
	       get_be16(sub->info.type) == get_be16(info->type) &&
	       get_be32(sub->info.producer) == get_be32(info->producer);
}

uint16_t event_subscribe(struct sim *sim, struct client *client, const struct sim_packet *req,
	const struct inform_info *info)
{
	struct subscription **at = &sim->subscription, *new;

	if (info->subscribe > 1)
		return MAD_STATUS_FIELD;
	while (*at && !same(*at, client, req, info))
		at = &(*at)->next;
	if (!info->subscribe) {
		struct subscription *gone = *at;

		if (!gone)
			return SA_STATUS_NO_RECORDS;
		*at = gone->next;
		free(gone);
		return 0;
	}
	if (*at)
		return 0;
	new = malloc(sizeof(*new));
	if (!new)
		return STATUS_NO_RESOURCE;
	*new = (struct subscription){ .client = client, .to = *req, .info = *info };
	*at = new;
	return 0;
}

static void send_report(struct sim *sim, struct report *report)
{
	report->due_ns = sim->now + TICK_MS(AGAIN_MS);
	report->times++;
	sim->count.reports++;
	net_send(sim, report->client, &report->packet, 0);
}

static void tell(struct sim *sim, const struct subscription *sub, const struct notice *notice)
{
	struct report *report = calloc(1, sizeof(*report));
	struct sa_hdr *hdr;

	if (!report)
		return;
	report->client = sub->client;
	report->tid = ++sim->next_tid;
	report->packet = (struct sim_packet){
		.slid = sub->to.dlid,
		.dlid = sub->to.slid,
		.sqp = sub->to.dqp,
		.dqp = sub->to.sqp,
		.length = htobe64(MAD_LEN),
	};
	hdr = (void *)report->packet.mad;
	hdr->mad = (struct mad_hdr){
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = SA_CLASS_VERSION,
		.method = MAD_REPORT,
		.tid = put_be64(report->tid),
		.attr = put_be16(MAD_NOTICE),
	};
	memcpy(report->packet.mad + sizeof(*hdr), notice, sizeof(*notice));
	report->next = sim->report;
	sim->report = report;
	send_report(sim, report);
}

static bool wants(const struct subscription *sub, const struct notice *notice, uint16_t lid)
{
	uint16_t trap = get_be16(sub->info.trap), type = get_be16(sub->info.type),
		 first = get_be16(sub->info.lid_begin);
	uint32_t producer = get_be32(sub->info.producer) & 0xffffff;

	return (trap == 0xffff || trap == get_be16(notice->trap)) &&
	       (type == 0xffff || type == (notice->generic_type & 0x7f)) &&
	       (producer == 0xffffff || producer == get_be24(notice->producer)) &&
	       (first == 0xffff || !first || (lid >= first && lid <= get_be16(sub->info.lid_end)));
}

static void tell_all(struct sim *sim, const struct notice *notice, uint16_t lid)
{
	if (sim->sa.mood == SA_SILENT)
		return;
	for (struct subscription *sub = sim->subscription; sub; sub = sub->next)
		if (wants(sub, notice, lid))
			tell(sim, sub, notice);
}

void event_gid(struct sim *sim, const struct port *port, uint16_t trap)
{
	const struct port *sm = sim->sm == NO_INDEX ? NULL : &sim->port[sim->sm];
	struct notice notice = {
		.generic_type = NOTICE_GENERIC | NOTICE_SUBNET_MANAGEMENT,
		.producer = put_be24(NOTICE_BY_MANAGER),
		.trap = put_be16(trap),
	};
	struct notice_gid *details = (void *)notice.details;

	if (!sm)
		return;
	notice.issuer_lid = put_be16(sm->lid);
	fabric_gid(sim, sm, notice.issuer_gid);
	fabric_gid(sim, port, details->gid);
	tell_all(sim, &notice, sm->lid);
}

void event_cap(struct sim *sim, const struct port *port)
{
	struct notice notice = {
		.generic_type = NOTICE_GENERIC | NOTICE_INFORMATIONAL,
		.producer = put_be24(MAD_NODE_CA),
		.trap = put_be16(144),
		.issuer_lid = put_be16(port->lid),
	};
	struct notice_caps *details = (void *)notice.details;

	fabric_gid(sim, port, notice.issuer_gid);
	details->lid = put_be16(port->lid);
	details->cap_mask = put_be32(port->cap);
	tell_all(sim, &notice, port->lid);
}

void event_answered(struct sim *sim, const struct client *client, uint64_t tid)
{
	for (struct report **at = &sim->report; *at; at = &(*at)->next) {
		struct report *report = *at;

		/* Kernels and ibsim use the upper half for themselves */
		if (report->client != client || (uint32_t)report->tid != (uint32_t)tid)
			continue;
		*at = report->next;
		free(report);
		return;
	}
}

void event_forget(struct sim *sim, const struct client *client)
{
	for (struct subscription **at = &sim->subscription; *at;) {
		struct subscription *sub = *at;

		if (client && sub->client != client) {
			at = &sub->next;
			continue;
		}
		*at = sub->next;
		free(sub);
	}
	for (struct report **at = &sim->report; *at;) {
		struct report *report = *at;

		if (client && report->client != client) {
			at = &report->next;
			continue;
		}
		*at = report->next;
		free(report);
	}
}

int64_t event_timers(struct sim *sim)
{
	int64_t next = -1;

	for (struct report **at = &sim->report; *at;) {
		struct report *report = *at;

		if (report->due_ns <= sim->now && report->times == TIMES) {
			*at = report->next;
			free(report);
			continue;
		}
		if (report->due_ns <= sim->now)
			send_report(sim, report);
		if (next < 0 || (int64_t)(report->due_ns - sim->now) < next)
			next = (int64_t)(report->due_ns - sim->now);
		at = &report->next;
	}
	return next;
}
