/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Run the topics in order, and print the findings. */
#include "find.h"
#include "grow.h"
#include "kernel_identity.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Topics that fork come before those that may start a thread to resolve a name. */
static void (*const topics[])(struct doctor *) = {
	doctor_kernel,
	doctor_features,
	doctor_tls,
	doctor_modules,
	doctor_rdma,
	doctor_limits,
	doctor_identity,
	doctor_boot,
	doctor_target,
	doctor_network,
	doctor_firewall,
	doctor_paths,
};

static const char *const topic_names[DOCTOR_TOPICS] = { "kernel", "modules", "rdma", "limits",
	"identity", "boot", "network", "firewall", "target", "paths" };
static const char *const state_names[DOCTOR_STATES] = { "ok", "info", "warning", "failure" };

static struct finding *add(struct doctor *doctor, enum doctor_topic topic, const char *check,
	enum doctor_state state, const char *object)
{
	struct finding *finding = grow(doctor->finding, doctor->findings);

	doctor->failed |= !finding;
	if (!finding)
		finding = memset(&doctor->spare, 0, sizeof(doctor->spare));
	finding->topic = topic;
	finding->check = check;
	finding->state = state;
	snprintf(finding->object, sizeof(finding->object), "%s", object);
	return finding;
}

struct finding *doctor_add(struct doctor *doctor, enum doctor_topic topic, const char *check,
	enum doctor_state state, const char *object, const char *fmt, ...)
{
	struct finding *finding = add(doctor, topic, check, state, object);
	va_list args;

	va_start(args, fmt);
	vsnprintf(finding->text, sizeof(finding->text), fmt, args);
	va_end(args);
	return finding;
}

struct finding *doctor_add_diag(struct doctor *doctor, enum doctor_topic topic, const char *check,
	enum doctor_state state, const struct diag *diag)
{
	struct finding *finding = add(doctor, topic, check, state, diag->object);

	snprintf(finding->text, sizeof(finding->text), "%s", diag->text);
	snprintf(finding->hint, sizeof(finding->hint), "%s", diag->hint);
	doctor_text(finding, "code", diag_code_word(diag->code));
	doctor_text(finding, "errno", diag_errno_word(diag->err));
	return finding;
}

void doctor_hint(struct finding *finding, const char *fmt, ...)
{
	va_list args;

	if (finding->state == DOCTOR_OK)
		return;
	va_start(args, fmt);
	vsnprintf(finding->hint, sizeof(finding->hint), fmt, args);
	va_end(args);
}

static struct fact *add_fact(struct finding *finding, const char *key)
{
	static struct fact none;
	struct fact *fact = &none;

	if (finding->facts < sizeof(finding->fact) / sizeof(*finding->fact))
		fact = &finding->fact[finding->facts++];
	fact->key = key;
	return fact;
}

void doctor_number(struct finding *finding, const char *key, uint64_t value)
{
	add_fact(finding, key)->number = value;
}

void doctor_text(struct finding *finding, const char *key, const char *text)
{
	struct fact *fact;

	if (!text[0])
		return;
	fact = add_fact(finding, key);
	fact->is_text = true;
	snprintf(fact->text, sizeof(fact->text), "%s", text);
}

