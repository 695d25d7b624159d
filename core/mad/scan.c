/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find the I/O controllers of a fabric: ask the subnet administrator for the ports with device
 * management, then query all of them in parallel. scan_target.c queries one port. */
#include "scan.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define LIDS (MAD_LID_MAX + 1)
/* up to this number GUIDs are looked up one by one, above it with one table of all nodes */
#define BY_ONE    64
#define PROGRESS  16
#define ALL_PORTS UINT16_MAX /* no port of the table has this LID */

static void end(struct mad_scan_job *scan, int err)
{
	if (!scan->err)
		scan->err = err;
	loop_work_add(mad_loop(scan->mad), &scan->finish);
}

/* Fail for an error status of the subnet administrator. */
static int refuse(struct mad_scan_job *scan, const struct mad_answer *answer, const char *what)
{
	const struct mad_port_info *port = mad_port(scan->mad);

	if (answer->err == -ETIMEDOUT || answer->err == -EBUSY) {
		diag_set(&scan->diag, DIAG_TIMEOUT, -answer->err,
			"%s from the subnet administrator (LID %u) to the request for %s",
			answer->err == -EBUSY ? "only busy answers" : "no answer", port->sm_lid,
			what);
		diag_hint(&scan->diag, "query without it: --walk or --lid LID");
	} else if (answer->err == -EMSGSIZE) {
		diag_set(&scan->diag, DIAG_PROTOCOL, EMSGSIZE,
			"the subnet administrator's %s is too large", what);
	} else if (answer->err) {
		diag_sys(&scan->diag, -answer->err, "request for %s", what);
	} else {
		diag_set(&scan->diag, DIAG_PROTOCOL, EPROTO,
			"the subnet administrator (LID %u) rejects the request for %s: "
			"status 0x%04x, %s",
			port->sm_lid, what, answer->status, mad_sa_status_text(answer->status));
	}
	return -scan->diag.err;
}

static bool records(struct mad_scan_job *scan, const struct mad_answer *answer, size_t least,
	const char *what, struct sa_table *table)
{
	*table = (struct sa_table){ 0 };
	if (!answer->err && answer->status == SA_STATUS_NO_RECORDS)
		return true;
	if (answer->err || answer->status) {
		end(scan, refuse(scan, answer, what));
		return false;
	}
	if (mad_sa_table_get(table, answer->mad, answer->len, least))
		return true;
	end(scan, diag_set(&scan->diag, DIAG_PROTOCOL, EPROTO,
			  "the subnet administrator's %s has records of %zu bytes, not %zu", what,
			  table->each, least));
	return false;
}

void mad_scan_init_sa_req(const struct mad_scan_job *scan, struct mad_req *req, uint8_t method,
	uint16_t attr, void (*done)(struct mad_req *, const struct mad_answer *))
{
	const struct mad_port_info *port = mad_port(scan->mad);

	*req = (struct mad_req){
		.to = { .lid = port->sm_lid,
			.sl = port->sm_sl,
			.qpn = 1,
			.pkey_index = scan->pkey_index },
		.mgmt_class = MAD_CLASS_SA,
		.method = method,
		.attr = attr,
		.done = done,
	};
}

static int make_targets(struct mad_scan_job *scan, size_t count)
{
	struct mad_target *target = calloc(count ? count : 1, sizeof(*target));
	struct mad_target_query *query = calloc(count ? count : 1, sizeof(*query));

	scan->found.target = target;
	scan->queries = query;
	if (!target || !query)
		return diag_sys(&scan->diag, ENOMEM, "%zu targets", count);
	for (size_t i = 0; i < count; i++) {
		target[i].query = &query[i];
		query[i].target = &target[i];
		query[i].scan = scan;
		query[i].last = &target[i].unit;
	}
	return 0;
}

