/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse what a process reports to serve. Any process may have written it: a value of an unexpected
 * type counts as not reported, one that is too long is cut. */
#include "access.h"
#include "served.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRONTS    8
#define DISKS     32 /* each takes some kilobytes, however short its text is */
#define LISTENERS 64
#define HOSTS     256
#define WHOLE_MAX 9007199254740992. /* 2^53: doubles hold every whole number up to there */

static void text_of(const cJSON *object, const char *key, char *to, size_t len)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

	snprintf(to, len, "%s", text ? text : "");
}

static uint64_t number_of(const cJSON *object, const char *key, uint64_t unless)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
	double value = cJSON_IsNumber(item) ? item->valuedouble : -1;

	return value >= 0 && value <= WHOLE_MAX ? (uint64_t)value : unless;
}

static bool is_true(const cJSON *object, const char *key)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, key));
}

/* Length of a list of objects, limited to `most`. */
static unsigned count_of(const cJSON *list, unsigned most)
{
	const cJSON *item;
	unsigned count = 0;

	if (!cJSON_IsArray(list))
		return 0;
	cJSON_ArrayForEach(item, list) if (cJSON_IsObject(item) && count < most) count++;
	return count;
}

/* A holder of an unknown kind counts, too. */
static void read_holders(struct holders *list, const cJSON *from)
{
	static const char *const kinds[] = { "mount", "swap", "device" };
	const cJSON *object = cJSON_IsArray(from) ? from->child : NULL;

	list->known = cJSON_IsArray(from);
	for (; object && list->count < HOLDERS; object = object->next) {
		struct holder *holder = &list->item[list->count++];
		bool known = false;

		text_of(object, "kind", holder->kind, sizeof(holder->kind));
		text_of(object, "name", holder->name, sizeof(holder->name));
		text_of(object, "label", holder->label, sizeof(holder->label));
		for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			known |= !strcmp(holder->kind, kinds[i]);
		if (!known)
			strcpy(holder->kind, "unknown");
	}
}

static double seconds_of(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
	double value = cJSON_IsNumber(item) ? item->valuedouble : -1;

	return value >= 0 && value <= WHOLE_MAX ? value : -1;
}

/* An unknown state counts as not reported. */
static void read_state(struct serving_state *state, const cJSON *from)
{
	static const char *const words[] = { "up", "lost", "failed" };
	bool known = false, is_code = false;

	text_of(from, "state", state->word, sizeof(state->word));
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		known |= !strcmp(state->word, words[i]);
	if (!known)
		state->word[0] = 0;
	state->lost_seconds = seconds_of(from, "lost_seconds");
	state->fails_in_seconds = seconds_of(from, "fails_in_seconds");
	text_of(from, "reason", state->reason, sizeof(state->reason));
	for (enum diag_code code = DIAG_NONE + 1; code <= DIAG_SYSTEM; code++)
		is_code |= !strcmp(state->reason, diag_code_word(code));
	if (!is_code)
		state->reason[0] = 0;
}

/* False: out of memory. */
static bool read_paths(struct serving_disk *disk, const cJSON *from)
{
	const cJSON *paths = cJSON_GetObjectItemCaseSensitive(from, "paths"), *item;
	unsigned n = count_of(paths, URI_PATHS + 1);

	disk->path = n ? calloc(n, sizeof(*disk->path)) : NULL;
	if (n && !disk->path)
		return false;
	cJSON_ArrayForEach(item, paths) if (disk->paths < n && cJSON_IsObject(item))
	{
		struct serving_path *path = &disk->path[disk->paths++];

		text_of(item, "uri", path->uri, sizeof(path->uri));
		read_state(&path->state, item);
		path->retry_in_seconds = seconds_of(item, "retry_in_seconds");
		text_of(item, "access", path->access, sizeof(path->access));
		path->group = number_of(item, "group", SERVING_UNKNOWN);
		path->preferred = is_true(item, "preferred");
		path->requests = number_of(item, "requests", SERVING_UNKNOWN);
	}
	return true;
}

