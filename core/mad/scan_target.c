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

static void send_query(struct mad_target *);

static void *alloc_bounded(struct mad_target *target, size_t len)
{
	struct mad_scan_result *found = &target->query->scan->found;
	void *p = found->bytes + len <= BYTES_MAX ? calloc(1, len) : NULL;

	if (p)
		found->bytes += len;
	return p;
}

static void note_failure(struct mad_target *target, int err, uint16_t status)
{
	if (target->err)
		return;
	target->err = err ? err : -EREMOTEIO;
	target->status = status;
	target->failed = target->query->step;
}

static void finished(struct mad_target *target)
{
	target->query->step = MAD_STEP_DONE;
	mad_scan_target_done(target);
}

/* Prepare a request of device or subnet management to the port itself. */
static void to_port(struct mad_target *target, uint8_t mgmt_class, uint16_t attr, uint32_t mod)
{
	target->query->req = (struct mad_req){
		.to = target->query->addr,
		.mgmt_class = mgmt_class,
		.method = MAD_GET,
		.attr = attr,
		.mod = mod,
		.first_ms = target->query->first_ms,
	};
	target->query->req.to.lid = target->lid;
	target->query->req.to.qpn = mgmt_class == MAD_CLASS_DM;
}

/* Find the next slot with a controller, from `slot` on; 0 = none. */
static unsigned next_slot(const struct mad_unit *unit, unsigned slot)
{
	for (; slot <= unit->max_controllers; slot++)
		if (mad_dm_unit_slot(unit, slot) == DM_SLOT_PRESENT)
			return slot;
	return 0;
}

static void next_pkey(struct mad_target *target)
{
	struct mad_scan_job *scan = target->query->scan;
	const struct mad_port_info *port = mad_port(scan->mad);

	target->query->cur_unit = NULL;
	if (scan->direct || scan->one_pkey) {
		finished(target);
		return;
	}
	do
		target->query->pkey_at++;
	while (target->query->pkey_at < port->pkeys && !port->pkey[target->query->pkey_at]);
	if (target->query->pkey_at >= port->pkeys) {
		if (!target->unit && !target->err)
			note_failure(target, -EHOSTUNREACH, 0);
		finished(target);
		return;
	}
	target->query->step = MAD_STEP_PATH;
	send_query(target);
}

/* Called once GUID and prefix are known, and that the port has device management. */
static void begin_partitions(struct mad_target *target)
{
	struct mad_scan_job *scan = target->query->scan;
	const struct mad_port_info *port = mad_port(scan->mad);

	target->query->addr.pkey_index = scan->pkey_index;
	if (!scan->direct && !scan->one_pkey) {
		target->query->pkey_at = 0;
		while (target->query->pkey_at < port->pkeys && !port->pkey[target->query->pkey_at])
			target->query->pkey_at++;
		target->query->step = MAD_STEP_PATH;
	} else {
		target->query->step =
			(target->guid & OUI_MASK) == TOPSPIN ? MAD_STEP_SET : MAD_STEP_UNIT;
	}
	send_query(target);
}

static void begin_slot(struct mad_target *target, unsigned from)
{
	unsigned slot = target->query->cur_unit ? next_slot(target->query->cur_unit, from) : 0;

	target->query->ioc = NULL;
	target->query->slot = (uint8_t)slot;
	target->query->step = slot ? MAD_STEP_IOC : MAD_STEP_AGAIN;
	send_query(target);
}

static void got_lid(struct mad_target *target, const struct sa_table *table)
{
	struct sa_path path;

	if (!table->count || !mad_sa_path_get(&path, (const void *)table->at)) {
		note_failure(target, -EPROTO, 0);
		finished(target);
		return;
	}
	target->lid = target->query->addr.lid = path.lid;
	target->query->addr.sl = path.sl;
	if (target->query->scan->direct) {
		begin_partitions(target);
		return;
	}
	target->query->step = MAD_STEP_PORT;
	send_query(target);
}

