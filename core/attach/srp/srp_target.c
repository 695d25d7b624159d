/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SRP targets and loss policies from the command line. */
#include "srp_target.h"
#include "kernel_scsi.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAST_IO_FAIL_MAX 600 /* SCSI_DEVICE_BLOCK_MAX_TIMEOUT */
#define DELAY            10  /* ib_srp's default */

bool srp_options_name_target(const struct srp_options *options)
{
	for (unsigned i = 0; i < SRP_OPTS; i++)
		if (options->value[i])
			return true;
	return false;
}

bool srp_is_device(const char *word)
{
	return !strstr(word, "://") && !strchr(word, '=');
}

static int read_uri(struct srp_target *target, struct diag *diag)
{
	struct uri *uri = &target->uri;
	struct uri_srp srp;
	uint32_t port = 0;
	int err = uri_parse(uri, target->word, diag);

	if (!err)
		err = uri_srp_read(&srp, uri, URI_KERNEL, diag);
	if (err)
		return err;
	target->params = srp.params;
	target->srp.lid = srp.lid;
	target->srp.luns.lun = srp.lun;
	target->srp.dev = uri_value(uri, "dev");
	target->on_loss = uri_value(uri, "loss");
	err = uri_u32(uri, "port", 1, 254, &port, diag);
	target->srp.port = port;
	if (!err)
		err = uri_msec(uri, "timeout", &target->timeout_ms, diag);
	if (!err)
		err = uri_refuse_disk_keys(uri, diag);
	return err ? err : uri_done(uri, diag);
}

int srp_target_read(struct srp_target *target, const struct srp_options *options, struct diag *diag)
{
	struct srp_params *params = &target->params;
	int err = 0;

	target->srp.params = params;
	target->srp.luns.lun = SCSI_LUN_ALL;
	if (target->word && strstr(target->word, "://"))
		err = read_uri(target, diag);
	else if (target->word)
		err = srp_params_parse(params, target->word, diag);
	for (unsigned i = 0; !err && i < SRP_OPTS; i++)
		if (options->value[i])
			err = srp_params_set(params, i, options->value[i], diag);
	if (!err && options->dev && strchr(options->dev, '/'))
		err = diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid --device '%s': expected a name such as mlx5_0", options->dev);
	if (options->dev)
		target->srp.dev = options->dev;
	if (options->port)
		target->srp.port = options->port;
	if (!err && !params->value[SRP_OPT_DEST][0] && !params->value[SRP_OPT_PKEY][0])
		err = srp_params_set(params, SRP_OPT_PKEY, "ffff", diag);
	return err;
}

void srp_target_keys(const char *uri, struct uri_key_names *asked)
{
	static const struct srp_options none;
	struct srp_target *target = calloc(1, sizeof(*target));

	if (!target)
		return;
	target->word = uri;
	if (srp_target_read(target, &none, NULL))
		*asked = target->uri.known;
	free(target);
}

const char *srp_target_address(const struct srp_params *params)
{
	return params->value[params->value[SRP_OPT_DEST][0] ? SRP_OPT_DEST : SRP_OPT_DGID];
}

const char *srp_target_text(const struct srp_params *params, char text[200])
{
	snprintf(text, 200, "%s at %s", params->value[SRP_OPT_ID_EXT], srp_target_address(params));
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
	diag_set(diag, DIAG_NOT_FOUND, ENOENT,
		number >= 0 ? "not an SRP connection" : "no such SRP connection");
	return diag_hint(
		diag, "expected a URI, an add_target string, a host (host6) or a disk (/dev/sda)");
}

/* ---- Loss policies as timeouts of ib_srp. A port with neither fast_io_fail_tmo nor dev_loss_tmo
 * is not blocked after a loss: its I/O fails at once. So "off" is not "forever" (Linux 6.12,
 * srp_reconnect_rport()). */

static int read_policy(const char *what, const char *text, struct srp_tmo *tmo, struct diag *diag)
{
	uint32_t ms;
	int err = loss_read(text, what, FAST_IO_FAIL_MAX, &ms, diag);

	*tmo = (struct srp_tmo){ .reconnect_delay = DELAY, .dev_loss_tmo = VALUE_OFF };
	if (err)
		return err;
	tmo->fast_io_fail_tmo = ms == LOSS_FOREVER ? FAST_IO_FAIL_MAX : loss_seconds(ms);
	/* No I/O fails during an attempt, which takes 80 s at a silent target. */
	if (tmo->fast_io_fail_tmo == DELAY)
		tmo->reconnect_delay++;
	return 0;
}

static int read_one(const char *name, const char *text, int *value, struct diag *diag)
{
	struct diag why = { 0 };
	uint64_t number;

	if (!text)
		return 0;
	if (!strcmp(text, "off") || !strcmp(text, "-1")) {
		*value = VALUE_OFF;
		return 0;
	}
	if (parse_u64(text, 0, INT_MAX / 1000, &number, &why))
		return diag_set(diag, DIAG_USAGE, why.err, "%s: %s, or off", name, why.text);
	*value = (int)number;
	return 0;
}

