/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* From wishes to sessions with disks, all at once: what is there is taken, the rest logged in and
 * scanned. */
#include "child.h"
#include "iscsi_attach_job.h"
#include "iscsi_instead.h"
#include "kernel_iscsi_keeper.h"
#include "kernel_iscsi_session.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define SEC      1000000000ull
#define STEP_NS  (SEC / 20)
#define LOOK_NS  (SEC / 10)
#define LATER_NS (SEC / 10) /* a login that is late tells so itself */

/* A turn ends with the call, as what failed is undone then. While one of ours waits for another's,
 * he may wait for this one. */
static void leave_turn(const struct attach *attach, const struct job *job)
{
	bool waits = false;

	for (unsigned i = 0; i < attach->count; i++) {
		if (attach->job[i].open && attach->job[i].turn == job->turn)
			return;
		waits |= attach->job[i].waits;
	}
	if (waits)
		kernel_iscsi_turn_leave(attach->turns, job->turn);
}

static void over(struct job *job)
{
	struct attach *attach = job->attach;

	job->open = job->waits = false;
	leave_turn(attach, job);
	if (!--attach->left)
		attach->over = 1;
}

static void scanned(struct child_call *call)
{
	struct job *job = container_of(call, struct job, scan);

	if (call->err)
		diag_sys(&job->want->why, -call->err, "scanning host%u", job->want->host);
	over(job);
}

static void scan(struct job *job)
{
	struct iscsi_want *want = job->want;
	struct attach *attach = job->attach;
	int err;

	job->scan = (struct child_call){ .done = scanned, .stays = want->no_wait };
	err = kernel_iscsi_scan(attach->root, want->host, &job->scan,
		want->no_wait ? NULL : attach->loop, &want->why);
	if (err || want->no_wait)
		over(job);
}

static void linked(struct iscsi_link *link)
{
	struct job *job = link->user;
	struct iscsi_want *want = job->want;

	want->answers = link->answers;
	want->status = link->status;
	want->at = link->at;
	want->redirects = link->hops.count;
	memcpy(want->way, link->way, sizeof(want->way));
	if (link->why.err) {
		want->why = link->why;
		over(job);
		return;
	}
	want->agreed = link->agreed;
	want->sid = link->id.sid;
	if (!want->existed)
		want->host = link->host;
	scan(job);
}

static void log_in(struct job *job)
{
	const struct iscsi_want *want = job->want;

	job->link = (struct iscsi_link){ .loop = job->attach->loop,
		.nl = job->attach->nl,
		.carrier = want->carrier,
		.transport = job->attach->transport[want->carrier].handle,
		.target = want->target,
		.iface = want->iface,
		.boot_root = want->boot_root,
		.boot_nic = want->boot_nic,
		.boot_target = want->boot_target,
		.portal = want->portal,
		.src = want->src,
		.netdev = want->netdev,
		.tpgt = want->tpgt,
		.from = want->from,
		.set = &want->set,
		.again = want->existed,
		.id = { .sid = want->sid },
		.until = job->attach->until,
		.done = linked,
		.user = job };
	iscsi_link_start(&job->link);
}

static const struct kernel_iscsi_session *find(
	const struct kernel_iscsi_session *list, unsigned count, const struct iscsi_want *want)
{
	const struct kernel_iscsi_session *end = list + count, *found = NULL;

	for (unsigned n = 0; n <= want->nth; n++) {
		found = kernel_iscsi_session_find(list, (unsigned)(end - list),
			iscsi_carrier_word(want->carrier), want->target, &want->portal);
		if (!found)
			return NULL;
		list = found + 1;
	}
	return found;
}

/* Somebody else is about to bring it back: has he? */
static void look(struct loop_timer *timer)
{
	struct job *job = container_of(timer, struct job, look);
	struct kernel_iscsi_session session;

	if (kernel_iscsi_session(job->attach->root, job->want->sid, &session)) {
		diag_set(&job->want->why, DIAG_CLOSED, ENODEV,
			"session%u was logged out by another process", job->want->sid);
		over(job);
	} else if (!strcmp(session.state, "LOGGED_IN")) {
		scan(job);
	} else {
		loop_timer_set(job->attach->loop, timer, loop_clock() + LOOK_NS);
	}
}

/* A session that is there already; one without a connection logs in again, unless that is somebody
 * else's business. */
