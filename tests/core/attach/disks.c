/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The wait for disks: uevents that come, come late, in bursts, of others, or never; disks that open
 * only later, or hang. */
/* Link: leap socket bind kernel_disk_opens */
#include "attach_row.h"
#include "leap.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MSEC 1000000ull

int __real_socket(int, int, int) __attribute__((weak));
int __real_bind(int, const struct sockaddr *, socklen_t) __attribute__((weak));
int __wrap_socket(int, int, int);
int __wrap_bind(int, const struct sockaddr *, socklen_t);
int __wrap_kernel_disk_opens(int, const char *);

static struct {
	int kernel; /* its end of the uevent socket */
	unsigned sockets;
	bool refused;
} uevents = { .kernel = -1 };

int __wrap_socket(int domain, int type, int protocol)
{
	int pair[2];

	if (domain != AF_NETLINK || protocol != NETLINK_KOBJECT_UEVENT)
		return __real_socket(domain, type, protocol);
	if (uevents.refused || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	uevents.kernel = pair[1];
	uevents.sockets++;
	return pair[0];
}

int __wrap_bind(int fd, const struct sockaddr *address, socklen_t len)
{
	return address->sa_family == AF_NETLINK ? 0 : __real_bind(fd, address, len);
}

/* False: another child has waited. */
static bool await_release(int root)
{
	int fd = openat(root, "waited", O_WRONLY | O_CREAT | O_EXCL, 0600);

	close(fd);
	if (fd >= 0)
		close(openat(root, "released", O_RDONLY));
	return fd >= 0;
}

/* It opens once dev/NAME exists, and its size is known from then on; one whose content is "hangs"
 * never answers, one with "waits" not before the FIFO "released" has a writer. */
int __wrap_kernel_disk_opens(int root, const char *name)
{
	char path[64], text[8] = "";
	int fd;

	snprintf(path, sizeof(path), "dev/%s", name);
	fd = openat(root, path, O_RDONLY);
	if (fd < 0)
		return -errno;
	if (read(fd, text, sizeof(text) - 1) > 0 && !strcmp(text, "hangs"))
		pause();
	close(fd);
	if (!strcmp(text, "waits") && !await_release(root))
		return -EBUSY;
	fd = openat(root, "size", O_WRONLY | O_CREAT, 0600);
	close(fd);
	return fd < 0 ? -errno : 0;
}

struct fake {
	struct attach attach;
	const char *disk[3]; /* those there must be */
	unsigned looks, dones;
	uint64_t there_at, over_at; /* there_at: when look() is satisfied */
	bool never;                 /* look() fails */
	bool sized;                 /* the last look saw the size */
	bool releases;              /* when done, the disks that wait */
};

static struct loop *loop;
static struct tree tree;
static uint64_t began;

static void fake_dial(struct attach *attach)
{
	attach_step(attach, 0);
}

static int fake_look(struct attach *attach)
{
	struct fake *fake = (struct fake *)(void *)attach;

	fake->looks++;
	fake->sized = !faccessat(attach->root, "size", 0, 0);
	if (fake->never)
		return diag_set(&attach->why, DIAG_CLOSED, ENODEV, "removed");
	if (loop_clock() < fake->there_at)
		return 0;
	for (unsigned i = 0; i < 3 && fake->disk[i]; i++)
		attach_disk(attach, fake->disk[i]);
	return 1;
}

static const struct attach_proto row = {
	.events = "nvme nvme-subsystem", .connect = fake_dial, .poll = fake_look
};

static void done(struct attach *attach)
{
	struct fake *fake = (struct fake *)(void *)attach;

	fake->dones++;
	fake->over_at = loop_clock();
	if (fake->releases)
		cr_assert_geq(openat(tree.root, "released", O_RDWR | O_CLOEXEC), 0);
}

static void set_up(void)
{
	const struct loop_options options = { .name = "test" };

	cr_assert_eq(loop_new(&loop, &options, NULL), 0);
	tree = tree_new();
	tree_dir(&tree, "dev");
	began = loop_clock();
}

static void tear_down(void)
{
	loop_free(loop);
	tree_free(&tree);
}

TestSuite(disks, .init = set_up, .fini = tear_down);

static struct fake fake_new(uint64_t there_ms, uint64_t timeout_ms)
{
	return (struct fake){ .attach = { .proto = &row,
				      .loop = loop,
				      .root = tree.root,
				      .deadline = timeout_ms ? began + timeout_ms * MSEC : 0,
				      .done = done },
		.there_at = began + there_ms * MSEC };
}

static void run(struct fake *fake, unsigned count)
{
	struct attach *list[4];

	for (unsigned i = 0; i < count; i++)
		list[i] = &fake[i].attach;
	cr_assert_eq(attach_run(loop, list, count, NULL), 0);
	for (unsigned i = 0; i < count; i++)
		cr_assert_eq(fake[i].dones, 1);
}

static uint64_t ms_of(uint64_t at)
{
	return (at - began) / MSEC;
}

struct event {
	struct loop_timer timer;
	const char *subsystem;
	unsigned count;
};

static void send_event(struct loop_timer *timer)
{
	const struct event *event = container_of(timer, struct event, timer);
	char text[128];
	int len = snprintf(text, sizeof(text), "add@/devices/x%cACTION=add%cSUBSYSTEM=%s%cSEQNUM=7",
		0, 0, event->subsystem, 0);

	for (unsigned i = 0; i < event->count; i++)
		cr_assert_eq(send(uevents.kernel, text, (size_t)len + 1, 0), len + 1);
}

static void at(struct event *event, uint64_t ms)
{
	event->timer.fire = send_event;
	loop_timer_set(loop, &event->timer, began + ms * MSEC);
}

Test(disks, there_at_the_first_look)
{
	struct fake fake = fake_new(0, 1000);

	run(&fake, 1);
	cr_assert_eq(fake.attach.why.err, 0);
	cr_assert_eq(fake.looks, 1);
	cr_assert_eq(ms_of(fake.over_at), 0);
}

Test(disks, a_delayed_uevent_is_not_waited_for_by_the_timer)
{
	struct event event = { .subsystem = "block", .count = 1 };
	struct fake fake = fake_new(60000, 120000);

	at(&event, 60003);
	run(&fake, 1);
	cr_assert_eq(fake.attach.why.err, 0);
	cr_assert_leq(ms_of(fake.over_at), 60003 + 2, "%u", (unsigned)ms_of(fake.over_at));
}

Test(disks, a_lost_uevent_costs_a_quarter_of_a_second)
{
	struct fake fake[2] = { fake_new(60001, 120000), fake_new(5, 120000) };

	uevents.refused = true;
	run(fake, 2);
	cr_assert_eq(fake[0].attach.why.err, 0);
	cr_assert_geq(ms_of(fake[0].over_at), 60001);
	cr_assert_leq(ms_of(fake[0].over_at), 60001 + 250);
	cr_assert_leq(ms_of(fake[1].over_at), 10, "soon after the beginning it looks more often");
	cr_assert_leq(fake[0].looks, 60000 / 250 + 10);
}

Test(disks, a_burst_is_one_look)
{
	struct event event[2] = { { .subsystem = "block", .count = 100 },
		{ .subsystem = "nvme", .count = 100 } };
	struct fake fake = fake_new(60110, 120000);
	unsigned looks;

	at(&event[0], 60100);
	attach_start(&fake.attach);
	loop_wait(loop, (volatile int[]){ 0 }, began + 60099 * MSEC);
	looks = fake.looks;
	loop_wait(loop, (volatile int[]){ 0 }, began + 60109 * MSEC);
	cr_assert_leq(fake.looks, looks + 2, "%u", fake.looks - looks);
	cr_assert_gt(fake.looks, looks);
	at(&event[1], 60110);
	run(&fake, 1);
	cr_assert_eq(ms_of(fake.over_at), 60110);
}

Test(disks, uevents_of_others_are_no_reason_to_look)
{
	struct event event[3] = { { .subsystem = "net", .count = 1 },
		{ .subsystem = "nvme-sub", .count = 1 }, { .subsystem = "", .count = 1 } };
	struct fake fake = fake_new(60001, 120000);
	unsigned looks;

	attach_start(&fake.attach);
	loop_wait(loop, (volatile int[]){ 0 }, began + 60001 * MSEC);
	looks = fake.looks;
	for (unsigned i = 0; i < 3; i++)
		at(&event[i], 60001 + i);
	loop_wait(loop, (volatile int[]){ 0 }, began + 60006 * MSEC);
	cr_assert_leq(fake.looks, looks + 1, "the timer's");
	run(&fake, 1);
	cr_assert_eq(fake.attach.why.err, 0);
}

Test(disks, all_that_wait_share_a_socket)
{
	struct event event = { .subsystem = "nvme-subsystem", .count = 1 };
	struct fake fake[3] = { fake_new(60000, 0), fake_new(60000, 0), fake_new(10, 0) };

	at(&event, 60002);
	run(fake, 3);
	cr_assert_eq(uevents.sockets, 1);
	cr_assert_eq(ms_of(fake[0].over_at), 60002);
	cr_assert_eq(ms_of(fake[1].over_at), 60002);
	cr_assert_lt(ms_of(fake[2].over_at), 30);
}

Test(disks, what_never_comes)
{
	struct fake fake[2] = { fake_new(60000, 500), fake_new(0, 500) };

	fake[1].never = true;
	run(fake, 2);
	diag_says(&fake[0].attach.why, DIAG_TIMEOUT, NULL, "0.5");
	cr_assert_eq(ms_of(fake[0].over_at), 500);
	cr_assert_eq(fake[1].attach.why.err, ENODEV);
	cr_assert_eq(ms_of(fake[1].over_at), 0);
}

Test(disks, a_last_look_at_the_deadline)
{
	struct fake fake = fake_new(1000, 1000);

	uevents.refused = true;
	run(&fake, 1);
	cr_assert_eq(fake.attach.why.err, 0);
}

Test(disks, looked_at_once_they_open)
{
	struct fake fake = fake_new(0, 60000);
	fake.disk[0] = "nvme0n1";
	tree_file(&tree, "dev/nvme0n1", "");
	run(&fake, 1);
	cr_assert_eq(fake.attach.why.err, 0);
	cr_assert(fake.sized, "a size that was read before the disk opened");
}

static void make_node(struct loop_timer *timer)
{
	(void)timer;
	tree_file(&tree, "dev/sdb", "");
}

Test(disks, each_must_open)
{
	struct loop_timer timer = { .fire = make_node };
	struct fake fake = fake_new(0, 5000);
	fake.disk[0] = "sda";
	fake.disk[1] = "sdb";
	tree_file(&tree, "dev/sda", "");
	loop_timer_set(loop, &timer, began + 100 * MSEC);
	run(&fake, 1);
	cr_assert_eq(fake.attach.why.err, 0, "%s", fake.attach.why.text);
	cr_assert_geq(ms_of(fake.over_at), 100);
}

Test(disks, one_that_hangs_is_left_at_the_deadline)
{
	struct fake fake = fake_new(0, 300);
	fake.disk[0] = "sda";
	tree_file(&tree, "dev/sda", "hangs");
	run(&fake, 1);
	cr_assert_eq(fake.attach.why.err, ETIMEDOUT);
	cr_assert_geq(ms_of(fake.over_at), 300);
	cr_assert_leq(ms_of(fake.over_at), 310);
}

/* The second is over while the first still waits in its first child. */
Test(disks, one_that_hangs_keeps_nobody)
{
	struct fake fake[2];

	fake[0] = fake_new(0, 60000);
	fake[0].disk[0] = "sda";
	tree_file(&tree, "dev/sda", "waits");
	cr_assert_eq(mkfifoat(tree.root, "released", 0600), 0);
	fake[1] = fake_new(0, 60000);
	fake[1].disk[0] = "sdc";
	fake[1].releases = true;
	tree_file(&tree, "dev/sdc", "");
	run(fake, 2);
	cr_assert_eq(fake[0].attach.why.err, 0);
	cr_assert_eq(fake[1].attach.why.err, 0);
	cr_assert_leq(fake[1].over_at, fake[0].over_at);
}
