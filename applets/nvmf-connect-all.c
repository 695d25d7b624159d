/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nvmf-connect-all: connect everything that URIs, configuration or the kernel command line name,
 * and all that the discovery controllers among them report, at once. A failure does not keep the
 * rest from being tried. */
#include "kernel_rdma.h"
#include "loop.h"
#include "nvmf.h"
#include "nvmf_attach.h"
#include "nvmf_want.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS       60000
#define ATTEMPT_MS    30000
#define RETRY_MS      1000
#define LAST_RETRY_MS 100
#define HOPS          8
#define MSEC          1000000ull
#define TRTYPE_RDMA   1
#define TRTYPE_TCP    3
#define SUBTYPE_NVM   2

struct all_options {
	struct opt_common common;
	struct nvmf_options nvmf;
	const char *config;
	bool from_cmdline, no_wait, no_referrals, retry;
};

#define AT(field) offsetof(struct all_options, field)
static const struct opt rows[] = {
	NVMF_ROWS(struct all_options),
	{ "nqn", 'n', OPT_TEXT, AT(nvmf.value[NVMF_NQN]), "NQN",
		"subsystem NQN of the discovery controller; default the well-known NQN" },
	{ "config", 'J', OPT_TEXT, AT(config), "FILE",
		"configuration file to read; default the files in /etc/nvme" },
	{ "from-cmdline", 0, OPT_FLAG, AT(from_cmdline), NULL,
		"read the kernel command line (rd.nvmf.discover=)" },
	{ "no-referrals", 0, OPT_FLAG, AT(no_referrals), NULL, "do not follow referrals" },
	{ "no-wait", 0, OPT_FLAG, AT(no_wait), NULL,
		"return without waiting for the block devices" },
	{ "retry", 0, OPT_FLAG, AT(retry), NULL, "retry failed targets until --timeout" },
	{ "output", 'o', OPT_TEXT, offsetof(struct opt_common, output), "text|json|normal",
		"output format; normal is text" },
	{ "output-format", 0, OPT_TEXT, offsetof(struct opt_common, output), "text|json|normal",
		"same as --output" },
	{ 0 },
};
#undef AT

static const struct opt_foreign foreign[] = {
	NVMF_FOREIGN,
	{ "nvme-cli", "-p", NVMF_NO_PERSISTENT },
	{ "nvme-cli", "--persistent", NVMF_NO_PERSISTENT },
	{ "nvme-cli", "--force", NVMF_NO_PERSISTENT },
	{ 0 },
};

static const struct all_options defaults = { .common.timeout_ms = WAIT_MS };

/* Where an entry comes from. */
struct origin {
	const char *from;      /* "command line", "/etc/nvme/discovery.conf line 3" */
	const char *discovery; /* URI of the controller that offers it; NULL = none */
};

/* One connection, or a discovery controller that failed. */
struct result {
	char uri[URI_MAX], discovery[URI_MAX]; /* discovery: "" = none */
	const char *from;
	struct nvmf_target *target; /* NULL: failed before it was attached */
	struct nvmf_attachment attachment;
	struct diag why;
	struct work *work;
};

/* What targets point to stays until all are over. */
struct kept {
	struct kept *next;
	struct nvmf_target *target;
	struct nvmf_log log;
};

struct work {
	struct call *call;
	const struct all_options *opts;
	struct loop *loop;
	int root;
	uint64_t until; /* 0 = no bound */
	struct result **result;
	unsigned count, shown;
	struct kept *kept;
	struct nvmf_results sum;
	bool identity_shown;
};

static uint64_t attempt_until(const struct work *w)
{
	uint64_t bound = loop_clock() + ATTEMPT_MS * MSEC;

	return w->until && w->until < bound ? w->until : bound;
}

static void note_retry(const struct work *w, const struct diag *why)
{
	if (w->call->loop.verbose)
		call_note(w->call, "%s%s%s; retrying", why->object, why->object[0] ? ": " : "",
			why->text);
}

