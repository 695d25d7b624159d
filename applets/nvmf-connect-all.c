/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nvmf-connect-all: connects everything that URIs, configuration or the kernel command line say, and all that the discovery controllers
 * among it offer. What fails does not keep the rest from being tried. */
#include "loop.h"
#include "nvmf.h"
#include "nvmf_attach.h"
#include "nvmf_want.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS     60000
#define ATTEMPT_MS  30000
#define HOPS        8
#define MSEC        1000000ull
#define TRTYPE_RDMA 1
#define TRTYPE_TCP  3
#define SUBTYPE_NVM 2

struct all_options {
	struct opt_common common;
	struct nvmf_options nvmf;
	const char *config;
	bool from_cmdline, no_wait, no_referrals, retry;
};

#define AT(field) offsetof(struct all_options, field)
static const struct opt rows[] = {
	NVMF_ROWS(struct all_options),
	{ "config", 'J', OPT_TEXT, AT(config), "FILE", "this configuration, in any of the forms, instead of /etc/nvme" },
	{ "from-cmdline", 0, OPT_FLAG, AT(from_cmdline), NULL, "what the kernel command line says (rd.nvmf.…)" },
	{ "no-referrals", 0, OPT_FLAG, AT(no_referrals), NULL, "ask only the discovery controllers that are named" },
	{ "no-wait", 0, OPT_FLAG, AT(no_wait), NULL, "do not wait for the block devices" },
	{ "retry", 0, OPT_FLAG, AT(retry), NULL, "until --timeout try again what failed" },
	{ "output", 'o', OPT_TEXT, offsetof(struct opt_common, output), "text|json|normal", "form of the output; normal is text" },
	{ "output-format", 0, OPT_TEXT, offsetof(struct opt_common, output), "text|json|normal", "the same as --output" },
	{ 0 },
};
#undef AT

static const struct all_options defaults = { .common.timeout_ms = WAIT_MS };

/* A connection that was made or tried. */
struct done {
	char key[600]; /* transport, address, port, NQN: tried once */
	bool connected;
};

struct work {
	struct call *call;
	const struct all_options *opts;
	struct loop *loop;
	int root;
	uint64_t until; /* 0 = no bound */
	struct done *done;
	unsigned dones, connected, failed;
	bool told; /* who we are */
};

static uint64_t attempt_until(const struct work *w)
{
	uint64_t bound = loop_clock() + ATTEMPT_MS * MSEC;

	return w->until && w->until < bound ? w->until : bound;
}

/* What options do not say, the entry does. */
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

static struct done *seen(struct work *w, const struct nvmf_target *t)
{
	struct done *more;
	char key[600];

	nvmf_target_text(t, key, sizeof(key));
	for (unsigned i = 0; i < w->dones; i++)
		if (!strcmp(w->done[i].key, key))
			return &w->done[i];
	more = realloc(w->done, (w->dones + 1) * sizeof(*more));
	if (!more)
		return NULL;
	w->done = more;
	more += w->dones++;
	*more = (struct done){ 0 };
	memcpy(more->key, key, sizeof(key));
	return NULL;
}

static void tell_failure(struct work *w, const char *what, const char *from, const struct diag *why)
{
	struct out *out = w->call->out;

	w->failed++;
	out_object(out, NULL);
	out_text(out, "target", NULL, "%s", what);
	out_text(out, "from", NULL, "%s", from);
	out_bool(out, "connected", NULL, false);
	out_text(out, "code", NULL, "%s", diag_code_word(why->code));
	out_text(out, "text", NULL, "%s", why->text);
	if (why->hint[0])
		out_text(out, "hint", NULL, "%s", why->hint);
	out_end(out);
	call_note(w->call, "%s: %s", what, why->text);
}

/* One try; true: it is over, told in any case. */
static bool try_target(struct work *w, struct nvmf_target *t, const char *from, bool last)
{
	struct out *out = w->call->out;
	struct nvmf_attached attached;
	struct diag why = { 0 };
	char what[600];
	int err = nvmf_attach(w->call, w->root, t, w->opts->no_wait ? NVMF_NO_WAIT : 0, attempt_until(w), &attached, &why);

	if (!err) {
		w->connected++;
		out_object(out, NULL);
		out_text(out, "from", NULL, "%s", from);
		out_bool(out, "connected", NULL, true);
		nvmf_attached_show(w->call, t, &attached, NULL);
		out_end(out);
	} else if (last) {
		tell_failure(w, nvmf_target_text(t, what, sizeof(what)), from, &why);
	}
	nvmf_attached_free(&attached);
	return !err || last;
}

