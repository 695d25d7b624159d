/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The other addresses of a target: its portals, of all portal groups, as a discovery session
 * through the portal of a disk lists them (SendTargets, RFC 7143, appendix C). */
#include "ini.h"
#include "names.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct iscsi_portals {
	struct iscsi_portals **at;
	const struct iscsi_conf *conf;
	struct bdev_search *of;
	struct iscsi_discovery discovery;
};

static void report(const struct iscsi_portals *portals, const struct iscsi_target_list *list)
{
	for (unsigned i = 0; i < list->count; i++) {
		const struct iscsi_record *record = &list->record[i];
		char name[NAME_PLAIN_MAX + 1];

		iscsi_name_copy(name, record->name);
		if (!strcmp(name, portals->conf->target))
			portals->of->found(portals->of, record->host, record->port);
	}
}

static void listed(struct iscsi_discovery *discovery)
{
	struct iscsi_portals *portals = discovery->user;
	struct bdev_search *of = portals->of;
	struct iscsi_target_list list = { 0 };
	struct diag why = discovery->dial.why;

	if (!why.err && !iscsi_discovery_parse(discovery, &list, &why)) {
		report(portals, &list);
		why = list.skipped;
	}
	iscsi_target_list_free(&list);
	iscsi_portals_free(portals);
	of->done(of, &why);
}

void iscsi_portals_free(struct iscsi_portals *portals)
{
	if (!portals)
		return;
	iscsi_discovery_end(&portals->discovery);
	*portals->at = NULL;
	free(portals);
}

int iscsi_portals_start(struct iscsi_portals **at, struct scsi_disk *disk, struct bdev_search *of,
	struct diag *diag)
{
	const struct iscsi_sess *sess = (const struct iscsi_sess *)disk->sess;
	struct iscsi_portals *portals = calloc(1, sizeof(*portals));

	if (!portals)
		return diag_sys(diag, ENOMEM, "list of portals");
	of->at = sess->dial.portal;
	of->default_port = ISCSI_PORT;
	portals->at = at;
	portals->conf = sess->conf;
	portals->of = of;
	portals->discovery = (struct iscsi_discovery){ .dial = { .loop = disk->bdev.loop,
							       .from = &sess->conf->from,
							       .portal = of->at,
							       .carrier = sess->carrier->id,
							       .until = of->until },
		.list = true,
		.conf = sess->conf,
		.done = listed,
		.user = portals };
	*at = portals;
	iscsi_discovery_start(&portals->discovery);
	return 0;
}
