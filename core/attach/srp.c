/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SRP: the module, the line for add_target, the loss timeouts, LUNs that become block devices, and
 * the removal of a host. add_target does not report which host it made, nor /sys to which address
 * one made by RDMA/CM is connected: the host that is new afterwards is the one. */
#include "srp_find.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MSEC     1000000ull
#define LOGIN_MS 3600000 /* without a bound */
#define LEAVE_MS 60000   /* of a former connection, likewise */
#define AGAIN_MS 20
#define TMO_MS   5000 /* a reconnect attempt holds the port's mutex */
#define GONE_MS  10   /* between looks: the kernel removes a host in the background */
#define GRACE_MS 500  /* for an interrupted write to come back */
#define LET_MS   1500 /* the same, of a login that timed out */
#define LEFT     4    /* abandoned logins that the kernel may hold */

static struct attach_srp *srp_of(struct attach *attach)
{
	return container_of(attach, struct attach_srp, attach);
}

static unsigned number_of(const struct attach_srp *srp)
{
	return (unsigned)kernel_srp_number(srp->host.host);
}

/* ---- ready */

static void note_param(const char *name, const char *value, void *attach)
{
	attach_note(attach, "ib_srp: %s=%s", name, value);
}

static void is_ready(struct attach *attach, int err)
{
	struct attach_srp *srp = srp_of(attach);
	const struct attach_srp_said *said = &srp->said;

	if (!err && srp->want && loop_options(attach->loop)->verbose) {
		attach_note(attach, "ib_srp was %s", said->loaded ? "loaded" : "already loaded");
		kernel_srp_params(attach->root, note_param, attach);
	}
	if (!err && said->others[0])
		attach_note(attach, "using %s port %u; select another with -i and -p: %s",
			said->local.dev, said->local.port, said->others);
	if (!err)
		srp->local = said->local;
	attach_step(attach, err);
}

/* The ports of ib_srp are known once it is loaded. */
static int get_ready(int root, const void *arg, void *out)
{
	const struct attach_srp *srp = arg;
	struct attach_srp_said *said = out;
	int err = 0;

	if (srp->want)
		err = kernel_srp_load(
			root, srp->params, srp->param_count, &said->loaded, &said->why);
	if (!err && srp->want)
		err = kernel_srp_port(root, srp->want, srp->dev, srp->port, &said->local,
			said->others, sizeof(said->others), &said->why);
	if (!err && srp->want)
		err = kernel_srp_supports(root, &said->local, &said->why);
	if (!err && !srp->attach.no_wait)
		err = kernel_scsi_ready(root, &said->why);
	return -err;
}

static void srp_ready(struct attach *attach)
{
	struct attach_srp *srp = srp_of(attach);

	attach_luns_free(&srp->luns);
	srp->existed = !srp->want;
	srp->said = (struct attach_srp_said){ 0 };
	attach_load(attach,
		&(struct child_call){ .fn = get_ready,
			.arg = srp,
			.out = &srp->said,
			.out_len = sizeof(srp->said),
			.until = attach->until },
		kernel_srp_loaded(attach->root) &&
			(attach->no_wait || kernel_scsi_loaded(attach->root)),
		is_ready);
}

/* ---- dial */

static bool was_there(const struct attach_srp *srp, const char *host)
{
	for (unsigned i = 0; i < srp->befores; i++)
		if (!strcmp(srp->before[i].host, host))
			return true;
	return false;
}

/* Whatever its result: the host that it made is to be undone. */
static void end_login(struct attach_srp *srp)
{
	struct attach *attach = &srp->attach;
	struct kernel_srp *list = NULL;
	unsigned count = 0;

	kernel_srp_list(attach->root, &list, &count, NULL);
	for (unsigned i = 0; i < count && !attach->made; i++)
		if (kernel_srp_fits(&list[i], srp->want, &srp->local) &&
			!was_there(srp, list[i].host)) {
			srp->host = list[i];
			snprintf(attach->what, sizeof(attach->what), "%s", list[i].host);
			attach->made = true;
		}
	free(list);
	free(srp->before);
	srp->before = NULL;
	srp->befores = 0;
	srp->logging_in = false;
}

static void start_call(struct attach_srp *srp, struct child_call *call, uint64_t until)
{
	int err;

	srp->said = (struct attach_srp_said){ 0 };
	call->arg = srp;
	call->out = &srp->said;
	call->out_len = sizeof(srp->said);
	call->until = until;
	err = child_call_start(call, srp->attach.loop, &srp->attach.root, 1);
	if (!err)
		return;
	if (srp->logging_in)
		end_login(srp);
	attach_step(&srp->attach, diag_sys(&srp->attach.why, -err, "fork"));
}

