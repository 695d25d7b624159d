/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What add_target takes: each value's form and range, what goes together, and the line. */
#include "kernel_srp.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define IDS "id_ext=1,ioc_guid=2"

static struct tree tree;
static struct srp_params params;
static struct diag why;
static char line[SRP_LINE];

static void setup(void)
{
	tree = tree_new();
	memset(&params, 0, sizeof(params));
	why = (struct diag){ 0 };
}

static void fini(void)
{
	tree_free(&tree);
}
TestSuite(srp_option, .init = setup, .fini = fini);

static int parse(const char *text)
{
	int err;

	memset(&params, 0, sizeof(params));
	why = (struct diag){ 0 };
	err = srp_params_parse(&params, text, &why);
	kernel_srp_line(&params, line);
	return err;
}

static int check(const char *text)
{
	int err = parse(text);

	return err ? err : kernel_srp_check(tree.root, &params, &why);
}

static void bad(const char *text, const char *words)
{
	cr_assert_lt(check(text), 0, "%s", text);
	diag_says(&why, DIAG_USAGE, NULL, words);
}

Test(srp_option, one_form_for_all_spellings)
{
	cr_assert_eq(check("id_ext=0x0002C903004ED0B2, "
			   "ioc_guid=2c903004ed0b2,dgid=fe80::2:c903:4e:d0b3,pkey=0xFFFF,service_"
			   "id=2c9\n"),
		0, "%s", why.text);
	cr_assert_str_eq(line,
		"id_ext=0002c903004ed0b2,ioc_guid=0002c903004ed0b2,dgid="
		"fe800000000000000002c903004ed0b3,pkey=ffff,service_id=00000000000002c9");
	cr_assert_eq(check("ch_count=1,max_it_iu_size=8276,dest=10.0.0.1:5555,queue-size=062," IDS
			   ",,initiator_ext=1"),
		0, "%s", why.text);
	cr_assert_str_eq(line, "id_ext=0000000000000001,ioc_guid=0000000000000002,dest=10.0.0.1:"
			       "5555,initiator_ext=0000000000000001,queue_size=62,ch_count=1,"
			       "max_it_iu_size=8276");
}

Test(srp_option, values)
{
	bad(IDS ",sparkle=1", "'sparkle' add_target");
	text_says(why.hint, "max_it_iu_size");
	bad(IDS ",pkey", "pkey value");
	bad(IDS ",pkey=", "pkey value");
	bad(IDS ",id_ext=1", "id_ext twice");
	bad("id_ext=12345678901234567", "id_ext_'12345678901234567' 1_to_16 hex");
	bad("ioc_guid=0x", "ioc_guid_'0x' 1_to_16");
	bad("service_id=7g", "service_id_'7g' 1_to_16");
	bad("pkey=12345", "pkey_'12345' 1_to_4");
	bad("pkey=0", "pkey 1_to_ffff");
	bad("dgid=fe80000000000000000000000000001", "dgid 'fe80000000000000000000000000001' GID");
	bad("io_class=0101", "io_class_'0101' ff00");
	bad("id_ext=1 ioc_guid=2", "'id_ext=1_ioc_guid=2' add_target");
	bad("dest=\"a\"", "dest_'\"a\"' address");
	bad("max_sect=7", "max_sect 8_to_65535");
	bad("max_cmd_per_lun=0", "max_cmd_per_lun 1_to_32767");
	bad("queue_size=1", "queue_size 2_to_32767");
	bad("target_can_queue=0", "target_can_queue 1_to_2147483647");
	bad("cmd_sg_entries=256", "cmd_sg_entries 1_to_255");
	bad("allow_ext_sg=2", "allow_ext_sg 0_to_1");
	bad("sg_tablesize=2049", "sg_tablesize 1_to_2048");
	bad("comp_vector=-1", "comp_vector '-1'");
	bad("tl_retry_count=8", "tl_retry_count 2_to_7");
	bad("ch_count=0", "ch_count 1_to_1024");
	bad("max_it_iu_size=64K", "max_it_iu_size '64K'");
	bad("queue_size=99999999999999999999", "queue_size '99999999999999999999'");
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = 0;
	cr_assert_eq(srp_params_parse(&params, line, &why), -EINVAL);
	cr_assert_eq(srp_opt_find("cmd-sg-entries"), SRP_OPT_CMD_SG_ENTRIES);
	cr_assert_eq(srp_opt_find("cmd_sg"), -1);
}

