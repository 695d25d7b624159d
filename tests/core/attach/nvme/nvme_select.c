/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which connections a controller, disk, NQN, address or URI selects, alone and together. */
/* Link: leap getaddrinfo freeaddrinfo */
#include "attach_detach.h"
#include "attach_nvme.h"
#include "lookups.h"
#include "nvme_tree.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTID "abff48c0-ecbe-4d8c-a64a-54f12797e8c2" /* of nvme_tree_ctrl() */

static struct tree tree;
static const struct attach_env env = { .notes.quiet = true };
static const char *value[NVMF_KEYS];
static struct opt_list devices;
static struct diag why;

/* Two paths to one subsystem, and the same over RDMA; another one, on a second port and over IPv6;
 * a local disk, which no connection is. */
static void begin(void)
{
	tree = tree_new();
	nvme_tree_ctrl(&tree, "nvme0", "tcp", "nqn.t1",
		"traddr=10.0.0.1,trsvcid=4420,host_traddr=10.0.0.7,host_iface=eth0");
	nvme_tree_ctrl(&tree, "nvme1", "tcp", "nqn.t1", "traddr=10.0.0.2,trsvcid=4420");
	nvme_tree_ctrl(&tree, "nvme2", "rdma", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	nvme_tree_ctrl(&tree, "nvme3", "tcp", "nqn.t2", "traddr=10.0.0.1,trsvcid=4421");
	nvme_tree_ctrl(&tree, "nvme4", "pcie", "nqn.t1", "0000:01:00.0");
	nvme_tree_ctrl(&tree, "nvme10", "tcp", "nqn.t2", "traddr=fd00:0::0001,trsvcid=4420");
	tree_file(&tree, "sys/class/nvme/nvme1/hostnqn", "nqn.other\n");
	nvme_tree_disk(&tree, "nvme0", "nvme0c0n1", "nvme0n1", 1);
	nvme_tree_disk(&tree, "nvme1", "nvme0c1n1", "nvme0n1", 1);
	nvme_tree_disk(&tree, "nvme10", "nvme10n1", "nvme10n1", 1);
	nvme_tree_disk(&tree, "nvme4", "nvme4n1", "nvme4n1", 1);
	tree_file(&tree, "dev/sda", "");
	memset(value, 0, sizeof(value));
	devices = (struct opt_list){ 0 };
}

static void end(void)
{
	tree_free(&tree);
}
TestSuite(nvme_select, .init = begin, .fini = end);

/* Names of the controllers, "nvme0 nvme10 "; NULL: a failure. */
static const char *selected(const char *operand)
{
	struct nvmf_selection selection = { .env = &env,
		.root = tree.root,
		.operand = operand,
		.value = value,
		.device = &devices };
	static char names[256];
	int err;

	why = (struct diag){ 0 };
	names[0] = 0;
	err = nvmf_select(&selection, &why);
	for (unsigned i = 0; i < selection.count; i++)
		strcat(strcat(names, selection.ctrl[i].name), " ");
	free(selection.ctrl);
	cr_assert_eq(err, -why.err);
	cr_assert(!err || !selection.count);
	return err ? NULL : names;
}

#define SELECTS(operand_, names_)                                                                  \
	do {                                                                                       \
		const char *is_ = selected(operand_), *operand__ = (operand_);                     \
		cr_assert_not_null(is_, "%s: %s", operand__ ? operand__ : "", why.text);           \
		cr_assert_str_eq(is_, names_, "%s: \"%s\"", operand__ ? operand__ : "", is_);      \
	} while (0)

/* The --device options of the next selections. */
static void set_devices(const char *first, const char *second)
{
	devices = (struct opt_list){ 0 };
	devices.item[devices.count++] = first;
	if (second)
		devices.item[devices.count++] = second;
}

Test(nvme_select, all_but_local_disks)
{
	SELECTS(NULL, "nvme0 nvme1 nvme2 nvme3 nvme10 ");
}

Test(nvme_select, no_connections)
{
	tree_free(&tree);
	tree = tree_new();
	SELECTS(NULL, "");
	SELECTS("nqn.t1", "");
	SELECTS("nvme0", "");
	SELECTS("nvme+tcp://10.0.0.1/nqn.t1", "");
}

Test(nvme_select, a_controller)
{
	SELECTS("nvme1", "nvme1 ");
	SELECTS("nvme10", "nvme10 ");
	SELECTS("nvme4", "");
}

Test(nvme_select, a_disk_selects_all_its_paths)
{
	SELECTS("nvme0n1", "nvme0 nvme1 ");
	SELECTS("nvme0n1p2", "nvme0 nvme1 ");
	SELECTS("nvme0c1n1", "nvme1 ");
	SELECTS("/dev/nvme0n1", "nvme0 nvme1 ");
	SELECTS("nvme10n1", "nvme10 ");
	SELECTS("nvme4n1", "");
}

Test(nvme_select, what_is_gone_selects_nothing)
{
	SELECTS("nvme7", "");
	SELECTS("nvme0n7", "");
	SELECTS("/dev/nvme7n1", "");
	SELECTS("nothing", "");
	set_devices("nvme7", NULL);
	SELECTS(NULL, "");
}

Test(nvme_select, an_existing_file_that_is_no_connection_is_an_error)
{
	cr_assert_null(selected("sda"));
	diag_says(&why, DIAG_NOT_FOUND, "sda", "no_such status");
	cr_assert_null(selected("/dev/null"));
	diag_says(&why, DIAG_NOT_FOUND, "/dev/null", "no_such status");
	set_devices("nvme0,sda", NULL);
	cr_assert_null(selected(NULL));
	diag_says(&why, DIAG_NOT_FOUND, "sda", "no_such");
}

/* No name that only looks like a number or a path of one is taken for it. */
Test(nvme_select, odd_names_select_nothing)
{
	static const char *const names[] = { "", "nvme", "nvme0 ", " nvme0", "nvme 0", "nvme+0",
		"nvme-0", "nvme00", "nvme0x", "nvme0n", "nvme0n1 ", "nvme 0n1", "nvme+0n1",
		"nvme0n+1", "nvme0n 1", "nvme00n1", "nvme0n01", "nvme0n1p", "nvme0n1x", "nvme0c0",
		"nvme0c01n1", "nvme0/", "nvme1/../nvme0", "./nvme0", "../nvme/nvme0",
		"nvme4294967296", "nvme4294967296n1", "nvme0n4294967297", "nvme0*", "nvme%d",
		"nvme0\n", "NVME0", "/sys/nvme0/none", "nvme0;nvme1", "nqn", "10.0.0.1",
		"nvme0000000000000000000000000000000000000000000000000n1" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *is = selected(names[i]);

		cr_assert(!is || !*is, "\"%s\" selects %s", names[i], is);
	}
}

Test(nvme_select, devices_in_lists)
{
	set_devices("nvme3,nvme0", "nvme10");
	SELECTS(NULL, "nvme0 nvme3 nvme10 ");
	set_devices("nvme0,nvme0", "nvme0n1");
	SELECTS(NULL, "nvme0 nvme1 ");
	set_devices("nvme7,nvme3", NULL);
	SELECTS(NULL, "nvme3 ");
}

Test(nvme_select, an_empty_name_in_a_list_is_an_error)
{
	static const char *const lists[] = { "", ",", "nvme0,", ",nvme0", "nvme0,,nvme1" };

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		set_devices(lists[i], NULL);
		cr_assert_null(selected(NULL), "%s", lists[i]);
		diag_says(&why, DIAG_USAGE, NULL, "--device empty");
	}
}

