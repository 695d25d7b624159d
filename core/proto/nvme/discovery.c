/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read discovery logs (Base 2.1, 5.1.12.3.1) on the caller's loop: of one controller, then of those
 * it refers to, each once. Any number of discoveries may run concurrently. */
#include "grow.h"
#include "nvme.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define TRIES        5
#define FAILURES_MAX 16
#define CLOSE_MS     200
#define CONTROLLERS  256   /* most controllers to query */
#define ALL_MS       60000 /* default limit for all controllers together */
#define SPARE_MS     500 /* the controller's own deadlines come first and give the better reason */

struct nvmf_discovery_state {
	struct nvmf_discovery *discovery;
	struct loop *loop;
	struct nvme_conf first, conf; /* the controller of the URI, and the current one */
	bool owner;                   /* of their secrets */
	bool either;                  /* over TCP: try both ports of the first controller */
	struct diag refused;          /* why the first of these ports failed */
	char where[ADDR_TEXT];        /* address of that attempt */
	uint64_t until;               /* deadline for all; 0 = none */

	/* The current controller. `work` handles its end, outside of its upcalls. */
	struct nvme_ctrl ctrl;
	struct loop_work work;
	struct loop_timer timer;
	struct diag why;
	bool ending;
	uint8_t hops;

	/* Its log: as of the first header, and as of the last read. */
	struct nvme_req req;
	struct nvmf_log_info info, last;
	struct nvmf_record *record;
	uint64_t at;
	uint32_t part, parts, tries;
	enum { COUNT, RECORDS, RECOUNT } step;

	struct seen { /* controllers queried, or that failed */
		const struct nvme_carrier *carrier;
		char where[ADDR_TEXT];
	} * seen;
	unsigned seens, walked; /* walked: records checked for referrals */
};

static void expect_within(struct nvmf_discovery_state *state, uint32_t ms)
{
	uint64_t at = loop_clock() + ms * MSEC, end = state->until + SPARE_MS * MSEC;

	loop_timer_set(state->loop, &state->timer, state->until && end < at ? end : at);
}

/* ---- One controller. */

/* state->why is set unless the log is complete. */
static void disconnect(struct nvmf_discovery_state *state)
{
	struct diag closed = { 0 };

	state->ending = true;
	diag_set(&closed, DIAG_CLOSED, ECONNABORTED, "closed");
	expect_within(state, CLOSE_MS);
	nvme_ctrl_fail(&state->ctrl, &closed);
}

static void read_log(struct nvmf_discovery_state *state, uint64_t off, uint32_t len)
{
	uint32_t dwords = len / 4 - 1;
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_GET_LOG,
		.cdw10 = put_le32(NVME_LOG_DISCOVERY | dwords << 16),
		.cdw11 = put_le32(dwords >> 16),
		.cdw12 = put_le32((uint32_t)off),
		.cdw13 = put_le32((uint32_t)(off >> 32)) };

	expect_within(state, NVME_ADMIN_MS + SPARE_MS);
	nvme_ctrl_send(&state->ctrl, &state->req, &sqe, len);
}

static void count_records(struct nvmf_discovery_state *state, bool recount)
{
	state->step = recount ? RECOUNT : COUNT;
	read_log(state, 0, sizeof(struct nvmf_log_head));
}

static int parse_log_header(struct nvmf_discovery_state *state)
{
	struct nvmf_log_head head;

	nvme_ctrl_copy(&state->ctrl, 0, &head, sizeof(head));
	return nvmf_log_get(&state->last, &head, sizeof(head), &state->why);
}

static int begin_records(struct nvmf_discovery_state *state)
{
	uint64_t count = state->last.numrec;

	state->info = state->last;
	state->at = 0;
	state->parts = 0;
	free(state->record);
	state->record = calloc(count ? count : 1, sizeof(*state->record));
	return state->record ? 0
			     : diag_sys(&state->why, ENOMEM, "%llu discovery records",
				       (unsigned long long)count);
}

/* The log's header is followed by the first records, which are valid only with the generation read
 * before. */
