/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/srpd core/mad */
/* Rules files of SRP, any bytes: refused with file and line, or rules whose lines for add_target
 * the kernel would parse as they are meant, for a target that says of itself what the input says.
 */
#include "../../core/srpd/srp_rules.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const known[] = {
	"id_ext",
	"ioc_guid",
	"dgid",
	"pkey",
	"service_id",
	"io_class",
	"initiator_ext",
	"tl_retry_count",
	"allow_ext_sg",
	"ch_count",
	"cmd_sg_entries",
	"comp_vector",
	"max_cmd_per_lun",
	"max_sect",
	"queue_size",
	"sg_tablesize",
	"max_it_iu_size",
};

/* As ib_srp takes it apart: name=value between commas, each value a number. */
static void check_line(char *line)
{
	unsigned words = 0;
	char *word;

	if (strlen(line) >= MAD_SRP_LINE - 1 || strpbrk(line, " \t\r\n") || strstr(line, ",,"))
		abort();
	while ((word = strsep(&line, ","))) {
		char *value = strchr(word, '=');
		unsigned i = 0;

		if (!value || !value[1] ||
			strspn(value + 1, "0123456789abcdefABCDEF") != strlen(value + 1))
			abort();
		*value = 0;
		while (i < sizeof(known) / sizeof(known[0]) && strcmp(known[i], word))
			i++;
		if (i == sizeof(known) / sizeof(known[0]))
			abort();
		words++;
	}
	if (words < 5)
		abort();
}

static void decide(const struct srp_rules *rules, const struct mad_srp *srp)
{
	const struct srp_policy policy = { .rules = rules,
		.more = { .initiator_ext = true, .tl_retry_count = 7, .imm_data = UINT32_MAX } };
	struct srp_verdict verdict;
	char text[300];

	srp_decide(&policy, srp, &verdict);
	if (verdict.rule ? verdict.allow != verdict.rule->allow : !verdict.allow)
		abort();
	if (verdict.rule && !verdict.rule->allow && verdict.rule->options[0])
		abort();
	for (unsigned i = 0; verdict.rule && &rules->rule[i] < verdict.rule; i++)
		if (!rules->rule[i].has)
			abort(); /* it fits everything, and comes first */
	srp_verdict_rule(&policy, &verdict, text);
	check_line(verdict.line);
}

/* A service of the target is named by the first bytes, the rules are the rest. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mad_target target = { .prefix = 0xfe80000000000000, .guid = 7 };
	struct mad_unit unit = { .pkey = 0xffff };
	struct mad_ioc ioc = {
		.guid = UINT64_MAX, .io_class = 0xff00, .send_size = UINT32_MAX - 1
	};
	struct mad_service service = { .id = 3 };
	struct diag diag = { 0 };
	struct srp_rules rules;
	struct mad_srp srp;
	size_t name = size < 20 ? size : 20;

	snprintf(service.name, sizeof(service.name), "SRP.T10:%.*s", (int)name, (const char *)data);
	if (!mad_srp_get(&srp, &target, &unit, &ioc, &service))
		snprintf(srp.id_ext, sizeof(srp.id_ext), "%016llX",
			(unsigned long long)(srp.id = 1));
	if (!srp_rules_parse(&rules, "rules", (const char *)data + name, size - name, &diag)) {
		decide(&rules, &srp);
		srp_rules_free(&rules);
	} else if (diag.code != DIAG_USAGE || strncmp(diag.object, "rules:", 6) || !diag.text[0] ||
		   rules.rule) {
		abort();
	}
	return 0;
}
