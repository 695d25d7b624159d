/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The disk of srp+cm:// and srp:// URIs: read the URI, print facts for `info`. */
#include "names.h"
#include "out.h"
#include "protocol.h"
#include "rdma_keys.h"
#include "srp.h"
#include "uri_read.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IO_CLASS_10 0xff00 /* of targets of SRP revision 10 */

struct srp_dev {
	struct scsi_disk disk; /* first member */
	struct srp_conf conf;
	struct scsi_port port;
	struct srp_fence *fence; /* of a lost path by this one; NULL: none */
};

static void dev_free(struct bdev *bdev)
{
	srp_fence_free(((struct srp_dev *)bdev)->fence);
	scsi_disk_fini((struct scsi_disk *)bdev);
	scsi_port_release(&((struct srp_dev *)bdev)->port);
	free(bdev);
}

static int dev_fence(struct bdev *bdev, struct bdev_fence *of)
{
	struct srp_dev *dev = (struct srp_dev *)bdev;

	return srp_fence_start(&dev->fence, &dev->disk, of);
}

static void dev_facts(struct bdev *bdev, struct out *out)
{
	struct srp_dev *dev = (struct srp_dev *)bdev;
	const struct srp_conf *conf = &dev->conf;
	const struct srp_chan *chan = (const struct srp_chan *)dev->disk.sess;
	char text[ADDR_TEXT];

	out_text(out, "transport", "transport:   ", "rdma");
	out_text(out, "rdma", NULL, "%s", chan->backend);
	out_text(out, "traddr", NULL, "%s", addr_host(&conf->base.dst, text));
	if (addr_service(&conf->base.dst))
		out_text(out, "service_id", "service ID:  ", "%016" PRIx64,
			addr_service(&conf->base.dst));
	else
		out_text(out, "trsvcid", NULL, "%u", addr_port(&conf->base.dst));
	out_line(out, "route:       %s", chan->route);
	out_text(out, "id_ext", "ID_EXT:      ", "%s", hex_text(text, conf->target, 8));
	out_text(out, "ioc_guid", "IOC GUID:    ", "%s", hex_text(text, conf->target + 8, 8));
	scsi_ini_show(&dev->disk.scsi, out);
	out_text(out, "initiator_port", "initiator:   ", "%s",
		hex_text(text, conf->initiator, sizeof(conf->initiator)));
	out_u64(out, "immediate_bytes", "immediate:   ", chan->imm);
	out_text(out, "security", "security:    ", "none");
}

static const struct bdev_ops ops = { .name = "srp",
	.retry = scsi_ini_retry,
	.lane = scsi_disk_lane,
	.stop = scsi_disk_stop,
	.free = dev_free,
	.fence = dev_fence,
	.facts = dev_facts };

/* Return the number in a normalised option; `unset` if it is unset. */
static uint64_t number(const struct srp_params *params, enum srp_opt opt, uint64_t unset)
{
	hex_parse(&unset, params->value[opt], 16);
	return unset;
}

/* A login without the multi-channel flag ends the channels of the same initiator port, so use a
 * port of our own unless the user sets its extension. */
static int read_initiator(struct srp_dev *dev, struct uri *uri, const struct srp_params *params,
	const struct bdev_env *env, struct diag *diag)
{
	bool named = params->value[SRP_OPT_INITIATOR_EXT][0];
	int err = named ? 0 : scsi_port_acquire(&dev->port, uri, diag);

	wire_put_be(
		dev->conf.initiator, 8, number(params, SRP_OPT_INITIATOR_EXT, dev->port.number));
	memcpy(dev->conf.initiator + 8, env->hostid, 8);
	return err;
}

/* Set the service of an InfiniBand port, as srp-discover prints it. */
static int read_service(struct srp_conf *conf, const struct srp_params *params, struct diag *diag)
{
	uint64_t service = number(params, SRP_OPT_SERVICE_ID, 0);
	uint8_t gid[16];

	if (!service) {
		diag_set(diag, DIAG_USAGE, EINVAL, "srp: requires service_id=ID");
		return diag_hint(diag, "rdmastor srp-discover prints it in the target's URI");
	}
	gid_parse(gid, params->value[SRP_OPT_DGID]);
	addr_set_ib(&conf->base.dst, gid, (uint16_t)number(params, SRP_OPT_PKEY, 0xffff), service);
	return 0;
}

static int read_uri(
	struct srp_dev *dev, struct uri *uri, const struct bdev_env *env, struct diag *diag)
{
	struct srp_conf *conf = &dev->conf;
	struct uri_srp srp;
	bool imm = true;
	int err = uri_srp_read(&srp, uri, URI_OWN, diag);

	if (!err)
		err = scsi_disk_read(&dev->disk, uri, env, 0, srp.lun, diag);
	if (!err)
		err = rdma_keys(uri, conf->dev, &conf->backend, &conf->no_crc, diag);
	if (!err)
		err = read_initiator(dev, uri, &srp.params, env, diag);
	if (!err)
		err = uri_bool(uri, "immediate", &imm, diag);
	if (!err && strcmp(uri->scheme, "srp+cm"))
		err = read_service(conf, &srp.params, diag);
	if (err)
		return err;
	conf->imm = imm ? SRP_IMM_MAX : 0;
	conf->rev10 = number(&srp.params, SRP_OPT_IO_CLASS, 0) == IO_CLASS_10;
	wire_put_be(conf->target, 8, number(&srp.params, SRP_OPT_ID_EXT, 0));
	wire_put_be(conf->target + 8, 8, number(&srp.params, SRP_OPT_IOC_GUID, 0));
	return uri_done(uri, diag);
}

static int attach(struct bdev **out, struct loop *loop, struct uri *uri, const struct bdev_env *env,
	struct diag *diag)
{
	struct srp_dev *dev = calloc(1, sizeof(*dev));
	int err;

	if (!dev)
		return diag_sys(diag, ENOMEM, "srp");
	dev->disk.conf = &dev->conf.base;
	err = read_uri(dev, uri, env, diag);
	if (!err)
		err = scsi_disk_start(&dev->disk, loop, &ops, &srp_carrier, env, diag);
	if (err) {
		scsi_port_release(&dev->port);
		free(dev);
		return err;
	}
	*out = &dev->disk.bdev;
	return 0;
}

const struct proto srp_cm_proto = { .scheme = { "srp+cm://",
					    "SRP by RDMA/CM: HOST:PORT/IOC_GUID/ID_EXT[/LUN]",
					    SCHEME_DISK | SCHEME_SRP },
	.exposed = true,
	.attach = attach };

const struct proto srp_proto = { .scheme = { "srp://",
					 "SRP over InfiniBand: LID-or-GID/IOC_GUID/ID_EXT[/LUN]",
					 SCHEME_DISK | SCHEME_SRP },
	.exposed = true,
	.attach = attach };
