/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared by the topics of the examination, which all append findings. */
#pragma once
#include "doctor.h"

/* Append a finding, which is valid until the next one; never NULL. object "": none. */
struct finding *doctor_add(struct doctor *, enum doctor_topic, const char *check, enum doctor_state,
	const char *object, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* The same from a failure. */
struct finding *doctor_add_diag(struct doctor *, enum doctor_topic, const char *check,
	enum doctor_state, const struct diag *);
void doctor_hint(struct finding *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void doctor_number(struct finding *, const char *key, uint64_t value);
void doctor_text(struct finding *, const char *key, const char *text); /* nothing if empty */

/* Whether a URI is given whose scheme is one of these words, separated by blanks. */
bool doctor_is(const struct doctor *, const char *words);
/* The disk of the URI can't be used without an RDMA device. */
bool doctor_needs_rdma(const struct doctor *);
/* RDMA matters: no URI is given, or one of RDMA. */
bool doctor_wants_rdma(const struct doctor *);
/* The running kernel is older than that release of Linux; false if its release is unknown. */
bool doctor_older(const struct doctor *, unsigned major, unsigned minor);
/* Of the time left one part of so many; at least 1. */
uint32_t doctor_left_ms(const struct doctor *, unsigned part);
/* The port that the URI means; 0: none. */
uint16_t doctor_port(const struct doctor *);

/* Topics. */
void doctor_kernel(struct doctor *);
void doctor_features(struct doctor *); /* what a kernel may lack; without a URI only */
void doctor_modules(struct doctor *);
void doctor_rdma(struct doctor *);
void doctor_limits(struct doctor *);
void doctor_identity(struct doctor *);
void doctor_boot(struct doctor *);
void doctor_target(struct doctor *);
void doctor_network(struct doctor *);
void doctor_firewall(struct doctor *);
