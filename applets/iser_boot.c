/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Targets of the kernel command line and the boot firmware, for iser-login; core/kernel parses
 * them. */
#include "iser_boot.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEC 1000000000ull

static bool tells_all(const struct call *call)
{
	const struct opt_common *common = call->opts;

	return call->loop.verbose || common->dry_run;
}

static void tell_notes(const struct call *call, const struct iscsi_wishes *w)
{
	for (const char *at = w->notes; (w->problems || tells_all(call)) && *at;) {
		size_t len = strcspn(at, "\n");

		call_note(call, "%.*s", (int)len, at);
		at += len + (at[len] == '\n');
	}
}

static bool is_setting(const char *param)
{
	for (unsigned i = 0; i < ISCSI_SETTINGS; i++) {
		size_t len = strlen(iscsi_setting[i].record);

		if (!strncmp(param, iscsi_setting[i].record, len) && param[len] == '=')
			return true;
	}
	return false;
}

static void tell_params(const struct call *call, const struct iscsi_wishes *w)
{
	for (unsigned i = 0; i < w->params; i++)
		if (!is_setting(w->param[i]))
			call_note(call, "rd.iscsi.param=%.*s is ignored: not a setting of sessions",
				(int)strcspn(w->param[i], "="), w->param[i]);
}

static void tell_sources(const struct call *call, const struct iscsi_wishes *w)
{
	if (!tells_all(call))
		return;
	if (w->initiator[0])
		call_note(call, "initiator name %s (%s)", w->initiator, w->initiator_from);
	for (unsigned i = 0; i < w->count; i++)
		call_note(call, "%s at %s (%s)", w->wish[i].name, w->wish[i].host, w->wish[i].from);
}

static void set_up_network(struct call *call, int root, struct iscsi_wishes *w)
{
	struct ibft *ibft = calloc(1, sizeof(*ibft));
	struct diag why = { 0 };

	if (!ibft || kernel_ibft(root, ibft, &why))
		goto done;
	for (unsigned i = 0; i < ibft->targets; i++) {
		const struct ibft_nic_info *nic = kernel_ibft_nic(ibft, &ibft->target[i]);

		why = (struct diag){ 0 };
		if (!nic || !kernel_ibft_network(root, nic, &ibft->target[i], &why))
			continue;
		w->problems++;
		call_note(call, "firmware network: %s", why.text);
	}
done:
	if (ibft)
		explicit_bzero(ibft, sizeof(*ibft));
	free(ibft);
}

int iser_boot_read(
	struct call *call, const struct iser_boot_words *words, int root, struct iscsi_wishes *w)
{
	const struct opt_common *common = call->opts;
	int err = words->ibft ? kernel_iscsi_firmware(root, w, call->diag)
			      : kernel_iscsi_wishes(root, w, call->diag);

	if (err)
		return err;
	tell_notes(call, w);
	tell_params(call, w);
	tell_sources(call, w);
	if (!w->count)
		return diag_set(call->diag, DIAG_NOT_FOUND, ENOENT,
			"no valid target in the boot configuration");
	if (w->network && !common->dry_run)
		set_up_network(call, root, w);
	return 0;
}

static bool unanswered(const struct iscsi_want *want)
{
	return want->why.err && want->why.err != EINTR && !want->answers && !want->existed;
}

static int try_once_more(struct loop *loop, int root, struct iscsi_want *want, unsigned count,
	uint64_t until, struct diag *diag)
{
	struct iscsi_want *again = calloc(count, sizeof(*again));
	unsigned tried = 0, back = 0;
	int err;

	if (!again)
		return diag_sys(diag, ENOMEM, "targets");
	for (unsigned i = 0; i < count; i++)
		if (unanswered(&want[i])) {
			again[tried] = want[i];
			again[tried++].why = (struct diag){ 0 };
		}
	err = iscsi_attach(loop, root, again, tried, until, diag);
	for (unsigned i = 0; i < count && !err; i++)
		if (unanswered(&want[i]))
			want[i] = again[back++];
	free(again);
	return err;
}

int iser_boot_again(struct loop *loop, int root, struct iscsi_want *want, unsigned count,
	const struct iscsi_wishes *w, uint64_t until, struct diag *diag)
{
	uint64_t begun = loop_clock();
	bool any = true;
	int err = 0;

	while (!err && any && (!until || loop_clock() + SEC < until)) {
		any = false;
		for (unsigned i = 0; i < count; i++) {
			uint64_t bound = begun + (uint64_t)w->retry_max *
							 (uint64_t)want[i].set.login_timeout * SEC;

			any |= unanswered(&want[i]) && loop_clock() + SEC < bound;
		}
		if (any && !sleep(1))
			err = try_once_more(loop, root, want, count, until, diag);
	}
	return err;
}
