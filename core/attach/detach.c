/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Detach any number of connections at once, each with a result of its own. */
#include "attach_detach.h"
#include "attach_row.h"
#include <errno.h>

static void set_in_use(struct attach *attach, const char *verb)
{
	attach->why = (struct diag){ 0 };
	diag_set(&attach->why, DIAG_BUSY, EBUSY, "%s is in use: %s", attach->what, attach->users);
	diag_hint(&attach->why, "to %s anyway and lose unwritten data: --force", verb);
}

int attach_detach_all(const struct detach_options *options, struct attach *const *list,
	unsigned count, struct diag *diag)
{
	struct loop *loop;
	int err = loop_new(&loop, options->loop, diag);

	if (err)
		return err;
	for (unsigned i = 0; i < count; i++) {
		struct attach *attach = list[i];

		if (!attach)
			continue;
		attach->loop = loop;
		attach->deadline = options->deadline;
		attach->force = options->force;
		attach->find_only = options->dry_run;
		attach_detach(attach);
	}
	err = attach_run(loop, list, count, diag);
	loop_free(loop);
	for (unsigned i = 0; i < count && !err; i++)
		if (list[i] && list[i]->users[0])
			set_in_use(list[i], options->verb);
	return err;
}
