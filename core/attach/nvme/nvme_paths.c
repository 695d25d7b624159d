/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Targets from the records of a discovery controller, and paths=auto: the records of a subsystem
 * are its paths. */
#include "attach_multipath.h"
#include "nvme_target.h"
#include "wire/nvmf.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATHS 32 /* of one subsystem */

/* Options of the discovery controller apply to its records, too. A loss policy is passed as such.
 */
static void pass_on(struct nvmf_options *own, const struct nvmf_target *t)
{
	for (int key = NVMF_HOSTNQN; key < NVMF_KEYS; key++) {
		if (kernel_nvmf_key_flag(key))
			own->flag[key] |= t->params.value[key] != NULL;
		else if (t->params.value[key] && !nvmf_target_key_from_policy(t, key))
			own->value[key] = t->params.value[key];
	}
	if (t->policy[0])
		own->on_loss = t->policy;
	if (t->tls.ring)
		own->value[NVMF_KEYRING] = t->tls.ring;
	if (t->tls.psk.len)
		own->tls_source = t;
}

/* Local address and TLS apply to the same transport only. Names are rejected, as they would make
 * this machine query name servers (Base 2.1, 5.1.12.3.1: TRADDR is an address). */
int nvmf_record_target(struct nvmf_target *t, const struct nvmf_target *from,
	const struct nvmf_options *options, int root, const struct nvmf_record *record,
	char uri[URI_MAX], struct diag *diag)
{
	struct nvmf_options own = *options;
	struct addr addr;
	int err;

	pass_on(&own, from);
	own.value[NVMF_TRANSPORT] = record->trtype == NVMF_TRTYPE_RDMA ? "rdma" : "tcp";
	own.value[NVMF_TRADDR] = record->traddr;
	own.value[NVMF_TRSVCID] = record->trsvcid;
	own.value[NVMF_NQN] = record->subnqn;
	if (strcmp(from->params.value[NVMF_TRANSPORT], own.value[NVMF_TRANSPORT])) {
		own.value[NVMF_HOST_TRADDR] = own.value[NVMF_HOST_IFACE] = NULL;
		own.flag[NVMF_HDR_DIGEST] = own.flag[NVMF_DATA_DIGEST] = own.flag[NVMF_TLS] =
			own.flag[NVMF_CONCAT] = false;
		own.value[NVMF_TLS_KEY] = own.value[NVMF_KEYRING] = own.tls_key_file =
			own.tls_key_fd = own.tls_key_identity = NULL;
		own.tls_source = NULL;
	}
	nvmf_uri(own.value, uri);
	err = addr_known(&addr, record->traddr, 1, NULL) > 0
		      ? nvmf_target_read(t, from->env, root, &own, NULL, diag)
		      : diag_set(diag, DIAG_PROTOCOL, EPROTO, "invalid address '%s'",
				record->traddr);
	if (!err)
		err = nvmf_target_set_addr(t, &addr, diag);
	if (!err)
		nvmf_uri(t->params.value, uri);
	return err;
}

struct finding {
	int root;
	const struct nvmf_options *options;
	struct nvmf_target *const *target;
	unsigned count;
	struct nvmf_path *list, **end;
};

static struct nvmf_path *add_path(struct finding *f)
{
	struct nvmf_path *path = calloc(1, sizeof(*path));

	if (!path)
		return NULL;
	*f->end = path;
	f->end = &path->next;
	return path;
}

static bool leads_to(const struct nvmf_target *t, const struct nvmf_record *record)
{
	const char *const *value = t->params.value;
	const char *transport = record->trtype == NVMF_TRTYPE_RDMA ? "rdma" : "tcp";

	return !strcmp(value[NVMF_NQN], record->subnqn) &&
	       !strcmp(value[NVMF_TRANSPORT], transport) &&
	       !strcmp(value[NVMF_TRSVCID], record->trsvcid) &&
	       kernel_nvmf_same_host(value[NVMF_TRADDR], record->traddr);
}

static bool is_known(const struct finding *f, const struct nvmf_record *record)
{
	bool known = false;

	for (unsigned i = 0; i < f->count; i++)
		known |= leads_to(f->target[i], record);
	for (const struct nvmf_path *path = f->list; path; path = path->next)
		known |= !path->why.err && leads_to(&path->target, record);
	return known;
}

