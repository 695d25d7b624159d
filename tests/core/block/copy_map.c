/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The map of a copy and its file. */
#include "copy_map.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct copy_map new_map(uint64_t size)
{
	struct copy_map map;

	cr_assert_eq(copy_map_init(&map, size, NULL), 0);
	return map;
}

static void check_shape(const struct copy_map *map)
{
	uint64_t at = 0;

	for (size_t i = 0; i < map->count; i++) {
		cr_assert_eq(map->extent[i].off, at);
		cr_assert(map->extent[i].len);
		if (i)
			cr_assert_neq(map->extent[i].status, map->extent[i - 1].status);
		at += map->extent[i].len;
	}
	cr_assert_eq(at, map->size);
}

Test(copy_map, setting_ranges_agrees_with_an_array_of_bytes)
{
	static const char letters[] = "?-+wf";
	struct copy_map map = new_map(300);
	char model[300];
	unsigned seed = 1;

	memset(model, '?', sizeof(model));
	for (int n = 0; n < 20000; n++) {
		unsigned off = rand_r(&seed) % 300, len = rand_r(&seed) % (n % 2 ? 301 - off : 6);
		char status = letters[rand_r(&seed) % 5];

		len = len < 300 - off ? len : 300 - off;
		if (n % 100 == 99) {
			copy_map_change_status(&map, 'w', '+');
			for (unsigned i = 0; i < 300; i++)
				model[i] = model[i] == 'w' ? '+' : model[i];
		}
		cr_assert_eq(copy_map_set(&map, off, len, status), 0);
		memset(model + off, status, len);
		check_shape(&map);
		for (size_t e = 0; e < map.count; e++)
			for (uint64_t i = map.extent[e].off;
				i < map.extent[e].off + map.extent[e].len; i++)
				cr_assert_eq(model[i], map.extent[e].status);
	}
	copy_map_fini(&map);
}

Test(copy_map, next_finds_ranges_in_order)
{
	struct copy_map map = new_map(1000);
	uint64_t off, len;

	copy_map_set(&map, 100, 200, '+');
	copy_map_set(&map, 500, 10, '-');
	cr_assert(copy_map_next(&map, 0, "?-", &off, &len) && off == 0 && len == 100);
	cr_assert(copy_map_next(&map, 50, "?-", &off, &len) && off == 50 && len == 50);
	cr_assert(copy_map_next(&map, 100, "?-", &off, &len) && off == 300 && len == 200);
	cr_assert(copy_map_next(&map, 500, "?-", &off, &len) && off == 500 && len == 10);
	cr_assert(copy_map_next(&map, 0, "+", &off, &len) && off == 100 && len == 200);
	cr_assert_not(copy_map_next(&map, 300, "+", &off, &len));
	cr_assert_not(copy_map_next(&map, 1000, "?", &off, &len));
	cr_assert_eq(copy_map_sum(&map, '?'), 790);
	copy_map_fini(&map);
}

/* As GNU ddrescue 1.26 writes it, manual section "Mapfile structure". */
static const char ddrescue[] = "# Mapfile. Created by GNU ddrescue version 1.26\n"
			       "# Command line: ddrescue -d /dev/sda image mapfile\n"
			       "# Start time:   2022-04-20 17:50:23\n"
			       "# current_pos  current_status  current_pass\n"
			       "0x29F2DA00     ?               1\n"
			       "#      pos        size  status\n"
			       "0x00000000  0x00117000  +\n"
			       "0x00117000  0x00000200  -\n"
			       "0x00117200  0x00001000  /\n"
			       "0x00118200  0x00007E00  *\n"
			       "0x00120000  0x00048000  ?\n";

Test(copy_map, reads_ddrescues_own_file)
{
	struct copy_map map = new_map(0x168000);
	struct diag diag = { 0 };

	cr_assert_eq(copy_map_parse(&map, ddrescue, strlen(ddrescue), &diag), 0, "%s", diag.text);
	check_shape(&map);
	cr_assert_eq(map.count, 3);
	cr_assert_eq(copy_map_sum(&map, '+'), 0x117000);
	cr_assert_eq(copy_map_sum(&map, '-'), 0x200);
	cr_assert_eq(copy_map_sum(&map, '?'), 0x50e00);
	copy_map_fini(&map);
}

