/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Start, status and stop of applets that offer disks. core/base handles other processes,
 * disk_open.c opens the disks. */
#include "child.h"
#include "disk_open.h"
#include "front_kind.h"
#include "kernel_disk.h"
#include "kernel_process.h"
#include "listener.h"
#include "loop.h"
#include "reservation_state.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AUTO    UINT32_MAX
#define HELD_MS 1000 /* between two attempts to release devices in use */
#define WAIT_MS 1000 /* before a note that listening is not possible yet */
#define RATE_MS 1000 /* between two samples: a rate covers one to two of these */

/* Append to a list with commas, unless the word is in it. */
static void add_word(char *list, size_t len, const char *word)
{
	size_t at = strlen(list), n = strlen(word);

	for (const char *p = list; (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ' ') && (!p[n] || p[n] == ','))
			return;
	snprintf(list + at, len - at, "%s%s", at ? ", " : "", word);
}

void daemon_warn_open(struct daemon *d, const struct addr *addr, const char *option)
{
	char text[ADDR_TEXT];

	if (addr_is_local(addr))
		return;
	add_word(d->open_at, sizeof(d->open_at), addr_text(addr, text));
	add_word(d->open_option, sizeof(d->open_option), option);
}

int daemon_read_allow(
	const struct daemon *d, const struct opt_list *list, struct target_allows *allows)
{
	for (unsigned i = 0; i < list->count; i++)
		if (target_allows_add(allows, list->item[i], d->call->diag))
			return diag_ctx(d->call->diag, "--allow");
	return 0;
}

int daemon_identify(struct daemon *d, unsigned i, const struct disk_identity **identity)
{
	if (!d->identity)
		d->identity = calloc(d->disks, sizeof(*d->identity));
	if (!d->identity)
		return diag_sys(d->call->diag, ENOMEM, "identities of %u disks", d->disks);
	*identity = &d->identity[i];
	return d->identity[i].nqn[0]
		       ? 0
		       : disk_identify(d->call, d->call->operand[i], d->disk[i], &d->identity[i]);
}

