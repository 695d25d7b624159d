/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Select and print SRP targets. The listing and the lines for add_target are identical to those of
 * ibsrpdm (rdma-core). */
#include "srp_show.h"
#include "names.h"
#include "srp_rules.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define NOTES 20 /* failed ports to print one by one */

static const struct {
	const char *option;
	unsigned digits;
} keys[SRP_KEYS] = {
	[SRP_ID_EXT] = { "--id-ext", 16 },
	[SRP_IOC_GUID] = { "--ioc-guid", 16 },
	[SRP_DGID] = { "--dgid", 32 },
	[SRP_PKEY] = { "--pkey", 4 },
	[SRP_SERVICE_ID] = { "--service-id", 16 },
};

static int read_number(
	struct srp_value *value, enum srp_key key, const char *text, struct diag *diag)
{
	const char *digits = !strncmp(text, "0x", 2) ? text + 2 : text;

	if (!hex_parse(&value->lower, digits, keys[key].digits))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid %s '%s': expected 1 to %u hexadecimal digits", keys[key].option,
			text, keys[key].digits);
	return 0;
}

static int read_gid(struct srp_value *value, const char *text, struct diag *diag)
{
	struct diag why = { 0 };
	uint8_t gid[16];

	if (mad_gid_parse(gid, text, &why))
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "%s: %s", keys[SRP_DGID].option, why.text);
	*value = (struct srp_value){ wire_be(gid, 8), wire_be(gid + 8, 8) };
	return 0;
}

int srp_filter_read(
	struct srp_filter *filter, enum srp_key key, const struct opt_list *list, struct diag *diag)
{
	struct srp_filter_key *into = &filter->key[key];
	int err = 0;

	*into = (struct srp_filter_key){ 0 };
	for (unsigned i = 0; !err && i < list->count; i++) {
		struct srp_value *value = &into->value[into->count++];

		err = key == SRP_DGID ? read_gid(value, list->item[i], diag)
				      : read_number(value, key, list->item[i], diag);
		filter->on = true;
	}
	return err;
}

static bool matches(const struct srp_filter_key *key, uint64_t upper, uint64_t lower)
{
	for (unsigned i = 0; i < key->count; i++)
		if (key->value[i].upper == upper && key->value[i].lower == lower)
			return true;
	return !key->count;
}

static bool filter_matches(const struct srp_filter *filter, const struct mad_target *target,
	const struct mad_unit *unit, const struct mad_ioc *ioc, const struct mad_service *service)
{
	const struct srp_filter_key *key = filter->key;
	uint64_t id_ext = 0;
	char text[17];

	if (key[SRP_ID_EXT].count &&
		(!mad_srp_id_ext(service, text) || !hex_parse(&id_ext, text, 16)))
		return false;
	return matches(&key[SRP_ID_EXT], 0, id_ext) && matches(&key[SRP_IOC_GUID], 0, ioc->guid) &&
	       matches(&key[SRP_DGID], target->prefix, target->guid) &&
	       matches(&key[SRP_PKEY], 0, unit->pkey) &&
	       matches(&key[SRP_SERVICE_ID], 0, service->id);
}

bool srp_filter_may_match(const struct srp_filter *filter, const struct mad_target *target)
{
	return !target->prefix || !target->guid ||
	       matches(&filter->key[SRP_DGID], target->prefix, target->guid);
}

/* One service of one controller. */
struct row {
	const struct mad_target *target;
	const struct mad_unit *unit;
	const struct mad_ioc *ioc;
	const struct mad_service *service;
	struct mad_srp srp;
	struct srp_verdict verdict;
	const char *host; /* the kernel's connection to it; NULL = none */
	bool usable;      /* its identifier extension is a number */
};

static const char *target_name(const struct mad_target *target, char name[64])
{
	if (!target->lid)
		snprintf(name, 64, "GID %016" PRIx64 "%016" PRIx64, target->prefix, target->guid);
	else if (target->guid)
		snprintf(name, 64, "LID %u (%016" PRIx64 "%016" PRIx64 ")", target->lid,
			target->prefix, target->guid);
	else
		snprintf(name, 64, "LID %u", target->lid);
	return name;
}

