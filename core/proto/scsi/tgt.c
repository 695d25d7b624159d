/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A SCSI target: logical units, nexuses, unit attentions; the order in which a nexus's commands
 * start (SAM-5 8); status, sense data and residual of each. */
#include "tgt.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

pthread_mutex_t scsi_lock = PTHREAD_MUTEX_INITIALIZER;

int scsi_target_new(
	struct scsi_target **out, const struct scsi_target_conf *conf, struct diag *diag)
{
	struct scsi_target *target = calloc(1, sizeof(*target));

	if (!target)
		return diag_sys(diag, ENOMEM, "SCSI target");
	target->protocol = conf->protocol;
	memcpy(target->device_name, conf->device_name, sizeof(target->device_name));
	for (; target->lus < conf->luns; target->lus++) {
		struct scsi_lu *lu = &target->lu[target->lus];

		*lu = (struct scsi_lu){ .target = target,
			.disk = conf->lun[target->lus].disk,
			.bdev = conf->lun[target->lus].opt->bdev,
			.index = (uint8_t)target->lus };
		lu->shift = (uint8_t)__builtin_ctz(lu->bdev->lim.block);
		memcpy(lu->nguid, conf->lun[target->lus].opt->nguid, sizeof(lu->nguid));
		memcpy(lu->serial, conf->lun[target->lus].opt->serial, sizeof(lu->serial));
		lu->reservations = reservations_get(lu->bdev);
		if (!lu->reservations) {
			scsi_target_free(target);
			return diag_sys(diag, ENOMEM, "reservations");
		}
	}
	*out = target;
	return 0;
}

void scsi_target_free(struct scsi_target *target)
{
	if (!target)
		return;
	assert(!target->nexuses);
	for (unsigned i = 0; i < target->lus; i++)
		reservations_put(target->lu[i].reservations);
	free(target);
}

/* Accept single-level LUNs, in peripheral device or flat space addressing (SAM-5 4.7.7). */
struct scsi_lu *scsi_lu_find(struct scsi_target *target, const uint8_t lun[8])
{
	unsigned method = lun[0] >> 6, number = (lun[0] & 0x3fu) << 8 | lun[1];

	for (unsigned i = 2; i < 8; i++)
		if (lun[i])
			return NULL;
	if (method > 1 || (!method && number > 0xff) || number >= target->lus)
		return NULL;
	return &target->lu[number];
}

void scsi_ua_post(const struct scsi_lu *lu, enum scsi_ua ua)
{
	struct scsi_target *target = lu->target;

	pthread_mutex_lock(&scsi_lock);
	for (struct scsi_nexus *nexus = target->nexuses; nexus; nexus = nexus->next)
		__atomic_fetch_or(&nexus->ua[lu->index], 1u << ua, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&scsi_lock);
}

uint32_t scsi_ua_take(struct scsi_nexus *nexus, const struct scsi_lu *lu)
{
	static const uint32_t status[UA_COUNT] = {
		[UA_POWER_ON] = SCSI_CHECK(KEY_ATTENTION, 0x29, 0x00),
		[UA_RESET] = SCSI_CHECK(KEY_ATTENTION, 0x29, 0x03),
		[UA_CAPACITY] = SCSI_CHECK(KEY_ATTENTION, 0x2a, 0x09),
		[UA_ACCESS] = SCSI_CHECK(KEY_ATTENTION, 0x2a, 0x06),
		[UA_PREEMPTED] = SCSI_CHECK(KEY_ATTENTION, 0x2a, 0x03),
		[UA_RELEASED] = SCSI_CHECK(KEY_ATTENTION, 0x2a, 0x04),
		[UA_REGISTRATIONS] = SCSI_CHECK(KEY_ATTENTION, 0x2a, 0x05),
	};
	uint32_t *pending = &nexus->ua[lu->index];
	unsigned first, bits = __atomic_load_n(pending, __ATOMIC_ACQUIRE);

	if (__builtin_expect(!bits, 1))
		return 0;
	pthread_mutex_lock(&scsi_lock);
	bits = __atomic_load_n(pending, __ATOMIC_RELAXED);
	first = bits ? (unsigned)__builtin_ctz(bits) : UA_COUNT;
	/* report it once, on any of the connections between both ports */
	for (struct scsi_nexus *each = nexus->target->nexuses; bits && each; each = each->next)
		if (scsi_same_ports(each, nexus))
			__atomic_fetch_and(&each->ua[lu->index], ~(1u << first), __ATOMIC_RELEASE);
	pthread_mutex_unlock(&scsi_lock);
	return bits ? status[first] : 0;
}

