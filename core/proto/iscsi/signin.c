/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The login phase of a normal session for who has the connection: requests into a datamover,
 * responses out of its owner's events. */
#include "login.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

struct iscsi_signin {
	struct iscsi_login login;
	struct iscsi_offer offer;
	uint8_t isid[6];
	struct datamover *dm;
};

int iscsi_signin_new(struct iscsi_signin **out, const char *target, enum iscsi_carrier carrier,
	const struct iscsi_from *from, const struct iscsi_offer *offer, const uint8_t isid[6],
	struct diag *diag)
{
	struct iscsi_signin *in;
	uint8_t random[32];
	int err = iscsi_auth_check(&from->auth, diag);

	if (err)
		return err;
	in = calloc(1, sizeof(*in));
	if (!in)
		return diag_sys(diag, ENOMEM, "login");
	if (getrandom(random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) {
		free(in);
		return diag_sys(diag, EAGAIN, "read random numbers");
	}
	in->offer = *offer;
	memcpy(in->isid, isid, sizeof(in->isid));
	iscsi_login_start(&in->login,
		&(struct iscsi_login_how){ .initiator = from->initiator,
			.target = target,
			.auth = &from->auth,
			.rdma = carrier == ISCSI_ISER,
			.recv_max = offer->max_recv,
			.offer = &in->offer,
			.isid = in->isid },
		random);
	explicit_bzero(random, sizeof(random));
	*out = in;
	return 0;
}

static int send_request(struct iscsi_signin *in, struct diag *diag)
{
	const struct iscsi_login_req *req = &in->login.req;
	int err;

	if (in->login.out.bad)
		return diag_set(diag, DIAG_USAGE, EMSGSIZE, "names too long for one login request");
	loop_trace(in->dm->loop, "> login request, stage %u%s", ISCSI_CSG(req->flags),
		req->flags & ISCSI_FINAL ? ", final" : "");
	err = in->dm->ops->send_control(in->dm, req, in->login.data, iscsi_login_len(&in->login));
	return err ? diag_sys(diag, -err, "send a login request") : 0;
}

int iscsi_signin_begin(struct iscsi_signin *in, struct datamover *dm, struct diag *diag)
{
	in->dm = dm;
	return send_request(in, diag);
}

int iscsi_signin_take(struct iscsi_signin *in, const struct iscsi_bhs *bhs, const uint8_t *data,
	uint32_t len, struct diag *diag)
{
	int next = iscsi_login_take(&in->login, bhs, data, len, diag), err;

	if (next == ISCSI_LOGIN_DONE && in->login.how.rdma &&
		!in->login.keys.value[ISCSI_RDMA_EXTENSIONS])
		return diag_set(diag, DIAG_UNSUPPORTED, EOPNOTSUPP,
			"the target does not support iSER here (RDMAExtensions=No)");
	if (next == ISCSI_LOGIN_DONE)
		return ISCSI_SIGNIN_DONE;
	if (next == ISCSI_LOGIN_MOVED)
		return ISCSI_SIGNIN_MOVED;
	if (next < 0)
		return next;
	err = send_request(in, diag);
	return err ? err : ISCSI_SIGNIN_MORE;
}

bool iscsi_signin_answers(const struct iscsi_signin *in)
{
	return in->login.started;
}

uint16_t iscsi_signin_status(const struct iscsi_signin *in)
{
	return in->login.status;
}

void iscsi_signin_agreed(const struct iscsi_signin *in, struct iscsi_agreed *agreed)
{
	const struct iscsi_login *login = &in->login;
	const uint32_t *value = login->keys.value;
	bool rdma = login->how.rdma;

	*agreed = (struct iscsi_agreed){ .header_digest = value[ISCSI_HEADER_DIGEST],
		.data_digest = value[ISCSI_DATA_DIGEST],
		.initial_r2t = value[ISCSI_INITIAL_R2T],
		.immediate_data = value[ISCSI_IMMEDIATE_DATA],
		.pdu_in_order = value[ISCSI_PDU_IN_ORDER],
		.sequence_in_order = value[ISCSI_SEQUENCE_IN_ORDER],
		.max_recv = rdma ? value[ISCSI_INITIATOR_RECV] : in->offer.max_recv,
		.max_xmit = rdma ? value[ISCSI_TARGET_RECV] : value[ISCSI_MAX_RECV],
		.first_burst = value[ISCSI_FIRST_BURST],
		.max_burst = value[ISCSI_MAX_BURST],
		.max_r2t = value[ISCSI_MAX_R2T],
		.erl = value[ISCSI_ERL],
		.time2wait = value[ISCSI_TIME2WAIT],
		.time2retain = value[ISCSI_TIME2RETAIN],
		.exp_statsn = login->exp_statsn,
		.tsih = login->tsih,
		.tpgt = login->tpgt };
	if (login->by_chap)
		snprintf(agreed->alg, sizeof(agreed->alg), "%s",
			iscsi_chap_name((unsigned)login->chap.alg));
}

const char *iscsi_signin_moved(const struct iscsi_signin *in)
{
	return in->login.redirect;
}

void iscsi_signin_free(struct iscsi_signin *in)
{
	if (!in)
		return;
	iscsi_login_end(&in->login);
	free(in);
}
