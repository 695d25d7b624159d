/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* srp-connect: connect the kernel to an SRP target, or change the timeouts of an existing
 * connection. */
#include "kernel_scsi.h"
#include "srp_attach.h"
#include "srp_loss.h"
#include "srp_made.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 30000
#define MSEC    1000000ull

struct connect_options {
	struct opt_common common;
	struct srp_words words;
	struct srp_loss_words loss;
	struct opt_list params;
	const char *print, *lun;
	bool no_wait, exclusive;
};

#define AT(field)                 offsetof(struct connect_options, field)
#define ROW(opt, name, arg, help) SRP_ROW(struct connect_options, opt, name, arg, help)
static const struct opt rows[] = {
	SRP_NAME_ROWS(struct connect_options),
	ROW(SRC, "src", "ADDRESS", "RDMA/CM: local address"),
	{ "lun", 0, OPT_TEXT, AT(lun), "NUMBER", "wait for this LUN and print only it" },
	ROW(IO_CLASS, "io-class", "HEX", "ff00 for targets of SRP revision 10"),
	ROW(INITIATOR_EXT, "initiator-ext", "HEX",
		"initiator extension; makes this path a separate initiator"),
	ROW(MAX_SECT, "max-sect", "NUMBER", "largest request in 512-byte sectors, 8 to 65535"),
	ROW(QUEUE_SIZE, "queue-size", "NUMBER", "commands in flight, 2 to 32767; default 62"),
	ROW(MAX_CMD_PER_LUN, "max-cmd-per-lun", "NUMBER", "commands in flight per LUN, 1 to 32767"),
	ROW(TARGET_CAN_QUEUE, "target-can-queue", "NUMBER", "commands in flight per target"),
	ROW(CMD_SG_ENTRIES, "cmd-sg-entries", "NUMBER",
		"data descriptors in a request, 1 to 255; default 12"),
	ROW(ALLOW_EXT_SG, "allow-ext-sg", "0|1", "allow more data descriptors outside the request"),
	ROW(SG_TABLESIZE, "sg-tablesize", "NUMBER",
		"data descriptors per command in total, 1 to 2048"),
	ROW(COMP_VECTOR, "comp-vector", "NUMBER", "completion vector"),
	ROW(TL_RETRY_COUNT, "tl-retry-count", "NUMBER", "transport retries, 2 to 7"),
	ROW(CH_COUNT, "ch-count", "NUMBER", "channels to spread requests over, 1 to 1024"),
	ROW(MAX_IT_IU_SIZE, "max-it-iu-size", "NUMBER", "largest message to the target in bytes"),
	SRP_LOSS_ROWS(struct connect_options),
	{ "module-param", 0, OPT_LIST, AT(params), "NAME=VALUE",
		"parameter of ib_srp, if this command loads it" },
	{ "exclusive", 0, OPT_FLAG, AT(exclusive), NULL, "fail if the connection already exists" },
	{ "no-wait", 0, OPT_FLAG, AT(no_wait), NULL,
		"return without waiting for the block devices" },
	{ "print", 0, OPT_TEXT, AT(print), "dev|by-id",
		"print only the paths of the block devices" },
	{ 0 },
};
#undef ROW
#undef AT

static const struct connect_options defaults = { .common.timeout_ms = WAIT_MS };

struct connection {
	struct srp_made made;
	struct srp_tmo tmo; /* wanted */
	bool loss_given;
	struct scsi_lun *luns;
	unsigned count;
	uint64_t until;
};

static void tell_words(const struct call *call, const struct srp_made *made)
{
	for (const char *at = made->words; call->loop.verbose && *at;) {
		size_t len = strcspn(at, "\n");

		call_note(call, "kernel: %.*s", (int)len, at);
		at += len + (at[len] == '\n');
	}
}

static void tell_param(const char *name, const char *value, void *arg)
{
	call_note(arg, "ib_srp: %s=%s", name, value);
}

/* Keep only this LUN, if it exists. */
static void keep_lun(struct connection *c, uint64_t lun)
{
	unsigned kept = 0;

	if (lun == SRP_LUN_ALL)
		return;
	for (unsigned i = 0; i < c->count; i++)
		if (c->luns[i].lun == lun)
			c->luns[kept++] = c->luns[i];
	c->count = kept;
}

