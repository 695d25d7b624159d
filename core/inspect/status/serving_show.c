/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print the disks that processes of this host serve and export, as a table and as JSON. */
#include "access.h"
#include "out.h"
#include "served.h"
#include "show.h"
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Find the previous sample of a process, for rates. */
static const struct serving_process *find_sample(
	const struct kernel_serving *list, const struct serving_process *process)
{
	for (unsigned i = 0; list && i < list->processes; i++) {
		const struct serving_process *other = &list->process[i];

		if (other->pid == process->pid && other->fronts == process->fronts &&
			other->seconds <= process->seconds &&
			!strcmp(other->applet, process->applet))
			return other;
	}
	return NULL;
}

/* Bytes per second between two samples of a process; without a first one, as it reports. */
static uint64_t serving_rate(double seconds, uint64_t bytes, uint64_t before, uint64_t reported)
{
	if (bytes == SERVING_UNKNOWN || before == SERVING_UNKNOWN || bytes < before || seconds <= 0)
		return reported;
	return (uint64_t)((double)(bytes - before) / seconds);
}

static bool same_file(const char *a, const char *b)
{
	char real_a[PATH_MAX], real_b[PATH_MAX];

	return !strstr(a, "://") && !strstr(b, "://") && realpath(a, real_a) &&
	       realpath(b, real_b) && !strcmp(real_a, real_b);
}

/* Paths reported by another user's process are compared as text, but not accessed: a path may
 * hang. */
static bool disk_is(
	const struct serving_process *process, const struct serving_disk *disk, const char *word)
{
	if (!strcmp(disk->uri, word) || !strcmp(disk->subnqn, word) || !strcmp(disk->target, word))
		return *word;
	if (!kernel_serving_is_trusted(process))
		return false;
	return same_file(disk->device[0] ? disk->device : disk->uri, word) ||
	       same_file(disk->uri, word);
}

static bool front_is(
	const struct serving_process *process, const struct serving_front *front, const char *word)
{
	for (unsigned i = 0; i < front->disks; i++)
		if (disk_is(process, &front->disk[i], word))
			return true;
	for (unsigned i = 0; i < front->listeners; i++)
		if (front->listener[i].path[0] && !strcmp(front->listener[i].path, word))
			return true;
	return false;
}

bool kernel_serving_select(struct kernel_serving *list, const char *word)
{
	unsigned count = 0;

	for (unsigned i = 0; i < list->processes; i++) {
		struct serving_process *process = &list->process[i];
		bool selected = false;

		for (unsigned f = 0; f < process->fronts; f++)
			selected |= front_is(process, &process->front[f], word);
		if (selected)
			list->process[count++] = *process;
		else
			kernel_serving_clear(process);
	}
	list->processes = count;
	return count;
}

static const char *number(uint64_t value, char text[24])
{
	text[0] = 0;
	if (value != SERVING_UNKNOWN)
		snprintf(text, 24, "%llu", (unsigned long long)value);
	return text;
}

static const char *rate(uint64_t per_second, char text[24])
{
	char human[16];

	text[0] = 0;
	if (per_second != SERVING_UNKNOWN)
		snprintf(text, 24, "%s/s", status_size(per_second, human)[0] ? human : "0");
	return text;
}

/* "4711", or "4711 (uid 1000)" if it is another user's, who may claim anything. */
static const char *owner(const struct serving_process *process, char text[40])
{
	int len = snprintf(text, 40, "%d", process->pid);

	if (process->uid == UINT32_MAX)
		snprintf(text + len, 40 - (size_t)len, " (unknown user)");
	else if (!kernel_serving_is_trusted(process))
		snprintf(text + len, 40 - (size_t)len, " (uid %u)", process->uid);
	return text;
}

