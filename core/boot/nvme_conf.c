/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find and read the configuration of NVMe-oF connections: lines of options (nvme-cli 2) and the
 * kernel command line (dracut). */
#include "nvme_conf.h"
#include "grow.h"
#include "kernel_sys.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES 256
struct nvmf_entry *kernel_conf_add(
	struct nvmf_entries *all, const char *from, unsigned line, struct diag *diag)
{
	struct nvmf_entry *more;

	if (all->count == ENTRIES) {
		diag_set(diag, DIAG_USAGE, E2BIG, "more than %d connections", ENTRIES);
		return NULL;
	}
	more = grow(all->entry, all->count);
	if (!more) {
		diag_sys(diag, ENOMEM, "configuration");
		return NULL;
	}
	if (line)
		snprintf(more->from, sizeof(more->from), "%.70s line %u", from, line);
	else
		snprintf(more->from, sizeof(more->from), "%.90s", from);
	return more;
}

static void drop(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

int kernel_conf_set(struct nvmf_entry *entry, int key, const char *value, struct diag *diag)
{
	drop(&entry->value[key]);
	if (!value)
		return 0;
	entry->value[key] = strdup(value);
	return entry->value[key] ? 0 : diag_sys(diag, ENOMEM, "configuration");
}

int kernel_conf_inherit(struct nvmf_entry *entry, const struct nvmf_entry *from, struct diag *diag)
{
	int err = 0;

	for (int key = 0; key < NVMF_KEYS && !err; key++)
		if (!entry->value[key] && from->value[key])
			err = kernel_conf_set(entry, key, from->value[key], diag);
	return err;
}

void kernel_conf_clear(struct nvmf_entry *entry)
{
	for (int key = 0; key < NVMF_KEYS; key++)
		drop(&entry->value[key]);
	drop(&entry->uri);
	free(entry->damage);
	entry->damage = NULL;
}

void kernel_nvmf_conf_free(struct nvmf_entries *all)
{
	for (unsigned i = 0; i < all->count; i++)
		kernel_conf_clear(&all->entry[i]);
	free(all->entry);
	*all = (struct nvmf_entries){ 0 };
}

/* A line that does not fit is left out. */
static void add_line(char *text, size_t size, const char *fmt, va_list args)
{
	size_t at = strlen(text), room = size - at;
	int len = vsnprintf(text + at, room, fmt, args);

	if (len < 0 || (size_t)len + 2 > room)
		text[at] = 0;
	else
		memcpy(text + at + len, "\n", 2);
}

void kernel_conf_note(struct nvmf_entries *all, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add_line(all->notes, sizeof(all->notes), fmt, args);
	va_end(args);
}

void kernel_conf_warn(struct nvmf_entries *all, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add_line(all->skipped, sizeof(all->skipped), fmt, args);
	va_end(args);
}

int kernel_conf_damage(struct nvmf_entry *entry, const struct diag *why, struct diag *diag)
{
	entry->damage = malloc(sizeof(*entry->damage));
	if (!entry->damage)
		return diag_sys(diag, ENOMEM, "%s", entry->from);
	*entry->damage = *why;
	return 0;
}

int kernel_conf_tid(
	struct nvmf_entries *all, struct nvmf_entry *entry, char *text, struct diag *diag)
{
	char *rest = text, *word;
	int err = 0;

	while (!err && (word = strsep(&rest, ";, \t"))) {
		char *value = strchr(word, '=');
		int key;

		if (!*word)
			continue;
		if (value)
			*value++ = 0;
		key = !strcmp(word, "subsysnqn") || !strcmp(word, "subnqn")
			      ? NVMF_NQN
			      : kernel_nvmf_key_find(word);
		if (key < 0)
			kernel_conf_note(all, "%s: ignored: unknown key '%s'", entry->from, word);
		else
			err = kernel_conf_set(entry, key, value ? value : "", diag);
	}
	return err;
}

/* The short options of nvme-cli 2.16. */
static int key_of_letter(char letter)
{
	static const struct {
		char letter;
		uint8_t key;
	} letters[] = {
		{ 't', NVMF_TRANSPORT },
		{ 'a', NVMF_TRADDR },
		{ 's', NVMF_TRSVCID },
		{ 'n', NVMF_NQN },
		{ 'w', NVMF_HOST_TRADDR },
		{ 'f', NVMF_HOST_IFACE },
		{ 'q', NVMF_HOSTNQN },
		{ 'I', NVMF_HOSTID },
		{ 'i', NVMF_NR_IO_QUEUES },
		{ 'W', NVMF_NR_WRITE_QUEUES },
		{ 'P', NVMF_NR_POLL_QUEUES },
		{ 'Q', NVMF_QUEUE_SIZE },
		{ 'k', NVMF_KEEP_ALIVE_TMO },
		{ 'c', NVMF_RECONNECT_DELAY },
		{ 'l', NVMF_CTRL_LOSS_TMO },
		{ 'F', NVMF_FAST_IO_FAIL_TMO },
		{ 'T', NVMF_TOS },
		{ 'D', NVMF_DUPLICATE_CONNECT },
		{ 'g', NVMF_HDR_DIGEST },
		{ 'G', NVMF_DATA_DIGEST },
		{ 'S', NVMF_DHCHAP_SECRET },
		{ 'C', NVMF_DHCHAP_CTRL_SECRET },
	};

	for (unsigned i = 0; i < sizeof(letters) / sizeof(*letters); i++)
		if (letters[i].letter == letter)
			return letters[i].key;
	return -1;
}

static int key_of_name(const char *name)
{
	if (!strncmp(name, "kxchap", 6)) {
		char other[64];

		snprintf(other, sizeof(other), "dhchap%s", name + 6);
		return kernel_nvmf_key_find(other);
	}
	return kernel_nvmf_key_find(name);
}

/* Parse one option of a line: "-tVALUE", "-t VALUE", "--transport=VALUE", "--transport VALUE",
 * "-g". */
static int line_option(struct nvmf_entries *all, struct nvmf_entry *entry, char *word, char **rest,
	struct diag *diag)
{
	char *value = word[1] == '-' ? strchr(word, '=') : word[2] ? word + 2 : NULL;
	int key;

	if (word[1] == '-' && value)
		*value++ = 0;
	key = word[1] == '-' ? key_of_name(word + 2) : key_of_letter(word[1]);
	if (key < 0) {
		kernel_conf_note(all, "%s: ignored: unknown option %.*s", entry->from,
			word[1] == '-' ? 40 : 2, word);
		return 0;
	}
	if (kernel_nvmf_key_flag(key))
		return kernel_conf_set(entry, key, "", diag);
	while (!value && *rest) {
		value = strsep(rest, " \t");
		value = *value ? value : NULL;
	}
	if (!value)
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s requires an argument",
			kernel_nvmf_key_name(key));
	return kernel_conf_set(entry, key, value + (word[1] != '-' && *value == '='), diag);
}

