/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Allocate domain numbers, separately for each loop. */
#include "dom.h"
#include <errno.h>
#include <stdlib.h>

static const char local_key;

struct doms {
	struct loop_local local;
	bool used[POOL_DOMS];
};

static void doms_fini(struct loop_local *local)
{
	free(container_of(local, struct doms, local));
}

int dom_alloc(struct loop *loop, uint8_t *dom, struct diag *diag)
{
	struct loop_local *local = loop_local_find(loop, &local_key);
	struct doms *doms =
		local ? container_of(local, struct doms, local) : calloc(1, sizeof(*doms));

	if (!doms)
		return diag_sys(diag, ENOMEM, "RDMA device");
	if (!local) {
		doms->local = (struct loop_local){ .key = &local_key, .fini = doms_fini };
		loop_local_add(loop, &doms->local);
	}
	for (uint8_t i = 0; i < POOL_DOMS; i++)
		if (!doms->used[i]) {
			doms->used[i] = true;
			*dom = i;
			return 0;
		}
	return diag_set(
		diag, DIAG_UNSUPPORTED, ENOSPC, "more than %d RDMA devices at once", POOL_DOMS);
}

/* While the loop is being freed, the allocator may be gone already. */
void dom_free(struct loop *loop, uint8_t dom)
{
	struct loop_local *local = loop_local_find(loop, &local_key);

	if (local)
		container_of(local, struct doms, local)->used[dom] = false;
}
