/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Disks of every kind in one boot: what a dry run finds and reports, without a process for any. */
/* Link: fork leap resolve_start kernel_module_load */
#include "boot_kind.h"
#include "kernel_iscsi_conf.h"
#include "resolve.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARAMS                                                                                     \
	"rd.nvmf.discover=tcp,127.0.0.1,,1 netroot=iscsi:127.0.0.1::3261:2:iqn.2024-01.a:x "       \
	"netroot=iser:127.0.0.2::::iqn.2024-01.a:y netroot=iscsi:3260 "                            \
	"root=nfs:127.0.0.1:/srv:rdma"

static struct tree tree;
static struct boot boot;
static struct boot_params params;
static unsigned forks, retries, lookups, loads;

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void)
{
	forks++;
	return __real_fork();
}

const char *__wrap_kernel_module_load(int root, const char *module);
const char *__wrap_kernel_module_load(int root, const char *module)
{
	(void)root;
	(void)module;
	loads++;
	return "none here";
}

int __real_resolve_start(struct resolve *, struct loop *, const char *host, uint16_t port,
	uint32_t timeout_ms, struct diag *);
int __wrap_resolve_start(struct resolve *, struct loop *, const char *host, uint16_t port,
	uint32_t timeout_ms, struct diag *);

/* Two names: one is never answered, the name server of the other one is down. */
int __wrap_resolve_start(struct resolve *r, struct loop *loop, const char *host, uint16_t port,
	uint32_t timeout_ms, struct diag *diag)
{
	struct diag why = { 0 };

	if (!strcmp(host, "mute"))
		return 0;
	if (strcmp(host, "lost"))
		return __real_resolve_start(r, loop, host, port, timeout_ms, diag);
	lookups++;
	diag_set(&why, DIAG_UNREACHABLE, EHOSTUNREACH, "no name server");
	resolve_fail(r, loop, &why);
	return 0;
}

static int applet(int argc, char **word)
{
	(void)argc;
	cr_assert_fail("%s is run", word[0]);
	return 1;
}

static void count_retry(const struct boot_job *job)
{
	(void)job;
	retries++;
}

static void setup(void)
{
	tree = tree_new();
	tree_file(&tree, "proc/sys/kernel/osrelease", "6.12.0\n");
	boot = (struct boot){ .root = tree.root,
		.dry_run = true,
		.notes = { .name = "test", .quiet = true },
		.run = applet,
		.on_retry = count_retry };
	cr_assert_eq(loop_new(&boot.loop, &(struct loop_options){ .name = "test" }, NULL), 0);
}

static void fini(void)
{
	boot_free(&boot);
	kernel_boot_params_free(&params);
	loop_free(boot.loop);
	tree_free(&tree);
}
TestSuite(boot_plan, .init = setup, .fini = fini);

static void start(const char *cmdline)
{
	tree_file(&tree, "proc/cmdline", cmdline);
	cr_assert_eq(kernel_boot_params_read(tree.root, &params, NULL), 0);
	cr_assert_eq(boot_plan(&boot, &params, NULL, 0, NULL, NULL), 0);
	boot_start(&boot);
}

static void run(const char *cmdline)
{
	start(cmdline);
	if (boot.pending)
		loop_run(boot.loop);
}

static void collect(const char *text, void *arg)
{
	strcat(strcat(arg, text), " ");
}

static void uris_are(const struct boot_job *job, const char *wanted)
{
	char text[1000] = "";

	boot_uris(job, collect, text);
	cr_assert_str_eq(text, wanted, "%s", job->why.text);
}

static void missing_are(const struct boot_job *job, const char *wanted)
{
	char text[300] = "";

	boot_missing(job, collect, text);
	cr_assert_str_eq(text, wanted, "%s: %s", job->from, job->why.text);
}

Test(boot_plan, ten_disks_are_one_process)
{
	static const char *const uri[] = { "nvme+tcp://127.0.0.1/nqn.x",
		"nvme+tcp://127.0.0.1/nqn.y", "nvme+tcp://127.0.0.2/nqn.x",
		"nvme+rdma://127.0.0.1/nqn.x", "iscsi://127.0.0.1/iqn.2024-01.a:x",
		"iscsi://127.0.0.1/iqn.2024-01.a:x/1", "iser://127.0.0.1/iqn.2024-01.a:x",
		"iscsi:127.0.0.2::::iqn.2024-01.a:x",
		"srp+cm://127.0.0.1:5555/0002c903004ed0b2/0002c903004ed0b2",
		"srp+cm://127.0.0.2:5555/0002c903004ed0b2/0002c903004ed0b2" };
	static const char *const missing[] = { "nvme_tcp ", "nvme_tcp ", "nvme_tcp ", "nvme_rdma ",
		"iscsi_tcp ", "iscsi_tcp ", "ib_iser ", "iscsi_tcp ", "ib_srp ", "ib_srp " };
	char cmdline[2000] = "";

	for (unsigned i = 0; i < 10; i++)
		strcat(strcat(strcat(cmdline, "rd.rdmastor="), uri[i]), " ");
	run(cmdline);
	cr_assert_eq(boot.jobs, 10);
	for (unsigned i = 0; i < 10; i++) {
		cr_assert(boot.job[i].done && !boot.job[i].why.err, "%s: %s", uri[i],
			boot.job[i].why.text);
		missing_are(&boot.job[i], missing[i]);
	}
	cr_assert_eq(forks, 0);
	cr_assert_eq(retries, 0);
}

