/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* From wishes to sessions with disks, all at once: what is there is taken, the rest logged in and scanned; what failed is undone. */
#include "iscsi_attach.h"
#include "child.h"
#include "iscsi_instead.h"
#include "kernel_iscsi_session.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define SEC     1000000000ull
#define UNDO_NS (5 * SEC)
#define LOOK_NS (2 * SEC) /* for udev and the like, who open every new disk */
#define STEP_NS (SEC / 20)

struct attach;
struct job {
	struct attach *attach;
	struct iscsi_want *want;
	struct job *first; /* whose session it shares; NULL: it has its own */
	struct iscsi_link link;
	struct loop_fd scan; /* its end; fd -1: none runs */
	pid_t scanner;
	bool open; /* not over yet */
};
struct attach {
	struct loop *loop;
	int root;
	uint64_t until;
	struct kernel_iscsi *nl;
	struct loop_timer deadline;
	struct loop_signal stop;
	int signo;
	unsigned left, count;
	volatile int over;
	struct job *job;
};

static void over(struct job *job)
{
	struct attach *attach = job->attach;

	job->open = false;
	if (!--attach->left)
		attach->over = 1;
}

static void scanned(struct loop_fd *fd, uint32_t events)
{
	struct job *job = container_of(fd, struct job, scan);
	int status = 0;

	(void)events;
	loop_fd_del(job->attach->loop, fd);
	close(fd->fd);
	fd->fd = -1;
	if (child_ended(job->scanner, &status) && status)
		diag_sys(&job->want->why, status < 128 ? status : EIO, "scanning host%u", job->want->host);
	over(job);
}

static void scan(struct job *job)
{
	struct iscsi_want *want = job->want;
	struct attach *attach = job->attach;
	int err = kernel_iscsi_scan(attach->root, want->host, &job->scanner, &job->scan.fd, &want->why);

	if (!err && !want->no_wait) {
		job->scan.events = EPOLLIN;
		job->scan.ready = scanned;
		err = loop_fd_add(attach->loop, &job->scan, &want->why);
	}
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
	want->host = link->host;
	scan(job);
}

static void log_in(struct job *job, const struct kernel_iscsi_transport *transport)
{
	const struct iscsi_want *want = job->want;

	job->link = (struct iscsi_link){ .loop = job->attach->loop,
		.nl = job->attach->nl,
		.carrier = want->carrier,
		.transport = transport->handle,
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
		.until = job->attach->until,
		.done = linked,
		.user = job };
	iscsi_link_start(&job->link);
}

static const struct kernel_iscsi_session *find(const struct kernel_iscsi_session *list, unsigned count, const struct iscsi_want *want)
{
	const struct kernel_iscsi_session *end = list + count, *found = NULL;

	for (unsigned n = 0; n <= want->nth; n++) {
		found = kernel_iscsi_session_find(list, (unsigned)(end - list), iscsi_carrier_word(want->carrier), want->target, &want->portal);
		if (!found)
			return NULL;
		list = found + 1;
	}
	return found;
}

static void take(struct job *job, const struct kernel_iscsi_session *session)
{
	struct iscsi_want *want = job->want;

	want->existed = true;
	want->sid = session->sid;
	want->host = session->host;
	want->at = want->portal;
	if (!strncmp(session->target_state, "UNB", 3)) { /* UNBINDING, UNBOUND: the kernel scans it no more */
		diag_set(&want->why, DIAG_BUSY, EBUSY, "session%u to this target is being logged out: its disks are gone already", session->sid);
		diag_hint(&want->why, "rdmastor iser-logout session%u brings it to an end; then it can be logged in to anew", session->sid);
		over(job);
		return;
	}
	if (!strcmp(session->state, "LOGGED_IN")) {
		scan(job);
		return;
	}
	diag_set(&want->why, DIAG_BUSY, EBUSY, "session%u to this target is there, but has lost its connection (%s)", session->sid, session->state);
	diag_hint(&want->why, "whoever keeps it may bring it back; rdmastor iser-logout session%u ends it", session->sid);
	over(job);
}