Test(srp_option, what_goes_together)
{
	bad("ioc_guid=1", "id_ext");
	bad("id_ext=1", "ioc_guid");
	bad(IDS, "target dgid dest");
	bad(IDS ",src=10.0.0.1", "src RDMA/CM dest");
	bad(IDS ",dest=10.0.0.1:5,src=me.invalid", "src='me.invalid' IP_address");
	bad(IDS ",dest=10.0.0.1:5,src=me.invalid:6", "src='me.invalid:6' IP_address");
	bad(IDS ",dest=me.invalid:0", "dest 'me.invalid:0' port");
	bad(IDS ",dest=10.0.0.1:00", "dest '10.0.0.1:00' port");
	bad(IDS ",dest=[::1]:0", "dest '[::1]:0' port");
	bad(IDS ",dgid=fe80::1,service_id=1", "pkey");
	bad(IDS ",dgid=fe80::1,pkey=ffff", "service_id");
	bad(IDS ",dest=10.0.0.1:5,pkey=ffff", "dest RDMA/CM pkey InfiniBand");
	bad(IDS ",dest=10.0.0.1:5,dgid=fe80::1", "dest RDMA/CM dgid InfiniBand");
	bad(IDS ",dest=10.0.0.1:5,max_cmd_per_lun=63", "max_cmd_per_lun 63 queue_size 62 default");
	bad(IDS ",dest=10.0.0.1:5,max_cmd_per_lun=9,queue_size=8",
		"max_cmd_per_lun 9 queue_size 8");
	bad(IDS ",dest=10.0.0.1:5,sg_tablesize=11", "sg_tablesize 11 cmd_sg_entries 12 default");
	bad(IDS ",dest=10.0.0.1:5,max_it_iu_size=259", "max_it_iu_size 259 12 cmd_sg_entries 260");
	cr_assert_eq(check(IDS ",dest=10.0.0.1:5,max_it_iu_size=260"), 0);
	cr_assert_eq(check(IDS ",dest=10.0.0.1:5,max_it_iu_size=100,cmd_sg_entries=2"), 0);
	tree_file(&tree, "sys/module/ib_srp/parameters/cmd_sg_entries", "64\n");
	bad(IDS ",dest=10.0.0.1:5,max_it_iu_size=260", "max_it_iu_size 64 cmd_sg_entries 1092");
}

static int parse_addrs(const char *text)
{
	struct addr dest;
	int err = check(text);

	return err ? err : kernel_srp_parse_addrs(&params, &dest, &why);
}

Test(srp_option, addresses)
{
	cr_assert_eq(parse_addrs(IDS ",dest=localhost:5555,src=127.0.0.1"), 0, "%s", why.text);
	cr_assert_str_eq(params.value[SRP_OPT_DEST], "127.0.0.1:5555");
	cr_assert_str_eq(params.value[SRP_OPT_SRC], "127.0.0.1");
	cr_assert_eq(parse_addrs(IDS ",dest=[::1]:5,src=[::1]"), 0, "%s", why.text);
	cr_assert_str_eq(params.value[SRP_OPT_DEST], "[::1]:5");
	cr_assert_str_eq(params.value[SRP_OPT_SRC], "[::1]");
	cr_assert_eq(parse_addrs(IDS ",dest=[::1]:5,src=::1"), 0, "%s", why.text);
	cr_assert_str_eq(params.value[SRP_OPT_SRC], "[::1]");
	cr_assert_eq(parse_addrs(IDS ",dest=[::1]:5,src=[::1]:6"), 0, "%s", why.text);
	cr_assert_str_eq(params.value[SRP_OPT_SRC], "[::1]:6");
	cr_assert_lt(parse_addrs(IDS ",dest=[::1]:5,src=127.0.0.1"), 0);
	diag_says(&why, DIAG_USAGE, NULL, "src_'127.0.0.1' dest_'[::1]:5'");
	static const char *const portless[] = { "127.0.0.1", ":5555", "::1", "[::1]",
		"127.0.0.1:", "127.0.0.1:x" };

	for (unsigned i = 0; i < sizeof(portless) / sizeof(*portless); i++) {
		char text[100];

		snprintf(text, sizeof(text), IDS ",dest=%s", portless[i]);
		cr_assert_lt(parse_addrs(text), 0, "%s", text);
		diag_says(&why, DIAG_USAGE, NULL, "HOST:PORT");
	}
	cr_assert_lt(parse_addrs(IDS ",dest=127.0.0.1:70000"), 0);
	diag_says(&why, DIAG_USAGE, NULL, "dest '70000'");
}
