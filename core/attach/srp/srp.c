/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SRP row: the module, the write to add_target, the loss timeouts, the wait for LUNs, and the
 * removal of a host. Neither add_target nor, for RDMA/CM, sysfs tells which host belongs to the
 * target: find the one that is new. */
#include "srp_find.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOGIN_MS        3600000 /* without a limit */
#define REMOVAL_MS      60000   /* of an old connection, without a limit */
#define RETRY_MS        20
#define FORGET_MS       1000 /* the kernel forgets a target after removing its host */
#define REPEAT_MS       200  /* to find out whether it has */
#define TMO_MS          5000 /* a reconnect attempt holds the port's mutex */
#define REMOVAL_POLL_MS 10   /* the kernel removes hosts in the background */
#define GRACE_MS        500  /* for an interrupted write to return */
#define LOGIN_GRACE_MS  1500 /* for a login that timed out to return */
#define ABANDONED_MAX   4    /* abandoned logins that the kernel may hold */

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
	const struct attach_srp_result *result = &srp->result;

	if (!err && srp->params && loop_options(attach->loop)->verbose) {
		attach_note(attach, "ib_srp was %s", result->loaded ? "loaded" : "already loaded");
		kernel_srp_module_params(attach->root, note_param, attach);
	}
	if (!err && result->others[0])
		attach_note(attach, "using %s port %u; select another with -i and -p: %s",
			result->local.dev, result->local.port, result->others);
	if (!err)
		srp->local = result->local;
	attach_step(attach, err);
}

/* The ports are known once ib_srp is loaded. */
static int get_ready(int root, const void *arg, void *out)
{
	const struct attach_srp *srp = arg;
	struct attach_srp_result *result = out;
	int err = 0;

	if (srp->params)
		err = kernel_srp_load(root, srp->module_params, srp->module_param_count,
			&result->loaded, &result->why);
	if (!err && srp->params)
		err = kernel_srp_port(root, srp->params, srp->dev, srp->port, &result->local,
			result->others, sizeof(result->others), &result->why);
	if (!err && srp->params)
		err = kernel_srp_supports(root, &result->local, &result->why);
	if (!err && !srp->attach.no_wait)
		err = kernel_scsi_ready(root, &result->why);
	return -err;
}

static void srp_ready(struct attach *attach)
{
	struct attach_srp *srp = srp_of(attach);

	attach_luns_free(&srp->luns);
	srp->existed = !srp->params;
	srp->result = (struct attach_srp_result){ 0 };
	if (attach->addr)
		kernel_srp_set_dest(srp->params, attach->addr);
	attach_load(attach,
		&(struct child_call){ .fn = get_ready,
			.arg = srp,
			.out = &srp->result,
			.out_len = sizeof(srp->result),
			.until = attach->until },
		kernel_srp_loaded(attach->root) &&
			(attach->no_wait || kernel_scsi_loaded(attach->root)),
		is_ready);
}

/* ---- dial */

static bool is_old_host(const struct attach_srp *srp, const char *host)
{
	for (unsigned i = 0; i < srp->old_host_count; i++)
		if (!strcmp(srp->old_hosts[i].host, host))
			return true;
	return false;
}

/* Find the host that the login created, also after a failure, so that it is undone. */
static void find_new_host(struct attach_srp *srp)
{
	struct attach *attach = &srp->attach;
	struct kernel_srp *list = NULL;
	unsigned count = 0;

	if (kernel_srp_list(attach->root, &list, &count, NULL))
		return;
	attach->made = false;
	for (unsigned i = 0; i < count && !attach->made; i++)
		if (kernel_srp_fits(&list[i], srp->params, &srp->local) &&
			!is_old_host(srp, list[i].host)) {
			srp->host = list[i];
			snprintf(attach->what, sizeof(attach->what), "%s", list[i].host);
			attach->made = true;
		}
	free(list);
}

