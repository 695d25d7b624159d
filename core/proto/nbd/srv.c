/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NBD server: its workers and their lanes, accepting and handing out clients, and the orderly
 * stop. Everything here but the worker_ functions runs on the server's thread. */
#include "srv.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MSEC      1000000ull
#define POLITE_MS 1000 /* for clients to take answers that are ready */
#define CANCEL_MS 500  /* for the disk to give back what it held */

struct nbd_server {
	struct loop *loop;
	struct nbd_options opt;
	struct tcp_listener *listen[NBD_LISTENS];
	unsigned listens, clients; /* with handshake or adopted */
	unsigned adopted;
	struct nbd_srv_worker *worker;
	unsigned workers; /* with open lanes */
	volatile int idle;
};

const struct nbd_options *nbd_server_options(const struct nbd_server *server)
{
	return &server->opt;
}

struct loop *nbd_server_loop(const struct nbd_server *server)
{
	return server->loop;
}

const struct addr *nbd_server_addr(const struct nbd_server *server, unsigned listen)
{
	return tcp_listener_addr(server->listen[listen]);
}

unsigned nbd_server_clients(const struct nbd_server *server)
{
	return server->clients;
}

void nbd_server_count(const struct nbd_server *server, struct io_count *sum)
{
	*sum = (struct io_count){ 0 };
	for (unsigned i = 0; i < server->workers; i++) {
		const struct io_count *count = &server->worker[i].count;

		sum->reads += __atomic_load_n(&count->reads, __ATOMIC_RELAXED);
		sum->writes += __atomic_load_n(&count->writes, __ATOMIC_RELAXED);
		sum->read_bytes += __atomic_load_n(&count->read_bytes, __ATOMIC_RELAXED);
		sum->written_bytes += __atomic_load_n(&count->written_bytes, __ATOMIC_RELAXED);
		sum->errors += __atomic_load_n(&count->errors, __ATOMIC_RELAXED);
	}
}

/* Every byte of a name and of a socket's path may become three. */
_Static_assert(sizeof("nbd+unix:///?socket=") +
			       3 * (NBD_NAME_MAX + sizeof(((struct sockaddr_un *)0)->sun_path)) <=
		       URI_MAX,
	"NBD URI");

void nbd_server_uri(const struct nbd_server *server, unsigned listen, char text[URI_MAX])
{
	const struct addr *addr = nbd_server_addr(server, listen);
	char host[ADDR_TEXT];

	if (addr->ss.ss_family == AF_UNIX) {
		snprintf(text, URI_MAX, "nbd+unix:///");
		uri_encode(text, server->opt.export[0].name);
		strcat(text, "?socket=");
		uri_encode(text, ((const struct sockaddr_un *)(const void *)&addr->ss)->sun_path);
		return;
	}
	/* a server on all addresses is reached on this machine */
	if (addr_is_any(addr))
		snprintf(text, URI_MAX, "nbd://127.0.0.1:%u/", addr_port(addr));
	else
		snprintf(text, URI_MAX, "nbd://%s/", addr_text(addr, host));
	uri_encode(text, server->opt.export[0].name);
}

static void conn_begin(struct loop_msg *msg)
{
	struct nbd_srv_conn *c = container_of(msg, struct nbd_srv_conn, msg);

	nbd_srv_conn_start(c, c->worker);
}

struct nbd_srv_fence {
	struct loop_msg hop;
	struct nbd_srv_conn *conn; /* the new one */
	struct nbd_srv_worker *worker;
};

static void fence_back(struct loop_msg *msg)
{
	struct nbd_srv_conn *c = container_of(msg, struct nbd_srv_fence, hop)->conn;

	if (!--c->fences)
		nbd_srv_conn_wake(c);
}

static void fence_run(struct loop_msg *msg)
{
	struct nbd_srv_fence *fence = container_of(msg, struct nbd_srv_fence, hop);

	for (struct nbd_srv_conn *c = fence->worker->conns; c; c = c->next)
		if (c != fence->conn && c->export == fence->conn->export)
			nbd_srv_fence(c);
	msg->run = fence_back;
	loop_post(fence->conn->loop, msg);
}

bool nbd_server_fence(struct nbd_srv_conn *c)
{
	struct nbd_server *server = c->server;

	c->fence = calloc(server->workers, sizeof(*c->fence));
	if (!c->fence)
		return false;
	for (unsigned i = 0; i < server->workers; i++) {
		c->fence[i] = (struct nbd_srv_fence){
			.hop.run = fence_run, .conn = c, .worker = &server->worker[i]
		};
		c->fences++;
		loop_post(server->worker[i].loop, &c->fence[i].hop);
	}
	return true;
}

