// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The language of descriptions and of the console: the shape of the fabric, then who does what.
// Commands for a port are in sim_words_port.c.
#include "sim.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#define WORDS 40

static bool no(char *answer, size_t len, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static bool no(char *answer, size_t len, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(answer, len, fmt, args);
	va_end(args);
	return false;
}

bool words_number(const char *word, uint64_t most, uint64_t *value)
{
	char *end;

	*value = strtoull(word, &end, 0);
	return *word && !*end && *value <= most;
}

/* "0.5": in 1/1000 */
static bool share(const char *word, uint32_t *per_mille)
{
	char *end;
	double value = strtod(word, &end);

	*per_mille = (uint32_t)(value * 1000 + 0.5);
	return *word && !*end && value >= 0 && value <= 1;
}

static bool shape_word(struct sim *sim, char **words, unsigned count, bool *known)
{
	struct sim_shape *shape = &sim->shape;
	const struct {
		const char *name;
		uint32_t *value, *second;
		uint64_t *wide;
		uint32_t most;
	} all[] = {
		{ "hosts", &shape->hosts, NULL, NULL, MAD_LID_MAX },
		{ "targets", &shape->targets, NULL, NULL, MAD_LID_MAX },
		{ "ports", &shape->ports, NULL, NULL, 2 },
		{ "leaf", &shape->down, &shape->up, NULL, 250 },
		{ "seed", NULL, NULL, &shape->seed, 0 },
		{ "prefix", NULL, NULL, &shape->prefix, 0 },
	};
	uint64_t value;

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (strcmp(words[0], all[i].name) ||
			(i < 2 && (count != 2 || *words[1] < '0' || *words[1] > '9')))
			continue;
		*known = true;
		if (all[i].wide)
			return count == 2 && words_number(words[1], UINT64_MAX, all[i].wide);
		if (count != (all[i].second ? 3u : 2u) ||
			!words_number(words[1], all[i].most, &value))
			return false;
		*all[i].value = (uint32_t)value;
		if (!all[i].second)
			return true;
		if (!words_number(words[2], all[i].most, &value))
			return false;
		*all[i].second = (uint32_t)value;
		return true;
	}
	return true;
}

struct who {
	uint32_t first, last; /* nodes */
	unsigned port;        /* 0 = all */
	unsigned percent;     /* of the targets, 0 = all named */
};

/* hosts, targets, all, H5, T5.2, T5-T9, 3% */
static bool read_who(const struct sim *sim, const char *word, struct who *who)
{
	size_t len = strcspn(word, ".-%");
	uint64_t value;

	*who = (struct who){ .last = fabric_end_nodes(sim) - 1 };
	if (word[len] == '%') {
		who->percent = (unsigned)strtoul(word, NULL, 10);
		who->first = sim->shape.hosts;
		return !word[len + 1] && who->percent && who->percent <= 100 && sim->shape.targets;
	}
	if (!strcmp(word, "all"))
		return true;
	if (!strcmp(word, "targets")) {
		who->first = sim->shape.hosts;
		return sim->shape.targets;
	}
	if (!strcmp(word, "hosts")) {
		who->last = sim->shape.hosts - 1;
		return sim->shape.hosts;
	}
	who->first = who->last = fabric_node(sim, word, len);
	if (who->first == NO_INDEX)
		return false;
	if (word[len] == '-')
		who->last = fabric_node(sim, word + len + 1, strlen(word + len + 1));
	if (word[len] == '.') {
		if (!words_number(word + len + 1, sim->shape.ports, &value) || !value)
			return false;
		who->port = (unsigned)value;
	}
	return who->last != NO_INDEX && who->first <= who->last;
}

static bool to_node(struct sim *sim, uint32_t at, unsigned only, char **words, unsigned count,
	char *answer, size_t len)
{
	const struct node *node = &sim->node[at];

	for (unsigned num = 1; num <= node->ports; num++)
		if ((!only || only == num) && !words_port(sim, &sim->port[node->port + num - 1],
						      words, count, answer, len))
			return false;
	return true;
}

/* Apply to a percentage of the targets, only ones not picked before. */
static bool to_some(struct sim *sim, const struct who *who, char **words, unsigned count,
	char *answer, size_t len)
{
	unsigned missing = (sim->shape.targets * who->percent + 99) / 100, have = 0;

	for (uint32_t i = who->first; i <= who->last; i++)
		have += !sim->port[sim->node[i].port].picked;
	if (have < missing)
		return no(answer, len, "only %u targets are left to pick from", have);
	while (missing) {
		uint32_t at = who->first + (uint32_t)(fabric_random(sim) % sim->shape.targets);

		if (sim->port[sim->node[at].port].picked)
			continue;
		sim->port[sim->node[at].port].picked = true;
		missing--;
		if (!to_node(sim, at, 0, words, count, answer, len))
			return false;
	}
	return true;
}

static bool to_ports(
	struct sim *sim, const char *name, char **words, unsigned count, char *answer, size_t len)
{
	struct who who;