/* The share of this address is over: end the login, unless the target has accepted it. The kernel
 * then creates the host, and scans it for disks before add_target returns. */
static void end_share(struct loop_timer *timer)
{
	struct attach_srp *srp = container_of(timer, struct attach_srp, timer);

	find_new_host(srp);
	if (srp->attach.made)
		attach_answered(&srp->attach);
	else
		child_call_expire(&srp->login);
}

static void end_login(struct attach_srp *srp)
{
	loop_timer_del(srp->attach.loop, &srp->timer);
	find_new_host(srp);
	free(srp->old_hosts);
	srp->old_hosts = NULL;
	srp->old_host_count = 0;
	srp->logging_in = false;
}

static void start_call(struct attach_srp *srp, struct child_call *call, uint64_t until)
{
	int err;

	srp->result = (struct attach_srp_result){ 0 };
	call->arg = srp;
	call->out = &srp->result;
	call->out_len = sizeof(srp->result);
	call->until = until;
	err = child_call_start(call, srp->attach.loop, &srp->attach.root, 1);
	if (!err)
		return;
	if (srp->logging_in)
		end_login(srp);
	attach_step(&srp->attach, diag_sys(&srp->attach.why, -err, "fork"));
}

static int set_removal_pending(struct attach_srp *srp)
{
	srp->removal_pending = true;
	return diag_set(&srp->attach.why, DIAG_BUSY, EAGAIN,
		"a former connection to this target is still being removed");
}

/* The kernel reports that the target is connected: find the host. It compares identifier extension,
 * GUID, initiator extension and, over RDMA/CM, the address. -EAGAIN: no host is visible, as the
 * kernel forgets a target some time after removing its host. */
static int find_existing(struct attach_srp *srp, unsigned *fitting)
{
	struct attach *attach = &srp->attach;
	const struct kernel_srp *at = NULL;
	const bool cm = srp->params->value[SRP_OPT_DEST][0];
	unsigned fit = 0, other = 0, count;
	struct kernel_srp *list;
	int err = kernel_srp_list(attach->root, &list, &count, &attach->why);

	if (err)
		return err;
	kernel_srp_set_dests(attach->root, list, count);
	for (unsigned i = 0; i < count; i++) {
		other += kernel_srp_same_target(&list[i], srp->params, &srp->local) &&
			 !(cm && list[i].by_cm);
		if (!kernel_srp_fits(&list[i], srp->params, &srp->local))
			continue;
		if (kernel_srp_path_known(&list[i]))
			at = &list[i];
		else if (fit++ <= srp->nth)
			srp->host = list[i];
	}
	if (at) {
		srp->host = *at;
		fit = 1;
	}
	free(list);
	*fitting = fit;
	if (fit)
		return 0;
	if (!other)
		return set_removal_pending(srp);
	diag_set(&attach->why, DIAG_BUSY, EEXIST,
		"the kernel is already connected to this target by another path");
	return diag_hint(&attach->why,
		"connect this path as a separate initiator with another initiator_ext");
}

static void keep_lun(struct attach_luns *luns)
{
	unsigned count = 0;

	for (unsigned i = 0; i < luns->count; i++)
		if (luns->lun == SCSI_LUN_ALL || luns->list[i].lun == luns->lun)
			luns->list[count++] = luns->list[i];
	luns->count = count;
}

/* add_target has returned after the scan of the host. */
static void end_connect(struct attach_srp *srp, int err)
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
	struct attach_srp_result *result = out;

	return -kernel_srp_tmo_set(root, number_of(srp), &srp->tmo, &result->why);
}

static void tmo_written(struct child_call *call)
{
	struct attach_srp *srp = container_of(call, struct attach_srp, call);
	struct diag *why = &srp->attach.why;

	*why = srp->result.why;
	if (call->err && !why->err)
		diag_sys(why, -call->err, "set the loss timeouts of %s", srp->attach.what);
	end_connect(srp, call->err);
}

