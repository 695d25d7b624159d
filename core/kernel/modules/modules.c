/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Load kernel modules: by modprobe, which knows the local rules, or file by file
 * (module_file.c). */
#include "modules.h"
#include "child.h"
#include "privilege.h"
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODPROBE_MS 5000
#define ATTEMPTS    8

static const char slow[] = "modprobe timed out after 5 s";

static bool real_root(int root)
{
	struct stat a, b;

	return fstat(root, &a) == 0 && stat("/", &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Why modules could not be loaded, for the time after this process has given up its rights. */
static struct attempt {
	char module[32];
	const char *why;
} attempts[ATTEMPTS];

static const char *remember(const char *module, const char *why)
{
	for (unsigned i = 0; i < ATTEMPTS; i++)
		if (!attempts[i].why || !strcmp(attempts[i].module, module)) {
			snprintf(attempts[i].module, sizeof(attempts[i].module), "%s", module);
			attempts[i].why = why;
			break;
		}
	return why;
}

static const char *earlier(const char *module)
{
	for (unsigned i = 0; i < ATTEMPTS && attempts[i].why; i++)
		if (!strcmp(attempts[i].module, module))
			return attempts[i].why;
	return "this process has given up the rights of root";
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
	if (privilege_dropped())
		return earlier(module);
	if (geteuid())
		return "only root can load it";
	rc = child_run(argv, MODPROBE_MS);
	if (rc == -ETIMEDOUT)
		return remember(module, slow);
	if (kernel_module_has_rule(root, module, false))
		return remember(module, "a rule in modprobe.d (install or alias) replaces it");
	return remember(module, kernel_module_load_files(root, module, text));
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
