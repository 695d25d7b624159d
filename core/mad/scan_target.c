/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Query one port for its I/O unit, controllers and services, in each shared partition. One request
 * at a time, in parallel with other ports. A silent, slow or inconsistent peer costs bounded time
 * and memory. */
#include "scan.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define CHANGES   3          /* how often to read a unit that changes during the query */
#define SILENT    2          /* requests without an answer until the port counts as dead */
#define TARGET_MS 60000      /* limit for all its answers */
#define BYTES_MAX (8u << 20) /* memory for all targets */
/* these units need a trap destination before they answer, which ibsrpdm sets, too */
#define TOPSPIN  0x0005ad0000000000ull
#define OUI_MASK 0xffffff0000000000ull

static void send_query(struct mad_target_query *);

static void note_failure(struct mad_target_query *query, int err, uint16_t status)
{
	struct mad_target *target = query->target;

	if (target->err)
		return;
	target->err = err ? err : -EREMOTEIO;
	target->status = status;
	target->failed = query->step;
}

static void finished(struct mad_target_query *query)
{
	query->step = MAD_STEP_DONE;
	mad_scan_target_done(query->target);
}

static void fail(struct mad_target_query *query, int err)
{
	note_failure(query, err, 0);
	finished(query);
}

static void next_step(struct mad_target_query *query, enum mad_step step)
{
	query->step = step;
	send_query(query);
}

static void query_unit(struct mad_target_query *query)
{
	bool topspin = (query->target->guid & OUI_MASK) == TOPSPIN;

	next_step(query, topspin ? MAD_STEP_SET : MAD_STEP_UNIT);
}

/* NULL: the query has ended. */
static void *alloc_bounded(struct mad_target_query *query, size_t len)
{
	struct mad_scan_result *found = &query->scan->found;
	void *p = found->bytes + len <= BYTES_MAX ? calloc(1, len) : NULL;

	if (p)
		found->bytes += len;
	else
		fail(query, -ENOMEM);
	return p;
}

/* Prepare a request of device or subnet management to the port itself. */
static void to_port(struct mad_target_query *query, uint8_t mgmt_class, uint16_t attr, uint32_t mod)
{
	query->req = (struct mad_req){
		.to = query->addr,
		.mgmt_class = mgmt_class,
		.method = MAD_GET,
		.attr = attr,
		.mod = mod,
		.first_ms = query->first_ms,
	};
	query->req.to.lid = query->target->lid;
	query->req.to.qpn = mgmt_class == MAD_CLASS_DM;
}

/* Find the next slot with a controller, from `slot` on; 0 = none. */
static unsigned next_slot(const struct mad_unit *unit, unsigned slot)
{
	for (; slot <= unit->max_controllers; slot++)
		if (mad_dm_unit_slot(unit, slot) == DM_SLOT_PRESENT)
			return slot;
	return 0;
}

static void next_pkey(struct mad_target_query *query)
{
	struct mad_scan_job *scan = query->scan;
	const struct mad_port_info *port = mad_port(scan->mad);

	query->cur_unit = NULL;
	if (scan->direct || scan->one_pkey) {
		finished(query);
		return;
	}
	do
		query->pkey_at++;
	while (query->pkey_at < port->pkeys && !port->pkey[query->pkey_at]);
	if (query->pkey_at >= port->pkeys) {
		if (!query->target->unit && !query->target->err)
			note_failure(query, -EHOSTUNREACH, 0);
		finished(query);
		return;
	}
	next_step(query, MAD_STEP_PATH);
}

/* Called once GUID and prefix are known, and that the port has device management. */
static void begin_partitions(struct mad_target_query *query)
{
	struct mad_scan_job *scan = query->scan;
	const struct mad_port_info *port = mad_port(scan->mad);

	query->addr.pkey_index = scan->pkey_index;
	if (!scan->direct && !scan->one_pkey) {
		query->pkey_at = 0;
		while (query->pkey_at < port->pkeys && !port->pkey[query->pkey_at])
			query->pkey_at++;
		next_step(query, MAD_STEP_PATH);
	} else {
		query_unit(query);
	}
}

static void begin_slot(struct mad_target_query *query, unsigned from)
{
	unsigned slot = query->cur_unit ? next_slot(query->cur_unit, from) : 0;

	query->ioc = NULL;
	query->slot = (uint8_t)slot;
	next_step(query, slot ? MAD_STEP_IOC : MAD_STEP_AGAIN);
}