/* Print a row per disk and address. Values of the whole front are in its first row. */
static void front_rows(struct table *table, const struct serving_process *process,
	const struct serving_process *before, unsigned index)
{
	const struct serving_front *front = &process->front[index],
				   *then = before ? &before->front[index] : NULL;
	double seconds = before ? process->seconds - before->seconds : 0;
	char where[STATUS_ADDRESS], as[32], bytes[16], text[4][24], state[SERVING_STATE_TEXT],
		pid[40];

	for (unsigned row = 0; row < front->disks * (front->listeners ? front->listeners : 1);
		row++) {
		const struct serving_listener *listener =
			front->listeners ? &front->listener[row % front->listeners] : NULL;
		const struct serving_disk *disk =
			&front->disk[row / (front->listeners ? front->listeners : 1)];
		const char *by = listener ? listener->transport : "";

		snprintf(as, sizeof(as), "%s%s%s", front->protocol, *by ? "/" : "",
			*by && listener->iwarp ? "iwarp" : by);
		table_row(table,
			(const char *const[]){
				disk->uri,
				status_size(disk->size, bytes),
				as,
				!listener           ? disk->device
				: listener->path[0] ? listener->path
						    : status_address(listener->traddr,
							      listener->trsvcid, where),
				kernel_serving_state_text(&disk->state, state),
				row ? " " : number(front->clients, text[0]),
				row ? " "
				    : rate(serving_rate(seconds, front->read_bytes,
						   then ? then->read_bytes : SERVING_UNKNOWN,
						   front->read_rate),
					      text[1]),
				row ? " "
				    : rate(serving_rate(seconds, front->written_bytes,
						   then ? then->written_bytes : SERVING_UNKNOWN,
						   front->written_rate),
					      text[2]),
				row ? " " : number(front->errors, text[3]),
				owner(process, pid),
			});
	}
}

const char *kernel_serving_state_text(
	const struct serving_state *state, char text[SERVING_STATE_TEXT])
{
	int at = snprintf(text, SERVING_STATE_TEXT, "%s", state->word);

	if (!strcmp(state->word, "lost") && state->lost_seconds >= 0)
		at += snprintf(
			text + at, SERVING_STATE_TEXT - (size_t)at, " %.0f s", state->lost_seconds);
	if (!strcmp(state->word, "lost") && state->fails_in_seconds >= 0)
		snprintf(text + at, SERVING_STATE_TEXT - (size_t)at, ", I/O fails in %.0f s",
			state->fails_in_seconds);
	if (!strcmp(state->word, "failed") && state->lost_seconds >= 0)
		snprintf(text + at, SERVING_STATE_TEXT - (size_t)at, ", lost %.0f s",
			state->lost_seconds);
	return text;
}

static void put_number(struct out *out, const char *key, uint64_t value)
{
	if (value != SERVING_UNKNOWN)
		out_u64(out, key, NULL, value);
}

/* Requests since an earlier sample of the path, if there is one. */
static uint64_t requests_since(const struct serving_path *path, const struct serving_path *before)
{
	if (path->requests == SERVING_UNKNOWN)
		return 0;
	return before && before->requests <= path->requests ? path->requests - before->requests
							    : path->requests;
}

/* ", optimized, group 1, preferred, next attempt in 3 s, 50 % of requests" */
static void path_details(const struct serving_path *path, uint64_t requests, uint64_t all,
	bool several, char *text, size_t len)
{
	size_t at = 0;

	text[0] = 0;
	if (path->access[0])
		at += (size_t)snprintf(text + at, len - at, ", %s", path->access);
	if (path->access[0] && path->group != SERVING_UNKNOWN)
		at += (size_t)snprintf(text + at, len - at, ", group %" PRIu64, path->group);
	if (path->preferred)
		at += (size_t)snprintf(text + at, len - at, ", preferred");
	if (path->retry_in_seconds >= 0)
		at += (size_t)snprintf(
			text + at, len - at, ", next attempt in %.1f s", path->retry_in_seconds);
	if (several && all)
		snprintf(text + at, len - at, ", %.0f%% of requests",
			100. * (double)requests / (double)all);
}

void kernel_serving_path_lines(struct out *out, const struct serving_path *path, unsigned count,
	const struct serving_path *before)
{
	char text[SERVING_STATE_TEXT], details[160];
	uint64_t all = 0;

	for (unsigned i = 0; i < count; i++)
		all += requests_since(&path[i], before ? &before[i] : NULL);
	for (unsigned i = 0; i < count; i++) {
		const struct serving_state *state = &path[i].state;

		if (!state->word[0] || (count == 1 && !strcmp(state->word, "up")))
			continue;
		path_details(&path[i], requests_since(&path[i], before ? &before[i] : NULL), all,
			count > 1, details, sizeof(details));
		out_line(out, "path %u: %s: %s%s%s%s%s", i + 1, path[i].uri,
			kernel_serving_state_text(state, text), details,
			state->reason[0] ? " (" : "", state->reason, state->reason[0] ? ")" : "");
	}
}

void kernel_serving_put_path(struct out *out, const struct serving_path *path)
{
	out_nonempty(out, "uri", path->uri);
	kernel_serving_put_state(out, &path->state);
	if (path->retry_in_seconds >= 0)
		out_real(out, "retry_in_seconds", NULL, path->retry_in_seconds, 1);
	out_nonempty(out, "access", path->access);
	if (path->access[0])
		put_number(out, "group", path->group);
	if (path->preferred)
		out_bool(out, "preferred", NULL, true);
	put_number(out, "requests", path->requests);
}

