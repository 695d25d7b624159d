/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Query discovery controllers in parallel, and merge their logs into one. */
#include "attach_nvme.h"
#include "grow.h"
#include "kernel_rdma.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same_record(const struct nvmf_record *a, const struct nvmf_record *b)
{
	return a->trtype == b->trtype && a->adrfam == b->adrfam && a->subtype == b->subtype &&
	       a->portid == b->portid && !strcmp(a->traddr, b->traddr) &&
	       !strcmp(a->trsvcid, b->trsvcid) && !strcmp(a->subnqn, b->subnqn);
}

/* Merge a log into the others, without duplicate records. */
static int merge(struct nvmf_queries *queries, const struct nvmf_log *log, struct diag *diag)
{
	struct nvmf_log *all = &queries->log;
	unsigned before = all->count;

	if (!queries->logs)
		all->genctr = log->genctr;
	for (unsigned i = 0; i < log->count; i++) {
		struct nvmf_record *record;
		unsigned at = 0;

		while (at < before && !same_record(&all->record[at], &log->record[i]))
			at++;
		record = at == before ? grow(all->record, all->count) : NULL;
		if (record)
			*record = log->record[i];
		else if (at == before)
			return diag_sys(diag, ENOMEM, "discovery records");
	}
	for (unsigned i = 0; i < log->failures; i++) {
		struct nvmf_failure *failure = grow(all->failure, all->failures);

		if (!failure)
			return diag_sys(diag, ENOMEM, "discovery records");
		*failure = log->failure[i];
	}
	queries->logs++;
	return 0;
}

void nvmf_queries_init(struct nvmf_queries *all, struct loop *loop, int root, bool referrals,
	uint32_t timeout_ms, bool never)
{
	for (unsigned i = 0; i < all->count; i++) {
		struct nvmf_query *query = &all->query[i];

		if (query->attach.why.err)
			continue;
		nvmf_query_init(query, loop, root, referrals);
		query->never = never;
		query->attach.deadline = timeout_ms ? loop_clock() + timeout_ms * MSEC : 0;
		kernel_identity(
			root, query->nqn, query->hostid, &query->identity, &query->attach.why);
	}
}

static int query_controllers(struct nvmf_queries *all, struct loop *loop, struct diag *diag)
{
	struct attach **list = calloc(all->count, sizeof(*list));
	int err;

	if (!list)
		return diag_sys(diag, ENOMEM, "discovery");
	for (unsigned i = 0; i < all->count; i++)
		if (!all->query[i].attach.why.err)
			list[i] = &all->query[i].attach;
	err = attach_run(loop, list, all->count, diag);
	free(list);
	return err;
}

/* Merge the log of a query, or complete its error: what RDMA lacks, or which URI would work. */
static int merge_answer(struct nvmf_queries *all, struct nvmf_query *query, struct loop *loop)
{
	struct diag *why = &query->attach.why;

	if (!why->err) {
		all->fails += merge(all, &query->discovery.log, why) != 0;
		return -why->err;
	}
	if (query->since && why->code != DIAG_USAGE && why->err != EINTR) {
		kernel_rdma_blame(why, &query->rdma);
		if (!all->any_transport)
			bdev_suggest(loop, query->uri.spelling, &query->env, query->since, why);
	}
	if (!strncmp(why->object, "transport=", 10))
		snprintf(why->object, sizeof(why->object), "%.255s", query->uri.host);
	all->fails++;
	return -why->err;
}

/* Software iWARP appends its TCP error (core/net/ep.c): cut it if plain TCP failed with the same.
 */
static void drop_same_cause(struct diag *rdma, const struct diag *tcp)
{
	static const char by[] = "; over TCP: ";
	char *tcp_part = strstr(rdma->text, by);
	const char *same = diag_errno_text(tcp->err);

	if (tcp_part && !strncmp(tcp_part + strlen(by), same, strlen(same)))
		*tcp_part = 0;
}

/* One host over both transports: one answer is enough. */
static int either_failed(struct nvmf_queries *all, struct diag *diag)
{
	struct diag *rdma = &all->query[0].attach.why, *tcp = &all->query[1].attach.why;

	*diag = *tcp;
	drop_same_cause(rdma, tcp);
	diag_both(diag, "TCP", tcp->text, "RDMA", rdma->text);
	return -tcp->err;
}

int nvmf_queries_run(struct nvmf_queries *all, struct loop *loop, struct diag *diag)
{
	int err = query_controllers(all, loop, diag);

	for (unsigned i = 0; i < all->count && !err; i++)
		if (merge_answer(all, &all->query[i], loop) && !diag->err)
			*diag = all->query[i].attach.why;
	if (err || !all->any_transport)
		return all->logs ? 0 : -diag->err;
	if (!all->logs)
		return either_failed(all, diag);
	*diag = (struct diag){ 0 };
	all->fails = 0;
	return 0;
}
