/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Merge options and URI keys into the parameters of one kernel connection. */
#include "nvme_target.h"
#include "kernel_rdma.h"
#include "uri_read.h"
#include "wire/nvmf.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USER_QUEUES 64 /* maximum of userspace disks */

/* URI keys of all network disks, as the kernel's options. */
static const struct {
	const char *name;
	uint8_t key;
} aliases[] = {
	{ "src", NVMF_HOST_TRADDR },
	{ "iface", NVMF_HOST_IFACE },
	{ "queues", NVMF_NR_IO_QUEUES },
	{ "depth", NVMF_QUEUE_SIZE },
};

static int parse_flag(struct nvmf_target *t, enum nvmf_key key, const char *name, struct diag *diag)
{
	bool on = false;
	int err = uri_bool(&t->uri, name, &on, diag);

	if (!err && on)
		t->params.value[key] = "";
	return err;
}

static int parse_key(struct nvmf_target *t, enum nvmf_key key, const char *name, struct diag *diag)
{
	const char *value;

	if (key == NVMF_DHCHAP_SECRET || key == NVMF_DHCHAP_CTRL_SECRET)
		return 0;
	if (kernel_nvmf_key_flag(key))
		return parse_flag(t, key, name, diag);
	value = uri_value(&t->uri, name);
	if (value && key == NVMF_TLS_KEY && nvmf_tls_is_key(value))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"a URI must not contain a key: use tls-key-file=FILE");
	if (!value || t->params.value[key])
		return 0;
	t->params.value[key] = value;
	return key == NVMF_KEYRING || key == NVMF_TLS_KEY
		       ? 0
		       : kernel_nvmf_key_check(key, name, value, diag);
}

/* Translate an RDMA device to its network interface, which the kernel takes. */
static int parse_device(struct nvmf_target *t, int root, struct diag *diag)
{
	struct uri_rdma rdma;
	int err = uri_rdma_read(&rdma, &t->uri, URI_KERNEL, diag);

	if (err == -ENOTSUP)
		nvmf_hint_userspace(t, root, diag);
	if (err || !*rdma.dev)
		return err;
	if (t->params.value[NVMF_HOST_IFACE] || t->params.value[NVMF_HOST_TRADDR])
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"dev=%s and a local address or interface can't be combined", rdma.dev);
	t->params.value[NVMF_HOST_IFACE] = t->iface;
	return kernel_rdma_netdev(root, rdma.dev, t->iface, sizeof(t->iface), diag);
}

/* Secrets of DH-HMAC-CHAP, as our own initiator names them, and an older form. */
static const char *const secret_keys[2][2] = { { "dhchap-secret-file", "secret-file" },
	{ "dhchap-ctrl-secret-file", "ctrl-secret-file" } };

static const char *secret_file(struct uri *uri, unsigned i)
{
	const char *file = uri_value(uri, secret_keys[i][0]),
		   *older = uri_value(uri, secret_keys[i][1]);

	return file ? file : older;
}

static int parse_keys(struct nvmf_target *t, int root, const struct nvmf_options *opts,
	const char **on_loss, const char *file[3], struct diag *diag)
{
	const char *value;
	int err = 0;

	for (unsigned i = 0; i < sizeof(aliases) / sizeof(*aliases) && !err; i++)
		err = parse_key(t, aliases[i].key, aliases[i].name, diag);
	for (int key = NVMF_HOSTNQN; key < NVMF_KEYS && !err; key++)
		err = parse_key(t, key, kernel_nvmf_key_name(key), diag);
	if (!err && !strcmp(t->uri.scheme, "nvme+rdma"))
		err = parse_device(t, root, diag);
	if (!err)
		err = uri_msec(&t->uri, "timeout", &t->timeout_ms, diag);
	if (err)
		return err;
	value = uri_value(&t->uri, "loss");
	if (!opts->on_loss && value)
		*on_loss = value;
	for (unsigned i = 0; i < 3; i++) {
		value = i < 2 ? secret_file(&t->uri, i) : uri_value(&t->uri, "tls-key-file");
		if (!file[i])
			file[i] = value;
	}
	value = uri_value(&t->uri, "paths");
	t->find_paths = value;
	if (value && strcmp(value, "auto") != 0)
		return diag_set(diag, DIAG_USAGE, EINVAL, "paths='%s': expected auto", value);
	if (value && !*t->uri.path)
		return diag_set(diag, DIAG_USAGE, EINVAL, "paths=auto requires an NQN in the URI");
	err = uri_refuse_disk_keys(&t->uri, diag);
	return err ? err : uri_done(&t->uri, diag);
}

