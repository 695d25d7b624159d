/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The parts of the status output, as tables or JSON. */
#pragma once
#include "list.h"

void status_json(struct out *, const struct kernel_list *);
/* Prints nothing without processes. before: an earlier sample, for rates; may be NULL. */
void serving_text(struct out *, const struct kernel_serving *, const struct kernel_serving *before);
void serving_json(struct out *, const struct kernel_serving *);
/* The loss policy in the syntax of --on-loss; "" = unknown. */
const char *status_policy(const struct list_loss *, char text[24]);
/* "10.0.0.1:4420", "[fe80::1]:4420" */
#define STATUS_ADDRESS (ADDR_TEXT + 40)
const char *status_address(const char *host, const char *port, char text[STATUS_ADDRESS]);
const char *status_size(uint64_t bytes, char text[16]); /* "64MiB"; "" = 0 */
