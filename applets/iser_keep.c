/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who logs in again, once sessions are made. */
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
		call_note(call, "nobody logs in again when a connection is lost: %s", why.text);
	else if (call->loop.verbose)
		call_note(call, "when a connection is lost, process %d logs in again (%s)", pid, err ? "iscsid" : "the keeper");
}