static int parse_records(struct nvmf_discovery_state *state)
{
	struct nvmf_log_entry entry;
	uint32_t before = state->at ? 0 : sizeof(struct nvmf_log_head);
	int err = before ? parse_log_header(state) : 0;

	if (state->last.genctr != state->info.genctr)
		return err;
	for (uint32_t i = 0; !err && i < state->part; i++) {
		nvme_ctrl_copy(&state->ctrl, before + i * sizeof(entry), &entry, sizeof(entry));
		err = nvmf_record_get(
			&state->record[state->at + i], &entry, sizeof(entry), &state->why);
	}
	state->at += state->part;
	return err;
}

static void read_part(struct nvmf_discovery_state *state)
{
	const uint32_t each = sizeof(struct nvmf_log_entry);
	uint32_t most = nvme_ctrl_max_data(&state->ctrl), room;
	uint64_t at = state->at, left = state->info.numrec - at;

	_Static_assert(sizeof(struct nvmf_log_head) == sizeof(struct nvmf_log_entry),
		"the head takes the room of one record");
	most = (most < NVME_SCRATCH ? most : NVME_SCRATCH) / each;
	room = at ? most : most - 1;
	state->part = left < room ? (uint32_t)left : room;
	state->parts++;
	state->step = RECORDS;
	read_log(state, at ? (at + 1) * each : 0, (state->part + !at) * each);
}

/* The log is complete if its generation has not changed. */
static void continue_log(struct nvmf_discovery_state *state)
{
	bool same = state->last.genctr == state->info.genctr;

	if (state->step != RECOUNT && same && state->at < state->info.numrec) {
		read_part(state);
	} else if (state->step != RECOUNT && state->parts > 1) {
		count_records(state, true);
	} else if (same && state->last.numrec == state->info.numrec) {
		disconnect(state);
	} else if (++state->tries == TRIES) {
		diag_set(&state->why, DIAG_BUSY, EAGAIN,
			"the discovery log changed %d times while it was read", TRIES);
		disconnect(state);
	} else if (begin_records(state)) {
		disconnect(state);
	} else {
		state->step = COUNT;
		continue_log(state);
	}
}

static void replied(struct nvme_req *req, const struct nvme_cqe *cqe)
{
	struct nvmf_discovery_state *state = container_of(req, struct nvmf_discovery_state, req);
	int err;

	if (!cqe || state->ending) /* ctrl_down() follows */
		return;
	err = nvme_check(req, cqe, &state->why);
	if (!err)
		err = state->step == RECORDS ? parse_records(state) : parse_log_header(state);
	if (!err && state->step == COUNT)
		err = begin_records(state);
	if (err)
		disconnect(state);
	else
		continue_log(state);
}

static void ctrl_up(struct nvme_ctrl *ctrl)
{
	struct nvmf_discovery_state *state = container_of(ctrl, struct nvmf_discovery_state, ctrl);

	state->req = (struct nvme_req){ replied, "get discovery log page" };
	if (!state->ending)
		count_records(state, false);
}

static void ctrl_down(struct nvme_ctrl *ctrl)
{
	struct nvmf_discovery_state *state = container_of(ctrl, struct nvmf_discovery_state, ctrl);

	if (!state->ending)
		state->why = ctrl->why;
	state->ending = true;
	loop_work_add(state->loop, &state->work);
}

static void on_timer(struct loop_timer *timer)
{
	struct nvmf_discovery_state *state =
		container_of(timer, struct nvmf_discovery_state, timer);

	if (state->ending) {
		loop_work_add(state->loop, &state->work);
		return;
	}
	diag_set(&state->why, DIAG_TIMEOUT, ETIMEDOUT, "%s: no answer in time",
		state->req.what ? state->req.what : nvme_step_name(state->ctrl.step));
	if (state->ctrl.step == STEP_IDENTIFY || state->ctrl.step == STEP_UP)
		diag_hint_mtu(&state->why, state->conf.host);
	disconnect(state);
}

/* Query the controller of state->conf. */
static void query_controller(struct nvmf_discovery_state *state, uint8_t hops)
{
	static const struct nvme_ctrl_events events = { .up = ctrl_up, .down = ctrl_down };
	struct nvme_conf *conf = &state->conf;

	state->hops = hops;
	state->ending = false;
	state->tries = 0;
	state->why = (struct diag){ 0 };
	state->req = (struct nvme_req){ 0 };
	state->ctrl = (struct nvme_ctrl){ .conf = *conf };
	if (nvme_ctrl_open(&state->ctrl, state->loop, true, 1, &events, &state->why)) {
		state->ctrl.loop = NULL;
		loop_work_add(state->loop, &state->work);
	} else if (conf->timeout_ms) {
		expect_within(state, conf->timeout_ms + SPARE_MS);
	}
}