/* Between two attempts: a second, or less shortly before the end. Connections proceed. */
static void wait_retry(const struct work *w)
{
	uint64_t now = loop_clock(), left = w->until > now ? (w->until - now) / MSEC : 0,
		 ms = w->until && left < 2 * RETRY_MS ? left / 2 : RETRY_MS;
	const volatile int never = 0;

	loop_wait(w->loop, &never, now + ms * MSEC);
}

/* False: no further attempt. */
static bool may_retry(const struct work *w, const struct diag *why)
{
	return w->opts->retry && why->code != DIAG_USAGE &&
	       (!w->until || w->until > loop_clock() + LAST_RETRY_MS * MSEC);
}

/* Options come before the entry. */
static struct nvmf_options merge(const struct nvmf_options *opts, const struct nvmf_entry *entry)
{
	struct nvmf_options both = *opts;

	for (int key = 0; key < NVMF_KEYS; key++) {
		if (kernel_nvmf_key_flag(key))
			both.flag[key] |= entry->value[key] != NULL;
		else if (!both.value[key])
			both.value[key] = entry->value[key];
	}
	return both;
}

/* Each target is tried once. */
static bool is_known(const struct work *w, const struct nvmf_target *t)
{
	char text[600], other[600];

	nvmf_target_text(t, text, sizeof(text));
	for (unsigned i = 0; i < w->count; i++) {
		const struct nvmf_target *known = w->result[i]->target;

		if (known && !strcmp(text, nvmf_target_text(known, other, sizeof(other))))
			return true;
	}
	return false;
}

static bool is_over(const struct result *r)
{
	return !r->target || r->work->opts->common.dry_run ||
	       attach_is_over(&r->attachment.nvme.attach);
}

static void show_result(struct work *w, struct result *r)
{
	struct out *out = w->call->out;

	out_object(out, NULL);
	out_text(out, "uri", NULL, "%s", r->uri);
	out_text(out, "from", NULL, "%s", r->from);
	if (r->discovery[0])
		out_text(out, "discovery", NULL, "%s", r->discovery);
	if (r->target && w->opts->common.dry_run)
		nvmf_attach_plan(w->call, w->root, r->target, &r->why);
	else if (r->target)
		r->why = r->attachment.nvme.attach.why;
	if (r->target && !r->why.err && !w->opts->common.dry_run)
		nvmf_attach_show(w->call, &r->attachment, NULL);
	nvmf_result_end(&w->sum, r->uri, &r->why);
}

/* In their order, as soon as they are known. */
static void show_ready(struct work *w)
{
	while (w->shown < w->count && is_over(w->result[w->shown]))
		show_result(w, w->result[w->shown++]);
}

static struct result *add_result(struct work *w, const char *uri, const struct origin *origin)
{
	struct result **more = realloc(w->result, (w->count + 1) * sizeof(*more)), *r;

	if (!more)
		return NULL;
	w->result = more;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	snprintf(r->uri, sizeof(r->uri), "%s", uri);
	snprintf(r->discovery, sizeof(r->discovery), "%s",
		origin->discovery ? origin->discovery : "");
	r->from = origin->from;
	r->work = w;
	w->result[w->count++] = r;
	return r;
}

static void add_failure(
	struct work *w, const char *uri, const struct origin *origin, const struct diag *why)
{
	struct result *r = add_result(w, uri, origin);

	if (r)
		r->why = *why;
	show_ready(w);
}

static void result_free(struct result *r)
{
	attach_nvme_free(&r->attachment.nvme);
	if (r->target)
		nvmf_target_wipe(r->target);
	free(r->target);
	free(r);
}

static struct result *result_of(struct attach *attach)
{
	return container_of(attach, struct result, attachment.nvme.attach);
}

static void attached(struct attach *attach)
{
	nvmf_attach_hint(&result_of(attach)->attachment);
	show_ready(result_of(attach)->work);
}

static void retrying(struct attach *attach)
{
	struct result *r = result_of(attach);
	struct diag why = attach->why;

	diag_ctx(&why, "%s", r->uri);
	note_retry(r->work, &why);
}

/* Takes the target. The connection is made while others are looked for. */
static void connect_target(
	struct work *w, struct nvmf_target *t, const char *uri, const struct origin *origin)
{
	struct result *r = is_known(w, t) ? NULL : add_result(w, uri, origin);
	struct attach *attach;

