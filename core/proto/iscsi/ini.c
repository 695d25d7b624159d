/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The initiator as a bdev: the first session with a target, in which the disk is opened and then
 * watched. Sessions for I/O are lanes (ini_lane.c); reconnecting is left to block/paths.c. */
#include "ini.h"
#include "out.h"
#include "session.h"
#include <errno.h>
#include <stdlib.h>

#define MSEC 1000000ull
/* The disk's size is asked for: that shows a dead target, and a disk that has grown. */
#define BEAT_MS   5000
#define ANSWER_MS 10000
/* A session that is lost may have asked things of the disk that are executed later, and no target
 * says how long that takes: this long it is given. */
#define QUIESCE_MS 5000

static void changed(struct iscsi_dev *dev)
{
	if (dev->bdev.changed)
		dev->bdev.changed(&dev->bdev);
}

static void beat_set(struct iscsi_dev *dev, uint64_t at_ns)
{
	loop_timer_set(dev->bdev.loop, &dev->beat, at_ns);
}

static void beat_fired(struct loop_timer *timer)
{
	struct iscsi_dev *dev = container_of(timer, struct iscsi_dev, beat);
	struct diag why = { 0 };

	if (dev->bdev.state == BDEV_OPENING || dev->pending) {
		diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "%s: %s", scsi_ini_what(&dev->scsi),
			dev->pending ? "the target takes no command" : "no answer in time");
		iscsi_sess_fail(&dev->sess, &why);
		return;
	}
	beat_set(dev, loop_now(dev->bdev.loop) + BEAT_MS * MSEC);
	scsi_ini_look(&dev->scsi);
}

/* What is pending, if the command window allows. */
static void send_pending(struct iscsi_sess *sess)
{
	struct iscsi_dev *dev = container_of(sess, struct iscsi_dev, sess);
	struct iscsi_slot *slot;

	if (!dev->pending || sess->state != ISCSI_SESS_UP)
		return;
	slot = inflight_take(&sess->inflight, dev, loop_now(dev->bdev.loop) + ANSWER_MS * MSEC);
	if (!slot)
		return;
	dev->pending = false;
	iscsi_sess_send(sess, slot, dev->scsi.lun, dev->cdb,
		&(struct iscsi_data){ dev->page, dev->in, false });
}

static void scsi_submit(struct scsi_ini *scsi, const uint8_t cdb[SCSI_INI_CDB], uint32_t in)
{
	struct iscsi_dev *dev = container_of(scsi, struct iscsi_dev, scsi);

	memcpy(dev->cdb, cdb, sizeof(dev->cdb));
	dev->in = in;
	dev->pending = true;
	send_pending(&dev->sess);
}

static void scsi_done(struct scsi_ini *scsi, const struct diag *why)
{
	struct iscsi_dev *dev = container_of(scsi, struct iscsi_dev, scsi);
	struct bdev_limits *lim = &dev->bdev.lim;
	struct diag diag = { 0 };
	bool opening = dev->bdev.state == BDEV_OPENING;

	if (!why && opening && scsi_ini_limits(scsi, ISCSI_MOST, dev->write, lim, &diag))
		why = &diag;
	if (why) {
		iscsi_sess_fail(&dev->sess, why);
		return;
	}
	if (opening) {
		beat_set(dev, loop_now(dev->bdev.loop) + BEAT_MS * MSEC);
		lim->lanes = dev->conf.queues;
		lim->depth = dev->conf.depth;
		lim->quiesce_ms = QUIESCE_MS;
		scsi_ini_id(scsi, &dev->bdev.id);
		if (!dev->conf.timeout_ms) /* of its lanes */
			dev->conf.timeout_ms = BDEV_TIMEOUT_MS;
		dev->bdev.state = BDEV_UP;
		changed(dev);
	} else if (scsi->resized) {
		lim->size = scsi->blocks << scsi->shift;
		changed(dev);
	}
}

static void sess_up(struct iscsi_sess *sess)
{
	struct iscsi_dev *dev = container_of(sess, struct iscsi_dev, sess);

	dev->scsi.deadline_ns = sess->dial.until;
	if (dev->scsi.deadline_ns)
		beat_set(dev, dev->scsi.deadline_ns);
	scsi_ini_start(&dev->scsi);
}

static void sess_reply(struct iscsi_sess *sess, struct iscsi_slot *slot)
{
	struct iscsi_dev *dev = iscsi_sess_end(sess, slot);

	if (dev)
		scsi_ini_answered(&dev->scsi,
			scsi_ini_detail(slot->status, slot->sense, slot->sense_len), dev->page,
			slot->moved);
}

static void sess_lost(struct iscsi_sess *sess, void *owner)
{
	(void)sess;
	(void)owner;
}

static const char *command_name(const void *owner)
{
	return scsi_ini_what(&((const struct iscsi_dev *)owner)->scsi);
}

static void target_event(struct iscsi_sess *sess)
{
	scsi_ini_look(&container_of(sess, struct iscsi_dev, sess)->scsi);
}

