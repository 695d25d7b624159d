/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* From wishes to sessions with disks, all at once: what is there is taken, the rest logged in and scanned; what failed is undone. */
#include "iscsi_attach.h"
#include "child.h"
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

#define SEC     1000000000ull
#define UNDO_NS (5 * SEC)
#define LOOK_NS (SEC / 10)

struct attach;
struct job {
	struct attach *attach;
	struct iscsi_want *want;
	struct iscsi_link link;
	struct loop_fd scan; /* its end; fd -1: none runs */
	pid_t scanner;
	struct loop_timer look;
	int keeper; /* process that logs in again to the session that was lost */
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
	if (!want->existed)
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
		.again = want->existed,
		.id = { .sid = want->sid },
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

/* Somebody else is about to bring it back: has he? */
static void look(struct loop_timer *timer)
{
	struct job *job = container_of(timer, struct job, look);
	struct kernel_iscsi_session session;

	if (kernel_iscsi_session(job->attach->root, job->want->sid, &session)) {
		diag_set(&job->want->why, DIAG_CLOSED, ENODEV, "session%u was ended meanwhile", job->want->sid);
		over(job);
	} else if (!strcmp(session.state, "LOGGED_IN")) {
		scan(job);
	} else {
		loop_timer_set(job->attach->loop, timer, loop_clock() + LOOK_NS);
	}
}

/* A session that is there already; one without a connection logs in again, unless that is somebody else's business. */
static void take(struct job *job, const struct kernel_iscsi_session *session, const struct kernel_iscsi_transport *transport)
{
	struct iscsi_want *want = job->want;

	want->existed = true;
	want->sid = session->sid;
	want->host = session->host;
	want->at = want->portal;
	job->keeper = kernel_iscsid(job->attach->root);
	if (!job->keeper)
		job->keeper = kernel_iscsi_keeper(job->attach->root);
	if (!strcmp(session->state, "LOGGED_IN")) {
		scan(job);
	} else if (job->keeper) {
		job->look.fire = look;
		loop_timer_set(job->attach->loop, &job->look, loop_clock() + LOOK_NS);
	} else {
		loop_trace(job->attach->loop, "session%u has lost its connection, and nobody keeps it", session->sid);
		log_in(job, transport);
	}
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

		if (why[c].err) {
			job->want->why = why[c];
			over(job);
		} else if (session) {
			take(job, session, &transport[c]);
		} else {
			log_in(job, &transport[c]);
		}
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
			diag_set(&job->want->why, DIAG_BUSY, EBUSY, "session%u to this target has lost its connection, and process %d, which keeps it, does not get it back",
				job->want->sid, job->keeper);
			diag_hint(&job->want->why, "rdmastor iser-logout session%u ends it", job->want->sid);
		}
		over(job);
	}
}

static void late(struct loop_timer *timer)
{
	struct attach *attach = container_of(timer, struct attach, deadline);
	struct diag why = { 0 };

	diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "not done in time: its disks are not listed yet");
	give_up(attach, &why);
}

static void stopped(struct loop_signal *sig, int signo)
{
	struct attach *attach = container_of(sig, struct attach, stop);
	struct diag why = { 0 };

	attach->signo = signo;
	diag_set(&why, DIAG_CLOSED, EINTR, "interrupted; what was begun is undone");
	give_up(attach, &why);
}

/* Disks that can be opened, or this was in vain and is undone. */
static void wait_disks(struct attach *attach, struct iscsi_want *want)
{
	if (!want->why.err && want->no_wait)
		kernel_scsi_luns(attach->root, want->host, &want->luns, &want->count, NULL);
	else if (!want->why.err)
		kernel_scsi_wait(attach->root, want->host, want->lun, true, attach->until, &want->luns, &want->count, &want->why);
	if (want->why.err && want->sid && !want->existed)
		iscsi_detach(attach->loop, attach->root, want->carrier, (struct iscsi_if_conn){ .sid = want->sid }, loop_clock() + UNDO_NS, NULL);
}

static void end(struct attach *attach, struct job *job)
{
	struct iscsi_want *want = job->want;

	iscsi_link_end(&job->link);
	loop_timer_del(attach->loop, &job->look);
	if (job->scan.fd >= 0) {
		loop_fd_del(attach->loop, &job->scan);
		close(job->scan.fd);
		if (!want->no_wait)
			kill(job->scanner, SIGKILL);
	}
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
	if (!err)
		loop_wait(loop, &attach.over, 0);
	for (unsigned i = 0; i < count; i++)
		end(&attach, &attach.job[i]);
	loop_timer_del(loop, &attach.deadline);
	loop_signal_del(loop, &attach.stop);
	for (unsigned i = 0; i < count; i++)
		wait_disks(&attach, &wants[i]);
	if (attach.nl)
		kernel_iscsi_close(attach.nl);
	free(attach.job);
	for (unsigned i = 0; !err && !attach.signo && i < count; i++)
		if (wants[i].why.err && wants[i].carrier == ISCSI_ISER && !wants[i].answers && !wants[i].existed)
			iscsi_instead(loop, &wants[i], until);
	return err;
}

void iscsi_want_free(struct iscsi_want *want)
{
	free(want->luns);
	want->luns = NULL;
	want->count = 0;
}
