/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NFS mounts from the first step to the last, with a mount(2) of our own: several at once, one that
 * exists, one over another transport than was asked for, and one that is cancelled. */
/* Link: leap mount umount2 geteuid prctl nfs_query_versions resolve_start */
#include "nfs_mount.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MSEC 1000000ull

int __wrap_mount(const char *source, const char *dir, const char *type, unsigned long flags,
	const void *data);
int __wrap_umount2(const char *dir, int flags);
uid_t __wrap_geteuid(void);
int __real_prctl(int option, ...);
int __wrap_prctl(int option, ...);
void __wrap_nfs_query_versions(struct nfs_query *, bool rdma, unsigned wanted);
int __real_resolve_start(
	struct resolve *, struct loop *, const char *, uint16_t, uint32_t, struct diag *);
int __wrap_resolve_start(
	struct resolve *, struct loop *, const char *, uint16_t, uint32_t, struct diag *);

static struct tree tree;
static struct loop *loop;
static bool slow; /* mount(2) lasts until the next is posted */
static sem_t *end_mount;
static int mount_err, umount_err;
static const char *proto; /* of what is mounted; NULL: as asked for */
static unsigned ends, asked;
static unsigned served = NFS_ALL; /* by the server; 0: it refuses the connection */

/* In a process that has no descriptor but the root's. */
static void append(const char *path, const char *text)
{
	int fd = openat(0, path, O_WRONLY | O_APPEND | O_CREAT, 0600);

	(void)!write(fd, text, strlen(text));
	close(fd);
}

int __wrap_mount(const char *source, const char *dir, const char *type, unsigned long flags,
	const void *data)
{
	char line[900];

	append("calls", "+");
	while (slow && sem_wait(end_mount) && errno == EINTR)
		;
	append("calls", "-");
	errno = mount_err;
	if (mount_err)
		return -1;
	snprintf(line, sizeof(line), "36 22 0:50 / %s %s - %s4 %s rw,%s%s%s\n", dir,
		flags & MS_RDONLY ? "ro" : "rw", type, source, proto ? "vers=4.2,proto=" : "",
		proto ? proto : (const char *)data, flags & MS_REMOUNT ? ",remounted" : "");
	append("proc/self/mountinfo", line);
	return 0;
}

int __wrap_umount2(const char *dir, int flags)
{
	(void)flags;
	append("unmounted", dir);
	errno = umount_err;
	return umount_err ? -1 : 0;
}

static bool two_addresses; /* 10.0.0.1, and 10.0.0.9 that answers the second probe */
static void (*resolved)(struct resolve *);

static void add_other(struct resolve *r)
{
	struct addr other;

	cr_assert_eq(addr_numeric(&other, "10.0.0.9", 0, NULL), 0);
	cr_assert(addr_add(&r->addr, (const struct sockaddr *)&other.ss));
	resolved(r);
}

int __wrap_resolve_start(struct resolve *r, struct loop *on, const char *host, uint16_t port,
	uint32_t timeout_ms, struct diag *diag)
{
	resolved = r->done;
	r->done = two_addresses ? add_other : resolved;
	return __real_resolve_start(r, on, host, port, timeout_ms, diag);
}

static void answer(struct loop_work *work)
{
	struct nfs_query *q = container_of(work, struct nfs_query, fail);

	if (two_addresses)
		cr_assert_eq(q->server.others, 1);
	if (two_addresses && asked == 1)
		diag_set(&q->why, DIAG_REFUSED, ECONNREFUSED, "connection refused");
	else if (two_addresses)
		addr_next(&q->server);
	q->versions.versions = served;
	if (!served)
		diag_set(&q->why, DIAG_REFUSED, ECONNREFUSED, "connection refused");
	q->done(q);
}

void __wrap_nfs_query_versions(struct nfs_query *q, bool rdma, unsigned wanted)
{
	cr_assert(rdma && wanted);
	asked++;
	q->fail.run = answer;
	loop_work_add(q->loop, &q->fail);
}

uid_t __wrap_geteuid(void)
{
	return 0;
}

int __wrap_prctl(int option, ...)
{
	va_list args;
	unsigned long first;

	va_start(args, option);
	first = va_arg(args, unsigned long);
	va_end(args);
	return option == PR_CAPBSET_READ ? 1 : __real_prctl(option, first, 0ul, 0ul, 0ul);
}