	if (!r) {
		nvmf_target_wipe(t);
		free(t);
		return;
	}
	r->target = t;
	if (w->opts->common.dry_run) {
		show_ready(w);
		return;
	}
	attach = &r->attachment.nvme.attach;
	nvmf_attach_init(&r->attachment, w->call, w->loop, w->root, t,
		NVMF_NAMED | (w->opts->no_wait ? NVMF_NO_WAIT : 0));
	attach->deadline = w->until;
	attach->limit_ms = ATTEMPT_MS;
	attach->retry_ms = w->opts->retry ? RETRY_MS : 0;
	attach->done = attached;
	attach->retrying = retrying;
	attach_start(attach);
}

static int add_word(char text[URI_MAX], const char *name, const char *value)
{
	size_t at = strlen(text);

	if (value &&
		(size_t)snprintf(text + at, URI_MAX - at, "%s=%s;", name, value) >= URI_MAX - at)
		return -E2BIG;
	return 0;
}

/* A port that nobody named is left open: over TCP there are two that may be it. */
static int discovery_uri(const struct nvmf_target *t, bool port, struct uri *uri, struct diag *diag)
{
	const char *const *value = t->want.value;
	char text[URI_MAX] = "";

	if (add_word(text, "transport", value[NVMF_TRANSPORT]) ||
		add_word(text, "traddr", value[NVMF_TRADDR]) ||
		(port && add_word(text, "trsvcid", value[NVMF_TRSVCID])) ||
		add_word(text, "nqn", value[NVMF_NQN]) ||
		add_word(text, "host_traddr", value[NVMF_HOST_TRADDR]) ||
		add_word(text, "host_iface", value[NVMF_HOST_IFACE]))
		return diag_set(diag, DIAG_USAGE, E2BIG, "the address is too long");
	return uri_parse(uri, text, diag);
}

static int ask(struct work *w, const struct nvmf_target *t, bool port, struct nvmf_log *log,
	struct diag *diag)
{
	const struct nvmf_discover_options how = { .referrals = !w->opts->no_referrals,
		.max_hops = HOPS };
	uint64_t until = attempt_until(w), now = loop_clock();
	struct bdev_env env = { .timeout_ms =
					until > now ? (uint32_t)((until - now) / MSEC) + 1 : 1 };
	struct uri *uri = calloc(1, sizeof(*uri));
	int err;

	if (!uri)
		return diag_sys(diag, ENOMEM, "discovery");
	snprintf(env.hostnqn, sizeof(env.hostnqn), "%s", t->who.hostnqn);
	memcpy(env.hostid, t->who.hostid, sizeof(env.hostid));
	if (!strcmp(t->want.value[NVMF_TRANSPORT], "rdma"))
		kernel_rdma_ready(w->root, NULL);
	err = discovery_uri(t, port, uri, diag);
	if (!err)
		err = nvmf_discover(w->loop, uri, &env, &how, log, diag);
	free(uri);
	return err;
}

/* The options of the discovery controller apply to its records; the local address and TLS only for
 * the same transport. */
static void connect_record(struct work *w, const struct nvmf_options *opts,
	const struct nvmf_record *record, const char *transport, const struct origin *origin)
{
	struct nvmf_options own = *opts;
	struct nvmf_target *t = calloc(1, sizeof(*t));
	struct diag why = { 0 };
	char uri[URI_MAX];

	if (!t)
		return;
	own.value[NVMF_TRANSPORT] = record->trtype == TRTYPE_RDMA ? "rdma" : "tcp";
	own.value[NVMF_TRADDR] = record->traddr;
	own.value[NVMF_TRSVCID] = record->trsvcid;
	own.value[NVMF_NQN] = record->subnqn;
	if (strcmp(transport, own.value[NVMF_TRANSPORT])) {
		own.value[NVMF_HOST_TRADDR] = own.value[NVMF_HOST_IFACE] = NULL;
		own.flag[NVMF_HDR_DIGEST] = own.flag[NVMF_DATA_DIGEST] = own.flag[NVMF_TLS] =
			own.flag[NVMF_CONCAT] = false;
		own.value[NVMF_TLS_KEY] = own.value[NVMF_KEYRING] = own.tls_key_file =
			own.tls_key_fd = own.tls_key_identity = NULL;
		own.tls_of = NULL;
	}
	if (!nvmf_target_read(t, w->call, w->root, &own, NULL, &why)) {
		connect_target(w, t, nvmf_uri(t->want.value, uri), origin);
		return;
	}
	add_failure(w, nvmf_uri(own.value, uri), origin, &why);
	nvmf_target_wipe(t);
	free(t);
}

