/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The disks behind iscsi:// and iser://, and what `info` shows of them. */
#include "ini.h"
#include "dial.h"
#include "names.h"
#include "out.h"
#include "protocol.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct iscsi_dev {
	struct scsi_disk disk; /* first */
	struct iscsi_conf conf;
	struct iscsi_fence *fence;     /* of a lost path by this one; NULL: none */
	struct iscsi_portals *portals; /* that are being listed; NULL: none */
};

static void dev_free(struct bdev *bdev)
{
	struct iscsi_dev *dev = (struct iscsi_dev *)bdev;

	iscsi_portals_free(dev->portals);
	iscsi_fence_free(dev->fence);
	scsi_disk_fini(&dev->disk);
	scsi_port_release(&dev->conf.port);
	iscsi_conf_fini(&dev->conf);
	free(dev);
}

static int dev_fence(struct bdev *bdev, struct bdev_fence *of)
{
	struct iscsi_dev *dev = (struct iscsi_dev *)bdev;

	return iscsi_fence_start(&dev->fence, &dev->disk, of);
}

static int dev_search(struct bdev *bdev, struct bdev_search *of, struct diag *diag)
{
	struct iscsi_dev *dev = (struct iscsi_dev *)bdev;

	return iscsi_portals_start(&dev->portals, &dev->disk, of, diag);
}

