/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iSCSI sessions read from trees that are as Linux 6.12 makes them, and from ones that lie. */
#include "kernel_iscsi.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVICE "sys/devices/platform/host3/session1/iscsi_session/session1/"
#define CONN   "sys/class/iscsi_connection/connection1:0/"

static struct tree tree;
static struct diag why;

static void put(const char *dir, const char *name, const char *text)
{
	char path[200], line[400];

	snprintf(path, sizeof(path), "%s%s", dir, name);
	snprintf(line, sizeof(line), "%s\n", text);
	tree_file(&tree, path, line);
}

static void setup(void)
{
	static const char *const session[][2] = { { "state", "LOGGED_IN" },
		{ "target_state", "SCANNED" }, { "targetname", "iqn.2026-11.example:t1" },
		{ "initiatorname", "iqn.2026-11.example:me" }, { "ifacename", "default" },
		{ "tpgt", "1" }, { "fast_abort", "1" }, { "creator", "512" }, { "target_id", "7" },
		{ "first_burst_len", "65536" }, { "max_burst_len", "262144" },
		{ "initial_r2t", "0" }, { "immediate_data", "1" }, { "data_pdu_in_order", "1" },
		{ "data_seq_in_order", "1" }, { "max_outstanding_r2t", "1" }, { "erl", "0" },
		{ "recovery_tmo", "120" }, { "abort_tmo", "15" }, { "lu_reset_tmo", "30" },
		{ "tgt_reset_tmo", "31" }, { "username", "(null)" }, { "password", "(null)" },
		{ "username_in", "(null)" }, { "password_in", "(null)" } };
	static const char *const connection[][2] = { { "state", "up" },
		{ "persistent_address", "10.0.0.1" }, { "persistent_port", "3260" },
		{ "address", "10.0.0.2" }, { "port", "3261" }, { "header_digest", "1" },
		{ "data_digest", "0" }, { "max_recv_dlength", "262144" },
		{ "max_xmit_dlength", "8192" }, { "recv_tmo", "5" }, { "ping_tmo", "6" } };

	tree = tree_new();
	why = (struct diag){ 0 };
	for (unsigned i = 0; i < sizeof(session) / sizeof(*session); i++)
		put(DEVICE, session[i][0], session[i][1]);
	for (unsigned i = 0; i < sizeof(connection) / sizeof(*connection); i++)
		put(CONN, connection[i][0], connection[i][1]);
	tree_link(&tree, "sys/class/iscsi_session/session1",
		"../../devices/platform/host3/session1/iscsi_session/session1");
	put("sys/class/scsi_host/host3/", "proc_name", "iscsi_tcp");
	put("sys/class/iscsi_host/host3/", "ipaddress", "10.0.0.9");
	put("sys/class/iscsi_host/host3/", "netdev", "eth1");
}

static void fini(void)
{
	tree_free(&tree);
}
TestSuite(iscsi_session, .init = setup, .fini = fini);

static struct kernel_iscsi_session one(void)
{
	struct kernel_iscsi_session session;

	cr_assert_eq(kernel_iscsi_session(tree.root, 1, &session), 0);
	return session;
}

