/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iSCSI on the kernel command line, in the syntax of dracut (dracut.cmdline(7), its
 * modules.d/74iscsi) and of Debian's initramfs (open-iscsi, scripts/local-top/iscsi).
 * uri_parse() reads dracut's strings. */
#include "iscsi_conf.h"
#include "cmdline.h"
#include "names.h"
#include "uri_read.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_MAX 10000 /* dracut has the same limit */
#define LIST      " \t,"

enum conf_key {
	INITIATOR,
	TARGET_NAME,
	TARGET_IP,
	TARGET_PORT,
	TARGET_GROUP,
	USERNAME,
	PASSWORD,
	IN_USERNAME,
	IN_PASSWORD,
	CONF_KEYS
};

static const struct {
	/* old: dracut's deprecated param, which Debian uses; shell: variable of Debian's
	 * iscsi.initramfs */
	const char *dracut, *old, *shell;
} keys[CONF_KEYS] = {
	[INITIATOR] = { "rd.iscsi.initiator", "iscsi_initiator", "ISCSI_INITIATOR" },
	[TARGET_NAME] = { "rd.iscsi.target.name", "iscsi_target_name", "ISCSI_TARGET_NAME" },
	[TARGET_IP] = { "rd.iscsi.target.ip", "iscsi_target_ip", "ISCSI_TARGET_IP" },
	[TARGET_PORT] = { "rd.iscsi.target.port", "iscsi_target_port", "ISCSI_TARGET_PORT" },
	[TARGET_GROUP] = { "rd.iscsi.target.group", "iscsi_target_group", "ISCSI_TARGET_GROUP" },
	[USERNAME] = { "rd.iscsi.username", "iscsi_username", "ISCSI_USERNAME" },
	[PASSWORD] = { "rd.iscsi.password", "iscsi_password", "ISCSI_PASSWORD" },
	[IN_USERNAME] = { "rd.iscsi.in.username", "iscsi_in_username", "ISCSI_IN_USERNAME" },
	[IN_PASSWORD] = { "rd.iscsi.in.password", "iscsi_in_password", "ISCSI_IN_PASSWORD" },
};

struct reader {
	struct iscsi_boot_config *to;
	char *dracut[CONF_KEYS], *old[CONF_KEYS],
		*shell[CONF_KEYS]; /* values; the last one of each counts */
	bool iser;
	struct diag *diag;
};

void kernel_iscsi_conf_note(struct iscsi_boot_config *w, const char *fmt, ...)
{
	size_t at = strlen(w->notes), room = sizeof(w->notes) - at;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(w->notes + at, room, fmt, args);
	va_end(args);
	if ((size_t)len + 1 < room)
		strcpy(w->notes + at + len, "\n");
	else
		w->notes[at] = 0;
}

void kernel_iscsi_conf_problem(struct iscsi_boot_config *w, const struct diag *why)
{
	kernel_iscsi_conf_note(w, "%s: %.300s", why->object, why->text);
	if (!w->problems++)
		w->why = *why;
}

bool kernel_iscsi_conf_name(char name[ISCSI_NAME_MAX + 1], const char *text)
{
	if (!name_is_plain(text))
		return false;
	strcpy(name, text);
	return true;
}

static const char *value(const struct reader *r, enum conf_key i, const char **param)
{
	*param = r->dracut[i] ? keys[i].dracut : r->old[i] ? keys[i].old : keys[i].shell;
	return r->dracut[i] ? r->dracut[i] : r->old[i] ? r->old[i] : r->shell[i];
}

int kernel_iscsi_conf_add(
	struct iscsi_boot_config *w, const struct iscsi_boot_target *entry, struct diag *diag)
{
	struct iscsi_boot_target *more = calloc(w->count + 1, sizeof(*more));

	if (!more)
		return diag_sys(diag, ENOMEM, "iSCSI configuration");
	if (w->count) {
		memcpy(more, w->entry, w->count * sizeof(*more));
		explicit_bzero(w->entry, w->count * sizeof(*more));
	}
	free(w->entry);
	w->entry = more;
	w->entry[w->count++] = *entry;
	return 0;
}

