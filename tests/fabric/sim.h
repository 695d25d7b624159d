/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A simulated InfiniBand fabric of thousands of ports that answers for everybody: subnet management
 * agents, the subnet administrator, device management. It stands where ibsim would, behind the same
 * sockets, and misbehaves when told to. */
#pragma once
#include "ibsim.h"
#include "wire/mad.h"
#include <stdint.h>
#include <stdio.h>

#define PKEYS      32
#define LIDS       65536
#define CLIENTS    64
#define NO_INDEX   UINT32_MAX
#define TICK_MS(n) ((n)*1000000ull)

/* Attributes that only a subnet manager answers or sends; sections as in wire/mad.h. */
enum { METHOD_DELETE = 0x15 };
enum { ATTR_SERVICE_RECORD = 0x0031 };
enum {
	ATTR_NODE_DESCRIPTION = 0x0010,
	ATTR_SWITCH_INFO = 0x0012,
	ATTR_GUID_INFO = 0x0014,
	ATTR_PKEY_TABLE = 0x0016
};
#define STATUS_UNSUPPORTED 0x000c /* method or attribute; 13.4.7 */
#define STATUS_NO_RESOURCE 0x0100

struct sim_service { /* 15.2.5.14 */
	be64 id;
	uint8_t gid[16];
	be16 pkey, reserved;
	be32 lease;
	uint8_t key[16], name[64], data[64];
};
WIRE_SIZE(struct sim_service, 176);

enum lie {
	LIE_NONE,
	LIE_IOCS,     /* more slots than controllers */
	LIE_SERVICES, /* more services than it tells */
	LIE_CHANGES,  /* another change id each time */
	LIE_TEXT,     /* unterminated strings */
	LIE_BUSY,
	LIE_STATUS,
	LIE_NOISE,  /* attributes at random */
	LIE_TWICE,  /* each answer two times, the second late */
	LIE_TID,    /* answers to no request */
	LIE_OFFSET, /* SA: distance of records */
	LIE_LENGTH, /* SA: length of tables */
};

struct port { /* with a LID: of an adapter, or 0 of a switch */
	uint64_t guid;
	uint32_t node;
	uint16_t lid, pkey[PKEYS];
	uint8_t num, state;
	bool gone, mute, dead; /* the link is down; no answers at all; none of device management */
	uint32_t cap, cap_before; /* the latter is what the subnet administrator knows */
	uint64_t stale_ns;        /* until then */
	/* device management */
	uint32_t slow_ms;
	uint16_t io_class, change_id;
	uint8_t iocs, slots, services, lie;
	bool picked;          /* as one of so many per cent */
	const char *id, *ext; /* NULL = ordinary ones; never freed */
};

struct end {           /* of a link */
	uint32_t node; /* or NO_INDEX */
	uint8_t port;
};

struct node {
	uint64_t guid;
	uint32_t port, end; /* indices of its first */
	uint32_t number;    /* in its name */
	char kind;          /* 'H'ost, 'T'arget, 'L'eaf, 'S'pine */
	uint8_t type, ports;
};

struct sim_shape {
	uint32_t hosts, targets, ports, down, up;
	uint64_t prefix, seed;
};

enum sa_mood { SA_FINE, SA_SILENT, SA_BUSY, SA_REDIRECT };

struct sim_sa {
	uint8_t mood, lie;
	bool match;             /* of capability masks */
	bool tells_all;         /* also of ports in other partitions */
	uint32_t left;          /* so many answers in this mood; 0 = for good */
	uint32_t redirect;      /* port */
	uint32_t slow_ms, loss; /* of segments, in 1/1000 */
	bool flood;             /* sends tables without waiting for acknowledgements */
};

struct sim_counters {
	uint64_t in, out, smp, sa, dm, lost, reports, unheard;
};

struct delayed { /* to be sent at its time; those of the same time in order */
	uint64_t due_ns, order;
	struct client *client;
	struct sim_packet packet;
};

struct sim_later { /* a heap */
	struct delayed *list;
	size_t count, room;
	uint64_t order;
};

struct client;
struct sim {
	struct sim_shape shape;
	struct sim_sa sa;
	struct sim_counters count;
	struct node *node;
	struct port *port;
	struct end *end;
	uint32_t nodes, ports;
	uint32_t by_lid[LIDS]; /* ports */
	uint32_t sm;           /* port, or NO_INDEX */
	uint64_t now, chance;  /* ns; state of the generator */
	struct client *client[CLIENTS];
	struct sim_later later;
	struct transfer *transfer; /* of tables, on their way */
	struct subscription *subscription;
	struct report *report; /* not answered yet */
	struct sim_service *service;
	unsigned services;
	uint64_t next_tid;
	int epoll, control, console;
	const char *name;
};

