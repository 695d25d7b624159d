/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Host names for NVMe and iSCSI, and connections that conflict with them. */
#include "find.h"
#include "kernel_identity.h"
#include "kernel_iscsi.h"
#include "kernel_nvmf.h"
#include "names.h"
#include <stdlib.h>
#include <string.h>

static void check_hostnqn(struct doctor *doctor, const struct identity *who)
{
	char id[UUID_TEXT];
	struct finding *finding = doctor_add(doctor, DOCTOR_IDENTITY, "hostnqn",
		who->random ? DOCTOR_WARNING : DOCTOR_OK, who->hostnqn,
		who->random ? "random host NQN for this run: no DMI UUID and no /etc/machine-id"
			    : "host NQN from %s",
		who->nqn_from);

	doctor_text(finding, "hostnqn", who->hostnqn);
	doctor_text(finding, "hostid", uuid_text(id, who->hostid));
	doctor_text(finding, "source", who->nqn_from);
	doctor_hint(finding, "mkdir -p /etc/nvme && echo %s >/etc/nvme/hostnqn", who->hostnqn);
}

static void check_initiator(struct doctor *doctor)
{
	struct kernel_initiator who;
	struct finding *finding;

	kernel_initiator(doctor->root, NULL, &who, NULL);
	finding = doctor_add(doctor, DOCTOR_IDENTITY, "initiator",
		who.random ? DOCTOR_WARNING : DOCTOR_OK, who.name,
		who.random ? "random initiator name for this run: no DMI UUID and no "
			     "/etc/machine-id"
			   : "initiator name from %s",
		who.from);
	doctor_text(finding, "initiator", who.name);
	doctor_text(finding, "source", who.from);
	doctor_hint(finding,
		"mkdir -p /etc/iscsi && echo InitiatorName=%s "
		">/etc/iscsi/initiatorname.iscsi",
		who.name);
}

/* The kernel and targets refuse one NQN with two IDs, and one ID with two NQNs. */
static void check_duplicates(struct doctor *doctor, const struct identity *who)
{
	struct nvmf_ctrl *ctrl = NULL;
	unsigned count = 0, bad = 0;
	char id[UUID_TEXT];
	struct finding *finding;

	uuid_text(id, who->hostid);
	if (kernel_nvmf_list(doctor->root, &ctrl, &count, NULL))
		return;
	for (unsigned i = 0; i < count; i++) {
		bool same_nqn = !strcmp(ctrl[i].hostnqn, who->hostnqn),
		     same_id = !strcasecmp(ctrl[i].hostid, id);

		if (!ctrl[i].hostnqn[0] || !ctrl[i].hostid[0] || same_nqn == same_id)
			continue;
		bad++;
		finding = doctor_add(doctor, DOCTOR_IDENTITY, "duplicate", DOCTOR_FAILURE,
			ctrl[i].name,
			same_nqn ? "connected with this host NQN, but host ID %s instead of %s"
				 : "connected as %s, but with the host ID of %s",
			same_nqn ? ctrl[i].hostid : ctrl[i].hostnqn, same_nqn ? id : who->hostnqn);
		doctor_text(finding, "hostnqn", ctrl[i].hostnqn);
		doctor_text(finding, "hostid", ctrl[i].hostid);
		doctor_hint(finding, "connect with its identity: --hostnqn %s --hostid %s",
			ctrl[i].hostnqn, ctrl[i].hostid);
	}
	if (!bad && count) {
		finding = doctor_add(doctor, DOCTOR_IDENTITY, "duplicate", DOCTOR_OK, "",
			"no connection has another ID for this host NQN");
		finding->detail = true;
	}
	free(ctrl);
}

static bool is_scheme(const struct doctor *doctor, const char *names)
{
	return !doctor->uri || doctor_is(doctor, names);
}

void doctor_identity(struct doctor *doctor)
{
	struct identity who;

	if (is_scheme(doctor, "nvme+rdma nvme+tcp")) {
		kernel_identity(doctor->root, NULL, NULL, &who, NULL);
		check_hostnqn(doctor, &who);
		check_duplicates(doctor, &who);
	}
	if (is_scheme(doctor, "iser iscsi"))
		check_initiator(doctor);
}
