/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* null:SIZE: reads return zeroes, writes are discarded. */
#include "block.h"
#include "instant.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int null_serve(struct instant *disk, struct io *io)
{
	(void)disk;
	if (io->kind == IO_READ)
		memset(io->buf->p, 0, io->len);
	if (io->kind == IO_MAP) {
		*(struct map_run *)(void *)io->buf->p =
			(struct map_run){ .len = io->len, .flags = MAP_HOLE | MAP_ZERO };
		io->detail = 1;
	}
	return 0;
}

static void null_drop(struct instant *disk)
{
	free(disk);
}

int null_attach(struct bdev **bdev, struct loop *loop, struct uri *uri, const struct bdev_env *env,
	struct diag *diag)
{
	struct instant *disk;
	struct bdev_limits lim;
	int err = instant_geometry(&lim, uri, env, diag);

	if (err)
		return err;
	disk = calloc(1, sizeof(*disk));
	if (!disk)
		return diag_sys(diag, ENOMEM, "open");
	disk->bdev.lim = lim;
	disk->serve = null_serve;
	disk->drop = null_drop;
	instant_start(disk, "null", loop);
	*bdev = &disk->bdev;
	return 0;
}
