/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print a LUN of a kernel session, for every applet that attaches. */
#include "kernel_scsi.h"
#include "out.h"
#include <inttypes.h>
#include <string.h>

static void show_line(
	struct out *out, const struct scsi_lun *lun, const char *by_id, const char *print)
{
	bool link = print && !strcmp(print, "by-id") && by_id[0];
	char size[16];

	if (print && lun->node[0])
		out_line(out, "%s%s", link ? by_id : "/dev/", link ? "" : lun->node);
	else if (lun->node[0])
		out_line(out, "/dev/%s: LUN %" PRIu64 ", %s, blocks of %u bytes%s%s%s", lun->node,
			lun->lun, out_human(lun->size, size), lun->block,
			lun->ro ? ", read-only" : "", by_id[0] ? ", " : "", by_id);
	else if (!print)
		out_line(out, "%s: LUN %" PRIu64 ", %s %s, no disk", lun->name, lun->lun,
			lun->vendor, lun->model);
}

void kernel_scsi_show(struct out *out, const struct scsi_lun *lun, const char *print)
{
	char by_id[200];

	kernel_scsi_by_id(lun, by_id);
	out_object(out, NULL);
	out_u64(out, "lun", NULL, lun->lun);
	if (lun->node[0]) {
		out_text(out, "device", NULL, "/dev/%s", lun->node);
		out_u64(out, "size", NULL, lun->size);
		out_u64(out, "block_size", NULL, lun->block);
		out_bool(out, "read_only", NULL, lun->ro);
	}
	if (by_id[0])
		out_text(out, "by_id", NULL, "%s", by_id);
	if (lun->wwid[0])
		out_text(out, "wwid", NULL, "%s", lun->wwid);
	out_text(out, "vendor", NULL, "%s", lun->vendor);
	out_text(out, "model", NULL, "%s", lun->model);
	if (!lun->joined)
		show_line(out, lun, by_id, print);
	out_end(out);
}
