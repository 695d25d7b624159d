/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* srp-discover, also as ibsrpdm: list the SRP targets of an InfiniBand fabric. core/mad queries
 * them, srp_show.c prints them. */
#include "kernel_identity.h"
#include "kernel_rdma.h"
#include "srp_show.h"
#include "uri.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OLD_NAME "ibsrpdm"
#define MANY     100 /* ports worth showing progress */

struct discover_options {
	struct opt_common common;
	const char *dev, *umad;
	uint32_t port, answer_ms;
	bool commands, uris, connections, walk;
	struct opt_list lid, gid, route, key[SRP_KEYS];
};

#define AT(field) offsetof(struct discover_options, field)
static const struct opt rows[] = {
	{ "commands", 'c', OPT_FLAG, AT(commands), NULL, "print add_target lines" },
	{ "uris", 'u', OPT_FLAG, AT(uris), NULL, "print srp: URIs" },
	{ "connections", 'l', OPT_FLAG, AT(connections), NULL,
		"also list the kernel's connections to the targets" },
	{ "device", 'i', OPT_TEXT, AT(dev), "DEVICE", "local RDMA device, such as mlx5_0" },
	{ "port", 'p', OPT_U32, AT(port), "NUMBER", "port of that device", 1, 254 },
	{ "umad", 'd', OPT_TEXT, AT(umad), "FILE",
		"local MAD device, such as /dev/infiniband/umad0" },
	{ "lid", 0, OPT_LIST, AT(lid), "LID", "query only the port with this LID; no SA needed" },
	{ "gid", 0, OPT_LIST, AT(gid), "GID", "query only the port with this GID; also on RoCE" },
	{ "dr", 0, OPT_LIST, AT(route), "ROUTE",
		"query only the port at the end of this directed route, such as 0,1,3" },
	{ "walk", 0, OPT_FLAG, AT(walk), NULL, "find the ports by directed routes; no SA needed" },
	{ "id-ext", 0, OPT_LIST, AT(key[SRP_ID_EXT]), "HEX",
		"only targets with this identifier extension" },
	{ "ioc-guid", 0, OPT_LIST, AT(key[SRP_IOC_GUID]), "HEX",
		"only targets of this I/O controller" },
	{ "dgid", 0, OPT_LIST, AT(key[SRP_DGID]), "GID",
		"only targets behind the port with this GID" },
	{ "pkey", 0, OPT_LIST, AT(key[SRP_PKEY]), "HEX", "only targets in this partition (P_Key)" },
	{ "service-id", 0, OPT_LIST, AT(key[SRP_SERVICE_ID]), "HEX",
		"only targets with this service ID" },
	{ "answer-timeout", 't', OPT_MSEC, AT(answer_ms), "SECONDS",
		"time limit per answer, over all tries; default 5", 1, 3600000 },
	{ 0 },
};
#undef AT

static const struct discover_options defaults = { .answer_ms = 5000 };

static bool is_old(const struct call *call)
{
	return !strcmp(call->name, OLD_NAME);
}

static int unexpected(const struct call *call)
{
	diag_set(call->diag, DIAG_USAGE, EINVAL, "unexpected operand '%s'", call->operand[0]);
	if (!strncmp(call->operand[0], "srp", 3))
		return diag_hint(call->diag, "connect to a target with: rdmastor srp-connect URI");
	return diag_hint(call->diag, "query one port with --gid GID or --lid LID");
}

static int check_words(struct call *call)
{
	const struct discover_options *opts = call->opts;

	if (call->operands && !is_old(call))
		return unexpected(call);
	if (opts->umad && (opts->dev || opts->port))
		return diag_set(call->diag, DIAG_USAGE, EINVAL, "-d and -i, -p can't be combined");
	if (opts->commands && opts->uris)
		return diag_set(call->diag, DIAG_USAGE, EINVAL, "-c and -u can't be combined");
	if (!!opts->lid.count + !!opts->gid.count + !!opts->route.count + opts->walk > 1)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"--lid, --gid, --dr and --walk can't be combined");
	return 0;
}

/* The port, ready to send; for looking around a link that is up is enough. */
static int choose_port(struct call *call, int root, struct mad_port_info *port)
{
	const struct discover_options *opts = call->opts;
	const struct mad_port_choice choice = { .dev = opts->dev,
		.port = opts->port,
		.umad = opts->umad,
		.any_link = opts->gid.count };
	int err = kernel_umad_ready(root, call->diag);

	if (!err)
		err = mad_port_choose(port, &choice, call->diag);
	if (err || ((opts->walk || opts->route.count) && port->state >= PORT_INIT))
		return err;
	return mad_port_usable(port, call->diag);
}

static void progressed(void *arg, unsigned done, unsigned all)
{
	(void)arg;
	if (all >= MANY)
		out_progress(
			"\r%u of %u ports queried%s", done, all, done == all ? "\r\033[K" : "");
}

/* Some dead targets are a partial success. If none answered, report the first failure.
 * Filtered ones do not count. */
static int status(struct call *call, const struct srp_show *show)
{
	const struct mad_target *first = NULL;
	bool some = false;

	for (unsigned i = 0; i < show->found->count; i++) {
		const struct mad_target *target = &show->found->target[i];

		if (!srp_filter_may_match(show->filter, target))
			continue;
		some = some || target->unit;
		if (target->err && !first)
			first = target;
	}
	if ((!first && !show->found->cut) || is_old(call))
		return EXIT_DONE;
	if (some || !first)
		return EXIT_PARTLY;
	return srp_target_diag(first, call->diag);
}

static void note(void *arg, const char *text)
{
	struct call *call = arg;

	call_note(call, "%s", text);
}

