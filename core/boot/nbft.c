/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the firmware's NVMe-oF connections from the ACPI tables NBFT, NBFT1, …, as entries to
 * connect. */
#include "uapi/nbft.h"
#include "grow.h"
#include "kernel_iscsi_conf.h"
#include "kernel_nbft.h"
#include "kernel_sys.h"
#include "nbft_table.h"
#include "nvme_conf.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIR       "sys/firmware/acpi/tables"
#define TABLE_MAX (1u << 20)
#define TABLES    16

struct tables {
	char name[TABLES][16];
	unsigned count;
};

static void add_table(const char *name, void *arg)
{
	struct tables *tables = arg;

	if (!strncmp(name, "NBFT", 4) && strlen(name) < sizeof(tables->name[0]) &&
		tables->count < TABLES)
		strcpy(tables->name[tables->count++], name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void read_table(int root, const char *name, uint8_t *bytes, struct nbft *to)
{
	char path[64];
	struct diag why = { 0 };
	ssize_t len;

	snprintf(path, sizeof(path), DIR "/%s", name);
	len = kernel_sys_read_bytes(root, path, bytes, TABLE_MAX);
	if (len == -EACCES || len == -EPERM)
		diag_set(
			&why, DIAG_PERMISSION, (int)-len, "only root can read the firmware's NBFT");
	else if (len < 0)
		diag_sys(&why, (int)-len, "read /%s", path);
	else
		kernel_nbft_table(bytes, (size_t)len, to, &why);
	if (why.err) {
		*to = (struct nbft){ .damages = 1,
			.damage[0] = { .object = "table", .err = why.err, .code = why.code } };
		snprintf(to->damage[0].text, sizeof(to->damage[0].text), "%.120s", why.text);
	}
	strcpy(to->name, name);
}

int kernel_nbft_read(int root, struct nbft **list, unsigned *count, struct diag *diag)
{
	struct tables tables = { 0 };
	uint8_t *bytes;
	int err = 0;

	*list = NULL;
	*count = 0;
	kernel_sys_list(root, DIR, add_table, &tables);
	if (!tables.count) {
		diag_set(diag, DIAG_NOT_FOUND, ENOENT, "the firmware provides no NBFT");
		diag_hint(diag, "set up NVMe-oF boot in the firmware, or give a URI");
		return -ENOENT;
	}
	qsort(tables.name, tables.count, sizeof(tables.name[0]), by_name);
	bytes = malloc(TABLE_MAX);
	*list = calloc(tables.count, sizeof(**list));
	if (!bytes || !*list)
		err = diag_sys(diag, ENOMEM, "NBFT");
	for (; !err && *count < tables.count; ++*count)
		read_table(root, tables.name[*count], bytes, &(*list)[*count]);
	free(bytes);
	if (err) {
		free(*list);
		*list = NULL;
	}
	return err;
}

const struct nbft_hfi_info *kernel_nbft_hfi(const struct nbft *nbft, unsigned index)
{
	for (unsigned i = 0; i < nbft->hfis; i++)
		if (nbft->hfi[i].index == index)
			return &nbft->hfi[i];
	return NULL;
}

static struct nvmf_entry *add_entry(
	struct nvmf_entries *all, const struct nbft *nbft, const char *object, struct diag *diag)
{
	char from[64];
	struct nvmf_entry *entry;
	int err = 0;

	snprintf(from, sizeof(from), "%s %s", nbft->name, object);
	entry = kernel_conf_add(all, from, 0, diag);
	if (entry && nbft->hostnqn[0])
		err = kernel_conf_set(entry, NVMF_HOSTNQN, nbft->hostnqn, diag);
	if (entry && !err && nbft->hostid[0])
		err = kernel_conf_set(entry, NVMF_HOSTID, nbft->hostid, diag);
	return err ? NULL : entry;
}

/* DHCP may have given this system another address than the firmware: leave by the interface. A
 * VLAN's name is not known here. */
static int leave_by(
	int root, struct nvmf_entry *entry, const struct nbft_hfi_info *hfi, struct diag *diag)
{
	char netdev[16];

	if (!hfi)
		return 0;
	if (!hfi->dhcp[0] && hfi->origin != NBFT_ORIGIN_DHCP)
		return hfi->addr[0] ? kernel_conf_set(entry, NVMF_HOST_TRADDR, hfi->addr, diag) : 0;
	return !hfi->vlan && kernel_mac_netdev(root, hfi->mac, netdev)
		       ? kernel_conf_set(entry, NVMF_HOST_IFACE, netdev, diag)
		       : 0;
}

static bool same_value(const struct nvmf_entry *a, const struct nvmf_entry *b, enum nvmf_key key)
{
	return a->value[key] && b->value[key] ? !strcmp(a->value[key], b->value[key])
					      : a->value[key] == b->value[key];
}

/* Several namespaces of a subsystem are one connection, which then has to bring all of them, with
 * TLS if one of them requires it. */
static int merge(struct nvmf_entries *all, unsigned first, struct diag *diag)
{
	static const enum nvmf_key keys[] = { NVMF_TRADDR, NVMF_TRSVCID, NVMF_NQN, NVMF_HOSTNQN,
		NVMF_HOST_TRADDR, NVMF_HOST_IFACE };
	struct nvmf_entry *last = &all->entry[all->count - 1];

	for (unsigned i = first; i + 1 < all->count; i++) {
		unsigned same = 0;
		int err = 0;

		while (same < 6 && same_value(&all->entry[i], last, keys[same]))
			same++;
		if (same < 6 || all->entry[i].discover)
			continue;
		if (all->entry[i].nsid != last->nsid)
			all->entry[i].nsid = 0;
		if (last->value[NVMF_TLS])
			err = kernel_conf_set(&all->entry[i], NVMF_TLS, "", diag);
		kernel_conf_clear(last);
		all->count--;
		return err;
	}
	return 0;
}

/* Report what a security profile asks for and is not done by itself. Secrets are in a store of the
 * firmware. */
static void warn_security(struct nvmf_entries *all, const struct nbft *nbft, const char *kind,
	unsigned index, const struct nbft_security_info *security)
{
	char text[128];

	if (!security)
		return;
	snprintf(text, sizeof(text), "%s%s%s%s%s", security->auth ? ", authentication" : "",
		security->key ? ", the key" : "", security->ciphers ? ", cipher suites" : "",
		security->groups ? ", DH groups" : "", security->hashes ? ", hash functions" : "");
	if (*text)
		kernel_conf_warn(all, "%s %s %u: of security profile %u not applied: %s%s",
			nbft->name, kind, index, security->index, text + 2,
			security->auth || security->key ? ": give keys as options" : "");
}

static int add_ssns(int root, struct nvmf_entries *all, unsigned first, const struct nbft *nbft,
	const struct nbft_ssns_info *ssns, struct diag *diag)
{
	int err = 0;

	if (ssns->unavailable) {
		kernel_conf_warn(all,
			"%s SSNS %u: ignored: the firmware marks %.100s at %s as unavailable",
			nbft->name, ssns->index, ssns->nqn, ssns->addr);
		return 0;
	}
	warn_security(all, nbft, "SSNS", ssns->index, ssns->security);
	for (unsigned i = 0; i < ssns->hfis && !err; i++) {
		struct nvmf_entry *entry;
		char object[32];

		snprintf(object, sizeof(object), "SSNS %u HFI %u", ssns->index, ssns->hfi[i]);
		entry = add_entry(all, nbft, object, diag);
		if (!entry)
			return -diag->err;
		entry->nsid = ssns->nsid;
		err = kernel_conf_set(entry, NVMF_TRANSPORT, "tcp", diag);
		if (!err)
			err = kernel_conf_set(entry, NVMF_TRADDR, ssns->addr, diag);
		if (!err && ssns->port[0])
			err = kernel_conf_set(entry, NVMF_TRSVCID, ssns->port, diag);
		if (!err)
			err = kernel_conf_set(entry, NVMF_NQN, ssns->nqn, diag);
		if (!err && ssns->hdr_digest)
			err = kernel_conf_set(entry, NVMF_HDR_DIGEST, "", diag);
		if (!err && ssns->data_digest)
			err = kernel_conf_set(entry, NVMF_DATA_DIGEST, "", diag);
		if (!err)
			err = leave_by(root, entry, kernel_nbft_hfi(nbft, ssns->hfi[i]), diag);
		if (!err && ssns->security && ssns->security->tls)
			err = kernel_conf_set(entry, NVMF_TLS, "", diag);
		if (!err)
			err = merge(all, first, diag);
	}
	return err;
}

/* An entry without a host NQN may become a connection of the same host as any other. */
static bool may_be_same(const struct nvmf_entry *a, const struct nvmf_entry *b)
{
	return a->value[NVMF_NQN] && same_value(a, b, NVMF_NQN) &&
	       (!a->value[NVMF_HOSTNQN] || !b->value[NVMF_HOSTNQN] ||
		       same_value(a, b, NVMF_HOSTNQN));
}

/* What one entry requires of a subsystem, no other one may do without: by another address or
 * another table. */
static int require_tls(struct nvmf_entries *all, unsigned first, struct diag *diag)
{
	int err = 0;

	for (unsigned i = first; i < all->count; i++)
		for (unsigned other = first; other < all->count && !err; other++)
			if (all->entry[i].value[NVMF_TLS] && !all->entry[other].value[NVMF_TLS] &&
				may_be_same(&all->entry[i], &all->entry[other]))
				err = kernel_conf_set(&all->entry[other], NVMF_TLS, "", diag);
	return err;
}

/* A query in clear would send the host's name to a target that must have TLS, and believe it. */
static int refuse_discovery(struct nvmf_entry *entry, struct diag *diag)
{
	struct diag why = { 0 };

	diag_set(&why, DIAG_UNSUPPORTED, EOPNOTSUPP,
		"its security profile requires TLS, which queries of discovery controllers lack");
	diag_hint(&why, "give the URI of the subsystem, with tls and its key");
	return kernel_conf_damage(entry, &why, diag);
}

static int add_discovery(int root, struct nvmf_entries *all, const struct nbft *nbft,
	const struct nbft_discovery_info *discovery, struct diag *diag)
{
	struct nvmf_entry *entry;
	char object[32];
	int err = 0;

	warn_security(all, nbft, "discovery", discovery->index, discovery->security);
	snprintf(object, sizeof(object), "discovery %u", discovery->index);
	entry = add_entry(all, nbft, object, diag);
	if (!entry)
		return -diag->err;
	if (discovery->security && discovery->security->tls)
		return refuse_discovery(entry, diag);
	entry->discover = true;
	entry->uri = strdup(discovery->uri);
	if (!entry->uri)
		return diag_sys(diag, ENOMEM, "NBFT");
	if (discovery->nqn[0])
		err = kernel_conf_set(entry, NVMF_NQN, discovery->nqn, diag);
	return err ? err : leave_by(root, entry, kernel_nbft_hfi(nbft, discovery->hfi), diag);
}

static int add_damage(struct nvmf_entries *all, const struct nbft *nbft,
	const struct nbft_damage *damage, struct diag *diag)
{
	struct nvmf_entry *entry = add_entry(all, nbft, damage->object, diag);
	struct diag why = { 0 };

	if (!entry)
		return -diag->err;
	diag_set(&why, damage->code, damage->err, "%s", damage->text);
	diag_hint(&why, damage->code == DIAG_PROTOCOL
				? "update the firmware, or give the target's URI"
				: "give the target's URI");
	return kernel_conf_damage(entry, &why, diag);
}

int kernel_nbft_check(int root,
	void (*each)(const char *table, unsigned subsystems, const struct diag *damage, void *arg),
	void *arg, struct diag *diag)
{
	unsigned count;
	struct nbft *list;
	int err = kernel_nbft_read(root, &list, &count, diag);

	for (unsigned n = 0; n < count && !err; n++) {
		const struct nbft *table = &list[n];

		for (unsigned i = 0; i < table->damages; i++) {
			const struct nbft_damage *damage = &table->damage[i];
			struct diag why = { 0 };

			diag_set(&why, damage->code, damage->err, "%s", damage->text);
			diag_ctx(&why, "%s %s", table->name, damage->object);
			each(table->name, table->ssnses, &why, arg);
		}
		if (!table->damages)
			each(table->name, table->ssnses, NULL, arg);
	}
	free(list);
	return err;
}

int kernel_nvmf_conf_nbft(int root, struct nvmf_entries *all, struct diag *diag)
{
	unsigned count, first = all->count;
	struct nbft *list;
	int err = kernel_nbft_read(root, &list, &count, diag);

	for (unsigned n = 0; n < count && !err; n++)
		for (unsigned i = 0; i < list[n].ssnses && !err; i++)
			err = add_ssns(root, all, first, &list[n], &list[n].ssns[i], diag);
	if (!err)
		err = require_tls(all, first, diag);
	for (unsigned n = 0; n < count && !err; n++)
		for (unsigned i = 0; i < list[n].discoveries && !err; i++)
			err = add_discovery(root, all, &list[n], &list[n].discovery[i], diag);
	/* last, as the first failure is that of the command: damage is final, others may pass */
	for (unsigned n = 0; n < count && !err; n++)
		for (unsigned i = 0; i < list[n].damages && !err; i++)
			err = add_damage(all, &list[n], &list[n].damage[i], diag);
	free(list);
	return err;
}
