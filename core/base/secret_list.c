/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read files that list peers and their secrets. All memory that held secrets is wiped. */
#include "secret_list.h"
#include "helper.h"
#include "secret.h"
#include "secret_mem.h"
#include "uri.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (1u << 20) /* bytes */
#define BLANKS   " \t\r"

/* A helper_fn. */
static int open_list(const char *path, int *fd, void *data, size_t len)
{
	(void)data;
	(void)len;
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return *fd < 0 ? -errno : 0;
}

int secret_list_allow(const char *path)
{
	return helper_allow(HELPER_FILES, open_list, path);
}

static int open_file(const char *path, bool only_owner, size_t *size, struct diag *diag)
{
	struct stat st;
	int fd = -1, err;

	if (!strcmp(path, "-"))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"a list of secrets is read from a file: only a single secret can be typed");
	err = helper_call(open_list, path, &fd, NULL, 0);
	if (err)
		return diag_sys(diag, -err, "open");
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		diag_set(diag, DIAG_USAGE, EINVAL, "not a regular file");
	} else if (only_owner && secret_permissions(path, &st)) {
		diag_set(diag, DIAG_PERMISSION, EACCES,
			"other users have access to its secrets (mode %03o)", st.st_mode & 0777);
		diag_hint(diag, "chmod 600 %s", path);
	} else if (st.st_size > FILE_MAX) {
		diag_set(diag, DIAG_USAGE, EFBIG, "larger than %u bytes", FILE_MAX);
	} else {
		*size = (size_t)st.st_size;
		return fd;
	}
	close(fd);
	return -diag->err;
}

char *secret_list_text(const char *path, bool only_owner, size_t *size, struct diag *diag)
{
	struct diag own = { 0 };
	char *text;
	size_t at = 0;
	ssize_t n = 1;
	int fd;

	diag = diag ? diag : &own;
	fd = open_file(path, only_owner, size, diag);
	if (fd < 0)
		return NULL;
	text = secret_alloc(*size + 1);
	while (text && at < *size && n > 0) {
		n = read(fd, text + at, *size - at);
		at += n > 0 ? (size_t)n : 0;
	}
	if (!text || n < 0)
		diag_sys(diag, text ? errno : ENOMEM, "read");
	close(fd);
	if (n < 0) {
		secret_free(text);
		return NULL;
	}
	return text;
}

char *secret_list_word(char **words)
{
	char *word = strtok_r(NULL, BLANKS, words);

	if (!word || *word != '#')
		return word;
	*words = word + strlen(word);
	return NULL;
}

static unsigned count_lines(const char *text)
{
	unsigned lines = 0;

	while (*text) {
		text += strspn(text, BLANKS);
		lines += *text && *text != '#' && *text != '\n';
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return lines;
}

static int parse(const char *path, char *text, const struct secret_list_reader *reader, void *user,
	struct diag *diag)
{
	unsigned number = 0;
	char *line;
	int err = reader->begin(user, count_lines(text), diag);

	if (err)
		return err;
	while (!err && (line = strsep(&text, "\n"))) {
		char *words = line;
		const char *name = secret_list_word(&words);

		number++;
		if (name)
			err = reader->line(user, number, name, words, diag);
	}
	if (!err && reader->end)
		err = reader->end(user, &number, diag);
	return err ? diag_ctx(diag, "%s line %u", path, number) : 0;
}

int secret_list_read(
	const char *path, const struct secret_list_reader *reader, void *user, struct diag *diag)
{
	struct diag own = { 0 };
	size_t size = 0;
	char *text;
	int err;

	diag = diag ? diag : &own;
	secret_disable_dumps();
	text = secret_list_text(path, true, &size, diag);
	err = text ? parse(path, text, reader, user, diag) : -diag->err;
	secret_free(text);
	return err ? diag_ctx(diag, "%s", path) : 0;
}
