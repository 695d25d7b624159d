/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The reason for a failed request: the server's error and its message. io.detail is a number, so
 * the latest messages of all servers are stored here, each with a number; after many others, only
 * the error is left. */
#include "ini.h"
#include <pthread.h>
#include <stdio.h>

#define TEXTS 64
/* of io.detail: error, or length of the tail; number of the message, 0 = none; NBD_INI_TAIL */
#define ERROR_MASK 0xffffu
#define TEXT_SHIFT 16
#define TEXT_LAST  0x7fffu

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	uint32_t number;
	char text[NBD_INI_TEXT];
} stored[TEXTS];
static uint32_t last;

uint32_t nbd_ini_text_store(const void *message, size_t len)
{
	char text[NBD_INI_TEXT];
	uint32_t number = 0;

	if (!nbd_text_get(text, sizeof(text), message, len))
		return 0;
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < TEXTS && !number; i++)
		if (stored[i].number && !strcmp(stored[i].text, text))
			number = stored[i].number;
	if (!number) {
		number = last = last % TEXT_LAST + 1;
		stored[number % TEXTS].number = number;
		memcpy(stored[number % TEXTS].text, text, sizeof(text));
	}
	pthread_mutex_unlock(&lock);
	return number;
}

uint32_t nbd_ini_detail(uint32_t error, uint32_t text, uint32_t tail)
{
	if (tail)
		return NBD_INI_TAIL | text << TEXT_SHIFT | tail;
	return text << TEXT_SHIFT | (error < ERROR_MASK ? error : ERROR_MASK);
}

static const char *error_text(uint32_t error)
{
	switch (error) {
	case NBD_EPERM:
		return "the NBD server denied permission (EPERM)";
	case NBD_EIO:
		return "the NBD server reports an input/output error (EIO)";
	case NBD_ENOMEM:
		return "the NBD server is out of memory (ENOMEM)";
	case NBD_EINVAL:
		return "the NBD server rejected the request as invalid (EINVAL)";
	case NBD_ENOSPC:
		return "the NBD server has no space left (ENOSPC)";
	case NBD_EOVERFLOW:
		return "the NBD server rejected the request as too long (EOVERFLOW)";
	case NBD_ENOTSUP:
		return "the NBD server does not support the request (ENOTSUP)";
	case NBD_ESHUTDOWN:
		return "the NBD server is shutting down (ESHUTDOWN)";
	default:
		return "the NBD server reports an unknown error";
	}
}

const char *nbd_ini_status_text(uint32_t detail)
{
	static _Thread_local char out[NBD_INI_TEXT + 160];
	uint32_t number = detail >> TEXT_SHIFT & TEXT_LAST;
	int len;

	if (detail & NBD_INI_TAIL)
		len = snprintf(out, sizeof(out),
			"the NBD server refuses access to the last %u bytes, less than its minimum "
			"block (EINVAL)",
			detail & ERROR_MASK);
	else
		len = snprintf(out, sizeof(out), "%s", error_text(detail & ERROR_MASK));
	pthread_mutex_lock(&lock);
	if (number && stored[number % TEXTS].number == number)
		snprintf(out + len, sizeof(out) - (size_t)len, ": '%s'",
			stored[number % TEXTS].text);
	pthread_mutex_unlock(&lock);
	return out;
}
