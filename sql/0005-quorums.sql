-- Quorums: of some parents of a noderole a number is enough.
ALTER TABLE noderole ADD COLUMN quorums BLOB NOT NULL DEFAULT x'';