void daemon_full(const struct diag *why, void *user)
{
	const struct front *front = user;

	call_warn(front->daemon->call, "%s%s%s", why->text, why->hint[0] ? ": " : "", why->hint);
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

static void still_waiting(struct loop_timer *timer)
{
	const struct call *call = container_of(timer, struct daemon_wait, timer)->call;

	call_note(call, "%s: %s: waiting for it", call->diag->object, call->diag->text);
}

void daemon_wait_begin(struct daemon_wait *wait, const struct call *call, struct loop *loop)
{
	*wait = (struct daemon_wait){ .timer.fire = still_waiting, .call = call };
	loop_timer_set(loop, &wait->timer, loop_clock() + WAIT_MS * MSEC);
}

void daemon_wait_end(struct daemon_wait *wait, struct loop *loop)
{
	loop_timer_del(loop, &wait->timer);
}

void daemon_show_more(struct out *out, const char *key, unsigned count, const char *what)
{
	if (count <= SERVING_HOSTS)
		return;
	out_u64(out, key, NULL, count - SERVING_HOSTS);
	out_line(out, "%u more %s", count - SERVING_HOSTS, what);
}

const char *daemon_size_text(uint64_t bytes, char text[48])
{
	char human[16];

	snprintf(text, 48, "%s (%llu bytes)", out_human(bytes, human), (unsigned long long)bytes);
	return text;
}

static void take_sample(struct front *front)
{
	front->sample[0] = front->sample[1];
	front->sample[1].ns = loop_clock();
	front->kind->count(front, &front->sample[1].count);
}

static void sample_all(struct loop_timer *timer)
{
	struct daemon *d = container_of(timer, struct daemon, sample_timer);

	for (unsigned i = 0; i < d->fronts; i++)
		take_sample(d->front[i]);
	loop_timer_set(d->loop, timer, loop_clock() + RATE_MS * MSEC);
}

static void begin_samples(struct daemon *d)
{
	d->sample_timer.fire = sample_all;
	for (unsigned i = 0; i < d->fronts; i++) {
		take_sample(d->front[i]);
		d->front[i]->sample[0] = d->front[i]->sample[1];
	}
	loop_timer_set(d->loop, &d->sample_timer, loop_clock() + RATE_MS * MSEC);
}

/* A total can shrink, as removed block devices are not counted. */
static double rate(uint64_t now, uint64_t before, double seconds)
{
	return now > before && seconds > 0 ? (double)(now - before) / seconds : 0;
}

void daemon_show_count(struct out *out, const struct front *front)
{
	const struct front_sample *since = &front->sample[0];
	double seconds = (double)(loop_clock() - since->ns) / 1e9;
	struct io_count now;

	front->kind->count(front, &now);
	out_u64(out, "reads", "reads:   ", now.reads);
	out_size(out, "read_bytes", "read:    ", now.read_bytes);
	out_u64(out, "writes", "writes:  ", now.writes);
	out_size(out, "written_bytes", "written: ", now.written_bytes);
	out_u64(out, "errors", "errors:  ", now.errors);
	out_real(out, "read_bytes_per_second", NULL,
		rate(now.read_bytes, since->count.read_bytes, seconds), 1);
	out_real(out, "written_bytes_per_second", NULL,
		rate(now.written_bytes, since->count.written_bytes, seconds), 1);
}

static struct serving_state state_of(const struct bdev_path *path)
{
	static const char *const words[] = {
		[BDEV_PATH_UP] = "up",
		[BDEV_PATH_LOST] = "lost",
		[BDEV_PATH_FAILED] = "failed",
	};
	struct serving_state state = { .lost_seconds = -1, .fails_in_seconds = -1 };
	uint64_t now = loop_clock();

	snprintf(state.word, sizeof(state.word), "%s", words[path->state]);
	if (path->state == BDEV_PATH_UP)
		return state;
	if (path->lost_ns)
		state.lost_seconds = (double)(now - path->lost_ns) / 1e9;
	if (path->fails_ns)
		state.fails_in_seconds =
			path->fails_ns > now ? (double)(path->fails_ns - now) / 1e9 : 0;
	if (path->reason)
		snprintf(state.reason, sizeof(state.reason), "%s", diag_code_word(path->reason));
	return state;
}

static struct serving_path path_of(const struct bdev_path *from)
{
	const uint64_t now = loop_clock();
	struct serving_path path = { .state = state_of(from),
		.retry_in_seconds = -1,
		.group = from->group,
		.preferred = from->preferred,
		.requests = from->requests };

	snprintf(path.uri, sizeof(path.uri), "%s", from->uri);
	snprintf(path.access, sizeof(path.access), "%s", from->access ? from->access : "");
	if (from->retry_ns)
		path.retry_in_seconds =
			from->retry_ns > now ? (double)(from->retry_ns - now) / 1e9 : 0;
	return path;
}

/* Get the paths of a disk, at most as many as one can have. */
static unsigned paths_of(struct bdev *disk, struct serving_path list[URI_PATHS + 1])
{
	struct bdev_path path;
	unsigned count = 0;

	while (count <= URI_PATHS && bdev_path(disk, count + 1, &path))
		list[count++] = path_of(&path);
	return count;
}

/* Print the states of the disks and of their paths in text. */
static void show_states(struct out *out, const struct daemon *d)
{
	struct serving_path list[URI_PATHS + 1];
	char text[SERVING_STATE_TEXT];

	for (unsigned i = 0; i < d->disks; i++) {
		unsigned count = paths_of(d->disk[i], list);
		struct serving_state state;
		struct bdev_path whole;

		bdev_path(d->disk[i], 0, &whole);
		state = state_of(&whole);
		out_line(out, "%s: %s%s%s", d->disk[i]->uri,
			kernel_serving_state_text(&state, text), whole.policy ? ", policy " : "",
			whole.policy ? whole.policy : "");
		kernel_serving_path_lines(out, list, count, NULL);
	}
}

void daemon_show_disk(struct out *out, const struct daemon *d, unsigned i)
{
	struct serving_path list[URI_PATHS + 1];
	struct bdev *disk = d->disk[i];
	unsigned count = paths_of(disk, list);
	struct serving_state state;
	struct bdev_path whole;

	out_text(out, "uri", NULL, "%s", disk->uri);
	out_u64(out, "size", NULL, disk->lim.size);
	out_u64(out, "block_size", NULL, disk->lim.block);
	out_bool(out, "read_only", NULL, d->opts->ro || disk->lim.ro);
	bdev_path(disk, 0, &whole);
	state = state_of(&whole);
	kernel_serving_put_state(out, &state);
	if (whole.policy)
		out_text(out, "policy", NULL, "%s", whole.policy);
	out_list(out, "paths");
	for (unsigned n = 0; n < count; n++) {
		out_object(out, NULL);
		kernel_serving_put_path(out, &list[n]);
		out_end(out);
	}
	out_end(out);
}

void daemon_show_device(struct out *out, const struct daemon *d, unsigned i, const char *path,
	uint64_t size, bool recovered)
{
	char text[48];

	out_object(out, NULL);
	out_text(out, "device", NULL, "%s", path);
	daemon_show_disk(out, d, i);
	out_bool(out, "recovered", NULL, recovered);
	out_line(out, "%s: %s, %s%s", path, d->disk[i]->uri, daemon_size_text(size, text),
		recovered ? ", taken over from an earlier run" : "");
}

void daemon_show_held(struct out *out, const struct daemon *d, unsigned i, const char *path,
	char *users, size_t len)
{
	struct holders list;

	if (kernel_holders(d->root, path, &list, users, len) < 0)
		users[0] = 0;
	out_object(out, NULL);
	out_text(out, "device", NULL, "%s", path);
	daemon_show_disk(out, d, i);
	kernel_holders_put(out, &list);
}

/* Format the status as JSON or text, without fronts once they end. NULL: no memory. */
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
	out_bool(&out, "stopping", NULL, d->stop_requested);
	show_states(&out, d);
	out_list(&out, "serving");
	for (unsigned i = 0; i < d->fronts && !d->stop_requested; i++) {
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
	const struct daemon *d = user;

	if (d->ready)
		return status_text(d, true, len);
	*len = sizeof(SERVING_STARTS) - 1;
	return strdup(SERVING_STARTS);
}

/* A group may have listeners of several protocols, which always have the same access. */
static int set_access(struct daemon *d, unsigned group, enum access access, enum access *before,
	struct diag *diag)
{
	bool any = false, found = false;

	for (unsigned i = 0; i < d->fronts; i++) {
		if (!d->front[i]->kind->set_access)
			continue;
		any = true;
		found |= !d->front[i]->kind->set_access(d->front[i], group, access, before);
	}
	if (!any)
		return diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP,
			"has no groups of listeners: it is not 'rdmastor serve'");
	if (!found)
		return diag_set(diag, DIAG_NOT_FOUND, ENOENT, "no listener is in group %u", group);
	return 0;
}