static int parse_path(struct nvmf_target *t, struct diag *diag)
{
	struct uri_nvme nvme;
	int err;

	if (!*t->uri.path)
		return 0;
	if (t->params.value[NVMF_NQN])
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "an NQN in the URI and --nqn can't be combined");
	err = uri_nvme_read(&nvme, &t->uri, diag);
	if (err)
		return err;
	memcpy(t->nqn, nvme.subnqn, sizeof(nvme.subnqn));
	t->params.value[NVMF_NQN] = t->nqn;
	t->nsid = nvme.nsid;
	if (nvme.by_uuid)
		uuid_text(t->uuid, nvme.uuid);
	return 0;
}

int nvmf_uri_scheme(const struct uri *uri, struct diag *diag)
{
	if (!strcmp(uri->scheme, "nvme+rdma") || !strcmp(uri->scheme, "nvme+tcp"))
		return 0;
	diag_set(diag, DIAG_USAGE, EINVAL, "expected nvme+rdma:// or nvme+tcp://");
	uri_hint_host(uri->spelling, diag);
	return diag_ctx(diag, "%s", uri->spelling);
}

static int read_uri(struct nvmf_target *t, const char *text, struct diag *diag)
{
	static const enum nvmf_key same[] = { NVMF_TRANSPORT, NVMF_TRADDR, NVMF_TRSVCID };
	int err;

	for (unsigned i = 0; i < 3; i++)
		if (t->params.value[same[i]])
			return diag_set(
				diag, DIAG_USAGE, EINVAL, "a URI and -t, -a, -s can't be combined");
	err = uri_parse(&t->uri, text, diag);
	if (!err)
		err = nvmf_uri_scheme(&t->uri, diag);
	if (err)
		return err;
	t->params.value[NVMF_TRANSPORT] = t->uri.scheme + 5;
	t->params.value[NVMF_TRADDR] = t->uri.host;
	if (t->uri.port) {
		snprintf(t->port, sizeof(t->port), "%u", t->uri.port);
		t->params.value[NVMF_TRSVCID] = t->port;
	}
	return parse_path(t, diag);
}

static void set_number(
	struct nvmf_target *t, enum nvmf_key key, unsigned slot, int value, bool soft)
{
	if (t->params.value[key])
		return;
	snprintf(t->number[slot], sizeof(t->number[slot]), "%d", value);
	t->params.value[key] = t->number[slot];
	t->params.soft[key] = soft;
}

static void set_policy(struct nvmf_target *t, int loss, int fail, int delay)
{
	set_number(t, NVMF_CTRL_LOSS_TMO, 0, loss, false);
	set_number(t, NVMF_RECONNECT_DELAY, 1, delay, true);
	if (fail >= 0)
		set_number(t, NVMF_FAST_IO_FAIL_TMO, 2, fail, fail > 0);
}

/* I/O to a lost target fails after fast_io_fail_tmo; the controller is removed after ctrl_loss_tmo.
 * The kernel counts the latter in attempts, which take more than a minute over RDMA if nothing
 * answers: only the former is exact. */
