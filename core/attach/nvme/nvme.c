/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NVMe-oF row: modules and keys, the write to /dev/nvme-fabrics, the wait for namespaces, and
 * the removal of a controller. */
#include "kernel_handshake.h"
#include "nvme_target.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define GRACE_MS    1500 /* for an interrupted write to return */
#define IDENTIFY_MS 5000
#define SETTLE_MS   500 /* without a new namespace, if they can't be listed */
#define USERS_MS    2000
#define DELETE_MS   100 /* for an interrupted delete to return */

static struct attach_nvme *nvme_of(struct attach *attach)
{
	return container_of(attach, struct attach_nvme, attach);
}

/* ---- ready */

static bool needs_connection(int root, const struct nvmf_target *t, struct nvmf_ctrl *ctrl)
{
	return t->params.value[NVMF_DUPLICATE_CONNECT] || kernel_nvmf_find(root, &t->params, ctrl);
}

/* In a child: the keyring and /dev/nvme-fabrics may block. An existing connection needs no key. */
static int get_ready(int root, const void *arg, void *out)
{
	const struct nvmf_target *t = ((const struct attach_nvme *)arg)->target;
	struct attach_nvme_result *result = out;
	struct nvmf_ctrl ctrl;
	int err = kernel_nvmf_ready(
		root, t->params.value[NVMF_TRANSPORT], nvmf_target_encrypts(t), &result->why);

	if (!err && nvmf_tls_uses_keyring(t) && needs_connection(root, t, &ctrl))
		err = nvmf_tls_insert(root, t, &result->key, &result->why);
	if (!err)
		kernel_nvmf_supported_options(root, result->known);
	return -err;
}

static bool is_loaded(const struct attach_nvme *nvme)
{
	return kernel_nvmf_loaded(nvme->attach.root, nvme->target->params.value[NVMF_TRANSPORT]);
}

static void use_key(struct attach_nvme *nvme)
{
	nvmf_tls_numbers(nvme->target, &nvme->result.key);
	if (nvme->result.key.added)
		nvme->added = nvme->result.key;
}

static void is_ready(struct attach *attach, int err)
{
	struct attach_nvme *nvme = nvme_of(attach);
	struct diag *why = &attach->why;

	if (!err)
		use_key(nvme);
	else if (err == -ETIMEDOUT && !nvme->result.why.err && is_loaded(nvme))
		diag_set(why, DIAG_TIMEOUT, -err, "%s: %s",
			nvmf_tls_uses_keyring(nvme->target)
				? "add the TLS key to the kernel's keyring"
				: "read /dev/nvme-fabrics",
			diag_errno_text(-err));
	if (why->code == DIAG_NO_MODULE && !nvmf_target_discovery(nvme->target))
		nvmf_hint_userspace(nvme->target, attach->root, why);
	attach_step(attach, err);
}

static void load(struct attach_nvme *nvme, void (*done)(struct attach *, int err))
{
	nvme->result = (struct attach_nvme_result){ 0 };
	attach_load(&nvme->attach,
		&(struct child_call){ .fn = get_ready,
			.arg = nvme,
			.out = &nvme->result,
			.out_len = sizeof(nvme->result),
			.until = nvme->attach.until },
		false, done);
}

static void nvme_ready(struct attach *attach)
{
	struct attach_nvme *nvme = nvme_of(attach);

	nvme->existed = false;
	nvme->active.count = -EAGAIN;
	nvme->missing_nsid = nvme->last_count = 0;
	nvme->changed_at = 0;
	if (attach->addr && nvmf_target_route(nvme->target, &attach->why))
		attach_step(attach, -attach->why.err);
	else
		load(nvme, is_ready);
}

/* ---- dial */

/* Linux 6.12: nvmet may drop the connection before its answer to a wrong secret is sent; the host
 * then waits forever. */
