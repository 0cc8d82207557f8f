//! Scenarios on the real server with real devboxes: imported and proved, many at once, killed while they are scored, on a disk that is full, with
//! secrets, and longer than their devboxes should live.

mod desk;
mod disk_full;
mod keep_alive;
mod killed;
mod many;
mod proved;
mod repository;
mod secrets;
