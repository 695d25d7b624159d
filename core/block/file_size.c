/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A file's size, asked for without waiting: a network file system whose server is away keeps who asks, and the loop serves other disks.
 * What a new size means is file.c's. */
#include "file.h"
#include <fcntl.h>
#include <liburing.h>
#include <linux/stat.h>
#include <stdlib.h>
#include <sys/epoll.h>

struct file_size {
	struct loop *loop;
	struct io_uring ring;
	struct loop_fd fd;
	struct statx answer;
	bool pending;
	int file;
	void (*seen)(void *arg, uint64_t size);
	void *arg;
};

static void ready(struct loop_fd *fd, uint32_t events)
{
	struct file_size *fs = container_of(fd, struct file_size, fd);
	struct io_uring_cqe *cqe;
	int res;

	(void)events;
	if (io_uring_peek_cqe(&fs->ring, &cqe))
		return;
	res = cqe->res;
	io_uring_cqe_seen(&fs->ring, cqe);
	fs->pending = false;
	if (!res && fs->answer.stx_mask & STATX_SIZE)
		fs->seen(fs->arg, fs->answer.stx_size);
}

void file_size_ask(struct file_size *fs)
{
	struct io_uring_sqe *sqe = fs->pending ? NULL : io_uring_get_sqe(&fs->ring);

	if (sqe) {
		io_uring_prep_statx(sqe, fs->file, "", AT_EMPTY_PATH, STATX_SIZE, &fs->answer);
		io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
		fs->pending = true;
	}
	io_uring_submit(&fs->ring);
}

/* What is not answered yet will be written: that memory stays. */
void file_size_free(struct file_size *fs)
{
	if (!fs)
		return;
	loop_fd_del(fs->loop, &fs->fd);
	io_uring_queue_exit(&fs->ring);
	if (!fs->pending)
		free(fs);
}

struct file_size *file_size_new(struct loop *loop, int file, void (*seen)(void *arg, uint64_t size), void *arg)
{
	struct file_size *fs = calloc(1, sizeof(*fs));
	struct io_uring_probe *probe;
	bool can;

	if (!fs || io_uring_queue_init(1, &fs->ring, 0)) {
		free(fs);
		return NULL;
	}
	io_uring_ring_dontfork(&fs->ring);
	probe = io_uring_get_probe_ring(&fs->ring);
	can = probe && io_uring_opcode_supported(probe, IORING_OP_STATX);
	io_uring_free_probe(probe);
	fs->loop = loop;
	fs->file = file;
	fs->seen = seen;
	fs->arg = arg;
	fs->fd = (struct loop_fd){ .fd = fs->ring.ring_fd, .events = EPOLLIN, .ready = ready };
	if (can && !loop_fd_add(loop, &fs->fd, NULL))
		return fs;
	io_uring_queue_exit(&fs->ring);
	free(fs);
	return NULL;
}
