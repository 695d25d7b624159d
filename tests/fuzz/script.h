/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a hostile peer does, read from a fuzzer's input: so many good answers, then for each message
 * of ours one step. When the steps are used up the peer hangs up, so that every run ends. */
#pragma once
#include "../../core/proto/nvme/codec.h"
#include "loop.h"
#include <stdlib.h>

enum script_step {
	SCRIPT_GOOD,
	SCRIPT_CORRUPT, /* a good answer with some of its bits turned */
	SCRIPT_RAW,
	SCRIPT_SILENT,
	SCRIPT_TWICE,
	SCRIPT_MADE, /* well-formed, with values of the input's choice */
	SCRIPT_HANG_UP,
	SCRIPT_FILLED, /* a good answer with data of the input's choice */
};

/* An input in which the peer does all right: no options, and each step is SCRIPT_GOOD. A fuzz
 * target begins with it, and aborts if its own side does not get as far as it can. */
static const uint8_t script_right[4096];

struct script {
	const uint8_t *p, *end;
	unsigned good;
};

static inline uint8_t script_byte(struct script *script)
{
	return script->p < script->end ? *script->p++ : 0;
}

static inline uint16_t script_u16(struct script *script)
{
	uint16_t high = script_byte(script);

	return (uint16_t)(high << 8 | script_byte(script));
}

/* So many bytes of the input as there are. */
static inline uint32_t script_bytes(struct script *script, uint8_t *to, uint32_t len)
{
	uint32_t have = (uint32_t)(script->end - script->p);

	len = len < have ? len : have;
	memcpy(to, script->p, len);
	script->p += len;
	return len;
}

static inline enum script_step script_next(struct script *script)
{
	if (script->good) {
		script->good--;
		return SCRIPT_GOOD;
	}
	return script->p < script->end ? script_byte(script) & 7 : SCRIPT_HANG_UP;
}

static inline void script_spoil(struct script *script, uint8_t *p, uint32_t len)
{
	for (unsigned count = script_byte(script) % 4 + 1; count && len; count--) {
		uint16_t at = script_u16(script);

		p[at % len] ^= script_byte(script);
	}
}

static inline void script_fill(struct script *script, uint8_t *p, uint32_t len)
{
	uint32_t at = script_u16(script), bytes_max = script_byte(script);

	if (!len)
		return;
	at %= len;
	script_bytes(script, p + at, bytes_max < len - at ? bytes_max : len - at);
}

struct script_turn {
	struct loop_work work;
	volatile int over;
};

static inline void script_mark(struct loop_work *work)
{
	container_of(work, struct script_turn, work)->over = 1;
}

/* One turn of the loop. */
static inline void script_turn(struct loop *loop)
{
	struct script_turn turn = { .work.run = script_mark };

	loop_work_add(loop, &turn.work);
	loop_wait(loop, &turn.over, 0);
}
