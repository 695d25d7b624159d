/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A process reports what it serves on its socket, and another reads it: only what can be believed,
 * and never waits long. */
#include "../../../../core/inspect/served.h"
#include "../../../../core/inspect/status/show.h"
#include "kernel_identity.h"
#include "loop.h"
#include "out.h"
#include "says.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct serving_process parse(const char *text)
{
	struct serving_process process = { .pid = 7, .uid = 8 };

	kernel_serving_read(&process, text, strlen(text));
	return process;
}

#define HEAD "{\"schema\":\"rdmastor.serve.status\",\"version\":2,\"seconds\":1.5,\"serving\":"

Test(serving, what_a_process_reports)
{
	struct serving_process p =
		parse(HEAD "[{\"protocol\":\"nvme\",\"clients\":2,\"read_bytes\":9007199254740992,"
			   "\"disks\":[{\"uri\":\"ram:1M\","
			   "\"size\":1048576,\"block_size\":512,\"read_only\":true,\"subnqn\":"
			   "\"nqn.a\",\"nsid\":3,\"holders\":[{\"kind\":\"mount\","
			   "\"name\":\"/srv\"},{\"kind\":\"new\"},7,"
			   "{\"kind\":\"device\",\"name\":\"dm-0\",\"label\":\"vg-a\"}]},"
			   "{\"uri\":1,\"holders\":\"swap\"}],"
			   "\"listeners\":[{\"transport\":\"rdma\",\"traddr\":\"::1\",\"trsvcid\":"
			   "\"4420\",\"iwarp\":true},{\"transport\":\"unix\",\"path\":\"/x\"}]}]}");
	const struct serving_front *front = p.front;

	cr_assert_eq(p.why.err, 0, "%s", p.why.text);
	cr_assert_eq(p.pid, 7);
	cr_assert_eq(p.uid, 8);
	cr_assert_str_eq(p.applet, "serve");
	cr_assert_eq(p.seconds, 1.5);
	cr_assert_eq(p.fronts, 1);
	cr_assert_eq(front->clients, 2);
	cr_assert_eq(front->read_bytes, UINT64_C(1) << 53);
	cr_assert_eq(front->errors, SERVING_UNKNOWN);
	cr_assert_eq(front->disks, 2);
	cr_assert_str_eq(front->disk[0].uri, "ram:1M");
	cr_assert_eq(front->disk[0].nsid, 3);
	cr_assert(front->disk[0].read_only);
	cr_assert(front->disk[0].holders.known);
	cr_assert_eq(front->disk[0].holders.count, 4);
	cr_assert_str_eq(front->disk[0].holders.item[0].kind, "mount");
	cr_assert_str_eq(front->disk[0].holders.item[0].name, "/srv");
	cr_assert_str_eq(front->disk[0].holders.item[1].kind, "unknown");
	cr_assert_str_eq(front->disk[0].holders.item[2].kind, "unknown");
	cr_assert_str_eq(front->disk[0].holders.item[3].kind, "device");
	cr_assert_str_eq(front->disk[0].holders.item[3].label, "vg-a");
	cr_assert_str_eq(front->disk[1].uri, "");
	cr_assert_not(front->disk[1].holders.known);
	cr_assert_eq(front->listeners, 2);
	cr_assert(front->listener[0].iwarp);
	cr_assert_str_eq(front->listener[1].path, "/x");
	kernel_serving_clear(&p);
}

