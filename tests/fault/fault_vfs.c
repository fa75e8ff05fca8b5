/* fault_vfs.c - see fault_vfs.h
 *
 * The wrapped file follows the wrapper in the memory that SQLite gives us, so every call is
 * forwarded to `inner`.  Shared memory is forwarded untouched: it is never on the disk.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fault/fault_vfs.h"

#include <sqlite3.h>
#include <string.h>

struct fault_file {
    sqlite3_file base;
    sqlite3_file *inner;
};

static struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    struct fault *fault;
} disk;

static sqlite3_file *inner(sqlite3_file *f)
{
    return ((struct fault_file *)f)->inner;
}

static bool fails(void)
{
    struct fault *f = disk.fault;

    f->count++;
    if (!f->at || f->count < f->at || (f->once && f->hit))
        return false;
    f->hit = true;
    return true;
}

static int code(int io)
{
    return disk.fault->kind == FAULT_FULL ? SQLITE_FULL : io;
}

static int file_close(sqlite3_file *f)
{
    return inner(f)->pMethods->xClose(inner(f));
}

static int file_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    return inner(f)->pMethods->xRead(inner(f), p, n, at);
}

static int file_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    if (fails()) {
        (void)inner(f)->pMethods->xWrite(inner(f), p, n / 2, at);
        return code(SQLITE_IOERR_WRITE);
    }
    return inner(f)->pMethods->xWrite(inner(f), p, n, at);
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    return fails() ? code(SQLITE_IOERR_TRUNCATE) : inner(f)->pMethods->xTruncate(inner(f), size);
}

static int file_sync(sqlite3_file *f, int flags)
{
    (void)f, (void)flags;
    /* A full disk may show at a sync only, but SQLite reports that as an I/O error. */
    return fails() ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int file_size(sqlite3_file *f, sqlite3_int64 *ret_size)
{
    return inner(f)->pMethods->xFileSize(inner(f), ret_size);
}

static int file_lock(sqlite3_file *f, int level)
{
    return inner(f)->pMethods->xLock(inner(f), level);
}

static int file_unlock(sqlite3_file *f, int level)
{
    return inner(f)->pMethods->xUnlock(inner(f), level);
}

static int file_reserved(sqlite3_file *f, int *ret_held)
{
    return inner(f)->pMethods->xCheckReservedLock(inner(f), ret_held);
}

static int file_control(sqlite3_file *f, int op, void *arg)
{
    return inner(f)->pMethods->xFileControl(inner(f), op, arg);
}

static int file_sector(sqlite3_file *f)
{
    return inner(f)->pMethods->xSectorSize(inner(f));
}

static int file_device(sqlite3_file *f)
{
    return inner(f)->pMethods->xDeviceCharacteristics(inner(f));
}

static int file_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **ret_p)
{
    return inner(f)->pMethods->xShmMap(inner(f), page, size, extend, ret_p);
}

static int file_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
    return inner(f)->pMethods->xShmLock(inner(f), offset, n, flags);
}

static void file_shm_barrier(sqlite3_file *f)
{
    inner(f)->pMethods->xShmBarrier(inner(f));
}

static int file_shm_unmap(sqlite3_file *f, int del)
{
    return inner(f)->pMethods->xShmUnmap(inner(f), del);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_device,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static int disk_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
    struct fault_file *file = (struct fault_file *)f;
    int rc;

    (void)vfs;
    file->inner = (sqlite3_file *)(file + 1);
    memset(file->inner, 0, sizeof *file->inner);
    rc = disk.real->xOpen(disk.real, name, file->inner, flags, ret_flags);
    f->pMethods = file->inner->pMethods ? &methods : NULL;
    return rc;
}

void fault_vfs_install(struct fault *f)
{
    disk.real = sqlite3_vfs_find(NULL);
    disk.fault = f;
    disk.vfs =
        *disk.real; /* all but opening is the real layer's, which looks at no field of its own */
    disk.vfs.pNext = NULL;
    disk.vfs.zName = "fault";
    disk.vfs.szOsFile = (int)sizeof(struct fault_file) + disk.real->szOsFile;
    disk.vfs.xOpen = disk_open;
    sqlite3_vfs_register(&disk.vfs, 1);
}
