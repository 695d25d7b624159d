/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The disks that a host offers by any protocol: which services to query, their answers without
 * duplicates, and one reason if there is no disk. */
#include "grow.h"
#include "services.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ports on InfiniBand have GIDs, which are IPv6 addresses. */
static const struct service srp = { "srp", "SRP", "srp-discover", 0 };

static int not_a_host(const char *text, struct diag *diag)
{
	return diag_set(diag, DIAG_USAGE, EINVAL,
		"'%s': expected HOST, HOST:PORT, [ADDRESS]:PORT or SCHEME://HOST[:PORT]", text);
}

/* HOST, HOST:PORT, [ADDRESS]:PORT or an IPv6 address, as the authority of a URI. */
static int read_host(struct disk_search *s, const char *text, struct diag *diag)
{
	const char *colon = strchr(text, ':');
	bool v6 = *text != '[' && colon && strchr(colon + 1, ':');
	char uri[URI_MAX];

	if (!*text || strpbrk(text, "/?@ \t") || strlen(text) >= ADDR_HOST)
		return not_a_host(text, diag);
	snprintf(uri, sizeof(uri), "nbd://%s%s%s", v6 ? "[" : "", text, v6 ? "]" : "");
	s->all = true;
	return uri_parse(&s->host, uri, NULL) || !s->host.host[0] ? not_a_host(text, diag) : 0;
}

int disk_search_read(struct disk_search *s, const char *text, struct diag *diag)
{
	int err;

	s->text = text;
	if (!strstr(text, "://"))
		return read_host(s, text, diag);
	err = uri_parse(&s->host, text, diag);
	if (err || !s->host.path[0])
		return err;
	not_a_host(text, diag);
	return diag_hint(diag, "show a disk with: rdmastor info %s", text);
}

static void add_query(struct disk_search *s, const struct service *service, const char *uri)
{
	struct disk_query *query = &s->query[s->queries++];

	query->service = service;
	if (uri)
		snprintf(query->uri, sizeof(query->uri), "%s", uri);
	else
		service_uri(service, s->host.host, s->host.port, query->uri);
}

static int choose_queries(struct disk_search *s, struct diag *diag)
{
	const struct service *one = s->all ? NULL : service_find(s->host.scheme);

	if (one)
		add_query(s, one, s->text);
	else if (!s->all)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"unsupported scheme '%s:': expected nvme+tcp, nvme+rdma, iscsi, iser, nbd, "
			"nbd+unix or nfs+rdma",
			s->host.scheme);
	for (unsigned i = 0; i < SERVICES && s->all; i++)
		add_query(s, &services[i], NULL);
	if (s->all && strchr(s->host.host, ':') && !strchr(s->host.host, '%'))
		add_query(s, &srp, s->host.host);
	return 0;
}

void disk_search_add(const char *uri, void *arg)
{
	struct disk_search *s = arg;
	const char *host = strstr(uri, "://");
	char *copy, **found;

	if (!host || !strchr(host + 3, '/')) /* a server */
		return;
	s->listed++;
	s->more |= s->count == DISK_SEARCH_MAX;
	if (s->more)
		return;
	for (unsigned i = 0; i < s->count; i++)
		if (!strcmp(s->found[i], uri))
			return;
	copy = strdup(uri);
	found = copy ? grow(s->found, s->count) : NULL;
	s->no_memory |= !found;
	if (found)
		*found = copy;
	else
		free(copy);
}

/* `discover` takes a user and a secret from a URI. */
static void hint_chap(struct disk_query *query)
{
	const char *host = strstr(query->uri, "://");

	if (host && strstr(query->why.hint, "--secret-file"))
		diag_hint(&query->why,
			"the target may require CHAP: rdmastor discover "
			"'%.*s://USER@%.*s?secret-file=FILE'",
			(int)(host - query->uri), query->uri, (int)strcspn(host + 3, "?"),
			host + 3);
}

static void add_answer(struct disk_search *s, struct disk_query *query)
{
	unsigned before = s->listed;

	query->why = query->probe.run.why;
	hint_chap(query);
	applet_run_texts(&query->probe.run, "uri", "", disk_search_add, s);
	if (!query->why.err && s->listed == before)
		diag_set(&query->why, DIAG_NOT_FOUND, ENOENT, "no disk is listed for this machine");
	applet_run_free(&query->probe.run);
}

int disk_search_run(struct disk_search *s, struct probes *probes, uint32_t ms, struct diag *diag)
{
	int err = choose_queries(s, diag);

	if (err)
		return err;
	for (unsigned i = 0; i < s->queries; i++) {
		struct disk_query *query = &s->query[i];
		const char *uri[] = { query->service->applet, query->uri, NULL };
		const char *gid[] = { query->service->applet, "--gid", query->uri, NULL };

		probe_start(probes, &query->probe, ms, query->service == &srp ? gid : uri);
	}
	probes_wait(probes);
	for (unsigned i = 0; i < s->queries; i++)
		add_answer(s, &s->query[i]);
	return s->no_memory ? diag_sys(diag, ENOMEM, "discovery") : 0;
}

bool disk_search_same_reason(const struct disk_search *s)
{
	for (unsigned i = 1; i < s->queries; i++)
		if (strcmp(s->query[i].why.text, s->query[0].why.text))
			return false;
	return s->queries;
}

/* The first that answered without a list, or NULL: what it has is unknown. */
static const struct disk_query *find_unlisted(const struct disk_search *s)
{
	for (unsigned i = 0; i < s->queries; i++)
		if (service_answers(&s->query[i].why) && s->query[i].why.err &&
			s->query[i].why.code != DIAG_NOT_FOUND)
			return &s->query[i];
	return NULL;
}

int disk_search_none(const struct disk_search *s, struct diag *diag)
{
	const struct disk_query *first = s->query, *unlisted = find_unlisted(s);
	bool same = true, answers = false;

	if (disk_search_same_reason(s)) {
		*diag = first->why;
		return diag_ctx(diag, "%s", s->text);
	}
	if (unlisted) {
		diag_set(diag, unlisted->why.code, unlisted->why.err, "%s: %s",
			unlisted->service->name, unlisted->why.text);
		diag_hint(diag, "%s", unlisted->why.hint);
		return diag_ctx(diag, "%s", s->text);
	}
	for (unsigned i = 0; i < s->queries; i++) {
		same &= s->query[i].why.code == first->why.code;
		answers |= service_answers(&s->query[i].why);
	}
	diag_set(diag, same ? first->why.code : DIAG_NOT_FOUND, same ? first->why.err : ENOENT,
		"no disk found: %s",
		answers        ? "the host lists none for this machine"
		: s->host.port ? "no protocol answers at this port"
			       : "no protocol answers at its default port");
	diag_ctx(diag, "%s", s->text);
	if (!answers && !s->host.port)
		diag_hint(diag, "if the server has another port: rdmastor discover HOST:PORT");
	return -diag->err;
}

void disk_search_free(struct disk_search *s)
{
	for (unsigned i = 0; i < s->count; i++)
		free(s->found[i]);
	free(s->found);
}
