/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The initiator as a bdev: attach to a controller, find the namespace, set the limits from both,
 * and refresh them when the namespace changes. lane.c handles I/O queues, block/paths.c
 * reconnects. */
#include "min.h"
#include "nvme.h"
#include "out.h"
#include "protocol.h"
#include "uri_read.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define BEST 4096

enum dev_step {
	NS_LIST,
	NS_SEEK,
	NS_IDENTIFY,
	NS_DESC,
	NS_NVM,
	NS_ANA,
	NS_DONE,
	NS_CHANGED,
	NS_AGAIN
};

static struct nvme_dev *dev_of(struct nvme_ctrl *ctrl)
{
	return container_of(ctrl, struct nvme_dev, ctrl);
}

static void changed(struct nvme_dev *dev)
{
	if (dev->bdev.changed)
		dev->bdev.changed(&dev->bdev);
}

static void step_send(struct nvme_dev *dev)
{
	static const char *const what[] = {
		[NS_LIST] = "list namespaces",
		[NS_SEEK] = "identify namespace descriptors",
		[NS_IDENTIFY] = "identify namespace",
		[NS_DESC] = "identify namespace descriptors",
		[NS_NVM] = "identify limits of the NVM command set",
		[NS_ANA] = "read ANA log",
		[NS_CHANGED] = "read changed namespace list",
		[NS_AGAIN] = "identify namespace",
	};
	uint32_t in = NVME_IDENTIFY_LEN;
	struct nvme_sqe sqe;

	switch ((enum dev_step)dev->step) {
	case NS_LIST:
		sqe = nvme_identify(NVME_CNS_NS_LIST, 0, 0);
		break;
	case NS_SEEK:
		sqe = nvme_identify(NVME_CNS_NS_DESC, dev->list[dev->at], 0);
		break;
	case NS_DESC:
		sqe = nvme_identify(NVME_CNS_NS_DESC, dev->nsid, 0);
		break;
	case NS_IDENTIFY:
	case NS_AGAIN:
		sqe = nvme_identify(NVME_CNS_NS, dev->nsid, 0);
		break;
	case NS_NVM:
		sqe = nvme_identify(NVME_CNS_IO_CTRL, 0, NVME_CSI_NVM);
		break;
	case NS_ANA: /* reading the log re-arms the event */
		sqe = nvme_ana_get_log(dev);
		in = nvme_ana_log_len(dev);
		break;
	case NS_CHANGED: /* reading the log re-arms the event */
		sqe = (struct nvme_sqe){ .opcode = NVME_ADMIN_GET_LOG,
			.nsid = put_le32(NVME_NSID_ALL),
			.cdw10 =
				put_le32(NVME_LOG_CHANGED_NS | (NVME_IDENTIFY_LEN / 4 - 1) << 16) };
		break;
	case NS_DONE:
	default:
		return;
	}
	dev->req.what = what[dev->step];
	nvme_ctrl_send(&dev->ctrl, &dev->req, &sqe, in);
}

/* 0: first read the list of existing namespaces, for the message. */
static int no_namespace(struct nvme_dev *dev, struct diag *why)
{
	if (dev->by_uuid)
		return diag_set(why, DIAG_NOT_FOUND, ENOENT,
			"none of the subsystem's %u namespaces has this UUID", dev->listed);
	if (dev->missing)
		return diag_set(
			why, DIAG_NOT_FOUND, ENOENT, "no namespace %u in the subsystem", dev->nsid);
	dev->missing = true;
	dev->step = NS_LIST;
	return 0;
}

static void name_listed(const struct nvme_dev *dev, char names[200])
{
	size_t at = 0;

	names[0] = 0;
	for (unsigned i = 0; i < dev->listed && at < 200 - 20; i++)
		at += (size_t)snprintf(names + at, 200 - at, "%s%u", i ? ", " : "", dev->list[i]);
}