static void got_node(struct mad_target *target, uint64_t guid)
{
	target->guid = guid;
	if (!guid) {
		note_failure(target, -EPROTO, 0);
		finished(target);
	} else if (target->query->scan->options.only) {
		target->query->step = MAD_STEP_PORT;
		send_query(target);
	} else {
		begin_partitions(target);
	}
}

static void got_port(struct mad_target *target, const struct sa_port *port)
{
	target->prefix = port->prefix;
	target->query->first_ms = port->first_ms;
	target->management = port->management;
	if (target->management || target->query->scan->direct ||
		target->query->scan->options.trust_management)
		begin_partitions(target); /* a port that the user named is queried in any case */
	else
		finished(target);
}

static void got_path(struct mad_target *target, const struct sa_table *table)
{
	struct sa_path path;

	if (!table->count || !mad_sa_path_get(&path, (const void *)table->at)) {
		next_pkey(target);
		return;
	}
	target->query->addr.pkey_index = target->query->pkey_at;
	target->query->addr.sl = path.sl;
	target->query->step = (target->guid & OUI_MASK) == TOPSPIN ? MAD_STEP_SET : MAD_STEP_UNIT;
	send_query(target);
}

static void got_unit(struct mad_target *target, const struct io_unit_info *info)
{
	const struct mad_port_info *port = mad_port(target->query->scan->mad);
	struct mad_unit *unit = target->query->cur_unit ? target->query->cur_unit
							: alloc_bounded(target, sizeof(*unit));

	if (!unit) {
		note_failure(target, -ENOMEM, 0);
		finished(target);
		return;
	}
	if (!target->query->cur_unit) {
		*target->query->last = unit;
		target->query->last = &unit->next;
		target->query->cur_unit = unit;
	}
	mad_scan_unit_clear(unit);
	unit->pkey = target->query->addr.pkey_index < port->pkeys
			     ? port->pkey[target->query->addr.pkey_index]
			     : 0xffff;
	mad_dm_unit_get(unit, info);
	begin_slot(target, 1);
}

static struct mad_ioc *add_ioc(struct mad_target *target)
{
	struct mad_ioc *ioc = alloc_bounded(target, sizeof(*ioc));

	if (!ioc) {
		note_failure(target, -ENOMEM, 0);
		finished(target);
		return NULL;
	}
	ioc->slot = target->query->slot;
	ioc->last = &ioc->service;
	*target->query->cur_unit->last = ioc;
	target->query->cur_unit->last = &ioc->next;
	return ioc;
}

static void got_ioc(struct mad_target *target, const struct ioc_profile *profile)
{
	struct mad_ioc *ioc = add_ioc(target);

	if (!ioc)
		return;
	mad_dm_ioc_get(ioc, profile);
	target->query->ioc = ioc;
	target->query->service = 0;
	target->query->step = MAD_STEP_SERVICE;
	if (ioc->services)
		send_query(target);
	else
		begin_slot(target, target->query->slot + 1u);
}

static unsigned last_service(const struct mad_target *target)
{
	unsigned last = target->query->service + DM_SERVICES_EACH - 1u;

	return last < target->query->ioc->services ? last : target->query->ioc->services - 1u;
}

static void next_services(struct mad_target *target)
{
	target->query->service += DM_SERVICES_EACH;
	if (target->query->service < target->query->ioc->services)
		send_query(target);
	else
		begin_slot(target, target->query->slot + 1u);
}

static void got_services(struct mad_target *target, const struct service_entry *entry)
{
	unsigned last = last_service(target);

	for (unsigned i = target->query->service; i <= last; i++, entry++) {
		struct mad_service read = { .index = (uint8_t)i }, *service;
		char id_ext[17];

		mad_dm_service_get(&read, entry);
		if (!mad_srp_id_ext(&read, id_ext))
			continue;
		service = alloc_bounded(target, sizeof(*service));
		if (!service) {
			note_failure(target, -ENOMEM, 0);
			finished(target);
			return;
		}
		*service = read;
		*target->query->ioc->last = service;
		target->query->ioc->last = &service->next;
	}
	next_services(target);
}