/* Create targets from a table with up to one per record. */
static bool targets_of(struct mad_scan_job *scan, const struct mad_answer *answer, size_t least,
	const char *what, struct sa_table *table)
{
	int err;

	if (!records(scan, answer, least, what, table))
		return false;
	scan->found.cut = table->cut;
	err = make_targets(scan, table->count < LIDS ? table->count : LIDS);
	if (err)
		end(scan, err);
	return !err;
}

static void start_targets(struct mad_scan_job *scan)
{
	struct mad_scan_result *found = &scan->found;

	scan->live = found->count;
	for (unsigned i = 0; i < found->count; i++)
		mad_scan_target_start(&found->target[i]);
	if (!scan->live)
		end(scan, 0);
}

void mad_scan_target_done(struct mad_target *target)
{
	struct mad_scan_job *scan = target->query->scan;
	unsigned done;

	scan->live--;
	if (scan->options.target_done)
		scan->options.target_done(scan->options.arg, target);
	done = scan->found.count - scan->live;
	if (scan->options.progress && (done % PROGRESS == 0 || !scan->live))
		scan->options.progress(scan->options.arg, done, scan->found.count);
	if (!scan->live)
		end(scan, 0);
}

/* Handle the GUIDs of the ports from one table of all nodes. */
static void got_guids(struct mad_req *req, const struct mad_answer *answer)
{
	struct mad_scan_job *scan = container_of(req, struct mad_scan_job, req);
	struct mad_scan_result *found = &scan->found;
	struct sa_table table;
	uint16_t *at;

	if (!records(scan, answer, sizeof(struct node_record), "table of nodes", &table))
		return;
	at = malloc(LIDS * sizeof(*at));
	if (!at) {
		end(scan, diag_sys(&scan->diag, ENOMEM, "table of nodes"));
		return;
	}
	memset(at, 0xff, LIDS * sizeof(*at));
	for (unsigned i = 0; i < found->count; i++)
		at[found->target[i].lid] = (uint16_t)i;
	for (size_t i = 0; i < table.count; i++) {
		struct sa_node node;

		if (mad_sa_node_get(&node, (const void *)(table.at + i * table.each)) &&
			at[node.lid] != ALL_PORTS)
			found->target[at[node.lid]].guid = node.guid;
	}
	free(at);
	start_targets(scan); /* targets whose GUID is not in the table query it themselves */
}

static void query_guids(struct mad_scan_job *scan)
{
	mad_scan_init_sa_req(scan, &scan->req, MAD_GET_TABLE, SA_NODE_RECORD, got_guids);
	mad_send(scan->mad, &scan->req);
}

static bool first_time(uint8_t seen[LIDS / 8], uint16_t lid)
{
	uint8_t bit = (uint8_t)(1 << lid % 8);

	if (seen[lid / 8] & bit)
		return false;
	seen[lid / 8] |= bit;
	return true;
}

/* Handle the ports with device management, each LID once. */
static void got_ports(struct mad_req *req, const struct mad_answer *answer)
{
	struct mad_scan_job *scan = container_of(req, struct mad_scan_job, req);
	struct mad_scan_result *found = &scan->found;
	uint8_t seen[LIDS / 8] = { 0 };
	struct sa_table table;

	if (!targets_of(scan, answer, sizeof(struct port_info_record), "table of ports", &table))
		return;
	for (size_t i = 0; i < table.count; i++) {
		struct mad_target *target = &found->target[found->count];
		struct sa_port port;

		if (!mad_sa_port_get(&port, (const void *)(table.at + i * table.each)) ||
			!port.management || !first_time(seen, port.lid))
			continue;
		target->lid = port.lid;
		target->prefix = port.prefix;
		target->query->first_ms = port.first_ms;
		target->management = true;
		target->query->step = MAD_STEP_NODE;
		found->count++;
	}
	loop_trace(mad_loop(scan->mad), "%u ports have device management", found->count);
	if (found->count > BY_ONE)
		query_guids(scan);
	else
		start_targets(scan);
}

