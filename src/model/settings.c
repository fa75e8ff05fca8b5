/* settings.c - defaults of what the engine runs with, and comparison */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/settings.h"

void engine_settings_fill(struct engine_settings *s)
{
#define FILL(x, name, otherwise) s->name = s->name ? s->name : (otherwise);
    ENGINE_SETTINGS(FILL, )
#undef FILL
}

bool engine_settings_equal(const struct engine_settings *x, const struct engine_settings *y)
{
    bool same = true;
#define COMPARE(z, name, otherwise) same = same && x->name == y->name;
    ENGINE_SETTINGS(COMPARE, )
#undef COMPARE
    return same;
}
