-- Which tasks a run takes, and whether it stays open until somebody completes it; null: all of them, and it ends by itself.
ALTER TABLE runs ADD COLUMN plan TEXT;
