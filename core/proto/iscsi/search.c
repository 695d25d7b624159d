/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* List the targets of a portal over iSER and TCP, merge both lists, and probe the listed portals.
 */
#include "dial.h"
#include <stdlib.h>
#include <string.h>

#define PROBE_MS 3000

int iscsi_search_list(struct iscsi_search *s, enum iscsi_carrier carrier)
{
	unsigned carriers = s->enabled[ISCSI_TCP] + s->enabled[ISCSI_ISER];

	return iscsi_discover(s->loop, &s->server, carrier, s->from,
		loop_left_ms(s->until, carriers), &s->found[carrier], &s->why[carrier]);
}

int iscsi_search_status(const struct iscsi_search *s, struct diag *diag)
{
	const struct diag *tcp = &s->why[ISCSI_TCP], *iser = &s->why[ISCSI_ISER];

	if ((s->enabled[ISCSI_TCP] && !tcp->err) || (s->enabled[ISCSI_ISER] && !iser->err))
		return 0;
	if (s->enabled[ISCSI_TCP] &&
		(!s->enabled[ISCSI_ISER] || iser->code == DIAG_NO_DEVICE ||
			iser->code == DIAG_NO_MODULE || tcp->code != DIAG_REFUSED))
		*diag = *tcp;
	else
		*diag = *iser;
	return -diag->err;
}

static bool same_portal(const struct iscsi_record *a, const struct iscsi_record *b)
{
	return !strcmp(a->host, b->host) && a->port == b->port;
}

static bool is_new(const struct iscsi_search *s, const struct iscsi_record *record)
{
	for (unsigned c = 0; c < ISCSI_CARRIERS; c++)
		for (unsigned i = 0; i < s->found[c].count; i++) {
			const struct iscsi_record *other = &s->found[c].record[i];

			if (other == record)
				return true;
			if (same_portal(record, other) && record->tpgt == other->tpgt &&
				!strcmp(record->name, other->name))
				return false;
		}
	return true;
}

const struct iscsi_record *iscsi_search_next(
	const struct iscsi_search *s, const struct iscsi_record *last)
{
	bool seen = !last;

	for (unsigned c = 0; c < ISCSI_CARRIERS; c++)
		for (unsigned i = 0; i < s->found[c].count; i++) {
			const struct iscsi_record *record = &s->found[c].record[i];

			if (seen && is_new(s, record))
				return record;
			seen |= record == last;
		}
	return NULL;
}

const struct iscsi_portal *iscsi_search_portal(
	const struct iscsi_search *s, const struct iscsi_record *record)
{
	for (unsigned i = 0; i < s->portals; i++)
		if (same_portal(record, s->portal[i].record))
			return &s->portal[i];
	return NULL;
}

static void add_portal(struct iscsi_search *s, const struct iscsi_record *record)
{
	struct iscsi_portal *portal = &s->portal[s->portals];
	struct addr addr;

	if (s->portals == ISCSI_SEARCH_PORTALS || iscsi_search_portal(s, record))
		return;
	portal->record = record;
	s->portals++;
	if (addr_resolve(
		    &addr, record->host, record->port, loop_left_ms(s->until, 4), &portal->why))
		return;
	for (unsigned c = 0; c < ISCSI_CARRIERS; c++) {
		if (!s->enabled[c])
			continue;
		portal->probe[c] = &s->probe[s->probes++];
		*portal->probe[c] = (struct iscsi_probe){ .addr = addr, .carrier = (uint8_t)c };
	}
}

int iscsi_search_probe(struct iscsi_search *s, struct diag *diag)
{
	uint32_t ms = loop_left_ms(s->until, 1);

	for (unsigned c = 0; c < ISCSI_CARRIERS; c++)
		for (unsigned i = 0; i < s->found[c].count; i++)
			add_portal(s, &s->found[c].record[i]);
	return iscsi_probe(
		s->loop, s->from, s->probe, s->probes, !ms || ms > PROBE_MS ? PROBE_MS : ms, diag);
}

static bool has_record(const struct iscsi_target_list *found, const struct iscsi_record *r)
{
	return found->count && r >= found->record && r < found->record + found->count;
}

enum iscsi_carrier iscsi_search_carrier(
	const struct iscsi_search *s, const struct iscsi_record *record)
{
	const struct iscsi_portal *portal = iscsi_search_portal(s, record);

	for (unsigned c = ISCSI_CARRIERS; portal && c-- > 0;)
		if (portal->probe[c] && portal->probe[c]->answers)
			return c;
	return has_record(&s->found[ISCSI_TCP], record) ? ISCSI_TCP : ISCSI_ISER;
}

void iscsi_search_free(struct iscsi_search *s)
{
	for (unsigned c = 0; c < ISCSI_CARRIERS; c++)
		iscsi_target_list_free(&s->found[c]);
}
