/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print a wish as the URI (rdmastor-uri(7)) that applets accept. */
#include "kernel_iscsi_conf.h"
#include <stdio.h>
#include <string.h>

_Static_assert(URI_MAX > 100 + sizeof(((struct iscsi_wish *)0)->host) +
				 3 * (ISCSI_NAME_MAX + sizeof(((struct iscsi_wish *)0)->netdev)),
	"a wish fits, even with every byte escaped");

void kernel_iscsi_uri(const struct iscsi_wish *wish, char text[URI_MAX])
{
	bool v6 = strchr(wish->host, ':');
	char *to = text;

	to += sprintf(to, "%s://%s%s%s", wish->iser ? "iser" : "iscsi", v6 ? "[" : "", wish->host,
		v6 ? "]" : "");
	if (wish->port)
		to += sprintf(to, ":%u", wish->port);
	sprintf(to, "/");
	uri_encode_name(text, wish->name);
	if (wish->lun != ISCSI_WISH_NO_LUN)
		sprintf(text + strlen(text), "/%llu", (unsigned long long)wish->lun);
	if (wish->netdev[0]) {
		strcat(text, "?iface=");
		uri_encode(text, wish->netdev);
	}
}