/* Two units of one target, say. */
static bool is_same(const struct iscsi_want *a, const struct iscsi_want *b)
{
	const char *from = a->netdev ? a->netdev : "", *other = b->netdev ? b->netdev : "";
	char one[4][ADDR_TEXT];

	return a->carrier == b->carrier && a->nth == b->nth && !strcmp(a->target, b->target) && !strcmp(a->from->initiator, b->from->initiator) &&
	       !strcmp(from, other) && !strcmp(addr_text(&a->portal, one[0]), addr_text(&b->portal, one[1])) &&
	       !strcmp(addr_text(&a->src, one[2]), addr_text(&b->src, one[3]));
}

static struct job *earlier(struct attach *attach, const struct job *job)
{
	for (struct job *other = attach->job; other < job; other++)
		if (!other->first && is_same(other->want, job->want))
			return other;
	return NULL;
}

static int begin(struct attach *attach, struct diag *diag)
{
	struct kernel_iscsi_transport transport[ISCSI_CARRIERS];
	struct diag why[ISCSI_CARRIERS] = { 0 };
	bool asked[ISCSI_CARRIERS] = { false };
	struct kernel_iscsi_session *list;
	unsigned count;
	int err;

	for (unsigned i = 0; i < attach->count; i++) {
		unsigned c = attach->job[i].want->carrier;

		if (!asked[c])
			kernel_iscsi_transport(attach->root, c == ISCSI_ISER ? KERNEL_ISCSI_ISER : KERNEL_ISCSI_TCP, &transport[c], &why[c]);
		asked[c] = true;
	}
	err = kernel_iscsi_sessions(attach->root, &list, &count, diag);
	if (!err && ((asked[ISCSI_TCP] && !why[ISCSI_TCP].err) || (asked[ISCSI_ISER] && !why[ISCSI_ISER].err)))
		err = kernel_iscsi_open(&attach->nl, attach->loop, NULL, diag);
	for (unsigned i = 0; !err && i < attach->count; i++) {
		struct job *job = &attach->job[i];
		const struct kernel_iscsi_session *session = find(list, count, job->want);
		unsigned c = job->want->carrier;

		job->first = earlier(attach, job);
		if (job->first) {
			over(job);
		} else if (why[c].err) {
			job->want->why = why[c];
			over(job);
		} else if (session) {
			take(job, session);
		} else {
			log_in(job, &transport[c]);
		}
	}
	free(list);
	return err;
}

static void give_up(struct attach *attach, const struct diag *why)
{
	for (unsigned i = 0; i < attach->count; i++)
		if (attach->job[i].open) {
			attach->job[i].want->why = *why;
			over(&attach->job[i]);
		}
}

static void late(struct loop_timer *timer)
{
	struct attach *attach = container_of(timer, struct attach, deadline);
	struct diag why = { 0 };

	diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "not done in time: its disks are not listed yet");
	give_up(attach, &why);
}

static void interrupted(struct diag *why)
{
	diag_set(why, DIAG_CLOSED, EINTR, "interrupted; what was begun is undone");
}

static void stopped(struct loop_signal *sig, int signo)
{
	struct attach *attach = container_of(sig, struct attach, stop);
	struct diag why = { 0 };

	attach->signo = signo;
	interrupted(&why);
	give_up(attach, &why);
}

static void end_work(struct attach *attach, struct job *job)
{
	iscsi_link_end(&job->link);
	if (job->scan.fd < 0)
		return;
	loop_fd_del(attach->loop, &job->scan);
	close(job->scan.fd);
	if (!job->want->no_wait)
		kill(job->scanner, SIGKILL);
}

/* Before the disks of either are waited for. */
static void share(struct job *job)
{
	const struct iscsi_want *first = job->first->want;
	struct iscsi_want *want = job->want;

	want->why = first->why;
	want->existed = first->existed || !first->why.err;
	want->answers = first->answers;
	want->status = first->status;
	want->sid = first->sid;
	want->host = first->host;
	want->at = first->at;
	want->redirects = first->redirects;
	memcpy(want->way, first->way, sizeof(want->way));
}

