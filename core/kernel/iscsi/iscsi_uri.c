/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print a boot target as a URI (rdmastor-uri(7)). */
#include "kernel_iscsi_conf.h"
#include <stdio.h>
#include <string.h>

_Static_assert(
	URI_MAX > 100 + sizeof(((struct iscsi_boot_target *)0)->host) +
			  3 * (ISCSI_NAME_MAX + sizeof(((struct iscsi_boot_target *)0)->netdev)),
	"a target fits, even with every byte escaped");

void kernel_iscsi_boot_uri(const struct iscsi_boot_target *entry, char text[URI_MAX])
{
	bool v6 = strchr(entry->host, ':');
	char *to = text;

	to += sprintf(to, "%s://%s%s%s", entry->iser ? "iser" : "iscsi", v6 ? "[" : "", entry->host,
		v6 ? "]" : "");
	if (entry->port)
		to += sprintf(to, ":%u", entry->port);
	sprintf(to, "/");
	uri_encode_name(text, entry->name);
	if (entry->lun != ISCSI_BOOT_NO_LUN)
		sprintf(text + strlen(text), "/%llu", (unsigned long long)entry->lun);
	if (entry->netdev[0]) {
		strcat(text, "?iface=");
		uri_encode(text, entry->netdev);
	}
}