/* ---- Selecting controllers. */

/* last: the search ends with it, which has to be known however many there were. */
static void add_failure(
	struct nvmf_log *log, const struct nvmf_record *record, const struct diag *why, bool last)
{
	struct nvmf_failure *more =
		log->failures < FAILURES_MAX || last ? grow(log->failure, log->failures) : NULL;
	uint64_t port = 0;
	char scheme[32];

	if (!more)
		return;
	more->why = *why;
	snprintf(scheme, sizeof(scheme), "nvme+%s", nvmf_trtype_str(record->trtype));
	parse_u64(record->trsvcid, 1, 65535, &port, NULL);
	uri_start(more->uri, scheme, record->traddr, (unsigned)port);
}

/* Base 2.1, 5.1.12.3.1: TRADDR is numeric in its address family, never a name, so that a log can't
 * make us query name servers. */
static bool is_numeric(const char *traddr)
{
	char text[sizeof(((struct nvmf_record *)0)->traddr)];
	struct in6_addr in6;

	snprintf(text, sizeof(text), "%s", traddr);
	text[strcspn(text, "%")] = 0;
	return inet_pton(AF_INET, traddr, &in6) == 1 || inet_pton(AF_INET6, text, &in6) == 1;
}

/* Set the address of a referral. */
static int referred(struct nvme_conf *conf, const struct nvmf_record *record, struct diag *diag)
{
	uint64_t port;
	int err;

	if (record->trtype == NVMF_TRTYPE_RDMA)
		conf->carrier = &nvme_rdma;
	else if (record->trtype == NVMF_TRTYPE_TCP)
		conf->carrier = &nvme_tcp;
	else
		return diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP, "transport %s is not supported",
			nvmf_trtype_str(record->trtype));
	if (!is_numeric(record->traddr))
		return diag_set(
			diag, DIAG_PROTOCOL, EPROTO, "invalid address '%s'", record->traddr);
	if (parse_u64(record->trsvcid, 1, 65535, &port, NULL))
		return diag_set(diag, DIAG_PROTOCOL, EPROTO,
			"invalid port '%s': must be 1 to 65535", record->trsvcid);
	err = nvme_conf_host(conf, record->traddr, (uint16_t)port, diag);
	if (err)
		return err;
	snprintf(conf->subnqn, sizeof(conf->subnqn), "%s",
		record->subnqn[0] ? record->subnqn : NVMF_DISCOVERY_NQN);
	return 0;
}

static bool is_queried(const struct nvmf_discovery_state *state, const struct nvme_conf *conf)
{
	for (unsigned i = 0; i < state->seens; i++)
		if (state->seen[i].carrier == conf->carrier &&
			!strcmp(state->seen[i].where, conf->where))
			return true;
	return false;
}

static int add_queried(
	struct nvmf_discovery_state *state, const struct nvme_conf *conf, struct diag *why)
{
	struct seen *seen;

	if (state->seens >= CONTROLLERS)
		return diag_set(why, DIAG_PROTOCOL, EPROTO,
			"not queried: more than %d discovery controllers", CONTROLLERS);
	seen = grow(state->seen, state->seens);
	if (!seen)
		return diag_sys(why, ENOMEM, "discovery controllers");
	seen->carrier = conf->carrier;
	memcpy(seen->where, conf->where, sizeof(seen->where));
	return 0;
}

/* Limit the time for one controller to the remaining time for all. Return false if it is over. */
static bool limit_time(struct nvme_conf *conf, uint64_t until, struct diag *why)
{
	uint64_t now = loop_clock(), left = until > now ? (until - now) / MSEC : 0;

	if (!until)
		return true;
	if (!conf->timeout_ms || left < conf->timeout_ms)
		conf->timeout_ms = (uint32_t)left;
	if (!left)
		diag_set(why, DIAG_TIMEOUT, ETIMEDOUT, "not queried: no time left");
	return left;
}

