/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Extents and their file, a GNU ddrescue mapfile (its manual, "Mapfile structure"). Comments name
 * the disks, and the last one carries a checksum of the bytes before it. ddrescue drops comments,
 * so a file without the checksum is accepted. */
#include "copy_map.h"
#include "names.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAP_FILE_MAX (64u << 20)
#define SUM_LINE     "# rdmastor checksum "

static const char *const disk_word[] = { [COPY_SRC] = "Source", [COPY_DST] = "Destination" };

static void set_line(char *to, size_t room, const char *from)
{
	snprintf(to, room, "%s", from);
	for (; *to; to++)
		if ((unsigned char)*to < ' ' || *to == 0x7f)
			*to = '?';
}

void copy_disk_set(struct copy_disk *disk, uint64_t size, const char *id, const char *uri)
{
	disk->size = size;
	set_line(disk->id, sizeof(disk->id), id);
	set_line(disk->uri, sizeof(disk->uri), uri);
}

int copy_map_init(struct copy_map *map, uint64_t size, struct diag *diag)
{
	memset(map, 0, sizeof(*map));
	map->size = size;
	map->room = 64;
	map->extent = calloc(map->room, sizeof(*map->extent));
	if (!map->extent)
		return diag_sys(diag, ENOMEM, "map");
	if (size)
		map->extent[map->count++] = (struct copy_extent){ 0, size, COPY_TODO };
	return 0;
}

void copy_map_fini(struct copy_map *map)
{
	free(map->extent);
	map->extent = NULL;
}

/* Index of the extent that contains `off`; count if it is behind the last. */
static size_t find_extent(const struct copy_map *map, uint64_t off)
{
	size_t low = 0, high = map->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (map->extent[mid].off + map->extent[mid].len <= off)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int make_room(struct copy_map *map, size_t more)
{
	size_t room = map->room ? map->room * 2 : 64;
	struct copy_extent *extent;

	if (map->count + more <= map->room)
		return 0;
	extent = reallocarray(map->extent, room, sizeof(*extent));
	if (!extent)
		return -ENOMEM;
	map->extent = extent;
	map->room = room;
	return 0;
}

/* Replace the extents [first, last) by the `count` at `by`. */
static void replace(
	struct copy_map *map, size_t first, size_t last, const struct copy_extent *by, size_t count)
{
	memmove(map->extent + first + count, map->extent + last, (map->count - last) * sizeof(*by));
	memcpy(map->extent + first, by, count * sizeof(*by));
	map->count = map->count - (last - first) + count;
}

int copy_map_set(struct copy_map *map, uint64_t off, uint64_t len, uint8_t status)
{
	uint64_t end = off + len;
	struct copy_extent by[3];
	size_t first, last, n = 0;

	if (!len)
		return 0;
	if (make_room(map, 2) < 0)
		return -ENOMEM;
	first = find_extent(map, off);
	last = find_extent(map, end - 1) + 1;
	if (first && map->extent[first].off == off && map->extent[first - 1].status == status)
		first--;
	if (last < map->count && map->extent[last].off == end && map->extent[last].status == status)
		last++;
	const struct copy_extent left = map->extent[first], right = map->extent[last - 1];
	const uint64_t right_end = right.off + right.len;

	if (left.off < off && left.status != status)
		by[n++] = (struct copy_extent){ left.off, off - left.off, left.status };
	else if (left.off < off)
		off = left.off;
	if (right_end > end && right.status == status)
		end = right_end;
	by[n++] = (struct copy_extent){ off, end - off, status };
	if (right_end > end)
		by[n++] = (struct copy_extent){ end, right_end - end, right.status };
	replace(map, first, last, by, n);
	return 0;
}

/* Merge neighbours with the same status. */
static void merge(struct copy_map *map)
{
	size_t kept = 0;

	for (size_t i = 1; i < map->count; i++) {
		if (map->extent[i].status == map->extent[kept].status)
			map->extent[kept].len += map->extent[i].len;
		else
			map->extent[++kept] = map->extent[i];
	}
	if (map->count)
		map->count = kept + 1;
}

void copy_map_change_status(struct copy_map *map, uint8_t from, uint8_t to)
{
	for (size_t i = 0; i < map->count; i++)
		if (map->extent[i].status == from)
			map->extent[i].status = to;
	merge(map);
}

uint64_t copy_map_sum(const struct copy_map *map, uint8_t status)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < map->count; i++)
		if (map->extent[i].status == status)
			sum += map->extent[i].len;
	return sum;
}

