/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the configuration of the running kernel. */
#include "child.h"
#include "kernel_facts.h"
#include "kernel_sys.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PACKED    "proc/config.gz"
#define UNPACK_MS 2000

/* gzip, also as an applet of busybox. */
static char *unpack(int root)
{
	int packed = openat(root, PACKED, O_RDONLY | O_CLOEXEC), config;
	char *text = NULL;
	ssize_t len = -1;

	if (packed < 0)
		return NULL;
	config = memfd_create("config", MFD_CLOEXEC);
	if (config >= 0 &&
		!child_filter((char *const[]){ "gzip", "-dc", NULL }, packed, config, UNPACK_MS))
		text = malloc(SYS_CONF_MAX + 1);
	if (text)
		len = pread(config, text, SYS_CONF_MAX, 0);
	close(packed);
	if (config >= 0)
		close(config);
	if (len > 0) {
		text[len] = 0;
		return text;
	}
	free(text);
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
