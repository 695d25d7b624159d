/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a dry run reports of the kernel modules that the attachment needs. */
#include "applet.h"
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

void attach_show_missing(const struct call *call, int root, const char *const *modules)
{
	char release[128];

	if (kernel_release(root, release, sizeof(release)))
		return;
	out_list(call->out, "missing_modules");
	for (; *modules; modules++)
		if (is_missing(root, release, *modules)) {
			out_text(call->out, NULL, NULL, "%s", *modules);
			attach_warn_missing(call, *modules);
		}
	out_end(call->out);
}

void attach_warn_missing(const struct call *call, const char *module)
{
	call_warn_once(call, "kernel module %s is neither loaded nor installed", module);
}
