/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Load kernel modules without modprobe: modules.dep lists the files, and the kernel loads them,
 * compressed ones only if it supports that. */
#include "kernel_sys.h"
#include "modules.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define COMPRESSED 4 /* MODULE_INIT_COMPRESSED_FILE, Linux 5.17 */

/* "kernel/drivers/nvme/host/nvme-rdma.ko.xz" is nvme_rdma. */
static bool is_module(const char *path, size_t len, const char *module)
{
	const char *slash = memrchr(path, '/', len), *name = slash ? slash + 1 : path;
	size_t left = len - (size_t)(name - path), n = strlen(module);

	if (left < n + 3 || strncmp(name + n, ".ko", 3) || (left > n + 3 && name[n + 3] != '.'))
		return false;
	for (size_t i = 0; i < n; i++)
		if ((name[i] == '-' ? '_' : name[i]) != (module[i] == '-' ? '_' : module[i]))
			return false;
	return true;
}

/* Find the module's line "FILE: FILE…" in modules.dep and terminate it. */
static char *find_line(char *dep, const char *module)
{
	char *rest = dep, *line;

	while ((line = strsep(&rest, "\n"))) {
		size_t len = strcspn(line, ":");

		if (line[len] && is_module(line, len, module))
			return line;
	}
	return NULL;
}

static int fill(const char *dir, char *line, char *path[MODULE_FILES])
{
	char *rest = line, *word;
	int count = 0;

	while ((word = strsep(&rest, ": \t"))) {
		if (!*word)
			continue;
		if (count == MODULE_FILES) {
			kernel_module_files_free(path, count);
			return -E2BIG;
		}
		if (asprintf(&path[count], "%s%s%s", *word == '/' ? "" : dir,
			    *word == '/' ? "" : "/", *word == '/' ? word + 1 : word) < 0) {
			kernel_module_files_free(path, count);
			return -ENOMEM;
		}
		count++;
	}
	for (int i = 0; i < count / 2;
		i++) { /* modules.dep(5) lists dependencies in reverse order */
		char *first = path[i];

		path[i] = path[count - 1 - i];
		path[count - 1 - i] = first;
	}
	return count;
}

static const char *const dirs[] = { "lib/modules", "usr/lib/modules" };

bool kernel_module_built_in(int root, const char *release, const char *module)
{
	bool found = false;

	for (unsigned i = 0; i < 2 && !found; i++) {
		char name[220], *text, *rest, *line;

		snprintf(name, sizeof(name), "%s/%s/modules.builtin", dirs[i], release);
		text = rest = kernel_sys_read_all(root, name);
		while (!found && (line = strsep(&rest, "\n")))
			found = is_module(line, strlen(line), module);
		free(text);
	}
	return found;
}

int kernel_module_files(int root, const char *release, const char *module, char *path[MODULE_FILES])
{
	int rc = -ENODATA;

	for (unsigned i = 0; i < 2 && rc < 0; i++) {
		char dir[200], name[220], *dep, *line;

		snprintf(dir, sizeof(dir), "%s/%s", dirs[i], release);
		snprintf(name, sizeof(name), "%s/modules.dep", dir);
		dep = kernel_sys_read_all(root, name);
		if (!dep)
			continue;
		line = find_line(dep, module);
		rc = line ? fill(dir, line, path) : -ENOENT;
		free(dep);
	}
	return rc;
}

void kernel_module_files_free(char *path[MODULE_FILES], int count)
{
	for (int i = 0; i < count; i++)
		free(path[i]);
}

static int insert(int root, const char *path, const char *params)
{
	bool plain = strlen(path) > 3 && !strcmp(path + strlen(path) - 3, ".ko");
	int fd = openat(root, path, O_RDONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno;
	if (syscall(SYS_finit_module, fd, params, plain ? 0 : COMPRESSED))
		err = errno;
	close(fd);
	if (!plain && (err == EINVAL || err == EOPNOTSUPP))
		err = EOPNOTSUPP;
	if (err == ENOENT) /* a symbol that this kernel lacks */
		err = ENOEXEC;
	return err == EEXIST ? 0 : err;
}

static const char *refusal(int err)
{
	switch (err) {
	case ENOENT:
		return "it is listed in modules.dep, but its file is missing";
	case EOPNOTSUPP:
		return "its file is compressed, and this kernel can't decompress modules";
	case ENOEXEC:
		return "its file was built for another kernel";
	case EPERM:
		return "module loading is disabled (kernel.modules_disabled or lockdown)";
	case EKEYREJECTED:
	case ENOKEY:
		return "its file has no signature that this kernel trusts";
	case ENOMEM:
		return "out of memory";
	default:
		return "the kernel rejected its file";
	}
}

/* "lib/modules/6.12/kernel/nvme-rdma.ko.xz" is nvme-rdma. */
static const char *name_of(const char *path, char name[64])
{
	const char *slash = strrchr(path, '/');

	snprintf(name, 64, "%s", slash ? slash + 1 : path);
	name[strcspn(name, ".")] = 0;
	return name;
}

const char *kernel_module_load_files(int root, const char *module, const char *params)
{
	char *path[MODULE_FILES], name[64], all[4096];
	struct utsname uts;
	bool ruled = false;
	int count, err = 0;

	if (uname(&uts))
		return "the kernel release is unknown";
	if (kernel_module_built_in(root, uts.release, module))
		return "it is built into this kernel, but inactive";
	count = kernel_module_files(root, uts.release, module, path);
	if (count == -ENODATA)
		return "no modules for this kernel in /lib/modules";
	if (count < 0)
		return "no such module for this kernel";
	for (int i = 0; i < count - 1 && !ruled; i++)
		ruled = kernel_module_has_rule(root, name_of(path[i], name), true);
	for (int i = 0; i < count && !err && !ruled; i++) {
		kernel_module_options(root, name_of(path[i], name), i == count - 1 ? params : "",
			all, sizeof(all));
		err = insert(root, path[i], all);
	}
	kernel_module_files_free(path, count);
	if (ruled)
		return "an install rule in modprobe.d replaces a module it depends on";
	return err ? refusal(err) : "it was loaded, but is inactive";
}
