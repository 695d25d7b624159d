/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Check whether two paths lead to the same disk, and whether a later path meets the limits
 * announced when the disk was opened. */
#include "names.h"
#include "paths.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct name { /* one of the identifiers a disk may have */
	const char *what;
	size_t at, len;
};

static const struct name names[] = {
	{ "NGUID", offsetof(struct bdev_id, nguid), 16 },
	{ "UUID", offsetof(struct bdev_id, uuid), 16 },
	{ "EUI-64", offsetof(struct bdev_id, eui64), 8 },
};

static const uint8_t *name_of(const struct bdev_id *id, const struct name *name)
{
	static const uint8_t zero[16];
	const uint8_t *bytes = (const uint8_t *)id + name->at;

	return memcmp(bytes, zero, name->len) ? bytes : NULL;
}

int paths_same_disk(
	const struct bdev_id *known, const struct bdev_id *id, bool reattached, struct diag *diag)
{
	unsigned same = 0, any = 0;

	for (const struct name *name = names; name < names + sizeof(names) / sizeof(*names);
		name++) {
		const uint8_t *was = name_of(known, name), *is = name_of(id, name);
		char one[33], other[33];

		any += was || is;
		if (!was || !is)
			continue;
		if (memcmp(was, is, name->len))
			return diag_set(diag, DIAG_MISMATCH, ENXIO,
				"another disk: its %s is %s, not %s", name->what,
				hex_text(one, is, name->len), hex_text(other, was, name->len));
		same++;
	}
	/* a URI was reopened whose disk never had an identifier: trust the URI */
	if (same || (reattached && !any))
		return 0;
	return diag_set(diag, DIAG_MISMATCH, ENXIO,
		"can't verify that it is the same disk: no NGUID, UUID or EUI-64 in common");
}

void paths_narrow(struct bdev_limits *lim, const struct bdev_limits *leaf)
{
	if (leaf->size < lim->size)
		lim->size = leaf->size;
	if (leaf->best > lim->best)
		lim->best = leaf->best;
	for (unsigned kind = 0; kind < IO_KINDS; kind++)
		if (leaf->max[kind] < lim->max[kind])
			lim->max[kind] = leaf->max[kind];
	if (leaf->io_size > lim->io_size)
		lim->io_size = leaf->io_size;
	if (leaf->lanes < lim->lanes)
		lim->lanes = leaf->lanes;
	if (leaf->depth < lim->depth)
		lim->depth = leaf->depth;
	if (leaf->quiesce_ms > lim->quiesce_ms)
		lim->quiesce_ms = leaf->quiesce_ms;
	lim->ro |= leaf->ro;
	lim->ro_disk |= leaf->ro_disk;
	lim->fua &= leaf->fua;
}

int paths_fit(const struct paths *paths, const struct bdev_limits *leaf, struct diag *diag)
{
	static const char *const kinds[IO_KINDS] = { "read", "write", "flush", "trim", "zero",
		"map", "compare and write" };
	const struct bdev_limits *lim = &paths->bdev.lim;
	unsigned lanes = 0;

	if (leaf->block != lim->block)
		return diag_set(diag, DIAG_MISMATCH, ENXIO, "block size is now %u instead of %u",
			leaf->block, lim->block);
	if (leaf->size < lim->size)
		return diag_set(diag, DIAG_MISMATCH, ENXIO,
			"size is now %llu bytes, less than %llu", (unsigned long long)leaf->size,
			(unsigned long long)lim->size);
	if (leaf->ro && !lim->ro)
		return diag_set(diag, DIAG_MISMATCH, EROFS, "now read-only");
	if (lim->fua && !leaf->fua)
		return diag_set(diag, DIAG_MISMATCH, ENXIO,
			"forced unit access (FUA) is no longer supported");
	for (unsigned kind = 0; kind < IO_KINDS; kind++)
		if (leaf->max[kind] < lim->max[kind])
			return diag_set(diag, DIAG_MISMATCH, ENXIO,
				"largest %s is now %u bytes instead of %u", kinds[kind],
				leaf->max[kind], lim->max[kind]);
	for (const struct paths_lane *pl = paths->lanes; pl; pl = pl->next)
		lanes++;
	if (leaf->lanes < lanes)
		return diag_set(diag, DIAG_MISMATCH, ENXIO,
			"queue limit is now %u, but %u are open", leaf->lanes, lanes);
	if (leaf->io_size > paths->leaf_io_size)
		return diag_set(diag, DIAG_MISMATCH, ENXIO,
			"needs %u bytes per request, but only %u are reserved", leaf->io_size,
			paths->leaf_io_size);
	return 0;
}