static int set_up(struct call *call, int root, struct connection *c, uint64_t lun)
{
	const struct connect_options *opts = call->opts;
	struct srp_rport rport;
	int err = 0;
	bool told = !kernel_srp_rport(root, c->made.number, &rport) &&
		    rport.tmo.fast_io_fail_tmo != VALUE_UNKNOWN;

	if (c->loss_given || (!c->made.existed && told)) /* kernels before 3.13 have none of them */
		err = kernel_srp_tmo_set(root, c->made.number, &c->tmo, call->diag);
	if (!err && opts->no_wait)
		err = kernel_scsi_luns(root, c->made.number, &c->luns, &c->count, call->diag);
	else if (!err)
		err = kernel_scsi_wait(
			root, c->made.number, lun, true, c->until, &c->luns, &c->count, call->diag);
	if (!err)
		keep_lun(c, lun);
	return err;
}

static int check_loss(const struct connection *c, int root, bool live, struct diag *diag)
{
	struct srp_rport rport;
	struct srp_tmo now, to;

	if (live && !kernel_srp_rport(root, c->made.number, &rport))
		now = rport.tmo;
	else
		kernel_srp_tmo_default(root, &now);
	to = srp_loss_merge(&c->tmo, &now);
	return kernel_srp_tmo_check(&to, diag);
}

static int read_lun(const struct connect_options *opts, uint64_t *lun, struct diag *diag)
{
	struct diag why = { 0 };

	if (opts->lun && parse_u64(opts->lun, 0, UINT64_MAX - 1, lun, &why))
		return diag_set(diag, DIAG_USAGE, why.err, "--lun: %s", why.text);
	return 0;
}

/* Options that an existing connection no longer takes. */
static int refuse_others(const struct connect_options *opts, const char *host, struct diag *diag)
{
	const char *name = opts->words.dev      ? "device"
			   : opts->words.port   ? "port"
			   : opts->params.count ? "module-param"
			   : opts->exclusive    ? "exclusive"
						: NULL;

	for (unsigned i = 0; !name && i < SRP_OPTS; i++)
		if (opts->words.value[i])
			name = kernel_srp_opt_name(i);
	return name ? diag_set(diag, DIAG_USAGE, EINVAL,
			      "%s is already connected: --%s applies to new connections only", host,
			      name)
		    : 0;
}

static void show_plan(struct call *call, const struct connection *c, int root)
{
	struct srp_rport rport;
	struct srp_tmo to;
	char text[200];
	bool would = c->loss_given && !kernel_srp_rport(root, c->made.number, &rport);

	if (would)
		to = srp_loss_merge(&c->tmo, &rport.tmo);
	srp_made_show(call->out, root, &c->made, "", c->luns, c->count, NULL, would ? &to : NULL);
	if (would)
		out_line(call->out, "%s: would set: %s", c->made.host.host,
			srp_loss_text(&to, text));
}

/* What is connected already, by its name: its time-outs are set, its disks shown. */
static int adjust(struct call *call, int root, const char *word, struct connection *c)
{
	const struct connect_options *opts = call->opts;
	uint64_t lun = SRP_LUN_ALL;
	int err = srp_device_host(root, word, &c->made.host, call->diag);

	if (err)
		return err;
	err = refuse_others(opts, c->made.host.host, call->diag);
	if (!err)
		err = read_lun(opts, &lun, call->diag);
	if (err)
		return err;
	c->made.existed = true;
	c->made.number = (unsigned)kernel_srp_number(c->made.host.host);
	err = srp_loss_read(&opts->loss, NULL, NULL, &c->tmo, &c->loss_given, call->diag);
	if (!err)
		err = check_loss(c, root, true, call->diag);
	if (!err && !opts->common.dry_run)
		err = set_up(call, root, c, lun);
	if (!err && opts->common.dry_run)
		show_plan(call, c, root);
	else if (!err)
		srp_made_show(call->out, root, &c->made, "", c->luns, c->count, opts->print, NULL);
	return err;
}

