/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attaching one NVMe-oF subsystem through the kernel. What the kernel is asked is core/kernel's. */
#include "nvmf_attach.h"
#include "nvmf_tls.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *nvmf_target_text(const struct nvmf_target *t, char *text, size_t len)
{
	const char *host = t->want.value[NVMF_TRADDR];
	bool v6 = strchr(host, ':');

	snprintf(text, len, "%s at %s %s%s%s:%s", t->want.value[NVMF_NQN],
		t->want.value[NVMF_TRANSPORT], v6 ? "[" : "", host, v6 ? "]" : "",
		t->want.value[NVMF_TRSVCID]);
	return text;
}

/* A URI may name a namespace by its UUID, which only its block device reports. */
static int keep_uuid(const struct nvmf_target *t, struct nvmf_attached *a, struct diag *diag)
{
	for (unsigned i = 0; t->uuid[0] && i < a->disks; i++)
		if (!strncmp(a->disk[i].wwid, "uuid.", 5) &&
			!strcasecmp(a->disk[i].wwid + 5, t->uuid)) {
			a->disk[0] = a->disk[i];
			a->disks = 1;
			return 0;
		}
	return t->uuid[0] ? diag_set(diag, DIAG_NOT_FOUND, ENOENT,
				    "no namespace with UUID %s is visible to this host", t->uuid)
			  : 0;
}

static int wait_disks(int root, const struct nvmf_target *t, uint64_t until,
	struct nvmf_attached *a, struct diag *diag)
{
	int err = kernel_nvmf_wait(
		root, a->made.ctrl.name, t->nsid, until, &a->disk, &a->disks, diag);

	if (!err)
		err = keep_uuid(t, a, diag);
	if (!err)
		kernel_nvmf_look(root, a->made.ctrl.name, &a->made.ctrl);
	a->waited = !err;
	for (unsigned i = 0; !err && t->nsid && i < a->disks; i++)
		if (a->disk[i].nsid == t->nsid) {
			a->disk[0] = a->disk[i];
			a->disks = 1;
		}
	return err;
}

static void tell_words(const struct call *call, const struct nvmf_attached *a)
{
	for (const char *at = a->made.words; call->loop.verbose && *at;) {
		size_t len = strcspn(at, "\n");

		call_note(call, "kernel: %.*s", (int)len, at);
		at += len + (at[len] == '\n');
	}
}

static int refuse_existing(const struct nvmf_attached *a, struct diag *diag)
{
	diag_set(diag, DIAG_BUSY, EALREADY, "already connected as %s", a->made.ctrl.name);
	return diag_hint(
		diag, "omit --exclusive to use it, or add a connection with --duplicate-connect");
}

/* An existing connection needs no key. */
static int give_key(int root, struct nvmf_target *t, struct diag *diag)
{
	struct nvmf_ctrl ctrl;

	return !t->want.value[NVMF_DUPLICATE_CONNECT] && !kernel_nvmf_find(root, &t->want, &ctrl)
		       ? 0
		       : nvmf_tls_insert(root, t, diag);
}

int nvmf_attach(const struct call *call, int root, struct nvmf_target *t, unsigned flags,
	uint64_t until, struct nvmf_attached *a, struct diag *diag)
{
	char line[4096], uri[URI_MAX];
	bool wait = !(flags & NVMF_NO_WAIT) && !nvmf_target_discovery(t);
	int err;

	*a = (struct nvmf_attached){ 0 };
	err = kernel_nvmf_ready(root, t->want.value[NVMF_TRANSPORT], diag);
	if (err && diag->code == DIAG_NO_MODULE && !nvmf_target_discovery(t))
		diag_hint(diag,
			"attach it in userspace: rdmastor export '%s' --nbd unix:/run/disk.sock",
			nvmf_uri(t->want.value, uri));
	if (!err)
		err = give_key(root, t, diag);
	if (!err)
		err = kernel_nvmf_line(
			root, &t->want, line, sizeof(line), a->left_out, sizeof(a->left_out), diag);
	if (err)
		return err;
	if (call->loop.verbose)
		call_note(call, "/dev/nvme-fabrics: %s", line);
	if (a->left_out[0])
		call_note(call, "ignored, as this kernel does not support it: %s", a->left_out);
	err = kernel_nvmf_connect(root, &t->want, until, &a->made, diag);
	tell_words(call, a);
	if (err)
		return err;
	if (a->made.existed && flags & NVMF_EXCLUSIVE)
		return refuse_existing(a, diag);
	if (wait)
		err = wait_disks(root, t, until, a, diag);
	if (err && !a->made.existed)
		kernel_nvmf_undo(root, &a->made.ctrl, diag);
	return err;
}