static int set_timeout(struct attach_nvme *nvme)
{
	struct diag *why = &nvme->attach.why;
	char text[DIAG_SECONDS];

	diag_set(why, DIAG_TIMEOUT, ETIMEDOUT, "no answer within %s",
		diag_seconds((loop_clock() - nvme->attach.since) / 1000000, text));
	if (nvme->target->params.value[NVMF_DHCHAP_SECRET])
		diag_hint(why,
			"a wrong secret can cause this; the kernel may then hang until a reboot");
	return -ETIMEDOUT;
}

static int set_connected(struct attach_nvme *nvme)
{
	struct attach *attach = &nvme->attach;

	attach->made = !nvme->existed;
	snprintf(attach->what, sizeof(attach->what), "%s", nvme->ctrl.name);
	if (!nvme->existed)
		return 0;
	if (nvmf_target_check_existing(nvme->target, attach->root, &nvme->ctrl, &attach->why))
		return -attach->why.err;
	if (!nvme->exclusive)
		return 0;
	diag_set(&attach->why, DIAG_BUSY, EALREADY, "already connected as %s", nvme->ctrl.name);
	diag_hint(&attach->why,
		"omit --exclusive to use it, or add a connection with --duplicate-connect");
	return -EALREADY;
}

static void handshake_ended(void *arg, const struct tls_upcall_end *end)
{
	struct attach_nvme *nvme = arg;

	if (end->why->err)
		nvme->handshake = *end->why;
	else if (loop_options(nvme->attach.loop)->verbose)
		attach_note(&nvme->attach, "TLS handshake with %s by the key '%s'", end->peer,
			end->identity);
}

/* The kernel knows only that the handshake has failed. */
static int connect_failed(struct attach_nvme *nvme, int err, char *log)
{
	struct diag *why = &nvme->attach.why;

	err = kernel_nvme_why(nvme->attach.root, err, log, &nvme->target->params, why);
	if (!nvme->handshake.err)
		return err;
	*why = nvme->handshake;
	return -why->err;
}

static void close_scan_log(struct attach_nvme *nvme)
{
	char none[1];

	kernel_log_since(&nvme->scan_log, NULL, none, sizeof(none));
}

/* The kernel leaves the handshakes of all queues to a process, and waits: without tlshd this one
 * answers on the loop. */
static void answer_handshakes(struct attach_nvme *nvme)
{
	struct diag why = { 0 };

	nvme->handshake = (struct diag){ 0 };
	if (!nvmf_target_encrypts(nvme->target) || !kernel_handshakes_unanswered(nvme->attach.root))
		return;
	nvme->upcall_events = (struct tls_upcall_events){ nvme, handshake_ended };
	if (tls_upcall_open(&nvme->upcall, nvme->attach.loop, nvme->attach.root,
		    &nvme->upcall_events, &why))
		attach_note(&nvme->attach, "TLS handshakes can't be answered: %s", why.text);
}

static void stop_handshakes(struct attach_nvme *nvme)
{
	tls_upcall_close(nvme->upcall);
	nvme->upcall = NULL;
}

static void connect_done(struct child_call *call)
{
	struct attach_nvme *nvme = container_of(call, struct attach_nvme, call);
	struct attach *attach = &nvme->attach;
	char log[8192], name[16];
	int err = call->err;

	stop_handshakes(nvme);
	kernel_nvmf_log_since(attach->root, &nvme->log_mark, &nvme->target->params,
		err ? -1 : nvme->instance, log, sizeof(log));
	snprintf(name, sizeof(name), "nvme%d", nvme->instance);
	if (!err && kernel_nvmf_read_ctrl(attach->root, name, &nvme->ctrl))
		err = diag_set(&attach->why, DIAG_CLOSED, ENODEV,
			"the kernel connected it as %s, then lost the connection", name);
	else if (err && call->expired)
		err = set_timeout(nvme);
	else if (err)
		err = connect_failed(nvme, -err, log);
	attach_note_log(attach, log);
	if (err || attach->no_wait)
		close_scan_log(nvme);
	/* another process has connected it */
	if (err == -EALREADY &&
		!kernel_nvmf_find(attach->root, &nvme->target->params, &nvme->ctrl)) {
		attach->why = (struct diag){ 0 };
		nvme->existed = true;
		err = 0;
	}
	attach_step(attach, err ? err : set_connected(nvme));
}

