/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attaching at boot: the kind and applet for each word, retries, the deadline, a stop. Kinds here
 * are a row that ends as the host of the URI says; the applet in a child prints what export would.
 */
/* Link: leap */
#include "boot_kind.h"
#include "says.h"
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MSEC   1000000ull
#define SECOND 1000000000ull

static _Atomic unsigned *runs; /* shared with the children; [1]: starts of the monitor */
static unsigned waited, frees;
static bool monitor_hangs;
static struct boot boot;
static struct boot_params words;
static struct kernel_serving serving;

struct request {
	struct boot_request base;
	struct loop_timer timer;
	struct diag disk[3];
	unsigned disks;
	bool stopping;
};

static void set_why(struct diag *why, enum diag_code code, int err, const char *object)
{
	diag_set(why, code, err, "some reason");
	diag_ctx(why, "%s", object);
}

/* Of three disks the first is attached, the third has a damaged table; the other is late, or
 * refuses the secret. */
static void damage(struct request *r, enum diag_code code)
{
	r->disks = 3;
	if (code) {
		diag_set(&r->disk[1], code, EACCES, "no one");
		diag_ctx(&r->disk[1], "b");
	}
	diag_set(&r->disk[2], DIAG_PROTOCOL, EBADMSG, "bad table");
	diag_ctx(&r->disk[2], "c");
	r->base.job->why = r->disk[2];
}

static void end_attempt(struct loop_timer *timer)
{
	struct request *r = container_of(timer, struct request, timer);
	struct boot_job *job = r->base.job;
	const char *host = job->disk->uri;
	unsigned run = *runs;

	if (strstr(host, "damage-soon"))
		damage(r, run == 1 ? DIAG_REFUSED : 0);
	else if (strstr(host, "damage"))
		damage(r, DIAG_AUTH);
	else if (strstr(host, "never")) {
		set_why(&job->why, DIAG_REFUSED, ECONNREFUSED, "it");
		diag_hint(&job->why, "a way out");
	} else if (strstr(host, "late"))
		set_why(&job->why, run == 1 ? DIAG_REFUSED : DIAG_TIMEOUT,
			run == 1 ? ECONNREFUSED : ETIMEDOUT, "it");
	else if (strstr(host, "slow-modprobe") && run == 1)
		set_why(&job->why, DIAG_NO_MODULE, ETIMEDOUT, "it");
	else if (strstr(host, "away"))
		set_why(&job->why, DIAG_TIMEOUT, ETIMEDOUT, "it");
	else if (strstr(host, "module"))
		set_why(&job->why, DIAG_NO_MODULE, ENOENT, "it");
	else if (strstr(host, "session")) {
		boot.has_iscsi = true;
		boot.sid = 7;
	} else if (strstr(host, "secret"))
		set_why(&job->why, DIAG_AUTH, EACCES, "it");
	if (strstr(host, "slow-modprobe") && run > 1)
		job->why = (struct diag){ 0 };
	boot_attempt_done(job);
}

static int start(struct boot_job *job)
{
	struct request *r = job->request;

	++*runs;
	cr_assert_eq(r->base.job, job);
	cr_assert_leq(r->base.env.timeout_ms, BOOT_ATTEMPT_MS + 1);
	r->timer.fire = end_attempt;
	cr_assert_leq(job->until, loop_clock() + BOOT_ATTEMPT_MS * MSEC);
	cr_assert(!job->boot->deadline || job->until <= job->boot->deadline);
	cr_assert_eq(job->why.err, 0);
	if (strstr(job->disk->uri, "soon/") && *runs == 1)
		return diag_set(&job->why, DIAG_UNREACHABLE, EHOSTUNREACH, "some reason");
	if (!strstr(job->disk->uri, "hangs"))
		loop_timer_set(job->boot->loop, &r->timer, loop_clock() + MSEC);
	return 0;
}

