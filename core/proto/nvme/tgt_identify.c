/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Identify data of the target (Base 2.1, 5.1.13; NVM Command Set 1.1, 4.1.5). */
#include "tgt.h"
#include <stdio.h>

#define FIRMWARE "rdmastor"

static uint32_t cns(const struct nvme_tgt_cmd *cmd)
{
	return get_le32(cmd->sqe.cdw10) & 0xff;
}

static const struct nvme_tgt_subsys *subsys(const struct nvme_tgt_cmd *cmd)
{
	return nvme_tgt_queue_of(cmd)->ctrl->subsys;
}

uint32_t nvme_tgt_identify_check(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	uint32_t nsid = get_le32(cmd->sqe.nsid), csi = get_le32(cmd->sqe.cdw11) >> 24;

	*len = NVME_IDENTIFY_LEN;
	if (cns(cmd) == NVME_CNS_CTRL)
		return NVME_OK;
	if (nvme_tgt_is_discovery(nvme_tgt_queue_of(cmd)->ctrl))
		return NVME_INVALID_FIELD;
	switch (cns(cmd)) {
	case NVME_CNS_NS:
	case NVME_CNS_NS_DESC:
	case NVME_CNS_NS_INDEPENDENT:
		if (!nsid || nsid > subsys(cmd)->count)
			return NVME_INVALID_NS;
		cmd->ns = subsys(cmd)->ns[nsid - 1];
		return NVME_OK;
	case NVME_CNS_NS_LIST:
		return nsid >= NVME_NSID_ALL - 1 ? NVME_INVALID_NS : NVME_OK;
	case NVME_CNS_IO_CTRL:
		return csi == NVME_CSI_NVM ? NVME_OK : NVME_INVALID_FIELD;
	default:
		return NVME_INVALID_FIELD;
	}
}

/* Whether every disk supports it: the controller's data applies to all of them. */
static bool all_do(const struct nvme_tgt_subsys *s, enum io_kind kind)
{
	for (unsigned i = 0; i < s->count; i++)
		if (!s->ns[i]->disk->bdev->lim.max[kind])
			return false;
	return true;
}

static bool one_does(const struct nvme_tgt_subsys *s, enum io_kind kind)
{
	for (unsigned i = 0; i < s->count; i++)
		if (s->ns[i]->disk->bdev->lim.max[kind])
			return true;
	return false;
}

static void identify_ctrl(const struct nvme_tgt_cmd *cmd)
{
	const struct nvme_tgt_queue *queue = nvme_tgt_queue_of(cmd);
	const struct nvme_tgt_ctrl *ctrl = queue->ctrl;
	const struct nvme_tgt_subsys *s = ctrl->subsys;
	struct nvme_id_ctrl *id = (void *)cmd->base.p;
	struct nvme_ctrl_info info = {
		.model = "rdmastor",
		.firmware = FIRMWARE,
		.cntlid = ctrl->cntlid,
		.maxcmd = ctrl->target->base.opt.depth,
		.ver = NVME_TGT_VERSION,
		.cntrltype = s->count ? NVME_CTRL_IO : NVME_CTRL_DISCOVERY,
		.mdts = NVME_TGT_MDTS,
		.aerl = NVME_TGT_AERS - 1,
		.kas_ms = 100,
		.nn = s->count,
		.ctratt = NVME_CTRATT_HOSTID,
		.cqt_ms = NVME_TGT_CQT_MS,
		.ciu = ctrl->ciu,
		.cirn = nvme_tgt_cirn(ctrl->target, ctrl->cntlid, ctrl->ciu),
		.ccrl = s->count && ctrl->target->has_secret ? NVME_TGT_RESETS : 0,
		.cmic = s->count ? NVME_CMIC_MULTI | NVME_CMIC_ANA : 0,
		.sgls = 1 | NVME_SGLS_OFFSET |
			(nvme_tgt_carrier_of(queue)->trtype == NVMF_TRTYPE_RDMA ? NVME_SGLS_KEYED
										: 0),
		.oaes = s->count ? NVME_OAES_NS_ATTR | NVME_OAES_ANA : NVME_OAES_DISC_LOG,
		.capsule = (uint32_t)sizeof(struct nvme_sqe) + nvme_tgt_carrier_of(queue)->incap,
		.reply = sizeof(struct nvme_cqe),
	};

	if (s->count) {
		info.ctratt |= NVME_CTRATT_RHII;
		info.anatt = NVME_TGT_ANATT;
		info.anacap = NVME_ANACAP_STATES | NVME_ANACAP_STATIC;
		info.anagrpmax = info.nanagrpid = NVME_TGT_ANAGRPID;
		info.mnan = s->count;
		info.oncs = NVME_ONCS_COMPARE | NVME_ONCS_DSM | NVME_ONCS_RESERVATIONS |
			    (all_do(s, IO_ZERO) ? NVME_ONCS_WRITE_ZEROES : 0);
		info.vwc = one_does(s, IO_FLUSH) ? NVME_VWC_PRESENT | NVME_VWC_FLUSH_ALL : 0;
		snprintf(info.serial, sizeof(info.serial), "%s", s->ns[0]->conf->serial);
	} else {
		snprintf(info.serial, sizeof(info.serial), "discovery");
	}
	snprintf(info.subnqn, sizeof(info.subnqn), "%s", ctrl->subnqn);
	nvme_ctrl_put(id, &info);
	id->lpa = NVME_TGT_LPA;
	id->acl = NVME_TGT_ABORTS - 1;
	id->frmw = 3; /* one slot, read-only */
}