static void got_lid(struct mad_target_query *query, const struct sa_table *table)
{
	struct sa_path path;

	if (!table->count || !mad_sa_path_get(&path, (const void *)table->at)) {
		fail(query, -EPROTO);
		return;
	}
	query->target->lid = query->addr.lid = path.lid;
	query->addr.sl = path.sl;
	if (query->scan->direct) {
		begin_partitions(query);
		return;
	}
	next_step(query, MAD_STEP_PORT);
}

static void got_node(struct mad_target_query *query, uint64_t guid)
{
	query->target->guid = guid;
	if (!guid)
		fail(query, -EPROTO);
	else if (query->scan->options.only)
		next_step(query, MAD_STEP_PORT);
	else
		begin_partitions(query);
}

static void got_port(struct mad_target_query *query, const struct sa_port *port)
{
	struct mad_target *target = query->target;

	target->prefix = port->prefix;
	query->first_ms = port->first_ms;
	target->management = port->management;
	if (target->management || query->scan->direct || query->scan->options.trust_management)
		begin_partitions(query); /* a port that the user named is queried in any case */
	else
		finished(query);
}

static void got_path(struct mad_target_query *query, const struct sa_table *table)
{
	struct sa_path path;

	if (!table->count || !mad_sa_path_get(&path, (const void *)table->at)) {
		next_pkey(query);
		return;
	}
	query->addr.pkey_index = query->pkey_at;
	query->addr.sl = path.sl;
	query_unit(query);
}

static void got_unit(struct mad_target_query *query, const struct io_unit_info *info)
{
	const struct mad_port_info *port = mad_port(query->scan->mad);
	struct mad_unit *unit =
		query->cur_unit ? query->cur_unit : alloc_bounded(query, sizeof(*unit));

	if (!unit)
		return;
	if (!query->cur_unit) {
		*query->last = unit;
		query->last = &unit->next;
		query->cur_unit = unit;
	}
	mad_scan_unit_clear(unit);
	unit->pkey =
		query->addr.pkey_index < port->pkeys ? port->pkey[query->addr.pkey_index] : 0xffff;
	mad_dm_unit_get(unit, info);
	begin_slot(query, 1);
}

static struct mad_ioc *add_ioc(struct mad_target_query *query)
{
	struct mad_ioc *ioc = alloc_bounded(query, sizeof(*ioc));

	if (!ioc)
		return NULL;
	ioc->slot = query->slot;
	ioc->last = &ioc->service;
	*query->cur_unit->last = ioc;
	query->cur_unit->last = &ioc->next;
	return ioc;
}

static void got_ioc(struct mad_target_query *query, const struct ioc_profile *profile)
{
	struct mad_ioc *ioc = add_ioc(query);

	if (!ioc)
		return;
	mad_dm_ioc_get(ioc, profile);
	query->ioc = ioc;
	query->service = 0;
	query->step = MAD_STEP_SERVICE;
	if (ioc->services)
		send_query(query);
	else
		begin_slot(query, query->slot + 1u);
}

static unsigned last_service(const struct mad_target_query *query)
{
	unsigned last = query->service + DM_SERVICES_EACH - 1u;

	return last < query->ioc->services ? last : query->ioc->services - 1u;
}

static void next_services(struct mad_target_query *query)
{
	query->service += DM_SERVICES_EACH;
	if (query->service < query->ioc->services)
		send_query(query);
	else
		begin_slot(query, query->slot + 1u);
}

static void got_services(struct mad_target_query *query, const struct service_entry *entry)
{
	unsigned last = last_service(query);

	for (unsigned i = query->service; i <= last; i++, entry++) {
		struct mad_service read = { .index = (uint8_t)i }, *service;
		char id_ext[17];

		mad_dm_service_get(&read, entry);
		if (!mad_srp_id_ext(&read, id_ext))
			continue;
		service = alloc_bounded(query, sizeof(*service));
		if (!service)
			return;
		*service = read;
		*query->ioc->last = service;
		query->ioc->last = &service->next;
	}
	next_services(query);
}

/* The data read is consistent only if the change ID is still the same. */
static void got_again(struct mad_target_query *query, const struct io_unit_info *info)
{
	if (get_be16(info->change_id) == query->cur_unit->change_id) {
		next_pkey(query);
	} else if (++query->changes < CHANGES) {
		got_unit(query, info);
	} else {
		note_failure(query, -EAGAIN, 0);
		next_pkey(query);
	}
}