static int one_line(
	struct nvmf_entries *all, char *line, const char *from, unsigned number, struct diag *diag)
{
	struct nvmf_entry *entry = kernel_conf_add(all, from, number, diag);
	char *rest = line, *word;
	struct diag why = { 0 };
	int err = 0;

	if (!entry)
		return -diag->err;
	entry->discover = true;
	while (!err && (word = strsep(&rest, " \t"))) {
		if (word[0] == '-' && word[1])
			err = line_option(all, entry, word, &rest, &why);
		else if (strstr(word, "://") && !entry->uri)
			err = (entry->uri = strdup(word)) ? 0
							  : diag_sys(&why, ENOMEM, "configuration");
		else if (*word)
			kernel_conf_note(all, "%s: ignored: '%.40s'", entry->from, word);
	}
	return err ? kernel_conf_damage(entry, &why, diag) : 0;
}

int kernel_nvmf_conf_lines(
	struct nvmf_entries *all, char *text, const char *from, struct diag *diag)
{
	char *rest = text, *line;
	unsigned number = 0;
	int err = 0;

	while (!err && (line = strsep(&rest, "\n"))) {
		number++;
		line[strcspn(line, "#\r")] = 0;
		line += strspn(line, " \t");
		if (*line)
			err = one_line(all, line, from, number, diag);
	}
	return err;
}

