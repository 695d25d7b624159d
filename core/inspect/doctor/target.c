/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Whether the URI's target answers as the URI says, and if not, which protocols do answer at that
 * host. Applets in children ask, one connection or two each. */
#include "find.h"
#include "names.h"
#include "services.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PARTITION 0x7fff /* without the bit of full membership */

struct srp_names {
	char ioc_guid[32], id_ext[32];
};

static struct probes probes_of(const struct doctor *doctor, bool verbose)
{
	return (struct probes){ .loop = doctor->loop, .run = doctor->run, .verbose = verbose };
}

/* ---- The URI itself. */

/* Choose the applet: one that lists targets if the URI names no disk. */
static const char *applet_of(const struct doctor *doctor)
{
	bool disk = doctor->parsed->path[0];

	if (doctor_is(doctor, "nfs+rdma"))
		return "nfsrdma-discover";
	if (doctor_is(doctor, "nvme+rdma nvme+tcp") &&
		(!disk || strstr(doctor->parsed->path, "nqn.2014-08.org.nvmexpress.discovery")))
		return "nvmf-discover";
	if (doctor_is(doctor, "iser iscsi") && !disk)
		return "iser-discover";
	return "info";
}

/* "IOC_GUID/ID_EXT" and "IOC_GUID/ID_EXT/LUN"; "" for what is missing. */
static void read_srp_path(struct srp_names *names, const char *path)
{
	const size_t guid = strcspn(path, "/");
	const char *ext = path + guid + (path[guid] == '/');

	snprintf(names->ioc_guid, sizeof(names->ioc_guid), "%.*s", (int)guid, path);
	snprintf(names->id_ext, sizeof(names->id_ext), "%.*s", (int)strcspn(ext, "/"), ext);
}

static const char *option_of_port(const char *host)
{
	return strlen(host) <= 5 && !host[strspn(host, "0123456789")] ? "--lid" : "--gid";
}

/* Whether the URI has another partition; the members of one are known only to the SA. */
static bool other_partition(const char *pkey)
{
	uint64_t key = DEFAULT_PARTITION;

	return pkey &&
	       (!hex_parse(&key, pkey, 4) || (key & DEFAULT_PARTITION) != DEFAULT_PARTITION);
}

/* Ask the port of the URI for the target. A scan of the fabric would miss targets in userspace,
 * whose ports don't announce device management. */
static void start_srp(const struct doctor *doctor, struct probes *probes, struct probe *probe,
	struct srp_names *names, uint32_t ms)
{
	struct uri *uri = doctor->parsed;
	const char *pkey = uri_value(uri, "pkey"), *by = option_of_port(uri->host);
	const bool scan = other_partition(pkey);
	const char *const pairs[][2] = {
		{ scan ? "--pkey" : by, scan ? pkey : uri->host },
		{ "--dgid", scan && strcmp(by, "--lid") ? uri->host : NULL },
		{ "--ioc-guid", names->ioc_guid },
		{ "--id-ext", names->id_ext },
		{ "--service-id", uri_value(uri, "service_id") },
		{ "--device", uri_value(uri, "dev") },
		{ "--port", uri_value(uri, "port") },
	};
	const char *args[2 * sizeof(pairs) / sizeof(*pairs) + 2] = { "srp-discover" };
	unsigned n = 1;

	read_srp_path(names, uri->path);
	for (unsigned i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		if (!pairs[i][1] || !pairs[i][1][0])
			continue;
		args[n++] = pairs[i][0];
		args[n++] = pairs[i][1];
	}
	probe_start(probes, probe, ms, args);
}

/* The port has answered. */
static void miss_srp(struct doctor *doctor)
{
	struct uri *uri = doctor->parsed;

	diag_set(&doctor->why, DIAG_NOT_FOUND, ENOENT, "the port offers no such target");
	if (other_partition(uri_value(uri, "pkey")))
		diag_hint(&doctor->why, "list the targets of the fabric: rdmastor srp-discover -u");
	else
		diag_hint(&doctor->why, "list its targets: rdmastor srp-discover -u %s %s",
			option_of_port(uri->host), uri->host);
}

static void found(const char *text, void *arg)
{
	(void)text;
	*(bool *)arg = true;
}

