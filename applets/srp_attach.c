/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What names an SRP target on the command line. */
#include "srp_attach.h"
#include "kernel_scsi.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool srp_is_device(const char *word)
{
	return !strstr(word, "://") && !strchr(word, '=');
}

static int read_uri(struct srp_target *target, const char *text, struct diag *diag)
{
	struct uri *uri = &target->uri;
	uint32_t port = 0;
	int err = uri_parse(uri, text, diag);

	if (err)
		return err;
	err = kernel_srp_uri(&target->want, uri, &target->place, diag);
	if (err)
		return err;
	target->dev = uri_value(uri, "dev");
	target->on_loss = uri_value(uri, "loss");
	err = uri_u32(uri, "port", 1, 254, &port, diag);
	target->port = port;
	if (!err)
		err = uri_msec(uri, "timeout", &target->timeout_ms, diag);
	return err ? err : uri_done(uri, diag);
}

static int add_options(struct srp_target *target, const struct srp_words *words, struct diag *diag)
{
	int err = 0;

	for (unsigned i = 0; !err && i < SRP_OPTS; i++)
		if (words->value[i])
			err = kernel_srp_set(&target->want, i, words->value[i], diag);
	if (words->dev && strchr(words->dev, '/'))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid --device '%s': expected a name such as mlx5_0", words->dev);
	if (words->dev)
		target->dev = words->dev;
	if (words->port)
		target->port = words->port;
	return err;
}

int srp_target_read(struct srp_target *target, const char *operand, const struct srp_words *words,
	struct diag *diag)
{
	struct srp_want *want = &target->want;
	int err = 0;

	target->uri.scheme = "";
	target->place = (struct srp_place){ .lun = SRP_LUN_ALL };
	if (operand && strstr(operand, "://"))
		err = read_uri(target, operand, diag);
	else if (operand)
		err = kernel_srp_parse(want, operand, diag);
	if (!err)
		err = add_options(target, words, diag);
	if (!err && !want->value[SRP_OPT_DEST][0] && !want->value[SRP_OPT_PKEY][0])
		err = kernel_srp_set(want, SRP_OPT_PKEY, "ffff", diag);
	return err;
}

const char *srp_target_text(const struct srp_want *want, char text[200])
{
	const char *at = want->value[want->value[SRP_OPT_DEST][0] ? SRP_OPT_DEST : SRP_OPT_DGID];

	snprintf(text, 200, "%s at %s", want->value[SRP_OPT_ID_EXT], at);
	return text;
}

int srp_device_host(int root, const char *word, struct kernel_srp *host, struct diag *diag)
{
	int number = kernel_srp_number(word);
	struct kernel_srp *list;
	bool found = false;
	unsigned count;
	int err;

	if (number < 0)
		number = kernel_scsi_host_of(root, word);
	err = kernel_srp_list(root, &list, &count, diag);
	if (err)
		return err;
	for (unsigned i = 0; i < count && !found; i++) {
		found = kernel_srp_number(list[i].host) == number;
		if (found)
			*host = list[i];
	}
	free(list);
	if (found)
		return 0;
	if (number >= 0)
		diag_set(diag, DIAG_NOT_FOUND, ENOENT, "not an SRP connection");
	else
		diag_set(diag, DIAG_NOT_FOUND, ENOENT, "no such SRP connection");
	return diag_hint(
		diag, "expected a URI, an add_target string, a host (host6) or a disk (/dev/sda)");
}
