/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/iscsi core/proto/scsi core/target core/net */
/* iSCSI targets over TCP that are right for a while and then lie, while a disk is opened and while
 * requests are out, on a clock that leaps: iscsi_ini.h has what holds all the time. Each byte that
 * the initiator receives is read here, too, so that it is known which PDUs it has seen; and it
 * sends all data that was asked for, and no other. */
/* Link: leap */
#include "iscsi_ini.h"
#include "iscsi_pipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT    8192 /* longest data segment without data of a disk */
#define LONGEST (ISCSI_BHS + 4 + ROOM + 4)

static struct conn {
	struct known known;
	unsigned number;
	uint32_t have;
	uint8_t pdu[LONGEST]; /* that the initiator receives */
} conn_of[CONNS];

/* What was not answered at once. */
static struct {
	struct pipe *pipe;
	unsigned when; /* 1: with the next PDU; before or after the answer to an abort: 2, 3; 0:
			  never */
	struct iscsi_bhs bhs;
	uint32_t len;
	uint8_t data[TEXT];
} delayed;

static bool is_gone(struct known *known)
{
	struct pipe *pipe = pipe_number(container_of(known, struct conn, known)->number);

	return !pipe || pipe->over;
}

/* ---- What the initiator receives. */

static bool is_legal_own(const struct known *known, const struct iscsi_bhs *bhs, uint32_t len)
{
	const struct iscsi_data_in *in = (const void *)bhs;
	const struct iscsi_scsi_rsp *rsp = (const void *)bhs;
	const struct iscsi_r2t *r2t = (const void *)bhs;
	struct out *out = find_out(known, get_be32(bhs->itt));
	uint32_t end, rest;

	switch (ISCSI_OPCODE(bhs->opcode)) {
	case ISCSI_DATA_IN:
		return out && !out->writes && get_be32(in->datasn) == out->sn &&
		       get_be32(in->offset) == out->at && len <= out->len - out->at;
	case ISCSI_R2T:
		if (!out || !out->writes || out->bursts > out->begun)
			return false;
		end = out->bursts ? out->burst[0].end : out->at;
		return get_be32(r2t->r2tsn) == out->sn && get_be32(r2t->ttt) != ISCSI_NO_TAG &&
		       get_be32(r2t->offset) == end && get_be32(r2t->desired) &&
		       get_be32(r2t->desired) <= out->len - end &&
		       get_be32(r2t->desired) <= target.max_burst;
	case ISCSI_SCSI_RSP: /* no success of a write before the burst of its last data */
		end = out->begun ? out->burst[0].end : out->at;
		rest = rsp->flags & ISCSI_UNDERFLOW ? get_be32(rsp->residual) : 0;
		return !out->writes || rsp->response || rsp->status || rest >= out->len ||
		       out->len - rest <= end;
	case ISCSI_TASK_RSP:
		return known->aborts && get_be32(bhs->itt) & ABORT;
	default:
		return false;
	}
}

static void note_data(struct known *known, struct out *out, const struct iscsi_scsi_rsp *rsp,
	const uint8_t *data, uint32_t len)
{
	if (out->of) {
		memcpy(out->of->image + out->at, data, len);
		out->of->moved += len;
		out->of->owed -= len;
	}
	out->at += len;
	out->sn++;
	if (rsp->flags & ISCSI_STATUS)
		answered(known, out, is_good(rsp));
}

static void note_own(
	struct known *known, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	const struct iscsi_r2t *r2t = (const void *)bhs;
	const struct iscsi_task_rsp *rsp = (const void *)bhs;
	struct out *out = find_out(known, get_be32(bhs->itt) & ~ABORT);

	switch (ISCSI_OPCODE(bhs->opcode)) {
	case ISCSI_DATA_IN:
		note_data(known, out, (const void *)bhs, data, len);
		break;
	case ISCSI_R2T:
		out->burst[out->bursts].ttt = get_be32(r2t->ttt);
		out->burst[out->bursts++].end = get_be32(r2t->offset) + get_be32(r2t->desired);
		out->begun |= !out->unsent;
		out->sn++;
		break;
	default: /* of an abort */
		known->aborts--;
		if (!out || !out->aborting)
			break;
		if (rsp->response == ISCSI_TASK_COMPLETE || rsp->response == ISCSI_TASK_NONE)
			answered(known, out, false);
		else
			breach(known);
	}
}

