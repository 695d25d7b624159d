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

void attach_show_missing(
	struct out *out, const struct out_notes *notes, int root, const char *const *modules)
{
	char release[128];

	if (kernel_release(root, release, sizeof(release)))
		return;
	out_list(out, "missing_modules");
	for (; *modules; modules++)
		if (is_missing(root, release, *modules)) {
			out_text(out, NULL, NULL, "%s", *modules);
			attach_warn_missing(notes, *modules);
		}
	out_end(out);
}

void attach_warn_missing(const struct out_notes *notes, const char *module)
{
	out_warn_once(notes, "kernel module %s is neither loaded nor installed", module);
}