static int still_leaving(struct attach_srp *srp)
{
	srp->leaving = true;
	return diag_set(&srp->attach.why, DIAG_BUSY, EAGAIN,
		"a former connection to this target is still being removed");
}

/* The kernel has it already: find which host. The kernel compares identifier extension, GUID,
 * initiator extension and, by RDMA/CM, the address. -EAGAIN: no host is visible, so that it is
 * being removed: the kernel forgets a target some time after its host. */
static int find_existing(struct attach_srp *srp)
{
	struct attach *attach = &srp->attach;
	unsigned fit = 0, other = 0, count;
	struct kernel_srp *list;
	int err = kernel_srp_list(attach->root, &list, &count, &attach->why);

	if (err)
		return err;
	for (unsigned i = 0; i < count; i++) {
		other += kernel_srp_same_target(&list[i], srp->want, &srp->local);
		if (kernel_srp_fits(&list[i], srp->want, &srp->local) && !fit++)
			srp->host = list[i];
	}
	free(list);
	if (fit > 1)
		attach_note(attach,
			"%u connections lead to this controller at unknown addresses: using %s",
			fit, srp->host.host);
	if (fit)
		return 0;
	if (!other)
		return still_leaving(srp);
	diag_set(&attach->why, DIAG_BUSY, EEXIST,
		"the kernel is already connected to this target by another path");
	return diag_hint(&attach->why,
		"connect this path as a separate initiator with another initiator_ext");
}

static void keep_lun(struct attach_luns *luns)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < luns->count; i++)
		if (luns->lun == SCSI_LUN_ALL || luns->list[i].lun == luns->lun)
			luns->list[kept++] = luns->list[i];
	luns->count = kept;
}

/* add_target has returned after the scan of the host. */
static void end_dial(struct attach_srp *srp, int err)
{
	struct attach *attach = &srp->attach;
	struct attach_luns *luns = &srp->luns;

	*luns = (struct attach_luns){ .host = number_of(srp), .lun = luns->lun, .scanned = true };
	if (!err && attach->no_wait) {
		err = kernel_scsi_luns(
			attach->root, luns->host, &luns->list, &luns->count, &attach->why);
		keep_lun(luns);
	}
	attach_step(attach, err);
}

static int write_tmo(int root, const void *arg, void *out)
{
	const struct attach_srp *srp = arg;
	struct attach_srp_said *said = out;

	return -kernel_srp_tmo_set(root, number_of(srp), &srp->tmo, &said->why);
}

static void tmo_written(struct child_call *call)
{
	struct attach_srp *srp = container_of(call, struct attach_srp, call);
	struct diag *why = &srp->attach.why;

	*why = srp->said.why;
	if (call->err && !why->err)
		diag_sys(why, -call->err, "set the loss timeouts of %s", srp->attach.what);
	end_dial(srp, call->err);
}

/* Kernels before 3.13 have no loss timeouts. */
static void set_tmo(struct attach_srp *srp)
{
	struct attach *attach = &srp->attach;
	struct srp_rport rport;
	const struct srp_tmo *tmo = &srp->tmo;
	bool told = !kernel_srp_rport(attach->root, number_of(srp), &rport) &&
		    rport.tmo.fast_io_fail_tmo != VALUE_UNKNOWN,
	     any = tmo->reconnect_delay != VALUE_UNKNOWN ||
		   tmo->fast_io_fail_tmo != VALUE_UNKNOWN || tmo->dev_loss_tmo != VALUE_UNKNOWN;

	snprintf(attach->what, sizeof(attach->what), "%s", srp->host.host);
	if (!any || (!srp->tmo_given && (srp->existed || !told))) {
		end_dial(srp, 0);
		return;
	}
	srp->call =
		(struct child_call){ .fn = write_tmo, .grace_ms = GRACE_MS, .done = tmo_written };
	start_call(srp, &srp->call, attach_bound(attach, TMO_MS));
}