void scsi_target_resized(struct scsi_target *target, const struct target_disk *disk)
{
	for (unsigned i = 0; i < target->lus; i++)
		if (target->lu[i].disk == disk)
			scsi_ua_post(&target->lu[i], UA_CAPACITY);
}

static void start_cmd(struct scsi_nexus *nexus, struct scsi_cmd *cmd)
{
	unsigned i = cmd->lu->index;

	cmd->in_task_set = true;
	nexus->set[i].running++;
	nexus->set[i].ordered += cmd->attr == SCSI_ORDERED;
	target_cmd_run(&cmd->base);
}

static bool may_start(const struct scsi_nexus *nexus, const struct scsi_cmd *cmd)
{
	unsigned i = cmd->lu->index;

	return cmd->attr == SCSI_HEAD ||
	       (!nexus->set[i].ordered && (cmd->attr != SCSI_ORDERED || !nexus->set[i].running));
}

/* Start queued commands. Runs at the end of a turn of the loop. */
static void start_queued(struct loop_work *work)
{
	struct scsi_nexus *nexus = container_of(work, struct scsi_nexus, turn);

	for (unsigned i = 0; i < nexus->target->lus; i++) {
		struct scsi_cmd *cmd;

		while (!target_conn_is_closing(nexus->conn) && (cmd = nexus->set[i].queue) &&
			may_start(nexus, cmd)) {
			nexus->set[i].queue = cmd->next_queued;
			if (!cmd->next_queued)
				nexus->set[i].queue_end = &nexus->set[i].queue;
			cmd->queued = false;
			start_cmd(nexus, cmd);
		}
	}
}

void scsi_run(struct scsi_cmd *cmd)
{
	struct scsi_nexus *nexus = cmd->nexus;
	struct scsi_lu *lu = scsi_lu_find(nexus->target, cmd->lun);

	cmd->lu = lu;
	cmd->op = NULL;
	cmd->next_queued = NULL;
	cmd->off = cmd->len = cmd->done = 0;
	cmd->transfer_len = cmd->info = 0;
	cmd->from = cmd->to = NULL;
	cmd->range = cmd->ranges = 0;
	cmd->fua = cmd->in_task_set = cmd->info_valid = false;
	cmd->queued = cmd->aborted = cmd->reply_abort = false;
	cmd->active = true;
	if (!lu) {
		target_cmd_run(&cmd->base);
	} else if ((!nexus->set[lu->index].queue || cmd->attr == SCSI_HEAD) &&
		   may_start(nexus, cmd)) {
		start_cmd(nexus, cmd);
	} else {
		cmd->queued = true;
		*nexus->set[lu->index].queue_end = cmd;
		nexus->set[lu->index].queue_end = &cmd->next_queued;
	}
}

void scsi_unqueue(struct scsi_cmd *cmd)
{
	struct scsi_nexus *nexus = cmd->nexus;
	unsigned i = cmd->lu->index;
	struct scsi_cmd **at = &nexus->set[i].queue;

	while (*at != cmd)
		at = &(*at)->next_queued;
	*at = cmd->next_queued;
	if (!*at)
		nexus->set[i].queue_end = at;
	cmd->queued = false;
	loop_work_add(nexus->conn->loop, &nexus->turn);
}

void scsi_leave_task_set(struct scsi_cmd *cmd)
{
	struct scsi_nexus *nexus = cmd->nexus;
	unsigned i;

	cmd->active = false;
	if (nexus->tmfs)
		loop_work_add(nexus->conn->loop, &nexus->tmf_turn);
	if (!cmd->in_task_set)
		return;
	i = cmd->lu->index;
	cmd->in_task_set = false;
	nexus->set[i].running--;
	nexus->set[i].ordered -= cmd->attr == SCSI_ORDERED;
	if (nexus->set[i].queue)
		loop_work_add(nexus->conn->loop, &nexus->turn);
}

