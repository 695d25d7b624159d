/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Texts for the codes of NVMe-oF: status codes as sentences and errno, and whether to try again
 * (Base 2.1, figures 102 to 106; NVM 1.1, figure 20), invalid fields of Connect, CM rejections, TCP
 * terminations, and the terms of the discovery log as nvme-cli prints them. */
#include "bdev.h"
#include "codec.h"
#include <errno.h>
#include <stdio.h>

#define OF_IO      NVME_STATUS_OF_IO
#define OF_FABRICS NVME_STATUS_OF_FABRICS
#define WAIT       (BDEV_RETRY | BDEV_WAIT_READY)

static const struct row {
	uint32_t code; /* NVME_STATUS(type, code), and OF_... if only of some commands */
	uint8_t err, again;
	const char *text;
} rows[] = {
	{ NVME_STATUS(0, 0x00), 0, 0, "success" },
	{ NVME_STATUS(0, 0x01), ENOTSUP, 0, "unknown command" },
	{ NVME_STATUS(0, 0x02), EINVAL, 0, "invalid field in the command" },
	{ NVME_STATUS(0, 0x03), EIO, 0, "the command identifier is already in use" },
	{ NVME_STATUS(0, 0x04), EIO, BDEV_RETRY, "data transfer error" },
	{ NVME_STATUS(0, 0x05), EAGAIN, WAIT, "aborted: the controller is losing power" },
	{ NVME_STATUS(0, 0x06), EIO, 0, "internal controller error" },
	{ NVME_STATUS(0, 0x07), EAGAIN, BDEV_RETRY, "aborted on request" },
	{ NVME_STATUS(0, 0x08), EAGAIN, BDEV_RETRY, "aborted: the queue was deleted" },
	{ NVME_STATUS(0, 0x0b), ENODEV, 0, "no such namespace" },
	{ NVME_STATUS(0, 0x0c), EIO, 0, "command out of sequence" },
	{ NVME_STATUS(0, 0x0d), EIO, 0, "invalid data descriptor" },
	{ NVME_STATUS(0, 0x0e), EIO, 0, "invalid number of data descriptors" },
	{ NVME_STATUS(0, 0x0f), EIO, 0, "invalid data length" },
	{ NVME_STATUS(0, 0x11), EIO, 0, "unsupported data descriptor type" },
	{ NVME_STATUS(0, 0x16), EIO, 0, "invalid data offset in the capsule" },
	{ NVME_STATUS(0, 0x18), EIO, 0, "inconsistent format of the host identifier" },
	{ NVME_STATUS(0, 0x19), ETIMEDOUT, 0, "keep-alive timeout expired" },
	{ NVME_STATUS(0, 0x1a), EINVAL, 0, "invalid keep-alive timeout" },
	{ NVME_STATUS(0, 0x1b), EBUSY, 0, "aborted: another host has preempted the reservation" },
	{ NVME_STATUS(0, 0x1c), EBUSY, 0, "sanitize failed on this subsystem" },
	{ NVME_STATUS(0, 0x1d), EBUSY, 0, "sanitize is in progress" },
	{ NVME_STATUS(0, 0x20), EROFS, 0, "the namespace is write protected" },
	{ NVME_STATUS(0, 0x21), EAGAIN, WAIT, "the command was interrupted" },
	{ NVME_STATUS(0, 0x22), EAGAIN, WAIT, "transient transport error" },
	{ NVME_STATUS(0, 0x24), EAGAIN, WAIT, "the media is not ready yet" },
	{ NVME_STATUS(0, 0x27), EINVAL, 0, "the host has no identifier" },
	{ NVME_STATUS(0, 0x80), EINVAL, 0, "block address out of range" },
	{ NVME_STATUS(0, 0x81), ENOSPC, 0, "capacity exceeded" },
	{ NVME_STATUS(0, 0x82), EAGAIN, WAIT, "the namespace is not ready" },
	{ NVME_STATUS(0, 0x83), EBUSY, 0,
		"reservation conflict: another host holds the namespace" },
	{ NVME_STATUS(0, 0x84), EBUSY, 0, "a format is in progress" },
	{ NVME_STATUS(1, 0x03), EBUSY, 0, "too many abort commands at once" },
	{ NVME_STATUS(1, 0x05), EINVAL, 0, "too many asynchronous event requests" },
	{ NVME_STATUS(1, 0x3f), EBUSY, 0, "the controller is already being reset by another one" },
	{ NVME_STATUS(1, 0x40), EBUSY, 0, "the log of cross-controller resets is full" },
	{ NVME_STATUS(1, 0x41), EBUSY, 0, "too many cross-controller resets at once" },
	{ OF_IO | NVME_STATUS(1, 0x80), EINVAL, 0, "conflicting attributes" },
	{ OF_IO | NVME_STATUS(1, 0x81), EINVAL, 0, "invalid protection information" },
	{ OF_IO | NVME_STATUS(1, 0x82), EROFS, 0, "write to a read-only range" },
	{ OF_IO | NVME_STATUS(1, 0x83), EINVAL, 0, "command size limit exceeded" },
	{ OF_FABRICS | NVME_STATUS(1, 0x80), EPROTONOSUPPORT, 0, "unsupported connect format" },
	{ OF_FABRICS | NVME_STATUS(1, 0x81), EAGAIN, WAIT,
		"the controller is busy: too many connections" },
	{ OF_FABRICS | NVME_STATUS(1, 0x82), EINVAL, 0, "invalid connect parameter" },
	{ OF_FABRICS | NVME_STATUS(1, 0x83), EBUSY, 0,
		"the discovery controller requests a restart" },
	{ OF_FABRICS | NVME_STATUS(1, 0x84), EACCES, 0, "this host is not allowed" },
	{ OF_FABRICS | NVME_STATUS(1, 0x85), EINVAL, 0, "invalid queue type" },
	{ NVME_STATUS(1, 0x90), EAGAIN, 0, "the discovery log changed" },
	{ NVME_STATUS(1, 0x91), EACCES, 0, "authentication is required" },
	{ NVME_STATUS(2, 0x80), EIO, 0, "write fault on the media" },
	{ NVME_STATUS(2, 0x81), EIO, 0, "unrecovered read error on the media" },
	{ NVME_STATUS(2, 0x82), EIO, 0, "guard check error" },
	{ NVME_STATUS(2, 0x83), EIO, 0, "application tag check error" },
	{ NVME_STATUS(2, 0x84), EIO, 0, "reference tag check error" },
	{ NVME_STATUS(2, 0x85), EIO, 0, "compare failure" },
	{ NVME_STATUS(2, 0x86), EACCES, 0, "access denied" },
	{ NVME_STATUS(2, 0x87), EIO, 0, "the block was deallocated or never written" },
	{ NVME_STATUS(3, 0x00), EHOSTUNREACH, BDEV_OTHER_PATH,
		"internal error on the path to the namespace" },
	{ NVME_STATUS(3, 0x01), EHOSTUNREACH, BDEV_OTHER_PATH,
		"the path lost the namespace permanently (ANA persistent loss)" },
	{ NVME_STATUS(3, 0x02), EHOSTUNREACH, BDEV_OTHER_PATH,
		"the namespace is not accessible on this path (ANA inaccessible)" },
	{ NVME_STATUS(3, 0x03), EHOSTUNREACH, WAIT | BDEV_OTHER_PATH,
		"the namespace is moving between controllers (ANA transition)" },
	{ NVME_STATUS(3, 0x60), EHOSTUNREACH, BDEV_OTHER_PATH, "controller error on the path" },
	{ NVME_STATUS(3, 0x70), EHOSTUNREACH, BDEV_OTHER_PATH, "host error on the path" },
	{ NVME_STATUS(3, 0x71), EHOSTUNREACH, BDEV_OTHER_PATH, "aborted by the host" },
};

