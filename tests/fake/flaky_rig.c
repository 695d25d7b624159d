/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A disk behind three ways that break on demand, its lane, and requests. */
#include "flaky_rig.h"
#include "out.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rig_init(struct rig *rig)
{
	static const char *const host[] = { "a", "b", "c" };

	*rig = (struct rig){ .env = { .write = true, .on_loss_ms = 10000 } };
	cr_assert_eq(loop_new(&rig->loop, &(struct loop_options){ .name = "test", .verbose = true },
			     NULL),
		0);
	flaky_disk_init(&rig->disk, 1 << 20);
	for (unsigned i = 0; i < 3; i++) {
		rig->way[i].host = host[i];
		rig->way[i].disk = &rig->disk;
		rig->way[i].id.nguid[3] = 9;
	}
	flaky_paths(rig->way, 3, 1);
	cr_assert_eq(pool_new(&rig->pool, 65536, 8, NULL), 0);
}

void rig_open(struct rig *rig, const char *uri)
{
	cr_assert_eq(bdev_open(&rig->bdev, rig->loop, uri, &rig->env, &rig->diag), 0, "%s",
		rig->diag.text);
	cr_assert_eq(
		lane_open(&rig->lane, rig->bdev, rig->loop, &rig->diag), 0, "%s", rig->diag.text);
	cr_assert_eq(lane_map(rig->lane, rig->pool, &rig->diag), 0, "%s", rig->diag.text);
}

void rig_fini(struct rig *rig)
{
	if (rig->lane) {
		lane_unmap(rig->lane, rig->pool);
		lane_close(rig->lane);
	}
	bdev_close(rig->bdev);
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(atomic_load(&rig->way[i].lanes_open), 0);
		cr_assert_eq(atomic_load(&rig->way[i].mapped), 0);
		cr_assert_null(rig->way[i].leaf);
	}
	pool_free(rig->pool);
	flaky_disk_fini(&rig->disk);
	loop_free(rig->loop);
}

void rig_assert_usage(const char *uri, const char *words)
{
	struct rig rig;

	rig_init(&rig);
	cr_assert_eq(bdev_open(&rig.bdev, rig.loop, uri, &rig.env, &rig.diag), -EINVAL);
	diag_says(&rig.diag, DIAG_USAGE, uri, words);
	rig.bdev = NULL;
	rig_fini(&rig);
}

static void req_done(struct io *io)
{
	struct req *req = container_of(io, struct req, io);

	assert(io->lower == req->lower && io->buf == &req->buf); /* as it was submitted */
	req->done_ns = loop_clock();
	req->over++;
}

void req_submit(struct rig *rig, struct req *req, enum io_kind kind, unsigned slot)
{
	*req = (struct req){ .buf = pool_buf(rig->pool, slot) };
	req->io = (struct io){ .kind = (uint8_t)kind,
		.off = slot * 4096ull,
		.len = 4096,
		.buf = &req->buf,
		.done = req_done,
		.lower = req->lower };
	req->io.status = 1;
	if (kind == IO_FLUSH)
		req->io.off = req->io.len = 0;
	bdev_submit(rig->lane, &req->io);
}

bool req_wait(struct rig *rig, struct req *req, unsigned ms)
{
	return loop_wait(rig->loop, &req->over, loop_clock() + ms * MSEC);
}

void rig_turn_for(struct rig *rig, unsigned ms)
{
	volatile int never = 0;

	loop_wait(rig->loop, &never, loop_clock() + ms * MSEC);
}

int rig_io(struct rig *rig, enum io_kind kind)
{
	struct buf buf = pool_buf(rig->pool, 7);
	struct io io = { .kind = (uint8_t)kind, .len = kind == IO_FLUSH ? 0 : 4096, .buf = &buf };

	return bdev_io_wait(rig->lane, &io, 3000);
}

void rig_assert_fact(struct rig *rig, const char *label, const char *words)
{
	struct out out;
	char *text, *line;
	size_t len;

	out_init(&out, "test", false);
	out.to = open_memstream(&text, &len);
	cr_assert(out.to);
	rig->bdev->ops->facts(rig->bdev, &out);
	fclose(out.to);
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (!strncmp(line, label, strlen(label)) && line[strlen(label)] == ':')
			break;
	cr_assert(line, "no line '%s'", label);
	text_says(line, words);
	free(text);
}
