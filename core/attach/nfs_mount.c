/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One mount: what the kernel needs, what the server has, each version that both have, and the
 * proof. */
#include "kernel.h"
#include "nfs_mounting.h"
#include "nfs_why.h"
#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MSEC        1000000ull
#define ASK_MS      10000 /* for the server to answer, when there is no other end to it */
#define STATD_MS    500
#define MINUTE_MS   60000
#define PATIENCE_MS 500  /* with a mount that is under way, before the server is asked about it */
#define PAUSE_MS    2000 /* between attempts that retry= asks for */

#define TCP_HINT      "to mount over TCP if RDMA fails: --fallback tcp"
#define LISTENER_HINT "on a Linux server: echo rdma 20049 >/proc/fs/nfsd/portlist; " TCP_HINT
#define DEVICE_HINT   HINT_RDMA_DEVICE "; " TCP_HINT

static void note(const struct mounting *g, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void note(const struct mounting *g, const char *fmt, ...)
{
	char text[900];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (g->m->note)
		g->m->note(g->m->arg, text);
}

/* Milliseconds left, at most `most`. */
static uint32_t left_ms(const struct mounting *g, uint32_t most)
{
	uint64_t now = loop_clock(), left = g->until > now ? (g->until - now) / MSEC : 0;

	return !g->until || left > most ? most : left ? (uint32_t)left : 1;
}

static int ready(struct mounting *g, bool rdma, struct diag *diag)
{
	struct diag why = { 0 };
	int err;

	if (g->m->dry_run)
		return 0;
	err = kernel_nfs_ready(g->root, false, g->m->options.major, diag);
	if (err || !rdma)
		return err;
	if (kernel_nfs_ready(g->root, true, g->m->options.major, diag))
		return diag_hint(diag, TCP_HINT);
	err = kernel_rdma_ready(g->root, &why);
	if (err == -ENODEV) {
		*diag = why;
		return diag_hint(diag, DEVICE_HINT);
	}
	g->unasked = err;
	if (err)
		note(g, "can't probe the server over RDMA: %s", why.text);
	return 0;
}

/* Versions that are wanted and that the server may have; the highest it has. */
static int ask(struct mounting *g, bool rdma, unsigned *versions, struct diag *diag)
{
	struct nfs_mount *m = g->m;
	const struct nfs_answer *answer = &g->answer;
	char has[32], want[32];
	int err;

	*versions = nfs_wanted(&m->options);
	if (rdma && g->unasked)
		return 0;
	if (!g->asked)
		nfs_ask(g->loop, &m->server, rdma, *versions, left_ms(g, ASK_MS), &g->answer,
			&g->no_answer);
	g->asked = true;
	*diag = g->no_answer;
	err = -diag->err;
	if (err && m->dry_run) {
		note(g, "server not probed: %s", diag->text);
		return 0;
	}
	if (err && rdma && !diag->hint[0])
		diag_hint(diag, diag->code == DIAG_REFUSED ? LISTENER_HINT : TCP_HINT);
	if (err)
		return err;
	memcpy(m->way, answer->way, sizeof(m->way));
	if (!(*versions & answer->versions))
		return diag_set(diag, DIAG_UNSUPPORTED, EPROTONOSUPPORT,
			"the server does not support NFS %s over %s, only %s",
			nfs_versions_text(*versions, want), rdma ? "RDMA" : "TCP",
			nfs_versions_text(answer->versions, has));
	/* versions below the highest were not probed: they are tried if the kernel lacks the
	 * highest */
	*versions &= answer->versions | (answer->versions - 1);
	return 0;
}

/* What NFS 3 needs besides. */
static int prepare_v3(struct mounting *g, struct nfs_numbers *n, struct diag *diag)
{
	const struct nfs_options *o = &g->m->options;

	n->mountport = o->mountport;
	if (!n->mountport && !g->mountport && !g->no_mountd.err)
		nfs_mountd(
			g->loop, &g->m->server, left_ms(g, ASK_MS), &g->mountport, &g->no_mountd);
	if (!n->mountport && g->no_mountd.err && !g->m->dry_run) {
		*diag = g->no_mountd;
		return -diag->err;
	}
	if (!n->mountport && g->no_mountd.err) {
		g->mountport = NFS_MOUNT_PORT;
		note(g, "assuming mountd at port %u: %s", g->mountport, g->no_mountd.text);
	}
	if (!n->mountport)
		n->mountport = g->mountport;
	if (o->lock == NFS_LOCK_NAMED || g->m->dry_run)
		n->nolock = o->lock == NFS_LOCK_OPEN;
	else
		n->nolock = !nfs_statd(g->loop, left_ms(g, STATD_MS));
	if (n->nolock && o->lock == NFS_LOCK_WANTED) {
		diag_set(diag, DIAG_NOT_FOUND, ENOENT,
			"option lock: NFSv3 locks need rpc.statd, which does not answer on this "
			"machine");
		return diag_hint(diag, "for locks on this machine only: -o nolock");
	}
	return 0;
}

static int make_data(struct mounting *g, bool rdma, unsigned version, struct diag *diag)
{
	struct nfs_mount *m = g->m;
	struct nfs_numbers n = {
		.rdma = rdma, .major = version == NFS_V3 ? 3 : 4, .server = m->server
	};
	int err = 0;

	for (unsigned v = NFS_V40; n.major == 4 && v < version; v <<= 1)
		n.minor++;
	m->version = version;
	m->rdma = rdma;
	if (n.major == 3)
		err = prepare_v3(g, &n, diag);
	else if (!m->options.clientaddr)
		err = kernel_source_addr(&m->server, n.client, diag);
	return err ? err : kernel_nfs_options_write(&m->options, &n, m->data, diag);
}

static int too_late(uint64_t since, struct diag *diag)
{
	return diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
		"mount(2) timed out after %.3g s: no answer from the server",
		(double)(loop_clock() - since) / 1e9);
}