/* Bytes before the data, of the data with its padding, and behind it. */
static void measure(const struct pipe *pipe, const uint8_t *pdu, uint32_t len[3])
{
	len[0] = ISCSI_BHS + 4u * pipe->digest[0];
	len[1] = (get_be24(((const struct iscsi_bhs *)pdu)->data_len) + 3) & ~3u;
	len[2] = 4u * (len[1] && pipe->digest[1]);
}

static bool is_digest(const uint8_t *digest, const uint8_t *p, uint32_t len)
{
	le32 crc = put_le32(crc32c(0, p, len));

	return !memcmp(digest, &crc, sizeof(crc));
}

/* False: more is to come. */
static bool is_whole(struct conn *conn, const struct pipe *pipe)
{
	const struct iscsi_bhs *bhs = (const void *)conn->pdu;
	uint32_t data = get_be24(bhs->data_len), len[3];
	bool is_in = ISCSI_OPCODE(bhs->opcode) == ISCSI_DATA_IN;

	measure(pipe, conn->pdu, len);
	if (conn->have == len[0] &&
		((pipe->digest[0] && !is_digest(conn->pdu + ISCSI_BHS, conn->pdu, ISCSI_BHS)) ||
			bhs->ahs_len || (is_in && !is_legal_own(&conn->known, bhs, data)) ||
			(!is_in && data > TEXT)))
		breach(&conn->known);
	if (conn->known.broken || conn->have < len[0] + len[1] + len[2])
		return false;
	if (len[2] && !is_digest(conn->pdu + len[0] + len[1], conn->pdu + len[0], len[1]))
		breach(&conn->known);
	return !conn->known.broken;
}

/* The initiator takes these bytes. */
static void gave(struct pipe *pipe, const uint8_t *p, uint32_t len)
{
	struct conn *conn = pipe->number < CONNS ? &conn_of[pipe->number] : NULL;
	const struct iscsi_bhs *bhs;
	uint32_t part[3], missing;

	while (len && conn && conn->known.loop && !conn->known.broken) {
		measure(pipe, conn->pdu, part);
		missing = conn->have < part[0] ? part[0] : part[0] + part[1] + part[2];
		missing = missing - conn->have < len ? missing - conn->have : len;
		memcpy(conn->pdu + conn->have, p, missing);
		conn->have += missing;
		p += missing;
		len -= missing;
		bhs = (const void *)conn->pdu;
		measure(pipe, conn->pdu, part);
		if (conn->have < part[0] || !is_whole(conn, pipe))
			continue;
		conn->have = 0;
		note(&conn->known, bhs, conn->pdu + part[0], get_be24(bhs->data_len));
	}
}

/* ---- What it sends. */

static void check_data(
	struct known *known, const struct iscsi_data_out *pdu, const uint8_t *data, uint32_t len)
{
	struct out *out = known->out;

	while (out->itt != get_be32(pdu->itt))
		assert(++out < known->out + known->outs);
	assert(out->begun && get_be32(pdu->ttt) == out->burst[0].ttt &&
		get_be32(pdu->datasn) == out->datasn++ && get_be32(pdu->offset) == out->at);
	assert(len && len <= out->burst[0].end - out->at &&
		!(pdu->flags & ISCSI_FINAL) == (out->at + len < out->burst[0].end));
	if (out->of) {
		assert(!memcmp(data, pattern(out->of) + out->at, len));
		out->of->owed -= len;
	}
	out->at += len;
	out->unsent++;
	if (out->at < out->burst[0].end)
		return;
	out->burst[0] = out->burst[1];
	out->bursts--;
	out->begun = false;
	out->datasn = 0;
	if (out->over)
		*out = known->out[--known->outs];
}

/* One of its Data-Outs has left. */
static void note_left(struct known *known, uint32_t itt)
{
	struct out *out = find_out(known, itt);

	if (out && !--out->unsent)
		out->begun = out->bursts;
}

static void begin_command(
	struct known *known, const struct iscsi_scsi_cmd *cmd, const uint8_t *data, uint32_t len)
{
	struct out *out = &known->out[known->outs - 1];

