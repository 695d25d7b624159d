/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Source and mount options: what becomes of the words, and what mount(2) is given. */
#include "kernel_nfs.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mount.h>

static struct nfs_options o;
static struct diag why;
static char text[NFS_OPTIONS_MAX];

static int options(const char *words)
{
	why = (struct diag){ 0 };
	kernel_nfs_options_init(&o);
	return kernel_nfs_options_read(&o, words, &why);
}

Test(nfs_options, flags)
{
	cr_assert_eq(options("ro,noexec,nosuid,defaults,_netdev,x-systemd.automount,comment=a,"
			     "noauto,fg"),
		0);
	cr_assert_eq(o.flags, MS_RDONLY | MS_NOEXEC | MS_NOSUID);
	cr_assert_str_eq(o.pass, "");
	kernel_nfs_flags_text(o.flags, text, sizeof(text));
	cr_assert_str_eq(text, "ro,nosuid,noexec");
	cr_assert_eq(kernel_nfs_options_read(&o, "rw,exec", &why), 0, "a later -o counts");
	cr_assert_eq(o.flags, MS_NOSUID);
	cr_assert_eq(options("user"), 0);
	cr_assert_eq(o.flags, MS_NOSUID | MS_NODEV | MS_NOEXEC);
	cr_assert_eq(options("remount,bg,retry=2"), 0);
	cr_assert(o.remount && o.background && o.retry_min == 2);
}

Test(nfs_options, what_is_the_kernels_passes)
{
	cr_assert_eq(options("soft,timeo=50,,rsize=65536,context=\"system_u:object_r:nfs_t:s0:c1,"
			     "c2\",nconnect=4"),
		0);
	cr_assert_str_eq(o.pass, "soft,timeo=50,rsize=65536,context=\"system_u:object_r:nfs_t:s0:"
				 "c1,c2\",nconnect=4");
	cr_assert_eq(options("rdma,proto=rdma,port=20050,mountport=20048,addr=10.0.0.1"), 0);
	cr_assert_str_eq(o.pass, "");
	cr_assert(o.port == 20050 && o.mountport == 20048 && !strcmp(o.addr, "10.0.0.1"));
	cr_assert_eq(
		options("clientaddr=10.0.0.2,mountaddr=10.0.0.3,mountproto=tcp,mountvers=3"), 0);
	cr_assert(o.clientaddr && o.mountaddr && o.mountproto && o.mountvers);
	cr_assert_eq(options("lock"), 0);
	cr_assert_eq(o.lock, NFS_LOCK_ON);
	cr_assert_eq(options("nolock"), 0);
	cr_assert_eq(o.lock, NFS_LOCK_LOCAL);
	cr_assert_eq(options("local_lock=flock"), 0);
	cr_assert_eq(o.lock, NFS_LOCK_LOCAL);
}

Test(nfs_options, versions)
{
	static const struct {
		const char *words;
		unsigned major;
		int minor;
	} row[] = { { "vers=3", 3, -1 }, { "v3", 3, -1 }, { "nfsvers=4", 4, -1 }, { "v4.2", 4, 2 },
		{ "vers=4.0", 4, 0 }, { "vers=4,minorversion=1", 4, 1 }, { "minorversion=2", 4, 2 },
		{ "soft", 0, -1 } };
	static const char *const wrong[] = { "vers=2", "vers=4.3", "vers=", "vers", "v5",
		"vers=4.10", "vers=3.1" };

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		cr_assert_eq(options(row[i].words), 0, "%s: %s", row[i].words, why.text);
		cr_assert(o.major == row[i].major && o.minor == row[i].minor, "%s", row[i].words);
	}
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		cr_assert_eq(options(wrong[i]), -EINVAL, "%s", wrong[i]);
	diag_says(&why, DIAG_USAGE, NULL, "'vers=3.1' NFS 4.2");
	cr_assert_eq(options("vers=3,minorversion=1"), -EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, "NFS minor");
	cr_assert_eq(options("minorversion=3"), -EINVAL);
}

Test(nfs_options, what_does_not_apply)
{
	static const char *const wrong[] = { "tcp", "udp", "proto=tcp", "proto=udp6",
		"proto=", "xprtsec=tls" };

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		cr_assert_eq(options(wrong[i]), -EINVAL, "%s", wrong[i]);
		diag_says(&why, DIAG_USAGE, NULL, wrong[i]);
		text_says(why.text, "RDMA");
	}
	cr_assert_eq(options("xprtsec=none"), 0);
	cr_assert_eq(options("port=0"), -EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, "port 65535");
	cr_assert_eq(options("port=20049x"), -EINVAL);
	cr_assert_eq(options("retry=-1"), -EINVAL);
}

Test(nfs_options, too_long)
{
	char words[NFS_OPTIONS_MAX + 100], addr[200] = "addr=";

	memset(words, 'a', sizeof(words) - 1);
	words[sizeof(words) - 1] = 0;
	cr_assert_eq(options(words), -E2BIG);
	for (unsigned i = 100; i < sizeof(words); i += 100)
		words[i] = ',';
	cr_assert_eq(options(words), -E2BIG);
	diag_says(&why, DIAG_USAGE, NULL, "3071");
	memset(addr + 5, '1', sizeof(addr) - 6);
	cr_assert_eq(options(addr), -EINVAL);
	words[NFS_OPTIONS_MAX - 40] = 0;
	cr_assert_eq(options(words), 0);
	cr_assert_eq(
		kernel_nfs_options_write(&o,
			&(struct nfs_numbers){ .rdma = true, .major = 4, .client = "10.0.0.1" },
			text, &why),
		-E2BIG);
}

