/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Hosts of the target: by --allow-host, which believes a name, and by the hosts file, in which a
 * line says what proves it. */
#include "tgt.h"

static bool is_listed(const struct target_options *opt, const char *hostnqn)
{
	for (unsigned i = 0; i < opt->hosts; i++)
		if (!strcmp(opt->host[i], hostnqn))
			return true;
	return false;
}

static const struct nvme_host *find_line(const struct nvme_hosts *hosts, const char *hostnqn)
{
	return hosts ? nvme_hosts_find(hosts, hostnqn) : NULL;
}

static bool is_secured_as(const struct nvme_tgt_queue *queue, const struct nvme_host *line)
{
	return queue->concatenated ? line->secret[0].len && !line->tls.len
				   : !queue->identity == !line->tls.len;
}

const struct nvme_host *nvme_tgt_host_find(const struct nvme_tgt_queue *queue)
{
	const struct nvme_host *line =
		find_line(queue->base.target->opt.chap.hosts, queue->connect.hostnqn);

	return line && is_secured_as(queue, line) ? line : NULL;
}

bool nvme_tgt_host_must_concatenate(const struct nvme_tgt_queue *queue)
{
	const struct nvme_host *host = nvme_tgt_host_find(queue);

	if (queue->concatenated)
		return false;
	return host ? host->concat : nvme_hosts_concatenate(queue->base.target->opt.chap.hosts);
}

enum nvme_tgt_host_verdict nvme_tgt_host_check(const struct nvme_tgt_queue *queue)
{
	const struct target_options *opt = &queue->base.target->opt;
	const struct nvme_hosts *hosts = opt->chap.hosts;
	const struct nvme_host *line = find_line(hosts, queue->connect.hostnqn);

	if (line && is_secured_as(queue, line))
		return line->secret[0].len && !queue->concatenated ? NVME_TGT_HOST_AUTHENTICATE
								   : NVME_TGT_HOST_ADMIT;
	if (!line && !queue->identity &&
		(opt->hosts ? is_listed(opt, queue->connect.hostnqn) : !hosts))
		return NVME_TGT_HOST_ADMIT;
	return hosts && hosts->chap ? NVME_TGT_HOST_AUTHENTICATE : NVME_TGT_HOST_REFUSE;
}

bool nvme_tgt_host_needs_tls(const struct nvme_tgt_queue *queue)
{
	const struct nvme_host *line =
		find_line(queue->base.target->opt.chap.hosts, queue->connect.hostnqn);

	return line && line->tls.len && !queue->identity;
}

bool nvme_tgt_host_is_named(const struct nvme_tgt_queue *queue, size_t *at)
{
	struct nvme_psk_names names;

	*at = offsetof(struct nvmf_connect_data, hostnqn);
	if (!queue->identity)
		return true;
	if (!nvme_psk_parse(queue->identity, strlen(queue->identity), &names) ||
		strcmp(names.hostnqn, queue->connect.hostnqn) != 0)
		return false;
	*at = offsetof(struct nvmf_connect_data, subnqn);
	return !strcmp(names.subnqn, queue->connect.subnqn);
}

bool nvme_tgt_host_changed(const struct nvme_tgt_ctrl *ctrl, const struct nvme_hosts *hosts)
{
	const struct nvme_host *line = nvme_hosts_find(hosts, ctrl->hostnqn);

	return ctrl->authenticates != (line && line->secret[0].len) ||
	       (line && line->concat && !ctrl->concatenated) ||
	       (ctrl->concatenated ? line && line->tls.len
				   : !ctrl->identity == (line && line->tls.len));
}

enum nvme_tgt_tls nvme_tgt_tls_use(const struct target_options *opt)
{
	const struct nvme_hosts *hosts = opt->chap.hosts;

	return !hosts || !hosts->tls                     ? NVME_TGT_TLS_NONE
	       : opt->hosts || hosts->tls < hosts->count ? NVME_TGT_TLS_SOME
							 : NVME_TGT_TLS_ALL;
}