static void got(struct mad_target_query *query, const struct mad_answer *answer)
{
	const void *dm = answer->mad + sizeof(struct dm_hdr),
		   *sa = answer->mad + sizeof(struct sa_hdr);
	bool direct = query->scan->direct;
	struct sa_table table = { .at = sa, .count = 1 };
	struct sa_port port;
	struct sa_node node;

	switch ((enum mad_step)query->step) {
	case MAD_STEP_LID:
		got_lid(query, &table);
		return;
	case MAD_STEP_NODE:
		node.guid = 0;
		if (!direct)
			mad_sa_node_get(&node, sa);
		got_node(query,
			direct ? get_be64(((const struct node_info *)dm)->port_guid) : node.guid);
		return;
	case MAD_STEP_PORT:
		if (direct)
			mad_port_get(&port, dm);
		else
			mad_sa_port_get(&port, sa);
		got_port(query, &port);
		return;
	case MAD_STEP_PATH:
		got_path(query, &table);
		return;
	case MAD_STEP_SET:
		next_step(query, MAD_STEP_UNIT);
		return;
	case MAD_STEP_UNIT:
		got_unit(query, dm);
		return;
	case MAD_STEP_IOC:
		got_ioc(query, dm);
		return;
	case MAD_STEP_SERVICE:
		got_services(query, dm);
		return;
	case MAD_STEP_AGAIN:
		got_again(query, dm);
		return;
	case MAD_STEP_DONE:
		return;
	}
}

/* Continue after a failed request. */
static void continue_after_failure(struct mad_target_query *query)
{
	bool dead = query->silent >= SILENT;

	switch ((enum mad_step)query->step) {
	case MAD_STEP_SET:
		next_step(query, MAD_STEP_UNIT);
		return;
	case MAD_STEP_IOC:
		if (!add_ioc(query))
			return;
		if (dead)
			break;
		begin_slot(query, query->slot + 1u);
		return;
	case MAD_STEP_SERVICE:
		if (dead)
			break;
		next_services(query);
		return;
	case MAD_STEP_PATH:
	case MAD_STEP_UNIT:
	case MAD_STEP_AGAIN:
		if (dead)
			break;
		next_pkey(query);
		return;
	case MAD_STEP_LID:
	case MAD_STEP_NODE:
	case MAD_STEP_PORT:
	case MAD_STEP_DONE:
		break;
	}
	finished(query);
}

static void answered(struct mad_req *req, const struct mad_answer *answer)
{
	struct mad_target_query *query = container_of(req, struct mad_target_query, req);
	bool no_path = query->step == MAD_STEP_PATH && answer->status == SA_STATUS_NO_RECORDS;

	if (!answer->err && !answer->status) {
		got(query, answer);
		return;
	}
	if (query->step == MAD_STEP_PORT && answer->status == SA_STATUS_TOO_MANY &&
		!query->target->is_switch) {
		query->target->is_switch = true;
		send_query(query);
		return;
	}
	if (answer->err)
		query->silent++;
	if (query->step != MAD_STEP_SET && !no_path)
		note_failure(query, answer->err, answer->status);
	continue_after_failure(query);
}

static void init_sa_query(
	struct mad_target_query *query, uint16_t attr, uint64_t mask, const void *data, size_t len)
{
	mad_scan_init_sa_req(query->scan, &query->req, MAD_GET, attr, answered);
	query->req.mask = mask;
	query->req.data = data;
	query->req.len = (uint16_t)len;
}

static void query_path(struct mad_target_query *query)
{
	struct mad_target *target = query->target;
	const struct mad_port_info *port = mad_port(query->scan->mad);

	query->data.path = (struct path_record){
		.dlid = put_be16(target->lid), .slid = put_be16(port->lid), .numb_path = 1
	};
	if (query->step == MAD_STEP_PATH) {
		query->data.path.pkey = put_be16(port->pkey[query->pkey_at]);
		init_sa_query(query, SA_PATH_RECORD, SA_PATH_DLID | SA_PATH_SLID | SA_PATH_PKEY,
			&query->data.path, sizeof(query->data.path));
		return;
	}
	mad_gid_make(query->data.path.dgid, target->prefix, target->guid);
	mad_gid_make(query->data.path.sgid, port->prefix, port->guid);
	init_sa_query(query, SA_PATH_RECORD, SA_PATH_DGID | SA_PATH_SGID, &query->data.path,
		sizeof(query->data.path));
}

static void set_class_port_info(struct mad_target_query *query)
{
	const struct mad_port_info *port = mad_port(query->scan->mad);

	query->data.set = (struct class_port_info){ .trap_lid = put_be16(port->lid) };
	mad_gid_make(query->data.set.trap_gid, port->prefix, port->guid);
	to_port(query, MAD_CLASS_DM, MAD_CLASS_PORT_INFO, 0);
	query->req.method = MAD_SET;
	query->req.data = &query->data.set;
	query->req.len = sizeof(query->data.set);
}

