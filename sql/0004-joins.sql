-- One more rule of tasks, the join of whatever is over (a CHECK can only be changed by making the
-- table anew).
ALTER TABLE task RENAME TO task_before;
-- READY (1) is never stored: it follows from the rest and is derived at load.
CREATE TABLE task (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    weight INTEGER NOT NULL,
    span INTEGER NOT NULL,
    deps BLOB NOT NULL,
    rule INTEGER NOT NULL CHECK (rule & 127 BETWEEN 0 AND 8),
    noderole INTEGER NOT NULL,
    def INTEGER NOT NULL,
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 9 AND state <> 1),
    reason INTEGER NOT NULL CHECK (reason BETWEEN 0 AND 36),
    attempt INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    wake_ms INTEGER NOT NULL,
    done_digest INTEGER NOT NULL,
    last INTEGER NOT NULL
) STRICT;
INSERT INTO task
    SELECT id, tenant, realm, weight, span, deps, rule, noderole, def, state, reason, attempt,
           tries, wake_ms, done_digest, last
    FROM task_before;
DROP TABLE task_before;
