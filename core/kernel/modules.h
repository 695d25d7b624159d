/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Kernel modules. */
#pragma once

/* Loads a module and what it needs. Gives why it cannot be there ("this kernel has no such module"); whether it is, is to be looked up
 * where it shows, as a built-in one cannot be loaded. */
const char *module_load(int root, const char *module);