static void report_answer(struct doctor *doctor, const struct probe *probe, uint64_t ms)
{
	const cJSON *size = cJSON_GetObjectItemCaseSensitive(probe->run.result, "size");
	struct finding *finding;
	char human[16];

	if (cJSON_IsNumber(size) && size->valuedouble >= 0) {
		finding = doctor_add(doctor, DOCTOR_TARGET, "answers", DOCTOR_OK,
			doctor->parsed->spelling, "opened: %s",
			out_human((uint64_t)size->valuedouble, human));
		doctor_number(finding, "size", (uint64_t)size->valuedouble);
	} else {
		finding = doctor_add(doctor, DOCTOR_TARGET, "answers", DOCTOR_OK,
			doctor->parsed->spelling, "%s",
			doctor_is(doctor, "srp") ? "its port offers this target" : "answers");
	}
	doctor_text(finding, "protocol", doctor->parsed->scheme);
	doctor_number(finding, "milliseconds", ms);
}

/* Name both possible reasons of a refused connection. */
static const char *advice(const struct doctor *doctor, bool up)
{
	switch ((enum diag_code)doctor->why.code) {
	case DIAG_REFUSED:
		return "start the target, correct the port, or accept it in the firewalls";
	case DIAG_TIMEOUT:
	case DIAG_UNREACHABLE:
		return doctor_is(doctor, "srp")
			       ? "check that the target runs, and its cable; list all targets: "
				 "rdmastor srp-discover -u"
		       : up ? "the host answers at other ports: check that the target runs and "
			      "that no firewall on either host or on the path drops the port"
			    : "check that the host is up and that no firewall on either host or on "
			      "the path drops the port";
	case DIAG_NO_DEVICE:
	case DIAG_NO_MODULE:
		return "fix the problems listed above";
	case DIAG_AUTH:
		return "the target requires a different secret, or does not allow this host: see "
		       "the identity above";
	case DIAG_USAGE:
		return "correct the URI: man rdmastor-uri";
	case DIAG_NOT_FOUND:
		return "correct the host or the path of the URI";
	case DIAG_CLOSED:
	case DIAG_PROTOCOL:
		return "check that this protocol is served at this port";
	default:
		return "see each step with: rdmastor doctor -v";
	}
}

static void report_failure(struct doctor *doctor, bool up)
{
	struct finding *finding =
		doctor_add_diag(doctor, DOCTOR_TARGET, "answers", DOCTOR_FAILURE, &doctor->why);

	snprintf(finding->object, sizeof(finding->object), "%.255s", doctor->parsed->spelling);
	if (!finding->hint[0])
		doctor_hint(finding, "%s", advice(doctor, up));
	doctor_text(finding, "protocol", doctor->parsed->scheme);
}

/* Returns how long it took, in milliseconds. */
static uint64_t probe_target(struct doctor *doctor, struct probe *probe)
{
	const uint32_t ms = doctor_remaining_ms(doctor, 2);
	const uint64_t begun = loop_clock();
	struct probes probes = probes_of(doctor, doctor->verbose);
	struct srp_names names;
	bool any = false;

	if (doctor_is(doctor, "srp"))
		start_srp(doctor, &probes, probe, &names, ms);
	else
		probe_start(&probes, probe, ms,
			(const char *[]){ applet_of(doctor), doctor->uri, NULL });
	probes_wait(&probes);
	doctor->why = probe->run.why;
	/* a disk that was opened, but can't be read */
	if (!doctor->why.err)
		applet_run_error(&probe->run, "content_error", &doctor->why);
	applet_run_texts(&probe->run, "service_id", "", found, &any);
	if (!doctor->why.err && doctor_is(doctor, "srp") && !any)
		miss_srp(doctor);
	uri_hide(doctor->why.object);
	uri_hide(doctor->why.text);
	uri_hide(doctor->why.hint);
	return (loop_clock() - begun) / MSEC;
}

/* ---- Other protocols. */

/* Return the port for another protocol: its default, or the port of the URI if that is not the
 * default of its own protocol. */
static uint16_t port_for(const struct doctor *doctor, const struct service *service)
{
	const struct service *own = service_find(doctor->parsed->scheme);
	const uint16_t given = doctor->parsed->port;

	if (!given || service == own || (own && given == own->port))
		return service->port;
	return given;
}

struct other {
	struct probe probe;
	char uri[URI_MAX];
};

