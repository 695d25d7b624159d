/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The row of NVMe-oF: the line that is written, connections that exist, namespaces that come or do
 * not, and the end of a connection. */
/* Link: leap kernel_disk_opens kernel_nvmf_keyring kernel_nvmf_key kernel_nvmf_supported_options */
/* Link: kernel_nvmf_key_remove kernel_holders_or_openers kernel_nvmf_write_line */
#include "../../../../core/attach/nvme/nvme_target.h"
#include "nvme_tree.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MSEC 1000000ull

int __wrap_kernel_disk_opens(int, const char *);
int __wrap_kernel_nvmf_keyring(int, const char *, int32_t *, struct diag *);
int __wrap_kernel_nvmf_key(int32_t, const struct nvme_psk *, struct nvmf_ring_key *, struct diag *);
int __wrap_kernel_nvmf_key_remove(int, const struct nvmf_ring_key *);
struct disk_users;
void __wrap_kernel_holders_or_openers(int, struct disk_users *, unsigned);
void __real_kernel_holders_or_openers(int, struct disk_users *, unsigned);

/* It opens once it has a node: a file does. */
int __wrap_kernel_disk_opens(int root, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "dev/%s", name);
	return faccessat(root, path, 0, 0) ? -ENOENT : 0;
}

static bool search_hangs;

void __wrap_kernel_holders_or_openers(int root, struct disk_users *disks, unsigned n)
{
	while (search_hangs)
		pause();
	__real_kernel_holders_or_openers(root, disks, n);
}

static struct loop *loop;
static struct tree tree;
static struct attach_env env;
static struct nvmf_target target = { .env = &env };
static struct nvmf_params *const params = &target.params;
static struct attach_nvme nvme;
static const struct diag *const why = &nvme.attach.why;

static void setup(void)
{
	const struct loop_options options = { .name = "test" };

	cr_assert_eq(loop_new(&loop, &options, NULL), 0);
	tree = tree_new();
	tree_file(&tree, "dev/nvme-fabrics", "");
	tree_dir(&tree, "sys/class/nvme-fabrics");
	tree_dir(&tree, "sys/module/nvme_rdma");
	tree_dir(&tree, "sys/class/infiniband/mlx5_0");
	*params = (struct nvmf_params){ .value = { [NVMF_TRANSPORT] = "rdma",
						[NVMF_TRADDR] = "10.0.0.1",
						[NVMF_NQN] = "nqn.t1" } };
}

static void fini(void)
{
	attach_nvme_free(&nvme);
	free(nvme.attach.wait.disk);
	loop_free(loop);
	tree_free(&tree);
}
TestSuite(nvme, .init = setup, .fini = fini);

static void done(struct attach *attach)
{
	(void)attach;
}

/* In a child: what it is given is seen by the numbers it returns. */
int __wrap_kernel_nvmf_keyring(int root, const char *name, int32_t *ring, struct diag *diag)
{
	(void)root;
	while (!strcmp(name, "stuck"))
		pause();
	*ring = 12;
	return strcmp(name, "none") ? 0 : diag_set(diag, DIAG_NOT_FOUND, ENOKEY, "no keyring");
}

static bool key_existed;

int __wrap_kernel_nvmf_key(
	int32_t ring, const struct nvme_psk *tls, struct nvmf_ring_key *key, struct diag *diag)
{
	key->ring = ring;
	key->number = ring + (int32_t)strlen(tls->identity);
	key->added = !key_existed;
	return key->number == 12 ? diag_set(diag, DIAG_AUTH, ENOKEY, "no key") : 0;
}

static struct nvmf_ring_key removed;
static int remove_err;

int __wrap_kernel_nvmf_key_remove(int root, const struct nvmf_ring_key *key)
{
	(void)root;
	removed = *key;
	return remove_err;
}

static const char *ends; /* file of a controller, removed once it was looked for */
static bool device_hangs;

void __wrap_kernel_nvmf_supported_options(int, char[NVMF_SUPPORTED]);
void __real_kernel_nvmf_supported_options(int, char[NVMF_SUPPORTED]);

void __wrap_kernel_nvmf_supported_options(int root, char known[NVMF_SUPPORTED])
{
	while (device_hangs)
		pause();
	if (ends)
		unlinkat(root, ends, 0);
	__real_kernel_nvmf_supported_options(root, known);
}

static const char *dead; /* address without a route */