Test(iscsi_session, is_read)
{
	struct kernel_iscsi_session s = one();

	cr_assert(s.sid == 1 && s.host == 3 && s.target_id == 7 && s.tpgt == 1 && s.creator == 512);
	cr_assert_str_eq(s.transport, "tcp");
	cr_assert_str_eq(s.target, "iqn.2026-11.example:t1");
	cr_assert_str_eq(s.initiator, "iqn.2026-11.example:me");
	cr_assert_str_eq(s.iface, "default");
	cr_assert_str_eq(s.netdev, "eth1");
	cr_assert_eq(s.fast_abort, 1);
	cr_assert_str_eq(s.state, "LOGGED_IN");
	cr_assert_str_eq(s.target_state, "SCANNED");
	cr_assert(s.connections == 1 && s.cid == 0);
	cr_assert_str_eq(s.connection_state, "up");
	cr_assert_str_eq(s.portal, "10.0.0.1");
	cr_assert_eq(s.portal_port, 3260);
	cr_assert_str_eq(s.address, "10.0.0.2");
	cr_assert_eq(s.port, 3261);
	cr_assert_str_eq(s.local, "10.0.0.9");
	cr_assert(s.agreed.header_digest == 1 && s.agreed.data_digest == 0 &&
		  s.agreed.max_recv == 262144 && s.agreed.max_xmit == 8192);
	cr_assert(s.agreed.first_burst == 65536 && s.agreed.max_burst == 262144 &&
		  s.agreed.initial_r2t == 0 && s.agreed.immediate_data == 1);
	cr_assert(s.agreed.pdu_in_order == 1 && s.agreed.sequence_in_order == 1 &&
		  s.agreed.max_r2t == 1 && s.agreed.erl == 0);
	cr_assert(s.tmo.recovery == 120 && s.tmo.abort == 15 && s.tmo.lu_reset == 30 &&
		  s.tmo.target_reset == 31);
	cr_assert(s.tmo.recv == 5 && s.tmo.ping == 6);
}

/* What libiscsi shows of a connection that was lost: iscsi_tcp then has neither address
 * (-ENOTCONN). */
Test(iscsi_session, lost)
{
	struct kernel_iscsi_session s;

	put(DEVICE, "state", "FAILED");
	put("sys/class/iscsi_host/host3/", "netdev", "default");
	put(DEVICE, "recovery_tmo", "off");
	put(CONN, "state", "failed");
	unlinkat(tree.root, CONN "address", 0);
	unlinkat(tree.root, CONN "port", 0);
	s = one();
	cr_assert_str_eq(s.state, "FAILED");
	cr_assert_str_eq(s.connection_state, "failed");
	cr_assert_eq(s.tmo.recovery, VALUE_OFF);
	cr_assert(!s.address[0] && !s.port && !s.local[0] && !s.netdev[0]);
	cr_assert_str_eq(s.portal, "10.0.0.1");
}

Test(iscsi_session, transports)
{
	struct kernel_iscsi_session s;

	put("sys/class/scsi_host/host3/", "proc_name", "iscsi_iser");
	s = one();
	cr_assert_str_eq(s.transport, "iser");
	put("sys/class/scsi_host/host3/", "proc_name", "bnx2i");
	s = one();
	cr_assert_str_eq(s.transport, "bnx2i");
	put("sys/class/scsi_host/host3/", "proc_name", "(null)");
	s = one();
	cr_assert_str_eq(s.transport, "");
}

/* A session in the making has nothing but its state. */
Test(iscsi_session, new_one)
{
	struct kernel_iscsi_session s;

	put("sys/devices/platform/host4/session2/iscsi_session/session2/", "state", "FREE");
	put("sys/devices/platform/host4/session2/iscsi_session/session2/", "targetname", "(null)");
	tree_link(&tree, "sys/class/iscsi_session/session2",
		"../../devices/platform/host4/session2/iscsi_session/session2");
	cr_assert_eq(kernel_iscsi_session(tree.root, 2, &s), 0);
	cr_assert(s.host == 4 && !s.connections && !s.target[0] && !s.portal[0] && !s.transport[0]);
	cr_assert(s.tpgt == VALUE_UNKNOWN && s.agreed.max_recv == VALUE_UNKNOWN &&
		  s.tmo.recovery == VALUE_UNKNOWN);
}

Test(iscsi_session, connections_are_counted)
{
	struct kernel_iscsi_session s;

	put("sys/class/iscsi_connection/connection1:2/", "persistent_address", "10.0.0.7");
	put("sys/class/iscsi_connection/connection11:0/", "persistent_address", "10.0.0.8");
	put("sys/class/iscsi_connection/connection1:0x/", "persistent_address", "10.0.0.8");
	s = one();
	cr_assert(s.connections == 2 && s.cid == 0);
	cr_assert_str_eq(s.portal, "10.0.0.1");
}

static void lie(const char *dir, const char *name, const char *text, int expected, size_t at)
{
	struct kernel_iscsi_session s;

	put(dir, name, text);
	s = one();
	cr_assert_eq(*(int *)(void *)((char *)&s + at), expected, "%s '%s'", name, text);
}

