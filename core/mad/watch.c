/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Watch a port: poll its state once a second, and subscribe to the subnet administrator's reports
 * about the fabric. The owner decides how to react. */
#include "xact.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#define POLL_MS    1000
#define PKEYS_EACH 8 /* of up to 128 entries, each of which is a file */
/* delay after a change of the port, plus or minus half, as all hosts see the change at once */
#define SOON_MS  500
#define BACK_MS  1000 /* first delay after a failure; doubles each time */
#define BACK_MAX 60000
#define END_MS   1000
#define SUBS     (sizeof(((struct mad_port_watch *)0)->sub) / sizeof(struct mad_subscription))
/* events that end subscriptions */
#define NEW_ROUND                                                                                  \
	(PORT_EVENT_STATE | PORT_EVENT_LID | PORT_EVENT_SM | PORT_EVENT_REREGISTER | PORT_EVENT_GID)
#define KNOWN (NEW_ROUND | PORT_EVENT_PKEYS)

static const uint16_t traps[] = { MAD_TRAP_IN_SERVICE, MAD_TRAP_OUT_OF_SERVICE, MAD_TRAP_CAP_MASK };
_Static_assert(sizeof(traps) / sizeof(*traps) == SUBS, "a subscription to each");

static void set_timer(struct mad_port_watch *watch, struct loop_timer *timer, uint32_t ms)
{
	loop_timer_set(watch->mad->loop, timer, loop_clock() + ms * 1000000ull);
}

/* Random from half to one and a half of it. */
static uint32_t about(uint32_t ms)
{
	uint32_t any = 0;

	(void)!getrandom(&any, sizeof(any), GRND_NONBLOCK);
	return ms / 2 + (uint32_t)((uint64_t)any * ms >> 32);
}

static void forget_all(struct mad_port_watch *watch)
{
	for (unsigned i = 0; i < SUBS; i++)
		mad_cancel(watch->mad, &watch->sub[i].req);
	watch->waiting = 0;
}

static void send(struct mad_port_watch *watch, unsigned i, bool subscribe,
	void (*done)(struct mad_req *, const struct mad_answer *))
{
	const struct mad_port_info *port = &watch->mad->port;
	struct mad_subscription *sub = &watch->sub[i];

	sub->watch = watch;
	sub->req = (struct mad_req){
		.to = { .lid = port->sm_lid,
			.sl = port->sm_sl,
			.qpn = 1,
			.pkey_index = mad_port_pkey_index(port) },
		.mgmt_class = MAD_CLASS_SA,
		.method = MAD_SET,
		.attr = MAD_INFORM_INFO,
		.mask = mad_inform_put(&sub->inform, traps[i], subscribe),
		.data = &sub->inform,
		.len = sizeof(sub->inform),
		.urgent = true,
		.done = done,
	};
	watch->waiting++;
	mad_send(watch->mad, &sub->req);
}

/* A round of subscriptions has ended. */
static void settle(struct mad_port_watch *watch, int err)
{
	uint32_t next_ms = MAD_RENEW_MS;

	if (err) {
		next_ms = watch->back_ms;
		watch->back_ms = watch->back_ms < BACK_MAX / 2 ? watch->back_ms * 2 : BACK_MAX;
	} else {
		watch->back_ms = BACK_MS;
	}
	set_timer(watch, &watch->renew, about(next_ms));
	if (err == watch->reported_err)
		return;
	watch->reported_err = err;
	watch->owner->subscribed(watch->owner, err, err ? &watch->diag : NULL);
}

static int refusal(struct mad_port_watch *watch, const struct mad_answer *answer)
{
	const struct mad_port_info *port = &watch->mad->port;

	watch->diag = (struct diag){ 0 };
	if (answer->err == -ETIMEDOUT || answer->err == -EBUSY)
		diag_set(&watch->diag, DIAG_TIMEOUT, ETIMEDOUT,
			"%s from the subnet administrator (LID %u) to the subscription to its "
			"reports",
			answer->err == -EBUSY ? "only busy answers" : "no answer", port->sm_lid);
	else if (answer->err)
		diag_sys(&watch->diag, -answer->err,
			"subscribe to the subnet administrator's reports");
	else
		diag_set(&watch->diag, DIAG_PROTOCOL, EPROTO,
			"the subnet administrator (LID %u) rejects the subscription to its "
			"reports: "
			"status 0x%04x, %s",
			port->sm_lid, answer->status, mad_sa_status_text(answer->status));
	diag_ctx(&watch->diag, "%s port %u", port->dev, port->port);
	return -watch->diag.err;
}

