/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is to be mounted, as users write it. */
#include "nfs_mount.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mount.h>

static struct nfs_source s;
static struct nfs_options o;
static uint32_t ms;
static struct diag why;

static int source(const char *text)
{
	why = (struct diag){ 0 };
	kernel_nfs_options_init(&o);
	ms = 0;
	return nfs_source_read(text, &s, &o, &ms, &why);
}

static void is(const char *text, const char *host, const char *path, const char *name)
{
	cr_assert_eq(source(text), 0, "%s: %s", text, why.text);
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
	static char text[3000];

	memset(text, 'a', 300);
	strcpy(text + 300, ":/exp");
	cr_assert_eq(source(text), -ENAMETOOLONG);
	strcpy(text, "server:/");
	memset(text + 8, 'a', 2000);
	cr_assert_eq(source(text), -ENAMETOOLONG);
}