	out->at = len;
	assert(len <= out->len && (out->writes || !len));
	if (out->of) {
		assert(!memcmp(data, pattern(out->of), len));
		out->of->owed = out->len - len;
	}
	if (cmd->flags & ISCSI_FINAL)
		return;
	assert(out->writes && !target.initial_r2t);
	out->burst[0].ttt = ISCSI_NO_TAG;
	out->burst[0].end = out->len < target.first_burst ? out->len : target.first_burst;
	assert(out->at < out->burst[0].end);
	out->bursts = out->begun = 1;
}

/* When it is queued, as the initiator can't have acted on anything that it receives later; for as
 * long as nothing on the connection has broken a rule. */
static void queued(
	struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	struct conn *conn = &conn_of[pipe->number];
	struct known *known = &conn->known;

	assert(pipe->number < CONNS);
	if (!known->loop) {
		*conn = (struct conn){ .number = pipe->number };
		known->ordered = true;
		known->immediate = target.immediate;
		known->first_burst = target.first_burst;
		known_begin(known, pipe->stream.loop, pipe->statsn, pipe->max_cmdsn);
	}
	if (known->broken)
		return;
	check_pdu(known, bhs);
	if (ISCSI_OPCODE(bhs->opcode) == ISCSI_DATA_OUT)
		check_data(known, (const void *)bhs, data, len);
	else if (ISCSI_OPCODE(bhs->opcode) == ISCSI_SCSI_CMD)
		begin_command(known, (const void *)bhs, data, len);
}

/* ---- What the target sends. */

/* A PDU with numbers that are right, and fields of the input's choice. */
static void give_made(struct pipe *pipe, uint32_t itt)
{
	static const uint8_t opcodes[] = { ISCSI_NOP_IN, ISCSI_SCSI_RSP, ISCSI_TASK_RSP,
		ISCSI_DATA_IN, ISCSI_DATA_IN, ISCSI_R2T, ISCSI_R2T, ISCSI_ASYNC, ISCSI_REJECT,
		ISCSI_LOGOUT_RSP, ISCSI_TEXT_RSP, ISCSI_LOGIN_RSP };
	struct iscsi_data_in in = { .opcode = opcodes[script_byte(&script) % sizeof(opcodes)] };
	static uint8_t data[2048];
	uint8_t how = script_byte(&script);
	uint32_t len = how & 1 ? script_u16(&script) % sizeof(data) : 0;
	bool counts = in.opcode == ISCSI_NOP_IN    ? how & 4
		      : in.opcode == ISCSI_DATA_IN ? how & 8
						   : in.opcode != ISCSI_R2T;

	in.flags = (how & 2 ? ISCSI_FINAL : 0) | (counts ? ISCSI_STATUS : 0) |
		   (how >> 3 & (ISCSI_UNDERFLOW | ISCSI_OVERFLOW));
	in.status = how & 64 ? script_byte(&script) : 0;
	in.itt = put_be32(how & 4 ? itt : ISCSI_NO_TAG);
	in.ttt = put_be32(how & 128 ? script_byte(&script) : ISCSI_NO_TAG);
	put_numbers(pipe, &in, counts);
	in.offset = put_be32(how & 16 ? script_u16(&script) : 0);
	in.residual = put_be32(how & 32 ? script_u16(&script) : 0);
	if (in.opcode == ISCSI_ASYNC)
		in.datasn = put_be32((uint32_t)script_byte(&script) << 24);
	memset(data, 0, sizeof(data));
	script_bytes(&script, data, how & 32 ? 32 : 0);
	give(pipe, &in, data, len);
}

/* A request for the first half of the data, and at once one for the rest. */
static void split_r2t(struct pipe *pipe, struct iscsi_r2t *r2t)
{
	uint32_t all = get_be32(r2t->desired), itt = get_be32(r2t->itt);

	r2t->desired = put_be32(all / 2);
	give_r2t(pipe, itt, get_be32(r2t->ttt) + 1, get_be32(r2t->offset) + all / 2, all - all / 2);
}

/* Insert zeros behind the data. */
static void lengthen(struct pipe *pipe, uint8_t *pdu, const uint32_t len[3], uint32_t more)
{
	uint8_t *end = pdu + len[0] + len[1];

	if (more > PIPE_LEN - pipe->to)
		return;
	memmove(end + more, end, (size_t)(pipe->in + pipe->to - end));
	memset(end, 0, more);
	pipe->to += more;
	((struct iscsi_bhs *)(void *)pdu)->data_len = put_be24(len[1] + more);
}