static int too_late(struct attach_srp *srp)
{
	char text[DIAG_SECONDS];

	diag_seconds((loop_clock() - srp->since) / 1000000, text);

	if (srp->leaving)
		return still_leaving(srp);
	return srp->attach.made
		       ? diag_set(&srp->attach.why, DIAG_TIMEOUT, ETIMEDOUT,
				 "login succeeded, but the scan for disks timed out after %s",
				 text)
		       : diag_set(&srp->attach.why, DIAG_TIMEOUT, ETIMEDOUT,
				 "no answer from the target: login timed out after %s",
				 text);
}

static void log_in_again(struct loop_timer *);

static void logged_in(struct child_call *call)
{
	struct attach_srp *srp = container_of(call, struct attach_srp, login);
	struct attach *attach = &srp->attach;
	int err = call->err;
	char log[2048];

	end_login(srp);
	kernel_log_since(&srp->log,
		err || loop_options(attach->loop)->verbose ? kernel_srp_logged : NULL, log,
		sizeof(log));
	attach_note_words(attach, log);
	kernel_srp_log_of_failed(attach->root, attach->made ? (int)number_of(srp) : -1, log);
	if (err && call->late) {
		err = too_late(srp);
		/* the daemon finds it at its next attempt */
		attach->made = attach->made && !srp->leaves_no_wait;
	} else if (err == -EEXIST) {
		attach->made = false; /* what appeared is another program's */
		attach->what[0] = 0;
		err = find_existing(srp);
		srp->existed = !err;
		if (err == -EAGAIN && !srp->leaves_no_wait && loop_clock() < srp->leaves) {
			srp->timer.fire = log_in_again;
			loop_timer_set(attach->loop, &srp->timer, loop_clock() + AGAIN_MS * MSEC);
			return;
		}
	} else if (err) {
		err = kernel_srp_add_why(-err, log, &attach->why);
	} else if (!attach->made) {
		err = diag_set(&attach->why, DIAG_CLOSED, ENOTCONN,
			"login succeeded, but the connection is already lost");
	}
	if (!err && srp->existed && srp->exclusive) {
		err = diag_set(&attach->why, DIAG_BUSY, EALREADY, "already connected as %s",
			srp->host.host);
		diag_hint(&attach->why, "omit --exclusive to use it, or add a connection with "
					"another --initiator-ext");
	}
	if (err)
		attach_step(attach, err);
	else
		set_tmo(srp);
}

static void line_of(const struct attach_srp *srp, char line[SRP_LINE])
{
	if (srp->line)
		snprintf(line, SRP_LINE, "%s", srp->line);
	else
		kernel_srp_line(srp->want, line);
}

static int write_line(int root, const void *arg, void *out)
{
	const struct attach_srp *srp = arg;
	char line[SRP_LINE];

	(void)out;
	line_of(srp, line);
	return -kernel_srp_add(root, &srp->local, line);
}

static void log_in(struct attach_srp *srp)
{
	struct attach *attach = &srp->attach;
	char line[SRP_LINE];
	int err = 0;

	attach->why = (struct diag){ 0 };
	srp->existed = false;
	srp->since = loop_clock();
	line_of(srp, line);
	if (loop_options(attach->loop)->verbose)
		attach_note(
			attach, "srp-%s-%u/add_target: %s", srp->local.dev, srp->local.port, line);
	if (child_call_left(&srp->login) >= LEFT)
		err = diag_set(&attach->why, DIAG_BUSY, EBUSY,
			"%d abandoned logins still block the kernel", LEFT);
	if (!err)
		err = kernel_srp_list(attach->root, &srp->before, &srp->befores, &attach->why);
	if (err) {
		attach_step(attach, err);
		return;
	}
	srp->logging_in = true;
	kernel_log_mark(attach->root, &srp->log);
	srp->login = (struct child_call){ .fn = write_line, .grace_ms = LET_MS, .done = logged_in };
	start_call(srp, &srp->login, attach_bound(attach, LOGIN_MS));
}

static void log_in_again(struct loop_timer *timer)
{
	log_in(container_of(timer, struct attach_srp, timer));
}

/* A number for each local port: the kernel logs in to one target at a time through it
 * (add_target_mutex). */
static uint64_t srp_queue(const struct attach *attach)
{
	const struct srp_local *local =
		&((const struct attach_srp *)(const void *)attach)->local; /* the first member */
	uint64_t number = local->port;

	for (const char *at = local->dev; *at; at++)
		number = number * 257 + (uint8_t)*at;
	return number;
}

static void srp_dial(struct attach *attach)
{
	struct attach_srp *srp = srp_of(attach);

	srp->leaving = false;
	srp->leaves = attach->until ? attach->until : loop_clock() + LEAVE_MS * MSEC;
	if (srp->want)
		log_in(srp);
	else
		set_tmo(srp);
}