void kernel_iscsi_conf_wipe(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

static void set_text(char *to, size_t room, const char *text)
{
	snprintf(to, room, "%s", text ? text : "");
}

static int set_from_uri(struct iscsi_boot_target *entry, struct uri *uri, struct diag *diag)
{
	struct uri_iscsi iscsi;
	struct uri_iscsi_identity from = uri_iscsi_identity(uri);
	int err = uri_iscsi_read(&iscsi, uri, URI_KERNEL, diag);

	entry->iser = !strcmp(uri->scheme, "iser");
	entry->port = uri->port;
	entry->lun = iscsi.lun;
	set_text(entry->host, sizeof(entry->host), uri->host);
	uri_name(uri, entry->name, sizeof(entry->name));
	set_text(entry->netdev, sizeof(entry->netdev), uri_value(uri, "iface"));
	for (unsigned i = 0; i < 2; i++) {
		set_text(entry->user[i], ISCSI_BOOT_TEXT, from.user[i]);
		set_text(entry->secret[i], ISCSI_BOOT_TEXT, from.secret[i]);
	}
	return err;
}

int kernel_iscsi_string(const char *text, struct iscsi_boot_target *entry, struct diag *diag)
{
	struct uri uri;
	int err;

	*entry = (struct iscsi_boot_target){
		.tpgt = -1, .lun = SCSI_LUN_ALL, .iser = !strncmp(text, "iser:", 5)
	};
	entry->firmware = uri_is_firmware(text);
	if (entry->firmware)
		return 0;
	err = uri_parse(&uri, text, diag);
	if (!err)
		err = set_from_uri(entry, &uri, diag);
	explicit_bzero(&uri, sizeof(uri));
	return err;
}

static void problem(struct reader *r, const char *param, struct diag *why)
{
	diag_ctx(why, "kernel command line: %s", param);
	kernel_iscsi_conf_problem(r->to, why);
}

/* Parse a string that is the value of root=, netroot= or iscsiroot=. */
static int parse_string(struct reader *r, const char *param, const char *text)
{
	const char *scheme = strncmp(text, "iser:", 5) ? "iscsi:" : "iser:";
	struct iscsi_boot_target entry;
	struct diag why = { 0 }, named = { 0 };
	int err = 0;

	if (!uri_is_iscsi(text)) {
		diag_set(&named, DIAG_USAGE, EINVAL,
			"expected %sHOST:PROTOCOL:PORT:LUN:NAME, not a URI", scheme);
		problem(r, param, &named);
	} else if (kernel_iscsi_string(text, &entry, &why)) {
		diag_set(&named, why.code, why.err, why.object[0] ? "'%s': %s" : "%s%s", why.object,
			why.text);
		diag_hint(&named, "%s", why.hint);
		problem(r, param, &named);
	} else if (entry.firmware) {
		r->to->firmware = true;
	} else {
		snprintf(entry.from, sizeof(entry.from), "kernel command line: %s=%s", param,
			scheme);
		err = kernel_iscsi_conf_add(r->to, &entry, r->diag);
	}
	explicit_bzero(&entry, sizeof(entry));
	return err;
}

static bool is_scheme(const char *text)
{
	return !strncmp(text, "iscsi:", 6) || !strncmp(text, "iser:", 5);
}

static int parse_root(struct reader *r, const char *param, const char *text)
{
	if (!strcmp(text, "iscsi")) {
		r->to->firmware = true;
		return 0;
	}
	return is_scheme(text) ? parse_string(r, param, text) : 0;
}

static int parse_iscsiroot(struct reader *r, const char *text)
{
	char *whole;
	int err;

	if (asprintf(&whole, "iscsi:%s", text) < 0)
		return diag_sys(r->diag, ENOMEM, "kernel command line");
	err = parse_string(r, "iscsiroot", is_scheme(text) ? text : whole);
	kernel_iscsi_conf_wipe(whole);
	return err;
}

/* Parse a flag like dracut's getargbool: the bare parameter means yes. */
static bool parse_bool(const char *param, const char *key, bool *to)
{
	size_t len = strlen(key);
	const char *text = param + len + 1;

	if (strncmp(param, key, len) || (param[len] && param[len] != '='))
		return false;
	*to = !param[len] || (strcmp(text, "0") && strcmp(text, "no") && strcmp(text, "off"));
	return true;
}

static bool parse_key(struct reader *r, char *param)
{
	for (unsigned i = 0; i < CONF_KEYS; i++) {
		char *dracut = kernel_cmdline_value(param, keys[i].dracut),
		     *old = kernel_cmdline_value(param, keys[i].old);

		if (dracut)
			r->dracut[i] = dracut;
		if (old)
			r->old[i] = old;
		if (dracut || old)
			return true;
	}
	return false;
}

static int parse_iscsi_param(struct reader *r, const char *text)
{
	struct iscsi_boot_config *w = r->to;
	const char *equals = strchr(text, '=');

	if (!equals || equals == text || !equals[1] || w->params == ISCSI_BOOT_PARAMS) {
		struct diag why = { 0 };

		diag_set(&why, DIAG_USAGE, EINVAL, "%s",
			w->params == ISCSI_BOOT_PARAMS ? "too many"
						       : "expected rd.iscsi.param=NAME=VALUE");
		problem(r, "rd.iscsi.param", &why);
		return 0;
	}
	if (!strcmp(text, "iface.transport_name=iser")) {
		r->iser = true;
		return 0;
	}
	w->param[w->params] = strdup(text);
	return w->param[w->params++] ? 0 : diag_sys(r->diag, ENOMEM, "kernel command line");
}

static void parse_transport(struct reader *r, const char *text)
{
	if (!strcmp(text, "iser"))
		r->iser = true;
	else if (strcmp(text, "tcp"))
		kernel_iscsi_conf_note(r->to,
			"kernel command line: rd.iscsi.transport=%.40s is ignored: expected iser "
			"or tcp",
			text);
}

static void parse_retries(struct reader *r, const char *text)
{
	struct diag why = { 0 };
	uint64_t number;

	if (parse_u64(text, 0, RETRY_MAX, &number, &why))
		problem(r, "rd.iscsi.login_retry_max", &why);
	else
		r->to->retry_max = (int)number;
}

static int parse_param(struct reader *r, char *param)
{
	static const char *const ignored[] = { "rd.iscsi.mp", "rd.iscsi.waitnet",
		"rd.iscsi.testroute" };
	struct iscsi_boot_config *w = r->to;
	char *text;
	bool unused;

	if ((text = kernel_cmdline_value(param, "root")))
		return parse_root(r, "root", text);
	if ((text = kernel_cmdline_value(param, "netroot")))
		return parse_root(r, "netroot", text);
	if ((text = kernel_cmdline_value(param, "iscsiroot")))
		return parse_iscsiroot(r, text);
	if ((text = kernel_cmdline_value(param, "rd.iscsi.param")) ||
		(text = kernel_cmdline_value(param, "iscsi_param")))
		return parse_iscsi_param(r, text);
	if ((text = kernel_cmdline_value(param, "rd.iscsi.transport")))
		parse_transport(r, text);
	else if ((text = kernel_cmdline_value(param, "rd.iscsi.login_retry_max")))
		parse_retries(r, text);
	else if (!strcmp(param, "ip=ibft"))
		w->network = true;
	else if (!strcmp(param, "iscsi_auto"))
		w->firmware = w->network = true;
	else if (!parse_key(r, param) && !parse_bool(param, "rd.iscsi.firmware", &w->firmware) &&
		 !parse_bool(param, "iscsi_firmware", &w->firmware) &&
		 !parse_bool(param, "rd.iscsi.ibft", &w->network))
		for (unsigned i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
			if (parse_bool(param, ignored[i], &unused))
				kernel_iscsi_conf_note(w,
					"kernel command line: %s is ignored: the network is used "
					"as it is",
					ignored[i]);
	return 0;
}

/* Parse lines "NAME='value'"; anything else that only a shell could evaluate is ignored. */
static void parse_shell(struct reader *r, char *text)
{
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		char *equals = strchr(line, '='), *at, *end;

		line += strspn(line, " \t");
		if (*line == '#' || !equals || equals < line)
			continue;
		*equals = 0;
		at = equals + 1;
		end = *at == '"' || *at == '\'' ? strchr(at + 1, *at) : at + strcspn(at, " \t;#");
		if (!end || (*at != '\'' && memchr(at, '$', (size_t)(end - at))) ||
			memchr(at, '`', (size_t)(end - at))) {
			kernel_iscsi_conf_note(r->to,
				"iscsi.initramfs: the value of %.40s is ignored: it needs a shell",
				line);
			continue;
		}
		*end = 0;
		at += *at == '"' || *at == '\'';
		if (!strcmp(line, "ISCSI_AUTO") && *at)
			r->to->firmware = r->to->network = true;
		for (unsigned i = 0; i < CONF_KEYS; i++)
			if (!strcmp(line, keys[i].shell) && *at)
				r->shell[i] = at;
	}
}

static int copy_text(struct reader *r, enum conf_key i, char *to, size_t room)
{
	const char *param, *text = value(r, i, &param);

	if (!text || *to)
		return 0;
	if (strlen(text) >= room)
		return diag_set(r->diag, DIAG_USAGE, E2BIG,
			"%s= is too long: must be at most %zu bytes", param, room - 1);
	strcpy(to, text);
	return 0;
}

static int copy_number(struct reader *r, enum conf_key i, uint64_t min, uint64_t max, uint64_t *to)
{
	const char *param, *text = value(r, i, &param);
	struct diag why = { 0 };

	if (text && parse_u64(text, min, max, to, &why))
		return diag_set(r->diag, DIAG_USAGE, why.err, "%s=: %s", param, why.text);
	return 0;
}

/* Complete a string with separate parameters. User and secret must both come from the string or
 * both from the parameters. */
static int complete(struct reader *r, struct iscsi_boot_target *entry)
{
	uint64_t port = 0, group = UINT16_MAX + 1;
	int err = copy_number(r, TARGET_PORT, 1, UINT16_MAX, &port);

	if (!err)
		err = copy_number(r, TARGET_GROUP, 0, UINT16_MAX, &group);
	for (unsigned i = 0; i < 2 && !err; i++) {
		bool own = entry->user[i][0] || entry->secret[i][0];

		if (!own)
			err = copy_text(
				r, i ? IN_USERNAME : USERNAME, entry->user[i], ISCSI_BOOT_TEXT);
		if (!err && !own)
			err = copy_text(
				r, i ? IN_PASSWORD : PASSWORD, entry->secret[i], ISCSI_BOOT_TEXT);
	}
	if (err)
		return err;
	if (!entry->port)
		entry->port = (uint16_t)port;
	if (group <= UINT16_MAX)
		entry->tpgt = (int)group;
	entry->iser |= r->iser;
	return 0;
}

/* Add a target for each address in target.ip. */
static int add_target(struct reader *r)
{
	const char *name_param, *ip_param, *name = value(r, TARGET_NAME, &name_param),
					   *ip = value(r, TARGET_IP, &ip_param);
	struct iscsi_boot_target entry = { .tpgt = -1, .lun = SCSI_LUN_ALL };

	if (!name || r->to->count)
		return 0;
	if (!kernel_iscsi_conf_name(entry.name, name))
		return diag_set(r->diag, DIAG_USAGE, EINVAL,
			"%s=: invalid target name: must be at most %d bytes without blanks",
			name_param, ISCSI_NAME_MAX);
	if (!ip) {
		diag_set(r->diag, DIAG_USAGE, EINVAL, "%s= names a target without an address",
			name_param);
		return diag_hint(r->diag, "add rd.iscsi.target.ip=ADDRESS");
	}
	for (ip += strspn(ip, LIST); *ip; ip += strspn(ip, LIST)) {
		size_t len = strcspn(ip, LIST), brackets = *ip == '[' && ip[len - 1] == ']';

		if (len >= sizeof(entry.host))
			return diag_set(r->diag, DIAG_USAGE, E2BIG,
				"%s=: host too long: must be at most %zu bytes", ip_param,
				sizeof(entry.host) - 1);
		snprintf(entry.host, sizeof(entry.host), "%.*s", (int)(len - 2 * brackets),
			ip + brackets);
		snprintf(entry.from, sizeof(entry.from),
			r->shell[TARGET_NAME] == name ? "iscsi.initramfs"
						      : "kernel command line: %s",
			name_param);
		if (kernel_iscsi_conf_add(r->to, &entry, r->diag))
			return -ENOMEM;
		ip += len;
	}
	return 0;
}

static bool same(const struct iscsi_boot_target *a, const struct iscsi_boot_target *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->host, b->host) && a->port == b->port &&
	       a->iser == b->iser && a->lun == b->lun;
}

