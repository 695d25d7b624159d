/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How applets that offer disks live and end. Other processes are core/base's to handle, opening a
 * disk is disk.c's. */
#include "daemon.h"
#include "child.h"
#include "disk.h"
#include "kernel.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

#define MSEC    1000000ull
#define AUTO    UINT32_MAX
#define HELD_MS 1000 /* between two looks whether somebody still uses what is to be taken back */

void daemon_warn_open(const struct call *call, const struct addr *addr, const char *option)
{
	char text[ADDR_TEXT];

	if (!addr_is_local(addr))
		call_note(call,
			"%s: any host that can reach this address can use the disk: restrict "
			"access with %s",
			addr_text(addr, text), option);
}

int daemon_time_left(const struct daemon *d, uint32_t *ms)
{
	const struct opt_common *common = d->call->opts;
	uint64_t now = loop_clock();

	*ms = 0;
	if (!d->deadline)
		return 0;
	if (now >= d->deadline)
		return diag_set(d->call->diag, DIAG_TIMEOUT, ETIMEDOUT, "not ready within %g s",
			common->timeout_ms / 1000.);
	*ms = (uint32_t)((d->deadline - now) / MSEC) + 1;
	return 0;
}

static bool has_command(const struct daemon *d)
{
	return d->call->rest < d->call->operands;
}

static int check_options(struct daemon *d)
{
	const struct daemon_options *opts = d->opts;

	/* while it can only be the caller's: later a descriptor of ours may have that number */
	if (opts->ready_fd != AUTO && fcntl((int)opts->ready_fd, F_GETFD) < 0)
		return diag_sys(d->call->diag, errno, "--ready-fd %u", opts->ready_fd);
	if (opts->daemon && has_command(d))
		return diag_set(
			d->call->diag, DIAG_USAGE, EINVAL, "--daemon and --run can't be combined");
	return 0;
}

void daemon_show_count(struct out *out, const struct io_count *count)
{
	out_u64(out, "reads", "reads:   ", count->reads);
	out_size(out, "read_bytes", "read:    ", count->read_bytes);
	out_u64(out, "writes", "writes:  ", count->writes);
	out_size(out, "written_bytes", "written: ", count->written_bytes);
	out_u64(out, "errors", "errors:  ", count->errors);
}

void daemon_show_listener(struct out *out, const char *transport, const struct addr *addr)
{
	char text[ADDR_TEXT];

	out_object(out, NULL);
	out_text(out, "transport", NULL, "%s", transport);
	if (addr->ss.ss_family == AF_UNIX) {
		out_text(out, "path", NULL, "%s",
			((const struct sockaddr_un *)(const void *)&addr->ss)->sun_path);
	} else {
		out_text(out, "traddr", NULL, "%s", addr_host(addr, text));
		out_text(out, "trsvcid", NULL, "%u", addr_port(addr));
	}
}

/* The one status document, and its text. While the fronts end they are not asked. NULL: no memory.
 */
static char *status_text(const struct daemon *d, bool json, size_t *len)
{
	char schema[32], *text;
	struct out out;

	snprintf(schema, sizeof(schema), "%s.status", d->call->applet->name);
	out_init(&out, schema, json);
	out.to = open_memstream(&text, len);
	if (!out.to)
		return NULL;
	out_u64(&out, "pid", NULL, (uint64_t)getpid());
	out_real(&out, "seconds", NULL, (double)(loop_clock() - d->ready_ns) / 1e9, 3);
	out_bool(&out, "stopping", NULL, d->over);
	out_list(&out, "serving");
	for (unsigned i = 0; i < d->fronts && !d->over; i++) {
		out_object(&out, NULL);
		d->front[i]->kind->status(d->front[i], &out);
		out_end(&out);
	}
	out_end(&out);
	out_fini(&out, NULL);
	fclose(out.to);
	return text;
}

/* For kernel_serving(). */
static char *report_text(void *user, size_t *len)
{
	return status_text(user, true, len);
}

/* In the output's own form, on the other stream. */
static void print_status(const struct daemon *d)
{
	size_t len;
	char *text = d->ready && !d->over ? status_text(d, d->call->out->json, &len) : NULL;

	if (text)
		out_stderr(text, len);
	free(text);
}