/* Handle all nodes: query the ports of each, as this subnet administrator can't match capability
 * masks. */
static void got_nodes(struct mad_req *req, const struct mad_answer *answer)
{
	struct mad_scan_job *scan = container_of(req, struct mad_scan_job, req);
	struct mad_scan_result *found = &scan->found;
	uint8_t seen[LIDS / 8] = { 0 };
	struct sa_table table;

	if (!targets_of(scan, answer, sizeof(struct node_record), "table of nodes", &table))
		return;
	for (size_t i = 0; i < table.count; i++) {
		struct sa_node node;

		if (!mad_sa_node_get(&node, (const void *)(table.at + i * table.each)) ||
			!first_time(seen, node.lid))
			continue;
		found->target[found->count].lid = node.lid;
		found->target[found->count].guid = node.guid;
		found->target[found->count].query->step = MAD_STEP_PORT;
		found->count++;
	}
	loop_trace(mad_loop(scan->mad), "%u nodes", found->count);
	start_targets(scan);
}

static void query_ports(struct mad_scan_job *scan, bool match)
{
	if (!match) {
		loop_trace(mad_loop(scan->mad), "the subnet administrator does not match "
						"capability masks: querying every node");
		mad_scan_init_sa_req(scan, &scan->req, MAD_GET_TABLE, SA_NODE_RECORD, got_nodes);
	} else {
		mad_scan_init_sa_req(
			scan, &scan->req, MAD_GET_TABLE, SA_PORT_INFO_RECORD, got_ports);
		scan->query = (struct port_info_record){ .info.cap_mask = put_be32(PORT_CAP_DM) };
		scan->req.mod = SA_PIR_MATCH;
		scan->req.mask = SA_PIR_CAP_MASK;
		scan->req.data = &scan->query;
		scan->req.len = sizeof(scan->query);
	}
	mad_send(scan->mad, &scan->req);
}

static void got_class(struct mad_req *req, const struct mad_answer *answer)
{
	struct mad_scan_job *scan = container_of(req, struct mad_scan_job, req);
	const struct class_port_info *info;
	struct sa_table table;

	if (!records(scan, answer, sizeof(*info), "its capabilities", &table))
		return;
	info = (const void *)table.at;
	query_ports(scan, table.count && get_be16(info->cap_mask) & SA_CAP_PORT_INFO_MASK_MATCH);
}

static int need_sa(struct mad_scan_job *scan)
{
	if (mad_lid_valid(mad_port(scan->mad)->sm_lid))
		return 0;
	diag_set(
		&scan->diag, DIAG_UNREACHABLE, ENETUNREACH, "no subnet manager known at this port");
	return diag_hint(&scan->diag, "query without it: --walk or --lid LID");
}

static int start_fabric(struct mad_scan_job *scan)
{
	const struct mad_port_info *port = mad_port(scan->mad);

	if (need_sa(scan))
		return -scan->diag.err;
	loop_trace(mad_loop(scan->mad),
		"%s port %u, LID %u, queries the subnet administrator, LID %u", port->dev,
		port->port, port->lid, port->sm_lid);
	mad_scan_init_sa_req(scan, &scan->req, MAD_GET, MAD_CLASS_PORT_INFO, got_class);
	mad_send(scan->mad, &scan->req);
	return 0;
}

/* RoCE has no LIDs, but needs the index of our GID to send from. */
static int set_gid(
	struct mad_scan_job *scan, struct mad_target *target, const struct mad_port_id *named)
{
	const struct mad_port_info *port = mad_port(scan->mad);
	int index = mad_dev_gid_index(port, named->gid);

	if (index < 0) {
		diag_set(&scan->diag, DIAG_UNREACHABLE, EADDRNOTAVAIL,
			"the port has no GID of the same type");
		return diag_ctx(&scan->diag, "%s port %u", port->dev, port->port);
	}
	target->query->step = MAD_STEP_UNIT;
	target->query->addr.grh = true;
	target->query->addr.gid_index = (uint8_t)index;
	memcpy(target->query->addr.gid, named->gid, sizeof(target->query->addr.gid));
	return 0;
}

