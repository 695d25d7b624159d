/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Load kernel modules. */
#pragma once
#include "diag.h"
#include "kernel_facts.h"
#include <stdbool.h>
#include <stddef.h>

/* Load it with parameters "name=value", which have no effect if it is already loaded. */
#define MODULE_PARAMS 32
const char *kernel_module_load_with(
	int root, const char *module, char *const *params, unsigned count);

/* Set the error for an absent module, with the reason of kernel_module_load(). -ETIMEDOUT: modprobe
 * was too slow, so a retry may help; else -ENOENT. */
int kernel_module_missing(const char *module, const char *why, struct diag *);

/* Load it without modprobe; params are separated by blanks. */
const char *kernel_module_load_files(int root, const char *module, const char *params);
/* Whether it is built in according to modules.builtin; such a module may not show up anywhere
 * else. */
bool kernel_module_built_in(int root, const char *release, const char *module);
/* Whether local rules (modprobe.d(5)) affect loading: "install MODULE COMMAND", often /bin/false to
 * prevent it; or, unless it is only a dependency (`needed`), "alias MODULE OTHER", often off. Both
 * support patterns. A blacklist only applies to loading by device. */
bool kernel_module_has_rule(int root, const char *module, bool needed);
/* Get the options of "options MODULE …", which supports no patterns, followed by `params`, which
 * take precedence. */
void kernel_module_options(
	int root, const char *module, const char *params, char *text, size_t len);
#define MODULE_FILES 64
/* List the files that kernel_module_load_files() loads, in this order, as paths below the root; '-'
 * and '_' in the name are equivalent. Returns their number; -ENOENT: no such module; -ENODATA: no
 * modules.dep of this release; -E2BIG. */
int kernel_module_files(
	int root, const char *release, const char *module, char *path[MODULE_FILES]);
void kernel_module_files_free(char *path[MODULE_FILES], int count);

/* Set the error for a missing module of RDMA, and why it could not be loaded; module NULL: only a
 * device may be missing. */
int kernel_rdma_missing(int root, const char *module, const char *why, struct diag *diag);