/* "tcp,192.0.2.1,[fd00::1],4420": transport, address, own address, port; the last two are
 * optional. */
static int cmdline_discover(struct nvmf_entries *all, char *value, struct diag *diag)
{
	static const enum nvmf_key order[] = { NVMF_TRANSPORT, NVMF_TRADDR, NVMF_HOST_TRADDR,
		NVMF_TRSVCID };
	struct nvmf_entry *entry;
	char *rest = value, *word;
	int err = 0;

	if (!strncmp(value, "fc,", 3)) {
		kernel_conf_note(all,
			"kernel command line: ignored: rd.nvmf.discover=%.60s: expected rdma or "
			"tcp",
			value);
		return 0;
	}
	entry = kernel_conf_add(all, "kernel command line", 0, diag);
	if (!entry)
		return -diag->err;
	entry->discover = true;
	if (strncmp(value, "rdma,", 5) && strncmp(value, "tcp,", 4)) {
		struct diag why = { 0 };

		diag_set(&why, DIAG_USAGE, EINVAL,
			"invalid rd.nvmf.discover=%.60s: expected rdma,ADDRESS or tcp,ADDRESS",
			value);
		return kernel_conf_damage(entry, &why, diag);
	}
	for (unsigned i = 0; i < 4 && !err && (word = strsep(&rest, ",")); i++) {
		size_t len = strlen(word);

		if (len > 1 && word[0] == '[' && word[len - 1] == ']') {
			word[len - 1] = 0;
			word++;
		}
		if (*word && strcmp(word, "none"))
			err = kernel_conf_set(entry, order[i], word, diag);
	}
	return err;
}

static char *unquote(char *value)
{
	size_t len = strlen(value);

	if (len > 1 && value[0] == '"' && value[len - 1] == '"') {
		value[len - 1] = 0;
		value++;
	}
	return value;
}

/* Parse a flag like dracut's getargbool: the bare parameter means yes. */
static bool is_on(const char *value)
{
	return strcmp(value, "0") && strcmp(value, "no") && strcmp(value, "off");
}

int kernel_nvmf_conf_cmdline(struct nvmf_entries *all, char *text, struct diag *diag)
{
	char *rest = text, *word, *nqn = NULL, *id = NULL;
	unsigned first = all->count;
	int err = 0;

	while (!err && (word = strsep(&rest, " \t\n"))) {
		char *value = strchr(word, '=');

		if (value)
			*value++ = 0;
		value = unquote(value ? value : "");
		if (!strcmp(word, "rd.nonvmf"))
			all->off = is_on(value);
		else if (!strcmp(word, "rd.nvmf.nonbft"))
			all->no_nbft = is_on(value);
		else if (!strcmp(word, "rd.nvmf.discover") && *value)
			err = cmdline_discover(all, value, diag);
		else if (!strcmp(word, "rd.nvmf.hostnqn") || !strcmp(word, "nvmf.hostnqn"))
			nqn = value;
		else if (!strcmp(word, "rd.nvmf.hostid") || !strcmp(word, "nvmf.hostid"))
			id = value;
	}
	for (unsigned i = first; i < all->count && !err; i++) {
		if (nqn && *nqn)
			err = kernel_conf_set(&all->entry[i], NVMF_HOSTNQN, nqn, diag);
		if (!err && id && *id)
			err = kernel_conf_set(&all->entry[i], NVMF_HOSTID, id, diag);
	}
	return err;
}

int kernel_nvmf_conf_kernel(int root, struct nvmf_entries *all, struct diag *diag)
{
	char *text = kernel_sys_cmdline(root);
	struct diag why = { 0 };
	int err = text ? kernel_nvmf_conf_cmdline(all, text, diag) : kernel_sys_no_cmdline(diag);

	free(text);
	if (err || all->off || all->no_nbft)
		return err;
	err = kernel_nvmf_conf_nbft(root, all, &why);
	if (err == -ENOENT)
		return 0;
	if (err && diag)
		*diag = why;
	return err;
}

