-- What the engine runs with: one row, written by the first server that starts on this store.
CREATE TABLE settings (
    id INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    realm INTEGER NOT NULL,
    dead_after_ms INTEGER NOT NULL,
    probe_count INTEGER NOT NULL,
    suspect_percent INTEGER NOT NULL,
    suspect_min INTEGER NOT NULL,
    timeout_ms INTEGER NOT NULL,
    stop_grace_ms INTEGER NOT NULL,
    cone_large INTEGER NOT NULL
) STRICT;
