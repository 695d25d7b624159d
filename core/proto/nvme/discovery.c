/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reading discovery logs (Base 2.1, 5.1.12.3.1): one controller after another, waiting on the loop,
 * each asked once. What is made of the records is the applet's. */
#include "nvme.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MSEC     1000000ull
#define TRIES    5
#define TROUBLES 16
#define CLOSE_MS 200
#define SPARE_MS 500 /* the controller's own deadlines come first and know better why */

struct asking {
	struct nvme_ctrl ctrl;
	struct nvme_req req;
	struct nvme_cqe cqe;
	volatile int up, down, replied;
};

static void ctrl_up(struct nvme_ctrl *ctrl)
{
	container_of(ctrl, struct asking, ctrl)->up = 1;
}

static void ctrl_down(struct nvme_ctrl *ctrl)
{
	struct asking *asking = container_of(ctrl, struct asking, ctrl);

	asking->up = asking->down = asking->replied = 1;
}

static const struct nvme_ctrl_events events = { .up = ctrl_up, .down = ctrl_down };

static void replied(struct nvme_req *req, const struct nvme_cqe *cqe)
{
	struct asking *asking = container_of(req, struct asking, req);

	if (cqe)
		asking->cqe = *cqe;
	asking->replied = 1;
}

static int died(const struct asking *asking, struct diag *diag)
{
	*diag = asking->ctrl.why;
	return -diag->err;
}

/* The bytes can be taken until the next read. */
static int read_log(struct asking *asking, uint64_t off, uint32_t len, struct diag *diag)
{
	uint32_t dwords = len / 4 - 1;
	struct nvme_sqe sqe = { .opcode = NVME_ADMIN_GET_LOG,
		.cdw10 = put_le32(NVME_LOG_DISCOVERY | dwords << 16),
		.cdw11 = put_le32(dwords >> 16),
		.cdw12 = put_le32((uint32_t)off),
		.cdw13 = put_le32((uint32_t)(off >> 32)) };

	asking->replied = 0;
	asking->req = (struct nvme_req){ replied, "get discovery log page" };
	if (asking->down)
		return died(asking, diag);
	nvme_ctrl_send(&asking->ctrl, &asking->req, &sqe, len);
	if (!loop_wait(asking->ctrl.loop, &asking->replied,
		    loop_clock() + (NVME_ADMIN_MS + SPARE_MS) * MSEC))
		return diag_set(
			diag, DIAG_TIMEOUT, ETIMEDOUT, "%s: no answer in time", asking->req.what);
	if (asking->down)
		return died(asking, diag);
	return nvme_check(&asking->req, &asking->cqe, diag);
}

static int take_head(struct asking *asking, struct nvmf_log_info *info, struct diag *diag)
{
	struct nvmf_log_head head;

	nvme_ctrl_take(&asking->ctrl, 0, &head, sizeof(head));
	return nvmf_log_get(info, &head, sizeof(head), diag);
}

static int read_head(struct asking *asking, struct nvmf_log_info *info, struct diag *diag)
{
	int err = read_log(asking, 0, sizeof(struct nvmf_log_head), diag);

	return err ? err : take_head(asking, info, diag);
}

/* Records [at, at + now), with the log's head before them when they are the first. */
static int read_part(struct asking *asking, struct nvmf_log_info *head, uint64_t at, uint32_t now,
	struct nvmf_record *record, struct diag *diag)
{
	struct nvmf_log_entry entry;
	uint32_t before = at ? 0 : sizeof(struct nvmf_log_head);
	uint64_t genctr = head->genctr,
		 off = at ? sizeof(struct nvmf_log_head) + at * sizeof(entry) : 0;
	int err = read_log(asking, off, before + now * (uint32_t)sizeof(entry), diag);

	if (!err && before)
		err = take_head(asking, head, diag);
	if (head->genctr != genctr)
		return err; /* not the log that was counted: what stands there may be no records */
	for (uint32_t i = 0; !err && i < now; i++) {
		nvme_ctrl_take(&asking->ctrl, before + i * sizeof(entry), &entry, sizeof(entry));
		err = nvmf_record_get(&record[at + i], &entry, sizeof(entry), diag);
	}
	return err;
}