/* Of the kernel's client; its server may be on this machine too. */
static bool is_ours(const char *line)
{
	return !strstr(line, "nfsd") && !strstr(line, "NFSD") &&
	       (strstr(line, "nfs") || strstr(line, "NFS") || strstr(line, "RPC") ||
		       strstr(line, "rpcrdma") || strstr(line, "lockd") || strstr(line, "statd"));
}

static int in_vain(void *arg)
{
	struct mounting *g = arg;
	struct diag why = { 0 };
	unsigned versions;

	return ask(g, true, &versions, &why) || !(versions & g->m->version);
}

/* mount(2), and what the kernel said to it in its log. */
static int ask_kernel(struct mounting *g, const char *data, unsigned long flags, struct diag *diag)
{
	const struct kernel_mount_ask ask_it = { .source = g->m->source.name,
		.dir = g->m->dir,
		.type = "nfs",
		.data = data,
		.flags = flags,
		.until = g->until,
		.patience_ms = PATIENCE_MS,
		.meanwhile = g->ahead ? in_vain : NULL,
		.arg = g };
	char lines[2048], *rest = lines, *line;
	uint64_t since = loop_clock();
	struct kernel_log log;
	bool late;
	int err;

	kernel_log_mark(g->root, &log);
	err = kernel_mount(g->root, &ask_it, &late);
	kernel_log_since(&log, is_ours, lines, sizeof(lines));
	if (!err || err == -ECANCELED)
		return err;
	err = late ? too_late(since, diag)
		   : nfs_why(g->loop, g->m, g->mountport, -err, lines, g->until, diag);
	while (loop_options(g->loop)->verbose && (line = strsep(&rest, "\n")))
		if (*line)
			note(g, "kernel: %s", line);
	return err;
}