static void setup(void)
{
	tree = tree_new();
	tree_file(&tree, "proc/self/mountinfo", "22 1 0:2 / / rw - rootfs rootfs rw\n");
	for (const char *const *path = (const char *const[]){ "sys/module/nfs", "sys/module/nfsv4",
		     "sys/module/rpcrdma", "sys/class/infiniband/rxe0",
		     "sys/class/infiniband_verbs", "sys/class/misc/rdma_cm", "a", "b", "c", "d",
		     NULL };
		*path; path++)
		tree_dir(&tree, *path);
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	end_mount = mmap(NULL, sizeof(*end_mount), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert(end_mount != MAP_FAILED && !sem_init(end_mount, 1, 0));
}

static void fini(void)
{
	loop_free(loop);
	tree_free(&tree);
}
TestSuite(nfs, .init = setup, .fini = fini);

static void note_end(struct attach *attach)
{
	(void)attach;
	ends++;
}

static void end_mounts(struct loop_timer *timer)
{
	(void)timer;
	for (unsigned i = 0; i < 4; i++)
		sem_post(end_mount);
}

/* mount(2) takes that long. */
static void mounts_in(unsigned ms)
{
	static struct loop_timer timer = { .fire = end_mounts };

	slow = true;
	loop_timer_set(loop, &timer, loop_clock() + ms * MSEC);
}

static char notes[2000];

static void note(void *arg, const char *text)
{
	(void)arg;
	snprintf(notes, sizeof(notes), "%s", text);
}

/* Of 10.0.0.1:/exp on the directory `name` of the tree. */
static struct nfs_mount *wants(unsigned i, const char *name, const char *options)
{
	static struct nfs_mount list[4];
	static char typed[4][64];
	struct nfs_mount *m = &list[i];

	snprintf(typed[i], sizeof(typed[i]), "%s/%s", tree.path, name);
	*m = (struct nfs_mount){ .attach = { .proto = &nfs_attach,
					 .loop = loop,
					 .root = tree.root,
					 .deadline = loop_clock() + 20000 * MSEC,
					 .done = note_end },
		.typed = typed[i],
		.note = note };
	kernel_nfs_options_init(&m->options);
	cr_assert_eq(kernel_nfs_options_read(&m->options, options, NULL), 0);
	cr_assert_eq(kernel_nfs_source_read(
			     "10.0.0.1:/exp", &m->source, &m->options, &(uint32_t){ 0 }, NULL),
		0);
	return m;
}

static int mounts(struct nfs_mount *m)
{
	struct attach *attach = &m->attach;

	cr_assert_eq(attach_run(loop, &attach, 1, NULL), 0);
	return -m->attach.why.err;
}

static bool unmounted(void)
{
	return !faccessat(tree.root, "unmounted", F_OK, 0);
}

Test(nfs, mounted_then_existing_then_remounted)
{
	struct nfs_mount *m = wants(0, "a", "clientaddr=10.0.0.2,ro");

	cr_assert_eq(mounts(m), 0, "%s", m->attach.why.text);
	cr_assert(m->rdma && m->version == NFS_V42 && !m->existed);
	text_says(m->data, "vers=4.2,proto=rdma,port=20049,addr=10.0.0.1");
	cr_assert_str_eq(m->mounted.options, "ro");
	m = wants(0, "a", "");
	mount_err = EIO; /* is not called */
	cr_assert_eq(mounts(m), 0, "%s", m->attach.why.text);
	cr_assert(m->existed && m->rdma);
	cr_assert_eq(mounts(wants(0, "b", "remount")), -ENOENT);
	m = wants(0, "a", "remount,soft");
	mount_err = 0;
	cr_assert_eq(mounts(m), 0, "%s", m->attach.why.text);
	text_says(m->mounted.super, "remounted");
	cr_assert_eq(ends, 4);
	cr_assert_not(unmounted());
}

/* One of four fails, and none waits for another. */
Test(nfs, several_at_once)
{
	struct attach *list[4];
	char calls[8] = "";
	int fd;

	mounts_in(600);
	for (unsigned i = 0; i < 4; i++)
		list[i] = &wants(i, (const char *const[]){ "a", "b", "none/e", "d" }[i],
			"clientaddr=10.0.0.2")
				   ->attach;
	cr_assert_eq(attach_run(loop, list, 4, NULL), 0);
	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(list[i]->why.err, i == 2 ? ENOENT : 0, "%s", list[i]->why.text);
	cr_assert_eq(ends, 4);
	fd = openat(tree.root, "calls", O_RDONLY);
	cr_assert_eq(read(fd, calls, sizeof(calls)), 6);
	close(fd);
	cr_assert_str_eq(calls, "+++---");
}

Test(nfs, a_slow_one_is_asked_about_once)
{
	struct nfs_mount *m = wants(0, "a", "clientaddr=10.0.0.2");

	mounts_in(900);
	cr_assert_eq(mounts(m), 0, "%s", m->attach.why.text);
	cr_assert_eq(asked, 1);
}

/* Of a name with several addresses the kernel gets the one that the probe has reached. */
Test(nfs, the_address_of_a_name_that_answers)
{
	struct nfs_mount *m = wants(0, "a", "clientaddr=10.0.0.2,retry=1");

	two_addresses = true;
	cr_assert_eq(mounts(m), 0, "%s", m->attach.why.text);
	cr_assert_eq(asked, 2, "each attempt asks all of them, before mount(2)");
	text_says(m->data, "addr=10.0.0.9");
}

Test(nfs, one_that_cannot_succeed_is_stopped)
{
	struct nfs_mount *m = wants(0, "a", "clientaddr=10.0.0.2");
	uint64_t begin = loop_clock();

	slow = true;
	served = 0;
	cr_assert_eq(mounts(m), -ECONNREFUSED);
	diag_says(&m->attach.why, DIAG_REFUSED, NULL, "connection refused");
	cr_assert_lt(loop_clock() - begin, 10000 * MSEC);
	served = NFS_V41;
	m = wants(0, "a", "clientaddr=10.0.0.2,vers=4.2");
	cr_assert_eq(mounts(m), -EPROTONOSUPPORT);
	diag_says(&m->attach.why, DIAG_UNSUPPORTED, NULL, "4.2 4.1");
	cr_assert_not(unmounted());
}

/* The server says which versions it may have when the kernel can't mount the highest. */
Test(nfs, each_version_in_turn)
{
	struct nfs_mount *m = wants(0, "a", "clientaddr=10.0.0.2,vers=4");

	mount_err = EPROTONOSUPPORT;
	cr_assert_eq(mounts(m), -EPROTONOSUPPORT);
	diag_says(&m->attach.why, DIAG_UNSUPPORTED, NULL, "4.2: 4.1: 4.0:");
	cr_assert_eq(asked, 1);
	served = NFS_V40 | NFS_V3;
	m = wants(0, "a", "clientaddr=10.0.0.2,vers=4");
	cr_assert_eq(mounts(m), -EPROTONOSUPPORT);
	cr_assert(text_missing(m->attach.why.text, "4.1") && strstr(m->data, "vers=4.0"));
}

Test(nfs, another_transport_than_asked_for_is_undone)
{
	struct nfs_mount *m = wants(0, "a", "clientaddr=10.0.0.2");

	proto = "tcp";
	cr_assert_eq(mounts(m), -EPROTO);
	diag_says(&m->attach.why, DIAG_MISMATCH, NULL, "RDMA proto=tcp");
	cr_assert(unmounted());
	cr_assert_str_eq(notes, "");
	umount_err = EBUSY;
	cr_assert_eq(mounts(wants(0, "b", "clientaddr=10.0.0.2")), -EPROTO);
	text_says(notes, "/b still umount");
}

static struct nfs_mount *cancelled;

static void cancel_it(struct loop_timer *timer)
{
	(void)timer;
	attach_cancel(&cancelled->attach);
}

Test(nfs, cancelled_while_the_kernel_mounts)
{
	struct loop_timer timer = { .fire = cancel_it };
	volatile int never = 0;
	struct kernel_mounted there;

	cancelled = wants(0, "a", "clientaddr=10.0.0.2");
	mounts_in(1200);
	loop_timer_set(loop, &timer, loop_clock() + 300 * MSEC);
	cr_assert_eq(mounts(cancelled), -EINTR);
	loop_wait(loop, &never, loop_clock() + 1500 * MSEC);
	cr_assert_eq(kernel_mounted(tree.root, cancelled->dir, &there), -ENOENT);
	cr_assert_eq(ends, 1);
}

static void cancel_mounted(struct loop_timer *timer)
{
	struct pollfd ended = { .fd = cancelled->call.child.watch.fd, .events = POLLIN };

	(void)timer;
	cr_assert(cancelled->call.child.pid);
	end_mounts(NULL);
	cr_assert_eq(poll(&ended, 1, -1), 1);
	attach_cancel(&cancelled->attach);
}

/* The loop learns of the mount only after the attachment was cancelled. */
Test(nfs, mounted_just_before_it_is_cancelled)
{
	struct loop_timer timer = { .fire = cancel_mounted };

	cancelled = wants(0, "a", "clientaddr=10.0.0.2");
	slow = true;
	loop_timer_set(loop, &timer, loop_clock() + 600 * MSEC);
	cr_assert_eq(mounts(cancelled), -EINTR);
	cr_assert(unmounted(), "it is left behind");
	cr_assert_eq(ends, 1);
}
