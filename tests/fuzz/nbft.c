/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/boot */
/* A table of arbitrary bytes with a valid checksum: no read beyond it, and the result is
 * consistent. */
#include "uapi/nbft.h"
#include "../../core/boot/nbft_table.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nbft *nbft = malloc(sizeof(*nbft));
	uint8_t *table = malloc(size ? size : 1);
	struct nbft_header *header = (void *)table;
	struct diag diag = { 0 };
	uint8_t sum = 0;
	size_t len;

	if (size)
		memcpy(table, data, size);
	if (size >= sizeof(*header)) {
		len = get_le32(header->length) < size ? get_le32(header->length) : size;
		header->checksum = 0;
		for (size_t i = 0; i < len; i++)
			sum += table[i];
		header->checksum = (uint8_t)-sum;
	}
	if (kernel_nbft_table(table, size, nbft, &diag) ? diag.code != DIAG_PROTOCOL : diag.err)
		abort();
	if (nbft->hfis > NBFT_LIST || nbft->ssnses > NBFT_LIST || nbft->discoveries > NBFT_LIST ||
		nbft->securities > NBFT_LIST || nbft->damages > NBFT_LIST)
		abort();
	for (unsigned i = 0; i < nbft->ssnses; i++) {
		const struct nbft_ssns_info *ssns = &nbft->ssns[i];

		if (!ssns->nqn[0] || !ssns->addr[0] || !ssns->hfis)
			abort();
		for (unsigned n = 0; n < ssns->hfis; n++)
			if (!kernel_nbft_hfi(nbft, ssns->hfi[n]))
				abort();
	}
	free(table);
	free(nbft);
	return 0;
}
