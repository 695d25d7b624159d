/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What follows a login over iSER that fails: TCP, or retries. */
/* Link: leap */
#include "iscsi_logins.h"
#include "iscsi_kernel.h"
#include "kernel_iscsi.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEC     1000000000ull
#define SESSION "sys/devices/platform/host6/session1/iscsi_session/session1/"
#define CONN    "sys/class/iscsi_connection/connection1:0/"

static struct tree tree;
static struct loop *loop;
static struct diag why;
static struct iscsi_identity from = { .initiator = "iqn.x:me" };
static struct attach_iscsi job;
static struct iscsi_target target = { .spelling = "it", .any = true, .count = 1 };
static const struct attach_env env = { .notes.name = "test" };
static struct iscsi_logins logins;
static int listener;

/* A target that listens over TCP alone. */
static void setup(void)
{
	socklen_t len = sizeof(job.params.portal.ss);
	char handle[8];

	tree = tree_new();
	tree_dir(&tree, "sys/bus/scsi/drivers/sd");
	tree_dir(&tree, "sys/class/infiniband/mlx5_0");
	tree_file(&tree, "proc/crypto", "name : crc32c\n");
	tree_file(&tree, "sys/class/iscsi_transport/tcp/handle", "0\n");
	snprintf(handle, sizeof(handle), "%d\n", ISCSI_ISER);
	tree_file(&tree, "sys/class/iscsi_transport/iser/handle", handle);
	tree_file(&tree, "sys/class/scsi_host/host6/scan", "");
	tree_file(&tree, "sys/module/scsi_transport_iscsi/uevent", "");
	tree_file(&tree, "sys/class/scsi_device/6:0:0:1/device/type", "1\n");
	tree_file(&tree, SESSION "targetname", "iqn.x:t\n");
	tree_link(&tree, "sys/class/iscsi_session/session1",
		"../../devices/platform/host6/session1/iscsi_session/session1");
	iscsi_kernel_start();
	iscsi_kernel.code[ISCSI_IF_EP_POLL] = -ECONNREFUSED;
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	job.params = (struct iscsi_session_params){
		.target = "iqn.x:t", .tpgt = -1, .from = &from, .carrier = ISCSI_ISER
	};
	job.luns.lun = SCSI_LUN_ALL;
	job.due = true;
	iscsi_settings_init(&job.params.set);
	addr_parse(&job.params.portal, "127.0.0.1:0", 0, NULL);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(
		bind(listener, (struct sockaddr *)&job.params.portal.ss, job.params.portal.len), 0);
	cr_assert_eq(listen(listener, 9), 0);
	getsockname(listener, (struct sockaddr *)&job.params.portal.ss, &len);
	logins = (struct iscsi_logins){ .env = &env,
		.root = tree.root,
		.targets = { &target, 1 },
		.attach = &job,
		.count = 1 };
}

static void fini(void)
{
	attach_luns_free(&job.luns);
	loop_free(loop);
	iscsi_kernel_stop();
	close(listener);
	tree_free(&tree);
}
TestSuite(iscsi_logins, .init = setup, .fini = fini);

static void session(const char *state, const char *driver)
{
	char port[8];

	snprintf(port, sizeof(port), "%u\n", addr_port(&job.params.portal));
	tree_file(&tree, SESSION "state", state);
	tree_file(&tree, SESSION "target_state", "SCANNED\n");
	tree_file(&tree, CONN "persistent_address", "127.0.0.1\n");
	tree_file(&tree, CONN "persistent_port", port);
	tree_file(&tree, "sys/class/scsi_host/host6/proc_name", driver);
}

Test(iscsi_logins, tcp_where_nothing_answers_over_iser)
{
	tree_file(&tree, SESSION "state", "LOGGED_IN\n");
	tree_file(&tree, "sys/class/scsi_host/host6/proc_name", "iscsi_tcp\n");
	cr_assert_eq(iscsi_logins_run(&logins, loop, &why), 0);
	cr_assert(
		!job.attach.why.err && job.params.carrier == ISCSI_TCP, "%s", job.attach.why.text);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 1);
}