/* sim_fabric.c: nodes, ports and links. */
int fabric_build(struct sim *);
uint64_t fabric_random(struct sim *); /* the same for the same seed */
bool fabric_chance(struct sim *, uint32_t per_mille);
/* the first of the nodes, the targets after the hosts */
uint32_t fabric_end_nodes(const struct sim *);
/* NULL: no such link, or it is down */
struct end *fabric_end(const struct sim *, const struct node *, unsigned port);
uint32_t fabric_node(const struct sim *, const char *name, size_t len); /* "H12"; NO_INDEX */
struct port *fabric_port(const struct sim *, uint16_t lid); /* one whose link is up, or NULL */
struct port *fabric_port_of_gid(const struct sim *, const uint8_t gid[16]);
void fabric_set_lid(struct sim *, struct port *, uint16_t lid);
bool fabric_is_sm(const struct sim *, const struct port *);
/* The partition both are in, one of them fully; of `pkey` only if it is not 0. 0 = none. */
uint16_t fabric_partition(const struct port *, const struct port *, uint16_t pkey);
/* to the subnet administrator */
uint32_t fabric_cap_known(const struct sim *, const struct port *);
void fabric_node_info(
	const struct node *, const struct port *, unsigned local_port, struct node_info *);
void fabric_port_info(const struct sim *, const struct node *, unsigned port, struct port_info *);
void fabric_description(const struct node *, uint8_t text[64]);
void fabric_gid(const struct sim *, const struct port *, uint8_t gid[16]);

/* sim_net.c: clients, what is sent to them at once or later. */
int net_open(struct sim *, const char *name);
void net_control(struct sim *); /* the control socket is readable */
void net_client(struct sim *, unsigned index, uint32_t events);
const struct node *net_node(const struct sim *, const struct client *);
uint16_t net_lid(const struct sim_packet *); /* of its destination */
/* From the port that was asked back to who asked. */
void net_answer(struct sim *, struct client *, const struct sim_packet *, const void *mad,
	uint32_t delay_ms);
void net_send(struct sim *, struct client *, const struct sim_packet *, uint32_t delay_ms);
bool net_full(const struct client *); /* more would wait */
int64_t net_timers(struct sim *);     /* sends what is due; ns until the next, or -1 */

/* The responders of each class. */
void smp_ask(struct sim *, struct client *, const struct sim_packet *);
void sa_ask(struct sim *, struct client *, const struct sim_packet *);
void dm_ask(struct sim *, struct client *, const struct sim_packet *);

/* sim_sa_table.c: the records that match a request, one after the other. */
struct sa_records {
	uint8_t *data;
	size_t len, room, each /* multiple of eight */, count;
};
/* False: nothing is known about the attribute. */
bool sa_select(struct sim *, const struct client *, const struct sa_hdr *, const uint8_t *data,
	struct sa_records *);
void sa_add(struct sa_records *, const void *record, size_t len);

/* sim_rmpp.c: tables in segments. */
/* takes data */
void rmpp_send(struct sim *, struct client *, const struct sim_packet *, const struct sa_hdr *,
	struct sa_records *);
void rmpp_received(struct sim *, struct client *, const struct sa_hdr *); /* ACK, STOP, ABORT */
void rmpp_more(struct sim *, struct client *);                            /* there is room */
void rmpp_forget(struct sim *, const struct client *);
int64_t rmpp_timers(struct sim *); /* ns until the next, or -1 */

/* sim_event.c: subscriptions and reports. */
/* status */
uint16_t event_subscribe(
	struct sim *, struct client *, const struct sim_packet *, const struct inform_info *);
/* 64 in service, 65 out of service */
void event_gid(struct sim *, const struct port *, uint16_t trap);
void event_cap(struct sim *, const struct port *); /* 144 */
void event_answered(struct sim *, const struct client *, uint64_t tid);
void event_forget(struct sim *, const struct client *); /* NULL: everybody */
int64_t event_timers(struct sim *);

/* sim_words.c: what the description, the arguments and the console say; see sim.md. False: `answer`
 * says why not. */
bool words_run(struct sim *, char *line, char *answer, size_t len);
bool words_number(const char *word, uint64_t most, uint64_t *value); /* false: invalid */
/* sim_words_port.c */
bool words_port(
	struct sim *, struct port *, char **words, unsigned count, char *answer, size_t len);

/* sim_console.c: a unix socket that takes a line of words and gives a line back. */
int console_open(struct sim *, const char *path);
void console_serve(struct sim *);
int console_ask(const char *path, int count, char **words); /* exit status */