static int read_policy(struct nvmf_target *t, const char *what, const char *text, struct diag *diag)
{
	const char *const *value = t->params.value;
	uint32_t ms = LOSS_DEFAULT * 1000;
	int seconds, loss, err;

	if (!text && (value[NVMF_CTRL_LOSS_TMO] || value[NVMF_FAST_IO_FAIL_TMO] ||
			     value[NVMF_RECONNECT_DELAY]))
		return 0;
	err = text ? loss_read(text, what, LOSS_MAX, &ms, diag) : 0;
	if (err)
		return err;
	seconds = loss_seconds(ms);
	loss_text(seconds, t->policy);
	if (seconds <= 0) {
		set_policy(t, seconds ? -1 : LOSS_DEFAULT, seconds, seconds ? 10 : 2);
		return 0;
	}
	loss = value[NVMF_CTRL_LOSS_TMO] ? atoi(value[NVMF_CTRL_LOSS_TMO]) : seconds;
	set_policy(t, seconds, loss >= 0 && loss < seconds ? -1 : seconds,
		seconds >= 60  ? 10
		: seconds >= 6 ? seconds / 6
			       : 1);
	return 0;
}

int nvmf_read_key(const struct out_notes *notes, const char *option, const char *fd,
	const char *file, char key[NVMF_SECRET], struct diag *diag)
{
	int err = secret_read(notes, option, fd, file, key, NVMF_SECRET, diag);

	if (err)
		return err;
	key[strcspn(key, " \t")] = 0; /* blanks may follow */
	return key[0] ? 0 : diag_set(diag, DIAG_USAGE, EINVAL, "the key is empty");
}

static int read_secrets(struct nvmf_target *t, const struct nvmf_options *opts, const char *file[2],
	struct diag *diag)
{
	static const struct {
		enum nvmf_key key;
		const char *variable, *fd;
	} kinds[2] = { { NVMF_DHCHAP_SECRET, "RDMASTOR_DHCHAP_SECRET", "--dhchap-secret-fd" },
		{ NVMF_DHCHAP_CTRL_SECRET, "RDMASTOR_DHCHAP_CTRL_SECRET",
			"--dhchap-ctrl-secret-fd" } };
	int err = 0;

	for (unsigned i = 0; i < 2 && !err; i++) {
		const char *variable = getenv(kinds[i].variable), *fd = opts->secret_fd[i];
		const char **value = &t->params.value[kinds[i].key];

		t->secret_from[i] = *value     ? "option"
				    : fd       ? "descriptor"
				    : file[i]  ? file[i]
				    : variable ? kinds[i].variable
					       : NULL;
		if (*value || !t->secret_from[i])
			continue;
		*value = t->secret[i];
		if (fd || file[i])
			err = nvmf_read_key(
				&t->env->notes, kinds[i].fd, fd, file[i], t->secret[i], diag);
		else
			snprintf(t->secret[i], NVMF_SECRET, "%s", variable);
	}
	return err;
}

/* Reuse the random host NQN of an existing connection, so that one boot has one name. A host ID
 * that the user specified stays. */
static void reuse_random_hostnqn(struct nvmf_target *t, int root)
{
	bool any_id = !t->params.value[NVMF_HOSTID];
	struct nvmf_ctrl *list;
	unsigned count;

	if (kernel_nvmf_list(root, &list, &count, NULL))
		return;
	for (unsigned i = 0; i < count && t->identity.random; i++) {
		if (!list[i].hostnqn[0] || !list[i].hostid[0] ||
			(!any_id && strcmp(list[i].hostid, t->hostid)))
			continue;
		snprintf(t->identity.hostnqn, sizeof(t->identity.hostnqn), "%s", list[i].hostnqn);
		snprintf(t->hostid, sizeof(t->hostid), "%s", list[i].hostid);
		snprintf(t->identity.nqn_from, sizeof(t->identity.nqn_from), "%s", list[i].name);
		memcpy(t->identity.id_from, t->identity.nqn_from, sizeof(t->identity.id_from));
		t->identity.random = 0;
	}
	free(list);
}

