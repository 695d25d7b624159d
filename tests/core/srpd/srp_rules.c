/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rules files of SRP: the grammar, what decides, and what each mistake is called. */
#include "srp_rules.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define GID "fe800000000000000000000000100007"

static const struct mad_srp target = {
	.id_ext = "0002C90300A0B0C0",
	.id = 0x0002c90300a0b0c0,
	.ioc_guid = 0x0002c90300a0b0c1,
	.prefix = 0xfe80000000000000,
	.guid = 0x100007,
	.service_id = 0x100006,
	.pkey = 0xffff,
	.io_class = 0x0100,
	.send_size = 2052,
};

/* Line of the rule that decides, 0 = none; the verdict in *allow, the options in `options`. */
static char options[SRP_RULE_OPTIONS];

static unsigned decides(const char *text, bool *allow)
{
	struct srp_rules rules;
	struct diag diag = { 0 };
	struct srp_verdict verdict;
	unsigned line;

	cr_assert_eq(srp_rules_parse(&rules, "rules", text, strlen(text), &diag), 0, "%s: %s",
		diag.object, diag.text);
	srp_decide(&(struct srp_policy){ .rules = &rules }, &target, &verdict);
	*allow = verdict.allow;
	line = verdict.rule ? verdict.rule->line : 0;
	snprintf(options, sizeof(options), "%s", verdict.rule ? verdict.rule->options : "");
	srp_rules_free(&rules);
	return line;
}

static void allows(const char *text, unsigned line)
{
	bool allow;

	cr_assert_eq(decides(text, &allow), line, "line of '%s'", text);
	cr_assert(allow, "'%s' forbids", text);
}

static void denies(const char *text, unsigned line)
{
	bool allow;

	cr_assert_eq(decides(text, &allow), line, "line of '%s'", text);
	cr_assert_not(allow, "'%s' allows", text);
}

static void refused(const char *text, unsigned line, const char *words)
{
	struct srp_rules rules;
	struct diag diag = { 0 };
	char object[32];

	snprintf(object, sizeof(object), "rules:%u", line);
	cr_assert_lt(srp_rules_parse(&rules, "rules", text, strlen(text), &diag), 0,
		"'%s' was taken", text);
	diag_says(&diag, DIAG_USAGE, object, words);
	cr_assert_null(rules.rule);
}

Test(srp_rules, the_first_that_matches_decides)
{
	allows("", 0);
	allows("# nothing\n\n", 0);
	allows("a\n", 1);
	denies("d\n", 1);
	denies("d\na\n", 1);
	allows("# first\nd pkey=1\n\nA\nd\n", 4);
	allows("d id_ext=1\n", 0);
	denies("a id_ext=1\nD id_ext=2c90300a0b0c0\n", 2);
}

Test(srp_rules, each_thing_that_is_compared)
{
	denies("d id_ext=0002C90300A0B0C0\n", 1);
	denies("d ioc_guid=0002c90300a0b0c1\n", 1);
	denies("d dgid=" GID "\n", 1);
	denies("d service_id=100006\n", 1);
	denies("d pkey=ffff\n", 1);
	denies("d pkey=00000ffff\n", 1);
	allows("d pkey=7fff\n", 0);
	allows("d dgid=fe800000000000010000000000100007\n", 0);
	allows("d dgid=fe800000000000000000000000100008\n", 0);
	allows("d service_id=100007\n", 0);
	allows("d ioc_guid=0\n", 0);
	denies("d id_ext=2c90300a0b0c0,ioc_guid=2c90300a0b0c1,dgid=" GID
	       ",service_id=100006,pkey=ffff\n",
		1);
	allows("d id_ext=2c90300a0b0c0,ioc_guid=2c90300a0b0c1,dgid=" GID
	       ",service_id=100006,pkey=fffe\n",
		0);
}

Test(srp_rules, separators)
{
	denies("d id_ext=2c90300a0b0c0 pkey=ffff\n", 1);
	denies("d\tid_ext=2c90300a0b0c0,\t pkey=ffff\n", 1);
	denies("did_ext=2c90300a0b0c0\tpkey=ffff\n", 1);
}

Test(srp_rules, options_are_kept_in_their_order)
{
	allows("a queue_size=7,max_sect=65535 id_ext=2c90300a0b0c0 ch_count=0001\na "
	       "max_cmd_per_lun=2\n",
		1);
	cr_assert_str_eq(options, ",queue_size=7,max_sect=65535,ch_count=0001");
	allows("a id_ext=1 queue_size=7\na max_cmd_per_lun=2\n", 2);
	cr_assert_str_eq(options, ",max_cmd_per_lun=2");
	allows("a "
	       "allow_ext_sg=1,ch_count=1,cmd_sg_entries=1,comp_vector=1,max_cmd_per_lun=1,max_"
	       "sect=1,queue_size=1\n",
		1);
	cr_assert_str_eq(options, ",allow_ext_sg=1,ch_count=1,cmd_sg_entries=1,comp_vector=1,max_"
				  "cmd_per_lun=1,max_sect=1,queue_size=1");
	allows("a sg_tablesize=1 tl_retry_count=7\n", 1);
	cr_assert_str_eq(options, ",sg_tablesize=1,tl_retry_count=7");
}

/* srp_daemon refuses these. */
Test(srp_rules, what_hurts_nobody_is_taken)
{
	denies("d", 1);
	denies("a id_ext=1\r\nd\r\n", 2);
	denies("\t d pkey=ffff \n", 1);
	denies("  # a comment\n \t\nd\n", 3);
}

/* What that tool reads in pieces. */
Test(srp_rules, a_long_line_is_one_line)
{
	char text[1300];

	snprintf(text, sizeof(text), "# %0600d\nd%600sid_ext=1\n", 0, "");
	allows(text, 0);
}

