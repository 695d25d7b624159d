/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Probe a host for services: each by the applet that lists what a server offers. */
#include "services.h"
#include <stdio.h>
#include <string.h>

const struct service services[SERVICES] = {
	{ "nvme+tcp", "NVMe over TCP", "nvmf-discover", 4420 },
	{ "nvme+rdma", "NVMe over RDMA", "nvmf-discover", 4420 },
	{ "iscsi", "iSCSI over TCP", "iser-discover", 3260 },
	{ "iser", "iSER", "iser-discover", 3260 },
	{ "nbd", "NBD", "discover", 10809 },
	{ "nfs+rdma", "NFS", "nfsrdma-discover", 20049 },
};

const struct service *service_find(const char *scheme)
{
	for (unsigned i = 0; i < SERVICES; i++)
		if (!strcmp(services[i].scheme, scheme))
			return &services[i];
	return NULL;
}

void service_uri(const struct service *service, const char *host, uint16_t port, char uri[URI_MAX])
{
	uri_start(uri, service->scheme, host, port);
}

bool service_answers(const struct diag *why)
{
	switch ((enum diag_code)why->code) {
	case DIAG_NONE:
	case DIAG_AUTH:
	case DIAG_NOT_FOUND:
	case DIAG_BUSY:
	case DIAG_MISMATCH:
		return true;
	default:
		return !why->err;
	}
}

static void ended(struct applet_run *run)
{
	struct probes *all = container_of(run, struct probe, run)->all;

	if (!--all->running)
		loop_stop(all->loop);
}

void probe_start(struct probes *all, struct probe *probe, uint32_t ms, const char *const *args)
{
	unsigned n = 0;

	snprintf(probe->timeout, sizeof(probe->timeout), "%ums", ms);
	for (; args[n]; n++)
		probe->argv[n] = (char *)args[n];
	if (all->verbose)
		probe->argv[n++] = "--verbose";
	probe->argv[n++] = "--json";
	probe->argv[n++] = "--timeout";
	probe->argv[n++] = probe->timeout;
	probe->all = all;
	probe->run = (struct applet_run){ .loop = all->loop,
		.run = all->run,
		.argv = probe->argv,
		.until = loop_clock() + ms * MSEC,
		.messages = all->verbose,
		.done = ended };
	if (!applet_run_start(&probe->run))
		all->running++;
}

bool probe_started(const struct probe *probe)
{
	return probe->argv[0];
}

void probes_wait(struct probes *all)
{
	if (all->running)
		loop_run(all->loop);
}
