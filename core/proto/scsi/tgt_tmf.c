/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The task manager (SAM-5 7). Aborted commands of the requesting nexus are dropped without a reply;
 * those of other nexuses end with TASK ABORTED. A write that the disk already has is not cancelled.
 * A function is answered once the aborted commands of its own nexus have ended and writes of other
 * nexuses are fenced: later commands are ordered behind them. */
#include "tgt.h"
#include <errno.h>

static bool meant(const struct scsi_tmf *tmf, const struct scsi_lu *lu, const struct scsi_cmd *cmd)
{
	if (!cmd->ran || !cmd->lu)
		return false;
	if (tmf->function == SCSI_TARGET_RESET || tmf->function == SCSI_NEXUS_RESET)
		return true;
	return cmd->lu == lu && (tmf->function != SCSI_ABORT_TASK || cmd->tag == tmf->tag);
}

/* End a command that has no request at the disk. */
static void end_now(struct scsi_cmd *cmd, bool answer)
{
	if (answer) {
		target_cmd_finish(&cmd->base, SCSI_TASK_ABORTED);
		return;
	}
	scsi_left(cmd);
	target_cmd_forget(&cmd->base);
}

static void abort_one(struct scsi_cmd *cmd, bool answer)
{
	struct target_cmd *base = &cmd->base;

	cmd->aborted = true;
	cmd->answer = answer;
	switch (base->state) {
	case TARGET_CMD_FETCH:
		scsi_wait_no_more(cmd);
		end_now(cmd, answer);
		break;
	case TARGET_CMD_LINE:
		end_now(cmd, answer);
		break;
	case TARGET_CMD_PULL:
		/* an earlier piece may have been written */
		if (!base->at && cmd->nexus->recall && cmd->nexus->recall(cmd)) {
			target_cmd_undue(base);
			base->state = TARGET_CMD_WORK;
			end_now(cmd, answer);
		}
		break;
	case TARGET_CMD_WORK:
		target_cmd_abort(base, SCSI_TASK_ABORTED);
		break;
	default: /* scsi_work() ends it before the next piece */
		break;
	}
}

void scsi_aborted(struct scsi_cmd *cmd)
{
	end_now(cmd, cmd->answer);
}

/* A task that was answered was not aborted. */
void scsi_tmf_answered(const struct scsi_cmd *cmd)
{
	struct scsi_tmf *tmf = cmd->nexus->tmfs;

	if (tmf->begun && tmf->function == SCSI_ABORT_TASK && tmf->tag == cmd->tag)
		tmf->answer = SCSI_TMF_NO_TASK;
}

/* Return the number of commands aborted. */
static unsigned abort_all(
	struct scsi_nexus *nexus, const struct scsi_tmf *tmf, const struct scsi_lu *lu, bool answer)
{
	unsigned count = 0;

	for (unsigned i = 0; i < nexus->conn->slots && !target_conn_gone(nexus->conn); i++) {
		struct scsi_cmd *cmd = scsi_cmd_of(target_cmd_at(nexus->conn, i));
		uint8_t state = cmd->base.state;

		if (state == TARGET_CMD_FREE || state == TARGET_CMD_REPLY ||
			state == TARGET_CMD_KEPT || (state == TARGET_CMD_FETCH && !cmd->waits) ||
			!meant(tmf, lu, cmd))
			continue;
		count++;
		abort_one(cmd, answer);
	}
	return count;
}

/* Return true while aborted commands of the nexus have not ended. */
static bool waits(const struct scsi_nexus *nexus)
{
	for (unsigned i = 0; i < nexus->conn->slots; i++) {
		const struct scsi_cmd *cmd = scsi_cmd_of(target_cmd_at(nexus->conn, i));

		if (cmd->base.state != TARGET_CMD_FREE && cmd->ran && cmd->aborted)
			return true;
	}
	return false;
}

static struct scsi_nexus *nexus_of(struct scsi_target *target, const struct target_conn *conn)
{
	struct scsi_nexus *nexus;

	pthread_mutex_lock(&target->lock);
	nexus = target->nexuses;
	while (nexus && nexus->conn != conn)
		nexus = nexus->next;
	pthread_mutex_unlock(&target->lock);
	return nexus;
}

/* On the other connection's loop. */
static bool reset_there(const struct target_fence *fence, const struct target_conn *conn)
{
	const struct scsi_nexus *nexus = container_of(fence, struct scsi_nexus, fence);
	struct scsi_target *target = nexus->target;
	struct scsi_nexus *other = nexus_of(target, conn);

	if (!other || other == nexus)
		return false;
	return abort_all(other, nexus->tmfs, scsi_lu_find(target, nexus->tmfs->lun), true);
}

