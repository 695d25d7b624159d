/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* /dev/nbdN: connect the kernel's nbd driver (core/kernel) and our NBD server (core/proto/nbd) by
 * socket pairs, replace those that fail, and update the size. Commands to the kernel run in a
 * thread, as they may wait for requests that this process answers. The thread runs them in a child,
 * so that this process can end at any time. */
#include "nbd_dev.h"
#include "kernel_nbd.h"
#include "loop.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FOREVER_S 2147483u /* the kernel counts jiffies in 31 bits, at up to 1000 Hz */
#define GRACE_S   30       /* the kernel waits that much longer than the disk */
/* each time the kernel logs a line for each held request */
#define RESEND_S     10
#define RETRY_MS     200
#define TAKE_OVER_MS 5000 /* time for a killed process to end */
#define SOCKET_BYTES (1 << 20)

struct link { /* one connection */
	struct nbd_adopted adopted;
	struct nbd_dev *dev;
	bool alive;
	int ours, kernels; /* sockets not yet connected, -1 = none */
	bool taken;        /* the kernel has it, but the server does not serve it yet */
};

struct nbd_dev {
	struct nbd_dev_options opt;
	struct loop *loop;
	struct workers *workers;
	struct kernel_nbd kernel;
	struct link link[KERNEL_NBD_CONNECTIONS];
	unsigned links, alive; /* links: number of connections of the device */
	/* at most one command to the kernel at a time */
	struct loop_msg ask, answer;
	int (*question)(struct nbd_dev *, struct diag *);
	void (*answered)(struct nbd_dev *, int err);
	struct diag why;
	int result;
	volatile int idle;
	int fds[KERNEL_NBD_CONNECTIONS];
	bool grown; /* the kernel must be informed of a new size */
	bool stopping, ended;
	uint64_t deadline; /* until it must be ready, 0 = none */
	uint32_t stop_ms;  /* 0 = at once, whether or not it is in use */
	struct loop_timer again;
};

static void next(struct nbd_dev *dev);

