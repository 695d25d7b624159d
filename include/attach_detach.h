/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Detach connections of the kernel's initiators: which ones a user names, and all of them at once.
 */
#pragma once
#include "attach.h"
#include "kernel_nvmf.h"
#include "opt_list.h"

struct detach_options {
	const struct loop_options *loop;
	uint64_t deadline; /* of all, loop_clock(); 0: none */
	bool force;        /* also those in use */
	bool dry_run;      /* only find those in use; with force: none */
	/* what --force does "anyway", for the hint: "log out"; may be NULL with force */
	const char *verb;
};
/* Detach those of the list that are not NULL, on a loop of their own, and wait for all of them, as
 * attach_run(). The owner has zeroed each attachment and set .proto, .root, .what, and the fields
 * of the row that name the connection. The results are in .why, with .users if it was left alone.
 * Returns 0, or -errno if the loop could not be run. */
int attach_detach_all(
	const struct detach_options *, struct attach *const *, unsigned count, struct diag *);

/* Connections of the kernel's NVMe-oF initiator that match all of what the user names. */
struct nvmf_selection { /* zeroed, then set by the owner */
	const struct attach_env *env;
	int root;
	const char *operand; /* URI, NQN, controller or block device; NULL: none */
	/* options by enum nvmf_key, NULL: unset; ignored with a URI. Names of hosts are resolved,
	 * which may block. */
	const char *const *value;
	/* controllers and block devices, each item one or several, separated by commas; ignored
	 * with a URI */
	const struct opt_list *device;

	struct nvmf_ctrl *ctrl; /* the result, by number; the owner frees it, also on failure */
	unsigned count;
};
/* Fill in the result, which may be empty: a device that no longer exists selects nothing. -ENOENT:
 * a device is not one of an NVMe-oF connection; -EINVAL: an invalid URI or option; -E2BIG: too many
 * devices; or the error of a lookup. */
int nvmf_select(struct nvmf_selection *, struct diag *);

/* Of a list of SRP connections, keep those that the operands name, or without operands the options:
 * a URI, an add_target string, a host or a disk. A device that no longer exists names nothing.
 * -EINVAL: also if several connections by RDMA/CM lead to a controller that are not all named as
 * hosts, and not as many as the different addresses of the operands. */
struct srp_options;
struct kernel_srp;
int srp_select(int root, char *const *operand, unsigned operands, const struct srp_options *,
	struct kernel_srp *, unsigned *count, struct diag *);