static int mount_one(struct mounting *g, bool rdma, unsigned version, struct diag *diag)
{
	struct nfs_mount *m = g->m;
	int err = make_data(g, rdma, version, diag);

	if (!err && !m->dry_run)
		err = ask_kernel(g, m->data, m->options.flags, diag);
	if (err || m->dry_run)
		return err;
	err = kernel_mounted(g->root, m->dir, &m->mounted);
	if (err)
		return diag_set(diag, DIAG_MISMATCH, EIO,
			"mount(2) succeeded, but %s is missing from /proc/self/mountinfo", m->dir);
	if (nfs_mounted_rdma(&m->mounted) == rdma &&
		(!rdma || !m->mounted.transport[0] || !strncmp(m->mounted.transport, "rdma", 4)))
		return 0;
	err = kernel_umount(m->dir);
	return diag_set(diag, DIAG_MISMATCH, EPROTO,
		"the kernel did not mount over %s: %.300s; %s%s", rdma ? "RDMA" : "TCP",
		m->mounted.super, err ? "still mounted: umount: " : "unmounted again",
		err ? diag_errno_text(-err) : "");
}

/* Another version may do where this one was not to be had. */
static bool is_of_version(const struct diag *why, const struct mounting *g)
{
	return why->err == EPROTONOSUPPORT || why->err == EOPNOTSUPP ||
	       (why->err && g->no_mountd.err && !strcmp(why->text, g->no_mountd.text));
}

/* What the server says to a mount that failed: its own reason, or which other versions it may have.
 */
static int ask_afterwards(struct mounting *g, unsigned *versions, struct diag *diag)
{
	struct diag why = { 0 };
	int err;

	if (!g->ahead || (!g->asked && g->until && loop_clock() >= g->until))
		return 0;
	g->ahead = false;
	err = ask(g, true, versions, &why);
	if (err)
		*diag = why;
	return err;
}

static int mount_highest(struct mounting *g, bool rdma, unsigned versions, struct diag *diag)
{
	char all[sizeof(diag->text)] = "";
	size_t used = 0;
	int err = 0, asked;

	for (unsigned version = NFS_V42; version; version >>= 1) {
		if (!(versions & version))
			continue;
		err = mount_one(g, rdma, version, diag);
		asked = err ? ask_afterwards(g, &versions, diag) : 0;
		if (asked)
			return asked;
		if (err && !(versions & version))
			continue;
		if (!err || !is_of_version(diag, g))
			return err;
		if (used < sizeof(all))
			used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s: %.200s",
				used ? "; " : "", nfs_version_word(version), diag->text);
	}
	return versions & (versions - 1) ? diag_set(diag, (enum diag_code)diag->code, diag->err,
						   "no version could be mounted: %s", all)
					 : err;
}

static int by(struct mounting *g, bool rdma, struct diag *diag)
{
	unsigned versions = nfs_wanted(&g->m->options);
	int err;

	addr_set_port(&g->m->server, !rdma                ? NFS_TCP_PORT
				     : g->m->options.port ? g->m->options.port
							  : NFS_RDMA_PORT);
	g->asked = false;
	g->no_answer = (struct diag){ 0 };
	err = ready(g, rdma, diag);
	g->ahead = rdma && !g->m->dry_run && !g->unasked;
	if (!err && !g->ahead)
		err = ask(g, rdma, &versions, diag);
	return err ? err : mount_highest(g, rdma, versions, diag);
}

/* Failures that may be caused by RDMA rather than by the request. */
static bool may_fall_back(const struct diag *why)
{
	switch ((enum diag_code)why->code) {
	case DIAG_REFUSED:
	case DIAG_UNREACHABLE:
	case DIAG_TIMEOUT:
	case DIAG_NO_DEVICE:
	case DIAG_NO_MODULE:
	case DIAG_UNSUPPORTED:
	case DIAG_PROTOCOL:
	case DIAG_IO:
	case DIAG_CLOSED:
		return true;
	default:
		return false;
	}
}