Test(iscsi_session, lies_are_not_reported)
{
	const int none = VALUE_UNKNOWN;

	lie(DEVICE, "max_burst_len", "16777215", 16777215,
		offsetof(struct kernel_iscsi_session, agreed.max_burst));
	lie(DEVICE, "max_burst_len", "16777216", none,
		offsetof(struct kernel_iscsi_session, agreed.max_burst));
	lie(DEVICE, "first_burst_len", "-1", none,
		offsetof(struct kernel_iscsi_session, agreed.first_burst));
	lie(DEVICE, "first_burst_len", "99999999999999999999999", none,
		offsetof(struct kernel_iscsi_session, agreed.first_burst));
	lie(DEVICE, "first_burst_len", "18446744073709551617", none,
		offsetof(struct kernel_iscsi_session, agreed.first_burst));
	lie(DEVICE, "initial_r2t", "2", none,
		offsetof(struct kernel_iscsi_session, agreed.initial_r2t));
	lie(DEVICE, "erl", "0x0", none, offsetof(struct kernel_iscsi_session, agreed.erl));
	lie(DEVICE, "tpgt", "65536", none, offsetof(struct kernel_iscsi_session, tpgt));
	lie(DEVICE, "recovery_tmo", "-7", VALUE_OFF,
		offsetof(struct kernel_iscsi_session, tmo.recovery));
	lie(DEVICE, "recovery_tmo", "soon", none,
		offsetof(struct kernel_iscsi_session, tmo.recovery));
	lie(DEVICE, "creator", "-3", 0, offsetof(struct kernel_iscsi_session, creator));
	lie(DEVICE, "target_id", "-1", none, offsetof(struct kernel_iscsi_session, target_id));
	lie(CONN, "recv_tmo", "4294967295", none, offsetof(struct kernel_iscsi_session, tmo.recv));
	lie(CONN, "max_recv_dlength", "", none,
		offsetof(struct kernel_iscsi_session, agreed.max_recv));
}

Test(iscsi_session, words_that_lie)
{
	struct kernel_iscsi_session s;
	char name[300];

	memset(name, 'a', sizeof(name));
	name[224] = 0;
	put(DEVICE, "targetname", name);
	s = one();
	cr_assert_str_eq(s.target, "", "cut off, it would be another's");
	name[223] = 0;
	put(DEVICE, "targetname", name);
	put(DEVICE, "initiatorname", "iqn.\033[2J");
	put(CONN, "persistent_address", "10.0.0.1 10.0.0.2");
	put(CONN, "port", "65536");
	s = one();
	cr_assert_str_eq(s.target, name);
	cr_assert_str_eq(s.initiator, "");
	cr_assert(!s.portal[0] && !s.portal_port && !s.port);
}

Test(iscsi_session, what_is_none)
{
	struct kernel_iscsi_session s, *list;
	unsigned count;

	cr_assert_eq(kernel_iscsi_session(tree.root, 2, &s), -ENOENT);
	tree_link(&tree, "sys/class/iscsi_session/session2",
		"../../devices/platform/host3/session1/iscsi_session/session1");
	cr_assert_eq(kernel_iscsi_session(tree.root, 2, &s), -ENOENT, "that is another's device");
	tree_link(&tree, "sys/class/iscsi_session/session3",
		"../../devices/platform/ghost3/session3/iscsi_session/session3");
	cr_assert_eq(kernel_iscsi_session(tree.root, 3, &s), -ENOENT);
	tree_dir(&tree, "sys/class/iscsi_session/session4");
	cr_assert_eq(kernel_iscsi_session(tree.root, 4, &s), -ENOENT);
	cr_assert_eq(kernel_iscsi_sessions(tree.root, &list, &count, &why), 0);
	cr_assert_eq(count, 1);
	free(list);
}

