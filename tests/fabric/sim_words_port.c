// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Commands for one port.
#include "sim.h"
#include <stdlib.h>

struct say {
	struct sim *sim;
	struct port *port;
	char **word; /* after the verb */
	unsigned count;
};

static bool dead(const struct say *say)
{
	say->port->dead = true;
	return true;
}

static bool mute(const struct say *say)
{
	say->port->mute = true;
	return true;
}

static bool alive(const struct say *say)
{
	say->port->dead = say->port->mute = false;
	say->port->slow_ms = 0;
	say->port->lie = LIE_NONE;
	return true;
}

static bool slow(const struct say *say)
{
	uint64_t ms;

	if (!words_number(say->word[0], UINT32_MAX, &ms))
		return false;
	say->port->slow_ms = (uint32_t)ms;
	return true;
}

static bool lie(const struct say *say)
{
	static const char *const names[] = { "", "iocs", "services", "changes", "text", "busy",
		"status", "noise", "twice", "tid" };

	for (uint8_t i = 1; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(say->word[0], names[i])) {
			say->port->lie = i;
			return true;
		}
	return false;
}

static bool byte(const struct say *say, uint8_t *to)
{
	uint64_t value;

	if (!words_number(say->word[0], UINT8_MAX, &value))
		return false;
	*to = (uint8_t)value;
	say->port->change_id++;
	return true;
}

static bool iocs(const struct say *say)
{
	if (!byte(say, &say->port->iocs))
		return false;
	if (say->port->slots < say->port->iocs)
		say->port->slots = say->port->iocs;
	return true;
}

static bool services(const struct say *say)
{
	return byte(say, &say->port->services);
}

static bool io_class(const struct say *say)
{
	uint64_t value;

	if (!words_number(say->word[0], UINT16_MAX, &value))
		return false;
	say->port->io_class = (uint16_t)value;
	return true;
}

/* The words with one blank between them, "\xNN" being a byte. Never freed: ports share it. */
static const char *text(const struct say *say)
{
	char *to = calloc(1, 256), *p = to;

	for (unsigned i = 0; to && i < say->count; i++) {
		if (i && p < to + 255)
			*p++ = ' ';
		for (const char *from = say->word[i]; *from && p < to + 255; from++) {
			if (from[0] == '\\' && from[1] == 'x' && from[2] && from[3]) {
				*p++ = (char)strtoul((char[]){ from[2], from[3], 0 }, NULL, 16);
				from += 3;
			} else {
				*p++ = *from;
			}
		}
	}
	return to;
}

static bool id(const struct say *say)
{
	say->port->id = text(say);
	return say->port->id;
}

static bool ext(const struct say *say)
{
	say->port->ext = text(say);
	return say->port->ext;
}

/* "ffff,8001": the whole table */
static bool pkeys(const struct say *say)
{
	uint16_t table[PKEYS] = { 0 };
	const char *p = say->word[0];

	for (unsigned i = 0; i < PKEYS; i++) {
		char *end;
		unsigned long value = strtoul(p, &end, 16);

		if (end == p || value > UINT16_MAX || (*end && *end != ','))
			return false;
		table[i] = (uint16_t)value;
		if (!*end) {
			memcpy(say->port->pkey, table, sizeof(table));
			return true;
		}
		p = end + 1;
	}
	return false;
}

static bool lid(const struct say *say)
{
	uint64_t value;

	if (!words_number(say->word[0], MAD_LID_MAX, &value) || !value ||
		say->sim->by_lid[value] != NO_INDEX)
		return false;
	fabric_set_lid(say->sim, say->port, (uint16_t)value);
	return true;
}

static bool guid(const struct say *say)
{
	return words_number(say->word[0], UINT64_MAX, &say->port->guid);
}

static bool state(const struct say *say)
{
	static const char *const names[] = { "down", "init", "armed", "active" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(say->word[0], names[i])) {
			say->port->state = (uint8_t)(PORT_DOWN + i);
			return true;
		}
	return false;
}

/* "appear", or "appear stale 3000": the subnet administrator learns of it after 3000 ms. */
static bool set_cap(const struct say *say, uint32_t cap)
{
	uint64_t ms = 0;

	if (say->count && (say->count != 2 || strcmp(say->word[0], "stale") ||
				  !words_number(say->word[1], UINT32_MAX, &ms)))
		return false;
	if (say->sim->now >= say->port->stale_ns)
		say->port->cap_before = say->port->cap;
	say->port->stale_ns = say->sim->now + TICK_MS(ms);
	say->port->cap = cap;
	event_cap(say->sim, say->port);
	return true;
}

static bool appear(const struct say *say)
{
	return set_cap(say, say->port->cap | PORT_CAP_DM);
}

static bool vanish(const struct say *say)
{
	return set_cap(say, say->port->cap & ~PORT_CAP_DM);
}

static bool gone(const struct say *say)
{
	say->port->gone = true;
	event_gid(say->sim, say->port, 65);
	return true;
}

static bool back(const struct say *say)
{
	say->port->gone = false;
	event_gid(say->sim, say->port, 64);
	return true;
}

static bool trap(const struct say *say)
{
	uint64_t what;

	if (!words_number(say->word[0], UINT16_MAX, &what))
		return false;
	if (what == 144)
		event_cap(say->sim, say->port);
	else
		event_gid(say->sim, say->port, (uint16_t)what);
	return true;
}

static const struct {
	const char *name;
	uint8_t least, most; /* words after it */
	bool (*run)(const struct say *);
} verbs[] = {
	{ "dead", 0, 0, dead },
	{ "mute", 0, 0, mute },
	{ "alive", 0, 0, alive },
	{ "slow", 1, 1, slow },
	{ "lie", 1, 1, lie },
	{ "iocs", 1, 1, iocs },
	{ "services", 1, 1, services },
	{ "io_class", 1, 1, io_class },
	{ "id", 1, 32, id },
	{ "ext", 1, 32, ext },
	{ "pkeys", 1, 1, pkeys },
	{ "lid", 1, 1, lid },
	{ "guid", 1, 1, guid },
	{ "state", 1, 1, state },
	{ "appear", 0, 2, appear },
	{ "vanish", 0, 2, vanish },
	{ "gone", 0, 0, gone },
	{ "back", 0, 0, back },
	{ "trap", 1, 1, trap },
};

bool words_port(
	struct sim *sim, struct port *port, char **words, unsigned count, char *answer, size_t len)
{
	const struct say say = { .sim = sim, .port = port, .word = words + 1, .count = count - 1 };

	for (unsigned i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(words[0], verbs[i].name) && say.count >= verbs[i].least &&
			say.count <= verbs[i].most && verbs[i].run(&say))
			return true;
	snprintf(answer, len, "'%s': not a thing to say of a port, or not with these words",
		words[0]);
	return false;
}