static void identify_ns(const struct nvme_tgt_cmd *cmd)
{
	const struct nvme_tgt_ns *ns = cmd->ns;
	const struct bdev_limits *lim = &ns->disk->bdev->lim;
	struct nvme_id_ns *id = (void *)cmd->base.p;
	struct nvme_ns_info info = { .blocks = target_disk_size(ns->disk) >> ns->shift,
		.shift = ns->shift,
		.ro = ns->disk->ro,
		.rescap = nvme_tgt_rescap(ns),
		.shared = true,
		.unused = nvme_tgt_ana_status(nvme_tgt_queue_of(cmd)->ctrl) != NVME_OK,
		.anagrpid = NVME_TGT_ANAGRPID };

	if (lim->best > lim->block && lim->best >> ns->shift <= 65536)
		info.best = lim->best >> ns->shift;
	/* deallocated blocks need not read as zero, so only Write Zeroes may deallocate */
	if (lim->max[IO_ZERO])
		info.dlfeat = NVME_DLFEAT_DEAC;
	memcpy(info.nguid, ns->conf->nguid, sizeof(info.nguid));
	nvme_ns_put(id, &info);
	if (info.best) {
		id->npwa = id->npwg;
		id->npdg = id->npda = id->npwg;
	}
}

static void identify_list(const struct nvme_tgt_cmd *cmd)
{
	le32 *list = (void *)cmd->base.p;
	uint32_t after = get_le32(cmd->sqe.nsid);

	memset(list, 0, NVME_IDENTIFY_LEN);
	for (uint32_t nsid = after + 1; nsid <= subsys(cmd)->count; nsid++)
		*list++ = put_le32(nsid);
}

static void identify_desc(const struct nvme_tgt_cmd *cmd)
{
	struct nvme_ns_ids ids = { .csi = NVME_CSI_NVM };

	memcpy(ids.uuid, cmd->ns->conf->uuid, sizeof(ids.uuid));
	memcpy(ids.nguid, cmd->ns->conf->nguid, sizeof(ids.nguid));
	nvme_ns_ids_put(cmd->base.p, &ids);
}

static void identify_independent(const struct nvme_tgt_cmd *cmd)
{
	struct nvme_id_ns_independent *id = (void *)cmd->base.p;

	memset(id, 0, sizeof(*id));
	id->nmic = NVME_NMIC_SHARED;
	id->rescap = nvme_tgt_rescap(cmd->ns);
	id->anagrpid = put_le32(NVME_TGT_ANAGRPID);
	id->nsattr = cmd->ns->disk->ro ? NVME_NSATTR_WP : 0;
	id->nstat = NVME_NSTAT_READY;
}

/* Trims of any length, and all ranges of a command, are split, so only the number of ranges is
 * limited. */
static void identify_nvm(const struct nvme_tgt_cmd *cmd)
{
	nvme_nvm_put((void *)cmd->base.p, &(struct nvme_nvm_info){ .dmrl = 0 });
}

void nvme_tgt_identify_work(struct nvme_tgt_cmd *cmd)
{
	switch (cns(cmd)) {
	case NVME_CNS_CTRL:
		identify_ctrl(cmd);
		break;
	case NVME_CNS_NS:
		identify_ns(cmd);
		break;
	case NVME_CNS_NS_LIST:
		identify_list(cmd);
		break;
	case NVME_CNS_NS_DESC:
		identify_desc(cmd);
		break;
	case NVME_CNS_NS_INDEPENDENT:
		identify_independent(cmd);
		break;
	default:
		identify_nvm(cmd);
	}
	nvme_tgt_cmd_worked(cmd, NVME_OK);
}
