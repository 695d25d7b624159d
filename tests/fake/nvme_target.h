/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A controller in memory: what a command does and what it answers, whatever carries it. And an
 * NVMe/TCP target around it on 127.0.0.1, which can break each rule of the protocol. */
#pragma once
#include "../../core/proto/nvme/codec.h"
#include <pthread.h>
#include <stdatomic.h>

#define TARGET_RECORDS 100

struct target {
	/* what it is; target_init() gives one namespace of 4 MiB in blocks of 512 bytes */
	uint8_t *disk;
	uint64_t blocks;
	uint8_t shift;
	uint32_t nsid[4];
	struct nvme_ctrl_info id;
	struct nvme_ns_info ns;
	struct nvme_ns_ids ids;
	struct nvme_nvm_info nvm;                  /* all 0: it does not know that page */
	struct nvmf_record record[TARGET_RECORDS]; /* the last one again in a longer log */
	struct nvmf_log_info log;
	uint64_t cap;
	/* what it does wrong */
	struct nvmf_connect_reply connect; /* status, auth */
	bool never_ready, fatal, shut_fatal;
	uint16_t io_status; /* of every read and write */
	/* answers so many Connects of I/O queues, other admin commands, I/O commands with this */
	uint16_t refuse_status;
	unsigned refuse_connects, refuse_admins, refuse_ios;
	/* the log's generation changes with each of so many reads of its header */
	unsigned moving;
	uint32_t silent_after; /* answers no I/O command after this many; 0 = all */
	/* answers no admin command from this one on, Connect being the first; 0 = all */
	unsigned silent_at;
	uint16_t reset_status; /* of Cross-Controller Reset, and its result */
	uint32_t reset_result;
	/* the ANA log; NULL: it has none. Its reads. Events that the host has asked for */
	void (*ana)(struct target *, uint8_t *page, uint32_t len);
	atomic_uint ana_reads;
	uint32_t events;
	void (*spoil)(uint8_t cns, uint8_t *page); /* Identify data on its way */
	/* what it saw */
	unsigned reads, writes, flushes, trims, zeroes, keep_alives, io_connects, admins;
	uint32_t last_cdw12, trim_ranges;
	struct nvme_dsm_range range[256];
	uint32_t cc;
	struct nvmf_connect hello;
	uint64_t changes;
	pthread_mutex_t lock;
};
void target_init(struct target *);
void target_fini(struct target *);
/* data: what came with the command, or room for what it asks for (len bytes). False: no answer. */
bool target_do(struct target *, uint16_t qid, const struct nvme_sqe *, uint8_t *data, uint32_t len,
	struct nvme_cqe *);

enum tcp_evil {
	EVIL_NONE,
	/* instead of a good ICResp */
	EVIL_MUTE,
	EVIL_REPLY_FIRST,
	EVIL_VERSION,
	EVIL_ALIGNMENT,
	EVIL_SMALL_H2C,
	EVIL_MORE_DIGESTS,
	EVIL_NO_DIGESTS,
	EVIL_GARBAGE,
	/* on the I/O queue, in place of a good answer */
	EVIL_SECOND_ICRESP,
	EVIL_UNKNOWN_CID,
	EVIL_HOST_PDU,
	EVIL_HEADER_DIGEST,
	EVIL_DATA_DIGEST,
	EVIL_DATA_TOO_LONG,
	EVIL_DATA_OFFSET,
	EVIL_DATA_FOR_WRITE,
	EVIL_EARLY_SUCCESS,
	EVIL_SHORT_READ,
	EVIL_R2T_TOO_LONG,
	EVIL_R2T_FOR_READ,
	EVIL_WRITE_UNREAD,
	EVIL_TERM,
	EVIL_HANG_UP,
	EVILS,
};

struct tcp_target {
	struct target target;
	unsigned dgst, pda; /* offered; alignment asked for */
	uint32_t max_h2c, c2h_piece, r2t_piece;
	bool success; /* reads end with the SUCCESS flag */
	enum tcp_evil evil;
	/* What answers the greeting (qid 0xffff) and every I/O command in place of the target; then
	 * it waits for the end. False: the target answers after all. */
	bool (*script)(int fd, uint16_t qid, uint16_t cid, uint32_t len);
	/* the host's Asynchronous Event Request; fd 0: none */
	struct {
		int fd;
		uint16_t cid;
	} event;
	uint16_t port;
	int listener;
	pthread_t acceptor, conn[80];
	int fd[80];
	unsigned conns;
};
void tcp_target_start(struct tcp_target *); /* target_init() done */
void tcp_target_stop(struct tcp_target *);
/* Completes the host's request for events; false: there is none. Without digests only. */
bool tcp_target_notice(struct tcp_target *, enum nvme_aer_notice);
