/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Unix sockets: their files, and what only streams over them are used for. */
/* Link: leap bind */
#include "helper.h"
#include "says.h"
#include "tcp.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char *swap_for; /* the file that a link in the socket's place leads to */

int __real_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	const char *path = ((const struct sockaddr_un *)(const void *)addr)->sun_path;
	int rc = __real_bind(fd, addr, len);

	if (!rc && swap_for && (unlink(path) || symlink(swap_for, path)))
		abort();
	return rc;
}

static struct addr unix_addr(const char *path)
{
	struct addr addr = { 0 };
	struct sockaddr_un *un = (struct sockaddr_un *)(void *)&addr.ss;

	un->sun_family = AF_UNIX;
	snprintf(un->sun_path, sizeof(un->sun_path), "%s", path);
	addr.len = sizeof(*un);
	return addr;
}

static struct loop *loop;
static struct tcp_listener *listener;
static int accepted_fd = -1;

static void accepted(int fd, const struct addr *peer, void *user)
{
	(void)user;
	cr_assert_eq(peer->ss.ss_family, AF_UNIX);
	accepted_fd = fd;
}

static void make_loop(void)
{
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
}

static void start(const char *path, unsigned mode)
{
	struct tcp_listen conf = { .at = unix_addr(path), .stream = accepted, .mode = mode };
	struct diag diag = { 0 };

	cr_assert_eq(tcp_listen(&listener, loop, &conf, &diag), 0, "%s", diag.text);
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	cr_assert_eq(stat(path, &st), 0, "%s", path);
	return st.st_mode & 07777;
}

Test(unix_socket, a_unix_socket_has_the_mode_that_was_asked_for)
{
	static const unsigned modes[] = { 0600, 0660, 0666, 0777 };
	char dir[] = "/tmp/unix-XXXXXX", path[64];

	make_loop();
	cr_assert(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
	umask(077);
	for (unsigned i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		start(path, modes[i]);
		cr_assert_eq(mode_of(path), modes[i]);
		tcp_listener_free(listener);
		cr_assert_eq(access(path, F_OK), -1, "removed with its listener");
	}
	cr_assert_eq(umask(0), 077);
	rmdir(dir);
	loop_free(loop);
}

Test(unix_socket, a_link_in_the_place_of_the_socket_is_not_followed)
{
	char dir[] = "/tmp/unix-XXXXXX", path[64], victim[64];
	struct tcp_listen conf = { .stream = accepted, .mode = 0666 };
	int fd;

	make_loop();
	cr_assert(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
	snprintf(victim, sizeof(victim), "%s/victim", dir);
	fd = creat(victim, 0600);
	swap_for = victim;
	conf.at = unix_addr(path);
	if (tcp_listen(&listener, loop, &conf, NULL) == 0)
		tcp_listener_free(listener);
	swap_for = NULL;
	cr_assert_eq(mode_of(victim), 0600);
	close(fd);
	unlink(path);
	unlink(victim);
	rmdir(dir);
	loop_free(loop);
}

static int dial(const char *path)
{
	struct addr addr = unix_addr(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&addr.ss, addr.len), 0);
	return fd;
}

static void settle(void)
{
	volatile int never = 0;

	loop_wait(loop, &never, loop_clock() + 3000000);
}

Test(unix_socket, the_file_of_a_live_server_or_of_another_kind_is_left_alone)
{
	char dir[] = "/tmp/unix-XXXXXX", path[64], at[ADDR_TEXT];
	struct tcp_listener *second;
	struct tcp_listen conf = { .stream = accepted, .mode = 0600 };
	struct diag diag = { 0 };
	struct stat st;
	int fd;

	make_loop();
	cr_assert(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
	start(path, 0600);
	conf.at = unix_addr(path);
	addr_text(&conf.at, at);
	cr_assert_eq(tcp_listen(&second, loop, &conf, &diag), -EADDRINUSE);
	diag_says(&diag, DIAG_BUSY, at, "another server listening");
	/* what took the place of the socket outlives the listener */
	cr_assert_eq(unlink(path), 0);
	fd = creat(path, 0600);
	close(fd);
	tcp_listener_free(listener);
	cr_assert_eq(lstat(path, &st), 0);
	cr_assert(S_ISREG(st.st_mode));
	diag = (struct diag){ 0 };
	cr_assert_eq(tcp_listen(&second, loop, &conf, &diag), -EADDRINUSE);
	diag_says(&diag, DIAG_BUSY, at, "not a socket");
	unlink(path);
	rmdir(dir);
	loop_free(loop);
}

Test(unix_socket, the_file_of_a_dead_server_is_replaced)
{
	char dir[] = "/tmp/unix-XXXXXX", path[64];
	struct addr addr;
	int fd;

	make_loop();
	cr_assert(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
	addr = unix_addr(path);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&addr.ss, addr.len), 0);
	close(fd);
	start(path, 0600);
	fd = dial(path);
	settle();
	cr_assert_geq(accepted_fd, 0);
	close(accepted_fd);
	close(fd);
	tcp_listener_free(listener);
	rmdir(dir);
	loop_free(loop);
}

Test(unix_socket, the_helper_does_what_was_allowed_for_each_path)
{
	char dir[] = "/tmp/unix-XXXXXX", ours[64], server[64], other[64];
	struct unix_file file, foreign;
	struct stat st;
	struct addr at, to;
	int fd, far;

	cr_assert(mkdtemp(dir));
	snprintf(ours, sizeof(ours), "%s/ours", dir);
	snprintf(server, sizeof(server), "%s/server", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	cr_assert_eq(stream_allow_listen(ours, 0640), 0);
	cr_assert_eq(stream_allow_connect(server), 0);
	cr_assert_eq(helper_start(-1, NULL), 0);
	at = unix_addr(ours);
	to = unix_addr(server);
	far = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(far, (struct sockaddr *)&to.ss, to.len), 0);
	cr_assert_eq(listen(far, 1), 0);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(unix_connect(fd, &to), 0);
	close(fd);

	/* the mode of the allowance counts, and so does the file that it has bound */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(unix_bind(fd, &at, 0777, &file, NULL), 0);
	cr_assert_eq(mode_of(ours), 0640);
	cr_assert_eq(rename(ours, other), 0);
	cr_assert_eq(close(creat(ours, 0600)), 0);
	cr_assert_eq(lstat(ours, &st), 0);
	foreign = (struct unix_file){ st.st_dev, st.st_ino };
	unix_remove(&at, &foreign);
	cr_assert_eq(access(ours, F_OK), 0, "another file was removed");
	close(fd);
	close(far);
	unlink(ours);
	unlink(other);
	unlink(server);
	rmdir(dir);
}

/* An accepted stream over a unix socket. */
struct end {
	struct stream *stream;
	unsigned got, sent, down;
};

static void end_readable(struct stream *stream)
{
	struct end *end = stream->user;
	uint8_t bytes[64];
	ssize_t n = stream_recv(stream, &(struct iovec){ bytes, sizeof(bytes) }, 1);

	end->got += n > 0 ? (unsigned)n : 0;
}

static void end_sent(struct stream *stream, struct stream_out *out)
{
	(void)out;
	((struct end *)stream->user)->sent++;
}

static void end_down(struct stream *stream)
{
	((struct end *)stream->user)->down++;
}

static const struct stream_events end_events = {
	.readable = end_readable, .sent = end_sent, .down = end_down
};

/* Gives the peer's end. */
static int pair(struct end *end)
{
	const struct addr peer = { .ss.ss_family = AF_UNIX, .len = sizeof(sa_family_t) };
	int fd[2];

	make_loop();
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd), 0);
	cr_assert_eq(stream_accept(&end->stream, loop, fd[0], &peer, &end_events, end, NULL), 0);
	return fd[1];
}