/* Fill in hosts that strings leave out, and remove duplicates. */
static int complete_entries(struct reader *r)
{
	const char *param, *ip = value(r, TARGET_IP, &param);
	struct iscsi_boot_config *w = r->to;
	unsigned unique = 0;
	int err = 0;

	for (unsigned i = 0; i < w->count && !err; i++) {
		struct iscsi_boot_target *entry = &w->entry[i];
		bool duplicate = false;

		if (!entry->host[0] && ip && !strpbrk(ip, LIST) && strlen(ip) < sizeof(entry->host))
			strcpy(entry->host, ip);
		if (!entry->host[0]) {
			struct diag why = { 0 };

			diag_set(&why, DIAG_USAGE, EINVAL,
				"no host given for %s: rdmastor does not query DHCP", entry->name);
			diag_ctx(&why, "%s", entry->from);
			kernel_iscsi_conf_problem(w, &why);
			continue;
		}
		err = complete(r, entry);
		for (unsigned k = 0; k < unique; k++)
			duplicate |= same(&w->entry[k], entry);
		if (!err && !duplicate && unique++ != i)
			w->entry[unique - 1] = *entry;
	}
	if (!err && w->count) {
		explicit_bzero(w->entry + unique, (w->count - unique) * sizeof(*w->entry));
		w->count = unique;
	}
	return err;
}

