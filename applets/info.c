/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* info: opens a disk for reading and prints its properties, and what is on it. */
#include "content.h"
#include "disk_open.h"
#include "names.h"
#include "retry_row.h"
#include <stdio.h>
#include <string.h>

struct info_options {
	struct opt_common common;
	const char *on_loss;
	uint32_t retry_ms;
};

static const struct opt rows[] = {
	{ "on-loss", 0, OPT_TEXT, offsetof(struct info_options, on_loss), "POLICY",
		OPT_ON_LOSS_HELP },
	OPT_RETRY_ROW(struct info_options, retry_ms),
	{ 0 },
};

static const struct opt_foreign foreign[] = {
	{ "nbdinfo", "--size", "rdmastor info --json URI | jq .size" },
	{ "nbdinfo", "--uri", "rdmastor info --json URI | jq -r .uri" },
	{ "qemu-img", "-f", "not needed: every disk is raw; for other formats run qemu-nbd" },
	{ 0 },
};

static void print_id(
	struct out *out, const char *key, const char *label, const uint8_t *bytes, size_t len)
{
	char text[64];

	if (!bdev_id_known(bytes, len))
		return;
	out_text(out, key, label, "%s",
		strcmp(key, "uuid") ? hex_text(text, bytes, len) : uuid_text(text, bytes));
}

static void print_name(struct out *out, const char *key, const char *label, const char *name)
{
	if (name[0])
		out_text(out, key, label, "%s", name);
}

/* The longest request of each kind; a kind that is missing is not possible on this disk. */
static void print_requests(struct out *out, const struct bdev_limits *lim)
{
	static const struct {
		uint8_t kind;
		const char *word;
	} kinds[] = { { IO_READ, "read" }, { IO_WRITE, "write" }, { IO_ZERO, "zero" },
		{ IO_TRIM, "trim" }, { IO_MAP, "map" } };
	char line[200] = "", size[16], key[20];

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t at = strlen(line);

		if (!lim->max[kinds[i].kind])
			continue;
		snprintf(key, sizeof(key), "max_%s_bytes", kinds[i].word);
		out_u64(out, key, NULL, lim->max[kinds[i].kind]);
		snprintf(line + at, sizeof(line) - at, "%s%s %s", at ? ", " : "", kinds[i].word,
			out_human(lim->max[kinds[i].kind], size));
	}
	out_line(out, "max request: %s", line);
}

static void print_disk(struct out *out, struct bdev *disk)
{
	const struct bdev_limits *lim = &disk->lim;

	out_text(out, "uri", "uri:         ", "%s", disk->uri);
	out_size(out, "size", "size:        ", lim->size);
	if (disk->is_part)
		out_size(out, "offset", "offset:      ", disk->start);
	out_u64(out, "block_size", "block size:  ", lim->block);
	out_u64(out, "preferred_size", "preferred:   ", lim->best);
	out_bool(out, "read_only", "read-only:   ", lim->ro_disk);
	out_bool(out, "flush", NULL, lim->max[IO_FLUSH] > 0);
	out_bool(out, "fua", NULL, lim->fua);
	out_u64(out, "queue_depth", "queue depth: ", lim->depth);
	out_u64(out, "queues", "queues:      ", lim->lanes);
	print_requests(out, lim);
	print_name(out, "model", "model:       ", disk->id.model);
	print_name(out, "serial", "serial:      ", disk->id.serial);
	print_name(out, "firmware", "firmware:    ", disk->id.firmware);
	print_id(out, "uuid", "uuid:        ", disk->id.uuid, sizeof(disk->id.uuid));
	print_id(out, "nguid", "nguid:       ", disk->id.nguid, sizeof(disk->id.nguid));
	print_id(out, "eui64", "eui64:       ", disk->id.eui64, sizeof(disk->id.eui64));
	if (disk->ops->facts)
		disk->ops->facts(disk, out);
}

static void put_format(struct out *out, const struct content_format *format)
{
	out_object(out, "content");
	out_nonempty(out, "type", format->type);
	out_nonempty(out, "label", format->label);
	out_nonempty(out, "uuid", format->uuid);
	out_end(out);
}

