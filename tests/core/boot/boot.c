/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attaching at boot: the applet for each word, retries, the deadline, a stop. The applets here are
 * a function that prints what an applet would. */
/* Link: leap */
#include "attach_boot.h"
#include "says.h"
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define MSEC   1000000ull
#define SECOND 1000000000ull

static _Atomic unsigned *runs; /* shared with the children */
static unsigned waited;
static struct boot boot;
static struct boot_params words;
static struct kernel_serving serving;

static void failure(const char *code, const char *err, const char *hint)
{
	printf("{\"error\":{\"code\":\"%s\",\"errno\":\"%s\",\"object\":\"it\",\"text\":\"some "
	       "reason\"%s}}",
		code, err, hint);
}

/* Of three disks the first is attached, the third has a damaged table; the other is late, or
 * refuses the secret. */
static void damage(const char *code, bool transient)
{
	const bool fails = transient || !strcmp(code, "auth");

	printf("{\"results\":[{\"uri\":\"a\"},{\"uri\":\"b\"");
	if (fails)
		printf(",\"error\":{\"code\":\"%s\",\"errno\":\"EACCES\",\"text\":\"no one\"}",
			code);
	printf("},{\"uri\":\"c\",\"error\":{\"code\":\"protocol\",\"errno\":\"EBADMSG\","
	       "\"text\":\"bad table\"}}],\"error\":{\"code\":\"protocol\",\"errno\":"
	       "\"EBADMSG\",\"object\":\"c\",\"text\":\"bad table\"}}");
}

/* By the host of the URI. */
static int applet(int argc, char **word)
{
	unsigned run = atomic_fetch_add(runs, 1);

	cr_assert_geq(argc, 2);
	if (strstr(word[1], "soon") && !run)
		failure("unreachable", "EHOSTUNREACH", "");
	else if (strstr(word[1], "slow-modprobe") && !run)
		failure("no-module", "ETIMEDOUT", "");
	else if (strstr(word[1], "never"))
		failure("refused", "ECONNREFUSED", ",\"hint\":\"a way out\"");
	else if (strstr(word[1], "late") && run)
		failure("timeout", "ETIMEDOUT", "");
	else if (strstr(word[1], "late"))
		failure("refused", "ECONNREFUSED", "");
	else if (strstr(word[1], "away"))
		failure("timeout", "ETIMEDOUT", "");
	else if (strstr(word[1], "module"))
		failure("no-module", "ENOENT", "");
	else if (strstr(word[1], "secret"))
		failure("auth", "EACCES", "");
	else if (strstr(word[1], "damage"))
		damage(strstr(word[1], "damage-soon") ? "refused" : "auth", !run);
	else if (strstr(word[1], "hangs"))
		pause();
	else if (strstr(word[1], "forks"))
		_exit(printf("{\"devices\":[{\"device\":\"/dev/ublkb0\"}]}") && fflush(stdout));
	else if (!strstr(word[1], "mute"))
		printf("{\"disks\":[{\"device\":\"/dev/a\"},{\"device\":\"/dev/b\"}],\"device\":"
		       "\"nvme0\"}");
	return 0;
}

static void waits(const struct boot_job *job)
{
	(void)job;
	waited++;
}

