/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which part of RDMA is missing, on trees of files. */
#include "kernel_rdma.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static void missing(const struct tree *tree, enum diag_code code, const char *words)
{
	struct diag diag = { 0 };

	cr_assert(kernel_rdma_ready(tree->root, &diag) < 0);
	diag_says(&diag, code, NULL, words);
	text_says(diag.hint, code == DIAG_NO_DEVICE ? "rdma_link_add" : "");
}

Test(rdma, each_missing_part_is_named_in_turn)
{
	struct tree tree = tree_new();
	struct diag diag = { 0 };

	missing(&tree, DIAG_NO_MODULE, "no_RDMA_device ib_core");
	tree_dir(&tree, "sys/class/infiniband");
	missing(&tree, DIAG_NO_MODULE, "ib_uverbs");
	tree_dir(&tree, "sys/class/infiniband_verbs");
	missing(&tree, DIAG_NO_MODULE, "rdma_ucm");
	tree_dir(&tree, "sys/class/misc/rdma_cm");
	missing(&tree, DIAG_NO_DEVICE, "RDMA");
	tree_dir(&tree, "sys/class/infiniband/rxe0");
	cr_assert_eq(kernel_rdma_ready(tree.root, &diag), 0, "%s", diag.text);
	tree_free(&tree);
}
