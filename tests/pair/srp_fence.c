/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A disk over two paths to SRP targets over software iWARP. The network of one is cut with a write
 * that is stuck in the disk: its channels live on at the target, until a login by the other path
 * ends them. Targets that are not known to do so, other ones, and those that stall fence nothing,
 * and the write keeps the quiet time. */
/* Link: leap */
#include "fence_rig.h"
#include "wire/srp.h"

#define NAME "0000000000000009/0000000000000009"

typedef void forge_fn(unsigned from, uint8_t *bytes, size_t len);

/* As Linux's target answers. */
static void hide_instance(unsigned from, uint8_t *bytes, size_t len)
{
	uint8_t *at = memmem(bytes, len, SRP_INSTANCE_MAGIC, strlen(SRP_INSTANCE_MAGIC));

	if (from && at && at >= bytes + sizeof(struct srp_login_rsp) &&
		at[-(int)sizeof(struct srp_login_rsp)] == SRP_LOGIN_RSP)
		memset(at, 0, sizeof(struct srp_login_instance));
}

static void serve_other(void)
{
	struct target_options same = opt;

	memset(same.disk[0].uuid, 0, sizeof(same.disk[0].uuid));
	same.disk[0].uuid[7] = 9;
	cr_assert_eq(srp_serve(&other, loop, &same, 1000, &why), 0, "%s", why.text);
}

static void begin(bool two_targets, forge_fn *forge, struct write *old)
{
	char uri[200];

	two_lanes(TRANSPORT_IWARP);
	serving_start_srp();
	if (two_targets)
		serve_other();
	network_begin(&network[0], port_of(target));
	network_begin(&network[1], port_of(two_targets ? other : target));
	network[0].forge = network[1].forge = forge;
	snprintf(uri, sizeof(uri),
		"srp+cm://127.0.0.1:%u/" NAME "/0?path=127.0.0.1:%u&rdma=iwarp&crc=0",
		network[0].port, network[1].port);
	open_disk(uri, old);
}

Test(srp_fence, a_path_that_is_cut_is_fenced_by_another)
{
	struct write old;

	begin(false, NULL, &old);
	network_cut(&network[0]);
	lose_path();
	turns(1500); /* the connection closes in order, which the cut network delays */
	cr_assert_neq(backing->last, backing->stuck, "the copy is not behind the first one");
	cr_assert(old.over, "it waits for neither the first one nor the quiet time");
	proves_order(&old);
	end();
}

/* The target sees the end of the connection, but the disk has the write. */
Test(srp_fence, a_path_that_is_reset_is_fenced_by_another)
{
	struct write old;

	begin(false, NULL, &old);
	lose_path();
	proves_order(&old);
	end();
}

/* It would accept the login, which ends nothing. */
Test(srp_fence, another_target_of_the_same_name_fences_nothing)
{
	struct write old;

	begin(true, NULL, &old);
	network_cut(&network[0]);
	lose_path();
	keeps_quiet_time(&old);
	end();
}

Test(srp_fence, a_target_that_does_not_say_which_it_is_fences_nothing)
{
	struct write old;

	begin(false, hide_instance, &old);
	network_cut(&network[0]);
	lose_path();
	keeps_quiet_time(&old);
	end();
}

/* The path is reopened after the attempt to fence it, not before. */
Test(srp_fence, a_target_that_stalls_when_it_is_asked)
{
	struct write old;
	uint32_t attempts;

	begin(false, NULL, &old);
	attempts = paths->path[0].attempts;
	network_cut(&network[0]);
	network[1].mute = network[1].wires;
	lose_path();
	turns(1500);
	cr_assert_eq(paths->path[0].attempts, attempts);
	turns(1500);
	cr_assert_gt(paths->path[0].attempts, attempts);
	keeps_quiet_time(&old);
	end();
}
