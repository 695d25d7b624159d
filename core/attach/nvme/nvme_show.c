/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print connections through the kernel: plans and results. */
#include "nvme_target.h"
#include "out.h"
#include <stdio.h>
#include <string.h>

const char *nvmf_target_text(const struct nvmf_target *t, char *text, size_t len)
{
	const char *host = t->params.value[NVMF_TRADDR];
	bool v6 = strchr(host, ':');

	snprintf(text, len, "%s at %s %s%s%s:%s", t->params.value[NVMF_NQN],
		t->params.value[NVMF_TRANSPORT], v6 ? "[" : "", host, v6 ? "]" : "",
		t->params.value[NVMF_TRSVCID]);
	return text;
}

void nvmf_result_end(struct nvmf_results *results, const char *uri, struct diag *why)
{
	struct out *out = results->out;

	if (!why->err) {
		out_end(out);
		results->succeeded++;
		return;
	}
	out_bool(out, "connected", NULL, false);
	out_error(out, "error", why);
	out_end(out);
	diag_ctx(why, "%s", uri);
	if (results->failed++)
		out_note(results->notes, "%s: %s", why->object, why->text);
	else
		results->first = *why;
}

int nvmf_results_end(struct nvmf_results *results, struct diag *diag)
{
	struct out *out = results->out;

	out_end(out);
	out_u64(out, "succeeded", NULL, results->succeeded);
	out_u64(out, "failed", NULL, results->failed);
	if (results->failed)
		*diag = results->first;
	return -results->first.err;
}

int attach_nvme_plan(struct out *out, int root, const struct nvmf_target *t, struct diag *diag)
{
	struct nvmf_ctrl ctrl;
	char line[NVMF_LINE], word[OUT_SHELL(sizeof(line))], left_out[NVMF_LEFT_OUT], text[512],
		identity[600], known[NVMF_SUPPORTED], module[32];
	bool existed = !t->params.value[NVMF_DUPLICATE_CONNECT] &&
		       !kernel_nvmf_find(root, &t->params, &ctrl);
	int err;

	kernel_nvmf_supported_options(root, known);
	err = kernel_nvmf_line(&t->params, known, true, line, left_out, diag);
	if (!err && existed)
		err = nvmf_target_check_existing(t, root, &ctrl, diag);
	if (err)
		return err;
	nvmf_target_text(t, text, sizeof(text));
	out_bool(out, "connected", NULL, false);
	out_text(out, "line", NULL, "%s", line);
	for (unsigned i = 0; i < 2; i++)
		if (t->secret_from[i] &&
			t->params.value[i ? NVMF_DHCHAP_CTRL_SECRET : NVMF_DHCHAP_SECRET])
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
	if (existed) {
		out_bool(out, "existed", NULL, true);
		out_text(out, "device", NULL, "%s", ctrl.name);
		out_line(out, "%s: already connected as %s", text, ctrl.name);
	} else {
		snprintf(module, sizeof(module), "nvme_%s", t->params.value[NVMF_TRANSPORT]);
		attach_show_missing(out, &t->env->notes, root, (const char *[]){ module, NULL });
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

static void show_ctrl(struct out *out, const struct attach_nvme *nvme)
{
	const struct nvmf_ctrl *ctrl = &nvme->ctrl;
	const struct {
		const char *key;
		int seconds;
	} timeouts[] = {
		{ "give_up_seconds", ctrl->ctrl_loss_tmo },
		{ "reconnect_seconds", ctrl->reconnect_delay },
		{ "fail_seconds", ctrl->fast_io_fail_tmo },
	};

	out_bool(out, "connected", NULL, true);
	out_text(out, "device", NULL, "%s", ctrl->name);
	out_bool(out, "existed", NULL, nvme->existed);
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
	if (nvme->target->policy[0] && !nvme->existed)
		out_text(out, "on_loss", NULL, "%s", nvme->target->policy);
	out_object(out, "timeouts");
	for (unsigned i = 0; i < sizeof(timeouts) / sizeof(*timeouts); i++)
		if (timeouts[i].seconds >= 0)
			out_u64(out, timeouts[i].key, NULL, (uint64_t)timeouts[i].seconds);
	out_end(out);
}

static void show_disk_line(struct out *out, const struct nvmf_disk *disk, const char *print)
{
	char size[16];

	if (!print)
		out_line(out, "/dev/%s: %s, block size %u%s%s", disk->name,
			out_human(disk->size, size), disk->block,
			disk->wwid[0] ? ", /dev/disk/by-id/nvme-" : "", disk->wwid);
	else if (!strcmp(print, "by-id") && disk->wwid[0])
		out_line(out, "/dev/disk/by-id/nvme-%s", disk->wwid);
	else
		out_line(out, "/dev/%s", disk->name);
}

static void show_disk(struct out *out, const struct nvmf_disk *disk, const char *print)
{
	out_object(out, NULL);
	out_text(out, "device", NULL, "/dev/%s", disk->name);
	out_u64(out, "nsid", NULL, disk->nsid);
	out_u64(out, "size", NULL, disk->size);
	out_u64(out, "block_size", NULL, disk->block);
	if (disk->wwid[0])
		out_text(out, "by_id", NULL, "/dev/disk/by-id/nvme-%s", disk->wwid);
	if (!disk->joined)
		show_disk_line(out, disk, print);
	out_end(out);
}

void attach_nvme_show(struct out *out, const struct attach_nvme *nvme, const char *print)
{
	const struct nvmf_target *t = nvme->target;
	const struct nvmf_ctrl *ctrl = &nvme->ctrl;
	char text[512], loss[128];

	show_ctrl(out, nvme);
	out_list(out, "disks");
	for (unsigned i = 0; i < nvme->disks; i++)
		show_disk(out, &nvme->disk[i], print);
	out_end(out);
	if (!nvme->attach.no_wait && !nvme->disks)
		out_warn(&t->env->notes, "%s: no namespace is visible to this host",
			nvmf_target_text(t, text, sizeof(text)));
	if (print)
		return;
	out_line(out, "%s: %s%s, %s", ctrl->name, nvme->existed ? "already connected to " : "",
		nvmf_target_text(t, text, sizeof(text)), ctrl->state);
	if (ctrl->ctrl_loss_tmo == VALUE_UNKNOWN)
		return;
	policy_text(ctrl, loss, sizeof(loss));
	out_line(out, "%s: on connection loss: %s", ctrl->name, loss);
}
