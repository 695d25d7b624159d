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
	uri_start(text, entry->iser ? "iser" : "iscsi", entry->host, entry->port);
	uri_add_name(text, entry->name);
	if (entry->lun != SCSI_LUN_ALL)
		uri_add_unit(text, entry->lun);
	if (entry->netdev[0])
		uri_add_key(text, "iface", entry->netdev);
}