static int write_line(int root, const void *line, void *instance)
{
	return -kernel_nvmf_write_line(root, line, instance);
}

static void undo_connect(int root, const void *line, void *instance)
{
	const int *number = instance;

	(void)line;
	kernel_nvmf_delete_number(root, *number);
}

static int make_line(struct attach_nvme *nvme, char line[NVMF_LINE])
{
	const struct nvmf_params *params = &nvme->target->params;
	struct attach *attach = &nvme->attach;
	char left_out[NVMF_LEFT_OUT];
	int err = kernel_nvmf_line(params, nvme->result.known, true, line, left_out, &attach->why);

	if (!err && loop_options(attach->loop)->verbose)
		attach_note(attach, "/dev/nvme-fabrics: %s", line);
	if (!err && left_out[0])
		attach_note(attach, "ignored, as this kernel does not support it: %s", left_out);
	return err ? err
		   : kernel_nvmf_line(
			     params, nvme->result.known, false, line, left_out, &attach->why);
}

static void nvme_connect(struct attach *attach);

static void key_added(struct attach *attach, int err)
{
	struct attach_nvme *nvme = nvme_of(attach);

	if (err) {
		is_ready(attach, err);
		return;
	}
	use_key(nvme);
	nvme_connect(attach);
}

static void nvme_connect(struct attach *attach)
{
	struct attach_nvme *nvme = nvme_of(attach);
	char line[NVMF_LINE];
	int err;

	nvme->existed = !needs_connection(attach->root, nvme->target, &nvme->ctrl);
	if (!nvme->existed && nvmf_tls_uses_keyring(nvme->target) && !nvme->result.key.ring) {
		load(nvme, key_added); /* the existing connection, which needed no key, has ended */
		return;
	}
	err = make_line(nvme, line);
	if (err || nvme->existed) {
		explicit_bzero(line, sizeof(line));
		attach_step(attach, err ? err : set_connected(nvme));
		return;
	}
	answer_handshakes(nvme);
	kernel_nvmf_log_mark(attach->root, &nvme->log_mark);
	kernel_log_mark(attach->root, &nvme->scan_log);
	nvme->call = (struct child_call){ .fn = write_line,
		.undo = undo_connect,
		.arg = line,
		.out = &nvme->instance,
		.out_len = sizeof(nvme->instance),
		.until = attach->until,
		.grace_ms = GRACE_MS,
		.done = connect_done };
	attach_call(attach, &nvme->call);
	explicit_bzero(line, sizeof(line));
}

/* ---- wait */

static int list_active(int root, const void *ctrl, void *out)
{
	struct attach_nvme_active *active = out;

	active->count = kernel_nvmf_active(root, ctrl, active->nsid, NVMF_DISKS);
	return 0;
}

/* If the controller can't be asked, take the namespaces that appear. */
static void active_listed(struct child_call *call)
{
	struct attach_nvme *nvme = container_of(call, struct attach_nvme, call);

	if (call->err || nvme->active.count == -EAGAIN)
		nvme->active.count = -EIO;
	attach_schedule_poll(&nvme->attach);
}

static void ask_active(struct attach_nvme *nvme)
{
	if (nvme->call.pid)
		return;
	nvme->call = (struct child_call){ .fn = list_active,
		.arg = nvme->ctrl.name,
		.out = &nvme->active,
		.out_len = sizeof(nvme->active),
		.until = attach_limit(&nvme->attach, IDENTIFY_MS),
		.grace_ms = 100,
		.done = active_listed };
	if (child_call_start(&nvme->call, nvme->attach.loop, &nvme->attach.root, 1))
		nvme->active.count = -EIO;
}