Test(srp_rules, mistakes_are_named)
{
	refused("allow\n", 1, "'llow'");
	refused("a\nx id_ext=1\n", 2, "'a' 'd' 'x'");
	refused("a max_sectors=1\n", 1, "'max_sectors'");
	refused("a initiator_ext=1\n", 1, "'initiator_ext'");
	refused("a id_ext\n", 1, "id_ext= 1_to_16 hex");
	refused("a id_ext=\n", 1, "id_ext= 1_to_16 hex");
	refused("a id_ext=0x1\n", 1, "id_ext=0x1 1_to_16 hex");
	refused("a id_ext=00002c90300a0b0c0\n", 1, "id_ext=00002c90300a0b0c0 1_to_16 hex");
	refused("a id_ext=1g\n", 1, "id_ext=1g 1_to_16 hex");
	refused("a id_ext=1,id_ext=2\n", 1, "id_ext twice");
	refused("a id_ext=1,,pkey=1\n", 1, "separator");
	refused("a ,id_ext=1\n", 1, "separator");
	refused("a id_ext=1 , pkey=1\n", 1, "separator");
	refused("a pkey=1ffff\n", 1, "P_Key ffff");
	refused("a dgid=fe80\n", 1, "GID 32 4");
	refused("a dgid=fe80::1\n", 1, "dgid=fe80::1 1_to_32 hex");
	refused("a queue_size=f\n", 1, "queue_size=f 1_to_16 decimal");
	refused("a queue_size=1,queue_size=2\n", 1, "queue_size twice");
	refused("# \n\nd queue_size=1\n", 3, "queue_size rule");
	refused("a "
		"allow_ext_sg=1234567890123456,cmd_sg_entries=1234567890123456,max_cmd_per_lun="
		"1234567890123456,comp_vector=1234567890123456 ch_count=1\n",
		1, "127_bytes");
}

Test(srp_rules, a_zero_byte_hides_nothing)
{
	static const char text[] = "a id_ext=1\nd\0 id_ext=2\na\n";
	struct srp_rules rules;
	struct diag diag = { 0 };

	cr_assert_eq(srp_rules_parse(&rules, "rules", text, sizeof(text) - 1, &diag), -EINVAL);
	diag_says(&diag, DIAG_USAGE, "rules:2", "byte");
}

Test(srp_rules, the_line_and_where_it_comes_from)
{
	struct srp_rules rules;
	struct srp_policy policy = { .rules = &rules, .more = { .initiator_ext = true } };
	struct srp_verdict verdict;
	char text[300];

	cr_assert_eq(srp_rules_parse(&rules, "r.conf", "d pkey=1\na max_sect=9\n", 21, NULL), 0);
	srp_decide(&policy, &target, &verdict);
	cr_assert_str_eq(verdict.line,
		"id_ext=0002C90300A0B0C0,ioc_guid=0002c90300a0b0c1,dgid=" GID
		",pkey=ffff,service_id=0000000000100006,initiator_ext=0000000000100007,max_sect=9");
	cr_assert_str_eq(srp_verdict_rule(&policy, &verdict, text), "r.conf:2");
	srp_rules_free(&rules);
	srp_decide(&policy, &target, &verdict);
	cr_assert(verdict.allow);
	cr_assert_str_eq(srp_verdict_rule(&policy, &verdict, text), "no rule");
}

Test(srp_rules, files)
{
	struct tree tree = tree_new();
	struct srp_rules rules;
	struct diag diag = { 0 };
	char path[64];

	cr_assert_eq(srp_rules_read(&rules, tree.root, NULL, false, &diag), 0,
		"without the default file all is allowed");
	cr_assert_eq(rules.count, 0);
	tree_file(&tree, "etc/srp_daemon.conf", "a id_ext=1\nd");
	cr_assert_eq(srp_rules_read(&rules, tree.root, NULL, false, &diag), 0);
	cr_assert_eq(rules.count, 2);
	cr_assert_str_eq(rules.file, "/etc/srp_daemon.conf");
	srp_rules_free(&rules);
	tree_file(&tree, "etc/srp_daemon.conf", "a\nb\n");
	cr_assert_eq(srp_rules_read(&rules, tree.root, NULL, false, &diag), -EINVAL);
	diag_says(&diag, DIAG_USAGE, "/etc/srp_daemon.conf:2", "'b'");
	diag = (struct diag){ 0 };
	snprintf(path, sizeof(path), "%s/none", tree.path);
	cr_assert_eq(srp_rules_read(&rules, tree.root, path, false, &diag), -ENOENT);
	diag_says(&diag, DIAG_NOT_FOUND, path, "no_such_file");
	diag = (struct diag){ 0 };
	cr_assert_eq(srp_rules_read(&rules, tree.root, tree.path, false, &diag), -EISDIR, "%s",
		diag.text);
	snprintf(path, sizeof(path), "%s/empty", tree.path);
	tree_file(&tree, "empty", "");
	cr_assert_eq(srp_rules_read(&rules, tree.root, path, false, &diag), 0);
	cr_assert_eq(rules.count, 0);
	srp_rules_free(&rules);
	tree_file(&tree, "empty", "d\n");
	cr_assert_eq(srp_rules_read(&rules, tree.root, path, true, &diag), 0);
	cr_assert_eq(rules.count, 1);
	srp_rules_free(&rules);
	snprintf(path, sizeof(path), "%s/pipe", tree.path);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_eq(srp_rules_read(&rules, tree.root, path, true, &diag), -ESPIPE,
		"a pipe neither blocks nor says that there are no rules");
	cr_assert_str_eq(diag.object, path);
	tree_free(&tree);
}
