/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Applets in children: their documents come back through a memory file. */
#include "applet_run.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GRACE_MS 3000u
#define TEXT_MAX (8 << 20)

static const char *text_of(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

	return text ? text : "";
}

static uint8_t code_of(const char *word)
{
	for (uint8_t code = DIAG_NONE + 1; code < DIAG_SYSTEM; code++)
		if (!strcmp(diag_code_word(code), word))
			return code;
	return DIAG_SYSTEM;
}

static int errno_of(const char *word)
{
	for (int err = 1; err < 200; err++)
		if (!strcmp(diag_errno_word(err), word))
			return err;
	return EIO;
}

static void read_error(struct diag *why, const cJSON *error)
{
	*why = (struct diag){ .code = code_of(text_of(error, "code")),
		.err = errno_of(text_of(error, "errno")) };
	snprintf(why->object, sizeof(why->object), "%s", text_of(error, "object"));
	snprintf(why->text, sizeof(why->text), "%s", text_of(error, "text"));
	snprintf(why->hint, sizeof(why->hint), "%s", text_of(error, "hint"));
}

static char *read_text(int fd, size_t *len)
{
	struct stat st;
	char *text;

	if (fstat(fd, &st) || st.st_size <= 0 || st.st_size > TEXT_MAX)
		return NULL;
	*len = (size_t)st.st_size;
	text = malloc(*len);
	if (text && pread(fd, text, *len, 0) == st.st_size)
		return text;
	free(text);
	return NULL;
}

bool applet_run_ready(struct applet_run *run)
{
	size_t len;
	char *text = run->result ? NULL : read_text(run->results, &len);

	if (text)
		run->result = cJSON_ParseWithLength(text, len);
	free(text);
	return run->result;
}

/* The document decides: an applet that continues in the background has no exit status yet. */
static void read_result(struct applet_run *run)
{
	const cJSON *error;

	applet_run_ready(run);
	run->why = (struct diag){ 0 };
	error = cJSON_GetObjectItemCaseSensitive(run->result, "error");
	if (error)
		read_error(&run->why, error);
	else if (!run->result && run->expired)
		diag_sys(&run->why, EINTR, "%s", run->argv[0]);
	else if (!run->result && run->call.expired)
		diag_set(&run->why, DIAG_TIMEOUT, ETIMEDOUT, "%s timed out", run->argv[0]);
	else if (!run->result)
		diag_set(&run->why, DIAG_SYSTEM, EIO, "%s ended without a result", run->argv[0]);
}

/* The items of a list have its key, `name`. */
static void walk(const cJSON *item, const char *name, const char *key, const char *start,
	void (*each)(const char *text, void *arg), void *arg)
{
	for (; item; item = item->next) {
		const char *own = item->string ? item->string : name;

		if (cJSON_IsString(item) && !strcmp(own, key) &&
			!strncmp(item->valuestring, start, strlen(start)))
			each(item->valuestring, arg);
		walk(item->child, own, key, start, each, arg);
	}
}

void applet_run_texts(const struct applet_run *run, const char *key, const char *start,
	void (*each)(const char *text, void *arg), void *arg)
{
	walk(run->result ? run->result->child : NULL, "", key, start, each, arg);
}

void applet_run_error(const struct applet_run *run, const char *key, struct diag *why)
{
	const cJSON *error = cJSON_GetObjectItemCaseSensitive(run->result, key);

	if (error)
		read_error(why, error);
}

static void ended(struct child_call *call)
{
	struct applet_run *run = container_of(call, struct applet_run, call);

	read_result(run);
	close(run->results);
	run->done(run);
}

/* In the child. Descriptors 0 to 2: standard input, results and messages. */
static int run_applet(int fd, const void *arg, void *out)
{
	const struct applet_run *run = arg;
	int argc = 0;

	(void)fd;
	(void)out;
	while (run->argv[argc])
		argc++;
	run->run(argc, (char **)run->argv);
	fflush(NULL);
	return 0;
}

int applet_run_start(struct applet_run *run)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), err;

	applet_run_free(run);
	if (null < 0) /* a system without /dev */
		null = memfd_create("null", MFD_CLOEXEC);
	run->results = memfd_create("results", MFD_CLOEXEC);
	run->call = (struct child_call){ .fn = run_applet,
		.arg = run,
		.until = run->until ? run->until + GRACE_MS * MSEC : 0,
		.grace_ms = GRACE_MS,
		.done = ended };
	fflush(NULL);
	err = null < 0 || run->results < 0
		      ? -errno
		      : child_call_start(&run->call, run->loop,
				(int[]){ null, run->results, run->messages ? 2 : null }, 3);
	if (null >= 0)
		close(null);
	if (!err)
		return 0;
	diag_sys(&run->why, -err, "start %s", run->argv[0]);
	if (run->results >= 0)
		close(run->results);
	return err;
}

void applet_run_expire(struct applet_run *run)
{
	run->expired = true;
	child_call_expire(&run->call);
}

void applet_run_free(struct applet_run *run)
{
	cJSON_Delete(run->result);
	run->result = NULL;
}
