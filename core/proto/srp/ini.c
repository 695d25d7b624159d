/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The initiator as a bdev: the first channel of a target, on which the disk is opened and then
 * watched. Channels for I/O are lanes (lane.c); reconnecting is left to block/paths.c. */
#include "names.h"
#include "out.h"
#include "rdma_keys.h"
#include "session.h"
#include "srp.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#define MSEC     1000000ull
#define IO_MS    30000
#define MOST     (1u << 20) /* bytes of one command: longer ones gain nothing */
#define CHANNELS 16
/* SRP has no keep-alive: the disk's size is asked for, which changes too. */
#define BEAT_MS   5000
#define ANSWER_MS 10000
/* A login ends the channels that the last one left at this target port, but not what they have
 * asked of the disk, and no target says how long that takes: this long it is given. */
#define QUIESCE_MS 5000

static void changed(struct srp_dev *dev)
{
	if (dev->bdev.changed)
		dev->bdev.changed(&dev->bdev);
}

static void beat_set(struct srp_dev *dev, uint64_t at_ns)
{
	loop_timer_set(dev->bdev.loop, &dev->beat, at_ns);
}

static void beat_fired(struct loop_timer *timer)
{
	struct srp_dev *dev = container_of(timer, struct srp_dev, beat);
	struct diag why = { 0 };

	if (dev->bdev.state == BDEV_OPENING || dev->pending) {
		diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "%s: %s", scsi_ini_what(&dev->scsi),
			dev->pending ? "the target takes no command" : "no answer in time");
		srp_chan_fail(&dev->chan, &why);
		return;
	}
	beat_set(dev, loop_now(dev->bdev.loop) + BEAT_MS * MSEC);
	scsi_ini_look(&dev->scsi);
}

/* What is pending, if the request limit allows. */
static void send_pending(struct srp_chan *chan)
{
	struct srp_dev *dev = container_of(chan, struct srp_dev, chan);
	struct srp_slot *slot;

	if (!dev->pending || chan->state != SRP_UP)
		return;
	slot = inflight_take(&chan->inflight, dev, loop_now(dev->bdev.loop) + ANSWER_MS * MSEC);
	if (!slot)
		return;
	dev->pending = false;
	srp_chan_send(chan, slot, dev->scsi.lun, dev->cdb,
		&(struct srp_data){ dev->page->base, dev->in, false, dev->page });
}

static void scsi_submit(struct scsi_ini *scsi, const uint8_t cdb[SCSI_INI_CDB], uint32_t in)
{
	struct srp_dev *dev = container_of(scsi, struct srp_dev, scsi);

	memcpy(dev->cdb, cdb, sizeof(dev->cdb));
	dev->in = in;
	dev->pending = true;
	send_pending(&dev->chan);
}

