/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The applets. Adding one is a line in each list. */
#include "applet.h"

extern const struct applet applet_bench;
extern const struct applet applet_boot;
extern const struct applet applet_copy;
extern const struct applet applet_detach;
extern const struct applet applet_discover;
extern const struct applet applet_doctor;
extern const struct applet applet_export;
extern const struct applet applet_info;
extern const struct applet applet_iscsiadm;
extern const struct applet applet_iscsistart;
extern const struct applet applet_iser_discover;
extern const struct applet applet_iser_login;
extern const struct applet applet_iser_logout;
extern const struct applet applet_nfsrdma_discover;
extern const struct applet applet_nfsrdma_mount;
extern const struct applet applet_nvme;
extern const struct applet applet_nvmf_connect;
extern const struct applet applet_nvmf_connect_all;
extern const struct applet applet_nvmf_disconnect;
extern const struct applet applet_nvmf_discover;
extern const struct applet applet_serve;
extern const struct applet applet_serve_ctl;
extern const struct applet applet_srp_connect;
extern const struct applet applet_srp_daemon;
extern const struct applet applet_srp_disconnect;
extern const struct applet applet_srp_discover;
extern const struct applet applet_status;
extern const struct applet applet_tls_daemon;

const struct applet *const applets[] = {
	&applet_bench,
	&applet_boot,
	&applet_copy,
	&applet_detach,
	&applet_discover,
	&applet_doctor,
	&applet_export,
	&applet_info,
	&applet_iscsiadm,
	&applet_iscsistart,
	&applet_iser_discover,
	&applet_iser_login,
	&applet_iser_logout,
	&applet_nfsrdma_discover,
	&applet_nfsrdma_mount,
	&applet_nvme,
	&applet_nvmf_connect,
	&applet_nvmf_connect_all,
	&applet_nvmf_disconnect,
	&applet_nvmf_discover,
	&applet_serve,
	&applet_serve_ctl,
	&applet_srp_connect,
	&applet_srp_daemon,
	&applet_srp_disconnect,
	&applet_srp_discover,
	&applet_status,
	&applet_tls_daemon,
	NULL,
};
