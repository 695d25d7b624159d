/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Draw line charts as SVG: a hue from dark to light, then another one; a marker and dashes per
 * series, names at the ends of lines, the data in attributes. */
#include "chart_axis.h"
#include <stdlib.h>
#include <string.h>

#define WIDTH     800
#define HEADING   64
#define HEIGHT    372 /* of a chart */
#define LEFT      92
#define TOP       42
#define BOTTOM    48  /* below the axis */
#define KEY       34  /* piece of the line before a name */
#define GLYPH     7.3 /* mean width of a character of the names, in a wide font */
#define NAME_MAX  26  /* characters */
#define NAME_STEP 17  /* least distance of names */
#define HEAD_MAX  112 /* characters of the description that fit */
#define NEAR      30  /* if all line ends are so close to the names, they are connected with them */

struct frame {
	struct axis x, y;
	double left, right, top, bottom;
};

static const struct {
	const char *colour, *dash;
	double dx, dy; /* where the outline of the marker begins */
	const char *marker;
	bool hollow;
} styles[CHART_SERIES] = {
	{ "#08244f", "none", -4, 0, "a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", false },
	{ "#4a86c5", "7 3", -3.6, -3.6, "h7.2v7.2h-7.2z", false },
	{ "#1c5596", "2 2.5", 0, -4.8, "l4.6 8h-9.2z", false },
	{ "#5f97d0", "9 3 2 3", 0, -5.2, "l5.2 5.2-5.2 5.2-5.2-5.2z", false },
	{ "#0f3a74", "none", -4, 0, "a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", true },
	{ "#3873b3", "12 4", -3.6, -3.6, "h7.2v7.2h-7.2z", true },
	{ "#08244f", "1 3", 0, 4.8, "l4.6-8h-9.2z", true },
	{ "#4a86c5", "9 3 2 3 2 3", 0, -5.2, "l5.2 5.2-5.2 5.2-5.2-5.2z", true },
	{ "#1c5596", "4 2 1 2", 0, 4.8, "l4.6-8h-9.2z", false },
	{ "#6b2c00", "none", -3.6, -4.6, "l8 4.6-8 4.6z", false },
	{ "#d07a20", "7 3", -3.6, -4.6, "l8 4.6-8 4.6z", true },
	{ "#98480c", "2 2.5", 3.6, -4.6, "l-8 4.6 8 4.6z", false },
	{ "#d98c3c", "9 3 2 3", 3.6, -4.6, "l-8 4.6 8 4.6z", true },
	{ "#7f3808", "12 4", 0, -4.8, "l4.6 8h-9.2z", true },
	{ "#b8651a", "1 3", -4.5, 0, "h9m-4.5-4.5v9", false },
	{ "#6b2c00", "9 3 2 3 2 3", -3.6, -3.6, "l7.2 7.2m0-7.2l-7.2 7.2", false },
	{ "#98480c", "4 2 1 2", -4.5, -2, "l9 4m0-4l-9 4m4.5-6.5v9", false },
};

/* Write text for XML, without what XML and terminals don't allow. If it is longer than `most`
 * characters, its middle is left out. */
static void put_text(FILE *to, const char *text, unsigned most)
{
	unsigned count, place = 0, len;
	char *plain = NULL;
	size_t size;
	FILE *memory = open_memstream(&plain, &size);

	if (!memory)
		return;
	out_plain(memory, text);
	fclose(memory);
	count = plain ? out_characters(plain) : 0;
	for (const char *p = plain; p && *p; p += len, place++) {
		len = out_utf8_len(p);
		if (count > most && place >= most / 2 && place < most / 2 + 1 + count - most) {
			if (place == most / 2)
				fputs("…", to);
		} else if (*p == '&') {
			fputs("&amp;", to);
		} else if (*p == '<') {
			fputs("&lt;", to);
		} else if (*p == '>') {
			fputs("&gt;", to);
		} else if (*p == '"') {
			fputs("&quot;", to);
		} else if (!strncmp(p, "\xef\xbf\xbe", 3) || !strncmp(p, "\xef\xbf\xbf", 3)) {
			fputc('?', to);
		} else {
			fwrite(p, 1, len, to);
		}
	}
	free(plain);
}