void nvmf_attached_free(struct nvmf_attached *a)
{
	free(a->disk);
	a->disk = NULL;
	a->disks = 0;
}

int nvmf_attach_plan(struct call *call, int root, const struct nvmf_target *t, struct diag *diag)
{
	struct out *out = call->out;
	struct nvmf_ctrl ctrl;
	char line[4096], word[OUT_SHELL(sizeof(line))], left_out[256], text[512], identity[600];
	int err = kernel_nvmf_line(
		root, &t->want, line, sizeof(line), left_out, sizeof(left_out), diag);

	if (err)
		return err;
	nvmf_target_text(t, text, sizeof(text));
	out_bool(out, "connected", NULL, false);
	out_text(out, "line", NULL, "%s", line);
	for (unsigned i = 0; i < 2; i++)
		if (t->secret_from[i] &&
			t->want.value[i ? NVMF_DHCHAP_CTRL_SECRET : NVMF_DHCHAP_SECRET])
			out_text(out, i ? "ctrl_secret_from" : "secret_from", NULL, "%s",
				t->secret_from[i]);
	if (t->tls.from)
		out_text(out, "tls_key_from", NULL, "%s", t->tls.from);
	nvmf_tls_identity(t, identity, sizeof(identity));
	if (identity[0])
		out_text(out, "tls_identity", NULL, "%s", identity);
	if (left_out[0]) {
		char *rest = left_out, *option;

		out_list(out, "left_out");
		while ((option = strsep(&rest, ",")))
			out_text(out, NULL, NULL, "%s", option);
		out_end(out);
	}
	if (!t->want.value[NVMF_DUPLICATE_CONNECT] && !kernel_nvmf_find(root, &t->want, &ctrl)) {
		out_bool(out, "existed", NULL, true);
		out_text(out, "device", NULL, "%s", ctrl.name);
		out_line(out, "%s: already connected as %s", text, ctrl.name);
	} else {
		if (identity[0])
			out_line(out, "%s: would add a TLS key to the kernel's keyring as '%s'",
				text, identity);
		out_line(out, "%s: would write to /dev/nvme-fabrics:", text);
		out_line(out, "%s", out_shell(line, word, sizeof(word)));
	}
	return 0;
}

static void policy_text(const struct nvmf_ctrl *ctrl, char *text, size_t len)
{
	size_t used;

	if (ctrl->ctrl_loss_tmo == VALUE_OFF)
		snprintf(text, len, "reconnect every %d s forever", ctrl->reconnect_delay);
	else
		snprintf(text, len, "reconnect every %d s for %d s", ctrl->reconnect_delay,
			ctrl->ctrl_loss_tmo);
	used = strlen(text);
	if (ctrl->fast_io_fail_tmo >= 0)
		snprintf(text + used, len - used, ", I/O fails after %d s", ctrl->fast_io_fail_tmo);
	else
		snprintf(text + used, len - used, ", I/O is held until then");
}

