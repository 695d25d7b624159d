/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The discovery log (Base 2.1, 5.1.12.3.1): a record for each subsystem that the host may use, over
 * each transport that is up. */
#include "tgt.h"
#include <stdio.h>

/* With a hosts file every host may see them, as the log must not reveal the names of hosts. */
static bool sees_subsystems(const struct nvme_target *target, const char *hostnqn)
{
	const struct target_options *opt = &target->base.opt;
	bool listed = !opt->hosts || target->has_hosts_file;

	for (unsigned i = 0; i < opt->hosts && !listed; i++)
		listed = !strcmp(opt->host[i], hostnqn);
	return listed;
}

/* A host that uses TLS already is required to. */
static void describe_tcp(const struct nvme_tgt_cmd *cmd, struct nvmf_record *record)
{
	const struct nvme_tgt_queue *queue = nvme_tgt_queue_of(cmd);
	unsigned tls = __atomic_load_n(&nvme_tgt_of(queue)->tls, __ATOMIC_RELAXED);

	if (tls == NVME_TGT_TLS_NONE)
		return;
	record->tsas.tcp.sectype = NVMF_SECTYPE_TLS13;
	if (tls == NVME_TGT_TLS_ALL || queue->identity)
		record->treq = NVMF_TREQ_REQUIRED | NVMF_TREQ_NO_SQFC;
}

/* For a listener on all addresses, report the address that this host has connected to. */
static void address(struct nvmf_record *record, const struct addr *bound, const struct addr *local)
{
	const struct addr addr =
		addr_unscoped(addr_is_any(bound) && local->ss.ss_family ? local : bound);
	char text[ADDR_TEXT];

	addr_host(&addr, text);
	record->adrfam = strchr(text, ':') ? NVMF_ADRFAM_IP6 : NVMF_ADRFAM_IP4;
	snprintf(record->traddr, sizeof(record->traddr), "%s", text);
	snprintf(record->trsvcid, sizeof(record->trsvcid), "%u", addr_port(bound));
}

/* Get the record with that number, in the order subsystem, address, transport; false: beyond the
 * last. */
static bool record_at(const struct nvme_tgt_cmd *cmd, unsigned number, struct nvmf_record *record)
{
	const struct nvme_target *target = nvme_tgt_of(nvme_tgt_queue_of(cmd));
	bool allowed = sees_subsystems(target, nvme_tgt_queue_of(cmd)->ctrl->hostnqn);

	for (unsigned s = 1; allowed && s < target->subsystems; s++)
		for (unsigned l = 0; l < target->base.opt.listens * 2; l++) {
			const struct listener *listen = &target->base.listen[l / 2];
			unsigned mine = __atomic_load_n(&listen->up, __ATOMIC_ACQUIRE) &
					(l % 2 ? TRANSPORT_TCP : TRANSPORT_RDMA);

			if (!mine || number--)
				continue;
			*record = (struct nvmf_record){ .trtype = l % 2 ? NVMF_TRTYPE_TCP
									: NVMF_TRTYPE_RDMA,
				.subtype = NVMF_SUBTYPE_NVME,
				.treq = NVMF_TREQ_NOT_REQUIRED | NVMF_TREQ_NO_SQFC,
				.portid = (uint16_t)(l + 1),
				.cntlid = NVMF_CNTLID_ANY,
				.asqsz = NVME_TGT_ADMIN_DEPTH };
			snprintf(record->subnqn, sizeof(record->subnqn), "%s",
				target->subsys[s].nqn);
			address(record, &listen->bound, &cmd->base.conn->local);
			if (l % 2) {
				describe_tcp(cmd, record);
			} else {
				record->tsas.rdma.qptype = NVMF_QPTYPE_CONNECTED;
				record->tsas.rdma.prtype = mine == TRANSPORT_IWARP
								   ? NVMF_PRTYPE_IWARP
								   : NVMF_PRTYPE_ANY;
				record->tsas.rdma.cms = NVMF_CMS_RDMA_CM;
			}
			return true;
		}
	return false;
}

static unsigned records(const struct nvme_tgt_cmd *cmd)
{
	struct nvmf_record record;
	unsigned count = 0;

	while (record_at(cmd, count, &record))
		count++;
	return count;
}

uint64_t nvme_tgt_disc_len(const struct nvme_tgt_cmd *cmd)
{
	return sizeof(struct nvmf_log_head) +
	       (uint64_t)records(cmd) * sizeof(struct nvmf_log_entry);
}

/* Header and records have the same size: fill one of them. */
static void block(
	const struct nvme_tgt_cmd *cmd, uint64_t number, uint8_t to[sizeof(struct nvmf_log_entry)])
{
	struct nvmf_record record;

	memset(to, 0, sizeof(struct nvmf_log_entry));
	if (!number)
		nvmf_log_put((void *)to,
			&(struct nvmf_log_info){
				__atomic_load_n(&nvme_tgt_of(nvme_tgt_queue_of(cmd))->genctr,
					__ATOMIC_ACQUIRE),
				records(cmd) });
	else if (number <= UINT16_MAX && record_at(cmd, (unsigned)number - 1, &record))
		nvmf_record_put((void *)to, &record);
}

void nvme_tgt_disc_page(const struct nvme_tgt_cmd *cmd, uint64_t off, uint8_t *to, uint32_t len)
{
	uint8_t entry[sizeof(struct nvmf_log_entry)];

	_Static_assert(sizeof(struct nvmf_log_head) == sizeof(struct nvmf_log_entry), "one size");
	while (len) {
		uint32_t skip = (uint32_t)(off % sizeof(entry)),
			 part = (uint32_t)sizeof(entry) - skip;

		if (part > len)
			part = len;
		block(cmd, off / sizeof(entry), entry);
		memcpy(to, entry + skip, part);
		to += part;
		off += part;
		len -= part;
	}
}