/* The data read is consistent only if the change ID is still the same. */
static void got_again(struct mad_target *target, const struct io_unit_info *info)
{
	if (get_be16(info->change_id) == target->query->cur_unit->change_id) {
		next_pkey(target);
	} else if (++target->query->changes < CHANGES) {
		got_unit(target, info);
	} else {
		note_failure(target, -EAGAIN, 0);
		next_pkey(target);
	}
}

static void got(struct mad_target *target, const struct mad_answer *answer)
{
	const void *dm = answer->mad + sizeof(struct dm_hdr),
		   *sa = answer->mad + sizeof(struct sa_hdr);
	bool direct = target->query->scan->direct;
	struct sa_table table = { .at = sa, .count = 1 };
	struct sa_port port;
	struct sa_node node;

	switch ((enum mad_step)target->query->step) {
	case MAD_STEP_LID:
		got_lid(target, &table);
		return;
	case MAD_STEP_NODE:
		node.guid = 0;
		if (!direct)
			mad_sa_node_get(&node, sa);
		got_node(target,
			direct ? get_be64(((const struct node_info *)dm)->port_guid) : node.guid);
		return;
	case MAD_STEP_PORT:
		if (direct)
			mad_port_get(&port, dm);
		else
			mad_sa_port_get(&port, sa);
		got_port(target, &port);
		return;
	case MAD_STEP_PATH:
		got_path(target, &table);
		return;
	case MAD_STEP_SET:
		target->query->step = MAD_STEP_UNIT;
		send_query(target);
		return;
	case MAD_STEP_UNIT:
		got_unit(target, dm);
		return;
	case MAD_STEP_IOC:
		got_ioc(target, dm);
		return;
	case MAD_STEP_SERVICE:
		got_services(target, dm);
		return;
	case MAD_STEP_AGAIN:
		got_again(target, dm);
		return;
	case MAD_STEP_DONE:
		return;
	}
}

/* Continue after a failed request. */
static void continue_after_failure(struct mad_target *target)
{
	bool dead = target->query->silent >= SILENT;

	switch ((enum mad_step)target->query->step) {
	case MAD_STEP_SET:
		target->query->step = MAD_STEP_UNIT;
		send_query(target);
		return;
	case MAD_STEP_IOC:
		if (!add_ioc(target))
			return;
		if (dead)
			break;
		begin_slot(target, target->query->slot + 1u);
		return;
	case MAD_STEP_SERVICE:
		if (dead)
			break;
		next_services(target);
		return;
	case MAD_STEP_PATH:
	case MAD_STEP_UNIT:
	case MAD_STEP_AGAIN:
		if (dead)
			break;
		next_pkey(target);
		return;
	case MAD_STEP_LID:
	case MAD_STEP_NODE:
	case MAD_STEP_PORT:
	case MAD_STEP_DONE:
		break;
	}
	finished(target);
}

static void answered(struct mad_req *req, const struct mad_answer *answer)
{
	struct mad_target *target = container_of(req, struct mad_target_query, req)->target;
	bool no_path =
		target->query->step == MAD_STEP_PATH && answer->status == SA_STATUS_NO_RECORDS;

	if (!answer->err && !answer->status) {
		got(target, answer);
		return;
	}
	if (target->query->step == MAD_STEP_PORT && answer->status == SA_STATUS_TOO_MANY &&
		!target->is_switch) {
		target->is_switch = true;
		send_query(target);
		return;
	}
	if (answer->err)
		target->query->silent++;
	if (target->query->step != MAD_STEP_SET && !no_path)
		note_failure(target, answer->err, answer->status);
	continue_after_failure(target);
}

static void init_sa_query(
	struct mad_target *target, uint16_t attr, uint64_t mask, const void *data, size_t len)
{
	mad_scan_init_sa_req(target->query->scan, &target->query->req, MAD_GET, attr, answered);
	target->query->req.mask = mask;
	target->query->req.data = data;
	target->query->req.len = (uint16_t)len;
}