/* Kernels before 3.13 have no loss timeouts. */
static void set_tmo(struct attach_srp *srp)
{
	struct attach *attach = &srp->attach;
	struct srp_rport rport;
	const struct srp_tmo *tmo = &srp->tmo;
	bool has_rport = !kernel_srp_rport(attach->root, number_of(srp), &rport) &&
			 rport.tmo.fast_io_fail_tmo != VALUE_UNKNOWN,
	     any = tmo->reconnect_delay != VALUE_UNKNOWN ||
		   tmo->fast_io_fail_tmo != VALUE_UNKNOWN || tmo->dev_loss_tmo != VALUE_UNKNOWN;

	snprintf(attach->what, sizeof(attach->what), "%s", srp->host.host);
	if (!any || (!srp->tmo_given && (srp->existed || !has_rport))) {
		end_connect(srp, 0);
		return;
	}
	srp->call =
		(struct child_call){ .fn = write_tmo, .grace_ms = GRACE_MS, .done = tmo_written };
	start_call(srp, &srp->call, attach_limit(attach, TMO_MS));
}

static int set_timeout(struct attach_srp *srp)
{
	char text[DIAG_SECONDS];

	diag_seconds((loop_clock() - srp->since) / 1000000, text);

	if (srp->removal_pending)
		return set_removal_pending(srp);
	return srp->attach.made
		       ? diag_set(&srp->attach.why, DIAG_TIMEOUT, ETIMEDOUT,
				 "login succeeded, but the scan for disks timed out after %s", text)
		       : diag_set(&srp->attach.why, DIAG_TIMEOUT, ETIMEDOUT,
				 "no answer from the target: login timed out after %s", text);
}

static void log_in_again(struct loop_timer *);

/* The kernel has refused to connect the target a second time. sysfs does not tell the initiator
 * extension of a host: the one that find_existing() found may have another, while the connection
 * that the kernel means is being removed and has no host any more. Return true if the login is
 * tried again. */
static bool wait_for_removal(struct attach_srp *srp, int found)
{
	uint64_t now = loop_clock(), limit;

	if (!srp->refused_since)
		srp->refused_since = now;
	limit = srp->removal_deadline > now ? srp->removal_deadline - srp->refused_since : 0;
	if (found != -EAGAIN) /* what is connected needs time, too */
		limit = limit / 2 < FORGET_MS * MSEC ? limit / 2 : FORGET_MS * MSEC;
	if (srp->no_removal_wait || now >= srp->refused_since + limit)
		return false;
	srp->timer.fire = log_in_again;
	loop_timer_set(srp->attach.loop, &srp->timer,
		now + (found == -EAGAIN ? RETRY_MS : REPEAT_MS) * MSEC);
	return true;
}

static void use_existing(struct attach_srp *srp)
{
	struct diag *why = &srp->attach.why;

	if (!srp->exclusive) {
		set_tmo(srp);
		return;
	}
	diag_set(why, DIAG_BUSY, EALREADY, "already connected as %s", srp->host.host);
	attach_step(&srp->attach, diag_hint(why, "omit --exclusive to use it, or add a connection "
						 "with another --initiator-ext"));
}