/* `head` becomes the log's as it was with the last of them. */
static int read_records(struct asking *asking, uint64_t count, struct nvmf_log_info *head,
	struct nvmf_record *record, struct diag *diag)
{
	uint64_t genctr = head->genctr, at = 0;
	uint32_t most = nvme_ctrl_max_data(&asking->ctrl), parts = 0;
	int err = 0;

	most = (most < NVME_SCRATCH ? most : NVME_SCRATCH) / sizeof(struct nvmf_log_entry);
	_Static_assert(sizeof(struct nvmf_log_head) == sizeof(struct nvmf_log_entry),
		"the head takes the room of one record");
	for (; !err && at < count && head->genctr == genctr; parts++) {
		uint32_t room = at ? most : most - 1,
			 now = count - at < room ? (uint32_t)(count - at) : room;

		err = read_part(asking, head, at, now, record, diag);
		at += now;
	}
	return err || parts < 2 ? err : read_head(asking, head, diag);
}

/* The log of one moment: as its generation counter is the same before and after. */
static int read_all(struct asking *asking, struct nvmf_log_info *info, struct nvmf_record **records,
	struct diag *diag)
{
	struct nvmf_record *got;
	int err = read_head(asking, info, diag);

	for (int tries = 0; !err && tries < TRIES; tries++) {
		struct nvmf_log_info after = *info;

		got = calloc(info->numrec ? info->numrec : 1, sizeof(*got));
		if (!got)
			return diag_sys(diag, ENOMEM, "%llu discovery records",
				(unsigned long long)info->numrec);
		err = read_records(asking, info->numrec, &after, got, diag);
		if (!err && after.genctr == info->genctr && after.numrec == info->numrec) {
			*records = got;
			return 0;
		}
		free(got);
		*info = after;
	}
	return err ? err
		   : diag_set(diag, DIAG_BUSY, EAGAIN,
			     "the discovery log changed %d times while it was read", TRIES);
}

static void hang_up(struct asking *asking)
{
	struct diag why = { 0 };

	diag_set(&why, DIAG_CLOSED, ECONNABORTED, "closed");
	nvme_ctrl_fail(&asking->ctrl, &why);
	if (!asking->down)
		loop_wait(asking->ctrl.loop, &asking->down, loop_clock() + CLOSE_MS * MSEC);
	nvme_ctrl_fini(&asking->ctrl);
}

/* Asks one controller, at the address that conf gets unless it has one; its records are appended to
 * the log. */
static int ask(struct loop *loop, struct nvme_conf *conf, uint8_t hops, struct nvmf_log *log,
	struct diag *diag)
{
	struct asking asking = { .ctrl.conf = *conf };
	struct nvmf_record *more = NULL, *all;
	struct nvmf_log_info info;
	int err = nvme_ctrl_open(&asking.ctrl, loop, true, 1, &events, diag);

	if (err)
		return diag_ctx(diag, "%s", conf->where);
	if (!loop_wait(loop, &asking.up,
		    conf->timeout_ms ? loop_clock() + (conf->timeout_ms + SPARE_MS) * MSEC : 0))
		err = diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT, "%s: no answer in time",
			nvme_step_word(asking.ctrl.step));
	else if (asking.down)
		err = died(&asking, diag);
	else
		err = read_all(&asking, &info, &more, diag);
	conf->dst = asking.ctrl.conf.dst;
	memcpy(conf->where, asking.ctrl.conf.where, sizeof(conf->where));
	hang_up(&asking);
	if (err)
		return diag_ctx(diag, "%s", conf->where);
	all = realloc(log->record, (log->count + info.numrec + 1) * sizeof(*all));
	if (!all) {
		free(more);
		return diag_sys(diag, ENOMEM, "discovery records");
	}
	if (!hops)
		log->genctr = info.genctr;
	for (uint64_t i = 0; i < info.numrec; i++) {
		more[i].hops = hops;
		all[log->count++] = more[i];
	}
	log->record = all;
	free(more);
	return 0;
}

