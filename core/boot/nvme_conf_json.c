/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse nvme-cli 2's config.json: hosts, their subsystems, and the ports of those. Missing values
 * are inherited from the level above. */
#include "nvme_conf.h"
#include "wire/nvmf.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Names of its keys that differ from the kernel's. */
static int key_of(const char *name)
{
	static const struct {
		const char *name;
		uint8_t key;
	} keys[] = {
		{ "dhchap_key", NVMF_DHCHAP_SECRET },
		{ "dhchap_ctrl_key", NVMF_DHCHAP_CTRL_SECRET },
		{ "kxchap_key", NVMF_DHCHAP_SECRET },
		{ "kxchap_ctrl_key", NVMF_DHCHAP_CTRL_SECRET },
	};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcmp(keys[i].name, name))
			return keys[i].key;
	return kernel_nvmf_key_find(name);
}

static int parse_value(struct nvmf_entry *entry, int key, const cJSON *item, struct diag *diag)
{
	char text[32];

	if (kernel_nvmf_key_flag(key))
		return kernel_conf_set(entry, key,
			cJSON_IsTrue(item) || (cJSON_IsNumber(item) && item->valueint) ? "" : NULL,
			diag);
	if (cJSON_IsString(item))
		return kernel_conf_set(entry, key,
			*item->valuestring && strcmp(item->valuestring, "none") ? item->valuestring
										: NULL,
			diag);
	if (!cJSON_IsNumber(item))
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s: %s: expected a string or a number",
			entry->from, item->string);
	if (!item->valueint && key != NVMF_KEEP_ALIVE_TMO && key != NVMF_TOS &&
		key != NVMF_FAST_IO_FAIL_TMO && key != NVMF_CTRL_LOSS_TMO)
		return kernel_conf_set(entry, key, NULL, diag); /* it writes 0 for unset */
	snprintf(text, sizeof(text), "%d", item->valueint);
	return kernel_conf_set(entry, key, text, diag);
}

/* Parse the members of one object, except for the list of the next level. */
static int parse_members(struct nvmf_entries *all, struct nvmf_entry *entry, const cJSON *object,
	const char *down, struct diag *diag)
{
	const cJSON *item;
	int err = 0;

	cJSON_ArrayForEach(item, object)
	{
		int key = item->string ? key_of(item->string) : -1;

		if (err || !item->string || (down && !strcmp(item->string, down)))
			continue;
		if (!strcmp(item->string, "discovery"))
			entry->discover = cJSON_IsTrue(item);
		else if (key < 0)
			kernel_conf_note(
				all, "%s: ignored: unknown key '%.40s'", entry->from, item->string);
		else
			err = parse_value(entry, key, item, diag);
	}
	return err;
}

static int add_port(struct nvmf_entries *all, const struct nvmf_entry *above, const cJSON *port,
	struct diag *diag)
{
	struct nvmf_entry *entry = kernel_conf_add(all, above->from, 0, diag);
	struct diag why = { 0 };
	int err;

	if (!entry)
		return -diag->err;
	if (parse_members(all, entry, port, NULL, &why) && kernel_conf_damage(entry, &why, diag))
		return -diag->err;
	err = kernel_conf_inherit(entry, above, diag);
	if (!err && entry->value[NVMF_NQN] && !strcmp(entry->value[NVMF_NQN], NVMF_DISCOVERY_NQN))
		entry->discover = true;
	return err;
}

static int add_subsystem(struct nvmf_entries *all, const struct nvmf_entry *host,
	const cJSON *subsystem, struct diag *diag)
{
	struct nvmf_entry above = { 0 };
	const cJSON *port;
	int err;

	memcpy(above.from, host->from, sizeof(above.from));
	err = parse_members(all, &above, subsystem, "ports", diag);
	if (!err)
		err = kernel_conf_inherit(&above, host, diag);
	cJSON_ArrayForEach(port, cJSON_GetObjectItemCaseSensitive(subsystem, "ports")) if (!err)
		err = add_port(all, &above, port, diag);
	kernel_conf_clear(&above);
	return err;
}

static int add_host(
	struct nvmf_entries *all, const cJSON *object, const char *from, struct diag *diag)
{
	struct nvmf_entry host = { 0 };
	const cJSON *subsystem;
	int err;

	snprintf(host.from, sizeof(host.from), "%.90s", from);
	err = parse_members(all, &host, object, "subsystems", diag);
	cJSON_ArrayForEach(
		subsystem, cJSON_GetObjectItemCaseSensitive(object, "subsystems")) if (!err) err =
		add_subsystem(all, &host, subsystem, diag);
	kernel_conf_clear(&host);
	return err;
}

static int add_hosts(
	struct nvmf_entries *all, const cJSON *hosts, const char *from, struct diag *diag)
{
	const cJSON *host;
	int err = 0;

	if (!cJSON_IsArray(hosts))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"%s: expected an array of hosts, as nvme-cli writes it", from);
	cJSON_ArrayForEach(host, hosts) if (!err) err = add_host(all, host, from, diag);
	return err;
}

static unsigned line_of(const char *text, const char *at)
{
	unsigned line = 1;

	for (; at && text < at && *text; text++)
		line += *text == '\n';
	return line;
}

int kernel_nvmf_conf_json(
	struct nvmf_entries *all, const char *text, const char *from, struct diag *diag)
{
	const char *end = NULL;
	cJSON *json = cJSON_ParseWithOpts(text, &end, true);
	const cJSON *hosts;
	int err;

	if (!json)
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s line %u: invalid JSON", from,
			line_of(text, end));
	hosts = cJSON_IsObject(json) ? cJSON_GetObjectItemCaseSensitive(json, "hosts") : json;
	err = add_hosts(all, hosts, from, diag);
	cJSON_Delete(json);
	return err;
}
