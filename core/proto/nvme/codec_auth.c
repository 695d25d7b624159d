/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The messages of DH-HMAC-CHAP (Base 2.1, 8.3.5.5). */
#include "chap.h"
#include <errno.h>

static int too_short(struct diag *diag, const char *what, size_t len, size_t least)
{
	return diag_set(diag, DIAG_PROTOCOL, EPROTO, "%s of %zu bytes: must be at least %zu bytes",
		what, len, least);
}

static int check_digest(struct diag *diag, const char *what, uint8_t len)
{
	if (len == 32 || len == 48 || len == 64)
		return 0;
	return diag_set(diag, DIAG_PROTOCOL, EPROTO,
		"%s with a digest of %u bytes: expected 32, 48 or 64", what, len);
}

/* Protocols other than DH-HMAC-CHAP are skipped. */
static int get_negotiate(struct nvme_auth_msg *msg, const uint8_t *p, size_t len, struct diag *diag)
{
	const struct nvme_auth_negotiate *head = (const void *)p;
	const struct nvme_auth_proto *proto = (const void *)(p + sizeof(*head));

	if (len < sizeof(*head) || len < sizeof(*head) + head->napd * sizeof(*proto))
		return too_short(diag, "Negotiate", len, sizeof(*head) + sizeof(*proto));
	msg->sc_c = head->sc_c;
	for (unsigned i = 0; i < head->napd; i++, proto++) {
		if (proto->authid != NVME_AUTH_DHCHAP)
			continue;
		if (proto->halen > NVME_AUTH_IDS || proto->dhlen > NVME_AUTH_IDS)
			return diag_set(diag, DIAG_PROTOCOL, EPROTO,
				"Negotiate with %u hashes and %u DH groups: at most %u each",
				proto->halen, proto->dhlen, NVME_AUTH_IDS);
		msg->hashes = proto->halen;
		msg->groups = proto->dhlen;
		memcpy(msg->hash_ids, proto->hash, sizeof(proto->hash));
		memcpy(msg->group_ids, proto->group, sizeof(proto->group));
		return 0;
	}
	return 0;
}

static int get_challenge(struct nvme_auth_msg *msg, const uint8_t *p, size_t len, struct diag *diag)
{
	const struct nvme_auth_challenge *head = (const void *)p;
	size_t all = sizeof(*head);

	if (len < all)
		return too_short(diag, "Challenge", len, all);
	if (check_digest(diag, "Challenge", head->hl))
		return -EPROTO;
	msg->hash_len = head->hl;
	msg->dh_len = get_le16(head->dhvlen);
	all += (size_t)msg->hash_len + msg->dh_len;
	if (len < all)
		return too_short(diag, "Challenge", len, all);
	msg->hash = head->hash;
	msg->group = head->group;
	msg->seq = get_le32(head->seqnum);
	msg->challenge = p + sizeof(*head);
	msg->dh = msg->challenge + msg->hash_len;
	return 0;
}

/* There is room for a challenge even if it is not valid. */
static int get_reply(struct nvme_auth_msg *msg, const uint8_t *p, size_t len, struct diag *diag)
{
	const struct nvme_auth_reply *head = (const void *)p;
	size_t all = sizeof(*head);

	if (len < all)
		return too_short(diag, "Reply", len, all);
	if (check_digest(diag, "Reply", head->hl))
		return -EPROTO;
	msg->hash_len = head->hl;
	msg->dh_len = get_le16(head->dhvlen);
	all += (size_t)2 * msg->hash_len + msg->dh_len;
	if (len < all)
		return too_short(diag, "Reply", len, all);
	msg->valid = head->cvalid & 1;
	msg->seq = get_le32(head->seqnum);
	msg->response = p + sizeof(*head);
	msg->challenge = msg->response + msg->hash_len;
	msg->dh = msg->challenge + msg->hash_len;
	return 0;
}

static int get_success1(struct nvme_auth_msg *msg, const uint8_t *p, size_t len, struct diag *diag)
{
	const struct nvme_auth_success1 *head = (const void *)p;

	if (len < sizeof(*head))
		return too_short(diag, "Success1", len, sizeof(*head));
	msg->valid = head->rvalid & 1;
	if (!msg->valid)
		return 0;
	if (check_digest(diag, "Success1", head->hl))
		return -EPROTO;
	if (len < sizeof(*head) + head->hl)
		return too_short(diag, "Success1", len, sizeof(*head) + head->hl);
	msg->hash_len = head->hl;
	msg->response = p + sizeof(*head);
	return 0;
}

static int get_failure(struct nvme_auth_msg *msg, const uint8_t *p, size_t len, struct diag *diag)
{
	const struct nvme_auth_failure *failure = (const void *)p;

	if (len < sizeof(*failure))
		return too_short(diag, "Failure", len, sizeof(*failure));
	msg->reason = failure->explanation;
	return 0;
}

