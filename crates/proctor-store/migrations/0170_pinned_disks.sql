-- Whether a frozen disk is kept however many newer ones there are, because the job that it belongs to asked for that.
ALTER TABLE frozen_disks ADD COLUMN pinned BIGINT NOT NULL DEFAULT 0;