static void query_node(struct mad_target_query *query)
{
	if (query->scan->direct) {
		to_port(query, MAD_CLASS_SMP, SMP_NODE_INFO, 0);
		return;
	}
	query->data.node = (struct node_record){ .lid = put_be16(query->target->lid) };
	init_sa_query(query, SA_NODE_RECORD, 1, &query->data.node, sizeof(query->data.node));
}

static void query_port(struct mad_target_query *query)
{
	if (query->scan->direct) {
		to_port(query, MAD_CLASS_SMP, SMP_PORT_INFO, 0);
		return;
	}
	/* port 0 of a switch */
	query->data.port = (struct port_info_record){ .lid = put_be16(query->target->lid) };
	init_sa_query(query, SA_PORT_INFO_RECORD,
		query->target->is_switch ? SA_PIR_LID | SA_PIR_PORT : SA_PIR_LID, &query->data.port,
		sizeof(query->data.port));
}

static void query_services(struct mad_target_query *query)
{
	to_port(query, MAD_CLASS_DM, DM_SERVICE_ENTRIES,
		(uint32_t)query->slot << 16 | last_service(query) << 8 | query->service);
}

static void send_query(struct mad_target_query *query)
{
	struct mad *mad = query->scan->mad;

	if (query->end_ns && loop_now(mad_loop(mad)) > query->end_ns) {
		fail(query, -ETIME);
		return;
	}
	switch ((enum mad_step)query->step) {
	case MAD_STEP_LID:
	case MAD_STEP_PATH:
		query_path(query);
		break;
	case MAD_STEP_NODE:
		query_node(query);
		break;
	case MAD_STEP_PORT:
		query_port(query);
		break;
	case MAD_STEP_SET:
		set_class_port_info(query);
		break;
	case MAD_STEP_UNIT:
	case MAD_STEP_AGAIN:
		to_port(query, MAD_CLASS_DM, DM_IO_UNIT_INFO, 0);
		break;
	case MAD_STEP_IOC:
		to_port(query, MAD_CLASS_DM, DM_IOC_PROFILE, query->slot);
		break;
	case MAD_STEP_SERVICE:
		query_services(query);
		break;
	case MAD_STEP_DONE:
		return;
	}
	query->req.done = answered;
	mad_send(mad, &query->req);
}

void mad_scan_target_start(struct mad_target *target)
{
	target->query->end_ns = loop_clock() + TARGET_MS * 1000000ull;
	if (target->query->step == MAD_STEP_NODE && target->guid)
		begin_partitions(target->query);
	else
		send_query(target->query);
}

const char *mad_target_error(const struct mad_target *target, char text[128])
{
	static const char *const attr_names[] = {
		[MAD_STEP_LID] = "PathRecord",
		[MAD_STEP_NODE] = "NodeInfo",
		[MAD_STEP_PORT] = "PortInfo",
		[MAD_STEP_PATH] = "PathRecord",
		[MAD_STEP_SET] = "ClassPortInfo",
		[MAD_STEP_UNIT] = "IOUnitInfo",
		[MAD_STEP_IOC] = "IOControllerProfile",
		[MAD_STEP_SERVICE] = "ServiceEntries",
		[MAD_STEP_AGAIN] = "IOUnitInfo",
		[MAD_STEP_DONE] = "",
	};
	const char *what = attr_names[target->failed];

	if (!target->management && target->failed == MAD_STEP_UNIT)
		what = "IOUnitInfo; the port reports no device management";
	if (target->failed == MAD_STEP_LID && target->status == SA_STATUS_NO_RECORDS) {
		snprintf(text, 128, "the subnet administrator has no path to it");
		return text;
	}
	switch (-target->err) {
	case ETIMEDOUT:
		snprintf(text, 128, "no answer to the request for %s", what);
		break;
	case EBUSY:
		snprintf(text, 128, "busy at the request for %s", what);
		break;
	case EREMOTEIO:
		snprintf(text, 128, "status 0x%04x to the request for %s", target->status, what);
		break;
	case EHOSTUNREACH:
		snprintf(text, 128, "no partition in common with this port");
		break;
	case EAGAIN:
		snprintf(text, 128, "its controllers changed during the query");
		break;
	case ETIME:
		snprintf(text, 128, "its list takes more than %d s", TARGET_MS / 1000);
		break;
	case ENOMEM:
		snprintf(text, 128, "its list exceeds the memory limit");
		break;
	case EPROTO:
		snprintf(text, 128, "invalid answer to the request for %s", what);
		break;
	default:
		snprintf(text, 128, "%s: %s", what, diag_errno_text(-target->err));
	}
	return text;
}
