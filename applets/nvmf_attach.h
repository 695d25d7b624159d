/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One connection through the kernel, from options to a result. */
#pragma once
#include "attach_nvme.h"
#include "nvmf_want.h"

struct nvmf_attachment { /* stays where it is until it is over */
	struct attach_nvme nvme;
	const struct call *call;
	struct nvmf_target *target;
	bool named; /* notes name the target: there are several */
};
enum nvmf_attach_flag { NVMF_NO_WAIT = 1, NVMF_EXCLUSIVE = 2, NVMF_NAMED = 4 };

/* Ready for attach_start(): the owner sets deadlines and callbacks. */
void nvmf_attach_init(struct nvmf_attachment *, const struct call *, struct loop *, int root,
	struct nvmf_target *, unsigned flags);
/* The hint after a failure that the user can act on, beyond the frame's. */
void nvmf_attach_hint(struct nvmf_attachment *);
/* What would be done: text lines and members of the open JSON object. */
int nvmf_attach_plan(struct call *, int root, const struct nvmf_target *, struct diag *);
void nvmf_attach_show(struct call *, const struct nvmf_attachment *, const char *print);
/* "t1 at rdma 10.0.0.1:4420" */
const char *nvmf_target_text(const struct nvmf_target *, char *text, size_t len);

/* Several connections: one result each in the open JSON list. The first failure becomes that of the
 * command, which main prints; the others are notes. */
struct nvmf_results {
	struct call *call;
	unsigned succeeded, failed;
	struct diag first;
};
void nvmf_result_end(struct nvmf_results *, const char *uri, struct diag *why); /* err 0: success */
int nvmf_results_end(struct nvmf_results *); /* the exit status of the command */
