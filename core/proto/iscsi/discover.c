/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* List the targets of a portal; probe many portals. */
#include "chap.h"
#include "dial.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define AT_ONCE 16

const char *iscsi_carrier_name(enum iscsi_carrier carrier)
{
	return carrier == ISCSI_ISER ? "iser" : "tcp";
}

static uint64_t deadline(uint32_t timeout_ms)
{
	return timeout_ms ? loop_clock() + timeout_ms * MSEC : 0;
}

int iscsi_discover(struct loop *loop, const struct addr *addr, enum iscsi_carrier carrier,
	const struct iscsi_identity *from, uint32_t timeout_ms, struct iscsi_target_list *found,
	struct diag *diag)
{
	struct iscsi_discovery *discovery = calloc(1, sizeof(*discovery));
	int err = discovery ? iscsi_auth_check(&from->auth, diag)
			    : diag_sys(diag, ENOMEM, "discovery");

	*found = (struct iscsi_target_list){ 0 };
	if (!err) {
		*discovery = (struct iscsi_discovery){ .dial = { .loop = loop,
							       .from = from,
							       .portal = *addr,
							       .carrier = (uint8_t)carrier,
							       .until = deadline(timeout_ms) },
			.list = true };
		iscsi_discovery_start(discovery);
		loop_wait(loop, &discovery->complete, 0);
		err = -discovery->dial.why.err;
		if (err && diag)
			*diag = discovery->dial.why;
		else if (!err)
			err = iscsi_discovery_parse(discovery, found, diag);
		iscsi_discovery_end(discovery);
	}
	free(discovery);
	if (err)
		iscsi_target_list_free(found);
	return err;
}

void iscsi_record_uri(
	const struct iscsi_record *record, enum iscsi_carrier carrier, char uri[URI_MAX])
{
	uri_start(uri, carrier == ISCSI_ISER ? "iser" : "iscsi", record->host, record->port);
	uri_add_name(uri, record->name);
}

struct probing {
	struct iscsi_discovery *discovery;
	struct iscsi_probe *probe;
	unsigned count, started, ended;
	volatile int complete;
};

static void start(struct probing *probing)
{
	unsigned i = probing->started++;

	probing->discovery[i].dial.portal = probing->probe[i].addr;
	probing->discovery[i].dial.carrier = probing->probe[i].carrier;
	iscsi_discovery_start(&probing->discovery[i]);
}

static void done(struct iscsi_discovery *discovery)
{
	struct probing *probing = discovery->user;
	struct iscsi_probe *probe = &probing->probe[discovery - probing->discovery];

	probe->answers = discovery->dial.result.answers;
	probe->why = discovery->dial.why;
	memcpy(probe->route, discovery->dial.result.route, sizeof(probe->route));
	probing->complete = ++probing->ended == probing->count;
	if (probing->started < probing->count)
		start(probing);
}

int iscsi_probe(struct loop *loop, const struct iscsi_identity *from, struct iscsi_probe *probe,
	unsigned count, uint32_t timeout_ms, struct diag *diag)
{
	struct probing probing = { .probe = probe, .count = count };
	uint64_t until = deadline(timeout_ms);
	int err = iscsi_auth_check(&from->auth, diag);

	if (err || !count)
		return err;
	probing.discovery = calloc(count, sizeof(*probing.discovery));
	if (!probing.discovery)
		return diag_sys(diag, ENOMEM, "probing of portals");
	for (unsigned i = 0; i < count; i++)
		probing.discovery[i] = (struct iscsi_discovery){
			.dial = { .loop = loop, .from = from, .until = until },
			.done = done,
			.user = &probing
		};
	while (probing.started < count && probing.started < AT_ONCE)
		start(&probing);
	loop_wait(loop, &probing.complete, 0);
	for (unsigned i = 0; i < count; i++)
		iscsi_discovery_end(&probing.discovery[i]);
	free(probing.discovery);
	return 0;
}
