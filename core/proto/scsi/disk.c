/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A SCSI disk as a bdev: its first session, which opens the disk and then monitors it. */
#include "disk.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IO_MS    30000
#define SESSIONS 16
/* Read the disk's size periodically, to detect a dead target and a resized disk: not every
 * transport has a keep-alive. A third of this time passes before the next question, the rest is the
 * limit for its answer. */
#define DETECT_MS 15000
/* A target may execute commands of a lost session later, and does not report for how long: allow
 * this time. */
#define QUIESCE_MS 5000
#define CLOSED_MS  1000 /* between two questions for the access of a closed path */
#define PAUSE_MS   100  /* the same, whatever the target reports */

static void changed(struct scsi_disk *disk)
{
	if (disk->bdev.changed)
		disk->bdev.changed(&disk->bdev);
}

static uint64_t detect_ns(const struct scsi_disk *disk)
{
	bool own = disk->conf->detect_ms && !disk->carrier->pings;

	return (own ? disk->conf->detect_ms : DETECT_MS) * MSEC;
}

static void beat_set(struct scsi_disk *disk, uint64_t at_ns)
{
	loop_timer_set(disk->bdev.loop, &disk->beat, at_ns);
}

static void set_access(struct scsi_disk *disk)
{
	disk->bdev.access = disk->scsi.access;
	disk->bdev.access_word = disk->scsi.access_word;
	disk->bdev.access_group = disk->scsi.access_group;
	disk->bdev.access_preferred = disk->scsi.preferred;
}

static void poll_disk(struct scsi_disk *disk)
{
	if (!scsi_ini_poll(&disk->scsi))
		return;
	disk->polled_ns = loop_now(disk->bdev.loop);
	disk->ask_again = false;
}

static void beat_fired(struct loop_timer *timer)
{
	struct scsi_disk *disk = container_of(timer, struct scsi_disk, beat);
	struct diag why = { 0 };

	if (disk->bdev.state == BDEV_OPENING || disk->pending) {
		diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "%s: %s",
			scsi_ini_command_name(&disk->scsi),
			disk->pending ? "the target takes no command" : "no answer in time");
		disk->carrier->fail(disk->sess, &why);
		return;
	}
	beat_set(disk, loop_now(disk->bdev.loop) + detect_ns(disk) / 3);
	poll_disk(disk);
}

/* The access of the path may have changed. */
static void ask_access(struct scsi_disk *disk)
{
	uint64_t now = loop_now(disk->bdev.loop), due = disk->polled_ns + PAUSE_MS * MSEC;

	if (disk->bdev.state != BDEV_UP || !scsi_ini_reports_access(&disk->scsi))
		return;
	disk->ask_again = true;
	if (disk->beat.on && disk->beat.at_ns > due)
		beat_set(disk, due > now ? due : now);
}

static void access_noticed(struct access_notice *notice)
{
	ask_access(container_of(notice, struct scsi_disk, notice));
}

/* Report what the last poll has found. */
static void poll_ended(struct scsi_disk *disk)
{
	struct bdev *bdev = &disk->bdev;
	const struct scsi_ini *scsi = &disk->scsi;
	uint64_t soon = loop_now(bdev->loop) + CLOSED_MS * MSEC;
	bool is_new = scsi->resized || bdev->access_word != scsi->access_word ||
		      bdev->access_preferred != scsi->preferred;

	if (scsi->resized)
		bdev->lim.size = scsi->blocks << scsi->shift;
	set_access(disk);
	if (bdev->access > BDEV_ACCESS_NON_OPTIMIZED && disk->beat.at_ns > soon)
		beat_set(disk, soon);
	if (disk->ask_again)
		ask_access(disk);
	if (is_new)
		changed(disk);
}

