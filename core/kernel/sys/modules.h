/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Kernel modules. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stddef.h>

/* Loads a module and what it needs. Gives why it cannot be there ("no such module for this
 * kernel"); whether it is, is to be looked up where it shows, as a built-in one cannot be loaded.
 */
const char *kernel_module_load(int root, const char *module);
/* With parameters, "name=value", which one that is loaded already does not get. */
#define MODULE_PARAMS 32
const char *kernel_module_load_with(
	int root, const char *module, char *const *params, unsigned count);

/* The same without modprobe; params between blanks. */
const char *kernel_module_load_files(int root, const char *module, const char *params);
/* It is in the kernel itself, by modules.builtin: such a one may show nowhere. */
bool kernel_module_built_in(int root, const char *release, const char *module);
/* The machine has its own word for loading it (modprobe.d(5)): "install MODULE COMMAND", often
 * /bin/false, so that nobody does; or, unless another only needs it, "alias MODULE OTHER", often
 * off. Both take patterns; a blacklist is for devices that ask for a driver. */
bool kernel_module_has_rule(int root, const char *module, bool needed);
/* What "options MODULE …" says, which takes no pattern, and `params`, which come last, as they win.
 */
void kernel_module_options(
	int root, const char *module, const char *params, char *text, size_t len);
#define MODULE_FILES 64
/* What kernel_module_load_files() loads, in this order, as paths below the root; '-' and '_' in the
 * name are the same. Their number, or -ENOENT: there is no such module, -ENODATA: no modules.dep of
 * this release, -E2BIG. */
int kernel_module_files(
	int root, const char *release, const char *module, char *path[MODULE_FILES]);
void kernel_module_files_free(char *path[MODULE_FILES], int count);

/* The module that RDMA lacks, and why it could not be loaded; NULL: it lacks a device only. */
int kernel_rdma_lacks(int root, const char *module, const char *why, struct diag *diag);
