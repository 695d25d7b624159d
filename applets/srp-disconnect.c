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

static bool passes(const struct kernel_srp *host, const struct srp_target *target)
{
	const struct attach_srp *srp = &target->srp;

	if ((srp->dev && strcmp(srp->dev, host->dev)) || (srp->port && srp->port != host->port))
		return false;
	return kernel_srp_fits(host, &target->params, NULL);
}

static int ambiguous(const struct chosen *chosen, struct diag *diag)
{
	char text[200] = "";

	for (unsigned i = 0; i < chosen->count; i++) {
		size_t at = strlen(text);

		snprintf(text + at, sizeof(text) - at, "%s%s", i ? ", " : "", chosen->host[i].host);
	}
	diag_set(diag, DIAG_USAGE, EINVAL,
		"%s lead to this controller, and the kernel does not report their addresses", text);
	return diag_hint(diag, "name one of them or a disk: rdmastor srp-disconnect %s",
		chosen->host[0].host);
}

static int choose_target(struct call *call, struct chosen *chosen, const char *operand)
{
	const struct disconnect_options *opts = call->opts;
	struct srp_target *target = calloc(1, sizeof(*target));
	unsigned count = 0;
	int err;

	if (!target)
		return diag_sys(call->diag, ENOMEM, "target");
	target->word = operand;
	err = srp_target_read(target, &opts->srp, call->diag);
	if (!err && (!target->params.value[SRP_OPT_ID_EXT][0] ||
			    !target->params.value[SRP_OPT_IOC_GUID][0]))
		err = diag_set(call->diag, DIAG_USAGE, EINVAL,
			"no target given: id_ext and ioc_guid are required");
	for (unsigned i = 0; !err && i < chosen->count; i++)
		if (passes(&chosen->host[i], target))
			chosen->host[count++] = chosen->host[i];
	chosen->count = count;
	if (!err && count > 1)
		err = ambiguous(chosen, call->diag);
	free(target);
	return err;
}

static int choose_device(struct call *call, int root, struct chosen *chosen, const char *word)
{
	struct kernel_srp host;
	int err = srp_device_host(root, word, &host, call->diag);

	chosen->count = 0;
	if (err == -ENOENT && attach_is_gone(root, word)) {
		*call->diag = (struct diag){ 0 };
		return 0;
	}
	if (err)
		return err;
	chosen->host[0] = host;
	chosen->count = 1;
	return 0;
}

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
	const char *operand = call->operands ? call->operand[0] : NULL;
	int err = kernel_srp_list(root, &chosen->host, &chosen->count, call->diag);

	if (err)
		return err;
	if (opts->all) {
		spare_root(call, root, chosen);
		return 0;
	}
	return operand && srp_is_device(operand) ? choose_device(call, root, chosen, operand)
						 : choose_target(call, chosen, operand);
}

static int detach_all(struct call *call, int root, const struct chosen *chosen,
	struct attach_srp *list, struct attach **attach)
{
	const struct disconnect_options *opts = call->opts;
	uint32_t ms = opts->common.timeout_ms;
	const struct detach_options how = { .loop = &call->loop,
		.deadline = ms ? loop_clock() + ms * MSEC : 0,
		.force = opts->force,
		.dry_run = opts->common.dry_run,
		.verb = "disconnect" };
	int err;

	for (unsigned i = 0; i < chosen->count; i++) {
		list[i] = (struct attach_srp){ .attach = { .proto = &attach_srp_row, .root = root },
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
	int err = list && attach ? 0 : diag_sys(call->diag, ENOMEM, "disconnect");

	if (!err)
		err = detach_all(call, root, chosen, list, attach);
	if (!err)
		err = show_all(call, chosen, list);
	free(list);
	free(attach);
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
	if (call->operands && strstr(call->operand[0], "://"))
		out_text(call->out, "uri", NULL, "%s", call->operand[0]);
	err = choose(call, root, &chosen);
	if (!err)
		err = end_all(call, root, &chosen);
	free(chosen.host);
	close(root);
	if (call->diag->err && call->operands)
		diag_ctx(call->diag, "%s", call->operand[0]);
	return err;
}

const struct applet applet_srp_disconnect = {
	.name = "srp-disconnect",
	.operands = "[URI|STRING|DEVICE]",
	.schemes = SCHEME_SRP,
	.keys = srp_target_keys,
	.summary = "end SRP connections of the kernel",
	.opts = rows,
	.defaults = &defaults,
	.examples = "  rdmastor srp-disconnect /dev/sdb\n"
		    "  rdmastor srp-disconnect host6\n"
		    "  rdmastor srp-disconnect --all\n",
	.opts_size = sizeof(struct disconnect_options),
	.max = 1,
	.has_dry_run = true,
	.run = run,
};
