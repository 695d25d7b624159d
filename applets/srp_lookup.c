/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Asking an SRP target by management datagrams for what its URI does not say. */
#include "kernel_rdma.h"
#include "mad.h"
#include "srp_attach.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 5000

bool srp_lookup_needed(const struct srp_target *target)
{
	const struct srp_want *want = &target->want;

	return !want->value[SRP_OPT_DEST][0] &&
	       (target->place.lid ||
		       (want->value[SRP_OPT_DGID][0] && !want->value[SRP_OPT_SERVICE_ID][0]));
}

static int open_port(
	int root, struct srp_target *target, struct mad_port_info *port, struct diag *diag)
{
	struct mad_port_choice choice = { .dev = target->dev, .port = target->port };
	struct srp_local local = { 0 };
	char others[200];
	int err = 0;

	if (!target->place.lid)
		err = kernel_srp_port(root, &target->want, target->dev, target->port, &local,
			others, sizeof(others), diag);
	if (!err && local.dev[0]) {
		choice.dev = local.dev;
		choice.port = local.port;
	}
	if (!err)
		err = kernel_umad_ready(root, diag);
	if (!err)
		err = mad_port_choose(port, &choice, diag);
	if (!err)
		err = mad_port_usable(port, diag);
	if (err || !target->place.lid)
		return err;
	/* a LID is one of that port's subnet */
	snprintf(target->asked.dev, sizeof(target->asked.dev), "%s", port->dev);
	target->dev = target->asked.dev;
	target->port = port->port;
	return 0;
}

static bool right(const struct mad_srp *srp, const struct srp_want *want)
{
	return srp->id == strtoull(want->value[SRP_OPT_ID_EXT], NULL, 16) &&
	       srp->ioc_guid == strtoull(want->value[SRP_OPT_IOC_GUID], NULL, 16) &&
	       (!want->value[SRP_OPT_SERVICE_ID][0] ||
		       srp->service_id == strtoull(want->value[SRP_OPT_SERVICE_ID], NULL, 16));
}

static bool find_in(
	const struct mad_target *found, const struct srp_want *want, struct mad_srp *srp)
{
	for (const struct mad_unit *unit = found->unit; unit; unit = unit->next)
		for (const struct mad_ioc *ioc = unit->ioc; ioc; ioc = ioc->next)
			for (const struct mad_service *service = ioc->service; service;
				service = service->next)
				if (mad_srp_get(srp, found, unit, ioc, service) && right(srp, want))
					return true;
	return false;
}

static int fill(struct srp_target *target, const struct mad_srp *srp, struct diag *diag)
{
	struct srp_want *want = &target->want;
	char text[40];
	int err;

	snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, srp->prefix, srp->guid);
	err = kernel_srp_set(want, SRP_OPT_DGID, text, diag);
	snprintf(text, sizeof(text), "%016" PRIx64, srp->service_id);
	if (!err)
		err = kernel_srp_set(want, SRP_OPT_SERVICE_ID, text, diag);
	snprintf(text, sizeof(text), "%04x", srp->io_class);
	if (!err && !want->value[SRP_OPT_IO_CLASS][0] && srp->io_class == 0xff00)
		err = kernel_srp_set(want, SRP_OPT_IO_CLASS, text, diag);
	return err;
}

static int take(struct srp_target *target, const struct mad_found *found, struct diag *diag)
{
	const struct srp_want *want = &target->want;
	struct mad_srp srp;
	char why[128];

	for (unsigned i = 0; i < found->count; i++)
		if (find_in(&found->target[i], want, &srp))
			return fill(target, &srp, diag);
	if (found->count && found->target[0].err && !found->target[0].unit)
		return diag_set(diag, DIAG_UNREACHABLE, -found->target[0].err, "%s",
			mad_target_why(&found->target[0], why));
	diag_set(diag, DIAG_NOT_FOUND, ENOENT,
		"the port has no SRP target with this id_ext and ioc_guid");
	return diag_hint(
		diag, "list its targets with: rdmastor srp-discover --gid GID (or --lid LID)");
}

static int ask(struct mad *mad, struct srp_target *target, uint32_t timeout_ms, struct diag *diag)
{
	struct mad_named named = { .lid = target->place.lid };
	const struct mad_scan_options how = {
		.only = &named, .count = 1, .timeout_ms = timeout_ms
	};
	struct mad_found found;
	int err = 0;

	if (!named.lid)
		err = mad_gid_parse(named.gid, target->want.value[SRP_OPT_DGID], diag);
	if (!err)
		err = mad_scan(mad, &how, &found, diag);
	if (err)
		return err;
	err = take(target, &found, diag);
	mad_found_free(&found);
	return err;
}

int srp_lookup(struct loop *loop, int root, struct srp_target *target, uint32_t timeout_ms,
	struct diag *diag)
{
	const struct mad_limits limits = { .answer_ms = ANSWER_MS };
	struct mad_port_info port;
	struct mad *mad;
	int err = open_port(root, target, &port, diag);

	if (!err)
		err = mad_open(&mad, loop, &port, &limits, diag);
	if (err)
		return err;
	err = ask(mad, target, timeout_ms, diag);
	mad_close(mad);
	return err;
}