/* The rollback of "stuck" never ends. */
static void cancel(struct boot_job *job)
{
	struct request *r = job->request;
	bool again = r->stopping;

	r->stopping = true;
	if (strstr(job->disk->uri, "stuck") && !again)
		return;
	loop_timer_del(job->boot->loop, &r->timer);
	diag_set(&job->why, DIAG_CLOSED, EINTR, "interrupted");
	boot_attempt_done(job);
}

static void free_request(struct boot_job *job)
{
	cr_assert_not_null(job->request);
	frees++;
}

static void devices(
	const struct boot_job *job, void (*each)(const char *text, void *arg), void *arg)
{
	if (!job->why.err) {
		each("/dev/a", arg);
		each("/dev/b", arg);
	}
}

static void failures(
	const struct boot_job *job, void (*each)(const struct diag *why, void *arg), void *arg)
{
	const struct request *r = job->request;

	for (unsigned i = 0; i < r->disks; i++)
		if (r->disk[i].err)
			each(&r->disk[i], arg);
}

static bool partly(const struct boot_job *job)
{
	return ((const struct request *)job->request)->disks;
}

static const struct boot_kind fake = { sizeof(struct request), NULL, start, cancel, free_request,
	devices, NULL, NULL, failures, partly };

/* In a child: by the host of the URI. */
static int applet(int argc, char **word)
{
	if (!strcmp(word[0], "iser-login")) {
		cr_assert_str_eq(word[1], "session7");
		if (monitor_hangs)
			pause();
		if (atomic_fetch_add(runs + 1, 1))
			printf("{}");
		return 0;
	}
	atomic_fetch_add(runs, 1);
	cr_assert_geq(argc, 2);
	if (strstr(word[1], "hangs"))
		pause();
	else if (strstr(word[1], "forks"))
		_exit(printf("{\"devices\":[{\"device\":\"/dev/ublkb0\"}]}") && fflush(stdout));
	else if (strstr(word[1], "refuses"))
		printf("{\"error\":{\"code\":\"refused\",\"errno\":\"ECONNREFUSED\",\"object\":"
		       "\"it\",\"text\":\"some reason\",\"hint\":\"a way out\"}}");
	else if (!strstr(word[1], "mute")) {
		printf("{\"device\":\"/dev/");
		for (int i = 0; i < argc; i++)
			printf("%s ", word[i]);
		printf("\"}");
	}
	return 0;
}

static void waits(const struct boot_job *job)
{
	(void)job;
	waited++;
}

