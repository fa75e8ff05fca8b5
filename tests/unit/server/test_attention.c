/* test_attention.c - remedies that help: what `why` and `status` say of nodes in trouble */
/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

/* The remedy of a rule in an answer of `why`; "none": it is not among the reasons. */
static const char *remedy(struct watch *k, const char *kind, const char *name, const char *rule)
{
    rig_do(&k->g, server_why, "Why", (struct rig_ask){.id = kind, .id2 = name});
    const struct value *reasons = rig_at(&k->g, "reasons");
    for (uint32_t i = 0; i < reasons->n; i++)
        if (strcmp(value_as_text(value_get(&reasons->items[i], "rule"), ""), rule) == 0)
            return value_as_text(value_get(&reasons->items[i], "remedy"), "");
    return "none";
}

/* "rule: text -> remedy" of all that needs attention, by lines. */
static const char *attention(struct watch *k)
{
    SCOPED_BUF(b);
    rig_do(&k->g, server_status, "Status", (struct rig_ask){0});
    const struct value *list = rig_at(&k->g, "attention");
    for (uint32_t i = 0; i < list->n; i++)
        buf_printf(&b, "%s: %s -> %s\n", value_as_text(value_get(&list->items[i], "rule"), "?"),
                   value_as_text(value_get(&list->items[i], "text"), "?"),
                   value_as_text(value_get(&list->items[i], "remedy"), "?"));
    return arena_strndup(&k->g.mem, buf_str(&b).s, b.len);
}

static void dies(struct watch *k, const char *node)
{
    for (int i = 0; i < 200 && strcmp(alive(k, node), "dead") != 0; i++) {
        pass(k, 1);
        answers(&k->a, node, PROBE_SILENT, "", "");
    }
    is_text(alive(k, node), "dead", "%s dies", node);
}

static void lives(struct watch *k, const char *node, const char *machine)
{
    for (int i = 0; i < 200 && strcmp(alive(k, node), "alive") != 0; i++) {
        pass(k, 5);
        answers(&k->a, node, PROBE_ANSWERS, machine, "b");
    }
    is_text(alive(k, node), "alive", "%s lives", node);
}

static uint32_t far_on(struct watch *k, const char *node)
{
    (void)rig_bind(&k->g, "far", node);
    return rig_task_of(&k->g, "far", node, 0);
}

/* A machine that is off is to be switched on; nobody should have to say that it is alive. */
static void test_dead(void)
{
    static const char on[] = "power on n1 or repair its network; its return is noticed by itself";
    struct watch k;
    watch_open(&k, true);
    add(&k, "n1", "");
    pass(&k, 1);
    is_text(remedy(&k, "node", "n1", "node-not-alive"), "anneal node show n1",
            "one that nobody has looked for yet");
    answers(&k.a, "n1", PROBE_SILENT, "", "");
    is_text(remedy(&k, "node", "n1", "node-not-alive"),
            "power on n1, or correct its address: anneal node set n1 --address ADDRESS",
            "one that never was there");
    is_text(attention(&k), "", "which is nothing that is wrong");
    lives(&k, "n1", "m");
    dies(&k, "n1");
    uint32_t task = far_on(&k, "n1");
    is_text(remedy(&k, "node", "n1", "node-not-alive"), on, "one that is off");
    is_text(remedy(&k, "task", rig_id(&k.g, task), "node-not-alive"), on, "asked by its task");
    is_text(remedy(&k, "binding", "far@n1", "node-not-alive"), on, "asked by its role");
    is_text(attention(&k), arena_printf(&k.g.mem, "dead: node n1 is dead -> %s\n", on),
            "and by its state");
    lives(&k, "n1", "m");
    is_text(attention(&k), "", "it returns, and that is over");
    rig_do(&k.g, server_node_report, "Node",
           (struct rig_ask){.id = "n1", .body = "{'alive': 'dead'}"});
    is_text(remedy(&k, "node", "n1", "node-not-alive"), "anneal node report n1 alive",
            "one that answers, and that a person called dead");
    add(&k, "n2", ", 'access': {'via': 'local'}");
    rig_do(&k.g, server_node_report, "Node",
           (struct rig_ask){.id = "n2", .body = "{'alive': 'dead'}"});
    is_text(remedy(&k, "node", "n2", "node-not-alive"), "anneal node report n2 alive",
            "one that nobody looks for");
    is_text(attention(&k), "dead: 2 nodes are dead -> anneal node list --alive dead\n", "many");
    watch_close(&k);
}

