/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse the rules of SRP and match targets. The grammar is that of srp_daemon (rdma-core), but
 * input that it accepts and ignores, such as half a GID, is an error. */
#include "srp_rules.h"
#include "grow.h"
#include "kernel_srp.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEX     "0123456789abcdefABCDEF"
#define DECIMAL "0123456789"
#define BLANKS  " \t"

struct key {
	const char *name;
	uint8_t has;    /* 0: an option of add_target */
	uint8_t digits; /* at most */
};

static const struct key keys[] = {
	{ "id_ext", SRP_HAS_ID_EXT, 16 },
	{ "ioc_guid", SRP_HAS_IOC_GUID, 16 },
	{ "dgid", SRP_HAS_DGID, 32 },
	{ "service_id", SRP_HAS_SERVICE_ID, 16 },
	{ "pkey", SRP_HAS_PKEY, 9 },
	{ "allow_ext_sg", 0, 16 },
	{ "ch_count", 0, 16 },
	{ "cmd_sg_entries", 0, 16 },
	{ "comp_vector", 0, 16 },
	{ "max_cmd_per_lun", 0, 16 },
	{ "max_sect", 0, 16 },
	{ "queue_size", 0, 16 },
	{ "sg_tablesize", 0, 16 },
	{ "tl_retry_count", 0, 16 },
};
#define KEYS    (sizeof(keys) / sizeof(keys[0]))
#define MATCHES 5

static int unknown(const char *word, size_t len, struct diag *diag)
{
	char known[200] = "";

	for (unsigned i = 0; i < KEYS; i++) {
		size_t at = strlen(known);

		snprintf(known + at, sizeof(known) - at, "%s%s",
			i == 0         ? ""
			: i == MATCHES ? "; with 'a' also "
				       : " ",
			keys[i].name);
	}
	diag_set(diag, DIAG_USAGE, EINVAL, "unknown key '%.*s' in a rule",
		(int)(len < 40 ? len : 40), word);
	return diag_hint(diag, "expected one of %s", known);
}

static int wrong_value(const struct key *key, const char *value, size_t len, struct diag *diag)
{
	const char *kind = key->has ? "hexadecimal" : "decimal";

	diag_set(diag, DIAG_USAGE, EINVAL, "%s=%.*s: expected 1 to %u %s digits", key->name,
		(int)(len < 40 ? len : 40), value, key->digits, kind);
	return key->has && value[0] == '0' && (value[1] | 0x20) == 'x'
		       ? diag_hint(diag, "remove 0x")
		       : -EINVAL;
}

static uint64_t hex(const char *text, size_t len)
{
	char copy[17];

	snprintf(copy, sizeof(copy), "%.*s", (int)len, text);
	return strtoull(copy, NULL, 16);
}

static int set_pkey(struct srp_rule *rule, const char *value, size_t len, struct diag *diag)
{
	uint64_t pkey = hex(value, len);

	if (pkey > UINT16_MAX)
		return diag_set(diag, DIAG_USAGE, ERANGE, "pkey=%.*s: a P_Key must be at most ffff",
			(int)len, value);
	rule->pkey = (uint16_t)pkey;
	return 0;
}

static int set_dgid(struct srp_rule *rule, const char *value, size_t len, struct diag *diag)
{
	if (len != 32) {
		diag_set(diag, DIAG_USAGE, EINVAL,
			"dgid=%.*s: expected 32 hexadecimal digits, not %zu", (int)len, value, len);
		return diag_hint(diag, "a shorter GID never matches a port");
	}
	rule->prefix = hex(value, 16);
	rule->guid = hex(value + 16, 16);
	return 0;
}

static int set_match(struct srp_rule *rule, const struct key *key, const char *value, size_t len,
	struct diag *diag)
{
	if (rule->has & key->has)
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s is set twice", key->name);
	rule->has |= key->has;
	switch (key->has) {
	case SRP_HAS_ID_EXT:
		rule->id_ext = hex(value, len);
		return 0;
	case SRP_HAS_IOC_GUID:
		rule->ioc_guid = hex(value, len);
		return 0;
	case SRP_HAS_SERVICE_ID:
		rule->service_id = hex(value, len);
		return 0;
	case SRP_HAS_PKEY:
		return set_pkey(rule, value, len, diag);
	default:
		return set_dgid(rule, value, len, diag);
	}
}

static int add_option(struct srp_rule *rule, const struct key *key, const char *value, size_t len,
	struct diag *diag)
{
	size_t at = strlen(rule->options);
	char prefix[32];

	if (!rule->allow)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"%s is a connection option: not allowed in a 'd' rule", key->name);
	snprintf(prefix, sizeof(prefix), ",%s=", key->name);
	if (strstr(rule->options, prefix))
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s is set twice", key->name);
	if (at + strlen(prefix) + len >= sizeof(rule->options))
		return diag_set(diag, DIAG_USAGE, E2BIG,
			"options of this rule: must be at most %zu bytes",
			sizeof(rule->options) - 1);
	snprintf(rule->options + at, sizeof(rule->options) - at, "%s%.*s", prefix, (int)len, value);
	return 0;
}