static void setup(void)
{
	runs = mmap(
		NULL, 2 * sizeof(*runs), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(runs, MAP_FAILED);
	boot = (struct boot){ .run = applet, .on_retry = waits };
	waited = frees = 0;
	cr_assert_eq(loop_new(&boot.loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	words = (struct boot_params){ 0 };
}

static void fini(void)
{
	boot_free(&boot);
	loop_free(boot.loop);
	munmap(runs, 2 * sizeof(*runs));
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

/* Another kind than export. */
static void use_fake(void)
{
	for (unsigned i = 0; i < boot.jobs; i++)
		if (boot.job[i].kind && boot.job[i].kind != &boot_export)
			boot.job[i].kind = &fake;
}

static struct boot_job *attach(const char *text)
{
	struct boot_job *job = plan(text);

	use_fake();
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
	boot_devices(job, collect, text);
	cr_assert_str_eq(text, "/dev/a /dev/b ");
	cr_assert_eq(*runs, 1);
	boot_free(&boot);
	cr_assert_eq(frees, 1);
}

Test(boot, goes_to_the_background)
{
	struct boot_job *job = attach("nvme+tcp://forks/nqn.x,via=ublk");
	char text[64] = "";

	cr_assert_eq(job->why.err, 0);
	boot_devices(job, collect, text);
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
	boot_devices(attach("iser://joe%secret@h/iqn.a:b/0,via=ublk"), collect, text);
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
	cr_assert_eq(frees, 1, "of the first attempt");
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

Test(boot, until_the_deadline_in_a_child)
{
	struct boot_job *job;

	boot.deadline = loop_clock() + 1900 * MSEC;
	job = attach("nvme+tcp://refuses/nqn.x,via=ublk");
	cr_assert_eq(*runs, 2);
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
	job = attach("nvme+tcp://mute/nqn.x,via=nbd");
	diag_says(&job->why, DIAG_SYSTEM, "nvme+tcp://mute/nqn.x", "export result");
}

static void stop(struct loop_timer *timer)
{
	(void)timer;
	boot_stop(&boot);
}

Test(boot, stops)
{
	static const char *const hosts[] = { "nvme+tcp://hangs/nqn.x", "nvme+tcp://never/nqn.x",
		"nbd://hangs,via=nbd" };
	struct loop_timer timer = { .fire = stop };
	struct boot_disk disk[3];

	for (unsigned i = 0; i < 3; i++)
		kernel_boot_disk(&disk[i], hosts[i], "operand");
	cr_assert_eq(boot_plan(&boot, &words, disk, 3, NULL, NULL), 0);
	use_fake();
	boot_start(&boot);
	loop_timer_set(boot.loop, &timer, loop_clock() + 500 * MSEC);
	loop_run(boot.loop);
	cr_assert(boot.job[0].done && boot.job[1].done && boot.job[2].done);
	diag_says(&boot.job[0].why, DIAG_CLOSED, hosts[0], "interrupted");
	diag_says(&boot.job[1].why, DIAG_REFUSED, "it", "some_reason");
	diag_says(&boot.job[2].why, DIAG_SYSTEM, "nbd://hangs", "export interrupted");
	cr_assert_eq(waited, 1, "the second one waited for its next attempt");
}

/* What was attached before stays, and is printed. */
Test(boot, a_second_stop_does_not_wait_for_rollback)
{
	static const char *const hosts[] = { "nvme+tcp://host/nqn.x",
		"nvme+tcp://stuck-hangs/nqn.x" };
	struct loop_timer timer[2] = { { .fire = stop }, { .fire = stop } };
	uint64_t began = loop_clock();
	struct diag why = { 0 };
	struct boot_disk disk[2];
	struct out out;

	for (unsigned i = 0; i < 2; i++)
		kernel_boot_disk(&disk[i], hosts[i], "operand");
	cr_assert_eq(boot_plan(&boot, &words, disk, 2, NULL, NULL), 0);
	use_fake();
	boot_start(&boot);
	for (unsigned i = 0; i < 2; i++)
		loop_timer_set(boot.loop, &timer[i], began + (500 + 100 * i) * MSEC);
	loop_run(boot.loop);
	cr_assert_eq((loop_clock() - began) / MSEC, 600);
	out_init(&out, "boot", false);
	cr_assert_eq(boot_show(&boot, &out, &why), 1, "only some disks are attached");
	diag_says(&why, DIAG_CLOSED, hosts[1], "interrupted");
}

/* The first start of the monitor fails. */
Test(boot, a_session_is_monitored_while_other_disks_are_missing)
{
	static const char *const hosts[] = { "nvme+tcp://session/nqn.x", "nvme+tcp://never/nqn.x" };
	struct loop_timer timer = { .fire = stop };
	struct boot_disk disk[2];

	for (unsigned i = 0; i < 2; i++)
		kernel_boot_disk(&disk[i], hosts[i], "operand");
	cr_assert_eq(boot_plan(&boot, &words, disk, 2, NULL, NULL), 0);
	use_fake();
	boot_start(&boot);
	loop_timer_set(boot.loop, &timer, loop_clock() + 5 * SECOND);
	loop_run(boot.loop);
	cr_assert_eq(runs[1], 2);
	cr_assert(boot.monitor.started && !boot.pending);
	cr_assert(!boot.job[0].why.err && boot.job[1].why.err);
}

Test(boot, a_stop_ends_the_start_of_the_monitor)
{
	static const char *const hosts[] = { "nvme+tcp://session/nqn.x", "nvme+tcp://never/nqn.x" };
	struct loop_timer timer = { .fire = stop };
	struct boot_disk disk[2];

	monitor_hangs = true;
	for (unsigned i = 0; i < 2; i++)
		kernel_boot_disk(&disk[i], hosts[i], "operand");
	cr_assert_eq(boot_plan(&boot, &words, disk, 2, NULL, NULL), 0);
	use_fake();
	boot_start(&boot);
	loop_timer_set(boot.loop, &timer, loop_clock() + 500 * MSEC);
	loop_run(boot.loop);
	cr_assert(!boot.monitor.started && !boot.monitor.starting && !boot.pending);
	cr_assert(boot.has_iscsi && !boot.job[0].why.err);
}

Test(boot, a_boot_that_ends_leaves_the_monitor_to_its_owner)
{
	attach("nvme+tcp://session/nqn.x");
	cr_assert(boot.has_iscsi && !boot.monitor.started);
	cr_assert_eq(runs[1], 0);
}

Test(boot, kinds)
{
	static const struct {
		const char *text, *applet;
		const struct boot_kind *kind;
	} row[] = {
		{ "nvme+rdma://h/nqn.x", "nvmf-connect", &boot_nvme },
		{ "nvme+tcp://h", "nvmf-connect-all", &boot_nvme },
		{ "nvme+tcp://h/nqn.2014-08.org.nvmexpress.discovery", "nvmf-connect-all",
			&boot_nvme },
		{ "iser://h/iqn.2024-01.a:b/0,via=kernel", "iser-login", &boot_iscsi },
		{ "iscsi:h::::iqn.2024-01.a:b", "iser-login", &boot_iscsi },
		{ "srp+cm://h:5555/0002c903004ed0b2/0002c903004ed0b2", "srp-connect", &boot_srp },
		{ "nfs+rdma://h/x", "nfsrdma-mount", &boot_nfs },
		{ "nbd://h,via=ublk", "export", &boot_export },
	};

	boot.dir = "/sysroot";
	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		const struct boot_job *job = plan(row[i].text);

		cr_assert_eq(job->why.err, 0, "%s: %s", row[i].text, job->why.text);
		cr_assert_str_eq(job->applet, row[i].applet);
		cr_assert_eq(job->kind, row[i].kind, "%s", row[i].text);
		boot_free(&boot);
	}
}

Test(boot, words_of_export)
{
	static const struct {
		const char *text, *words;
	} row[] = {
		{ "nbd://h,via=ublk", "/dev/export nbd://h --daemon --ublk --json --timeout " },
		{ "nbd://h,via=nbd", "/dev/export nbd://h --daemon --nbd-dev --json --timeout " },
		{ "/srv/image,via=nbd", "/dev/export /srv/image --daemon --nbd-dev --json " },
		{ "iscsi:h::::iqn.2024-01.a:b,via=ublk",
			"/dev/export iscsi:h::::iqn.2024-01.a:b --daemon --ublk --json " },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		const struct boot_job *job = attach(row[i].text);
		char text[300] = "";

		cr_assert_eq(job->why.err, 0, "%s: %s", row[i].text, job->why.text);
		boot_devices(job, collect, text);
		cr_assert(!strncmp(text, row[i].words, strlen(row[i].words)), "%s", text);
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
	cr_assert(boot.job[0].kind == &boot_nvme && !boot.job[0].disk);
	cr_assert_str_eq(boot.job[0].applet, "nvmf-connect-all");
	cr_assert(boot.job[1].kind == &boot_iscsi && !boot.job[1].disk);
	cr_assert_str_eq(boot.job[1].applet, "iser-login");
	cr_assert(boot.job[2].kind == &boot_nfs && !boot.job[2].disk);
	cr_assert_str_eq(boot.job[2].applet, "nfsrdma-mount");
	boot_free(&boot);
	boot.skip_nvmf = boot.skip_iscsi = boot.skip_nfs = true;
	cr_assert_eq(boot_plan(&boot, &words, NULL, 0, NULL, NULL), 0);
	cr_assert_eq(boot.jobs, 0);
}