/* "ana GROUP ACCESS"; the result is the previous access. */
static int command(void *user, const char *text, char result[SERVING_RESULT], struct diag *diag)
{
	struct daemon *d = user;
	enum access access, before;
	unsigned group;
	char word[32];
	int err, end = 0;

	if (sscanf(text, "ana %5u %31s%n", &group, word, &end) != 2 || text[end] ||
		(access = access_parse(word)) == ACCESSES)
		return diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP, "unknown command");
	if (!d->ready || d->stop_requested)
		return diag_set(
			diag, DIAG_BUSY, EBUSY, d->ready ? "is stopping" : "is not ready yet");
	err = set_access(d, group, access, &before, diag);
	if (err)
		return err;
	call_note(d->call, "group %u: %s, was %s", group, word, access_word(before));
	snprintf(result, SERVING_RESULT, "%s", access_word(before));
	return 0;
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

static void reopen_log(const struct daemon *d)
{
	struct diag why = { 0 };

	if (out_log_file(d->opts->log, &why))
		call_warn(d->call, "%s: %s; keeping the old log", why.object, why.text);
}

/* Return whether there was anything to do. */
static bool reload(struct daemon *d)
{
	bool any = d->opts->log;

	if (d->opts->log)
		reopen_log(d);
	for (unsigned i = 0; i < d->fronts && !d->stop_requested; i++)
		if (d->front[i]->kind->reload)
			any |= d->front[i]->kind->reload(d->front[i]);
	return any;
}

