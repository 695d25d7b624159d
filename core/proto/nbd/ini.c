/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NBD client as a bdev: open a connection, set the limits that the server reports, and pass the
 * connection to the first lane. Further lanes make their own (ini_lane.c); block/paths.c
 * reconnects. */
#include "ini.h"
#include "min.h"
#include "out.h"
#include "protocol.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>

#define BLOCK 512
#define BEST  4096
#define SPAN  (1u << 30) /* bytes per query for block status */
/* The protocol does not define when a server drops the requests of a broken connection. Wait that
 * long. */
#define QUIESCE_MS 5000

static struct nbd_ini_dev *to_dev(struct bdev *bdev)
{
	return container_of(bdev, struct nbd_ini_dev, bdev);
}

static void changed(struct nbd_ini_dev *dev, enum bdev_state state)
{
	dev->bdev.state = state;
	if (dev->bdev.changed)
		dev->bdev.changed(&dev->bdev);
}

/* "Size constraints": set the defaults of values that were not reported. */
static void fix_limits(struct nbd_ini_dev *dev)
{
	struct bdev_limits *lim = &dev->bdev.lim;
	const struct nbd_terms *terms = &dev->negotiated.terms;
	uint32_t minimum = terms->minimum ? terms->minimum : 1,
		 block = minimum > BLOCK ? minimum : BLOCK;
	uint32_t most =
		min_u32(terms->maximum ? terms->maximum : NBD_PAYLOAD_MAX, NBD_PAYLOAD_MAX) &
		~(block - 1);
	uint16_t flags = terms->flags;

	lim->size = bdev_whole_blocks(terms->size, block);
	dev->end = terms->size < lim->size ? terms->size : lim->size;
	lim->block = block;
	lim->best = terms->preferred > BEST ? terms->preferred : block > BEST ? block : BEST;
	while (lim->best > most && lim->best > block)
		lim->best /= 2; /* the result is also an alignment, while `most` need not be a power
				   of 2 */
	lim->max[IO_READ] = min_u32(most, NBD_INI_READ);
	lim->max[IO_MAP] = dev->negotiated.meta ? SPAN : 0;
	lim->lanes = flags & NBD_FLAG_CAN_MULTI_CONN ? dev->conf.links : 1;
	lim->depth = dev->conf.depth;
	lim->quiesce_ms = QUIESCE_MS;
	lim->ro = flags & NBD_FLAG_READ_ONLY || !dev->write;
	lim->ro_disk = flags & NBD_FLAG_READ_ONLY;
	lim->fua = flags & NBD_FLAG_SEND_FUA;
	if (flags & NBD_FLAG_READ_ONLY)
		return;
	lim->max[IO_WRITE] = most;
	lim->max[IO_FLUSH] = flags & NBD_FLAG_SEND_FLUSH ? 1 : 0;
	lim->max[IO_TRIM] = flags & NBD_FLAG_SEND_TRIM ? most : 0;
	lim->max[IO_ZERO] = flags & NBD_FLAG_SEND_WRITE_ZEROES ? most : 0;
}

static int check(const struct nbd_ini_dev *dev, struct diag *diag)
{
	const struct nbd_terms *terms = &dev->negotiated.terms;

	if (!dev->bdev.lim.size)
		return diag_set(
			diag, DIAG_NO_DEVICE, ENOMEDIUM, "export '%s' has size 0", dev->conf.name);
	if (!dev->bdev.lim.max[IO_READ])
		return diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP,
			"the server's largest request is %u bytes, less than a block of %u",
			terms->maximum, dev->bdev.lim.block);
	if (dev->write && terms->flags & NBD_FLAG_READ_ONLY)
		return diag_set(diag, DIAG_PERMISSION, EROFS,
			"the server offers export '%s' read-only", dev->conf.name);
	return 0;
}

/* All connections go to the address that has answered the first one. */
static void settle(struct nbd_ini_dev *dev)
{
	if (!dev->conf.dst.others)
		return;
	addr_keep_peer(&dev->conf.dst, &dev->link.peer);
	addr_text(&dev->conf.dst, dev->conf.where);
}

/* Further connections are as secure as the first one. */
static void settle_tls(struct nbd_ini_dev *dev)
{
	struct nbd_ini_conf *conf = &dev->conf;

	conf->tls_optional = false;
	if (dev->link.handshake.tls)
		return;
	tls_creds_free(conf->tls);
	conf->tls = NULL;
	conf->psk = false;
}