Test(iscsi_session, are_listed_by_number)
{
	struct kernel_iscsi_session *list;
	unsigned count;
	char to[100], at[100];

	for (unsigned sid = 12; sid > 9; sid--) {
		snprintf(to, sizeof(to),
			"sys/devices/platform/host%u/session%u/iscsi_session/session%u/", sid, sid,
			sid);
		put(to, "state", "FREE");
		snprintf(to, sizeof(to),
			"../../devices/platform/host%u/session%u/iscsi_session/session%u", sid, sid,
			sid);
		snprintf(at, sizeof(at), "sys/class/iscsi_session/session%u", sid);
		tree_link(&tree, at, to);
	}
	cr_assert_eq(kernel_iscsi_sessions(tree.root, &list, &count, &why), 0);
	cr_assert_eq(count, 4);
	for (unsigned i = 0; i < count; i++)
		cr_assert_eq(list[i].sid, i ? 9 + i : 1);
	free(list);
}

Test(iscsi_session, none_at_all)
{
	struct tree empty = tree_new();
	struct kernel_iscsi_session *list;
	unsigned count = 5;

	cr_assert_eq(kernel_iscsi_sessions(empty.root, &list, &count, &why), 0);
	cr_assert(!count && !list);
	tree_free(&empty);
}

static bool finds_of(
	const char *initiator, const char *transport, const char *target, const char *portal)
{
	struct kernel_iscsi_session s = one();
	struct addr addr;

	cr_assert_eq(addr_parse(&addr, portal, 3260, &why), 0);
	return kernel_iscsi_session_find(&s, 1, initiator, transport, target, &addr) != NULL;
}

static bool finds(const char *transport, const char *target, const char *portal)
{
	return finds_of(NULL, transport, target, portal);
}

Test(iscsi_session, is_found_by_its_initiator)
{
	const char *name = "iqn.2026-11.example:t1", *at = "10.0.0.1:3260";

	put(DEVICE, "initiatorname", "iqn.2026-11.example:h1");
	cr_assert(finds_of(NULL, "tcp", name, at));
	cr_assert(finds_of("iqn.2026-11.example:h1", "tcp", name, at));
	cr_assert(!finds_of("iqn.2026-11.example:h2", "tcp", name, at), "another host's");
	put(DEVICE, "initiatorname", "");
	cr_assert(finds_of("iqn.2026-11.example:h2", "tcp", name, at), "unknown");
}

Test(iscsi_session, is_found)
{
	const char *name = "iqn.2026-11.example:t1";

	cr_assert(finds("tcp", name, "10.0.0.1:3260"));
	cr_assert(finds("tcp", name, "10.0.0.2:3261"), "where a redirect led");
	cr_assert(!finds("tcp", name, "10.0.0.1:3261"));
	cr_assert(!finds("tcp", name, "10.0.0.3:3260"));
	cr_assert(!finds("iser", name, "10.0.0.1:3260"));
	cr_assert(!finds("tcp", "iqn.2026-11.example:t", "10.0.0.1:3260"));
	put(CONN, "persistent_address", "fd00::1");
	put(CONN, "address", "fd00:0000:0000:0000:0000:0000:0000:0002"); /* as %pI6 prints */
	cr_assert(finds("tcp", name, "[fd00:0::1]:3260"));
	cr_assert(finds("tcp", name, "[fd00::2]:3261"));
	put(CONN, "persistent_address", "disk.example");
	cr_assert(!finds("tcp", name, "10.0.0.1:3260"), "names are not resolved");
}

Test(iscsi_session, is_found_by_any_address_of_a_name)
{
	const char *name = "iqn.2026-11.example:t1";
	struct kernel_iscsi_session s = one();
	struct addr addr, other;

	cr_assert_eq(addr_parse(&addr, "10.0.0.7:3260", 0, &why), 0);
	cr_assert_null(kernel_iscsi_session_find(&s, 1, NULL, "tcp", name, &addr));
	cr_assert_eq(addr_parse(&other, "10.0.0.1:3260", 0, &why), 0);
	cr_assert(addr_add(&addr, (const struct sockaddr *)&other.ss));
	cr_assert_not_null(kernel_iscsi_session_find(&s, 1, NULL, "tcp", name, &addr));
}