static void take(struct job *job, const struct kernel_iscsi_session *session)
{
	struct iscsi_want *want = job->want;

	want->existed = true;
	want->sid = session->sid;
	want->host = session->host;
	want->at = want->portal;
	job->keeper = kernel_iscsid(job->attach->root);
	if (!job->keeper)
		job->keeper = kernel_iscsi_keeper(job->attach->root);
	/* UNBINDING, UNBOUND: the kernel scans it no more */
	if (!strncmp(session->target_state, "UNB", 3)) {
		diag_set(&want->why, DIAG_BUSY, EBUSY,
			"session%u to this target is being logged out: its disks are already "
			"removed",
			session->sid);
		diag_hint(&want->why,
			"finish the logout with: rdmastor iser-logout session%u; then log in again",
			session->sid);
		over(job);
	} else if (!strcmp(session->state, "LOGGED_IN")) {
		scan(job);
	} else if (job->keeper) {
		job->look.fire = look;
		loop_timer_set(job->attach->loop, &job->look, loop_clock() + LOOK_NS);
	} else {
		loop_trace(job->attach->loop, "session%u has lost its connection and has no keeper",
			session->sid);
		log_in(job);
	}
}

/* Two units of one target, say. */
static bool is_same(const struct iscsi_want *a, const struct iscsi_want *b)
{
	const char *from = a->netdev ? a->netdev : "", *other = b->netdev ? b->netdev : "";
	char one[4][ADDR_TEXT];

	return a->carrier == b->carrier && a->nth == b->nth && !strcmp(a->target, b->target) &&
	       !strcmp(a->from->initiator, b->from->initiator) && !strcmp(from, other) &&
	       !strcmp(addr_text(&a->portal, one[0]), addr_text(&b->portal, one[1])) &&
	       !strcmp(addr_text(&a->src, one[2]), addr_text(&b->src, one[3]));
}

static struct job *earlier(struct attach *attach, const struct job *job)
{
	for (struct job *other = attach->job; other < job; other++)
		if (!other->first && is_same(other->want, job->want))
			return other;
	return NULL;
}

static void start(struct job *job, const struct kernel_iscsi_session *list, unsigned count)
{
	const struct kernel_iscsi_session *session = find(list, count, job->want);

	if (session)
		take(job, session);
	else
		log_in(job);
}

static bool take_turn(struct job *job)
{
	const struct attach *attach = job->attach;

	job->waits = !kernel_iscsi_turn_take(attach->turns, job->turn);
	return !job->waits;
}

/* Whoever was there first may have made what is wanted. */
static void again(struct loop_timer *timer)
{
	struct attach *attach = container_of(timer, struct attach, again);
	struct kernel_iscsi_session *list;
	bool waits = false;
	unsigned count;

	for (unsigned i = 0; i < attach->count; i++) {
		struct job *job = &attach->job[i];

		if (!job->waits)
			continue;
		if (!take_turn(job)) {
			waits = true;
		} else if (kernel_iscsi_sessions(attach->root, &list, &count, &job->want->why)) {
			over(job);
		} else {
			start(job, list, count);
			free(list);
		}
	}
	if (waits)
		loop_timer_set(attach->loop, timer, loop_clock() + STEP_NS);
}

static void queue_up(struct attach *attach)
{
	attach->turns = kernel_iscsi_turns(attach->root);
	attach->again.fire = again;
	for (unsigned i = 0; i < attach->count; i++) {
		struct job *job = &attach->job[i];

		job->first = earlier(attach, job);
		job->turn = kernel_iscsi_turn(iscsi_carrier_word(job->want->carrier),
			job->want->target, &job->want->portal);
		if (job->first || take_turn(job))
			continue;
		loop_trace(attach->loop, "another process is logging in to %s: waiting for it",
			job->want->target);
		loop_timer_set(attach->loop, &attach->again, loop_clock() + STEP_NS);
	}
}

