/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NBD server on core/target: exports as disks, clients and their admission, start and stop. */
#include "srv.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct nbd_server *server_of(struct target *target)
{
	return container_of(target, struct nbd_server, target);
}

const struct addr *nbd_server_addr(const struct nbd_server *server, unsigned listen)
{
	return &server->target.listen[listen].bound;
}

void nbd_server_get_status(const struct nbd_server *server, struct target_status *status)
{
	target_get_status(&server->target, status);
}

void nbd_server_each_client(const struct nbd_server *server, nbd_each_client *each, void *arg)
{
	for (const struct target_conn *conn = server->target.conns; conn; conn = conn->peer_next) {
		const struct nbd_srv_conn *c = (const struct nbd_srv_conn *)conn;

		if (!c->admitted) /* its own thread may be setting the rest */
			continue;
		each(&(struct nbd_served_client){ .export = c->export,
			     .address = &conn->peer,
			     .pid = c->cred.pid,
			     .uid = c->cred.uid,
			     .cipher = c->cipher,
			     .psk = c->psk,
			     .identity = c->identity },
			arg);
	}
}

/* Every byte of a name and of a socket's path may be escaped by three. */
_Static_assert(sizeof("nbds+unix:///?socket=") +
			       3 * (NBD_NAME_MAX + sizeof(((struct sockaddr_un *)0)->sun_path)) <=
		       URI_MAX,
	"NBD URI");

const char *nbd_server_scheme(const struct nbd_server *server)
{
	return server->opt.tls ? "nbds" : "nbd";
}

void nbd_server_uri(
	const struct nbd_server *server, unsigned listen, unsigned export, char text[URI_MAX])
{
	const char *name = server->opt.export[export].name;
	const struct addr bare = addr_unscoped(nbd_server_addr(server, listen)), *addr = &bare;
	char host[ADDR_TEXT];

	if (addr->ss.ss_family == AF_UNIX) {
		snprintf(text, URI_MAX, "%s+unix:///", nbd_server_scheme(server));
		uri_encode(text, name);
		strcat(text, "?socket=");
		uri_encode(text, ((const struct sockaddr_un *)(const void *)&addr->ss)->sun_path);
		return;
	}
	/* for a server on all addresses print the loopback address */
	uri_start(text, nbd_server_scheme(server),
		addr_is_any(addr) ? "127.0.0.1" : addr_host(addr, host), addr_port(addr));
	uri_encode(text, "/");
	uri_encode(text, name);
}

static bool same_export(const struct target_fence *fence, const struct target_conn *conn)
{
	const struct nbd_srv_conn *c = container_of(fence, struct nbd_srv_conn, fence);

	return conn != &c->conn && ((const struct nbd_srv_conn *)conn)->export == c->export;
}

static void fenced(struct target_fence *fence)
{
	struct nbd_srv_conn *c = container_of(fence, struct nbd_srv_conn, fence);
	struct diag why = { 0 };

	c->fencing = false;
	target_conn_wake(&c->conn);
	if (c->conn.state != TARGET_OPENING)
		return;
	if (target_conn_map(&c->conn, (unsigned)(c->export - nbd_server_of(c)->opt.export), &why)) {
		target_conn_fail(&c->conn, why.code, why.err, why.text);
		return;
	}
	target_conn_live(&c->conn, c->conn.slots);
	c->ready = true;
}

static void refused(struct loop_msg *msg)
{
	struct nbd_srv_conn *c = container_of(msg, struct nbd_srv_conn, hop);

	c->fencing = false;
	target_conn_wake(&c->conn);
}

static void admit(struct loop_msg *msg)
{
	struct nbd_srv_conn *c = container_of(msg, struct nbd_srv_conn, hop);

	if (target_admit(&c->conn, c->host, true)) {
		c->admitted = true;
		target_fence(c->conn.target, &c->fence);
		return;
	}
	target_conn_kill(&c->conn, "this client has too many connections");
	msg->run = refused;
	loop_post(c->conn.loop, msg);
}

void nbd_srv_admit(struct nbd_srv_conn *c)
{
	c->fencing = true;
	c->fence =
		(struct target_fence){ .match = same_export, .done = fenced, .home = c->conn.loop };
	c->hop.run = admit;
	loop_post(c->conn.target->loop, &c->hop);
}

static bool busy(const struct target_conn *conn)
{
	return ((const struct nbd_srv_conn *)conn)->fencing;
}

/* The client did not authenticate. */
static void report_refused(const struct nbd_srv_conn *c)
{
	struct diag why = { 0 };

	diag_set(&why, DIAG_AUTH, EACCES, "%s: %s", c->conn.name,
		c->plain ? "refused, as it does not use TLS" : c->conn.why.text);
	target_admission_report_refusal(c->conn.target->admission, &why);
}

static void left(struct target_conn *conn)
{
	const struct nbd_srv_conn *c = (const struct nbd_srv_conn *)conn;

	if (c->owner)
		c->owner->closed(c->owner, c->goodbye);
	if (c->plain || (c->securing && conn->why.code == DIAG_AUTH))
		report_refused(c);
}

/* A client is identified by its address, or its user. */
static void client_name(struct nbd_srv_conn *c, const struct addr *peer)
{
	socklen_t len = sizeof(c->cred);
	char text[ADDR_TEXT];

	if (peer->ss.ss_family == AF_UNIX) {
		if (getsockopt(c->conn.fd, SOL_SOCKET, SO_PEERCRED, &c->cred, &len))
			c->cred.uid = (uid_t)-1;
		snprintf(c->host, sizeof(c->host), "user %u", c->cred.uid);
		snprintf(c->conn.name, sizeof(c->conn.name), "nbd client, process %d",
			(int)c->cred.pid);
		return;
	}
	snprintf(c->host, sizeof(c->host), "%.63s", addr_host(peer, text));
	snprintf(c->conn.name, sizeof(c->conn.name), "nbd client %s", addr_text(peer, text));
}