static void drop(struct nvmf_discovery_state *state)
{
	nvme_ctrl_fini(&state->ctrl);
	loop_work_del(state->loop, &state->work);
	loop_timer_del(state->loop, &state->timer);
	state->discovery->state = NULL;
	free(state->record);
	free(state->seen);
	if (state->owner)
		nvme_conf_fini(&state->first);
	free(state);
}

static void finish_discovery(struct nvmf_discovery_state *state)
{
	struct nvmf_discovery *discovery = state->discovery;

	drop(state);
	discovery->done(discovery);
}

/* Query the next referral. Records are appended while walking; those of a referral are one hop
 * further. */
static void follow(struct nvmf_discovery_state *state)
{
	const struct nvmf_discovery *discovery = state->discovery;
	struct nvmf_log *log = &state->discovery->log;

	while (discovery->referrals && state->walked < log->count) {
		const struct nvmf_record record = log->record[state->walked++];
		struct diag why = { 0 };

		if (record.subtype != NVMF_SUBTYPE_REFERRAL || record.hops >= discovery->max_hops)
			continue;
		state->conf = state->first;
		if (referred(&state->conf, &record, &why)) {
			add_failure(log, &record, &why, false);
			continue;
		}
		if (is_queried(state, &state->conf))
			continue;
		if (!limit_time(&state->conf, state->until, &why) ||
			add_queried(
				state, &state->conf, &why)) { /* nor may another one be queried */
			add_failure(log, &record, &why, true);
			break;
		}
		query_controller(state, (uint8_t)(record.hops + 1));
		return;
	}
	finish_discovery(state);
}

static void localize(struct nvmf_record *record, const struct addr *via)
{
	if (record->trtype != NVMF_TRTYPE_RDMA && record->trtype != NVMF_TRTYPE_TCP)
		return;
	addr_localize(record->traddr, sizeof(record->traddr), via);
	if (is_numeric(record->traddr))
		record->adrfam = strchr(record->traddr, ':') ? NVMF_ADRFAM_IP6 : NVMF_ADRFAM_IP4;
}

static int keep_records(struct nvmf_discovery_state *state)
{
	struct nvmf_log *log = &state->discovery->log;
	uint64_t more = state->info.numrec;
	struct nvmf_record *to;

	if (log->count + more > NVMF_LOG_RECORDS)
		return diag_set(&state->why, DIAG_PROTOCOL, EPROTO,
			"too many discovery records: more than %u with those of other controllers",
			(unsigned)NVMF_LOG_RECORDS);
	to = more ? grow_by(log->record, log->count, more) : NULL;
	if (more && !to)
		return diag_sys(&state->why, ENOMEM, "discovery records");
	if (!state->hops)
		log->genctr = state->info.genctr;
	for (uint64_t i = 0; i < more; i++) {
		to[i] = state->record[i];
		to[i].hops = state->hops;
		localize(&to[i], &state->conf.dst);
	}
	return 0;
}

static int neither(const struct nvme_conf *conf, const char *where, const struct diag *first,
	const struct diag *second, struct diag *diag)
{
	if (first->code == DIAG_REFUSED && second->code == DIAG_REFUSED) {
		diag_set(diag, DIAG_REFUSED, second->err,
			"connection refused at TCP ports %u and %u: " DIAG_NO_LISTENER,
			NVMF_DISCOVERY_PORT, NVMF_PORT);
		return diag_ctx(diag, "%s", conf->host);
	}
	diag_set(diag, second->code, second->err, "%.200s; port %u: %.200s", first->text, NVMF_PORT,
		second->text);
	return diag_ctx(diag, "%s", where);
}

/* The first controller has failed. TCP without a port: try the discovery port, then the I/O port.
 * True: the other port is being queried now. */
static bool query_other_port(struct nvmf_discovery_state *state, struct diag *why)
{
	struct nvme_conf *conf = &state->conf;

	if (!state->either) {
		if (state->refused.err && conf->dst.ss.ss_family) {
			const struct diag second = *why;

			neither(conf, state->where, &state->refused, &second, why);
		}
		return false;
	}
	state->either = false;
	/* the host name will not resolve for the other port, either */
	if (!conf->dst.ss.ss_family && why->code != DIAG_TIMEOUT)
		return false;
	state->refused = *why;
	memcpy(state->where, conf->where, sizeof(state->where));
	conf->timeout_ms = state->first.timeout_ms;
	conf->port = NVMF_PORT;
	if (conf->dst.ss.ss_family) {
		addr_set_port(&conf->dst, NVMF_PORT);
		addr_text(&conf->dst, conf->where);
	}
	query_controller(state, 0);
	return true;
}

