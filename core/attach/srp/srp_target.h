/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the files about SRP targets of the command line share. */
#pragma once
#include "attach_srp.h"

const char *srp_target_address(const struct srp_params *); /* GID or HOST:PORT; "": unknown */
/* Return "0002c903004ed0b2 at fe80…:0002c903004ed0b3", "… at 10.0.0.1:5555". */
const char *srp_target_text(const struct srp_params *, char text[200]);