static int handle_ns_list(struct nvme_dev *dev, const uint8_t *page, struct diag *why)
{
	const le32 *nsid = (const void *)page;
	char names[200], nqn[URI_MAX] = "";

	for (dev->listed = 0; dev->listed < 1024 && get_le32(nsid[dev->listed]); dev->listed++)
		dev->list[dev->listed] = get_le32(nsid[dev->listed]);
	if (!dev->listed)
		return diag_set(why, DIAG_NOT_FOUND, ENOENT,
			"the subsystem has no namespace for this host");
	name_listed(dev, names);
	if (dev->missing)
		return diag_set(why, DIAG_NOT_FOUND, ENOENT,
			"no namespace %u; existing namespaces: %s", dev->nsid, names);
	dev->nsid = dev->list[0];
	dev->step = dev->by_uuid ? NS_SEEK : NS_IDENTIFY;
	if (dev->by_uuid || dev->listed == 1)
		return 0;
	diag_set(
		why, DIAG_USAGE, EINVAL, "the subsystem has %u namespaces: %s", dev->listed, names);
	uri_add_name(nqn, dev->ctrl.conf.subnqn);
	uri_add_unit(nqn, dev->nsid);
	return diag_hint(why, "add a namespace to the URI: ...%s", nqn);
}

static int handle_ns_desc(struct nvme_dev *dev, const uint8_t *page, struct diag *why)
{
	int err = nvme_ns_ids_get(&dev->ids, page, NVME_IDENTIFY_LEN, why);

	if (err)
		return err;
	if (!memcmp(dev->ids.uuid, dev->ns_uuid, sizeof(dev->ns_uuid))) {
		dev->nsid = dev->list[dev->at];
		dev->step = NS_IDENTIFY;
		return 0;
	}
	return ++dev->at < dev->listed ? 0 : no_namespace(dev, why);
}

static int handle_identify_ns(struct nvme_dev *dev, const uint8_t *page, struct diag *why)
{
	int err = nvme_ns_get(&dev->ns, page, NVME_IDENTIFY_LEN, why);

	if (err)
		return err;
	if (!dev->ns.blocks)
		return no_namespace(dev, why);
	if (dev->write && dev->ns.ro)
		return diag_set(
			why, DIAG_PERMISSION, EROFS, "namespace %u is write protected", dev->nsid);
	dev->step = NS_DESC;
	return 0;
}

static uint32_t whole(const struct nvme_dev *dev, uint64_t bytes)
{
	uint64_t most = bytes < 1u << 31 ? bytes : 1u << 31;

	return (uint32_t)(most & ~((1ull << dev->shift) - 1));
}

/* Longest trim: what one command of NVME_RANGES ranges covers. A limit of 0 means unlimited. */
static uint64_t longest_trim(struct nvme_dev *dev)
{
	uint64_t blocks, ranges = dev->nvm.dmrl ? min_u64(dev->nvm.dmrl, NVME_RANGES) : 1;

	dev->range = dev->nvm.dmrsl ? dev->nvm.dmrsl : UINT32_MAX;
	blocks = ranges * dev->range;
	if (dev->nvm.dmsl)
		blocks = min_u64(blocks, dev->nvm.dmsl);
	return min_u64(blocks, UINT32_MAX) << dev->shift;
}

/* The controller notices a lost connection within its keep-alive timeout, or two if traffic
 * restarts the timer (Base 2.1, 3.9.4.2), and then needs CQT to quiesce its commands. It may round
 * the timeout up to a multiple of KAS. */
static uint32_t quiesce_ms(const struct nvme_dev *dev)
{
	const struct nvme_ctrl_info *id = &dev->ctrl.id;
	uint32_t kato_ms = dev->ctrl.conf.kato_ms;

	if (id->kas_ms)
		kato_ms = (kato_ms + id->kas_ms - 1) / id->kas_ms * id->kas_ms;
	return kato_ms * (id->ctratt & NVME_CTRATT_TBKAS ? 2 : 1) + id->cqt_ms;
}