/* Success in place of a request for data. */
static void end_early(struct pipe *pipe, struct iscsi_scsi_rsp *rsp)
{
	*rsp = (struct iscsi_scsi_rsp){
		.opcode = ISCSI_SCSI_RSP, .flags = ISCSI_FINAL, .itt = rsp->itt
	};
	put_numbers(pipe, rsp, true);
}

static void put_residual(struct iscsi_scsi_rsp *rsp, uint8_t value)
{
	rsp->flags |= value & 1 ? ISCSI_UNDERFLOW : ISCSI_OVERFLOW;
	rsp->residual = put_be32(1u + value / 2);
}

static void put_digest(uint8_t *digest, const uint8_t *p, uint32_t len)
{
	le32 crc = put_le32(crc32c(0, p, len));

	memcpy(digest, &crc, sizeof(crc));
}

/* One field of the PDU at `at`, its length, or a digest; or it is gone, or asks for data in two. */
static void spoil_pdu(struct pipe *pipe, uint32_t at, const struct known *known)
{
	static const struct {
		uint8_t at, len;
	} field[] = { { 1, 1 }, { 2, 1 }, { 3, 1 }, { 4, 1 }, { 16, 2 }, { 18, 2 }, { 20, 4 },
		{ 24, 4 }, { 32, 4 }, { 36, 4 }, { 40, 4 }, { 44, 4 } };
	enum {
		FIELDS = sizeof(field) / sizeof(field[0]),
		TAG = FIELDS,
		LENGTH,
		RESIDUAL,
		SPLIT,
		HEADER,
		DATA,
		GONE,
		KINDS
	};
	uint8_t kind = script_byte(&script) % KINDS, value = script_byte(&script),
		*pdu = pipe->in + at;
	struct iscsi_bhs *bhs = (void *)pdu;
	uint32_t len[3], whole;

	measure(pipe, pdu, len);
	if (kind < FIELDS)
		wire_put_be(pdu + field[kind].at, field[kind].len,
			wire_be(pdu + field[kind].at, field[kind].len) +
				(uint32_t)(value & 128 ? -(value & 127) : 1 + value));
	else if (kind == TAG)
		bhs->itt = put_be32(known->answered);
	else if (kind == LENGTH && len[1])
		lengthen(pipe, pdu, len, 4u + value % 16 * 4u);
	else if (kind == LENGTH && ISCSI_OPCODE(bhs->opcode) == ISCSI_R2T)
		end_early(pipe, (void *)pdu);
	else if (kind == RESIDUAL)
		put_residual((void *)pdu, value);
	else if (kind == SPLIT && ISCSI_OPCODE(bhs->opcode) == ISCSI_R2T)
		split_r2t(pipe, (void *)pdu);
	measure(pipe, pdu, len);
	whole = len[0] + len[1] + len[2];
	if (pipe->digest[0])
		put_digest(pdu + ISCSI_BHS, pdu, ISCSI_BHS);
	if (len[2])
		put_digest(pdu + len[0] + len[1], pdu + len[0], len[1]);
	if (kind == HEADER)
		pdu[len[0] - 1] ^= value | 1;
	if (kind == DATA && len[1])
		pdu[whole - 1 - value % (len[1] + len[2])] ^= value | 1;
	if (kind != GONE)
		return;
	memmove(pdu, pdu + whole, pipe->to - at - whole);
	pipe->to -= whole;
}

/* What has been given since, with one flaw in one PDU. */
static void give_flawed(struct pipe *pipe, uint32_t from, const struct known *known)
{
	uint32_t at = from, pdus = script_byte(&script) % 16, len[3];

	for (;;) {
		if (at == pipe->to)
			return;
		measure(pipe, pipe->in + at, len);
		if (!pdus-- || at + len[0] + len[1] + len[2] == pipe->to)
			break;
		at += len[0] + len[1] + len[2];
	}
	spoil_pdu(pipe, at, known);
}

static void keep(struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	delayed.when = script_byte(&script) & 3;
	delayed.pipe = pipe;
	delayed.bhs = *bhs;
	delayed.len = len;
	memcpy(delayed.data, data, len);
}

static void answer_delayed(struct pipe *pipe, bool is_due)
{
	if (!is_due || delayed.pipe != pipe)
		return;
	delayed.pipe = NULL;
	target_do(pipe, &delayed.bhs, delayed.data, delayed.len);
}

