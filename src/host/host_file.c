/* host_file.c - small files of a host, whole or not at all */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "base/text.h"
#include "host/host_i.h"
#include "sys/fs.h"

enum { COPY_LIMIT = 1 << 20 };

static int write_whole(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t put = write(fd, p, n);
        if (put < 0 && errno != EINTR)
            return -1;
        p += put > 0 ? put : 0;
        n -= put > 0 ? (size_t)put : 0;
    }
    return 0;
}

static int file_replace(const char *path, const char *text, size_t n, mode_t mode, struct err *e)
{
    SCOPED_BUF(aside);
    buf_printf(&aside, "%s.new", path);
    (void)unlink(aside.data);
    int fd = open(aside.data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    bool good = fd >= 0 && fchmod(fd, mode) == 0 && write_whole(fd, text, n) == 0;
    int sys = errno;
    if (fd >= 0 && close(fd) < 0 && good) {
        good = false;
        sys = errno;
    }
    if (good && rename(aside.data, path) < 0) {
        good = false;
        sys = errno;
    }
    if (good)
        return 0;
    (void)unlink(aside.data);
    return err_sys(e, sys == ENOSPC ? ERR_DISK_FULL : ERR_IO, sys, "cannot write %s", path);
}

int host_file_put(const char *dir, const char *name, const char *text, mode_t mode, struct err *e)
{
    SCOPED_BUF(path);
    buf_printf(&path, "%s/%s", dir, name);
    return file_replace(path.data, text, strlen(text), mode, e);
}

void host_file_line(const char *dir, const char *name, char *ret, size_t n)
{
    SCOPED_BUF(path);
    SCOPED_BUF(text);
    buf_printf(&path, "%s/%s", dir, name);
    ret[0] = '\0';
    if (fs_read(path.data, COPY_LIMIT, &text, NULL) == 0 && text.data)
        snprintf(ret, n, "%.*s", (int)strcspn(text.data, "\n"), text.data);
}

int host_file_copy(const char *from, const char *to, mode_t mode, struct err *e)
{
    SCOPED_BUF(text);
    int r = fs_read(from, COPY_LIMIT, &text, e);
    return r < 0 ? r : file_replace(to, buf_str(&text).s, text.len, mode, e);
}

int host_file_mkdir(const char *path, mode_t mode, struct err *e)
{
    /* The mode is that of the call, whatever our umask is. */
    if ((mkdir(path, mode) < 0 && errno != EEXIST) || chmod(path, mode) < 0)
        return err_sys(e, ERR_IO, errno, "cannot make directory %s", path);
    return 0;
}

int host_file_uuid(bool dashes, char ret[HOST_UUID_BYTES], struct err *e)
{
    unsigned char b[16];
    if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b)
        return err_sys(e, ERR_IO, errno, "no random bytes");
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    for (size_t i = 0; i < sizeof b; i++) {
        if (dashes && (i == 4 || i == 6 || i == 8 || i == 10))
            *ret++ = '-';
        text_hex(b + i, 1, ret);
        ret += 2;
    }
    return 0;
}
