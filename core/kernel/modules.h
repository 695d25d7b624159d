/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Kernel modules. */
#pragma once
#include <stdbool.h>

/* Loads a module and what it needs. Gives why it cannot be there ("this kernel has no such module"); whether it is, is to be looked up
 * where it shows, as a built-in one cannot be loaded. */
const char *module_load(int root, const char *module);
/* With parameters, "name=value", which one that is loaded already does not get. */
#define MODULE_PARAMS 32
const char *module_load_with(int root, const char *module, char *const *params, unsigned count);

/* The same without modprobe; params between blanks. */
const char *module_load_files(int root, const char *module, const char *params);
/* It is in the kernel itself, by modules.builtin: such a one may show nowhere. */
bool module_built_in(int root, const char *release, const char *module);
/* The machine has its own word for loading it, "install MODULE COMMAND" (modprobe.d(5)): often /bin/false, so that nobody does. */
bool module_has_rule(int root, const char *module);
#define MODULE_FILES 64
/* What module_load_files() loads, in this order, as paths below the root; '-' and '_' in the name are the same. Their number, or -ENOENT:
 * there is no such module, -ENODATA: no modules.dep of this release, -E2BIG. */
int module_files(int root, const char *release, const char *module, char *path[MODULE_FILES]);
void module_files_free(char *path[MODULE_FILES], int count);