int srp_target_diag(const struct mad_target *target, struct diag *diag)
{
	char why[128], name[64];

	diag_set(diag, DIAG_UNREACHABLE, -target->err, "%s", mad_target_error(target, why));
	return diag_ctx(diag, "%s", target_name(target, name));
}

void srp_note_failures(const struct call *call, const struct srp_show *show)
{
	unsigned printed = 0;
	char why[128];

	for (unsigned i = 0; i < show->found->count; i++) {
		const struct mad_target *target = &show->found->target[i];

		if (!target->err || !srp_filter_may_match(show->filter, target))
			continue;
		if (printed++ < NOTES)
			call_note(call, "%s: %s", target_name(target, (char[64]){ 0 }),
				mad_target_error(target, why));
	}
	if (printed > NOTES)
		call_note(call, "and %u more", printed - NOTES);
	if (show->found->cut)
		call_warn(call,
			"truncated table from the subnet administrator (LID %u): "
			"targets may be missing",
			show->port->sm_lid);
}

void srp_note_left_out(const struct call *call, const struct srp_show *show)
{
	unsigned printed = 0;
	char text[160];

	for (unsigned i = 0; i < show->found->count; i++) {
		const struct mad_target *target = &show->found->target[i];

		if (!srp_filter_may_match(show->filter, target) ||
			!mad_srp_describe_ignored(target, text))
			continue;
		if (printed++ < NOTES)
			call_note(call, "%s: %s", target_name(target, (char[64]){ 0 }), text);
	}
	if (printed > NOTES)
		call_note(call, "and %u more ports with services left out", printed - NOTES);
}

/* Count all SRP services, and those that the filter selects. */
static void count_services(const struct srp_show *show, unsigned *all, unsigned *matching)
{
	*all = *matching = 0;
	for (unsigned i = 0; i < show->found->count; i++) {
		struct row row = { .target = &show->found->target[i] };

		for (row.unit = row.target->unit; row.unit; row.unit = row.unit->next)
			for (row.ioc = row.unit->ioc; row.ioc; row.ioc = row.ioc->next)
				for (row.service = row.ioc->service; row.service;
					row.service = row.service->next) {
					++*all;
					*matching += filter_matches(show->filter, row.target,
						row.unit, row.ioc, row.service);
				}
	}
}

void srp_note_nothing(const struct call *call, const struct srp_show *show)
{
	const struct mad_port_info *port = show->port;
	unsigned all, matching;

	count_services(show, &all, &matching);
	if (!all)
		call_note(call,
			"%s port %u: no SRP targets found; "
			"queried ports with device management: %u",
			port->dev, port->port, show->found->count);
	else if (!matching)
		call_note(call, "%s port %u: no target matches; SRP targets found: %u", port->dev,
			port->port, all);
}

void srp_host_key(
	const struct mad_port_info *port, const struct mad_srp *srp, struct kernel_srp *key)
{
	*key = (struct kernel_srp){
		.id_ext = srp->id,
		.ioc_guid = srp->ioc_guid,
		.service_id = srp->service_id,
		.pkey = srp->pkey,
		.port = port->port,
	};
	snprintf(key->dev, sizeof(key->dev), "%s", port->dev);
	mad_gid_make(key->dgid, srp->prefix, srp->guid);
}

static const char *connected(const struct srp_show *show, const struct mad_srp *srp)
{
	const struct kernel_srp *host;
	struct kernel_srp key;

	srp_host_key(show->port, srp, &key);
	host = kernel_srp_find(show->hosts, show->nhosts, &key, show->any_pkey);
	return host ? host->host : NULL;
}

