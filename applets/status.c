/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* status: what of other machines is attached to this one, and the RDMA devices. Looks only; changes nothing. */
#include "applet.h"
#include "export.h"
#include "kernel.h"
#include "status_show.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME_MS 5000 /* for the resolver; nothing else takes time */

struct status_options {
	struct opt_common common;
	bool gids;
};

static const struct opt rows[] = {
	{ "gids", 0, OPT_FLAG, offsetof(struct status_options, gids), NULL, "also the GIDs of the RDMA devices, in text" },
	{ 0 },
};

static const struct status_options defaults = { .common.timeout_ms = NAME_MS };

/* Only the driver tells of a ublk device who serves it. Where it may not be asked, that stays untold. */
static void ask_ublk(struct call *call, int root, struct kernel_list *list)
{
	struct loop *loop = NULL;
	int dev = -1;

	for (unsigned i = 0; i < list->links; i++) {
		struct list_link *link = &list->link[i];
		struct ublk_info info;
		unsigned number;

		if (strcmp(link->protocol, "ublk") || sscanf(link->name, "ublkb%u", &number) != 1)
			continue;
		if (!loop && loop_new(&loop, &call->loop, NULL))
			return;
		if (dev < 0 && (dev = kernel_ublk_open(root, NULL)) < 0)
			break;
		if (ublk_look(dev, loop, number, &info, NULL))
			continue;
		link->ours = info.ours;
		link->pid = info.live ? info.pid : 0;
		link->queues = info.queues;
		snprintf(link->state, sizeof(link->state), "%s", info.live ? "live" : "server-gone");
	}
	if (dev >= 0)
		close(dev);
	if (loop)
		loop_free(loop);
}

static int show(struct call *call, int root)
{
	const struct status_options *opts = call->opts;
	struct status_show what = { .verbose = opts->common.verbose, .gids = opts->gids, .all = !call->operands };
	struct identity who;
	struct kernel_list list;
	int err = kernel_list(root, &list, call->diag);

	if (!err && call->operands)
		err = kernel_list_select(root, &list, call->operand[0], opts->common.timeout_ms, call->diag);
	if (!err && opts->common.verbose) {
		err = kernel_identity(root, NULL, NULL, &who, call->diag);
		what.identity = &who;
	}
	if (!err) {
		ask_ublk(call, root, &list);
		status_show(call->out, &list, &what);
	}
	kernel_list_free(&list);
	return err;
}

static int run(struct call *call)
{
	int root = kernel_root(), err;

	if (root < 0)
		return diag_sys(call->diag, errno, "open /");
	err = show(call, root);
	close(root);
	return err ? err : EXIT_DONE;
}

const struct applet applet_status = {
	.name = "status",
	.operands = "[DEVICE|DIR|URI]",
	.schemes = SCHEME_NVMF | SCHEME_ISCSI | SCHEME_SRP | SCHEME_NFS,
	.summary = "list what is attached, and the RDMA devices",
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct status_options),
	.max = 1,
	.run = run,
};
