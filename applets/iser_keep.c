/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Start the keeper of iSCSI sessions. */
#include "iser_keep.h"
#include "iscsi_keeper.h"
#include <errno.h>
#include <string.h>

void iser_keep(const struct call *call, int root, const char *word)
{
	struct diag why = { 0 };
	int pid, err;

	if (word && !strcmp(word, "off"))
		return;
	err = iscsi_keeper_start(root, &pid, &why);
	if (err && err != -EALREADY)
		call_note(call, "lost connections will not be restored: %s", why.text);
	else if (call->loop.verbose)
		call_note(call, "process %d (%s) restores lost connections", pid,
			err ? "iscsid" : "the keeper");
}
