/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse what a process reports to serve. Any process may have written it: a value of an unexpected
 * type counts as not reported, one that is too long is cut. */
#include "access.h"
#include "min.h"
#include "served.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRONTS    8
#define DISKS     32 /* each takes some kilobytes, however short its text is */
#define LISTENERS 64
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

/* Read the objects of a list, at most `most`, into a new array of elements of `size` bytes, which
 * the caller frees, also after a failure. array: where its address goes. False: out of memory. */
static bool read_list(const cJSON *from, const char *key, unsigned most, size_t size,
	bool (*read)(void *element, const cJSON *from), void *array, unsigned *count)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(from, key), *item;
	unsigned n = cJSON_IsArray(list) ? min_u32((unsigned)cJSON_GetArraySize(list), most) : 0;
	char *first = calloc(n + 1, size);
	bool ok = first;

	memcpy(array, &first, sizeof(first));
	cJSON_ArrayForEach(item, list)
	{
		if (ok && *count < n && cJSON_IsObject(item))
			ok = read(first + size * (*count)++, item);
	}
	return ok;
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

static bool read_path(void *element, const cJSON *from)
{
	struct serving_path *path = element;

	text_of(from, "uri", path->uri, sizeof(path->uri));
	read_state(&path->state, from);
	path->retry_in_seconds = seconds_of(from, "retry_in_seconds");
	text_of(from, "access", path->access, sizeof(path->access));
	path->group = number_of(from, "group", SERVING_UNKNOWN);
	path->preferred = is_true(from, "preferred");
	path->requests = number_of(from, "requests", SERVING_UNKNOWN);
	return true;
}

static bool read_disk(void *element, const cJSON *from)
{
	struct serving_disk *disk = element;

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
	return read_list(from, "paths", URI_PATHS + 1, sizeof(*disk->path), read_path, &disk->path,
		&disk->paths);
}

static bool read_listener(void *element, const cJSON *from)
{
	struct serving_listener *listener = element;

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
	return true;
}

static bool read_host(void *element, const cJSON *from)
{
	struct serving_host *host = element;

	text_of(from, "hostnqn", host->hostnqn, sizeof(host->hostnqn));
	text_of(from, "subnqn", host->subnqn, sizeof(host->subnqn));
	text_of(from, "traddr", host->traddr, sizeof(host->traddr));
	text_of(from, "security", host->security, sizeof(host->security));
	text_of(from, "tls_version", host->tls_version, sizeof(host->tls_version));
	text_of(from, "tls_cipher", host->tls_cipher, sizeof(host->tls_cipher));
	text_of(from, "tls_identity", host->tls_identity, sizeof(host->tls_identity));
	return true;
}

static bool read_nbd_client(void *element, const cJSON *from)
{
	struct serving_nbd_client *client = element;

	text_of(from, "name", client->name, sizeof(client->name));
	text_of(from, "transport", client->transport, sizeof(client->transport));
	text_of(from, "traddr", client->traddr, sizeof(client->traddr));
	text_of(from, "trsvcid", client->trsvcid, sizeof(client->trsvcid));
	client->pid = number_of(from, "pid", SERVING_UNKNOWN);
	client->uid = number_of(from, "uid", SERVING_UNKNOWN);
	text_of(from, "security", client->security, sizeof(client->security));
	text_of(from, "tls_version", client->tls_version, sizeof(client->tls_version));
	text_of(from, "tls_cipher", client->tls_cipher, sizeof(client->tls_cipher));
	text_of(from, "tls_identity", client->tls_identity, sizeof(client->tls_identity));
	return true;
}

static bool read_front(void *element, const cJSON *from)
{
	struct serving_front *front = element;
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
	front->hosts_left_out = number_of(from, "hosts_left_out", 0);
	front->nbd_clients_left_out = number_of(from, "nbd_clients_left_out", 0);
	return read_list(from, "disks", DISKS, sizeof(*front->disk), read_disk, &front->disk,
		       &front->disks) &&
	       read_list(from, "listeners", LISTENERS, sizeof(*front->listener), read_listener,
		       &front->listener, &front->listeners) &&
	       read_list(from, "hosts", SERVING_HOSTS, sizeof(*front->host), read_host,
		       &front->host, &front->hosts) &&
	       read_list(from, "nbd_clients", SERVING_HOSTS, sizeof(*front->nbd_client),
		       read_nbd_client, &front->nbd_client, &front->nbd_clients);
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
	const cJSON *seconds = cJSON_GetObjectItemCaseSensitive(json, "seconds");

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
	if (!read_list(json, "serving", FRONTS, sizeof(*process->front), read_front,
		    &process->front, &process->fronts))
		return diag_sys(&process->why, ENOMEM, "answer");
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
		free(process->front[i].nbd_client);
	}
	free(process->front);
	process->front = NULL;
	process->fronts = 0;
}
