/* task_read.c - one task, named for all roles or written inside one
 *
 * What a task leaves open its role decides: the jig, and whether a crash may repeat it.  See
 * action_resolve.c.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

#include "model/plan.h"
#include "model/states.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
enum { TASK_MAX_RETRIES = 1000 };
#define TASK_TIMEOUT_MS  (3600ull * 1000)       /* one attempt, unless the task says otherwise */
#define TASK_DEADLINE_MS (24 * TASK_TIMEOUT_MS) /* with waiting and retries */
#define TASK_BACKOFF_MS  1000ull

static const char *const repeat_names[] = {
#define X(id, text) text,
    REPEATS(X)
#undef X
};
static const char *const hold_names[] = {
#define X(id, text) text,
    HOLDS(X)
#undef X
};

static void task_name(struct load *l, const struct value *v, void *object)
{
    ((struct load_task *)object)->task.name = catalog_read_name(l, v, "a task's name");
}

static void task_description(struct load *l, const struct value *v, void *object)
{
    ((struct load_task *)object)->task.description = catalog_read_text(l, v, "\"description\"");
}

static void task_type(struct load *l, const struct value *v, void *object)
{
    struct load_task *t = object;
    struct str type = catalog_read_name(l, v, "a type");
    if (type.n)
        t->type = (struct load_name){type, v};
}

static void task_params(struct load *l, const struct value *v, void *object)
{
    struct load_task *t = object;
    if (v->kind != VALUE_MAP)
        catalog_error(l, v, ERR_INVALID, "\"params\" must be a map");
    else
        t->params = v;
}

static void task_timeout(struct load *l, const struct value *v, void *object)
{
    ((struct load_task *)object)->task.timeout_ms = catalog_read_duration(l, v, "\"timeout\"", 1);
}

static void task_deadline(struct load *l, const struct value *v, void *object)
{
    ((struct load_task *)object)->task.deadline_ms = catalog_read_duration(l, v, "\"deadline\"", 1);
}

static void task_retries(struct load *l, const struct value *v, void *object)
{
    struct load_task *t = object;
    t->task.retries = catalog_read_u32(l, v, "\"retries\"", 0, TASK_MAX_RETRIES);
}

static void task_backoff(struct load *l, const struct value *v, void *object)
{
    ((struct load_task *)object)->task.backoff_ms = catalog_read_duration(l, v, "\"backoff\"", 0);
}

static void task_repeat(struct load *l, const struct value *v, void *object)
{
    struct load_task *t = object;
    t->repeat = (int)catalog_read_choice(l, v, "\"repeat\"", repeat_names, COUNT(repeat_names));
}

static void task_hold(struct load *l, const struct value *v, void *object)
{
    struct load_task *t = object;
    t->task.hold = (uint8_t)catalog_read_choice(l, v, "\"hold\"", hold_names, COUNT(hold_names));
}

static void task_takes_down(struct load *l, const struct value *v, void *object)
{
    if (catalog_read_bool(l, v, "\"takes_down\""))
        ((struct load_task *)object)->task.flags |= DEF_F_TAKES_DOWN;
}

static void task_survives_reboot(struct load *l, const struct value *v, void *object)
{
    if (catalog_read_bool(l, v, "\"survives_reboot\""))
        ((struct load_task *)object)->task.flags |= DEF_F_SURVIVES_REBOOT;
}

/* What a task sees under these is not a result, and never becomes one. */
static const char *const reserved_keys[] = {
    "cluster",  "service", "hostname",     "ipaddresses", "nodenum",    "sshuser",
    "flavor",   "image",   "hardwaretype", "imagetype",   "automators", "services",
    "provider", "nodes",   "results",      "config",
};

static bool is_reserved(struct str key)
{
    for (size_t i = 0; i < COUNT(reserved_keys); i++)
        if (str_is(key, reserved_keys[i]))
            return true;
    return false;
}

void catalog_read_returns(struct load *l, const struct value *v, struct catalog_task *t)
{
    const struct value *list = catalog_read_list(l, v, "\"returns\"");
    struct str *keys = arena_new(l->mem, struct str, list->n);
    struct strmap seen = {0};

    for (uint32_t i = 0; i < list->n; i++) {
        const struct value *item = &list->items[i];
        struct str key = catalog_read_text(l, item, "a key");
        if (item->kind != VALUE_STRING)
            continue;
        if (!key.n)
            catalog_error(l, item, ERR_INVALID, "a key cannot be empty");
        else if (is_reserved(key))
            catalog_error(l, item, ERR_INVALID, "\"%s\" is reserved: a task cannot return it",
                          key.s);
        else if (strmap_put(&seen, key, i))
            keys[t->n_returns++] = key;
    }
    strmap_done(&seen);
    t->returns = keys;
}

static void task_lasting(struct load *l, const struct value *v, void *object)
{
    struct load_task *t = object;
    t->lasting = catalog_read_bool(l, v, "\"lasting\"");
    if (t->lasting)
        t->task.flags |= DEF_F_LASTING;
}