/* "ext4 'root' c5d2…"; "" if it is not known. */
static void format_text(char *text, size_t len, const struct content_format *format)
{
	bool label = format->label[0];

	snprintf(text, len, "%s%s%s%s%s%s", format->type, label ? " '" : "", format->label,
		label ? "'" : "", format->uuid[0] ? " " : "", format->uuid);
}

static void print_partition(struct out *out, const struct content_partition *p)
{
	char text[400], size[16], start[16];

	out_object(out, NULL);
	out_u64(out, "number", NULL, p->number);
	out_u64(out, "offset", NULL, p->off);
	out_u64(out, "size", NULL, p->size);
	out_text(out, "type", NULL, "%s", p->type);
	out_nonempty(out, "uuid", p->uuid);
	out_nonempty(out, "name", p->name);
	put_format(out, &p->format);
	out_end(out);
	format_text(text, sizeof(text), &p->format);
	out_line(out, "  part %-3u   %s at %s%s%s%s%s%s", p->number, out_human(p->size, size),
		out_human(p->off, start), p->name[0] ? ", \"" : "", p->name, p->name[0] ? "\"" : "",
		text[0] ? ", " : "", text);
}

static void print_content(struct out *out, const struct content *content)
{
	static const char *const words[] = { [CONTENT_MBR] = "mbr", [CONTENT_GPT] = "gpt" };
	static const char *const names[] = { [CONTENT_MBR] = "MBR", [CONTENT_GPT] = "GPT" };
	char text[400];

	put_format(out, &content->format);
	format_text(text, sizeof(text), &content->format);
	if (text[0])
		out_line(out, "content:     %s", text);
	if (content->table == CONTENT_NO_TABLE)
		return;
	out_text(out, "partition_table", NULL, "%s", words[content->table]);
	out_bool(out, "backup_table", NULL, content->backup);
	out_u64(out, "partitions_left_out", NULL, content->left_out);
	out_line(out, "partitions:  %u (%s%s)", content->count, names[content->table],
		content->backup ? ", of its backup, as the first copy is damaged" : "");
	out_list(out, "partitions");
	for (unsigned i = 0; i < content->count; i++)
		print_partition(out, &content->partition[i]);
	out_end(out);
	if (content->left_out)
		out_line(out, "  %u not inside the disk", content->left_out);
}

/* The properties of a disk that can't be read are still worth printing. */
static void look_inside(struct call *call, struct bdev *disk, const struct bdev_env *env)
{
	struct content content;
	struct diag why = { 0 };

	if (content_read(
		    disk, env->timeout_ms == BDEV_NEVER ? 0 : env->timeout_ms, &content, &why)) {
		call_warn(call, "%s: %s", why.object, why.text);
		if (why.hint[0] && !((const struct opt_common *)call->opts)->quiet)
			out_message(OUT_WARNING, "hint: %s", why.hint);
		out_error(call->out, "content_error", &why);
		return;
	}
	print_content(call->out, &content);
	content_free(&content);
}

static int run(struct call *call)
{
	const struct info_options *opts = call->opts;
	struct bdev_env env;
	struct bdev *disk;
	struct loop *loop;
	int rc = disk_env(call, &env, opts->on_loss);

	if (rc)
		return rc;
	env.retry_ms = opts->retry_ms;
	rc = loop_new(&loop, &call->loop, call->diag);
	if (rc)
		return rc;
	rc = disk_open(call, &disk, loop, call->operand[0], &env);
	if (!rc) {
		print_disk(call->out, disk);
		look_inside(call, disk, &env);
		bdev_close(disk);
	}
	loop_free(loop);
	return rc;
}

const struct applet applet_info = {
	.name = "info",
	.operands = "URI",
	.examples = "  rdmastor info nvme+tcp://10.0.0.1/nqn.2024-01.com.example:disk1\n"
		    "  rdmastor info --json disk1.img | jq .size\n",
	.foreign = foreign,
	.schemes = SCHEME_DISK,
	.keys = disk_keys,
	.summary = "open a disk and print its properties",
	.opts = rows,
	.opts_size = sizeof(struct info_options),
	.min = 1,
	.max = 1,
	.run = run,
};