static const char *written(const char *words, struct nfs_numbers n, const char *server)
{
	cr_assert_eq(options(words), 0);
	cr_assert_eq(addr_parse(&n.server, server, 0, NULL), 0);
	cr_assert_eq(kernel_nfs_options_write(&o, &n, text, &why), 0);
	return text;
}

Test(nfs_options, what_mount_is_given)
{
	struct nfs_numbers n4 = { .rdma = true, .major = 4, .minor = 1, .client = "10.0.0.2" };
	struct nfs_numbers n3 = { .rdma = true, .major = 3, .mountport = 20048, .nolock = true };

	cr_assert_str_eq(written("", n4, "10.0.0.1:20049"),
		"vers=4.1,proto=rdma,port=20049,addr=10.0.0.1,clientaddr=10.0.0.2");
	cr_assert_str_eq(written("clientaddr=10.9.9.9,soft", n4, "[fd00::1]:20049"),
		"vers=4.1,proto=rdma6,port=20049,addr=fd00::1,clientaddr=10.9.9.9,soft");
	cr_assert_str_eq(written("", n3, "10.0.0.1:20049"),
		"vers=3,proto=rdma,port=20049,addr=10.0.0.1,mountaddr=10.0.0.1,mountvers=3,"
		"mountproto=tcp,mountport=20048,nolock");
	n3.nolock = false;
	cr_assert_str_eq(
		written("mountproto=udp6,mountvers=3,mountaddr=fd00::9", n3, "[fe80::1%1]:20049"),
		"vers=3,proto=rdma6,port=20049,addr=fe80::1%1,mountport=20048,mountproto=udp6,"
		"mountvers=3,mountaddr=fd00::9");
	n4.rdma = false;
	cr_assert_str_eq(written("", n4, "10.0.0.1:2049"),
		"vers=4.1,proto=tcp,port=2049,addr=10.0.0.1,clientaddr=10.0.0.2");
}

/* --- The source */

static struct nfs_source s;
static uint32_t ms;

static int source(const char *line)
{
	why = (struct diag){ 0 };
	kernel_nfs_options_init(&o);
	ms = 0;
	return kernel_nfs_source_read(line, &s, &o, &ms, &why);
}

static void is(const char *line, const char *host, const char *path, const char *name)
{
	cr_assert_eq(source(line), 0, "%s: %s", line, why.text);
	cr_assert_str_eq(s.host, host);
	cr_assert_str_eq(s.path, path);
	cr_assert_str_eq(s.name, name);
}

Test(nfs_source, pairs)
{
	is("10.0.0.1:/exp", "10.0.0.1", "/exp", "10.0.0.1:/exp");
	is("server:/", "server", "/", "server:/");
	is("[fe80::1%eth0]:/a:b", "fe80::1%eth0", "/a:b", "[fe80::1%eth0]:/a:b");
	cr_assert_eq(source("server"), -EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, "'server' HOST:/PATH nfs+rdma://HOST/PATH");
	cr_assert_eq(source("server:path"), -EINVAL);
	cr_assert_eq(source(":/path"), -EINVAL);
	cr_assert_eq(source("[]:/path"), -EINVAL);
	cr_assert_eq(source("[fd00::1:/path"), -EINVAL);
	cr_assert_eq(source("fd00::1:/path"), -EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, "'fd00::1:/path'");
	text_says(why.hint, "[fd00::1]:/path");
}

Test(nfs_source, uris)
{
	is("nfs+rdma://10.0.0.1/exp/a%20b", "10.0.0.1", "/exp/a b", "10.0.0.1:/exp/a b");
	cr_assert_eq(o.port, 0);
	is("nfs+rdma://[fd00::1]:20050/", "fd00::1", "/", "[fd00::1]:/");
	cr_assert_eq(o.port, 20050);
	is("nfs+rdma://server/exp?vers=4.1&ro&timeout=5", "server", "/exp", "server:/exp");
	cr_assert(o.major == 4 && o.minor == 1 && o.flags == MS_RDONLY && ms == 5000);
	cr_assert_eq(source("nfs+rdma://server/exp?vers=9"), -EINVAL);
	cr_assert_eq(source("nfs+rdma://server/exp?vers=4.2,suid"), -EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, "vers '4.2,suid' -o");
	cr_assert_eq(source("nfs+rdma://server/exp?nonsense=1"), -EINVAL);
	cr_assert_eq(source("nfs+rdma:///exp"), -EINVAL);
	cr_assert_eq(source("nvme+rdma://server/exp"), -EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, "'nvme+rdma://server/exp' nfs+rdma:");
}

Test(nfs_source, too_long)
{
	static char line[3000];

	memset(line, 'a', 300);
	strcpy(line + 300, ":/exp");
	cr_assert_eq(source(line), -ENAMETOOLONG);
	strcpy(line, "server:/");
	memset(line + 8, 'a', 2000);
	cr_assert_eq(source(line), -ENAMETOOLONG);
}