/* Send the pending command if the window allows. */
static void send_pending(struct scsi_sess *sess)
{
	struct scsi_disk *disk = sess->user;
	struct scsi_slot *slot;

	if (!disk->pending || sess->state != SCSI_SESS_UP)
		return;
	slot = inflight_take(&sess->inflight, disk, loop_now(sess->loop) + detect_ns(disk) / 3 * 2);
	if (!slot)
		return;
	disk->pending = false;
	scsi_cache_sending(&disk->cache, &disk->view, SCSI_CACHE_NONE, &disk->sent);
	disk->carrier->send(sess, slot, disk->scsi.lun, disk->cdb,
		&(struct scsi_data){ disk->page->base, disk->in, false, disk->page });
}

static void scsi_submit(struct scsi_ini *scsi, const uint8_t cdb[SCSI_INI_CDB], uint32_t in)
{
	struct scsi_disk *disk = container_of(scsi, struct scsi_disk, scsi);

	memcpy(disk->cdb, cdb, sizeof(disk->cdb));
	disk->in = in;
	disk->pending = true;
	send_pending(disk->sess);
}

static void scsi_done(struct scsi_ini *scsi, const struct diag *why)
{
	struct scsi_disk *disk = container_of(scsi, struct scsi_disk, scsi);
	struct bdev_limits *lim = &disk->bdev.lim;
	struct diag diag = { 0 };
	bool opening = disk->bdev.state == BDEV_OPENING;

	if (!why && opening && scsi_ini_limits(scsi, SCSI_INI_MAX, disk->write, lim, &diag))
		why = &diag;
	if (why) {
		disk->carrier->fail(disk->sess, why);
		return;
	}
	if (opening) {
		beat_set(disk, loop_now(disk->bdev.loop) + detect_ns(disk) / 3);
		lim->lanes = disk->conf->queues;
		lim->depth = disk->conf->depth;
		lim->quiesce_ms = QUIESCE_MS;
		scsi_ini_id(scsi, &disk->bdev.id);
		if (!disk->conf->timeout_ms) /* of its lanes */
			disk->conf->timeout_ms = BDEV_TIMEOUT_MS;
		set_access(disk);
		disk->bdev.changing_ms = scsi->transition_ms;
		disk->bdev.state = BDEV_UP;
		changed(disk);
	} else {
		poll_ended(disk);
	}
}

/* All sessions use the address that has answered the first one. */
static void settle(struct scsi_disk *disk, const struct scsi_sess *sess)
{
	addr_keep_peer(&disk->conf->dst, &sess->peer);
	addr_text(&disk->conf->dst, disk->conf->where);
}

static void sess_up(struct scsi_sess *sess)
{
	struct scsi_disk *disk = sess->user;
	struct diag why = { 0 };

	settle(disk, sess);
	disk->reached = true;
	if (disk->carrier->identify)
		disk->carrier->identify(sess, 0, &disk->bdev.session);
	if (disk->carrier->map && disk->carrier->map(sess, disk->page, &why)) {
		disk->carrier->fail(sess, &why);
		return;
	}
	disk->mapped = disk->carrier->map;
	disk->scsi.deadline_ns = sess->deadline_ns;
	if (sess->deadline_ns)
		beat_set(disk, sess->deadline_ns);
	scsi_ini_start(&disk->scsi);
}

static void report_lost(struct loop_msg *msg)
{
	struct scsi_disk *disk = container_of(msg, struct scsi_disk, lost);

	disk->loss_reported = 1;
	if (disk->bdev.state != BDEV_UP)
		return;
	diag_set(&disk->bdev.why, DIAG_IO, EIO, "%s: writes since the last flush may be lost",
		scsi_ini_text(disk->lost_by));
	changed(disk);
	disk->bdev.why = (struct diag){ 0 };
}