static int set_initiator(struct reader *r)
{
	const char *param, *text = value(r, INITIATOR, &param);

	if (!text)
		return 0;
	if (!kernel_iscsi_conf_name(r->to->initiator, text))
		return diag_set(r->diag, DIAG_USAGE, EINVAL,
			"%s=: invalid initiator name: must be at most %d bytes without blanks",
			param, ISCSI_NAME_MAX);
	snprintf(r->to->initiator_from, sizeof(r->to->initiator_from), "%s",
		r->shell[INITIATOR] == text ? "iscsi.initramfs" : "kernel command line");
	return 0;
}

/* The text was cut at blanks and contains many NULs, so use its length. */
static void wipe(char *text, size_t len)
{
	if (text)
		explicit_bzero(text, len);
	free(text);
}

int kernel_iscsi_cmdline(
	struct iscsi_boot_config *w, const char *cmdline, const char *debian, struct diag *diag)
{
	size_t len = strlen(cmdline), shell_len = debian ? strlen(debian) : 0;
	char *text = strdup(cmdline), *shell = debian ? strdup(debian) : NULL, *rest = text, *param;
	struct reader r = { .to = w, .diag = diag };
	int err = text && (shell || !debian) ? 0 : diag_sys(diag, ENOMEM, "kernel command line");

	*w = (struct iscsi_boot_config){ .retry_max = -1 };
	if (!err && shell)
		parse_shell(&r, shell);
	while (!err && (param = kernel_cmdline_param(&rest)))
		err = parse_param(&r, param);
	if (!err)
		err = set_initiator(&r);
	if (!err)
		err = add_target(&r);
	if (!err)
		err = complete_entries(&r);
	wipe(text, len);
	wipe(shell, shell_len);
	return err;
}