Test(serving, other_types_and_huge_numbers_count_as_not_reported)
{
	struct serving_process p =
		parse(HEAD "[7,{\"protocol\":{},\"clients\":-1,\"reads\":1e300,\"errors\":\"9\","
			   "\"disks\":{\"uri\":1},"
			   "\"listeners\":[null,[],{\"traddr\":5,\"trsvcid\":4420}]}]}");

	cr_assert_eq(p.why.err, 0, "%s", p.why.text);
	cr_assert_eq(p.fronts, 1);
	cr_assert_str_eq(p.front->protocol, "");
	cr_assert_eq(p.front->clients, SERVING_UNKNOWN);
	cr_assert_eq(p.front->reads, SERVING_UNKNOWN);
	cr_assert_eq(p.front->errors, SERVING_UNKNOWN);
	cr_assert_eq(p.front->disks, 0);
	cr_assert_eq(p.front->listeners, 1);
	cr_assert_str_eq(p.front->listener[0].trsvcid, "");
	kernel_serving_clear(&p);
}

#define LOST                                                                                       \
	HEAD "[{\"protocol\":\"nvme\",\"read_bytes\":4096,\"read_bytes_per_second\":1048576,"      \
	     "\"disks\":[{\"uri\":\"nvme+tcp://a/n\",\"size\":512,\"state\":\"lost\","             \
	     "\"lost_seconds\":12.2,\"fails_in_seconds\":47.8,\"reason\":\"refused\",\"paths\":["  \
	     "{\"uri\":\"nvme+tcp://a/n\",\"state\":\"lost\",\"lost_seconds\":12.2,"               \
	     "\"reason\":\"refused\"},{\"uri\":\"nvme+tcp://b/n\",\"state\":\"up\"},7]},"          \
	     "{\"uri\":\"x\",\"state\":\"fine\",\"lost_seconds\":-1,\"fails_in_seconds\":\"9\","   \
	     "\"reason\":\"no such word\",\"paths\":{}}]}]}"

Test(serving, states_of_disks_and_paths)
{
	struct serving_process p = parse(LOST);
	const struct serving_disk *disk = p.front->disk;
	char text[SERVING_STATE_TEXT];

	cr_assert_eq(p.front->read_rate, 1 << 20);
	cr_assert_eq(p.front->written_rate, SERVING_UNKNOWN);
	cr_assert_str_eq(disk[0].state.word, "lost");
	cr_assert_str_eq(disk[0].state.reason, "refused");
	cr_assert_str_eq(
		kernel_serving_state_text(&disk[0].state, text), "lost 12 s, I/O fails in 48 s");
	cr_assert_eq(disk[0].paths, 2);
	cr_assert_str_eq(disk[0].path[1].uri, "nvme+tcp://b/n");
	cr_assert_str_eq(kernel_serving_state_text(&disk[0].path[0].state, text), "lost 12 s");
	cr_assert_str_eq(kernel_serving_state_text(&disk[0].path[1].state, text), "up");
	cr_assert_str_eq(disk[1].state.word, "", "an unknown word");
	cr_assert_str_eq(disk[1].state.reason, "");
	cr_assert_eq(disk[1].state.lost_seconds, -1);
	cr_assert_eq(disk[1].state.fails_in_seconds, -1);
	cr_assert_eq(disk[1].paths, 0);
	cr_assert_str_eq(kernel_serving_state_text(
				 &(struct serving_state){ "failed", 9e15, 9e15, "closed" }, text),
		"failed, lost 9000000000000000 s");
	kernel_serving_clear(&p);
}

Test(serving, states_and_recent_rates_as_text)
{
	struct serving_process p = parse(LOST);
	struct kernel_serving list = { &p, 1 };
	struct out out;
	char *text;
	size_t len;

	out_init(&out, "status", false);
	out.to = open_memstream(&text, &len);
	serving_text(&out, &list, NULL);
	fclose(out.to);
	cr_assert_eq(lines_saying(text, "SERVING ADDRESS STATE CLIENTS READ"), 1);
	cr_assert_eq(lines_saying(text, "lost_12_s,_I/O_fails_in_48_s 1MiB/s"), 1, "%s", text);
	cr_assert_eq(lines_saying(text, "path_1:_nvme+tcp://a/n:_lost_12_s_(refused)"), 1);
	cr_assert_eq(lines_saying(text, "path_2:_nvme+tcp://b/n:_up"), 1);
	free(text);
	kernel_serving_clear(&p);
}

