/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The suggestion if RDMA was not answered: NVMe/TCP, only if a target answers its ICReq in time. */
/* Link: leap */
#include "../fake/nvme_target.h"
#include "bdev.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>

#define MSEC 1000000ull

static struct tcp_target tt;
static struct diag why;
static const char *subnqn = "nqn.disk/1";

/* After such a failure of so long ago, over the fake target as it is set. */
static void suggest(const char *keys, enum diag_code code, unsigned ago_ms)
{
	static const struct loop_options options = { .name = "test" };
	const struct bdev_env env = { .hostnqn = "nqn.me", .timeout_ms = 400 };
	struct loop *loop;
	char text[200];

	cr_assert_eq(loop_new(&loop, &options, NULL), 0);
	target_init(&tt.target);
	tcp_target_start(&tt);
	snprintf(text, sizeof(text), "nvme+rdma://127.0.0.1:%u/%s%s", tt.port, subnqn, keys);
	why = (struct diag){ 0 };
	diag_set(&why, code, ENODEV, "no RDMA");
	bdev_suggest(loop, text, &env, loop_clock() - ago_ms * MSEC, &why);
	loop_free(loop);
	tcp_target_stop(&tt);
	target_fini(&tt.target);
}

static void suggests(const char *keys, enum diag_code code)
{
	char text[200];

	suggest(keys, code, 0);
	snprintf(text, sizeof(text), "nvme+tcp://127.0.0.1:%u/nqn.disk/1", tt.port);
	diag_says(&why, code, NULL, "no_RDMA NVMe/TCP");
	cr_assert_str_eq(why.hint, text);
}

static void suggests_nothing(const char *keys, enum diag_code code, unsigned ago_ms)
{
	suggest(keys, code, ago_ms);
	cr_assert_str_eq(why.text, "no RDMA");
	cr_assert_str_empty(why.hint);
}

Test(nvme_suggest, nobody_at_rdma)
{
	suggests("", DIAG_NO_DEVICE);
	suggests("", DIAG_NO_MODULE);
	suggests("?rdma=auto", DIAG_UNREACHABLE);
	suggests("?hostnqn=nqn.other", DIAG_REFUSED);
	suggests("", DIAG_TIMEOUT);
}

/* As it can be typed again. */
Test(nvme_suggest, the_path_is_encoded)
{
	char text[200];

	subnqn = "nqn.a%3Ab%20c%3Fd/1";
	suggest("", DIAG_NO_DEVICE, 0);
	snprintf(text, sizeof(text), "nvme+tcp://127.0.0.1:%u/nqn.a:b%%20c%%3Fd/1", tt.port);
	cr_assert_str_eq(why.hint, text);
}

Test(nvme_suggest, somebody_answered)
{
	suggests_nothing("", DIAG_NOT_FOUND, 0);
}
Test(nvme_suggest, one_way_only_was_wanted)
{
	suggests_nothing("?rdma=iwarp", DIAG_REFUSED, 0);
	suggests_nothing("?rdma=verbs", DIAG_REFUSED, 0);
	suggests_nothing("?dev=mlx5_0", DIAG_NO_DEVICE, 0);
}

Test(nvme_suggest, software_needs_no_device)
{
	suggest("?rdma=verbs", DIAG_NO_DEVICE, 0);
	diag_says(&why, DIAG_NO_DEVICE, NULL, "rdma=iwarp");
	suggest("?rdma=verbs", DIAG_NO_MODULE, 0);
	diag_says(&why, DIAG_NO_MODULE, NULL, "rdma=iwarp");
}

Test(nvme_suggest, no_time_is_left)
{
	suggests_nothing("", DIAG_TIMEOUT, 400);
	suggests_nothing("?timeout=0.1", DIAG_TIMEOUT, 101);
}

Test(nvme_suggest, what_listens_is_something_else)
{
	tt.evil = EVIL_GARBAGE;
	suggests_nothing("", DIAG_REFUSED, 0);
	tt.evil = EVIL_MUTE;
	suggests_nothing("", DIAG_REFUSED, 0);
}