static void subscribed(struct mad_req *req, const struct mad_answer *answer)
{
	struct mad_subscription *sub = container_of(req, struct mad_subscription, req);
	struct mad_port_watch *watch = sub->watch;

	watch->waiting--;
	if (answer->err == -ENETDOWN && watch->mad->removed_err)
		return;
	if (!answer->err && !answer->status)
		watch->sa_lid = req->to.lid;
	else if (!watch->err)
		watch->err = refusal(watch, answer);
	if (!watch->waiting)
		settle(watch, watch->err);
}

static int can_subscribe(struct mad_port_watch *watch)
{
	const struct mad_port_info *port = &watch->mad->port;
	int err = mad_port_usable(port, &watch->diag);

	if (!err && (!port->infiniband || !mad_lid_valid(port->sm_lid)))
		err = diag_set(&watch->diag, DIAG_UNREACHABLE, ENETUNREACH, "%s",
			port->infiniband
				? "no subnet manager known at this port"
				: "no reports: its link layer has no subnet administrator");
	if (!err)
		err = mad_dev_reports(watch->mad->dev, true, &watch->diag);
	if (err)
		diag_ctx(&watch->diag, "%s port %u", port->dev, port->port);
	return err;
}

static void subscribe(struct loop_timer *timer)
{
	struct mad_port_watch *watch = container_of(timer, struct mad_port_watch, renew);
	int err;

	forget_all(watch);
	watch->diag = (struct diag){ 0 };
	watch->err = 0;
	err = can_subscribe(watch);
	if (err) {
		settle(watch, err);
		return;
	}
	for (unsigned i = 0; i < SUBS; i++)
		send(watch, i, true, subscribed);
}

static void report_changes(struct loop_work *work)
{
	struct mad_port_watch *watch = container_of(work, struct mad_port_watch, report);
	unsigned what = watch->what;

	watch->what = 0;
	watch->owner->changed(watch->owner, what);
}

/* Changes that follow each other closely share one round, whose time the first one sets. */
static void note(struct mad_port_watch *watch, unsigned what)
{
	if (!what)
		return;
	watch->what |= what;
	loop_work_add(watch->mad->loop, &watch->report);
	if (!(what & NEW_ROUND))
		return;
	forget_all(watch);
	watch->back_ms = BACK_MS;
	if (!watch->renew.on || watch->renew.at_ns > loop_clock() + 2 * SOON_MS * 1000000ull)
		set_timer(watch, &watch->renew, about(SOON_MS));
}

static void poll_port(struct mad_port_watch *watch, unsigned what, unsigned pkeys)
{
	int differs = mad_dev_poll(watch->mad->dev, &watch->mad->port, pkeys);

	if (differs < 0) {
		mad_xact_gone(watch->mad, -ENETDOWN);
		return;
	}
	set_timer(watch, &watch->poll, POLL_MS);
	note(watch, what | (unsigned)differs);
}

static void poll_fired(struct loop_timer *timer)
{
	poll_port(container_of(timer, struct mad_port_watch, poll), 0, PKEYS_EACH);
}

void mad_port_event(struct mad *mad, unsigned what)
{
	if (!mad->watch.owner || mad->watch.ended || mad->removed_err)
		return;
	if (what & PORT_EVENT_GONE)
		mad_xact_gone(mad, -ENETDOWN);
	else
		poll_port(&mad->watch, what & KNOWN,
			what & PORT_EVENT_PKEYS ? MAD_PKEYS_MAX : PKEYS_EACH);
}

static void stop(struct mad_port_watch *watch)
{
	struct loop *loop = watch->mad->loop;

	loop_timer_del(loop, &watch->poll);
	loop_timer_del(loop, &watch->renew);
	loop_work_del(loop, &watch->report);
	forget_all(watch);
}