static int read_identity(struct nvmf_target *t, int root, struct diag *diag)
{
	int err = kernel_identity(root, t->params.value[NVMF_HOSTNQN], t->params.value[NVMF_HOSTID],
		&t->identity, diag);

	if (err)
		return err;
	uuid_text(t->hostid, t->identity.hostid);
	if (t->identity.random)
		reuse_random_hostnqn(t, root);
	t->params.value[NVMF_HOSTNQN] = t->identity.hostnqn;
	t->params.value[NVMF_HOSTID] = t->hostid;
	return 0;
}

int nvmf_target_check_address(const char *transport, const char *traddr, struct diag *diag)
{
	bool address = traddr && *traddr;

	if (transport && address)
		return 0;
	if (!transport && !address)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"no target given: expected a URI, or --transport and --traddr");
	if (transport && traddr)
		return diag_set(diag, DIAG_USAGE, EINVAL, "no host: expected nvme+%s://HOST/NQN",
			transport);
	diag_set(diag, DIAG_USAGE, EINVAL, "%s is missing", address ? "--transport" : "--traddr");
	return diag_hint(
		diag, address ? "--transport tcp or --transport rdma" : "--traddr ADDRESS");
}

bool nvmf_target_discovery(const struct nvmf_target *t)
{
	return !strcmp(t->params.value[NVMF_NQN], NVMF_DISCOVERY_NQN);
}

bool nvmf_target_encrypts(const struct nvmf_target *t)
{
	return t->params.value[NVMF_TLS] || t->params.value[NVMF_CONCAT];
}

int nvmf_target_check_existing(
	const struct nvmf_target *t, int root, const struct nvmf_ctrl *ctrl, struct diag *diag)
{
	const char *missing = kernel_nvmf_missing(root, &t->params, ctrl);

	if (!missing)
		return 0;
	diag_set(diag, DIAG_MISMATCH, EALREADY, "already connected as %s, without %s", ctrl->name,
		missing);
	return diag_hint(
		       diag, "end that connection first: rdmastor nvmf-disconnect %s", ctrl->name),
	       -EALREADY;
}

bool nvmf_target_key_from_policy(const struct nvmf_target *t, enum nvmf_key key)
{
	for (unsigned i = 0; i < sizeof(t->number) / sizeof(*t->number); i++)
		if (t->params.value[key] == t->number[i])
			return true;
	return false;
}

const char *nvmf_uri(const char *const value[NVMF_KEYS], char uri[URI_MAX])
{
	const char *port = value[NVMF_TRSVCID], *nqn = value[NVMF_NQN];
	char scheme[32];

	snprintf(scheme, sizeof(scheme), "nvme+%.16s", value[NVMF_TRANSPORT]);
	uri_start(uri, scheme, value[NVMF_TRADDR], port ? (unsigned)strtoul(port, NULL, 10) : 0);
	if (nqn && strcmp(nqn, NVMF_DISCOVERY_NQN))
		uri_add_name(uri, nqn);
	return uri;
}

/* Add the identity unless export would find the same. */
static void add_identity(const struct nvmf_target *t, int root, char uri[URI_MAX])
{
	const char *nqn = t->params.value[NVMF_HOSTNQN], *id = t->params.value[NVMF_HOSTID];
	char own_id[UUID_TEXT] = "";
	struct identity own = { 0 };

	if (!kernel_identity(root, NULL, NULL, &own, NULL))
		uuid_text(own_id, own.hostid);
	if (nqn && (strcmp(nqn, own.hostnqn) || (id && strcasecmp(id, own_id))))
		uri_add_key(uri, "hostnqn", nqn);
	if (id && strcasecmp(id, own_id))
		uri_add_key(uri, "hostid", id);
}

