//! Runs through the public surface, from an author's drafts to a leaderboard.

mod agent_reports;
mod clinic;
mod clocks;
mod costs;
mod evidence;
mod hammer;
mod lifecycle;
mod lists;
mod mcp;
mod organization;
mod public_flow;
mod results;
mod same_moment;
mod worlds;