static void gone(struct iscsi_dev *dev, const struct diag *why)
{
	loop_timer_del(dev->bdev.loop, &dev->beat);
	scsi_ini_stop(&dev->scsi);
	dev->bdev.why = *why;
	dev->bdev.state = BDEV_DOWN;
	changed(dev);
}

static void sess_down(struct iscsi_sess *sess)
{
	struct iscsi_dev *dev = container_of(sess, struct iscsi_dev, sess);

	if (!sess->stream)
		resolve_doubt(dev->conf.host);
	gone(dev, &sess->why);
}

static const struct iscsi_sess_events events = { .up = sess_up,
	.reply = sess_reply,
	.lost = sess_lost,
	.name = command_name,
	.idle = send_pending,
	.event = target_event,
	.down = sess_down };

static int connect_to(struct iscsi_dev *dev, struct diag *diag)
{
	addr_text(&dev->conf.dst, dev->conf.where);
	return iscsi_sess_open(&dev->sess, dev->bdev.loop, &dev->conf, &events, diag);
}

static void resolved(struct resolve *resolve)
{
	struct iscsi_dev *dev = container_of(resolve, struct iscsi_dev, resolve);
	struct diag why = resolve->why;

	if (!why.err) {
		dev->conf.dst = resolve->addr;
		connect_to(dev, &why);
	}
	if (why.err)
		gone(dev, &why);
}

static void dev_stop(struct bdev *bdev)
{
	struct iscsi_dev *dev = (struct iscsi_dev *)bdev;
	struct diag why = { 0 };

	diag_set(&why, DIAG_CLOSED, ECONNABORTED, "closed");
	if (!dev->conf.dst.ss.ss_family)
		resolve_fail(&dev->resolve, bdev->loop, &why);
	else
		iscsi_sess_logout(&dev->sess, &why);
}

static void dev_free(struct bdev *bdev)
{
	struct iscsi_dev *dev = (struct iscsi_dev *)bdev;

	resolve_cancel(&dev->resolve);
	loop_timer_del(bdev->loop, &dev->beat);
	scsi_ini_stop(&dev->scsi);
	iscsi_sess_fini(&dev->sess);
	iscsi_conf_wipe(&dev->conf);
	free(dev);
}

static void dev_facts(struct bdev *bdev, struct out *out)
{
	struct iscsi_dev *dev = (struct iscsi_dev *)bdev;
	const struct iscsi_conf *conf = &dev->conf;
	const struct iscsi_agreed *agreed = &dev->sess.agreed;
	char text[ADDR_TEXT];

	out_text(out, "transport", "transport:   ", "tcp");
	out_text(out, "traddr", NULL, "%s", addr_host(&dev->sess.at, text));
	out_text(out, "trsvcid", NULL, "%u", addr_port(&dev->sess.at));
	out_line(out, "route:       %s", dev->sess.way);
	out_text(out, "iqn", "target:      ", "%s", conf->target);
	scsi_ini_facts(&dev->scsi, out);
	out_text(out, "initiator", "initiator:   ", "%s", conf->initiator);
	out_bool(out, "header_digest", "header CRC:  ", agreed->header_digest);
	out_bool(out, "data_digest", "data CRC:    ", agreed->data_digest);
	out_text(out, "security", NULL, "%s",
		!agreed->alg[0]                 ? "none"
		: conf->from.auth.target_secret ? "mutual-chap"
						: "chap");
	out_line(out, "security:    %s%s",
		!agreed->alg[0]                 ? "none"
		: conf->from.auth.target_secret ? "mutual CHAP, "
						: "CHAP, ",
		agreed->alg);
}

static const struct bdev_ops ops = {
	.name = "iscsi", .lane = iscsi_lane, .stop = dev_stop, .free = dev_free, .facts = dev_facts
};

static int attach(struct bdev **out, struct loop *loop, struct uri *uri, const struct bdev_env *env,
	struct diag *diag)
{
	struct iscsi_dev *dev = calloc(1, sizeof(*dev));
	int err;

	if (!dev)
		return diag_sys(diag, ENOMEM, "iscsi");
	dev->bdev = (struct bdev){
		.ops = &ops, .loop = loop, .state = BDEV_OPENING, .status_text = scsi_ini_text
	};
	dev->scsi = (struct scsi_ini){ .submit = scsi_submit, .done = scsi_done, .loop = loop };
	dev->beat.fire = beat_fired;
	dev->resolve.done = resolved;
	dev->write = env->write;
	err = iscsi_conf_read(&dev->conf, &dev->scsi, uri, env, diag);
	if (!err)
		err = dev->conf.dst.ss.ss_family
			      ? connect_to(dev, diag)
			      : resolve_start(&dev->resolve, loop, dev->conf.host, dev->conf.port,
					dev->conf.timeout_ms, diag);
	if (err) {
		iscsi_conf_wipe(&dev->conf);
		free(dev);
		return err;
	}
	*out = &dev->bdev;
	return 0;
}

const struct proto iscsi_proto = { .scheme = { "iscsi://", "iSCSI over TCP: HOST[:PORT]/IQN/LUN",
					   SCHEME_DISK | SCHEME_ISCSI, "iser-login" },
	.attach = attach };