#define HOSTS(list)                                                                                \
	HEAD "[{\"protocol\":\"nvme\",\"disks\":[{\"uri\":\"ram:1M\"}],\"hosts\":[" list "]}]}"
#define ALICE                                                                                      \
	"{\"hostnqn\":\"nqn.alice\",\"subnqn\":\"nqn.t\",\"traddr\":\"10.0.0.9\","                 \
	"\"security\":\"tls-psk\",\"tls_version\":\"1.3\",\"tls_cipher\":\"TLS_AES\","             \
	"\"tls_identity\":\"NVMe1R01 nqn.alice\"}"
#define PLAIN "{\"hostnqn\":\"nqn.plain\",\"traddr\":\"10.0.0.8\",\"security\":\"none\"}"

static void hosts_show(const char *from, bool json, const char *words, unsigned lines)
{
	struct serving_process p = parse(from);
	struct kernel_serving list = { &p, 1 };
	struct out out;
	char *text;
	size_t len;

	out_init(&out, "status", json);
	out.to = open_memstream(&text, &len);
	if (json)
		serving_json(&out, &list);
	else
		serving_text(&out, &list, NULL);
	out_fini(&out, NULL);
	fclose(out.to);
	cr_assert_eq(json ? !text_missing(text, words) : lines_saying(text, words), lines,
		"'%s' in %s", words, text);
	free(text);
	kernel_serving_clear(&p);
}

Test(serving, hosts_and_what_they_have_proven)
{
	static const char both[] = HOSTS(ALICE ",7," PLAIN ",{\"hostnqn\":5}");

	hosts_show(both, false, "HOST SECURITY CIPHER IDENTITY", 1);
	hosts_show(both, false, "nqn.alice 10.0.0.9 tls-psk 1.3 TLS_AES NVMe1R01_nqn.alice", 1);
	hosts_show(both, false, "nqn.plain 10.0.0.8 none", 1);
	hosts_show(HOSTS(PLAIN), false, "nqn.plain", 0);
	hosts_show(HOSTS("{}"), false, "IDENTITY", 0);
	hosts_show(HOSTS(PLAIN), true, "_hosts_:[{_hostnqn_:_nqn.plain_", 1);
	hosts_show(both, true, "_tls_cipher_:_TLS_AES_,_tls_identity_:_NVMe1R01_nqn.alice_", 1);
	hosts_show(HOSTS(""), true, "_hosts_", 0);
}

#define CLIENTS(list)                                                                              \
	HEAD "[{\"protocol\":\"nbd\",\"disks\":[{\"uri\":\"ram:1M\"}],\"nbd_clients\":[" list      \
	     "],\"nbd_clients_left_out\":9,\"hosts_left_out\":3}]}"
#define BOB                                                                                        \
	"{\"name\":\"a\",\"transport\":\"tcp\",\"traddr\":\"::1\",\"trsvcid\":\"77\","             \
	"\"security\":\"tls\",\"tls_version\":\"1.3\",\"tls_cipher\":\"TLS_AES\","                 \
	"\"tls_identity\":\"CN=bob\"}"
#define LOCAL                                                                                      \
	"{\"name\":\"\",\"transport\":\"unix\",\"pid\":5,\"uid\":6,\"security\":"                  \
	"\"file-permissions\"}"

Test(serving, nbd_clients)
{
	static const char both[] = CLIENTS(BOB ",7," LOCAL ",{\"name\":5,\"pid\":-1}");

	hosts_show(both, false, "CLIENT EXPORT SECURITY TLS CIPHER PID IDENTITY", 1);
	hosts_show(both, false, "[::1]:77 a tls 1.3 TLS_AES 7_(uid_8) CN=bob", 1);
	hosts_show(both, false, "process_5_(uid_6) - file-permissions - - 7_(uid_8)", 1);
	hosts_show(both, false, "process_7_(uid_8):_9_more_clients_are_not_listed", 1);
	hosts_show(both, false, "3_more_hosts", 0);
	hosts_show(CLIENTS(""), false, "CIPHER", 0);
	hosts_show(both, true, "_name_:_a_,_transport_:_tcp_,_traddr_:_::1_,_trsvcid_:_77_", 1);
	hosts_show(both, true, "_pid_:5,_uid_:6,_security_:_file-permissions_", 1);
	hosts_show(both, true, "_hosts_left_out_:3,_nbd_clients_:", 1);
	hosts_show(both, true, "],_nbd_clients_left_out_:9", 1);
}

