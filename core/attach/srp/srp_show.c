/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print SRP connections, existing and planned. */
#include "kernel_scsi.h"
#include "names.h"
#include "out.h"
#include "policy.h"
#include "srp_target.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *loss_text_of(const struct srp_tmo *tmo, char text[200])
{
	int fail = tmo->fast_io_fail_tmo, loss = tmo->dev_loss_tmo;
	size_t at;

	if (fail == 0)
		snprintf(text, 200, "I/O fails at once");
	else if (fail > 0)
		snprintf(text, 200, "I/O waits %d s, then fails", fail);
	else if (loss >= 0)
		snprintf(text, 200, "I/O waits until the disks are removed");
	else
		snprintf(text, 200, "I/O fails after a failed reconnect");
	at = strlen(text);
	if (tmo->reconnect_delay > 0)
		snprintf(text + at, 200 - at, ", reconnect every %d s", tmo->reconnect_delay);
	else
		snprintf(text + at, 200 - at, ", no reconnect");
	at = strlen(text);
	if (loss >= 0)
		snprintf(text + at, 200 - at, ", disks removed after %d s", loss);
	else
		snprintf(text + at, 200 - at, ", disks kept");
	return text;
}

static void show_seconds(struct out *out, const char *key, int seconds)
{
	if (seconds >= 0)
		out_u64(out, key, NULL, (uint64_t)seconds);
}

static void show_loss(struct out *out, const struct srp_tmo *tmo)
{
	int hold = tmo->fast_io_fail_tmo >= 0 ? tmo->fast_io_fail_tmo : tmo->dev_loss_tmo;
	char text[LOSS_TEXT];

	if (hold >= 0)
		out_text(out, "on_loss", NULL, "%s", loss_text(hold, text));
	out_object(out, "timeouts");
	show_seconds(out, "reconnect_seconds", tmo->reconnect_delay);
	show_seconds(out, "fail_seconds", tmo->fast_io_fail_tmo);
	show_seconds(out, "give_up_seconds", tmo->dev_loss_tmo);
	out_end(out);
}

/* "10.0.0.1:5555", "[fe80::1]:5555" */
static void show_dest(struct out *out, const char *dest)
{
	const char *colon = strrchr(dest, ':');
	bool v6 = dest[0] == '[';

	if (!colon)
		return;
	out_text(out, "traddr", NULL, "%.*s", (int)(colon - dest) - 2 * v6, dest + v6);
	out_text(out, "trsvcid", NULL, "%s", colon + 1);
}

static void show_host(struct out *out, const struct kernel_srp *host, const char *dest)
{
	out_text(out, "host", NULL, "%s", host->host);
	out_text(out, "id_ext", NULL, "%016" PRIx64, host->id_ext);
	out_text(out, "ioc_guid", NULL, "%016" PRIx64, host->ioc_guid);
	if (!host->by_cm) {
		char gid[33];

		out_text(out, "dgid", NULL, "%s", hex_text(gid, host->dgid, 16));
		out_text(out, "pkey", NULL, "%04x", host->pkey);
		out_text(out, "service_id", NULL, "%016" PRIx64, host->service_id);
	} else if (*dest) {
		show_dest(out, dest);
	}
	if (host->dev[0])
		out_text(out, "rdma_device", NULL, "%s", host->dev);
	if (host->port)
		out_u64(out, "rdma_port", NULL, host->port);
}

/* would: the timeouts that a dry run would set; NULL: none */
static void show_connection(struct out *out, const struct srp_target *target, const char *print,
	const struct srp_tmo *would)
{
	const struct attach_srp *srp = &target->srp;
	const struct kernel_srp *host = &srp->host;
	const char *dest = srp_target_address(&target->params);
	struct srp_rport rport;
	char text[200];
	bool has_rport = !kernel_srp_rport(
		srp->attach.root, (unsigned)kernel_srp_number(host->host), &rport);

	out_bool(out, "connected", NULL, true);
	out_bool(out, "existed", NULL, srp->existed);
	show_host(out, host, dest);
	if (has_rport) {
		out_text(out, "state", NULL, "%s", rport.state);
		show_loss(out, would ? would : &rport.tmo);
	}
	out_list(out, "luns");
	for (unsigned i = 0; i < srp->luns.count; i++)
		kernel_scsi_show(out, &srp->luns.list[i], print);
	out_end(out);
	if (print)
		return;
	out_line(out, "%s: %sconnected to %016" PRIx64 "%s%s from %s port %u, %s", host->host,
		srp->existed ? "already " : "", host->id_ext, *dest ? " at " : "", dest, host->dev,
		host->port, has_rport ? rport.state : "no remote port");
	if (has_rport)
		out_line(out, "%s: if the target is lost: %s", host->host,
			loss_text_of(&rport.tmo, text));
}

void srp_target_show(struct out *out, const struct srp_target *target, const char *print)
{
	show_connection(out, target, print, NULL);
}

/* ---- Dry runs. */

static void show_change(struct out *out, const struct srp_target *target)
{
	const struct attach_srp *srp = &target->srp;
	struct srp_rport rport;
	struct srp_tmo to;
	char text[200];
	bool would = srp->tmo_given && !kernel_srp_rport(srp->attach.root,
					       (unsigned)kernel_srp_number(srp->host.host), &rport);

	if (would)
		to = kernel_srp_tmo_merge(&srp->tmo, &rport.tmo);
	show_connection(out, target, NULL, would ? &to : NULL);
	if (would)
		out_line(out, "%s: would set: %s", srp->host.host, loss_text_of(&to, text));
}

/* The string for add_target is printed even if no port can be used. */
int srp_target_plan(struct out *out, const struct out_notes *notes, struct srp_target *target)
{
	const struct srp_params *params = &target->params;
	struct attach_srp *srp = &target->srp;
	char line[SRP_LINE], word[OUT_SHELL(SRP_LINE)], text[200], others[200],
		where[100] = "add_target of the port";
	struct diag no_port = { 0 };
	struct srp_local local;
	struct kernel_srp host;
	int existing;

	if (!srp->params) {
		show_change(out, target);
		return 0;
	}
	existing = srp_target_find(srp, &local, others, &host, &no_port, &srp->attach.why);
	if (existing < 0)
		return existing;
	if (no_port.err)
		out_warn(notes, "%s", no_port.text);
	else if (others[0])
		out_note(notes, "using %s port %u; select another with -i and -p: %s", local.dev,
			local.port, others);
	kernel_srp_line(params, line);
	out_bool(out, "connected", NULL, existing);
	out_bool(out, "existed", NULL, existing);
	if (existing)
		out_text(out, "host", NULL, "%s", host.host);
	if (local.dev[0]) {
		snprintf(where, sizeof(where), "srp-%s-%u/add_target", local.dev, local.port);
		out_text(out, "rdma_device", NULL, "%s", local.dev);
		out_u64(out, "rdma_port", NULL, local.port);
	}
	out_text(out, "add_target", NULL, "%s", line);
	show_loss(out, &srp->tmo);
	srp_target_text(params, text);
	if (existing)
		out_line(out, "%s: already connected as %s", text, host.host);
	else
		out_line(out, "%s: would connect by writing to %s:", text, where);
	if (!existing && !local.dev[0]) /* ports of ib_srp */
		attach_show_missing(
			out, notes, srp->attach.root, (const char *[]){ "ib_srp", NULL });
	out_line(out, "%s", out_shell(line, word, sizeof(word)));
	return 0;
}