static void scsi_done(struct scsi_ini *scsi, const struct diag *why)
{
	struct srp_dev *dev = container_of(scsi, struct srp_dev, scsi);
	struct bdev_limits *lim = &dev->bdev.lim;
	struct diag diag = { 0 };
	bool opening = dev->bdev.state == BDEV_OPENING;

	if (!why && opening && scsi_ini_limits(scsi, MOST, dev->write, lim, &diag))
		why = &diag;
	if (why) {
		srp_chan_fail(&dev->chan, why);
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

static void chan_up(struct srp_chan *chan)
{
	struct srp_dev *dev = container_of(chan, struct srp_dev, chan);
	struct diag why = { 0 };

	if (srp_chan_map(chan, dev->page, &why)) {
		srp_chan_fail(chan, &why);
		return;
	}
	dev->mapped = true;
	dev->scsi.deadline_ns = chan->deadline_ns;
	if (chan->deadline_ns)
		beat_set(dev, chan->deadline_ns);
	scsi_ini_start(&dev->scsi);
}

static void chan_reply(struct srp_chan *chan, struct srp_slot *slot)
{
	struct srp_dev *dev = srp_chan_end(chan, slot);

	if (dev)
		scsi_ini_answered(&dev->scsi,
			scsi_ini_detail(slot->status, slot->sense, slot->sense_len),
			dev->page->base, slot->moved);
}

static void chan_lost(struct srp_chan *chan, void *owner)
{
	(void)chan;
	(void)owner;
}

static const char *command_name(const void *owner)
{
	return scsi_ini_what(&((const struct srp_dev *)owner)->scsi);
}

static void target_event(struct srp_chan *chan)
{
	scsi_ini_look(&container_of(chan, struct srp_dev, chan)->scsi);
}

static void gone(struct srp_dev *dev, const struct diag *why)
{
	loop_timer_del(dev->bdev.loop, &dev->beat);
	scsi_ini_stop(&dev->scsi);
	dev->bdev.why = *why;
	dev->bdev.state = BDEV_DOWN;
	changed(dev);
}

static void chan_down(struct srp_chan *chan)
{
	struct srp_dev *dev = container_of(chan, struct srp_dev, chan);

	if (!dev->mapped)
		resolve_doubt(dev->conf.host);
	gone(dev, &chan->why);
}

static const struct srp_chan_events events = { .up = chan_up,
	.reply = chan_reply,
	.lost = chan_lost,
	.name = command_name,
	.idle = send_pending,
	.event = target_event,
	.down = chan_down };

static int connect_to(struct srp_dev *dev, struct diag *diag)
{
	addr_text(&dev->conf.dst, dev->conf.where);
	return srp_chan_open(&dev->chan, dev->bdev.loop, &dev->conf, true, &events, diag);
}

static void resolved(struct resolve *resolve)
{
	struct srp_dev *dev = container_of(resolve, struct srp_dev, resolve);
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
	struct srp_dev *dev = (struct srp_dev *)bdev;
	struct diag why = { 0 };

	diag_set(&why, DIAG_CLOSED, ECONNABORTED, "closed");
	if (!dev->conf.dst.ss.ss_family)
		resolve_fail(&dev->resolve, bdev->loop, &why);
	else
		srp_chan_fail(&dev->chan, &why);
}

static void dev_free(struct bdev *bdev)
{
	struct srp_dev *dev = (struct srp_dev *)bdev;

	resolve_cancel(&dev->resolve);
	loop_timer_del(bdev->loop, &dev->beat);
	scsi_ini_stop(&dev->scsi);
	if (dev->mapped)
		srp_chan_unmap(&dev->chan, dev->page);
	srp_chan_fini(&dev->chan);
	if (dev->page)
		pool_free(dev->page);
	free(dev);
}

static void dev_facts(struct bdev *bdev, struct out *out)
{
	struct srp_dev *dev = (struct srp_dev *)bdev;
	const struct srp_conf *conf = &dev->conf;
	char text[ADDR_TEXT];

	out_text(out, "transport", "transport:   ", "rdma");
	out_text(out, "rdma", NULL, "%s", dev->chan.backend);
	out_text(out, "traddr", NULL, "%s", addr_host(&conf->dst, text));
	out_text(out, "trsvcid", NULL, "%u", addr_port(&conf->dst));
	out_line(out, "route:       %s", dev->chan.way);
	out_text(out, "id_ext", "ID_EXT:      ", "%s", hex_text(text, conf->target, 8));
	out_text(out, "ioc_guid", "IOC GUID:    ", "%s", hex_text(text, conf->target + 8, 8));
	scsi_ini_facts(&dev->scsi, out);
	out_text(out, "initiator_port", "initiator:   ", "%s",
		hex_text(text, conf->initiator, sizeof(conf->initiator)));
	out_u64(out, "immediate_bytes", "immediate:   ", dev->chan.imm);
	out_text(out, "security", "security:    ", "none");
}

static const struct bdev_ops ops = {
	.name = "srp", .lane = srp_lane, .stop = dev_stop, .free = dev_free, .facts = dev_facts
};

static int read_id(const char *text, size_t len, const char *name, uint8_t id[8], struct diag *diag)
{
	char word[20];
	uint64_t value;

	if (len > 2 && text[0] == '0' && (text[1] | 0x20) == 'x') {
		text += 2;
		len -= 2;
	}
	snprintf(word, sizeof(word), "%.*s", (int)(len < sizeof(word) ? len : sizeof(word) - 1),
		text);
	if (!hex_parse(&value, word, 16))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid %s '%.*s': expected 1 to 16 hexadecimal digits", name, (int)len,
			text);
	wire_put_be(id, 8, value);
	return 0;
}

/* "IOC_GUID/ID_EXT", "IOC_GUID/ID_EXT/LUN" */
static int read_path(struct srp_dev *dev, const char *path, struct diag *diag)
{
	size_t guid = strcspn(path, "/");
	const char *ext = path + guid + (path[guid] == '/');
	size_t len = strcspn(ext, "/");
	const char *lun = ext + len + (ext[len] == '/');
	uint64_t number;
	int err;

	if (!guid || !len)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"no target: expected srp+cm://HOST:PORT/IOC_GUID/ID_EXT[/LUN]");
	err = read_id(path, guid, "IOC_GUID", dev->conf.target + 8, diag);
	if (!err)
		err = read_id(ext, len, "ID_EXT", dev->conf.target, diag);
	dev->scsi.any_lun = !*lun;
	if (err || !*lun)
		return err;
	if (!lun_parse(&number, lun))
		return diag_set(diag, DIAG_USAGE, EINVAL, "invalid LUN '%s'", lun);
	scsi_ini_lun(dev->scsi.lun, number);
	return 0;
}

static uint64_t mix(uint64_t hash, const char *text) /* FNV-1a */
{
	while (*text)
		hash = (hash ^ (uint8_t)*text++) * 0x100000001b3;
	return hash;
}