static void task_returns(struct load *l, const struct value *v, void *object)
{
    catalog_read_returns(l, v, &((struct load_task *)object)->task);
}

static void task_pools(struct load *l, const struct value *v, void *object)
{
    ((struct load_task *)object)->pools = catalog_read_names(l, v, "\"pools\"");
}

static void task_requires(struct load *l, const struct value *v, void *object)
{
    ((struct load_task *)object)->requires = catalog_read_names(l, v, "\"requires\"");
}

static void task_test_pre(struct load *l, const struct value *v, void *object)
{
    catalog_read_test(l, v, &((struct load_task *)object)->task.test_pre);
}

static void task_test_post(struct load *l, const struct value *v, void *object)
{
    catalog_read_test(l, v, &((struct load_task *)object)->task.test_post);
}

static const struct field task_fields[] = {
    {"name", task_name},
    {"description", task_description},
    {"type", task_type},
    {"params", task_params},
    {"timeout", task_timeout},
    {"deadline", task_deadline},
    {"retries", task_retries},
    {"backoff", task_backoff},
    {"repeat", task_repeat},
    {"hold", task_hold},
    {"takes_down", task_takes_down},
    {"survives_reboot", task_survives_reboot},
    {"lasting", task_lasting},
    {"returns", task_returns},
    {"pools", task_pools},
    {"requires", task_requires},
    {"test_pre", task_test_pre},
    {"test_post", task_test_post},
};

static void times_settle(struct load *l, struct load_task *t)
{
    struct catalog_task *task = &t->task;
    const struct value *timeout = value_get(t->at, "timeout"),
                       *deadline = value_get(t->at, "deadline");

    if (!timeout)
        task->timeout_ms = TASK_TIMEOUT_MS;
    if (!deadline)
        task->deadline_ms = task->timeout_ms > TASK_DEADLINE_MS ? task->timeout_ms
                                                                : TASK_DEADLINE_MS;
    else if (!timeout && task->deadline_ms < task->timeout_ms)
        task->timeout_ms = task->deadline_ms;
    else if (task->deadline_ms < task->timeout_ms)
        catalog_error(l, deadline, ERR_INVALID, "the deadline is earlier than the timeout");
}

/* Its index, or CATALOG_NONE if it has no usable name. */
static uint32_t task_add(struct load *l, const struct value *v, bool local)
{
    struct load_task t = {.at = v, .repeat = -1, .lasting = -1, .local = local};

    if (l->tasks.n >= CATALOG_MAX_TASKS) {
        catalog_error(l, v, ERR_LIMIT, "more than %d tasks", CATALOG_MAX_TASKS);
        return CATALOG_NONE;
    }
    t.task.where = catalog_where_of(v);
    t.task.backoff_ms = TASK_BACKOFF_MS;
    if (!catalog_read_fields(l, v, "a task", task_fields, COUNT(task_fields), &t))
        return CATALOG_NONE;
    times_settle(l, &t);
    catalog_test_fits(l, value_get(v, "test_pre"), &t.task.test_pre, t.task.timeout_ms);
    catalog_test_fits(l, value_get(v, "test_post"), &t.task.test_post, t.task.timeout_ms);
    t.task.params = t.params ? value_copy(l->mem, t.params) : value_map(l->mem);
    if (!t.task.name.n) {
        if (!value_get(v, "name"))
            catalog_error(l, v, ERR_INVALID, "a task needs a name");
        return CATALOG_NONE;
    }
    vec_push(&l->tasks, t);
    return (uint32_t)l->tasks.n - 1;
}

void catalog_read_task(struct load *l, const struct value *v)
{
    uint32_t number = task_add(l, v, false);
    if (number == CATALOG_NONE)
        return;
    const struct catalog_task *t = &l->tasks.at[number].task;
    uint32_t first = catalog_index_add(&l->by_task, t->name, number);
    if (first != CATALOG_NONE)
        catalog_twice(l, "task", t->name, t->where, l->tasks.at[first].task.where);
}

uint32_t catalog_read_task_inline(struct load *l, const struct value *v)
{
    return task_add(l, v, true);
}

uint32_t catalog_builtin_noop(struct load *l)
{
    struct load_task t = {.repeat = REPEAT_SAFE, .lasting = 0, .local = true};
    t.task.where.file = CATALOG_NONE;
    t.task.name = str_of("noop");
    t.task.description = str_of("nothing to do");
    t.task.params = value_map(l->mem);
    t.task.timeout_ms = TASK_TIMEOUT_MS;
    t.task.deadline_ms = TASK_DEADLINE_MS;
    t.task.backoff_ms = TASK_BACKOFF_MS;
    /* Nothing was done that a reboot could undo. */
    t.task.flags = DEF_F_SURVIVES_REBOOT;
    vec_push(&l->tasks, t);
    return (uint32_t)l->tasks.n - 1;
}