static int fix_limits(struct nvme_dev *dev, struct diag *why)
{
	struct bdev_limits *lim = &dev->bdev.lim;
	const struct nvme_ctrl_info *id = &dev->ctrl.id;
	uint64_t most = nvme_ctrl_max_data(&dev->ctrl), nlb = 65536ull << dev->ns.shift,
		 zero = most;
	uint32_t entries = NVME_CAP_MQES(dev->ctrl.cap) + 1;

	if (most >> dev->ns.shift == 0)
		return diag_set(why, DIAG_UNSUPPORTED, ENOTSUP,
			"the controller's largest transfer is %llu bytes, less than a block of %u",
			(unsigned long long)most, 1u << dev->ns.shift);
	dev->shift = dev->ns.shift;
	dev->vwc = id->vwc & 1;
	dev->deac = dev->ns.dlfeat & NVME_DLFEAT_DEAC;
	if (dev->nvm.wzsl && dev->nvm.wzsl < 20)
		zero = 1ull << (12 + NVME_CAP_MPSMIN(dev->ctrl.cap) + dev->nvm.wzsl);
	if (entries < dev->depth)
		dev->depth = (uint16_t)entries;
	if (id->maxcmd && id->maxcmd < dev->depth)
		dev->depth = id->maxcmd > 1 ? id->maxcmd : 2;
	lim->block = 1u << dev->shift;
	lim->size = dev->ns.blocks << dev->shift;
	lim->best = whole(dev, min_u64(most, (uint64_t)dev->ns.best << dev->shift));
	if (lim->best < BEST)
		lim->best = lim->block > BEST ? lim->block : BEST;
	lim->max[IO_READ] = lim->max[IO_WRITE] = whole(dev, min_u64(most, nlb));
	lim->max[IO_FLUSH] = 1;
	lim->max[IO_TRIM] = id->oncs & NVME_ONCS_DSM ? whole(dev, longest_trim(dev)) : 0;
	lim->max[IO_ZERO] = id->oncs & NVME_ONCS_WRITE_ZEROES ? whole(dev, min_u64(zero, nlb)) : 0;
	lim->lanes = dev->ctrl.queues;
	lim->depth = dev->depth - 1;
	lim->quiesce_ms = quiesce_ms(dev);
	lim->ro = dev->ns.ro || !dev->write;
	lim->ro_disk = dev->ns.ro;
	lim->fua = true;
	return 0;
}

static void fix_identity(struct nvme_dev *dev)
{
	struct bdev_id *id = &dev->bdev.id;

	memcpy(id->uuid, dev->ids.uuid, sizeof(id->uuid));
	memcpy(id->nguid, dev->ns.nguid, sizeof(id->nguid));
	memcpy(id->eui64, dev->ns.eui64, sizeof(id->eui64));
	memcpy(id->model, dev->ctrl.id.model, sizeof(id->model));
	memcpy(id->serial, dev->ctrl.id.serial, sizeof(id->serial));
	memcpy(id->firmware, dev->ctrl.id.firmware, sizeof(id->firmware));
}

static void fix_session(struct nvme_dev *dev)
{
	const struct nvme_ctrl_info *id = &dev->ctrl.id;

	if (!id->ccrl || !id->ciu || !id->cirn)
		return;
	dev->bdev.session = (struct bdev_session){
		.id = dev->ctrl.cntlid, .instance = id->ciu, .random = id->cirn
	};
	memcpy(dev->bdev.session.target, dev->ctrl.conf.subnqn, sizeof(dev->ctrl.conf.subnqn));
}

/* A target that does not know the controller may report success, too, although another target of
 * the same name does: trust only one that has identified it. */
