/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/boot core/attach */
/* Configuration in all its forms, and the kernel command line: whatever they hold, entries are
 * whole and an error is a usage error. */
#include "../../core/boot/nvme_conf.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct nvmf_entries *all, int err, const struct diag *diag)
{
	if (err ? err != -diag->err || diag->code != DIAG_USAGE : diag->err)
		abort();
	if (strlen(all->notes) >= sizeof(all->notes))
		abort();
	for (unsigned i = 0; i < all->count; i++) {
		struct nvmf_params params = { 0 };

		memcpy(params.value, all->entry[i].value, sizeof(params.value));
		kernel_nvmf_check(&params, NULL);
		if (!all->entry[i].from[0])
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nvmf_entries all = { 0 };
	struct diag diag = { 0 };
	char *text;
	int err;

	if (!size)
		return 0;
	text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	switch (data[0] % 4) {
	case 0:
		err = kernel_nvmf_conf_lines(&all, text, "conf", &diag);
		break;
	case 1:
		err = kernel_nvmf_conf_json(&all, text, "conf", &diag);
		break;
	case 2:
		err = kernel_nvmf_conf_ini(&all, text, "conf", &diag);
		break;
	default:
		err = kernel_nvmf_conf_cmdline(&all, text, &diag);
	}
	check(&all, err, &diag);
	kernel_nvmf_conf_free(&all);
	free(text);
	return 0;
}
