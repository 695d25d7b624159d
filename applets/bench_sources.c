/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The disks of bench --matrix: names for their rows, and what becomes of one that can't be
 * opened. */
#include "bench_matrix.h"
#include "disk_open.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Name a disk by its scheme, and the second one of a scheme "nbd 2". */
static void name_source(struct bench_sources *sources, unsigned nth)
{
	char scheme[24], *name = sources->name[nth];
	const char *uri = sources->disk[nth].uri;
	unsigned same = 1;
	size_t len;

	snprintf(scheme, sizeof(scheme), "%.*s", (int)strcspn(uri, ":"), uri);
	if (!scheme_find(scheme))
		snprintf(scheme, sizeof(scheme), "file");
	len = strlen(scheme);
	for (unsigned i = 0; i < nth; i++)
		same += !strncmp(sources->name[i], scheme, len) &&
			(!sources->name[i][len] || sources->name[i][len] == ' ');
	if (same > 1)
		snprintf(name, sizeof(*sources->name), "%s %u", scheme, same);
	else
		snprintf(name, sizeof(*sources->name), "%s", scheme);
	sources->disk[nth].name = name;
}

/* Open a disk. One that can't be reached is a row with its reason; wrong usage ends the command. */
static int open_source(struct bench *bench, struct bench_sources *sources, unsigned nth,
	const struct bdev_env *env)
{
	struct matrix_disk *disk = &sources->disk[nth];
	struct call *call = bench->call;
	char *uri = sources->uri[nth];
	int err;

	if (!uri)
		return 0;
	err = disk_open(call, &disk->bdev, bench->task.loop, uri, env);
	if (bench->task.stop || (err && call->diag->code == DIAG_USAGE))
		return err ? err : -EINTR;
	/* with --all the disk behind the servers */
	disk->memory = !bench->opts->all       ? bdev_uri_in_memory(uri)
		       : bench->call->operands ? bdev_uri_in_memory(bench->call->operand[0])
					       : true;
	if (!disk->bdev)
		uri_hide(uri);
	disk->uri = disk->bdev ? disk->bdev->uri : uri;
	if (!disk->name)
		name_source(sources, nth);
	if (!err)
		return 0;
	disk->why = *call->diag;
	*call->diag = (struct diag){ 0 };
	return 0;
}

void bench_warn_failure(struct bench *bench, const struct matrix_disk *disk)
{
	const struct diag *why = &disk->why;

	if (!why->err)
		return;
	call_warn(bench->call, "%s (%s): %s", disk->name, disk->uri, why->text);
	if (why->hint[0])
		call_note(bench->call, "hint: %s", why->hint);
}

int bench_open_sources(struct bench *bench, struct bench_sources *sources, bool write)
{
	struct bdev_env env;
	unsigned failed = 0;
	int err = disk_env(bench->call, &env, bench->opts->on_loss);

	env.write = write;
	env.force = bench->opts->force;
	for (unsigned i = 0; !err && i < sources->count; i++) {
		err = open_source(bench, sources, i, &env);
		failed += !!sources->disk[i].why.err;
	}
	if (!err && failed == sources->count) {
		*bench->call->diag = sources->disk[0].why;
		return -bench->call->diag->err;
	}
	for (unsigned i = 0; !err && i < sources->count; i++)
		bench_warn_failure(bench, &sources->disk[i]);
	return err;
}

void bench_close_sources(struct bench_sources *sources)
{
	for (unsigned i = 0; i < sources->count; i++)
		bdev_close(sources->disk[i].bdev);
}