/* Its disks are in use, perhaps: they must not appear twice. */
Test(iscsi_logins, no_tcp_beside_a_lost_session_over_iser)
{
	session("FAILED\n", "iscsi_iser\n");
	cr_assert_eq(iscsi_logins_run(&logins, loop, &why), 0);
	cr_assert(job.existed && job.attach.why.err && job.params.carrier == ISCSI_ISER, "%s",
		job.attach.why.text);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_EP_CONNECT], 1);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_SESSION], 0);
	cr_assert_eq(iscsi_kernel.count[ISCSI_IF_CREATE_BOUND_SESSION], 0);
}

static void send_interrupt(struct loop_timer *timer)
{
	(void)timer;
	cr_assert_eq(kill(getpid(), SIGINT), 0);
}

Test(iscsi_logins, retries_end_by_a_signal)
{
	struct loop_timer timer = { .fire = send_interrupt };
	uint64_t begun = loop_clock();

	target.any = false;
	close(listener);
	job.params.carrier = ISCSI_TCP;
	logins.boot_config.retry_max = 100;
	loop_timer_set(loop, &timer, begun + SEC / 3);
	cr_assert_eq(iscsi_logins_run(&logins, loop, &why), 0);
	diag_says(&job.attach.why, DIAG_CLOSED, NULL, "interrupted");
	cr_assert(!iscsi_kernel.sessions && loop_clock() - begun < 30 * SEC);
}

/* As of all initiators: a lookup would block the loop. */
Test(iscsi_logins, the_own_address_is_not_a_name)
{
	static char uri[] = "iscsi://127.0.0.1/iqn.x:t?initiator=iqn.x:me&src=me.invalid";
	static const struct iscsi_login_options none;
	struct iscsi_logins read = { .env = &env,
		.operand = (char *[]){ uri },
		.operands = 1,
		.options = &none,
		.root = tree.root };

	cr_assert_eq(iscsi_logins_read(&read, &why), -EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, "src_'me.invalid' IP");
	iscsi_logins_free(&read);
}

static void keys_are_known(const char *uri)
{
	cr_assert_eq(uri_check_keys(uri, iscsi_logins_keys, &why), 0, "%s: %s", uri, why.text);
}

/* Also where the secret is known only with the values, or in the environment. */
Test(iscsi_logins, all_keys_are_known_without_their_values)
{
	keys_are_known("iscsi://joe@10.0.0.1/iqn.2024-01.x:d?secret-file=/etc/s&timeout=5");
	keys_are_known("iser://10.0.0.1/iqn.2024-01.x:d?target_user=joe&tpgt=1&sessions=2");
	setenv("LIBISCSI_CHAP_PASSWORD", "hush1hush1hush", 1);
	keys_are_known("iscsi://10.0.0.1/iqn.2024-01.x:d?user=joe&loss=60");
	cr_assert_eq(uri_check_keys("iscsi://joe@10.0.0.1/iqn.2024-01.x:d?secretfile=x",
			     iscsi_logins_keys, &why),
		-EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, "'secretfile' secret-file");
}

static bool is_unlimited(const char *uri)
{
	static const struct attach_env never = { .notes.quiet = true, .no_timeout = true };
	static const struct iscsi_login_options options;
	char *operand = (char *)uri;
	struct iscsi_logins read = { .env = &never,
		.operand = &operand,
		.operands = 1,
		.options = &options,
		.root = tree.root };
	bool unlimited;

	cr_assert_eq(iscsi_logins_read(&read, &why), 0, "%s", why.text);
	cr_assert_eq(read.count, 1);
	unlimited = read.attach->no_lookup_limit;
	iscsi_logins_free(&read);
	return unlimited;
}

Test(iscsi_logins, names_have_no_limit_with_timeout_0)
{
	cr_assert(is_unlimited("iscsi://mute/iqn.x:t"));
	cr_assert(!is_unlimited("iscsi://mute/iqn.x:t?timeout=5"));
	cr_assert(!is_unlimited("iscsi://mute/iqn.x:t?login-timeout=5"));
}
