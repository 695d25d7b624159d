/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The module of the kernel's SRP initiator and its parameters. */
#include "kernel_srp.h"
#include "kernel_sys.h"
#include "modules/modules.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CLASS  "sys/class/infiniband_srp"
#define MODULE "sys/module/ib_srp"

bool kernel_srp_loaded(int root)
{
	return kernel_sys_exists(root, CLASS);
}

int kernel_srp_ready(int root, struct diag *diag)
{
	const char *why = NULL;

	if (!kernel_sys_exists(root, CLASS))
		why = kernel_module_load(root, "ib_srp");
	if (kernel_sys_exists(root, CLASS))
		return 0;
	return kernel_module_missing("ib_srp", why, diag);
}

struct shown {
	int root;
	void (*each)(const char *name, const char *value, void *arg);
	void *arg;
};

static void show(const char *name, void *arg)
{
	const struct shown *shown = arg;
	char value[64];

	if (kernel_sys_read(shown->root, value, sizeof(value), MODULE "/parameters/%.60s", name) >=
		0)
		shown->each(name, value, shown->arg);
}

void kernel_srp_module_params(
	int root, void (*each)(const char *name, const char *value, void *arg), void *arg)
{
	struct shown shown = { .root = root, .each = each, .arg = arg };

	kernel_sys_list(root, MODULE "/parameters", show, &shown);
}

static bool is_name(const char *text, size_t len)
{
	return len && len < 40 && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") >= len;
}

static bool says_yes(const char *value)
{
	return !strcmp(value, "Y") || !strcmp(value, "y") || !strcmp(value, "1");
}

/* -EALREADY: the module is loaded with another value. */
static int compare(int root, const char *param, struct diag *diag)
{
	size_t len = strcspn(param, "=");
	const char *value = param + len + 1;
	char now[64];
	bool flag;

	if (kernel_sys_read(root, now, sizeof(now), MODULE "/parameters/%.*s", (int)len, param) < 0)
		return diag_set(diag, DIAG_NOT_FOUND, ENOENT, "ib_srp has no parameter '%.*s'",
			(int)len, param);
	flag = !strcmp(now, "Y") || !strcmp(now, "N");
	if (flag ? says_yes(now) == says_yes(value) : !strcmp(now, value))
		return 0;
	diag_set(diag, DIAG_BUSY, EALREADY, "ib_srp is already loaded with %.*s=%s", (int)len,
		param, now);
	return diag_hint(diag, "if nothing is connected, unload it with: modprobe -r ib_srp");
}

int kernel_srp_load(int root, char *const *params, unsigned count, bool *loaded, struct diag *diag)
{
	const char *why;
	int err = 0;

	for (unsigned i = 0; i < count; i++) {
		size_t len = strcspn(params[i], "=");

		if (!is_name(params[i], len) || !params[i][len] || strpbrk(params[i], " \t\n\""))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"invalid --module-param '%s': expected NAME=VALUE", params[i]);
	}
	*loaded = !kernel_sys_exists(root, CLASS);
	if (!*loaded || !count) {
		err = kernel_srp_ready(root, diag);
	} else {
		why = kernel_module_load_with(root, "ib_srp", params, count);
		if (!kernel_sys_exists(root, CLASS))
			return kernel_module_missing("ib_srp", why, diag);
	}
	for (unsigned i = 0; !err && i < count; i++)
		err = compare(root, params[i], diag);
	return err;
}
