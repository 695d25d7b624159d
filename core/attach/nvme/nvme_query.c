/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Discovery controllers: read which ones an operand, options or configuration files name, and the
 * row that queries one. */
#include "grow.h"
#include "kernel_rdma.h"
#include "nvme_target.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The row. */

static struct nvmf_query *query_of(struct attach *attach)
{
	return container_of(attach, struct nvmf_query, attach);
}

static int load_rdma(int root, const void *arg, void *out)
{
	(void)arg;
	kernel_rdma_ready(root, out);
	return 0;
}

static void rdma_loaded(struct attach *attach, int err)
{
	(void)err;
	attach->why = (struct diag){ 0 };
	attach_step(attach, 0);
}

/* A failure to prepare RDMA matters only if the controller is not reached. */
static void query_ready(struct attach *attach)
{
	struct nvmf_query *query = query_of(attach);
	int err = uri_parse(&query->uri, query->text, &attach->why);

	query->rdma = (struct diag){ 0 };
	if (err || strcmp(query->uri.scheme, "nvme+rdma"))
		attach_step(attach, err);
	else
		attach_load(attach,
			&(struct child_call){ .fn = load_rdma,
				.out = &query->rdma,
				.out_len = sizeof(query->rdma),
				.until = attach->until },
			kernel_rdma_loaded(attach->root), rdma_loaded);
}

static void answered(struct nvmf_discovery *discovery)
{
	struct attach *attach = &container_of(discovery, struct nvmf_query, discovery)->attach;

	attach->why = discovery->why;
	attach_step(attach, -attach->why.err);
}

static void query_connect(struct attach *attach)
{
	struct nvmf_query *query = query_of(attach);
	struct bdev_env *env = &query->env;
	uint64_t now = loop_clock();
	int err;

	query->since = now;
	*env = (struct bdev_env){
		.timeout_ms = query->never           ? BDEV_NEVER
			      : !attach->until       ? 0
			      : attach->until <= now ? 1
						     : (uint32_t)((attach->until - now) / MSEC) + 1
	};
	memcpy(env->hostnqn, query->identity.hostnqn, sizeof(env->hostnqn));
	memcpy(env->hostid, query->identity.hostid, sizeof(env->hostid));
	err = nvmf_discovery_start(&query->discovery, attach->loop, &query->uri, env, &attach->why);
	if (err)
		attach_step(attach, err);
}

static void query_stop(struct attach *attach)
{
	nvmf_discovery_cancel(&query_of(attach)->discovery);
}

static const struct attach_proto query_row = {
	.ready = query_ready, .connect = query_connect, .stop = query_stop
};

void nvmf_query_init(struct nvmf_query *query, struct loop *loop, int root, bool referrals)
{
	query->attach = (struct attach){ .proto = &query_row, .loop = loop, .root = root };
	query->discovery = (struct nvmf_discovery){
		.referrals = referrals, .max_hops = NVMF_HOPS, .done = answered
	};
}

/* ---- Input. */

/* Keys of a query in the spelling of the kernel, which uri_parse() accepts. */
static const enum nvmf_key keys[] = { NVMF_TRANSPORT, NVMF_TRADDR, NVMF_TRSVCID, NVMF_NQN,
	NVMF_HOST_TRADDR, NVMF_HOST_IFACE, NVMF_TOS, NVMF_HDR_DIGEST, NVMF_DATA_DIGEST };

static struct nvmf_query *add_query(struct nvmf_queries *all, struct diag *diag)
{
	struct nvmf_query *query = grow(all->query, all->count);

	if (!query)
		diag_sys(diag, ENOMEM, "discovery");
	return query;
}

/* Append "KEY=VALUE" pairs: `first` before the first one, `between` before the others. Only in a
 * URI, whose pairs '&' separates, values are encoded. */
static int add_keys(struct nvmf_query *query, const char *const value[NVMF_KEYS], const char *first,
	const char *between, struct diag *diag)
{
	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const char *name = kernel_nvmf_key_name(keys[i]), *text = value[keys[i]];
		size_t at = strlen(query->text);
		char encoded[URI_MAX] = "";

		if (!text)
			continue;
		text = kernel_nvmf_key_flag(keys[i]) ? "1" : text;
		if (!*text || strpbrk(text, " \t\n;,"))
			return diag_set(diag, DIAG_USAGE, EINVAL, "invalid %s '%s'", name, text);
		if (*between == '&') {
			uri_encode(encoded, text);
			text = encoded;
		}
		if ((size_t)snprintf(query->text + at, URI_MAX - at, "%s%s=%s", first, name,
			    text) >= URI_MAX - at)
			return diag_set(diag, DIAG_USAGE, E2BIG,
				"the address is longer than %d bytes", URI_MAX - 1);
		first = between;
	}
	return 0;
}

