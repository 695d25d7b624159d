/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ask an SRP target by management datagrams for what the user left out. */
#include "srp_find.h"
#include "kernel_rdma.h"
#include "mad.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 5000

bool attach_srp_incomplete(const struct attach_srp *srp)
{
	const struct srp_params *params = srp->params;

	return params && params->value[SRP_OPT_ID_EXT][0] && params->value[SRP_OPT_IOC_GUID][0] &&
	       !params->value[SRP_OPT_DEST][0] &&
	       (srp->lid ||
		       (params->value[SRP_OPT_DGID][0] && !params->value[SRP_OPT_SERVICE_ID][0]));
}

/* A LID is valid in the subnet of the local port only. */
static int open_port(struct attach_srp *srp)
{
	struct attach *attach = &srp->attach;
	const struct mad_limits limits = { .answer_ms = ANSWER_MS };
	struct mad_port_choice choice = { .dev = srp->dev, .port = srp->port };
	struct diag *why = &attach->why;
	struct mad_port_info port;
	char others[200];
	int err = 0;

	if (!srp->lid) {
		err = kernel_srp_port(attach->root, srp->params, srp->dev, srp->port, &srp->local,
			others, sizeof(others), why);
		choice.dev = srp->local.dev;
		choice.port = srp->local.port;
	}
	if (!err)
		err = mad_port_choose(&port, &choice, why);
	if (!err)
		err = mad_port_usable(&port, why);
	if (!err)
		err = mad_open(&srp->mad, attach->loop, &port, &limits, why);
	if (err) {
		srp->mad = NULL;
	} else if (srp->lid) {
		snprintf(srp->local.dev, sizeof(srp->local.dev), "%s", port.dev);
		srp->dev = srp->local.dev;
		srp->port = port.port;
	}
	return err;
}

static bool matches(const struct mad_srp *srp, const struct srp_params *params)
{
	return srp->id == strtoull(params->value[SRP_OPT_ID_EXT], NULL, 16) &&
	       srp->ioc_guid == strtoull(params->value[SRP_OPT_IOC_GUID], NULL, 16) &&
	       (!params->value[SRP_OPT_SERVICE_ID][0] ||
		       srp->service_id == strtoull(params->value[SRP_OPT_SERVICE_ID], NULL, 16));
}

static bool find_service(
	const struct mad_target *found, const struct srp_params *params, struct mad_srp *srp)
{
	for (const struct mad_unit *unit = found->unit; unit; unit = unit->next)
		for (const struct mad_ioc *ioc = unit->ioc; ioc; ioc = ioc->next)
			for (const struct mad_service *service = ioc->service; service;
				service = service->next)
				if (mad_srp_get(srp, found, unit, ioc, service) &&
					matches(srp, params))
					return true;
	return false;
}

static int fill(struct attach_srp *srp, const struct mad_srp *found)
{
	struct diag *why = &srp->attach.why;
	struct srp_params *params = srp->params;
	char text[40];
	int err;

	snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, found->prefix, found->guid);
	err = srp_params_set(params, SRP_OPT_DGID, text, why);
	snprintf(text, sizeof(text), "%016" PRIx64, found->service_id);
	if (!err)
		err = srp_params_set(params, SRP_OPT_SERVICE_ID, text, why);
	snprintf(text, sizeof(text), "%04x", found->io_class);
	if (!err && !params->value[SRP_OPT_IO_CLASS][0] && found->io_class == 0xff00)
		err = srp_params_set(params, SRP_OPT_IO_CLASS, text, why);
	return err ? err : kernel_srp_check(srp->attach.root, params, why);
}

static int apply_scan(struct attach_srp *srp, const struct mad_scan_result *found)
{
	struct diag *why = &srp->attach.why;
	struct mad_srp service;
	char text[128];

	for (unsigned i = 0; i < found->count; i++)
		if (find_service(&found->target[i], srp->params, &service))
			return fill(srp, &service);
	if (found->count && found->target[0].err && !found->target[0].unit)
		return diag_set(why, DIAG_UNREACHABLE, -found->target[0].err, "%s",
			mad_target_error(&found->target[0], text));
	diag_set(why, DIAG_NOT_FOUND, ENOENT,
		"the port has no SRP target with this id_ext and ioc_guid");
	return diag_hint(
		why, "list its targets with: rdmastor srp-discover --gid GID (or --lid LID)");
}

void srp_find_stop(struct attach_srp *srp)
{
	if (srp->scan)
		mad_scan_cancel(srp->scan);
	if (srp->mad)
		mad_close(srp->mad);
	srp->scan = NULL;
	srp->mad = NULL;
}

/* Deferred: the scan is freed after its upcall. */
static void close_port(struct loop_timer *timer)
{
	struct attach_srp *srp = container_of(timer, struct attach_srp, timer);

	srp_find_stop(srp);
	attach_step(&srp->attach, -srp->attach.why.err);
}

static void scanned(void *arg, struct mad_scan_result *found, int err, struct diag *diag)
{
	struct attach_srp *srp = arg;

	srp->scan = NULL;
	srp->attach.why = *diag;
	if (!err)
		apply_scan(srp, found);
	mad_scan_result_free(found);
	srp->timer.fire = close_port;
	loop_timer_set(srp->attach.loop, &srp->timer, loop_clock());
}

static void umad_ready(struct attach *attach, int err)
{
	struct attach_srp *srp = container_of(attach, struct attach_srp, attach);
	struct mad_port_id named = { .lid = srp->lid };
	struct mad_scan_options how = { .only = &named, .count = 1 };
	uint64_t now = loop_clock();

	if (attach->until)
		how.timeout_ms =
			attach->until > now ? (uint32_t)((attach->until - now) / MSEC) + 1 : 1;
	if (!err)
		err = open_port(srp);
	if (!err && !named.lid)
		err = mad_gid_parse(named.gid, srp->params->value[SRP_OPT_DGID], &attach->why);
	if (!err && mad_scan_start(srp->mad, &how, scanned, srp, &srp->scan)) {
		srp->scan = NULL;
		err = diag_sys(&attach->why, ENOMEM, "scan");
	}
	if (!err)
		return;
	srp_find_stop(srp);
	attach_step(attach, err);
}

static int load_umad(int root, const void *arg, void *out)
{
	struct attach_srp_result *result = out;

	(void)arg;
	return -kernel_umad_ready(root, &result->why);
}

void srp_find(struct attach *attach)
{
	struct attach_srp *srp = container_of(attach, struct attach_srp, attach);

	if (attach->host)
		kernel_srp_set_addrs(srp->params, attach->addr, &attach->why);
	if (attach->why.err || !attach_srp_incomplete(srp))
		attach_step(attach, -attach->why.err);
	else
		attach_load(attach,
			&(struct child_call){ .fn = load_umad,
				.out = &srp->result,
				.out_len = sizeof(srp->result),
				.until = attach->until },
			kernel_umad_loaded(attach->root), umad_ready);
}
