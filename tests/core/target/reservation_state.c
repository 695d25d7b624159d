/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Files of reservations: what is written is read again; cut, changed and forged ones are refused; a
 * failed write leaves the earlier file. */
/* Link: fsync leap */
#include "crc32c.h"
#include "disk.h"
#include "leap.h"
#include "reservation_set.h"
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT 4096

static const uint8_t nguid[16] = { 0x0a, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff };
static const uint8_t other[16] = { 1 };

/* --- contents */

static struct reservation_registrant *registrant(
	uint8_t protocol, uint8_t number, struct reservation_registrant *next)
{
	struct reservation_registrant *reg = calloc(1, sizeof(*reg));

	*reg = (struct reservation_registrant){ .next = next,
		.key = 0xa0u + number,
		.host = { .protocol = protocol,
			.target_port = 65535,
			.id_len = protocol == RESERVATION_NVME ? 16 : 24,
			.name_at = protocol == RESERVATION_NVME ? 16 : 8,
			.name_len = 7 } };
	for (unsigned i = 0; i < 24; i++)
		reg->host.id[i] = (uint8_t)(i * 11 + number);
	return reg;
}

/* Three registrants; the second one holds it. */
static struct reservation_set three(void)
{
	struct reservation_set set = { .persist = true, .type = 5 };

	set.registrants = registrant(RESERVATION_SCSI, 3, NULL);
	set.registrants = set.holder = registrant(RESERVATION_NVME, 2, set.registrants);
	set.registrants = registrant(RESERVATION_SCSI, 1, set.registrants);
	return set;
}

static char *text_of(size_t *len)
{
	struct reservation_set set = three();
	char *text = reservation_text(&set, nguid, len);

	cr_assert(text && *len < TEXT);
	reservation_set_free(&set);
	return text;
}

static int reads(const char *text, size_t len, struct diag *why)
{
	struct reservation_set set;
	int err;

	*why = (struct diag){ 0 };
	err = reservation_text_read(&set, nguid, text, len, why);
	if (!err)
		reservation_set_free(&set);
	cr_assert(!err || (why->text[0] && !set.registrants));
	return err;
}

Test(reservation_state, is_read_as_written)
{
	struct reservation_set set = three(), back;
	struct reservation_registrant *a = set.registrants, *b;
	struct diag why = { 0 };
	size_t len;
	char *text = reservation_text(&set, nguid, &len);

	cr_assert_eq(reservation_text_read(&back, nguid, text, len, &why), 0, "%s", why.text);
	cr_assert(back.persist && back.type == 5 && back.holder == back.registrants->next);
	for (b = back.registrants; a && b; a = a->next, b = b->next) {
		cr_assert_eq(a->key, b->key);
		cr_assert(reservation_same_host(&a->host, &b->host));
		cr_assert(a->host.target_port == b->host.target_port &&
			  a->host.name_at == b->host.name_at &&
			  a->host.name_len == b->host.name_len);
		cr_assert_arr_eq(a->host.id, b->host.id, 23);
	}
	cr_assert(!a && !b);
	reservation_set_free(&back);
	free(text);
	set.registrants->removed = true; /* in a plan */
	text = reservation_text(&set, nguid, &len);
	cr_assert_eq(reservation_text_read(&back, nguid, text, len, &why), 0, "%s", why.text);
	cr_assert(back.holder == back.registrants && back.registrants->key == 0xa2);
	reservation_set_free(&back);
	free(text);
	set.persist = false;
	text = reservation_text(&set, nguid, &len);
	cr_assert_eq(reservation_text_read(&back, nguid, text, len, &why), 0, "%s", why.text);
	cr_assert(!back.persist && !back.registrants && !back.holder);
	free(text);
	reservation_set_free(&set);
}

Test(reservation_state, cut_or_changed_anywhere)
{
	struct diag why;
	size_t len;
	char *text = text_of(&len);

	for (size_t cut = 0; cut < len; cut++) {
		char *part = malloc(cut + 1);

		memcpy(part, text, cut);
		cr_assert_eq(reads(part, cut, &why), -EINVAL, "%zu bytes", cut);
		cr_assert(why.hint[0], "%s", why.text);
		free(part);
	}
	for (size_t at = 0; at < len; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			text[at] = (char)(text[at] ^ 1 << bit);
			cr_assert(reads(text, len, &why), "byte %zu, bit %u", at, bit);
			text[at] = (char)(text[at] ^ 1 << bit);
		}
	cr_assert_eq(reads(text, len, &why), 0);
	free(text);
}