void nbd_srv_conn_over(struct nbd_srv_conn *c)
{
	struct nbd_server *server = c->server;
	struct nbd_adopted *owner = c->owner;
	bool goodbye = c->goodbye;

	c->worker->clients--;
	server->clients--;
	server->adopted -= c->adopted;
	server->idle = !server->clients;
	free(c);
	if (owner)
		owner->over(owner, goodbye);
}

static void peer_text(int fd, const struct addr *peer, char text[ADDR_TEXT])
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (peer->ss.ss_family == AF_UNIX && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		snprintf(text, ADDR_TEXT, "client with process id %d", (int)cred.pid);
	else
		addr_text(peer, text);
}

/* To the worker that has least to do, for life. */
static void give_away(struct nbd_server *server, struct nbd_srv_conn *c)
{
	struct nbd_srv_worker *best = &server->worker[0];

	for (unsigned i = 1; i < server->workers; i++)
		if (server->worker[i].clients < best->clients)
			best = &server->worker[i];
	best->clients++;
	server->clients++;
	server->idle = 0;
	c->worker = best;
	c->msg.run = conn_begin;
	loop_post(best->loop, &c->msg);
}

int nbd_server_adopt(struct nbd_server *server, unsigned export, int fd, const char *peer,
	struct nbd_adopted *owner, struct diag *diag)
{
	struct nbd_srv_conn *c;
	int err = nbd_srv_conn_adopt(&c, server, export, fd, peer, diag);

	if (err) {
		close(fd);
		return err;
	}
	c->owner = owner;
	server->adopted++;
	give_away(server, c);
	return 0;
}

uint16_t nbd_server_flags(const struct nbd_server *server, unsigned export)
{
	return nbd_srv_flags(&server->opt.export[export], false);
}

static void take_client(int fd, const struct addr *peer, void *user)
{
	struct nbd_server *server = user;
	bool allowed = nbd_srv_allowed(&server->opt, &peer->ss);
	char text[ADDR_TEXT];
	struct nbd_srv_conn *c;

	peer_text(fd, peer, text);
	if (!allowed || server->clients - server->adopted >= server->opt.clients ||
		nbd_srv_conn_new(&c, server, fd, peer, text, NULL)) {
		loop_trace(server->loop, "nbd: %s: refused: %s", text,
			allowed ? "too many clients" : "not in the allow list");
		close(fd);
		return;
	}
	give_away(server, c);
}

static void close_lanes(struct nbd_srv_worker *worker)
{
	for (unsigned i = 0; i < worker->server->opt.exports; i++)
		lane_close(worker->lane[i]);
}

struct job { /* of a worker, through loop_call() */
	struct nbd_srv_worker *worker;
	struct diag *diag;
	uint64_t deadline;
	bool kept; /* a disk still has a flush of ours */
};

static int worker_open(struct loop *loop, void *arg)
{
	struct job *job = arg;
	struct nbd_server *server = job->worker->server;

	for (unsigned i = 0; i < server->opt.exports; i++) {
		struct bdev *bdev = server->opt.export[i].bdev;
		int err = lane_open(&job->worker->lane[i], bdev, loop, job->diag);

		if (!err && job->worker == server->worker)
			err = nbd_srv_try(
				&server->opt, job->worker->lane[i], bdev->lim.block, job->diag);
		if (err) {
			close_lanes(job->worker);
			return err;
		}
	}
	return 0;
}

static int worker_close(struct loop *loop, void *arg)
{
	struct job *job = arg;

	(void)loop;
	close_lanes(job->worker);
	return 0;
}

static int worker_end(struct loop *loop, void *arg)
{
	struct job *job = arg;

	(void)loop;
	job->worker->ending = true;
	for (struct nbd_srv_conn *c = job->worker->conns; c; c = c->next)
		nbd_srv_conn_end(c);
	return 0;
}

static int worker_abort_idle(struct loop *loop, void *arg)
{
	struct job *job = arg;

	(void)loop;
	for (struct nbd_srv_conn *c = job->worker->conns; c; c = c->next)
		if (!c->flying)
			nbd_srv_conn_abort(
				c, "server is stopping, client does not read its replies");
	return 0;
}

static int worker_abort(struct loop *loop, void *arg)
{
	struct job *job = arg;

	(void)loop;
	for (struct nbd_srv_conn *c = job->worker->conns; c; c = c->next) {
		nbd_srv_conn_abort(c, "server is stopping, disk does not answer");
		c->cancelled = false; /* also what is held only since its client went */
		nbd_srv_conn_wake(c);
	}
	return 0;
}

