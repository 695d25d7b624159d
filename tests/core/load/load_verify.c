/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Patterns that can be verified: each wrong byte is found, and the actual content is reported. */
#include "load_verify.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BS     4096
#define OFFSET (1ull << 30)

static struct verify verify;
static struct diag why;
static uint8_t block[BS];

static void begin(void)
{
	cr_assert_eq(load_verify_init(&verify, 0x123456789abcdef, OFFSET, 100, BS, &why), 0);
}

static void end(void)
{
	load_verify_fini(&verify);
}

static void write_block(uint64_t at)
{
	uint16_t generation = load_verify_next(&verify, at);

	load_verify_fill(&verify, at, generation, block);
	verify.generation[at] = generation;
}

static void says(uint64_t at, uint64_t byte, const char *instead)
{
	char words[64];

	cr_assert_not(load_verify_same(&verify, at, block));
	cr_assert_eq(load_verify_explain(&verify, at, block, &why), byte);
	snprintf(words, sizeof(words), "byte_%llu %s", (unsigned long long)byte, instead);
	diag_says(&why, DIAG_MISMATCH, NULL, words);
}

Test(load_verify, what_was_written_is_the_same, .init = begin, .fini = end)
{
	for (unsigned i = 0; i < 100; i++) {
		write_block(i);
		cr_assert(load_verify_same(&verify, i, block));
	}
}

Test(load_verify, every_wrong_byte_is_found_and_named, .init = begin, .fini = end)
{
	write_block(5);
	for (unsigned i = 0; i < BS; i++) {
		block[i] ^= 0x10;
		cr_assert_not(load_verify_same(&verify, 5, block));
		cr_assert_eq(load_verify_explain(&verify, 5, block, &why), OFFSET + 5 * BS + i);
		block[i] ^= 0x10;
	}
	cr_assert(load_verify_same(&verify, 5, block));
}

Test(load_verify, zeroes, .init = begin, .fini = end)
{
	write_block(3);
	memset(block + 1024, 0, 512);
	says(3, OFFSET + 3 * BS + 1024, "zeroes");
}

Test(load_verify, a_lost_write, .init = begin, .fini = end)
{
	uint8_t old[BS];

	write_block(3);
	memcpy(old, block, BS);
	write_block(3);
	write_block(3);
	memcpy(block, old, BS);
	cr_assert_not(load_verify_same(&verify, 3, block));
	load_verify_explain(&verify, 3, block, &why);
	diag_says(&why, DIAG_MISMATCH, NULL, "2_writes");
}

Test(load_verify, a_write_that_went_elsewhere, .init = begin, .fini = end)
{
	write_block(8);
	verify.generation[7] = 1;
	cr_assert_not(load_verify_same(&verify, 7, block));
	load_verify_explain(&verify, 7, block, &why);
	diag_says(&why, DIAG_MISMATCH, NULL, "byte_1073774592");
}

Test(load_verify, of_another_run, .init = begin, .fini = end)
{
	struct verify before;

	cr_assert_eq(load_verify_init(&before, 42, OFFSET, 100, BS, &why), 0);
	load_verify_fill(&before, 7, 1, block);
	load_verify_fini(&before);
	verify.generation[7] = 1;
	cr_assert_not(load_verify_same(&verify, 7, block));
	load_verify_explain(&verify, 7, block, &why);
	diag_says(&why, DIAG_MISMATCH, NULL, "another_run");
}

Test(load_verify, of_no_run, .init = begin, .fini = end)
{
	for (unsigned i = 0; i < BS; i++)
		block[i] = (uint8_t)(7 * i + 1);
	verify.generation[7] = 1;
	load_verify_explain(&verify, 7, block, &why);
	diag_says(&why, DIAG_MISMATCH, NULL, "this_run");
	verify.from_state = true;
	load_verify_explain(&verify, 7, block, &why);
	diag_says(&why, DIAG_MISMATCH, NULL, "run_of_the_state");
}

Test(load_verify, generations_go_round_without_zero, .init = begin, .fini = end)
{
	verify.generation[0] = UINT16_MAX;
	cr_assert_eq(load_verify_next(&verify, 0), 1);
}

Test(load_verify, a_state_that_is_damaged_is_refused, .init = begin, .fini = end)
{
	char path[] = "/tmp/load_verify.XXXXXX", bytes[512], cut[512];
	struct verify read_back;
	int fd = mkstemp(path);
	ssize_t len;

	for (unsigned i = 0; i < 100; i += 3)
		write_block(i);
	write_block(3);
	verify.disk_size = 5ull << 40;
	verify.disk_block = 4096;
	cr_assert_eq(load_state_write(&verify, path, &why), 0, "%s", why.text);
	cr_assert_eq(load_state_read(&read_back, true, path, &why), 0, "%s", why.text);
	cr_assert(read_back.seed == verify.seed && read_back.offset == OFFSET &&
		  read_back.blocks == 100 && read_back.bs == BS &&
		  read_back.disk_size == verify.disk_size && read_back.disk_block == 4096);
	cr_assert_arr_eq(read_back.generation, verify.generation, 200);
	load_verify_fini(&read_back);

	len = pread(fd, bytes, sizeof(bytes), 0);
	cr_assert_eq(len, 64 + 200 + 4);
	for (ssize_t i = 0; i < 2 * len; i++) { /* too short, then a wrong byte */
		size_t size = (size_t)(i < len ? i : len);

		memcpy(cut, bytes, size);
		if (i >= len)
			cut[i - len] ^= 0x20;
		cr_assert(!ftruncate(fd, 0) && pwrite(fd, cut, size, 0) == (ssize_t)size);
		cr_assert_eq(load_state_read(&read_back, true, path, &why), -EINVAL, "%zd", i);
		diag_says(&why, DIAG_USAGE, path, "");
	}
	memset(verify.generation, 0, 200);
	cr_assert_eq(load_state_write(&verify, path, &why), 0, "%s", why.text);
	cr_assert_eq(load_state_read(&read_back, true, path, &why), -EINVAL);
	diag_says(&why, DIAG_USAGE, path, "no_written_block");
	close(fd);
	unlink(path);
	cr_assert_eq(load_state_read(&read_back, false, path, &why), -ENOENT);
	diag_says(&why, DIAG_NOT_FOUND, path, "open");
}
