// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Stands in for libFuzzer's main: runs a fuzzer's entry once over every file of a corpus folder,
// and over nothing at all. So `make check` holds old findings without building everything a second
// time with clang.
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay(const char *dir, const char *name)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "r");
	if (!f || fseek(f, 0, SEEK_END))
		err(1, "%s", path);
	size_t size = (size_t)ftell(f);
	/* Exactly as long as the input, for the sanitizer to see the first byte read past it. */
	uint8_t *data = malloc(size ? size : 1);
	rewind(f);
	if (!data || fread(data, 1, size, f) != size)
		err(1, "%s", path);
	fclose(f);
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
}

int main(int argc, char **argv)
{
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);

	DIR *dir = argc > 1 ? opendir(argv[1]) : NULL;
	if (!dir)
		return argc > 1 && errno != ENOENT ? EXIT_FAILURE : EXIT_SUCCESS;
	for (struct dirent *e; (e = readdir(dir));)
		if (e->d_name[0] != '.')
			replay(argv[1], e->d_name);
	closedir(dir);
	return EXIT_SUCCESS;
}
