/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find holes and data of a file. */
#include "file_map.h"
#include <errno.h>
#include <unistd.h>

#define TRIES 4 /* at a block that is trimmed each time between the two calls */

static int64_t seek(const struct file *file, uint64_t at, int what)
{
	int64_t rc = lseek(file->fd, (off_t)at, what);

	return rc < 0 ? -errno : rc;
}

/* Report whole blocks: a block that contains any data is data. */
int file_map(const struct file *file, struct io *io)
{
	struct map_run *run = (struct map_run *)(void *)io->buf->p;
	uint32_t most = io->buf->cap / sizeof(*run), count = 0;
	uint64_t at = io->off, end = io->off + io->len, mask = file->bdev.lim.block - 1;
	unsigned tries = 0;

	while (at < end && count < most) {
		int64_t data = seek(file, at, SEEK_DATA), hole;
		uint64_t to = (uint64_t)data & ~mask;
		bool is_data = false;

		/* no data up to the end of the file, which may have shrunk */
		if (data == -ENXIO) {
			int64_t size = seek(file, 0, SEEK_END);

			if (size < 0)
				return (int)size;
			to = ((uint64_t)size + mask) & ~mask;
			if (to <= at && !count)
				return -EIO;
			if (to <= at)
				break;
		} else if (data < 0) {
			return (int)data;
		}
		if (to <= at) {
			hole = seek(file, data > (int64_t)at ? (uint64_t)data : at, SEEK_HOLE);
			if (hole < 0)
				return (int)hole;
			to = ((uint64_t)hole + mask) & ~mask;
			is_data = true;
		}
		if (to <= at) { /* trimmed since SEEK_DATA */
			if (++tries < TRIES)
				continue;
			to = at + mask + 1;
		}
		tries = 0;
		to = to < end ? to : end;
		run[count++] = (struct map_run){ .len = to - at,
			.flags = is_data ? 0 : MAP_HOLE | MAP_ZERO };
		at = to;
	}
	io->detail = count;
	return 0;
}