/* The command-specific codes from 80h on that the NVM command set and Fabrics both define. */
static bool depends_on_command(uint32_t code)
{
	return code >= NVME_STATUS(1, 0x80) && code <= NVME_STATUS(1, 0x8f);
}

static const struct row *find_row(uint32_t status)
{
	uint32_t code = NVME_STATUS_CODE(status);

	if (depends_on_command(code))
		code |= status & (OF_IO | OF_FABRICS);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].code == code)
			return &rows[i];
	}
	return NULL;
}

const char *nvme_status_text(uint32_t status)
{
	static const char *const by_type[8] = {
		"unlisted generic status",
		"unlisted command-specific status",
		"unlisted media error",
		"unlisted path error",
		"reserved status",
		"reserved status",
		"reserved status",
		"vendor-specific status",
	};
	const struct row *row = find_row(status);

	return row ? row->text : by_type[status >> 8 & 7];
}

int nvme_status_errno(uint32_t status)
{
	const struct row *row = find_row(status);

	if (row)
		return row->err;
	return (status >> 8 & 7) == 3 ? EHOSTUNREACH : EIO;
}

unsigned nvme_status_again(uint32_t status)
{
	const struct row *row = find_row(status);

	if (status & NVME_STATUS_DNR)
		return 0;
	if (row)
		return row->again;
	return (status >> 8 & 7) == 3 ? BDEV_OTHER_PATH : 0;
}