static void trouble(struct nvmf_log *log, const struct nvmf_record *record, const struct diag *why)
{
	bool v6 = strchr(record->traddr, ':');
	struct nvmf_trouble *all;

	if (log->troubles == TROUBLES)
		return;
	all = realloc(log->trouble, (log->troubles + 1) * sizeof(*all));
	if (!all)
		return;
	log->trouble = all;
	all += log->troubles++;
	all->why = *why;
	snprintf(all->uri, sizeof(all->uri), "nvme+%s://%s%.200s%s:%s",
		nvmf_trtype_word(record->trtype), v6 ? "[" : "", record->traddr, v6 ? "]" : "",
		record->trsvcid);
}

/* Base 2.1, 5.1.12.3.1: TRADDR is written as its address family is, never a name, so that a log
 * cannot make us ask name servers. */
static bool is_numeric(const char *traddr)
{
	char text[sizeof(((struct nvmf_record *)0)->traddr)];
	struct in6_addr in6;

	snprintf(text, sizeof(text), "%s", traddr);
	text[strcspn(text, "%")] = 0;
	return inet_pton(AF_INET, traddr, &in6) == 1 || inet_pton(AF_INET6, text, &in6) == 1;
}

/* Where a referral leads. */
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

struct seen { /* controllers asked, or that gave trouble */
	const struct nvme_carrier *carrier;
	char where[ADDR_TEXT];
};

static bool seen_before(struct seen **seen, unsigned *count, const struct nvme_conf *conf)
{
	struct seen *more;

	for (unsigned i = 0; i < *count; i++) {
		if ((*seen)[i].carrier == conf->carrier && !strcmp((*seen)[i].where, conf->where))
			return true;
	}
	more = realloc(*seen, (*count + 1) * sizeof(*more));
	if (!more)
		return true;
	*seen = more;
	more[*count].carrier = conf->carrier;
	memcpy(more[(*count)++].where, conf->where, sizeof(conf->where));
	return false;
}

/* What is left of the time for all, at most that for one. */
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

/* The records grow while they are walked: what a referral brings is walked too, one hop further. */
static void follow(struct loop *loop, const struct nvme_conf *first,
	const struct nvmf_discover_options *options, uint64_t until, struct nvmf_log *log)
{
	struct seen *seen = NULL;
	unsigned count = 0;

	seen_before(&seen, &count, first);
	for (unsigned i = 0; i < log->count; i++) {
		const struct nvmf_record record = log->record[i];
		struct nvme_conf conf = *first;
		struct diag why = { 0 };

		if (record.subtype != NVMF_SUBTYPE_REFERRAL || record.hops >= options->max_hops)
			continue;
		if (!in_time(&conf, until, &why)) { /* nor will there be for another */
			trouble(log, &record, &why);
			break;
		}
		if (referred(&conf, &record, &why)) {
			trouble(log, &record, &why);
			continue;
		}
		if (seen_before(&seen, &count, &conf))
			continue;
		if (ask(loop, &conf, (uint8_t)(record.hops + 1), log, &why))
			trouble(log, &record, &why);
	}
	free(seen);
}

static int neither(const struct nvme_conf *conf, const char *where, const struct diag *first,
	const struct diag *second, struct diag *diag)
{
	if (first->code == DIAG_REFUSED && second->code == DIAG_REFUSED) {
		diag_set(diag, DIAG_REFUSED, second->err,
			"connection refused: no listener on TCP port %u or %u", NVMF_DISCOVERY_PORT,
			NVMF_PORT);
		return diag_ctx(diag, "%s", conf->host);
	}
	diag_set(diag, second->code, second->err, "%.200s; port %u: %.200s", first->text, NVMF_PORT,
		second->text);
	return diag_ctx(diag, "%s", where);
}

/* TCP without a port: the discovery service's own, then the one shared with I/O; both together in
 * the time of one. Where that has no limit, the first has the usual one. */
static int ask_either(
	struct loop *loop, struct nvme_conf *conf, struct nvmf_log *log, struct diag *diag)
{
	struct diag first = { 0 }, second = { 0 };
	uint32_t ms = conf->timeout_ms ? conf->timeout_ms / 2 + 1 : 0;
	char where[ADDR_TEXT];

