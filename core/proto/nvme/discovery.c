/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read discovery logs (Base 2.1, 5.1.12.3.1) on the caller's loop: of one controller, then of those
 * it refers to, each once. Any number of discoveries may run concurrently. */
#include "grow.h"
#include "nvme.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MSEC        1000000ull
#define TRIES       5
#define TROUBLES    16
#define CLOSE_MS    200
#define CONTROLLERS 256   /* most controllers to query */
#define ALL_MS      60000 /* default limit for all controllers together */
#define SPARE_MS    500   /* the controller's own deadlines come first and give the better reason */

struct nvmf_asking {
	struct nvmf_discovery *discovery;
	struct loop *loop;
	struct nvme_conf first, conf; /* the controller of the URI, and the current one */
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

static void expect_within(struct nvmf_asking *asking, uint32_t ms)
{
	uint64_t at = loop_clock() + ms * MSEC, end = asking->until + SPARE_MS * MSEC;

	loop_timer_set(asking->loop, &asking->timer, asking->until && end < at ? end : at);
}

/* ---- One controller. */

/* asking->why is set unless the log is complete. */
static void hang_up(struct nvmf_asking *asking)
{
	struct diag closed = { 0 };

	asking->ending = true;
	diag_set(&closed, DIAG_CLOSED, ECONNABORTED, "closed");
	expect_within(asking, CLOSE_MS);
	nvme_ctrl_fail(&asking->ctrl, &closed);
}

static void read_log(struct nvmf_asking *asking, uint64_t off, uint32_t len)
{
	uint32_t dwords = len / 4 - 1;
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_GET_LOG,
		.cdw10 = put_le32(NVME_LOG_DISCOVERY | dwords << 16),
		.cdw11 = put_le32(dwords >> 16),
		.cdw12 = put_le32((uint32_t)off),
		.cdw13 = put_le32((uint32_t)(off >> 32)) };

	expect_within(asking, NVME_ADMIN_MS + SPARE_MS);
	nvme_ctrl_send(&asking->ctrl, &asking->req, &sqe, len);
}

static void count_records(struct nvmf_asking *asking, bool again)
{
	asking->step = again ? RECOUNT : COUNT;
	read_log(asking, 0, sizeof(struct nvmf_log_head));
}

static int take_head(struct nvmf_asking *asking)
{
	struct nvmf_log_head head;

	nvme_ctrl_take(&asking->ctrl, 0, &head, sizeof(head));
	return nvmf_log_get(&asking->last, &head, sizeof(head), &asking->why);
}

static int begin_records(struct nvmf_asking *asking)
{
	uint64_t count = asking->last.numrec;

	asking->info = asking->last;
	asking->at = 0;
	asking->parts = 0;
	free(asking->record);
	asking->record = calloc(count ? count : 1, sizeof(*asking->record));
	return asking->record ? 0
			      : diag_sys(&asking->why, ENOMEM, "%llu discovery records",
					(unsigned long long)count);
}

/* The log's header is followed by the first records, which are valid only with the generation read
 * before. */
static int take_part(struct nvmf_asking *asking)
{
	struct nvmf_log_entry entry;
	uint32_t before = asking->at ? 0 : sizeof(struct nvmf_log_head);
	int err = before ? take_head(asking) : 0;

	if (asking->last.genctr != asking->info.genctr)
		return err;
	for (uint32_t i = 0; !err && i < asking->part; i++) {
		nvme_ctrl_take(&asking->ctrl, before + i * sizeof(entry), &entry, sizeof(entry));
		err = nvmf_record_get(
			&asking->record[asking->at + i], &entry, sizeof(entry), &asking->why);
	}
	asking->at += asking->part;
	return err;
}

