/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Login parameters from the kernel's attributes. */
#include "iscsi_monitor_session.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEVICE "sys/devices/platform/host3/session1/iscsi_session/session1/"
#define CONN   "sys/class/iscsi_connection/connection1:0/"

static struct tree tree;
static struct diag why;
static struct monitor_session session;

static void put(const char *dir, const char *name, const char *text)
{
	char path[200];

	snprintf(path, sizeof(path), "%s%s", dir, name);
	tree_file(&tree, path, text);
}

static void setup(void)
{
	static const char *const file[][3] = { { DEVICE, "state", "LOGGED_IN\n" },
		{ DEVICE, "targetname", "iqn.2026-11.example:t1\n" },
		{ DEVICE, "initiatorname", "iqn.2026-11.example:me\n" },
		{ DEVICE, "ifacename", "default\n" }, { DEVICE, "tpgt", "2\n" },
		{ DEVICE, "recovery_tmo", "off\n" }, { DEVICE, "abort_tmo", "15\n" },
		{ DEVICE, "lu_reset_tmo", "31\n" }, { DEVICE, "tgt_reset_tmo", "32\n" },
		{ DEVICE, "fast_abort", "0\n" }, { DEVICE, "first_burst_len", "65536\n" },
		{ DEVICE, "max_burst_len", "131072\n" }, { DEVICE, "initial_r2t", "1\n" },
		{ DEVICE, "immediate_data", "0\n" }, { DEVICE, "max_outstanding_r2t", "3\n" },
		{ DEVICE, "username", "joe\n" }, { DEVICE, "password", "twelve bytes\n" },
		{ DEVICE, "username_in", "(null)\n" }, { DEVICE, "password_in", "(null)\n" },
		{ CONN, "state", "up\n" }, { CONN, "persistent_address", "10.0.0.1\n" },
		{ CONN, "persistent_port", "3260\n" }, { CONN, "address", "10.0.0.2\n" },
		{ CONN, "port", "3261\n" }, { CONN, "header_digest", "1\n" },
		{ CONN, "data_digest", "0\n" }, { CONN, "max_recv_dlength", "65536\n" },
		{ CONN, "max_xmit_dlength", "8192\n" }, { CONN, "recv_tmo", "7\n" },
		{ CONN, "ping_tmo", "8\n" },
		{ "sys/class/scsi_host/host3/", "proc_name", "iscsi_tcp\n" },
		{ "sys/class/iscsi_host/host3/", "netdev", "eth1\n" },
		{ "sys/class/iscsi_transport/tcp/", "handle", "4711\n" },
		{ "sys/class/iscsi_transport/iser/", "handle", "4712\n" } };

	tree = tree_new();
	why = (struct diag){ 0 };
	session = (struct monitor_session){
		.recovery.sid = 1, .header_digest = VALUE_UNKNOWN, .data_digest = VALUE_UNKNOWN
	};
	for (unsigned i = 0; i < sizeof(file) / sizeof(*file); i++)
		put(file[i][0], file[i][1], file[i][2]);
	tree_link(&tree, "sys/class/iscsi_session/session1",
		"../../devices/platform/host3/session1/iscsi_session/session1");
}

static void fini(void)
{
	iscsi_monitor_session_wipe(&session);
	tree_free(&tree);
}
TestSuite(iscsi_monitor_session, .init = setup, .fini = fini);

/* As of Linux 6.12: digests and iscsi_tcp's addresses go with the connection. */
static void lose(void)
{
	put(DEVICE, "state", "FAILED\n");
	put(CONN, "state", "failed\n");
	put(CONN, "header_digest", "0\n");
	put(CONN, "data_digest", "0\n");
	unlinkat(tree.root, CONN "address", 0);
}

static void prepare(void)
{
	cr_assert_eq(iscsi_monitor_session_read(&session, tree.root), 0);
	cr_assert_eq(
		iscsi_monitor_session_prepare(&session, tree.root, 5000, &why), 0, "%s", why.text);
}

Test(iscsi_monitor_session, all_is_as_it_was)
{
	const struct iscsi_settings *set = &session.params.set;
	char text[ADDR_TEXT];

	cr_assert_eq(iscsi_monitor_session_read(&session, tree.root), 0);
	lose();
	prepare();
	cr_assert_str_eq(session.params.target, "iqn.2026-11.example:t1");
	cr_assert_str_eq(session.params.iface, "default");
	cr_assert_str_eq(session.params.netdev, "eth1");
	cr_assert_str_eq(addr_text(&session.params.portal, text), "10.0.0.1:3260",
		"not where a redirect led");
	cr_assert(session.params.carrier == ISCSI_TCP && session.link.transport == 4711 &&
		  session.params.tpgt == 2 && session.link.recover && session.link.numeric_only);
	cr_assert(session.link.id.sid == 1 && session.link.id.cid == 0);
	cr_assert_str_eq(session.from.initiator, "iqn.2026-11.example:me");
	cr_assert_str_eq(session.from.auth.user, "joe");
	cr_assert_str_eq(session.from.auth.secret, "twelve bytes");
	cr_assert(!session.from.auth.target_user && !session.from.auth.target_secret &&
		  session.from.auth.algs == ISCSI_CHAP_ALL);
	cr_assert(set->replacement_timeout == -1 && set->noop_interval == 7 &&
		  set->noop_timeout == 8 && set->abort_timeout == 15);
	cr_assert(set->lu_reset_timeout == 31 && set->tgt_reset_timeout == 32 &&
		  set->fast_abort == 0 && set->login_timeout == 5);
	cr_assert(set->first_burst == 65536 && set->max_burst == 131072 && set->max_recv == 65536 &&
		  set->max_xmit == 8192);
	cr_assert(set->initial_r2t == 1 && set->immediate_data == 0 && set->max_r2t == 3);
	cr_assert(
		set->header_digest == ISCSI_DIGEST_CRC32C && set->data_digest == ISCSI_DIGEST_NONE);
	iscsi_monitor_session_wipe(&session);
	cr_assert(!session.secrets.user[0] && !session.secrets.secret[0]);
}

