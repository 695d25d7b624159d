/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/boot core/base */
/* Kernel command lines and Debian's iscsi.initramfs: parsed targets are complete, printed ones hold
 * no secret, an error is a usage error. */
#include "../../core/boot/iscsi_conf.h"
#include "uri.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const struct iscsi_boot_target *entry)
{
	if (!entry->name[0] || strlen(entry->name) > ISCSI_NAME_MAX || !entry->host[0] ||
		entry->firmware || !entry->from[0] || entry->tpgt > UINT16_MAX)
		abort();
	if (strnlen(entry->host, sizeof(entry->host)) == sizeof(entry->host) ||
		strnlen(entry->netdev, sizeof(entry->netdev)) == sizeof(entry->netdev))
		abort();
}

static void check_words(const char *cmdline, const char *debian)
{
	struct iscsi_boot_config w;
	struct diag diag = { 0 };
	int err = kernel_iscsi_cmdline(&w, cmdline, debian, &diag);

	if (err ? err != -diag.err || diag.code != DIAG_USAGE : diag.err)
		abort();
	if (strnlen(w.notes, sizeof(w.notes)) == sizeof(w.notes) || (w.problems && !w.notes[0]))
		abort();
	for (unsigned i = 0; i < w.count && !err; i++)
		check_entry(&w.entry[i]);
	for (unsigned i = 0; i < w.params; i++)
		if (!strchr(w.param[i], '='))
			abort();
	kernel_iscsi_boot_free(&w);
}

/* What is cut out of it before others see it leaves the same target, without its secrets where it
 * has users. */
static void check_string(char *text)
{
	struct iscsi_boot_target entry, hidden;
	struct diag diag = { 0 };

	if (!uri_is_iscsi(text) || strpbrk(text, " \t\n'\""))
		return;
	if (kernel_iscsi_string(text, &entry, &diag) ? diag.code != DIAG_USAGE
						     : !entry.firmware && !entry.name[0])
		abort();
	uri_hide(text);
	if (!diag.err && entry.secret[0][0] && !kernel_iscsi_string(text, &hidden, NULL) &&
		(hidden.secret[0][0] || hidden.secret[1][0]))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *second;

	memcpy(text, data, size);
	text[size] = 0;
	second = strchr(text, 1);
	if (second)
		*second++ = 0;
	check_words(text, second);
	check_string(text);
	free(text);
	return 0;
}