/* Parse name=value of `len` bytes. */
static int parse_item(struct srp_rule *rule, const char *word, size_t len, struct diag *diag)
{
	const char *equals = memchr(word, '=', len), *value;
	size_t name_len = equals ? (size_t)(equals - word) : len;
	const struct key *key = NULL;

	for (unsigned i = 0; i < KEYS && !key; i++)
		if (strlen(keys[i].name) == name_len && !memcmp(word, keys[i].name, name_len))
			key = &keys[i];
	if (!key)
		return unknown(word, name_len, diag);
	value = equals ? equals + 1 : word + len;
	len = (size_t)(word + len - value);
	if (!len || len > key->digits || strspn(value, key->has ? HEX : DECIMAL) < len)
		return wrong_value(key, value, len, diag);
	return key->has ? set_match(rule, key, value, len, diag)
			: add_option(rule, key, value, len, diag);
}

/* Parse a line without its terminator. */
static int parse_rule(struct srp_rule *rule, const char *line, struct diag *diag)
{
	const char *p = line + 1 + strspn(line + 1, BLANKS);
	int err = 0;

	rule->allow = (line[0] | 0x20) == 'a';
	if (!rule->allow && (line[0] | 0x20) != 'd') {
		diag_set(diag, DIAG_USAGE, EINVAL,
			"expected 'a' (allow) or 'd' (disallow), not '%.1s'", line);
		return diag_hint(diag,
			"'a' alone allows all targets, 'd' alone denies all; '#' starts a comment");
	}
	while (*p && !err) {
		size_t len = strcspn(p, BLANKS ",");

		if (!len)
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"empty word between two separators or before the first");
		err = parse_item(rule, p, len, diag);
		p += len;
		p += *p != 0;
		p += strspn(p, BLANKS);
	}
	return err;
}

static void chop(char *line)
{
	size_t len = strlen(line);

	while (len && strchr(" \t\r", line[len - 1]))
		len--;
	line[len] = 0;
}

static int add_line(struct srp_rules *rules, char *line, unsigned number, struct diag *diag)
{
	struct srp_rule *rule;

	chop(line);
	line += strspn(line, BLANKS);
	if (!*line || *line == '#')
		return 0;
	rule = grow(rules->rule, rules->count);
	if (!rule)
		return diag_sys(diag, ENOMEM, "rules");
	rule->line = number;
	return parse_rule(rule, line, diag);
}

int srp_rules_parse(
	struct srp_rules *rules, const char *file, const char *text, size_t len, struct diag *diag)
{
	char *copy = malloc(len + 1), *rest = copy, *line;
	unsigned number = 0;
	int err = 0;

	*rules = (struct srp_rules){ 0 };
	snprintf(rules->file, sizeof(rules->file), "%s", file);
	if (!copy)
		return diag_sys(diag, ENOMEM, "rules");
	memcpy(copy, text, len);
	copy[len] = 0;
	while (!err && (line = strsep(&rest, "\n"))) {
		number++;
		/* strsep() ended the line with a zero: another one in it came from the file */
		if (line + strlen(line) != (rest ? rest - 1 : copy + len))
			err = diag_set(diag, DIAG_USAGE, EINVAL, "not a text file: zero byte");
		else
			err = add_line(rules, line, number, diag);
	}
	free(copy);
	if (!err)
		return 0;
	srp_rules_free(rules);
	diag_ctx(diag, "%s:%u", file, number);
	return err;
}

int srp_rules_read(
	struct srp_rules *rules, int root, const char *file, bool reread, struct diag *diag)
{
	char name[256], *text;
	size_t len;
	int err = kernel_srp_rules(root, file, reread, name, sizeof(name), &text, &len, diag);

	*rules = (struct srp_rules){ 0 };
	if (err || !text)
		return err;
	err = srp_rules_parse(rules, name, text, len, diag);
	free(text);
	return err;
}

void srp_rules_free(struct srp_rules *rules)
{
	free(rules->rule);
	*rules = (struct srp_rules){ 0 };
}

static bool matches(const struct srp_rule *rule, const struct mad_srp *srp)
{
	return !((rule->has & SRP_HAS_ID_EXT && rule->id_ext != srp->id) ||
		 (rule->has & SRP_HAS_IOC_GUID && rule->ioc_guid != srp->ioc_guid) ||
		 (rule->has & SRP_HAS_DGID &&
			 (rule->prefix != srp->prefix || rule->guid != srp->guid)) ||
		 (rule->has & SRP_HAS_SERVICE_ID && rule->service_id != srp->service_id) ||
		 (rule->has & SRP_HAS_PKEY && rule->pkey != srp->pkey));
}

static const struct srp_rule *match_rules(const struct srp_rules *rules, const struct mad_srp *srp)
{
	for (unsigned i = 0; rules && i < rules->count; i++)
		if (matches(&rules->rule[i], srp))
			return &rules->rule[i];
	return NULL;
}

void srp_decide(
	const struct srp_policy *policy, const struct mad_srp *srp, struct srp_verdict *verdict)
{
	struct mad_srp_options more = policy->more;

	verdict->rule = match_rules(policy->rules, srp);
	verdict->allow = !verdict->rule || verdict->rule->allow;
	if (verdict->rule)
		more.options = verdict->rule->options;
	mad_srp_command(srp, &more, verdict->line);
}

const char *srp_verdict_rule(
	const struct srp_policy *policy, const struct srp_verdict *verdict, char text[300])
{
	if (verdict->rule)
		snprintf(text, 300, "%s:%u", policy->rules->file, verdict->rule->line);
	else
		snprintf(text, 300, "no rule");
	return text;
}