void kernel_serving_put_state(struct out *out, const struct serving_state *state)
{
	out_nonempty(out, "state", state->word);
	if (state->lost_seconds >= 0)
		out_real(out, "lost_seconds", NULL, state->lost_seconds, 1);
	if (state->fails_in_seconds >= 0)
		out_real(out, "fails_in_seconds", NULL, state->fails_in_seconds, 1);
	out_nonempty(out, "reason", state->reason);
}

/* Find the paths of a disk in the previous sample of its process. */
static const struct serving_path *paths_before(
	const struct serving_process *before, const struct serving_disk *disk, unsigned index)
{
	const struct serving_disk *then =
		before && index < before->front[0].disks ? &before->front[0].disk[index] : NULL;

	return then && then->paths == disk->paths && !strcmp(then->uri, disk->uri) ? then->path
										   : NULL;
}

/* All protocols of the process have the same disks. */
static void path_lines(struct out *out, const struct serving_process *process,
	const struct serving_process *before)
{
	const struct serving_front *front = &process->front[0];

	for (unsigned i = 0; i < front->disks; i++) {
		const struct serving_disk *disk = &front->disk[i];

		if (disk->policy[0])
			out_line(out, "%s: %u paths, policy %s", disk->uri, disk->paths,
				disk->policy);
		kernel_serving_path_lines(
			out, disk->path, disk->paths, paths_before(before, disk, i));
	}
}

/* Print the groups of listeners, unless there is only the default one and hosts may use it. */
static void group_lines(struct out *out, const struct serving_front *front)
{
	char where[STATUS_ADDRESS];
	bool any = false;

	for (unsigned i = 0; i < front->listeners; i++)
		any |= front->listener[i].access[0] &&
		       (front->listener[i].group != 1 ||
			       access_parse(front->listener[i].access) != ACCESS_OPTIMIZED);
	for (unsigned i = 0; any && i < front->listeners; i++)
		if (front->listener[i].access[0])
			out_line(out, "group %u: %s/%s %s: %s", front->listener[i].group,
				front->protocol, front->listener[i].transport,
				status_address(front->listener[i].traddr,
					front->listener[i].trsvcid, where),
				front->listener[i].access);
}

/* Whether one of the hosts of a process has proven who it is. */
static bool any_secured(const struct kernel_serving *list)
{
	for (unsigned i = 0; i < list->processes; i++)
		for (unsigned f = 0; f < list->process[i].fronts; f++) {
			const struct serving_front *front = &list->process[i].front[f];

			for (unsigned h = 0; h < front->hosts; h++)
				if (front->host[h].security[0] &&
					strcmp(front->host[h].security, "none") != 0)
					return true;
		}
	return false;
}

static void host_rows(struct table *table, const struct serving_process *process)
{
	char pid[40];

	for (unsigned f = 0; f < process->fronts; f++)
		for (unsigned h = 0; h < process->front[f].hosts; h++) {
			const struct serving_host *host = &process->front[f].host[h];

			table_row(
				table, (const char *const[]){ host->hostnqn, host->traddr,
					       host->security, host->tls_version, host->tls_cipher,
					       owner(process, pid), host->tls_identity });
		}
}

static void more_line(
	struct out *out, const struct serving_process *process, uint64_t left_out, const char *what)
{
	char pid[40];

	if (left_out)
		out_line(out, "process %s: %" PRIu64 " more %s are not listed", owner(process, pid),
			left_out, what);
}

static void hosts_table(struct out *out, const struct kernel_serving *list)
{
	static const char *const head[] = { "HOST", "ADDRESS", "SECURITY", "TLS", "CIPHER", "PID",
		"IDENTITY" };
	struct table table = TABLE(out, head);

	if (!any_secured(list))
		return;
	out_line(out, "%s", "");
	while (table_pass(&table, head))
		for (unsigned i = 0; i < list->processes; i++)
			host_rows(&table, &list->process[i]);
	for (unsigned i = 0; i < list->processes; i++)
		for (unsigned f = 0; f < list->process[i].fronts; f++)
			more_line(out, &list->process[i], list->process[i].front[f].hosts_left_out,
				"hosts");
}

