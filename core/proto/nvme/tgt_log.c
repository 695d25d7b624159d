/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Log pages (Base 2.1, 5.1.12), from any offset; what is beyond their end reads as zeroes.
 * tgt_disc.c builds the discovery log. */
#include "tgt.h"

static uint32_t cdw(le32 value)
{
	return get_le32(value);
}

static uint64_t log_len(const struct nvme_tgt_cmd *cmd)
{
	bool discovery = nvme_tgt_is_discovery(nvme_tgt_queue_of(cmd)->ctrl);

	switch (cdw(cmd->sqe.cdw10) & 0xff) {
	case NVME_LOG_ERROR:
		return sizeof(struct nvme_error_entry);
	case NVME_LOG_SMART:
		return discovery ? 0 : sizeof(struct nvme_smart);
	case NVME_LOG_FIRMWARE:
		return discovery ? 0 : sizeof(struct nvme_firmware_log);
	case NVME_LOG_CHANGED_NS:
	case NVME_LOG_CROSS_RESET: /* always empty: each is answered when it is over */
		return discovery ? 0 : NVME_IDENTIFY_LEN;
	case NVME_LOG_RESERVATION:
		return discovery ? 0 : sizeof(struct nvme_reserve_log);
	case NVME_LOG_ANA:
		return discovery ? 0 : nvme_tgt_ana_len(nvme_tgt_queue_of(cmd)->ctrl);
	case NVME_LOG_DISCOVERY:
		return discovery ? nvme_tgt_disc_len(cmd) : 0;
	default:
		return 0;
	}
}

uint32_t nvme_tgt_log_check(struct nvme_tgt_cmd *cmd, uint32_t *len)
{
	uint64_t dwords = (cdw(cmd->sqe.cdw10) >> 16 | (uint64_t)(cdw(cmd->sqe.cdw11) & 0xffff)
							       << 16) +
			  1,
		 all = log_len(cmd);

	cmd->log_off = cdw(cmd->sqe.cdw12) | (uint64_t)cdw(cmd->sqe.cdw13) << 32;
	if (!all)
		return NVME_INVALID_LOG;
	if (dwords * 4 > NVME_TGT_MAX_DATA || cmd->log_off % 4 || cmd->log_off > all)
		return NVME_INVALID_FIELD;
	*len = (uint32_t)(dwords * 4);
	return NVME_OK;
}

static void counter(uint8_t to[16], uint64_t value)
{
	wire_put_le(to, 8, value);
}

static void smart(const struct nvme_tgt_cmd *cmd, struct nvme_smart *log)
{
	struct io_count sum;

	target_get_count(cmd->base.conn->target, &sum);
	log->spare = 100;
	log->spare_threshold = 10;
	/* kelvins: unknown, but many tools would take 0 for an alarm */
	wire_put_le(log->temperature, 2, 300);
	counter(log->units_read, (sum.read_bytes + 511999) / 512000);
	counter(log->units_written, (sum.written_bytes + 511999) / 512000);
	counter(log->reads, sum.reads);
	counter(log->writes, sum.writes);
}

static void changed(const struct nvme_tgt_cmd *cmd, uint8_t page[NVME_IDENTIFY_LEN])
{
	le32 *list = (void *)page;

	for (uint32_t bits = nvme_tgt_queue_of(cmd)->ctrl->changed; bits; bits &= bits - 1)
		*list++ = put_le32((uint32_t)__builtin_ctz(bits) + 1);
}

/* All logs except the discovery log fit into a page. */
static void small_log(const struct nvme_tgt_cmd *cmd, uint8_t page[NVME_IDENTIFY_LEN])
{
	struct nvme_firmware_log *firmware = (void *)page;

	memset(page, 0, NVME_IDENTIFY_LEN);
	switch (cdw(cmd->sqe.cdw10) & 0xff) {
	case NVME_LOG_SMART:
		smart(cmd, (void *)page);
		break;
	case NVME_LOG_FIRMWARE:
		firmware->afi = 1;
		memcpy(firmware->frs[0], "rdmastor", sizeof(firmware->frs[0]));
		break;
	case NVME_LOG_CHANGED_NS:
		changed(cmd, page);
		break;
	case NVME_LOG_RESERVATION:
		nvme_tgt_notes_page(nvme_tgt_queue_of(cmd)->ctrl, (void *)page);
		break;
	case NVME_LOG_ANA:
		nvme_tgt_ana_log(
			nvme_tgt_queue_of(cmd)->ctrl, cdw(cmd->sqe.cdw10) & NVME_LOG_ANA_RGO, page);
		break;
	default:
		break;
	}
}

/* Reading a log to its end re-arms its event, unless the host asks to retain it. */
static void was_read(struct nvme_tgt_cmd *cmd)
{
	struct nvme_tgt_ctrl *ctrl = nvme_tgt_queue_of(cmd)->ctrl;
	uint32_t dw10 = cdw(cmd->sqe.cdw10);

	if (dw10 & NVME_LOG_RAE)
		return;
	if ((dw10 & 0xff) == NVME_LOG_CHANGED_NS) {
		ctrl->changed = 0;
		nvme_tgt_ctrl_unmask(ctrl, NVME_EVENT_NS_ATTR);
	} else if ((dw10 & 0xff) == NVME_LOG_RESERVATION) {
		ctrl->due |= nvme_tgt_notes_read(ctrl) ? NVME_TGT_EVENT_NOTE : 0;
		nvme_tgt_ctrl_unmask(ctrl, NVME_TGT_EVENT_NOTE);
	} else if ((dw10 & 0xff) == NVME_LOG_ANA) {
		nvme_tgt_ctrl_unmask(ctrl, NVME_EVENT_ANA);
	} else if ((dw10 & 0xff) == NVME_LOG_DISCOVERY) {
		nvme_tgt_ctrl_unmask(ctrl, NVME_EVENT_DISC_LOG);
	}
}

void nvme_tgt_log_work(struct nvme_tgt_cmd *cmd)
{
	struct target_cmd *base = &cmd->base;
	uint64_t off = cmd->log_off + base->at;
	uint8_t page[NVME_IDENTIFY_LEN];
	uint64_t have;

	if ((cdw(cmd->sqe.cdw10) & 0xff) == NVME_LOG_DISCOVERY) {
		nvme_tgt_disc_page(cmd, off, base->p, base->piece);
	} else {
		small_log(cmd, page);
		have = off < sizeof(page) ? sizeof(page) - off : 0;
		if (have > base->piece)
			have = base->piece;
		memcpy(base->p, page + (have ? off : 0), have);
		memset(base->p + have, 0, base->piece - have);
	}
	if (base->at + base->piece == base->data_len)
		was_read(cmd);
	nvme_tgt_cmd_worked(cmd, NVME_OK);
}