static bool is_path(const struct nvmf_target *t, const struct nvmf_record *record)
{
	return record->subtype == NVMF_SUBTYPE_NVME &&
	       !strcmp(record->subnqn, t->params.value[NVMF_NQN]) &&
	       (record->trtype == NVMF_TRTYPE_RDMA || record->trtype == NVMF_TRTYPE_TCP);
}

static void add_failure(struct finding *f, const char *uri, const struct diag *why)
{
	struct nvmf_path *path = add_path(f);

	if (!path)
		return;
	snprintf(path->uri, sizeof(path->uri), "%s", uri);
	path->why = *why;
}

static int add_records(struct finding *f, const struct nvmf_target *from,
	const struct nvmf_log *log, struct diag *diag)
{
	unsigned paths = 0;

	for (unsigned i = 0; i < log->count; i++) {
		const struct nvmf_record *record = &log->record[i];
		struct nvmf_path *path;

		if (!is_path(from, record) || is_known(f, record))
			continue;
		if (++paths > PATHS)
			return diag_set(diag, DIAG_PROTOCOL, EPROTO,
				"more than %d paths: the others are not connected", PATHS);
		path = add_path(f);
		if (!path)
			return diag_sys(diag, ENOMEM, "paths");
		path->record = *record;
		if (nvmf_record_target(&path->target, from, f->options, f->root, &path->record,
			    path->uri, &path->why))
			continue;
		path->target.nsid = from->nsid;
		memcpy(path->target.uuid, from->uuid, sizeof(from->uuid));
		path->target.timeout_ms = from->timeout_ms;
	}
	for (unsigned i = 0; i < log->failures; i++)
		add_failure(f, log->failure[i].uri, &log->failure[i].why);
	return 0;
}

/* Query the port of the URI, unless it is the default port of subsystems: then the default ports of
 * discovery. */
static int prepare(struct nvmf_query *query, struct loop *loop, int root, uint64_t since,
	const struct nvmf_target *t)
{
	bool port = t->uri.port && t->uri.port != NVMF_PORT;
	int err = nvmf_query_target(query, t, NULL, port, &query->attach.why);

	if (err)
		return err;
	nvmf_query_init(query, loop, root, true);
	query->attach.deadline = nvmf_target_limit(t, since);
	return 0;
}

uint64_t nvmf_target_limit(const struct nvmf_target *t, uint64_t since)
{
	return t->timeout_ms ? since + t->timeout_ms * MSEC : 0;
}

int nvmf_paths_find(struct loop *loop, int root, uint64_t since, const struct nvmf_options *options,
	struct nvmf_target *const *target, unsigned count, struct nvmf_path **list,
	struct diag *diag)
{
	struct finding f = { .root = root, .options = options, .target = target, .count = count };
	struct nvmf_query *query = calloc(count, sizeof(*query));
	struct attach **attach = calloc(count, sizeof(*attach));
	int err = query && attach ? 0 : diag_sys(diag, ENOMEM, "paths");

	f.end = &f.list;
	for (unsigned i = 0; i < count && !err; i++)
		if (target[i]->find_paths && !prepare(&query[i], loop, root, since, target[i]))
			attach[i] = &query[i].attach;
	if (!err)
		err = attach_run(loop, attach, count, diag);
	for (unsigned i = 0; i < count && !err; i++) {
		struct diag why = query[i].attach.why;

		if (!target[i]->find_paths)
			continue;
		if (!why.err)
			add_records(&f, target[i], &query[i].discovery.log, &why);
		if (why.err == EINTR) {
			*diag = why;
			err = -EINTR;
		} else if (why.err) {
			add_failure(&f, query[i].shown, &why);
		}
		nvmf_log_free(&query[i].discovery.log);
	}
	free(attach);
	free(query);
	*list = f.list;
	return err;
}

void nvmf_paths_free(struct nvmf_path *path)
{
	while (path) {
		struct nvmf_path *next = path->next;

		nvmf_target_wipe(&path->target);
		free(path);
		path = next;
	}
}

int attach_nvme_add_paths(struct multipath *mp, struct attach_nvme *nvme, struct diag *diag)
{
	int err = 0;

	for (unsigned i = 0; i < nvme->disks && !err; i++) {
		struct nvmf_disk *disk = &nvme->disk[i];

		err = multipath_add(mp,
			&(struct multipath_path){ .via = nvme->ctrl.name,
				.target = nvme->ctrl.nqn,
				.unit = disk->nsid,
				.node = disk->name,
				.wwid = disk->wwid,
				.joined = &disk->joined },
			diag);
	}
	return err;
}
