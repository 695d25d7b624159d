/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The two halves of serve: serve.c does it, serve_show.c says where it is to be had. */
#pragma once
#include "applet.h"
#include "kernel.h"
#include "nvmf_target.h"

#define NVME_PORT 4420

/* The connect lines of every subsystem on every way that is up. */
void serve_show(struct out *, const struct nvme_target *, const struct nvme_target_options *);
void serve_status(struct out *, const struct nvme_target *, const struct nvme_target_options *);