int nvme_status_diag(struct diag *diag, uint32_t status, const char *what)
{
	int err = nvme_status_errno(status);
	enum diag_code code = DIAG_IO;

	if (err == EACCES)
		code = DIAG_AUTH;
	else if (err == EBUSY || err == EAGAIN)
		code = DIAG_BUSY;
	else if (err == ENODEV)
		code = DIAG_NOT_FOUND;
	else if (err == ENOTSUP || err == EINVAL)
		code = DIAG_UNSUPPORTED;
	return diag_set(diag, code, err ? err : EPROTO, "%s: %s (status %xh/%02xh)", what,
		nvme_status_text(status), status >> 8 & 7, status & 0xff);
}

/* Name of the Connect field at this offset; NULL = padding or unknown. */
static const char *connect_field(bool data, unsigned at)
{
	static const struct {
		bool data;
		uint16_t from, to;
		const char *name;
	} field[] = {
		{ false, 40, 42, "record format" },
		{ false, 42, 44, "queue id" },
		{ false, 44, 46, "queue size" },
		{ false, 46, 47, "attributes" },
		{ false, 48, 52, "keep-alive time" },
		{ true, 0, 16, "host id" },
		{ true, 16, 18, "controller id" },
		{ true, 256, 512, "subsystem NQN" },
		{ true, 512, 768, "host NQN" },
	};

	for (unsigned i = 0; i < sizeof(field) / sizeof(field[0]); i++) {
		if (field[i].data == data && at >= field[i].from && at < field[i].to)
			return field[i].name;
	}
	return NULL;
}

int nvmf_connect_diag(struct diag *diag, const struct nvmf_connect_reply *reply,
	const struct nvmf_connect *connect)
{
	const char *name = connect_field(reply->ipo_data, reply->ipo);

	switch (NVME_STATUS_CODE(reply->status)) {
	case NVME_STATUS(1, 0x82):
		if (name && !strcmp(name, "subsystem NQN"))
			return diag_set(diag, DIAG_NOT_FOUND, ENOENT,
				"the target has no subsystem '%s'", connect->subnqn);
		if (name && !strcmp(name, "host NQN"))
			return diag_set(diag, DIAG_AUTH, EACCES,
				"the target refused the connection: invalid host NQN '%s'",
				connect->hostnqn);
		return diag_set(diag, DIAG_REFUSED, EINVAL,
			"the target refused the connection: invalid parameter: %s (byte %u of the "
			"%s)",
			name ? name : "an unknown field", reply->ipo,
			reply->ipo_data ? "data" : "command");
	case NVME_STATUS(1, 0x84):
		diag_set(diag, DIAG_AUTH, EACCES, "subsystem '%s' does not allow host NQN '%s'",
			connect->subnqn, connect->hostnqn);
		return diag_hint(diag,
			"allow this host NQN on the target, or choose another with hostnqn=; "
			"if the target requires TLS of it, add tls-key-file=FILE");
	case NVME_STATUS(0, 0x0c):
		if (connect->qid)
			return diag_set(diag, DIAG_BUSY, EAGAIN,
				"the target has not ended the previous connection of queue %u yet",
				connect->qid);
		/* fall through */
	default:
		return nvme_status_diag(
			diag, reply->status | OF_FABRICS, "the target refused the connection");
	}
}