static void caught(struct loop_signal *signal, int signo)
{
	struct daemon *d = container_of(signal, struct daemon, signal);
	char *text = NULL;
	size_t len;

	switch (signo) {
	case SIGUSR1: /* in the format of the output, on standard error */
		if (d->ready && !d->stop_requested)
			text = status_text(d, d->call->out->json, &len);
		if (text)
			out_lines(text, len);
		free(text);
		break;
	case SIGCHLD:
		if (d->child && child_reap(d->child, &d->status)) {
			d->child = 0;
			d->stop_requested = 1;
		}
		break;
	case SIGHUP:
		if (reload(d) || kernel_notify_wanted()) /* a manager stops it by SIGTERM */
			break;
		/* fall through */
	default:
		if (!d->ready || d->stopped_by)
			end_at_once(d, d->ready ? EXIT_FAILED : 128 + signo);
		if (d->call->loop.verbose)
			call_note(d->call, "stopping: %s",
				signo == SIGINT   ? "SIGINT"
				: signo == SIGHUP ? "SIGHUP"
						  : "SIGTERM");
		d->stopped_by = signo;
		d->stop_requested = 1;
	}
}

/* Runs before a disk is opened, before listening, and before this process is replaced by a child.
 */
static int check_options(struct daemon *d)
{
	const struct daemon_options *opts = d->opts;
	struct diag *diag = d->call->diag;
	int err = listeners_inherit(diag);

	if (err)
		return err;
	/* later one of our own descriptors may have that number */
	if (opts->ready_fd != AUTO && fcntl((int)opts->ready_fd, F_SETFD, FD_CLOEXEC) < 0)
		return diag_sys(diag, errno, "--ready-fd %u", opts->ready_fd);
	if (opts->daemon && d->command)
		return diag_set(diag, DIAG_USAGE, EINVAL, "--daemon and --run can't be combined");
	d->root = disk_root(diag);
	if (d->root < 0)
		return d->root;
	if (opts->log && out_log_file(opts->log, diag))
		return -diag->err;
	/* written once ready */
	err = opts->pid_file ? kernel_pid_file_check(d->root, opts->pid_file, diag) : 0;
	return !err && opts->daemon ? child_daemon(&d->parent, diag) : err;
}

/* Before the user changes: the kernel reports the user of this moment to those that connect. Until
 * the process is ready, it answers only that it is not. */
static void start_report(struct daemon *d)
{
	struct diag why = { 0 };
	int err = kernel_report_start(&d->report, d->loop, &why);

	if (err && d->report.on)
		call_warn(d->call, "rdmastor serve-ctl can't control this process: %s", why.text);
	else if (err && d->call->loop.verbose)
		call_warn(d->call, "rdmastor status can't show this process: %s", why.text);
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

static int read_fronts(struct daemon *d, const struct front_config *configs, unsigned count)
{
	int err = 0;

	for (unsigned i = 0; !err && i < count; i++) {
		const struct front_kind *kind = configs[i].kind;
		struct front *front;

		if (!configs[i].enabled)
			continue;
		front = calloc(1, kind->size);
		if (!front)
			return diag_sys(d->call->diag, ENOMEM, "%s", kind->serving);
		*front = (struct front){ .kind = kind, .daemon = d, .options = configs[i].options };
		d->front[d->fronts++] = front;
		err = kind->read(front);
	}
	return err;
}

static void disk_changed(struct bdev *bdev)
{
	struct daemon *d = bdev->user;
	char size[16];

	if (bdev->why.err)
		call_warn(d->call, "%s: %s%s", bdev->uri, bdev->state == BDEV_DOWN ? "lost: " : "",
			bdev->why.text);
	else if (d->ready)
		call_note(d->call, "%s: new size: %s", bdev->uri, out_human(bdev->lim.size, size));
	for (unsigned i = 0; i < d->fronts; i++)
		if (d->front[i]->kind->changed)
			d->front[i]->kind->changed(d->front[i], bdev);
}

static int read_env(struct daemon *d)
{
	int err = disk_env(d->call, &d->env, d->opts->on_loss);

	d->env.write = !d->opts->ro;
	d->env.force = d->opts->force;
	d->env.retry_ms = d->opts->retry_ms;
	d->disk = calloc(d->call->rest, sizeof(*d->disk));
	if (!d->disk)
		return diag_sys(d->call->diag, ENOMEM, "open %u disks", d->call->rest);
	d->disks = d->call->rest;
	return err;
}

static int open_disk(struct daemon *d, unsigned i)
{
	struct bdev **disk = &d->disk[i];
	int err = d->deadline ? daemon_time_left(d, &d->env.timeout_ms) : 0;

	if (!err)
		err = disk_open(d->call, disk, d->loop, d->call->operand[i], &d->env);
	if (err && d->call->diag->err == EROFS && !d->call->diag->hint[0])
		diag_hint(d->call->diag, "add --ro to open it read-only");
	if (err)
		return err;
	(*disk)->user = d;
	(*disk)->changed = disk_changed;
	return 0;
}

/* Open files and devices with the rights of the caller, and the other disks after the change of the
 * user: verbs only work with the credentials that opened them. */
static int open_disks(struct daemon *d)
{
	char path[URI_MAX];
	int err = read_env(d);

	for (unsigned i = 0; !err && i < d->disks; i++)
		if (bdev_uri_path(d->call->operand[i], path, sizeof(path)))
			err = open_disk(d, i);
	if (!err)
		err = daemon_drop_rights(d);
	for (unsigned i = 0; !err && i < d->disks; i++)
		if (!d->disk[i])
			err = open_disk(d, i);
	return err;
}

static void not_saved(const struct diag *why, void *user)
{
	const struct daemon *d = user;

	call_warn(d->call, "%s: %s: the host's command has failed", why->object, why->text);
}

/* The file of reservations is found by the identity. */
static int restore_reservations(struct daemon *d, unsigned i)
{
	const struct disk_identity *identity;
	struct diag *diag = d->call->diag;
	unsigned restored;
	int err = daemon_identify(d, i, &identity);

	if (!err && identity->lasts != DISK_IDENTITY_ALWAYS) {
		diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP,
			"--state: its identity is not permanent, so its reservations would not be "
			"found again");
		err = diag_ctx(diag, "%s", d->disk[i]->uri);
	}
	if (!err)
		err = reservation_state_add(d->state, d->disk[i], identity->nguid, &restored, diag);
	if (err)
		return diag_ctx(diag, "%s", d->disk[i]->uri);
	if (restored)
		call_note(d->call, "%s: %u registrations restored", d->disk[i]->uri, restored);
	return 0;
}