static bool read_disk(struct serving_disk *disk, const cJSON *from)
{
	text_of(from, "uri", disk->uri, sizeof(disk->uri));
	text_of(from, "subnqn", disk->subnqn, sizeof(disk->subnqn));
	text_of(from, "target", disk->target, sizeof(disk->target));
	text_of(from, "name", disk->name, sizeof(disk->name));
	text_of(from, "device", disk->device, sizeof(disk->device));
	text_of(from, "policy", disk->policy, sizeof(disk->policy));
	read_holders(&disk->holders, cJSON_GetObjectItemCaseSensitive(from, "holders"));
	disk->nsid = (unsigned)number_of(from, "nsid", 0);
	disk->lun = number_of(from, "lun", SERVING_UNKNOWN);
	disk->size = number_of(from, "size", 0);
	disk->block_size = number_of(from, "block_size", 0);
	disk->read_only = is_true(from, "read_only");
	read_state(&disk->state, from);
	return read_paths(disk, from);
}

static void read_listener(struct serving_listener *listener, const cJSON *from)
{
	text_of(from, "transport", listener->transport, sizeof(listener->transport));
	text_of(from, "traddr", listener->traddr, sizeof(listener->traddr));
	text_of(from, "trsvcid", listener->trsvcid, sizeof(listener->trsvcid));
	text_of(from, "service_id", listener->service_id, sizeof(listener->service_id));
	text_of(from, "path", listener->path, sizeof(listener->path));
	listener->iwarp = is_true(from, "iwarp");
	listener->group = (unsigned)number_of(from, "group", 0);
	text_of(from, "access", listener->access, sizeof(listener->access));
	if (access_parse(listener->access) == ACCESSES)
		listener->access[0] = 0;
}

static void read_host(struct serving_host *host, const cJSON *from)
{
	text_of(from, "hostnqn", host->hostnqn, sizeof(host->hostnqn));
	text_of(from, "subnqn", host->subnqn, sizeof(host->subnqn));
	text_of(from, "traddr", host->traddr, sizeof(host->traddr));
	text_of(from, "security", host->security, sizeof(host->security));
	text_of(from, "tls_version", host->tls_version, sizeof(host->tls_version));
	text_of(from, "tls_cipher", host->tls_cipher, sizeof(host->tls_cipher));
	text_of(from, "tls_identity", host->tls_identity, sizeof(host->tls_identity));
}

static bool read_lists(struct serving_front *front, const cJSON *from)
{
	const cJSON *disks = cJSON_GetObjectItemCaseSensitive(from, "disks"), *item;
	const cJSON *listeners = cJSON_GetObjectItemCaseSensitive(from, "listeners");
	const cJSON *hosts = cJSON_GetObjectItemCaseSensitive(from, "hosts");
	unsigned n = count_of(disks, DISKS), l = count_of(listeners, LISTENERS),
		 h = count_of(hosts, HOSTS);

	front->disk = calloc(n + 1, sizeof(*front->disk));
	front->listener = calloc(l + 1, sizeof(*front->listener));
	front->host = calloc(h + 1, sizeof(*front->host));
	if (!front->disk || !front->listener || !front->host)
		return false;
	cJSON_ArrayForEach(item, disks)
	{
		if (front->disks < n && cJSON_IsObject(item) &&
			!read_disk(&front->disk[front->disks++], item))
			return false;
	}
	cJSON_ArrayForEach(item, listeners) if (front->listeners < l && cJSON_IsObject(item))
		read_listener(&front->listener[front->listeners++], item);
	cJSON_ArrayForEach(item, hosts) if (front->hosts < h && cJSON_IsObject(item))
		read_host(&front->host[front->hosts++], item);
	return true;
}