static void connect_log(struct work *w, const struct nvmf_options *opts, const struct nvmf_log *log,
	const char *transport, const struct origin *origin)
{
	for (unsigned i = 0; i < log->count; i++) {
		const struct nvmf_record *record = &log->record[i];

		if (record->subtype != SUBTYPE_NVM)
			continue;
		if (record->trtype == TRTYPE_RDMA || record->trtype == TRTYPE_TCP)
			connect_record(w, opts, record, transport, origin);
		else
			call_note(w->call, "%s: ignored: transport %s is not supported",
				record->subnqn, nvmf_trtype_word(record->trtype));
	}
	for (unsigned i = 0; i < log->troubles; i++)
		add_failure(w, log->trouble[i].uri, origin, &log->trouble[i].why);
}

/* Takes the target. -EAGAIN: failed, but to be tried again. */
static int discover(struct work *w, const struct nvmf_options *opts, struct nvmf_target *t,
	bool port, const char *from)
{
	struct kept *kept = calloc(1, sizeof(*kept));
	struct origin origin = { .from = from };
	struct nvmf_want want = t->want;
	struct diag why = { 0 };
	char uri[URI_MAX];
	int err;

	if (!port)
		want.value[NVMF_TRSVCID] = NULL;
	nvmf_uri(want.value, uri);
	if (kept) {
		*kept = (struct kept){ .next = w->kept, .target = t };
		w->kept = kept;
		err = ask(w, t, port, &kept->log, &why);
	} else {
		nvmf_target_wipe(t);
		free(t);
		err = diag_sys(&why, ENOMEM, "discovery");
	}
	if (err && may_retry(w, &why)) {
		diag_ctx(&why, "%s", uri);
		note_retry(w, &why);
		return -EAGAIN;
	}
	if (err) {
		add_failure(w, uri, &origin, &why);
	} else {
		origin.discovery = uri;
		connect_log(w, opts, &kept->log, t->want.value[NVMF_TRANSPORT], &origin);
	}
	return 0;
}

/* What a URI has for the connection applies to the records of the discovery controller too. A loss
 * policy goes as such. */
static struct nvmf_options of_target(const struct nvmf_options *opts, const struct nvmf_target *t)
{
	struct nvmf_options own = *opts;

	for (int key = NVMF_HOSTNQN; key < NVMF_KEYS; key++) {
		if (kernel_nvmf_key_flag(key))
			own.flag[key] |= t->want.value[key] != NULL;
		else if (t->want.value[key] && !nvmf_target_by_policy(t, key))
			own.value[key] = t->want.value[key];
	}
	own.value[NVMF_TRANSPORT] = own.value[NVMF_TRADDR] = own.value[NVMF_TRSVCID] =
		own.value[NVMF_NQN] = NULL;
	if (t->policy[0])
		own.on_loss = t->policy;
	if (t->tls.ring)
		own.value[NVMF_KEYRING] = t->tls.ring;
	if (t->tls.psk.len)
		own.tls_of = t;
	return own;
}

/* Once: all have the same, unless configuration files give others. */
static void show_identity(struct work *w, const struct nvmf_target *t)
{
	if (!w->identity_shown)
		nvmf_show_identity(w->call, t);
	w->identity_shown = true;
}

