/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Internal functions of the topics, which append findings. */
#pragma once
#include "doctor.h"

enum doctor_topic { /* printed in this order */
	DOCTOR_KERNEL,
	DOCTOR_MODULES,
	DOCTOR_RDMA,
	DOCTOR_LIMITS,
	DOCTOR_IDENTITY,
	DOCTOR_BOOT,
	DOCTOR_NETWORK,
	DOCTOR_FIREWALL,
	DOCTOR_TARGET,
	DOCTOR_PATHS,
	DOCTOR_TOPICS,
};

/* Append a finding, which is valid until the next one; never NULL. object "": none. */
struct finding *doctor_add(struct doctor *, enum doctor_topic, const char *check, enum doctor_state,
	const char *object, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Append a finding with the text and hint of a failure. */
struct finding *doctor_add_diag(struct doctor *, enum doctor_topic, const char *check,
	enum doctor_state, const struct diag *);
void doctor_hint(struct finding *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doctor_number(struct finding *, const char *key, uint64_t value);
void doctor_text(struct finding *, const char *key, const char *text); /* skips an empty text */

/* Whether there is a URI whose scheme is one of these, separated by blanks. */
bool doctor_is(const struct doctor *, const char *names);
/* Whether the disk of the URI requires an RDMA device. */
bool doctor_needs_rdma(const struct doctor *);
/* Whether there is no URI, or one of RDMA. */
bool doctor_rdma_relevant(const struct doctor *);
/* Whether the kernel is older than this release of Linux; false if unknown. */
bool doctor_older(const struct doctor *, unsigned major, unsigned minor);
/* Whether the URI is one of NVMe/TCP with TLS. */
bool doctor_uses_tls(const struct doctor *);
/* Return the remaining time divided by `part`, at least 1 ms. */
uint32_t doctor_remaining_ms(const struct doctor *, unsigned part);
/* Return the port of the URI or of its protocol; 0: none. */
uint16_t doctor_port(const struct doctor *);

/* A path of a disk; "", 0: not known. */
struct doctor_path {
	char name[160], address[ADDR_TEXT];
	char netdev[16];
	unsigned mtu; /* of the interface */
};
/* path_routes.c: set the interface by the route to the address, unless it is set or the address is
 * one of this machine, and its MTU. */
void doctor_path_route(struct doctor *, struct doctor_path *, const struct addr *);
/* Examine what the paths of a disk have in common; fewer than two have nothing. */
void doctor_independence(
	struct doctor *, const char *object, const struct doctor_path *, unsigned count);
struct cJSON;
/* Examine the paths of the URI, given the document of `info`. */
void doctor_uri_paths(struct doctor *, const struct cJSON *);
/* Report the certificates in the document of `info`, which may be NULL. */
void doctor_certificates(struct doctor *, const struct cJSON *);
/* Whether the server's certificates may be the reason of doctor->why; then set the URI to see them.
 */
bool doctor_untrusted_uri(const struct doctor *, char uri[URI_MAX]);

/* The topics. */
void doctor_kernel(struct doctor *);
/* Optional kernel features; with a URI, only what it needs. */
void doctor_features(struct doctor *);
void doctor_tls(struct doctor *);
void doctor_modules(struct doctor *);
void doctor_rdma(struct doctor *);
void doctor_limits(struct doctor *);
void doctor_identity(struct doctor *);
void doctor_boot(struct doctor *);
void doctor_target(struct doctor *);
void doctor_network(struct doctor *);
void doctor_firewall(struct doctor *);
void doctor_paths(struct doctor *); /* of attached disks; only without a URI */