static void fenced(struct nvme_req *req, const struct nvme_cqe *cqe)
{
	const uint64_t good = NVME_CROSS_RESET_DONE | NVME_CROSS_RESET_VALID;
	struct nvme_dev *dev = container_of(req, struct nvme_dev, fence_req);
	struct bdev_fence *fence = dev->fence;
	int err = cqe ? nvme_check(req, cqe, NULL) : -ENOTCONN;

	if (!err && (get_le64(cqe->result) & good) != good)
		err = -EOPNOTSUPP;
	dev->fence = NULL;
	fence->done(fence, err);
}

/* By a Cross-Controller Reset (Base 2.3, 5.4.3). */
static int dev_fence(struct bdev *bdev, struct bdev_fence *fence)
{
	struct nvme_dev *dev = (struct nvme_dev *)bdev;
	const struct bdev_session *lost = &fence->session;
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_CROSS_RESET,
		.cdw10 = put_le32(lost->id | (uint32_t)lost->instance << 16),
		.cdw12 = put_le32((uint32_t)lost->random),
		.cdw13 = put_le32((uint32_t)(lost->random >> 32)) };

	if (strcmp(lost->target, bdev->session.target))
		return -EOPNOTSUPP;
	if (dev->fence)
		return -EBUSY;
	dev->fence_req = (struct nvme_req){ fenced, "cross-controller reset" };
	if (!nvme_ctrl_try(&dev->ctrl, &dev->fence_req, &sqe))
		return -EBUSY;
	dev->fence = fence;
	return 0;
}

/* The step after the last one of a refresh. */
static uint8_t next_refresh(struct nvme_dev *dev)
{
	bool again = dev->refresh_again;

	dev->refresh_again = false;
	return again ? NS_CHANGED : NS_DONE;
}

static int handle_ana_log(struct nvme_dev *dev, struct diag *why)
{
	bool is_new = false;
	int err = nvme_ana_handle_log(dev, &is_new, why);

	dev->step = next_refresh(dev);
	if (is_new && dev->bdev.state == BDEV_UP)
		changed(dev);
	return err;
}

static int handle_refresh(struct nvme_dev *dev, const uint8_t *page, struct diag *why)
{
	struct nvme_ns_info ns;
	int err = nvme_ns_get(&ns, page, NVME_IDENTIFY_LEN, why);

	if (err)
		return err;
	if (!ns.blocks)
		return diag_set(why, DIAG_NOT_FOUND, ENODEV, "namespace %u was removed", dev->nsid);
	if (ns.shift != dev->shift)
		return diag_set(why, DIAG_MISMATCH, EIO,
			"namespace %u now has blocks of %u bytes instead of %u", dev->nsid,
			1u << ns.shift, 1u << dev->shift);
	dev->ns = ns;
	dev->step = nvme_ana_reported(dev) ? NS_ANA : next_refresh(dev);
	if (dev->bdev.lim.size != ns.blocks << dev->shift) {
		dev->bdev.lim.size = ns.blocks << dev->shift;
		changed(dev);
	}
	return 0;
}

static uint8_t after_nvm(const struct nvme_dev *dev)
{
	return nvme_ana_reported(dev) ? NS_ANA : NS_DONE;
}

static int step_done(struct nvme_dev *dev, struct diag *why)
{
	uint8_t page[NVME_IDENTIFY_LEN];
	int err;

	nvme_ctrl_copy(&dev->ctrl, 0, page, sizeof(page));
	switch ((enum dev_step)dev->step) {
	case NS_LIST:
		return handle_ns_list(dev, page, why);
	case NS_SEEK:
		return handle_ns_desc(dev, page, why);
	case NS_IDENTIFY:
		return handle_identify_ns(dev, page, why);
	case NS_DESC:
		err = nvme_ns_ids_get(&dev->ids, page, NVME_IDENTIFY_LEN, why);
		dev->step = NS_NVM;
		if (!err && dev->ids.csi != NVME_CSI_NVM)
			return diag_set(why, DIAG_UNSUPPORTED, ENOTSUP,
				"namespace %u has command set %u, not the NVM command set",
				dev->nsid, dev->ids.csi);
		return err;
	case NS_NVM:
		err = nvme_nvm_get(&dev->nvm, page, NVME_IDENTIFY_LEN, why);
		dev->step = after_nvm(dev);
		return err;
	case NS_ANA:
		return handle_ana_log(dev, why);
	case NS_CHANGED:
		dev->step = NS_AGAIN;
		return 0;
	case NS_AGAIN:
		return handle_refresh(dev, page, why);
	case NS_DONE:
		return 0;
	}
	return 0;
}