static void read_part(struct nvmf_asking *asking)
{
	const uint32_t each = sizeof(struct nvmf_log_entry);
	uint32_t most = nvme_ctrl_max_data(&asking->ctrl), room;
	uint64_t at = asking->at, left = asking->info.numrec - at;

	_Static_assert(sizeof(struct nvmf_log_head) == sizeof(struct nvmf_log_entry),
		"the head takes the room of one record");
	most = (most < NVME_SCRATCH ? most : NVME_SCRATCH) / each;
	room = at ? most : most - 1;
	asking->part = left < room ? (uint32_t)left : room;
	asking->parts++;
	asking->step = RECORDS;
	read_log(asking, at ? (at + 1) * each : 0, (asking->part + !at) * each);
}

/* The log is complete if its generation has not changed. */
static void read_on(struct nvmf_asking *asking)
{
	bool same = asking->last.genctr == asking->info.genctr;

	if (asking->step != RECOUNT && same && asking->at < asking->info.numrec) {
		read_part(asking);
	} else if (asking->step != RECOUNT && asking->parts > 1) {
		count_records(asking, true);
	} else if (same && asking->last.numrec == asking->info.numrec) {
		hang_up(asking);
	} else if (++asking->tries == TRIES) {
		diag_set(&asking->why, DIAG_BUSY, EAGAIN,
			"the discovery log changed %d times while it was read", TRIES);
		hang_up(asking);
	} else if (begin_records(asking)) {
		hang_up(asking);
	} else {
		asking->step = COUNT;
		read_on(asking);
	}
}

static void replied(struct nvme_req *req, const struct nvme_cqe *cqe)
{
	struct nvmf_asking *asking = container_of(req, struct nvmf_asking, req);
	int err;

	if (!cqe || asking->ending) /* ctrl_down() follows */
		return;
	err = nvme_check(req, cqe, &asking->why);
	if (!err)
		err = asking->step == RECORDS ? take_part(asking) : take_head(asking);
	if (!err && asking->step == COUNT)
		err = begin_records(asking);
	if (err)
		hang_up(asking);
	else
		read_on(asking);
}

static void ctrl_up(struct nvme_ctrl *ctrl)
{
	struct nvmf_asking *asking = container_of(ctrl, struct nvmf_asking, ctrl);

	asking->req = (struct nvme_req){ replied, "get discovery log page" };
	if (!asking->ending)
		count_records(asking, false);
}

static void ctrl_down(struct nvme_ctrl *ctrl)
{
	struct nvmf_asking *asking = container_of(ctrl, struct nvmf_asking, ctrl);

	if (!asking->ending)
		asking->why = ctrl->why;
	asking->ending = true;
	loop_work_add(asking->loop, &asking->work);
}

static void late(struct loop_timer *timer)
{
	struct nvmf_asking *asking = container_of(timer, struct nvmf_asking, timer);

	if (asking->ending) {
		loop_work_add(asking->loop, &asking->work);
		return;
	}
	diag_set(&asking->why, DIAG_TIMEOUT, ETIMEDOUT, "%s: no answer in time",
		asking->req.what ? asking->req.what : nvme_step_word(asking->ctrl.step));
	if (asking->ctrl.step == STEP_IDENTIFY || asking->ctrl.step == STEP_UP)
		diag_hint_mtu(&asking->why, asking->conf.host);
	hang_up(asking);
}

/* Query the controller of asking->conf. */
static void ask_controller(struct nvmf_asking *asking, uint8_t hops)
{
	static const struct nvme_ctrl_events events = { .up = ctrl_up, .down = ctrl_down };
	struct nvme_conf *conf = &asking->conf;

	asking->hops = hops;
	asking->ending = false;
	asking->tries = 0;
	asking->why = (struct diag){ 0 };
	asking->req = (struct nvme_req){ 0 };
	asking->ctrl = (struct nvme_ctrl){ .conf = *conf };
	if (nvme_ctrl_open(&asking->ctrl, asking->loop, true, 1, &events, &asking->why)) {
		asking->ctrl.loop = NULL;
		loop_work_add(asking->loop, &asking->work);
	} else if (conf->timeout_ms) {
		expect_within(asking, conf->timeout_ms + SPARE_MS);
	}
}

/* ---- Selecting controllers. */

