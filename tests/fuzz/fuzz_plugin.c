/* fuzz_plugin.c - any bytes: refused with a place, or a plugin whose parts are what it says */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "fuzz.h"

#include "plugin/plugin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SCOPED_ARENA(mem);
    const struct plugin *p = NULL;
    struct err e = {0};
    char *exact = malloc(size ? size : 1); /* not terminated: the sanitizer sees a read behind it */
    memcpy(exact, data, size);
    int rc = plugin_read(&mem, str_of("/p"), (struct str){exact, size}, &p, &e);
    free(exact); /* nor may the plugin point into the text */
    if (rc < 0) {
        fuzz_must(e.text[0] && !strncmp(e.at, "/p/plugin.yaml", 14),
                  "a refusal has text and place");
        return 0;
    }
    fuzz_must(p->name.n && p->n_actions && p->executable.n, "what is needed is there");
    fuzz_must(p->executable.s[0] != '/' && !strstr(p->executable.s, "/../"), "it stays inside");
    for (uint32_t i = 0; i < p->n_types; i++) {
        const struct value *has = plugin_fields_defaults(&mem, &p->types[i]);
        fuzz_must(plugin_fields_check(&p->types[i], has, &e) == 0, "defaults are right");
        (void)plugin_fields_complete(&p->types[i], false, has, &e);
        struct plugin_split s = plugin_fields_split(&mem, &p->types[i], true, has);
        fuzz_must(s.plain->n + s.sensitive->n + s.dropped->n == has->n, "nothing is lost");
        fuzz_must(s.sensitive->n == 0, "no secret has a default");
    }
    return 0;
}