static int name_target(
	struct mad_scan_job *scan, struct mad_target *target, const struct mad_port_id *named)
{
	target->query->addr.pkey_index = scan->pkey_index;
	target->lid = named->lid;
	target->management = scan->direct;
	target->query->step = named->lid ? MAD_STEP_NODE : MAD_STEP_LID;
	if (named->lid && !named->known)
		return scan->direct ? mad_register_class(scan->mad, MAD_CLASS_SMP, &scan->diag) : 0;
	target->prefix = wire_be(named->gid, 8);
	target->guid = wire_be(named->gid + 8, 8);
	if (named->lid && !scan->direct)
		target->query->step = MAD_STEP_PORT;
	return named->lid || mad_port(scan->mad)->infiniband ? 0 : set_gid(scan, target, named);
}

/* Scan the ports that the user named. */
static int start_named(struct mad_scan_job *scan)
{
	const struct mad_scan_options *options = &scan->options;
	int err = scan->direct ? 0 : need_sa(scan);

	if (!err)
		err = make_targets(scan, options->count);

	for (unsigned i = 0; !err && i < options->count; i++)
		err = name_target(scan, &scan->found.target[i], &options->only[i]);
	if (err)
		return err;
	scan->found.count = options->count;
	start_targets(scan);
	return 0;
}

static void read_pkeys(struct mad_scan_job *scan)
{
	const struct mad_port_info *port = mad_port(scan->mad);
	unsigned some = 0;

	for (unsigned i = 0; i < port->pkeys; i++)
		some += port->pkey[i] != 0;
	scan->pkey_index = mad_port_pkey_index(port);
	scan->one_pkey = !some || (some == 1 && port->pkey[scan->pkey_index] == 0xffff);
}

static void deadline_passed(struct loop_timer *timer)
{
	struct mad_scan_job *scan = container_of(timer, struct mad_scan_job, deadline);

	if (!scan->found.count)
		diag_set(&scan->diag, DIAG_TIMEOUT, ETIMEDOUT,
			"timed out before the first target was queried");
	end(scan, scan->found.count ? 0 : -ETIMEDOUT);
}

/* Count unfinished targets as failed, drop those without an I/O unit. */
static void settle(struct mad_scan_job *scan)
{
	struct mad_scan_result *found = &scan->found;
	unsigned remaining = 0;

	for (unsigned i = 0; i < found->count; i++) {
		struct mad_target *target = &found->target[i];

		if (target->query->step != MAD_STEP_DONE && !target->err) {
			target->err = -ETIMEDOUT;
			target->failed = target->query->step;
		}
		target->query = NULL;
		if (!target->management && !target->unit && !target->err)
			continue;
		found->failed += target->err != 0;
		found->target[remaining++] = *target;
	}
	found->count = remaining;
}

static void trace_counters(const struct mad *mad)
{
	const struct mad_counters *n = mad_counters(mad);

	loop_trace(mad_loop(mad),
		"sent %" PRIu64 ", retries %" PRIu64 ", answers %" PRIu64
		", late or unexpected %" PRIu64 ", timeouts %" PRIu64,
		n->sent, n->retries, n->answers, n->unmatched, n->timeouts);
}

static void stop_scan(struct mad_scan_job *scan)
{
	struct loop *loop = mad_loop(scan->mad);

	loop_work_del(loop, &scan->finish);
	loop_timer_del(loop, &scan->deadline);
	mad_cancel(scan->mad, &scan->req);
	for (unsigned i = 0; i < scan->found.count; i++)
		mad_cancel(scan->mad, &scan->queries[i].req);
}

static void free_job(struct mad_scan_job *scan)
{
	free((void *)scan->options.only);
	free(scan->queries);
	free(scan);
}