/* Without the URI's keys: one of them may be a secret. */
static const char *entry_text(
	const struct nvmf_entry *entry, const struct nvmf_options *opts, char text[URI_MAX])
{
	const char *const *value = opts->value;

	if (!entry->uri && value[NVMF_TRANSPORT] && value[NVMF_TRADDR])
		return nvmf_uri(value, text);
	snprintf(text, URI_MAX, "%s",
		entry->uri           ? entry->uri
		: value[NVMF_TRADDR] ? value[NVMF_TRADDR]
				     : entry->from);
	uri_hide(text);
	text[strcspn(text, "?")] = 0;
	return text;
}

/* -EAGAIN: to be tried again. */
static int do_entry(struct work *w, const struct nvmf_entry *entry)
{
	struct nvmf_options opts = merge(&w->opts->nvmf, entry), own;
	const struct origin origin = { .from = entry->from };
	struct nvmf_target *t = calloc(1, sizeof(*t));
	struct diag why = { 0 };
	char what[URI_MAX];
	bool port;

	if (!t || nvmf_target_read(t, w->call, w->root, &opts, entry->uri, &why)) {
		if (!t)
			diag_sys(&why, ENOMEM, "target");
		add_failure(w, entry_text(entry, &opts, what), &origin, &why);
		if (t)
			nvmf_target_wipe(t);
		free(t);
		return 0;
	}
	show_identity(w, t);
	if (!entry->discover && !nvmf_target_discovery(t)) {
		connect_target(w, t, entry_text(entry, &opts, what), &origin);
		return 0;
	}
	own = of_target(&opts, t);
	port = opts.value[NVMF_TRSVCID] || t->uri.port;
	return discover(w, &own, t, port, entry->from);
}

static int gather(struct call *call, int root, struct nvmf_entries *all)
{
	const struct all_options *opts = call->opts;

	if (opts->config && strcmp(opts->config, "none"))
		return kernel_nvmf_conf_read(root, opts->config, all, call->diag);
	if (opts->from_cmdline)
		return kernel_nvmf_conf_kernel(root, all, call->diag);
	return call->operands || opts->nvmf.value[NVMF_TRADDR]
		       ? 0
		       : kernel_nvmf_conf_read(root, NULL, all, call->diag);
}

static int check_call(const struct call *call)
{
	const struct all_options *opts = call->opts;
	bool named = call->operands || opts->nvmf.value[NVMF_TRADDR],
	     config = opts->config && strcmp(opts->config, "none");
	int err = nvmf_options_check(&opts->nvmf, call->diag);

	if (err)
		return err;
	if (call->operands && opts->nvmf.value[NVMF_TRADDR])
		return diag_set(
			call->diag, DIAG_USAGE, EINVAL, "a URI and -t, -a, -s can't be combined");
	if (named + config + opts->from_cmdline > 1)
		return diag_set(call->diag, DIAG_USAGE, EINVAL,
			"a URI or -a, --config and --from-cmdline can't be combined");
	return opts->nvmf.value[NVMF_TRADDR] ? nvmf_target_named(opts->nvmf.value[NVMF_TRANSPORT],
						       opts->nvmf.value[NVMF_TRADDR], call->diag)
					     : 0;
}

/* Discovery controllers are asked one after another, and those that failed again after the others.
 * What they report is connected in the background. */
static void do_entries(struct work *w, const struct nvmf_entry *entry, unsigned count)
{
	bool *over = calloc(count + 1, sizeof(*over));

	for (unsigned left = over ? count : 0; left;) {
		left = 0;
		for (unsigned i = 0; i < count; i++) {
			over[i] = over[i] || do_entry(w, &entry[i]) != -EAGAIN;
			left += !over[i];
		}
		if (left)
			wait_retry(w);
	}
	free(over);
}

static int run_all(struct work *w)
{
	struct attach **list = calloc(w->count + 1, sizeof(*list));
	int err = list ? 0 : diag_sys(w->call->diag, ENOMEM, "connect");

	for (unsigned i = 0; !err && i < w->count; i++)
		if (!is_over(w->result[i]))
			list[i] = &w->result[i]->attachment.nvme.attach;
	if (!err)
		err = attach_run(w->loop, list, w->count, w->call->diag);
	free(list);
	show_ready(w);
	return err;
}