static struct copy_map example(char **text, size_t *len)
{
	struct copy_map map = new_map(1 << 20);

	copy_map_set(&map, 0, 4096, '+');
	copy_map_set(&map, 4096, 4096, 'w');
	copy_map_set(&map, 8192, 4096, 'f');
	copy_map_set(&map, 65536, 512, '-');
	copy_map_set(&map, 131072, 4096, '+');
	*text = copy_map_text(&map, 12288, len);
	cr_assert(*text);
	return map;
}

Test(copy_map, the_file_is_ddrescues_and_unflushed_parts_are_not_finished)
{
	char *text;
	size_t len;
	struct copy_map map = example(&text, &len);

	static const char expected[] = "# Mapfile. Created by rdmastor copy\n"
				       "# current_pos  current_status  current_pass\n"
				       "0x00003000     ?               1\n"
				       "#      pos        size  status\n"
				       "0x00000000  0x00001000  +\n"
				       "0x00001000  0x0000F000  ?\n"
				       "0x00010000  0x00000200  -\n"
				       "0x00010200  0x0000FE00  ?\n"
				       "0x00020000  0x00001000  +\n"
				       "0x00021000  0x000DF000  ?\n"
				       "# rdmastor checksum 0x";

	cr_assert_eq(strncmp(text, expected, strlen(expected)), 0, "%s", text);
	free(text);
	copy_map_fini(&map);
}

static bool finished_more(const struct copy_map *now, const struct copy_map *was)
{
	uint64_t off = 0, len, at, part;

	for (; copy_map_next(now, off, "+", &off, &len); off += len)
		if (!copy_map_next(was, off, "+", &at, &part) || at != off || part < len)
			return true;
	return false;
}

Test(copy_map, every_truncation_and_damaged_byte_is_refused_or_harmless)
{
	char *text;
	size_t len;
	struct copy_map was = example(&text, &len);
	struct copy_map map = new_map(1 << 20);
	unsigned refused = 0;

	for (size_t cut = 0; cut < len; cut++) {
		int rc = copy_map_parse(&map, text, cut, NULL);

		refused += rc < 0;
		if (rc == 0)
			check_shape(&map);
		cr_assert(rc < 0 || !finished_more(&map, &was), "cut at %zu", cut);
	}
	cr_assert(refused > len / 2);
	for (size_t i = 0; i < len; i++) {
		for (int with = 0; with < 256; with++) {
			char kept = text[i];
			int rc;

			text[i] = (char)with;
			rc = copy_map_parse(&map, text, len, NULL);
			cr_assert(rc < 0 || !finished_more(&map, &was), "byte %zu is %d", i, with);
			text[i] = kept;
		}
	}
	cr_assert_eq(copy_map_parse(&map, text, len, NULL), 0);
	free(text);
	copy_map_fini(&was);
	copy_map_fini(&map);
}

Test(copy_map, damaged_bytes_of_a_foreign_file_keep_its_shape)
{
	struct copy_map map = new_map(0x168000);
	char text[sizeof(ddrescue)];
	unsigned seed = 3;

	for (int n = 0; n < 30000; n++) {
		memcpy(text, ddrescue, sizeof(text));
		for (int i = 0; i < 1 + n % 4; i++)
			text[rand_r(&seed) % (sizeof(text) - 1)] = (char)rand_r(&seed);
		if (copy_map_parse(&map, text, strlen(ddrescue), NULL) == 0)
			check_shape(&map);
	}
	copy_map_fini(&map);
}

