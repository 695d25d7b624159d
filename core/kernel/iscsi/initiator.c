/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find the initiator name of this host, in the same places as open-iscsi. */
#include "kernel_identity.h"
#include "kernel_iscsi.h"
#include "kernel_sys.h"
#include "names.h"
#include "process/identity.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX IQN_OWN "uuid:"

static bool set_name(struct kernel_initiator *initiator, const char *name, const char *from)
{
	char known[sizeof(initiator->name)];

	iscsi_name_copy(known, name);
	if (strlen(name) > NAME_PLAIN_MAX || !iscsi_name_valid(known))
		return false;
	memcpy(initiator->name, known, sizeof(known));
	snprintf(initiator->from, sizeof(initiator->from), "%s", from);
	return true;
}

/* Find the last field of a text that begins with one of the keys. */
static bool last_of(char *text, const char *separators, const char *const *keys,
	struct kernel_initiator *initiator, const char *from)
{
	char *rest = text, *word;
	bool found = false;

	while (text && (word = strsep(&rest, separators))) {
		for (const char *const *key = keys; *key; key++) {
			char *value = word + strlen(*key);

			if (strncmp(word, *key, strlen(*key)))
				continue;
			value += strspn(value, " \t\"");
			value[strcspn(value, " \t\"")] = 0;
			found |= set_name(initiator, value, from);
		}
	}
	free(text);
	return found;
}

static bool from_firmware(int root, struct kernel_initiator *initiator)
{
	char name[256];

	return kernel_sys_read(root, name, sizeof(name),
		       "sys/firmware/ibft/initiator/initiator-name") > 0 &&
	       set_name(initiator, name, "iBFT");
}

int kernel_initiator(
	int root, const char *user_name, struct kernel_initiator *initiator, struct diag *diag)
{
	static const char *const file_keys[] = { "InitiatorName=", NULL };
	/* dracut's new and old names; Debian uses the old one */
	static const char *const params[] = { "rd.iscsi.initiator=", "iscsi_initiator=", NULL };
	char name[sizeof(PREFIX) + UUID_TEXT] = PREFIX;
	const char *from = "random";
	uint8_t id[16];

	*initiator = (struct kernel_initiator){ 0 };
	if (user_name)
		return set_name(initiator, user_name, "as given")
			       ? 0
			       : diag_set(diag, DIAG_USAGE, EINVAL,
					 "invalid initiator name '%s': expected iqn.*, eui.* or "
					 "naa.*, at most %d bytes without blanks",
					 user_name, NAME_PLAIN_MAX);
	if (last_of(kernel_sys_read_conf(root, "etc/iscsi/initiatorname.iscsi"), "\n", file_keys,
		    initiator, "/etc/iscsi/initiatorname.iscsi") ||
		last_of(kernel_sys_cmdline(root), " \t\n", params, initiator,
			"kernel command line") ||
		from_firmware(root, initiator))
		return 0;
	if (!kernel_identity_machine(root, id, &from)) {
		memcpy(id, kernel_identity_run(), sizeof(id));
		initiator->random = 1;
	}
	uuid_text(name + strlen(PREFIX), id);
	set_name(initiator, name, from);
	return 0;
}