int __wrap_kernel_nvmf_write_line(int, const char *, int *);
int __real_kernel_nvmf_write_line(int, const char *, int *);

int __wrap_kernel_nvmf_write_line(int root, const char *line, int *instance)
{
	return dead && strstr(line, dead) ? -EHOSTUNREACH
					  : __real_kernel_nvmf_write_line(root, line, instance);
}

static void prepare(unsigned ms)
{
	attach_nvme_free(&nvme);
	free(nvme.attach.wait.disk);
	nvme = (struct attach_nvme){ .attach = { .proto = &attach_nvme_row,
					     .loop = loop,
					     .root = tree.root,
					     .deadline = loop_clock() + ms * MSEC,
					     .done = done },
		.target = &target };
}

static int run(void)
{
	struct attach *list = &nvme.attach;

	cr_assert_eq(attach_run(loop, &list, 1, NULL), 0);
	return -why->err;
}

static int connect_without_wait(void)
{
	prepare(5000);
	nvme.attach.no_wait = true;
	return run();
}

/* A file is a device that keeps what is written and gives what stands behind it. */
static void device_says(const char *answer)
{
	static const char lists[] = "transport,traddr,nqn";
	char line[NVMF_LINE], out[NVMF_LEFT_OUT], known[NVMF_SUPPORTED], text[NVMF_LINE + 100];

	tree_file(&tree, "dev/nvme-fabrics", lists);
	kernel_nvmf_supported_options(tree.root, known);
	cr_assert_eq(kernel_nvmf_line(params, known, true, line, out, NULL), 0);
	snprintf(text, sizeof(text), "%-*s%s", (int)strlen(line), lists, answer);
	tree_file(&tree, "dev/nvme-fabrics", text);
}

