/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Several paths to one SRP target: which of them become separate initiators. */
#include "attach_srp.h"
#include <criterion/criterion.h>
#include <string.h>

#define GID_A "fe800000000000000002c90300a0b0c1"
#define GID_B "fe800000000000000002c90300a0b0c2"

static struct srp_target target[4];
static struct srp_target *list[4] = { &target[0], &target[1], &target[2], &target[3] };

static void set(unsigned i, const char *id_ext, const char *dgid, const char *dest)
{
	struct srp_target *t = &target[i];

	*t = (struct srp_target){ .srp.params = &t->params };
	strcpy(t->params.value[SRP_OPT_ID_EXT], id_ext);
	strcpy(t->params.value[SRP_OPT_IOC_GUID], "0002c90300a0b0c0");
	strcpy(t->params.value[SRP_OPT_DGID], dgid);
	strcpy(t->params.value[SRP_OPT_DEST], dest);
}

static const char *ext(unsigned i)
{
	return target[i].params.value[SRP_OPT_INITIATOR_EXT];
}

Test(srp_paths, over_infiniband)
{
	set(0, "1", GID_A, "");
	set(1, "0001", GID_B, "");
	set(2, "2", GID_A, "");
	srp_targets_separate(list, 3);
	cr_assert_str_eq(ext(0), "0002c90300a0b0c1", "the port's GUID, as srp_daemon -n");
	cr_assert_str_eq(ext(1), "0002c90300a0b0c2");
	cr_assert_str_eq(ext(2), "", "another target");
	cr_assert(srp_target_same(&target[0], &target[1]) &&
		  !srp_target_same(&target[0], &target[2]));
	cr_assert_eq(target[1].srp.nth, 0, "the kernel reports its GID");
}

/* In each order of the operands, also with one of them twice. */
Test(srp_paths, over_rdma_cm_in_any_order)
{
	static const char *const dest[4] = { "10.0.0.1:5555", "10.0.0.2:5555", "10.0.0.3:5555",
		"10.0.0.2:5555" };
	static const uint8_t order[][4] = { { 0, 1, 2, 3 }, { 2, 1, 0, 3 }, { 3, 2, 1, 0 } };
	char first[4][SRP_VALUE];

	for (unsigned o = 0; o < sizeof(order) / sizeof(*order); o++) {
		for (unsigned i = 0; i < 4; i++)
			set(i, "1", "", dest[order[o][i]]);
		srp_targets_separate(list, 4);
		for (unsigned i = 0; i < 4; i++) {
			unsigned path = order[o][i];

			if (!o)
				strcpy(first[path], ext(i));
			cr_assert_eq(strlen(ext(i)), 16);
			cr_assert_str_eq(ext(i), first[path]);
			cr_assert_eq(target[i].srp.nth, path == 3 ? 1 : path);
		}
	}
	cr_assert(strcmp(first[0], first[1]) && strcmp(first[1], first[2]) &&
		  strcmp(first[0], first[2]) && !strcmp(first[1], first[3]));
}

Test(srp_paths, that_are_separate_already)
{
	set(0, "1", GID_A, "");
	set(1, "1", GID_B, "");
	target[0].srp.dev = "mlx5_0";
	target[1].srp.dev = "mlx5_1";
	srp_targets_separate(list, 2);
	cr_assert_str_eq(ext(1), "", "through another port");
	target[1].srp.dev = "mlx5_0";
	target[0].srp.port = 1;
	target[1].srp.port = 2;
	srp_targets_separate(list, 2);
	cr_assert_str_eq(ext(1), "");
	target[1].srp.port = 1;
	strcpy(target[1].params.value[SRP_OPT_INITIATOR_EXT], "7");
	srp_targets_separate(list, 2);
	cr_assert_str_eq(ext(1), "7", "as the user has set it");
}

Test(srp_paths, twice_the_same_path)
{
	set(0, "1", GID_A, "");
	set(1, "1", GID_A, "");
	srp_targets_separate(list, 2);
	cr_assert_str_eq(ext(1), "");
	target[1].srp.params = NULL; /* a device */
	cr_assert(!srp_target_same(&target[0], &target[1]));
}