static void controller_done(struct loop_work *work)
{
	struct nvmf_discovery_state *state = container_of(work, struct nvmf_discovery_state, work);
	struct nvmf_discovery *discovery = state->discovery;
	struct nvme_conf *conf = &state->conf;
	struct diag *why = &state->why;

	loop_timer_del(state->loop, &state->timer);
	conf->dst = state->ctrl.conf.dst;
	memcpy(conf->where, state->ctrl.conf.where, sizeof(conf->where));
	nvme_ctrl_fini(&state->ctrl);
	state->ctrl.loop = NULL;
	if (why->err || keep_records(state))
		diag_ctx(why, "%s", conf->where);
	if (state->hops) {
		if (why->err)
			add_failure(&discovery->log, &discovery->log.record[state->walked - 1], why,
				false);
		follow(state);
	} else if (!why->err) {
		state->first = *conf;
		add_queried(state, conf, why);
		follow(state);
	} else if (!query_other_port(state, why)) {
		discovery->why = *why;
		finish_discovery(state);
	}
}

/* TCP has a separate port for discovery; without a given port both are tried. */
static bool has_two_ports(const struct uri *uri)
{
	return !uri->port && !strcmp(uri->scheme, "nvme+tcp");
}

static int conf_init(struct nvme_conf *conf, struct uri *uri, const struct bdev_env *env,
	const char *nqn, struct diag *diag)
{
	int err = nvme_conf_init(
		conf, uri, env, has_two_ports(uri) ? NVMF_DISCOVERY_PORT : NVMF_PORT, diag);

	if (!err)
		err = nvme_conf_secrets(conf, uri, diag);
	conf->kato_ms = 0;
	snprintf(conf->subnqn, sizeof(conf->subnqn), "%s", nqn[0] ? nqn : NVMF_DISCOVERY_NQN);
	return err;
}

/* Both ports share the time of one attempt. If there is no limit, the first has the default one. */
static int start(struct nvmf_discovery *discovery, struct loop *loop, const struct nvme_conf *conf,
	bool either, uint64_t until, struct diag *diag)
{
	struct nvmf_discovery_state *state = calloc(1, sizeof(*state));

	if (!state)
		return diag_sys(diag, ENOMEM, "discovery");
	state->discovery = discovery;
	state->loop = loop;
	state->first = state->conf = *conf;
	state->either = either;
	state->until = until;
	state->work.run = controller_done;
	state->timer.fire = on_timer;
	if (either) {
		uint32_t ms = conf->timeout_ms ? conf->timeout_ms / 2 + 1 : 0;

		state->first.timeout_ms = ms;
		state->conf.timeout_ms = ms ? ms : BDEV_TIMEOUT_MS;
	}
	discovery->state = state;
	nvmf_log_free(&discovery->log);
	discovery->why = (struct diag){ 0 };
	query_controller(state, 0);
	return 0;
}

int nvme_discovery_start(struct nvmf_discovery *discovery, struct loop *loop,
	const struct nvme_conf *of, uint64_t until, struct diag *diag)
{
	bool either = of->carrier == &nvme_tcp && of->port == NVMF_PORT;
	struct nvme_conf conf = *of;

	conf.kato_ms = 0;
	conf.tls_optional = conf.psk;
	snprintf(conf.subnqn, sizeof(conf.subnqn), "%s", NVMF_DISCOVERY_NQN);
	if (either) {
		conf.port = NVMF_DISCOVERY_PORT;
		addr_set_port(&conf.dst, conf.port);
		addr_text(&conf.dst, conf.where);
	}
	return start(discovery, loop, &conf, either, until, diag);
}

/* A peer may refer to many controllers, and each may delay every answer. */
static uint64_t total_deadline(uint32_t all_ms, uint32_t each_ms)
{
	if (all_ms == BDEV_NEVER || each_ms == BDEV_NEVER)
		return 0;
	return loop_clock() + (all_ms ? all_ms : ALL_MS + (uint64_t)each_ms) * MSEC;
}

