/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/kernel/srp core/uri core/base */
/* SRP targets in any words, as an add_target string or a URI: refused with a reason, or a line that
 * the kernel would take apart as it is meant, and that means the same when it is read again. */
#include "kernel_srp.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As ib_srp's match_token() does: name=value between commas, no value with what would end it. */
static void check_line(const char *line)
{
	char copy[SRP_LINE], *rest = copy, *word;
	int last = -1;

	if (strlen(line) >= SRP_LINE - 1 || strpbrk(line, " \t\r\n\"'\\") || strstr(line, ",,"))
		abort();
	memcpy(copy, line, strlen(line) + 1);
	while (*line && (word = strsep(&rest, ","))) {
		char *value = strchr(word, '=');
		int opt;

		if (!value || !value[1])
			abort();
		*value = 0;
		opt = srp_opt_find(word);
		if (opt <= last || strcmp(srp_opt_name(opt), word))
			abort();
		last = opt;
	}
}

static void again(const struct srp_params *params)
{
	struct srp_params other = { 0 };
	char line[SRP_LINE], back[SRP_LINE];

	kernel_srp_line(params, line);
	check_line(line);
	if (srp_params_parse(&other, line, NULL))
		abort();
	kernel_srp_line(&other, back);
	if (strcmp(line, back))
		abort();
}

static void check(int err, const struct srp_params *params, const struct diag *diag)
{
	struct diag why = { 0 };

	if (err) {
		if (diag->code != DIAG_USAGE || !diag->text[0])
			abort();
		return;
	}
	again(params);
	if (kernel_srp_check(-1, params, &why) && (why.code != DIAG_USAGE || !why.text[0]))
		abort();
}

static void read_uri(const char *text)
{
	static struct uri uri;
	struct uri_srp srp = { 0 };
	struct diag diag = { 0 };
	int err = uri_parse(&uri, text, &diag);

	if (!err)
		err = uri_srp_read(&srp, &uri, URI_KERNEL, &diag);
	if (!err && srp.lid == 0 &&
		!srp.params.value[SRP_OPT_DGID][0] == !srp.params.value[SRP_OPT_DEST][0])
		abort();
	check(err, &srp.params, &diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct srp_params params = { 0 };
	struct diag diag = { 0 };
	char text[URI_MAX + 16];
	size_t len = size < sizeof(text) - 1 ? size : sizeof(text) - 1;

	memcpy(text, data, len);
	text[len] = 0;
	if (!strncmp(text, "srp", 3))
		read_uri(text);
	else
		check(srp_params_parse(&params, text, &diag), &params, &diag);
	return 0;
}