void nvmf_hint_userspace(const struct nvmf_target *t, int root, struct diag *diag)
{
	static const char *const own[] = { "rdma", "dev", "timeout", NULL };
	const char *const *value = t->params.value;
	bool tcp = !strcmp(value[NVMF_TRANSPORT], "tcp");
	struct uri *keys = (struct uri *)&t->uri; /* uri_value() marks the key as known */
	const char *loss = t->policy[0] ? t->policy : uri_value(keys, "loss");
	char uri[URI_MAX], usual[LOSS_TEXT];

	if (value[NVMF_TLS] || value[NVMF_CONCAT] || value[NVMF_DHCHAP_SECRET])
		return;
	nvmf_uri(value, uri);
	if (t->uuid[0])
		snprintf(uri + strlen(uri), sizeof(uri) - strlen(uri), "/urn:uuid:%s", t->uuid);
	else if (t->nsid)
		snprintf(uri + strlen(uri), sizeof(uri) - strlen(uri), "/%u", t->nsid);
	add_identity(t, root, uri);
	for (unsigned i = 0; i < sizeof(aliases) / sizeof(*aliases); i++) {
		const char *text = value[aliases[i].key];

		if (text && (tcp || aliases[i].key != NVMF_HOST_IFACE) &&
			(aliases[i].key != NVMF_NR_IO_QUEUES || atoi(text) <= USER_QUEUES))
			uri_add_key(uri, aliases[i].name, text);
	}
	if (value[NVMF_TOS])
		uri_add_key(uri, "tos", value[NVMF_TOS]);
	for (int key = NVMF_HDR_DIGEST; tcp && key <= NVMF_DATA_DIGEST; key++)
		if (value[key])
			uri_add_key(uri, kernel_nvmf_key_name(key), "1");
	if (loss && strcmp(loss, loss_text(LOSS_DEFAULT, usual)))
		uri_add_key(uri, "loss", loss);
	for (unsigned i = 0; own[i]; i++)
		if (uri_value(keys, own[i]))
			uri_add_key(uri, own[i], uri_value(keys, own[i]));
	for (unsigned i = 0; i < 2; i++)
		if (secret_file(keys, i))
			uri_add_key(uri, secret_keys[i][0], secret_file(keys, i));
	attach_hint_userspace(uri, diag);
}

const char *nvmf_option_name(enum nvmf_key key, char name[NVMF_OPTION_NAME])
{
	snprintf(name, NVMF_OPTION_NAME, "--%s", kernel_nvmf_key_name(key));
	for (char *p = name; *p; p++)
		if (*p == '_')
			*p = '-';
	return name;
}

int nvmf_options_check(const struct nvmf_options *opts, struct diag *diag)
{
	char name[NVMF_OPTION_NAME];
	int err = 0;

	for (int key = 0; key < NVMF_KEYS && !err; key++)
		if (opts->value[key] && key != NVMF_TLS_KEY && key != NVMF_KEYRING)
			err = kernel_nvmf_key_check(
				key, nvmf_option_name(key, name), opts->value[key], diag);
	return err;
}

void nvmf_options_add(struct nvmf_options *opts, const struct nvmf_entry *entry, enum nvmf_key from)
{
	for (int key = from; key < NVMF_KEYS; key++) {
		if (kernel_nvmf_key_flag(key))
			opts->flag[key] |= entry->value[key] != NULL;
		else if (!opts->value[key])
			opts->value[key] = entry->value[key];
	}
}

int nvmf_target_read(struct nvmf_target *t, const struct attach_env *env, int root,
	const struct nvmf_options *opts, const char *uri, struct diag *diag)
{
	const char *on_loss = opts->on_loss,
		   *file[3] = { opts->secret_file[0], opts->secret_file[1], opts->tls_key_file };
	int err = 0;

	memset(t, 0, sizeof(*t));
	t->env = env;
	t->timeout_ms = env->timeout_ms;
	memcpy(t->params.value, opts->value, sizeof(t->params.value));
	for (int key = 0; key < NVMF_KEYS; key++)
		if (opts->flag[key])
			t->params.value[key] = "";
	if (uri)
		err = read_uri(t, uri, diag);
	if (!err && uri)
		err = parse_keys(t, root, opts, &on_loss, file, diag);
	if (!err)
		err = nvmf_target_check_address(
			t->params.value[NVMF_TRANSPORT], t->params.value[NVMF_TRADDR], diag);
	if (err)
		return err;
	if (!t->params.value[NVMF_NQN])
		t->params.value[NVMF_NQN] = NVMF_DISCOVERY_NQN;
	err = read_policy(t, opts->on_loss ? "--on-loss" : "loss=", on_loss, diag);
	if (!err && !opts->no_secrets)
		err = read_secrets(t, opts, file, diag);
	if (!err)
		err = nvmf_tls_read(t, opts, file[2], diag);
	if (!err)
		err = kernel_nvmf_check(&t->params, diag);
	return err ? err : read_identity(t, root, diag);
}

