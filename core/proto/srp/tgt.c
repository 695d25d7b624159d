/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SRP target as a whole: logical units, admission of logins. */
#include "tgt.h"
#include "names.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#define REPLACED "its initiator has logged in again"

static void complete(struct target_cmd *cmd, uint32_t status)
{
	scsi_complete((struct scsi_cmd *)cmd, status);
}

static bool busy(const struct target_conn *base)
{
	const struct srp_tgt_chan *chan = (const struct srp_tgt_chan *)base;

	return chan->admit_pending || scsi_nexus_busy(chan->nexus);
}

static bool preempted(const struct target_conn *base, const struct bdev *bdev)
{
	return scsi_preempted(((const struct srp_tgt_chan *)base)->nexus, bdev);
}

static void remove_channel(struct target_conn *base)
{
	struct srp_tgt_chan *chan = (struct srp_tgt_chan *)base;

	if (!chan->link)
		return;
	*chan->link = chan->next;
	if (chan->next)
		chan->next->link = chan->link;
	chan->link = NULL;
}

/* --- logins, on the target's loop */

static bool same_port(const struct srp_tgt_chan *a, const struct srp_tgt_chan *b)
{
	return !memcmp(a->login.initiator, b->login.initiator, sizeof(a->login.initiator));
}

/* SRP r16a, 5.1: a login without the multi-channel code ends all earlier channels of its initiator
 * port; of concurrent logins the latest stays. Runs on the other channel's loop, so that none of
 * its commands starts after the new channel is admitted. */
static bool end_older(const struct target_fence *fence, const struct target_conn *base)
{
	const struct srp_tgt_chan *chan = container_of(fence, struct srp_tgt_chan, fence);
	struct srp_tgt_chan *other = (struct srp_tgt_chan *)(uintptr_t)base;

	if (other->number >= chan->number || !same_port(other, chan))
		return false;
	if (!target_conn_is_closing(&other->base))
		target_conn_fail(&other->base, DIAG_CLOSED, ECONNABORTED, REPLACED);
	return true;
}

static void post_admitted(struct srp_tgt_chan *chan)
{
	chan->hop.run = srp_tgt_admitted;
	loop_post(chan->base.loop, &chan->hop);
}

static void fence_done(struct target_fence *fence)
{
	post_admitted(container_of(fence, struct srp_tgt_chan, fence));
}

static bool is_replaced(const struct srp_tgt_chan *chan)
{
	const struct srp_tgt_chan *other = srp_tgt_of(chan)->chans;

	while (other && !(other->number > chan->number && same_port(other, chan) &&
				!(other->login.flags & SRP_MULTI_CHANNEL)))
		other = other->next;
	return other;
}

static void admit(struct loop_msg *hop)
{
	struct srp_tgt_chan *chan = container_of(hop, struct srp_tgt_chan, hop);
	struct srp_target *target = srp_tgt_of(chan);
	bool more = chan->login.flags & SRP_MULTI_CHANNEL;
	char name[33];

	hex_text(name, chan->login.initiator, sizeof(chan->login.initiator));
	if (is_replaced(chan))
		chan->refused = REPLACED;
	else if (!target_admit(&chan->base, name, !more))
		chan->refused = "too many channels of this initiator";
	if (chan->refused) {
		post_admitted(chan);
		return;
	}
	chan->link = &target->chans;
	chan->next = target->chans;
	if (chan->next)
		chan->next->link = &chan->next;
	target->chans = chan;
	if (more) {
		post_admitted(chan);
		return;
	}
	chan->fence = (struct target_fence){
		.match = end_older, .done = fence_done, .home = target->base.loop
	};
	target_fence(&target->base, &chan->fence);
}

void srp_tgt_admit(struct srp_tgt_chan *chan)
{
	chan->admit_pending = true;
	chan->hop.run = admit;
	loop_post(chan->base.target->loop, &chan->hop);
}

static bool allowed(const struct srp_target *target, const uint8_t initiator[16])
{
	for (unsigned i = 0; i < target->base.opt.hosts; i++)
		if (!memcmp(target->initiator[i], initiator, 16))
			return true;
	return !target->base.opt.hosts;
}

static bool get_login(struct srp_login_cm *login, const struct ep_incoming *incoming)
{
	const struct srp_login_req *req = (const void *)incoming->priv;

	*login = (struct srp_login_cm){ 0 };
	if (incoming->local.ss.ss_family != ADDR_IB) {
		if (incoming->priv_len < sizeof(*login))
			return false;
		memcpy(login, incoming->priv, sizeof(*login));
	} else {
		if (incoming->priv_len < sizeof(*req))
			return false;
		*login = (struct srp_login_cm){ .tag = req->tag,
			.formats = req->formats,
			.flags = req->flags,
			.opcode = req->opcode,
			.it_iu_len = req->it_iu_len,
			.imm_offset = req->imm_offset };
		memcpy(login->initiator, req->initiator, sizeof(login->initiator));
		memcpy(login->target, req->target, sizeof(login->target));
	}
	return login->opcode == SRP_LOGIN_REQ;
}

/* Return 0, or the reason for SRP_LOGIN_REJ. */
static uint32_t check_login(struct srp_target *target, const struct ep_incoming *incoming,
	const struct srp_login_cm *login)
{
	uint32_t len;

	len = get_be32(login->it_iu_len);
	if (len < SRP_TGT_IU_MIN || len > SRP_TGT_IU)
		return SRP_REJ_IU_TOO_LONG;
	if (memcmp(login->target, target->guid, 8) || memcmp(login->target + 8, target->guid, 8))
		return SRP_REJ_NO_ASSOCIATION;
	if (get_be16(login->formats) & ~(SRP_FORMAT_DIRECT | SRP_FORMAT_INDIRECT))
		return SRP_REJ_FORMAT;
	if (!allowed(target, login->initiator))
		return SRP_REJ_CHANNELS;
	return target_make_room(&target->base, &incoming->peer) ? 0 : SRP_REJ_RESOURCES;
}