/* False: not selected, or without ID_EXT. */
static bool make_row(const struct srp_show *show, struct row *row)
{
	if (!filter_matches(show->filter, row->target, row->unit, row->ioc, row->service))
		return false;
	row->usable = mad_srp_get(&row->srp, row->target, row->unit, row->ioc, row->service);
	row->host = row->usable ? connected(show, &row->srp) : NULL;
	srp_decide(&show->policy, &row->srp, &row->verdict);
	return row->srp.id_ext[0];
}

static void print_usable(struct out *out, const struct srp_show *show, const struct row *row)
{
	char line[256], rule[300];

	out_text(out, "add_target", show->lines ? "                add_target: " : NULL, "%s",
		row->verdict.line);
	mad_srp_uri(row->target, row->unit, row->ioc, row->service, line);
	out_text(out, "uri", show->lines ? "                URI: " : NULL, "%s", line);
	/* on RoCE the kernel connects by RDMA/CM, to an address that device management does not
	 * report */
	if (show->lines && show->port->infiniband)
		out_line(out, "                connect: rdmastor srp-connect '%s'", line);
	if (!show->policy.rules)
		return;
	out_bool(out, "allowed", NULL, row->verdict.allow);
	if (row->verdict.rule)
		out_text(out, "rule", NULL, "%s",
			srp_verdict_rule(&show->policy, &row->verdict, rule));
}

/* Without a filter, show controllers without services or profile, too. */
static bool ioc_shown(const struct srp_show *show, const struct row *row, const struct mad_ioc *ioc)
{
	for (const struct mad_service *service = ioc->service; service; service = service->next)
		if (filter_matches(show->filter, row->target, row->unit, ioc, service))
			return true;
	return !show->filter->on;
}

static bool unit_shown(const struct srp_show *show, const struct row *row)
{
	for (const struct mad_ioc *ioc = row->unit->ioc; ioc; ioc = ioc->next)
		if (ioc_shown(show, row, ioc))
			return true;
	return !show->filter->on;
}

static void print_service(struct out *out, const struct srp_show *show, struct row *row)
{
	if (!make_row(show, row))
		return;
	out_object(out, NULL);
	out_line(out, "            service[%3d]: %016" PRIx64 " / %s", row->service->index,
		row->service->id, row->service->name);
	out_u64(out, "index", NULL, row->service->index);
	out_text(out, "service_id", NULL, "%016" PRIx64, row->service->id);
	out_text(out, "name", NULL, "%s", row->service->name);
	out_text(out, "id_ext", NULL, "%s", row->srp.id_ext);
	if (row->usable)
		print_usable(out, show, row);
	out_bool(out, "connected", NULL, row->host);
	if (row->host)
		out_text(out, "host", show->connections ? "                connected: " : NULL,
			"%s", row->host);
	out_end(out);
}

static void print_ioc(struct out *out, const struct srp_show *show, struct row *row)
{
	const struct mad_ioc *ioc = row->ioc;

	if (!ioc_shown(show, row, ioc))
		return;
	out_line(out, "%s", "");
	if (!ioc->known)
		return;
	out_object(out, NULL);
	out_line(out, "    controller[%3d]", ioc->slot);
	out_u64(out, "slot", NULL, ioc->slot);
	out_text(out, "ioc_guid", "        GUID:      ", "%016" PRIx64, ioc->guid);
	out_text(out, "vendor_id", "        vendor ID: ", "%06x", ioc->vendor_id);
	out_text(out, "device_id", "        device ID: ", "%06x", ioc->device_id);
	out_text(out, "io_class", "        IO class : ", "%04x", ioc->io_class);
	out_line(out, "        Maximum size of Send Messages in bytes: %d", (int)ioc->send_size);
	out_u64(out, "send_size", NULL, ioc->send_size);
	out_text(out, "id", "        ID:        ", "%s", ioc->id);
	out_line(out, "        service entries: %u", ioc->services);
	out_u64(out, "service_entries", NULL, ioc->services);
	out_list(out, "services");
	for (row->service = ioc->service; row->service; row->service = row->service->next)
		print_service(out, show, row);
	out_end(out);
	out_end(out);
}