static void finish_scan(struct loop_work *work)
{
	struct mad_scan_job *scan = container_of(work, struct mad_scan_job, finish);

	stop_scan(scan);
	settle(scan);
	trace_counters(scan->mad);
	if (scan->err)
		mad_scan_result_free(&scan->found);
	scan->done(scan->arg, &scan->found, scan->err, &scan->diag);
	free_job(scan);
}

static struct mad_scan_job *make_job(struct mad *mad, const struct mad_scan_options *options)
{
	struct mad_scan_job *scan = calloc(1, sizeof(*scan));
	struct mad_port_id *only;

	if (!scan)
		return NULL;
	scan->mad = mad;
	scan->options = *options;
	scan->finish.run = finish_scan;
	scan->deadline.fire = deadline_passed;
	scan->direct = options->only && (!options->by_sa || !mad_port(mad)->infiniband);
	read_pkeys(scan);
	if (!options->only)
		return scan;
	only = calloc(options->count + 1, sizeof(*only));
	scan->options.only = only;
	if (!only) {
		free(scan);
		return NULL;
	}
	if (options->count)
		memcpy(only, options->only, options->count * sizeof(*only));
	return scan;
}

int mad_scan_start(struct mad *mad, const struct mad_scan_options *options,
	void (*done)(void *arg, struct mad_scan_result *, int err, struct diag *), void *arg,
	struct mad_scan_job **out)
{
	struct mad_scan_job *scan = make_job(mad, options);
	int err;

	if (!scan)
		return -ENOMEM;
	scan->done = done;
	scan->arg = arg;
	if (options->timeout_ms)
		loop_timer_set(mad_loop(mad), &scan->deadline,
			loop_clock() + options->timeout_ms * 1000000ull);
	err = options->only ? start_named(scan) : start_fabric(scan);
	if (err)
		end(scan, err);
	*out = scan;
	return 0;
}

void mad_scan_cancel(struct mad_scan_job *scan)
{
	stop_scan(scan);
	mad_scan_result_free(&scan->found);
	free_job(scan);
}

struct waiting {
	struct mad_scan_result *found;
	struct diag *diag;
	int err, finished;
};

static void waited(void *arg, struct mad_scan_result *found, int err, struct diag *diag)
{
	struct waiting *waiting = arg;

	*waiting->found = *found;
	waiting->err = err;
	waiting->finished = 1;
	if (err && waiting->diag)
		*waiting->diag = *diag;
}

int mad_scan(struct mad *mad, const struct mad_scan_options *options, struct mad_scan_result *found,
	struct diag *diag)
{
	struct waiting waiting = { .found = found, .diag = diag };
	struct mad_scan_job *scan;

	*found = (struct mad_scan_result){ 0 };
	if (mad_scan_start(mad, options, waited, &waiting, &scan))
		return diag_sys(diag, ENOMEM, "scan");
	loop_wait(mad_loop(mad), &waiting.finished, 0);
	return waiting.err;
}

static void free_ioc(struct mad_ioc *ioc)
{
	for (struct mad_service *service = ioc->service, *next; service; service = next) {
		next = service->next;
		free(service);
	}
	free(ioc);
}

void mad_scan_unit_clear(struct mad_unit *unit)
{
	for (struct mad_ioc *ioc = unit->ioc, *next; ioc; ioc = next) {
		next = ioc->next;
		free_ioc(ioc);
	}
	unit->ioc = NULL;
	unit->last = &unit->ioc;
}

void mad_scan_result_free(struct mad_scan_result *found)
{
	for (unsigned i = 0; i < found->count; i++) {
		for (struct mad_unit *unit = found->target[i].unit, *next; unit; unit = next) {
			next = unit->next;
			mad_scan_unit_clear(unit);
			free(unit);
		}
	}
	free(found->target);
	*found = (struct mad_scan_result){ 0 };
}
