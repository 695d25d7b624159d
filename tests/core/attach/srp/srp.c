/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The row of SRP: the line that is written, hosts that are made or exist, what is rolled back, and
 * the end of a connection. */
/* Link: leap kernel_disk_opens kernel_srp_add kill kernel_holders_or_openers */
#include "attach_srp.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MSEC       1000000ull
#define ADD_TARGET "sys/class/infiniband_srp/srp-mlx5_0-1/add_target"
#define PORT       "sys/class/srp_remote_ports/port-6:1/"

int __wrap_kernel_disk_opens(int, const char *);
int __real_kernel_srp_add(int, const struct srp_local *, const char *);
int __wrap_kernel_srp_add(int, const struct srp_local *, const char *);

/* It opens once it has a node: a file does. */
int __wrap_kernel_disk_opens(int root, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "dev/%s", name);
	return faccessat(root, path, 0, 0) ? -ENOENT : 0;
}

struct disk_users;
void __real_kernel_holders_or_openers(int, struct disk_users *, unsigned);
void __wrap_kernel_holders_or_openers(int, struct disk_users *, unsigned);
static bool search_hangs;

void __wrap_kernel_holders_or_openers(int root, struct disk_users *disks, unsigned n)
{
	while (search_hangs)
		pause();
	__real_kernel_holders_or_openers(root, disks, n);
}

static struct loop *loop;
static struct tree tree;
static struct srp_params login_params;
static struct attach_srp srp;
static const struct diag *const why = &srp.attach.why;
static char notes[1000];

/* What the kernel does with a login, in a process of its own: `makes` a host first, then gives
 * `gives`. */
static struct kernel {
	bool on, hangs;
	int gives;
	unsigned makes, logins, forgets_after; /* that many logins: the next makes a host, too */
	uint32_t timeout_ms;
	char dead[24], dests[80]; /* an address without a route; those of all logins */
	/* of several targets: the last digits of their id_ext, in the order of their logins */
	char order[8];
	_Atomic unsigned orders;
} * shared;
#define kernel (*shared)

static void host(unsigned number, const char *dev);

static struct attach_srp each[3];

/* The first two do not answer, the third refuses. */
static int log_in_to(const char *line)
{
	unsigned number = (unsigned)(line[strcspn(line, ",") - 1] - '1');

	cr_assert_lt(number, 3);
	kernel.order[kernel.orders++ % 7] = (char)('1' + number);
	while (number < 2)
		pause();
	return -ECONNREFUSED;
}

int __wrap_kernel_srp_add(int root, const struct srp_local *local, const char *line)
{
	if (each[0].params)
		return log_in_to(line);
	if (!kernel.on)
		return __real_kernel_srp_add(root, local, line);
	cr_assert_str_eq(local->dev, "mlx5_0");
	cr_assert_eq(local->port, 1);
	kernel.timeout_ms = (uint32_t)((srp.login.until - loop_clock()) / MSEC);
	tree.root = root; /* all that is open here */
	kernel.logins++;
	snprintf(kernel.dests + strlen(kernel.dests), sizeof(kernel.dests) - strlen(kernel.dests),
		"%s ", strstr(line, "dest=") + 5);
	if (kernel.dead[0] && strstr(line, kernel.dead))
		return -EHOSTUNREACH;
	if (kernel.logins <= kernel.forgets_after)
		return kernel.gives;
	if (kernel.forgets_after)
		kernel.gives = 0;
	if (kernel.makes)
		host(kernel.makes, "mlx5_0\n");
	while (kernel.hangs)
		pause();
	return kernel.gives;
}

/* While spare is set, it does not reach a process that the kernel keeps. */
int __real_kill(pid_t pid, int sig);
int __wrap_kill(pid_t pid, int sig);
static bool spare;

int __wrap_kill(pid_t pid, int sig)
{
	return spare ? 0 : __real_kill(pid, sig);
}