static void put_element(FILE *to, const char *element, const char *text)
{
	fprintf(to, "<%s>", element);
	put_text(to, text, UINT32_MAX);
	fprintf(to, "</%.*s>\n", (int)strcspn(element, " "), element);
}

static double to_x(const struct frame *frame, double value)
{
	return frame->left + (frame->right - frame->left) * axis_position(&frame->x, value);
}

static double to_y(const struct frame *frame, double value)
{
	return frame->bottom - (frame->bottom - frame->top) * axis_position(&frame->y, value);
}

static bool is_drawn(const struct frame *frame, const struct chart_point *point)
{
	return axis_has(frame->x.scale, point->x) && axis_has(frame->y.scale, point->y);
}

static bool has_bar(const struct frame *frame, const struct chart_point *point)
{
	return point->low < point->high && axis_has(frame->y.scale, point->low) &&
	       axis_has(frame->y.scale, point->high);
}

static void widen(double *least, double *most, double value)
{
	*least = value < *least ? value : *least;
	*most = value > *most ? value : *most;
}

static void set_frame(struct frame *frame, const struct chart *chart)
{
	double x[2] = { 1e300, -1 }, y[2] = { 1e300, -1 };
	unsigned longest = 0;

	frame->x.scale = chart->x.scale;
	frame->y.scale = chart->y.scale;
	for (unsigned i = 0; i < chart->count; i++) {
		const struct chart_series *series = &chart->series[i];
		unsigned len = out_characters(series->name);

		longest = len > longest ? len : longest;
		for (const struct chart_point *point = series->point;
			point < series->point + series->points; point++) {
			if (!is_drawn(frame, point))
				continue;
			widen(&x[0], &x[1], point->x);
			widen(&y[0], &y[1], point->y);
			if (has_bar(frame, point)) {
				widen(&y[0], &y[1], point->low);
				widen(&y[0], &y[1], point->high);
			}
		}
	}
	axis_set(&frame->x, &chart->x, x[0], x[1]);
	axis_set(&frame->y, &chart->y, y[0], y[1]);
	frame->left = LEFT;
	frame->right = WIDTH - KEY - 32 - GLYPH * (longest < NAME_MAX ? longest : NAME_MAX);
	frame->top = TOP;
	frame->bottom = HEIGHT - BOTTOM;
}

static void put_axis_label(FILE *to, const struct axis *axis, const char *label)
{
	put_text(to, label, UINT32_MAX);
	if (axis->unit[0])
		fprintf(to, " (%s)", axis->unit);
	else if (axis->scale == CHART_LOG10)
		fputs(", log scale", to);
	fputs("</text>\n", to);
}

static void put_axes(FILE *to, const struct frame *frame, const struct chart *chart)
{
	double middle = (frame->top + frame->bottom) / 2;

	fputs("<g stroke=\"#ddd\" fill=\"none\">", to);
	for (unsigned i = 0; i < frame->x.ticks; i++)
		fprintf(to, "<path d=\"M%.1f %.1fV%.1f\"%s/>", to_x(frame, frame->x.tick[i].value),
			frame->top, frame->bottom,
			frame->x.tick[i].text[0] ? "" : " stroke=\"#f0f0f0\"");
	for (unsigned i = 0; i < frame->y.ticks; i++)
		fprintf(to, "<path d=\"M%.1f %.1fH%.1f\"%s/>", frame->left,
			to_y(frame, frame->y.tick[i].value), frame->right,
			frame->y.tick[i].text[0] ? "" : " stroke=\"#f0f0f0\"");
	fprintf(to, "<path d=\"M%.1f %.1fV%.1fH%.1f\" stroke=\"#333\"/></g>\n", frame->left,
		frame->top, frame->bottom, frame->right);
	fputs("<g fill=\"#333\" text-anchor=\"middle\">", to);
	for (unsigned i = 0; i < frame->x.ticks; i++)
		if (frame->x.tick[i].text[0])
			fprintf(to, "<text x=\"%.1f\" y=\"%.1f\">%s</text>",
				to_x(frame, frame->x.tick[i].value), frame->bottom + 17,
				frame->x.tick[i].text);
	fprintf(to, "\n<text x=\"%.1f\" y=\"%.1f\">", (frame->left + frame->right) / 2,
		frame->bottom + 38);
	put_axis_label(to, &frame->x, chart->x.label);
	fprintf(to, "<text transform=\"translate(15,%.1f)rotate(-90)\">", middle);
	put_axis_label(to, &frame->y, chart->y.label);
	fputs("</g>\n<g fill=\"#333\" text-anchor=\"end\">", to);
	for (unsigned i = 0; i < frame->y.ticks; i++)
		if (frame->y.tick[i].text[0])
			fprintf(to, "<text x=\"%.1f\" y=\"%.1f\">%s</text>", frame->left - 7,
				to_y(frame, frame->y.tick[i].value) + 4, frame->y.tick[i].text);
	fputs("</g>\n", to);
}