static void logged_in(struct child_call *call)
{
	struct attach_srp *srp = container_of(call, struct attach_srp, login);
	struct attach *attach = &srp->attach;
	int err = call->err;
	unsigned fitting = 0;
	char log[2048];

	end_login(srp);
	kernel_log_since(&srp->log,
		err || loop_options(attach->loop)->verbose ? kernel_srp_logged : NULL, log,
		sizeof(log));
	attach_note_log(attach, log);
	kernel_srp_log_of_failed(attach->root, attach->made ? (int)number_of(srp) : -1, log);
	if (err && call->expired) {
		err = set_timeout(srp);
		/* the owner finds it at its next attempt */
		attach->made = attach->made && !srp->no_removal_wait;
	} else if (err == -EEXIST) {
		attach_answered(attach); /* what it waits for is not this address */
		attach->made = false;    /* the new host is another program's */
		attach->what[0] = 0;
		err = find_existing(srp, &fitting);
		if (wait_for_removal(srp, err))
			return;
		srp->existed = !err;
		if (fitting > 1)
			attach_note(attach,
				"%u connections lead to this controller at unknown addresses: "
				"using %s",
				fitting, srp->host.host);
	} else if (err) {
		err = kernel_srp_add_why(-err, log, &attach->why);
	} else if (!attach->made) {
		err = diag_set(&attach->why, DIAG_CLOSED, ENOTCONN,
			"login succeeded, but the connection is already lost");
	}
	if (!err && srp->existed)
		use_existing(srp);
	else if (!err)
		set_tmo(srp);
	else
		attach_step(attach, err);
}

static void format_line(const struct attach_srp *srp, char line[SRP_LINE])
{
	if (srp->line)
		snprintf(line, SRP_LINE, "%s", srp->line);
	else
		kernel_srp_line(srp->params, line);
}

static int write_line(int root, const void *arg, void *out)
{
	const struct attach_srp *srp = arg;
	char line[SRP_LINE];

	(void)out;
	format_line(srp, line);
	return -kernel_srp_add(root, &srp->local, line);
}

static void log_in(struct attach_srp *srp)
{
	struct attach *attach = &srp->attach;
	const void *owner = srp->owner ? srp->owner : srp;
	char line[SRP_LINE];
	int err = 0;

	attach->why = (struct diag){ 0 };
	srp->existed = false;
	srp->since = loop_clock();
	format_line(srp, line);
	if (loop_options(attach->loop)->verbose)
		attach_note(
			attach, "srp-%s-%u/add_target: %s", srp->local.dev, srp->local.port, line);
	if (child_call_abandoned(owner) >= ABANDONED_MAX)
		err = diag_set(&attach->why, DIAG_BUSY, EBUSY,
			"%d abandoned logins still block the kernel", ABANDONED_MAX);
	if (!err)
		err = kernel_srp_list(
			attach->root, &srp->old_hosts, &srp->old_host_count, &attach->why);
	if (err) {
		attach_step(attach, err);
		return;
	}
	srp->logging_in = true;
	kernel_log_mark(attach->root, &srp->log);
	srp->login = (struct child_call){
		.fn = write_line, .grace_ms = LOGIN_GRACE_MS, .owner = owner, .done = logged_in
	};
	srp->timer.fire = end_share;
	if (attach->until != attach->attempt_until)
		loop_timer_set(attach->loop, &srp->timer, attach->until);
	start_call(srp, &srp->login,
		attach->attempt_until ? attach->attempt_until : loop_clock() + LOGIN_MS * MSEC);
}

static void log_in_again(struct loop_timer *timer)
{
	log_in(container_of(timer, struct attach_srp, timer));
}

/* Find a connection by this path, whose initiator_ext is unknown. */
static bool find_at_path(struct attach_srp *srp)
{
	int root = srp->attach.root;
	struct kernel_srp *list;
	unsigned count;

	if (kernel_srp_list(root, &list, &count, NULL))
		return false;
	kernel_srp_set_dests(root, list, count);
	for (unsigned i = 0; i < count && !srp->existed; i++) {
		srp->existed = kernel_srp_fits(&list[i], srp->params, &srp->local) &&
			       kernel_srp_path_known(&list[i]) &&
			       kernel_srp_stays(root, list[i].host);
		if (srp->existed)
			srp->host = list[i];
	}
	free(list);
	return srp->existed;
}

/* One queue per local port: the kernel serializes logins through it (add_target_mutex). */
static uint64_t srp_queue(const struct attach *attach)
{
	const struct srp_local *local =
		&((const struct attach_srp *)(const void *)attach)->local; /* the first member */
	uint64_t number = local->port;

	for (const char *at = local->dev; *at; at++)
		number = number * 257 + (uint8_t)*at;
	return number;
}

