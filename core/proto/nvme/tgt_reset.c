/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Cross-Controller Reset (Base 2.3, 5.4.3): a host that has lost the path to one of its controllers
 * ends it by another one. From the admin queue to the target's loop, where the controllers are. Its
 * queues end; the answer follows once nothing of it is at a disk, so no write of it is executed
 * later. */
#include "tgt.h"
#include <mbedtls/sha256.h>
#include <sys/random.h>

void nvme_tgt_reset_init(struct nvme_target *target)
{
	target->has_secret = getrandom(target->secret, sizeof(target->secret), GRND_NONBLOCK) ==
			     sizeof(target->secret);
}

/* Recognizes also a controller that has ended. */
uint64_t nvme_tgt_cirn(const struct nvme_target *target, uint16_t cntlid, uint8_t ciu)
{
	uint8_t text[sizeof(target->secret) + 3], digest[32];
	uint64_t cirn = 0;

	memcpy(text, target->secret, sizeof(target->secret));
	wire_put_le(text + sizeof(target->secret), 2, cntlid);
	text[sizeof(target->secret) + 2] = ciu;
	if (target->has_secret && !mbedtls_sha256(text, sizeof(text), digest, 0))
		memcpy(&cirn, digest, sizeof(cirn));
	return cirn;
}

static void answer(struct loop_msg *msg)
{
	struct nvme_tgt_reset *reset = container_of(msg, struct nvme_tgt_reset, hop);
	struct nvme_tgt_cmd *cmd = reset->cmd;

	reset->cmd = NULL;
	nvme_tgt_cmd_result(cmd, reset->result);
	nvme_tgt_cmd_worked(cmd, reset->status);
}

static void send_back(struct nvme_tgt_reset *reset, uint32_t status, uint32_t result)
{
	reset->status = status;
	reset->result = result;
	reset->hop.run = answer;
	loop_post(reset->cmd->base.conn->loop, &reset->hop);
}

static void remove_reset(struct nvme_target *target, const struct nvme_tgt_reset *reset)
{
	struct nvme_tgt_reset **at = &target->resets;

	while (*at != reset)
		at = &(*at)->next;
	*at = reset->next;
}

/* A disk is stuck, or a reset of this controller by the other one is under way. */
static void expired(struct loop_timer *timer)
{
	struct nvme_tgt_reset *reset = container_of(timer, struct nvme_tgt_reset, limit);

	remove_reset(reset->target, reset);
	send_back(reset, NVME_INTERNAL, 0);
}

void nvme_tgt_reset_ended(struct nvme_target *target, uint16_t cntlid)
{
	struct nvme_tgt_reset *reset = target->resets, *next;

	for (; reset; reset = next) {
		next = reset->next;
		if (reset->cntlid != cntlid)
			continue;
		remove_reset(target, reset);
		loop_timer_del(target->base.loop, &reset->limit);
		send_back(reset, NVME_OK,
			NVME_CROSS_RESET_DONE | NVME_CROSS_RESET_VALID | NVME_CROSS_RESET_BEGUN);
	}
}

static bool same_host(const struct nvme_tgt_ctrl *one, const struct nvme_tgt_ctrl *other)
{
	return one->subsys == other->subsys && !strcmp(one->hostnqn, other->hostnqn) &&
	       !memcmp(one->hostid, other->hostid, sizeof(one->hostid));
}

static void find_controller(struct loop_msg *msg)
{
	struct nvme_tgt_reset *reset = container_of(msg, struct nvme_tgt_reset, hop);
	const struct nvme_tgt_ctrl *ctrl = nvme_tgt_queue_of(reset->cmd)->bound;
	const struct nvme_sqe *sqe = &reset->cmd->sqe;
	uint8_t ciu = (uint8_t)(get_le32(sqe->cdw10) >> 16);
	uint64_t cirn = get_le32(sqe->cdw12) | (uint64_t)get_le32(sqe->cdw13) << 32;
	struct nvme_target *target = ctrl->target;
	struct nvme_tgt_ctrl *other;

	reset->target = target;
	reset->cntlid = (uint16_t)get_le32(sqe->cdw10);
	other = nvme_tgt_ctrl_find(target, reset->cntlid, ciu);
	if (!cirn || cirn != nvme_tgt_cirn(target, reset->cntlid, ciu) || other == ctrl ||
		(other && !same_host(other, ctrl))) {
		send_back(reset, NVME_INVALID_FIELD, 0);
		return;
	}
	if (!other) {
		send_back(reset, NVME_OK, NVME_CROSS_RESET_DONE | NVME_CROSS_RESET_VALID);
		return;
	}
	reset->next = target->resets;
	target->resets = reset;
	reset->limit.fire = expired;
	loop_timer_set(target->base.loop, &reset->limit, loop_clock() + NVME_TGT_RESET_MS * MSEC);
	nvme_tgt_ctrl_cut(other);
}

void nvme_tgt_cross_reset(struct nvme_tgt_cmd *cmd)
{
	struct nvme_tgt_ctrl *ctrl = nvme_tgt_queue_of(cmd)->ctrl;
	struct nvme_tgt_reset *reset = ctrl->cross;

	while (reset < ctrl->cross + NVME_TGT_RESETS && reset->cmd)
		reset++;
	if (reset == ctrl->cross + NVME_TGT_RESETS) {
		nvme_tgt_cmd_worked(cmd, NVME_CROSS_RESET_LIMIT);
		return;
	}
	*reset = (struct nvme_tgt_reset){ .hop.run = find_controller, .cmd = cmd };
	loop_post(ctrl->target->base.loop, &reset->hop);
}