#define SHARED(a, b)                                                                               \
	HEAD "[{\"protocol\":\"nvme\",\"disks\":[{\"uri\":\"nvme+tcp://a/n\",\"policy\":"          \
	     "\"round-robin\",\"paths\":[{\"uri\":\"nvme+tcp://a/n\",\"state\":\"up\","            \
	     "\"access\":\"optimized\",\"group\":0,\"preferred\":true,\"requests\":" a "},"        \
	     "{\"uri\":\"nvme+tcp://b/n\",\"state\":\"lost\",\"retry_in_seconds\":0.5,"            \
	     "\"group\":3,\"requests\":" b "}]}]}]}"

static char *text_of(struct serving_process *now, struct serving_process *before, bool json)
{
	struct kernel_serving list = { now, 1 }, last = { before, 1 };
	struct out out;
	char *text;
	size_t len;

	out_init(&out, "status", json);
	out.to = open_memstream(&text, &len);
	if (json)
		serving_json(&out, &list);
	else
		serving_text(&out, &list, before ? &last : NULL);
	cr_assert_eq(out_fini(&out, NULL), 0);
	fclose(out.to);
	return text;
}

/* Group, preference, next attempt and share of each path; unknown ones are left out. */
Test(serving, what_is_known_of_the_paths)
{
	struct serving_process p = parse(SHARED("30", "10")), q = parse(SHARED("60", "100")),
			       odd = parse(SHARED("-1", "\"9\""));
	char *text = text_of(&p, NULL, false);

	cr_assert_eq(lines_saying(text, "nvme+tcp://a/n:_2_paths,_policy_round-robin"), 1);
	cr_assert_eq(lines_saying(text, "path_1:_nvme+tcp://a/n:_up,_optimized,_group_0,_preferred,"
					"_75%_of_requests"),
		1, "%s", text);
	cr_assert_eq(lines_saying(text, "path_2:_nvme+tcp://b/n:_lost,_next_attempt_in_0.5_s,"
					"_25%_of_requests"),
		1, "%s", text);
	free(text);
	text = text_of(&q, &p, false);
	cr_assert_eq(
		lines_saying(text, "path_1:_nvme+tcp://a/n:_up 25%_of_requests"), 1, "%s", text);
	cr_assert_eq(lines_saying(text, "path_2 75%_of_requests"), 1, "%s", text);
	free(text);
	text = text_of(&odd, &p, false);
	cr_assert_eq(lines_saying(text, "of_requests"), 0, "%s", text);
	cr_assert_eq(lines_saying(text, "path_1 preferred"), 1, "%s", text);
	free(text);
	text = text_of(&p, NULL, true);
	cr_assert_not_null(strstr(text, "\"policy\":\"round-robin\",\"paths\":[{\"uri\":"
					"\"nvme+tcp://a/n\",\"state\":\"up\",\"access\":"
					"\"optimized\",\"group\":0,\"preferred\":true,"
					"\"requests\":30},{\"uri\":\"nvme+tcp://b/n\",\"state\":"
					"\"lost\",\"retry_in_seconds\":0.5,\"requests\":10}]"),
		"%s", text);

	free(text);
	kernel_serving_clear(&p);
	kernel_serving_clear(&q);
	kernel_serving_clear(&odd);
}

