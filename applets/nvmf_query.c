/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* From the operand, options or configuration files of nvmf-discover to the URIs to query. */
#include "nvmf_query.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The keys that a query can have, in the kernel's spelling, which the URI parser reads too. */
static const enum nvmf_key keys[] = { NVMF_TRANSPORT, NVMF_TRADDR, NVMF_TRSVCID, NVMF_NQN,
	NVMF_HOST_TRADDR, NVMF_HOST_IFACE, NVMF_TOS, NVMF_HDR_DIGEST, NVMF_DATA_DIGEST };

static struct nvmf_query *add_query(struct nvmf_queries *all, struct diag *diag)
{
	struct nvmf_query *more = realloc(all->query, (all->count + 1) * sizeof(*more));

	if (!more) {
		diag_sys(diag, ENOMEM, "discovery");
		return NULL;
	}
	all->query = more;
	more += all->count++;
	memset(more, 0, sizeof(*more));
	return more;
}

static int append(char text[URI_MAX], const char *before, enum nvmf_key key, const char *value,
	const char *after, struct diag *diag)
{
	const char *name = kernel_nvmf_key_name(key);
	size_t at = strlen(text);

	if (kernel_nvmf_key_flag(key))
		value = "1";
	if (!*value || strpbrk(value, " \t\n;,"))
		return diag_set(diag, DIAG_USAGE, EINVAL, "invalid %s '%s'", name, value);
	if ((size_t)snprintf(text + at, URI_MAX - at, "%s%s=%s%s", before, name, value, after) >=
		URI_MAX - at)
		return diag_set(diag, DIAG_USAGE, E2BIG, "the address is longer than %d bytes",
			URI_MAX - 1);
	return 0;
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

/* From single values. */
static int add_values(
	struct nvmf_queries *all, const char *const value[NVMF_KEYS], struct diag *diag)
{
	bool tcp = value[NVMF_TRANSPORT] && !strcmp(value[NVMF_TRANSPORT], "tcp");
	struct nvmf_query *query;
	int err = nvmf_target_named(value[NVMF_TRANSPORT], value[NVMF_TRADDR], diag);

	if (!err)
		err = check(value, !all->conf.count, tcp || all->either, diag);
	query = err ? NULL : add_query(all, diag);
	if (!query)
		return -diag->err;
	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys) && !err; i++)
		if (value[keys[i]] && (tcp || !is_digest(keys[i])))
			err = append(query->text, "", keys[i], value[keys[i]], ";", diag);
	if (!err)
		nvmf_uri(value, query->shown);
	query->hostnqn = value[NVMF_HOSTNQN];
	query->hostid = value[NVMF_HOSTID];
	return err;
}

/* A URI, to which options are added as its keys. */
static int add_uri(struct nvmf_queries *all, const char *text, const char *const value[NVMF_KEYS],
	struct diag *diag)
{
	bool url = strstr(text, "://");
	struct uri *uri = calloc(1, sizeof(*uri));
	struct nvmf_query *query = uri ? add_query(all, diag) : NULL;
	int err = uri ? uri_parse(uri, text, diag) : diag_sys(diag, ENOMEM, "discovery");

	if (!err)
		err = nvmf_target_scheme(uri, diag);
	if (!err)
		err = check(value, !all->conf.count, !strcmp(uri->scheme, "nvme+tcp"), diag);
	if (!err && query) {
		snprintf(query->text, sizeof(query->text), "%s", text);
		snprintf(query->shown, sizeof(query->shown), "%s", uri->spelling);
		query->hostnqn = value[NVMF_HOSTNQN];
		query->hostid = value[NVMF_HOSTID];
	}
	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys) && !err && query; i++)
		if (value[keys[i]])
			err = append(query->text,
				!url                       ? ";"
				: strchr(query->text, '?') ? "&"
							   : "?",
				keys[i], value[keys[i]], "", diag);
	free(uri);
	return err ? err : query ? 0 : -diag->err;
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
	all->either = !one;
	value[NVMF_TRANSPORT] = one ? one : "rdma";
	err = add_values(all, value, diag);
	if (!err && !one) {
		value[NVMF_TRANSPORT] = "tcp";
		err = add_values(all, value, diag);
	}
	return err;
}

