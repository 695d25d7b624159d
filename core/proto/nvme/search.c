/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The other addresses of a subsystem: the records that the discovery controller at the address of a
 * disk, and those that it refers to, have of it. */
#include "nvme.h"
#include "nvmf.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct nvme_search {
	struct nvmf_discovery discovery;
	struct nvme_dev *dev;
	struct bdev_search *of;
};

static bool is_path(const struct nvme_conf *conf, const struct nvmf_record *record)
{
	return record->subtype == NVMF_SUBTYPE_NVME && record->trtype == conf->carrier->trtype &&
	       !strcmp(record->subnqn, conf->subnqn);
}

static void report(const struct nvme_search *search)
{
	const struct nvmf_log *log = &search->discovery.log;

	for (unsigned i = 0; i < log->count; i++) {
		const struct nvmf_record *record = &log->record[i];
		uint64_t port = 0;

		if (!is_path(&search->dev->ctrl.conf, record))
			continue;
		parse_u64(record->trsvcid, 1, 65535, &port, NULL);
		search->of->found(search->of, record->traddr, (uint16_t)port);
	}
}

static void discovered(struct nvmf_discovery *discovery)
{
	struct nvme_search *search = container_of(discovery, struct nvme_search, discovery);
	struct bdev_search *of = search->of;
	struct diag why = discovery->why;

	if (!why.err)
		report(search);
	if (!why.err && discovery->log.failures) {
		why = discovery->log.failure->why;
		diag_ctx(&why, "%s", discovery->log.failure->uri);
	}
	nvme_search_free(search);
	of->done(of, &why);
}

void nvme_search_free(struct nvme_search *search)
{
	if (!search)
		return;
	nvmf_discovery_cancel(&search->discovery);
	nvmf_log_free(&search->discovery.log);
	search->dev->search = NULL;
	free(search);
}

/* Another port than the default one of subsystems is also that of discovery. */
int nvme_search(struct bdev *bdev, struct bdev_search *of, struct diag *diag)
{
	struct nvme_dev *dev = (struct nvme_dev *)bdev;
	struct nvme_search *search = calloc(1, sizeof(*search));
	struct nvme_conf conf;
	uint64_t now = loop_clock();
	int err;

	if (!search)
		return diag_sys(diag, ENOMEM, "discovery");
	*search = (struct nvme_search){
		.discovery = { .referrals = true, .max_hops = NVMF_HOPS, .done = discovered },
		.dev = dev,
		.of = of
	};
	conf = dev->ctrl.conf;
	of->at = conf.dst;
	of->default_port = NVMF_PORT;
	conf.timeout_ms = of->until > now ? (uint32_t)((of->until - now) / MSEC) + 1 : 1;
	err = nvme_discovery_start(&search->discovery, bdev->loop, &conf, of->until, diag);
	if (err) {
		free(search);
		return err;
	}
	dev->search = search;
	return 0;
}