/* The kernel's end blocks, ours does not. Buffers for several requests save turns of both sides. */
static int pair_open(struct link *link, struct diag *diag)
{
	int fd[2], size = SOCKET_BYTES;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
		return diag_sys(diag, errno, "socket pair");
	fcntl(fd[0], F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 2; i++)
		setsockopt(fd[i], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	link->ours = fd[0];
	link->kernels = fd[1];
	return 0;
}

static void pairs_close(struct nbd_dev *dev)
{
	for (unsigned i = 0; i < KERNEL_NBD_CONNECTIONS; i++) {
		struct link *link = &dev->link[i];

		if (link->kernels >= 0)
			close(link->kernels);
		if (link->ours >= 0)
			close(link->ours);
		link->kernels = link->ours = -1;
	}
}

/* Create sockets for all connections below `count` that are not alive. */
static int pairs_open(struct nbd_dev *dev, unsigned count, struct diag *diag)
{
	dev->kernel.nfds = 0;
	for (unsigned i = 0; i < count; i++) {
		int err = dev->link[i].alive ? 0 : pair_open(&dev->link[i], diag);

		if (err) {
			pairs_close(dev);
			return err;
		}
		if (!dev->link[i].alive)
			dev->fds[dev->kernel.nfds++] = dev->link[i].kernels;
	}
	return 0;
}

/* If the kernel did not take the socket, closing ours of that end makes the other one report
 * EOF. */
static bool is_taken(struct link *link)
{
	char byte;

	close(link->kernels);
	link->kernels = -1;
	return recv(link->ours, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
}

static unsigned pairs_taken(struct nbd_dev *dev)
{
	unsigned taken = 0;

	for (unsigned i = 0; i < KERNEL_NBD_CONNECTIONS; i++) {
		struct link *link = &dev->link[i];

		link->taken = link->kernels >= 0 && is_taken(link);
		taken += link->taken;
	}
	return taken;
}

static int pairs_adopt(struct nbd_dev *dev, struct diag *diag)
{
	char peer[32];
	int err = 0;

	snprintf(peer, sizeof(peer), "/dev/nbd%d", dev->kernel.index);
	for (unsigned i = 0; i < KERNEL_NBD_CONNECTIONS && !err; i++) {
		struct link *link = &dev->link[i];

		if (!link->taken)
			continue;
		link->taken = false;
		err = nbd_server_adopt(
			dev->opt.server, dev->opt.export, link->ours, peer, &link->adopted, diag);
		link->ours = -1;
		link->alive = !err;
		dev->alive += link->alive;
	}
	pairs_close(dev);
	return err;
}

static void ask_run(struct loop_msg *msg)
{
	struct nbd_dev *dev = container_of(msg, struct nbd_dev, ask);

	dev->result = dev->question(dev, &dev->why);
	loop_post(dev->loop, &dev->answer);
}

static void answer_run(struct loop_msg *msg)
{
	struct nbd_dev *dev = container_of(msg, struct nbd_dev, answer);

	dev->idle = 1;
	dev->answered(dev, dev->result);
	next(dev);
}

static void ask(struct nbd_dev *dev, int (*question)(struct nbd_dev *, struct diag *),
	void (*answered)(struct nbd_dev *, int err))
{
	dev->idle = 0;
	dev->question = question;
	dev->answered = answered;
	dev->why = (struct diag){ 0 };
	loop_post(workers_loop(dev->workers, 0), &dev->ask);
}

static int ask_renew(struct nbd_dev *dev, struct diag *diag)
{
	return kernel_nbd_renew(&dev->kernel, diag);
}

static int ask_resize(struct nbd_dev *dev, struct diag *diag)
{
	return kernel_nbd_resize(&dev->kernel, diag);
}

static void end(struct nbd_dev *dev)
{
	if (dev->ended)
		return;
	dev->ended = true;
	if (!dev->stopping)
		dev->opt.ended(dev, dev->opt.user);
}

static void try_later(struct nbd_dev *dev)
{
	loop_timer_set(dev->loop, &dev->again, loop_now(dev->loop) + RETRY_MS * MSEC);
}

/* The kernel may not have noticed yet that the old connections are dead: retry later. */
static void renewed(struct nbd_dev *dev, int err)
{
	if (err || dev->ended) /* the server may be about to stop */
		pairs_close(dev);
	else if (pairs_taken(dev))
		err = pairs_adopt(dev, &dev->why);
	else
		pairs_close(dev);
	if (err)
		loop_trace(dev->loop, "nbd: new connections: %s", dev->why.text);
	if (err == -ENODEV)
		end(dev);
	else if (dev->alive < dev->links && !dev->stopping)
		try_later(dev);
}

static void resized(struct nbd_dev *dev, int err)
{
	if (err)
		loop_trace(
			dev->loop, "nbd: /dev/nbd%d: resize: %s", dev->kernel.index, dev->why.text);
}

static void next(struct nbd_dev *dev)
{
	if (!dev->idle || dev->stopping || dev->ended)
		return;
	if (dev->alive < dev->links && !dev->again.on) {
		if (pairs_open(dev, dev->links, NULL))
			try_later(dev);
		else
			ask(dev, ask_renew, renewed);
	} else if (dev->grown) {
		dev->grown = false;
		dev->kernel.size = dev->opt.bdev->lim.size;
		ask(dev, ask_resize, resized);
	}
}

static void again(struct loop_timer *timer)
{
	next(container_of(timer, struct nbd_dev, again));
}

static void connection_closed(struct nbd_adopted *adopted, bool goodbye)
{
	struct link *link = container_of(adopted, struct link, adopted);
	struct nbd_dev *dev = link->dev;

	link->alive = false;
	dev->alive--;
	if (goodbye)
		end(dev);
	else
		next(dev);
}

void nbd_dev_changed(struct nbd_dev *dev)
{
	dev->grown |= dev->opt.bdev->lim.size != dev->kernel.size;
	next(dev);
}

static uint32_t seconds(uint32_t ms)
{
	uint32_t s = ms / 1000 + (ms % 1000 != 0);

	return ms == UINT32_MAX || s > FOREVER_S - GRACE_S ? FOREVER_S - GRACE_S : s;
}

static int call_connect(struct loop *loop, void *arg)
{
	struct nbd_dev *dev = arg;

	(void)loop;
	return kernel_nbd_connect(dev->opt.root, &dev->kernel, &dev->why);
}

static int call_tune(struct loop *loop, void *arg)
{
	struct nbd_dev *dev = arg;

	(void)loop;
	kernel_nbd_tune(dev->opt.root, &dev->kernel);
	return 0;
}

static int call_disconnect(struct loop *loop, void *arg)
{
	struct nbd_dev *dev = arg;

	(void)loop;
	return kernel_nbd_disconnect(dev->opt.root, (unsigned)dev->kernel.index, dev->opt.id,
		dev->stop_ms == 0, dev->stop_ms, &dev->why);
}

static uint64_t sooner(const struct nbd_dev *dev, uint64_t at)
{
	return dev->deadline && dev->deadline < at ? dev->deadline : at;
}

/* Time left for the next command to the kernel. */
static uint32_t left_ms(const struct nbd_dev *dev)
{
	uint64_t now = loop_clock();

	return !dev->deadline        ? 0
	       : now < dev->deadline ? (uint32_t)((dev->deadline - now) / MSEC) + 1
				     : 1;
}

static int kernel_call(struct nbd_dev *dev, int (*fn)(struct loop *, void *))
{
	return loop_call(dev->loop, workers_loop(dev->workers, 0), fn, dev);
}

/* A write of an earlier run may still be executed, and must not overtake one that is answered from
 * now on. */
static int outwait(struct nbd_dev *dev)
{
	uint32_t quiesce_ms = dev->opt.bdev->lim.quiesce_ms;
	uint64_t until = loop_clock() + quiesce_ms * MSEC;

	if (!pairs_taken(dev) || !dev->kernel.recovered || !quiesce_ms)
		return 0;
	if (sooner(dev, until) < until) {
		diag_set(&dev->why, DIAG_TIMEOUT, ETIMEDOUT,
			"not ready within %g s: waiting until no write of an earlier run can still "
			"be executed",
			dev->opt.timeout_ms / 1000.);
		return diag_ctx(&dev->why, "/dev/nbd%d", dev->kernel.index);
	}
	loop_wait(dev->loop, &(volatile int){ 0 }, until);
	return 0;
}

/* A recovered device has as many connections as it was created with, so offer the maximum. */
static int offer(struct nbd_dev *dev)
{
	int err = pairs_open(
		dev, dev->opt.id ? KERNEL_NBD_CONNECTIONS : dev->kernel.connections, &dev->why);

	dev->kernel.timeout_ms = left_ms(dev);
	if (!err)
		err = kernel_call(dev, call_connect);
	if (!err)
		err = outwait(dev);
	if (err) {
		pairs_close(dev);
		return err;
	}
	err = pairs_adopt(dev, &dev->why);
	if (err && !dev->kernel.recovered)
		kernel_call(dev, call_disconnect);
	return err;
}

static int connect_it(struct nbd_dev *dev)
{
	const struct nbd_dev_options *opt = &dev->opt;
	unsigned count = opt->connections ? opt->connections : 1;
	uint64_t give_up;
	int err;

	dev->deadline = opt->timeout_ms ? loop_clock() + opt->timeout_ms * MSEC : 0;
	give_up = sooner(dev, loop_clock() + TAKE_OVER_MS * MSEC);
	dev->kernel = (struct kernel_nbd){ .index = opt->index,
		.size = opt->bdev->lim.size,
		.block = opt->bdev->lim.block,
		.flags = nbd_server_flags(opt->server, opt->export),
		.fds = dev->fds,
		.connections = count,
		.dead_s = seconds(opt->hold_ms),
		.resend_s = RESEND_S,
		.timeout_s = count > 1 ? seconds(opt->hold_ms) + GRACE_S : 0,
		.longest = opt->buffer,
		.id = opt->id };
	while (!(err = offer(dev)) && !dev->alive && dev->kernel.recovered &&
		loop_clock() < give_up)
		loop_wait(dev->loop, &(volatile int){ 0 }, loop_clock() + RETRY_MS * MSEC);
	if (err)
		return err;
	dev->links = dev->alive;
	dev->kernel.timeout_ms = left_ms(dev);
	if (!dev->kernel.recovered)
		kernel_call(dev, call_tune);
	dev->kernel.timeout_ms = 0;
	if (dev->alive)
		return 0;
	diag_set(&dev->why, DIAG_BUSY, EBUSY, "is already this disk, served by another process");
	diag_ctx(&dev->why, "/dev/nbd%d", dev->kernel.index);
	return -EBUSY;
}

int nbd_dev_start(struct nbd_dev **out, struct loop *loop, const struct nbd_dev_options *opt,
	struct diag *diag)
{
	const struct loop_options plain = { .name = loop_options(loop)->name };
	struct nbd_dev *dev = *out = calloc(1, sizeof(*dev));
	int err;

	if (!dev)
		return diag_sys(diag, ENOMEM, "nbd device");
	dev->opt = *opt;
	dev->loop = loop;
	dev->idle = 1;
	dev->ask.run = ask_run;
	dev->answer.run = answer_run;
	dev->again.fire = again;
	for (unsigned i = 0; i < KERNEL_NBD_CONNECTIONS; i++)
		dev->link[i] = (struct link){
			.adopted.closed = connection_closed, .dev = dev, .ours = -1, .kernels = -1
		};
	err = workers_start(&dev->workers, 1, &plain, &dev->why);
	if (!err)
		err = connect_it(dev);
	if (err) {
		dev->ended = true;
		if (diag)
			*diag = dev->why;
		return err;
	}
	dev->grown = dev->kernel.recovered;
	next(dev);
	return 0;
}

static int wait_idle(struct nbd_dev *dev, uint32_t timeout_ms, struct diag *diag)
{
	loop_timer_del(dev->loop, &dev->again);
	if (loop_wait(dev->loop, &dev->idle, loop_clock() + timeout_ms * MSEC))
		return 0;
	diag_set(diag, DIAG_TIMEOUT, EINPROGRESS,
		"the kernel waits for requests that the disk did not answer within %g s",
		timeout_ms / 1000.);
	diag_ctx(diag, "/dev/nbd%d", dev->kernel.index);
	return -EINPROGRESS;
}

int nbd_dev_stop(struct nbd_dev *dev, uint32_t timeout_ms, struct diag *diag)
{
	int err;

	if (!dev || dev->ended || dev->stopping)
		return 0;
	dev->stopping = true;
	err = wait_idle(dev, timeout_ms, diag);
	if (err)
		return err;
	dev->stop_ms = timeout_ms ? timeout_ms : 1;
	dev->why = (struct diag){ 0 };
	err = kernel_call(dev, call_disconnect);
	if (err && diag)
		*diag = dev->why;
	if (err == -EBUSY) {
		dev->stopping = false;
		next(dev);
	}
	return err;
}

int nbd_dev_leave(struct nbd_dev *dev, uint32_t timeout_ms, struct diag *diag)
{
	if (!dev)
		return 0;
	dev->ended = true;
	return wait_idle(dev, timeout_ms, diag);
}

void nbd_dev_free(struct nbd_dev *dev)
{
	if (!dev)
		return;
	loop_timer_del(dev->loop, &dev->again);
	if (!dev->idle) /* a thread still waits for the kernel; the process has to end */
		return;
	workers_stop(dev->workers);
	free(dev);
}

unsigned nbd_dev_index(const struct nbd_dev *dev)
{
	return (unsigned)dev->kernel.index;
}

unsigned nbd_dev_connections(const struct nbd_dev *dev)
{
	return dev->alive;
}

bool nbd_dev_recovered(const struct nbd_dev *dev)
{
	return dev->kernel.recovered;
}