void nbd_ini_warn_insecure(
	const struct nbd_ini_conf *conf, bool optional, bool secured, struct diag *why)
{
	const char *text = NULL;

	if (optional && !secured)
		text = "tls=optional is insecure, and the server does not offer TLS: anyone "
		       "in between can read and change the data";
	else if (optional)
		text = "tls=optional is insecure: anyone in between can turn TLS off; use "
		       "nbds or nbds+unix";
	else if (conf->tls_files.no_verify && !conf->psk)
		text = "tls-verify-peer=no is insecure: anyone in between can act as the server";
	if (text)
		diag_set(why, DIAG_AUTH, EPERM, "%s", text);
}

static void link_up(struct nbd_ini_link *link)
{
	struct nbd_ini_dev *dev = container_of(link, struct nbd_ini_dev, link);
	bool optional = dev->conf.tls_optional;
	struct diag why = { 0 };

	settle(dev);
	settle_tls(dev);
	nbd_ini_warn_insecure(&dev->conf, optional, dev->conf.tls, &dev->bdev.why);
	snprintf(dev->security, sizeof(dev->security), "%s", link->stream->security);
	dev->chain_len = link->stream->chain_len;
	for (unsigned i = 0; i < dev->chain_len; i++)
		dev->chain[i] = link->stream->chain[i];
	dev->negotiated = link->handshake.negotiated;
	fix_limits(dev);
	if (check(dev, &why))
		nbd_ini_link_end(link, &why);
	else
		loop_work_add(link->loop, &dev->settle);
}

static void settled(struct loop_work *work)
{
	struct nbd_ini_dev *dev = container_of(work, struct nbd_ini_dev, settle);

	if (dev->bdev.state == BDEV_OPENING && !dev->link.closing) {
		if (!dev->conf.timeout_ms) /* the lanes' timeout */
			dev->conf.timeout_ms = BDEV_TIMEOUT_MS;
		dev->spare = nbd_ini_link_detach(&dev->link);
		changed(dev, BDEV_UP);
	} else if (dev->bdev.state == BDEV_UP) {
		diag_set(&dev->bdev.why, DIAG_CLOSED, ESHUTDOWN, "closed");
		changed(dev, BDEV_DOWN);
	}
}

static void link_down(struct nbd_ini_link *link)
{
	struct nbd_ini_dev *dev = container_of(link, struct nbd_ini_dev, link);

	settle(dev);
	if (dev->bdev.state == BDEV_OPENING)
		resolve_mark_stale(dev->conf.host);
	dev->bdev.why = link->why;
	changed(dev, BDEV_DOWN);
}

/* Replies are only read once a lane owns the connection. */
static const struct nbd_ini_link_events events = { .up = link_up, .down = link_down };

/* Disconnect, in order, a connection that no lane has taken. */
static void drop_spare(struct nbd_ini_dev *dev)
{
	struct stream_detached spare = dev->spare;

	spare.fd = __atomic_exchange_n(&dev->spare.fd, -1, __ATOMIC_ACQ_REL);
	if (spare.fd >= 0 &&
		!nbd_ini_link_adopt(&dev->link, dev->bdev.loop, &dev->conf, &spare, &events, NULL))
		nbd_ini_link_fini(&dev->link);
}

static void dev_stop(struct bdev *bdev)
{
	struct nbd_ini_dev *dev = to_dev(bdev);

	drop_spare(dev);
	loop_work_add(bdev->loop, &dev->settle);
}

static void dev_free(struct bdev *bdev)
{
	struct nbd_ini_dev *dev = to_dev(bdev);

	resolve_cancel(&dev->resolve);
	loop_work_del(bdev->loop, &dev->settle);
	nbd_ini_link_fini(&dev->link);
	drop_spare(dev);
	tls_creds_free(dev->conf.tls);
	free(dev);
}

static void put_chain(struct out *out, const struct nbd_ini_dev *dev)
{
	out_list(out, "certificates");
	for (unsigned i = 0; i < dev->chain_len; i++) {
		const struct tls_certificate *cert = &dev->chain[i];

		out_object(out, NULL);
		out_text(out, "subject", NULL, "%s", cert->subject);
		out_text(out, "issuer", NULL, "%s", cert->issuer);
		out_text(out, "names", NULL, "%s", cert->names);
		out_text(out, "valid_from", NULL, "%s", cert->from);
		out_text(out, "valid_until", NULL, "%s", cert->until);
		out_end(out);
		out_line(out, "certificate: %s%s%s, issued by %s, valid from %s until %s",
			cert->subject, cert->names[0] ? ", for " : "", cert->names, cert->issuer,
			cert->from, cert->until);
	}
	out_end(out);
}

