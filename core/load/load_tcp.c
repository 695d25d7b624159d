/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Load on a plain socket, the upper bound of every protocol over TCP: no protocol, as few system
 * calls as possible. The hot path calls the socket directly and returns to the loop only when no
 * data arrived for a while. */
#include "load_job.h"
#include "stream.h"
#include "wire/bench.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROOM    (512u << 10) /* per receive */
#define TURN_NS 10000000     /* then let the loop run its timers */

struct tcp_job {
	struct load_job job; /* first member */
	struct loop_fd fd;
	uint8_t *in, *out;
	uint64_t *sent_ns;         /* send times, one per request: a ring */
	size_t room, have, unsent; /* have: bytes received of the oldest answer */
	uint64_t requested, answered;
	bool finished;
	volatile int settled; /* of dialling */
};

struct tcp_load {
	const struct addr *addr;
	uint32_t poll_us, timeout_ms;
};

static struct tcp_job *tcp_job_of(struct load_job *job)
{
	return container_of(job, struct tcp_job, job);
}

static void finish_job(struct tcp_job *tj)
{
	if (tj->finished)
		return;
	tj->finished = true;
	loop_fd_del(tj->job.loop, &tj->fd);
	load_job_finished(&tj->job);
}

static void broken(struct tcp_job *tj, int err)
{
	const struct tcp_load *load = tj->job.load->kind->arg;
	char to[ADDR_TEXT];

	if (err)
		diag_sys(&tj->job.why, err, "TCP");
	else
		diag_set(&tj->job.why, DIAG_CLOSED, ECONNRESET,
			"connection closed by the peer: is it rdmastor bench --listen?");
	diag_ctx(&tj->job.why, "%s", addr_text(load->addr, to));
	load_job_failed(&tj->job);
	finish_job(tj);
}

