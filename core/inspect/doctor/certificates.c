/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The certificates of a server with TLS, as `info` has seen them. */
#include "find.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SOON (30 * 86400) /* a certificate that expires within this time */

static const char *text_of(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

	return text ? text : "";
}

static void date_after(char text[12], time_t seconds)
{
	time_t at = time(NULL) + seconds;
	struct tm tm;

	strftime(text, 12, "%Y-%m-%d", gmtime_r(&at, &tm));
}

static void report(struct doctor *doctor, const cJSON *cert)
{
	const char *names = text_of(cert, "names"), *from = text_of(cert, "valid_from"),
		   *until = text_of(cert, "valid_until"), *issuer = text_of(cert, "issuer");
	char today[12], soon[12];
	struct finding *finding;
	bool invalid;

	date_after(today, 0);
	date_after(soon, SOON);
	invalid = strcmp(from, today) > 0 || strcmp(until, today) < 0;
	finding = doctor_add(doctor, DOCTOR_TARGET, "certificate",
		invalid                   ? DOCTOR_FAILURE
		: strcmp(until, soon) < 0 ? DOCTOR_WARNING
					  : DOCTOR_OK,
		text_of(cert, "subject"), "certificate%s%s, issued by %s, valid from %s until %s",
		names[0] ? " for " : "", names, issuer, from, until);
	doctor_hint(finding, invalid ? "replace the certificate, or correct the clock"
				     : "renew the certificate: it expires soon");
	doctor_text(finding, "issuer", issuer);
	doctor_text(finding, "names", names);
	doctor_text(finding, "valid_from", from);
	doctor_text(finding, "valid_until", until);
}

void doctor_certificates(struct doctor *doctor, const cJSON *info)
{
	const cJSON *cert;

	cJSON_ArrayForEach(cert, cJSON_GetObjectItemCaseSensitive(info, "certificates"))
		report(doctor, cert);
}

bool doctor_untrusted_uri(const struct doctor *doctor, char uri[URI_MAX])
{
	const struct uri *parsed = doctor->parsed;
	int len;

	if (doctor->why.code != DIAG_AUTH || !doctor_is(doctor, "nbds nbds+unix") ||
		uri_has(parsed, "tls-psk-file") || uri_has(parsed, "tls-verify-peer"))
		return false;
	len = snprintf(uri, URI_MAX, "%s%ctls-verify-peer=no", doctor->uri,
		strchr(doctor->uri, '?') ? '&' : '?');
	return len < URI_MAX;
}