static int plan(struct call *call, const struct srp_target *target, const struct srp_local *local,
	const struct connection *c, int root)
{
	struct kernel_srp *list;
	const struct kernel_srp *there = NULL;
	char line[SRP_LINE], word[OUT_SHELL(SRP_LINE)], text[200],
		where[100] = "add_target of the port";
	unsigned count;
	int err = kernel_srp_list(root, &list, &count, call->diag);

	if (err)
		return err;
	for (unsigned i = 0; i < count && !there; i++)
		there = kernel_srp_fits(&list[i], &target->want, local->dev[0] ? local : NULL)
				? &list[i]
				: NULL;
	kernel_srp_line(&target->want, line);
	out_bool(call->out, "connected", NULL, there);
	out_bool(call->out, "existed", NULL, there);
	if (there)
		out_text(call->out, "host", NULL, "%s", there->host);
	if (local->dev[0]) {
		snprintf(where, sizeof(where), "srp-%s-%u/add_target", local->dev, local->port);
		out_text(call->out, "rdma_device", NULL, "%s", local->dev);
		out_u64(call->out, "rdma_port", NULL, local->port);
	}
	out_text(call->out, "add_target", NULL, "%s", line);
	srp_loss_show(call->out, &c->tmo);
	if (there)
		out_line(call->out, "%s: already connected as %s",
			srp_target_text(&target->want, text), there->host);
	else
		out_line(call->out,
			"%s: would connect by writing to %s:", srp_target_text(&target->want, text),
			where);
	out_line(call->out, "%s", out_shell(line, word, sizeof(word)));
	free(list);
	return 0;
}

static int refuse_existing(const struct srp_made *made, struct diag *diag)
{
	diag_set(diag, DIAG_BUSY, EALREADY, "already connected as %s", made->host.host);
	return diag_hint(diag,
		"omit --exclusive to use it, or add a connection with another --initiator-ext");
}

static int load(struct call *call, int root)
{
	const struct connect_options *opts = call->opts;
	bool loaded;
	int err = kernel_srp_load(
		root, (char *const *)opts->params.item, opts->params.count, &loaded, call->diag);

	if (!err && call->loop.verbose) {
		call_note(call, "ib_srp was %s", loaded ? "loaded" : "already loaded");
		kernel_srp_params(root, tell_param, call);
	}
	return err;
}

static int log_in(struct call *call, int root, struct srp_target *target,
	const struct srp_local *local, struct connection *c)
{
	const struct connect_options *opts = call->opts;
	char line[SRP_LINE];
	int err;

	kernel_srp_line(&target->want, line);
	if (call->loop.verbose)
		call_note(call, "srp-%s-%u/add_target: %s", local->dev, local->port, line);
	err = kernel_srp_connect(root, &target->want, local, c->until, &c->made, call->diag);
	tell_words(call, &c->made);
	if (err)
		return err;
	if (c->made.existed && opts->exclusive)
		return refuse_existing(&c->made, call->diag);
	if (c->made.alike)
		call_note(call,
			"%u connections lead to this controller at unknown addresses: using %s",
			c->made.alike + 1, c->made.host.host);
	err = set_up(call, root, c, target->place.lun);
	if (err && !c->made.existed)
		kernel_srp_undo(root, c->made.number, call->diag);
	return err;
}

/* A dry run prints the string even if no port can be used. */
static int choose_port(struct call *call, int root, struct srp_target *target,
	struct srp_local *local, char *others, size_t len)
{
	const struct connect_options *opts = call->opts;
	struct diag why = { 0 };
	int err = kernel_srp_port(
		root, &target->want, target->dev, target->port, local, others, len, &why);

	if (err && opts->common.dry_run) {
		call_note(call, "%s", why.text);
		*local = (struct srp_local){ 0 };
		return 0;
	}
	if (err)
		*call->diag = why;
	return err;
}

static int look_up(struct call *call, int root, struct srp_target *target)
{
	const struct srp_want *want = &target->want;

	if (!want->value[SRP_OPT_ID_EXT][0] || !want->value[SRP_OPT_IOC_GUID][0] ||
		!srp_lookup_needed(target))
		return 0;
	return srp_lookup(call, root, target, target->timeout_ms, call->diag);
}