static void connect_target(struct work *w, struct nvmf_target *t, const char *from)
{
	struct diag why = { 0 };
	char what[600];

	if (seen(w, t))
		return;
	if (w->opts->common.dry_run) {
		out_object(w->call->out, NULL);
		out_text(w->call->out, "from", NULL, "%s", from);
		if (!nvmf_attach_plan(w->call, w->root, t, &why))
			w->connected++;
		out_end(w->call->out);
		if (why.err)
			tell_failure(w, nvmf_target_text(t, what, sizeof(what)), from, &why);
		return;
	}
	while (!try_target(w, t, from, !w->opts->retry || !w->until || loop_clock() + 1000 * MSEC >= w->until))
		sleep(1);
}

static int add_word(char text[URI_MAX], const char *name, const char *value)
{
	size_t at = strlen(text);

	if (value && (size_t)snprintf(text + at, URI_MAX - at, "%s=%s;", name, value) >= URI_MAX - at)
		return -E2BIG;
	return 0;
}

/* A port that nobody named is left open: over TCP there are two that may be it. */
static int discovery_uri(const struct nvmf_target *t, bool port, struct uri *uri, struct diag *diag)
{
	const char *const *value = t->want.value;
	char text[URI_MAX] = "";

	if (add_word(text, "transport", value[NVMF_TRANSPORT]) || add_word(text, "traddr", value[NVMF_TRADDR]) ||
		(port && add_word(text, "trsvcid", value[NVMF_TRSVCID])) || add_word(text, "nqn", value[NVMF_NQN]) ||
		add_word(text, "host_traddr", value[NVMF_HOST_TRADDR]) || add_word(text, "host_iface", value[NVMF_HOST_IFACE]))
		return diag_set(diag, DIAG_USAGE, E2BIG, "the address is too long");
	return uri_parse(uri, text, diag);
}