static void incoming(struct target *target, int fd, const struct addr *peer)
{
	struct nbd_server *server = server_of(target);
	struct nbd_srv_conn *c = target_make_room(target, peer) ? calloc(1, sizeof(*c)) : NULL;

	if (c)
		c->handshake = calloc(1, sizeof(*c->handshake));
	if (!c || !c->handshake) {
		free(c);
		close(fd);
		return;
	}
	c->conn.fd = fd;
	c->handshake->user = c;
	c->handshake->export = server->opt.export;
	c->handshake->exports = server->opt.exports;
	c->handshake->tls = server->opt.tls;
	nbd_srv_handshake_start(c->handshake);
	client_name(c, peer);
	target_conn_begin(target, &c->conn, &nbd_srv_carrier, peer);
}

int nbd_server_adopt(struct nbd_server *server, unsigned export, int fd, const char *peer,
	struct nbd_adopted *owner, struct diag *diag)
{
	const struct addr addr = { .ss.ss_family = AF_UNIX, .len = sizeof(sa_family_t) };
	struct nbd_srv_conn *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return diag_sys(diag, ENOMEM, "another connection");
	}
	c->conn.fd = fd;
	c->owner = owner;
	c->export = &server->opt.export[export];
	c->lim = &c->export->bdev->lim;
	snprintf(c->conn.name, sizeof(c->conn.name), "%s", peer);
	snprintf(c->host, sizeof(c->host), "kernel");
	target_conn_begin(&server->target, &c->conn, &nbd_srv_carrier, &addr);
	return 0;
}

uint16_t nbd_server_flags(const struct nbd_server *server, unsigned export)
{
	return nbd_srv_flags(&server->opt.export[export], false);
}

static void server_free(struct target *target)
{
	free(server_of(target));
}

static const struct target_proto row = {
	.name = "nbd",
	.handshake_name = "handshake",
	.connections = 64,
	.open_ms = 10000,
	.stall_ms = 30000,
	.announced = 16, /* connections that one client may open at once, beyond its first */
	.drain_ms = 1000,
	.drain_queued = true,
	.quota_per_conn = true,
	.stream = incoming,
	.decode = nbd_srv_decode,
	.work = nbd_srv_work,
	.complete = nbd_srv_complete,
	.status = nbd_srv_status,
	.busy = busy,
	.closed = left,
	.free = server_free,
};

static int check_options(const struct nbd_options *opt, struct diag *diag)
{
	for (unsigned i = 0; i < opt->exports; i++) {
		if (strlen(opt->export[i].name) > NBD_NAME_MAX ||
			(opt->export[i].description &&
				strlen(opt->export[i].description) > NBD_NAME_MAX))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"export name is too long: must be 0 to %d bytes", NBD_NAME_MAX);
		for (unsigned n = 0; n < i; n++)
			if (!strcmp(opt->export[i].name, opt->export[n].name))
				return diag_set(diag, DIAG_USAGE, EEXIST,
					"two exports are named '%s'", opt->export[i].name);
	}
	return 0;
}

/* Choose a multiple of every disk's block. "DF": 64 KiB must fit without a split. */
static uint32_t buffer_size(const struct nbd_options *opt)
{
	uint32_t block = 512, size = opt->buffer ? opt->buffer : 256 << 10;

	for (unsigned i = 0; i < opt->exports; i++)
		if (opt->export[i].bdev->lim.block > block)
			block = opt->export[i].bdev->lim.block;
	if (size < 65536 + 2 * block)
		size = 65536 + 2 * block;
	return (size + block - 1) & ~(block - 1);
}

static void target_options(struct target_options *to, const struct nbd_options *opt)
{
	unsigned buffers =
		(4 * opt->slots + 2) / 3; /* the frame leaves a quarter to other clients */

	*to = (struct target_options){ .disks = opt->exports,
		.listens = opt->listens,
		.loops = opt->loops,
		.nloops = opt->nloops,
		.buffer = buffer_size(opt),
		.buffers = buffers < UINT16_MAX ? buffers : UINT16_MAX,
		.connections = opt->listens ? opt->clients
					    : UINT16_MAX, /* adopted connections have no limit */
		.open_ms = opt->handshake_ms,
		.allows = opt->allows,
		.full = opt->full,
		.full_user = opt->user };
	for (unsigned i = 0; i < opt->exports; i++) {
		to->disk[i].bdev = opt->export[i].bdev;
		to->disk[i].ro = opt->export[i].ro;
	}
	for (unsigned i = 0; i < opt->listens; i++)
		to->listen[i] = (struct listen_addr){ .at = opt->listen[i],
			.transports = TRANSPORT_TCP,
			.mode = opt->mode,
			.freebind = true };
}

int nbd_server_start(struct nbd_server **out, struct loop *loop, const struct nbd_options *opt,
	struct diag *diag)
{
	struct target_options to;
	struct nbd_server *server;
	int err = check_options(opt, diag);

	if (err)
		return err;
	server = calloc(1, sizeof(*server));
	if (!server)
		return diag_sys(diag, ENOMEM, "nbd server");
	server->opt = *opt;
	server->opt.mode = opt->mode ? opt->mode : NBD_SOCKET_MODE;
	server->opt.slots = opt->slots ? opt->slots : 32;
	target_options(&to, &server->opt);
	err = target_start(&server->target, loop, &row, &to, 1, diag);
	if (!err)
		*out = server;
	return err;
}

int nbd_server_stop(struct nbd_server *server, uint32_t timeout_ms, struct diag *diag)
{
	return server ? target_stop(&server->target, timeout_ms, diag) : 0;
}
