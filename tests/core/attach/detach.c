/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections end at once; those in use stay unless forced, and a dry run only names them. */
#include "attach_detach.h"
#include "attach_row.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COUNT 3

static unsigned undone;
static int flush_err;

static void fake_users(const struct attach *attach, int root, struct attach_users *found)
{
	(void)root;
	if (!strcmp(attach->what, "host1"))
		snprintf(found->text, sizeof(found->text), "sdb mounted on /srv");
	found->enough = true;
}

static void fake_undo(struct attach *attach)
{
	undone++;
	if (!strcmp(attach->what, "host2"))
		diag_set(&attach->why, DIAG_TIMEOUT, ETIMEDOUT, "still here");
	attach_step(attach, -attach->why.err);
}

static void fake_stop(struct attach *attach)
{
	(void)attach;
}

/* In a child. */
static int fake_flush(const struct attach *attach, int root, struct diag *diag)
{
	(void)root;
	if (!flush_err || strcmp(attach->what, "host0") != 0)
		return 0;
	return flush_err == -ENOMEM ? flush_err
				    : diag_set(diag, DIAG_BUSY, -flush_err, "mpatha is in use");
}

static const struct attach_proto row = {
	.users = fake_users, .flush = fake_flush, .undo = fake_undo, .stop = fake_stop
};

static struct attach one[COUNT];
static struct diag why;

/* host0 to host2, and a gap. */
static int detach(bool force, bool dry_run)
{
	const struct loop_options loop = { .name = "test" };
	const struct detach_options how = {
		.loop = &loop, .force = force, .dry_run = dry_run, .verb = "log out"
	};
	struct attach *list[COUNT + 1] = { 0 };
	int err, root = open("/", O_RDONLY | O_DIRECTORY);

	undone = 0;
	for (unsigned i = 0; i < COUNT; i++) {
		one[i] = (struct attach){ .proto = &row, .root = root };
		snprintf(one[i].what, sizeof(one[i].what), "host%u", i);
		list[i + (i > 0)] = &one[i];
	}
	err = attach_detach_all(&how, list, COUNT + 1, &why);
	close(root);
	return err;
}

static void host1_is_in_use(void)
{
	diag_says(&one[1].why, DIAG_BUSY, "",
		"host1_is_in_use: sdb_mounted_on_/srv log_out_anyway --force");
}

Test(detach, those_in_use_stay)
{
	cr_assert_eq(detach(false, false), 0, "%s", why.text);
	cr_assert_eq(undone, 2);
	cr_assert_eq(one[0].why.err, 0);
	host1_is_in_use();
	cr_assert_eq(one[2].why.err, ETIMEDOUT);
}

Test(detach, force_ends_all)
{
	cr_assert_eq(detach(true, false), 0);
	cr_assert_eq(undone, 3);
	cr_assert_eq(one[1].why.err, 0);
	cr_assert_eq(one[2].why.err, ETIMEDOUT);
}

Test(detach, a_dry_run_names_those_in_use)
{
	cr_assert_eq(detach(false, true), 0);
	cr_assert_eq(undone, 0);
	cr_assert_eq(one[0].why.err | one[2].why.err, 0);
	host1_is_in_use();
	cr_assert_eq(detach(true, true), 0);
	cr_assert_eq(undone, 0);
	cr_assert_eq(one[1].why.err, 0);
}

/* Multipath devices are removed before their paths; one that is opened just then keeps them. */
Test(detach, multipath_device_that_stays)
{
	flush_err = -EBUSY;
	cr_assert_eq(detach(false, false), 0);
	diag_says(&one[0].why, DIAG_BUSY, NULL, "mpatha in_use");
	cr_assert_eq(undone, 1, "host2, as host1 is in use");
	cr_assert_eq(detach(true, false), 0);
	cr_assert_eq(one[0].why.err, 0);
	cr_assert_str_eq(one[0].why.text, "");
	cr_assert_eq(undone, 3);
	flush_err = -ENOMEM;
	cr_assert_eq(detach(false, false), 0);
	diag_says(&one[0].why, DIAG_NO_MEMORY, NULL, "multipath");
}
