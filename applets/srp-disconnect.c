/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* srp-disconnect: end SRP connections of the kernel. */
#include "attach_detach.h"
#include "kernel_identity.h"
#include "loop.h"
#include "srp_rows.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 30000

struct disconnect_options {
	struct opt_common common;
	struct srp_options srp;
	bool all, force;
};

#define AT(field) offsetof(struct disconnect_options, field)
static const struct opt rows[] = {
	SRP_NAME_ROWS(struct disconnect_options),
	{ "all", 0, OPT_FLAG, AT(all), NULL,
		"every SRP connection except those of the root file system" },
	{ "force", 0, OPT_FLAG, AT(force), NULL,
		"also disks in use; fail I/O that waits for the target" },
	{ 0 },
};
#undef AT

static const struct disconnect_options defaults = { .common.timeout_ms = WAIT_MS };

struct chosen {
	struct kernel_srp *host;
	unsigned count;
	bool spared; /* --all left out those of the root file system */
};

static void spare_root(struct call *call, int root, struct chosen *chosen)
{
	unsigned count = 0;

	for (unsigned i = 0; i < chosen->count; i++) {
		if (kernel_scsi_has_root(root, (unsigned)kernel_srp_number(chosen->host[i].host)))
			call_note(call, "%s: skipped: the root file system is on it",
				chosen->host[i].host);
		else
			chosen->host[count++] = chosen->host[i];
	}
	chosen->spared = count < chosen->count;
	chosen->count = count;
}

static int choose(struct call *call, int root, struct chosen *chosen)
{
	const struct disconnect_options *opts = call->opts;
	int err = kernel_srp_list(root, &chosen->host, &chosen->count, call->diag);

	if (err || !opts->all)
		return err ? err
			   : srp_select(root, call->operand, call->operands, &opts->srp,
				     chosen->host, &chosen->count, call->diag);
	spare_root(call, root, chosen);
	return 0;
}

static int detach_all(struct call *call, int root, const struct chosen *chosen,
	struct attach_srp *list, struct attach **attach, unsigned *host)
{
	const struct disconnect_options *opts = call->opts;
	uint32_t ms = opts->common.timeout_ms;
	const struct detach_options how = { .loop = &call->loop,
		.deadline = ms ? loop_clock() + ms * MSEC : 0,
		.force = opts->force,
		.dry_run = opts->common.dry_run,
		.verb = "disconnect" };
	const struct scsi_hosts together = { host, chosen->count };
	int err;

	for (unsigned i = 0; i < chosen->count; i++)
		host[i] = (unsigned)kernel_srp_number(chosen->host[i].host);
	for (unsigned i = 0; i < chosen->count; i++) {
		list[i] = (struct attach_srp){ .attach = { .proto = &attach_srp_row, .root = root },
			.luns.together = together,
			.host = chosen->host[i] };
		attach[i] = &list[i].attach;
		snprintf(attach[i]->what, sizeof(attach[i]->what), "%s", chosen->host[i].host);
	}
	err = attach_detach_all(&how, attach, chosen->count, call->diag);
	for (unsigned i = 0; i < chosen->count; i++) {
		attach_luns_free(&list[i].luns);
		if (attach[i]->why.err && !attach[i]->users[0])
			diag_ctx(&attach[i]->why, "%s", attach[i]->what);
	}
	return err;
}

static void show(struct call *call, const struct kernel_srp *host, const struct diag *why)
{
	const struct disconnect_options *opts = call->opts;
	struct out *out = call->out;

	out_object(out, NULL);
	out_text(out, "host", NULL, "%s", host->host);
	out_text(out, "id_ext", NULL, "%016" PRIx64, host->id_ext);
	out_text(out, "ioc_guid", NULL, "%016" PRIx64, host->ioc_guid);
	if (host->dev[0])
		out_text(out, "rdma_device", NULL, "%s", host->dev);
	if (host->port)
		out_u64(out, "rdma_port", NULL, host->port);
	out_bool(out, "disconnected", NULL, !why && !opts->common.dry_run);
	if (why) {
		out_error(out, "error", why);
	} else {
		out_line(out, "%s: %s: target %016" PRIx64, host->host,
			opts->common.dry_run ? "would disconnect" : "disconnected", host->id_ext);
	}
	out_end(out);
}

/* The first failure is the command's. */
static int show_all(struct call *call, const struct chosen *chosen, const struct attach_srp *list)
{
	const struct disconnect_options *opts = call->opts;
	unsigned failed = 0;

	if (!chosen->count)
		out_line(call->out, "nothing to disconnect: no %sSRP connection%s",
			chosen->spared ? "other " : "", opts->all ? "" : " to this target");
	out_list(call->out, "results");
	for (unsigned i = 0; i < chosen->count; i++) {
		const struct diag *why = &list[i].attach.why;

		show(call, &chosen->host[i], why->err ? why : NULL);
		if (!why->err)
			continue;
		if (failed++)
			call_note(call, "%s: %s", chosen->host[i].host, why->text);
		else
			*call->diag = *why;
	}
	out_end(call->out);
	return !failed ? EXIT_DONE : failed < chosen->count ? EXIT_PARTLY : EXIT_FAILED;
}

static int end_all(struct call *call, int root, const struct chosen *chosen)
{
	struct attach_srp *list = calloc(chosen->count + 1, sizeof(*list));
	struct attach **attach = calloc(chosen->count + 1, sizeof(*attach));
	unsigned *host = calloc(chosen->count + 1, sizeof(*host));
	int err = list && attach && host ? 0 : diag_sys(call->diag, ENOMEM, "disconnect");

	if (!err)
		err = detach_all(call, root, chosen, list, attach, host);
	if (!err)
		err = show_all(call, chosen, list);
	free(list);
	free(attach);
	free(host);
	return err;
}

static int check_words(const struct call *call)
{
	const struct disconnect_options *opts = call->opts;
	bool named = call->operands || srp_options_name_target(&opts->srp);

	if (!named && !opts->all)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"no target given: expected a URI, an add_target string, "
			"a host (host6), a disk or --all");
	if (named && opts->all)
		return diag_set(
			call->diag, DIAG_USAGE, EINVAL, "--all and a target can't be combined");
	return 0;
}

static int run(struct call *call)
{
	struct chosen chosen = { 0 };
	int err = check_words(call), root;

	if (err)
		return err;
	root = kernel_root();
	if (root < 0)
		return diag_sys(call->diag, errno, "open /");
	if (call->operands == 1 && strstr(call->operand[0], "://"))
		out_text(call->out, "uri", NULL, "%s", call->operand[0]);
	err = choose(call, root, &chosen);
	if (!err)
		err = end_all(call, root, &chosen);
	free(chosen.host);
	close(root);
	if (call->diag->err && call->operands == 1)
		diag_ctx(call->diag, "%s", call->operand[0]);
	return err;
}

const struct applet applet_srp_disconnect = {
	.name = "srp-disconnect",
	.operands = "[URI|STRING|DEVICE]...",
	.schemes = SCHEME_SRP,
	.keys = srp_target_keys,
	.summary = "end SRP connections of the kernel",
	.opts = rows,
	.defaults = &defaults,
	.examples = "  rdmastor srp-disconnect /dev/sdb\n"
		    "  rdmastor srp-disconnect host6\n"
		    "  rdmastor srp-disconnect --all\n",
	.opts_size = sizeof(struct disconnect_options),
	.max = UINT8_MAX,
	.has_dry_run = true,
	.run = run,
};