bool scsi_disk_note_status(struct scsi_disk *disk, struct scsi_cache_view *view,
	const struct scsi_cache_sent *sent, uint32_t detail)
{
	uint32_t none = 0;

	if (scsi_cache_may_be_on(sent, detail))
		__atomic_store_n(&disk->scsi.cached, true, __ATOMIC_RELAXED);
	if (!scsi_cache_answered(&disk->cache, view, sent, detail) ||
		!__atomic_compare_exchange_n(
			&disk->lost_by, &none, detail, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&disk->bdev.sync_error, -EIO, __ATOMIC_RELAXED);
	return true;
}

static void sess_reply(struct scsi_sess *sess, struct scsi_slot *slot)
{
	struct scsi_disk *disk = sess->user;
	uint32_t detail = scsi_ini_detail(slot->status, slot->sense, slot->sense_len);

	if (!disk->carrier->end(sess, slot))
		return;
	/* Not before the disk is up: some commands of the opening report no unit attention. */
	if (disk->scsi.up && scsi_disk_note_status(disk, &disk->view, &disk->sent, detail))
		report_lost(&disk->lost);
	scsi_ini_answered(&disk->scsi, detail, disk->page->base, slot->moved);
}

static void sess_lost(struct scsi_sess *sess, void *owner)
{
	(void)sess;
	(void)owner;
}

static const char *command_name(const void *owner)
{
	return scsi_ini_command_name(&((const struct scsi_disk *)owner)->scsi);
}

static void target_event(struct scsi_sess *sess)
{
	poll_disk(sess->user);
}

static void set_down(struct scsi_disk *disk, const struct diag *why)
{
	loop_timer_del(disk->bdev.loop, &disk->beat);
	scsi_ini_stop(&disk->scsi);
	disk->bdev.why = *why;
	disk->bdev.state = BDEV_DOWN;
	changed(disk);
}

static void sess_down(struct scsi_sess *sess)
{
	struct scsi_disk *disk = sess->user;

	settle(disk, sess);
	if (!disk->reached)
		resolve_mark_stale(disk->conf->host);
	set_down(disk, &sess->why);
}

static const struct scsi_sess_events events = { .up = sess_up,
	.reply = sess_reply,
	.lost = sess_lost,
	.name = command_name,
	.idle = send_pending,
	.event = target_event,
	.down = sess_down };

static int connect_to(struct scsi_disk *disk, struct diag *diag)
{
	struct scsi_sess *sess = disk->sess;

	addr_text(&disk->conf->dst, disk->conf->where);
	sess->ev = &events;
	sess->loop = disk->bdev.loop;
	sess->user = disk;
	sess->port = disk->port;
	return disk->carrier->open(sess, disk->conf, 0, diag);
}

static void resolved(struct resolve *resolve)
{
	struct scsi_disk *disk = container_of(resolve, struct scsi_disk, resolve);
	struct diag why = resolve->why;

	if (!why.err) {
		disk->conf->dst = resolve->addr;
		connect_to(disk, &why);
	}
	if (why.err)
		set_down(disk, &why);
}

void scsi_disk_stop(struct bdev *bdev)
{
	struct scsi_disk *disk = (struct scsi_disk *)bdev;
	const struct scsi_carrier *carrier = disk->carrier;
	struct diag why = { 0 };

	diag_set(&why, DIAG_CLOSED, ECONNABORTED, "closed");
	if (!disk->conf->dst.ss.ss_family)
		resolve_fail(&disk->resolve, bdev->loop, &why);
	else
		(carrier->logout ? carrier->logout : carrier->fail)(disk->sess, &why);
}

void scsi_disk_fini(struct scsi_disk *disk)
{
	disk->bdev.changed = NULL;
	disk->bdev.state = BDEV_DOWN;
	access_notice_fini(&disk->notice);
	if (disk->lost_by) /* a lane that was freed may just have posted it */
		loop_wait(disk->bdev.loop, &disk->loss_reported, 0);
	resolve_cancel(&disk->resolve);
	loop_timer_del(disk->bdev.loop, &disk->beat);
	scsi_ini_stop(&disk->scsi);
	if (disk->mapped)
		disk->carrier->unmap(disk->sess, disk->page);
	disk->carrier->fini(disk->sess);
	free(disk->sess);
	pool_free(disk->page);
}

/* Keep the URI for a hint that names one of several disks, without passwords. */
static void read_hint(struct scsi_ini *scsi, const struct uri *uri)
{
	size_t len;

	uri_start(scsi->uri, uri->scheme, uri->host, uri->port);
	uri_add_target(scsi->uri, uri);
	for (len = strlen(scsi->uri); len && scsi->uri[len - 1] == '/'; len--)
		scsi->uri[len - 1] = 0;
	scsi->keys[0] = 0;
	if (uri->user)
		uri_add_key(scsi->keys, "user", uri->user);
	for (unsigned i = 0; i < uri->keys; i++)
		if (!strstr(uri->key[i].name, "password"))
			uri_add_key(scsi->keys, uri->key[i].name, uri->key[i].value);
}

int scsi_disk_read(struct scsi_disk *disk, struct uri *uri, const struct bdev_env *env,
	uint16_t port, uint64_t lun, struct diag *diag)
{
	struct scsi_conf *conf = disk->conf;
	uint32_t tos = 0, queues = SESSIONS, depth = SCSI_DEPTH;
	int err = uri_source(uri, &conf->src, diag), known;

	if (!err)
		err = uri_u32(uri, "tos", 0, 255, &tos, diag);
	if (!err)
		err = uri_u32(uri, "queues", 1, SCSI_SESSIONS, &queues, diag);
	if (!err)
		err = uri_u32(uri, "depth", 1, 1024, &depth, diag);
	if (err)
		return err;
	disk->scsi.any_lun = lun == SCSI_LUN_ALL;
	if (!disk->scsi.any_lun)
		scsi_ini_lun(disk->scsi.lun, lun);
	else
		read_hint(&disk->scsi, uri);
	conf->tos = (uint8_t)tos;
	conf->queues = (uint16_t)queues;
	conf->depth = (uint16_t)depth;
	conf->timeout_ms = env->timeout_ms ? env->timeout_ms : BDEV_TIMEOUT_MS;
	if (conf->timeout_ms == BDEV_NEVER)
		conf->timeout_ms = 0;
	conf->io_ms = IO_MS;
	conf->detect_ms = env->detect_ms;
	conf->port = uri->port ? uri->port : port;
	snprintf(conf->host, sizeof(conf->host), "%s", uri->host);
	known = addr_known(&conf->dst, uri->host, conf->port, diag);
	return known < 0 ? known : 0;
}

int scsi_disk_start(struct scsi_disk *disk, struct loop *loop, const struct bdev_ops *ops,
	const struct scsi_carrier *carrier, const struct bdev_env *env, struct diag *diag)
{
	struct scsi_conf *conf = disk->conf;
	int err = pool_new(&disk->page, SCSI_INI_PAGE, 1, diag);

	if (err)
		return err;
	disk->sess = calloc(1, carrier->sess_size);
	if (!disk->sess) {
		pool_free(disk->page);
		return diag_sys(diag, ENOMEM, "session");
	}
	disk->carrier = carrier;
	disk->bdev.ops = ops;
	disk->bdev.loop = loop;
	disk->bdev.state = BDEV_OPENING;
	disk->bdev.status_text = scsi_ini_text;
	disk->scsi.submit = scsi_submit;
	disk->scsi.done = scsi_done;
	disk->scsi.loop = loop;
	disk->beat.fire = beat_fired;
	disk->lost.run = report_lost;
	access_notice_init(&disk->notice, loop, access_noticed);
	disk->resolve.done = resolved;
	disk->write = env->write;
	err = conf->dst.ss.ss_family ? connect_to(disk, diag)
				     : resolve_start(&disk->resolve, loop, conf->host, conf->port,
					       conf->timeout_ms, diag);
	if (err) {
		free(disk->sess);
		pool_free(disk->page);
	}
	return err;
}