static void show_timeouts(struct out *out, const struct nvmf_ctrl *ctrl)
{
	const struct {
		const char *key;
		int seconds;
	} rows[] = {
		{ "give_up_seconds", ctrl->ctrl_loss_tmo },
		{ "reconnect_seconds", ctrl->reconnect_delay },
		{ "fail_seconds", ctrl->fast_io_fail_tmo },
	};

	out_object(out, "timeouts");
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].seconds >= 0)
			out_u64(out, rows[i].key, NULL, (uint64_t)rows[i].seconds);
	out_end(out);
}

static void show_ctrl(struct out *out, const struct nvmf_target *t, const struct nvmf_attached *a)
{
	const struct nvmf_ctrl *ctrl = &a->made.ctrl;

	out_bool(out, "connected", NULL, true);
	out_text(out, "device", NULL, "%s", ctrl->name);
	out_bool(out, "existed", NULL, a->made.existed);
	out_text(out, "state", NULL, "%s", ctrl->state);
	out_text(out, "transport", NULL, "%s", ctrl->transport);
	out_text(out, "traddr", NULL, "%s", ctrl->traddr);
	out_text(out, "trsvcid", NULL, "%s", ctrl->trsvcid);
	out_text(out, "subnqn", NULL, "%s", ctrl->nqn);
	out_text(out, "hostnqn", NULL, "%s", ctrl->hostnqn);
	if (ctrl->host_traddr[0])
		out_text(out, "host_traddr", NULL, "%s", ctrl->host_traddr);
	if (ctrl->host_iface[0])
		out_text(out, "host_iface", NULL, "%s", ctrl->host_iface);
	if (ctrl->src_addr[0])
		out_text(out, "src_addr", NULL, "%s", ctrl->src_addr);
	if (ctrl->queues)
		out_u64(out, "queues", NULL, ctrl->queues);
	if (t->policy[0] && !a->made.existed)
		out_text(out, "on_loss", NULL, "%s", t->policy);
	show_timeouts(out, ctrl);
}

static void show_disk(struct out *out, const struct nvmf_disk *disk, const char *print)
{
	char size[16];

	out_object(out, NULL);
	out_text(out, "device", NULL, "/dev/%s", disk->name);
	out_u64(out, "nsid", NULL, disk->nsid);
	out_u64(out, "size", NULL, disk->size);
	out_u64(out, "block_size", NULL, disk->block);
	if (disk->wwid[0])
		out_text(out, "by_id", NULL, "/dev/disk/by-id/nvme-%s", disk->wwid);
	if (!print)
		out_line(out, "/dev/%s: %s, block size %u%s%s", disk->name,
			out_human(disk->size, size), disk->block,
			disk->wwid[0] ? ", /dev/disk/by-id/nvme-" : "", disk->wwid);
	else if (!strcmp(print, "by-id") && disk->wwid[0])
		out_line(out, "/dev/disk/by-id/nvme-%s", disk->wwid);
	else
		out_line(out, "/dev/%s", disk->name);
	out_end(out);
}

void nvmf_attached_show(struct call *call, const struct nvmf_target *t,
	const struct nvmf_attached *a, const char *print)
{
	const struct nvmf_ctrl *ctrl = &a->made.ctrl;
	char text[512], loss[128];
	struct out *out = call->out;

	show_ctrl(out, t, a);
	out_list(out, "disks");
	for (unsigned i = 0; i < a->disks; i++)
		show_disk(out, &a->disk[i], print);
	out_end(out);
	if (a->waited && !a->disks)
		call_note(call, "%s: no namespace is visible to this host",
			nvmf_target_text(t, text, sizeof(text)));
	if (print)
		return;
	out_line(out, "%s: %s%s, %s", ctrl->name, a->made.existed ? "already connected to " : "",
		nvmf_target_text(t, text, sizeof(text)), ctrl->state);
	if (ctrl->ctrl_loss_tmo == VALUE_UNKNOWN)
		return;
	policy_text(ctrl, loss, sizeof(loss));
	out_line(out, "%s: on connection loss: %s", ctrl->name, loss);
}
