/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NFS row: check what is on the directory, then for each transport load modules, probe the
 * server and try each version with mount(2), then check the result. The same mount on the directory
 * is success; over another one only --force mounts. */
#include "kernel_rdma.h"
#include "nfs_steps.h"
#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASK_MS         10000 /* for the server to answer, without a deadline */
#define STATD_MS       500
#define MINUTE_MS      60000
#define PROBE_DELAY_MS 500  /* of mount(2), before the server is probed */
#define PAUSE_MS       2000 /* between attempts of retry= */
#define PATH_MS        5000 /* to resolve the path of the directory */

#define TCP_HINT      "to mount over TCP if RDMA fails: --fallback tcp"
#define LISTENER_HINT "on a Linux server: echo rdma 20049 >/proc/fs/nfsd/portlist; " TCP_HINT
#define DEVICE_HINT   HINT_RDMA_DEVICE "; " TCP_HINT

static void note(const struct nfs_mount *m, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void note(const struct nfs_mount *m, const char *fmt, ...)
{
	char text[900];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (m->note)
		m->note(m->arg, text);
}

uint64_t nfs_limit(const struct nfs_mount *m, uint32_t most_ms)
{
	uint64_t now = loop_clock(), end = now + most_ms * MSEC;

	if (!m->until || m->until > end)
		return end;
	return m->until > now + MSEC ? m->until : now + MSEC;
}

/* --- What is mounted on the directory */

static unsigned version_flag(unsigned major, unsigned minor)
{
	return major == 3 ? NFS_V3 : NFS_V40 << minor;
}

unsigned nfs_requested_versions(const struct nfs_options *o)
{
	if (!o->major)
		return NFS_ALL;
	if (o->major == 4 && o->minor < 0)
		return NFS_ALL & ~NFS_V3;
	return version_flag(o->major, o->minor < 0 ? 0 : (unsigned)o->minor);
}

static bool is_directory(const char *dir)
{
	struct stat st;

	return !stat(dir, &st) && S_ISDIR(st.st_mode);
}

static unsigned mounted_version(const struct kernel_mounted *there)
{
	char value[16];

	if (strncmp(there->type, "nfs", 3) ||
		!kernel_mount_option(there->super, "vers", value, sizeof(value)))
		return 0;
	if (!strcmp(value, "3"))
		return NFS_V3;
	return value[0] == '4' && value[1] == '.' && value[2] >= '0' && value[2] <= '2'
		       ? NFS_V40 << (value[2] - '0')
		       : 0;
}

static bool mounted_rdma(const struct kernel_mounted *there)
{
	char proto[16];

	return kernel_mount_option(there->super, "proto", proto, sizeof(proto)) &&
	       !strncmp(proto, "rdma", 4);
}

/* Compare the name, or address and path, as a host may have several names. */
static bool same_source(const struct nfs_mount *m, const struct kernel_mounted *there)
{
	const char *path = strstr(there->source, ":/");
	char host[ADDR_TEXT], addr[ADDR_TEXT];

	if (!strcmp(there->source, m->source.name))
		return true;
	return path && !strcmp(path + 1, m->source.path) &&
	       kernel_mount_option(there->super, "addr", addr, sizeof(addr)) &&
	       !strcmp(addr, addr_host(&m->server, host));
}

/* The kernel lists the port only if it is not TCP's. */
static void set_port(struct nfs_mount *m)
{
	char port[8];
	bool listed = kernel_mount_option(m->mounted.super, "port", port, sizeof(port));

	addr_set_port(&m->server, listed ? (uint16_t)strtoul(port, NULL, 10) : NFS_TCP_PORT);
}

int nfs_check_mounted(struct nfs_mount *m)
{
	struct diag *diag = &m->attach.why;
	unsigned version;

	/* stat() on a mount whose server is dead may block forever; systemd mounts over its own
	 * automount */
	if (kernel_mounted(m->attach.root, m->dir, &m->mounted)) {
		if (is_directory(m->dir))
			return 0;
		diag_set(diag, DIAG_NOT_FOUND, ENOTDIR, "mount point: not a directory");
		return diag_ctx(diag, "%s", m->dir);
	}
	if (!strcmp(m->mounted.type, "autofs"))
		return 0;
	version = mounted_version(&m->mounted);
	if (version && same_source(m, &m->mounted) &&
		(mounted_rdma(&m->mounted) || m->fallback_tcp) &&
		version & nfs_requested_versions(&m->options)) {
		m->existed = true;
		set_port(m);
		m->version = version;
		m->rdma = mounted_rdma(&m->mounted);
		return 1;
	}
	if (m->force)
		return 0;
	if (version && same_source(m, &m->mounted))
		diag_set(diag, DIAG_BUSY, EBUSY, "%s is already mounted here as NFS %s over %s",
			m->source.name, nfs_version_name(version),
			mounted_rdma(&m->mounted) ? "RDMA" : "TCP");
	else
		diag_set(diag, DIAG_BUSY, EBUSY, "in use: %.300s (%s) is mounted here",
			m->mounted.source, m->mounted.type);
	diag_ctx(diag, "%s", m->dir);
	return diag_hint(diag, "umount %s, or mount over it: --force", m->dir);
}

/* --- End of an attempt, of a transport */

static void start_attempt(struct nfs_mount *);
static void try_transport(struct nfs_mount *, bool rdma);

static void end_step(struct nfs_mount *m)
{
	attach_step(&m->attach, -m->attach.why.err);
}

static bool is_retryable(const struct diag *why)
{
	return why->code == DIAG_REFUSED || why->code == DIAG_UNREACHABLE ||
	       why->code == DIAG_TIMEOUT || why->code == DIAG_NO_DEVICE;
}

static void retry_now(struct loop_timer *timer)
{
	start_attempt(container_of(timer, struct nfs_mount, timer));
}

static void end_attempt(struct nfs_mount *m)
{
	if (!m->attach.why.err || !is_retryable(&m->attach.why) || m->pause >= m->retry ||
		(m->mount_deadline && m->pause >= m->mount_deadline)) {
		end_step(m);
		return;
	}
	if (strcmp(m->last_note, m->attach.why.text))
		note(m, "%s; retrying for up to %d min", m->attach.why.text, m->options.retry_min);
	snprintf(m->last_note, sizeof(m->last_note), "%s", m->attach.why.text);
	m->timer.fire = retry_now;
	loop_timer_set(m->attach.loop, &m->timer, m->pause);
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

static void end_transport(struct nfs_mount *m)
{
	struct diag tcp = m->attach.why, *rdma = &m->rdma_why;
	char port[16];

	m->until = m->mount_deadline;
	if (m->rdma && m->attach.why.err && m->fallback_tcp && may_fall_back(&m->attach.why)) {
		*rdma = m->attach.why;
		try_transport(m, false);
		return;
	}
	if (!m->rdma && !tcp.err)
		m->fallback_why = *rdma;
	else if (!m->rdma && !strcmp(tcp.text, rdma->text))
		m->attach.why = *rdma;
	else if (!m->rdma) {
		diag_set(&m->attach.why, (enum diag_code)tcp.code, tcp.err, "%s", "");
		snprintf(port, sizeof(port), "TCP port %u", NFS_TCP_PORT);
		diag_both(&m->attach.why, "RDMA", rdma->text, port, tcp.text);
	}
	end_attempt(m);
}

/* --- The probe: which versions the server supports */

/* Get the versions to try. Without an answer: -errno, except in a dry run. */
static int check_versions(struct nfs_mount *m, unsigned *versions, struct diag *diag)
{
	const struct nfs_server_info *answer = &m->probe.versions;
	char has[32], requested[32];
	int err;

	*versions = nfs_requested_versions(&m->options);
	if (m->rdma && m->no_probe)
		return 0;
	*diag = m->probe.why;
	err = -diag->err;
	if (err && m->dry_run) {
		note(m, "server not probed: %s", diag->text);
		*diag = (struct diag){ 0 };
		return 0;
	}
	if (err && m->rdma && !diag->hint[0])
		diag_hint(diag, diag->code == DIAG_REFUSED ? LISTENER_HINT : TCP_HINT);
	if (err)
		return err;
	memcpy(m->probe_transport, answer->route, sizeof(m->probe_transport));
	if (!(*versions & answer->versions))
		return diag_set(diag, DIAG_UNSUPPORTED, EPROTONOSUPPORT,
			"the server does not support NFS %s over %s, only %s",
			nfs_versions_text(*versions, requested), m->rdma ? "RDMA" : "TCP",
			nfs_versions_text(answer->versions, has));
	/* versions below the highest were not probed: they are tried if the kernel lacks the
	 * highest */
	*versions &= answer->versions | (answer->versions - 1);
	return 0;
}

static void probe_done(struct nfs_query *q)
{
	struct nfs_mount *m = container_of(q, struct nfs_mount, probe);

	m->server = q->server; /* the address that answered, or all of them */
	m->probing = false;
	m->probed = true;
	m->on_probe(m);
}

/* Probe each transport once. The callback of the last caller is called. */
static void probe_server(struct nfs_mount *m, void (*on_probe)(struct nfs_mount *))
{
	m->on_probe = on_probe;
	if (m->probing)
		return;
	if (m->probed || (m->rdma && m->no_probe)) {
		on_probe(m);
		return;
	}
	m->probing = true;
	m->probe = (struct nfs_query){ .loop = m->attach.loop,
		.server = m->server,
		.until = nfs_limit(m, ASK_MS),
		.done = probe_done };
	nfs_query_versions(&m->probe, m->rdma, nfs_requested_versions(&m->options));
}

/* --- One version after the other */

static void start_version(struct nfs_mount *);

static void next_version(struct nfs_mount *m)
{
	unsigned version = m->version ? m->version >> 1 : NFS_V42;

	while (version && !(m->versions & version))
		version >>= 1;
	if (version) {
		m->version = version;
		start_version(m);
		return;
	}
	if (m->versions & (m->versions - 1))
		diag_set(&m->attach.why, (enum diag_code)m->attach.why.code, m->attach.why.err,
			"no version could be mounted: %s", m->tried_versions);
	end_transport(m);
}

/* Try the next version if this one is not supported. */
static void try_next_version(struct nfs_mount *m)
{
	const struct diag *why = &m->attach.why;
	size_t used = strlen(m->tried_versions);

	if (why->err != EPROTONOSUPPORT && why->err != EOPNOTSUPP &&
		(!m->mountd_why.err || strcmp(why->text, m->mountd_why.text))) {
		end_transport(m);
		return;
	}
	snprintf(m->tried_versions + used, sizeof(m->tried_versions) - used, "%s%s: %.200s",
		used ? "; " : "", nfs_version_name(m->version), why->text);
	next_version(m);
}

static void probed_after_failure(struct nfs_mount *m)
{
	struct diag why = { 0 };

	if (check_versions(m, &m->versions, &why)) {
		m->attach.why = why;
		end_transport(m);
	} else if (!(m->versions & m->version)) {
		next_version(m);
	} else {
		try_next_version(m);
	}
}

/* After a failed mount(2), ask the server for its reason or its versions, unless it was probed
 * before. */
static void fail_version(struct nfs_mount *m)
{
	bool mount_first = m->mount_first;

	m->mount_first = false;
	if (mount_first && (m->probed || m->probing || !m->until || loop_clock() < m->until))
		probe_server(m, probed_after_failure);
	else
		try_next_version(m);
}

/* --- mount(2) */

static void explained(struct nfs_mount *m)
{
	char *rest = m->lines, *line;

	while (loop_options(m->attach.loop)->verbose && (line = strsep(&rest, "\n")))
		if (*line)
			note(m, "kernel: %s", line);
	if (m->options.remount)
		end_step(m);
	else
		fail_version(m);
}

/* Lines of the NFS client. The server may run on this machine too. */
static bool is_ours(const char *line)
{
	return !strstr(line, "nfsd") && !strstr(line, "NFSD") &&
	       (strstr(line, "nfs") || strstr(line, "NFS") || strstr(line, "RPC") ||
		       strstr(line, "rpcrdma") || strstr(line, "lockd") || strstr(line, "statd"));
}

static void mount_done(struct mount_call *call)
{
	struct nfs_mount *m = container_of(call, struct nfs_mount, call);
	char text[DIAG_SECONDS];

	loop_timer_del(m->attach.loop, &m->timer);
	kernel_log_since(&m->log, is_ours, m->lines, sizeof(m->lines));
	if (!call->err && m->probing) {
		nfs_query_cancel(&m->probe);
		m->probing = false;
	}
	if (!call->err && m->options.remount) {
		end_step(m);
	} else if (!call->err) {
		m->attach.made = true;
		end_transport(m);
	} else if (call->err == -ECANCELED) {
		fail_version(m);
	} else if (call->err == -ETIMEDOUT) {
		diag_set(&m->attach.why, DIAG_TIMEOUT, ETIMEDOUT,
			"mount(2) timed out after %s: no answer from the server",
			diag_seconds((loop_clock() - m->since) / 1000000, text));
		explained(m);
	} else {
		m->on_explained = explained;
		nfs_explain(m, -call->err);
	}
}

/* mount(2) is slow: stop it if the server does not support the version or transport. */
static void recheck_mount(struct nfs_mount *m)
{
	struct diag why = { 0 };
	unsigned versions;

	if (check_versions(m, &versions, &why) || !(versions & m->version))
		mount_call_stop(&m->call);
}

static void probe_slow_mount(struct loop_timer *timer)
{
	probe_server(container_of(timer, struct nfs_mount, timer), recheck_mount);
}

static void call_mount(struct nfs_mount *m, unsigned long flags)
{
	int err;

	m->call = (struct mount_call){ .ask = { .source = m->source.name,
					       .dir = m->dir,
					       .type = "nfs",
					       .data = m->data,
					       .flags = flags },
		.done = mount_done };
	m->since = loop_clock();
	kernel_log_mark(m->attach.root, &m->log);
	err = mount_call_start(&m->call, m->attach.loop, m->attach.root, m->until);
	if (err) {
		m->call.err = err;
		mount_done(&m->call);
	} else if (m->mount_first) {
		m->timer.fire = probe_slow_mount;
		loop_timer_set(m->attach.loop, &m->timer, m->since + PROBE_DELAY_MS * MSEC);
	}
}

/* --- What a version needs */

static void write_data(struct nfs_mount *m, bool nolock)
{
	struct nfs_numbers n = { .rdma = m->rdma,
		.major = m->version == NFS_V3 ? 3 : 4,
		.server = m->server,
		.mountport = m->options.mountport ? m->options.mountport : m->mountport,
		.nolock = nolock };
	int err = 0;

	for (unsigned v = NFS_V40; n.major == 4 && v < m->version; v <<= 1)
		n.minor++;
	if (n.major == 4 && !m->options.clientaddr)
		err = kernel_source_addr(&m->server, n.client, &m->attach.why);
	if (!err)
		err = kernel_nfs_options_write(&m->options, &n, m->data, &m->attach.why);
	if (err)
		fail_version(m);
	else if (m->dry_run)
		end_transport(m);
	else
		call_mount(m, m->options.flags);
}

static void statd_done(struct nfs_query *q)
{
	struct nfs_mount *m = container_of(q, struct nfs_mount, query);

	if (!q->why.err || m->options.lock != NFS_LOCK_ON) {
		write_data(m, q->why.err);
		return;
	}
	diag_set(&m->attach.why, DIAG_NOT_FOUND, ENOENT,
		"option lock: NFSv3 locks need rpc.statd, which does not answer on this machine");
	diag_hint(&m->attach.why, "for locks on this machine only: -o nolock");
	fail_version(m);
}

static void probe_statd(struct nfs_mount *m)
{
	const struct nfs_options *o = &m->options;
	bool mountd_why = !o->mountport && m->mountd_why.err;

	if (mountd_why && !m->dry_run) {
		m->attach.why = m->mountd_why;
		fail_version(m);
		return;
	}
	if (mountd_why) {
		m->mountport = NFS_MOUNT_PORT;
		note(m, "assuming mountd at port %u: %s", m->mountport, m->mountd_why.text);
	}
	if (o->lock == NFS_LOCK_LOCAL || m->dry_run) {
		write_data(m, o->lock == NFS_LOCK_UNSET);
		return;
	}
	m->query = (struct nfs_query){
		.loop = m->attach.loop, .until = nfs_limit(m, STATD_MS), .done = statd_done
	};
	nfs_query_statd(&m->query);
}

static void mountd_done(struct nfs_query *q)
{
	struct nfs_mount *m = container_of(q, struct nfs_mount, query);

	m->mountport = q->why.err ? 0 : q->port;
	m->mountd_why = q->why;
	probe_statd(m);
}

static void start_version(struct nfs_mount *m)
{
	m->attach.why = (struct diag){ 0 };
	if (m->version != NFS_V3) {
		write_data(m, false);
	} else if (m->options.mountport || m->mountport || m->mountd_why.err) {
		probe_statd(m);
	} else {
		m->query = (struct nfs_query){ .loop = m->attach.loop,
			.server = m->server,
			.until = nfs_limit(m, ASK_MS),
			.done = mountd_done };
		nfs_query_mountd(&m->query);
	}
}

/* --- One transport: modules, the probe, the versions */

static void start_versions(struct nfs_mount *m)
{
	struct diag why = { 0 };

	if (check_versions(m, &m->versions, &why)) {
		m->attach.why = why;
		end_transport(m);
		return;
	}
	next_version(m);
}

/* The kernel mounts from one address: of several, the probe chooses it. */
static void start_probe(struct nfs_mount *m)
{
	m->mount_first = m->rdma && !m->dry_run && !m->no_probe && !m->server.others;
	if (m->mount_first) {
		m->versions = nfs_requested_versions(&m->options);
		next_version(m);
	} else {
		probe_server(m, start_versions);
	}
}

static int load_modules(int root, const void *arg, void *out)
{
	const struct nfs_mount *m = arg;
	struct nfs_ready *ready = out;
	uint8_t major = m->options.major;

	if (kernel_nfs_ready(root, false, major, &ready->why))
		return ready->why.err;
	if (m->rdma && kernel_nfs_ready(root, true, major, &ready->why))
		diag_hint(&ready->why, TCP_HINT);
	else if (m->rdma)
		kernel_rdma_ready(root, &ready->no_device);
	return ready->why.err;
}

static void is_ready(struct attach *attach, int err)
{
	struct nfs_mount *m = container_of(attach, struct nfs_mount, attach);
	struct nfs_ready *ready = &m->ready;

	if (!err && ready->no_device.err == ENODEV) {
		attach->why = ready->no_device;
		diag_hint(&attach->why, DEVICE_HINT);
	}
	if (attach->why.err) {
		end_transport(m);
		return;
	}
	m->no_probe = ready->no_device.err;
	if (m->no_probe)
		note(m, "can't probe the server over RDMA: %s", ready->no_device.text);
	start_probe(m);
}

static void try_transport(struct nfs_mount *m, bool rdma)
{
	struct attach *attach = &m->attach;

	addr_set_port(&m->server, !rdma             ? NFS_TCP_PORT
				  : m->options.port ? m->options.port
						    : NFS_RDMA_PORT);
	m->attach.why = (struct diag){ 0 };
	m->rdma = rdma;
	m->probed = false;
	m->version = 0;
	m->tried_versions[0] = 0;
	if (m->dry_run) {
		start_probe(m);
		return;
	}
	m->ready = (struct nfs_ready){ 0 };
	attach_load(attach,
		&(struct child_call){ .fn = load_modules,
			.arg = m,
			.out = &m->ready,
			.out_len = sizeof(m->ready),
			.until = m->until,
			.grace_ms = 100 },
		kernel_nfs_loaded(attach->root, rdma, m->options.major) &&
			(!rdma || kernel_rdma_loaded(attach->root)),
		is_ready);
}

static void start_attempt(struct nfs_mount *m)
{
	uint64_t now = loop_clock();

	m->pause = now + PAUSE_MS * MSEC;
	m->server = m->resolve.addr;
	m->mountd_why = (struct diag){ 0 };
	m->mountport = 0;
	m->until = m->mount_deadline;
	if (m->fallback_tcp && m->mount_deadline > now)
		m->until = now + (m->mount_deadline - now) / 2;
	try_transport(m, true);
}

static void remount(struct nfs_mount *m)
{
	if (kernel_mounted(m->attach.root, m->dir, &m->mounted) || !mounted_version(&m->mounted)) {
		diag_set(&m->attach.why, DIAG_NOT_FOUND, ENOENT, "remount: no NFS mount on %s",
			m->dir);
		end_step(m);
		return;
	}
	snprintf(m->data, sizeof(m->data), "%s", m->options.pass);
	if (m->dry_run)
		end_step(m);
	else
		call_mount(m, m->options.flags | MS_REMOUNT);
}

/* --- The row */

static void resolved(struct resolve *r)
{
	struct nfs_mount *m = container_of(r, struct nfs_mount, resolve);
	int err;

	m->server = r->addr;
	m->attach.why = r->why;
	err = r->why.err || m->options.remount ? 1 : nfs_check_mounted(m);
	if (!err && !m->dry_run && (geteuid() || !prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0)))
		diag_set(&m->attach.why, DIAG_PERMISSION, EPERM,
			"mounting requires root with CAP_SYS_ADMIN");
	end_step(m);
}

static int find_dir(int root, const void *typed, void *dir)
{
	return -kernel_mount_find(root, typed, dir);
}

static void found_dir(struct child_call *child)
{
	struct nfs_mount *m = container_of(child, struct nfs_mount, child);
	const char *host = m->options.addr[0] ? m->options.addr : m->source.host;
	struct diag *why = &m->attach.why;
	int err = child->err;

	m->resolve.done = resolved;
	if (!err && !resolve_start(&m->resolve, m->attach.loop, host, NFS_RDMA_PORT,
			    (uint32_t)((nfs_limit(m, ASK_MS) - loop_clock()) / MSEC), why))
		return;
	if (err)
		m->dir[0] = 0;
	if (err == -ETIMEDOUT)
		diag_set(why, DIAG_TIMEOUT, ETIMEDOUT,
			"mount point: timed out: the path leads through a mount whose server does "
			"not answer");
	else if (err)
		diag_set(why, DIAG_NOT_FOUND, -err, "mount point: %s",
			err == -ENOENT ? "no such directory" : diag_errno_text(-err));
	if (err)
		diag_ctx(why, "%s", *m->typed ? m->typed : "''");
	end_step(m);
}

/* Find the directory and the address of the server, and check what is mounted. The modules depend
 * on the transport: connect loads them. */
static void ready(struct attach *attach)
{
	struct nfs_mount *m = container_of(attach, struct nfs_mount, attach);
	int err;

	m->until = attach->until;
	m->child = (struct child_call){ .fn = find_dir,
		.arg = m->typed,
		.out = m->dir,
		.out_len = sizeof(m->dir),
		.until = loop_clock() + PATH_MS * MSEC,
		.done = found_dir };
	err = child_call_start(&m->child, attach->loop, &attach->root, 1);
	if (err)
		attach_step(attach, err);
}

static void start_mount(struct attach *attach)
{
	struct nfs_mount *m = container_of(attach, struct nfs_mount, attach);
	uint64_t retry = m->options.retry_min > 0 ? (uint64_t)m->options.retry_min * MINUTE_MS : 0;

	if (strlen(m->dir) < sizeof(attach->what))
		strcpy(attach->what, m->dir);
	m->mount_deadline = attach->until;
	m->retry = retry ? loop_clock() + retry * MSEC : 0;
	if (m->options.remount)
		remount(m);
	else if (m->existed)
		end_step(m);
	else
		start_attempt(m);
}

/* Check the transport: the kernel may have fallen back to another one. */
static int check_mount(struct attach *attach)
{
	struct nfs_mount *m = container_of(attach, struct nfs_mount, attach);

	if (m->dry_run || m->existed)
		return 1;
	if (kernel_mounted(attach->root, m->dir, &m->mounted))
		return diag_set(&attach->why, DIAG_MISMATCH, EIO,
			"mount(2) succeeded, but %s is missing from /proc/self/mountinfo", m->dir);
	if (m->options.remount) {
		m->version = mounted_version(&m->mounted);
		m->rdma = mounted_rdma(&m->mounted);
		return 1;
	}
	if (mounted_rdma(&m->mounted) == m->rdma &&
		(!m->rdma || !m->mounted.transport[0] || !strncmp(m->mounted.transport, "rdma", 4)))
		return 1;
	return diag_set(&attach->why, DIAG_MISMATCH, EPROTO,
		"the kernel did not mount over %s: %.300s", m->rdma ? "RDMA" : "TCP",
		m->mounted.super);
}

static int unmount(int root, const void *dir, void *out)
{
	(void)root;
	(void)out;
	return umount2(dir, UMOUNT_NOFOLLOW) ? errno : 0;
}

static void unmounted(struct child_call *child)
{
	struct nfs_mount *m = container_of(child, struct nfs_mount, child);

	if (child->err)
		note(m, "%s is still mounted: umount: %s", m->dir, diag_errno_text(-child->err));
	attach_step(&m->attach, child->err);
}

static void undo(struct attach *attach)
{
	struct nfs_mount *m = container_of(attach, struct nfs_mount, attach);

	m->child = (struct child_call){ .fn = unmount,
		.arg = m->dir,
		.until = attach->until,
		.detached = true,
		.done = unmounted };
	m->child.err = child_call_start(&m->child, attach->loop, &attach->root, 1);
	if (m->child.err)
		unmounted(&m->child);
}

/* Stop mount(2). Its child undoes a mount that completes later; undo() one that has completed. */
static void stop(struct attach *attach)
{
	struct nfs_mount *m = container_of(attach, struct nfs_mount, attach);
	bool mounting = m->call.child.pid;

	resolve_cancel(&m->resolve);
	loop_timer_del(attach->loop, &m->timer);
	child_call_cancel(&m->child);
	child_call_cancel(&m->call.child);
	if (mounting && !m->options.remount)
		attach->made = !m->call.child.err;
	nfs_query_cancel(&m->probe);
	nfs_query_cancel(&m->query);
	kernel_log_since(&m->log, is_ours, m->lines, sizeof(m->lines));
	m->probing = false;
}

const struct attach_proto nfs_attach = {
	.ready = ready, .connect = start_mount, .poll = check_mount, .undo = undo, .stop = stop
};
