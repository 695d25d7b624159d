/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Allocate domain numbers, separately for each loop. */
#include "dom.h"
#include <errno.h>
#include <stdlib.h>

static const char attic_key;

struct doms {
	struct loop_attic attic;
	bool taken[POOL_DOMS];
};

static void doms_fini(struct loop_attic *attic)
{
	free(container_of(attic, struct doms, attic));
}

int dom_take(struct loop *loop, uint8_t *dom, struct diag *diag)
{
	struct loop_attic *attic = loop_attic_find(loop, &attic_key);
	struct doms *doms =
		attic ? container_of(attic, struct doms, attic) : calloc(1, sizeof(*doms));

	if (!doms)
		return diag_sys(diag, ENOMEM, "RDMA device");
	if (!attic) {
		doms->attic = (struct loop_attic){ .key = &attic_key, .fini = doms_fini };
		loop_attic_add(loop, &doms->attic);
	}
	for (uint8_t i = 0; i < POOL_DOMS; i++)
		if (!doms->taken[i]) {
			doms->taken[i] = true;
			*dom = i;
			return 0;
		}
	return diag_set(
		diag, DIAG_UNSUPPORTED, ENOSPC, "more than %d RDMA devices at once", POOL_DOMS);
}

/* While the loop is being freed, the allocator may be gone already. */
void dom_give(struct loop *loop, uint8_t dom)
{
	struct loop_attic *attic = loop_attic_find(loop, &attic_key);

	if (attic)
		container_of(attic, struct doms, attic)->taken[dom] = false;
}