static void incoming(struct target *base, struct ep_incoming *incoming)
{
	struct srp_target *target = (struct srp_target *)base;
	struct srp_login_cm login;
	uint32_t reason = get_login(&login, incoming) ? check_login(target, incoming, &login)
						      : SRP_REJ_NO_CHANNEL;
	struct srp_tgt_chan *chan = reason ? NULL : calloc(1, sizeof(*chan));
	struct srp_login_rej rej = { .opcode = SRP_LOGIN_REJ,
		.formats = put_be16(SRP_FORMAT_DIRECT | SRP_FORMAT_INDIRECT) };
	char text[ADDR_TEXT];

	if (!chan) {
		reason = reason ? reason : SRP_REJ_RESOURCES;
		loop_trace(base->loop, "%s: SRP login refused: reason 0x%08x",
			addr_text(&incoming->peer, text), reason);
		rej.reason = put_be32(reason);
		rej.tag = login.tag;
		ep_reject(incoming, &rej, sizeof(rej));
		return;
	}
	chan->login = login;
	chan->number = ++target->logins;
	for (const struct srp_tgt_chan *other = target->chans; other; other = other->next)
		chan->other_channels |= same_port(other, chan);
	chan->base.rdma.incoming = incoming;
	chan->base.local = incoming->local;
	snprintf(chan->base.name, sizeof(chan->base.name), "srp initiator %s",
		addr_text(&incoming->peer, text));
	target_conn_begin(base, &chan->base, &srp_tgt_carrier, &incoming->peer);
}

/* Channels count as queues, initiator ports as clients. */
static void count_clients(const struct target *base, struct target_status *status)
{
	const struct srp_target *target = (const struct srp_target *)base;

	status->clients = 0;
	for (const struct srp_tgt_chan *chan = target->chans; chan; chan = chan->next) {
		const struct srp_tgt_chan *older = chan->next;

		status->queues++;
		while (older && !same_port(older, chan))
			older = older->next;
		status->clients += !older;
	}
}

/* Report to one channel per initiator port. */
static void post_event(struct srp_tgt_chan *chan, unsigned lun)
{
	if (chan->login.flags & SRP_MULTI_CHANNEL ||
		__atomic_fetch_or(&chan->event.pending, 1u << lun, __ATOMIC_ACQ_REL))
		return;
	chan->event.hop.run = srp_tgt_event;
	loop_post(chan->base.loop, &chan->event.hop);
}

static void resized(struct target *base, struct target_disk *disk)
{
	struct srp_target *target = (struct srp_target *)base;

	scsi_target_resized(target->scsi, disk);
	for (struct srp_tgt_chan *chan = target->chans; chan; chan = chan->next)
		post_event(chan, disk->index);
}

static void access_changed(struct target *base, unsigned group)
{
	(void)group;
	scsi_target_access_changed(((struct srp_target *)base)->scsi);
}

static void target_free(struct target *base)
{
	struct srp_target *target = (struct srp_target *)base;

	scsi_target_free(target->scsi);
	free(target);
}

static const struct target_proto proto = { .name = "srp",
	.handshake_name = "login",
	.connections = SRP_TGT_CONNECTIONS,
	.open_ms = SRP_TGT_LOGIN_MS,
	.stall_ms = SRP_TGT_STALL_MS,
	.announced = SRP_TGT_CHANNELS,
	.rdma = incoming,
	.decode = srp_tgt_decode,
	.work = scsi_work,
	.complete = complete,
	.status = scsi_io_status,
	.busy = busy,
	.closed = remove_channel,
	.count_clients = count_clients,
	.resized = resized,
	.access_changed = access_changed,
	.preempted = preempted,
	.free = target_free };

/* --- the whole */

static int make_scsi(struct srp_target *target, const struct target_options *opt, struct diag *diag)
{
	struct scsi_target_conf conf = { .protocol = SCSI_SRP, .luns = opt->disks };

	for (unsigned i = 0; i < opt->disks; i++) {
		conf.lun[i].disk = &target->base.disk[i];
		conf.lun[i].opt = &opt->disk[i];
	}
	return scsi_target_new(&target->scsi, &conf, diag);
}

/* Derive the target's identifier from the first disk's UUID, so that it stays the same. */
int srp_serve(struct target **out, struct loop *loop, const struct target_options *opt,
	uint32_t timeout_ms, struct diag *diag)
{
	struct srp_target *target = calloc(1, sizeof(*target));
	int err;

	if (!target)
		return diag_sys(diag, ENOMEM, "target");
	/* 0 while the kernel has no random numbers: then it is not known, and initiators wait */
	if (getrandom(&target->instance, sizeof(target->instance), GRND_NONBLOCK) !=
		sizeof(target->instance))
		target->instance = 0;
	memcpy(target->guid, opt->disk[0].uuid, sizeof(target->guid));
	for (unsigned i = 0; i < opt->hosts; i++)
		if (!gid_parse(target->initiator[i], opt->host[i])) {
			free(target);
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"invalid SRP initiator port '%s': expected 32 hexadecimal digits",
				opt->host[i]);
		}
	err = make_scsi(target, opt, diag);
	if (err) {
		free(target);
		return err;
	}
	err = target_start(&target->base, loop, &proto, opt, timeout_ms, diag);
	if (!err)
		*out = &target->base;
	return err;
}