/* Wherever it is asked: of a node that is dead, and of one that is alive. */
static void test_host_key(void)
{
    static const char trust[] = "anneal node trust n1";
    static const char attends[] = "host-key-changed: node n1 shows another host key -> anneal node "
                                  "trust n1\n";
    struct watch k;
    watch_open(&k, true);
    add(&k, "n1", "");
    pass(&k, 1);
    lives(&k, "n1", "m");
    uint32_t task = far_on(&k, "n1");
    const struct taskmsg *sent = peer_got(&k.a, TASKMSG_TASK, task);
    ok(sent && sent->node_id > 0, "a task says which node it is for");
    say(&k.a, (struct probe_answer){.node = str_of("n1"), .end = PROBE_MISSED});
    pass(&k, 1);
    answers(&k.a, "n1", PROBE_HOST_KEY, "", "");
    is_text(remedy(&k, "task", rig_id(&k.g, task), "running"), trust,
            "of a task that is under way");
    peer_send(&k.a, &(struct taskmsg){.kind = TASKMSG_RESULT,
                                      .task = task,
                                      .attempt = 1,
                                      .seq = 1,
                                      .outcome = OUTCOME_AGAIN,
                                      .again_ms = 60000,
                                      .text = str_of("the host key is another")});
    is_text(remedy(&k, "task", rig_id(&k.g, task), "waiting"), trust, "that waits for it");
    is_text(remedy(&k, "task", rig_id(&k.g, task), "host-key-changed"), trust, "by its name, too");
    is_text(remedy(&k, "binding", "far@n1", "host-key-changed"), trust, "asked by its role");
    is_text(
        remedy(&k, "noderole", rig_id(&k.g, rig_noderole(&k.g, "far", "n1")), "host-key-changed"),
        trust, "by its noderole");
    is_text(remedy(&k, "node", "n1", "host-key-changed"), trust, "by its node");
    is_text(attention(&k), attends, "and by how things are");
    rig_do(&k.g, server_node_report, "Node",
           (struct rig_ask){.id = "n1", .body = "{'alive': 'dead'}"});
    is_text(remedy(&k, "task", rig_id(&k.g, task), "node-not-alive"), trust, "dead, by its task");
    is_text(remedy(&k, "binding", "far@n1", "node-not-alive"), trust, "dead, by its role");
    is_text(remedy(&k, "node", "n1", "node-not-alive"), trust, "dead, by its node");
    is_text(attention(&k), attends, "dead, by how things are");
    watch_close(&k);
}

static void test_replaced(void)
{
    struct watch k;
    watch_open(&k, true);
    add(&k, "n1", "");
    pass(&k, 1);
    lives(&k, "n1", "m");
    uint32_t task = far_on(&k, "n1");
    peer_send(&k.a, &(struct taskmsg){.kind = TASKMSG_RESULT,
                                      .task = task,
                                      .attempt = 1,
                                      .seq = 1,
                                      .outcome = OUTCOME_OK,
                                      .last = true});
    is_text(attention(&k), "", "all is well");
    rig_do(&k.g, server_node_report, "Node",
           (struct rig_ask){.id = "n1", .body = "{'alive': 'alive', 'machine_id': 'other'}"});
    is_text(remedy(&k, "binding", "far@n1", "failed"), "anneal node redeploy n1",
            "another machine is deployed anew, asked by its role");
    is_text(remedy(&k, "task", rig_id(&k.g, task), "failed"), "anneal node redeploy n1",
            "by its task");
    is_text(remedy(&k, "node", "n1", "failed"), "anneal node redeploy n1", "by its node");
    is_text(attention(&k), "replaced: node n1 is another machine -> anneal node redeploy n1\n",
            "and by how things are");
    watch_close(&k);
}

int main(void)
{
    test_dead();
    test_host_key();
    test_replaced();
    return tap_done();
}