static int open_state(struct daemon *d)
{
	int err = d->opts->state ? reservation_state_open(&d->state, d->opts->state, d->loop,
					   not_saved, d, d->call->diag)
				 : 0;

	for (unsigned i = 0; d->state && !err && i < d->disks; i++)
		err = restore_reservations(d, i);
	return err;
}

/* Runs before threads, which inherit the mount namespace, are started, and after all files are
 * open. In a namespace of its own /dev, /proc and /sys remain mounted, so that users of a device
 * are still found after switch_root. But mounts of a command must be visible to others. */
static void survive(struct daemon *d)
{
	struct diag why = { 0 };
	bool local = false;
	int own;

	for (unsigned i = 0; i < d->fronts; i++)
		local |= d->front[i]->kind->local;
	if (local && !d->command &&
		kernel_survive(d->root, program_invocation_name, &d->own_mounts, &why))
		call_warn(d->call, "%s", why.text);
	own = d->own_mounts ? kernel_root() : -1;
	if (own >= 0)
		d->root = own;
}

static int open_workers(struct daemon *d)
{
	cpu_set_t set;
	unsigned cpus = sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set),
		 wanted = d->opts->queues ? d->opts->queues
			  : cpus < 4      ? cpus
					  : 4,
		 count = wanted;
	int err;

	for (unsigned i = 0; i < d->disks; i++)
		if (d->disk[i]->lim.lanes < count)
			count = d->disk[i]->lim.lanes ? d->disk[i]->lim.lanes : 1;
	if (d->opts->queues && count < wanted)
		call_warn(d->call, "--queues %u: the disk supports %u", wanted, count);
	d->nloops = count;
	d->loops[0] = d->loop;
	if (count == 1)
		return 0;
	err = workers_start(&d->workers, count, &d->call->loop, d->call->diag);
	for (unsigned i = 0; !err && i < count; i++)
		d->loops[i] = workers_loop(d->workers, i);
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
	if (!err)
		err = listeners_check_inherited(d->call->diag);
	if (!err && d->open_at[0])
		call_warn(d->call,
			"%s: any host that can reach this address can use the disks: restrict "
			"access with %s",
			d->open_at, d->open_option);
	return err;
}

