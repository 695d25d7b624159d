/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Session reinstatement at the iSCSI target over TCP: what becomes of the earlier session's writes,
 * reservations and registrations; and on several threads, for ThreadSanitizer. */
/* Link: leap */
#include "iscsi_hostile_rig.h"

/* What the disk still has of the earlier session lands before anything of the new one. */
Test(iscsi_hostile, a_session_begun_again)
{
	struct iscsi_host *old, *h;
	struct iscsi_scsi_cmd cmd;

	begin();
	for (unsigned i = 0; i < 2 * BUFFERS; i++) {
		unsigned submitted;

		old = join(1, 1);
		submitted = disk->submitted;
		disk->hold = disk->keep = true;
		cmd = writing(old, 0, 8);
		iscsi_host_ask(old, &cmd, pattern + 4096, 4096);
		ask_write(old, 64, 8); /* and one whose data never comes */
		UNTIL(disk->submitted == submitted + 1 && old->r2ts);
		dial(2);
		ask_login(2, 1); /* as host 1 */
		h = host[2];
		UNTIL(h->up && old->over);
		cr_assert_eq(old->replies, old->asked - 2);
		disk->stuck = disk->last;
		disk->hold = disk->keep = false;
		h->asked = 0;
		ready(h);
		cmd = iscsi_host_command(h, ISCSI_CMD_READ, 4096);
		iscsi_host_rw(&cmd, 0x28, 0, 8);
		iscsi_host_ask(h, &cmd, NULL, 0);
		turns(20);
		cr_assert_eq(h->replies, h->asked - 1, "a read overtook a write before it");
		disk->stuck = NULL;
		UNTIL(h->replies == h->asked);
		cr_assert_eq(memcmp(h->data, pattern + 4096, 4096), 0);
		memcpy(before, pattern + 4096, 4096);
		cmd = writing(h, 0, 8);
		iscsi_host_ask(h, &cmd, pattern, 4096);
		UNTIL(h->replies == h->asked);
		memcpy(before, pattern, 4096);
		unchanged();
	}
	end();
}

/* Through another portal group it is a session with another target port. */
Test(iscsi_hostile, a_session_through_another_group)
{
	static const char tag[] = "TargetPortalGroupTag=2";
	struct iscsi_host *first, *second;

	listens = 2;
	begin();
	first = join(1, 1);
	target_transports(target, 1, &bound);
	for (unsigned i = 0; i < 2; i++) { /* the second time it is reinstated */
		second = dial(2 + i);
		ask_login(2 + i, 1);
		UNTIL(second->up);
		cr_assert(memmem(second->text, second->text_len, tag, sizeof(tag)));
		ready(second);
		ready(first);
		cr_assert(!first->over);
	}
	cr_assert(host[2]->over);
	listens = 1;
	end();
}

static uint8_t simple(struct iscsi_host *h, uint8_t opcode)
{
	struct iscsi_scsi_cmd cmd = iscsi_host_command(h, 0, 0);

	cmd.cdb[0] = opcode;
	return status_of(h, cmd);
}

/* A session that begins again has lost what it had reserved, and what it reserves then is its own,
 * although the disk has not yet let go of the earlier one. */
Test(iscsi_hostile, a_reservation_begun_again)
{
	enum { READY = 0, RESERVE = 0x16, RELEASE = 0x17, CONFLICT = 0x18 };
	struct iscsi_scsi_cmd cmd;
	struct iscsi_host *old, *h;

	begin();
	for (unsigned i = 0; i < 2; i++) {
		unsigned submitted = disk->submitted;

		old = join(1, 1);
		cr_assert_eq(simple(old, RESERVE), 0);
		disk->hold = disk->keep = true;
		cmd = writing(old, 64, 8);
		iscsi_host_ask(old, &cmd, before + 64 * BLOCK, 4096);
		UNTIL(disk->submitted == submitted + 1);
		dial(2);
		ask_login(2, 1); /* as host 1 */
		h = host[2];
		ready(h);
		if (i)
			cr_assert_eq(simple(h, RESERVE), 0);
		disk->hold = disk->keep = false;
		turns(20);
		cr_assert_eq(simple(host[0], READY), i ? CONFLICT : 0);
		cr_assert_eq(simple(h, RELEASE), 0);
		cr_assert_eq(simple(host[0], READY), 0);
	}
	end();
}

