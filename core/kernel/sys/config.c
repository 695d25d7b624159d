/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the configuration of the running kernel. */
#include "inflate.h"
#include "kernel_facts.h"
#include "sys.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PACKED "proc/config.gz"

static char *unpack(int root)
{
	uint8_t *packed = malloc(SYS_CONF_MAX);
	char *text = malloc(SYS_CONF_MAX + 1);
	ssize_t len = packed && text ? kernel_sys_read_bytes(root, PACKED, packed, SYS_CONF_MAX)
				     : -ENOMEM;

	if (len >= 0)
		len = kernel_gunzip(packed, (size_t)len, (uint8_t *)text, SYS_CONF_MAX);
	free(packed);
	if (len >= 0) {
		text[len] = 0;
		return text;
	}
	free(text);
	errno = (int)-len;
	return NULL;
}

char *kernel_config(int root, const char *release, char *from, size_t len)
{
	static const char *const paths[] = { "boot/config-%.80s", "lib/modules/%.80s/config",
		"usr/lib/modules/%.80s/config" };
	char *text = unpack(root);

	snprintf(from, len, "/" PACKED);
	for (unsigned i = 0; !text && release[0] && i < 3; i++) {
		char path[128];

		snprintf(path, sizeof(path), paths[i], release);
		snprintf(from, len, "/%s", path);
		text = kernel_sys_read_conf(root, path);
	}
	return text;
}

char kernel_config_value(const char *config, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = config; (at = strstr(at, "CONFIG_")); at += 7)
		if ((at == config || at[-1] == '\n') && !strncmp(at + 7, name, len) &&
			at[7 + len] == '=')
			return at[8 + len] == 'm' ? 'm' : 'y';
	return 'n';
}