Test(unix_socket, a_stream_that_only_watches_reads_nothing_and_notices_the_end)
{
	struct end end = { 0 };
	int fd = pair(&end);

	stream_set_interest(end.stream, STREAM_RDHUP);
	cr_assert_eq(write(fd, "12345", 5), 5);
	settle();
	cr_assert_eq(end.got, 0);
	stream_set_interest(end.stream, STREAM_READ);
	settle();
	cr_assert_eq(end.got, 5);
	stream_set_interest(end.stream, STREAM_RDHUP);
	cr_assert_eq(write(fd, "12345", 5), 5);
	cr_assert_eq(shutdown(fd, SHUT_WR), 0);
	settle();
	cr_assert_eq(end.got, 5, "what a peer left behind is not read");
	cr_assert_eq(end.down, 1);
	cr_assert_eq(end.stream->why.err, ECONNRESET);
	stream_free(end.stream);
	close(fd);
	loop_free(loop);
}

Test(unix_socket, a_deaf_stream_outlives_the_end_of_one_direction)
{
	struct stream_out out = { .iov = { { (char[]){ "bye" }, 3 } }, .niov = 1 };
	struct end end = { 0 };
	char bytes[8];
	int fd = pair(&end);

	stream_set_interest(end.stream, STREAM_HUP);
	cr_assert_eq(write(fd, "12345", 5), 5);
	cr_assert_eq(shutdown(fd, SHUT_WR), 0);
	settle();
	cr_assert_eq(end.down, 0);
	stream_send(end.stream, &out);
	settle();
	cr_assert_eq(end.sent, 1);
	stream_shutdown(end.stream);
	settle();
	cr_assert_eq(end.down, 1);
	cr_assert_eq(end.stream->why.err, 0);
	cr_assert_eq(recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT), 3);
	cr_assert_eq(recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT), 0, "no reset");
	stream_free(end.stream);
	close(fd);
	loop_free(loop);
}

Test(unix_socket, a_deaf_stream_ends_with_both_directions)
{
	struct end end = { 0 };
	int fd = pair(&end);

	stream_set_interest(end.stream, STREAM_HUP);
	close(fd);
	settle();
	cr_assert_eq(end.down, 1);
	stream_free(end.stream);
	loop_free(loop);
}
