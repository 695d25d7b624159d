/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attribute the kernel's log lines: the log has lines of every controller, and while an attempt
 * fails another controller may be reconnecting. */
#include "kernel_sys.h"
#include "nvme.h"
#include <stdio.h>
#include <string.h>

static bool has(const struct nvme_numbers *numbers, int n)
{
	return numbers->bit[n / 64] >> n % 64 & 1;
}

static void put(struct nvme_numbers *numbers, int n)
{
	numbers->bit[n / 64] |= 1ull << n % 64;
}

static void add_number(const char *name, void *arg)
{
	struct nvme_numbers *numbers = arg;
	unsigned n;
	char end;

	if (sscanf(name, "nvme%u%c", &n, &end) == 1 && n < NVME_NUMBERS)
		put(numbers, (int)n);
}

static void add_numbers(int root, struct nvme_numbers *numbers)
{
	kernel_sys_list(root, NVME_CLASS, add_number, numbers);
}

/* "nvme nvme0: …", "nvme0n1: …"; -1: of no controller, like "nvme_fabrics: …" */
static int number_of(const char *line)
{
	unsigned n;
	char next;

	if (!strncmp(line, "nvme ", 5))
		line += 5;
	return sscanf(line, "nvme%u%c", &n, &next) == 2 && strchr(": nc", next) && n < NVME_NUMBERS
		       ? (int)n
		       : -1;
}

static bool is_value(const char *at, const char *value)
{
	size_t len = strlen(value);

	at += *at == '"';
	if (strncmp(at, value, len))
		return false;
	at += len;
	return !*at || strchr("\", ", *at) || (*at == '.' && !at[1]);
}

enum log_owner { OWNER_NONE, OWNER_US, OWNER_OTHER };

/* "'tls_key=…'": an option that we did not write belongs to another process. */
static bool is_foreign_option(const char *line, const struct nvmf_params *params)
{
	const char *quote = strstr(line, "parameter") ? strchr(line, '\'') : NULL;
	char name[40];
	int key;

	if (!quote)
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(quote + 1, "='"), quote + 1);
	key = kernel_nvmf_key_find(name);
	return key >= 0 && !params->value[key];
}

/* Attribute a line by the names in it. */
static enum log_owner find_owner(const char *line, const struct nvmf_params *params)
{
	static const struct {
		const char *before;
		uint8_t key;
	} marks[] = {
		{ "for subsystem ", NVMF_NQN },
		{ "subsysnqn ", NVMF_NQN },
		{ "new ctrl: NQN ", NVMF_NQN },
		{ "hostnqn ", NVMF_HOSTNQN },
		{ "hostnqn: ", NVMF_HOSTNQN },
		{ "no handler found for transport ", NVMF_TRANSPORT },
	};
	enum log_owner owner = OWNER_NONE;

	for (unsigned i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		const char *at = strstr(line, marks[i].before),
			   *value = params->value[marks[i].key];

		if (!at || !value)
			continue;
		if (!is_value(at + strlen(marks[i].before), value))
			return OWNER_OTHER;
		owner = OWNER_US;
	}
	return !strncmp(line, "nvme_fabrics: ", 14) && is_foreign_option(line, params) ? OWNER_OTHER
										       : owner;
}

struct log_filter {
	const struct nvmf_params *params;
	struct nvme_numbers others, seen;
	int own; /* -1: unknown */
};

/* If one line of a controller names another subsystem or host, all its lines belong to another
 * attempt. */
static bool attribute_line(struct log_filter *s, const char *line)
{
	int n = number_of(line);
	enum log_owner owner = find_owner(line, s->params);

	if (n < 0)
		return owner != OWNER_OTHER;
	put(owner == OWNER_OTHER ? &s->others : &s->seen, n);
	if (owner == OWNER_US && s->own < 0 && !has(&s->others, n))
		s->own = n;
	return true;
}

/* If several controllers fit, accept none. */
static bool accept_line(struct log_filter *s, const char *line)
{
	int n = number_of(line);
	unsigned fit = 0;

	if (n < 0 || s->own >= 0)
		return n < 0 || n == s->own;
	for (unsigned i = 0; i < NVME_NUMBERS / 64; i++)
		fit += (unsigned)__builtin_popcountll(s->seen.bit[i] & ~s->others.bit[i]);
	return fit == 1 && !has(&s->others, n);
}

/* Remove the lines for which `accept` returns false. */
static void filter_lines(
	char *lines, struct log_filter *s, bool (*accept)(struct log_filter *, const char *line))
{
	char *to = lines, *next;

	for (char *line = lines; *line; line = next) {
		size_t len = strcspn(line, "\n");
		bool ended = line[len], accepted;

		next = line + len + ended;
		line[len] = 0;
		accepted = accept(s, line);
		if (ended)
			line[len] = '\n';
		if (accepted) {
			memmove(to, line, (size_t)(next - line));
			to += next - line;
		}
	}
	*to = 0;
}

void kernel_nvme_log_filter(
	char *lines, const struct nvmf_params *params, const struct nvme_numbers *others, int own)
{
	struct log_filter s = { .params = params, .others = *others, .own = own };

	filter_lines(lines, &s, attribute_line);
	filter_lines(lines, &s, accept_line);
}

/* Whether it is a line of the host driver, not of a target on this machine. */
static bool is_host_line(const char *line)
{
	return !strncmp(line, "nvme", 4) && strncmp(line, "nvmet", 5);
}

void kernel_nvmf_log_mark(int root, struct nvmf_log_mark *mark)
{
	mark->others = (struct nvme_numbers){ 0 };
	add_numbers(root, &mark->others);
	kernel_log_mark(root, &mark->log);
}

void kernel_nvmf_log_since(int root, struct nvmf_log_mark *mark, const struct nvmf_params *params,
	int instance, char *text, size_t len)
{
	kernel_log_since(&mark->log, is_host_line, text, len);
	if (instance < 0) /* a controller that exists now is not the one that failed */
		add_numbers(root, &mark->others);
	kernel_nvme_log_filter(text, params, &mark->others, instance);
}
