/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Check the options of a load against the disk: requests that it takes, and its part. */
#include "load_job.h"
#include "load_verify.h"
#include "min.h"
#include <errno.h>
#include <inttypes.h>

static int unsupported_request(
	const struct bdev *disk, const struct load_options *opt, struct diag *diag)
{
	uint8_t change = load_io_kind(opt, LOAD_WRITE);

	if (opt->read_percent < 100 && disk->lim.ro)
		return diag_set(diag, DIAG_PERMISSION, EROFS, "is read-only");
	if (opt->read_percent < 100 && !disk->lim.max[change])
		return diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP, "--rw: %s is not supported",
			load_kind_text(opt, LOAD_WRITE));
	if (opt->flush_every && !disk->lim.max[IO_FLUSH])
		return diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP, "--fsync: flush is not supported");
	return 0;
}

/* The file of verify_only is not of this disk. */
static int wrong_state(const struct bdev *disk, const struct load_options *opt, struct diag *diag)
{
	const struct bdev_limits *lim = &disk->lim;

	if (opt->bs % lim->block || opt->offset % lim->block)
		return diag_set(diag, DIAG_MISMATCH, EINVAL,
			"has blocks of %u bytes, but %s is about blocks of %u from byte %" PRIu64,
			lim->block, opt->verify_only, opt->bs, opt->offset);
	if (opt->bs > lim->max[IO_READ])
		return diag_set(diag, DIAG_MISMATCH, E2BIG,
			"reads at most %u bytes per request, but %s is about blocks of %u",
			lim->max[IO_READ], opt->verify_only, opt->bs);
	if (opt->offset + opt->size > lim->size)
		return diag_set(diag, DIAG_MISMATCH, ENOSPC,
			"has %" PRIu64 " bytes, but %s is about the first %" PRIu64, lim->size,
			opt->verify_only, opt->offset + opt->size);
	return 0;
}

static int wrong_request(const struct bdev *disk, const struct load_options *opt, struct diag *diag)
{
	const struct bdev_limits *lim = &disk->lim;
	uint32_t jobs = lim->lanes < LOAD_JOBS_MAX ? lim->lanes : LOAD_JOBS_MAX;
	uint32_t most = opt->read_percent || opt->verify ? lim->max[IO_READ] : UINT32_MAX;
	const char *option = opt->splits ? "--bssplit" : "--bs";

	if (opt->read_percent < 100)
		most = min_u32(most, lim->max[load_io_kind(opt, LOAD_WRITE)]);
	for (unsigned i = 0; i < opt->splits; i++)
		if (opt->split[i].bs % lim->block)
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"%s: must be multiples of %u, the disk's block size", option,
				lim->block);
	if (!opt->bs || opt->bs % lim->block)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"%s: must be a multiple of %u, the disk's block size", option, lim->block);
	if (opt->bs > most)
		return diag_set(diag, DIAG_USAGE, E2BIG,
			"%s: must be at most %u, the disk's longest request", option, most);
	if (!opt->depth || opt->depth > LOAD_DEPTH_MAX)
		return diag_set(
			diag, DIAG_USAGE, ERANGE, "--iodepth: must be 1 to %u", LOAD_DEPTH_MAX);
	if (!opt->jobs || opt->jobs > jobs)
		return diag_set(diag, DIAG_USAGE, ERANGE, "--numjobs: must be 1 to %u%s", jobs,
			jobs < LOAD_JOBS_MAX ? " (the disk's queues)" : "");
	return 0;
}

static int wrong_part(const struct bdev *disk, const struct load_options *opt, struct diag *diag)
{
	const struct bdev_limits *lim = &disk->lim;
	bool writes = opt->verify && !opt->verify_only;
	uint64_t least = writes ? (uint64_t)opt->bs * opt->jobs * opt->depth : opt->bs, rest;

	if (opt->offset % lim->block)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"--offset: must be a multiple of %u, the disk's block size", lim->block);
	if (opt->offset >= lim->size)
		return diag_set(diag, DIAG_USAGE, ENOSPC,
			"--offset: must be less than %" PRIu64 ", the disk's size", lim->size);
	rest = lim->size - opt->offset;
	if (opt->size > rest)
		return diag_set(diag, DIAG_USAGE, ENOSPC,
			"--size: must be at most %" PRIu64 ", the rest of the disk", rest);
	if (opt->size ? opt->size < least : rest < least)
		return diag_set(diag, DIAG_USAGE, ENOSPC,
			"%s: must %s at least %" PRIu64 " bytes, %s",
			opt->size ? "--size" : "--offset", opt->size ? "be" : "leave", least,
			opt->verify ? "one block per request in flight" : "one request");
	if (opt->verify && opt->read_percent == 100 && !opt->verify_only)
		return diag_set(diag, DIAG_USAGE, EINVAL, "--verify requires a --rw that writes");
	if (opt->verify && (opt->size ? opt->size : rest) / opt->bs > LOAD_VERIFY_BLOCKS)
		return diag_set(diag, DIAG_USAGE, EFBIG,
			"--verify: --size must be at most %llu requests", LOAD_VERIFY_BLOCKS);
	return 0;
}

int load_disk_check(const struct bdev *disk, const struct load_options *opt, struct diag *diag)
{
	int err = unsupported_request(disk, opt, diag);

	if (!err && opt->verify_only)
		err = wrong_state(disk, opt, diag);
	if (!err)
		err = wrong_request(disk, opt, diag);
	if (!err)
		err = wrong_part(disk, opt, diag);
	return err ? diag_ctx(diag, "%s", disk->uri), err : 0;
}