/* With a command, standard output has only the text of the command. */
static int show(struct daemon *d)
{
	struct out *out = d->call->out;
	int err;

	if (d->command && !out->json)
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

static int report_ready(struct daemon *d)
{
	const struct daemon_options *opts = d->opts;
	int err;

	if (opts->pid_file) {
		d->pid_file = kernel_pid_file(d->root, opts->pid_file, d->call->diag);
		d->pid_written = d->pid_file >= 0;
		if (!d->pid_written)
			return d->pid_file;
	}
	if (d->rights.drop) {
		disk_root_close();
		d->root = -1;
	}
	err = show(d);
	if (err)
		return err;
	if (d->own_mounts)
		kernel_leave_mounts(d->root, (const char *const[]){ opts->pid_file, opts->log }, 2);
	d->ready_ns = loop_clock();
	begin_samples(d);
	err = kernel_notify_ready(opts->ready_fd == AUTO ? -1 : (int)opts->ready_fd,
		d->front[0]->kind->serving, d->call->diag);
	if (err)
		return err;
	d->ready = true;
	rights_show(&d->rights, d->call);
	if (opts->daemon)
		child_daemon_ready(d->parent);
	return 0;
}

static int get_ready(struct daemon *d, const struct front_config *configs, unsigned count)
{
	const struct call *call = d->call;
	int err = check_options(d);
	char uri[URI_MAX];

	if (!err)
		err = open_loop(d);
	if (!err)
		err = read_fronts(d, configs, count);
	if (!err)
		err = daemon_read_rights(d);
	if (!err)
		start_report(d);
	if (!err)
		err = open_disks(d);
	if (!err)
		err = open_state(d);
	if (!err)
		survive(d);
	if (!err)
		err = open_workers(d);
	if (!err)
		err = start_fronts(d);
	if (!err)
		err = report_ready(d);
	if (err || !d->command)
		return err;
	d->front[0]->kind->uri(d->front[0], uri);
	err = child_begin(&d->run, uri, call->diag);
	d->child = d->run.pid;
	return err;
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

/* Run until stopped by a signal and until no device is in use. */
static int serve(struct daemon *d, struct diag *diag)
{
	bool noted = false;
	int err;

	loop_wait(d->loop, &d->stop_requested, 0);
	while ((err = release_fronts(d, diag)) == -EBUSY) {
		if (!noted)
			call_warn(d->call, "%s: %s: serving continues until it is free%s",
				diag->object, diag->text,
				d->stopped_by ? " or a second signal arrives" : "");
		noted = true;
		*diag = (struct diag){ 0 };
		d->stop_requested = 0;
		loop_wait(d->loop, &d->stop_requested, loop_clock() + HELD_MS * MSEC);
	}
	return err;
}

/* Stop the fronts in reverse order, within one time limit. Return the first failure. */
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

/* Roll back get_ready(), also after a failure. A disk that holds requests cannot be closed: then
 * this process just ends. */
static int stop(struct daemon *d, struct diag *diag)
{
	bool held;
	int err;

	kernel_report_stop(&d->report);
	loop_timer_del(d->loop, &d->sample_timer);
	err = stop_fronts(d, diag, &held);
	remove_pid_file(d);
	if (held)
		return err;
	workers_stop(d->workers);
	reservation_state_close(d->state);
	for (unsigned i = 0; i < d->disks; i++)
		if (d->disk[i])
			bdev_close(d->disk[i]);
	free(d->disk);
	free(d->identity);
	if (d->signals)
		loop_signal_del(d->loop, &d->signal);
	loop_free(d->loop);
	return err;
}

int daemon_run(struct call *call, const struct daemon_options *opts,
	const struct front_config *configs, unsigned count)
{
	const struct opt_common *common = call->opts;
	struct daemon d = { .call = call,
		.opts = opts,
		.run = { .args = call->operand + call->rest,
			.count = (unsigned)(call->operands - call->rest),
			.name = "uri",
			.fd = -1 },
		.command = call->rest < call->operands,
		.report = { .text = report_text, .command = command, .user = &d } };
	int err;

	kernel_report_owner(&d.report);
	if (opts->anonymous)
		disk_make_anonymous();
	if (common->timeout_ms)
		d.deadline = loop_clock() + common->timeout_ms * MSEC;
	err = get_ready(&d, configs, count);
	if (!err)
		err = serve(&d, call->diag);
	if (d.child)
		daemon_stop_command(&d);
	if (err) { /* report this failure, not one of the stop */
		stop(&d, NULL);
		return err;
	}
	err = stop(&d, call->diag);
	if (err)
		return err;
	if (!d.command)
		return EXIT_DONE;
	return d.stopped_by ? 128 + d.stopped_by : d.status;
}
