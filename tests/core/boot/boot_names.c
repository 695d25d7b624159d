/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attempts at targets with host names: a name that does not resolve yet, changes, or is answered
 * late is looked up again by each attempt. NVMe-oF finds its connections in a fixture tree. */
/* Link: leap getaddrinfo freeaddrinfo kernel_disk_opens */
#include "boot_kind.h"
#include "lookups.h"
#include "nvme_tree.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netdb.h>

#define SECOND 1000000000ull
#define URI    "nvme+tcp://disk.example/nqn.t1"

int __wrap_kernel_disk_opens(int, const char *);

int __wrap_kernel_disk_opens(int root, const char *name)
{
	(void)root;
	(void)name;
	return 0;
}

static struct tree tree;
static struct boot boot;
static struct boot_params none;
static struct boot_disk disk[2];
static unsigned retries;

static void count_retry(const struct boot_job *job)
{
	(void)job;
	retries++;
}

static void init(void)
{
	tree = tree_new();
	tree_file(&tree, "dev/nvme-fabrics", "");
	tree_dir(&tree, "sys/class/nvme-fabrics");
	tree_dir(&tree, "sys/module/nvme_tcp");
	boot = (struct boot){ .root = tree.root,
		.deadline = loop_clock() + 300 * SECOND,
		.notes = { .name = "test", .quiet = true },
		.on_retry = count_retry };
	cr_assert_eq(loop_new(&boot.loop, &(struct loop_options){ .name = "test" }, NULL), 0);
}

static void fini(void)
{
	boot_free(&boot);
	loop_free(boot.loop);
	tree_free(&tree);
}
TestSuite(boot_names, .init = init, .fini = fini);

static void connect_at(const char *name, const char *address)
{
	char dev[32], path[32];

	nvme_tree_ctrl(&tree, name, "tcp", "nqn.t1", address);
	snprintf(dev, sizeof(dev), "%sn1", name);
	nvme_tree_disk(&tree, name, dev, dev, 1);
	snprintf(path, sizeof(path), "dev/%s", dev);
	tree_file(&tree, path, "");
}

/* Attach them; `later` is called after that time. */
static void attach(
	const char *const *uri, unsigned uris, unsigned seconds, void (*later)(struct loop_timer *))
{
	struct loop_timer timer = { .fire = later };

	for (unsigned i = 0; i < uris; i++)
		kernel_boot_disk(&disk[i], uri[i], "operand");
	cr_assert_eq(boot_plan(&boot, &none, disk, uris, NULL, NULL), 0);
	boot_start(&boot);
	if (later)
		loop_timer_set(boot.loop, &timer, loop_clock() + seconds * SECOND + SECOND / 2);
	if (boot.pending)
		loop_run(boot.loop);
	loop_timer_del(boot.loop, &timer);
}

static void attach_one(unsigned seconds, void (*later)(struct loop_timer *))
{
	attach(&(const char *){ URI }, 1, seconds, later);
}

static void put_device(const char *text, void *arg)
{
	strcat(strcat(arg, text), " ");
}

static void attached(const struct boot_job *job, const char *device)
{
	char text[64] = "";

	cr_assert_eq(job->why.err, 0, "%s: %s", job->why.object, job->why.text);
	boot_devices(job, put_device, text);
	cr_assert_str_eq(text, device);
}

static void becomes_known(struct loop_timer *timer)
{
	(void)timer;
	names_set("disk.example", "10.0.0.7", 0);
}

Test(boot_names, a_name_that_is_unknown_at_first)
{
	connect_at("nvme3", "traddr=10.0.0.7,trsvcid=4420");
	attach_one(2, becomes_known);
	attached(boot.job, "/dev/nvme3n1 ");
	cr_assert_eq(names_asked("disk.example"), 4, "after 0, 1, 2 and 3 s");
	cr_assert_eq(retries, 1, "reported once");
}