static int no_such(const struct attach_nvme *nvme, struct diag *diag)
{
	char text[200] = "none";
	size_t used = 0;

	for (int i = 0; i < nvme->active.count && used < sizeof(text) - 16; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u", i ? ", " : "",
			nvme->active.nsid[i]);
	return diag_set(diag, DIAG_NOT_FOUND, ENOENT,
		"namespace %u is not visible to this host; visible: %s", nvme->target->nsid, text);
}

static bool is_active(const struct attach_nvme *nvme, uint32_t nsid)
{
	for (int i = 0; i < nvme->active.count; i++)
		if (nvme->active.nsid[i] == nsid)
			return true;
	return false;
}

static const struct nvmf_disk *disk_of(const struct attach_nvme *nvme, uint32_t nsid)
{
	for (unsigned i = 0; i < nvme->disks; i++)
		if (nvme->disk[i].nsid == nsid)
			return &nvme->disk[i];
	return NULL;
}

/* Return the first requested namespace without a block device; 0 = none. */
static uint32_t first_missing(const struct attach_nvme *nvme)
{
	if (nvme->target->nsid)
		return disk_of(nvme, nvme->target->nsid) ? 0 : nvme->target->nsid;
	for (int i = 0; i < nvme->active.count; i++)
		if (!disk_of(nvme, nvme->active.nsid[i]))
			return nvme->active.nsid[i];
	return 0;
}

static bool has_settled(struct attach_nvme *nvme)
{
	if (nvme->disks != nvme->last_count || !nvme->changed_at) {
		nvme->last_count = nvme->disks;
		nvme->changed_at = loop_clock();
	}
	return nvme->active.count >= 0 || nvme->target->nsid ||
	       loop_clock() - nvme->changed_at >= SETTLE_MS * MSEC;
}

/* Keep only the namespace of the URI. Its UUID is known from the block device only. */
static int select_namespace(struct attach_nvme *nvme)
{
	const char *uuid = nvme->target->uuid[0] ? nvme->target->uuid : NULL;

	for (unsigned i = 0; i < nvme->disks && (uuid || nvme->target->nsid); i++)
		if (uuid ? !strncmp(nvme->disk[i].wwid, "uuid.", 5) &&
					!strcasecmp(nvme->disk[i].wwid + 5, uuid)
			 : nvme->disk[i].nsid == nvme->target->nsid) {
			nvme->disk[0] = nvme->disk[i];
			nvme->disks = 1;
			return 0;
		}
	return uuid ? diag_set(&nvme->attach.why, DIAG_NOT_FOUND, ENOENT,
			      "no namespace with UUID %s is visible to this host", uuid)
		    : 0;
}

static int set_removed(struct attach *attach)
{
	return diag_set(&attach->why, DIAG_CLOSED, ENODEV, "the kernel removed %s", attach->what);
}

static void free_disks(struct attach_nvme *nvme)
{
	free(nvme->disk);
	nvme->disk = NULL;
	nvme->disks = 0;
}

