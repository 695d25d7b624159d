/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* include/iscsi.h: one portal asked for all it knows, many for whether they answer. */
#include "chap.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MSEC    1000000ull
#define AT_ONCE 16

const char *iscsi_carrier_word(enum iscsi_carrier carrier)
{
	return carrier == ISCSI_ISER ? "iser" : "tcp";
}

static uint64_t deadline(uint32_t timeout_ms)
{
	return timeout_ms ? loop_clock() + timeout_ms * MSEC : 0;
}

int iscsi_discover(struct loop *loop, const struct addr *addr, enum iscsi_carrier carrier,
	const struct iscsi_from *from, uint32_t timeout_ms, struct iscsi_found *found,
	struct diag *diag)
{
	struct iscsi_ask *ask = calloc(1, sizeof(*ask));
	int err = ask ? iscsi_auth_check(&from->auth, diag) : diag_sys(diag, ENOMEM, "discovery");

	*found = (struct iscsi_found){ 0 };
	if (!err) {
		*ask = (struct iscsi_ask){ .dial = { .loop = loop,
						   .from = from,
						   .portal = *addr,
						   .carrier = (uint8_t)carrier,
						   .until = deadline(timeout_ms) },
			.list = true };
		iscsi_ask_start(ask);
		loop_wait(loop, &ask->over, 0);
		err = -ask->dial.why.err;
		if (err && diag)
			*diag = ask->dial.why;
		else if (!err)
			err = iscsi_ask_found(ask, found, diag);
		iscsi_ask_end(ask);
	}
	free(ask);
	if (err)
		iscsi_found_free(found);
	return err;
}

void iscsi_record_uri(
	const struct iscsi_record *record, enum iscsi_carrier carrier, char uri[URI_MAX])
{
	bool v6 = strchr(record->host, ':');

	snprintf(uri, URI_MAX, "%s://%s%s%s:%u/", carrier == ISCSI_ISER ? "iser" : "iscsi",
		v6 ? "[" : "", record->host, v6 ? "]" : "", record->port);
	uri_encode_name(uri, record->name);
}

struct probing {
	struct iscsi_ask *ask;
	struct iscsi_probe *probe;
	unsigned count, started, ended;
	volatile int over;
};

static void start(struct probing *probing)
{
	unsigned i = probing->started++;

	probing->ask[i].dial.portal = probing->probe[i].addr;
	probing->ask[i].dial.carrier = probing->probe[i].carrier;
	iscsi_ask_start(&probing->ask[i]);
}

static void done(struct iscsi_ask *ask)
{
	struct probing *probing = ask->user;
	struct iscsi_probe *probe = &probing->probe[ask - probing->ask];

	probe->answers = ask->dial.result.answers;
	probe->why = ask->dial.why;
	memcpy(probe->way, ask->dial.result.way, sizeof(probe->way));
	probing->over = ++probing->ended == probing->count;
	if (probing->started < probing->count)
		start(probing);
}

int iscsi_probe(struct loop *loop, const struct iscsi_from *from, struct iscsi_probe *probe,
	unsigned count, uint32_t timeout_ms, struct diag *diag)
{
	struct probing probing = { .probe = probe, .count = count };
	uint64_t until = deadline(timeout_ms);
	int err = iscsi_auth_check(&from->auth, diag);

	if (err || !count)
		return err;
	probing.ask = calloc(count, sizeof(*probing.ask));
	if (!probing.ask)
		return diag_sys(diag, ENOMEM, "probing of portals");
	for (unsigned i = 0; i < count; i++)
		probing.ask[i] =
			(struct iscsi_ask){ .dial = { .loop = loop, .from = from, .until = until },
				.done = done,
				.user = &probing };
	while (probing.started < count && probing.started < AT_ONCE)
		start(&probing);
	loop_wait(loop, &probing.over, 0);
	for (unsigned i = 0; i < count; i++)
		iscsi_ask_end(&probing.ask[i]);
	free(probing.ask);
	return 0;
}