static void reset_back(struct target_fence *fence)
{
	struct scsi_nexus *nexus = container_of(fence, struct scsi_nexus, fence);
	const struct scsi_tmf *tmf = nexus->tmfs;
	struct scsi_target *target = nexus->target;

	for (unsigned i = 0; i < target->lus; i++) {
		if (tmf->function != SCSI_TARGET_RESET &&
			&target->lu[i] != scsi_lu_find(target, tmf->lun))
			continue;
		pthread_mutex_lock(&target->lock);
		scsi_reserve_end(&target->lu[i], NULL);
		pthread_mutex_unlock(&target->lock);
		scsi_ua_post(&target->lu[i], UA_RESET, NULL);
	}
	nexus->fencing = false;
	loop_work_add(nexus->conn->loop, &nexus->tmf_turn);
	target_conn_wake(nexus->conn);
}

/* PREEMPT AND ABORT: abort the commands of initiators whose registration was removed. */
static bool preempt_there(const struct target_fence *fence, const struct target_conn *conn)
{
	static const struct scsi_tmf all = { .function = SCSI_ABORT_TASK_SET };
	const struct scsi_nexus *nexus = container_of(fence, struct scsi_nexus, preempt);
	const struct scsi_lu *lu = nexus->preempting->lu;
	struct scsi_nexus *other = nexus_of(nexus->target, conn);
	uint32_t bit = 1u << lu->index;

	if (!other || !(__atomic_fetch_and(&other->preempted, ~bit, __ATOMIC_ACQ_REL) & bit))
		return false;
	return abort_all(other, &all, lu, true);
}

static void preempt_back(struct target_fence *fence)
{
	struct scsi_nexus *nexus = container_of(fence, struct scsi_nexus, preempt);
	struct scsi_cmd *cmd = nexus->preempting;

	nexus->preempting = NULL;
	target_conn_wake(nexus->conn);
	scsi_worked(cmd, 0);
}

void scsi_preempt_abort(struct scsi_cmd *cmd)
{
	struct scsi_nexus *nexus = cmd->nexus;

	nexus->preempting = cmd;
	nexus->preempt = (struct target_fence){
		.same = preempt_there, .back = preempt_back, .home = nexus->conn->loop
	};
	target_fence(nexus->conn->target, &nexus->preempt);
}

static void begin_tmf(struct scsi_nexus *nexus, struct scsi_tmf *tmf)
{
	const struct scsi_lu *lu = scsi_lu_find(nexus->target, tmf->lun);

	tmf->begun = true;
	if (tmf->function == SCSI_CLEAR_ACA || tmf->function > SCSI_NEXUS_RESET) {
		tmf->answer = SCSI_TMF_UNSUPPORTED;
		return;
	}
	if (!lu && tmf->function != SCSI_TARGET_RESET && tmf->function != SCSI_NEXUS_RESET) {
		tmf->answer = SCSI_TMF_NO_LUN;
		return;
	}
	tmf->answer = SCSI_TMF_DONE;
	if (!abort_all(nexus, tmf, lu, false) && tmf->function == SCSI_ABORT_TASK)
		tmf->answer = SCSI_TMF_NO_TASK;
	if (tmf->function == SCSI_LUN_RESET || tmf->function == SCSI_TARGET_RESET) {
		nexus->fence = (struct target_fence){
			.same = reset_there, .back = reset_back, .home = nexus->conn->loop
		};
		nexus->fencing = true;
		target_fence(nexus->conn->target, &nexus->fence);
	}
}

/* Runs at the end of a turn in which a function arrived or an aborted command ended. */
void scsi_tmf_turn(struct loop_work *work)
{
	struct scsi_nexus *nexus = container_of(work, struct scsi_nexus, tmf_turn);
	struct scsi_tmf *tmf;

	while (!target_conn_gone(nexus->conn) && (tmf = nexus->tmfs)) {
		if (!tmf->begun)
			begin_tmf(nexus, tmf);
		if (nexus->fencing || waits(nexus))
			return;
		nexus->tmfs = tmf->next;
		tmf->done(tmf);
	}
}

void scsi_tmf(struct scsi_nexus *nexus, struct scsi_tmf *tmf)
{
	struct scsi_tmf **end = &nexus->tmfs;

	while (*end)
		end = &(*end)->next;
	tmf->next = NULL;
	tmf->begun = false;
	*end = tmf;
	loop_work_add(nexus->conn->loop, &nexus->tmf_turn);
}

bool scsi_nexus_busy(const struct scsi_nexus *nexus)
{
	return nexus && (nexus->fencing || nexus->preempting);
}
