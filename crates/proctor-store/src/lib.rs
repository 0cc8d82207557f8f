//! What Proctor remembers.
//!
//! [`Store`] is the one door to the database: SQLite by default, PostgreSQL by URL, the same SQL
//! text for both. Methods are grouped by what they are about, one file each. Rules of the domain
//! are not here: the store keeps what `proctor-core` decided, and refuses only what would make
//! two truths (a name taken twice, a row changed by somebody else in between).
//!
//! [`journal::Journal`] keeps everything that happens in worlds: append-only, hash-chained,
//! durable before an append returns. [`blobs::Blobs`] keeps large bytes outside of the database.

pub mod admissions;
pub mod agents;
pub mod ambient;
pub mod benchmarks;
pub mod blobs;
pub mod blueprints;
pub mod comparisons;
mod credential_cache;
pub mod credentials;
pub mod criteria;
mod database;
pub mod datasets;
mod definitions;
pub mod devboxes;
pub mod disk_snapshots;
pub mod drafts;
pub mod entities;
pub mod environments;
mod error;
pub mod fault;
pub mod frozen_disks;
pub mod idempotency;
pub mod jobs;
pub mod journal;
pub mod leaderboard_log;
pub mod limits;
mod links;
pub mod names;
pub mod network_policies;
pub mod objects;
mod operator_keys;
pub mod organizations;
pub mod page;
pub mod placed;
pub mod playgrounds;
pub mod progress;
pub mod repeatable;
pub mod retry;
pub mod run_figures;
pub mod run_lists;
pub mod run_removal;
pub mod runs;
pub mod scenarios;
pub mod scorers;
mod sealed;
pub mod secrets;
mod server_lock;
pub mod simulators;
pub mod solvers;
mod ssh_keys;
mod store;
mod suite;
pub mod tasks;
pub mod trajectories;
mod vault;
mod versions;
pub mod web_sessions;
mod web_versions;
pub mod whole_benchmark;

pub use database::{DatabaseCounts, OnDisk};
pub use error::{DatabaseError, StoreError, Unavailability};
pub use server_lock::ServerLock;
pub use store::{Store, StoreOptions};
pub use vault::MasterKey;
