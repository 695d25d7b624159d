/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Several paths to one target: each is an initiator port of its own, as a login ends the session of
 * the same pair of ports (SRP r16a, 6.2). */
#include "attach_multipath.h"
#include "srp_target.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hex(const char *text)
{
	return strtoull(text, NULL, 16);
}

static const char *value(const struct srp_target *target, enum srp_opt key)
{
	return target->params.value[key];
}

bool srp_target_same(const struct srp_target *a, const struct srp_target *b)
{
	return a->srp.params && b->srp.params &&
	       hex(value(a, SRP_OPT_ID_EXT)) == hex(value(b, SRP_OPT_ID_EXT)) &&
	       hex(value(a, SRP_OPT_IOC_GUID)) == hex(value(b, SRP_OPT_IOC_GUID));
}

static bool same_local_port(const struct attach_srp *a, const struct attach_srp *b)
{
	return !(a->dev && b->dev && strcmp(a->dev, b->dev)) &&
	       !(a->port && b->port && a->port != b->port);
}

bool srp_target_same_path(const struct srp_target *a, const struct srp_target *b)
{
	return !strcmp(value(a, SRP_OPT_DEST), value(b, SRP_OPT_DEST)) &&
	       !strcmp(value(a, SRP_OPT_DGID), value(b, SRP_OPT_DGID)) && a->srp.lid == b->srp.lid;
}

/* The GUID of the target's port, as srp_daemon takes; without one a number that depends only on its
 * address, so that the same command finds the connection again (FNV-1a). */
static uint64_t extension(const struct srp_target *target)
{
	const char *gid = value(target, SRP_OPT_DGID);
	uint64_t hash = 0xcbf29ce484222325;
	char address[SRP_VALUE + 8];

	if (strlen(gid) == 32)
		return hex(gid + 16);
	snprintf(address, sizeof(address), "%s %u", value(target, SRP_OPT_DEST), target->srp.lid);
	for (const char *at = address; *at; at++)
		hash = (hash ^ (uint8_t)*at) * 0x100000001b3;
	return hash;
}

static bool is_new_path(struct srp_target *const *target, unsigned i)
{
	for (unsigned j = 0; j < i; j++)
		if (srp_target_same(target[j], target[i]) &&
			srp_target_same_path(target[j], target[i]))
			return false;
	return true;
}

/* Whether target i is one of several paths through a local port. Counts those before it by address,
 * which is the order in which connections at unknown addresses are assigned. */
static bool is_one_of_several(struct srp_target *const *target, unsigned count, unsigned i)
{
	const char *dest = value(target[i], SRP_OPT_DEST), *other;
	bool several = false;

	for (unsigned j = 0; j < count; j++) {
		if (!srp_target_same(target[j], target[i]) ||
			srp_target_same_path(target[j], target[i]))
			continue;
		several |= same_local_port(&target[j]->srp, &target[i]->srp);
		other = value(target[j], SRP_OPT_DEST);
		target[i]->srp.nth +=
			dest[0] && other[0] && strcmp(other, dest) < 0 && is_new_path(target, j);
	}
	return several;
}

void srp_targets_separate(struct srp_target *const *target, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		char *ext = target[i]->params.value[SRP_OPT_INITIATOR_EXT];

		if (is_one_of_several(target, count, i) && !ext[0])
			snprintf(ext, SRP_VALUE, "%016" PRIx64, extension(target[i]));
	}
}

int attach_srp_add_paths(struct multipath *mp, struct srp_target *target, struct diag *diag)
{
	struct attach_srp *srp = &target->srp;

	snprintf(target->name, sizeof(target->name), "%016" PRIx64 "/%016" PRIx64,
		srp->host.ioc_guid, srp->host.id_ext);
	return multipath_add_luns(mp, srp->host.host, target->name, &srp->luns, diag);
}