bool doctor_is(const struct doctor *doctor, const char *names)
{
	const char *scheme = doctor->parsed ? doctor->parsed->scheme : "";
	size_t len = strlen(scheme);

	for (const char *at = names; len && (at = strstr(at, scheme)); at += len)
		if ((at == names || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	return false;
}

bool doctor_needs_rdma(const struct doctor *doctor)
{
	return doctor_is(doctor, "nfs+rdma srp");
}

bool doctor_rdma_relevant(const struct doctor *doctor)
{
	return !doctor->uri || doctor_is(doctor, "nvme+rdma iser srp srp+cm nfs+rdma");
}

uint32_t doctor_remaining_ms(const struct doctor *doctor, unsigned part)
{
	uint64_t now = loop_clock(),
		 left = doctor->deadline > now ? (doctor->deadline - now) / MSEC / part : 0;

	return left > PARSE_MSEC_MAX ? PARSE_MSEC_MAX : left ? (uint32_t)left : 1;
}

uint16_t doctor_port(const struct doctor *doctor)
{
	static const struct {
		const char *schemes;
		uint16_t port;
	} rows[] = { { "nvme+rdma nvme+tcp", 4420 }, { "iser iscsi", 3260 }, { "nbd nbds", 10809 },
		{ "nfs+rdma", 20049 } };

	if (doctor->parsed && doctor->parsed->port)
		return doctor->parsed->port;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (doctor_is(doctor, rows[i].schemes))
			return rows[i].port;
	return 0;
}

static int read_uri(struct doctor *doctor, struct diag *diag)
{
	struct uri *uri = calloc(1, sizeof(*uri));
	int err = uri ? uri_parse(uri, doctor->uri, diag) : diag_sys(diag, ENOMEM, "URI");

	if (!err && !scheme_find(uri->scheme))
		err = scheme_unknown(uri->scheme, SCHEME_ALL, "a path", diag);
	if (err)
		free(uri);
	else
		doctor->parsed = uri;
	return err;
}

int doctor_examine(struct doctor *doctor, struct diag *diag)
{
	int err = doctor->uri ? read_uri(doctor, diag) : 0;

	for (unsigned i = 0; !err && i < sizeof(topics) / sizeof(*topics); i++)
		topics[i](doctor);
	if (!err && doctor->failed)
		err = diag_sys(diag, ENOMEM, "findings");
	return err;
}

unsigned doctor_count(const struct doctor *doctor, enum doctor_state state)
{
	unsigned count = 0;

	for (unsigned i = 0; i < doctor->findings; i++)
		count += doctor->finding[i].state == state;
	return count;
}

static void put_json(struct out *out, const struct finding *finding)
{
	out_object(out, NULL);
	out_text(out, "topic", NULL, "%s", topic_names[finding->topic]);
	out_text(out, "check", NULL, "%s", finding->check);
	out_text(out, "state", NULL, "%s", state_names[finding->state]);
	out_nonempty(out, "object", finding->object);
	out_text(out, "text", NULL, "%s", finding->text);
	out_nonempty(out, "hint", finding->hint);
	for (unsigned i = 0; i < finding->facts; i++) {
		const struct fact *fact = &finding->fact[i];

		if (fact->is_text)
			out_text(out, fact->key, NULL, "%s", fact->text);
		else
			out_u64(out, fact->key, NULL, fact->number);
	}
	out_end(out);
}

static void put_row(struct table *table, const struct finding *finding)
{
	char text[sizeof(finding->object) + sizeof(finding->text) + 4];
	const char *cell[] = { state_names[finding->state], topic_names[finding->topic], text };

	snprintf(text, sizeof(text), "%s%s%s", finding->object, finding->object[0] ? ": " : "",
		finding->text);
	table_row(table, cell);
	if (table->print && finding->hint[0])
		out_line(table->out, "%*s  hint: %s", (int)(table->width[0] + table->width[1]) + 2,
			"", finding->hint);
}

/* Whether warnings are omitted, as they follow from others. */
static bool hides_warnings(const struct doctor *doctor)
{
	for (unsigned i = 0; i < doctor->findings; i++)
		if (doctor->finding[i].detail && doctor->finding[i].state == DOCTOR_WARNING)
			return true;
	return false;
}

static bool is_shown(const struct finding *finding, bool verbose, bool quiet)
{
	switch ((enum doctor_state)finding->state) {
	case DOCTOR_OK:
		return !quiet && (verbose || !finding->detail);
	case DOCTOR_INFO:
		return !quiet && verbose;
	default:
		return verbose || !finding->detail;
	}
}

static void show_missing(struct out *out, const struct doctor *doctor)
{
	char line[1024] = "";

	for (unsigned i = 0; i < doctor->findings; i++) {
		const struct finding *finding = &doctor->finding[i];
		const size_t at = strlen(line);

		if (finding->state == DOCTOR_INFO && !finding->detail)
			snprintf(line + at, sizeof(line) - at, "%s%s", at ? ", " : "",
				finding->missing);
	}
	if (line[0])
		out_line(out, "not available here (details with --verbose): %s", line);
}

void doctor_show(struct out *out, const struct doctor *doctor, bool verbose, bool quiet)
{
	static const char *const head[] = { "STATE", "TOPIC", "FINDING" };
	const unsigned warnings = doctor_count(doctor, DOCTOR_WARNING),
		       failures = doctor_count(doctor, DOCTOR_FAILURE),
		       ok = doctor_count(doctor, DOCTOR_OK);
	struct table table = TABLE(out, head);

	out_list(out, "findings");
	for (unsigned topic = 0; out->json && topic < DOCTOR_TOPICS; topic++)
		for (unsigned i = 0; i < doctor->findings; i++)
			if (doctor->finding[i].topic == topic)
				put_json(out, &doctor->finding[i]);
	out_end(out);
	out_object(out, "counts");
	out_u64(out, "ok", NULL, ok);
	out_u64(out, "info", NULL, doctor_count(doctor, DOCTOR_INFO));
	out_u64(out, "warning", NULL, warnings);
	out_u64(out, "failure", NULL, failures);
	out_end(out);
	if (out->json || (quiet && !warnings && !failures))
		return;
	while (table_pass(&table, head))
		for (unsigned topic = 0; topic < DOCTOR_TOPICS; topic++)
			for (unsigned i = 0; i < doctor->findings; i++) {
				const struct finding *finding = &doctor->finding[i];

				if (finding->topic == topic && is_shown(finding, verbose, quiet))
					put_row(&table, finding);
			}
	if (quiet)
		return;
	if (!verbose)
		show_missing(out, doctor);
	out_line(out, "%u failure%s, %u warning%s%s, %u ok", failures, failures == 1 ? "" : "s",
		warnings, warnings == 1 ? "" : "s",
		hides_warnings(doctor) && !verbose ? " (all with --verbose)" : "", ok);
}

void doctor_free(struct doctor *doctor)
{
	free(doctor->finding);
	free(doctor->parsed);
	doctor->finding = NULL;
	doctor->parsed = NULL;
	doctor->findings = 0;
}