uint8_t copy_map_status(const struct copy_map *map, uint64_t off)
{
	return map->extent[find_extent(map, off)].status;
}

bool copy_map_next(const struct copy_map *map, uint64_t from, const char *letters, uint64_t *off,
	uint64_t *len)
{
	for (size_t i = find_extent(map, from); i < map->count; i++) {
		const struct copy_extent *extent = &map->extent[i];

		if (!strchr(letters, extent->status))
			continue;
		*off = extent->off > from ? extent->off : from;
		*len = extent->off + extent->len - *off;
		return true;
	}
	return false;
}

/* Append an extent after the last one. */
static int append(struct copy_map *map, uint64_t end, uint8_t status)
{
	struct copy_extent *last = map->count ? &map->extent[map->count - 1] : NULL;
	uint64_t off = last ? last->off + last->len : 0;

	if (off >= end)
		return 0;
	if (last && last->status == status) {
		last->len = end - last->off;
		return 0;
	}
	if (make_room(map, 1) < 0)
		return -ENOMEM;
	map->extent[map->count++] = (struct copy_extent){ off, end - off, status };
	return 0;
}

int copy_map_align(struct copy_map *map, uint32_t unit)
{
	struct copy_extent *was = map->extent;
	size_t count = map->count;
	int err = 0;

	map->count = map->room = 0;
	map->extent = NULL;
	for (size_t i = 0; i < count && !err; i++) {
		uint64_t end = was[i].off + was[i].len;
		uint64_t from = was[i].off + (unit - was[i].off % unit) % unit;

		if (end < map->size)
			end -= end % unit;
		if (was[i].status == COPY_TODO || from < was[i].off || from >= end)
			continue;
		err = append(map, from, COPY_TODO);
		if (!err)
			err = append(map, end, was[i].status);
	}
	free(was);
	return err ? err : append(map, map->size, COPY_TODO);
}

static uint8_t letter(uint8_t status)
{
	return status == COPY_WRITTEN || status == COPY_FLUSHING ? COPY_TODO : status;
}

/* FNV-1a: detects any single damaged byte. */
static uint64_t checksum(const char *text, size_t len)
{
	uint64_t sum = 0xcbf29ce484222325;

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ (uint8_t)text[i]) * 0x100000001b3;
	return sum;
}

char *copy_map_text(const struct copy_map *map, uint64_t at, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);
	bool todo = copy_map_sum(map, COPY_DONE) < map->size;

	if (!f)
		return NULL;
	fprintf(f, "# Mapfile. Created by rdmastor copy\n");
	for (unsigned i = 0; i < 2 && map->disk[i].id[0]; i++)
		fprintf(f, "# %s: %s\n# %s identity: %" PRIu64 " bytes, %s\n", disk_word[i],
			map->disk[i].uri, disk_word[i], map->disk[i].size, map->disk[i].id);
	fprintf(f, "# current_pos  current_status  current_pass\n");
	fprintf(f, "0x%08" PRIX64 "     %c               1\n#      pos        size  status\n", at,
		todo ? '?' : '+');
	for (size_t i = 0; i < map->count;) {
		const struct copy_extent *extent = &map->extent[i];
		uint64_t sum = 0;

		for (; i < map->count && letter(map->extent[i].status) == letter(extent->status);
			i++)
			sum += map->extent[i].len;
		fprintf(f, "0x%08" PRIX64 "  0x%08" PRIX64 "  %c\n", extent->off, sum,
			letter(extent->status));
	}
	if (fflush(f) == 0)
		fprintf(f, SUM_LINE "0x%016" PRIX64 "\n", checksum(text, *len));
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

struct line {
	const char *p, *end; /* without the line feed */
	unsigned number;
};