static void remove_pid_file(const struct daemon *d)
{
	if (d->pid_written)
		kernel_pid_file_end(d->pid_file, d->opts->pid_file);
}

static void end_at_once(const struct daemon *d, int status)
{
	for (unsigned i = 0; i < d->fronts; i++)
		if (d->front[i]->kind->quit)
			d->front[i]->kind->quit(d->front[i]);
	remove_pid_file(d);
	_exit(status);
}

static void caught(struct loop_signal *signal, int signo)
{
	struct daemon *d = container_of(signal, struct daemon, signal);

	switch (signo) {
	case SIGUSR1:
		print_status(d);
		break;
	case SIGCHLD:
		if (d->child && child_ended(d->child, &d->status)) {
			d->child = 0;
			d->over = 1;
		}
		break;
	default:
		if (!d->ready || d->stopped_by)
			end_at_once(d, d->ready ? EXIT_FAILED : 128 + signo);
		if (d->call->loop.verbose)
			call_note(d->call, "stopping: %s",
				signo == SIGINT   ? "SIGINT"
				: signo == SIGHUP ? "SIGHUP"
						  : "SIGTERM");
		d->stopped_by = signo;
		d->over = 1;
	}
}

static int open_loop(struct daemon *d)
{
	static const int signos[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGCHLD };
	struct loop_options options = d->call->loop;
	int err;

	options.poll_us = d->opts->poll_us != AUTO ? d->opts->poll_us : loop_poll_auto();
	err = loop_new(&d->loop, &options, d->call->diag);
	if (err)
		return err;
	d->call->loop = options;
	d->signal.caught = caught;
	err = loop_signal_add(
		d->loop, &d->signal, signos, sizeof(signos) / sizeof(signos[0]), d->call->diag);
	d->signals = !err;
	return err;
}

static int read_fronts(struct daemon *d, const struct front_kind *const *kinds)
{
	int err = 0;

	for (; !err && *kinds; kinds++) {
		struct front *front;

		if (!(*kinds)->wanted(d->call->opts))
			continue;
		front = calloc(1, (*kinds)->size);
		if (!front)
			return diag_sys(d->call->diag, ENOMEM, "%s", (*kinds)->serving);
		front->kind = *kinds;
		front->daemon = d;
		d->front[d->fronts++] = front;
		err = front->kind->read(front);
	}
	return err;
}

static void disk_changed(struct bdev *bdev)
{
	struct daemon *d = bdev->user;
	char size[16];

	if (bdev->why.err)
		call_note(d->call, "%s: %s%s", bdev->uri, bdev->state == BDEV_DOWN ? "lost: " : "",
			bdev->why.text);
	else if (d->ready)
		call_note(d->call, "%s: new size: %s", bdev->uri, out_human(bdev->lim.size, size));
	for (unsigned i = 0; i < d->fronts; i++)
		if (d->front[i]->kind->changed)
			d->front[i]->kind->changed(d->front[i], bdev);
}

static int open_disks(struct daemon *d)
{
	struct bdev_env env;
	int err = disk_env(d->call, &env, d->opts->on_loss);

	if (err)
		return err;
	env.write = !d->opts->ro;
	env.force = d->opts->force;
	d->disk = calloc(d->call->rest, sizeof(*d->disk));
	if (!d->disk)
		return diag_sys(d->call->diag, ENOMEM, "open %u disks", d->call->rest);
	for (; d->disks < d->call->rest; d->disks++) {
		struct bdev **disk = &d->disk[d->disks];

		if (d->deadline)
			err = daemon_time_left(d, &env.timeout_ms);
		if (!err)
			err = disk_open(d->call, disk, d->loop, d->call->operand[d->disks], &env);
		if (err && d->call->diag->err == EROFS && !d->call->diag->hint[0])
			diag_hint(d->call->diag, "add --ro to open it read-only");
		if (err)
			return err;
		(*disk)->user = d;
		(*disk)->changed = disk_changed;
	}
	return 0;
}

/* Before there are threads, which inherit it, and when all that is opened by name is open. But a
 * command is to mount where everybody sees it. */