	conf->timeout_ms = ms ? ms : BDEV_TIMEOUT_MS;
	if (!ask(loop, conf, 0, log, &first))
		return 0;
	memcpy(where, conf->where, sizeof(where));
	conf->timeout_ms = ms;
	conf->port = NVMF_PORT;
	if (conf->dst.ss.ss_family) {
		addr_set_port(&conf->dst, NVMF_PORT);
		addr_text(&conf->dst, conf->where);
		/* the name will not be found for the other port, either */
	} else if (first.code != DIAG_TIMEOUT) {
		*diag = first;
		return -first.err;
	}
	if (!ask(loop, conf, 0, log, &second))
		return 0;
	if (!conf->dst.ss.ss_family) {
		*diag = second;
		return -second.err;
	}
	return neither(conf, where, &first, &second, diag);
}

/* TCP has a port for discovery only; without a port, both are asked. */
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

static int ask_host(struct loop *loop, const struct uri *uri, struct nvme_conf *conf,
	struct nvmf_log *log, struct diag *diag)
{
	return has_two_ports(uri) ? ask_either(loop, conf, log, diag)
				  : ask(loop, conf, 0, log, diag);
}

int nvmf_discover(struct loop *loop, struct uri *uri, const struct bdev_env *env,
	const struct nvmf_discover_options *options, struct nvmf_log *log, struct diag *diag)
{
	struct bdev_env mine = *env;
	struct nvme_conf conf;
	uint64_t until = env->timeout_ms && env->timeout_ms != BDEV_NEVER
				 ? loop_clock() + env->timeout_ms * MSEC
				 : 0;
	int err = uri_msec(uri, "timeout", &mine.timeout_ms, diag);

	*log = (struct nvmf_log){ 0 };
	if (!err)
		err = conf_init(&conf, uri, &mine, uri->path, diag);
	if (!err)
		err = uri_done(uri, diag);
	if (!err && strlen(uri->path) > NVMF_NQN_MAX)
		err = diag_set(diag, DIAG_USAGE, EINVAL, "invalid NQN: must be at most %u bytes",
			NVMF_NQN_MAX);
	if (err)
		return diag_ctx(diag, "%s", uri->spelling);
	err = ask_host(loop, uri, &conf, log, diag);
	if (!err && options->referrals)
		follow(loop, &conf, options, until, log);
	return err;
}

void nvmf_log_free(struct nvmf_log *log)
{
	free(log->record);
	free(log->trouble);
	*log = (struct nvmf_log){ 0 };
}

/* Only what the URI's transport reaches. The keys of the URI that are a disk's mean nothing here,
 * and what it says of the time was taken into account by the caller. */
int nvme_discover(struct loop *loop, struct uri *uri, const struct bdev_env *env,
	void (*found)(const char *uri, void *user), void *user, struct diag *diag)
{
	static const char *const keys[] = { "rdma", "crc", "src", NULL };
	uint8_t trtype = strcmp(uri->scheme, "nvme+tcp") ? NVMF_TRTYPE_RDMA : NVMF_TRTYPE_TCP;
	struct nvmf_log log = { 0 };
	struct nvme_conf conf;
	int err = conf_init(&conf, uri, env, "", diag);

	if (!err)
		err = ask_host(loop, uri, &conf, &log, diag);
	for (unsigned i = 0; i < log.count; i++) {
		const struct nvmf_record *record = &log.record[i];
		char text[URI_MAX];
		bool v6 = strchr(record->traddr, ':');

		if (record->subtype != NVMF_SUBTYPE_NVME || record->trtype != trtype)
			continue;
		snprintf(text, sizeof(text), "%s://%s%s%s:%s/", uri->scheme, v6 ? "[" : "",
			record->traddr, v6 ? "]" : "", record->trsvcid);
		uri_encode(text, record->subnqn);
		uri_add_keys(text, uri, keys);
		found(text, user);
	}
	nvmf_log_free(&log);
	return err;
}