static int ask(struct work *w, const struct nvmf_target *t, bool port, struct nvmf_log *log, struct diag *diag)
{
	const struct nvmf_discover_options how = { .referrals = !w->opts->no_referrals, .max_hops = HOPS };
	uint64_t until = attempt_until(w), now = loop_clock();
	struct bdev_env env = { .timeout_ms = until > now ? (uint32_t)((until - now) / MSEC) + 1 : 1 };
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

/* The options of the discovery controller go for what it offers; where to leave from only for the same transport. */
static void connect_record(
	struct work *w, const struct nvmf_options *opts, const struct nvmf_record *record, const char *transport, const char *from)
{
	struct nvmf_options own = *opts;
	struct nvmf_target *t = calloc(1, sizeof(*t));
	struct diag why = { 0 };
	char what[600];

	if (!t)
		return;
	own.value[NVMF_TRANSPORT] = record->trtype == TRTYPE_RDMA ? "rdma" : "tcp";
	own.value[NVMF_TRADDR] = record->traddr;
	own.value[NVMF_TRSVCID] = record->trsvcid;
	own.value[NVMF_NQN] = record->subnqn;
	if (strcmp(transport, own.value[NVMF_TRANSPORT])) {
		own.value[NVMF_HOST_TRADDR] = own.value[NVMF_HOST_IFACE] = NULL;
		own.flag[NVMF_HDR_DIGEST] = own.flag[NVMF_DATA_DIGEST] = own.flag[NVMF_TLS] = own.flag[NVMF_CONCAT] = false;
		own.value[NVMF_TLS_KEY] = own.value[NVMF_KEYRING] = own.tls_key_file = own.tls_key_fd = own.tls_key_identity = NULL;
		own.tls_of = NULL;
	}
	snprintf(what, sizeof(what), "%s at %s %s:%s", record->subnqn, own.value[NVMF_TRANSPORT], record->traddr, record->trsvcid);
	if (nvmf_target_read(t, w->call, w->root, &own, NULL, &why))
		tell_failure(w, what, from, &why);
	else
		connect_target(w, t, from);
	nvmf_target_wipe(t);
	free(t);
}

static void connect_log(
	struct work *w, const struct nvmf_options *opts, const struct nvmf_log *log, const char *transport, const char *from)
{
	for (unsigned i = 0; i < log->count; i++) {
		const struct nvmf_record *record = &log->record[i];

		if (record->subtype != SUBTYPE_NVM)
			continue;
		if (record->trtype == TRTYPE_RDMA || record->trtype == TRTYPE_TCP)
			connect_record(w, opts, record, transport, from);
		else
			call_note(w->call, "%s over %s is passed over: neither rdma nor tcp", record->subnqn,
				nvmf_trtype_word(record->trtype));
	}
	for (unsigned i = 0; i < log->troubles; i++)
		tell_failure(w, log->trouble[i].object, from, &log->trouble[i].why);
}

static void discover(struct work *w, const struct nvmf_options *opts, const struct nvmf_target *t, bool port, const char *from)
{
	struct nvmf_log log = { 0 };
	struct diag why = { 0 };
	char what[600], name[700];
	int err;

	nvmf_target_text(t, what, sizeof(what));
	do {
		why = (struct diag){ 0 };
		err = ask(w, t, port, &log, &why);
	} while (err && w->opts->retry && w->until && loop_clock() + 1000 * MSEC < w->until && !sleep(1));
	if (err) {
		tell_failure(w, what, from, &why);
	} else {
		snprintf(name, sizeof(name), "%s, by %s", from, what);
		connect_log(w, opts, &log, t->want.value[NVMF_TRANSPORT], name);
	}
	nvmf_log_free(&log);
}

/* From a URI its own words for the connection go for what is discovered too. */
static struct nvmf_options of_target(const struct nvmf_options *opts, const struct nvmf_target *t)
{
	struct nvmf_options own = *opts;

	for (int key = NVMF_HOSTNQN; key < NVMF_KEYS; key++) {
		if (kernel_nvmf_key_flag(key))
			own.flag[key] |= t->want.value[key] != NULL;
		else if (!t->want.soft[key] && t->want.value[key])
			own.value[key] = t->want.value[key];
	}
	own.value[NVMF_TRANSPORT] = own.value[NVMF_TRADDR] = own.value[NVMF_TRSVCID] = own.value[NVMF_NQN] = NULL;
	if (t->tls.ring)
		own.value[NVMF_KEYRING] = t->tls.ring;
	if (t->tls.psk.len)
		own.tls_of = t;
	return own;
}

/* Once is enough: it is the same for all, but where configuration says otherwise. */
static void tell_identity(struct work *w, const struct nvmf_target *t)
{
	if (!w->told && w->call->loop.verbose)
		call_note(w->call, "host NQN %s (%s)", t->who.hostnqn, t->who.nqn_from);
	if (!w->told && t->who.random)
		call_note(w->call, "host NQN made up for this run: %s", t->who.hostnqn);
	w->told = true;
}

/* Without a URI's keys, of which one may be a secret. */
static const char *entry_text(const struct nvmf_entry *entry, char text[URI_MAX])
{
	snprintf(text, URI_MAX, "%s", entry->uri ? entry->uri : entry->value[NVMF_TRADDR] ? entry->value[NVMF_TRADDR] : "an entry");
	uri_hide(text);
	text[strcspn(text, "?")] = 0;
	return text;
}

static void do_entry(struct work *w, const struct nvmf_entry *entry)
{
	struct nvmf_options opts = merge(&w->opts->nvmf, entry);
	struct nvmf_target *t = calloc(1, sizeof(*t));
	struct diag why = { 0 };
	char what[URI_MAX];
	bool port;

	if (!t)
		return;
	if (nvmf_target_read(t, w->call, w->root, &opts, entry->uri, &why)) {
		tell_failure(w, entry_text(entry, what), entry->from, &why);
		goto done;
	}
	tell_identity(w, t);
	if (entry->discover || nvmf_target_discovery(t)) {
		struct nvmf_options own = of_target(&opts, t);

		port = opts.value[NVMF_TRSVCID] || t->uri.port;
		discover(w, &own, t, port, entry->from);
	} else {
		connect_target(w, t, entry->from);
	}
done:
	nvmf_target_wipe(t);
	free(t);
}

static int gather(struct call *call, int root, struct nvmf_entries *all)
{
	const struct all_options *opts = call->opts;

	if (opts->config && strcmp(opts->config, "none"))
		return kernel_nvmf_conf_read(root, opts->config, all, call->diag);
	if (opts->from_cmdline)
		return kernel_nvmf_conf_kernel(root, all, call->diag);
	return call->operands || opts->nvmf.value[NVMF_TRADDR] ? 0 : kernel_nvmf_conf_read(root, NULL, all, call->diag);
}

static int check_call(const struct call *call)
{
	const struct all_options *opts = call->opts;
	bool named = call->operands || opts->nvmf.value[NVMF_TRADDR], config = opts->config && strcmp(opts->config, "none");

	if (call->operands && opts->nvmf.value[NVMF_TRADDR])
		return diag_set(call->diag, DIAG_USAGE, EINVAL, "a URI and -t, -a, -s say the same thing: give one of both");
	if (named + config + opts->from_cmdline > 1)
		return diag_set(call->diag, DIAG_USAGE, EINVAL, "URIs or -a, --config and --from-cmdline: give one of them");
	return opts->nvmf.value[NVMF_TRADDR] ? nvmf_target_named(opts->nvmf.value[NVMF_TRANSPORT], opts->nvmf.value[NVMF_TRADDR], call->diag) : 0;
}

static void do_all(struct work *w, const struct nvmf_entries *all)
{
	static const struct nvmf_entry options = { .from = "command line" };
	struct nvmf_entry uri = { .from = "command line" };

	out_list(w->call->out, "results");
	for (unsigned i = 0; i < w->call->operands; i++) {
		uri.uri = w->call->operand[i];
		do_entry(w, &uri);
	}
	if (w->opts->nvmf.value[NVMF_TRADDR])
		do_entry(w, &options);
	for (unsigned i = 0; i < all->count && !all->off; i++)
		do_entry(w, &all->entry[i]);
	out_end(w->call->out);
	out_u64(w->call->out, "connected", NULL, w->connected);
	out_u64(w->call->out, "failed", NULL, w->failed);
}

static void tell_notes(const struct call *call, const struct nvmf_entries *all)
{
	for (const char *at = all->notes; call->loop.verbose && *at;) {
		size_t len = strcspn(at, "\n");

		call_note(call, "%.*s", (int)len, at);
		at += len + (at[len] == '\n');
	}
	if (all->off)
		call_note(call, "rd.nonvmf is on the kernel command line: nothing is connected");
}

static int nothing(const struct call *call, const struct nvmf_entries *all)
{
	const struct all_options *opts = call->opts;

	if (opts->from_cmdline && !all->off)
		call_note(call, "the kernel command line names no NVMe-oF target (rd.nvmf.discover=): nothing is connected");
	else if (opts->config)
		call_note(call, "%s names no NVMe-oF target: nothing is connected", opts->config);
	if (opts->config || opts->from_cmdline)
		return 0;
	diag_set(call->diag, DIAG_USAGE, ENOENT, "nothing to connect: no URI, and nothing in /etc/nvme");
	return diag_hint(call->diag, "there it would be discovery.conf, config.json or nvme-fabrics.conf");
}

static int result(const struct work *w)
{
	if (!w->failed)
		return EXIT_DONE;
	if (w->connected)
		return EXIT_PARTLY;
	return diag_set(w->call->diag, DIAG_IO, EIO, "nothing was connected, %u failed", w->failed);
}

static int run(struct call *call)
{
	const struct all_options *opts = call->opts;
	struct work w = { .call = call, .opts = opts, .root = kernel_root() };
	struct nvmf_entries all = { 0 };
	int err = w.root < 0 ? diag_sys(call->diag, errno, "open /") : check_call(call);

	if (!err)
		err = gather(call, w.root, &all);
	tell_notes(call, &all);
	nvmf_warn_secrets(call, &opts->nvmf);
	if (!err && !all.count && !call->operands && !opts->nvmf.value[NVMF_TRADDR])
		err = nothing(call, &all);
	if (!err)
		err = loop_new(&w.loop, &call->loop, call->diag);
	if (!err) {
		w.until = opts->common.timeout_ms ? loop_clock() + opts->common.timeout_ms * MSEC : 0;
		do_all(&w, &all);
		err = result(&w);
		loop_free(w.loop);
	}
	kernel_nvmf_conf_free(&all);
	free(w.done);
	if (w.root >= 0)
		close(w.root);
	return err;
}

const struct applet applet_nvmf_connect_all = {
	.name = "nvmf-connect-all",
	.operands = "[URI...]",
	.schemes = SCHEME_NVMF,
	.summary = "connect all that targets or configuration offer",
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct all_options),
	.max = UINT8_MAX,
	.changes = true,
	.own_letters = "q",
	.run = run,
};