void scsi_sense_put(uint8_t sense[SCSI_SENSE], uint32_t status)
{
	memset(sense, 0, SCSI_SENSE);
	sense[0] = 0x70;
	sense[2] = (uint8_t)(status >> 8);
	sense[7] = SCSI_SENSE - 8;
	sense[12] = (uint8_t)(status >> 16);
	sense[13] = (uint8_t)(status >> 24);
}

/* Compare the length in the CDB with that of the transport, not with the data transferred. */
static void count_residual(struct scsi_cmd *cmd)
{
	uint32_t room = cmd->base.flags & TARGET_IN ? cmd->expected_in : cmd->expected_out;

	if (!(cmd->base.flags & (TARGET_IN | TARGET_OUT)))
		room = cmd->expected_in ? cmd->expected_in : cmd->expected_out;
	cmd->overflow = cmd->transfer_len > room;
	cmd->residual = cmd->overflow ? cmd->transfer_len - room : room - cmd->transfer_len;
}

void scsi_complete(struct scsi_cmd *cmd, uint32_t status)
{
	if (cmd->aborted && cmd->nexus->tmfs)
		scsi_tmf_answered(cmd);
	scsi_leave_task_set(cmd);
	cmd->status = (uint8_t)status;
	cmd->sense_len = 0;
	if (status >> 8) {
		cmd->sense_len = SCSI_SENSE;
		scsi_sense_put(cmd->sense, status);
		if (cmd->info_valid) {
			cmd->sense[0] |= 0x80;
			wire_put_be(cmd->sense + 3, 4, cmd->info);
		}
	}
	count_residual(cmd);
}

/* Copy the unit attentions of the other connections between both ports. Under scsi_lock. */
static void share_ua(struct scsi_nexus *nexus)
{
	for (const struct scsi_nexus *each = nexus->target->nexuses; each; each = each->next)
		if (scsi_same_ports(each, nexus)) {
			for (unsigned i = 0; i < nexus->target->lus; i++)
				nexus->ua[i] = __atomic_load_n(&each->ua[i], __ATOMIC_RELAXED);
			return;
		}
}

int scsi_nexus_new(struct scsi_nexus **out, const struct scsi_nexus_conf *conf, struct diag *diag)
{
	struct scsi_target *target = conf->target;
	struct scsi_nexus *nexus = calloc(1, sizeof(*nexus));

	/* half a buffer must hold the largest block, a buffer must hold SCSI_ANSWER */
	assert(conf->conn->target->opt.buffer >= 131072);
	if (!nexus)
		return diag_sys(diag, ENOMEM, "SCSI nexus");
	nexus->target = target;
	nexus->conn = conf->conn;
	nexus->recall = conf->recall;
	nexus->group = target_port_group(conf->conn->target, conf->conn->port);
	nexus->port = (struct reservation_host){ .protocol = RESERVATION_SCSI,
		.target_port = nexus->group,
		.id_len = conf->id_len,
		.name_at = conf->name_at,
		.name_len = conf->name_len };
	memcpy(nexus->port.id, conf->id, sizeof(conf->id));
	nexus->turn.run = start_queued;
	nexus->tmf_turn.run = scsi_tmf_turn;
	nexus->tmf_poll.fire = scsi_tmf_poll;
	for (unsigned i = 0; i < target->lus; i++) {
		nexus->ua[i] = 1u << UA_POWER_ON;
		nexus->set[i].queue_end = &nexus->set[i].queue;
	}
	pthread_mutex_lock(&scsi_lock);
	if (conf->joins)
		share_ua(nexus);
	scsi_pr_nexus_begin(nexus);
	nexus->link = &target->nexuses;
	nexus->next = target->nexuses;
	if (nexus->next)
		nexus->next->link = &nexus->next;
	target->nexuses = nexus;
	pthread_mutex_unlock(&scsi_lock);
	*out = nexus;
	return 0;
}

void scsi_nexus_free(struct scsi_nexus *nexus)
{
	if (!nexus)
		return;
	pthread_mutex_lock(&scsi_lock);
	scsi_pr_nexus_end(nexus);
	*nexus->link = nexus->next;
	if (nexus->next)
		nexus->next->link = nexus->link;
	pthread_mutex_unlock(&scsi_lock);
	loop_work_del(nexus->conn->loop, &nexus->turn);
	loop_work_del(nexus->conn->loop, &nexus->tmf_turn);
	loop_timer_del(nexus->conn->loop, &nexus->tmf_poll);
	free(nexus);
}