Test(iscsi_monitor_session, what_was_forgotten_is_rather_safe_than_quick)
{
	lose();
	prepare();
	cr_assert(session.params.set.header_digest == ISCSI_DIGEST_CRC32C_NONE &&
		  session.params.set.data_digest == ISCSI_DIGEST_CRC32C_NONE);
}

/* Over iSER, the lengths in sysfs (128 and 8192 with LIO) do not limit data segments. */
Test(iscsi_monitor_session, over_iser)
{
	struct iscsi_settings initial;

	iscsi_settings_init(&initial);
	put("sys/class/scsi_host/host3/", "proc_name", "iscsi_iser\n");
	put(CONN, "max_recv_dlength", "128\n");
	prepare();
	cr_assert(session.params.carrier == ISCSI_ISER && session.link.transport == 4712);
	cr_assert(session.params.set.max_recv == initial.max_recv &&
		  session.params.set.max_xmit == initial.max_xmit);
	cr_assert_eq(session.params.set.max_burst, 131072);
}

Test(iscsi_monitor_session, a_portal_that_is_a_name)
{
	char text[ADDR_TEXT];

	put(CONN, "persistent_address", "disk.example\n");
	cr_assert_eq(iscsi_monitor_session_read(&session, tree.root), 0);
	lose();
	prepare();
	cr_assert_str_eq(
		addr_text(&session.params.portal, text), "10.0.0.2:3261", "where it was connected");
	session.port = 0;
	cr_assert_eq(
		iscsi_monitor_session_prepare(&session, tree.root, 5000, &why), -EADDRNOTAVAIL);
	diag_says(&why, DIAG_UNSUPPORTED, NULL, "portal 'disk.example'");
}

static void fails(const char *dir, const char *name, const char *text, int err, enum diag_code code,
	const char *words)
{
	why = (struct diag){ 0 };
	put(dir, name, text);
	cr_assert_eq(iscsi_monitor_session_read(&session, tree.root), 0);
	cr_assert_eq(iscsi_monitor_session_prepare(&session, tree.root, 5000, &why), -err, "%s: %s",
		name, why.text);
	diag_says(&why, code, NULL, words);
}

Test(iscsi_monitor_session, what_cannot_be_logged_in)
{
	lose();
	fails(CONN, "persistent_port", "0\n", EADDRNOTAVAIL, DIAG_NOT_FOUND, "kernel portal");
	fails(CONN, "persistent_address", "(null)\n", EADDRNOTAVAIL, DIAG_NOT_FOUND,
		"kernel portal");
	put(CONN, "persistent_port", "3260\n");
	put(CONN, "persistent_address", "10.0.0.1\n");
	cr_assert(iscsi_monitor_supports(&session.kernel));
	fails("sys/class/scsi_host/host3/", "proc_name", "(null)\n", EOPNOTSUPP, DIAG_UNSUPPORTED,
		"kernel transport");
	cr_assert(!iscsi_monitor_supports(&session.kernel));
	put("sys/class/scsi_host/host3/", "proc_name", "iscsi_tcp\n");
	unlinkat(tree.root, "sys/class/iscsi_transport/tcp/handle", 0);
	cr_assert_eq(iscsi_monitor_session_prepare(&session, tree.root, 5000, &why), -EOPNOTSUPP,
		"as of the last look");
	cr_assert_eq(iscsi_monitor_session_read(&session, tree.root), 0);
	cr_assert_eq(iscsi_monitor_session_prepare(&session, tree.root, 5000, &why), -ENOENT);
	put("sys/class/iscsi_transport/tcp/", "handle", "4711\n");
	fails(DEVICE, "initiatorname", "(null)\n", EINVAL, DIAG_NOT_FOUND, "kernel initiator");
	fails(DEVICE, "targetname", "(null)\n", EINVAL, DIAG_NOT_FOUND, "kernel target");
	unlinkat(tree.root, "sys/class/iscsi_session/session1", 0);
	cr_assert_eq(iscsi_monitor_session_read(&session, tree.root), -ENOENT);
}
