/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/net */
/* A live software iWARP endpoint under any bytes, in pieces whose size the first byte gives. A page
 * that is not registered lies on either side of its memory. */
#include "../../core/net/iwarp.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAGE  4096
#define PAGES 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct loop *loop;
static struct pool pool;
static struct ep_rx rx[4];
static struct ep_op op[3];
static volatile int turned, down;

static int request(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	(void)priv;
	if (ep->ops->reg(ep, &pool, EP_REMOTE_READ | EP_REMOTE_WRITE | EP_READ_SINK, &ep->why))
		abort();
	for (unsigned i = 0; i < 4; i++) {
		rx[i] = (struct ep_rx){ .p = pool.base + 64 * i, .cap = 64 };
		ep->ops->repost(ep, &rx[i]);
	}
	return 0;
}

static void up(struct ep *ep)
{
	for (unsigned i = 0; i < 3; i++) {
		op[i] = (struct ep_op){ .kind = i ? EP_READ : EP_SEND, .nsge = 1, .rkey = 1 };
		op[i].sge[0] =
			(struct ep_sge){ pool.base + 1024 * i, 300 * i, pool.key[ep->dom].lkey };
		ep->ops->post(ep, &op[i]);
	}
}

static void recv_(struct ep *ep, struct ep_rx *r)
{
	if (r->len > r->cap)
		abort();
	ep->ops->repost(ep, r);
}

static void sent(struct ep *ep, struct ep_op *done)
{
	(void)ep;
	if (done < op || done > op + 2)
		abort();
}

static void idle(struct ep *ep)
{
	(void)ep;
}

static void went_down(struct ep *ep)
{
	(void)ep;
	down++;
}

static const struct ep_events events = { request, up, recv_, sent, idle, went_down };

static void stop(struct loop_work *work)
{
	(void)work;
	turned = 1;
}

static void turn(void)
{
	static struct loop_work work = { .run = stop };

	turned = 0;
	loop_work_add(loop, &work);
	loop_wait(loop, &turned, 0);
}

static void start(void)
{
	static struct stag_holds reserved; /* keeps the pool's tag the same from run to run */
	struct stags *stags;
	struct diag diag;
	uint8_t *p = mmap(NULL, (PAGES + 2) * PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, &diag) ||
		stags_of_loop(&stags, loop, &diag))
		abort();
	pool = (struct pool){ .base = p + PAGE, .len = PAGES * PAGE, .each = PAGE, .count = PAGES };
	if (stag_reg(stags, &reserved, &pool, 0, &diag))
		abort();
}

static void check_borders(void)
{
	const uint8_t *before = pool.base - PAGE, *after = pool.base + pool.len;

	for (unsigned i = 0; i < PAGE; i++)
		if (before[i] || after[i])
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ep_caps local_caps = {
		.send = 4, .recv = 4, .sge = 1, .inline_max = 64, .ord = 2, .ird = 2
	};
	uint8_t frame[MPA_FRAME_MAX], answer[4096];
	struct addr peer = { .ss.ss_family = AF_UNIX };
	struct ep_incoming *in;
	struct diag diag;
	struct ep *ep;
	size_t step, len;
	int fd[2];

	if (!loop)
		start();
	if (!size)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd))
		abort();
	step = *data++ + 1u;
	size--;
	down = 0;
	len = mpa_put(frame,
		&(struct mpa){
			.revision = 2, .enhanced = true, .crc = step == 256, .ird = 2, .ord = 2 },
		false);
	in = iwarp_incoming(fd[0], &peer, frame, len, false, &diag);
	if (!in || ep_accept(&ep, loop, in, &local_caps, &events, NULL, &diag))
		abort();
	turn();
	for (size_t at = 0; at < size && !down; at += step) {
		size_t part = size - at < step ? size - at : step;
		if (write(fd[1], data + at, part) != (ssize_t)part)
			break;
		turn();
		while (read(fd[1], answer, sizeof(answer)) > 0)
			;
	}
	close(fd[1]);
	turn();
	check_borders();
	if (down > 1 || (down == 1) != (ep->state == EP_DOWN))
		abort();
	ep->ops->unreg(ep, &pool);
	ep->ops->free(ep);
	return 0;
}
