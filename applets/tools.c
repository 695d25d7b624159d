/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tools of other projects and words that no applet has, and the command that does their work. For
 * their names as words and as links. */
#include "applet.h"
#include <string.h>

#define ATTACH                                                                                     \
	"rdmastor nvmf-connect, iser-login, srp-connect or nfsrdma-mount, or rdmastor export "     \
	"--ublk"
#define COPY        "rdmastor copy SOURCE DESTINATION"
#define INFO        "rdmastor info URI"
#define SERVE_ISCSI "rdmastor serve DISK --iscsi --tcp ADDRESS"
#define SERVE_NVMF  "rdmastor serve DISK --nvmf --tcp ADDRESS"
#define BENCH       "rdmastor bench URI"
#define BENCH_NET   "rdmastor bench --listen on one host, rdmastor bench --rdma HOST on the other"
#define EXPORT      "rdmastor export DISK --nbd ADDRESS"
#define STATUS      "rdmastor status"
#define DOCTOR      "rdmastor doctor"
#define NFS_LIST    "rdmastor nfsrdma-discover HOST"
#define NFS_MOUNT   "rdmastor nfsrdma-mount HOST:/PATH DIR"

static const struct {
	const char *name, *instead;
} tools[] = {
	{ "attach", ATTACH },
	{ "connect", "rdmastor nvmf-connect or srp-connect" },
	{ "dd", COPY },
	{ "ddrescue", "rdmastor copy SOURCE DESTINATION --resume MAP" },
	{ "fio", BENCH ", which takes --rw, --bs, --iodepth, --size and others of fio" },
	{ "ib_read_bw", BENCH_NET },
	{ "ib_read_lat", BENCH_NET },
	{ "ib_send_bw", BENCH_NET },
	{ "ib_send_lat", BENCH_NET },
	{ "ib_write_bw", BENCH_NET },
	{ "ib_write_lat", BENCH_NET },
	{ "ibstat", STATUS },
	{ "ibstatus", STATUS },
	{ "ibv_devices", STATUS },
	{ "ibv_devinfo", DOCTOR },
	{ "ibv_rc_pingpong", DOCTOR },
	{ "iperf3", BENCH_NET },
	{ "iscsi-inq", INFO },
	{ "iscsi-ls", "rdmastor discover HOST" },
	{ "iscsi-perf", BENCH },
	{ "iscsid", "rdmastor iser-login, which needs no daemon" },
	{ "kernel", "rdmastor help boot" },
	{ "login", "rdmastor iser-login" },
	{ "lsscsi", STATUS },
	{ "mount", NFS_MOUNT },
	{ "mount.nfs", NFS_MOUNT },
	{ "mount.nfs4", NFS_MOUNT },
	{ "multipath", STATUS },
	{ "multipathd", STATUS },
	{ "nbd-client", "rdmastor export URI --nbd-dev" },
	{ "nbd-server", EXPORT },
	{ "nbdcopy", COPY },
	{ "nbdinfo", INFO },
	{ "nbdkit", EXPORT },
	{ "nbdsh", INFO },
	{ "nbdublk", "rdmastor export URI --ublk" },
	{ "nvme-stas", DOCTOR },
	{ "nvmetcli", SERVE_NVMF },
	{ "nvmf_tgt", SERVE_NVMF },
	{ "qemu-img", COPY },
	{ "qemu-nbd", EXPORT },
	{ "qperf", BENCH_NET },
	{ "rdma", STATUS },
	{ "restore", COPY },
	{ "rpcinfo", NFS_LIST },
	{ "rping", "rdmastor bench --ping" },
	{ "run_srp_daemon", "rdmastor srp-daemon" },
	{ "sg_dd", BENCH },
	{ "showmount", NFS_LIST },
	{ "spdk_nvme_identify", INFO },
	{ "spdk_nvme_perf", BENCH },
	{ "spdk_tgt", SERVE_NVMF },
	{ "targetcli", SERVE_ISCSI },
	{ "tgt-admin", SERVE_ISCSI },
	{ "tgtadm", SERVE_ISCSI },
	{ "tgtd", SERVE_ISCSI },
	{ "uri", "rdmastor help uri" },
	{ "uris", "rdmastor help uri" },
};

const char *applet_replacement(const char *tool)
{
	for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++)
		if (!strcmp(tools[i].name, tool))
			return tools[i].instead;
	return NULL;
}