/* Refused, but the disk works without: identification before NVMe 1.3, limits before 2.0, logs.
 * Return false for other steps. */
static bool skip_optional(struct nvme_dev *dev)
{
	switch ((enum dev_step)dev->step) {
	case NS_DESC:
		dev->step = NS_NVM;
		return true;
	case NS_NVM:
		dev->step = after_nvm(dev);
		return true;
	case NS_CHANGED:
		dev->step = NS_AGAIN;
		return true;
	case NS_ANA:
		dev->step = next_refresh(dev);
		return true;
	default:
		return false;
	}
}

static void read_ana(struct nvme_dev *dev)
{
	if (dev->bdev.state == BDEV_DOWN || dev->ctrl.step != STEP_UP)
		return;
	if (dev->bdev.state == BDEV_OPENING || dev->step != NS_DONE) {
		dev->ana_again = true;
	} else if (nvme_ana_may_read(dev)) {
		dev->step = NS_ANA;
		step_send(dev);
	}
}

static void set_up(struct nvme_dev *dev)
{
	fix_identity(dev);
	fix_session(dev);
	dev->ctrl.deadline_ns = 0;
	if (!dev->ctrl.conf.timeout_ms) /* the lanes' timeout */
		dev->ctrl.conf.timeout_ms = BDEV_TIMEOUT_MS;
	dev->bdev.changing_ms = dev->ctrl.id.anatt * 1000u;
	dev->bdev.state = BDEV_UP;
	changed(dev);
}

static void replied(struct nvme_req *req, const struct nvme_cqe *cqe)
{
	struct nvme_dev *dev = container_of(req, struct nvme_dev, req);
	struct diag why = { 0 };
	int err;

	if (!cqe)
		return;
	err = nvme_check(req, cqe, &why);
	if (err && (dev->missing || (dev->step == NS_IDENTIFY && err == -ENODEV))) {
		err = no_namespace(dev, &why);
	} else if (err && skip_optional(dev)) {
		err = 0;
	} else if (!err) {
		err = step_done(dev, &why);
	}
	if (!err && dev->step == NS_DONE && dev->bdev.state == BDEV_OPENING)
		err = fix_limits(dev, &why);
	if (err) {
		nvme_ctrl_fail(&dev->ctrl, &why);
		return;
	}
	if (dev->step != NS_DONE) {
		step_send(dev);
		return;
	}
	if (dev->bdev.state == BDEV_OPENING)
		set_up(dev);
	if (dev->ana_again)
		read_ana(dev);
}

static void ctrl_up(struct nvme_ctrl *ctrl)
{
	struct nvme_dev *dev = dev_of(ctrl);

	dev->missing = false;
	dev->step = dev->nsid ? NS_IDENTIFY : NS_LIST;
	step_send(dev);
}

static void ns_changed(struct nvme_ctrl *ctrl)
{
	struct nvme_dev *dev = dev_of(ctrl);

	if (dev->bdev.state != BDEV_UP)
		return;
	if (dev->step != NS_DONE) {
		dev->refresh_again = true;
		return;
	}
	dev->step = NS_CHANGED;
	step_send(dev);
}

static void ana_changed(struct nvme_ctrl *ctrl)
{
	read_ana(dev_of(ctrl));
}

