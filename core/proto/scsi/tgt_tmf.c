/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The task manager (SAM-5 7). Aborted commands of the requesting nexus are dropped without a reply;
 * those of other nexuses end with TASK ABORTED. A write that is at the disk is not cancelled. A
 * function is answered once the affected commands have ended on all connections of its initiator
 * port, which may then reuse their memory, and writes of other ports are fenced: later commands are
 * ordered after them. */
#include "tgt.h"
#include <errno.h>

#define LOOK_MS 5 /* poll for commands with replies or data in flight */

static bool is_affected(
	const struct scsi_tmf *tmf, const struct scsi_lu *lu, const struct scsi_cmd *cmd)
{
	if (!cmd->lu)
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
	scsi_leave_task_set(cmd);
	target_cmd_forget(&cmd->base);
}

static void abort_one(struct scsi_cmd *cmd, bool answer)
{
	struct target_cmd *base = &cmd->base;

	cmd->aborted = true;
	cmd->reply_abort = answer;
	switch (base->state) {
	case TARGET_CMD_RECEIVING:
		scsi_unqueue(cmd);
		end_now(cmd, answer);
		break;
	case TARGET_CMD_WAIT_BUFFER:
		end_now(cmd, answer);
		break;
	case TARGET_CMD_PULL:
		/* an earlier piece may have been written */
		if (!base->at && cmd->nexus->recall && cmd->nexus->recall(cmd)) {
			target_cmd_disarm_timeout(base);
			base->state = TARGET_CMD_WORK;
			end_now(cmd, answer);
		}
		break;
	case TARGET_CMD_WORK:
		if (!target_cmd_abort(base, SCSI_TASK_ABORTED) && answer)
			target_cmd_stop(base);
		break;
	default: /* scsi_work() ends it before the next piece */
		break;
	}
}

void scsi_aborted(struct scsi_cmd *cmd)
{
	end_now(cmd, cmd->reply_abort);
}

/* A task that was answered was not aborted. */
void scsi_tmf_answered(const struct scsi_cmd *cmd)
{
	struct scsi_tmf *tmf = cmd->nexus->tmfs;

	if (tmf->started && tmf->function == SCSI_ABORT_TASK && tmf->tag == cmd->tag)
		tmf->answer = SCSI_TMF_NO_TASK;
}

/* Return the number of commands aborted. Commands that are being answered are only waited for. A
 * closed connection has only requests at the disk. */
static unsigned abort_all(
	struct scsi_nexus *nexus, const struct scsi_tmf *tmf, const struct scsi_lu *lu, bool answer)
{
	unsigned count = 0;

	for (unsigned i = 0; i < nexus->conn->prepared; i++) {
		struct scsi_cmd *cmd = scsi_cmd_of(target_cmd_at(nexus->conn, i));
		uint8_t state = cmd->base.state;

		if (state == TARGET_CMD_FREE || state == TARGET_CMD_PARKED ||
			(state == TARGET_CMD_RECEIVING && !cmd->queued) ||
			!is_affected(tmf, lu, cmd))
			continue;
		if (target_conn_is_closing(nexus->conn)) {
			if (answer)
				target_cmd_stop(&cmd->base);
		} else if (state == TARGET_CMD_REPLY) {
			cmd->aborted = true;
		} else if (cmd->active) {
			count++;
			abort_one(cmd, answer);
		}
	}
	return count;
}

/* Return true while the nexus has aborted commands that have not ended. */
static bool has_aborting(const struct scsi_nexus *nexus)
{
	for (unsigned i = 0; i < nexus->conn->prepared; i++) {
		const struct scsi_cmd *cmd = scsi_cmd_of(target_cmd_at(nexus->conn, i));
		uint8_t state = cmd->base.state;

		if (cmd->aborted &&
			(state == TARGET_CMD_REPLY || (state != TARGET_CMD_FREE && cmd->active)))
			return true;
	}
	return false;
}

static struct scsi_nexus *nexus_of(struct scsi_target *target, const struct target_conn *conn)
{
	struct scsi_nexus *nexus;

	pthread_mutex_lock(&scsi_lock);
	nexus = target->nexuses;
	while (nexus && nexus->conn != conn)
		nexus = nexus->next;
	pthread_mutex_unlock(&scsi_lock);
	return nexus;
}

static bool resets(const struct scsi_tmf *tmf)
{
	return tmf->function == SCSI_LUN_RESET || tmf->function == SCSI_TARGET_RESET;
}

/* Runs on the other connection's loop: of any initiator port for a reset, of the same port for
 * other functions. */