/* Every uevent triggers this for every attachment: read constant attributes at the end. */
static int nvme_poll(struct attach *attach)
{
	struct attach_nvme *nvme = nvme_of(attach);
	uint32_t wanted = nvme->target->nsid;
	char *state = nvme->ctrl.state;
	int err;

	free_disks(nvme);
	if (kernel_nvmf_state(attach->root, attach->what, state))
		return set_removed(attach);
	if (!strcmp(state, "dead") || !strncmp(state, "delet", 5))
		return diag_set(&attach->why, DIAG_CLOSED, ENODEV, "%s is being removed (%s)",
			attach->what, state);
	if (strcmp(state, "live"))
		return 0;
	if (nvme->active.count == -EAGAIN)
		ask_active(nvme);
	if (nvme->active.count == -EAGAIN)
		return 0;
	if (nvme->active.count >= 0 && wanted && !is_active(nvme, wanted))
		return no_such(nvme, &attach->why);
	err = kernel_nvmf_disks(
		attach->root, attach->what, &nvme->disk, &nvme->disks, &attach->why);
	if (err)
		return err;
	nvme->missing_nsid = first_missing(nvme);
	if (nvme->missing_nsid || !has_settled(nvme))
		return 0;
	for (unsigned i = 0; i < nvme->disks; i++) {
		uint32_t nsid = nvme->disk[i].nsid;

		if (wanted ? nsid == wanted : nvme->active.count < 0 || is_active(nvme, nsid))
			attach_disk(attach, nvme->disk[i].name);
	}
	err = select_namespace(nvme);
	if (!err && kernel_nvmf_read_ctrl(attach->root, attach->what, &nvme->ctrl))
		err = set_removed(attach);
	return err ? err : 1;
}

/* Find the namespace of this ID that the kernel has from a subsystem of the same NQN. */
static bool find_namesake(
	const struct attach_nvme *nvme, uint32_t nsid, struct nvmf_disk *found, char ctrl[16])
{
	struct nvmf_ctrl *ctrls;
	unsigned count;

	found->name[0] = 0;
	if (kernel_nvmf_list(nvme->attach.root, &ctrls, &count, NULL))
		return false;
	for (unsigned i = 0; i < count && !found->name[0]; i++) {
		struct nvmf_disk *disks = NULL;
		unsigned disk_count = 0;

		if (strcmp(ctrls[i].nqn, nvme->ctrl.nqn) ||
			!strcmp(ctrls[i].name, nvme->ctrl.name) ||
			kernel_nvmf_disks(
				nvme->attach.root, ctrls[i].name, &disks, &disk_count, NULL))
			continue;
		for (unsigned d = 0; d < disk_count; d++)
			if (disks[d].nsid == nsid)
				*found = disks[d];
		memcpy(ctrl, ctrls[i].name, 16);
		free(disks);
	}
	free(ctrls);
	return found->name[0];
}

static bool is_scan_line(const char *line)
{
	return !strncmp(line, "nvme", 4) &&
	       (strstr(line, "IDs don't match") || strstr(line, "Duplicate unshared namespace") ||
		       strstr(line, "duplicate IDs"));
}

/* Only the log tells whether the kernel has rejected a namespace or has not scanned it yet (Linux
 * 4.18 to 6.12, nvme_init_ns_head()). */
static bool explain_rejected(struct attach_nvme *nvme)
{
	struct diag *why = &nvme->attach.why;
	struct nvmf_disk namesake;
	char log[2048], ctrl[16], prefix[32], *line, *rest = log;
	unsigned nsid;

	kernel_log_since(&nvme->scan_log, is_scan_line, log, sizeof(log));
	if (!log[0] || !find_namesake(nvme, nvme->missing_nsid, &namesake, ctrl))
		return false;
	snprintf(prefix, sizeof(prefix), "nvme %s:", nvme->ctrl.name);
	while ((line = strsep(&rest, "\n"))) {
		const char *number = strrchr(line, ' ');

		if (strncmp(line, prefix, strlen(prefix)) || !number ||
			sscanf(number, "%u", &nsid) != 1 || nsid != nvme->missing_nsid)
			continue;
		if (strstr(line, "IDs don't match"))
			diag_set(why, DIAG_MISMATCH, EXDEV,
				"namespace %u is not /dev/%s (%s) of %s, which has the same NQN",
				nsid, namesake.name, namesake.wwid, ctrl);
		else
			diag_set(why, DIAG_UNSUPPORTED, ENOTSUP,
				"the kernel has namespace %u as /dev/%s of %s and takes no second "
				"path to it, as the target does not report it as shared",
				nsid, namesake.name, ctrl);
		return true;
	}
	return false;
}

