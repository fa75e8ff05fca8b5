-- Quorums: of some parents of a noderole a number is enough.
ALTER TABLE noderole ADD COLUMN quorums BLOB NOT NULL DEFAULT x'';

-- Rows and plans have another form: what was journalled before cannot be replayed.  Without a row of
-- settings the next server begins with a checkpoint of what is stored.
DELETE FROM checkpoint;
DELETE FROM settings;