void nvmf_target_keys(const char *uri, struct uri_key_names *asked)
{
	static const struct nvmf_options none = { .no_secrets = true };
	static const struct attach_env env = { .notes.quiet = true };
	struct nvmf_target *t = calloc(1, sizeof(*t));

	if (t && nvmf_target_read(t, &env, -1, &none, uri, NULL))
		*asked = t->uri.known;
	free(t);
}

/* Discovery controllers are queried from userspace, at all addresses. */
static struct attach lookup_of(struct nvmf_target *t, struct loop *loop)
{
	static const struct attach_proto row = { 0 };
	const char *port = t->params.value[NVMF_TRSVCID];

	return (struct attach){ .proto = &row,
		.loop = loop,
		.addr = &t->addr,
		.host = t->params.value[NVMF_TRADDR],
		.port = port ? (uint16_t)strtoul(port, NULL, 10) : NVMF_PORT,
		.lookup_ms = t->env->no_timeout ? 0 : ADDR_LOOKUP_MS,
		.choose_by_tcp = !t->env->dry_run && !nvmf_target_discovery(t) &&
				 !strcmp(t->params.value[NVMF_TRANSPORT], "tcp"),
		.find_only = true,
		.deadline = t->timeout_ms ? loop_clock() + t->timeout_ms * MSEC : 0 };
}

static void look_up_next(struct nvmf_lookups *l)
{
	l->some = l->count - l->first < NVMF_LOOKUPS ? l->count - l->first : NVMF_LOOKUPS;
	for (unsigned i = 0; i < l->some; i++) {
		l->lookup[i] = lookup_of(l->target[l->first + i], l->loop);
		attach_group_start(&l->group, &l->lookup[i]);
	}
	if (!l->some)
		l->done(l);
}

static void looked_up(struct attach_group *group)
{
	struct nvmf_lookups *l = container_of(group, struct nvmf_lookups, group);
	const struct diag *interrupted = NULL;

	for (unsigned i = 0; i < l->some; i++) {
		struct diag *why = &l->target[l->first + i]->why;

		*why = l->lookup[i].why;
		if (why->err == EINTR)
			interrupted = why;
	}
	l->first = interrupted ? l->count : l->first + l->some;
	for (unsigned i = 0; i < l->count && interrupted; i++)
		if (!l->target[i]->why.err)
			l->target[i]->why = *interrupted;
	look_up_next(l);
}

void nvmf_lookups_start(struct nvmf_lookups *l)
{
	l->group.done = looked_up;
	look_up_next(l);
}

void nvmf_lookups_cancel(struct nvmf_lookups *l)
{
	for (unsigned i = l->some; i-- > 0;) /* the last one ends the group */
		attach_cancel(&l->lookup[i]);
}

static void ignore_end(struct nvmf_lookups *l)
{
	(void)l;
}

void nvmf_targets_resolve(struct loop *loop, struct nvmf_target *const *t, unsigned count)
{
	struct nvmf_lookups l = { .loop = loop, .target = t, .count = count, .done = ignore_end };
	struct diag why = { 0 };

	nvmf_lookups_start(&l);
	attach_run(loop, NULL, 0, &why);
	for (unsigned i = 0; i < count && why.err; i++)
		t[i]->why = why;
}