static void put_marker(FILE *to, unsigned style, double x, double y)
{
	fprintf(to, "M%.1f %.1f%s", x + styles[style].dx, y + styles[style].dy,
		styles[style].marker);
}

static void begin_markers(FILE *to, unsigned style)
{
	fprintf(to, "<path stroke-dasharray=\"none\" fill=\"%s\" d=\"",
		styles[style].hollow ? "#fff" : styles[style].colour);
}

static void put_data(FILE *to, const struct frame *frame, const struct chart_series *series)
{
	const char *blank = "";

	fputs("\" data-points=\"", to);
	for (unsigned i = 0; i < series->points; i++) {
		const struct chart_point *point = &series->point[i];

		if (point->unmarked)
			continue;
		fprintf(to, "%s%.5g,%.6g", blank, point->x, point->y);
		blank = " ";
		if (has_bar(frame, point))
			fprintf(to, ",%.5g,%.5g", point->low, point->high);
	}
}

static void put_series(
	FILE *to, const struct frame *frame, const struct chart_series *series, unsigned style)
{
	const struct chart_point *end = series->point + series->points;
	char command = 'M';

	fprintf(to, "<g stroke=\"%s\" stroke-width=\"1.8\" fill=\"none\" stroke-dasharray=\"%s",
		styles[style].colour, styles[style].dash);
	put_data(to, frame, series);
	fputs("\">", to);
	put_element(to, "title", series->name);
	fputs("<path stroke-width=\"1\" stroke-dasharray=\"none\" d=\"", to);
	for (const struct chart_point *point = series->point; point < end; point++)
		if (is_drawn(frame, point) && has_bar(frame, point))
			fprintf(to, "M%.1f %.1fh6m-3 0V%.1fm-3 0h6", to_x(frame, point->x) - 3,
				to_y(frame, point->low), to_y(frame, point->high));
	fputs("\"/>\n<path d=\"", to);
	for (const struct chart_point *point = series->point; point < end; point++)
		if (is_drawn(frame, point)) {
			fprintf(to, "%c%.1f %.1f", command, to_x(frame, point->x),
				to_y(frame, point->y));
			command = 'L';
		}
	fputs("\"/>\n", to);
	begin_markers(to, style);
	for (const struct chart_point *point = series->point; point < end; point++)
		if (is_drawn(frame, point) && !point->unmarked)
			put_marker(to, style, to_x(frame, point->x), to_y(frame, point->y));
	fputs("\"/></g>\n", to);
}

/* A name and the line end next to which it belongs. */
struct label {
	const struct chart_series *series;
	unsigned style;
	double x, y, place; /* place: y of the name */
};

static int by_height(const void *a, const void *b)
{
	const struct label *first = a, *second = b;

	if (first->y != second->y)
		return first->y < second->y ? -1 : 1;
	return first->x > second->x ? -1 : first->x < second->x;
}

/* Move names apart as little as necessary: names that would overlap form a block around the mean
 * of their places. */
static void place_labels(struct label *label, unsigned count, double top, double bottom)
{
	unsigned first[CHART_SERIES], blocks = 0;
	double begin[CHART_SERIES];

	for (unsigned i = 0; i < count; i++) {
		first[blocks] = i;
		begin[blocks++] = label[i].y;
		for (;;) {
			unsigned last = blocks - 1, size = i + 1 - first[last];
			double sum = 0;

			for (unsigned j = 0; j < size; j++)
				sum += label[first[last] + j].y - j * NAME_STEP;
			begin[last] = sum / size;
			if (begin[last] + (size - 1) * NAME_STEP > bottom)
				begin[last] = bottom - (size - 1) * NAME_STEP;
			if (begin[last] < top)
				begin[last] = top;
			if (!last ||
				begin[last - 1] + (first[last] - first[last - 1]) * NAME_STEP <=
					begin[last])
				break;
			blocks--;
		}
	}
	for (unsigned i = 0, block = 0; i < count; i++) {
		if (block + 1 < blocks && i == first[block + 1])
			block++;
		label[i].place = begin[block] + (i - first[block]) * NAME_STEP;
	}
}