static void react(struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len,
	const struct known *known)
{
	uint32_t from = pipe->to, at;

	switch (script_next(&script)) {
	case SCRIPT_GOOD:
		target_do(pipe, bhs, data, len);
		break;
	case SCRIPT_CORRUPT:
		target_do(pipe, bhs, data, len);
		script_spoil(&script, pipe->in + from, pipe->to - from);
		break;
	case SCRIPT_RAW:
		if (PIPE_LEN - pipe->to > 256)
			pipe->to +=
				script_bytes(&script, pipe->in + pipe->to, script_byte(&script));
		break;
	case SCRIPT_SILENT:
		keep(pipe, bhs, data, len);
		break;
	case SCRIPT_TWICE:
		target_do(pipe, bhs, data, len);
		at = pipe->to - from;
		if (at > PIPE_LEN - pipe->to)
			break;
		memcpy(pipe->in + pipe->to, pipe->in + from, at);
		pipe->to += at;
		break;
	case SCRIPT_MADE:
		if (script_byte(&script) & 3) {
			target_do(pipe, bhs, data, len);
			give_flawed(pipe, from, known);
			break;
		}
		give_made(pipe, get_be32(bhs->itt));
		if (script_byte(&script) & 1)
			target_do(pipe, bhs, data, len);
		break;
	case SCRIPT_HANG_UP:
		hang_up(pipe);
		break;
	case SCRIPT_FILLED:
		target_do(pipe, bhs, data, len);
		at = from + ISCSI_BHS;
		if (pipe->to > at)
			script_fill(&script, pipe->in + at, pipe->to - at);
		break;
	}
}

static bool step(struct pipe *pipe, const struct iscsi_bhs *bhs, const uint8_t *data, uint32_t len)
{
	struct known *known = &conn_of[pipe->number].known;
	uint8_t opcode = ISCSI_OPCODE(bhs->opcode);
	bool aborts = opcode == ISCSI_TASK_REQ;

	/* What leaves late is neither another's data nor anything that a new session repeats. */
	assert(!len || !memchr(data, TAKEN, len));
	if (known->broken) {
		assert(opcode != ISCSI_SCSI_CMD && opcode != ISCSI_DATA_OUT);
		return false;
	}
	if (opcode == ISCSI_DATA_OUT)
		note_left(known, get_be32(bhs->itt));
	answer_delayed(pipe, delayed.when == 1 || (delayed.when == 2 && aborts));
	react(pipe, bhs, data, len, known);
	answer_delayed(pipe, delayed.when == 3 && aborts);
	return false;
}

static void run(void)
{
	static const char *const rests[] = { "/0", "", "/0?depth=1&hdr_digest=1&data_digest=1",
		"/0?data_digest=1" };
	uint8_t how = script_byte(&script), more = script_byte(&script);
	struct loop *loop;
	char text[200];

	snprintf(text, sizeof(text), "iscsi://10.0.0.1/iqn.x:t%s", rests[how & 3]);
	if (loop_new(&loop, &(struct loop_options){ .name = "fuzz" }, NULL))
		abort();
	target_begin(loop);
	target.digests = how & 2;
	target.initial_r2t = how & 4;
	target.immediate = how & 8;
	target.small = how & 16;
	target.split_status = how & 32;
	target.chunk = how & 64 ? 1 + more : 0;
	target.tpgs = !(how & 64) && more & 1;
	target.access = more >> 1 & 0xf;
	if (!(how & 64) && more > 247) { /* answers overtake data, in bursts of many PDUs */
		target.slow = more - 247u;
		target.recv = 2048;
	}
	if (how & 128) {
		target.r2t = target.piece = 1021;
		target.first_burst = target.max_burst = 1024;
		target.window = 2;
		target.recv = 4093;
	}
	target.lying = true;
	target.script = step;
	target.queued = queued;
	target.gave = gave;
	for (unsigned i = 0; i < CONNS; i++)
		conn_of[i].known.loop = NULL;
	delayed.pipe = NULL;
	use_disk(loop, text, PIPE_DISK);
	target_end(loop);
	loop_free(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!used) {
		leap_now = 1000000000;
		script = (struct script){ script_right, script_right + sizeof(script_right), 0 };
		run();
		assert(used);
	}
	leap_now = 1000000000;
	script = (struct script){ .p = data, .end = data + size };
	if (size >= 3)
		run();
	return 0;
}