	if (!read_who(sim, name, &who) || !count)
		return no(answer, len, "'%s': unknown name, or missing command", name);
	if (who.percent)
		return to_some(sim, &who, words, count, answer, len);
	for (uint32_t i = who.first; i <= who.last; i++)
		if (!to_node(sim, i, who.port, words, count, answer, len))
			return false;
	return true;
}

static bool one_port(const struct sim *sim, const char *word, uint32_t *port)
{
	struct who who;

	if (!read_who(sim, word, &who) || who.percent || who.first != who.last)
		return false;
	*port = sim->node[who.first].port + (who.port ? who.port - 1 : 0);
	return true;
}

/* The new one knows of no subscriptions. */
static bool sm_words(struct sim *sim, char **words, unsigned count)
{
	if (count != 1)
		return false;
	event_forget(sim, NULL);
	if (strcmp(words[0], "none"))
		return one_port(sim, words[0], &sim->sm);
	sim->sm = NO_INDEX;
	return true;
}

static bool sa_mood(struct sim *sim, char **words, unsigned count)
{
	static const char *const moods[] = { "fine", "silent", "busy", "redirect" };
	uint64_t times = 0;

	for (uint8_t i = 0; i < sizeof(moods) / sizeof(*moods); i++) {
		if (strcmp(words[0], moods[i]))
			continue;
		if (i == SA_REDIRECT ? count != 2 || !one_port(sim, words[1], &sim->sa.redirect)
				     : count > 2 || (count == 2 && !words_number(words[1],
									   UINT32_MAX, &times)))
			return false;
		sim->sa.mood = i;
		sim->sa.left = (uint32_t)times;
		return true;
	}
	return false;
}

static bool on_off(const char *word, bool *value)
{
	*value = !strcmp(word, "on");
	return *value || !strcmp(word, "off");
}

static bool sa_words(struct sim *sim, char **words, unsigned count)
{
	struct sim_sa *sa = &sim->sa;
	uint64_t value;

	if (count && !strcmp(words[0], "restart")) {
		event_forget(sim, NULL);
		return count == 1;
	}
	if (count == 2 && !strcmp(words[0], "match"))
		return on_off(words[1], &sa->match);
	if (count == 2 && !strcmp(words[0], "tells-all"))
		return on_off(words[1], &sa->tells_all);
	if (count == 2 && !strcmp(words[0], "flood"))
		return on_off(words[1], &sa->flood);
	if (count == 2 && !strcmp(words[0], "loss"))
		return share(words[1], &sa->loss);
	if (count == 2 && !strcmp(words[0], "slow")) {
		if (!words_number(words[1], UINT32_MAX, &value))
			return false;
		sa->slow_ms = (uint32_t)value;
		return true;
	}
	if (count == 2 && !strcmp(words[0], "lie")) {
		sa->lie = !strcmp(words[1], "offset")   ? LIE_OFFSET
			  : !strcmp(words[1], "length") ? LIE_LENGTH
							: LIE_NONE;
		return sa->lie || !strcmp(words[1], "none");
	}
	return count && sa_mood(sim, words, count);
}

static void tell_counters(const struct sim *sim, char *answer, size_t len)
{
	const struct sim_counters *n = &sim->count;

	snprintf(answer, len,
		"in %" PRIu64 " out %" PRIu64 " smp %" PRIu64 " sa %" PRIu64 " dm %" PRIu64
		" lost %" PRIu64 " reports %" PRIu64 " unheard %" PRIu64,
		n->in, n->out, n->smp, n->sa, n->dm, n->lost, n->reports, n->unheard);
}

/* Blanks part words; "#" starts a comment. */
static unsigned split(char *line, char **words)
{
	unsigned count = 0;

	for (char *word = strtok(line, " \t\n"); word && *word != '#' && count < WORDS;
		word = strtok(NULL, " \t\n"))
		words[count++] = word;
	return count;
}

bool words_run(struct sim *sim, char *line, char *answer, size_t len)
{
	char *words[WORDS];
	unsigned count = split(line, words);
	bool known = false, good;

	*answer = 0;
	if (!count)
		return true;
	good = shape_word(sim, words, count, &known);
	if (known && (!good || sim->node))
		return no(answer, len, "'%s': %s", words[0],
			good ? "the fabric has its shape already" : "not a number that can be");
	if (known)
		return true;
	if (!sim->node && fabric_build(sim))
		return no(answer, len, "a fabric of this shape is too large, or empty");
	if (!strcmp(words[0], "build"))
		return true;
	if (!strcmp(words[0], "stats")) {
		tell_counters(sim, answer, len);
		return true;
	}
	if (!strcmp(words[0], "sa"))
		return sa_words(sim, words + 1, count - 1) ||
		       no(answer, len, "sa: what it should do is not understood");
	if (!strcmp(words[0], "sm"))
		return sm_words(sim, words + 1, count - 1) ||
		       no(answer, len, "sm: 'none' or a port is wanted");
	return to_ports(sim, words[0], words + 1, count - 1, answer, len);
}
