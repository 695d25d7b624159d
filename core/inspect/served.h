/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared by both sides of kernel_serving.h: the name of the socket, and an answer. */
#pragma once
#include "kernel_serving.h"
#include <sys/socket.h>
#include <sys/un.h>

#define SERVING_PREFIX "rdmastor/"
/* Returns the length of the address. suffix: "", or SERVING_CONTROL. */
socklen_t kernel_serving_address(struct sockaddr_un *, int pid, const char *suffix);
/* A control socket keeps the boundaries of messages: one command, then one answer, which is "ok"
 * and the result, or the failure's code word, errno, object, text and hint, each on a line. */
#define SERVING_CONTROL "/control"
#define SERVING_ANSWER  2048

/* Parse one answer into `process`, which keeps its pid and uid; errors go to process->why. For
 * kernel_serving() and tests. */
void kernel_serving_read(struct serving_process *, const char *text, size_t len);
bool kernel_serving_is_trusted(const struct serving_process *);
void kernel_serving_clear(struct serving_process *);

struct serving_listener {
	char transport[8]; /* rdma, tcp, unix */
	char traddr[ADDR_TEXT], trsvcid[8], service_id[17], path[ADDR_TEXT];
	bool iwarp;      /* of rdma: software iWARP only */
	unsigned group;  /* 0: not reported */
	char access[20]; /* access_word() */
};