static void survive(struct daemon *d)
{
	struct diag why = { 0 };
	bool local = false;
	int root;

	for (unsigned i = 0; i < d->fronts; i++)
		local |= d->front[i]->kind->local;
	root = local && !has_command(d) ? kernel_root() : -1;
	if (root < 0)
		return;
	if (kernel_survive(root, program_invocation_name, &d->own_mounts, &why))
		call_note(d->call, "%s", why.text);
	close(root);
}

static void leave_mounts(const struct daemon *d)
{
	int root = d->own_mounts ? kernel_root() : -1;

	if (root < 0)
		return;
	kernel_leave_mounts(root, d->opts->pid_file);
	close(root);
}

static unsigned cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
}

static int open_workers(struct daemon *d)
{
	unsigned wanted = d->opts->queues ? d->opts->queues
			  : cpus() < 4    ? cpus()
					  : 4,
		 count = wanted;
	int err;

	for (unsigned i = 0; i < d->disks; i++)
		if (d->disk[i]->lim.lanes < count)
			count = d->disk[i]->lim.lanes ? d->disk[i]->lim.lanes : 1;
	if (d->opts->queues && count < wanted)
		call_note(d->call, "--queues %u: the disk supports %u", wanted, count);
	d->nloops = count;
	d->loops[0] = d->loop;
	if (count == 1)
		return 0;
	err = crew_start(&d->crew, count, &d->call->loop, d->call->diag);
	for (unsigned i = 0; !err && i < count; i++)
		d->loops[i] = crew_loop(d->crew, i);
	return err;
}

static int start_fronts(struct daemon *d)
{
	uint32_t ms;
	int err = daemon_time_left(d, &ms);

	for (unsigned i = 0; !err && i < d->fronts; i++) {
		err = d->front[i]->kind->start(d->front[i]);
		if (!err)
			err = daemon_time_left(d, &ms);
	}
	return err;
}

/* What a command prints is the only text on its standard output. */
static int show(struct daemon *d)
{
	struct out *out = d->call->out;
	int err;

	if (has_command(d) && !out->json)
		return 0;
	for (unsigned i = 0; i < d->fronts; i++)
		d->front[i]->kind->show(d->front[i], out);
	out_u64(out, "queues", NULL, d->nloops);
	out_u64(out, "pid", NULL, (uint64_t)getpid());
	err = out_fini(out, NULL);
	if (!err)
		return 0;
	diag_sys(d->call->diag, -err, "write");
	return diag_ctx(d->call->diag, "standard output");
}

static int write_pid_file(struct daemon *d)
{
	int root;

	if (!d->opts->pid_file)
		return 0;
	root = kernel_root();
	if (root < 0)
		return diag_sys(d->call->diag, errno, "open /");
	d->pid_file = kernel_pid_file(root, d->opts->pid_file, d->call->diag);
	d->pid_written = d->pid_file >= 0;
	close(root);
	return d->pid_written ? 0 : d->pid_file;
}

static int say_ready(struct daemon *d)
{
	const struct daemon_options *opts = d->opts;
	struct diag why = { 0 };
	int err = write_pid_file(d);

	if (!err)
		err = show(d);
	if (!err)
		leave_mounts(d);
	d->ready_ns = loop_clock();
	if (!err && kernel_report_start(&d->report, d->loop, &why) && d->call->loop.verbose)
		call_note(d->call, "rdmastor status can't show this process: %s", why.text);
	if (!err)
		err = kernel_notify_ready(opts->ready_fd == AUTO ? -1 : (int)opts->ready_fd,
			d->front[0]->kind->serving, d->call->diag);
	if (err)
		return err;
	d->ready = true;
	if (opts->daemon)
		child_daemon_ready(d->parent);
	return 0;
}

static int start_command(struct daemon *d)
{
	const struct call *call = d->call;
	char uri[URI_MAX];

	if (!has_command(d))
		return 0;
	d->front[0]->kind->uri(d->front[0], uri);
	return child_start(&d->child, call->operand + call->rest, call->operands - call->rest,
		"uri", uri, call->diag);
}

