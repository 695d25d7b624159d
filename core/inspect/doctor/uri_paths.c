/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The paths of the URI, as `info` has opened them: path= keys, and what paths=auto has found. */
#include "find.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

	return text ? text : "";
}

static bool serves(const cJSON *path)
{
	const char *access = text_of(path, "access");

	return !strcmp(text_of(path, "state"), "up") &&
	       (!*access || strstr(access, "optimized") || !strcmp(access, "lba-dependent"));
}

/* Report a path that can't be used while another one can. */
static void report_path(struct doctor *doctor, const cJSON *path)
{
	const cJSON *error = cJSON_GetObjectItemCaseSensitive(path, "error");
	const char *code = text_of(error, "code"), *access = text_of(path, "access"),
		   *hint = text_of(error, "hint");
	const bool mismatch = !strcmp(code, diag_code_word(DIAG_MISMATCH));
	struct finding *finding =
		doctor_add(doctor, DOCTOR_PATHS, mismatch ? "path-identity" : "path-state",
			mismatch ? DOCTOR_FAILURE : DOCTOR_WARNING, text_of(path, "uri"), "%s%s",
			mismatch  ? "not the same disk, and never used with it: "
			: *access ? "not usable now: the target reports access state "
				  : "not connected: ",
			!mismatch && *access      ? access
			: *text_of(error, "text") ? text_of(error, "text")
						  : text_of(path, "state"));

	doctor_text(finding, "code", code);
	doctor_text(finding, "errno", text_of(error, "errno"));
	if (*hint && !mismatch)
		doctor_hint(finding, "%s", hint);
	else if (mismatch)
		doctor_hint(finding, "correct this path: it must lead to the disk of the others");
	else
		doctor_hint(
			finding, "examine it alone: rdmastor doctor '%s'", text_of(path, "uri"));
}

/* policy= that uses all paths needs several with the best access. */
static void check_policy(struct doctor *doctor, const cJSON *paths)
{
	const char *policy = uri_value(doctor->parsed, "policy");
	const cJSON *path;
	unsigned best = 0, others = 0;
	struct finding *finding;

	if (!policy || !strcmp(policy, "failover"))
		return;
	cJSON_ArrayForEach(path, paths)
	{
		const char *access = text_of(path, "access");

		if (serves(path) && (!*access || !strcmp(access, "optimized")))
			best++;
		else if (serves(path))
			others++;
	}
	if (best != 1 || !others)
		return;
	finding = doctor_add(doctor, DOCTOR_PATHS, "path-policy", DOCTOR_WARNING,
		doctor->parsed->spelling,
		"policy %s: only one path is optimized, so that carries all I/O", policy);
	doctor_text(finding, "policy", policy);
	doctor_hint(finding, "on the target, make the group of another path optimized, too");
}

static void find_route(struct doctor *doctor, struct doctor_path *path, const char *text)
{
	struct uri *uri = calloc(1, sizeof(*uri));
	struct addr addr;

	doctor->failed |= !uri;
	if (uri && !uri_parse(uri, text, NULL) && uri->host[0]) {
		snprintf(path->name, sizeof(path->name), "%.159s", uri->host);
		if (!addr_resolve(&addr, uri->host, 1, doctor_remaining_ms(doctor, 2), NULL)) {
			addr_host(&addr, path->address);
			doctor_path_route(doctor, path, &addr);
		}
	}
	free(uri);
}

void doctor_uri_paths(struct doctor *doctor, const cJSON *info)
{
	const cJSON *paths = cJSON_GetObjectItemCaseSensitive(info, "paths"), *path;
	struct doctor_path list[URI_PATHS + 1] = { 0 };
	unsigned count = 0, usable = 0;
	struct finding *finding;

	if (cJSON_GetArraySize(paths) < 2)
		return;
	cJSON_ArrayForEach(path, paths)
	{
		usable += serves(path);
		if (!serves(path))
			report_path(doctor, path);
		if (count <= URI_PATHS && !doctor_is(doctor, "srp"))
			find_route(doctor, &list[count++], text_of(path, "uri"));
	}
	if (usable > 1) {
		finding = doctor_add(doctor, DOCTOR_PATHS, "path-state", DOCTOR_OK,
			doctor->parsed->spelling, "%u of %d paths work", usable,
			cJSON_GetArraySize(paths));
		doctor_number(finding, "path_count", (uint64_t)cJSON_GetArraySize(paths));
		doctor_number(finding, "paths_up", usable);
	}
	check_policy(doctor, paths);
	doctor_independence(doctor, doctor->parsed->spelling, list, count);
}