static int parse(uint64_t size, const char *extents, struct diag *diag)
{
	struct copy_map map = new_map(size);
	char text[512];
	int rc;

	snprintf(text, sizeof(text), "0x0 ? 1\n%s", extents);
	*diag = (struct diag){ 0 };
	rc = copy_map_parse(&map, text, strlen(text), diag);
	copy_map_fini(&map);
	return rc;
}

Test(copy_map, what_does_not_cover_the_source_exactly_is_refused)
{
	struct diag diag;

	cr_assert_eq(parse(100, "0 100 +\n", &diag), 0, "%s", diag.text);
	cr_assert_eq(parse(100, "0 99 +\n", &diag), -EINVAL);
	diag_says(&diag, DIAG_MISMATCH, "", "99 100");
	cr_assert_eq(parse(100, "0 101 +\n", &diag), -EINVAL);
	cr_assert_eq(parse(100, "0 50 +\n51 49 ?\n", &diag), -EINVAL);
	diag_says(&diag, DIAG_MISMATCH, "", "line_3");
	cr_assert_eq(parse(100, "0 50 +\n49 51 ?\n", &diag), -EINVAL);
	cr_assert_eq(parse(100, "0 100 x\n", &diag), -EINVAL);
	cr_assert_eq(parse(100, "0 100 + +\n", &diag), -EINVAL);
	cr_assert_eq(parse(100, "0 -100 +\n", &diag), -EINVAL);
	cr_assert_eq(parse(100, "0 0x10000000000000064 +\n", &diag), -EINVAL);
	cr_assert_eq(parse(100, "0 0 +\n0 100 +\n", &diag), -EINVAL);
	cr_assert_eq(parse(100, "", &diag), -EINVAL);
}

Test(copy_map, an_edited_file_says_how_to_have_it_accepted)
{
	char *text;
	size_t len;
	struct copy_map map = example(&text, &len);
	struct diag diag = { 0 };

	*strstr(text, "0x00001000  +") = '1';
	cr_assert_eq(copy_map_parse(&map, text, len, &diag), -EINVAL);
	memcpy(strstr(text, "1x00001000  +"), "0x00001000  ?", 13);
	diag = (struct diag){ 0 };
	cr_assert_eq(copy_map_parse(&map, text, len, &diag), -EINVAL);
	diag_says(&diag, DIAG_MISMATCH, "", "line checksum");
	text_says(diag.hint, "line");
	cr_assert_eq(copy_map_parse(&map, text, strstr(text, "# rdmastor") - text, NULL), 0);
	free(text);
	copy_map_fini(&map);
}

static int save(const struct copy_map *map, const char *path)
{
	size_t len;
	char *text = copy_map_text(map, 0, &len);
	int rc = copy_map_write(path, text, len);

	free(text);
	return rc;
}