/* Configuration names subsystems too: only discovery controllers are queried. */
static bool is_discovery(const struct nvmf_entry *entry)
{
	const char *nqn = entry->value[NVMF_NQN],
		   *host = entry->uri ? strstr(entry->uri, "://") : NULL;

	if (entry->uri)
		return host ? !strchr(host + 3, '/') : !strstr(entry->uri, "nqn");
	return entry->discover || !nqn;
}

static int add_entry(struct nvmf_queries *all, const struct nvmf_entry *entry,
	const char *const opts[NVMF_KEYS], struct diag *diag)
{
	const char *value[NVMF_KEYS];
	int err;

	for (int key = 0; key < NVMF_KEYS; key++)
		value[key] = opts[key] ? opts[key] : entry->value[key];
	value[NVMF_DHCHAP_SECRET] = value[NVMF_DHCHAP_CTRL_SECRET] = NULL; /* for the subsystems */
	value[NVMF_TLS_KEY] = value[NVMF_KEYRING] = NULL;
	err = entry->uri ? add_uri(all, entry->uri, value, diag) : add_values(all, value, diag);
	return err ? diag_ctx(diag, "%s", entry->from) : 0;
}

static int add_config(struct call *call, int root, const char *config,
	const char *const value[NVMF_KEYS], struct nvmf_queries *all)
{
	int err = kernel_nvmf_conf_read(root, config, &all->conf, call->diag);

	for (unsigned i = 0; i < all->conf.count && !err; i++)
		if (is_discovery(&all->conf.entry[i]))
			err = add_entry(all, &all->conf.entry[i], value, call->diag);
	if (err || all->count)
		return err;
	if (config)
		return diag_set(
			call->diag, DIAG_USAGE, ENOENT, "%s: no discovery controller", config);
	diag_set(call->diag, DIAG_USAGE, EINVAL,
		"no target given: expected HOST, a URI, or --transport and --traddr");
	return diag_hint(call->diag, "or list discovery controllers in /etc/nvme/discovery.conf");
}

/* The operand stands for the options that name an address. */
static int check_operand(const struct call *call, const char *const value[NVMF_KEYS])
{
	static const enum nvmf_key same[] = { NVMF_TRADDR, NVMF_TRSVCID, NVMF_TRANSPORT,
		NVMF_HOST_TRADDR, NVMF_HOST_IFACE, NVMF_NQN };
	unsigned count = is_host(call->operand[0]) ? 2 : sizeof(same) / sizeof(*same);

	for (unsigned i = 0; i < count; i++)
		if (value[same[i]])
			return diag_set(call->diag, DIAG_USAGE, EINVAL,
				"a %s and %s can't be combined", count == 2 ? "HOST" : "URI",
				i < 3 ? "-t, -a, -s" : "-w, -f, -n");
	return 0;
}

int nvmf_queries_read(struct call *call, int root, const struct nvmf_options *opts,
	const char *config, struct nvmf_queries *all)
{
	const char *value[NVMF_KEYS];
	int err;

	*all = (struct nvmf_queries){ 0 };
	for (int key = 0; key < NVMF_KEYS; key++)
		value[key] = opts->flag[key] ? "" : opts->value[key];
	if (call->operands) {
		err = config ? diag_set(call->diag, DIAG_USAGE, EINVAL,
				       "a HOST or URI and --config can't be combined")
			     : check_operand(call, value);
		if (err)
			return err;
		return is_host(call->operand[0])
			       ? add_host(all, call->operand[0], value, call->diag)
			       : add_uri(all, call->operand[0], value, call->diag);
	}
	if (value[NVMF_TRANSPORT] || value[NVMF_TRADDR])
		return config ? diag_set(call->diag, DIAG_USAGE, EINVAL,
					"--traddr and --config can't be combined")
			      : add_values(all, value, call->diag);
	return add_config(call, root, config, value, all);
}

void nvmf_queries_free(struct nvmf_queries *all)
{
	free(all->query);
	kernel_nvmf_conf_free(&all->conf);
	*all = (struct nvmf_queries){ 0 };
}
