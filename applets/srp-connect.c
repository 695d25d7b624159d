/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* srp-connect: connect the kernel to SRP targets, or change the timeouts of existing connections.
 */
#include "attach_multipath.h"
#include "kernel_identity.h"
#include "loop.h"
#include "srp_rows.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 30000

struct connect_options {
	struct opt_common common;
	struct srp_options srp;
	const char *print;
	bool no_wait;
};

#define AT(field)                 offsetof(struct connect_options, field)
#define ROW(opt, name, arg, help) SRP_ROW(struct connect_options, opt, name, arg, help)
static const struct opt rows[] = {
	SRP_NAME_ROWS(struct connect_options),
	ROW(SRC, "src", "ADDRESS", "RDMA/CM: local address"),
	{ "lun", 0, OPT_TEXT, AT(srp.lun), "NUMBER", "wait for this LUN and print only it" },
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
	{ "module-param", 0, OPT_LIST, AT(srp.module_params), "NAME=VALUE",
		"parameter of ib_srp, if this command loads it" },
	{ "exclusive", 0, OPT_FLAG, AT(srp.exclusive), NULL,
		"fail if the connection already exists" },
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
	struct srp_target target;
	struct call *call;
	bool named; /* notes name it: there are several */
};

struct work {
	struct call *call;
	struct connection *list;
	struct attach **attach; /* NULL: failed before */
	struct srp_target **target;
	unsigned count;
	int root;
	struct loop *loop;
	struct multipath multipath;
};

/* A usage error is that of the whole command: nothing is connected. */
static int read_all(const struct work *w)
{
	const struct connect_options *opts = w->call->opts;

	for (unsigned i = 0; i < w->count; i++) {
		struct connection *c = &w->list[i];
		const struct diag *why = &c->target.srp.attach.why;

		c->call = w->call;
		c->named = w->count > 1;
		c->target.word = w->call->operands ? w->call->operand[i] : NULL;
		c->target.timeout_ms = opts->common.timeout_ms;
		if (!srp_target_prepare(&c->target, w->root, &opts->srp) || why->code != DIAG_USAGE)
			continue;
		*w->call->diag = *why;
		return -why->err;
	}
	for (unsigned i = 0; i < w->count; i++)
		w->target[i] = &w->list[i].target;
	srp_targets_separate(w->target, w->count);
	return 0;
}

static void print_note(struct attach *attach, const char *text)
{
	struct connection *c = container_of(attach, struct connection, target.srp.attach);

	if (c->named)
		call_note(c->call, "%s: %s", c->target.word, text);
	else
		call_note(c->call, "%s", text);
}

static void ended(struct attach *attach)
{
	(void)attach;
}

/* The kernel logs in to one target at a time through each port: the time limit of each begins with
 * its turn. */
static int attach_all(const struct work *w)
{
	const struct connect_options *opts = w->call->opts;
	int err;

	for (unsigned i = 0; i < w->count; i++) {
		uint32_t timeout_ms = w->list[i].target.timeout_ms;
		struct attach *attach = &w->list[i].target.srp.attach;

		attach->root = w->root;
		if (attach->why.err)
			continue;
		attach->proto = &attach_srp_row;
		attach->loop = w->loop;
		attach->no_wait = opts->no_wait;
		attach->find_only = opts->common.dry_run;
		attach->done = ended;
		attach->note = print_note;
		if (w->count > 1)
			attach->limit_ms = timeout_ms;
		else if (timeout_ms)
			attach->deadline = loop_clock() + timeout_ms * MSEC;
		w->attach[i] = attach;
	}
	err = attach_run(w->loop, w->attach, w->count, w->call->diag);
	for (unsigned i = 0; i < w->count; i++)
		if (w->attach[i] && w->attach[i]->why.err)
			srp_target_ctx(&w->list[i].target, &w->attach[i]->why);
	return err;
}

/* Find the disks that several connections lead to. */
static void join_paths(struct work *w, struct diag *diag)
{
	const struct connect_options *opts = w->call->opts;
	uint32_t ms = opts->common.timeout_ms;
	int err = 0;

	w->multipath = (struct multipath){ .root = w->root,
		.loop = w->loop,
		.notes = &w->call->notes,
		.deadline = ms ? loop_clock() + ms * MSEC : 0,
		.detach = "srp-disconnect" };
	for (unsigned i = 0; i < w->count && !err && !opts->common.dry_run; i++)
		if (!w->target[i]->srp.attach.why.err)
			err = attach_srp_add_paths(&w->multipath, w->target[i], diag);
	if (!err)
		multipath_join(&w->multipath, diag);
}