static void nvme_timeout_error(struct attach *attach)
{
	struct attach_nvme *nvme = nvme_of(attach);
	const char *closed = attach_unopened(attach);

	for (unsigned i = 0; i < nvme->disks && !nvme->missing_nsid && closed[0]; i++)
		if (!strcmp(nvme->disk[i].name, closed))
			nvme->missing_nsid = nvme->disk[i].nsid;
	if (strcmp(nvme->ctrl.state, "live"))
		diag_set(&attach->why, DIAG_TIMEOUT, ETIMEDOUT,
			"timed out waiting for %s: its state is %s", attach->what,
			nvme->ctrl.state);
	else if (disk_of(nvme, nvme->missing_nsid) || !explain_rejected(nvme))
		diag_set(&attach->why, DIAG_TIMEOUT, ETIMEDOUT,
			"timed out waiting for the block device of namespace %u of %s",
			nvme->missing_nsid ? nvme->missing_nsid : nvme->target->nsid, attach->what);
}

/* ---- users, undo */

struct several {
	const struct nvmf_ctrl *ctrls;
	unsigned count;
};

static int find_users(int root, const void *arg, void *out)
{
	const struct several *several = arg;
	struct attach_users *found = out;

	kernel_nvmf_users(root, several->ctrls, several->count, found->text, sizeof(found->text),
		&found->enough);
	return 0;
}

void attach_nvme_users(
	int root, const struct nvmf_ctrl *ctrls, unsigned count, char text[ATTACH_USERS])
{
	const struct several several = { ctrls, count };
	struct attach_users found = { 0 };
	struct child_call call = { .fn = find_users,
		.arg = &several,
		.out = &found,
		.out_len = sizeof(found),
		.until = loop_clock() + USERS_MS * MSEC,
		.grace_ms = DELETE_MS };

	attach_users_text(&found, child_call_run(&call, &root, 1), text);
}

struct flushing {
	struct several several;
	bool force;
};

static int flush(int root, const void *arg, void *out)
{
	const struct flushing *flushing = arg;

	return -kernel_nvmf_flush(
		root, flushing->several.ctrls, flushing->several.count, flushing->force, out);
}

int attach_nvme_flush(
	int root, const struct nvmf_ctrl *ctrls, unsigned count, bool force, struct diag *diag)
{
	const struct flushing flushing = { { ctrls, count }, force };
	struct diag why = { 0 };
	struct child_call call = { .fn = flush,
		.arg = &flushing,
		.out = &why,
		.out_len = sizeof(why),
		.until = loop_clock() + USERS_MS * MSEC,
		.grace_ms = DELETE_MS };
	int err = child_call_run(&call, &root, 1);

	if (!err || force)
		return 0;
	if (!why.err)
		diag_sys(&why, -err, "remove multipath devices");
	*diag = why;
	return -diag->err;
}

static void nvme_users(const struct attach *attach, int root, struct attach_users *found)
{
	const struct attach_nvme *nvme =
		(const struct attach_nvme *)(const void *)attach; /* the first member */

	kernel_nvmf_users(root, &nvme->ctrl, 1, found->text, sizeof(found->text), &found->enough);
}

/* With force, attach_nvme_flush() has done it, within a limit. */
static int nvme_flush(const struct attach *attach, int root, struct diag *diag)
{
	const struct attach_nvme *nvme =
		(const struct attach_nvme *)(const void *)attach; /* the first member */

	if (attach->force || !kernel_nvmf_same(root, &nvme->ctrl))
		return 0;
	return kernel_nvmf_flush(root, &nvme->ctrl, 1, false, diag);
}

static int delete_ctrl(int root, const void *ctrl, void *out)
{
	(void)out;
	return -kernel_nvmf_delete(root, ctrl);
}

