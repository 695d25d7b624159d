/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What becomes of sessions that were logged in and scanned: their disks are waited for; what was in
 * vain is undone, unless it has found users. */
#include "iscsi_attach_job.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define SEC     1000000000ull
#define UNDO_NS (5 * SEC)
#define LOOK_NS (2 * SEC) /* for udev and the like, who open every new disk */
#define STEP_NS (SEC / 20)

void iscsi_attach_interrupted(struct diag *why)
{
	diag_set(why, DIAG_CLOSED, EINTR, "interrupted and rolled back");
}

static void end_work(struct attach *attach, struct job *job)
{
	iscsi_link_end(&job->link);
	loop_timer_del(attach->loop, &job->look);
	child_call_cancel(&job->scan);
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

/* Disks that can be opened, or this was in vain. Numbers of hosts are given again, those of
 * sessions are not. */
static void wait_disks(struct attach *attach, struct iscsi_want *want)
{
	struct kernel_iscsi_session session;

	if (want->why.err)
		return;
	if (want->no_wait)
		kernel_scsi_luns(attach->root, want->host, &want->luns, &want->count, NULL);
	else
		kernel_scsi_wait(attach->root, want->host, want->lun, true, attach->until,
			&want->luns, &want->count, &want->why);
	if (kernel_iscsi_session(attach->root, want->sid, &session) || session.host != want->host) {
		iscsi_want_free(want);
		diag_set(&want->why, DIAG_CLOSED, ENODEV, "another process logged out session%u",
			want->sid);
		want->sid = 0;
	}
	if (want->why.err == EINTR) {
		iscsi_attach_interrupted(&want->why);
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

	for (kernel_scsi_users(attach->root, host, who, len); *who && loop_clock() < until;
		kernel_scsi_users(attach->root, host, who, len))
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
		diag_hint(&want->why,
			"session%u stays because it is in use: %.70s; end it with: rdmastor "
			"iser-logout session%u",
			want->sid, who, want->sid);
	else
		iscsi_detach(attach->loop, attach->root, want->carrier,
			(struct iscsi_if_conn){ .sid = want->sid }, loop_clock() + UNDO_NS, NULL);
}

void iscsi_attach_end(struct attach *attach)
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
