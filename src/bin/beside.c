/* beside.c - programs and plugins that belong to this one; what every service does at its start */
/* SPDX-License-Identifier: Apache-2.0 */
#include "beside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/str.h"
#include "sys/fs.h"

/* The directory of this program; false: nobody knows. */
static bool own_directory(char *ret, size_t n)
{
    ssize_t got = readlink("/proc/self/exe", ret, n - 1);
    if (got <= 0)
        return false;
    ret[got] = '\0';
    *strrchr(ret, '/') = '\0';
    return true;
}

char *beside_runner(void)
{
    char self[4096];
    if (!own_directory(self, sizeof self))
        return xstrdup("anneal-runner");
    char *beside = fs_join(self, "anneal-runner");
    if (fs_exists(beside))
        return beside;
    free(beside);
    return fs_join(self, "../libexec/anneal/anneal-runner");
}

/* Where plugins were installed, and before that happened, where they were written. */
char *beside_plugins(void)
{
    char self[4096];
    if (!own_directory(self, sizeof self))
        return xstrdup("");
    struct buf path = {0};
    char *built = fs_join(self, "../../build.ninja");
    buf_printf(&path, "%s/%s", self,
               fs_exists(built) ? "../../../plugins" : "../share/anneal/plugins");
    free(built);
    return buf_take(&path, NULL);
}

void beside_log_level(const char *name)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    for (int i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0)
            log_set_level((enum log_level)i);
}

/* A stream or a connection is a descriptor each; the soft limit is meant for programs with few. */
void beside_descriptors(void)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
        l.rlim_cur = l.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &l);
    }
}
