/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One NVMe-oF subsystem through the kernel: from options to core/attach, and its result. */
#include "nvmf_attach.h"
#include "nvmf_tls.h"
#include <stdio.h>
#include <string.h>

const char *nvmf_target_text(const struct nvmf_target *t, char *text, size_t len)
{
	const char *host = t->want.value[NVMF_TRADDR];
	bool v6 = strchr(host, ':');

	snprintf(text, len, "%s at %s %s%s%s:%s", t->want.value[NVMF_NQN],
		t->want.value[NVMF_TRANSPORT], v6 ? "[" : "", host, v6 ? "]" : "",
		t->want.value[NVMF_TRSVCID]);
	return text;
}

/* An existing connection needs no key. */
static int insert_key(struct attach_nvme *nvme, struct diag *diag)
{
	struct nvmf_attachment *a = container_of(nvme, struct nvmf_attachment, nvme);

	return nvmf_tls_insert(nvme->attach.root, a->target, diag);
}

static void print_note(struct attach *attach, const char *text)
{
	struct nvmf_attachment *a = container_of(attach, struct nvmf_attachment, nvme.attach);
	char target[512];

	if (a->named)
		call_note(a->call, "%s: %s", nvmf_target_text(a->target, target, sizeof(target)),
			text);
	else
		call_note(a->call, "%s", text);
}

void nvmf_attach_init(struct nvmf_attachment *a, const struct call *call, struct loop *loop,
	int root, struct nvmf_target *t, unsigned flags)
{
	*a = (struct nvmf_attachment){ .nvme = { .attach = { .proto = &attach_nvme_row,
							 .loop = loop,
							 .root = root,
							 .note = print_note },
					       .want = &t->want,
					       .nsid = t->nsid,
					       .uuid = t->uuid,
					       .exclusive = flags & NVMF_EXCLUSIVE,
					       .keys = insert_key },
		.call = call,
		.target = t,
		.named = flags & NVMF_NAMED };
	a->nvme.attach.no_wait = flags & NVMF_NO_WAIT || nvmf_target_discovery(t);
}

void nvmf_attach_hint(struct nvmf_attachment *a)
{
	struct diag *why = &a->nvme.attach.why;
	char uri[URI_MAX];

	if (why->code == DIAG_NO_MODULE && !nvmf_target_discovery(a->target))
		diag_hint(why,
			"attach it in userspace: rdmastor export '%s' --nbd unix:/run/disk.sock",
			nvmf_uri(a->target->want.value, uri));
}

void nvmf_result_end(struct nvmf_results *results, const char *uri, struct diag *why)
{
	struct call *call = results->call;

	if (!why->err) {
		out_end(call->out);
		results->succeeded++;
		return;
	}
	out_bool(call->out, "connected", NULL, false);
	out_error(call->out, "error", why);
	out_end(call->out);
	diag_ctx(why, "%s", uri);
	if (results->failed++)
		call_note(call, "%s: %s", why->object, why->text);
	else
		results->first = *why;
}

int nvmf_results_end(struct nvmf_results *results)
{
	struct call *call = results->call;

	out_end(call->out);
	out_u64(call->out, "succeeded", NULL, results->succeeded);
	out_u64(call->out, "failed", NULL, results->failed);
	if (!results->failed)
		return EXIT_DONE;
	*call->diag = results->first;
	return results->succeeded ? EXIT_PARTLY : -results->first.err;
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

static void show_ctrl(struct out *out, const struct nvmf_target *t, const struct attach_nvme *a)
{
	const struct nvmf_ctrl *ctrl = &a->ctrl;

	out_bool(out, "connected", NULL, true);
	out_text(out, "device", NULL, "%s", ctrl->name);
	out_bool(out, "existed", NULL, a->existed);
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
	if (t->policy[0] && !a->existed)
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

void nvmf_attach_show(
	struct call *call, const struct nvmf_attachment *attachment, const char *print)
{
	const struct nvmf_target *t = attachment->target;
	const struct attach_nvme *a = &attachment->nvme;
	const struct nvmf_ctrl *ctrl = &a->ctrl;
	char text[512], loss[128];
	struct out *out = call->out;

	show_ctrl(out, t, a);
	out_list(out, "disks");
	for (unsigned i = 0; i < a->disks; i++)
		show_disk(out, &a->disk[i], print);
	out_end(out);
	if (!a->attach.no_wait && !a->disks)
		call_note(call, "%s: no namespace is visible to this host",
			nvmf_target_text(t, text, sizeof(text)));
	if (print)
		return;
	out_line(out, "%s: %s%s, %s", ctrl->name, a->existed ? "already connected to " : "",
		nvmf_target_text(t, text, sizeof(text)), ctrl->state);
	if (ctrl->ctrl_loss_tmo == VALUE_UNKNOWN)
		return;
	policy_text(ctrl, loss, sizeof(loss));
	out_line(out, "%s: on connection loss: %s", ctrl->name, loss);
}