bool kernel_nvmf_conf_nbft_enabled(int root)
{
	struct nvmf_entries all = { 0 };
	char *text = kernel_sys_cmdline(root);
	struct diag why;
	bool enabled =
		!text || kernel_nvmf_conf_cmdline(&all, text, &why) || (!all.off && !all.no_nbft);

	free(text);
	kernel_nvmf_conf_free(&all);
	return enabled;
}

/* Choose the format: JSON begins with a bracket; so do sections, but theirs is closed on the same
 * line; otherwise it is lines of options. */
static int read_any(struct nvmf_entries *all, char *text, const char *from, struct diag *diag)
{
	const char *at = text + strspn(text, " \t\r\n");

	while (*at == '#' || *at == ';') {
		at += strcspn(at, "\n");
		at += strspn(at, " \t\r\n");
	}
	if (*at == '{' || (*at == '[' && !isalpha((unsigned char)at[1])))
		return kernel_nvmf_conf_json(all, text, from, diag);
	if (*at == '[')
		return kernel_nvmf_conf_ini(all, text, from, diag);
	return kernel_nvmf_conf_lines(all, text, from, diag);
}

static int read_file(int root, const char *path, struct nvmf_entries *all, struct diag *diag)
{
	const char *below = path[0] == '/' ? path + 1 : path;
	char *text = kernel_sys_read_conf(path[0] == '/' ? root : AT_FDCWD, below);
	int err;

	if (!text && errno == ENOENT)
		return -ENOENT;
	if (!text && errno == EFBIG)
		return diag_set(diag, DIAG_USAGE, EFBIG, "%s exceeds the limit of 1 MiB", path);
	if (!text)
		return diag_sys(diag, errno, "read %s", path);
	secret_disable_dumps();
	err = read_any(all, text, path, diag);
	explicit_bzero(text, strlen(text));
	free(text);
	return err;
}

#define DROP_INS 64
struct names {
	char name[DROP_INS][64];
	unsigned count;
	bool more;
};

static void add_name(const char *name, void *arg)
{
	struct names *names = arg;
	size_t len = strlen(name);

	if (len <= 5 || strcmp(name + len - 5, ".conf"))
		return;
	if (len < 64 && names->count < DROP_INS)
		snprintf(names->name[names->count++], 64, "%s", name);
	else
		names->more = true;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int read_drop_ins(int root, struct nvmf_entries *all, struct diag *diag)
{
	struct names *names = calloc(1, sizeof(*names));
	int err = 0;

	if (!names)
		return diag_sys(diag, ENOMEM, "configuration");
	kernel_sys_list(root, "etc/nvme/nvme-fabrics.conf.d", add_name, names);
	if (names->more)
		err = diag_set(diag, DIAG_UNSUPPORTED, E2BIG,
			"/etc/nvme/nvme-fabrics.conf.d: more than %d files, or a name longer than "
			"63 bytes",
			DROP_INS);
	qsort(names->name, names->count, sizeof(names->name[0]), by_name);
	for (unsigned i = 0; i < names->count && !err; i++) {
		char path[128];

		snprintf(path, sizeof(path), "/etc/nvme/nvme-fabrics.conf.d/%s", names->name[i]);
		err = read_file(root, path, all, diag);
		err = err == -ENOENT ? 0 : err;
	}
	free(names);
	return err;
}

int kernel_nvmf_conf_read(int root, const char *path, struct nvmf_entries *all, struct diag *diag)
{
	static const char *const files[] = { "/etc/nvme/config.json", "/etc/nvme/discovery.conf",
		"/etc/nvme/nvme-fabrics.conf" };
	int err = 0;

	if (path) {
		err = read_file(root, path, all, diag);
		return err == -ENOENT ? diag_sys(diag, ENOENT, "open %s", path) : err;
	}
	for (unsigned i = 0; i < sizeof(files) / sizeof(*files) && !err; i++) {
		err = read_file(root, files[i], all, diag);
		err = err == -ENOENT ? 0 : err;
	}
	return err ? err : read_drop_ins(root, all, diag);
}