static void query_path(struct mad_target *target)
{
	const struct mad_port_info *port = mad_port(target->query->scan->mad);

	target->query->data.path = (struct path_record){
		.dlid = put_be16(target->lid), .slid = put_be16(port->lid), .numb_path = 1
	};
	if (target->query->step == MAD_STEP_PATH) {
		target->query->data.path.pkey = put_be16(port->pkey[target->query->pkey_at]);
		init_sa_query(target, SA_PATH_RECORD, SA_PATH_DLID | SA_PATH_SLID | SA_PATH_PKEY,
			&target->query->data.path, sizeof(target->query->data.path));
		return;
	}
	mad_gid_make(target->query->data.path.dgid, target->prefix, target->guid);
	mad_gid_make(target->query->data.path.sgid, port->prefix, port->guid);
	init_sa_query(target, SA_PATH_RECORD, SA_PATH_DGID | SA_PATH_SGID,
		&target->query->data.path, sizeof(target->query->data.path));
}

static void set_class_port_info(struct mad_target *target)
{
	const struct mad_port_info *port = mad_port(target->query->scan->mad);

	target->query->data.set = (struct class_port_info){ .trap_lid = put_be16(port->lid) };
	mad_gid_make(target->query->data.set.trap_gid, port->prefix, port->guid);
	to_port(target, MAD_CLASS_DM, MAD_CLASS_PORT_INFO, 0);
	target->query->req.method = MAD_SET;
	target->query->req.data = &target->query->data.set;
	target->query->req.len = sizeof(target->query->data.set);
}

static void query_node(struct mad_target *target)
{
	if (target->query->scan->direct) {
		to_port(target, MAD_CLASS_SMP, SMP_NODE_INFO, 0);
		return;
	}
	target->query->data.node = (struct node_record){ .lid = put_be16(target->lid) };
	init_sa_query(target, SA_NODE_RECORD, 1, &target->query->data.node,
		sizeof(target->query->data.node));
}

static void query_port(struct mad_target *target)
{
	if (target->query->scan->direct) {
		to_port(target, MAD_CLASS_SMP, SMP_PORT_INFO, 0);
		return;
	}
	/* port 0 of a switch */
	target->query->data.port = (struct port_info_record){ .lid = put_be16(target->lid) };
	init_sa_query(target, SA_PORT_INFO_RECORD,
		target->is_switch ? SA_PIR_LID | SA_PIR_PORT : SA_PIR_LID,
		&target->query->data.port, sizeof(target->query->data.port));
}

static void query_services(struct mad_target *target)
{
	to_port(target, MAD_CLASS_DM, DM_SERVICE_ENTRIES,
		(uint32_t)target->query->slot << 16 | last_service(target) << 8 |
			target->query->service);
}

static void send_query(struct mad_target *target)
{
	struct mad *mad = target->query->scan->mad;

	if (target->query->end_ns && loop_now(mad_loop(mad)) > target->query->end_ns) {
		note_failure(target, -ETIME, 0);
		finished(target);
		return;
	}
	switch ((enum mad_step)target->query->step) {
	case MAD_STEP_LID:
	case MAD_STEP_PATH:
		query_path(target);
		break;
	case MAD_STEP_NODE:
		query_node(target);
		break;
	case MAD_STEP_PORT:
		query_port(target);
		break;
	case MAD_STEP_SET:
		set_class_port_info(target);
		break;
	case MAD_STEP_UNIT:
	case MAD_STEP_AGAIN:
		to_port(target, MAD_CLASS_DM, DM_IO_UNIT_INFO, 0);
		break;
	case MAD_STEP_IOC:
		to_port(target, MAD_CLASS_DM, DM_IOC_PROFILE, target->query->slot);
		break;
	case MAD_STEP_SERVICE:
		query_services(target);
		break;
	case MAD_STEP_DONE:
		return;
	}
	target->query->req.done = answered;
	mad_send(mad, &target->query->req);
}

void mad_scan_target_start(struct mad_target *target)
{
	target->query->end_ns = loop_clock() + TARGET_MS * 1000000ull;
	if (target->query->step == MAD_STEP_NODE && target->guid)
		begin_partitions(target);
	else
		send_query(target);
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