static int do_all(struct work *w, const struct nvmf_entries *all)
{
	const struct call *call = w->call;
	bool named = w->opts->nvmf.value[NVMF_TRADDR];
	unsigned count = 0;
	struct nvmf_entry *entry = calloc(call->operands + 1 + all->count, sizeof(*entry));
	int err;

	if (!entry)
		return diag_sys(call->diag, ENOMEM, "connect");
	for (unsigned i = 0; i < call->operands; i++)
		entry[count++].uri = (char *)call->operand[i];
	if (named)
		entry[count++].discover = w->opts->nvmf.value[NVMF_NQN];
	for (unsigned i = 0; i < count; i++)
		snprintf(entry[i].from, sizeof(entry[i].from), "command line");
	for (unsigned i = 0; i < all->count && !all->off; i++)
		entry[count++] = all->entry[i];
	out_list(call->out, "results");
	do_entries(w, entry, count);
	err = run_all(w);
	err = err ? err : nvmf_results_end(&w->sum);
	for (unsigned i = 0; i < w->count; i++)
		result_free(w->result[i]);
	free(w->result);
	while (w->kept) {
		struct kept *kept = w->kept;

		w->kept = kept->next;
		nvmf_log_free(&kept->log);
		nvmf_target_wipe(kept->target);
		free(kept->target);
		free(kept);
	}
	free(entry);
	return err;
}

static void show_notes(const struct call *call, const struct nvmf_entries *all)
{
	for (const char *at = all->notes; call->loop.verbose && *at;) {
		size_t len = strcspn(at, "\n");

		call_note(call, "%.*s", (int)len, at);
		at += len + (at[len] == '\n');
	}
	if (all->off)
		call_note(call, "nothing to connect: rd.nonvmf is on the kernel command line");
}

static int nothing(const struct call *call, const struct nvmf_entries *all)
{
	const struct all_options *opts = call->opts;

	if (opts->from_cmdline && !all->off)
		call_note(call,
			"nothing to connect: no rd.nvmf.discover= on the kernel command line");
	else if (opts->config)
		call_note(call, "nothing to connect: no target in %s", opts->config);
	if (opts->config || opts->from_cmdline)
		return 0;
	diag_set(call->diag, DIAG_USAGE, ENOENT,
		"nothing to connect: no URI given, and no target in /etc/nvme");
	return diag_hint(call->diag, "give a URI, or list targets in /etc/nvme/discovery.conf");
}

static int run(struct call *call)
{
	const struct all_options *opts = call->opts;
	struct work w = { .call = call, .opts = opts, .root = kernel_root(), .sum.call = call };
	struct nvmf_entries all = { 0 };
	int err = w.root < 0 ? diag_sys(call->diag, errno, "open /") : check_call(call);

	if (!err)
		err = gather(call, w.root, &all);
	show_notes(call, &all);
	nvmf_warn_secrets(call, &opts->nvmf);
	if (!err && !all.count && !call->operands && !opts->nvmf.value[NVMF_TRADDR])
		err = nothing(call, &all);
	if (!err)
		err = loop_new(&w.loop, &call->loop, call->diag);
	if (!err) {
		w.until =
			opts->common.timeout_ms ? loop_clock() + opts->common.timeout_ms * MSEC : 0;
		err = do_all(&w, &all);
		loop_free(w.loop);
	}
	kernel_nvmf_conf_free(&all);
	if (w.root >= 0)
		close(w.root);
	return err;
}

const struct applet applet_nvmf_connect_all = {
	.name = "nvmf-connect-all",
	.operands = "[URI...]",
	.schemes = SCHEME_NVMF,
	.summary = "connect all subsystems of NVMe-oF targets or configuration files",
	.examples = "  rdmastor nvmf-connect-all nvme+rdma://10.0.0.1 nvme+tcp://10.0.1.1\n"
		    "  rdmastor nvmf-connect-all --config /etc/nvme/discovery.conf --dry-run\n",
	.foreign = foreign,
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct all_options),
	.max = UINT8_MAX,
	.changes = true,
	.own_letters = "q",
	.run = run,
};