static void srp_connect(struct attach *attach)
{
	struct attach_srp *srp = srp_of(attach);

	srp->removal_pending = false;
	srp->refused_since = 0;
	srp->removal_deadline =
		attach->attempt_until ? attach->attempt_until : loop_clock() + REMOVAL_MS * MSEC;
	if (!srp->params) {
		set_tmo(srp);
	} else if (srp->any_ext && find_at_path(srp)) {
		attach_answered(attach);
		use_existing(srp);
	} else {
		log_in(srp);
	}
}

/* ---- wait */

static int srp_poll(struct attach *attach)
{
	struct attach_luns *luns = &srp_of(attach)->luns;
	int all = attach_luns_poll(attach, luns);

	if (all > 0)
		keep_lun(luns);
	return all;
}

static void srp_timeout_error(struct attach *attach)
{
	attach_luns_timeout_error(attach, &srp_of(attach)->luns);
}

/* ---- users, undo */

static void srp_users(const struct attach *attach, int root, struct attach_users *found)
{
	const struct attach_srp *srp =
		(const struct attach_srp *)(const void *)attach; /* the first member */

	kernel_scsi_users(
		root, number_of(srp), &srp->luns.together, found->text, sizeof(found->text));
}

static int srp_flush(const struct attach *attach, int root, struct diag *diag)
{
	const struct attach_srp *srp =
		(const struct attach_srp *)(const void *)attach; /* the first member */

	return kernel_scsi_flush(root, number_of(srp), &srp->luns.together, attach->force, diag);
}

static int set_removal_error(struct attach *attach, int err)
{
	return attach_not_removed(attach, err,
		"pending I/O fails when the remote port's timeouts expire, or at once with "
		"--force");
}

static void poll_removal(struct loop_timer *timer)
{
	struct attach_srp *srp = container_of(timer, struct attach_srp, timer);
	struct attach *attach = &srp->attach;

	if (!kernel_scsi_host(attach->root, number_of(srp))) {
		kernel_scsi_drop_nodes(attach->root, srp->luns.list, srp->luns.count);
		attach_step(attach, 0);
	} else if (attach->until && loop_clock() >= attach->until) {
		attach_step(attach, set_removal_error(attach, -ETIMEDOUT));
	} else {
		loop_timer_set(attach->loop, timer, loop_clock() + REMOVAL_POLL_MS * MSEC);
	}
}

/* The kernel removes `delete` at once and the host in the background. */
static void deleted(struct child_call *call)
{
	struct attach_srp *srp = container_of(call, struct attach_srp, call);
	int err = call->err;

	if (err && err != -ENOENT && err != -ENODEV && err != -ETIMEDOUT) {
		attach_step(&srp->attach, set_removal_error(&srp->attach, err));
		return;
	}
	srp->timer.fire = poll_removal;
	poll_removal(&srp->timer);
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

/* Also if the timeouts could not be changed. */
static void pending_io_failed(struct child_call *call)
{
	start_delete(container_of(call, struct attach_srp, call));
}

/* Fail pending I/O at once, and do not wait for the target. */
static int fail_pending_io(int root, const void *arg, void *out)
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
	srp->call = (struct child_call){
		.fn = fail_pending_io, .grace_ms = GRACE_MS, .done = pending_io_failed
	};
	start_call(srp, &srp->call, attach_limit(attach, TMO_MS));
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
	.serialized = true,
	.queue = srp_queue,
	.find = srp_find,
	.ready = srp_ready,
	.connect = srp_connect,
	.poll = srp_poll,
	.set_timeout_error = srp_timeout_error,
	.users = srp_users,
	.flush = srp_flush,
	.undo = srp_undo,
	.stop = srp_stop,
};
