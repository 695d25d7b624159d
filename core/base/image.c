/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Recognise formats of disk images and archives by their first bytes. */
#include "image.h"
#include "out.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAGIC(bytes) bytes, sizeof(bytes) - 1

static const struct format {
	const char *magic;
	uint8_t len;
	const char *name, *tool; /* tool: the decompressor; NULL: qemu-nbd -f NAME reads it */
} formats[] = {
	{ MAGIC("QFI\xfb\0\0\0\1"), "qcow", NULL },
	{ MAGIC("QFI\xfb"), "qcow2", NULL },
	{ MAGIC("KDMV"), "vmdk", NULL },
	{ MAGIC("COWD"), "vmdk", NULL },
	{ MAGIC("# Disk DescriptorFile"), "vmdk", NULL },
	{ MAGIC("vhdxfile"), "vhdx", NULL },
	{ MAGIC("\x28\xb5\x2f\xfd"), "zstd", "zstd" },
	{ MAGIC("\x1f\x8b\x08"), "gzip", "gzip" },
	{ MAGIC("\xfd\x37zXZ\0"), "xz", "xz" },
};

#define LONGEST 200 /* more would not fit into a hint */

/* Quote the path for a command that can be pasted; "FILE" if it is too long. */
static const char *word(const char *path, char text[OUT_SHELL(LONGEST)])
{
	return strlen(path) <= LONGEST &&
			       strlen(out_shell(path, text, OUT_SHELL(LONGEST))) <= LONGEST
		       ? text
		       : "FILE";
}

void image_header(const uint8_t *head, size_t len, const char *path, struct diag *why)
{
	for (unsigned i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		const struct format *f = &formats[i];
		char text[OUT_SHELL(LONGEST)];

		if (len < f->len || memcmp(head, f->magic, f->len))
			continue;
		diag_set(why, DIAG_MISMATCH, EMEDIUMTYPE, "has a%s %s header but is opened as raw",
			f->name[0] == 'x' ? "n" : "", f->name);
		if (f->tool)
			diag_hint(why, "%s -dc %s | rdmastor copy - DESTINATION", f->tool,
				word(path, text));
		else
			diag_hint(why,
				"qemu-nbd -t -f %s -k /tmp/disk.sock %s, then use "
				"nbd+unix:///?socket=/tmp/disk.sock",
				f->name, word(path, text));
		return;
	}
}
