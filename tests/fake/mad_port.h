/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A fabric in memory instead of core/mad/port.c: a subnet administrator and nodes with I/O
 * controllers, which answer, are dead, slow, busy, change, or lie. What nodes say goes through
 * `mangle`, so that a test can say anything. */
#pragma once
#include "mad.h"

struct fake_node {
	uint16_t lid;
	uint64_t guid;
	bool management, smi_only /* answers subnet management alone */;
	bool is_switch; /* a Get of the SA matches too many of its ports unless it names one */
	uint8_t state;  /* of its port; 0: active */
	uint8_t max_controllers, iocs; /* the first slots are filled */
	uint8_t services;              /* of each */
	uint16_t io_class;
	const char *service_name; /* with one %u; NULL: "SRP.T10:%016X" */
	uint16_t pkey[4];         /* partitions it is in; [0] 0: the default one */
	/* How it behaves */
	bool dead;
	uint32_t delay_ms;
	uint32_t drop;         /* so many requests of device management are lost */
	uint32_t busy;         /* so many are answered with busy */
	uint32_t change_every; /* requests after which its change id is another; 0 never */
	uint16_t refuse_attr, refuse_status; /* device management */
	unsigned asked;                      /* requests of device management that reached it */
};

struct fake_fabric {
	struct mad_port_info port[4];
	unsigned ports;
	int open_err; /* errno */
	struct fake_node *node;
	unsigned nodes;
	/* By directed route: our port 1 leads to a root switch, whose ports lead to switches of so
	 * many nodes each, which lead back through their last port */
	unsigned leaf;
	/* The subnet administrator */
	bool sa_dead, sa_no_match;
	uint16_t sa_status; /* of tables */
	uint32_t sa_delay_ms;
	unsigned sa_pad;       /* bytes more than a record has, rounded up to eight */
	bool twice;            /* everything is answered twice */
	uint16_t sa_elsewhere; /* LID to which it redirects requests, queue pair 5 */
	bool sa_nowhere;       /* and from there on as well */
	/* and says so as if ClassPortInfo had been asked for, not what was */
	bool elsewhere_by_get;
	/* Its reports to subscribers */
	bool reports_taken; /* by another program of this host */
	uint16_t inform_status;
	uint32_t inform_drop; /* so many InformInfos are lost */
	bool gone;            /* the device, from now on */
	unsigned opens;       /* counted */
	void (*mangle)(void *arg, uint8_t *mad, size_t *len /* at most what it is */);
	void *arg;
	/* What was seen */
	uint32_t timeout_ms; /* of the last one */
	unsigned sent, dm_sent, in_flight, most_in_flight, most_each;
	uint16_t traps_to; /* LID last set as the one to notify */
	unsigned informs, subscribed /* traps: 64 bit 0, 65 bit 1, 144 bit 2 */,
		answered /* Reports */, looks;
	bool served_by_other;    /* device management of our port */
	unsigned dm_answers;     /* of our agent; the last one is `answer` */
	bool reports;            /* an agent of this port receives them */
	uint8_t answer[MAD_LEN]; /* to the last Report */
	uint32_t long_sum;       /* of the bytes of the last request that went in segments */
	size_t long_len;
};
extern struct fake_fabric fake_fabric;

/* One port of our own, active, LID 1, subnet manager LID 2, and `nodes` live ones from LID 10 on.
 */
void fake_fabric_init(unsigned nodes);
void fake_fabric_free(void);

/* A Report to the port opened last, from a LID; any bytes. */
void fake_report(uint16_t from, const void *mad, size_t len);
/* One as the subnet administrator makes it: 64 and 65 of the node with this GUID, 144 of the one
 * with this LID; sent only if the host has subscribed. */
void fake_notice(uint16_t trap, uint64_t guid_or_lid, uint32_t cap_mask);