/* last: the search ends with it, which has to be known however many there were. */
static void trouble(
	struct nvmf_log *log, const struct nvmf_record *record, const struct diag *why, bool last)
{
	bool v6 = strchr(record->traddr, ':');
	struct nvmf_trouble *more =
		log->troubles < TROUBLES || last ? grow(log->trouble, log->troubles) : NULL;

	if (!more)
		return;
	more->why = *why;
	snprintf(more->uri, sizeof(more->uri), "nvme+%s://%s%.200s%s:%s",
		nvmf_trtype_word(record->trtype), v6 ? "[" : "", record->traddr, v6 ? "]" : "",
		record->trsvcid);
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
			nvmf_trtype_word(record->trtype));
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

static bool seen_before(const struct nvmf_asking *asking, const struct nvme_conf *conf)
{
	for (unsigned i = 0; i < asking->seens; i++)
		if (asking->seen[i].carrier == conf->carrier &&
			!strcmp(asking->seen[i].where, conf->where))
			return true;
	return false;
}

static int see(struct nvmf_asking *asking, const struct nvme_conf *conf, struct diag *why)
{
	struct seen *seen;

	if (asking->seens >= CONTROLLERS)
		return diag_set(why, DIAG_PROTOCOL, EPROTO,
			"not queried: more than %d discovery controllers", CONTROLLERS);
	seen = grow(asking->seen, asking->seens);
	if (!seen)
		return diag_sys(why, ENOMEM, "discovery controllers");
	seen->carrier = conf->carrier;
	memcpy(seen->where, conf->where, sizeof(seen->where));
	return 0;
}

/* Limit the time for one controller to what is left for all. False: none is left. */
static bool in_time(struct nvme_conf *conf, uint64_t until, struct diag *why)
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

static void drop(struct nvmf_asking *asking)
{
	nvme_ctrl_fini(&asking->ctrl);
	loop_work_del(asking->loop, &asking->work);
	loop_timer_del(asking->loop, &asking->timer);
	asking->discovery->asking = NULL;
	free(asking->record);
	free(asking->seen);
	free(asking);
}

static void finish_asking(struct nvmf_asking *asking)
{
	struct nvmf_discovery *discovery = asking->discovery;

	drop(asking);
	discovery->done(discovery);
}

/* Query the next referral. Records are appended while walking; those of a referral are one hop
 * further. */
static void follow(struct nvmf_asking *asking)
{
	const struct nvmf_discovery *discovery = asking->discovery;
	struct nvmf_log *log = &asking->discovery->log;

	while (discovery->referrals && asking->walked < log->count) {
		const struct nvmf_record record = log->record[asking->walked++];
		struct diag why = { 0 };

		if (record.subtype != NVMF_SUBTYPE_REFERRAL || record.hops >= discovery->max_hops)
			continue;
		asking->conf = asking->first;
		if (referred(&asking->conf, &record, &why)) {
			trouble(log, &record, &why, false);
			continue;
		}
		if (seen_before(asking, &asking->conf))
			continue;
		if (!in_time(&asking->conf, asking->until, &why) ||
			see(asking, &asking->conf, &why)) { /* nor may another one be queried */
			trouble(log, &record, &why, true);
			break;
		}
		ask_controller(asking, (uint8_t)(record.hops + 1));
		return;
	}
	finish_asking(asking);
}

static void localize(struct nvmf_record *record, const struct addr *via)
{
	if (record->trtype != NVMF_TRTYPE_RDMA && record->trtype != NVMF_TRTYPE_TCP)
		return;
	addr_localize(record->traddr, sizeof(record->traddr), via);
	if (is_numeric(record->traddr))
		record->adrfam = strchr(record->traddr, ':') ? NVMF_ADRFAM_IP6 : NVMF_ADRFAM_IP4;
}