Test(nvme_select, too_many_devices)
{
	char list[65 * 6 + 1] = "";

	for (unsigned i = 0; i < 64; i++)
		strcat(list, i ? ",nvme0" : "nvme0");
	set_devices(list, NULL);
	SELECTS(NULL, "nvme0 ");
	set_devices(strcat(list, ",nvme1"), NULL);
	cr_assert_null(selected(NULL));
	diag_says(&why, DIAG_USAGE, NULL, "more_than 64");
}

Test(nvme_select, a_subsystem)
{
	SELECTS("nqn.t1", "nvme0 nvme1 nvme2 ");
	SELECTS("nqn.t", "");
	SELECTS("nqn.t1 ", "");
	SELECTS("nqn.T1", "");
	value[NVMF_NQN] = "nqn.t2";
	SELECTS(NULL, "nvme3 nvme10 ");
}

Test(nvme_select, options_are_combined)
{
	static const struct {
		enum nvmf_key key;
		const char *value, *names;
	} rows[] = {
		{ NVMF_TRANSPORT, "tcp", "nvme0 nvme1 nvme3 nvme10 " },
		{ NVMF_TRANSPORT, "rdma", "nvme2 " },
		{ NVMF_TRADDR, "10.0.0.1", "nvme0 nvme2 nvme3 " },
		{ NVMF_TRADDR, "fd00::1", "nvme10 " },
		{ NVMF_TRSVCID, "4421", "nvme3 " },
		{ NVMF_HOSTNQN, "nqn.other", "nvme1 " },
		{ NVMF_HOSTID, HOSTID, "nvme0 nvme1 nvme2 nvme3 nvme10 " },
		{ NVMF_HOST_TRADDR, "10.0.0.7", "nvme0 " },
		{ NVMF_HOST_IFACE, "eth0", "nvme0 " },
		{ NVMF_HOST_IFACE, "eth", "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		value[rows[i].key] = rows[i].value;
		SELECTS(NULL, rows[i].names);
		value[rows[i].key] = NULL;
	}
	value[NVMF_TRANSPORT] = "tcp";
	value[NVMF_TRADDR] = "10.0.0.1";
	SELECTS(NULL, "nvme0 nvme3 ");
	SELECTS("nqn.t2", "nvme3 ");
	SELECTS("nvme0n1", "nvme0 ");
	set_devices("nvme1,nvme3", NULL);
	SELECTS(NULL, "nvme3 ");
	set_devices("nvme1", NULL);
	SELECTS(NULL, "");
}

Test(nvme_select, an_address_by_its_name)
{
	names_set("disk.example", "10.0.0.2", 0);
	value[NVMF_TRADDR] = "disk.example";
	SELECTS(NULL, "nvme1 ");
	value[NVMF_TRADDR] = NULL;
	names_set("host.example", "10.0.0.7", 0);
	value[NVMF_HOST_TRADDR] = "host.example";
	SELECTS(NULL, "nvme0 ");
	value[NVMF_HOST_TRADDR] = NULL;
	value[NVMF_TRADDR] = "none.example";
	cr_assert_null(selected(NULL));
	diag_says(&why, DIAG_NOT_FOUND, NULL, "none.example");
	cr_assert_eq(names_asked("none.example"), 1);
}

Test(nvme_select, a_uri_is_one_connection_by_any_host)
{
	SELECTS("nvme+tcp://10.0.0.1/nqn.t1", "nvme0 ");
	SELECTS("nvme+tcp://10.0.0.9/nqn.t1?paths=auto", "nvme0 nvme1 nvme2 ");
	SELECTS("nvme+tcp://10.0.0.2/nqn.t1", "nvme1 ");
	SELECTS("nvme+rdma://10.0.0.1/nqn.t1", "nvme2 ");
	SELECTS("nvme+tcp://[fd00::1]/nqn.t2", "nvme10 ");
	SELECTS("nvme+tcp://10.0.0.1:4421/nqn.t2", "nvme3 ");
	SELECTS("nvme+tcp://10.0.0.1/nqn.t2", "");
	SELECTS("nvme+tcp://10.0.0.9/nqn.t1", "");
	SELECTS("transport=tcp,traddr=10.0.0.1,trsvcid=4420,nqn=nqn.t1", "nvme0 ");
}

Test(nvme_select, a_uri_without_a_subsystem_is_all_at_that_address)
{
	SELECTS("nvme+tcp://10.0.0.1", "nvme0 nvme3 ");
	SELECTS("nvme+tcp://10.0.0.1/", "nvme0 nvme3 ");
	SELECTS("nvme+tcp://10.0.0.1:8009", "nvme0 nvme3 ");
	SELECTS("nvme+rdma://10.0.0.1", "nvme2 ");
}

Test(nvme_select, a_uri_with_a_host)
{
	SELECTS("nvme+tcp://10.0.0.2/nqn.t1?hostnqn=nqn.other", "nvme1 ");
	SELECTS("nvme+tcp://10.0.0.2/nqn.t1?hostnqn=nqn.host", "");
	SELECTS("nvme+tcp://10.0.0.1/nqn.t1?hostid=" HOSTID, "nvme0 ");
	SELECTS("nvme+tcp://10.0.0.1/nqn.t1?hostid=ABFF48C0-ECBE-4D8C-A64A-54F12797E8C2", "nvme0 ");
	SELECTS("nvme+tcp://10.0.0.1/nqn.t1?hostid=00000000-0000-4000-8000-000000000001", "");
}

Test(nvme_select, a_uri_by_a_name)
{
	names_set("disk.example", "10.0.0.1", 0);
	SELECTS("nvme+tcp://disk.example/nqn.t1", "nvme0 ");
	SELECTS("nvme+tcp://disk.example", "nvme0 nvme3 ");
	cr_assert_null(selected("nvme+tcp://none.example/nqn.t1"));
	diag_says(&why, DIAG_NOT_FOUND, NULL, "none.example");
}

Test(nvme_select, options_are_ignored_with_a_uri)
{
	value[NVMF_NQN] = "nqn.t2";
	set_devices("nvme3", NULL);
	SELECTS("nvme+tcp://10.0.0.1/nqn.t1", "nvme0 ");
}

Test(nvme_select, an_invalid_uri)
{
	cr_assert_null(selected("nvme+fc://10.0.0.1/nqn.t1"));
	cr_assert_eq(why.code, DIAG_USAGE);
	cr_assert_null(selected("nvme+tcp://10.0.0.1/nqn.t1?sparkle=1"));
	diag_says(&why, DIAG_USAGE, NULL, "sparkle");
}