static void setup(void)
{
	const struct loop_options options = { .name = "test" };

	shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(shared, MAP_FAILED);
	cr_assert_eq(loop_new(&loop, &options, NULL), 0);
	tree = tree_new();
	tree_dir(&tree, "dev");
	tree_dir(&tree, "sys/bus/scsi/drivers/sd");
	tree_file(&tree, ADD_TARGET, "");
	tree_file(&tree, "sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
	tree_file(&tree, "sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
	tree_file(&tree, "sys/class/infiniband/mlx5_0/ports/1/gids/0",
		"fe80:0000:0000:0000:0002:c903:0000:0001\n");
	login_params = (struct srp_params){ 0 };
	cr_assert_eq(
		srp_params_parse(&login_params, "id_ext=1,ioc_guid=2,dest=10.0.0.1:5555", NULL), 0);
}

static void fini(void)
{
	attach_luns_free(&srp.luns);
	loop_free(loop);
	tree_free(&tree);
	munmap(shared, sizeof(*shared));
}
TestSuite(srp, .init = setup, .fini = fini);

static void host(unsigned number, const char *dev)
{
	char path[100];

#define PUT(name, text)                                                                            \
	(snprintf(path, sizeof(path), "sys/class/scsi_host/host%u/" name, number),                 \
		tree_file(&tree, path, text))
	PUT("id_ext", "0x0000000000000001\n");
	PUT("ioc_guid", "0x0000000000000002\n");
	PUT("local_ib_device", dev);
	PUT("local_ib_port", "1\n");
#undef PUT
}

static void remote_port(void)
{
	tree_file(&tree, PORT "delete", "");
	tree_file(&tree, PORT "reconnect_delay", "10\n");
	tree_file(&tree, PORT "fast_io_fail_tmo", "15\n");
	tree_file(&tree, PORT "dev_loss_tmo", "600\n");
}

static void disk(void)
{
	tree_file(&tree, "sys/class/scsi_device/6:0:0:1/device/type", "0\n");
	tree_file(&tree, "sys/class/scsi_device/6:0:0:1/device/block/sda/dev", "8:0\n");
	tree_file(&tree, "sys/class/scsi_device/6:0:0:1/device/block/sda/queue/logical_block_size",
		"512\n");
	tree_file(&tree, "sys/dev/block/8:0/uevent", "MAJOR=8\nMINOR=0\nDEVNAME=sda\n");
}

static void is_mounted(void)
{
	tree_file(&tree, "proc/self/mountinfo", "36 35 8:0 / /mnt rw - ext4 /dev/sda rw\n");
}

static void content(const char *path, const char *expected)
{
	char text[200] = "";
	int fd = openat(tree.root, path, O_RDONLY);

	cr_assert_geq(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	cr_assert_str_eq(text, expected);
}

/* A number is written over the one that a file had. */
static void begins(const char *path, const char *expected)
{
	char text[200] = "";
	int fd = openat(tree.root, path, O_RDONLY);

	cr_assert_geq(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	cr_assert_eq(strncmp(text, expected, strlen(expected)), 0, "%s: '%s'", path, text);
}

static void done(struct attach *attach)
{
	(void)attach;
}

static void note(struct attach *attach, const char *text)
{
	cr_assert_eq(attach, &srp.attach);
	snprintf(notes + strlen(notes), sizeof(notes) - strlen(notes), "%s\n", text);
}

static void prepare(unsigned ms)
{
	attach_luns_free(&srp.luns);
	srp = (struct attach_srp){ .attach = { .proto = &attach_srp_row,
					   .loop = loop,
					   .root = tree.root,
					   .deadline = loop_clock() + ms * MSEC,
					   .done = done,
					   .note = note },
		.params = &login_params,
		.dev = "mlx5_0",
		.port = 1,
		.luns.lun = SCSI_LUN_ALL,
		.tmo = { 10, 60, VALUE_OFF } };
}

static int run(void)
{
	struct attach *list = &srp.attach;

	cr_assert_eq(attach_run(loop, &list, 1, NULL), 0);
	return -why->err;
}

static int try(unsigned ms)
{
	prepare(ms);
	return run();
}

Test(srp, the_line_is_written_and_a_host_awaited)
{
	host(3, "mlx5_0\n");
	cr_assert_eq(try(5000), -ENOTCONN, "host3 was there before");
	diag_says(why, DIAG_CLOSED, NULL, "login");
	content(ADD_TARGET, "id_ext=0000000000000001,ioc_guid=0000000000000002,dest=10.0.0.1:5555");
}

/* The kernel takes one login at a time through each port. */
Test(srp, dead_targets_hold_up_their_port_alone)
{
	struct attach *list[3];
	struct srp_params wants[3] = { 0 };
	char line[80];

	tree_file(&tree, "sys/class/infiniband_srp/srp-mlx5_0-2/add_target", "");
	tree_file(&tree, "sys/class/infiniband/mlx5_0/ports/2/state", "4: ACTIVE\n");
	tree_file(&tree, "sys/class/infiniband/mlx5_0/ports/2/link_layer", "InfiniBand\n");
	for (unsigned i = 0; i < 3; i++) {
		snprintf(line, sizeof(line), "id_ext=%u,ioc_guid=2,dest=10.0.0.1:5555", i + 1);
		cr_assert_eq(srp_params_parse(&wants[i], line, NULL), 0);
		prepare(0);
		srp.attach.deadline = 0;
		srp.attach.limit_ms = 2000;
		srp.attach.note = NULL;
		srp.params = &wants[i];
		srp.port = i < 2 ? 1 : 2;
		each[i] = srp;
		list[i] = &each[i].attach;
	}
	cr_assert_eq(attach_run(loop, list, 3, NULL), 0);
	cr_assert(kernel.orders == 3 && kernel.order[2] == '2', "%s", kernel.order);
	for (unsigned i = 0; i < 2; i++)
		diag_says(&list[i]->why, DIAG_TIMEOUT, NULL, "login_timed_out_after_2 s");
	cr_assert_eq(list[2]->why.err, ECONNREFUSED, "%s", list[2]->why.text);
	cr_assert_geq(each[1].login.until, each[0].login.until + 2000 * MSEC,
		"its time begins with its turn");
}

/* Make a file on which write() blocks while the returned descriptor is open, as in the kernel. */
static int make_block(const char *file)
{
	char page[4096] = { 0 };
	int hold, n = 0;

	unlinkat(tree.root, file, 0);
	cr_assert_eq(mkfifoat(tree.root, file, 0600), 0);
	hold = openat(tree.root, file, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	while (write(hold, page, sizeof(page)) > 0)
		n++;
	cr_assert_gt(n, 0);
	return hold;
}

Test(srp, a_target_that_does_not_answer)
{
	int hold = make_block(ADD_TARGET);

	cr_assert_eq(try(1500), -ETIMEDOUT);
	diag_says(why, DIAG_TIMEOUT, NULL, "login_timed_out_after");
	cr_assert(!srp.attach.made);
	close(hold);
}

/* Until the login is under way: its process. */
static pid_t begin(void)
{
	prepare(60000);
	attach_start(&srp.attach);
	for (unsigned i = 0; i < 1000 && !srp.login.pid; i++)
		loop_wait(loop, &(volatile int){ 0 }, loop_clock() + MSEC);
	return srp.login.pid;
}

Test(srp, a_login_may_be_given_up)
{
	int hold = make_block(ADD_TARGET);

	attach_drop(&srp.attach);
	cr_assert_gt(begin(), 0);
	attach_drop(&srp.attach);
	attach_drop(&srp.attach);
	cr_assert_eq(why->err, EINTR);
	waitid(P_ALL, 0, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	close(hold);
	cr_assert_eq(unlinkat(tree.root, ADD_TARGET, 0), 0);
	tree_file(&tree, ADD_TARGET, "");
	cr_assert_eq(try(5000), -ENOTCONN, "%s", why->text);
	cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "the one that was given up is gone, too");
	cr_assert_eq(errno, ECHILD);
}

Test(srp, what_the_kernel_does_not_let_go_of_is_not_more_and_more)
{
	int hold = make_block(ADD_TARGET);
	pid_t slow = 0;

	spare = true;
	for (unsigned i = 0; i < 4; i++) {
		slow = begin();
		cr_assert_gt(slow, 0);
		attach_drop(&srp.attach);
	}
	cr_assert_eq(try(1000), -EBUSY);
	diag_says(why, DIAG_BUSY, NULL, "4");
	spare = false;
	__real_kill(slow, SIGKILL);
	cr_assert_eq(waitid(P_PID, (id_t)slow, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	cr_assert_eq(unlinkat(tree.root, ADD_TARGET, 0), 0);
	tree_file(&tree, ADD_TARGET, "");
	cr_assert_eq(try(5000), -ENOTCONN, "one of them has ended: %s", why->text);
	close(hold);
}

Test(srp, the_reason_is_kept)
{
	unlinkat(tree.root, ADD_TARGET, 0);
	tree_link(&tree, ADD_TARGET, "/dev/full");
	cr_assert_eq(try(5000), -ENOSPC);
	diag_says(why, DIAG_IO, NULL, "add_target no_space_left");
}

Test(srp, what_is_missing_is_named)
{
	prepare(1000);
	srp.dev = "mlx5_7";
	cr_assert_eq(run(), -ENODEV, "%s", why->text);
	diag_says(why, DIAG_NO_DEVICE, NULL, "mlx5_7 mlx5_0");
	tree_free(&tree);
	tree = tree_new();
	cr_assert_eq(try(1000), -ENOENT);
	diag_says(why, DIAG_NO_MODULE, NULL, "module_ib_srp");
}

Test(srp, connected)
{
	kernel.on = true;
	kernel.makes = 6;
	host(3, "mlx5_0\n");
	remote_port();
	disk();
	tree_file(&tree, "dev/sda", "");
	cr_assert_eq(try(5000), 0, "%s", why->text);
	cr_assert_str_eq(srp.host.host, "host6");
	cr_assert_str_eq(srp.attach.what, "host6");
	cr_assert(!srp.existed);
	cr_assert(srp.attach.made);
	cr_assert_eq(srp.luns.count, 1);
	cr_assert_str_eq(srp.luns.list[0].node, "sda");
	cr_assert_eq(kernel.logins, 1);
	cr_assert_gt(kernel.timeout_ms, 4000);
	content(PORT "reconnect_delay", "10\n");
	begins(PORT "fast_io_fail_tmo", "60");
	begins(PORT "dev_loss_tmo", "off");
	content(PORT "delete", "");
}

static void prepare_two(unsigned ms)
{
	struct addr other;

	prepare(ms);
	cr_assert_eq(addr_parse(&srp.dest, "10.0.0.7:5555", 0, NULL), 0);
	cr_assert_eq(addr_parse(&other, "10.0.0.1:5555", 0, NULL), 0);
	cr_assert(addr_add(&srp.dest, (const struct sockaddr *)&other.ss));
	srp.attach.addr = &srp.dest;
	kernel.on = true;
	kernel.makes = 6;
	remote_port();
	disk();
	tree_file(&tree, "dev/sda", "");
}

Test(srp, the_address_of_a_name_that_answers)
{
	prepare_two(5000);
	strcpy(kernel.dead, "10.0.0.7");
	cr_assert_eq(run(), 0, "%s", why->text);
	cr_assert_str_eq(kernel.dests, "10.0.0.7:5555 10.0.0.1:5555 ");
	cr_assert_str_eq(srp.host.host, "host6");
	cr_assert_str_eq(login_params.value[SRP_OPT_DEST], "10.0.0.1:5555");
}

Test(srp, no_address_of_a_name_that_answers)
{
	prepare_two(5000);
	strcpy(kernel.dead, "10.0.0.");
	cr_assert_eq(run(), -EHOSTUNREACH);
	diag_says(why, DIAG_UNREACHABLE, "10.0.0.7:5555, 10.0.0.1:5555", "no_route_to_host");
	cr_assert_eq(kernel.logins, 2);
}

/* The host exists once the target has accepted the login: the scan has all of the time. */
Test(srp, a_slow_scan_is_an_answer)
{
	prepare_two(5000);
	kernel.hangs = true;
	srp.no_removal_wait = true;
	cr_assert_eq(run(), -ETIMEDOUT);
	diag_says(why, DIAG_TIMEOUT, "", "scan 5");
	cr_assert_str_eq(kernel.dests, "10.0.0.7:5555 ");
}

/* The kernel knows the target at this address: the wait has all of the time, and no other address
 * is tried. */
Test(srp, a_former_connection_is_waited_for_at_its_address)
{
	uint64_t start;

	prepare_two(5000);
	kernel.makes = 0;
	kernel.gives = -EEXIST;
	start = loop_clock();
	cr_assert_eq(run(), -EAGAIN);
	diag_says(why, DIAG_BUSY, "", "former");
	cr_assert_geq(loop_clock() - start, 4000 * MSEC);
	cr_assert_null(strstr(kernel.dests, "10.0.0.1:"));
}

Test(srp, silence_ends_with_the_share_of_an_address)
{
	prepare_two(5000);
	kernel.hangs = true;
	kernel.makes = 0;
	cr_assert_eq(run(), -ETIMEDOUT);
	diag_says(why, DIAG_TIMEOUT, "10.0.0.7:5555, 10.0.0.1:5555", "timed_out");
	cr_assert_str_eq(kernel.dests, "10.0.0.7:5555 10.0.0.1:5555 ");
}

Test(srp, a_login_may_be_bound_on_its_own)
{
	kernel.on = true;
	kernel.hangs = true;
	prepare(5000);
	srp.attach.limit_ms = 100;
	cr_assert_eq(run(), -ETIMEDOUT);
	cr_assert_leq(kernel.timeout_ms, 101);
}

/* Another program's login, which was in the kernel when ours began. */
Test(srp, a_connection_that_another_program_makes)
{
	kernel.on = true;
	kernel.makes = 6;
	kernel.gives = -EEXIST;
	remote_port();
	disk();
	prepare(5000);
	srp.exclusive = true;
	cr_assert_eq(run(), -EALREADY);
	cr_assert(!srp.attach.made);
	content(PORT "delete", "");
}

Test(srp, a_daemon_leaves_a_slow_scan_alone)
{
	kernel.on = true;
	kernel.makes = 6;
	kernel.hangs = true;
	remote_port();
	prepare(5000);
	srp.attach.limit_ms = 100;
	srp.no_removal_wait = true;
	cr_assert_eq(run(), -ETIMEDOUT);
	diag_says(why, DIAG_TIMEOUT, NULL, "scan");
	content(PORT "delete", "");
}

Test(srp, a_connection_that_exists)
{
	kernel.on = true;
	kernel.gives = -EEXIST;
	host(5, "mlx5_1\n");
	cr_assert_eq(try(3000), -EAGAIN, "it is on its way out, and stays so");
	diag_says(why, DIAG_BUSY, NULL, "former");
	cr_assert_gt(kernel.logins, 1);
	host(6, "mlx5_0\n");
	remote_port();
	disk();
	tree_file(&tree, "dev/sda", "");
	cr_assert_eq(try(5000), 0, "%s", why->text);
	cr_assert(srp.existed);
	cr_assert(!srp.attach.made);
	cr_assert_str_eq(srp.host.host, "host6");
	content(PORT "fast_io_fail_tmo", "15\n");
	prepare(5000);
	srp.tmo_given = true;
	cr_assert_eq(run(), 0);
	begins(PORT "fast_io_fail_tmo", "60");
	prepare(5000);
	srp.exclusive = true;
	cr_assert_eq(run(), -EALREADY);
	diag_says(why, DIAG_BUSY, NULL, "host6");
	text_says(why->hint, "--exclusive --initiator-ext");
	cr_assert_str_eq(notes, "");
	host(7, "mlx5_0\n");
	cr_assert_eq(try(5000), 0);
	text_says(notes, "2_connections host6");
	tree_file(&tree, "sys/class/scsi_host/host6/pkey", "0xffff\n");
	tree_file(&tree, "sys/class/scsi_host/host6/service_id", "0x1\n");
	tree_file(&tree, "sys/class/scsi_host/host6/orig_dgid",
		"fe80:0000:0000:0000:0000:0000:0000:0001\n");
	unlinkat(tree.root, "sys/class/scsi_host/host7/id_ext", 0);
	cr_assert_eq(try(5000), -EEXIST);
	diag_says(why, DIAG_BUSY, NULL, "path");
	text_says(why->hint, "initiator_ext");
	content(PORT "delete", "");
}

#define NEW                                                                                        \
	": ib_srp: new target: id_ext 0000000000000001 ioc_guid 0000000000000002 sgid fe80::1 "    \
	"dest "

/* Whatever its initiator_ext: the kernel would make another one, and is not asked. */
Test(srp, a_connection_at_the_same_address)
{
	kernel.on = true;
	kernel.makes = 6;
	host(4, "mlx5_0\n");
	host(5, "mlx5_0\n");
	disk();
	tree_file(&tree, "dev/sda", "");
	tree_file(&tree, "dev/kmsg",
		"7,1,1,-;scsi host4" NEW "10.0.0.2\n7,2,2,-;scsi host5" NEW "10.0.0.1\n");
	prepare(5000);
	srp.any_ext = srp.attach.no_wait = true;
	cr_assert_eq(run(), 0, "%s", why->text);
	cr_assert(srp.existed && !kernel.logins);
	cr_assert_str_eq(srp.host.host, "host5");
	prepare(5000);
	srp.any_ext = srp.exclusive = true;
	cr_assert_eq(run(), -EALREADY);
	tree_file(&tree, "sys/class/scsi_host/host5/state", "deleted\n");
	prepare(5000);
	srp.any_ext = true;
	cr_assert_eq(run(), 0, "%s", why->text);
	cr_assert(!srp.existed && kernel.logins == 1, "it is being removed");
	cr_assert_str_eq(srp.host.host, "host6");
	prepare(5000);
	kernel.gives = -EEXIST;
	kernel.makes = 0;
	tree_file(&tree, "sys/class/scsi_host/host5/state", "running\n");
	srp.attach.no_wait = true;
	cr_assert_eq(run(), 0, "%s", why->text);
	cr_assert(srp.existed && kernel.logins > 1, "an initiator_ext was specified");
	cr_assert_str_eq(srp.host.host, "host5");
	cr_assert_str_eq(notes, "", "its address is known");
}

/* Two initiators of a target were disconnected and the first one connected again. The kernel still
 * knows the other, whose host is gone, and tells no initiator extension of the one that is left. */
Test(srp, a_connection_of_another_initiator_is_not_taken)
{
	kernel.on = true;
	kernel.gives = -EEXIST;
	kernel.forgets_after = 3;
	kernel.makes = 6;
	host(5, "mlx5_0\n");
	disk();
	tree_file(&tree, "dev/sda", "");
	prepare(5000);
	cr_assert_eq(run(), 0, "%s", why->text);
	cr_assert_eq(kernel.logins, 4);
	cr_assert(!srp.existed);
	cr_assert_str_eq(srp.host.host, "host6");
}

/* What is connected, by its name alone. */
Test(srp, a_connection_is_changed)
{
	host(6, "mlx5_0\n");
	remote_port();
	disk();
	tree_file(&tree, "dev/sda", "");
	prepare(1000);
	srp.params = NULL;
	srp.tmo = (struct srp_tmo){ VALUE_UNKNOWN, 3, VALUE_UNKNOWN };
	srp.tmo_given = true;
	snprintf(srp.host.host, sizeof(srp.host.host), "host6");
	cr_assert_eq(run(), 0, "%s", why->text);
	content(ADD_TARGET, "");
	begins(PORT "fast_io_fail_tmo", "3");
	cr_assert_eq(srp.luns.count, 1);
	srp.tmo.fast_io_fail_tmo = 700;
	srp.attach.work.run = NULL;
	cr_assert_eq(run(), -ERANGE);
	content(PORT "delete", "");
}

Test(srp, one_lun_or_none)
{
	kernel.on = true;
	kernel.makes = 6;
	disk();
	tree_file(&tree, "sys/class/scsi_device/6:0:0:2/device/type", "0\n");
	tree_file(&tree, "dev/sda", "");
	prepare(1000);
	srp.luns.lun = 1;
	cr_assert_eq(run(), 0, "%s", why->text);
	cr_assert_eq(srp.luns.count, 1);
	cr_assert_eq(srp.luns.list[0].lun, 1);
	kernel.makes = 0;
	kernel.gives = -EEXIST;
	prepare(1000);
	srp.luns.lun = 7;
	cr_assert_eq(run(), -ENOENT);
	diag_says(why, DIAG_NOT_FOUND, NULL, "LUN_7");
	prepare(1000);
	srp.attach.no_wait = true;
	cr_assert_eq(run(), 0, "%s", why->text);
	cr_assert_eq(srp.luns.count, 2);
	cr_assert_eq(try(1500), -ETIMEDOUT);
	diag_says(why, DIAG_TIMEOUT, NULL, "LUN_2");
}

/* Connected by this command, and then its disk does not come. */
static void fails_after_dial(void)
{
	kernel.on = true;
	kernel.makes = 6;
	remote_port();
	disk();
	cr_assert_eq(try(1500), -ETIMEDOUT);
}

Test(srp, what_failed_is_taken_back)
{
	fails_after_dial();
	content(PORT "delete", "1");
	cr_assert_str_eq(why->hint, "");
}

Test(srp, what_failed_stays_if_it_is_in_use)
{
	is_mounted();
	fails_after_dial();
	content(PORT "delete", "");
	text_says(why->hint, "host6 sda /mnt");
}

/* The kernel scans the host while its caller gives up. */
Test(srp, a_login_that_is_cancelled_leaves_no_host)
{
	struct attach *list = &srp.attach;

	kernel.on = kernel.hangs = true;
	kernel.makes = 6;
	remote_port();
	prepare(5000);
	attach_start(&srp.attach);
	for (unsigned i = 0; i < 1000 && !kernel.logins; i++)
		loop_wait(loop, &(volatile int){ 0 }, loop_clock() + MSEC);
	cr_assert_eq(kernel.logins, 1);
	attach_cancel(&srp.attach);
	cr_assert_eq(attach_run(loop, &list, 1, NULL), 0);
	cr_assert_eq(why->err, EINTR);
	content(PORT "delete", "1");
}

static int detach(unsigned ms, bool force)
{
	prepare(ms);
	snprintf(srp.host.host, sizeof(srp.host.host), "host6");
	srp.attach.force = force;
	attach_detach(&srp.attach);
	return run();
}

static void goes(struct loop_timer *timer)
{
	(void)timer;
	unlinkat(tree.root, "sys/class/scsi_host/host6/id_ext", 0);
	unlinkat(tree.root, "sys/class/scsi_host/host6/ioc_guid", 0);
	unlinkat(tree.root, "sys/class/scsi_host/host6/local_ib_device", 0);
	unlinkat(tree.root, "sys/class/scsi_host/host6/local_ib_port", 0);
	cr_assert_eq(unlinkat(tree.root, "sys/class/scsi_host/host6", AT_REMOVEDIR), 0);
}

Test(srp, the_end_of_a_connection)
{
	struct loop_timer timer = { .fire = goes };

	remote_port();
	cr_assert_eq(detach(1000, false), 0, "there is no host6");
	content(PORT "delete", "");
	host(6, "mlx5_0\n");
	cr_assert_eq(detach(100, false), -ETIMEDOUT);
	diag_says(why, DIAG_TIMEOUT, NULL, "100_ms");
	text_says(why->hint, "--force");
	content(PORT "delete", "1");
	content(PORT "dev_loss_tmo", "600\n");
	loop_timer_set(loop, &timer, loop_clock() + 30 * MSEC);
	cr_assert_eq(detach(5000, true), 0, "%s", why->text);
	begins(PORT "fast_io_fail_tmo", "0");
	begins(PORT "dev_loss_tmo", "1");
	host(6, "mlx5_0\n");
	cr_assert_eq(unlinkat(tree.root, PORT "delete", 0), 0);
	tree_dir(&tree, PORT "delete");
	cr_assert_eq(detach(1000, false), -EISDIR);
	diag_says(why, DIAG_UNSUPPORTED, NULL, "is_a_directory");
}

Test(srp, what_is_in_use_stays)
{
	host(6, "mlx5_0\n");
	remote_port();
	disk();
	is_mounted();
	cr_assert_eq(detach(1000, false), -EBUSY);
	diag_says(why, DIAG_BUSY, NULL, "sda /mnt");
	content(PORT "delete", "");
}

/* What can't be searched may be in use. */
Test(srp, users_that_are_not_found_in_time)
{
	host(6, "mlx5_0\n");
	remote_port();
	disk();
	search_hangs = true;
	cr_assert_eq(detach(5000, false), -EBUSY);
	diag_says(why, DIAG_BUSY, NULL, "unknown timed_out");
	content(PORT "delete", "");
}

/* Neither a delete nor timeouts that the kernel does not take up count as logins that it holds. */
Test(srp, a_removal_that_hangs_stops_no_login)
{
	int hold;

	host(6, "mlx5_0\n");
	remote_port();
	hold = make_block(PORT "delete");
	spare = true;
	for (unsigned i = 0; i < 5; i++) {
		prepare(60000);
		snprintf(srp.host.host, sizeof(srp.host.host), "host6");
		attach_detach(&srp.attach);
		for (unsigned ms = 0; ms < 60000 && !srp.call.pid; ms++)
			loop_wait(loop, &(volatile int){ 0 }, loop_clock() + MSEC);
		cr_assert_gt(srp.call.pid, 0);
		attach_drop(&srp.attach);
	}
	cr_assert_eq(child_call_abandoned(&srp.call), 5);
	spare = false;
	kernel.on = true;
	kernel.makes = 7;
	prepare(5000);
	srp.attach.no_wait = true;
	cr_assert_eq(run(), 0, "%s", why->text);
	cr_assert_eq(kernel.logins, 1);
	close(hold);
}