/* "10.0.0.9:41122", or "process 4711 (uid 1000)" on a unix socket */
static const char *nbd_client_text(
	const struct serving_nbd_client *client, char text[STATUS_ADDRESS])
{
	size_t at;

	if (client->traddr[0])
		return status_address(client->traddr, client->trsvcid, text);
	at = (size_t)snprintf(text, STATUS_ADDRESS, "process");
	if (client->pid != SERVING_UNKNOWN)
		at += (size_t)snprintf(text + at, STATUS_ADDRESS - at, " %" PRIu64, client->pid);
	if (client->uid != SERVING_UNKNOWN)
		snprintf(text + at, STATUS_ADDRESS - at, " (uid %" PRIu64 ")", client->uid);
	return text;
}

static void nbd_client_rows(struct table *table, const struct serving_process *process)
{
	char text[STATUS_ADDRESS], pid[40];

	for (unsigned f = 0; f < process->fronts; f++)
		for (unsigned c = 0; c < process->front[f].nbd_clients; c++) {
			const struct serving_nbd_client *client = &process->front[f].nbd_client[c];

			table_row(table,
				(const char *const[]){ nbd_client_text(client, text), client->name,
					client->security, client->tls_version, client->tls_cipher,
					owner(process, pid), client->tls_identity });
		}
}

static void nbd_clients_table(struct out *out, const struct kernel_serving *list)
{
	static const char *const head[] = { "CLIENT", "EXPORT", "SECURITY", "TLS", "CIPHER", "PID",
		"IDENTITY" };
	struct table table = TABLE(out, head);
	bool any = false;

	for (unsigned i = 0; i < list->processes; i++)
		for (unsigned f = 0; f < list->process[i].fronts; f++)
			any |= list->process[i].front[f].nbd_clients;
	if (!any)
		return;
	out_line(out, "%s", "");
	while (table_pass(&table, head))
		for (unsigned i = 0; i < list->processes; i++)
			nbd_client_rows(&table, &list->process[i]);
	for (unsigned i = 0; i < list->processes; i++)
		for (unsigned f = 0; f < list->process[i].fronts; f++)
			more_line(out, &list->process[i],
				list->process[i].front[f].nbd_clients_left_out, "clients");
}

void serving_text(
	struct out *out, const struct kernel_serving *list, const struct kernel_serving *before)
{
	static const char *const head[] = { "SERVING", "SIZE", "AS", "ADDRESS", "STATE", "CLIENTS",
		"READ", "WRITTEN", "ERRORS", "PID" };
	struct table table = TABLE(out, head);
	bool any = false;

	for (unsigned i = 0; i < list->processes; i++)
		any |= list->process[i].fronts;
	while (any && table_pass(&table, head))
		for (unsigned i = 0; i < list->processes; i++)
			for (unsigned f = 0; f < list->process[i].fronts; f++)
				front_rows(&table, &list->process[i],
					find_sample(before, &list->process[i]), f);
	for (unsigned i = 0; i < list->processes; i++) {
		const struct serving_process *process = &list->process[i];
		char pid[40];

		if (process->fronts)
			path_lines(out, process, find_sample(before, process));
		for (unsigned f = 0; f < process->fronts; f++)
			group_lines(out, &process->front[f]);
		if (process->why.err)
			out_line(out, "process %s: %s", owner(process, pid), process->why.text);
		else if (process->stopping)
			out_line(out, "process %s (%s): stopping", owner(process, pid),
				process->applet);
	}
	hosts_table(out, list);
	nbd_clients_table(out, list);
	if (list->left_out)
		out_line(out, "%u more processes of other users are not listed", list->left_out);
}

/* Print the elements of an array, `size` bytes each, as a list of objects. */
static void put_list(struct out *out, const char *key, const void *array, unsigned count,
	size_t size, void (*put)(struct out *, const void *element))
{
	out_list(out, key);
	for (unsigned i = 0; i < count; i++) {
		out_object(out, NULL);
		put(out, (const char *)array + i * size);
		out_end(out);
	}
	out_end(out);
}

static void put_path(struct out *out, const void *element)
{
	kernel_serving_put_path(out, element);
}

static void put_disk(struct out *out, const void *element)
{
	const struct serving_disk *disk = element;

	out_nonempty(out, "uri", disk->uri);
	out_u64(out, "size", NULL, disk->size);
	out_u64(out, "block_size", NULL, disk->block_size);
	out_bool(out, "read_only", NULL, disk->read_only);
	out_nonempty(out, "subnqn", disk->subnqn);
	if (disk->nsid)
		out_u64(out, "nsid", NULL, disk->nsid);
	out_nonempty(out, "target", disk->target);
	if (disk->lun != SERVING_UNKNOWN)
		out_u64(out, "lun", NULL, disk->lun);
	out_nonempty(out, "name", disk->name);
	out_nonempty(out, "device", disk->device);
	kernel_holders_put(out, &disk->holders);
	kernel_serving_put_state(out, &disk->state);
	out_nonempty(out, "policy", disk->policy);
	put_list(out, "paths", disk->path, disk->paths, sizeof(*disk->path), put_path);
}