/* Before any disk is open and anything listens; the file is written once that is done. */
static int check_pid_file(struct daemon *d)
{
	int root, err;

	if (!d->opts->pid_file)
		return 0;
	root = kernel_root();
	if (root < 0)
		return diag_sys(d->call->diag, errno, "open /");
	err = kernel_pid_file_check(root, d->opts->pid_file, d->call->diag);
	close(root);
	return err;
}

static int get_ready(struct daemon *d, const struct front_kind *const *kinds)
{
	int err = check_options(d);

	if (!err)
		err = check_pid_file(d);
	if (!err && d->opts->daemon)
		err = child_daemon(&d->parent, d->call->diag);
	if (!err)
		err = open_loop(d);
	if (!err)
		err = read_fronts(d, kinds);
	if (!err)
		err = open_disks(d);
	if (!err)
		survive(d);
	if (!err)
		err = open_workers(d);
	if (!err)
		err = start_fronts(d);
	if (!err)
		err = say_ready(d);
	return err ? err : start_command(d);
}

static int release_fronts(struct daemon *d, struct diag *diag)
{
	int err = 0;

	for (unsigned i = 0; i < d->fronts && !err; i++)
		if (d->front[i]->kind->release)
			err = d->front[i]->kind->release(
				d->front[i], d->opts->stop_timeout_ms, diag);
	return err;
}

/* Until it is told to stop and nobody uses what would go. */
static int serve(struct daemon *d, struct diag *diag)
{
	bool told = false;
	int err;

	loop_wait(d->loop, &d->over, 0);
	while ((err = release_fronts(d, diag)) == -EBUSY) {
		if (!told)
			call_note(d->call, "%s: %s: serving continues until it is free%s",
				diag->object, diag->text,
				d->stopped_by ? " or a second signal arrives" : "");
		told = true;
		*diag = (struct diag){ 0 };
		d->over = 0;
		loop_wait(d->loop, &d->over, loop_clock() + HELD_MS * MSEC);
	}
	return err;
}

/* The last started first, all within one bound. The first failure is told. */
static int stop_fronts(struct daemon *d, struct diag *diag, bool *held)
{
	uint32_t bound_ms = d->opts->stop_timeout_ms, left_ms = bound_ms;
	uint64_t began = loop_clock(), spent_ms;
	int first = 0;

	*held = false;
	while (d->fronts) {
		struct front *front = d->front[d->fronts - 1];
		int err = front->kind->stop(front, left_ms, first ? NULL : diag);

		d->fronts--;
		free(front);
		*held |= err == -EINPROGRESS;
		first = first ? first : err;
		spent_ms = (loop_clock() - began) / MSEC;
		left_ms = spent_ms < bound_ms ? bound_ms - (uint32_t)spent_ms : 0;
	}
	return first;
}

/* Undoes get_ready() as far as it came. A disk that holds on to requests cannot be closed: then
 * this process just ends. */
static int stop(struct daemon *d, struct diag *diag)
{
	bool held;
	int err;

	kernel_report_stop(&d->report);
	err = stop_fronts(d, diag, &held);
	remove_pid_file(d);
	if (held)
		return err;
	crew_stop(d->crew);
	for (unsigned i = 0; i < d->disks; i++)
		bdev_close(d->disk[i]);
	free(d->disk);
	if (d->signals)
		loop_signal_del(d->loop, &d->signal);
	loop_free(d->loop);
	return err;
}

int daemon_run(
	struct call *call, const struct daemon_options *opts, const struct front_kind *const *kinds)
{
	const struct opt_common *common = call->opts;
	struct daemon d = {
		.call = call, .opts = opts, .report = { .text = report_text, .user = &d }
	};
	int err;

	kernel_report_owner(&d.report);
	if (common->timeout_ms)
		d.deadline = loop_clock() + common->timeout_ms * MSEC;
	err = get_ready(&d, kinds);
	if (!err)
		err = serve(&d, call->diag);
	if (d.child)
		kill(d.child, SIGTERM);
	if (err) { /* is what is told, whatever the stop comes to */
		stop(&d, NULL);
		return err;
	}
	err = stop(&d, call->diag);
	if (err)
		return err;
	if (!has_command(&d))
		return EXIT_DONE;
	return d.stopped_by ? 128 + d.stopped_by : d.status;
}