static int attempt(struct mounting *g, struct diag *diag)
{
	struct nfs_mount *m = g->m;
	uint64_t whole = g->until, now = loop_clock();
	struct diag why = { 0 }, tcp = { 0 };
	int err;

	g->no_mountd = (struct diag){ 0 };
	g->mountport = 0;
	if (m->fallback_tcp && whole > now)
		g->until = now + (whole - now) / 2;
	err = by(g, true, &why);
	g->until = whole;
	if (!err || !m->fallback_tcp || !may_fall_back(&why)) {
		if (err)
			*diag = why;
		return err;
	}
	err = by(g, false, &tcp);
	if (!err)
		m->fell_back = why;
	else if (strcmp(tcp.text, why.text))
		diag_set(diag, tcp.code, tcp.err, "RDMA: %.220s; TCP: %.220s", why.text, tcp.text);
	else
		*diag = why;
	return err;
}

static bool may_come(const struct diag *why)
{
	return why->code == DIAG_REFUSED || why->code == DIAG_UNREACHABLE ||
	       why->code == DIAG_TIMEOUT || why->code == DIAG_NO_DEVICE;
}

static int remount(struct mounting *g, struct diag *diag)
{
	struct nfs_mount *m = g->m;
	int err;

	if (kernel_mounted(g->root, m->dir, &m->mounted) || !nfs_mounted_version(&m->mounted))
		return diag_set(
			diag, DIAG_NOT_FOUND, ENOENT, "remount: no NFS mount on %s", m->dir);
	snprintf(m->data, sizeof(m->data), "%s", m->options.pass);
	err = m->dry_run ? 0 : ask_kernel(g, m->data, m->options.flags | MS_REMOUNT, diag);
	if (err)
		return err;
	kernel_mounted(g->root, m->dir, &m->mounted);
	m->version = nfs_mounted_version(&m->mounted);
	m->rdma = nfs_mounted_rdma(&m->mounted);
	return 0;
}

static int run(struct mounting *g, struct diag *diag)
{
	struct nfs_mount *m = g->m;
	uint64_t retry = m->options.retry_min > 0
				 ? loop_clock() + (uint64_t)m->options.retry_min * MINUTE_MS * MSEC
				 : 0;
	const char *host = m->options.addr[0] ? m->options.addr : m->source.host;
	int err = addr_resolve(&m->server, host, NFS_RDMA_PORT, left_ms(g, ASK_MS), diag),
	    never = 0;
	char told[sizeof(diag->text)] = "";

	if (err)
		return err;
	if (m->options.remount)
		return remount(g, diag);
	err = nfs_look_before(g, diag);
	if (err)
		return err < 0 ? err : 0;
	if (!m->dry_run && (geteuid() || !prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0)))
		return diag_set(
			diag, DIAG_PERMISSION, EPERM, "mounting requires root with CAP_SYS_ADMIN");
	for (;;) {
		uint64_t pause = loop_clock() + PAUSE_MS * MSEC;

		err = attempt(g, diag);
		if (!err || !may_come(diag) || pause >= retry || (g->until && pause >= g->until))
			return err;
		if (strcmp(told, diag->text))
			note(g, "%s; retrying for up to %d min", diag->text, m->options.retry_min);
		snprintf(told, sizeof(told), "%s", diag->text);
		loop_wait(g->loop, &never, pause);
	}
}

int nfs_mount(struct loop *loop, struct nfs_mount *m, struct diag *diag)
{
	struct mounting g = { .m = m, .loop = loop, .root = kernel_root() };
	struct diag why = { 0 };
	int err;

	if (g.root < 0)
		return diag_sys(diag, errno, "open /");
	if (m->timeout_ms)
		g.until = loop_clock() +
			  (m->timeout_ms +
				  (m->options.retry_min > 0
						  ? (uint64_t)m->options.retry_min * MINUTE_MS
						  : 0)) *
				  MSEC;
	err = run(&g, &why);
	close(g.root);
	if (!err)
		return 0;
	*diag = why;
	return diag_ctx(diag, "%s", m->source.name);
}
