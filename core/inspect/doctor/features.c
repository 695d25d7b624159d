/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Features of kernel modules that are a choice of the kernel's configuration. If that is unknown,
 * the release says which are missing. */
#include "find.h"
#include "kernel_facts.h"
#include <stdio.h>
#include <stdlib.h>

static const struct feature {
	const char *name, *config, *use;
	unsigned major, minor;  /* first release of Linux that has it */
	const char *before_6_7; /* its name in the configuration until then; NULL: the same */
	bool tls;               /* what a URI with TLS needs */
} features[] = {
	{ "NVMe authentication", "NVME_HOST_AUTH", "nvmf-connect --dhchap-secret-file", 6, 0,
		"NVME_AUTH" },
	{ "NVMe/TCP with TLS", "NVME_TCP_TLS", "nvmf-connect --tls", 6, 7, .tls = true },
};

bool doctor_older(const struct doctor *doctor, unsigned major, unsigned minor)
{
	unsigned is[2];

	return sscanf(doctor->release, "%u.%u", &is[0], &is[1]) == 2 &&
	       (is[0] < major || (is[0] == major && is[1] < minor));
}

static void check(struct doctor *doctor, const struct feature *feature, const char *config)
{
	const bool former = feature->before_6_7 && doctor_older(doctor, 6, 7);
	const char *const option = former ? feature->before_6_7 : feature->config;
	const char value = config ? kernel_config_value(config, option) : '?';
	const bool old = doctor_older(doctor, feature->major, feature->minor),
		   missing = value == 'n' || (value == '?' && old);
	struct finding *finding;

	if (value == '?' && !old)
		return;
	finding = doctor_add(doctor, DOCTOR_KERNEL, "feature",
		!missing      ? DOCTOR_OK
		: doctor->uri ? DOCTOR_WARNING
			      : DOCTOR_INFO,
		feature->name, missing ? "not part of this kernel: no %s" : "%s", feature->use);
	finding->detail = !missing;
	finding->missing = feature->name;
	if (value != '?')
		doctor_text(finding, "config", value == 'n' ? "n" : value == 'm' ? "m" : "y");
	doctor_hint(finding, "use Linux %u.%u or later with CONFIG_%s", feature->major,
		feature->minor, option);
}

void doctor_features(struct doctor *doctor)
{
	char from[128], *config;

	if (doctor->uri && !doctor_uses_tls(doctor))
		return;
	config = kernel_config(doctor->root, doctor->release, from, sizeof(from));
	for (unsigned i = 0; i < sizeof(features) / sizeof(*features); i++)
		if (!doctor->uri || features[i].tls)
			check(doctor, &features[i], config);
	free(config);
}