static int set_traddr(struct nvmf_target *t, const struct addr *addr, struct diag *diag)
{
	if (t->host)
		t->params.value[NVMF_TRADDR] = addr_host(addr, t->traddr);
	return kernel_nvmf_route(&t->params, &t->route, diag);
}

int nvmf_target_route(struct nvmf_target *t, struct diag *diag)
{
	return set_traddr(t, &t->addr, diag);
}

struct routing {
	struct nvmf_target *target;
	struct diag why; /* of the first address without a route */
};

static bool has_route(const struct addr *addr, void *arg)
{
	struct routing *routing = arg;

	return !set_traddr(routing->target, addr, routing->why.err ? NULL : &routing->why);
}

int nvmf_target_set_addr(struct nvmf_target *t, const struct addr *addr, struct diag *diag)
{
	static const char *const ports[] = { "4420", "8009" };
	const char **value = t->params.value;
	struct routing routing = { .target = t };

	t->addr = *addr;
	t->host = strpbrk(value[NVMF_TRADDR], ":%") ? NULL : value[NVMF_TRADDR];
	if (!value[NVMF_TRSVCID])
		value[NVMF_TRSVCID] =
			ports[nvmf_target_discovery(t) && !strcmp(value[NVMF_TRANSPORT], "tcp")];
	if (addr_filter(&t->addr, has_route, &routing))
		return nvmf_target_route(t, diag);
	if (diag)
		*diag = routing.why;
	return -routing.why.err;
}

static bool entry_matches(const struct nvmf_entry *entry, const struct nvmf_target *t)
{
	static const enum nvmf_key keys[] = { NVMF_NQN, NVMF_TRANSPORT, NVMF_TRADDR, NVMF_TRSVCID };

	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const char *value = entry->value[keys[i]];

		if (value && strcmp(value, t->params.value[keys[i]]))
			return false;
	}
	return !entry->discover && !entry->uri && entry->value[NVMF_NQN];
}

int nvmf_target_complete(struct nvmf_target *t, int root, const struct nvmf_options *opts,
	const char *uri, const struct nvmf_entries *config, struct diag *diag)
{
	const struct attach_env *env = t->env;
	struct nvmf_options both = *opts;
	struct addr addr = t->addr;
	int err = -t->why.err;

	if (err)
		*diag = t->why;
	else
		err = nvmf_target_set_addr(t, &addr, diag);
	for (unsigned i = 0; i < config->count && !err; i++) {
		if (!entry_matches(&config->entry[i], t))
			continue;
		nvmf_options_add(&both, &config->entry[i], NVMF_HOSTNQN);
		err = nvmf_target_read(t, env, root, &both, uri, diag);
		return err ? err : nvmf_target_set_addr(t, &addr, diag);
	}
	return err;
}

void nvmf_show_identity(const struct nvmf_target *t)
{
	const struct out_notes *notes = &t->env->notes;

	if (notes->verbose)
		out_note(notes, "host NQN %s (%s), host ID %s (%s)", t->identity.hostnqn,
			t->identity.nqn_from, t->hostid, t->identity.id_from);
	if (t->identity.random)
		out_warn_once(notes, "random host NQN for this run: %s", t->identity.hostnqn);
}

void nvmf_warn_secrets(const struct out_notes *notes, const struct nvmf_options *opts)
{
	const char *key = opts->value[NVMF_TLS_KEY];

	if (opts->value[NVMF_DHCHAP_SECRET] || opts->value[NVMF_DHCHAP_CTRL_SECRET])
		out_warn(notes, "the secret was visible in the process list and stays in the "
				"shell's history: use --dhchap-secret-file");
	if (key && nvmf_tls_is_key(key))
		out_warn(notes, "the key was visible in the process list and stays in the shell's "
				"history: use --tls-key-file");
}

void nvmf_target_wipe(struct nvmf_target *t)
{
	explicit_bzero(t->secret, sizeof(t->secret));
	explicit_bzero(&t->tls.psk, sizeof(t->tls.psk));
}
