/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which blocks `bench --verify` has written, in a file: a header, a number per block, and the
 * CRC-32C of both, so that the disk can be checked again by another process. */
#include "crc32c.h"
#include "load_verify.h"
#include "report_file.h"
#include "wire.h"
#include <errno.h>
#include <string.h>

#define MAGIC "rdmastor verify"
#define SOME  4096 /* blocks at a time */

#define VERSION 2

struct header { /* little-endian */
	char magic[16];
	le32 version, bs;
	le64 seed, offset, blocks;
	le64 disk_size;
	le32 disk_block, reserved;
};

static uint32_t put(FILE *file, uint32_t crc, const void *p, size_t len)
{
	fwrite(p, 1, len, file);
	return crc32c(crc, p, len);
}

int load_state_write(const struct verify *verify, const char *path, struct diag *diag)
{
	struct header header = { .magic = MAGIC,
		.version = put_le32(VERSION),
		.bs = put_le32(verify->bs),
		.seed = put_le64(verify->seed),
		.offset = put_le64(verify->offset),
		.blocks = put_le64(verify->blocks),
		.disk_size = put_le64(verify->disk_size),
		.disk_block = put_le32(verify->disk_block) };
	FILE *file = report_open(path, false, diag);
	le32 crc;
	uint32_t sum;

	if (!file)
		return -diag->err;
	sum = put(file, 0, &header, sizeof(header));
	for (uint64_t at = 0; at < verify->blocks; at += SOME) {
		le16 some[SOME];
		size_t count = verify->blocks - at < SOME ? verify->blocks - at : SOME;

		for (size_t i = 0; i < count; i++)
			some[i] = put_le16(verify->generation[at + i]);
		sum = put(file, sum, some, count * sizeof(*some));
	}
	crc = put_le32(sum);
	fwrite(&crc, 1, sizeof(crc), file);
	return report_close(file, path, diag);
}

static bool read_header(FILE *file, struct header *header, struct verify *verify)
{
	uint64_t size;

	if (fread(header, 1, sizeof(*header), file) != sizeof(*header))
		return false;
	*verify = (struct verify){ .seed = get_le64(header->seed),
		.offset = get_le64(header->offset),
		.blocks = get_le64(header->blocks),
		.bs = get_le32(header->bs) };
	return !memcmp(header->magic, MAGIC, sizeof(header->magic)) &&
	       get_le32(header->version) == VERSION && verify->bs && !(verify->bs % 512) &&
	       verify->blocks && verify->blocks <= LOAD_VERIFY_BLOCKS &&
	       !__builtin_mul_overflow(verify->blocks, verify->bs, &size) &&
	       verify->offset <= INT64_MAX && size <= INT64_MAX - verify->offset;
}

static bool read_blocks(
	FILE *file, const struct header *header, const struct verify *verify, bool *any)
{
	uint32_t sum = crc32c(0, header, sizeof(*header));
	le32 crc;

	for (uint64_t at = 0; at < verify->blocks; at += SOME) {
		le16 some[SOME];
		size_t count = verify->blocks - at < SOME ? verify->blocks - at : SOME;

		if (fread(some, sizeof(*some), count, file) != count)
			return false;
		sum = crc32c(sum, some, count * sizeof(*some));
		for (size_t i = 0; i < count; i++)
			if (get_le16(some[i])) {
				verify->generation[at + i] = get_le16(some[i]);
				*any = true;
			}
	}
	return fread(&crc, 1, sizeof(crc), file) == sizeof(crc) && get_le32(crc) == sum &&
	       fgetc(file) == EOF;
}

int load_state_read(struct verify *verify, bool blocks, const char *path, struct diag *diag)
{
	FILE *file = report_reopen(path, diag);
	struct header header;
	bool any = false;
	int err = 0;

	if (!file)
		return -diag->err;
	if (!read_header(file, &header, verify))
		err = diag_set(diag, DIAG_USAGE, EINVAL, "is not a state of --verify");
	if (!err && blocks)
		err = load_verify_init(
			verify, verify->seed, verify->offset, verify->blocks, verify->bs, diag);
	verify->from_state = true;
	verify->disk_size = get_le64(header.disk_size);
	verify->disk_block = get_le32(header.disk_block);
	if (!err && blocks && !read_blocks(file, &header, verify, &any))
		err = diag_set(diag, DIAG_USAGE, EINVAL, "is damaged or incomplete");
	else if (!err && blocks && !any)
		err = diag_set(diag, DIAG_USAGE, EINVAL, "has no written block");
	if (err)
		load_verify_fini(verify);
	fclose(file);
	return err ? diag_ctx(diag, "%s", path) : 0;
}

int load_state_options(struct load_options *opt, const char *path, struct diag *diag)
{
	struct verify verify;
	int err = load_state_read(&verify, false, path, diag);

	if (err)
		return err;
	opt->verify = true;
	opt->verify_only = path;
	opt->read_percent = 100;
	opt->random = false;
	opt->bs = verify.bs;
	opt->offset = verify.offset;
	opt->size = verify.blocks * verify.bs;
	opt->state_disk_size = verify.disk_size;
	opt->state_disk_block = verify.disk_block;
	return 0;
}