/* ---- Results. */

static void show(struct connection *c)
{
	const struct connect_options *opts = c->call->opts;

	if (opts->common.dry_run)
		srp_target_plan(c->call->out, &c->call->notes, &c->target);
	else
		srp_target_show(c->call->out, &c->target, opts->print);
}

static void show_uri(const struct connection *c)
{
	if (c->target.word && strstr(c->target.word, "://"))
		out_text(c->call->out, "uri", NULL, "%s", c->target.word);
}

/* One result each. The first failure becomes that of the command, which main prints; the others are
 * notes. */
static int show_all(struct work *w)
{
	struct call *call = w->call;
	const struct connect_options *opts = call->opts;
	struct diag identity = { 0 };
	unsigned failed = 0;

	join_paths(w, &identity);

	out_list(call->out, "results");
	for (unsigned i = 0; i < w->count; i++) {
		const struct diag *why = &w->list[i].target.srp.attach.why;

		out_object(call->out, NULL);
		show_uri(&w->list[i]);
		if (!why->err)
			show(&w->list[i]);
		if (why->err) {
			out_bool(call->out, "connected", NULL, false);
			out_error(call->out, "error", why);
			if (failed++)
				call_note(call, "%s: %s", why->object, why->text);
			else
				*call->diag = *why;
		}
		out_end(call->out);
	}
	out_end(call->out);
	out_u64(call->out, "succeeded", NULL, w->count - failed);
	out_u64(call->out, "failed", NULL, failed);
	multipath_show(&w->multipath, call->out, opts->print);
	if (multipath_end(&w->multipath, call->out, failed, &identity, 1, call->diag))
		return EXIT_PARTLY;
	return !failed ? EXIT_DONE : failed < w->count ? EXIT_PARTLY : -call->diag->err;
}

static int show_one(struct call *call, struct connection *c)
{
	const struct diag *why = &c->target.srp.attach.why;

	if (!why->err)
		show(c);
	if (why->err)
		*call->diag = *why;
	return -why->err;
}

static int run(struct call *call)
{
	const struct connect_options *opts = call->opts;
	struct work w = { .call = call, .count = call->operands ? call->operands : 1 };
	int err;

	if (!call->operands && !srp_options_name_target(&opts->srp)) {
		diag_set(call->diag, DIAG_USAGE, EINVAL,
			"no target given: expected a URI, an add_target string, "
			"or --id-ext, --ioc-guid and --dgid or --dest");
		return diag_hint(call->diag,
			"list targets and their URIs with: rdmastor srp-discover --uris");
	}
	w.root = kernel_root();
	if (w.root < 0)
		return diag_sys(call->diag, errno, "open /");
	w.list = calloc(w.count, sizeof(*w.list));
	w.attach = calloc(w.count, sizeof(*w.attach));
	w.target = calloc(w.count, sizeof(*w.target));
	err = w.list && w.attach && w.target ? read_all(&w)
					     : diag_sys(call->diag, ENOMEM, "targets");
	if (w.count == 1 && w.list)
		show_uri(&w.list[0]);
	if (!err)
		err = loop_new(&w.loop, &call->loop, call->diag);
	if (!err)
		err = attach_all(&w);
	if (!err)
		err = w.count > 1 ? show_all(&w) : show_one(call, &w.list[0]);
	multipath_free(&w.multipath);
	loop_free(w.loop);
	for (unsigned i = 0; w.list && i < w.count; i++)
		attach_luns_free(&w.list[i].target.srp.luns);
	free(w.list);
	free(w.attach);
	free(w.target);
	close(w.root);
	return err;
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
	.operands = "[URI|STRING|DEVICE...]",
	.schemes = SCHEME_SRP,
	.keys = srp_target_keys,
	.summary = "connect to SRP targets through the kernel",
	.opts = rows,
	.defaults = &defaults,
	.foreign = foreign,
	.examples =
		"  rdmastor srp-connect srp+cm://10.0.0.1:5555/0002c903004ed0b2/0002c903004ed0b2\n"
		"  rdmastor srp-connect srp://5/0002c90300a0b0c0/0002c90300a0b0c1/0\n"
		"  rdmastor srp-connect /dev/sdb --on-loss wait=300\n",
	.opts_size = sizeof(struct connect_options),
	.max = UINT8_MAX,
	.has_dry_run = true,
	.run = run,
};
