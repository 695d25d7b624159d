/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Why the kernel did not mount: by errno, by what the mount daemon says, by the kernel's log. */
/* Link: leap */
#include "../../../fake/nfs_server.h"
#include "loop.h"
#include "nfs_steps.h"
#include "says.h"
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct nfs_server server = { .low = 3,
	.high = 4,
	.export = { { "/exp", { "*" } }, { "/only/", { "10.0.0.7", "@friends" } },
		{ "/exp/sub", { "10.0.0.8" } } } };
static struct nfs_mount m = { .dir = "/mnt", .rdma = true, .version = NFS_V42, .data = "vers=4.2" };
static volatile int reported;

static void tell(struct nfs_mount *it)
{
	(void)it;
	reported = 1;
}

/* m.attach.why from this errno, with this to ask mountd at. */
static void explain(const struct addr *mountd, int err, uint64_t until)
{
	struct loop *loop;

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	m.attach.loop = loop;
	m.server = *mountd;
	m.mountport = addr_port(mountd);
	m.until = until;
	m.on_explained = tell;
	m.attach.why = (struct diag){ 0 };
	m.call.ask = (struct kernel_mount_args){ .type = "nfs", .data = m.data };
	reported = 0;
	nfs_explain(&m, err);
	loop_wait(loop, &reported, 0);
	loop_free(loop);
}

static void failed(
	const char *path, int err, const char *log, enum diag_code code, const char *words)
{
	struct addr addr = nfs_server_start(&server);

	snprintf(m.source.path, sizeof(m.source.path), "%s", path);
	snprintf(m.lines, sizeof(m.lines), "%s", log);
	explain(&addr, err, 0);
	nfs_server_stop();
	diag_says(&m.attach.why, code, NULL, words);
}

Test(nfs_why, what_the_server_exports)
{
	failed("/other", ENOENT, "", DIAG_NOT_FOUND, "'/other' /exp,_/only/,_/exp/sub");
	failed("/other", EACCES, "", DIAG_NOT_FOUND, "'/other' /exp,_/only/,_/exp/sub");
	/* Not a prefix of a name */
	failed("/exper", EACCES, "", DIAG_NOT_FOUND, "'/exper' /exp,_/only/,_/exp/sub");
	failed("/only", EACCES, "", DIAG_AUTH, "'/only' /only/ 10.0.0.7,@friends");
	/* The longest that covers it */
	failed("/exp/sub/a", EACCES, "", DIAG_AUTH, "'/exp/sub/a' /exp/sub 10.0.0.8");
	failed("/exp/sub", ENOENT, "", DIAG_AUTH, "'/exp/sub' 10.0.0.8");
	failed("/exp", ENOENT, "", DIAG_NOT_FOUND, "'/exp'");
	cr_assert_not_null(text_missing(m.attach.why.text, "/only/"), "%s", m.attach.why.text);
	failed("/exp", EACCES, "", DIAG_AUTH, "'/exp' sec=");
	server.reject = 1;
	failed("/exp", EACCES, "", DIAG_AUTH, "'/exp'");
	cr_assert_not_null(text_missing(m.attach.why.text, "sec="), "%s", m.attach.why.text);
	failed("/exp", ENOENT, "", DIAG_NOT_FOUND, "'/exp' nfsrdma-discover");
	server.reject = 0;
	server.export[0].path = NULL;
	failed("/exp", ENOENT, "", DIAG_NOT_FOUND, "'/exp'");
	cr_assert_not_null(
		text_missing(m.attach.why.hint, "nfsrdma-discover"), "%s", m.attach.why.hint);
}

Test(nfs_why, very_many_exports)
{
	static char path[60][64];

	for (unsigned i = 0; i < 60; i++) {
		snprintf(path[i], sizeof(path[i]), "/srv/%050u", i);
		server.export[i] = (struct nfs_server_export){ path[i], { NULL } };
	}
	failed("/exp", ENOENT, "", DIAG_NOT_FOUND, "'/exp' /srv/000");
	cr_assert_str_eq(m.attach.why.text + strlen(m.attach.why.text) - strlen("..."), "...");
}

/* The server accepts the connection and never replies. */
Test(nfs_why, no_longer_than_there_is_time)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct addr addr = { 0 };
	uint64_t begin;

	cr_assert(!bind(fd, (struct sockaddr *)&in, len) && !listen(fd, 8) &&
		  !getsockname(fd, (struct sockaddr *)&in, &len));
	memcpy(&addr.ss, &in, len);
	addr.len = len;
	for (unsigned ms = 0; ms <= 300; ms += 300) {
		begin = loop_clock();
		explain(&addr, EACCES, begin + ms * 1000000ull);
		diag_says(&m.attach.why, DIAG_AUTH, NULL, "denied");
		cr_assert_lt(loop_clock() - begin, (ms + 900) * 1000000ull);
	}
	close(fd);
}

Test(nfs_why, errnos_and_the_log)
{
	failed("/exp", EBUSY, "", DIAG_BUSY, "/mnt");
	failed("/exp", ENODEV, "", DIAG_NO_MODULE, "kernel NFS");
	failed("/exp", ENOTDIR, "", DIAG_NOT_FOUND, "'/exp' directory");
	failed("/exp", EIO, "", DIAG_IO, "mount input/output_error");
	failed("/exp", EIO, "RPC: first\nNFS: state manager failed\n", DIAG_IO,
		"NFS:_state_manager_failed input/output_error");
	cr_assert_not_null(text_missing(m.attach.why.text, "first"), "%s", m.attach.why.text);
	failed("/exp", EPROTONOSUPPORT, "NFS: no\n", DIAG_UNSUPPORTED,
		"kernel server 4.2 RDMA NFS:_no");
}