static int connect_to(struct call *call, int root, struct srp_target *target, struct connection *c)
{
	const struct connect_options *opts = call->opts;
	struct srp_local local;
	char others[200];
	int err = srp_loss_read(
		&opts->loss, target->on_loss, "wait=60", &c->tmo, &c->loss_given, call->diag);

	if (!err)
		err = check_loss(c, root, false, call->diag);
	if (!err)
		err = look_up(call, root, target);
	if (!err)
		err = kernel_srp_check(root, &target->want, call->diag);
	if (!err)
		err = kernel_srp_resolve(&target->want, call->diag);
	if (!err && !opts->common.dry_run)
		err = load(call, root);
	if (!err)
		err = choose_port(call, root, target, &local, others, sizeof(others));
	if (err)
		return err;
	if (others[0])
		call_note(call, "using %s port %u; select another with -i and -p: %s", local.dev,
			local.port, others);
	if (opts->common.dry_run)
		return plan(call, target, &local, c, root);
	err = log_in(call, root, target, &local, c);
	if (!err)
		srp_made_show(call->out, root, &c->made,
			target->want.value[target->want.value[SRP_OPT_DEST][0] ? SRP_OPT_DEST
									       : SRP_OPT_DGID],
			c->luns, c->count, opts->print, NULL);
	return err;
}

static bool names_something(const struct srp_words *words)
{
	for (unsigned i = 0; i < SRP_OPTS; i++)
		if (words->value[i])
			return true;
	return false;
}

static int connect_new(struct call *call, int root, struct connection *c)
{
	const struct connect_options *opts = call->opts;
	struct srp_target *target = calloc(1, sizeof(*target));
	const char *operand = call->operands ? call->operand[0] : NULL;
	char text[200];
	int err;

	if (!target)
		return diag_sys(call->diag, ENOMEM, "target");
	target->timeout_ms = opts->common.timeout_ms;
	err = srp_target_read(target, operand, &opts->words, call->diag);
	if (!err)
		err = read_lun(opts, &target->place.lun, call->diag);
	c->until = target->timeout_ms ? loop_clock() + target->timeout_ms * MSEC : 0;
	if (!err)
		err = connect_to(call, root, target, c);
	if (err && target->want.value[SRP_OPT_ID_EXT][0] && call->diag->code != DIAG_USAGE)
		diag_ctx(call->diag, "%s",
			operand && strstr(operand, "://") ? operand
							  : srp_target_text(&target->want, text));
	else if (err && operand)
		diag_ctx(call->diag, "%s", operand);
	free(target);
	return err;
}

static int run(struct call *call)
{
	const struct connect_options *opts = call->opts;
	const char *operand = call->operands ? call->operand[0] : NULL;
	struct connection c = {
		.until = opts->common.timeout_ms ? loop_clock() + opts->common.timeout_ms * MSEC : 0
	};
	int root, err;

	if (!operand && !names_something(&opts->words)) {
		diag_set(call->diag, DIAG_USAGE, EINVAL,
			"no target given: expected a URI, an add_target string, "
			"or --id-ext, --ioc-guid and --dgid or --dest");
		return diag_hint(call->diag,
			"list targets and their URIs with: rdmastor srp-discover --uris");
	}
	root = kernel_root();
	if (root < 0)
		return diag_sys(call->diag, errno, "open /");
	if (operand && strstr(operand, "://"))
		out_text(call->out, "uri", NULL, "%s", operand);
	if (operand && srp_is_device(operand)) {
		err = adjust(call, root, operand, &c);
		if (err)
			diag_ctx(call->diag, "%s", operand);
	} else {
		err = connect_new(call, root, &c);
	}
	free(c.luns);
	close(root);
	return err ? err : EXIT_DONE;
}

static const struct opt_foreign foreign[] = {
	{ "srp_daemon", "-d", "use -i DEVICE -p PORT" },
	{ "srp_daemon", "-e", "connect to all targets with: rdmastor srp-daemon -o -e" },
	{ "srp_daemon", "-j", "use -i DEVICE -p PORT" },
	{ "srp_daemon", "-l", "use --tl-retry-count N" },
	{ "srp_daemon", "-n", "use --initiator-ext HEX" },
	{ 0 },
};

const struct applet applet_srp_connect = {
	.name = "srp-connect",
	.operands = "[URI|STRING|DEVICE]",
	.schemes = SCHEME_SRP,
	.summary = "connect to an SRP target through the kernel",
	.opts = rows,
	.defaults = &defaults,
	.foreign = foreign,
	.examples =
		"  rdmastor srp-connect srp+cm://10.0.0.1:5555/0002c903004ed0b2/0002c903004ed0b2\n"
		"  rdmastor srp-connect srp://5/0002c90300a0b0c0/0002c90300a0b0c1/0\n"
		"  rdmastor srp-connect /dev/sdb --on-loss wait=300\n",
	.opts_size = sizeof(struct connect_options),
	.max = 1,
	.changes = true,
	.run = run,
};