/* default_policy: if none is specified, or NULL. Unset timeouts are VALUE_UNKNOWN. */
static int read_loss(struct srp_target *target, const struct srp_options *options,
	const char *default_policy, struct diag *diag)
{
	struct srp_tmo *tmo = &target->srp.tmo;
	bool single =
		options->reconnect_delay || options->fast_io_fail_tmo || options->dev_loss_tmo;
	const char *policy = options->on_loss ? options->on_loss : target->on_loss;
	int err = 0;

	target->srp.tmo_given = policy || single;
	*tmo = (struct srp_tmo){ VALUE_UNKNOWN, VALUE_UNKNOWN, VALUE_UNKNOWN };
	if (!target->srp.tmo_given)
		policy = default_policy;
	if (policy)
		err = read_policy(options->on_loss ? "--on-loss" : "loss=", policy, tmo, diag);
	if (!err)
		err = read_one(
			"reconnect_delay", options->reconnect_delay, &tmo->reconnect_delay, diag);
	if (!err)
		err = read_one("fast_io_fail_tmo", options->fast_io_fail_tmo,
			&tmo->fast_io_fail_tmo, diag);
	return err ? err
		   : read_one("dev_loss_tmo", options->dev_loss_tmo, &tmo->dev_loss_tmo, diag);
}

static int check_loss(const struct srp_target *target, int root, struct diag *diag)
{
	const struct attach_srp *srp = &target->srp;
	struct srp_rport rport;
	struct srp_tmo now, to;

	if (srp->existed &&
		!kernel_srp_rport(root, (unsigned)kernel_srp_number(srp->host.host), &rport))
		now = rport.tmo;
	else
		kernel_srp_tmo_default(root, &now);
	to = kernel_srp_tmo_merge(&srp->tmo, &now);
	return kernel_srp_tmo_check(&to, diag);
}

/* ---- A connection. */

/* Reject options that do not apply to an existing connection. */
static int refuse_new_only(const struct srp_options *options, const char *host, struct diag *diag)
{
	const char *name = options->dev                   ? "device"
			   : options->port                ? "port"
			   : options->module_params.count ? "module-param"
			   : options->exclusive           ? "exclusive"
							  : NULL;

	for (unsigned i = 0; !name && i < SRP_OPTS; i++)
		if (options->value[i])
			name = srp_opt_name(i);
	return name ? diag_set(diag, DIAG_USAGE, EINVAL,
			      "%s is already connected: --%s applies to new connections only", host,
			      name)
		    : 0;
}

void srp_target_ctx(const struct srp_target *target, struct diag *diag)
{
	char text[200];

	if (target->params.value[SRP_OPT_ID_EXT][0] && diag->code != DIAG_USAGE &&
		(!target->word || !strstr(target->word, "://")))
		diag_ctx(diag, "%s", srp_target_text(&target->params, text));
	else if (target->word)
		diag_ctx(diag, "%s", target->word);
}

int srp_target_prepare(struct srp_target *target, int root, const struct srp_options *options)
{
	struct attach_srp *srp = &target->srp;
	struct diag *diag = &srp->attach.why, why = { 0 };
	int err;

	srp->luns.lun = SCSI_LUN_ALL;
	srp->existed = target->word && srp_is_device(target->word);
	err = srp->existed ? srp_device_host(root, target->word, &srp->host, diag)
			   : srp_target_read(target, options, diag);
	if (err && srp->existed)
		uri_hint_host(target->word, diag);
	if (!err && srp->existed)
		err = refuse_new_only(options, srp->host.host, diag);
	if (!err && options->lun &&
		parse_u64(options->lun, 0, UINT64_MAX - 1, &srp->luns.lun, &why))
		err = diag_set(diag, DIAG_USAGE, why.err, "--lun: %s", why.text);
	if (!err)
		err = read_loss(target, options, srp->existed ? NULL : "wait=60", diag);
	if (!err)
		err = check_loss(target, root, diag);
	if (!err && !srp->existed && !attach_srp_incomplete(srp))
		err = kernel_srp_check(root, &target->params, diag);
	if (!err && kernel_srp_dest_name(&target->params, target->host, &srp->attach.port))
		srp->attach.host = target->host;
	else if (!err)
		err = kernel_srp_parse_addrs(&target->params, &srp->dest, diag);
	if (srp->attach.host || srp->dest.ss.ss_family)
		srp->attach.addr = &srp->dest;
	srp->module_params = (char *const *)options->module_params.item;
	srp->module_param_count = options->module_params.count;
	srp->exclusive = options->exclusive;
	srp->any_ext = !target->params.value[SRP_OPT_INITIATOR_EXT][0];
	if (err)
		srp_target_ctx(target, diag);
	return err;
}

int srp_target_find(const struct attach_srp *srp, struct srp_local *local, char others[200],
	struct kernel_srp *there, struct diag *no_port, struct diag *diag)
{
	int root = srp->attach.root, err, found = 0;
	struct kernel_srp *list;
	unsigned count;

	*others = 0;
	if (kernel_srp_port(root, srp->params, srp->dev, srp->port, local, others, 200, no_port)) {
		*local = (struct srp_local){ 0 };
		*others = 0;
	}
	err = kernel_srp_list(root, &list, &count, diag);
	if (err)
		return err;
	kernel_srp_set_dests(root, list, count);
	for (unsigned i = 0; i < count; i++)
		if (kernel_srp_fits(&list[i], srp->params, local->dev[0] ? local : NULL) &&
			(!found || !kernel_srp_path_known(there))) {
			found = 1;
			*there = list[i];
		}
	free(list);
	return found;
}
