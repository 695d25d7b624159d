/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Why the kernel did not mount: by errno, by what the mount daemon says, by the kernel's log. */
#include "nfs_why.h"
#include "../../fake/nfs_server.h"
#include "loop.h"
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct nfs_server server = { .low = 3, .high = 4, .export = { { "/exp", { "*" } }, { "/only/", { "10.0.0.7", "@friends" } }, { "/exp/sub", { "10.0.0.8" } } } };
static struct nfs_mount m = { .dir = "/mnt", .rdma = true, .version = NFS_V42, .data = "vers=4.2" };
static struct loop *loop;
static struct diag why;

static const char *text(const char *path, int err, const char *log)
{
	struct addr addr = nfs_server_start(&server);

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	m.server = addr;
	snprintf(m.source.path, sizeof(m.source.path), "%s", path);
	why = (struct diag){ 0 };
	cr_assert_lt(nfs_why(loop, &m, ntohs(((struct sockaddr_in *)&addr.ss)->sin_port), err, log, 0, &why), 0);
	loop_free(loop);
	nfs_server_stop();
	return why.text;
}

Test(nfs_why, what_the_server_exports, .timeout = 30)
{
	cr_assert_str_eq(text("/other", ENOENT, ""), "the server exports no '/other'; it exports /exp, /only/, /exp/sub");
	cr_assert_eq(why.code, DIAG_NOT_FOUND);
	cr_assert_str_eq(text("/other", EACCES, ""), "the server exports no '/other'; it exports /exp, /only/, /exp/sub");
	cr_assert_str_eq(text("/exper", EACCES, ""), "the server exports no '/exper'; it exports /exp, /only/, /exp/sub", "no prefix of a name");
	cr_assert_str_eq(text("/only", EACCES, ""), "the server does not allow this machine '/only': it exports /only/ to 10.0.0.7,@friends only");
	cr_assert_eq(why.code, DIAG_AUTH);
	cr_assert_str_eq(text("/exp/sub/a", EACCES, ""), "the server does not allow this machine '/exp/sub/a': it exports /exp/sub to 10.0.0.8 only",
		"the longest");
	cr_assert_str_eq(text("/exp/sub", ENOENT, ""), "the server does not allow this machine '/exp/sub': it exports /exp/sub to 10.0.0.8 only");
	cr_assert_str_eq(text("/exp", ENOENT, ""), "the server exports '/exp' to everybody, but does not find it");
	cr_assert_str_eq(text("/exp", EACCES, ""),
		"the server denies this machine '/exp', though it exports it to everybody: it may want another kind of security (sec=)");
	server.reject = 1;
	cr_assert_str_eq(text("/exp", EACCES, ""), "the server denies this machine '/exp'");
	cr_assert_str_eq(text("/exp", ENOENT, ""), "the server has no '/exp', or none for this machine");
	server.reject = 0;
	server.export[0].path = NULL;
	cr_assert_str_eq(text("/exp", ENOENT, ""), "the server exports no '/exp'");
}

Test(nfs_why, very_many_exports, .timeout = 30)
{
	static char path[60][64];

	for (unsigned i = 0; i < 60; i++) {
		snprintf(path[i], sizeof(path[i]), "/srv/%050u", i);
		server.export[i] = (struct nfs_server_export){ path[i], { NULL } };
	}
	text("/exp", ENOENT, "");
	cr_assert(strstr(why.text, "it exports /srv/000"));
	cr_assert_str_eq(why.text + strlen(why.text) - strlen("…"), "…");
}

/* Connects, and nobody answers. */
Test(nfs_why, no_longer_than_there_is_time, .timeout = 30)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	uint64_t begin = loop_clock();

	cr_assert(!bind(fd, (struct sockaddr *)&in, len) && !listen(fd, 8) && !getsockname(fd, (struct sockaddr *)&in, &len));
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	memcpy(&m.server.ss, &in, len);
	m.server.len = len;
	for (unsigned ms = 0; ms <= 300; ms += 300) {
		begin = loop_clock();
		cr_assert_eq(nfs_why(loop, &m, ntohs(in.sin_port), EACCES, "", begin + ms * 1000000ull, &why), -EACCES);
		cr_assert_lt(loop_clock() - begin, (ms + 900) * 1000000ull);
	}
	loop_free(loop);
	close(fd);
}

Test(nfs_why, errnos_and_the_log, .timeout = 30)
{
	cr_assert_str_eq(text("/exp", EBUSY, ""), "/mnt is in use");
	cr_assert_str_eq(text("/exp", ENODEV, ""), "this kernel has no NFS client");
	cr_assert_str_eq(text("/exp", ENOTDIR, ""), "'/exp' on the server is no directory");
	cr_assert_str_eq(text("/exp", EIO, ""), "mount: input/output error");
	cr_assert_str_eq(text("/exp", EIO, "RPC: first\nNFS: state manager failed\n"), "mount (kernel: NFS: state manager failed): input/output error");
	cr_assert_str_eq(text("/exp", EPROTONOSUPPORT, "NFS: no\n"), "the kernel or the server does not have NFS 4.2 over RDMA (kernel: NFS: no)");
}