const char *nvmf_rdma_status_text(uint16_t status)
{
	static const char *const text[] = {
		[NVMF_RDMA_INVALID_LEN] = "invalid length of the private data",
		[NVMF_RDMA_INVALID_RECFMT] = "invalid format of the private data",
		[NVMF_RDMA_INVALID_QID] = "invalid queue id",
		[NVMF_RDMA_INVALID_HSQSIZE] = "invalid submission queue size",
		[NVMF_RDMA_INVALID_HRQSIZE] = "invalid receive queue size",
		[NVMF_RDMA_NO_RESOURCES] = "no resources for another queue",
		[NVMF_RDMA_INVALID_IRD] = "invalid number of inbound RDMA reads",
		[NVMF_RDMA_INVALID_ORD] = "invalid number of outbound RDMA reads",
		[NVMF_RDMA_INVALID_CNTLID] = "invalid controller id",
	};

	return status < sizeof(text) / sizeof(text[0]) && text[status] ? text[status]
								       : "unlisted reason";
}

const char *nvme_tcp_fes_text(uint16_t fes)
{
	static const char *const text[] = {
		[NVME_TCP_FES_HEADER] = "invalid PDU header field",
		[NVME_TCP_FES_SEQUENCE] = "PDU sequence error",
		[NVME_TCP_FES_HDGST] = "header digest error",
		[NVME_TCP_FES_RANGE] = "data transfer out of range",
		[NVME_TCP_FES_LIMIT] = "data transfer limit exceeded",
		[NVME_TCP_FES_PARAM] = "unsupported parameter",
	};

	return fes < sizeof(text) / sizeof(text[0]) && text[fes] ? text[fes] : "unlisted reason";
}

static const char *name_at(const char *const *names, unsigned count, unsigned at)
{
	return at < count && names[at] ? names[at] : "unrecognized";
}
#define WORD(at, ...)                                                                              \
	static const char *const names[] = { __VA_ARGS__ };                                        \
	return name_at(names, sizeof(names) / sizeof(names[0]), at)

const char *nvmf_trtype_str(uint8_t v)
{
	if (v == NVMF_TRTYPE_LOOP)
		return "loop";
	WORD(v, [NVMF_TRTYPE_RDMA] = "rdma", [NVMF_TRTYPE_FC] = "fc", [NVMF_TRTYPE_TCP] = "tcp");
}

const char *nvmf_adrfam_str(uint8_t v)
{
	WORD(v, "pci", "ipv4", "ipv6", "infiniband", "fibre-channel");
}

const char *nvmf_subtype_str(uint8_t v)
{
	WORD(v, [NVMF_SUBTYPE_REFERRAL] = "discovery subsystem referral",
		[NVMF_SUBTYPE_NVME] = "nvme subsystem",
		[NVMF_SUBTYPE_CURRENT] = "current discovery subsystem");
}

const char *nvmf_treq_str(uint8_t v)
{
	WORD(v, "not specified", "required",
		"not required", [4] = "not specified, sq flow control disable supported",
		"required, sq flow control disable supported",
		"not required, sq flow control disable supported");
}

const char *nvmf_eflags_str(uint16_t v)
{
	WORD(v, "none", "explicit discovery connections", "duplicate discovery information",
		"explicit discovery connections, duplicate discovery information",
		"no cdc connectivity", "explicit discovery connections, no cdc connectivity",
		"duplicate discovery information, no cdc connectivity",
		"explicit discovery connections, duplicate discovery information, no cdc "
		"connectivity");
}

const char *nvmf_prtype_str(uint8_t v)
{
	WORD(v, [1] = "not specified", "infiniband", "roce", "roce-v2", "iwarp");
}

const char *nvmf_qptype_str(uint8_t v)
{
	WORD(v, [1] = "connected", "datagram");
}

const char *nvmf_cms_str(uint8_t v)
{
	WORD(v, [1] = "rdma-cm");
}

const char *nvmf_sectype_str(uint8_t v)
{
	WORD(v, "none", "tls", "tls13");
}