/* The only path is the disk: its row says that it is up. */
Test(serving, the_only_path_has_a_line_if_it_is_not_up)
{
	static const char *const words[] = { "up", "lost" };

	for (unsigned i = 0; i < 2; i++) {
		struct kernel_serving list = { .processes = 1 };
		struct serving_process p;
		struct out out;
		char *text, answer[500];
		size_t len;

		snprintf(answer, sizeof(answer),
			HEAD "[{\"protocol\":\"nvme\",\"disks\":[{\"uri\":\"nvme+tcp://a/n\","
			     "\"paths\":[{\"uri\":\"nvme+tcp://a/n\",\"state\":\"%s\"}]}]}]}",
			words[i]);
		p = parse(answer);
		list.process = &p;
		out_init(&out, "status", false);
		out.to = open_memstream(&text, &len);
		serving_text(&out, &list, NULL);
		fclose(out.to);
		cr_assert_eq(lines_saying(text, "path_1"), i, "%s", text);
		free(text);
		kernel_serving_clear(&p);
	}
}

#define GROUPS(first, second)                                                                      \
	HEAD "[{\"protocol\":\"nvme\",\"listeners\":["                                             \
	     "{\"transport\":\"tcp\",\"traddr\":\"a\",\"trsvcid\":\"1\"," first "},"               \
	     "{\"transport\":\"tcp\",\"traddr\":\"b\",\"trsvcid\":\"2\"," second "}]}]}"

/* Groups are printed unless all is as without them; unknown states count as not reported. */
Test(serving, groups_of_listeners)
{
	static const struct {
		const char *text;
		unsigned lines;
	} rows[] = {
		{ GROUPS("\"group\":1,\"access\":\"optimized\"",
			  "\"group\":1,\"access\":\"optimized\""),
			0 },
		{ GROUPS("\"group\":1,\"access\":\"optimized\"",
			  "\"group\":2,\"access\":\"optimized\""),
			2 },
		{ GROUPS("\"group\":1,\"access\":\"change\"", "\"group\":1,\"access\":\"change\""),
			2 },
		{ GROUPS("\"group\":7,\"access\":\"odd\"", "\"group\":\"8\",\"access\":3"), 0 },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct serving_process p = parse(rows[i].text);
		struct kernel_serving list = { &p, 1 };
		struct out out;
		char *text;
		size_t len;

		cr_assert_eq(p.front->listeners, 2);
		out_init(&out, "status", false);
		out.to = open_memstream(&text, &len);
		serving_text(&out, &list, NULL);
		fclose(out.to);
		cr_assert_eq(lines_saying(text, "group"), rows[i].lines, "%u: %s", i, text);
		if (i == 2)
			cr_assert_eq(lines_saying(text, "group_1:_nvme/tcp_b:2:_change"), 1);
		free(text);
		kernel_serving_clear(&p);
	}
}

Test(serving, more_than_there_is_room_for_is_cut)
{
	char *text = malloc(1 << 20), *at = text;
	struct serving_process p;

	at += sprintf(at, "%s[", HEAD);
	for (int i = 0; i < 40; i++) {
		at += sprintf(at, "%s{\"protocol\":\"", i ? "," : "");
		memset(at, 'n', 300);
		at += 300;
		for (int list = 0; list < 2; list++) {
			at += sprintf(at, "%s\":[{}", list ? "],\"listeners" : "\",\"disks");
			for (int l = 0; l < 100; l++)
				at += sprintf(at, ",{}");
		}
		at += sprintf(at, "]}");
	}
	sprintf(at, "]}");
	p = parse(text);
	cr_assert_eq(p.why.err, 0, "%s", p.why.text);
	cr_assert_eq(p.fronts, 8);
	cr_assert_eq(p.front[7].disks, 32);
	cr_assert_eq(p.front[7].listeners, 64);
	cr_assert_lt(strlen(p.front[0].protocol), sizeof(p.front[0].protocol));
	kernel_serving_clear(&p);
	free(text);
}

