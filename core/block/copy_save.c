/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Pass the text of a map to a thread that writes the file (copy_map.c), and its status back. */
#include "copy_save.h"
#include <errno.h>
#include <stdlib.h>

int copy_saver_start(
	struct copy_saver *saver, struct loop *home, const char *path, struct diag *diag)
{
	const struct loop_options options = { .name = loop_options(home)->name };

	*saver = (struct copy_saver){ .home = home, .path = path, .idle = 1 };
	return workers_start(&saver->workers, 1, &options, diag);
}

struct load {
	const char *path;
	struct copy_map *map;
	struct diag *diag;
};

static int load(struct loop *loop, void *arg)
{
	const struct load *in = arg;
	int rc = copy_map_load(in->map, in->path, in->diag),
	    err = rc ? 0 : copy_map_writable(in->path);

	(void)loop;
	if (!err)
		return rc;
	diag_sys(in->diag, -err, "write");
	diag_ctx(in->diag, "map %s", in->path);
	return err;
}

int copy_saver_load(struct copy_saver *saver, struct copy_map *map, struct diag *diag)
{
	struct load in = { saver->path, map, diag };

	return loop_call(saver->home, workers_loop(saver->workers, 0), load, &in);
}

static void back(struct loop_msg *msg)
{
	struct copy_saver *saver = container_of(msg, struct copy_saver, msg);

	saver->idle = 1;
	saver->saved(saver, saver->status);
}

static void there(struct loop_msg *msg)
{
	struct copy_saver *saver = container_of(msg, struct copy_saver, msg);

	saver->status =
		saver->text ? copy_map_write(saver->path, saver->text, saver->len) : -ENOMEM;
	free(saver->text);
	saver->msg.run = back;
	loop_post(saver->home, &saver->msg);
}

void copy_saver_save(struct copy_saver *saver, char *text, size_t len)
{
	saver->idle = 0;
	saver->text = text;
	saver->len = len;
	saver->msg.run = there;
	loop_post(workers_loop(saver->workers, 0), &saver->msg);
}

void copy_saver_wait(struct copy_saver *saver)
{
	loop_wait(saver->home, &saver->idle, 0);
}

void copy_saver_stop(struct copy_saver *saver)
{
	workers_stop(saver->workers);
	saver->workers = NULL;
}
