/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* paths=auto: the queries have the time limit of the whole command, and its interruption ends it.
 */
/* Link: attach_run */
#include "attach_nvme.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>

static struct nvmf_target target = {
	.params.value = { [NVMF_TRANSPORT] = "tcp",
		[NVMF_TRADDR] = "10.0.0.1",
		[NVMF_NQN] = "nqn.t1" },
	.find_paths = true,
	.timeout_ms = 2000,
};
static struct nvmf_path *found;
static struct diag why;
static int failure;
static uint64_t deadline;

int __wrap_attach_run(struct loop *, struct attach *const *, unsigned, struct diag *);

int __wrap_attach_run(struct loop *loop, struct attach *const *list, unsigned n, struct diag *diag)
{
	(void)loop;
	(void)diag;
	cr_assert_eq(n, 1);
	deadline = list[0]->deadline;
	diag_set(&list[0]->why, DIAG_CLOSED, failure, "failed");
	return 0;
}

static int find(void)
{
	static const struct nvmf_options options;
	struct nvmf_target *list = &target;

	return nvmf_paths_find(NULL, -1, 5000, &options, &list, 1, &found, &why);
}

Test(nvme_paths, query_that_fails_is_a_result)
{
	failure = ECONNREFUSED;
	cr_assert_eq(find(), 0);
	cr_assert_eq(found->why.err, ECONNREFUSED);
	cr_assert_eq(deadline, 5000 + 2000 * 1000000ull, "from the begin of the command");
	nvmf_paths_free(found);
}

Test(nvme_paths, interrupted)
{
	failure = EINTR;
	cr_assert_eq(find(), -EINTR);
	diag_says(&why, DIAG_CLOSED, NULL, "failed");
	nvmf_paths_free(found);
}