/* Registrations belong to the port and outlive its sessions. */
Test(iscsi_hostile, a_registration_outlives_sessions)
{
	static const uint8_t keys[24] = { [15] = 7 }, reserve[24] = { [7] = 7 };
	struct iscsi_scsi_cmd cmd;
	struct iscsi_host *h;

	begin();
	h = join(1, 1);
	for (unsigned action = 0; action < 2; action++) { /* REGISTER, RESERVE exclusive access */
		cmd = iscsi_host_command(h, ISCSI_CMD_WRITE, 24);
		cmd.cdb[0] = 0x5f;
		cmd.cdb[1] = (uint8_t)action;
		cmd.cdb[2] = 3;
		cmd.cdb[8] = 24;
		iscsi_host_ask(h, &cmd, action ? reserve : keys, 24);
		UNTIL(h->replies == h->asked);
		cr_assert_eq(h->status, 0);
	}
	iscsi_host_leave(h);
	host[1] = NULL;
	turns(20);
	cmd = writing(host[0], OWN_LBA, 8);
	cr_assert_eq(status_of(host[0], cmd), 0x18);
	h = join(2, 2); /* another port of the same initiator */
	cr_assert_eq(status_of(h, writing(h, 64, 8)), 0x18);
	h = join(1, 1);
	cmd = writing(h, 64, 8);
	iscsi_host_ask(h, &cmd, before + 64 * BLOCK, 4096);
	UNTIL(h->replies == h->asked);
	cr_assert_eq(h->status, 0);
	cmd = iscsi_host_command(h, ISCSI_CMD_WRITE, 24);
	cmd.cdb[0] = 0x5f;
	cmd.cdb[1] = 3; /* CLEAR */
	cmd.cdb[8] = 24;
	iscsi_host_ask(h, &cmd, reserve, 24);
	UNTIL(h->replies == h->asked);
	cr_assert_eq(h->status, 0);
	end();
}

Test(iscsi_hostile, sessions_on_threads)
{
	const struct bdev_env env = { .write = true };
	struct workers *workers;
	struct bdev *ram;

	leap_now = 0;
	most_turns = 0;
	set_up();
	cr_assert_eq(
		workers_start(&workers, WORKERS, &(struct loop_options){ .name = "workers" }, &why),
		0);
	for (unsigned i = 0; i < WORKERS; i++)
		loops[i] = workers_loop(workers, i);
	cr_assert_eq(bdev_open(&ram, loop, "ram:8M?block=512", &env, &why), 0);
	start(ram, WORKERS);
	join(0, 0);
	for (unsigned i = 0; i < 60; i++) {
		unsigned n = 1 + i % (HOSTS - 1);
		struct iscsi_host *h = dial(n);

		ask_login(n, (uint8_t)(i % 2));
		for (unsigned t = 0; t < 5 && !h->up; t++)
			turn();
		if (h->up) { /* or its successor was faster */
			h->dirty = true;
			ask_write(h, 0, 256);
			ask_task(h, i % 3 ? ISCSI_LUN_RESET : ISCSI_ABORT_TASK_SET, 0);
			if (i % 5 == 0)
				ask_logout(h);
		}
		turn();
		if (i % 10 == 0) {
			ready(host[0]);
			cr_assert(!host[0]->over);
		}
	}
	ready(host[0]);
	for (unsigned i = 0; i < HOSTS; i++)
		iscsi_host_leave(host[i]);
	cr_assert_eq(target_stop(target, leap_limit_ms(5000), &why), 0, "%s", why.text);
	workers_stop(workers);
	bdev_close(ram);
	fake_disk_free(disk);
	loop_free(loop);
}
