/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What would be attached at boot, and why not: a dry run, in which the lookups of some names fail.
 */
/* Link: leap resolve_start */
#include "findings.h"
#include "resolve.h"
#include <errno.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

int __real_resolve_start(struct resolve *, struct loop *, const char *host, uint16_t port,
	uint32_t timeout_ms, struct diag *);
int __wrap_resolve_start(struct resolve *, struct loop *, const char *host, uint16_t port,
	uint32_t timeout_ms, struct diag *);

int __wrap_resolve_start(struct resolve *r, struct loop *loop, const char *host, uint16_t port,
	uint32_t timeout_ms, struct diag *diag)
{
	if (!strcmp(host, "secret"))
		return diag_set(diag, DIAG_PERMISSION, EACCES, "no");
	if (strcmp(host, "bad"))
		return __real_resolve_start(r, loop, host, port, timeout_ms, diag);
	diag_set(diag, DIAG_UNREACHABLE, EHOSTUNREACH, "no route");
	return diag_ctx(diag, "bad");
}

/* cmdline NULL: /proc is not mounted */
static void examine(struct examined *e, const char *cmdline, const char *uri)
{
	examined_init(e, uri);
	e->doctor.deadline = loop_clock() + 30000000000ull;
	cr_assert_eq(loop_new(&e->doctor.loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	if (cmdline)
		tree_file(&e->tree, "proc/cmdline", cmdline);
	doctor_boot(&e->doctor);
}

static void end(struct examined *e)
{
	loop_free(e->doctor.loop);
	examined_free(e);
}

Test(boot, nothing_to_attach)
{
	struct examined e;

	examine(&e, "quiet\n", NULL);
	found_it(&e.doctor, "disk", "", DOCTOR_OK, "no_remote_disk");
	cr_assert_eq(e.doctor.findings, 1);
	end(&e);
	examine(&e, NULL, NULL);
	found_it(&e.doctor, "words", NULL, DOCTOR_WARNING, "mount_-t_proc");
	end(&e);
	examine(&e, "rd.rdmastor=foo://x", "nvme+tcp://10.0.0.1");
	cr_assert_eq(e.doctor.findings, 0, "a URI is about itself");
	end(&e);
}

Test(boot, disks)
{
	struct examined e;

	examine(&e, "rd.rdmastor=nvme+tcp://10.0.0.1/nqn.x rd.rdmastor=nvme+tcp://bad/nqn.y", NULL);
	found_it(&e.doctor, "disk", "nvme+tcp://10.0.0.1/nqn.x", DOCTOR_OK, "nvmf-connect");
	found_it(&e.doctor, "disk", "bad", DOCTOR_FAILURE, "no_route");
	cr_assert_str_eq(fact_of(find_it(&e.doctor, "disk", "bad"), "code"), "unreachable");
	cr_assert_str_eq(fact_of(find_it(&e.doctor, "disk", "bad"), "applet"), "nvmf-connect");
	end(&e);
	examine(&e, "rd.rdmastor=iscsi://joe%hush1hush@10.0.0.1/iqn.x/0,via=scsi", NULL);
	found_it(&e.doctor, "disk", NULL, DOCTOR_FAILURE, "via=scsi");
	cr_assert_null(strstr(find_it(&e.doctor, "disk", NULL)->object, "hush"));
	end(&e);
	examine(&e, "rd.rdmastor.timeout=soon rd.rdmastor=nvme+tcp://10.0.0.1/nqn.x", NULL);
	found_it(&e.doctor, "words", "rd.rdmastor.timeout=soon", DOCTOR_WARNING,
		"soon command_line");
	found_it(&e.doctor, "disk", "nvme+tcp://10.0.0.1/nqn.x", DOCTOR_OK, "nvmf-connect");
	end(&e);
}

Test(boot, what_only_root_can_read)
{
	static const char table[] = "sys/firmware/acpi/tables/NBFT";
	struct examined e;

	examine(&e, "rd.rdmastor=nvme+tcp://secret/nqn.x", NULL);
	found_it(&e.doctor, "disk", NULL, DOCTOR_WARNING, "as_root");
	tree_file(&e.tree, "proc/cmdline", "quiet rd.nvmf.nonbft");
	tree_file(&e.tree, table, "");
	cr_assert_eq(fchmodat(e.tree.root, table, 0, 0), 0);
	cr_assert_eq(fchmodat(e.tree.root, ".", 0755, 0), 0);
	setfsuid(65534); /* root reads any file */
	doctor_boot(&e.doctor);
	setfsuid(geteuid());
	found_it(&e.doctor, "nbft", NULL, DOCTOR_WARNING, "only_root as_root");
	end(&e);
}

Test(boot, disks_of_the_words_of_others)
{
	struct examined e;

	examine(&e,
		"netroot=iscsi:10.0.0.1:::0:iqn.2024-01.a:x "
		"netroot=iscsi:10.0.0.2::::iqn.2024-01.a:y",
		NULL);
	found_it(&e.doctor, "disk", "iscsi", DOCTOR_OK,
		"by_iser-login:_iscsi://10.0.0.1:3260/iqn.2024-01.a:x/0_"
		"iscsi://10.0.0.2:3260/iqn.2024-01.a:y");
	end(&e);
	examine(&e, "rd.rdmastor=iscsi:joe:hush1hush@10.0.0.1::::iqn.2024-01.a:x", NULL);
	found_it(&e.doctor, "disk", NULL, DOCTOR_OK, "iser-login");
	cr_assert_null(strstr(find_it(&e.doctor, "disk", NULL)->object, "hush"));
	end(&e);
}

Test(boot, a_damaged_table_of_the_firmware)
{
	struct examined e;

	examine(&e, "quiet", NULL);
	e.doctor.findings = 0;
	tree_file(&e.tree, "sys/firmware/acpi/tables/NBFT", "NBFT: not a table");
	tree_dir(&e.tree, "sys/firmware/acpi/tables/NBFT1");
	doctor_boot(&e.doctor);
	found_it(&e.doctor, "nbft", "NBFT table", DOCTOR_WARNING, "boot_settings");
	found_it(&e.doctor, "nbft", "NBFT1 table", DOCTOR_WARNING, "read_/sys rd.rdmastor=");
	cr_assert_str_eq(fact_of(find_it(&e.doctor, "nbft", "NBFT1 table"), "errno"), "EISDIR");
	end(&e);
}