static int read_ports(struct call *call, struct mad_selection *ports)
{
	const struct discover_options *opts = call->opts;
	struct diag why = { 0 };
	uint64_t lid;
	int err = 0;

	for (unsigned i = 0; i < opts->lid.count && !err; i++) {
		if (parse_u64(opts->lid.item[i], MAD_LID_MIN, MAD_LID_MAX, &lid, &why))
			return diag_set(call->diag, DIAG_USAGE, why.err, "--lid: %s", why.text);
		err = mad_select_lid(ports, (uint16_t)lid, call->diag);
	}
	for (unsigned i = 0; i < opts->gid.count && !err; i++)
		err = mad_select_gid(ports, opts->gid.item[i], call->diag);
	for (unsigned i = 0; i < opts->route.count && !err; i++)
		err = mad_select_route(ports, opts->route.item[i], call->diag);
	return err;
}

static int scan(
	struct call *call, struct mad *mad, struct mad_selection *ports, struct srp_show *show)
{
	const struct discover_options *opts = call->opts;
	uint32_t ms = opts->common.timeout_ms;
	uint64_t until = ms ? loop_clock() + ms * MSEC : 0;
	int err = mad_select_find(ports, mad, ms, call->diag);
	const struct mad_scan_options how = {
		.only = mad_select_ports(ports),
		.count = ports->count,
		.timeout_ms = loop_left_ms(until, 1),
		.progress = isatty(STDERR_FILENO) && !opts->common.quiet ? progressed : NULL,
	};
	struct mad_scan_result found;

	if (!err)
		err = mad_scan(mad, &how, &found, call->diag);
	if (err)
		return err;
	show->found = &found;
	srp_show(call, show);
	err = status(call, show);
	if (show->form != SRP_LISTING)
		srp_note_left_out(call, show);
	if (err >= 0)
		srp_note_failures(call, show);
	if (err == EXIT_DONE && !is_old(call))
		srp_note_nothing(call, show);
	mad_scan_result_free(&found);
	return err;
}

static int run(struct call *call, struct mad_selection *ports, struct srp_show *show)
{
	const struct discover_options *opts = call->opts;
	const struct mad_limits limits = { .answer_ms = opts->answer_ms };
	struct loop *loop;
	struct mad *mad;
	int err = loop_new(&loop, &call->loop, call->diag);

	if (err)
		return err;
	err = mad_open(&mad, loop, show->port, &limits, call->diag);
	if (!err) {
		err = scan(call, mad, ports, show);
		mad_close(mad);
	}
	loop_free(loop);
	return err;
}

static int open_and_scan(struct call *call, struct mad_selection *ports, struct srp_show *show)
{
	struct kernel_srp *hosts = NULL;
	struct mad_port_info port;
	int root = kernel_root(), err;

	if (root < 0)
		return diag_sys(call->diag, errno, "open /");
	err = choose_port(call, root, &port);
	if (!err)
		err = kernel_srp_list(root, &hosts, &show->nhosts, call->diag);
	show->hosts = hosts;
	show->policy.more.imm_data = kernel_srp_imm_data(root);
	show->port = &port;
	close(root);
	if (!err)
		err = run(call, ports, show);
	free(hosts);
	return err;
}

static int discover(struct call *call)
{
	const struct discover_options *opts = call->opts;
	struct srp_filter filter = { 0 };
	struct srp_show show = {
		.form = opts->commands ? SRP_COMMANDS
			: opts->uris   ? SRP_URIS
				       : SRP_LISTING,
		.connections = opts->connections,
		.all = true,
		.lines = opts->common.verbose && !is_old(call),
		.filter = &filter,
	};
	struct mad_selection ports = { .walk = opts->walk, .note = note, .arg = call };
	int err = check_words(call);

	for (unsigned i = 0; !err && i < SRP_KEYS; i++)
		err = srp_filter_read(&filter, i, &opts->key[i], call->diag);
	if (!err)
		err = read_ports(call, &ports);
	if (!err)
		err = open_and_scan(call, &ports, &show);
	mad_select_free(&ports);
	return err;
}

static const struct opt_foreign foreign[] = {
	{ "srp_daemon", "-a",
		"list all targets with -c, connect to them with: rdmastor srp-daemon" },
	{ "srp_daemon", "-e", "connect to the targets with: rdmastor srp-daemon -o -e" },
	{ "srp_daemon", "-f", "apply a rules file with: rdmastor srp-daemon -o -c -f FILE" },
	{ "srp_daemon", "-j", "use -i DEVICE -p PORT" },
	{ "srp_daemon", "-n", "add initiator_ext with: rdmastor srp-daemon -o -c -n" },
	{ "saquery", "-C", "use -i DEVICE" },
	{ "saquery", "-P", "use -p PORT" },
	{ "smpquery", "-D", "use --dr ROUTE" },
	{ "smpquery", "-G", "use --gid GID" },
	{ "smpquery", "-L", "use --lid LID" },
	{ 0 },
};

const struct applet applet_srp_discover = {
	.name = "srp-discover",
	.replaces = OLD_NAME,
	.replaced_usage = "[-vc] [-d <umad device>]",
	.operands = "",
	.summary = "list the SRP targets of an InfiniBand fabric",
	.opts = rows,
	.defaults = &defaults,
	.foreign = foreign,
	.examples = "  rdmastor srp-discover\n"
		    "  rdmastor srp-discover -c --ioc-guid 0002c90300a0b0c0\n"
		    "  rdmastor srp-discover --gid fe80::2:c903:a0:b0c1 --json\n",
	.opts_size = sizeof(struct discover_options),
	.max = UINT8_MAX,
	.run = discover,
};