void mad_watch_gone(struct mad_port_watch *watch)
{
	stop(watch);
	if (watch->ended) {
		set_timer(watch, &watch->end, 0);
		return;
	}
	watch->what |= PORT_EVENT_GONE;
	loop_work_add(watch->mad->loop, &watch->report);
}

/* Accept reports only from the subnet administrator. */
static bool is_report(const struct mad_port_watch *watch, const struct mad_addr *from,
	const uint8_t *datagram, size_t len)
{
	const struct mad_hdr *hdr = (const void *)datagram;

	return len == MAD_LEN && hdr->base_version == 1 && hdr->mgmt_class == MAD_CLASS_SA &&
	       hdr->class_version == SA_CLASS_VERSION && hdr->method == MAD_REPORT &&
	       get_be16(hdr->attr) == MAD_NOTICE &&
	       (from->lid == watch->mad->port.sm_lid ||
		       (watch->sa_lid && from->lid == watch->sa_lid));
}

/* Answer repeated reports, too, as the earlier answer may be lost. */
static void answer(const struct mad *mad, const struct mad_addr *from, const uint8_t *datagram)
{
	uint8_t out[MAD_LEN];
	struct mad_hdr *hdr = (void *)out;

	memcpy(out, datagram, sizeof(out));
	hdr->method = MAD_REPORT | MAD_RESPONSE;
	hdr->status = put_be16(0);
	mad_dev_send(mad->dev, from, out, sizeof(out), 0);
}

bool mad_watch_request(struct mad_port_watch *watch, const struct mad_addr *from,
	const uint8_t *datagram, size_t len)
{
	struct mad_notice notice;

	if (!is_report(watch, from, datagram, len))
		return false;
	answer(watch->mad, from, datagram);
	if (!watch->ended &&
		mad_notice_get(&notice, (const void *)(datagram + sizeof(struct sa_hdr))))
		watch->owner->notice(watch->owner, &notice);
	return true;
}

int mad_watch(struct mad *mad, struct mad_watch *owner, struct diag *diag)
{
	struct mad_port_watch *watch = &mad->watch;

	if (watch->owner)
		return diag_set(diag, DIAG_BUSY, EALREADY, "the port is already watched");
	if (mad->removed_err)
		return diag_sys(
			diag, -mad->removed_err, "watch %s port %u", mad->port.dev, mad->port.port);
	*watch = (struct mad_port_watch){
		.owner = owner,
		.mad = mad,
		.poll = { .fire = poll_fired },
		.renew = { .fire = subscribe },
		.report = { .run = report_changes },
		.back_ms = BACK_MS,
		.reported_err = 1,
	};
	set_timer(watch, &watch->poll, POLL_MS);
	set_timer(watch, &watch->renew, 0);
	return 0;
}

static void end(struct loop_timer *timer)
{
	struct mad_port_watch *watch = container_of(timer, struct mad_port_watch, end);
	struct mad_watch *owner = watch->owner;

	forget_all(watch);
	mad_dev_reports(watch->mad->dev, false, NULL);
	watch->owner = NULL;
	watch->ended(owner);
}

static void unsubscribed(struct mad_req *req, const struct mad_answer *from)
{
	struct mad_port_watch *watch = container_of(req, struct mad_subscription, req)->watch;

	(void)from;
	if (!--watch->waiting)
		set_timer(watch, &watch->end, 0);
}

/* A subscription without an answer may exist nevertheless. */
static void unsubscribe(struct mad_port_watch *watch)
{
	for (unsigned i = 0; i < SUBS; i++)
		if (watch->sub[i].req.owner)
			send(watch, i, false, unsubscribed);
}

void mad_unwatch(struct mad *mad, void (*ended)(struct mad_watch *))
{
	struct mad_port_watch *watch = &mad->watch;
	bool reachable = !mad->removed_err && mad->port.state == PORT_ACTIVE &&
			 mad_lid_valid(mad->port.sm_lid);

	stop(watch);
	watch->ended = ended;
	watch->end = (struct loop_timer){ .fire = end };
	if (reachable)
		unsubscribe(watch);
	set_timer(watch, &watch->end, watch->waiting ? END_MS : 0);
}
