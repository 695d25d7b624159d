/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Charts as SVG: well-formed whatever names there are, values where they belong, names that don't
 * overlap. */
#include "chart.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_HEIGHT 14 /* of a 12 px font */

static char *svg;
static size_t svg_len;
static struct chart_point point[CHART_SERIES][8];
static struct chart_series series[CHART_SERIES];
static struct chart chart = { "Throughput", { "Queue depth", CHART_LOG2, FIGURE_COUNT },
	{ "IOPS", CHART_LINEAR, FIGURE_COUNT }, series, 1 };

static void draw(const char *title, const char *description, unsigned charts)
{
	struct chart all[4] = { chart, chart, chart, chart };
	FILE *to;

	free(svg);
	to = open_memstream(&svg, &svg_len);
	chart_svg(to, title, description, all, charts);
	fclose(to);
}

/* Fill series with depths of 1 to 2^(points - 1) and values of start * factor^n. */
static void fill(unsigned nth, const char *name, unsigned points, double start, double factor)
{
	for (unsigned i = 0; i < points; i++, start *= factor)
		point[nth][i] = (struct chart_point){ 1 << i, start, start * .9, start * 1.05 };
	series[nth] = (struct chart_series){ name, point[nth], points };
}

static const char *const names[CHART_SERIES] = { "NVMe/RDMA", "NVMe/TCP", "iSER", "iSCSI", "SRP",
	"NBD", "NBD over unix", "RDMA", "nvme+tcp://[2001:db8::1]/nqn.2024-01.com.example:disk1",
	"kernel NVMe/TCP", "kernel NVMe/RDMA", "kernel iSCSI", "kernel iSER", "kernel SRP", "ublk",
	"kernel NBD", "kernel NFS" };

static void fill_all(double step, double factor)
{
	chart.count = CHART_SERIES;
	for (unsigned i = 0; i < CHART_SERIES; i++)
		fill(i, names[i], 8, 10000 + i * step, factor);
}

static bool name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == ':';
}

static const char *skip_name(const char *p)
{
	cr_assert(name_byte(*p), "no name at: %.40s", p);
	while (name_byte(*p))
		p++;
	return p;
}

/* Check text up to a byte of `until`: valid characters, known entities. */
static const char *skip_text(const char *p, const char *until)
{
	static const char *const entity[] = { "&amp;", "&lt;", "&gt;", "&quot;" };

	while (*p && !strchr(until, *p)) {
		unsigned len = out_utf8_len(p), i = 0;

		cr_assert(len, "not UTF-8: %.40s", p);
		cr_assert((unsigned char)*p >= 0x20 || *p == '\n' || *p == '\t');
		cr_assert(strncmp(p, "\xef\xbf\xbe", 3) && strncmp(p, "\xef\xbf\xbf", 3));
		if (*p == '&') {
			while (i < 4 && strncmp(p, entity[i], strlen(entity[i])))
				i++;
			cr_assert_lt(i, 4, "entity: %.40s", p);
		}
		cr_assert_neq(*p, '<', "%.40s", p);
		p += len;
	}
	return p;
}

/* The part of XML that is used here: elements, attributes, text, four entities. */
static void check_xml(const char *p)
{
	const char *open[16];
	unsigned depth = 0, roots = 0;

	while (*p) {
		const char *begin = p + 1, *end;

		if (*p != '<') {
			p = skip_text(p, "<");
			continue;
		}
		if (p[1] == '/') {
			end = skip_name(p + 2);
			cr_assert(depth > 0);
			depth--;
			cr_assert_eq(strncmp(open[depth], p + 2, (size_t)(end - p - 2)), 0,
				"closes another element: %.40s", p);
			cr_assert_not(name_byte(open[depth][end - p - 2]));
			cr_assert_eq(*end, '>');
			p = end + 1;
			continue;
		}
		for (p = skip_name(begin); *p == ' ';) {
			p = skip_name(p + 1);
			cr_assert(p[0] == '=' && p[1] == '"', "%.40s", p);
			p = skip_text(p + 2, "\"");
			cr_assert_eq(*p++, '"');
		}
		roots += !depth;
		if (*p == '/') {
			p++;
		} else {
			cr_assert_lt(depth, 16);
			open[depth++] = begin;
		}
		cr_assert_eq(*p++, '>', "%.40s", p - 2);
	}
	cr_assert(!depth && roots == 1);
}