static void setup(void)
{
	runs = mmap(NULL, sizeof(*runs), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(runs, MAP_FAILED);
	boot = (struct boot){ .run = applet, .on_retry = waits };
	cr_assert_eq(loop_new(&boot.loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	words = (struct boot_params){ 0 };
}

static void fini(void)
{
	boot_free(&boot);
	loop_free(boot.loop);
	munmap(runs, sizeof(*runs));
}
TestSuite(boot, .init = setup, .fini = fini);

static struct boot_job *plan(const char *text)
{
	static struct boot_disk disk;

	kernel_boot_disk(&disk, text, "operand");
	cr_assert_eq(boot_plan(&boot, &words, &disk, 1, &serving, NULL), 0);
	cr_assert_eq(boot.jobs, 1);
	return boot.job;
}

static struct boot_job *attach(const char *text)
{
	struct boot_job *job = plan(text);

	boot_start(&boot);
	if (boot.pending)
		loop_run(boot.loop);
	cr_assert(job->done);
	return job;
}

static void collect(const char *text, void *arg)
{
	strcat(strcat(arg, text), " ");
}

Test(boot, succeeds)
{
	struct boot_job *job = attach("nvme+tcp://host/nqn.x");
	char text[64] = "";

	cr_assert_eq(job->why.err, 0);
	boot_result_texts(job, "device", "/dev/", collect, text);
	cr_assert_str_eq(text, "/dev/a /dev/b ");
	cr_assert_eq(*runs, 1);
}

Test(boot, goes_to_the_background)
{
	struct boot_job *job = attach("nvme+tcp://forks/nqn.x,via=ublk");
	char text[64] = "";

	cr_assert_eq(job->why.err, 0);
	boot_result_texts(job, "device", "/dev/", collect, text);
	cr_assert_str_eq(text, "/dev/ublkb0 ");
}

Test(boot, is_there_already)
{
	static struct serving_disk disks[2] = {
		{ .uri = "iser://joe@h/iqn.a:b/0", .device = "/dev/nbd3" },
		{ .uri = "iser://joe@h/iqn.a:b/0", .device = "/dev/ublkb7" },
	};
	static struct serving_front front = { .disk = disks, .disks = 2 };
	static struct serving_process process = { .front = &front, .fronts = 1 };
	char text[64] = "";

	serving = (struct kernel_serving){ &process, 1 };
	boot_result_texts(
		attach("iser://joe%secret@h/iqn.a:b/0,via=ublk"), "device", "/dev/", collect, text);
	cr_assert_str_eq(text, "/dev/ublkb7 ");
	cr_assert_eq(*runs, 0);
	cr_assert_eq(boot.job->why.err, 0);
}

Test(boot, tries_again)
{
	struct boot_job *job = attach("nvme+tcp://soon/nqn.x");

	cr_assert_eq(job->why.err, 0);
	cr_assert_eq(waited, 1);
	cr_assert_eq(*runs, 2);
}

Test(boot, tries_again_after_a_slow_modprobe)
{
	struct boot_job *job = attach("nvme+tcp://slow-modprobe/nqn.x");

	cr_assert_eq(job->why.err, 0);
	cr_assert_eq(*runs, 2);
}

Test(boot, until_the_deadline)
{
	struct boot_job *job;

	boot.deadline = loop_clock() + 1900 * MSEC;
	job = attach("nvme+tcp://never/nqn.x");
	cr_assert_eq(*runs, 2);
	cr_assert_eq(job->why.err, ECONNREFUSED);
	diag_says(&job->why, DIAG_REFUSED, "it", "some_reason a_way_out");
}

Test(boot, keeps_the_reason_when_time_is_short)
{
	struct boot_job *job;

	boot.deadline = loop_clock() + 3 * SECOND;
	job = attach("nvme+tcp://late/nqn.x");
	cr_assert_gt(*runs, 1);
	cr_assert_eq(job->why.code, DIAG_REFUSED);
}

Test(boot, not_again_when_waiting_helps_nothing)
{
	struct boot_job *job = attach("nvme+tcp://secret/nqn.x");

	cr_assert_eq(*runs, 1);
	cr_assert_eq(waited, 0);
	diag_says(&job->why, DIAG_AUTH, "it", "some_reason");
}

static void put_failure(const struct diag *why, void *arg)
{
	diag_says(why, DIAG_AUTH, "b", "no_one");
	++*(unsigned *)arg;
}

Test(boot, a_damaged_table_is_final_and_hides_no_other_failure)
{
	struct boot_job *job = attach("nvme+tcp://damage/nqn.x");
	unsigned others = 0;

	cr_assert_eq(*runs, 1);
	diag_says(&job->why, DIAG_PROTOCOL, "c", "bad_table");
	boot_other_failures(job, put_failure, &others);
	cr_assert_eq(others, 1);
	cr_assert(boot_partly(job), "the first one succeeded");
	boot_free(&boot);
	job = attach("nvme+tcp://secret/nqn.x");
	cr_assert(!boot_partly(job));
}

Test(boot, a_damaged_table_ends_no_attempts_at_other_disks)
{
	struct boot_job *job = attach("nvme+tcp://damage-soon/nqn.x");
	unsigned others = 0;

	cr_assert_eq(*runs, 2);
	diag_says(&job->why, DIAG_PROTOCOL, "c", "bad_table");
	boot_other_failures(job, put_failure, &others);
	cr_assert_eq(others, 0);
}

Test(boot, every_failure_has_a_way_out)
{
	struct boot_job *job = attach("nvme+tcp://module/nqn.x");

	diag_says(&job->why, DIAG_NO_MODULE, "it", "some_reason initramfs via=ublk");
	boot_free(&boot);
	boot.deadline = loop_clock() + 900 * MSEC;
	job = attach("nvme+tcp://away/nqn.x");
	diag_says(&job->why, DIAG_TIMEOUT, "it", "some_reason ip_address");
}

Test(boot, an_applet_that_says_nothing)
{
	struct boot_job *job;

	boot.deadline = loop_clock() + 900 * MSEC;
	job = attach("nvme+tcp://mute/nqn.x");
	diag_says(&job->why, DIAG_SYSTEM, "nvme+tcp://mute/nqn.x", "nvmf-connect result");
}

static void stop(struct loop_timer *timer)
{
	(void)timer;
	boot_stop(&boot);
}

Test(boot, stops)
{
	static const char *const hosts[] = { "nvme+tcp://hangs/nqn.x", "nvme+tcp://never/nqn.x" };
	struct loop_timer timer = { .fire = stop };
	struct boot_disk disk[2];

	for (unsigned i = 0; i < 2; i++)
		kernel_boot_disk(&disk[i], hosts[i], "operand");
	cr_assert_eq(boot_plan(&boot, &words, disk, 2, NULL, NULL), 0);
	boot_start(&boot);
	loop_timer_set(boot.loop, &timer, loop_clock() + 1);
	loop_run(boot.loop);
	cr_assert(boot.job[0].done && boot.job[1].done);
	diag_says(&boot.job[0].why, DIAG_SYSTEM, hosts[0], "nvmf-connect interrupted");
}

static void words_are(const struct boot_job *job, const char *wanted)
{
	char text[300] = "";

	for (unsigned i = 0; job->argv[i]; i++)
		collect(job->argv[i], text);
	cr_assert(!strncmp(text, wanted, strlen(wanted)), "%s", text);
}

Test(boot, applets)
{
	static const struct {
		const char *text, *words;
	} row[] = {
		{ "nvme+rdma://h/nqn.x", "nvmf-connect nvme+rdma://h/nqn.x --json " },
		{ "nvme+tcp://h", "nvmf-connect-all nvme+tcp://h --json " },
		{ "nvme+tcp://h/nqn.2014-08.org.nvmexpress.discovery",
			"nvmf-connect-all nvme+tcp://h/nqn.2014-08.org.nvmexpress.discovery "
			"--json " },
		{ "iser://h/iqn.2024-01.a:b/0,via=kernel",
			"iser-login iser://h/iqn.2024-01.a:b/0 --json " },
		{ "iscsi:h::::iqn.2024-01.a:b", "iser-login iscsi:h::::iqn.2024-01.a:b --json " },
		{ "srp+cm://h:5555/0002c903004ed0b2/0002c903004ed0b2",
			"srp-connect srp+cm://h:5555/0002c903004ed0b2/0002c903004ed0b2 --json " },
		{ "nfs+rdma://h/x", "nfsrdma-mount nfs+rdma://h/x /sysroot --json " },
		{ "nbd://h,via=ublk", "export nbd://h --daemon --ublk --json " },
		{ "nbd://h,via=nbd", "export nbd://h --daemon --nbd-dev --json " },
		{ "/srv/image,via=nbd", "export /srv/image --daemon --nbd-dev --json " },
		{ "iscsi:h::::iqn.2024-01.a:b,via=ublk",
			"export iscsi:h::::iqn.2024-01.a:b --daemon --ublk --json " },
	};

	boot.dir = "/sysroot";
	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		const struct boot_job *job = plan(row[i].text);

		cr_assert_eq(job->why.err, 0, "%s: %s", row[i].text, job->why.text);
		words_are(job, row[i].words);
		boot_free(&boot);
	}
}

Test(boot, what_is_wrong)
{
	static const struct {
		const char *text, *object, *says;
	} row[] = {
		{ "nbd://h", "nbd://h", "'nbd:' via=ublk" },
		{ "nfs+rdma://h/x", "nfs+rdma://h/x", "directory --mount" },
		{ "foo://h", "foo://h", "'foo:' nvme+tcp:// via=ublk" },
		{ "foo://h,via=ublk", "foo://h", "'foo:'" },
		{ "nfs+rdma://h/x,via=nbd", "nfs+rdma://h/x", "'nfs+rdma:' via=kernel" },
		{ "nvme+tcp://h/nqn.x,via=scsi", "nvme+tcp://h/nqn.x", "via=scsi kernel ublk nbd" },
		{ ",via=ublk", "operand", "URI" },
		/* no new file can be meant */
		{ "bogus:x", "bogus:x", "'bogus:' expected_nvme+rdma:// nvme+tcp:// via=ublk" },
		{ "bogus:x,via=nbd", "bogus:x", "'bogus:' expected_nvme+rdma:// nvme+tcp://" },
		{ "srp:x", "srp:x", "'srp:' srp://" },
		{ "10.0.0.1", "10.0.0.1", "rdmastor_discover_10.0.0.1" },
		{ "storage7:4420", "storage7:4420", "rdmastor_discover_storage7:4420" },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		const struct boot_job *job = attach(row[i].text);

		diag_says(&job->why, DIAG_USAGE, row[i].object, row[i].says);
		boot_free(&boot);
	}
	cr_assert_eq(*runs, 0);
}

Test(boot, a_disk_that_is_named_twice)
{
	static const char *const texts[] = { "iser://joe@h/iqn.a:b/0,via=ublk",
		"iser://joe@h/iqn.a:b/0", "iser://joe%secret@h/iqn.a:b/0,via=ublk" };
	struct boot_disk disk[3];

	for (unsigned i = 0; i < 3; i++)
		kernel_boot_disk(&disk[i], texts[i], "rd.rdmastor");
	words = (struct boot_params){ .disk = disk, .disks = 2 };
	cr_assert_eq(boot_plan(&boot, &words, &disk[2], 1, NULL, NULL), 0);
	cr_assert_eq(boot.jobs, 2);
	cr_assert_eq(boot.job[0].disk, &disk[1], "another way");
	cr_assert_eq(boot.job[1].disk, &disk[2], "the last one, which has the password");
}

Test(boot, words_of_others)
{
	words = (struct boot_params){ .nvme = true, .iscsi = true, .nfs = true };
	boot.dir = "/root";
	cr_assert_eq(boot_plan(&boot, &words, NULL, 0, NULL, NULL), 0);
	cr_assert_eq(boot.jobs, 3);
	words_are(&boot.job[0], "nvmf-connect-all --from-cmdline --json ");
	words_are(&boot.job[1], "iser-login --from-cmdline --json ");
	words_are(&boot.job[2], "nfsrdma-mount --from-cmdline /root --json ");
	boot_free(&boot);
	boot.skip_nvmf = boot.skip_iscsi = boot.skip_nfs = true;
	cr_assert_eq(boot_plan(&boot, &words, NULL, 0, NULL, NULL), 0);
	cr_assert_eq(boot.jobs, 0);
}