static void dev_facts(struct bdev *bdev, struct out *out)
{
	struct iscsi_dev *dev = (struct iscsi_dev *)bdev;
	const struct iscsi_conf *conf = &dev->conf;
	const struct iscsi_sess *sess = (const struct iscsi_sess *)dev->disk.sess;
	const struct iscsi_login_result *result = &sess->dial.result;
	const struct iscsi_agreed_params *agreed = &result->agreed;
	bool tcp = dev->disk.carrier == &iscsi_tcp_carrier;
	char text[ADDR_TEXT];

	out_text(out, "transport", "transport:   ", tcp ? "tcp" : "rdma");
	if (!tcp)
		out_text(out, "rdma", NULL, "%s", sess->backend);
	out_text(out, "traddr", NULL, "%s", addr_host(&result->at, text));
	out_text(out, "trsvcid", NULL, "%u", addr_port(&result->at));
	out_line(out, "route:       %s", result->route);
	out_text(out, "iqn", "target:      ", "%s", conf->target);
	scsi_ini_show(&dev->disk.scsi, out);
	out_text(out, "initiator", "initiator:   ", "%s", conf->initiator);
	if (tcp) {
		out_bool(out, "header_digest", "header digest: ", agreed->header_digest);
		out_bool(out, "data_digest", "data digest: ", agreed->data_digest);
	}
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

static const struct bdev_ops ops = { .name = "iscsi",
	.retry = scsi_ini_retry,
	.lane = scsi_disk_lane,
	.stop = scsi_disk_stop,
	.free = dev_free,
	.fence = dev_fence,
	.search = dev_search,
	.facts = dev_facts };

static int attach(struct bdev **out, struct loop *loop, struct uri *uri, const struct bdev_env *env,
	enum iscsi_carrier carrier, struct diag *diag)
{
	struct iscsi_dev *dev = calloc(1, sizeof(*dev));
	int err;

	if (!dev)
		return diag_sys(diag, ENOMEM, "iscsi");
	dev->disk.conf = &dev->conf.base;
	err = iscsi_conf_read(&dev->conf, &dev->disk, uri, carrier, env, diag);
	if (!err)
		err = scsi_port_acquire(&dev->conf.port, uri, diag);
	dev->disk.port = dev->conf.port.number;
	if (!err)
		err = scsi_disk_start(&dev->disk, loop, &ops,
			carrier == ISCSI_TCP ? &iscsi_tcp_carrier : &iscsi_iser_carrier, env, diag);
	if (err) {
		scsi_port_release(&dev->conf.port);
		iscsi_conf_fini(&dev->conf);
		free(dev);
		return err;
	}
	*out = &dev->disk.bdev;
	return 0;
}

static int attach_tcp(struct bdev **out, struct loop *loop, struct uri *uri,
	const struct bdev_env *env, struct diag *diag)
{
	return attach(out, loop, uri, env, ISCSI_TCP, diag);
}

static int attach_iser(struct bdev **out, struct loop *loop, struct uri *uri,
	const struct bdev_env *env, struct diag *diag)
{
	return attach(out, loop, uri, env, ISCSI_ISER, diag);
}

static bool is_first(const struct iscsi_target_list *list, unsigned at)
{
	for (unsigned i = 0; i < at; i++)
		if (!strcmp(list->record[i].name, list->record[at].name))
			return false;
	return true;
}

/* Report each target once, whatever the number of its portals. */
static void report(const struct iscsi_target_list *list, enum iscsi_carrier carrier,
	void (*found)(const char *uri, void *user), void *user)
{
	char text[URI_MAX];

	for (unsigned i = 0; i < list->count; i++) {
		if (!is_first(list, i))
			continue;
		iscsi_record_uri(&list->record[i], carrier, text);
		found(text, user);
	}
}

static int discover(struct loop *loop, struct uri *uri, const struct bdev_env *env,
	void (*found)(const char *uri, void *user), void *user, struct diag *diag)
{
	enum iscsi_carrier carrier = strcmp(uri->scheme, "iser") ? ISCSI_TCP : ISCSI_ISER;
	struct iscsi_dev *dev = calloc(1, sizeof(*dev));
	struct iscsi_target_list list = { 0 };
	struct addr at;
	int err;

	if (!dev)
		return diag_sys(diag, ENOMEM, "iscsi");
	dev->disk.conf = &dev->conf.base;
	err = iscsi_conf_read(&dev->conf, &dev->disk, uri, carrier, env, diag);
	if (!err)
		err = uri_resolve(uri, ISCSI_PORT, env->timeout_ms, &at, diag);
	if (!err)
		err = iscsi_discover(
			loop, &at, carrier, &dev->conf.from, env->timeout_ms, &list, diag);
	if (!err)
		report(&list, carrier, found, user);
	iscsi_target_list_free(&list);
	iscsi_conf_fini(&dev->conf);
	free(dev);
	return err;
}

static bool speaks_tcp(struct loop *loop, struct uri *uri, uint32_t ms)
{
	const struct iscsi_identity from = { .initiator = IQN_OWN "anonymous" };
	uint64_t end = loop_clock() + ms * MSEC, now;
	struct iscsi_probe probe = { .carrier = ISCSI_TCP };

	if (uri_resolve(uri, ISCSI_PORT, ms, &probe.addr, NULL))
		return false;
	now = loop_clock();
	ms = end > now + MSEC ? (uint32_t)((end - now) / MSEC) : 1;
	return !iscsi_probe(loop, &from, &probe, 1, ms, NULL) && probe.answers;
}

/* Unless the target itself has refused: suggest iSCSI over TCP if it answers at that portal. */
static void suggest_tcp(struct loop *loop, struct uri *uri, uint32_t ms, struct diag *why)
{
	uint16_t port = uri->port ? uri->port : ISCSI_PORT;
	char text[sizeof(why->text)], other[URI_MAX];

	switch ((enum diag_code)why->code) {
	case DIAG_NO_DEVICE:
	case DIAG_NO_MODULE:
	case DIAG_UNREACHABLE:
	case DIAG_TIMEOUT:
	case DIAG_REFUSED:
	case DIAG_CLOSED:
	case DIAG_PROTOCOL:
	case DIAG_UNSUPPORTED:
		break;
	default:
		return;
	}
	if (!speaks_tcp(loop, uri, ms))
		return;
	snprintf(text, sizeof(text), "%.460s; iSCSI over TCP answers there", why->text);
	memcpy(why->text, text, sizeof(text));
	uri_start(other, "iscsi", uri->host, port);
	uri_add_target(other, uri);
	diag_hint(why, "%s", other);
}

const struct proto iscsi_proto = { .scheme = { "iscsi://", "iSCSI over TCP: HOST[:PORT]/IQN/LUN",
					   SCHEME_DISK | SCHEME_ISCSI, "iser-login" },
	.lists_paths = true,
	.attach = attach_tcp,
	.discover = discover };
const struct proto iser_proto = { .scheme = { "iser://", "iSCSI over RDMA: HOST[:PORT]/IQN/LUN",
					  SCHEME_DISK | SCHEME_ISCSI, "iser-login" },
	.exposed = true,
	.lists_paths = true,
	.attach = attach_iser,
	.suggest = suggest_tcp,
	.discover = discover };