/* The initiator port. A login without the multi-channel code ends the channels of the same port at
 * this target: so other processes, and other URIs of this one, are other ports, but a path that
 * comes back is the one it was. */
static int read_initiator(
	struct srp_dev *dev, struct uri *uri, const struct bdev_env *env, struct diag *diag)
{
	static uint64_t process;
	const char *ext = uri_value(uri, "initiator_ext");
	uint64_t own = __atomic_load_n(&process, __ATOMIC_RELAXED), none = 0;

	memcpy(dev->conf.initiator + 8, env->hostid, 8);
	if (ext)
		return read_id(ext, strlen(ext), "initiator_ext", dev->conf.initiator, diag);
	if (!own) {
		if (getrandom(&own, sizeof(own), GRND_NONBLOCK) != sizeof(own))
			return diag_sys(diag, errno, "random number");
		own |= 1;
		if (!__atomic_compare_exchange_n(
			    &process, &none, own, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			own = none;
	}
	own = mix(mix(own ^ uri->port, uri->spelling), uri->host);
	wire_put_be(dev->conf.initiator, 8, own);
	return 0;
}

static int read_host(struct srp_conf *conf, struct uri *uri, struct diag *diag)
{
	const char *src = uri_value(uri, "src");
	uint32_t tos = 0;
	int err, known;

	if (!uri->host[0] || !uri->port)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"srp+cm: requires HOST:PORT: SRP has no default port");
	if (uri->user)
		return diag_set(diag, DIAG_USAGE, EINVAL, "SRP has no users: remove USER@");
	err = src ? addr_source(&conf->src, src, diag) : 0;
	if (!err)
		err = uri_u32(uri, "tos", 0, 255, &tos, diag);
	conf->tos = (uint8_t)tos;
	if (!err)
		err = rdma_keys(uri, conf->dev, &conf->backend, &conf->no_crc, diag);
	if (err)
		return err;
	conf->port = uri->port;
	known = addr_known(&conf->dst, uri->host, conf->port, diag);
	snprintf(conf->host, sizeof(conf->host), "%s", uri->host);
	return known < 0 ? known : 0;
}

static int read_uri(
	struct srp_dev *dev, struct uri *uri, const struct bdev_env *env, struct diag *diag)
{
	struct srp_conf *conf = &dev->conf;
	uint32_t queues = CHANNELS, depth = SRP_DEPTH;
	bool imm = true;
	int err = read_host(conf, uri, diag);

	conf->timeout_ms = env->timeout_ms ? env->timeout_ms : BDEV_TIMEOUT_MS;
	if (conf->timeout_ms == BDEV_NEVER)
		conf->timeout_ms = 0;
	conf->io_ms = IO_MS;
	if (!err)
		err = read_path(dev, uri->path, diag);
	if (!err)
		err = read_initiator(dev, uri, env, diag);
	if (!err)
		err = uri_u32(uri, "queues", 1, SRP_QUEUES, &queues, diag);
	if (!err)
		err = uri_u32(uri, "depth", 1, 1024, &depth, diag);
	if (!err)
		err = uri_bool(uri, "immediate", &imm, diag);
	conf->queues = (uint16_t)queues;
	conf->depth = (uint16_t)depth;
	conf->imm = imm ? SRP_IMM_MAX : 0;
	return err ? err : uri_done(uri, diag);
}

static int attach(struct bdev **out, struct loop *loop, struct uri *uri, const struct bdev_env *env,
	struct diag *diag)
{
	struct srp_dev *dev = calloc(1, sizeof(*dev));
	int err;

	if (!dev)
		return diag_sys(diag, ENOMEM, "srp");
	dev->bdev = (struct bdev){
		.ops = &ops, .loop = loop, .state = BDEV_OPENING, .status_text = scsi_ini_text
	};
	dev->scsi = (struct scsi_ini){ .submit = scsi_submit, .done = scsi_done, .loop = loop };
	dev->beat.fire = beat_fired;
	dev->resolve.done = resolved;
	dev->write = env->write;
	err = read_uri(dev, uri, env, diag);
	if (!err)
		err = pool_new(&dev->page, SCSI_INI_PAGE, 1, diag);
	if (!err)
		err = dev->conf.dst.ss.ss_family
			      ? connect_to(dev, diag)
			      : resolve_start(&dev->resolve, loop, dev->conf.host, dev->conf.port,
					dev->conf.timeout_ms, diag);
	if (err) {
		if (dev->page)
			pool_free(dev->page);
		free(dev);
		return err;
	}
	*out = &dev->bdev;
	return 0;
}

const struct proto srp_cm_proto = { .scheme = { "srp+cm://",
					    "SRP by RDMA/CM: HOST:PORT/IOC_GUID/ID_EXT[/LUN]",
					    SCHEME_DISK | SCHEME_SRP },
	.exposed = true,
	.attach = attach };