static void report_other_services(struct doctor *doctor, const struct other *other)
{
	for (unsigned i = 0; i < SERVICES; i++, other++) {
		const struct service *service = &services[i];
		struct finding *finding;
		bool started = probe_started(&other->probe),
		     answers = started && service_answers(&other->probe.run.why);

		/* it may answer over TCP alone */
		if (started && !strcmp(service->scheme, "nfs+rdma"))
			applet_run_texts(&other->probe.run, "versions", "", found, &answers);
		if (!answers)
			continue;
		finding = doctor_add(doctor, DOCTOR_TARGET, "other", DOCTOR_WARNING, other->uri,
			"%s answers there", service->name);
		doctor_text(finding, "protocol", service->scheme);
		doctor_hint(finding, "list what it offers: rdmastor %s %s", service->applet,
			other->uri);
	}
}

static void probe_other_services(struct doctor *doctor, struct other *other)
{
	struct probes probes = probes_of(doctor, false);
	const uint32_t ms = doctor_remaining_ms(doctor, 2);

	for (unsigned i = 0; i < SERVICES; i++) {
		const uint16_t port = port_for(doctor, &services[i]);

		if (port == doctor_port(doctor) && doctor_is(doctor, services[i].scheme))
			continue;
		service_uri(&services[i], doctor->parsed->host, port, other[i].uri);
		probe_start(&probes, &other[i].probe, ms,
			(const char *[]){ services[i].applet, other[i].uri, NULL });
	}
	probes_wait(&probes);
}

/* Whether the host answered any probe, also with a refusal. */
static bool host_answers(const struct other *other)
{
	for (unsigned i = 0; i < SERVICES; i++)
		if (probe_started(&other[i].probe) &&
			(service_answers(&other[i].probe.run.why) ||
				other[i].probe.run.why.code == DIAG_REFUSED ||
				other[i].probe.run.why.code == DIAG_CLOSED ||
				other[i].probe.run.why.code == DIAG_PROTOCOL))
			return true;
	return false;
}

/* Whether another protocol may work; not if the failure is due to keys, host or secret. */
static bool may_be_another(const struct diag *why)
{
	switch ((enum diag_code)why->code) {
	case DIAG_REFUSED:
	case DIAG_UNREACHABLE:
	case DIAG_TIMEOUT:
	case DIAG_CLOSED:
	case DIAG_PROTOCOL:
	case DIAG_NO_DEVICE:
	case DIAG_NO_MODULE:
	case DIAG_UNSUPPORTED:
		return true;
	default:
		return false;
	}
}

/* Show the certificates of a server that is not trusted. */
static void probe_untrusted(struct doctor *doctor, struct probe *probe)
{
	struct probes probes = probes_of(doctor, false);
	char uri[URI_MAX];

	if (!doctor_untrusted_uri(doctor, uri))
		return;
	applet_run_free(&probe->run);
	memset(probe, 0, sizeof(*probe));
	probe_start(&probes, probe, doctor_remaining_ms(doctor, 2),
		(const char *[]){ "info", uri, NULL });
	probes_wait(&probes);
	doctor_certificates(doctor, probe->run.result);
}

static void examine(struct doctor *doctor, struct probe *probe, struct other *other)
{
	const uint64_t ms = probe_target(doctor, probe);

	if (!doctor->why.err) {
		report_answer(doctor, probe, ms);
		doctor_uri_paths(doctor, probe->run.result);
		doctor_certificates(doctor, probe->run.result);
		return;
	}
	if (may_be_another(&doctor->why) && doctor->parsed->host[0] && !doctor_is(doctor, "srp"))
		probe_other_services(doctor, other);
	report_failure(doctor, host_answers(other));
	probe_untrusted(doctor, probe);
	report_other_services(doctor, other);
	for (unsigned i = 0; i < SERVICES; i++)
		applet_run_free(&other[i].probe.run);
}

void doctor_target(struct doctor *doctor)
{
	struct probe *probe = NULL;
	struct other *other = NULL;

	if (!doctor->uri)
		return;
	probe = calloc(1, sizeof(*probe));
	other = calloc(SERVICES, sizeof(*other));
	doctor->failed |= !probe || !other;
	if (probe && other) {
		examine(doctor, probe, other);
		applet_run_free(&probe->run);
	}
	free(other);
	free(probe);
}
