/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print an SRP connection of the kernel and its disks. */
#include "srp_made.h"
#include "kernel_scsi.h"
#include "names.h"
#include "srp_loss.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* "10.0.0.1:5555", "[fe80::1]:5555" */
static void show_dest(struct out *out, const char *dest)
{
	const char *colon = strrchr(dest, ':');
	bool v6 = dest[0] == '[';

	if (!colon)
		return;
	out_text(out, "traddr", NULL, "%.*s", (int)(colon - dest) - 2 * v6, dest + v6);
	out_text(out, "trsvcid", NULL, "%s", colon + 1);
}

static void show_host(struct out *out, const struct kernel_srp *host, const char *dest)
{
	out_text(out, "host", NULL, "%s", host->host);
	out_text(out, "id_ext", NULL, "%016" PRIx64, host->id_ext);
	out_text(out, "ioc_guid", NULL, "%016" PRIx64, host->ioc_guid);
	if (!host->by_cm) {
		char gid[33];

		out_text(out, "dgid", NULL, "%s", hex_text(gid, host->dgid, 16));
		out_text(out, "pkey", NULL, "%04x", host->pkey);
		out_text(out, "service_id", NULL, "%016" PRIx64, host->service_id);
	} else if (*dest) {
		show_dest(out, dest);
	}
	if (host->dev[0])
		out_text(out, "rdma_device", NULL, "%s", host->dev);
	if (host->port)
		out_u64(out, "rdma_port", NULL, host->port);
}

void srp_made_show(struct out *out, const struct attach_srp *srp, const char *dest,
	const char *print, const struct srp_tmo *would)
{
	const struct kernel_srp *host = &srp->host;
	struct srp_rport rport;
	char text[200];
	bool told = !kernel_srp_rport(
		srp->attach.root, (unsigned)kernel_srp_number(host->host), &rport);

	out_bool(out, "connected", NULL, true);
	out_bool(out, "existed", NULL, srp->existed);
	show_host(out, host, dest);
	if (told) {
		out_text(out, "state", NULL, "%s", rport.state);
		srp_loss_show(out, would ? would : &rport.tmo);
	}
	out_list(out, "luns");
	for (unsigned i = 0; i < srp->luns.count; i++)
		kernel_scsi_show(out, &srp->luns.list[i], print);
	out_end(out);
	if (print)
		return;
	out_line(out, "%s: %sconnected to %016" PRIx64 "%s%s from %s port %u, %s", host->host,
		srp->existed ? "already " : "", host->id_ext, *dest ? " at " : "", dest, host->dev,
		host->port, told ? rport.state : "no remote port");
	if (told)
		out_line(out, "%s: if the target is lost: %s", host->host,
			srp_loss_text(&rport.tmo, text));
}