static bool read_front(struct serving_front *front, const cJSON *from)
{
	static const struct {
		const char *key;
		size_t at;
	} counts[] = {
		{ "clients", offsetof(struct serving_front, clients) },
		{ "refused", offsetof(struct serving_front, refused) },
		{ "queues", offsetof(struct serving_front, queues) },
		{ "connections", offsetof(struct serving_front, connections) },
		{ "reads", offsetof(struct serving_front, reads) },
		{ "writes", offsetof(struct serving_front, writes) },
		{ "read_bytes", offsetof(struct serving_front, read_bytes) },
		{ "written_bytes", offsetof(struct serving_front, written_bytes) },
		{ "errors", offsetof(struct serving_front, errors) },
		{ "read_bytes_per_second", offsetof(struct serving_front, read_rate) },
		{ "written_bytes_per_second", offsetof(struct serving_front, written_rate) },
	};

	text_of(from, "protocol", front->protocol, sizeof(front->protocol));
	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		*(uint64_t *)(void *)((char *)front + counts[i].at) =
			number_of(from, counts[i].key, SERVING_UNKNOWN);
	return read_lists(front, from);
}

/* "rdmastor.serve.status": serve */
static bool read_applet(struct serving_process *process, const cJSON *json)
{
	static const char before[] = "rdmastor.", after[] = ".status";
	char schema[80];
	size_t len;

	text_of(json, "schema", schema, sizeof(schema));
	len = strlen(schema);
	if (len < sizeof(before) + sizeof(after) - 2 ||
		strncmp(schema, before, sizeof(before) - 1) ||
		strcmp(schema + len - sizeof(after) + 1, after))
		return false;
	snprintf(process->applet, sizeof(process->applet), "%.*s",
		(int)(len - sizeof(before) - sizeof(after) + 2), schema + sizeof(before) - 1);
	return true;
}

static int read_document(struct serving_process *process, const cJSON *json)
{
	const cJSON *serving = cJSON_GetObjectItemCaseSensitive(json, "serving"), *item;
	const cJSON *seconds = cJSON_GetObjectItemCaseSensitive(json, "seconds");
	unsigned n = count_of(serving, FRONTS);

	if (!cJSON_IsObject(json) || !read_applet(process, json))
		return diag_set(&process->why, DIAG_PROTOCOL, EPROTO,
			"the answer is not a status of rdmastor");
	if (number_of(json, "version", 0) != 2)
		return diag_set(&process->why, DIAG_UNSUPPORTED, ENOTSUP,
			"its status has version %u: expected 2",
			(unsigned)number_of(json, "version", 0));
	if (cJSON_IsNumber(seconds) && seconds->valuedouble >= 0 &&
		seconds->valuedouble <= WHOLE_MAX)
		process->seconds = seconds->valuedouble;
	process->stopping = is_true(json, "stopping");
	process->front = calloc(n + 1, sizeof(*process->front));
	if (!process->front)
		return diag_sys(&process->why, ENOMEM, "answer");
	cJSON_ArrayForEach(
		item, serving) if (process->fronts < n && cJSON_IsObject(item) &&
				   !read_front(&process->front[process->fronts++],
					   item)) return diag_sys(&process->why, ENOMEM, "answer");
	return 0;
}

void kernel_serving_read(struct serving_process *process, const char *text, size_t len)
{
	cJSON *json = cJSON_ParseWithLength(text, len);

	if (!json)
		diag_set(&process->why, DIAG_PROTOCOL, EPROTO,
			"the answer is not a complete JSON document");
	else if (read_document(process, json))
		kernel_serving_clear(process);
	cJSON_Delete(json);
}

void kernel_serving_clear(struct serving_process *process)
{
	for (unsigned i = 0; i < process->fronts; i++) {
		for (unsigned d = 0; d < process->front[i].disks; d++)
			free(process->front[i].disk[d].path);
		free(process->front[i].disk);
		free(process->front[i].listener);
		free(process->front[i].host);
	}
	free(process->front);
	process->front = NULL;
	process->fronts = 0;
}