int nvmf_discovery_start(struct nvmf_discovery *discovery, struct loop *loop, struct uri *uri,
	const struct bdev_env *env, struct diag *diag)
{
	struct bdev_env mine = *env;
	struct nvme_conf conf = { 0 };
	int err = uri_msec(uri, "timeout", &mine.timeout_ms, diag);

	if (!err)
		err = conf_init(&conf, uri, &mine, uri->path, diag);
	if (!err)
		err = uri_done(uri, diag);
	if (!err && strlen(uri->path) > NVMF_NQN_MAX)
		err = diag_set(diag, DIAG_USAGE, EINVAL, "invalid NQN: must be at most %u bytes",
			NVMF_NQN_MAX);
	err = err ? diag_ctx(diag, "%s", uri->spelling)
		  : start(discovery, loop, &conf, has_two_ports(uri),
			    total_deadline(env->timeout_ms, mine.timeout_ms), diag);
	if (err)
		nvme_conf_fini(&conf);
	else
		discovery->state->owner = true;
	return err;
}

void nvmf_discovery_cancel(struct nvmf_discovery *discovery)
{
	if (discovery->state)
		drop(discovery->state);
}

void nvmf_log_free(struct nvmf_log *log)
{
	free(log->record);
	free(log->failure);
	*log = (struct nvmf_log){ 0 };
}

bool nvmf_record_uri(const struct nvmf_record *record, char uri[URI_MAX])
{
	uint64_t port;

	if (record->subtype != NVMF_SUBTYPE_NVME || !record->subnqn[0] ||
		!is_numeric(record->traddr) || parse_u64(record->trsvcid, 1, 65535, &port, NULL) ||
		(record->trtype != NVMF_TRTYPE_RDMA && record->trtype != NVMF_TRTYPE_TCP))
		return false;
	uri_start(uri, record->trtype == NVMF_TRTYPE_RDMA ? "nvme+rdma" : "nvme+tcp",
		record->traddr, (unsigned)port);
	uri_add_name(uri, record->subnqn);
	return true;
}

static uint8_t trtype_of(const struct uri *uri)
{
	return strcmp(uri->scheme, "nvme+tcp") ? NVMF_TRTYPE_RDMA : NVMF_TRTYPE_TCP;
}

void nvmf_record_add_keys(
	const struct nvmf_record *record, char text[URI_MAX], struct uri *controller)
{
	static const char *const keys[] = { "rdma", "crc", "dev", "src", "iface", "hostnqn",
		"dhchap-secret-file", "dhchap-ctrl-secret-file", "tls-key-file", "concat", NULL };

	if (record->trtype == trtype_of(controller))
		uri_add_keys(text, controller, keys);
}

struct awaited {
	struct nvmf_discovery discovery;
	volatile int finished;
};

static void awaited(struct nvmf_discovery *discovery)
{
	container_of(discovery, struct awaited, discovery)->finished = 1;
}

/* List only what the URI's transport reaches. Keys for a disk are ignored; the caller has handled
 * the timeout. */
int nvme_discover(struct loop *loop, struct uri *uri, const struct bdev_env *env,
	void (*found)(const char *uri, void *user), void *user, struct diag *diag)
{
	uint8_t trtype = trtype_of(uri);
	struct awaited wait = { .discovery.done = awaited };
	struct nvmf_log *log = &wait.discovery.log;
	struct nvme_conf conf;
	int err = conf_init(&conf, uri, env, "", diag);

	if (!err)
		err = start(&wait.discovery, loop, &conf, has_two_ports(uri),
			total_deadline(
				env->timeout_ms == BDEV_NEVER ? BDEV_NEVER : 0, env->timeout_ms),
			diag);
	if (!err)
		loop_wait(loop, &wait.finished, 0);
	nvme_conf_fini(&conf);
	if (err)
		return err;
	for (unsigned i = 0; i < log->count; i++) {
		const struct nvmf_record *record = &log->record[i];
		char text[URI_MAX];

		if (record->trtype != trtype || !nvmf_record_uri(record, text))
			continue;
		nvmf_record_add_keys(record, text, uri);
		found(text, user);
	}
	nvmf_log_free(log);
	if (wait.discovery.why.err && diag)
		*diag = wait.discovery.why;
	return -wait.discovery.why.err;
}
