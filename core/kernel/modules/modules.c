/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Load kernel modules: by modprobe, which knows the local rules, or file by file
 * (module_file.c). */
#include "modules.h"
#include "child.h"
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODPROBE_MS 5000

static const char slow[] = "modprobe timed out after 5 s";

static bool real_root(int root)
{
	struct stat a, b;

	return fstat(root, &a) == 0 && stat("/", &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

const char *kernel_module_load(int root, const char *module)
{
	return kernel_module_load_with(root, module, NULL, 0);
}

const char *kernel_module_load_with(
	int root, const char *module, char *const *params, unsigned count)
{
	char *argv[MODULE_PARAMS + 4] = { "modprobe", "-q", (char *)module };
	char text[2048] = "";
	int rc;

	for (unsigned i = 0; i < count && i < MODULE_PARAMS; i++) {
		size_t at = strlen(text);

		argv[3 + i] = params[i];
		if ((size_t)snprintf(text + at, sizeof(text) - at, "%s%s", at ? " " : "",
			    params[i]) >= sizeof(text) - at)
			return "its parameters are too long";
	}
	if (!real_root(root))
		return "this is not the running system";
	if (geteuid())
		return "only root can load it";
	rc = child_run(argv, MODPROBE_MS);
	if (rc == -ETIMEDOUT)
		return slow;
	if (kernel_module_has_rule(root, module, false))
		return "a rule in modprobe.d (install or alias) replaces it";
	return kernel_module_load_files(root, module, text);
}

int kernel_module_errno(const char *why)
{
	return why == slow ? ETIMEDOUT : ENOENT;
}

int kernel_module_missing(const char *module, const char *why, struct diag *diag)
{
	return diag_set(diag, DIAG_NO_MODULE, kernel_module_errno(why),
		"kernel module %s is not loaded: %s", module, why);
}