/* ---- wait */

static int srp_look(struct attach *attach)
{
	struct attach_luns *luns = &srp_of(attach)->luns;
	int all = attach_luns_look(attach, luns);

	if (all > 0)
		keep_lun(luns);
	return all;
}

static void srp_late(struct attach *attach)
{
	attach_luns_late(attach, &srp_of(attach)->luns);
}

/* ---- users, undo */

static void srp_users(const struct attach *attach, int root, struct attach_users *found)
{
	const struct attach_srp *srp =
		(const struct attach_srp *)(const void *)attach; /* the first member */

	kernel_scsi_users(root, number_of(srp), found->text, sizeof(found->text));
}

static int say_why(struct attach *attach, int err)
{
	return attach_not_removed(attach, err,
		"pending I/O fails when the remote port's timeouts expire, or at once with "
		"--force");
}

static void look_gone(struct loop_timer *timer)
{
	struct attach_srp *srp = container_of(timer, struct attach_srp, timer);
	struct attach *attach = &srp->attach;

	if (!kernel_scsi_host(attach->root, number_of(srp))) {
		kernel_scsi_drop_nodes(attach->root, srp->luns.list, srp->luns.count);
		attach_step(attach, 0);
	} else if (attach->until && loop_clock() >= attach->until) {
		attach_step(attach, say_why(attach, -ETIMEDOUT));
	} else {
		loop_timer_set(attach->loop, timer, loop_clock() + GONE_MS * MSEC);
	}
}

/* The kernel removes `delete` at once and the host in the background. */
static void deleted(struct child_call *call)
{
	struct attach_srp *srp = container_of(call, struct attach_srp, call);
	int err = call->err;

	if (err && err != -ENOENT && err != -ENODEV && err != -ETIMEDOUT) {
		attach_step(&srp->attach, say_why(&srp->attach, err));
		return;
	}
	srp->timer.fire = look_gone;
	look_gone(&srp->timer);
}

static int delete_host(int root, const void *arg, void *out)
{
	(void)out;
	return -kernel_srp_delete(root, number_of(arg));
}

static void start_delete(struct attach_srp *srp)
{
	srp->call = (struct child_call){ .fn = delete_host, .grace_ms = GRACE_MS, .done = deleted };
	start_call(srp, &srp->call, srp->attach.until);
}

/* Whether or not the timeouts could be changed. */
static void hurried(struct child_call *call)
{
	start_delete(container_of(call, struct attach_srp, call));
}

/* Requests that hang fail at once, and none waits for the target to come back. */
static int hurry(int root, const void *arg, void *out)
{
	static const struct srp_tmo soon = {
		.reconnect_delay = VALUE_UNKNOWN, .fast_io_fail_tmo = 0, .dev_loss_tmo = 1
	};

	(void)out;
	return -kernel_srp_tmo_set(root, number_of(arg), &soon, NULL);
}

static void srp_undo(struct attach *attach)
{
	struct attach_srp *srp = srp_of(attach);

	if (!kernel_scsi_host(attach->root, number_of(srp))) {
		attach_step(attach, 0);
		return;
	}
	attach_luns_free(&srp->luns);
	kernel_scsi_luns(attach->root, number_of(srp), &srp->luns.list, &srp->luns.count, NULL);
	if (!attach->force) {
		start_delete(srp);
		return;
	}
	srp->call = (struct child_call){ .fn = hurry, .grace_ms = GRACE_MS, .done = hurried };
	start_call(srp, &srp->call, attach_bound(attach, TMO_MS));
}

static void srp_stop(struct attach *attach)
{
	struct attach_srp *srp = srp_of(attach);

	loop_timer_del(attach->loop, &srp->timer);
	child_call_cancel(&srp->login);
	child_call_cancel(&srp->call);
	srp_find_stop(srp);
	if (!srp->logging_in)
		return;
	end_login(srp);
	kernel_log_since(&srp->log, NULL, (char[1]){ 0 }, 1);
}

const struct attach_proto attach_srp_row = {
	.events = "scsi",
	.in_turn = true,
	.queue = srp_queue,
	.find = srp_find,
	.ready = srp_ready,
	.dial = srp_dial,
	.look = srp_look,
	.late = srp_late,
	.users = srp_users,
	.undo = srp_undo,
	.stop = srp_stop,
};