static int keep_records(struct nvmf_asking *asking)
{
	struct nvmf_log *log = &asking->discovery->log;
	uint64_t more = asking->info.numrec;
	struct nvmf_record *to;

	if (log->count + more > NVMF_LOG_RECORDS)
		return diag_set(&asking->why, DIAG_PROTOCOL, EPROTO,
			"too many discovery records: more than %u with those of other controllers",
			(unsigned)NVMF_LOG_RECORDS);
	to = more ? grow_by(log->record, log->count, more) : NULL;
	if (more && !to)
		return diag_sys(&asking->why, ENOMEM, "discovery records");
	if (!asking->hops)
		log->genctr = asking->info.genctr;
	for (uint64_t i = 0; i < more; i++) {
		to[i] = asking->record[i];
		to[i].hops = asking->hops;
		localize(&to[i], &asking->conf.dst);
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
static bool asks_other_port(struct nvmf_asking *asking, struct diag *why)
{
	struct nvme_conf *conf = &asking->conf;

	if (!asking->either) {
		if (asking->refused.err && conf->dst.ss.ss_family) {
			const struct diag second = *why;

			neither(conf, asking->where, &asking->refused, &second, why);
		}
		return false;
	}
	asking->either = false;
	/* the host name will not resolve for the other port, either */
	if (!conf->dst.ss.ss_family && why->code != DIAG_TIMEOUT)
		return false;
	asking->refused = *why;
	memcpy(asking->where, conf->where, sizeof(asking->where));
	conf->timeout_ms = asking->first.timeout_ms;
	conf->port = NVMF_PORT;
	if (conf->dst.ss.ss_family) {
		addr_set_port(&conf->dst, NVMF_PORT);
		addr_text(&conf->dst, conf->where);
	}
	ask_controller(asking, 0);
	return true;
}

static void asked(struct loop_work *work)
{
	struct nvmf_asking *asking = container_of(work, struct nvmf_asking, work);
	struct nvmf_discovery *discovery = asking->discovery;
	struct nvme_conf *conf = &asking->conf;
	struct diag *why = &asking->why;

	loop_timer_del(asking->loop, &asking->timer);
	conf->dst = asking->ctrl.conf.dst;
	memcpy(conf->where, asking->ctrl.conf.where, sizeof(conf->where));
	nvme_ctrl_fini(&asking->ctrl);
	asking->ctrl.loop = NULL;
	if (why->err || keep_records(asking))
		diag_ctx(why, "%s", conf->where);
	if (asking->hops) {
		if (why->err)
			trouble(&discovery->log, &discovery->log.record[asking->walked - 1], why,
				false);
		follow(asking);
	} else if (!why->err) {
		asking->first = *conf;
		see(asking, conf, why);
		follow(asking);
	} else if (!asks_other_port(asking, why)) {
		discovery->why = *why;
		finish_asking(asking);
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

	conf->kato_ms = 0;
	snprintf(conf->subnqn, sizeof(conf->subnqn), "%s", nqn[0] ? nqn : NVMF_DISCOVERY_NQN);
	return err;
}

/* Both ports share the time of one attempt. If there is no limit, the first has the default one. */
static int start(struct nvmf_discovery *discovery, struct loop *loop, const struct nvme_conf *conf,
	bool either, uint64_t until, struct diag *diag)
{
	struct nvmf_asking *asking = calloc(1, sizeof(*asking));

	if (!asking)
		return diag_sys(diag, ENOMEM, "discovery");
	asking->discovery = discovery;
	asking->loop = loop;
	asking->first = asking->conf = *conf;
	asking->either = either;
	asking->until = until;
	asking->work.run = asked;
	asking->timer.fire = late;
	if (either) {
		uint32_t ms = conf->timeout_ms ? conf->timeout_ms / 2 + 1 : 0;

		asking->first.timeout_ms = ms;
		asking->conf.timeout_ms = ms ? ms : BDEV_TIMEOUT_MS;
	}
	discovery->asking = asking;
	nvmf_log_free(&discovery->log);
	discovery->why = (struct diag){ 0 };
	ask_controller(asking, 0);
	return 0;
}

/* A peer may refer to many controllers, and each may delay every answer. */
static uint64_t end_of_all(uint32_t all_ms, uint32_t each_ms)
{
	if (all_ms == BDEV_NEVER || each_ms == BDEV_NEVER)
		return 0;
	return loop_clock() + (all_ms ? all_ms : ALL_MS + (uint64_t)each_ms) * MSEC;
}

int nvmf_discovery_start(struct nvmf_discovery *discovery, struct loop *loop, struct uri *uri,
	const struct bdev_env *env, struct diag *diag)
{
	struct bdev_env mine = *env;
	struct nvme_conf conf;
	int err = uri_msec(uri, "timeout", &mine.timeout_ms, diag);

	if (!err)
		err = conf_init(&conf, uri, &mine, uri->path, diag);
	if (!err)
		err = uri_done(uri, diag);
	if (!err && strlen(uri->path) > NVMF_NQN_MAX)
		err = diag_set(diag, DIAG_USAGE, EINVAL, "invalid NQN: must be at most %u bytes",
			NVMF_NQN_MAX);
	return err ? diag_ctx(diag, "%s", uri->spelling)
		   : start(discovery, loop, &conf, has_two_ports(uri),
			     end_of_all(env->timeout_ms, mine.timeout_ms), diag);
}

void nvmf_discovery_cancel(struct nvmf_discovery *discovery)
{
	if (discovery->asking)
		drop(discovery->asking);
}

void nvmf_log_free(struct nvmf_log *log)
{
	free(log->record);
	free(log->trouble);
	*log = (struct nvmf_log){ 0 };
}

bool nvmf_record_uri(const struct nvmf_record *record, char uri[URI_MAX])
{
	bool v6 = strchr(record->traddr, ':');
	uint64_t port;

	if (record->subtype != NVMF_SUBTYPE_NVME || !record->subnqn[0] ||
		!is_numeric(record->traddr) || parse_u64(record->trsvcid, 1, 65535, &port, NULL) ||
		(record->trtype != NVMF_TRTYPE_RDMA && record->trtype != NVMF_TRTYPE_TCP))
		return false;
	snprintf(uri, URI_MAX, "nvme+%s://%s%s%s:%u/", nvmf_trtype_word(record->trtype),
		v6 ? "[" : "", record->traddr, v6 ? "]" : "", (unsigned)port);
	uri_encode_name(uri, record->subnqn);
	return true;
}

struct awaited {
	struct nvmf_discovery discovery;
	volatile int over;
};

static void awaited(struct nvmf_discovery *discovery)
{
	container_of(discovery, struct awaited, discovery)->over = 1;
}

/* List only what the URI's transport reaches. Keys for a disk are ignored; the caller has handled
 * the timeout. */
int nvme_discover(struct loop *loop, struct uri *uri, const struct bdev_env *env,
	void (*found)(const char *uri, void *user), void *user, struct diag *diag)
{
	static const char *const keys[] = { "rdma", "crc", "src", NULL };
	uint8_t trtype = strcmp(uri->scheme, "nvme+tcp") ? NVMF_TRTYPE_RDMA : NVMF_TRTYPE_TCP;
	struct awaited wait = { .discovery.done = awaited };
	struct nvmf_log *log = &wait.discovery.log;
	struct nvme_conf conf;
	int err = conf_init(&conf, uri, env, "", diag);

	if (!err)
		err = start(&wait.discovery, loop, &conf, has_two_ports(uri),
			end_of_all(env->timeout_ms == BDEV_NEVER ? BDEV_NEVER : 0, env->timeout_ms),
			diag);
	if (err)
		return err;
	loop_wait(loop, &wait.over, 0);
	for (unsigned i = 0; i < log->count; i++) {
		const struct nvmf_record *record = &log->record[i];
		char text[URI_MAX];

		if (record->trtype != trtype || !nvmf_record_uri(record, text))
			continue;
		uri_add_keys(text, uri, keys);
		found(text, user);
	}
	nvmf_log_free(log);
	if (wait.discovery.why.err && diag)
		*diag = wait.discovery.why;
	return -wait.discovery.why.err;
}