/* Replace a word, and the CRC. */
static int forged(const char *from, const char *to, struct diag *why)
{
	size_t len;
	char *text = text_of(&len), *at = strstr(text, from), changed[TEXT];
	int n;

	cr_assert(at, "%s", from);
	n = snprintf(changed, TEXT, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	n -= (int)strlen("end 01234567\n");
	snprintf(changed + n, TEXT - (size_t)n, "end %08x\n", crc32c(0, changed, (size_t)n));
	free(text);
	return reads(changed, strlen(changed), why);
}

Test(reservation_state, forged_with_a_right_crc)
{
	static const struct {
		const char *from, *to;
		int err;
	} rows[] = {
		{ "persist 1", "persist 1", 0 },
		{ "key 00000000000000a1", "key 00000000000000b1", 0 },
		{ "key 00000000000000a1", "key 0000000000000000", -EINVAL },
		{ "key 00000000000000a1", "key 000000000000000a1", -EINVAL },
		{ "port 65535", "port 65536", -EINVAL },
		{ "port 65535", "port -1", -EINVAL },
		{ "port 65535", "port  65535", -EINVAL },
		{ "name 8+7", "name 252+7", -EINVAL },
		{ "name 8+7", "name 65535+7", -EINVAL },
		{ "name 8+7", "name 65529+7", -EINVAL },
		{ "name 8+7", "name 8+17", -EINVAL },
		{ "id 24", "id 23", -EINVAL },
		{ "id 24", "id 25", -EINVAL },
		{ "id 24", "id 253", -EINVAL },
		{ "id 24", "id 0", -EINVAL },
		{ "id 16", "id 15", -EINVAL },
		{ "id 16", "id 17", -EINVAL },
		{ "host 1 key", "host 0 key", -EINVAL },
		{ "host 1 key", "host 2 key", -EINVAL },
		{ "host 1 key", "host 257 key", -EINVAL },
		{ "type 5", "type 0", -EINVAL },
		{ "type 5", "type 2", -EINVAL },
		{ "type 5", "type 9", -EINVAL },
		{ "type 5", "type 261", -EINVAL },
		{ "holder 2", "holder 0", -EINVAL },
		{ "holder 2", "holder 4", -EINVAL },
		{ "holder 2", "holder 4294967298", -EINVAL },
		{ "persist 1", "persist 0", -EINVAL },
		{ "persist 1", "persist 2", -EINVAL },
		{ "persist 1\n", "persist 1\npersist 1\n", -EINVAL },
		{ "persist 1\n", "persist 1\nreservation type 5 holder 2\n", -EINVAL },
		{ "end ", "\nend ", -EINVAL },
		{ "end ", "end 00000000\nend ", -EINVAL },
		{ "reservations 1\n", "reservations 2\n", -ENOTSUP },
		{ "reservations 1\n", "reservations \n", -EINVAL },
		{ "disk 0a", "disk 0b", -EXDEV },
		{ "disk 0a", "disk 0A", -EINVAL },
		{ "disk 0a", "disk 0", -EINVAL },
	};
	char twice[TEXT];
	struct diag why;
	size_t len;
	char *text = text_of(&len), *line = strstr(text, "host "), *end = strchr(line, '\n') + 1;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_assert_eq(forged(rows[i].from, rows[i].to, &why), rows[i].err, "%s: %s",
			rows[i].to, why.text);
	snprintf(twice, TEXT, "%.*s", (int)(end - line), line);
	snprintf(twice + strlen(twice), TEXT / 2, "%.*s", (int)(end - line), line);
	*end = 0;
	cr_assert_eq(forged(line, twice, &why), -EINVAL, "a host that is registered twice");
	free(text);
}

Test(reservation_state, more_registrations_than_a_disk_has)
{
	struct reservation_set set = { .persist = true };
	struct diag why;
	size_t len;
	char *text;

	for (unsigned i = 0; i <= RESERVATION_MOST; i++) {
		set.registrants = registrant(RESERVATION_SCSI, 1, set.registrants);
		set.registrants->host.id[22] = (uint8_t)i;
		set.registrants->host.id[23] = (uint8_t)(i >> 8);
		if (i + 1 < RESERVATION_MOST)
			continue;
		text = reservation_text(&set, nguid, &len);
		cr_assert_eq(reads(text, len, &why), i < RESERVATION_MOST ? 0 : -EINVAL);
		free(text);
	}
	reservation_set_free(&set);
}

/* --- the folder */

static char dir[] = "/tmp/reservation_state.XXXXXX";
static struct loop *loop;
static struct fake_disk *disk;
static struct reservation_state *state;
static struct diag why;
static unsigned failures;
static int fail_in, fail_for; /* calls of fsync: the first that fails, and how many do */

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	if (fail_for && !fail_in--) {
		fail_in = 0;
		fail_for--;
		errno = ENOSPC;
		return -1;
	}
	return __real_fsync(fd);
}

static void not_saved(const struct diag *reason, void *user)
{
	cr_assert(user == &failures && reason->err == ENOSPC && strstr(reason->object, dir));
	failures++;
}

static int open_state(void)
{
	why = (struct diag){ 0 };
	return reservation_state_open(&state, dir, loop, not_saved, &failures, &why);
}

static int add(unsigned *restored)
{
	why = (struct diag){ 0 };
	return reservation_state_add(state, &disk->bdev, nguid, restored, &why);
}

static void begin(void)
{
	const struct loop_options opt = { .name = "test" };

	cr_assert_eq(loop_new(&loop, &opt, NULL), 0);
	disk = fake_disk_new(loop, 1 << 20, 512);
	cr_assert(mkdtemp(dir));
	cr_assert_eq(open_state(), 0, "%s", why.text);
}

