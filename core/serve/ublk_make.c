/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Choose the device: take over one of an earlier run, or create a new one with the disk's
 * properties. */
#include "ublk.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define BUFFER       (256u << 10)
#define DEPTH        64
#define RETRY_MS     50
#define NOTE_MS      1000 /* until the reason for waiting is reported */
#define TAKE_OVER_MS 5000 /* time for a killed process to end */

static unsigned shift_of(uint64_t value)
{
	return 63 - (unsigned)__builtin_clzll(value | 1);
}

static bool alive(int pid)
{
	return pid > 0 && pid != getpid() && (!kill(pid, 0) || errno == EPERM);
}

/* Call fn for the number of each existing device. */
static int each_device(struct ublk *u, bool (*fn)(struct ublk *, unsigned id))
{
	int fd = openat(u->opt.dev, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	unsigned id;
	int end, found = 0;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (!found && (entry = readdir(dir)))
		if (sscanf(entry->d_name, "ublkc%u%n", &id, &end) == 1 && !entry->d_name[end])
			found = fn(u, id);
	closedir(dir);
	return found;
}

/* Any user may make an unprivileged device with any key, and owns it: we never leave one. */
static bool is_former(const struct ublk *u)
{
	return u->opt.key && u->info.key == (u->opt.key | UBLK_KEY_OURS) &&
	       !(u->info.flags & UBLK_FEATURE_UNPRIVILEGED);
}

static bool has_our_key(struct ublk *u, unsigned id)
{
	return ublk_ctl_info(&u->ctl, id, &u->info, u->deadline) >= 0 && is_former(u);
}

static bool waits_for_us(struct ublk *u, unsigned id)
{
	return has_our_key(u, id) && u->info.state == UBLK_QUIESCED;
}

/* Search for a device of an earlier run; *found = false: create a new one. */
static int find_former(struct ublk *u, bool *found, struct diag *diag)
{
	*found = false;
	if (u->opt.id < 0) {
		*found =
			u->opt.key && (each_device(u, waits_for_us) || each_device(u, has_our_key));
		return 0;
	}
	int rc = ublk_ctl_info(&u->ctl, (unsigned)u->opt.id, &u->info, u->deadline);

	if (rc == -ENODEV)
		return 0;
	u->info.dev_id = (uint32_t)u->opt.id;
	if (rc < 0)
		return ublk_failed(u, rc, "query", diag);
	if (!is_former(u)) {
		diag_set(diag, DIAG_BUSY, EBUSY,
			"/dev/ublkb%d exists and belongs to another disk or program", u->opt.id);
		return diag_hint(diag,
			"use a free number with --ublk, or remove it: rdmastor detach /dev/ublkb%d",
			u->opt.id);
	}
	*found = true;
	return 0;
}

static int still_served(const struct ublk *u, struct diag *diag)
{
	diag_set(diag, DIAG_BUSY, EBUSY, "is already /dev/ublkb%u, served by process %d",
		u->info.dev_id, u->info.pid);
	diag_ctx(diag, "%s", u->opt.bdev->uri);
	return diag_hint(diag, "make a second device with another number: --ublk N");
}

/* --- its properties */

static uint32_t buffer_of(const struct ublk_options *opt)
{
	const struct bdev_limits *lim = &opt->bdev->lim;
	uint32_t most = BUFFER, page = 1u << UBLK_PAGE_SHIFT;

	if (opt->buffer)
		most = opt->buffer;
	else {
		most = lim->max[IO_READ] < most ? lim->max[IO_READ] : most;
		most = lim->max[IO_WRITE] && lim->max[IO_WRITE] < most ? lim->max[IO_WRITE] : most;
	}
	most &= ~(page - 1);
	return most < page ? page : most > UBLK_MAX_BYTES ? UBLK_MAX_BYTES : most;
}

static unsigned depth_of(const struct ublk_options *opt)
{
	unsigned depth = opt->depth                     ? opt->depth
			 : opt->bdev->lim.depth < DEPTH ? opt->bdev->lim.depth
							: DEPTH;

	return depth ? depth : 1;
}

static uint32_t sectors_of(uint32_t bytes, uint32_t block)
{
	return (bytes & ~(block - 1)) >> UBLK_SECTOR_SHIFT;
}

/* The kernel splits by these limits. For TRIM and ZERO use the disk's own, as io->len must hold
 * them. */
static void set_params(
	struct ublk_params *p, const struct ublk_options *opt, const struct ublk_dev_info *info)
{
	const struct bdev_limits *lim = &opt->bdev->lim;
	uint32_t block = lim->block, best = lim->best > block ? lim->best : block;
	unsigned physical = shift_of(best) < UBLK_PAGE_SHIFT ? shift_of(best) : UBLK_PAGE_SHIFT;

	*p = (struct ublk_params){ .len = sizeof(*p),
		.types = UBLK_PARAM_BASIC,
		.sectors = lim->size >> UBLK_SECTOR_SHIFT };
	p->logical_shift = (uint8_t)shift_of(block);
	p->physical_shift = p->min_shift = (uint8_t)physical;
	p->best_shift = (uint8_t)(shift_of(best) > physical ? shift_of(best) : physical);
	p->max_sectors = info->max_bytes >> UBLK_SECTOR_SHIFT;
	if (opt->ro || lim->ro) {
		p->attrs = UBLK_ATTR_READ_ONLY;
		return;
	}
	if (lim->max[IO_FLUSH])
		p->attrs = UBLK_ATTR_VOLATILE_CACHE | (lim->fua ? UBLK_ATTR_FUA : 0);
	p->max_discard_sectors = sectors_of(lim->max[IO_TRIM], block);
	p->max_zero_sectors = sectors_of(lim->max[IO_ZERO], block);
	if (!p->max_discard_sectors && !p->max_zero_sectors)
		return;
	p->types |= UBLK_PARAM_DISCARD;
	p->max_discard_segments = 1;
	p->discard_granularity = 1u << physical;
}

static int add(struct ublk *u, struct diag *diag)
{
	const struct ublk_options *opt = &u->opt;
	unsigned queues = opt->queues ? opt->queues : opt->nloops;
	int rc;

	u->info = (struct ublk_dev_info){ .dev_id = opt->id < 0 ? UINT32_MAX : (uint32_t)opt->id,
		.pid = getpid() };
	u->info.key = opt->key | UBLK_KEY_OURS;
	u->info.queues = (uint16_t)(queues < opt->bdev->lim.lanes ? queues : opt->bdev->lim.lanes);
	u->info.depth = (uint16_t)depth_of(opt);
	u->info.max_bytes = buffer_of(opt);
	u->info.flags = UBLK_FEATURE_CMD_IOCTL_ENCODE;
	if (opt->unprivileged)
		u->info.flags |= UBLK_FEATURE_UNPRIVILEGED;
	else if (opt->key)
		u->info.flags |= UBLK_FEATURE_USER_RECOVERY | UBLK_FEATURE_USER_RECOVERY_REISSUE;
	u->info.flags &= u->ctl.features;
	rc = ublk_cmd(u, UBLK_CTL_ADD_DEV, 0, &u->info, sizeof(u->info));
	if (rc < 0) {
		diag_sys(diag, -rc, "add a ublk device");
		return rc == -EPERM || rc == -EACCES
			       ? diag_hint(diag, "run as root; export --nbd needs no privileges")
			       : rc;
	}
	u->added = true;
	u->ctl.with_path = u->info.flags & UBLK_FEATURE_UNPRIVILEGED;
	return 0;
}

/* devtmpfs creates the node at once, but udev may have to give us access to that of an unprivileged
 * device. */
static int open_cdev(struct ublk *u, struct diag *diag)
{
	uint64_t give_up = loop_clock() + TAKE_OVER_MS * MSEC;
	char name[UBLK_PATH];
	int err;

	snprintf(name, sizeof(name), "ublkc%u", u->info.dev_id);
	for (;;) {
		u->cdev = openat(u->opt.dev, name, O_RDWR | O_CLOEXEC);
		if (u->cdev >= 0)
			return 0;
		if (errno != ENOENT && errno != EACCES && errno != EBUSY)
			break;
		if ((u->deadline && loop_clock() > u->deadline) ||
			((errno == EBUSY || !u->ctl.with_path) && loop_clock() > give_up))
			break;
		ublk_pause(u->loop, RETRY_MS);
	}
	err = errno;
	diag_sys(diag, err, "open /dev/%s", name);
	return err == ENOENT ? diag_hint(diag, "is /dev a devtmpfs? export --nbd needs none")
			     : -err;
}

/* The device keeps its properties, so check that the disk can still provide them. */
static int check_recovered(const struct ublk *u, struct diag *diag)
{
	const struct bdev_limits *lim = &u->opt.bdev->lim;
	uint64_t size = u->params.sectors << UBLK_SECTOR_SHIFT;

	if (size > lim->size || 1u << u->params.logical_shift != lim->block)
		return diag_set(diag, DIAG_MISMATCH, EINVAL,
			"/dev/ublkb%u has %llu bytes in blocks of %u, the disk has %llu in blocks "
			"of %u",
			u->info.dev_id, (unsigned long long)size, 1u << u->params.logical_shift,
			(unsigned long long)lim->size, lim->block);
	if (!(u->params.attrs & UBLK_ATTR_READ_ONLY) && (u->opt.ro || lim->ro))
		return diag_set(diag, DIAG_MISMATCH, EROFS,
			"/dev/ublkb%u is writable, the disk is not", u->info.dev_id);
	if (!(u->params.attrs & (UBLK_ATTR_READ_ONLY | UBLK_ATTR_VOLATILE_CACHE)) &&
		lim->max[IO_FLUSH])
		return diag_set(diag, DIAG_MISMATCH, EINVAL,
			"/dev/ublkb%u was made without a write cache, but the disk has one: it "
			"would never be flushed",
			u->info.dev_id);
	if (u->params.attrs & UBLK_ATTR_FUA && !lim->fua)
		return diag_set(diag, DIAG_MISMATCH, EINVAL,
			"/dev/ublkb%u was made with FUA, which the disk does not support",
			u->info.dev_id);
	if (u->info.queues > lim->lanes)
		return diag_set(diag, DIAG_MISMATCH, EINVAL,
			"/dev/ublkb%u has %u queues, the disk supports %u", u->info.dev_id,
			u->info.queues, lim->lanes);
	return 0;
}

/* If the server was just killed, the kernel is still cleaning up (EBUSY). EINVAL means that an
 * earlier take-over was started but not completed: the device waits for its queues. */
static int take_over(struct ublk *u, struct diag *diag)
{
	uint64_t give_up = loop_clock() + TAKE_OVER_MS * MSEC;
	int rc;

	u->params = (struct ublk_params){ .len = sizeof(u->params) };
	rc = ublk_cmd(u, UBLK_CTL_GET_PARAMS, 0, &u->params, sizeof(u->params));
	if (rc < 0)
		return ublk_failed(u, rc, "query the limits of", diag);
	rc = check_recovered(u, diag);
	if (rc)
		return rc;
	while ((rc = ublk_cmd(u, UBLK_CTL_START_USER_RECOVERY, 0, NULL, 0)) == -EBUSY &&
		loop_clock() < give_up)
		ublk_pause(u->loop, RETRY_MS);
	if (rc == -EBUSY)
		return still_served(u, diag);
	if (rc < 0 && (rc != -EINVAL || u->info.state != UBLK_QUIESCED))
		return ublk_failed(u, rc, "take over", diag);
	u->recovered = true;
	if (u->opt.bdev->lim.quiesce_ms)
		u->quiet_ns = loop_clock() + u->opt.bdev->lim.quiesce_ms * MSEC;
	loop_trace(u->loop,
		"ublk: taking over /dev/ublkb%u from an earlier run: %u queues of depth %u",
		u->info.dev_id, u->info.queues, u->info.depth);
	return open_cdev(u, diag);
}

struct note_timer {
	struct loop_timer timer;
	const struct ublk *u;
};

static void still_held(struct loop_timer *timer)
{
	const struct ublk *u = container_of(timer, struct note_timer, timer)->u;

	if (u->opt.held)
		u->opt.held(u->info.dev_id, u->opt.user);
}

/* Delete a device that was never started, or stopped but not deleted. The kernel waits until no
 * process has it open. */
static int delete_rest(struct ublk *u, struct diag *diag)
{
	struct note_timer note_timer = { .timer.fire = still_held, .u = u };
	int rc;

	loop_timer_set(u->loop, &note_timer.timer, loop_clock() + NOTE_MS * MSEC);
	rc = ublk_cmd(u, UBLK_CTL_DEL_DEV, 0, NULL, 0);
	loop_timer_del(u->loop, &note_timer.timer);
	return rc < 0 && rc != -ENODEV ? ublk_failed(u, rc, "delete", diag) : 0;
}

int ublk_make(struct ublk *u, struct diag *diag)
{
	bool found;
	int rc = find_former(u, &found, diag);

	if (rc)
		return rc;
	if (found && u->info.state == UBLK_DEAD) {
		rc = alive(u->info.pid) ? still_served(u, diag) : delete_rest(u, diag);
		if (rc)
			return rc;
		found = false;
	}
	if (found)
		return take_over(u, diag);
	rc = add(u, diag);
	if (!rc)
		rc = open_cdev(u, diag);
	if (rc)
		return rc;
	set_params(&u->params, &u->opt, &u->info);
	rc = ublk_cmd(u, UBLK_CTL_SET_PARAMS, 0, &u->params, sizeof(u->params));
	return rc < 0 ? ublk_failed(u, rc, "set the limits of", diag) : 0;
}
