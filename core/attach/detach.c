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

static void find_users(struct attach *attach)
{
	struct attach_users found = { 0 };

	attach->proto->users(attach, attach->root, &found);
	memcpy(attach->users, found.text, sizeof(attach->users));
}

int attach_detach_all(const struct detach_options *options, struct attach *const *list,
	unsigned count, struct diag *diag)
{
	struct loop *loop = NULL;
	int err = options->dry_run ? 0 : loop_new(&loop, options->loop, diag);

	for (unsigned i = 0; i < count && !err; i++) {
		struct attach *attach = list[i];

		if (!attach)
			continue;
		attach->loop = loop;
		attach->deadline = options->deadline;
		attach->force = options->force;
		if (!options->dry_run)
			attach_detach(attach);
		else if (!options->force)
			find_users(attach);
	}
	if (!err && !options->dry_run)
		err = attach_run(loop, list, count, diag);
	loop_free(loop);
	for (unsigned i = 0; i < count && !err; i++)
		if (list[i] && list[i]->users[0])
			set_in_use(list[i], options->verb);
	return err;
}