Test(serving, what_is_no_status_of_ours)
{
	static const struct {
		const char *text;
		enum diag_code code;
	} rows[] = {
		{ "", DIAG_PROTOCOL },
		{ "[]", DIAG_PROTOCOL },
		{ "{}", DIAG_PROTOCOL },
		{ "7", DIAG_PROTOCOL },
		{ HEAD "[{\"disks\":[{", DIAG_PROTOCOL },
		{ "{\"schema\":\"rdmastor.serve\",\"version\":2}", DIAG_PROTOCOL },
		{ "{\"schema\":\"rdmastor.status\",\"version\":2}", DIAG_PROTOCOL },
		{ "{\"schema\":\"rdmastor.serve.status\"}", DIAG_UNSUPPORTED },
		{ "{\"schema\":\"rdmastor.serve.status\",\"version\":3}", DIAG_UNSUPPORTED },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct serving_process p = parse(rows[i].text);

		cr_assert_eq(p.why.code, rows[i].code, "%s: %s", rows[i].text, p.why.text);
		cr_assert_eq(p.fronts, 0);
		cr_assert_null(p.front);
	}
}

static size_t length;
static unsigned asked;

/* A document of that length. */
static char *report(void *user, size_t *len)
{
	char *text = malloc(length + 256);

	(void)user;
	asked++;
	*len = (size_t)sprintf(text, "%s[{\"protocol\":\"", HEAD);
	memset(text + *len, 'n', length);
	*len += length;
	*len += (size_t)sprintf(text + *len, "\"}]}");
	return text;
}

static const struct serving_process *find(const struct kernel_serving *all, int pid)
{
	for (unsigned i = 0; i < all->processes; i++)
		if (all->process[i].pid == pid)
			return &all->process[i];
	return NULL;
}

Test(serving, is_found_asked_and_gone_with_its_socket)
{
	static const size_t lengths[] = { 0, 100, 60000, 4 << 20 };
	struct kernel_report side = { .text = report };
	struct loop_options options = { 0 };
	struct kernel_serving all;
	struct diag diag = { 0 };
	struct loop *loop;
	int root = kernel_root();

	cr_assert_eq(loop_new(&loop, &options, &diag), 0);
	kernel_report_owner(&side);
	cr_assert_eq(kernel_report_start(&side, loop, &diag), 0, "%s", diag.text);
	/* the last is more than a reader takes, and than a socket takes at once: the reader is not
	 * waited for */
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		const struct serving_process *me;
		bool whole = lengths[i] < 1 << 20;

		length = lengths[i];
		cr_assert_eq(
			kernel_serving(root, loop, NO_LIMIT_MS, &all, &diag), 0, "%s", diag.text);
		me = find(&all, (int)getpid());
		cr_assert_not_null(me);
		cr_assert_eq(me->uid, geteuid());
		cr_assert_eq(me->why.err == 0, whole, "%zu bytes: %s", length, me->why.text);
		cr_assert_eq(me->fronts, whole);
		kernel_serving_free(&all);
	}
	cr_assert_geq(asked, 4, "other tests ask, too");
	kernel_report_stop(&side);
	cr_assert_eq(kernel_serving(root, loop, NO_LIMIT_MS, &all, &diag), 0);
	cr_assert_null(find(&all, (int)getpid()));
	kernel_serving_free(&all);
	kernel_report_stop(&side);
	loop_free(loop);
	close(root);
}