int nvmf_query_target(struct nvmf_query *query, const struct nvmf_target *t, const char *nqn,
	bool port, struct diag *diag)
{
	static const enum nvmf_key own[] = { NVMF_TRANSPORT, NVMF_TRADDR, NVMF_TRSVCID,
		NVMF_HOST_TRADDR, NVMF_HOST_IFACE };
	const char *value[NVMF_KEYS] = { [NVMF_NQN] = nqn };

	for (unsigned i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (own[i] != NVMF_TRSVCID || port)
			value[own[i]] = t->params.value[own[i]];
	nvmf_uri(value, query->shown);
	query->identity = t->identity;
	if (t->host && t->addr.others)
		value[NVMF_TRADDR] = t->host;
	return add_keys(query, value, "", ";", diag);
}

static bool is_digest(enum nvmf_key key)
{
	return key == NVMF_HDR_DIGEST || key == NVMF_DATA_DIGEST;
}

static int check(const char *const value[NVMF_KEYS], bool options, bool tcp, struct diag *diag)
{
	char option[NVMF_OPTION_NAME];
	int err = 0;

	for (int key = 0; key < NVMF_KEYS && !err; key++) {
		if (!value[key])
			continue;
		const char *name =
			options ? nvmf_option_name(key, option) : kernel_nvmf_key_name(key);

		if (is_digest(key) && !tcp)
			err = diag_set(diag, DIAG_USAGE, EINVAL, "%s requires TCP", name);
		else if (!kernel_nvmf_key_flag(key) && key != NVMF_NQN)
			err = kernel_nvmf_key_check(key, name, value[key], diag);
	}
	return err;
}

/* Add a query from options or an entry. */
static int add_values(
	struct nvmf_queries *all, const char *const value[NVMF_KEYS], struct diag *diag)
{
	bool tcp = value[NVMF_TRANSPORT] && !strcmp(value[NVMF_TRANSPORT], "tcp");
	const char *known[NVMF_KEYS];
	struct nvmf_query *query;
	int err = nvmf_target_check_address(value[NVMF_TRANSPORT], value[NVMF_TRADDR], diag);

	if (!err)
		err = check(value, !all->conf.count, tcp || all->any_transport, diag);
	query = err ? NULL : add_query(all, diag);
	if (!query)
		return -diag->err;
	for (int key = 0; key < NVMF_KEYS; key++)
		known[key] = tcp || !is_digest(key) ? value[key] : NULL;
	nvmf_uri(value, query->shown);
	query->nqn = value[NVMF_HOSTNQN];
	query->hostid = value[NVMF_HOSTID];
	return add_keys(query, known, "", ";", diag);
}

/* Add a query from a URI, with options as keys. */
static int add_uri(struct nvmf_queries *all, const char *text, const char *const value[NVMF_KEYS],
	struct diag *diag)
{
	struct nvmf_query *query = add_query(all, diag);
	bool url = strstr(text, "://");
	int err = query ? uri_parse(&query->uri, text, diag) : -ENOMEM;

	if (!err)
		err = nvmf_uri_scheme(&query->uri, diag);
	if (!err)
		err = check(value, !all->conf.count, !strcmp(query->uri.scheme, "nvme+tcp"), diag);
	if (err)
		return err;
	snprintf(query->text, sizeof(query->text), "%s", text);
	snprintf(query->shown, sizeof(query->shown), "%s", query->uri.spelling);
	query->nqn = value[NVMF_HOSTNQN];
	query->hostid = value[NVMF_HOSTID];
	return add_keys(query, value,
		!url                ? ";"
		: strchr(text, '?') ? "&"
				    : "?",
		url ? "&" : ";", diag);
}

/* "HOST", "HOST:PORT", "[ADDRESS]:PORT", "ADDRESS": neither a URI nor one of its other spellings.
 */
static bool is_host(const char *text)
{
	const char *colon = strchr(text, ':');

	if (colon && !strchr(colon + 1, ':') && colon[1 + strspn(colon + 1, "0123456789")])
		return false;
	return *text && !strpbrk(text, "/= \t") && strncmp(text, "trtype:", 7) &&
	       strncmp(text, "traddr:", 7);
}

static int add_host(
	struct nvmf_queries *all, const char *text, const char *value[NVMF_KEYS], struct diag *diag)
{
	const char *one = value[NVMF_TRANSPORT], *end;
	char host[URI_MAX];
	int err;

	snprintf(host, sizeof(host), "%s", text + (*text == '['));
	end = *text == '['                              ? strchr(host, ']')
	      : strchr(host, ':') == strrchr(host, ':') ? strchr(host, ':')
							: NULL;
	if ((*text == '[' && (!end || (end[1] && end[1] != ':'))) || strlen(text) >= ADDR_HOST)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"'%s': expected HOST, HOST:PORT or [ADDRESS]:PORT", text);
	if (end) {
		value[NVMF_TRSVCID] = *end == ':' ? end + 1 : end[1] ? end + 2 : NULL;
		host[end - host] = 0;
	}
	value[NVMF_TRADDR] = host;
	all->any_transport = !one;
	value[NVMF_TRANSPORT] = one ? one : "rdma";
	err = add_values(all, value, diag);
	if (!err && !one) {
		value[NVMF_TRANSPORT] = "tcp";
		err = add_values(all, value, diag);
	}
	return err;
}