Test(copy_map, saving_replaces_the_file_in_one_step)
{
	char dir[] = "/tmp/copy-map-XXXXXX", path[64], fresh[64], object[64];
	struct copy_map map = new_map(1 << 20), got = new_map(1 << 20);
	struct diag diag = { 0 };

	cr_assert(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/map", dir);
	snprintf(fresh, sizeof(fresh), "%s/map.new", dir);
	cr_assert_eq(copy_map_load(&got, path, &diag), 0);
	cr_assert_eq(copy_map_sum(&got, '?'), 1 << 20);
	cr_assert_eq(copy_map_writable(path), 0);
	cr_assert_eq(save(&map, path), 0);
	copy_map_set(&map, 512, 512, '+');
	cr_assert_eq(save(&map, path), 0);
	cr_assert_eq(access(fresh, F_OK), -1);
	cr_assert_eq(copy_map_load(&got, path, &diag), 0, "%s", diag.text);
	cr_assert_eq(copy_map_sum(&got, '+'), 512);

	/* what cannot be written leaves the old one as it was */
	cr_assert_eq(mkdir(fresh, 0700), 0);
	copy_map_set(&map, 0, 512, '+');
	cr_assert_eq(save(&map, path), -EISDIR);
	cr_assert_eq(copy_map_load(&got, path, &diag), 0);
	cr_assert_eq(copy_map_sum(&got, '+'), 512);
	rmdir(fresh);

	cr_assert_eq(copy_map_load(&got, dir, &diag), -EINVAL);
	snprintf(object, sizeof(object), "map %s", dir);
	diag_says(&diag, DIAG_MISMATCH, object, "map");
	unlink(path);
	rmdir(dir);
	cr_assert_eq(copy_map_writable(path), -ENOENT);
	copy_map_fini(&map);
	copy_map_fini(&got);
}

Test(copy_map, names_of_the_disks_are_kept_and_are_comments)
{
	struct copy_map map = new_map(1 << 20), got = new_map(1 << 20);
	size_t len;
	char *text;

	copy_disk_set(&map.disk[COPY_SRC], 1 << 20, "inode 5\n0 1048576 +", "/a b");
	copy_disk_set(&map.disk[COPY_DST], UINT64_MAX, "0123", "nbd://h/\x7f\x1b");
	text = copy_map_text(&map, 0, &len);
	cr_assert_eq(copy_map_parse(&got, text, len, NULL), 0);
	cr_assert_eq(copy_map_sum(&got, '+'), 0, "a name became an extent");
	cr_assert_str_eq(got.disk[COPY_SRC].id, "inode 5?0 1048576 +");
	cr_assert_str_eq(got.disk[COPY_SRC].uri, "/a b");
	cr_assert_str_eq(got.disk[COPY_DST].id, "0123");
	cr_assert_str_eq(got.disk[COPY_DST].uri, "nbd://h/??");
	cr_assert_eq(got.disk[COPY_SRC].size, 1 << 20);
	cr_assert_eq(got.disk[COPY_DST].size, UINT64_MAX);
	cr_assert_eq(copy_map_parse(&got, ddrescue, strlen(ddrescue), NULL), -EINVAL);
	cr_assert_eq(got.disk[COPY_SRC].id[0], 0, "the names of the map before");
	free(text);

	/* a source without a destination is ignored */
	text = strdup("# Source identity: 100 bytes, x\n0 ? 1\n0 1048576 +\n");
	cr_assert_eq(copy_map_parse(&got, text, strlen(text), NULL), 0);
	cr_assert_eq(got.disk[COPY_SRC].id[0], 0);
	free(text);
	copy_map_fini(&map);
	copy_map_fini(&got);
}

/* A map of another program may cut blocks: what is not whole is to do. */
Test(copy_map, alignment_finishes_no_more_and_loses_less_than_a_unit_at_each_end)
{
	static const char letters[] = "?-+";
	unsigned seed = 7;

	for (int n = 0; n < 2000; n++) {
		uint64_t size = 1 + rand_r(&seed) % 400;
		uint32_t unit = 1u << rand_r(&seed) % 6;
		struct copy_map map = new_map(size);
		char was[400];

		for (int i = 0; i < 6; i++) {
			uint64_t off = rand_r(&seed) % size;

			copy_map_set(&map, off, 1 + rand_r(&seed) % (size - off),
				letters[rand_r(&seed) % 3]);
		}
		for (size_t e = 0; e < map.count; e++)
			memset(was + map.extent[e].off, map.extent[e].status, map.extent[e].len);
		cr_assert_eq(copy_map_align(&map, unit), 0);
		check_shape(&map);
		for (size_t e = 0; e < map.count; e++) {
			const struct copy_extent *extent = &map.extent[e];

			cr_assert_eq(extent->off % unit, 0);
			for (uint64_t i = extent->off; i < extent->off + extent->len; i++) {
				uint64_t first = i / unit * unit,
					 last = first + unit < size ? first + unit : size;
				char expected = was[first];

				for (uint64_t k = first; k < last; k++)
					expected = was[k] == expected ? expected : '?';
				cr_assert_eq(extent->status, expected, "byte %llu of %llu, unit %u",
					(unsigned long long)i, (unsigned long long)size, unit);
			}
		}
		copy_map_fini(&map);
	}
}