/* Listens by the name of a process, and answers nothing. uid: as this user; 0: as this process. */
static pid_t mute_as(int of, uid_t uid)
{
	int up[2];
	pid_t pid;
	char c;

	cr_assert_eq(pipe(up), 0);
	pid = fork();
	if (!pid) {
		struct sockaddr_un un = { .sun_family = AF_UNIX };
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		int len = sprintf(un.sun_path + 1, "rdmastor/%d", of ? of : (int)getpid());

		if (uid && setuid(uid))
			_exit(1);
		if (prctl(PR_SET_PDEATHSIG, SIGKILL)) /* other tests would wait for it, too */
			_exit(1);
		/* another test may have the name of process 1; all may ask */
		while (bind(fd, (struct sockaddr *)&un,
			(socklen_t)(sizeof(sa_family_t) + 1 + (size_t)len)))
			usleep(1000);
		if (listen(fd, 4096) || write(up[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	cr_assert_eq(read(up[0], &c, 1), 1);
	close(up[0]);
	close(up[1]);
	return pid;
}

static pid_t mute(int of)
{
	return mute_as(of, 0);
}

Test(serving, one_that_is_mute_costs_the_time_limit_and_a_forged_name_nothing)
{
	struct loop_options options = { 0 };
	pid_t silent = mute(0), forger = mute(1);
	const struct serving_process *found;
	struct kernel_serving all;
	struct diag diag = { 0 };
	struct loop *loop;
	int root = kernel_root();

	cr_assert_eq(loop_new(&loop, &options, &diag), 0);
	cr_assert_eq(kernel_serving(root, loop, 300, &all, &diag), 0, "%s", diag.text);
	found = find(&all, silent);
	cr_assert_not_null(found);
	cr_assert_eq(found->why.code, DIAG_TIMEOUT, "%s", found->why.text);
	cr_assert_null(find(&all, 1));
	cr_assert_null(find(&all, forger));
	kernel_serving_free(&all);
	kill(silent, SIGKILL);
	kill(forger, SIGKILL);
	waitpid(silent, NULL, 0);
	waitpid(forger, NULL, 0);
	loop_free(loop);
	close(root);
}

/* Root lists what a user says, and follows only what root says. */
Test(serving, another_users_claims_are_listed_and_not_trusted)
{
	struct loop_options options = { 0 };
	struct kernel_serving all, trusted;
	struct diag diag = { 0 };
	struct loop *loop;
	pid_t own, another;
	int root = kernel_root(), err;

	if (geteuid())
		cr_skip_test("only root can be another user");
	own = mute(0);
	another = mute_as(0, 65534);
	cr_assert_eq(loop_new(&loop, &options, &diag), 0);
	err = kernel_serving(root, loop, 100, &all, &diag) ||
	      kernel_serving_trusted(root, loop, 100, &trusted, &diag);
	kill(own, SIGKILL);
	kill(another, SIGKILL);
	waitpid(own, NULL, 0);
	waitpid(another, NULL, 0);
	cr_assert_eq(err, 0, "%s", diag.text);
	cr_assert(find(&all, own) && find(&all, another));
	cr_assert_eq(find(&all, own)->uid, 0);
	cr_assert_eq(find(&all, another)->uid, 65534);
	cr_assert(kernel_serving_is_trusted(find(&all, own)));
	cr_assert_not(kernel_serving_is_trusted(find(&all, another)));
	cr_assert_not_null(find(&trusted, own));
	cr_assert_null(find(&trusted, another));
	kernel_serving_free(&all);
	kernel_serving_free(&trusted);
	loop_free(loop);
	close(root);
}

/* Listen at the names of processes that need not exist, each with a full backlog; then report to
 * the parent. */
static void crowd(int up)
{
	enum { NAMES = 450 };

	if (setuid(65534))
		_exit(1);
	for (int i = 0; i < NAMES; i++) {
		struct sockaddr_un un = { .sun_family = AF_UNIX };
		int len = sprintf(un.sun_path + 1, "rdmastor/%d", 100000 + i);
		socklen_t size = (socklen_t)(sizeof(sa_family_t) + 1 + (size_t)len);
		int fd = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);

		if (bind(fd, (struct sockaddr *)&un, size) || listen(fd, 0) ||
			connect(client, (struct sockaddr *)&un, size))
			_exit(1);
	}
	if (write(up, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

Test(serving, another_user_crowds_nobody_out)
{
	struct loop_options options = { 0 };
	struct kernel_serving all, trusted;
	struct diag diag = { 0 };
	struct loop *loop;
	pid_t own[8], another;
	unsigned found = 0, kept = 0;
	int up[2], root, err;
	char c;

	if (unshare(CLONE_NEWNET))
		cr_skip_test("needs a network namespace of its own");
	root = kernel_root();
	for (unsigned i = 0; i < 8; i++)
		own[i] = mute(0);
	cr_assert_eq(pipe(up), 0);
	another = fork();
	if (!another)
		crowd(up[1]);
	close(up[1]);
	cr_assert_eq(read(up[0], &c, 1), 1);
	cr_assert_eq(loop_new(&loop, &options, &diag), 0);
	err = kernel_serving(root, loop, 100, &all, &diag) ||
	      kernel_serving_trusted(root, loop, 100, &trusted, &diag);
	kill(another, SIGKILL);
	waitpid(another, NULL, 0);
	for (unsigned i = 0; i < 8; i++) {
		kill(own[i], SIGKILL);
		waitpid(own[i], NULL, 0);
	}
	cr_assert_eq(err, 0, "%s", diag.text);
	for (unsigned i = 0; i < 8; i++) {
		found += find(&all, own[i]) != NULL;
		kept += find(&trusted, own[i]) != NULL;
	}
	cr_assert_eq(found, 8);
	cr_assert_eq(kept, 8);
	cr_assert_eq(all.processes, 8 + 64);
	cr_assert_eq(all.left_out, 450 - 64);
	cr_assert_eq(trusted.left_out, 0);
	kernel_serving_free(&all);
	kernel_serving_free(&trusted);
	loop_free(loop);
	close(root);
}

struct mortal {
	struct loop_timer timer;
	pid_t pid;
};

static void end_process(struct loop_timer *timer)
{
	pid_t pid = container_of(timer, struct mortal, timer)->pid;

	kill(pid, SIGKILL);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

Test(serving, one_that_ends_before_it_answers_is_none)
{
	struct loop_options options = { 0 };
	struct kernel_serving all;
	struct diag diag = { 0 };
	struct loop *loop;
	int root = kernel_root();
	struct mortal mortal = { .timer.fire = end_process, .pid = mute(0) };

	cr_assert_eq(loop_new(&loop, &options, &diag), 0);
	loop_timer_set(loop, &mortal.timer, loop_clock() + 300000000);
	/* returns before the time limit */
	cr_assert_eq(kernel_serving(root, loop, NO_LIMIT_MS, &all, &diag), 0, "%s", diag.text);
	cr_assert_null(find(&all, mortal.pid));
	kernel_serving_free(&all);
	loop_free(loop);
	close(root);
}

static char *not_ready(void *user, size_t *len)
{
	(void)user;
	*len = strlen(SERVING_STARTS);
	return strdup(SERVING_STARTS);
}

Test(serving, one_that_is_not_ready_is_left_out)
{
	struct kernel_report side = { .text = not_ready };
	struct loop_options options = { 0 };
	struct kernel_serving all;
	struct diag diag = { 0 };
	struct loop *loop;
	int root = kernel_root();

	cr_assert_eq(loop_new(&loop, &options, &diag), 0);
	kernel_report_owner(&side);
	cr_assert_eq(kernel_report_start(&side, loop, &diag), 0, "%s", diag.text);
	cr_assert_eq(kernel_serving(root, loop, NO_LIMIT_MS, &all, &diag), 0, "%s", diag.text);
	cr_assert_null(find(&all, (int)getpid()));
	kernel_serving_free(&all);
	side.text = report;
	cr_assert_eq(kernel_serving(root, loop, NO_LIMIT_MS, &all, &diag), 0, "%s", diag.text);
	cr_assert_not_null(find(&all, (int)getpid()));
	kernel_serving_free(&all);
	kernel_report_stop(&side);
	loop_free(loop);
	close(root);
}
