/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/boot */
/* Any iBFT: no reads beyond its bytes, and results are complete. */
#include "../../core/boot/ibft.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ibft *ibft = malloc(sizeof(*ibft));
	uint8_t *table = malloc(size ? size : 1);
	struct diag diag = { 0 };
	struct iscsi_boot_target entry;

	if (size)
		memcpy(table, data, size);
	if (kernel_ibft_table(table, size, ibft, &diag) ? diag.code != DIAG_PROTOCOL : diag.err)
		abort();
	if (ibft->nics > IBFT_NICS || ibft->targets > IBFT_TARGETS)
		abort();
	for (unsigned i = 0; i < ibft->targets; i++) {
		kernel_ibft_boot_target(ibft, &ibft->target[i], &entry);
		kernel_ibft_nic(ibft, &ibft->target[i]);
		if (!entry.name[0] || !entry.host[0] || !entry.port)
			abort();
	}
	free(table);
	free(ibft);
	return 0;
}