/* Configuration may name subsystems too: only discovery controllers are queried. */
static bool is_discovery(const struct nvmf_entry *entry)
{
	const char *nqn = entry->value[NVMF_NQN],
		   *host = entry->uri ? strstr(entry->uri, "://") : NULL;

	if (entry->uri)
		return host ? !strchr(host + 3, '/') : !strstr(entry->uri, "nqn");
	return entry->discover || !nqn;
}

void nvmf_entry_name(
	const struct nvmf_entry *entry, const char *const value[NVMF_KEYS], char text[URI_MAX])
{
	const char *addr = value[NVMF_TRADDR];

	if (!entry->uri && value[NVMF_TRANSPORT] && addr) {
		nvmf_uri(value, text);
		return;
	}
	snprintf(text, URI_MAX, "%s", entry->uri ? entry->uri : addr ? addr : entry->from);
	uri_hide(text);
	text[strcspn(text, "?")] = 0;
}

/* Add an entry. An invalid one becomes a failed query. */
static int add_entry(struct nvmf_queries *all, const struct nvmf_entry *entry,
	const char *const opts[NVMF_KEYS], struct diag *diag)
{
	const char *value[NVMF_KEYS];
	struct diag why = { 0 };
	struct nvmf_query *query;
	unsigned before = all->count;
	int err = 0;

	for (int key = 0; key < NVMF_KEYS; key++)
		value[key] = opts[key] ? opts[key] : entry->value[key];
	value[NVMF_DHCHAP_SECRET] = value[NVMF_DHCHAP_CTRL_SECRET] = NULL; /* for subsystems only */
	value[NVMF_TLS_KEY] = value[NVMF_KEYRING] = NULL;
	if (entry->damage)
		why = *entry->damage;
	else
		err = entry->uri ? add_uri(all, entry->uri, value, &why)
				 : add_values(all, value, &why);
	if (!err && !why.err)
		return 0;
	query = all->count > before ? &all->query[before] : add_query(all, diag);
	if (!query)
		return -diag->err;
	diag_ctx(&why, "%s", entry->from);
	query->attach.why = why;
	nvmf_entry_name(entry, value, query->shown);
	return 0;
}

static int add_config(const struct out_notes *notes, int root, const char *config,
	const char *const value[NVMF_KEYS], struct nvmf_queries *all, struct diag *diag)
{
	int err = kernel_nvmf_conf_read(root, config, &all->conf, diag);

	nvmf_show_notes(notes, &all->conf);
	for (unsigned i = 0; i < all->conf.count && !err; i++)
		if (is_discovery(&all->conf.entry[i]))
			err = add_entry(all, &all->conf.entry[i], value, diag);
	if (err || all->count)
		return err;
	if (config)
		return diag_set(diag, DIAG_USAGE, ENOENT, "%s: no discovery controller", config);
	diag_set(diag, DIAG_USAGE, EINVAL,
		"no target given: expected HOST, a URI, or --transport and --traddr");
	return diag_hint(diag, "or list discovery controllers in /etc/nvme/discovery.conf");
}

/* The operand replaces the options that name an address. */
static int check_operand(const char *operand, const char *const value[NVMF_KEYS], struct diag *diag)
{
	static const enum nvmf_key same[] = { NVMF_TRADDR, NVMF_TRSVCID, NVMF_TRANSPORT,
		NVMF_HOST_TRADDR, NVMF_HOST_IFACE, NVMF_NQN };
	unsigned count = is_host(operand) ? 2 : sizeof(same) / sizeof(*same);

	for (unsigned i = 0; i < count; i++)
		if (value[same[i]])
			return diag_set(diag, DIAG_USAGE, EINVAL, "a %s and %s can't be combined",
				count == 2 ? "HOST" : "URI", i < 3 ? "-t, -a, -s" : "-w, -f, -n");
	return 0;
}

int nvmf_queries_read(const struct out_notes *notes, int root, const char *operand,
	const struct nvmf_options *opts, const char *config, struct nvmf_queries *all,
	struct diag *diag)
{
	const char *value[NVMF_KEYS];
	int err;

	*all = (struct nvmf_queries){ 0 };
	for (int key = 0; key < NVMF_KEYS; key++)
		value[key] = opts->flag[key] ? "" : opts->value[key];
	if (operand) {
		err = config ? diag_set(diag, DIAG_USAGE, EINVAL,
				       "a HOST or URI and --config can't be combined")
			     : check_operand(operand, value, diag);
		if (err)
			return err;
		return is_host(operand) ? add_host(all, operand, value, diag)
					: add_uri(all, operand, value, diag);
	}
	if (value[NVMF_TRANSPORT] || value[NVMF_TRADDR])
		return config ? diag_set(diag, DIAG_USAGE, EINVAL,
					"--traddr and --config can't be combined")
			      : add_values(all, value, diag);
	return add_config(notes, root, config, value, all, diag);
}

void nvmf_queries_free(struct nvmf_queries *all)
{
	for (unsigned i = 0; i < all->count; i++)
		nvmf_log_free(&all->query[i].discovery.log);
	free(all->query);
	nvmf_log_free(&all->log);
	kernel_nvmf_conf_free(&all->conf);
	*all = (struct nvmf_queries){ 0 };
}