Test(boot_names, a_name_server_that_is_not_reached_at_first)
{
	connect_at("nvme3", "traddr=10.0.0.7,trsvcid=4420");
	names_set("disk.example", NULL, EAI_AGAIN);
	attach_one(1, becomes_known);
	attached(boot.job, "/dev/nvme3n1 ");
	cr_assert_eq(names_asked("disk.example"), 3);
}

/* The device of the fixture tree accepts no connection, so the first attempts fail. */
Test(boot_names, a_name_of_a_target_that_moves)
{
	connect_at("nvme3", "traddr=10.0.0.7,trsvcid=4420");
	names_set("disk.example", "10.0.0.1", 0);
	attach_one(1, becomes_known);
	attached(boot.job, "/dev/nvme3n1 ");
	cr_assert_eq(names_asked("disk.example"), 3);
	cr_assert_eq(retries, 1);
}

static void appears(struct loop_timer *timer)
{
	(void)timer;
	names_set("disk.example", NULL, EAI_AGAIN);
	connect_at("nvme3", "traddr=10.0.0.1,trsvcid=4420");
}

Test(boot_names, the_last_address_is_kept_without_a_name_server)
{
	names_set("disk.example", "10.0.0.1", 0);
	attach_one(1, appears);
	attached(boot.job, "/dev/nvme3n1 ");
	cr_assert_eq(names_asked("disk.example"), 3);
}

static void answers(struct loop_timer *timer)
{
	becomes_known(timer);
	names_hold("disk.example", false);
}

/* Later attempts wait for the same lookup. */
Test(boot_names, a_name_server_that_answers_after_40_s)
{
	connect_at("nvme3", "traddr=10.0.0.7,trsvcid=4420");
	names_hold("disk.example", true);
	attach_one(40, answers);
	attached(boot.job, "/dev/nvme3n1 ");
	cr_assert_eq(names_asked("disk.example"), 1);
	cr_assert_eq(retries, 1);
}

Test(boot_names, a_name_that_stays_unknown)
{
	boot.deadline = loop_clock() + 3 * SECOND + SECOND / 2;
	attach_one(0, NULL);
	cr_assert_eq(names_asked("disk.example"), 4);
	diag_says(&boot.job->why, DIAG_NOT_FOUND, NULL, "disk.example");
	text_says(boot.job->why.object, URI);
}

Test(boot_names, every_kind_looks_up_its_name_in_each_attempt)
{
	static const char *const uris[] = { "nvme+tcp://disk.example",
		"iser://disk.example/iqn.2024-01.a:b/0", "iscsi://disk.example/iqn.2024-01.a:b/0",
		"srp+cm://disk.example:5555/0002c903004ed0b2/0002c903004ed0b2",
		"nfs+rdma://disk.example/export" };

	boot.dir = tree.path;
	for (unsigned i = 0; i < sizeof(uris) / sizeof(uris[0]); i++) {
		unsigned before = names_asked("disk.example");

		boot.deadline = loop_clock() + 3 * SECOND + SECOND / 2;
		attach(&uris[i], 1, 0, NULL);
		cr_assert_eq(names_asked("disk.example") - before, 4, "%s: %s", uris[i],
			boot.job->why.text);
		diag_says(&boot.job->why, DIAG_NOT_FOUND, NULL, "disk.example");
		boot_free(&boot);
	}
}

static bool other_done;

static void look(struct loop_timer *timer)
{
	other_done = boot.job[1].done;
	becomes_known(timer);
}

Test(boot_names, an_unknown_name_delays_no_other_disk)
{
	connect_at("nvme3", "traddr=10.0.0.7,trsvcid=4420");
	connect_at("nvme5", "traddr=10.0.0.5,trsvcid=4420");
	attach((const char *const[]){ URI, "nvme+tcp://10.0.0.5/nqn.t1" }, 2, 5, look);
	cr_assert(other_done);
	attached(&boot.job[0], "/dev/nvme3n1 ");
	attached(&boot.job[1], "/dev/nvme5n1 ");
	cr_assert_eq(names_asked("disk.example"), 7);
}
