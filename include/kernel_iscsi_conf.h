/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iSCSI targets to attach at boot: from the firmware (iBFT), the kernel command line and Debian's
 * iscsi.initramfs. Paths are relative to a root descriptor. */
#pragma once
#include "uri_read.h"
#include "wire/iscsi.h"

#define ISCSI_BOOT_TEXT 257 /* users and secrets */

struct iscsi_boot_target { /* one portal of one target; "": unset */
	char name[ISCSI_NAME_MAX + 1];
	char host[256]; /* address or name, without brackets */
	uint16_t port;  /* 0: unset */
	int tpgt;       /* target portal group tag; -1: unset */
	bool iser;
	bool firmware; /* stands for the firmware's targets; names none itself */
	uint64_t lun;  /* as Linux numbers LUNs, the last number of H:C:T:L */
	char user[2][ISCSI_BOOT_TEXT], secret[2][ISCSI_BOOT_TEXT]; /* [0] ours, [1] the target's */
	char netdev[16];
	char boot_nic[20], boot_target[20]; /* "ethernet0", "target0" of the iBFT */
	char from[96]; /* for messages: "netroot=iscsi:", "iBFT target0"; holds no secret */
};

/* Print a target as a URI (rdmastor-uri(7)) without users and secrets. */
void kernel_iscsi_boot_uri(const struct iscsi_boot_target *, char text[URI_MAX]);

#define ISCSI_BOOT_PARAMS 32
struct iscsi_boot_config {
	struct iscsi_boot_target *entry;
	unsigned count;
	char initiator[ISCSI_NAME_MAX + 1], initiator_from[32]; /* "": unset */
	char *param[ISCSI_BOOT_PARAMS]; /* "node.session.timeo.replacement_timeout=30", for all */
	unsigned params;
	int retry_max;     /* login retries; -1: unset */
	bool firmware;     /* attach the firmware's targets */
	bool network;      /* configure the network as the firmware did */
	unsigned problems; /* lines of `notes` about invalid parts, which were left out */
	struct diag why;   /* the first problem */
	char notes[2048];  /* messages, a line each */
};
/* Read the configuration of this host; the firmware's targets are added if it asks for them, and
 * the firmware's initiator name if it sets none. -ENOENT: no target. The caller calls
 * kernel_iscsi_boot_free(), also after a failure. */
int kernel_iscsi_boot_read(int root, struct iscsi_boot_config *, struct diag *);
/* Read the firmware's targets only. -ENOENT: none. */
int kernel_iscsi_firmware(int root, struct iscsi_boot_config *, struct diag *);
void kernel_iscsi_boot_free(struct iscsi_boot_config *); /* wipes it */
/* Load the modules that the firmware's targets and their network need; blocks. */
void kernel_ibft_load(int root);
/* Let this process only read what is loaded: its loop must not wait for modprobe. */
void kernel_ibft_never_load(void);

/* Pass each "name = value" line of open-iscsi's configuration to `each` until it returns other than
 * 0, which is returned. path NULL: /etc/iscsi/iscsid.conf, which may be missing. */
int kernel_iscsi_conf_file(int root, const char *path,
	int (*each)(const char *name, const char *value, void *arg), void *arg, struct diag *);

/* The firmware's targets one by one, with what the iBFT has about them. */
struct ibft_view {
	void (*record)(void *arg, bool begin); /* begin or end a target's record */
	/* a value by its name in open-iscsi's records; text NULL: a number */
	void (*value)(void *arg, const char *name, const char *text, unsigned number);
	/* a network interface, "" if unknown, is about to be configured, or was not */
	void (*nic)(void *arg, const char *netdev, bool failed);
	void (*damage)(void *arg, const char *text); /* an invalid structure is left out */
	void *arg;
};
/* Pass each target as a record; secrets are hidden. -ENOENT: no iBFT or no target; -EPROTO: the
 * table or all its targets are invalid. */
int kernel_ibft_records(int root, const struct ibft_view *, struct diag *);
/* Configure the NIC of each target as the firmware did: address, link up, VLAN, route to the
 * target. Needs CAP_NET_ADMIN. dry_run: only report it. Returns 1, with the last reason in diag, if
 * a NIC could not be configured; otherwise as kernel_ibft_records(). */
int kernel_ibft_set_up(int root, const struct ibft_view *, bool dry_run, struct diag *);
/* Configure the NICs of all targets; failures are counted as problems. */
void kernel_iscsi_network(int root, struct iscsi_boot_config *);
/* Find the network interface with this hardware address; false: none. */
bool kernel_mac_netdev(int root, const char *mac, char netdev[16]);