static unsigned set_labels(
	struct label *label, const struct frame *frame, const struct chart *chart)
{
	for (unsigned i = 0; i < chart->count; i++) {
		const struct chart_series *series = &chart->series[i];

		label[i] = (struct label){ series, i, frame->right, frame->bottom };
		for (unsigned j = series->points; j > 0; j--)
			if (is_drawn(frame, &series->point[j - 1])) {
				label[i].x = to_x(frame, series->point[j - 1].x);
				label[i].y = to_y(frame, series->point[j - 1].y);
				break;
			}
	}
	qsort(label, chart->count, sizeof(*label), by_height);
	place_labels(label, chart->count, frame->top, frame->bottom);
	return chart->count;
}

static void put_labels(FILE *to, const struct frame *frame, const struct chart *chart)
{
	struct label label[CHART_SERIES];
	unsigned count = set_labels(label, frame, chart);
	double x = frame->right + 8;
	bool near = true;

	for (unsigned i = 0; i < count; i++)
		near &= frame->right - label[i].x < NEAR;
	for (unsigned i = 0; i < count; i++) {
		unsigned style = label[i].style;

		fprintf(to, "<g stroke=\"%s\" stroke-width=\"1.8\" stroke-dasharray=\"%s\">",
			styles[style].colour, styles[style].dash);
		if (near)
			fprintf(to,
				"<path stroke-width=\".7\" stroke-dasharray=\"none\" "
				"d=\"M%.1f %.1fL%.1f %.1f\"/>",
				label[i].x, label[i].y, x, label[i].place);
		fprintf(to, "<path d=\"M%.1f %.1fh%d\"/>", x, label[i].place, KEY);
		begin_markers(to, style);
		put_marker(to, style, x + KEY / 2., label[i].place);
		fprintf(to, "\"/></g><text x=\"%.1f\" y=\"%.1f\">", x + KEY + 6,
			label[i].place + 4);
		put_text(to, label[i].series->name, NAME_MAX);
		fputs("</text>\n", to);
	}
}

static void put_chart(FILE *to, const struct chart *chart, unsigned nth)
{
	struct frame frame;

	set_frame(&frame, chart);
	fprintf(to, "<g transform=\"translate(0,%u)\">\n", HEADING + nth * HEIGHT);
	fprintf(to, "<text x=\"%d\" y=\"24\" font-size=\"14\" font-weight=\"bold\">", LEFT);
	put_text(to, chart->title, HEAD_MAX);
	fputs("</text>\n", to);
	put_axes(to, &frame, chart);
	for (unsigned i = 0; i < chart->count; i++)
		put_series(to, &frame, &chart->series[i], i);
	put_labels(to, &frame, chart);
	fputs("</g>\n", to);
}

void chart_svg(FILE *to, const char *title, const char *description, const struct chart *chart,
	unsigned count)
{
	unsigned height = HEADING + count * HEIGHT;

	fprintf(to,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 %d %u\" "
		"width=\"%d\" height=\"%u\" font-family=\"sans-serif\" font-size=\"12\">\n",
		WIDTH, height, WIDTH, height);
	put_element(to, "title", title);
	put_element(to, "desc", description);
	fprintf(to, "<rect width=\"%d\" height=\"%u\" fill=\"#fff\"/>\n", WIDTH, height);
	fputs("<text x=\"16\" y=\"28\" font-size=\"17\" font-weight=\"bold\">", to);
	put_text(to, title, HEAD_MAX * 7 / 10);
	fputs("</text>\n<text x=\"16\" y=\"50\" fill=\"#333\">", to);
	put_text(to, description, HEAD_MAX);
	fputs("</text>\n", to);
	for (unsigned i = 0; i < count; i++)
		put_chart(to, &chart[i], i);
	fputs("</svg>\n", to);
}