static bool abort_there(const struct target_fence *fence, const struct target_conn *conn)
{
	struct scsi_nexus *nexus =
		container_of((struct target_fence *)(uintptr_t)fence, struct scsi_nexus, fence);
	const struct scsi_tmf *tmf = nexus->tmfs;
	struct scsi_target *target = nexus->target;
	struct scsi_nexus *other = nexus_of(target, conn);
	bool same = other && scsi_same_port(other, nexus);
	bool any = false;

	if (!other || other == nexus)
		return false;
	if (!nexus->repeat_fence && (same || resets(tmf)))
		any = abort_all(other, tmf, scsi_lu_find(target, tmf->lun), true);
	nexus->others_busy |= same && has_aborting(other);
	return any;
}

static void fence_done(struct target_fence *fence)
{
	struct scsi_nexus *nexus = container_of(fence, struct scsi_nexus, fence);
	const struct scsi_tmf *tmf = nexus->tmfs;
	struct scsi_target *target = nexus->target;

	for (unsigned i = 0; resets(tmf) && !nexus->repeat_fence && i < target->lus; i++) {
		if (tmf->function != SCSI_TARGET_RESET &&
			&target->lu[i] != scsi_lu_find(target, tmf->lun))
			continue;
		reservation_reset_6(target->lu[i].reservations);
		scsi_ua_post(&target->lu[i], UA_RESET);
	}
	nexus->fencing = false;
	nexus->repeat_fence = nexus->others_busy;
	loop_work_add(nexus->conn->loop, &nexus->tmf_turn);
	target_conn_wake(nexus->conn);
}

static void send_round(struct scsi_nexus *nexus)
{
	nexus->fence = (struct target_fence){
		.match = abort_there, .done = fence_done, .home = nexus->conn->loop
	};
	nexus->others_busy = false;
	nexus->fencing = true;
	target_fence(nexus->conn->target, &nexus->fence);
}

bool scsi_preempted(struct scsi_nexus *nexus, const struct bdev *bdev)
{
	static const struct scsi_tmf all = { .function = SCSI_ABORT_TASK_SET };
	unsigned count = 0;

	for (unsigned i = 0; nexus && i < nexus->target->lus; i++) {
		struct scsi_lu *lu = &nexus->target->lu[i];

		if (lu->bdev == bdev && __atomic_exchange_n(&nexus->itl[i].member.preempted, false,
						__ATOMIC_ACQ_REL))
			count += abort_all(nexus, &all, lu, true);
	}
	return count;
}

static void begin_tmf(struct scsi_nexus *nexus, struct scsi_tmf *tmf)
{
	const struct scsi_lu *lu = scsi_lu_find(nexus->target, tmf->lun);

	tmf->started = true;
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
	if (tmf->function != SCSI_ABORT_TASK)
		send_round(nexus);
}

/* Runs at the end of a turn in which a function arrived or an aborted command ended. */
void scsi_tmf_turn(struct loop_work *work)
{
	struct scsi_nexus *nexus = container_of(work, struct scsi_nexus, tmf_turn);
	struct scsi_tmf *tmf;

	while (!target_conn_is_closing(nexus->conn) && (tmf = nexus->tmfs) && !nexus->fencing) {
		if (!tmf->started)
			begin_tmf(nexus, tmf);
		if (nexus->fencing)
			return;
		if (nexus->repeat_fence || has_aborting(nexus)) {
			loop_timer_set(nexus->conn->loop, &nexus->tmf_poll,
				loop_now(nexus->conn->loop) + LOOK_MS * MSEC);
			return;
		}
		nexus->tmfs = tmf->next;
		tmf->done(tmf);
	}
}

void scsi_tmf_poll(struct loop_timer *timer)
{
	struct scsi_nexus *nexus = container_of(timer, struct scsi_nexus, tmf_poll);

	if (nexus->repeat_fence && !nexus->fencing && !target_conn_is_closing(nexus->conn))
		send_round(nexus);
	else
		loop_work_add(nexus->conn->loop, &nexus->tmf_turn);
}

void scsi_tmf(struct scsi_nexus *nexus, struct scsi_tmf *tmf)
{
	struct scsi_tmf **end = &nexus->tmfs;

	while (*end)
		end = &(*end)->next;
	tmf->next = NULL;
	tmf->started = false;
	*end = tmf;
	loop_work_add(nexus->conn->loop, &nexus->tmf_turn);
}

bool scsi_nexus_busy(const struct scsi_nexus *nexus)
{
	return nexus && nexus->fencing;
}