static void ana_fired(struct loop_timer *timer)
{
	read_ana(container_of(timer, struct nvme_dev, ana_timer));
}

static void ana_noticed(struct access_notice *notice)
{
	read_ana(container_of(notice, struct nvme_dev, notice));
}

static void ctrl_down(struct nvme_ctrl *ctrl)
{
	struct nvme_dev *dev = dev_of(ctrl);

	loop_timer_del(dev->bdev.loop, &dev->ana_timer);
	dev->bdev.why = ctrl->why;
	dev->bdev.state = BDEV_DOWN;
	changed(dev);
}

static const struct nvme_ctrl_events events = { ctrl_up, ns_changed, ctrl_down, ana_changed };

static void dev_stop(struct bdev *bdev)
{
	nvme_ctrl_stop(&((struct nvme_dev *)bdev)->ctrl);
}

static void dev_free(struct bdev *bdev)
{
	struct nvme_dev *dev = (struct nvme_dev *)bdev;

	bdev->changed = NULL;
	bdev->state = BDEV_DOWN;
	access_notice_fini(&dev->notice);
	loop_timer_del(bdev->loop, &dev->ana_timer);
	nvme_search_free(dev->search);
	nvme_ctrl_fini(&dev->ctrl);
	nvme_conf_fini(&dev->ctrl.conf);
	free(dev);
}

static void show_security(const struct nvme_dev *dev, struct out *out)
{
	const char *tls = dev->ctrl.qp.queue->security;
	bool concat = nvme_qp_concatenated(&dev->ctrl.qp), mutual = dev->ctrl.conf.secret[1];
	bool chap = dev->ctrl.qp.authenticated || concat;

	out_text(out, "security", NULL, "%s%s%s",
		concat   ? "tls-generated-psk"
		: tls[0] ? "tls-psk"
		: !chap  ? "none"
			 : "",
		tls[0] && chap ? "+" : "",
		!chap    ? ""
		: mutual ? "mutual-dh-hmac-chap"
			 : "dh-hmac-chap");
	out_line(out, "security:    %s%s%s%s%s",
		tls[0]  ? tls
		: !chap ? "none"
			: "",
		tls[0] && chap ? ", " : "",
		!chap    ? ""
		: mutual ? "mutual DH-HMAC-CHAP"
			 : "DH-HMAC-CHAP",
		concat ? " (secure channel concatenation)" : "",
		chap && !tls[0] ? ", data not encrypted" : "");
}

static void dev_facts(struct bdev *bdev, struct out *out)
{
	struct nvme_dev *dev = (struct nvme_dev *)bdev;
	const struct nvme_conf *conf = &dev->ctrl.conf;
	bool tcp = conf->carrier == &nvme_tcp;
	char text[ADDR_TEXT];

	out_text(out, "transport", "transport:   ", "%s", conf->carrier->name);
	if (!tcp)
		out_text(out, "rdma", NULL, "%s", dev->ctrl.qp.queue->backend);
	out_text(out, "traddr", NULL, "%s", addr_host(&conf->dst, text));
	out_text(out, "trsvcid", NULL, "%u", addr_port(&conf->dst));
	out_line(out, "route:       %s", dev->ctrl.qp.queue->route);
	out_text(out, "subnqn", "subsystem:   ", "%s", conf->subnqn);
	out_u64(out, "nsid", "namespace:   ", dev->nsid);
	out_u64(out, "cntlid", "controller:  ", dev->ctrl.cntlid);
	out_text(out, "nvme_version", "NVMe:        ", "%u.%u.%u", dev->ctrl.id.ver >> 16,
		dev->ctrl.id.ver >> 8 & 0xff, dev->ctrl.id.ver & 0xff);
	out_real(out, "keep_alive_seconds", NULL, conf->kato_ms / 1000., 3);
	out_line(out, "keep-alive:  %g s", conf->kato_ms / 1000.);
	if (tcp) {
		out_bool(out, "header_digest", "header digest: ", conf->hdr_digest);
		out_bool(out, "data_digest", "data digest: ", conf->data_digest);
	}
	out_text(out, "hostnqn", "host NQN:    ", "%s", conf->hostnqn);
	show_security(dev, out);
}