static void content(const char *path, const char *expected)
{
	char text[64] = "";
	int fd = openat(tree.root, path, O_RDONLY);

	cr_assert_geq(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	cr_assert_str_eq(text, expected);
}

Test(nvme, connected)
{
	device_says("instance=3,cntlid=1\n");
	cr_assert_eq(connect_without_wait(), -ENODEV, "it is in no /sys");
	diag_says(why, DIAG_CLOSED, NULL, "nvme3");
	nvme_tree_ctrl(&tree, "nvme3", "rdma", "nqn.other", "traddr=10.0.0.1,trsvcid=4420");
	device_says("instance=3,cntlid=1\n");
	cr_assert_eq(connect_without_wait(), 0, "%s", why->text);
	cr_assert_str_eq(nvme.ctrl.name, "nvme3");
	cr_assert(!nvme.existed);
	cr_assert(nvme.attach.made);
	device_says("nonsense");
	cr_assert_eq(connect_without_wait(), -EPROTO);
	cr_assert(!nvme.attach.made);
}

static int connect_to_two(void)
{
	struct addr addr, other;

	params->value[NVMF_TRADDR] = "disk";
	cr_assert_eq(addr_numeric(&addr, "10.0.0.7", 4420, NULL), 0);
	cr_assert_eq(addr_numeric(&other, "10.0.0.1", 4420, NULL), 0);
	cr_assert(addr_add(&addr, (const struct sockaddr *)&other.ss));
	cr_assert_eq(nvmf_target_set_addr(&target, &addr, NULL), 0);
	cr_assert_str_eq(params->value[NVMF_TRADDR], "10.0.0.7");
	params->value[NVMF_TRSVCID] = NULL; /* the device does not list it */
	device_says("instance=3,cntlid=1\n");
	prepare(5000);
	nvme.attach.addr = &target.addr;
	nvme.attach.no_wait = true;
	return run();
}

Test(nvme, the_address_of_a_name_that_answers)
{
	nvme_tree_ctrl(&tree, "nvme3", "rdma", "nqn.other", "traddr=10.0.0.1,trsvcid=4420");
	dead = "10.0.0.7";
	cr_assert_eq(connect_to_two(), 0, "%s", why->text);
	cr_assert_str_eq(nvme.ctrl.name, "nvme3");
	cr_assert_str_eq(params->value[NVMF_TRADDR], "10.0.0.1");
	dead = "10.0.0.";
	cr_assert_eq(connect_to_two(), -EHOSTUNREACH);
	diag_says(why, DIAG_UNREACHABLE, "10.0.0.7:4420, 10.0.0.1:4420", "no_route_to_host");
}

Test(nvme, addresses_without_a_route_are_left_out)
{
	struct addr addr, other;

	params->value[NVMF_HOST_TRADDR] = "10.0.0.2";
	params->value[NVMF_TRADDR] = "disk";
	cr_assert_eq(addr_numeric(&addr, "fd00::1", 4420, NULL), 0);
	cr_assert_eq(addr_numeric(&other, "10.0.0.1", 4420, NULL), 0);
	cr_assert(addr_add(&addr, (const struct sockaddr *)&other.ss));
	cr_assert_eq(nvmf_target_set_addr(&target, &addr, NULL), 0);
	cr_assert_str_eq(params->value[NVMF_TRADDR], "10.0.0.1");
	cr_assert_eq(target.addr.others, 0);
}

Test(nvme, a_second_time_nothing_is_written)
{
	nvme_tree_ctrl(&tree, "nvme5", "rdma", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	tree_file(&tree, "dev/nvme-fabrics", "transport,traddr,nqn,duplicate_connect");
	cr_assert_eq(connect_without_wait(), 0);
	cr_assert(nvme.existed);
	cr_assert(!nvme.attach.made);
	cr_assert_str_eq(nvme.ctrl.name, "nvme5");
	content("dev/nvme-fabrics", "transport,traddr,nqn,duplicate_connect");
	prepare(5000);
	nvme.exclusive = true;
	cr_assert_eq(run(), -EALREADY);
	diag_says(why, DIAG_BUSY, NULL, "nvme5");
	text_says(why->hint, "--duplicate-connect");
	content("sys/class/nvme/nvme5/delete_controller", "\n");
	params->value[NVMF_DUPLICATE_CONNECT] = "";
	cr_assert_eq(connect_without_wait(), -EPROTO, "the file has no answer");
}

Test(nvme, an_existing_connection_that_is_less_secure)
{
	static const enum nvmf_key keys[] = { NVMF_TLS, NVMF_CONCAT };

	tree_dir(&tree, "sys/module/nvme_tcp");
	tree_dir(&tree, "sys/module/tls");
	params->value[NVMF_TRANSPORT] = "tcp";
	for (unsigned i = 0; i < 2; i++) {
		params->value[NVMF_TLS] = params->value[NVMF_CONCAT] = NULL;
		params->value[keys[i]] = "";
		nvme_tree_ctrl(&tree, "nvme5", "tcp", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
		tree_file(&tree, "dev/nvme-fabrics", "transport,traddr,nqn,tls,concat");
		cr_assert_eq(connect_without_wait(), -EALREADY, "%s", why->text);
		diag_says(why, DIAG_MISMATCH, NULL, "nvme5 without_TLS");
		text_says(why->hint, "nvmf-disconnect nvme5");
		cr_assert(!nvme.attach.made);
		tree_file(&tree, "sys/class/nvme/nvme5/tls_key", "12345678");
		cr_assert_eq(connect_without_wait(), 0, "%s", why->text);
		cr_assert(nvme.existed);
		unlinkat(tree.root, "sys/class/nvme/nvme5/tls_key", 0);
	}
	params->value[NVMF_CONCAT] = NULL;
	params->value[NVMF_DHCHAP_SECRET] = params->value[NVMF_DHCHAP_CTRL_SECRET] = "DHHC-1:00:";
	tree_file(&tree, "dev/nvme-fabrics",
		"transport,traddr,nqn,tls,concat,dhchap_secret,dhchap_ctrl_secret");
	cr_assert_eq(connect_without_wait(), 0, "not reported: %s", why->text);
	tree_file(&tree, "sys/class/nvme/nvme5/dhchap_ctrl_secret", "none\n");
	cr_assert_eq(connect_without_wait(), -EALREADY);
	diag_says(why, DIAG_MISMATCH, NULL, "nvme5 authentication_of_the_controller");
	tree_file(&tree, "sys/class/nvme/nvme5/dhchap_ctrl_secret", "DHHC-1:00:none\n");
	cr_assert_eq(connect_without_wait(), 0, "%s", why->text);
}

static int connect_with(const char *ring, const char *identity)
{
	params->value[NVMF_KEYRING] = params->value[NVMF_TLS_KEY] = NULL;
	target.tls.ring = ring;
	target.tls.identity = identity;
	return connect_without_wait();
}

Test(nvme, keys_are_for_new_connections)
{
	nvme_tree_ctrl(&tree, "nvme3", "rdma", "nqn.other", "traddr=10.0.0.1,trsvcid=4420");
	device_says("instance=3,cntlid=1\n");
	cr_assert_eq(connect_with("ring", "seven.."), -ENOTSUP, "the device knows no keyring");
	cr_assert_str_eq(params->value[NVMF_KEYRING], "12");
	cr_assert_str_eq(params->value[NVMF_TLS_KEY], "19");
	cr_assert_eq(connect_with("none", "seven.."), -ENOKEY);
	diag_says(why, DIAG_NOT_FOUND, NULL, "keyring");
	cr_assert_null(params->value[NVMF_KEYRING]);
	cr_assert_eq(connect_with("ring", ""), -ENOKEY);
	diag_says(why, DIAG_AUTH, NULL, "key");
	nvme_tree_ctrl(&tree, "nvme5", "rdma", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	cr_assert_eq(connect_with("none", ""), 0, "%s", why->text);
	cr_assert(nvme.existed);
	cr_assert_null(params->value[NVMF_KEYRING]);
}

/* It ends between the look for it and the line. */
Test(nvme, a_connection_that_ends_before_it_is_used)
{
	nvme_tree_ctrl(&tree, "nvme3", "rdma", "nqn.other", "traddr=10.0.0.1,trsvcid=4420");
	nvme_tree_ctrl(&tree, "nvme5", "rdma", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	device_says("instance=3,cntlid=1\n");
	ends = "sys/class/nvme/nvme5/subsysnqn";
	cr_assert_eq(connect_with("ring", "seven.."), -ENOTSUP, "no line without the key");
	cr_assert_str_eq(params->value[NVMF_KEYRING], "12");
	cr_assert_str_eq(params->value[NVMF_TLS_KEY], "19");
	nvme_tree_ctrl(&tree, "nvme5", "rdma", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	cr_assert_eq(connect_with("none", "seven.."), -ENOKEY);
	diag_says(why, DIAG_NOT_FOUND, NULL, "keyring");
}

/* Other attempts of the command may use the key until all have ended. */
Test(nvme, the_key_of_a_failed_connection_is_removed)
{
	device_says("instance=3,cntlid=1\n");
	cr_assert_eq(connect_with("ring", "seven.."), -ENOTSUP);
	cr_assert_eq(removed.number, 0, "before the end");
	attach_nvme_free(&nvme);
	cr_assert(removed.number == 19 && removed.ring == 12);
	removed = (struct nvmf_ring_key){ 0 };
	key_existed = true;
	cr_assert_eq(connect_with("ring", "seven.."), -ENOTSUP);
	attach_nvme_free(&nvme);
	cr_assert_eq(removed.number, 0, "a key that existed");
	key_existed = false;
	env.keep_keys = true;
	cr_assert_eq(connect_with("ring", "seven.."), -ENOTSUP);
	attach_nvme_free(&nvme);
	cr_assert_eq(removed.number, 0, "the next attempt needs it");
}

static char noted[200];

static void note(struct attach *attach, const char *text)
{
	(void)attach;
	snprintf(noted, sizeof(noted), "%s", text);
}

Test(nvme, a_failed_removal_is_reported)
{
	device_says("instance=3,cntlid=1\n");
	cr_assert_eq(connect_with("ring", "seven.."), -ENOTSUP);
	remove_err = -EACCES;
	nvme.attach.note = note;
	attach_nvme_free(&nvme);
	cr_assert(strstr(noted, "key 19") && strstr(noted, "keyring 12"), "%s", noted);
}

static void cancel(struct loop_timer *timer)
{
	(void)timer;
	attach_cancel(&nvme.attach);
}

/* The loop runs on, and neither a deadline nor a cancel waits for the kernel. */
Test(nvme, a_keyring_that_blocks)
{
	struct loop_timer timer = { .fire = cancel };

	target.tls.ring = "stuck";
	prepare(1500);
	cr_assert_eq(run(), -ETIMEDOUT);
	diag_says(why, DIAG_TIMEOUT, NULL, "TLS key keyring");
	prepare(0);
	nvme.attach.deadline = 0;
	loop_timer_set(loop, &timer, loop_clock() + 50 * MSEC);
	cr_assert_eq(run(), -EINTR);
}

Test(nvme, a_device_with_a_blocking_read)
{
	struct loop_timer timer = { .fire = cancel };

	device_hangs = true;
	prepare(1500);
	cr_assert_eq(run(), -ETIMEDOUT);
	diag_says(why, DIAG_TIMEOUT, NULL, "read /dev/nvme-fabrics");
	prepare(0);
	nvme.attach.deadline = 0;
	loop_timer_set(loop, &timer, loop_clock() + 50 * MSEC);
	cr_assert_eq(run(), -EINTR);
}

Test(nvme, a_driver_that_is_missing)
{
	unlinkat(tree.root, "sys/module/nvme_rdma", AT_REMOVEDIR);
	cr_assert_eq(connect_without_wait(), -ENOENT);
	diag_says(why, DIAG_NO_MODULE, NULL, "module_nvme_rdma");
	params->value[NVMF_TRANSPORT] = "tcp";
	cr_assert_eq(connect_without_wait(), -ENOENT);
	diag_says(why, DIAG_NO_MODULE, NULL, "module_nvme_tcp");
}

static void hinted(const char *uri)
{
	struct diag diag = { 0 };

	nvmf_hint_userspace(&target, tree.root, &diag);
	cr_assert_not_null(strstr(diag.hint, uri), "%s", diag.hint);
}

Test(nvme, the_hint_for_userspace_is_the_same_disk_for_the_same_host)
{
	static const char own[] = "abff48c0-ecbe-4d8c-a64a-54f12797e8c2";

	tree_file(&tree, "etc/nvme/hostnqn", "nqn.x:me\n");
	tree_file(&tree, "etc/nvme/hostid", "abff48c0-ecbe-4d8c-a64a-54f12797e8c2\n");
	*params = (struct nvmf_params){ .value = { [NVMF_TRANSPORT] = "tcp",
						[NVMF_TRADDR] = "fd00::1",
						[NVMF_TRSVCID] = "4420",
						[NVMF_NQN] = "nqn.a/b" } };
	hinted("'nvme+tcp://[fd00::1]:4420/nqn.a%2Fb'");
	params->value[NVMF_HOSTNQN] = "nqn.x:me";
	params->value[NVMF_HOSTID] = own;
	hinted("'nvme+tcp://[fd00::1]:4420/nqn.a%2Fb'");
	params->value[NVMF_HOSTNQN] = "nqn.x:you";
	hinted("nqn.a%2Fb?hostnqn=nqn.x:you'");
	params->value[NVMF_HOSTID] = "11111111-ecbe-4d8c-a64a-54f12797e8c2";
	target.nsid = 3;
	params->value[NVMF_HOST_TRADDR] = "fd00::2";
	params->value[NVMF_HOST_IFACE] = "eth0";
	params->value[NVMF_NR_IO_QUEUES] = "4";
	params->value[NVMF_QUEUE_SIZE] = "64";
	params->value[NVMF_HDR_DIGEST] = params->value[NVMF_DISABLE_SQFLOW] = "";
	params->value[NVMF_KEEP_ALIVE_TMO] = "7";
	strcpy(target.policy, "wait=5");
	hinted("/3?hostnqn=nqn.x:you&hostid=11111111-ecbe-4d8c-a64a-54f12797e8c2&src=fd00::2&"
	       "iface=eth0&queues=4&depth=64&hdr_digest=1&loss=wait=5'");
	params->value[NVMF_TRANSPORT] = "rdma";
	params->value[NVMF_NR_IO_QUEUES] = "65"; /* more than userspace has */
	hinted("&src=fd00::2&depth=64&loss=wait=5'");
	target.policy[0] = 0;
	target.nsid = 0;
	*params = (struct nvmf_params){ .value = { [NVMF_TRANSPORT] = "tcp",
						[NVMF_TRADDR] = "10.0.0.1",
						[NVMF_NQN] = "nqn.a",
						[NVMF_DHCHAP_SECRET] = "x" } };

	struct diag diag = { 0 };

	nvmf_hint_userspace(&target, tree.root, &diag);
	cr_assert_str_eq(diag.hint, "", "only the kernel can authenticate");
}

static void waits(uint32_t nsid, int err, const char *words)
{
	prepare(err == -ETIMEDOUT ? 1500 : 10000);
	target.nsid = nsid;
	cr_assert_eq(run(), err, "%s", why->text);
	if (err)
		diag_says(why, err == -ETIMEDOUT ? DIAG_TIMEOUT : DIAG_CLOSED, NULL, words);
	cr_assert(!err || !nvme.attach.made);
}

/* A controller that can't be asked has what appears. */
Test(nvme, what_does_not_come_is_not_waited_for_forever)
{
	nvme_tree_ctrl(&tree, "nvme2", "rdma", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	waits(3, -ETIMEDOUT, "namespace_3 nvme2");
	nvme_tree_disk(&tree, "nvme2", "nvme2n3", "nvme2n3", 3);
	waits(3, -ETIMEDOUT, "namespace_3 nvme2"); /* it has no node */
	tree_file(&tree, "dev/nvme2n3", "");
	waits(3, 0, NULL);
	cr_assert_eq(nvme.disks, 1);
	cr_assert_str_eq(nvme.disk[0].name, "nvme2n3");
	tree_file(&tree, "sys/class/nvme/nvme2/state", "connecting\n");
	waits(0, -ETIMEDOUT, "nvme2 connecting");
	tree_file(&tree, "sys/class/nvme/nvme2/state", "deleting (no IO)\n");
	prepare(1500);
	snprintf(nvme.attach.what, sizeof(nvme.attach.what), "nvme2");
	nvme.active.count = -EIO;
	cr_assert_eq(attach_nvme_row.poll(&nvme.attach), -ENODEV);
	diag_says(why, DIAG_CLOSED, NULL, "nvme2 deleting");
	unlinkat(tree.root, "sys/class/nvme/nvme2/state", 0);
	cr_assert_eq(attach_nvme_row.poll(&nvme.attach), -ENODEV);
	diag_says(why, DIAG_CLOSED, NULL, "nvme2");
}

static int wait_with_log(const char *log)
{
	tree_file(&tree, "dev/kmsg", "");
	prepare(300);
	kernel_log_mark(tree.root, &nvme.scan_log);
	tree_file(&tree, "dev/kmsg", log);
	target.nsid = 3;
	return run();
}

/* The kernel has a disk of that number, of a target with the same NQN. */
Test(nvme, namespace_that_another_connection_has)
{
	nvme_tree_ctrl(&tree, "nvme1", "rdma", "nqn.t1", "traddr=10.0.0.7,trsvcid=4420");
	nvme_tree_disk(&tree, "nvme1", "nvme0c1n3", "nvme0n3", 3);
	nvme_tree_ctrl(&tree, "nvme2", "rdma", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	cr_assert_eq(wait_with_log("3,1,1,-;nvme nvme2: IDs don't match for shared namespace 3\n"),
		-EXDEV);
	diag_says(why, DIAG_MISMATCH, NULL, "namespace_3 nvme0n3 uuid. nvme1 same_NQN");
	cr_assert_eq(
		wait_with_log("3,1,1,-;nvme nvme2: Duplicate unshared namespace 3\n"), -ENOTSUP);
	diag_says(why, DIAG_UNSUPPORTED, NULL, "namespace_3 nvme0n3 nvme1 shared");
	cr_assert_eq(wait_with_log("3,1,1,-;nvme nvme2: duplicate IDs in subsystem for nsid 3\n"),
		-ENOTSUP);
	cr_assert_eq(wait_with_log("3,1,1,-;nvme nvme1: IDs don't match for shared namespace 3\n"
				   "3,2,1,-;nvme nvme2: IDs don't match for shared namespace 30\n"),
		-ETIMEDOUT, "of others");
	cr_assert_eq(wait_with_log(""), -ETIMEDOUT, "it is not scanned yet");
}

/* What the controller shows, as if it had been asked. */
static int look_with(const uint32_t *nsid, int count, uint32_t wanted, const char *uuid)
{
	prepare(1500);
	snprintf(nvme.attach.what, sizeof(nvme.attach.what), "nvme2");
	target.nsid = wanted;
	snprintf(target.uuid, sizeof(target.uuid), "%s", uuid ? uuid : "");
	nvme.active.count = count;
	memcpy(nvme.active.nsid, nsid, (size_t)count * sizeof(*nsid));
	return attach_nvme_row.poll(&nvme.attach);
}

static const char *must_open(void)
{
	static char names[128];

	names[0] = 0;
	for (unsigned i = 0; i < nvme.attach.wait.disks; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s ",
			nvme.attach.wait.disk[i].name);
	return names;
}

Test(nvme, every_namespace_or_the_one_that_is_wanted)
{
	static const uint32_t active[] = { 1, 2, 7 };

	nvme_tree_ctrl(&tree, "nvme2", "rdma", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	nvme_tree_disk(&tree, "nvme2", "nvme2n1", "nvme2n1", 1);
	nvme_tree_disk(&tree, "nvme2", "nvme2n7", "nvme2n7", 7);
	cr_assert_eq(look_with(active, 3, 0, NULL), 0, "2 is missing");
	cr_assert_eq(look_with(active, 3, 7, NULL), 1);
	cr_assert_str_eq(must_open(), "nvme2n7 ");
	cr_assert_eq(nvme.disks, 1);
	cr_assert_eq(nvme.disk[0].nsid, 7);
	cr_assert_eq(look_with(active, 3, 2, NULL), 0);
	cr_assert_eq(look_with(active, 3, 3, NULL), -ENOENT);
	diag_says(why, DIAG_NOT_FOUND, NULL, "namespace_3 1,_2,_7");
	nvme_tree_disk(&tree, "nvme2", "nvme2n2", "nvme2n2", 2);
	cr_assert_eq(look_with(active, 3, 0, NULL), 1);
	cr_assert_str_eq(must_open(), "nvme2n1 nvme2n2 nvme2n7 ");
	cr_assert_eq(nvme.disks, 3);
	cr_assert_eq(look_with(active, 3, 0, "3817D9BC-9750-46fd-b17e-d1e5769402f7"), 1);
	cr_assert_eq(nvme.disks, 1);
	cr_assert_eq(look_with(active, 3, 0, "00000000-9750-46fd-b17e-d1e5769402f7"), -ENOENT);
	diag_says(why, DIAG_NOT_FOUND, NULL, "UUID");
	cr_assert_eq(look_with(active, 0, 0, NULL), 1, "no namespace is visible");
	cr_assert_str_eq(must_open(), "");
}

Test(nvme, a_controller_that_cannot_be_asked_settles)
{
	uint64_t began = loop_clock();

	nvme_tree_ctrl(&tree, "nvme2", "rdma", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	nvme_tree_disk(&tree, "nvme2", "nvme2n1", "nvme2n1", 1);
	tree_file(&tree, "dev/nvme2n1", "");
	prepare(5000);
	cr_assert_eq(run(), 0, "%s", why->text);
	cr_assert_geq(loop_clock() - began, 500 * MSEC);
	cr_assert_eq(nvme.disks, 1);
}

static int detach(bool force)
{
	prepare(5000);
	cr_assert_eq(kernel_nvmf_read_ctrl(tree.root, "nvme2", &nvme.ctrl), 0);
	nvme.attach.force = force;
	attach_detach(&nvme.attach);
	return run();
}

Test(nvme, the_end_of_a_connection)
{
	nvme_tree_ctrl(&tree, "nvme2", "rdma", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	prepare(5000);
	cr_assert_eq(kernel_nvmf_read_ctrl(tree.root, "nvme2", &nvme.ctrl), 0);
	kernel_nvmf_fail_fast(tree.root, &nvme.ctrl);
	content("sys/class/nvme/nvme2/fast_io_fail_tmo", "0");
	content("sys/class/nvme/nvme2/ctrl_loss_tmo", "1");
	cr_assert_eq(detach(true), 0, "%s", why->text);
	content("sys/class/nvme/nvme2/delete_controller", "1");
	prepare(5000);
	snprintf(nvme.ctrl.name, sizeof(nvme.ctrl.name), "nvme77");
	attach_detach(&nvme.attach);
	cr_assert_eq(run(), 0, "what is gone is gone");
}

Test(nvme, a_number_that_has_become_anothers_is_left_alone)
{
	nvme_tree_ctrl(&tree, "nvme2", "rdma", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	prepare(5000);
	cr_assert_eq(kernel_nvmf_read_ctrl(tree.root, "nvme2", &nvme.ctrl), 0);
	nvme_tree_ctrl(&tree, "nvme2", "rdma", "nqn.quite-another", "traddr=10.0.0.9,trsvcid=4420");
	kernel_nvmf_fail_fast(tree.root, &nvme.ctrl);
	content("sys/class/nvme/nvme2/ctrl_loss_tmo", "60\n");
	nvme.attach.force = true;
	attach_detach(&nvme.attach);
	cr_assert_eq(run(), 0, "%s", why->text);
	content("sys/class/nvme/nvme2/delete_controller", "\n");
}

Test(nvme, what_is_in_use_stays)
{
	char who[ATTACH_USERS];

	nvme_tree_ctrl(&tree, "nvme2", "rdma", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	nvme_tree_disk(&tree, "nvme2", "nvme1c2n1", "nvme1n1", 1);
	tree_file(&tree, "proc/self/mountinfo", "25 1 259:1 / /mnt rw - ext4 /dev/nvme1n1 rw\n");
	cr_assert_eq(detach(false), -EBUSY);
	diag_says(why, DIAG_BUSY, NULL, "nvme1n1 /mnt");
	content("sys/class/nvme/nvme2/delete_controller", "\n");
	attach_nvme_users(tree.root, &nvme.ctrl, 1, who);
	text_says(who, "nvme1n1 /mnt");
	tree_file(&tree, "proc/self/mountinfo", "");
	attach_nvme_users(tree.root, &nvme.ctrl, 1, who);
	cr_assert_str_eq(who, "");
	cr_assert_eq(detach(false), 0);
	content("sys/class/nvme/nvme2/delete_controller", "1");
}

/* What can't be searched may be in use. */
Test(nvme, users_that_are_not_found_in_time)
{
	char who[ATTACH_USERS];

	nvme_tree_ctrl(&tree, "nvme2", "rdma", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	nvme_tree_disk(&tree, "nvme2", "nvme1c2n1", "nvme1n1", 1);
	search_hangs = true;
	cr_assert_eq(detach(false), -EBUSY);
	diag_says(why, DIAG_BUSY, NULL, "unknown timed_out");
	content("sys/class/nvme/nvme2/delete_controller", "\n");
	attach_nvme_users(tree.root, &nvme.ctrl, 1, who);
	text_says(who, "unknown timed_out");
}

/* The call succeeds, and the loop learns of it only after the attachment was cancelled. */
Test(nvme, connected_just_before_it_is_cancelled)
{
	struct pollfd ended = { .events = POLLIN };

	nvme_tree_ctrl(&tree, "nvme3", "rdma", "nqn.other", "traddr=10.0.0.1,trsvcid=4420");
	device_says("instance=3");
	prepare(5000);
	attach_nvme_row.connect(&nvme.attach);
	ended.fd = nvme.call.watch.fd;
	cr_assert_eq(poll(&ended, 1, 5000), 1);
	attach_nvme_row.stop(&nvme.attach);
	cr_assert(nvme.attach.made, "it is left behind");
	cr_assert_str_eq(nvme.attach.what, "nvme3");
	cr_assert_str_eq(nvme.ctrl.nqn, "nqn.other");
}

/* Connected by this command, and then its namespace does not come. */
static void fails_after_dial(void)
{
	nvme_tree_ctrl(&tree, "nvme3", "rdma", "nqn.other", "traddr=10.0.0.1,trsvcid=4420");
	nvme_tree_disk(&tree, "nvme3", "nvme1c3n1", "nvme1n1", 1);
	device_says("instance=3,cntlid=1\n");
	prepare(1500);
	target.nsid = 3;
	cr_assert_eq(run(), -ETIMEDOUT);
}

Test(nvme, what_failed_is_taken_back)
{
	fails_after_dial();
	content("sys/class/nvme/nvme3/delete_controller", "1");
	cr_assert_str_eq(why->hint, "");
}

/* The file of the device mapper refuses to remove it. */
Test(nvme, what_failed_stays_with_its_multipath_device)
{
	tree_dir(&tree, "sys/class/block/nvme1n1/holders/dm-0");
	tree_dir(&tree, "sys/class/block/dm-0/slaves/nvme1n1");
	tree_file(&tree, "sys/class/block/dm-0/dev", "253:0\n");
	tree_file(&tree, "sys/class/block/dm-0/dm/name", "mpatha\n");
	tree_file(&tree, "sys/class/block/dm-0/dm/uuid", "mpath-eui.1\n");
	tree_file(&tree, "dev/mapper/control", "");
	fails_after_dial();
	content("sys/class/nvme/nvme3/delete_controller", "\n");
	text_says(why->hint, "nvme3 mpatha");
}

Test(nvme, what_failed_stays_if_it_is_in_use)
{
	tree_file(&tree, "proc/self/mountinfo", "25 1 259:1 / /mnt rw - ext4 /dev/nvme1n1 rw\n");
	fails_after_dial();
	content("sys/class/nvme/nvme3/delete_controller", "\n");
	text_says(why->hint, "nvme3 nvme1n1 /mnt");
}
