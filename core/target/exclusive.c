/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A command that needs exclusive access to its blocks, such as COMPARE AND WRITE. It becomes an
 * orphan for which all later requests wait. Then a fence passes all targets that serve the disk,
 * one after another: what the disk has of others for these blocks becomes an orphan, too, and the
 * command's requests wait for it. */
#include "frame.h"
#include <stdlib.h>

struct exclusive {
	struct target_fence fence;
	struct target_cmd *cmd;
	void (*then)(struct target_cmd *);
	uint64_t passed; /* number of a target */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct target *targets;
static uint64_t last_number;

void target_register(struct target *target)
{
	pthread_mutex_lock(&lock);
	target->number = ++last_number;
	target->next = targets;
	targets = target;
	pthread_mutex_unlock(&lock);
}

void target_unregister(struct target *target)
{
	struct target **at = &targets;

	if (!target->number)
		return;
	pthread_mutex_lock(&lock);
	while (*at != target)
		at = &(*at)->next;
	*at = target->next;
	target->number = 0;
	pthread_mutex_unlock(&lock);
}

static bool serves(const struct target *target, const struct bdev *bdev)
{
	for (unsigned i = 0; i < target->opt.disks; i++)
		if (target->disk[i].bdev == bdev)
			return true;
	return false;
}

/* On the other connection's loop. Only what the disk has now matters: later requests wait for the
 * command. */
static bool find_changes(const struct target_fence *fence, const struct target_conn *conn)
{
	const struct target_cmd *cmd = container_of(fence, struct exclusive, fence)->cmd;

	for (unsigned i = 0; i < conn->prepared; i++) {
		struct target_cmd *other = target_cmd_at(conn, i);
		const struct io *io = &other->split.io;

		if (other != cmd && other->state == TARGET_CMD_WORK && other->split.lane &&
			!other->orphan.bdev && other->disk->bdev == cmd->disk->bdev &&
			bdev_changes_blocks(io->kind) &&
			io->off < cmd->changes_off + cmd->changes_len &&
			cmd->changes_off < io->off + io->len)
			bdev_orphan(other->disk->bdev, &other->orphan, BDEV_CLIENT, io, 0, 0);
	}
	return false;
}

/* A target that is known here stays until the fence has passed it: its workers close behind that.
 */
bool target_fence_next(const struct bdev *bdev, uint64_t *passed, struct target_fence *fence)
{
	struct target *next = NULL;

	pthread_mutex_lock(&lock);
	for (struct target *target = targets; target; target = target->next)
		if (target->number > *passed && serves(target, bdev) &&
			(!next || target->number < next->number))
			next = target;
	if (next) {
		*passed = next->number;
		target_fence(next, fence);
	}
	pthread_mutex_unlock(&lock);
	return next;
}

static bool pass_next(struct exclusive *exclusive)
{
	return target_fence_next(exclusive->cmd->disk->bdev, &exclusive->passed, &exclusive->fence);
}

static void passed(struct target_fence *fence)
{
	struct exclusive *exclusive = container_of(fence, struct exclusive, fence);
	struct target_cmd *cmd = exclusive->cmd;
	void (*then)(struct target_cmd *) = exclusive->then;

	if (pass_next(exclusive))
		return;
	free(exclusive);
	if (target_conn_is_closing(cmd->conn))
		target_cmd_finish(cmd, 0);
	else
		then(cmd);
}

void target_cmd_exclusive(
	struct target_cmd *cmd, void (*then)(struct target_cmd *), uint32_t no_memory)
{
	struct exclusive *exclusive = calloc(1, sizeof(*exclusive));

	if (!exclusive) {
		target_cmd_finish(cmd, no_memory);
		return;
	}
	exclusive->cmd = cmd;
	exclusive->then = then;
	exclusive->fence = (struct target_fence){
		.match = find_changes, .done = passed, .home = cmd->conn->loop
	};
	cmd->split.lane = NULL; /* nothing of it is at the disk while the fence passes */
	if (!cmd->orphan.bdev)
		cmd->orphan.client = target_conn_client(cmd->conn);
	bdev_orphan(cmd->disk->bdev, &cmd->orphan, BDEV_EXCLUSIVE, NULL, cmd->changes_off,
		cmd->changes_len);
	pass_next(exclusive);
}
