/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attribute the kernel's log lines: the log has lines of every controller, and while an attempt
 * fails another controller may be reconnecting. */
#include "nvme.h"
#include "sys/sys.h"
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

enum whose { NOBODYS, OURS, ANOTHERS };

/* "'tls_key=…'": an option that we did not write belongs to another process. */
static bool not_asked(const char *line, const struct nvmf_want *want)
{
	const char *quote = strstr(line, "parameter") ? strchr(line, '\'') : NULL;
	char name[40];
	int key;

	if (!quote)
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(quote + 1, "='"), quote + 1);
	key = kernel_nvmf_key_find(name);
	return key >= 0 && !want->value[key];
}

/* Attribute a line by the names in it. */
static enum whose whose(const char *line, const struct nvmf_want *want)
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
	enum whose is = NOBODYS;

	for (unsigned i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		const char *at = strstr(line, marks[i].before), *value = want->value[marks[i].key];

		if (!at || !value)
			continue;
		if (!is_value(at + strlen(marks[i].before), value))
			return ANOTHERS;
		is = OURS;
	}
	return !strncmp(line, "nvme_fabrics: ", 14) && not_asked(line, want) ? ANOTHERS : is;
}

struct sorting {
	const struct nvmf_want *want;
	struct nvme_numbers others, heard;
	int own; /* -1: unknown */
};

/* If one line of a controller names another subsystem or host, all its lines belong to another
 * attempt. */
static bool sort(struct sorting *s, const char *line)
{
	int n = number_of(line);
	enum whose is = whose(line, s->want);

	if (n < 0)
		return is != ANOTHERS;
	put(is == ANOTHERS ? &s->others : &s->heard, n);
	if (is == OURS && s->own < 0 && !has(&s->others, n))
		s->own = n;
	return true;
}

/* If several controllers fit, accept none. */
static bool keep(struct sorting *s, const char *line)
{
	int n = number_of(line);
	unsigned fit = 0;

	if (n < 0 || s->own >= 0)
		return n < 0 || n == s->own;
	for (unsigned i = 0; i < NVME_NUMBERS / 64; i++)
		fit += (unsigned)__builtin_popcountll(s->heard.bit[i] & ~s->others.bit[i]);
	return fit == 1 && !has(&s->others, n);
}

/* Remove the lines for which `keeps` returns false. */
static void each_line(
	char *words, struct sorting *s, bool (*keeps)(struct sorting *, const char *line))
{
	char *to = words, *next;

	for (char *line = words; *line; line = next) {
		size_t len = strcspn(line, "\n");
		bool ended = line[len], kept;

		next = line + len + ended;
		line[len] = 0;
		kept = keeps(s, line);
		if (ended)
			line[len] = '\n';
		if (kept) {
			memmove(to, line, (size_t)(next - line));
			to += next - line;
		}
	}
	*to = 0;
}

void kernel_nvme_words_own(
	char *words, const struct nvmf_want *want, const struct nvme_numbers *others, int own)
{
	struct sorting s = { .want = want, .others = *others, .own = own };

	each_line(words, &s, sort);
	each_line(words, &s, keep);
}

/* Whether it is a line of the host driver, not of a target on this machine. */
static bool of_hosts(const char *line)
{
	return !strncmp(line, "nvme", 4) && strncmp(line, "nvmet", 5);
}

void kernel_nvmf_words_mark(int root, struct nvmf_words *words)
{
	words->others = (struct nvme_numbers){ 0 };
	add_numbers(root, &words->others);
	kernel_log_mark(root, &words->log);
}

void kernel_nvmf_words_since(int root, struct nvmf_words *words, const struct nvmf_want *want,
	int instance, char *text, size_t len)
{
	kernel_log_since(&words->log, of_hosts, text, len);
	if (instance < 0) /* a controller that exists now is not the one that failed */
		add_numbers(root, &words->others);
	kernel_nvme_words_own(text, want, &words->others, instance);
}