static int begin(struct attach *attach, struct diag *diag)
{
	struct diag why[ISCSI_CARRIERS] = { 0 };
	bool asked[ISCSI_CARRIERS] = { false };
	struct kernel_iscsi_session *list;
	unsigned count;
	int err;

	for (unsigned i = 0; i < attach->count; i++) {
		unsigned c = attach->job[i].want->carrier;

		if (!asked[c])
			kernel_iscsi_transport(attach->root,
				c == ISCSI_ISER ? KERNEL_ISCSI_ISER : KERNEL_ISCSI_TCP,
				&attach->transport[c], &why[c]);
		asked[c] = true;
	}
	queue_up(attach);
	err = kernel_iscsi_sessions(attach->root, &list, &count, diag);
	if (!err && ((asked[ISCSI_TCP] && !why[ISCSI_TCP].err) ||
			    (asked[ISCSI_ISER] && !why[ISCSI_ISER].err)))
		err = kernel_iscsi_open(&attach->nl, attach->loop, NULL, diag);
	for (unsigned i = 0; !err && i < attach->count; i++) {
		struct job *job = &attach->job[i];
		unsigned c = job->want->carrier;

		if (why[c].err)
			job->want->why = why[c];
		if (why[c].err || job->first)
			over(job);
		else if (!job->waits)
			start(job, list, count);
	}
	free(list);
	return err;
}

static void give_up(struct attach *attach, const struct diag *why)
{
	for (unsigned i = 0; i < attach->count; i++) {
		struct job *job = &attach->job[i];

		if (!job->open)
			continue;
		job->want->why = *why;
		if (job->look.on && why->err == ETIMEDOUT) {
			diag_set(&job->want->why, DIAG_BUSY, EBUSY,
				"session%u to this target has lost its connection; its keeper, "
				"process %d, can't restore it",
				job->want->sid, job->keeper);
			diag_hint(&job->want->why, "end it with: rdmastor iser-logout session%u",
				job->want->sid);
		} else if (job->waits && why->err == ETIMEDOUT) {
			diag_set(&job->want->why, DIAG_BUSY, EBUSY,
				"another process is still logging in to this target");
		}
		over(job);
	}
}

static void late(struct loop_timer *timer)
{
	struct attach *attach = container_of(timer, struct attach, deadline);
	struct diag why = { 0 };

	diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "timed out: its disks are not listed yet");
	give_up(attach, &why);
}

static void stopped(struct loop_signal *sig, int signo)
{
	struct attach *attach = container_of(sig, struct attach, stop);
	struct diag why = { 0 };

	attach->signo = signo;
	iscsi_attach_interrupted(&why);
	give_up(attach, &why);
}

static int add_hooks(struct attach *attach, struct diag *diag)
{
	static const int signos[] = { SIGINT, SIGTERM, SIGHUP };

	attach->deadline.fire = late;
	if (attach->until)
		loop_timer_set(attach->loop, &attach->deadline, attach->until + LATER_NS);
	attach->stop.caught = stopped;
	return loop_signal_add(attach->loop, &attach->stop, signos, 3, diag);
}

int iscsi_attach(struct loop *loop, int root, struct iscsi_want *wants, unsigned count,
	uint64_t until, struct diag *diag)
{
	struct attach attach = { .loop = loop,
		.root = root,
		.until = until,
		.left = count,
		.count = count,
		.turns = -1 };
	int err;

	if (!count)
		return 0;
	attach.job = calloc(count, sizeof(*attach.job));
	if (!attach.job)
		return diag_sys(diag, ENOMEM, "iSCSI logins");
	for (unsigned i = 0; i < count; i++)
		attach.job[i] = (struct job){
			.attach = &attach, .want = &wants[i], .link.loop = loop, .open = true
		};
	err = add_hooks(&attach, diag);
	if (!err)
		err = begin(&attach, diag);
	if (!err) {
		loop_wait(loop, &attach.over, 0);
		iscsi_attach_end(&attach);
	}
	for (unsigned i = 0; !err && !attach.signo && i < count; i++)
		if (wants[i].why.err && wants[i].carrier == ISCSI_ISER && !wants[i].answers &&
			!wants[i].existed)
			iscsi_instead(loop, &wants[i], until);
	loop_timer_del(loop, &attach.deadline);
	loop_timer_del(loop, &attach.again);
	loop_signal_del(loop, &attach.stop);
	if (attach.nl)
		kernel_iscsi_close(attach.nl);
	if (attach.turns >= 0)
		close(attach.turns);
	free(attach.job);
	return err;
}

void iscsi_want_free(struct iscsi_want *want)
{
	free(want->luns);
	want->luns = NULL;
	want->count = 0;
}