static bool next_line(struct line *line, const char **rest, const char *end)
{
	const char *feed;

	if (*rest == end)
		return false;
	feed = memchr(*rest, '\n', end - *rest);
	line->p = *rest;
	line->end = feed ? feed : end;
	line->number++;
	*rest = feed ? feed + 1 : end;
	return true;
}

static void skip_blanks(struct line *line)
{
	while (line->p < line->end && (*line->p == ' ' || *line->p == '\t'))
		line->p++;
}

static int digit(char c, unsigned base)
{
	int value = hex_digit(c);

	return value < (int)base ? value : -1;
}

static bool parse_number(struct line *line, uint64_t *number)
{
	unsigned base = 10;
	const char *start;

	skip_blanks(line);
	if (line->end - line->p > 2 && line->p[0] == '0' &&
		(line->p[1] == 'x' || line->p[1] == 'X')) {
		base = 16;
		line->p += 2;
	}
	start = line->p;
	for (*number = 0; line->p < line->end && digit(*line->p, base) >= 0; line->p++)
		if (__builtin_mul_overflow(*number, base, number) ||
			__builtin_add_overflow(*number, digit(*line->p, base), number))
			return false;
	return line->p > start && line->p < line->end && (*line->p == ' ' || *line->p == '\t');
}

static bool parse_letter(struct line *line, const char *letters, char *c)
{
	skip_blanks(line);
	if (line->p == line->end || !*line->p || !strchr(letters, *line->p))
		return false;
	*c = *line->p++;
	return line->p == line->end || *line->p == ' ' || *line->p == '\t';
}

static bool at_end(struct line *line)
{
	skip_blanks(line);
	return line->p == line->end;
}

/* "pos status [pass]" */
static bool parse_current(struct line line)
{
	uint64_t pos;
	char c;

	if (!parse_number(&line, &pos) || !parse_letter(&line, "?*/-FG+", &c))
		return false;
	skip_blanks(&line);
	while (line.p < line.end && digit(*line.p, 10) >= 0)
		line.p++;
	return at_end(&line);
}

/* "pos size status": must start where the one before ends. */
static bool parse_extent(struct line line, struct copy_map *map, uint64_t *at)
{
	uint64_t pos, size;
	uint8_t status;
	char c;

	if (!parse_number(&line, &pos) || !parse_number(&line, &size) ||
		!parse_letter(&line, "?*/-+", &c) || !at_end(&line))
		return false;
	if (pos != *at || !size || size > map->size - pos || make_room(map, 1) < 0)
		return false;
	status = c == COPY_DONE || c == COPY_BAD ? c : COPY_TODO;
	if (map->count && map->extent[map->count - 1].status == status)
		map->extent[map->count - 1].len += size;
	else
		map->extent[map->count++] = (struct copy_extent){ pos, size, status };
	*at += size;
	return true;
}

static bool parse_word(struct line *line, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(line->end - line->p) < len || memcmp(line->p, word, len))
		return false;
	line->p += len;
	return true;
}

static void copy_rest(const struct line *line, char *to, size_t room)
{
	snprintf(to, room, "%.*s", (int)(line->end - line->p), line->p);
}

/* Parse a comment that names a disk. */
static void parse_disk(struct line line, struct copy_map *map)
{
	for (unsigned i = 0; i < 2; i++) {
		struct copy_disk *disk = &map->disk[i];
		struct line at = line;

		if (!parse_word(&at, "# ") || !parse_word(&at, disk_word[i]))
			continue;
		if (parse_word(&at, ": "))
			copy_rest(&at, disk->uri, sizeof(disk->uri));
		else if (parse_word(&at, " identity:") && parse_number(&at, &disk->size) &&
			 parse_word(&at, " bytes, "))
			copy_rest(&at, disk->id, sizeof(disk->id));
	}
}

static bool sum_right(const char *text, const struct line *line)
{
	struct line number = { line->p + strlen(SUM_LINE), line->end, 0 };
	char digits[24];

	snprintf(digits, sizeof(digits), "0x%016" PRIX64, checksum(text, line->p - text));
	return (size_t)(number.end - number.p) == strlen(digits) &&
	       !memcmp(number.p, digits, strlen(digits));
}

static bool is_sum(const struct line *line)
{
	return (size_t)(line->end - line->p) >= strlen(SUM_LINE) &&
	       !memcmp(line->p, SUM_LINE, strlen(SUM_LINE));
}

