-- Since when no new run of a version may begin. Until now that was what unpublishing meant.
ALTER TABLE benchmark_versions ADD COLUMN stopped_at BIGINT;
UPDATE benchmark_versions SET stopped_at = unpublished_at;

-- A public slug belongs to whoever published it first, with all versions that ever come.
CREATE TABLE public_slugs (
    slug TEXT PRIMARY KEY,
    organization TEXT NOT NULL REFERENCES organizations (id)
);
INSERT INTO public_slugs (slug, organization)
    SELECT slug, MIN(organization) FROM benchmark_versions v
    WHERE visibility = 'Public' AND published_at = (
        SELECT MIN(published_at) FROM benchmark_versions
        WHERE slug = v.slug AND visibility = 'Public'
    )
    GROUP BY slug;
DROP INDEX benchmark_versions_public;
CREATE INDEX benchmark_versions_public ON benchmark_versions (benchmark)
    WHERE visibility = 'Public' AND unpublished_at IS NULL;