Test(boot_plan, other_parameters)
{
	run(PARAMS);
	cr_assert_eq(boot.jobs, 2, "NFS needs a directory");
	diag_says(&boot.job[0].why, DIAG_REFUSED, "127.0.0.1:1", "listens ip_address");
	cr_assert(!boot_partly(&boot.job[0]));
	uris_are(&boot.job[0], "");
	diag_says(&boot.job[1].why, DIAG_USAGE, "kernel command line: netroot", "iscsi:3260");
	cr_assert(boot_partly(&boot.job[1]), "the other two are valid");
	uris_are(&boot.job[1], "iscsi://127.0.0.1:3261/iqn.2024-01.a:x/2 "
			       "iser://127.0.0.2:3260/iqn.2024-01.a:y ");
	missing_are(&boot.job[1], "iscsi_tcp ib_iser ");
	cr_assert_eq(forks, 0);
}

static void put_failure(const struct diag *why, void *arg)
{
	strcat(strcat(arg, why->object), " ");
}

Test(boot_plan, a_failure_hides_no_other)
{
	char text[300] = "";

	run("rd.nvmf.discover=tcp,127.0.0.1,,1 rd.nvmf.discover=tcp,127.0.0.2,,1");
	cr_assert_eq(boot.jobs, 1);
	diag_says(&boot.job->why, DIAG_REFUSED, "127.0.0.1:1", "listens");
	boot_other_failures(boot.job, put_failure, text);
	cr_assert_str_eq(text, "127.0.0.2:1 ");
}

Test(boot_plan, unusable_uris_fail_alone)
{
	run("rd.rdmastor=nvme+tcp://127.0.0.1/nqn.x?tls-key-file=/nowhere "
	    "rd.rdmastor=iscsi://127.0.0.1/iqn.2024-01.a:x?user=joe&secret-file=/nowhere "
	    "rd.rdmastor=srp+cm://127.0.0.1/0002c903004ed0b2/0002c903004ed0b2 "
	    "rd.rdmastor=nvme+tcp://127.0.0.1/nqn.y");
	cr_assert_eq(boot.jobs, 4);
	for (unsigned i = 0; i < 3; i++) {
		cr_assert(boot.job[i].done && boot.job[i].why.err, "%s", boot.job[i].disk->uri);
		cr_assert(boot.job[i].why.object[0], "%s: %s", boot.job[i].disk->uri,
			boot.job[i].why.text);
		missing_are(&boot.job[i], "");
	}
	cr_assert_eq(boot.job[3].why.err, 0, "%s", boot.job[3].why.text);
	cr_assert_eq(forks, 0);
}

static void stop(struct loop_timer *timer)
{
	(void)timer;
	boot_stop(&boot);
}

Test(boot_plan, a_stop_ends_all)
{
	struct loop_timer timer = { .fire = stop };

	boot.dir = "/";
	boot.dry_run = false;
	start("rd.rdmastor=nvme+tcp://mute/nqn.x rd.rdmastor=nvme+tcp://mute "
	      "rd.rdmastor=iscsi://mute/iqn.2024-01.a:x rd.nvmf.discover=tcp,mute "
	      "rd.rdmastor=srp+cm://mute:5555/0002c903004ed0b2/0002c903004ed0b2 "
	      "netroot=iscsi:mute::::iqn.2024-01.a:y netroot=iser:mute::::iqn.2024-01.a:z");
	cr_assert_eq(boot.pending, 6);
	loop_timer_set(boot.loop, &timer, loop_clock() + 1000000);
	loop_run(boot.loop);
	for (unsigned i = 0; i < 6; i++) {
		diag_says(&boot.job[i].why, DIAG_CLOSED, NULL, "interrupted");
		cr_assert(boot.job[i].done && boot.job[i].why.object[0]);
	}
	cr_assert_eq(forks, 0);
	cr_assert_eq(retries, 0);
}

/* modprobe may hang. */
Test(boot_plan, modules_of_the_firmware_are_loaded_in_a_child)
{
	boot.dry_run = false;
	boot.deadline = loop_clock() + 2500 * 1000000ull;
	kernel_ibft_never_load();
	run("rd.iscsi.firmware=1");
	cr_assert_eq(boot.jobs, 1);
	diag_says(&boot.job[0].why, DIAG_NOT_FOUND, NULL, "iBFT");
	cr_assert_eq(retries, 1);
	cr_assert_gt(forks, 1);
	cr_assert_eq(loads, 0);
}

Test(boot_plan, a_stop_ends_the_load_of_modules)
{
	boot.dry_run = false;
	kernel_ibft_never_load();
	start("rd.iscsi.firmware=1");
	boot_stop(&boot);
	cr_assert(boot.job[0].done && !boot.pending);
	diag_says(&boot.job[0].why, DIAG_CLOSED, NULL, "interrupted");
}

/* A lookup is part of an attempt: it is repeated until the deadline. */
Test(boot_plan, names_are_looked_up_again)
{
	boot.dry_run = false;
	boot.deadline = loop_clock() + 9500 * 1000000ull;
	run("rd.rdmastor=nvme+tcp://lost/nqn.x rd.rdmastor=iscsi://lost/iqn.2024-01.a:x "
	    "rd.rdmastor=srp+cm://lost:5555/0002c903004ed0b2/0002c903004ed0b2");
	cr_assert_eq(boot.jobs, 3);
	for (unsigned i = 0; i < 3; i++)
		diag_says(&boot.job[i].why, DIAG_UNREACHABLE, NULL, "no_name_server ip_address");
	cr_assert_eq(retries, 3, "each is reported once");
	cr_assert_eq(lookups, 30);
	cr_assert_eq(forks, 0);
}