static void dev_facts(struct bdev *bdev, struct out *out)
{
	struct nbd_ini_dev *dev = to_dev(bdev);
	const struct nbd_terms *terms = &dev->negotiated.terms;
	const struct addr *dst = &dev->conf.dst;
	bool local = dst->ss.ss_family == AF_UNIX;
	const struct sockaddr_un *un = (const struct sockaddr_un *)&dst->ss;
	char text[ADDR_TEXT];

	out_text(out, "transport", "transport:   ", local ? "unix" : "tcp");
	if (local) {
		out_text(out, "path", "socket:      ", "%.*s", (int)sizeof(un->sun_path),
			un->sun_path);
	} else {
		out_text(out, "traddr", NULL, "%s", addr_host(dst, text));
		out_text(out, "trsvcid", NULL, "%u", addr_port(dst));
		out_line(out, "server:      %s", dev->conf.where);
	}
	out_text(out, "name", "export:      ", "%s", dev->conf.name);
	out_bool(out, "structured_replies", NULL, dev->negotiated.structured);
	out_line(out, "replies:     %s", dev->negotiated.structured ? "structured" : "simple");
	if (terms->minimum) {
		out_u64(out, "request_minimum_bytes", NULL, terms->minimum);
		out_u64(out, "request_preferred_bytes", NULL, terms->preferred);
		out_u64(out, "request_maximum_bytes", NULL, terms->maximum);
		out_line(out, "requests:    minimum %u, preferred %u, maximum %u bytes",
			terms->minimum, terms->preferred, terms->maximum);
	}
	out_text(out, "security", NULL, "%s",
		dev->conf.psk   ? "tls-psk"
		: dev->conf.tls ? "tls"
		: local         ? "file-permissions"
				: "none");
	out_line(out, "security:    %s",
		dev->conf.tls ? dev->security
		: local       ? "file-permissions"
			      : "none");
	if (dev->chain_len)
		put_chain(out, dev);
}

static const struct bdev_ops ops = {
	.name = "nbd", .lane = nbd_ini_lane, .stop = dev_stop, .free = dev_free, .facts = dev_facts
};

static void resolved(struct resolve *resolve)
{
	struct nbd_ini_dev *dev = container_of(resolve, struct nbd_ini_dev, resolve);
	struct diag *why = &dev->bdev.why;

	*why = resolve->why;
	dev->conf.dst = resolve->addr;
	addr_text(&dev->conf.dst, dev->conf.where);
	if (!why->err)
		nbd_ini_link_dial(
			&dev->link, dev->bdev.loop, &dev->conf, dev->deadline_ns, &events, why);
	if (why->err)
		changed(dev, BDEV_DOWN);
}

static int begin(struct nbd_ini_dev *dev, struct diag *diag)
{
	struct nbd_ini_conf *conf = &dev->conf;

	dev->deadline_ns = conf->timeout_ms ? loop_clock() + conf->timeout_ms * MSEC : 0;
	if (conf->dst.ss.ss_family)
		return nbd_ini_link_dial(
			&dev->link, dev->bdev.loop, conf, dev->deadline_ns, &events, diag);
	dev->resolve.done = resolved;
	return resolve_start(
		&dev->resolve, dev->bdev.loop, conf->host, conf->port, conf->timeout_ms, diag);
}

static int attach(struct bdev **out, struct loop *loop, struct uri *uri, const struct bdev_env *env,
	struct diag *diag)
{
	struct nbd_ini_dev *dev = calloc(1, sizeof(*dev));
	int err;

	if (!dev)
		return diag_sys(diag, ENOMEM, "nbd");
	dev->bdev = (struct bdev){
		.ops = &ops, .loop = loop, .state = BDEV_OPENING, .status_text = nbd_ini_status_text
	};
	dev->write = env->write;
	dev->spare.fd = -1;
	dev->settle.run = settled;
	err = nbd_ini_conf_init(&dev->conf, uri, env, diag);
	if (!err)
		err = uri_done(uri, diag);
	if (!err)
		err = nbd_ini_conf_tls(&dev->conf, diag);
	if (!err)
		err = begin(dev, diag);
	if (err) {
		tls_creds_free(dev->conf.tls);
		free(dev);
		return err;
	}
	*out = &dev->bdev;
	return 0;
}

const struct proto nbd_proto = { .scheme = { "nbd://", "NBD over TCP: HOST[:PORT]/NAME",
					 SCHEME_DISK },
	.attach = attach,
	.discover = nbd_discover };
const struct proto nbd_unix_proto = {
	.scheme = { "nbd+unix://", "NBD over a unix socket: /NAME?socket=PATH", SCHEME_DISK },
	.attach = attach,
	.discover = nbd_discover
};
const struct proto nbds_proto = { .scheme = { "nbds://", "NBD over TLS: HOST[:PORT]/NAME",
					  SCHEME_DISK },
	.attach = attach,
	.discover = nbd_discover };
const struct proto nbds_unix_proto = { .scheme = { "nbds+unix://",
					       "NBD over TLS and a unix socket: /NAME?socket=PATH",
					       SCHEME_DISK },
	.attach = attach,
	.discover = nbd_discover };
