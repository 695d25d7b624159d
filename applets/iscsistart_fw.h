/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What iscsistart does with the firmware's table: -f and -N. Both give a status, and the reason in
 * call->diag. */
#pragma once
#include "iscsistart_words.h"
#include "kernel_iscsi_conf.h"

int start_print(struct call *, int root);
int start_network(struct call *, int root);
