/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sessions by number, target and portal. */
#include "iscsi_logins.h"
#include "kernel_iscsi.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static struct tree tree;
static struct diag why;

static void put(const char *dir, unsigned number, const char *name, const char *text)
{
	char path[200], line[100];

	snprintf(path, sizeof(path), dir, number, name);
	snprintf(line, sizeof(line), "%s\n", text);
	tree_file(&tree, path, line);
}

static void add_session(unsigned sid, const char *target, const char *address, const char *port)
{
	static const char device[] =
		"sys/devices/platform/host%1$u/session%1$u/iscsi_session/session%1$u/"
		"%2$s",
			  conn[] = "sys/class/iscsi_connection/connection%1$u:0/%2$s",
			  host[] = "sys/class/scsi_host/host%1$u/%2$s";
	char name[60], to[100];

	put(device, sid, "targetname", target);
	put(device, sid, "state", "LOGGED_IN");
	put(conn, sid, "persistent_address", address);
	put(conn, sid, "persistent_port", port);
	put(host, sid, "proc_name", "iscsi_tcp");
	snprintf(name, sizeof(name), "sys/class/iscsi_session/session%u", sid);
	snprintf(to, sizeof(to), "../../devices/platform/host%u/session%u/iscsi_session/session%u",
		sid, sid, sid);
	tree_link(&tree, name, to);
}

static void setup(void)
{
	tree = tree_new();
	add_session(1, "iqn.x:a", "10.0.0.1", "3260");
	add_session(2, "iqn.x:b", "10.0.0.1", "3260");
	add_session(3, "iqn.x:a", "10.0.0.2", "3261");
	add_session(10, "iqn.x:a", "10.0.0.1", "3261");
}

static void fini(void)
{
	tree_free(&tree);
}
TestSuite(iscsi_sessions, .init = setup, .fini = fini);

/* sids: a bit for each. */
static void selects(const char *sid, const char *target, const char *portal, unsigned sids)
{
	struct kernel_iscsi_session *list;
	unsigned count, found = 0;

	cr_assert_eq(iscsi_sessions_of(tree.root, sid, target, portal, &list, &count, &why), 0,
		"%s", why.text);
	for (unsigned i = 0; i < count; i++)
		found |= 1u << list[i].sid;
	cr_assert_eq(found, sids, "%x", found);
	free(list);
}

Test(iscsi_sessions, what_is_named)
{
	selects(NULL, NULL, NULL, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 10);
	selects("1", NULL, NULL, 1 << 1);
	selects("10", NULL, NULL, 1 << 10);
	selects("01", NULL, NULL, 0);
	selects(NULL, "iqn.x:a", NULL, 1 << 1 | 1 << 3 | 1 << 10);
	selects(NULL, NULL, "10.0.0.1", 1 << 1 | 1 << 2);
	selects(NULL, NULL, "10.0.0.1:3261", 1 << 10);
	selects(NULL, "iqn.x:a", "10.0.0.2:3261,1", 1 << 3);
	selects("2", "iqn.x:a", NULL, 0);
}

Test(iscsi_sessions, an_invalid_portal)
{
	struct kernel_iscsi_session *list;
	unsigned count;

	cr_assert_eq(iscsi_sessions_of(tree.root, NULL, NULL, "10.0.0.1:x", &list, &count, &why),
		-EINVAL);
	cr_assert(!list && !count && why.code == DIAG_USAGE);
}