static const struct bdev_ops ops = { .name = "nvme",
	.retry = nvme_status_again,
	.lane = nvme_lane,
	.fence = dev_fence,
	.search = nvme_search,
	.stop = dev_stop,
	.free = dev_free,
	.facts = dev_facts };

static int no_nqn(const struct uri *uri, struct diag *diag)
{
	diag_set(diag, DIAG_USAGE, EINVAL, "no subsystem NQN: expected .../NQN or .../NQN/NSID");
	return diag_hint(diag, "rdmastor nvmf-discover '%s'", uri->spelling);
}

static int read_path(struct nvme_dev *dev, const struct uri *uri, struct diag *diag)
{
	struct uri_nvme nvme;
	int err = uri->name_len ? uri_nvme_read(&nvme, uri, diag) : no_nqn(uri, diag);

	if (err)
		return err;
	memcpy(dev->ctrl.conf.subnqn, nvme.subnqn, sizeof(nvme.subnqn));
	memcpy(dev->ns_uuid, nvme.uuid, sizeof(nvme.uuid));
	dev->by_uuid = nvme.by_uuid;
	dev->nsid = nvme.nsid;
	return 0;
}

static int attach(struct bdev **out, struct loop *loop, struct uri *uri, const struct bdev_env *env,
	struct diag *diag)
{
	struct nvme_dev *dev = calloc(1, sizeof(*dev));
	uint32_t queues = NVME_QUEUES, depth = NVME_DEPTH;
	int err;

	if (!dev)
		return diag_sys(diag, ENOMEM, "nvme");
	err = nvme_conf_init(&dev->ctrl.conf, uri, env, NVMF_PORT, diag);
	if (!err)
		err = nvme_conf_secrets(&dev->ctrl.conf, uri, diag);
	if (!err)
		err = read_path(dev, uri, diag);
	if (!err)
		err = uri_u32(uri, "queues", 1, NVME_QUEUES, &queues, diag);
	if (!err)
		err = uri_u32(uri, "depth", 2, 4096, &depth, diag);
	if (!err)
		err = uri_done(uri, diag);
	if (err)
		goto fail;
	dev->bdev = (struct bdev){
		.ops = &ops, .loop = loop, .state = BDEV_OPENING, .status_text = nvme_status_text
	};
	dev->write = env->write;
	dev->depth = (uint16_t)depth;
	dev->req.done = replied;
	dev->ana_timer.fire = ana_fired;
	access_notice_init(&dev->notice, loop, ana_noticed);
	err = nvme_ctrl_open(&dev->ctrl, loop, false, (uint16_t)queues, &events, diag);
	if (err)
		goto fail;
	*out = &dev->bdev;
	return 0;
fail:
	nvme_conf_fini(&dev->ctrl.conf);
	free(dev);
	return err;
}

const struct proto nvme_rdma_proto = { .scheme = { "nvme+rdma://",
					       "NVMe over RDMA: HOST[:PORT]/NQN[/NSID]",
					       SCHEME_DISK | SCHEME_NVMF },
	.exposed = true,
	.lists_paths = true,
	.attach = attach,
	.suggest = nvme_rdma_suggest,
	.discover = nvme_discover };
const struct proto nvme_tcp_proto = { .scheme = { "nvme+tcp://",
					      "NVMe over TCP: HOST[:PORT]/NQN[/NSID]",
					      SCHEME_DISK | SCHEME_NVMF },
	.lists_paths = true,
	.attach = attach,
	.suggest = nvme_tcp_suggest,
	.discover = nvme_discover };