Test(chart_svg, one_chart)
{
	fill(0, "NVMe/TCP", 8, 10000, 1.3);
	draw("4 KiB random reads", "7 rounds", 1);
	check_xml(svg);
	cr_assert_eq(strstr(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox="),
		svg);
	for (unsigned i = 0; i < 8; i++) {
		static const char *const parts[] = { "<title>4 KiB random reads</title>",
			"<desc>7 rounds</desc>", ">Throughput</text>", ">Queue depth</text>",
			">IOPS</text>", "<title>NVMe/TCP</title>", ">NVMe/TCP</text>",
			"font-family=\"sans-serif\"" };
		cr_assert_not_null(strstr(svg, parts[i]), "%s is missing", parts[i]);
	}
	cr_assert_null(strstr(svg, "script"));
	cr_assert_not_null(strstr(svg, "data-points=\"1,10000,9000,10500 2,13000,11700,13650 "));
}

Test(chart_svg, values_have_their_places)
{
	/* 10 characters: the plot is from 92 to 661 and from 324 up to 42; IOPS from 0 to 100,
	 * queue depths from 2^-0.2 to 2^4.2 */
	static struct chart_point at[] = { { 1, 0, 0, 0 }, { 4, 50, 25, 75 }, { 16, 100, 0, 0 } };

	series[0] = (struct chart_series){ "0123456789", at, 3 };
	chart.count = 1;
	draw("title", "", 1);
	cr_assert_not_null(
		strstr(svg, "<path d=\"M117.9 324.0L376.5 183.0L635.1 42.0\"/>"), "%s", svg);
	cr_assert_not_null(strstr(svg, "M373.5 253.5h6m-3 0V112.5m-3 0h6\""), "the error bar");
	cr_assert_not_null(strstr(svg, "<text x=\"376.5\" y=\"341.0\">4</text>"), "its tick");
	cr_assert_not_null(strstr(svg, "<text x=\"85.0\" y=\"46.0\">100</text>"));
	cr_assert_not_null(strstr(svg, "y=\"46.0\">0123456789</text>"), "its name");
}

Test(chart_svg, hostile_names)
{
	fill(0, "<script>alert(\"&\")</script>]]>--\x1b[2J\xff\xc3\xef\xbf\xbf\xef\xbf\xbe'", 8, 1,
		2);
	chart.title = "a<b & c>d";
	draw("</title><script>", "<!-- & \"", 1);
	check_xml(svg);
	cr_assert_null(strstr(svg, "<script"));
	cr_assert_not_null(strstr(svg, "<title>&lt;script&gt;alert(&quot;&amp;&quot;)"));
	cr_assert_not_null(strstr(svg, ">a&lt;b &amp; c&gt;d</text>"));
}

Test(chart_svg, long_names_lose_their_middle)
{
	fill(0, "nvme+tcp://[2001:db8::1]/nqn.2024-01.com.example:dísk1", 8, 1, 2);
	draw("title", "", 1);
	check_xml(svg);
	cr_assert_not_null(strstr(svg, ">nvme+tcp://[2…xample:dísk1</text>"), "%s", svg);
	cr_assert_not_null(
		strstr(svg, "nqn.2024-01.com.example:dísk1</title>"), "whole in its title");
}

/* Return the y of the label with a name, which may be cut. */
static double label_y(const char *name)
{
	char text[40];
	const char *p;
	double x, y;

	snprintf(text, sizeof(text), strlen(name) > 26 ? "\">%.13s" : "\">%.26s<", name);
	p = strstr(svg, text);
	cr_assert_not_null(p, "%s has no label", name);
	while (strncmp(p, "<text", 5))
		p--;
	cr_assert_eq(sscanf(p, "<text x=\"%lf\" y=\"%lf\"", &x, &y), 2);
	cr_assert(x > 400 && y - LABEL_HEIGHT > 0 && y < 372, "%s at %g, %g", name, x, y);
	cr_assert_leq(x + 7.3 * (strlen(name) < 26 ? strlen(name) : 26), 800, "%s at %g", name, x);
	return y;
}

Test(chart_svg, names_never_overlap)
{
	static const double steps[] = { 0, 1, 100, 600, 3000, -1000 };

	for (unsigned scale = 0; scale < 2; scale++)
		for (unsigned i = 0; i < 3 * sizeof(steps) / sizeof(*steps); i++) {
			chart.y.scale = scale ? CHART_LOG10 : CHART_LINEAR;
			fill_all(steps[i / 3], i % 3 == 0 ? 1.4 : i % 3 == 1 ? 1 : 0.5);
			draw("title", "", 1);
			check_xml(svg);
			for (unsigned a = 0; a < CHART_SERIES; a++)
				for (unsigned b = 0; b < a; b++) {
					double between = label_y(names[a]) - label_y(names[b]);
					cr_assert(
						between >= LABEL_HEIGHT || between <= -LABEL_HEIGHT,
						"%s and %s: %g", names[a], names[b], between);
				}
		}
}

Test(chart_svg, names_with_room_are_level_with_their_lines)
{
	static struct chart_point upper[] = { { 1, 50 }, { 2, 100 } },
				  lower[] = { { 1, 50 }, { 2, 25 } };

	series[0] = (struct chart_series){ "upper", upper, 2 };
	series[1] = (struct chart_series){ "lower", lower, 2 };
	chart.count = 2;
	draw("title", "", 1);
	cr_assert_float_eq(label_y("upper"), 42 + 4, 0.06);
	cr_assert_float_eq(label_y("lower"), 324 - 282 * .25 + 4, 0.06);
}

Test(chart_svg, what_a_scale_does_not_have_is_left_out)
{
	fill(0, "dead", 8, 0, 1);
	chart.y.scale = CHART_LOG10;
	draw("title", "", 1);
	check_xml(svg);
	cr_assert_null(strstr(svg, "nan"));
	cr_assert_null(strstr(svg, "inf"));
	label_y("dead");
	fill(0, "empty", 0, 0, 1);
	draw("title", "", 1);
	check_xml(svg);
	label_y("empty");
}

Test(chart_svg, it_stays_small)
{
	fill(0, "NVMe/TCP", 8, 10000, 1.3);
	draw("4 KiB random reads", "7 rounds", 1);
	cr_assert_lt(svg_len, 5000);
	fill_all(100, 1.4);
	chart.count = 9;
	draw("4 KiB random reads", "7 rounds", 1);
	cr_assert_lt(svg_len, 14000);
	chart.count = CHART_SERIES;
	draw("4 KiB random reads", "7 rounds", 4);
	check_xml(svg);
	cr_assert_not_null(strstr(svg, "viewBox=\"0 0 800 1552\""));
}