/* All requests are the same, so send as many as possible as one block. */
static void flush(struct tcp_job *tj)
{
	const struct load_options *opt = tj->job.load->opt;

	while (tj->unsent) {
		size_t start = -tj->unsent % sizeof(struct bench_request);
		size_t most = opt->depth * sizeof(struct bench_request) - start;
		ssize_t n = send(tj->fd.fd, tj->out + start, tj->unsent < most ? tj->unsent : most,
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0 && errno != EINTR) {
			broken(tj, errno);
			return;
		}
		if (n > 0)
			tj->unsent -= (size_t)n;
	}
	loop_fd_change(tj->job.loop, &tj->fd, tj->unsent ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void add_requests(struct tcp_job *tj, uint64_t count, uint64_t now)
{
	uint32_t depth = tj->job.load->opt->depth;

	for (uint64_t i = 0; i < count; i++)
		tj->sent_ns[tj->requested++ % depth] = now;
	tj->unsent += count * sizeof(struct bench_request);
	flush(tj);
}

static void got(struct tcp_job *tj, size_t bytes, uint64_t now)
{
	const struct load_options *opt = tj->job.load->opt;
	uint64_t whole = (tj->have + bytes) / opt->bs;

	tj->have = (tj->have + bytes) % opt->bs;
	for (uint64_t i = 0; i < whole; i++) {
		uint64_t sent = tj->sent_ns[tj->answered++ % opt->depth];
		load_count(&tj->job, LOAD_READ, opt->bs, now - sent, now);
	}
	if (load_may_submit(&tj->job, now))
		add_requests(tj, whole, now);
	else if (tj->answered >= tj->requested) /* a peer may send more than was requested */
		finish_job(tj);
}

static void readable(struct loop_fd *fd, uint32_t events)
{
	struct tcp_job *tj = container_of(fd, struct tcp_job, fd);
	const struct tcp_load *load = tj->job.load->kind->arg;
	uint64_t begin = loop_clock(), last = begin, now = begin;

	if (events & EPOLLOUT)
		flush(tj);
	while (!tj->finished && now - begin < TURN_NS) {
		ssize_t n = recv(fd->fd, tj->in, tj->room, MSG_DONTWAIT);

		now = loop_clock();
		if (n > 0) {
			last = now;
			got(tj, (size_t)n, now);
		} else if (!n || (errno != EAGAIN && errno != EINTR)) {
			broken(tj, n ? errno : 0);
		} else if (now - last >= load->poll_us * 1000ull) {
			return;
		}
	}
}

static void up(struct stream *stream)
{
	((struct tcp_job *)stream->user)->settled = 1;
}

static void early(struct stream *stream)
{
	(void)stream;
}

static void never_sent(struct stream *stream, struct stream_out *out)
{
	(void)stream;
	(void)out;
}

static const struct stream_events dialling = { up, early, never_sent, up };

static int dial(struct tcp_job *tj, struct diag *diag)
{
	const struct tcp_load *load = tj->job.load->kind->arg;
	struct stream_dial conf = { .dst = *load->addr, .timeout_ms = load->timeout_ms };
	struct loop *loop = tj->job.loop;
	struct stream *stream;
	int err = stream_dial(&stream, loop, &conf, &dialling, tj, diag);

	if (err)
		return err;
	if (!loop_wait_until(loop, &tj->settled, tj->job.load->opt->stop))
		diag_sys(diag, EINTR, "connect");
	else if (stream->state != STREAM_UP)
		*diag = stream->why;
	if (diag->err) {
		stream_free(stream);
		return -diag->err;
	}
	tj->fd.fd = stream_detach(stream).fd;
	return 0;
}

static int tcp_open(struct load_job *job, struct diag *diag)
{
	struct tcp_job *tj = tcp_job_of(job);
	const struct load_options *opt = job->load->opt;
	struct bench_request request = { .magic = BENCH_MAGIC, .bytes = put_le32(opt->bs) };
	size_t all = (size_t)opt->bs * opt->depth;
	int err;

	tj->fd = (struct loop_fd){ .fd = -1, .events = EPOLLIN, .ready = readable };
	tj->room = all < ROOM ? all : ROOM;
	tj->in = malloc(tj->room);
	tj->out = calloc(opt->depth, sizeof(request));
	tj->sent_ns = calloc(opt->depth, sizeof(*tj->sent_ns));
	if (!tj->in || !tj->out || !tj->sent_ns)
		return diag_sys(diag, ENOMEM, "requests");
	for (uint32_t i = 0; i < opt->depth; i++)
		memcpy(tj->out + i * sizeof(request), &request, sizeof(request));
	err = dial(tj, diag);
	return err ? err : loop_fd_add(job->loop, &tj->fd, diag);
}

static void tcp_start(struct load_job *job)
{
	add_requests(tcp_job_of(job), job->load->opt->depth, loop_clock());
}

static void tcp_give_up(struct load_job *job)
{
	struct tcp_job *tj = tcp_job_of(job);

	while (tj->answered < tj->requested)
		load_job_count_unanswered(
			job, LOAD_READ, tj->sent_ns[tj->answered++ % job->load->opt->depth]);
	finish_job(tj);
}

static void tcp_close(struct load_job *job)
{
	struct tcp_job *tj = tcp_job_of(job);

	loop_fd_del(job->loop, &tj->fd);
	if (tj->fd.fd >= 0)
		close(tj->fd.fd);
	free(tj->in);
	free(tj->out);
	free(tj->sent_ns);
}

int load_tcp(struct loop *loop, const struct addr *addr, const struct load_options *opt,
	struct load_result *result, struct diag *diag)
{
	const struct tcp_load part = {
		.addr = addr, .poll_us = loop_options(loop)->poll_us, .timeout_ms = opt->timeout_ms
	};
	const struct load_kind_ops kind = {
		.size = sizeof(struct tcp_job),
		.open = tcp_open,
		.start = tcp_start,
		.give_up = tcp_give_up,
		.close = tcp_close,
		.arg = &part,
	};
	struct load load = { .loop = loop, .opt = opt, .result = result, .diag = diag };

	char to[ADDR_TEXT];
	int err;

	if (!opt->bs || opt->bs > BENCH_SIZE_MAX)
		return diag_set(diag, DIAG_USAGE, ERANGE, "--bs: must be 1 to %u", BENCH_SIZE_MAX);
	if (!opt->depth || opt->depth > BENCH_DEPTH_MAX)
		return diag_set(
			diag, DIAG_USAGE, ERANGE, "--iodepth: must be 1 to %u", BENCH_DEPTH_MAX);
	if (!opt->jobs || opt->jobs > LOAD_JOBS_MAX)
		return diag_set(
			diag, DIAG_USAGE, ERANGE, "--numjobs: must be 1 to %u", LOAD_JOBS_MAX);
	err = load_run(&load, &kind);
	return err ? diag_ctx(diag, "%s", addr_text(addr, to)), err : 0;
}