static void put_listener(struct out *out, const void *element)
{
	const struct serving_listener *listener = element;

	out_nonempty(out, "transport", listener->transport);
	out_nonempty(out, "traddr", listener->traddr);
	out_nonempty(out, "trsvcid", listener->trsvcid);
	out_nonempty(out, "service_id", listener->service_id);
	out_nonempty(out, "path", listener->path);
	if (!strcmp(listener->transport, "rdma"))
		out_bool(out, "iwarp", NULL, listener->iwarp);
	if (listener->group)
		out_u64(out, "group", NULL, listener->group);
	out_nonempty(out, "access", listener->access);
}

static void put_host(struct out *out, const void *element)
{
	const struct serving_host *host = element;

	out_nonempty(out, "hostnqn", host->hostnqn);
	out_nonempty(out, "subnqn", host->subnqn);
	out_nonempty(out, "traddr", host->traddr);
	out_nonempty(out, "security", host->security);
	out_nonempty(out, "tls_version", host->tls_version);
	out_nonempty(out, "tls_cipher", host->tls_cipher);
	out_nonempty(out, "tls_identity", host->tls_identity);
}

static void put_nbd_client(struct out *out, const void *element)
{
	const struct serving_nbd_client *client = element;

	out_text(out, "name", NULL, "%s", client->name);
	out_nonempty(out, "transport", client->transport);
	out_nonempty(out, "traddr", client->traddr);
	out_nonempty(out, "trsvcid", client->trsvcid);
	put_number(out, "pid", client->pid);
	put_number(out, "uid", client->uid);
	out_nonempty(out, "security", client->security);
	out_nonempty(out, "tls_version", client->tls_version);
	out_nonempty(out, "tls_cipher", client->tls_cipher);
	out_nonempty(out, "tls_identity", client->tls_identity);
}

static void put_front(struct out *out, const struct serving_front *front)
{
	out_nonempty(out, "protocol", front->protocol);
	put_number(out, "clients", front->clients);
	put_number(out, "refused", front->refused);
	put_number(out, "queues", front->queues);
	put_number(out, "connections", front->connections);
	put_number(out, "reads", front->reads);
	put_number(out, "read_bytes", front->read_bytes);
	put_number(out, "writes", front->writes);
	put_number(out, "written_bytes", front->written_bytes);
	put_number(out, "errors", front->errors);
	put_number(out, "read_bytes_per_second", front->read_rate);
	put_number(out, "written_bytes_per_second", front->written_rate);
	put_list(out, "disks", front->disk, front->disks, sizeof(*front->disk), put_disk);
	put_list(out, "listeners", front->listener, front->listeners, sizeof(*front->listener),
		put_listener);
	if (front->hosts)
		put_list(out, "hosts", front->host, front->hosts, sizeof(*front->host), put_host);
	if (front->hosts_left_out)
		out_u64(out, "hosts_left_out", NULL, front->hosts_left_out);
	if (front->nbd_clients)
		put_list(out, "nbd_clients", front->nbd_client, front->nbd_clients,
			sizeof(*front->nbd_client), put_nbd_client);
	if (front->nbd_clients_left_out)
		out_u64(out, "nbd_clients_left_out", NULL, front->nbd_clients_left_out);
}

/* Open the process's member of the list. */
static void put_process(struct out *out, const struct serving_process *process)
{
	out_object(out, NULL);
	out_u64(out, "pid", NULL, (uint64_t)process->pid);
	if (process->uid != UINT32_MAX)
		out_u64(out, "uid", NULL, process->uid);
	out_nonempty(out, "applet", process->applet);
	if (process->why.err)
		out_error(out, "error", &process->why);
	else
		out_real(out, "seconds", NULL, process->seconds, 3);
	if (process->stopping)
		out_bool(out, "stopping", NULL, true);
}

void serving_json(struct out *out, const struct kernel_serving *list)
{
	out_list(out, "serving");
	for (unsigned i = 0; i < list->processes; i++) {
		const struct serving_process *process = &list->process[i];

		for (unsigned f = 0; f < process->fronts || !f; f++) {
			put_process(out, process);
			if (process->fronts)
				put_front(out, &process->front[f]);
			out_end(out);
		}
	}
	out_end(out);
	if (list->left_out)
		out_u64(out, "serving_left_out", NULL, list->left_out);
}