static void print_unit(struct out *out, const struct srp_show *show, struct row *row)
{
	const struct mad_target *target = row->target;

	if (!unit_shown(show, row))
		return;
	out_object(out, NULL);
	out_line(out, "IO Unit Info:");
	out_line(out, "    port LID:        %04x", target->lid);
	out_u64(out, "lid", NULL, target->lid);
	out_text(out, "dgid", "    port GID:        ", "%016" PRIx64 "%016" PRIx64, target->prefix,
		target->guid);
	out_text(out, "pkey", NULL, "%04x", row->unit->pkey);
	out_text(out, "change_id", "    change ID:       ", "%04x", row->unit->change_id);
	out_line(out, "    max controllers: 0x%02x", row->unit->max_controllers);
	out_u64(out, "max_controllers", NULL, row->unit->max_controllers);
	out_list(out, "controllers");
	for (row->ioc = row->unit->ioc; row->ioc; row->ioc = row->ioc->next)
		print_ioc(out, show, row);
	out_end(out);
	out_line(out, "%s", "");
	out_end(out);
}

static void print_decision(struct out *out, const struct srp_show *show, const struct row *row)
{
	char rule[300];

	srp_verdict_rule(&show->policy, &row->verdict, rule);
	if (row->host)
		out_line(out, "connected (%s)  %s  %s", row->host, rule, row->verdict.line);
	else
		out_line(out, "%s  %s  %s", row->verdict.allow ? "allowed" : "denied", rule,
			row->verdict.line);
}

static void print_line(struct out *out, const struct srp_show *show, const struct row *row)
{
	char line[256];

	switch (show->form) {
	case SRP_URIS:
		mad_srp_uri(row->target, row->unit, row->ioc, row->service, line);
		out_line(out, "%s", line);
		break;
	case SRP_DECISIONS:
		print_decision(out, show, row);
		break;
	default:
		if (row->verdict.allow && (!row->host || show->all))
			out_line(out, "%s", row->verdict.line);
	}
}

/* Print one line per service. Skip names that are not just a number: they could pass any option to
 * the kernel. */
static void print_lines(struct out *out, const struct srp_show *show, struct row *row)
{
	for (row->ioc = row->unit->ioc; row->ioc; row->ioc = row->ioc->next)
		for (row->service = row->ioc->service; row->service;
			row->service = row->service->next)
			if (make_row(show, row) && row->usable)
				print_line(out, show, row);
}

static void print_failed(struct out *out, const struct srp_show *show)
{
	const struct mad_scan_result *found = show->found;

	out_list(out, "failures");
	for (unsigned i = 0; i < found->count; i++) {
		const struct mad_target *target = &found->target[i];

		struct diag diag = { 0 };

		if (!target->err || !srp_filter_may_match(show->filter, target))
			continue;
		srp_target_diag(target, &diag);
		out_object(out, NULL);
		if (target->lid)
			out_u64(out, "lid", NULL, target->lid);
		if (target->guid)
			out_text(out, "dgid", NULL, "%016" PRIx64 "%016" PRIx64, target->prefix,
				target->guid);
		out_error(out, "error", &diag);
		out_end(out);
	}
	out_end(out);
}

void srp_show(const struct call *call, const struct srp_show *show)
{
	struct out *out = call->out;

	out_text(out, "rdma_device", NULL, "%s", show->port->dev);
	out_u64(out, "rdma_port", NULL, show->port->port);
	out_list(out, "units");
	for (unsigned i = 0; i < show->found->count; i++) {
		struct row row = { .target = &show->found->target[i] };

		for (row.unit = row.target->unit; row.unit; row.unit = row.unit->next) {
			if (out->json || show->form == SRP_LISTING)
				print_unit(out, show, &row);
			else
				print_lines(out, show, &row);
		}
	}
	out_end(out);
	if (out->json)
		print_failed(out, show);
	if (show->found->cut)
		out_bool(out, "incomplete", NULL, true);
}