int nvme_auth_get(struct nvme_auth_msg *msg, const void *p, size_t len, struct diag *diag)
{
	const struct nvme_auth_head *head = p;

	*msg = (struct nvme_auth_msg){ .kind = NVME_AUTH_UNKNOWN };
	if (len < sizeof(*head))
		return too_short(diag, "authentication message", len, sizeof(*head));
	msg->kind = get_le16(head->kind);
	msg->tid = get_le16(head->tid);
	switch ((enum nvme_auth_kind)msg->kind) {
	case NVME_AUTH_NEGOTIATE:
		return get_negotiate(msg, p, len, diag);
	case NVME_AUTH_CHALLENGE:
		return get_challenge(msg, p, len, diag);
	case NVME_AUTH_REPLY:
		return get_reply(msg, p, len, diag);
	case NVME_AUTH_SUCCESS1:
		return get_success1(msg, p, len, diag);
	case NVME_AUTH_SUCCESS2:
		return 0;
	case NVME_AUTH_FAILURE1:
	case NVME_AUTH_FAILURE2:
		return get_failure(msg, p, len, diag);
	case NVME_AUTH_UNKNOWN:
		break;
	}
	msg->kind = NVME_AUTH_UNKNOWN;
	return diag_set(diag, DIAG_PROTOCOL, EPROTO,
		"unknown authentication message of type %u, ID %u", head->kind.b[0],
		head->kind.b[1]);
}

static size_t put_negotiate(uint8_t *out, const struct nvme_auth_msg *msg)
{
	struct nvme_auth_negotiate *head = (void *)out;
	struct nvme_auth_proto *proto = (void *)(out + sizeof(*head));

	head->sc_c = msg->sc_c;
	head->napd = 1;
	proto->authid = NVME_AUTH_DHCHAP;
	proto->halen = msg->hashes;
	proto->dhlen = msg->groups;
	memcpy(proto->hash, msg->hash_ids, sizeof(proto->hash));
	memcpy(proto->group, msg->group_ids, sizeof(proto->group));
	return sizeof(*head) + sizeof(*proto);
}

static size_t append(uint8_t *out, size_t at, const uint8_t *p, size_t len)
{
	if (p)
		memcpy(out + at, p, len);
	return at + len;
}

static size_t put_challenge(uint8_t *out, const struct nvme_auth_msg *msg)
{
	struct nvme_auth_challenge *head = (void *)out;
	size_t at = sizeof(*head);

	head->hl = msg->hash_len;
	head->hash = msg->hash;
	head->group = msg->group;
	head->dhvlen = put_le16(msg->dh_len);
	head->seqnum = put_le32(msg->seq);
	at = append(out, at, msg->challenge, msg->hash_len);
	return append(out, at, msg->dh, msg->dh_len);
}

static size_t put_reply(uint8_t *out, const struct nvme_auth_msg *msg)
{
	struct nvme_auth_reply *head = (void *)out;
	size_t at = sizeof(*head);

	head->hl = msg->hash_len;
	head->cvalid = msg->valid;
	head->dhvlen = put_le16(msg->dh_len);
	head->seqnum = put_le32(msg->seq);
	at = append(out, at, msg->response, msg->hash_len);
	at = append(out, at, msg->challenge, msg->hash_len);
	return append(out, at, msg->dh, msg->dh_len);
}

static size_t put_success1(uint8_t *out, const struct nvme_auth_msg *msg)
{
	struct nvme_auth_success1 *head = (void *)out;

	head->hl = msg->hash_len;
	head->rvalid = msg->valid;
	return append(out, sizeof(*head), msg->response, msg->valid ? msg->hash_len : 0);
}

static size_t put_failure(uint8_t *out, const struct nvme_auth_msg *msg)
{
	struct nvme_auth_failure *failure = (void *)out;

	failure->rescode = NVME_AUTH_RESCODE_FAILED;
	failure->explanation = msg->reason;
	return sizeof(*failure);
}

size_t nvme_auth_put(uint8_t out[NVME_AUTH_MSG_MAX], const struct nvme_auth_msg *msg)
{
	struct nvme_auth_head *head = (void *)out;

	memset(out, 0, NVME_AUTH_MSG_MAX);
	head->kind = put_le16(msg->kind);
	head->tid = put_le16(msg->tid);
	switch ((enum nvme_auth_kind)msg->kind) {
	case NVME_AUTH_NEGOTIATE:
		return put_negotiate(out, msg);
	case NVME_AUTH_CHALLENGE:
		return put_challenge(out, msg);
	case NVME_AUTH_REPLY:
		return put_reply(out, msg);
	case NVME_AUTH_SUCCESS1:
		return put_success1(out, msg);
	case NVME_AUTH_SUCCESS2:
		return sizeof(struct nvme_auth_success2);
	case NVME_AUTH_FAILURE1:
	case NVME_AUTH_FAILURE2:
		return put_failure(out, msg);
	case NVME_AUTH_UNKNOWN:
		break;
	}
	return 0;
}

const char *nvme_auth_reason_text(uint8_t reason)
{
	static const char *const texts[] = {
		[NVME_AUTH_FAILED] = "authentication failed: wrong secret or unknown host",
		[NVME_AUTH_NO_PROTOCOL] = "DH-HMAC-CHAP is not usable",
		[NVME_AUTH_CONCATENATION] = "secure channel concatenation mismatch",
		[NVME_AUTH_NO_HASH] = "no usable hash",
		[NVME_AUTH_NO_GROUP] = "no usable DH group",
		[NVME_AUTH_PAYLOAD] = "incorrect payload",
		[NVME_AUTH_MESSAGE] = "unexpected message",
	};

	return reason < sizeof(texts) / sizeof(texts[0]) && texts[reason] ? texts[reason]
									  : "unlisted reason";
}