static const char *file(const char *suffix)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/0a0102030405060708090a0b0c0d0eff%s", dir, suffix);
	return path;
}

static unsigned files(void)
{
	DIR *of = opendir(dir);
	unsigned count = 0;

	while (readdir(of))
		count++;
	closedir(of);
	return count - 2;
}

static void end(void)
{
	reservation_state_close(state);
	unlink(file(".reservations"));
	cr_assert_eq(rmdir(dir), 0, "files are left");
	fake_disk_free(disk);
	loop_free(loop);
}

static void put(const char *text, size_t len)
{
	int fd = open(file(".reservations"), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	cr_assert_eq(write(fd, text, len), (ssize_t)len);
	close(fd);
}

static void same_file(const char *text, size_t len)
{
	char got[TEXT];
	int fd = open(file(".reservations"), O_RDONLY);

	cr_assert_eq(read(fd, got, sizeof(got)), (ssize_t)len);
	cr_assert_arr_eq(got, text, len);
	close(fd);
}

Test(reservation_state, one_process_has_the_folder)
{
	struct reservation_state *first;
	unsigned restored;

	begin();
	first = state;
	cr_assert_eq(open_state(), -EBUSY);
	cr_assert(strstr(why.object, dir) && why.hint[0]);
	state = first;
	cr_assert_eq(add(&restored), 0, "%s", why.text);
	cr_assert_eq(restored, 0);
	cr_assert_eq(add(&restored), -EEXIST);
	end();
}

Test(reservation_state, no_folder)
{
	begin();
	reservation_state_close(state);
	cr_assert_eq(rmdir(dir), 0);
	cr_assert_eq(open_state(), -ENOENT);
	cr_assert(strstr(why.object, dir) && strstr(why.hint, "mkdir"));
	cr_assert_eq(close(open(dir, O_CREAT | O_WRONLY, 0600)), 0);
	cr_assert_eq(open_state(), -ENOTDIR);
	cr_assert_eq(unlink(dir), 0);
	cr_assert_eq(mkdir(dir, 0700), 0);
	fail_for = 1;
	cr_assert_eq(open_state(), -ENOSPC);
	cr_assert_eq(files(), 0);
	cr_assert_eq(open_state(), 0, "%s", why.text);
	end();
}

Test(reservation_state, what_is_restored)
{
	struct reservation_set set = three();
	unsigned restored;
	size_t len;
	char *text = text_of(&len);

	begin();
	put(text, len - 1);
	cr_assert_eq(add(&restored), -EINVAL);
	cr_assert(strstr(why.object, "0a0102") && why.hint[0], "%s", why.object);
	free(text);
	text = reservation_text(&set, other, &len);
	put(text, len);
	cr_assert_eq(add(&restored), -EXDEV);
	free(text);
	unlink(file(".reservations"));
	cr_assert_eq(mkdir(file(".reservations"), 0700), 0);
	cr_assert_eq(add(&restored), -EFBIG);
	cr_assert_eq(rmdir(file(".reservations")), 0);
	cr_assert_eq(symlink("/dev/null", file(".reservations")), 0);
	cr_assert_eq(add(&restored), -ELOOP);
	unlink(file(".reservations"));
	text = text_of(&len);
	put(text, len);
	cr_assert_eq(add(&restored), 0, "%s", why.text);
	cr_assert_eq(restored, 3);
	same_file(text, len);
	free(text);
	reservation_set_free(&set);
	end();
}

/* The new file, then the folder; then the earlier file again, and the folder. */
Test(reservation_state, failed_write_leaves_the_earlier_file)
{
	struct reservation_set set = three();
	struct reservations *reservations;
	volatile int never = 0;
	unsigned restored;
	size_t len, new_len;
	char *text = text_of(&len), *new_text;

	set.type = 6;
	new_text = reservation_text(&set, nguid, &new_len);
	begin();
	put(text, len);
	cr_assert_eq(add(&restored), 0, "%s", why.text);
	reservations = reservations_get(&disk->bdev);
	for (int at = 0; at < 2; at++) {
		fail_in = at;
		fail_for = 1;
		cr_assert_eq(
			reservation_state_save(state, reservations, new_text, new_len, text, len),
			-ENOSPC);
		cr_assert_eq(fail_for, 0);
		same_file(text, len);
		cr_assert_eq(files(), 1);
	}
	loop_wait(loop, &never, loop_clock() + MSEC);
	cr_assert_eq(failures, 1, "one report for both");
	cr_assert_eq(reservation_state_save(state, reservations, new_text, new_len, text, len), 0);
	same_file(new_text, new_len);
	cr_assert_eq(files(), 1);
	loop_wait(loop, &never, loop_clock() + 11 * SEC);
	fail_in = 0;
	fail_for = 1;
	cr_assert_eq(
		reservation_state_save(state, reservations, text, len, new_text, new_len), -ENOSPC);
	reservations_put(reservations);
	free(text);
	free(new_text);
	reservation_set_free(&set);
	end();
	cr_assert_eq(failures, 2, "reported before the end");
}
