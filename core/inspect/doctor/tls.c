/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the kernel's NVMe/TCP connections with TLS need besides its own features: a process for the
 * handshakes. */
#include "find.h"
#include "kernel_handshake.h"
#include "kernel_nvmf.h"
#include <errno.h>

bool doctor_uses_tls(const struct doctor *doctor)
{
	return doctor_is(doctor, "nvme+tcp") &&
	       (uri_has(doctor->parsed, "tls-key-file") || uri_has(doctor->parsed, "concat"));
}

/* A kernel that makes no requests is the subject of doctor_features(). */
void doctor_tls(struct doctor *doctor)
{
	const bool attached = !doctor->uri && kernel_nvmf_any_tls(doctor->root);
	const int answered = attached || doctor_uses_tls(doctor)
				     ? kernel_handshakes_answered(doctor->root)
				     : -EOPNOTSUPP;
	struct finding *finding;
	struct diag why = { 0 };

	if (answered == -EOPNOTSUPP)
		return;
	if (answered < 0) {
		diag_sys(&why, -answered,
			"find out who answers the kernel's requests for TLS handshakes");
		diag_hint(&why, "ps -C tlshd,rdmastor");
		doctor_add_diag(doctor, DOCTOR_KERNEL, "tls-handshakes", DOCTOR_WARNING, &why);
		return;
	}
	finding = doctor_add(doctor, DOCTOR_KERNEL, "tls-handshakes",
		attached && !answered ? DOCTOR_WARNING : DOCTOR_OK, "", "%s%s",
		answered ? "a process answers the kernel's requests for TLS handshakes"
			 : "no process answers the kernel's requests for TLS handshakes: ",
		answered   ? ""
		: attached ? "connections that are lost will not be restored"
			   : "nvmf-connect will do it for its connections");
	doctor_hint(finding, "rdmastor tls-daemon --daemon, or systemctl start tlshd");
}
