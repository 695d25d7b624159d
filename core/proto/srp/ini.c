/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The disk of srp+cm:// and srp:// URIs: read the URI, print facts for `info`. */
#include "names.h"
#include "out.h"
#include "protocol.h"
#include "rdma_keys.h"
#include "srp.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* I/O classes of targets; 16a is the default, like in add_target */
#define IO_CLASS_16A 0x0100
#define IO_CLASS_10  0xff00

struct srp_dev {
	struct scsi_disk disk; /* first member */
	struct srp_conf conf;
	struct scsi_port port;
};

static void dev_free(struct bdev *bdev)
{
	scsi_disk_fini((struct scsi_disk *)bdev);
	scsi_port_release(&((struct srp_dev *)bdev)->port);
	free(bdev);
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
	.facts = dev_facts };

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
static int read_path(struct srp_conf *conf, const char *path, const char **lun, struct diag *diag)
{
	size_t guid = strcspn(path, "/");
	const char *ext = path + guid + (path[guid] == '/');
	size_t len = strcspn(ext, "/");
	int err;

	*lun = ext + len + (ext[len] == '/');
	if (!guid || !len)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"no target: expected srp+cm://HOST:PORT/IOC_GUID/ID_EXT[/LUN] or "
			"srp://GID/IOC_GUID/ID_EXT[/LUN]");
	err = read_id(path, guid, "IOC_GUID", conf->target + 8, diag);
	return err ? err : read_id(ext, len, "ID_EXT", conf->target, diag);
}

/* A login without the multi-channel flag ends the channels of the same initiator port, so use a
 * port of our own unless the user sets its extension. */
static int read_initiator(
	struct srp_dev *dev, struct uri *uri, const struct bdev_env *env, struct diag *diag)
{
	const char *ext = uri_value(uri, "initiator_ext");
	int err;

	memcpy(dev->conf.initiator + 8, env->hostid, 8);
	if (ext)
		return read_id(ext, strlen(ext), "initiator_ext", dev->conf.initiator, diag);
	err = scsi_port_acquire(&dev->port, uri, diag);
	wire_put_be(dev->conf.initiator, 8, dev->port.number);
	return err;
}

/* Read the service of an InfiniBand port, as srp-discover prints it. */
static int read_service(struct addr *dst, struct srp_conf *conf, struct uri *uri, struct diag *diag)
{
	static const char *const keys[] = { "pkey", "service_id", "io_class" };
	uint64_t value[] = { 0xffff, 0, IO_CLASS_16A };
	uint8_t gid[16];

	if (!gid_parse(gid, uri->host))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"srp: invalid GID '%s': expected an IPv6 address or 32 hex digits",
			uri->host);
	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const char *text = uri_value(uri, keys[i]);

		if (text && !hex_parse(&value[i], text, i == 1 ? 16 : 4))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"invalid %s '%s': expected 1 to %d hexadecimal digits", keys[i],
				text, i == 1 ? 16 : 4);
	}
	conf->rev10 = value[2] == IO_CLASS_10;
	if (!conf->rev10 && value[2] != IO_CLASS_16A)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid io_class '%04x': expected %04x (SRP revision 10) or %04x (16a)",
			(unsigned)value[2], IO_CLASS_10, IO_CLASS_16A);
	addr_set_ib(dst, gid, (uint16_t)value[0], value[1]);
	return 0;
}

static int read_uri(
	struct srp_dev *dev, struct uri *uri, const struct bdev_env *env, struct diag *diag)
{
	struct srp_conf *conf = &dev->conf;
	bool cm = !strcmp(uri->scheme, "srp+cm"), imm = true;
	struct addr service;
	const char *lun = "";
	int err = 0;

	if (!cm && uri->port)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"srp: URIs have no port number: expected srp://GID/...");
	if (cm && (!uri->host[0] || !uri->port))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"srp+cm: requires HOST:PORT: SRP has no default port");
	if (uri->user)
		return diag_set(diag, DIAG_USAGE, EINVAL, "SRP has no users: remove USER@");
	if (!cm)
		err = read_service(&service, conf, uri, diag);
	if (!err)
		err = read_path(conf, uri->path, &lun, diag);
	if (!err)
		err = scsi_disk_read(&dev->disk, uri, env, 0, lun, diag);
	if (!err)
		err = rdma_keys(uri, conf->dev, &conf->backend, &conf->no_crc, diag);
	if (!err)
		err = read_initiator(dev, uri, env, diag);
	if (!err)
		err = uri_bool(uri, "immediate", &imm, diag);
	conf->imm = imm ? SRP_IMM_MAX : 0;
	if (!err && !cm && !addr_service(&service)) {
		diag_set(diag, DIAG_USAGE, EINVAL, "srp: requires service_id=ID");
		return diag_hint(diag, "rdmastor srp-discover prints it in the target's URI");
	}
	if (!err && !cm)
		conf->base.dst = service;
	return err ? err : uri_done(uri, diag);
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