Test(iscsi_session, secrets)
{
	struct kernel_iscsi_secrets secrets;

	cr_assert_eq(kernel_iscsi_secrets(tree.root, 1, &secrets, &why), 0, "%s", why.text);
	cr_assert(!secrets.user[0] && !secrets.secret[0] && !secrets.target_user[0] &&
		  !secrets.target_secret[0]);
	put(DEVICE, "username", "joe");
	put(DEVICE, "password", " twelve bytes and a blank ");
	put(DEVICE, "username_in", "disk");
	put(DEVICE, "password_in", "another secret");
	cr_assert_eq(kernel_iscsi_secrets(tree.root, 1, &secrets, &why), 0, "%s", why.text);
	cr_assert_str_eq(secrets.user, "joe");
	cr_assert_str_eq(secrets.secret, " twelve bytes and a blank ");
	cr_assert_str_eq(secrets.target_user, "disk");
	cr_assert_str_eq(secrets.target_secret, "another secret");
}

Test(iscsi_session, secrets_of_any_length)
{
	struct kernel_iscsi_secrets secrets;
	char text[300];

	for (unsigned len = 254; len < 260; len++) {
		memset(text, 's', sizeof(text));
		text[len] = 0;
		put(DEVICE, "password", text);
		cr_assert_eq(kernel_iscsi_secrets(tree.root, 1, &secrets, &why),
			len < KERNEL_ISCSI_SECRET ? 0 : -EOVERFLOW, "%u", len);
		cr_assert_eq(
			strlen(secrets.secret), len < KERNEL_ISCSI_SECRET ? len : 0, "%u", len);
	}
	diag_says(&why, DIAG_SYSTEM, NULL, "password session1 value_too_large");
}

Test(iscsi_session, secrets_that_are_not_reported)
{
	struct kernel_iscsi_secrets secrets;

	put(DEVICE, "username", "joe");
	unlinkat(tree.root, DEVICE "password", 0);
	cr_assert_eq(kernel_iscsi_secrets(tree.root, 1, &secrets, &why), -ENOENT);
	cr_assert_str_eq(secrets.user, "", "all or nothing");
	if (!geteuid())
		return;
	tree_file(&tree, DEVICE "password", "");
	fchmodat(tree.root, DEVICE "password", 0, 0);
	cr_assert_eq(kernel_iscsi_secrets(tree.root, 1, &secrets, &why), -EACCES);
	diag_says(&why, DIAG_PERMISSION, NULL, "root password session1");
}

static void holds(const char *path, const char *text)
{
	char got[64] = "";
	int fd = openat(tree.root, path, O_RDONLY);

	cr_assert_geq(read(fd, got, sizeof(got) - 1), 0);
	close(fd);
	cr_assert_eq(strncmp(got, text, strlen(text)), 0, "%s: '%s'", path, got);
}

Test(iscsi_session, recovery_is_set)
{
	cr_assert_eq(kernel_iscsi_recovery_set(tree.root, 1, 30, &why), 0, "%s", why.text);
	holds(DEVICE "recovery_tmo", "30");
	cr_assert_eq(kernel_iscsi_recovery_set(tree.root, 1, VALUE_OFF, &why), 0, "%s", why.text);
	holds(DEVICE "recovery_tmo", "off");
	cr_assert_eq(kernel_iscsi_recovery_set(tree.root, 1, 2147483, &why), 0, "%s", why.text);
	cr_assert_eq(kernel_iscsi_recovery_set(tree.root, 1, 2147484, &why), -ERANGE);
	diag_says(&why, DIAG_USAGE, NULL, "2147483 off");
	cr_assert_eq(kernel_iscsi_recovery_set(tree.root, 1, VALUE_UNKNOWN, &why), -ERANGE);
	cr_assert_eq(kernel_iscsi_recovery_set(tree.root, 9, 30, &why), -ENOENT);
	diag_says(&why, DIAG_NOT_FOUND, NULL, "session9");
	unlinkat(tree.root, DEVICE "recovery_tmo", 0);
	tree_dir(&tree, DEVICE "recovery_tmo");
	cr_assert_eq(kernel_iscsi_recovery_set(tree.root, 1, 30, &why), -EISDIR);
	diag_says(&why, DIAG_UNSUPPORTED, NULL, "session1 is_a_directory");
}