static void deleted(struct child_call *call)
{
	struct attach_nvme *nvme = container_of(call, struct attach_nvme, call);
	struct attach *attach = &nvme->attach;
	int err = call->err;

	if (!err || err == -ENOENT || err == -ENODEV ||
		!kernel_nvmf_same(attach->root, &nvme->ctrl)) {
		kernel_nvmf_nodes_drop(attach->root, nvme->ctrl.name, &nvme->nodes);
		err = 0;
	}
	free(nvme->nodes.disks);
	nvme->nodes.disks = NULL;
	attach_step(attach, err ? attach_not_removed(attach, err,
					  "I/O waits for the target; make it fail with --force")
				: 0);
}

static void nvme_undo(struct attach *attach)
{
	struct attach_nvme *nvme = nvme_of(attach);

	if (!kernel_nvmf_same(attach->root, &nvme->ctrl)) {
		attach_step(attach, 0);
		return;
	}
	kernel_nvmf_nodes_note(attach->root, nvme->ctrl.name, &nvme->nodes);
	nvme->call = (struct child_call){ .fn = delete_ctrl,
		.arg = &nvme->ctrl,
		.until = attach->until,
		.grace_ms = DELETE_MS,
		.done = deleted };
	attach_call(attach, &nvme->call);
}

/* If a connection was just made, leave it to undo(). */
static void nvme_stop(struct attach *attach)
{
	struct attach_nvme *nvme = nvme_of(attach);
	bool connecting = nvme->call.pid && nvme->call.fn == write_line;
	char name[16];

	child_call_cancel(&nvme->call);
	stop_handshakes(nvme);
	if (connecting && !nvme->call.err) {
		snprintf(name, sizeof(name), "nvme%d", nvme->instance);
		attach->made = !kernel_nvmf_read_ctrl(attach->root, name, &nvme->ctrl);
		snprintf(attach->what, sizeof(attach->what), "%s", name);
	}
	free(nvme->nodes.disks);
	nvme->nodes.disks = NULL;
}

static void print_note(struct attach *attach, const char *text)
{
	const struct attach_nvme *nvme = nvme_of(attach);
	char target[512];

	if (nvme->named)
		out_note(&nvme->target->env->notes, "%s: %s",
			nvmf_target_text(nvme->target, target, sizeof(target)), text);
	else
		out_note(&nvme->target->env->notes, "%s", text);
}

void attach_nvme_init(
	struct attach_nvme *nvme, struct nvmf_target *target, struct loop *loop, int root)
{
	*nvme = (struct attach_nvme){ .attach = { .proto = &attach_nvme_row,
					      .loop = loop,
					      .root = root,
					      .addr = &target->addr,
					      .no_wait = nvmf_target_discovery(target),
					      .note = print_note },
		.target = target };
}

static void remove_key(struct attach_nvme *nvme)
{
	const struct nvmf_ring_key *key = &nvme->added;
	int err;

	if (!key->number || !nvme->attach.why.err || nvme->target->env->keep_keys)
		return;
	err = kernel_nvmf_key_remove(nvme->attach.root, key);
	if (err)
		attach_note(&nvme->attach, "the TLS key %d stays in keyring %d: %s", key->number,
			key->ring, diag_errno_text(-err));
	nvme->added = (struct nvmf_ring_key){ 0 };
}

void attach_nvme_free(struct attach_nvme *nvme)
{
	remove_key(nvme);
	free_disks(nvme);
	close_scan_log(nvme);
}

const struct attach_proto attach_nvme_row = {
	.events = "nvme nvme-subsystem",
	.serialized = true,
	.ready = nvme_ready,
	.connect = nvme_connect,
	.poll = nvme_poll,
	.set_timeout_error = nvme_timeout_error,
	.users = nvme_users,
	.flush = nvme_flush,
	.undo = nvme_undo,
	.stop = nvme_stop,
};
