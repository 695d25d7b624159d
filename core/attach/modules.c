/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a dry run reports of the kernel modules that the attachment needs. */
#include "attach.h"
#include "kernel_facts.h"
#include "out.h"

static bool is_missing(int root, const char *release, const char *module)
{
	switch (kernel_module_get_state(root, release, module)) {
	case KERNEL_MODULE_LOADED:
	case KERNEL_MODULE_INSTALLED:
	case KERNEL_MODULE_RULED:
		return false;
	case KERNEL_MODULE_DAMAGED:
	case KERNEL_MODULE_MISSING:
	case KERNEL_MODULES_MISSING:
		return true;
	}
	return false;
}

void attach_each_missing(int root, const char *const *modules,
	void (*each)(const char *module, void *arg), void *arg)
{
	char release[128];

	if (kernel_release(root, release, sizeof(release)))
		return;
	for (; *modules; modules++)
		if (is_missing(root, release, *modules))
			each(*modules, arg);
}

struct shown {
	struct out *out;
	const struct out_notes *notes;
};

static void show_missing(const char *module, void *arg)
{
	const struct shown *to = arg;

	out_text(to->out, NULL, NULL, "%s", module);
	attach_warn_missing(to->notes, module);
}

void attach_show_missing(
	struct out *out, const struct out_notes *notes, int root, const char *const *modules)
{
	struct shown to = { out, notes };

	out_list(out, "missing_modules");
	attach_each_missing(root, modules, show_missing, &to);
	out_end(out);
}

void attach_warn_missing(const struct out_notes *notes, const char *module)
{
	out_warn_once(notes, "kernel module %s is neither loaded nor installed", module);
}