static int worker_flush(struct loop *loop, void *arg)
{
	struct job *job = arg;
	struct nbd_server *server = job->worker->server;
	int result = 0;

	(void)loop;
	for (unsigned i = 0; i < server->opt.exports; i++) {
		const struct nbd_export *export = &server->opt.export[i];
		int err;

		if (!(nbd_srv_flags(export, false) & NBD_FLAG_SEND_FLUSH))
			continue;
		err = bdev_flush(job->worker->lane[i], job->deadline, result ? NULL : job->diag);
		job->kept |= err == -EINPROGRESS;
		result = result ? result : err;
	}
	return result;
}

static void each_worker(struct nbd_server *server, int (*fn)(struct loop *, void *))
{
	for (unsigned i = 0; i < server->workers; i++) {
		struct job job = { .worker = &server->worker[i] };

		loop_call(server->loop, job.worker->loop, fn, &job);
	}
}

static void stop_listening(struct nbd_server *server)
{
	while (server->listens)
		tcp_listener_free(server->listen[--server->listens]);
}

static void server_free(struct nbd_server *server)
{
	stop_listening(server);
	each_worker(server, worker_close);
	free(server->worker);
	free(server);
}

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

static int start_workers(struct nbd_server *server, struct diag *diag)
{
	server->worker = calloc(server->opt.nloops, sizeof(*server->worker));
	if (!server->worker)
		return diag_sys(diag, ENOMEM, "%u workers", server->opt.nloops);
	for (; server->workers < server->opt.nloops; server->workers++) {
		struct nbd_srv_worker *worker = &server->worker[server->workers];
		struct job job = { .worker = worker, .diag = diag };
		int err;

		worker->server = server;
		worker->loop = server->opt.loops[server->workers];
		err = loop_call(server->loop, worker->loop, worker_open, &job);
		if (err)
			return err;
	}
	return 0;
}

static int start_listening(struct nbd_server *server, struct diag *diag)
{
	for (; server->listens < server->opt.listens; server->listens++) {
		const struct tcp_listen conf = { .at = server->opt.listen[server->listens],
			.stream = take_client,
			.user = server,
			.freebind = true,
			.mode = server->opt.mode };
		int err = tcp_listen(&server->listen[server->listens], server->loop, &conf, diag);

		if (err)
			return err;
	}
	return 0;
}

int nbd_server_start(struct nbd_server **out, struct loop *loop, const struct nbd_options *opt,
	struct diag *diag)
{
	struct nbd_server *server;
	int err = check_options(opt, diag);

	if (err)
		return err;
	server = calloc(1, sizeof(*server));
	if (!server)
		return diag_sys(diag, ENOMEM, "nbd server");
	server->loop = loop;
	server->opt = *opt;
	server->opt.mode = opt->mode ? opt->mode : 0600;
	server->opt.clients = opt->clients ? opt->clients : 64;
	server->opt.buffer = opt->buffer ? opt->buffer : 256 << 10;
	server->opt.slots = opt->slots ? opt->slots : 32;
	server->opt.hello_ms = opt->hello_ms ? opt->hello_ms : 10000;
	server->idle = 1;
	err = start_workers(server, diag);
	if (!err)
		err = start_listening(server, diag);
	if (err) {
		server_free(server);
		return err;
	}
	*out = server;
	return 0;
}

/* Answers what is in flight, as long as the clients take it and the disk does it; false = the disk
 * holds on to something. */
static bool drain(struct nbd_server *server, uint64_t deadline, bool *late)
{
	uint64_t polite = loop_clock() + POLITE_MS * MSEC;

	each_worker(server, worker_end);
	if (loop_wait(server->loop, &server->idle, polite < deadline ? polite : deadline))
		return true;
	each_worker(server, worker_abort_idle);
	if (loop_wait(server->loop, &server->idle, deadline))
		return true;
	*late = true;
	each_worker(server, worker_abort);
	return loop_wait(server->loop, &server->idle, loop_clock() + CANCEL_MS * MSEC);
}

int nbd_server_stop(struct nbd_server *server, uint32_t timeout_ms, struct diag *diag)
{
	struct job job = { .diag = diag, .deadline = loop_clock() + timeout_ms * MSEC };
	bool late = false;
	int err = 0;

	if (!server)
		return 0;
	stop_listening(server);
	if (!drain(server, job.deadline, &late)) /* the disk may still write to what a connection
						    owns: nothing can be freed */
		return diag_set(diag, DIAG_TIMEOUT, EINPROGRESS,
			"data may not be on the disk: no answer within %g s", timeout_ms / 1000.);
	job.worker = &server->worker[0];
	err = loop_call(server->loop, job.worker->loop, worker_flush, &job);
	if (late && !err)
		err = diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
			"requests aborted: the disk did not answer within %g s",
			timeout_ms / 1000.);
	if (job.kept)
		return -EINPROGRESS;
	server_free(server);
	return err;
}
