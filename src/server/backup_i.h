/* backup_i.h - what making and restoring a backup share: names of members, checks of a store */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_BACKUP_I_H
#define SERVER_BACKUP_I_H

#include "archive/archive.h"
#include "model/rows.h"
#include "server/backup.h"
#include "store/store.h"

enum { BACKUP_FORMAT = 1, BACKUP_ABOUT_BYTES = 64 * 1024, BACKUP_KEY_BYTES = 1024 * 1024 };

/* The first member says what it all is. */
#define BACKUP_ABOUT     "anneal-backup.json"
#define BACKUP_STORE     "anneal.db"
#define BACKUP_SETTINGS  "settings.yaml"
#define BACKUP_RESOURCES "resources"
#define BACKUP_LOGS      "logs"
/* Files of the data directory that are taken as they are, those that are there. */
#define BACKUP_FILES(X)                                                                            \
    X("secret.key")                                                                                \
    X("callback.key")                                                                              \
    X("ca.key")                                                                                    \
    X("ca.pem")                                                                                    \
    X("server.key")                                                                                \
    X("server.pem")                                                                                \
    X("admin.token")

/* Is it a name that a member of a backup has?  Nothing else is ever unpacked. */
bool backup_member_known(const char *name);

/* What the first member says. */
struct backup_about {
    uint64_t format, journal, fence, made_ms;
    char version[32];
};
void backup_about_write(struct buf *b, const struct backup_about *a);
/* ERR_REFUSED if a newer version made it; ERR_CORRUPT. */
int backup_about_read(struct str text, struct backup_about *ret, struct err *e);

/* A pass over an archive to its end; fn is called for each member and reads what it wants of it.
 * ERR_CORRUPT unless it is a backup, whole: the first member says so, the store is among them, and
 * there is nothing that does not belong. */
typedef int backup_member_f(void *arg, struct archive_in *in, const struct archive_member *m,
                            struct err *e);
struct backup_seen {
    struct backup_about about;
    struct digest digest; /* of the file */
    uint64_t bytes;       /* of all members */
    uint32_t resources, logs;
    bool key, authority;
};
int backup_pass(struct archive_in *in, backup_member_f *fn, void *arg, struct backup_seen *ret,
                struct err *e);

/* A store that nobody else has open, and the directory that it came with: does the engine come up,
 * do sealed values open, is every content there?  Migrates the store if `may_write`. */
struct backup_sum {
    uint64_t journal, fence;
    uint32_t resources; /* contents, each counted once */
    uint64_t resource_bytes;
};
int backup_store_check(const char *db, const char *dir, bool may_write, struct backup_sum *ret,
                       struct err *e);
/* Contents that rows of a store name, each once, in order; fn as for store_each(). */
typedef int backup_content_f(void *arg, struct str digest, uint64_t bytes, struct err *e);
int backup_contents_each(struct store *s, backup_content_f *fn, void *arg, struct err *e);

/* ERR_DISK_FULL unless so many bytes fit, with something left for whoever else needs it. */
int backup_room(const char *dir, uint64_t bytes, struct err *e);

#endif
