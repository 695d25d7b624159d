/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/block */
/* Map files: whatever is accepted covers the source exactly, is written and read back as itself,
 * and finishes no more when aligned. */
#include "../../core/block/copy_map.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct copy_map map, again;
	uint64_t at = 0, disk;
	size_t len;
	char *text;

	if (size < 8)
		return 0;
	memcpy(&disk, data, 8);
	assert(copy_map_init(&map, disk, NULL) == 0 && copy_map_init(&again, disk, NULL) == 0);
	if (copy_map_parse(&map, (const char *)data + 8, size - 8, NULL) == 0) {
		for (size_t i = 0; i < map.count; at += map.extent[i++].len)
			assert(map.extent[i].off == at && map.extent[i].len);
		assert(at == disk);
		text = copy_map_text(&map, 0, &len);
		assert(text && copy_map_parse(&again, text, len, NULL) == 0);
		assert(again.count == map.count);
		for (size_t i = 0; i < map.count; i++)
			assert(again.extent[i].off == map.extent[i].off &&
				again.extent[i].status == map.extent[i].status);
		for (unsigned i = 0; i < 2; i++)
			assert(again.disk[i].size == map.disk[i].size &&
				!strcmp(again.disk[i].id, map.disk[i].id) &&
				!strcmp(again.disk[i].uri, map.disk[i].uri));
		free(text);
		assert(copy_map_align(&map, 4096) == 0);
		at = 0;
		for (size_t i = 0; i < map.count; at += map.extent[i++].len)
			assert(map.extent[i].off == at && at % 4096 == 0 && map.extent[i].len);
		assert(at == disk);
		assert(copy_map_sum(&map, COPY_DONE) <= copy_map_sum(&again, COPY_DONE));
	}
	copy_map_fini(&map);
	copy_map_fini(&again);
	return 0;
}