static int not_usable(const struct copy_map *map, struct diag *diag)
{
	diag_hint(diag, "%s: --resume OTHER",
		map->disk[COPY_SRC].id[0] ? "use another map for this copy"
					  : "delete it or name another map");
	return -EINVAL;
}

int copy_map_parse(struct copy_map *map, const char *text, size_t len, struct diag *diag)
{
	const char *rest = text, *end = text + len;
	struct line line = { 0 };
	bool current = false;
	uint64_t at = 0;

	map->count = 0;
	memset(map->disk, 0, sizeof(map->disk));
	while (next_line(&line, &rest, end)) {
		if (is_sum(&line) && !sum_right(text, &line)) {
			diag_set(diag, DIAG_MISMATCH, EINVAL, "line %u: wrong checksum",
				line.number);
			diag_hint(diag, "if you have edited the map, delete that line");
			return -EINVAL;
		}
		parse_disk(line, map);
		if (line.p == line.end || *line.p == '#')
			continue;
		if (!current ? !parse_current(line) : !parse_extent(line, map, &at)) {
			diag_set(diag, DIAG_MISMATCH, EINVAL,
				"line %u: invalid in a map of %" PRIu64 " bytes", line.number,
				map->size);
			return not_usable(map, diag);
		}
		current = true;
	}
	if (!map->disk[COPY_SRC].id[0] || !map->disk[COPY_DST].id[0])
		memset(map->disk, 0, sizeof(map->disk));
	if (at == map->size)
		return 0;
	diag_set(diag, DIAG_MISMATCH, EINVAL,
		"covers %" PRIu64 " bytes, but the source has %" PRIu64, at, map->size);
	return not_usable(map, diag);
}

int copy_map_load(struct copy_map *map, const char *path, struct diag *diag)
{
	int rc, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *text = NULL;
	ssize_t got = 0;
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0) {
		rc = diag_sys(diag, errno, "open");
	} else if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > MAP_FILE_MAX) {
		diag_set(diag, DIAG_MISMATCH, EINVAL, "not a map");
		rc = not_usable(map, diag);
	} else if (!st.st_size) {
		rc = 0;
	} else if (!(text = malloc(st.st_size + 1))) {
		rc = diag_sys(diag, ENOMEM, "read");
	} else {
		size_t len = 0;

		while (len < (size_t)st.st_size &&
			(got = read(fd, text + len, st.st_size - len)) > 0)
			len += got;
		rc = got < 0 ? diag_sys(diag, errno, "read") : copy_map_parse(map, text, len, diag);
	}
	if (rc)
		diag_ctx(diag, "map %s", path);
	free(text);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int write_file(const char *path, const char *text, size_t len)
{
	int err = 0, fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);

	if (fd < 0)
		return -errno;
	for (size_t at = 0; at < len && !err;) {
		ssize_t put = write(fd, text + at, len - at);

		if (put < 0)
			err = -errno;
		else
			at += put;
	}
	if (!err && fsync(fd) < 0)
		err = -errno;
	if (close(fd) < 0 && !err)
		err = -errno;
	if (err)
		unlink(path);
	return err;
}

/* A new name is durable only after its directory is synced. File systems that can't sync
 * directories return EINVAL. */
static int sync_dir(char *path)
{
	int err = 0, fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fsync(fd) < 0 && errno != EINVAL)
		err = -errno;
	close(fd);
	return err;
}

static int fresh_name(const char *path, char fresh[PATH_MAX])
{
	return snprintf(fresh, PATH_MAX, "%s.new", path) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int copy_map_writable(const char *path)
{
	char fresh[PATH_MAX];
	int err = fresh_name(path, fresh);

	if (!err && access(dirname(fresh), W_OK | X_OK) < 0)
		err = -errno;
	return err;
}

int copy_map_write(const char *path, const char *text, size_t len)
{
	char fresh[PATH_MAX];
	int err = fresh_name(path, fresh);

	if (!err)
		err = write_file(fresh, text, len);
	if (!err && rename(fresh, path) < 0)
		err = -errno;
	return err ? err : sync_dir(fresh);
}