/* Disks that can be opened, or this was in vain. Numbers of hosts are given again, those of sessions are not. */
static void wait_disks(struct attach *attach, struct iscsi_want *want)
{
	struct kernel_iscsi_session session;

	if (want->why.err)
		return;
	if (want->no_wait)
		kernel_scsi_luns(attach->root, want->host, &want->luns, &want->count, NULL);
	else
		kernel_scsi_wait(attach->root, want->host, want->lun, true, attach->until, &want->luns, &want->count, &want->why);
	if (kernel_iscsi_session(attach->root, want->sid, &session) || session.host != want->host) {
		iscsi_want_free(want);
		diag_set(&want->why, DIAG_CLOSED, ENODEV, "somebody else has ended session%u", want->sid);
		want->sid = 0;
	}
	if (want->why.err == EINTR) {
		interrupted(&want->why);
		attach->signo = SIGINT;
	}
}

/* One of the others got its disk of the same session. */
static bool is_wanted(const struct attach *attach, const struct job *job)
{
	for (unsigned i = 0; i < attach->count; i++)
		if (attach->job[i].first == job && !attach->job[i].want->why.err)
			return true;
	return false;
}

/* The disks that did come may have found users. */
static bool is_used(struct attach *attach, unsigned host, char *who, size_t len)
{
	uint64_t until = loop_clock() + LOOK_NS;
	volatile int never = 0;

	for (kernel_scsi_users(attach->root, host, who, len); *who && loop_clock() < until; kernel_scsi_users(attach->root, host, who, len))
		loop_wait(attach->loop, &never, loop_clock() + STEP_NS);
	return *who;
}

static void undo(struct attach *attach, struct job *job)
{
	struct iscsi_want *want = job->want;
	char who[400];

	if (!want->why.err || !want->sid || want->existed || is_wanted(attach, job))
		return;
	want->stays = is_used(attach, want->host, who, sizeof(who));
	if (want->stays)
		diag_hint(&want->why, "session%u stays, as it is used: %.70s; iser-logout session%u ends it", want->sid, who, want->sid);
	else
		iscsi_detach(attach->loop, attach->root, want->carrier, (struct iscsi_if_conn){ .sid = want->sid }, loop_clock() + UNDO_NS, NULL);
}

static void end(struct attach *attach)
{
	for (unsigned i = 0; i < attach->count; i++)
		end_work(attach, &attach->job[i]);
	for (unsigned i = 0; i < attach->count; i++)
		if (attach->job[i].first)
			share(&attach->job[i]);
	for (unsigned i = 0; i < attach->count; i++)
		wait_disks(attach, attach->job[i].want);
	for (unsigned i = 0; i < attach->count; i++)
		undo(attach, &attach->job[i]);
}

static int add_hooks(struct attach *attach, struct diag *diag)
{
	static const int signos[] = { SIGINT, SIGTERM, SIGHUP };

	attach->deadline.fire = late;
	if (attach->until)
		loop_timer_set(attach->loop, &attach->deadline, attach->until);
	attach->stop.caught = stopped;
	return loop_signal_add(attach->loop, &attach->stop, signos, 3, diag);
}

int iscsi_attach(struct loop *loop, int root, struct iscsi_want *wants, unsigned count, uint64_t until, struct diag *diag)
{
	struct attach attach = { .loop = loop, .root = root, .until = until, .left = count, .count = count };
	int err;

	if (!count)
		return 0;
	attach.job = calloc(count, sizeof(*attach.job));
	if (!attach.job)
		return diag_sys(diag, ENOMEM, "iSCSI logins");
	for (unsigned i = 0; i < count; i++)
		attach.job[i] = (struct job){ .attach = &attach, .want = &wants[i], .link.loop = loop, .scan.fd = -1, .open = true };
	err = add_hooks(&attach, diag);
	if (!err)
		err = begin(&attach, diag);
	if (!err) {
		loop_wait(loop, &attach.over, 0);
		end(&attach);
	}
	for (unsigned i = 0; !err && !attach.signo && i < count; i++)
		if (wants[i].why.err && wants[i].carrier == ISCSI_ISER && !wants[i].answers && !wants[i].existed)
			iscsi_instead(loop, &wants[i], until);
	loop_timer_del(loop, &attach.deadline);
	loop_signal_del(loop, &attach.stop);
	if (attach.nl)
		kernel_iscsi_close(attach.nl);
	free(attach.job);
	return err;
}

void iscsi_want_free(struct iscsi_want *want)
{
	free(want->luns);
	want->luns = NULL;
	want->count = 0;
}
