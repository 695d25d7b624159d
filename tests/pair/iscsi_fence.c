/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A disk over two paths to iSCSI targets. The network of one is cut with a write that is stuck in
 * the disk: the session lives on at its target, until the other path reinstates it. Targets that
 * don't know the session, lie or stall fence nothing, and the write keeps the quiet time. */
/* Link: leap */
#include "fence_rig.h"
#include "wire/iscsi.h"

/* Logins lose TSIH and CID. */
static void forget(unsigned from, uint8_t *bytes, size_t len)
{
	struct iscsi_login_req *req = (void *)bytes;

	if (from || len < ISCSI_BHS || ISCSI_OPCODE(req->opcode) != ISCSI_LOGIN_REQ)
		return;
	req->tsih = put_be16(0);
	req->cid = put_be16(0);
}

static void begin_with(unsigned transports, bool two_targets)
{
	two_lanes(transports);
	serving_start_iscsi();
	if (two_targets) {
		struct target_options same = opt;

		same.disk[0].name = SERVING_IQN;
		cr_assert_eq(iscsi_serve(&other, loop, &same, 1000, &why), 0, "%s", why.text);
	}
}

static void begin(bool two_targets, struct write *old)
{
	char uri[200];

	begin_with(TRANSPORT_TCP, two_targets);
	network_begin(&network[0], port_of(target));
	network_begin(&network[1], port_of(two_targets ? other : target));
	snprintf(uri, sizeof(uri), "iscsi://127.0.0.1:%u/" SERVING_IQN "/0?path=127.0.0.1:%u",
		network[0].port, network[1].port);
	open_disk(uri, old);
}

Test(iscsi_fence, a_path_that_is_cut_is_fenced_by_another)
{
	struct write old;

	begin(false, &old);
	network_cut(&network[0]);
	lose_path();
	turns(500);
	cr_assert_neq(backing->last, backing->stuck, "the copy is not behind the first one");
	cr_assert(old.over, "it waits for neither the first one nor the quiet time");
	proves_order(&old);
	end();
}

/* The target sees the end of the connection, but the disk has the write. */
static void ends_with_a_reset(unsigned transports, const char *scheme, const char *keys)
{
	struct write old;
	char uri[200];

	begin_with(transports, false);
	snprintf(uri, sizeof(uri), "%s://127.0.0.1:%u/" SERVING_IQN "/0?path=127.0.0.1:%u%s",
		scheme, port_of(target), port_of(target), keys);
	open_disk(uri, &old);
	lose_path();
	proves_order(&old);
	end();
}

Test(iscsi_fence, a_path_that_is_reset_is_fenced_by_another)
{
	ends_with_a_reset(TRANSPORT_TCP, "iscsi", "");
}
Test(iscsi_fence, over_iser)
{
	ends_with_a_reset(TRANSPORT_IWARP, "iser", "&rdma=iwarp");
}

/* The disk has ended the write and the target the session, but the host has not got the response.
 */
Test(iscsi_fence, a_session_that_the_target_has_ended_is_known_to_it)
{
	struct write old;

	begin(false, &old);
	network[0].mute = 0;
	backing->stuck = NULL;
	turns(100);
	cr_assert_not(old.over);
	lose_path();
	wait_for(&old, 1000);
	cr_assert_lt(old.over_ns, lost_ns + 2000 * MSEC, "it waits for the quiet time");
	end();
}

/* A server that does not know the session would accept its reinstatement, which fences nothing. */
Test(iscsi_fence, another_target_of_the_same_name_fences_nothing)
{
	struct write old;

	begin(true, &old);
	network_cut(&network[0]);
	lose_path();
	keeps_quiet_time(&old);
	end();
}

Test(iscsi_fence, a_target_that_ignores_what_it_is_asked_fences_nothing)
{
	struct write old;

	begin(false, &old);
	network_cut(&network[0]);
	network[1].forge = forget;
	lose_path();
	keeps_quiet_time(&old);
	end();
}

/* The path is reopened after the attempt to fence it, not before. */
static void stalls(unsigned answers)
{
	struct write old;
	uint32_t attempts;

	begin(false, &old);
	attempts = paths->path[0].attempts;
	network_cut(&network[0]);
	network[1].mute = network[1].wires + answers;
	lose_path();
	turns(1500);
	cr_assert_eq(paths->path[0].attempts, attempts);
	turns(1000);
	cr_assert_gt(paths->path[0].attempts, attempts);
	keeps_quiet_time(&old);
	end();
}

Test(iscsi_fence, a_target_that_stalls_when_it_is_asked)
{
	stalls(0);
}
Test(iscsi_fence, a_target_that_stalls_when_it_reinstates)
{
	stalls(1);
}
