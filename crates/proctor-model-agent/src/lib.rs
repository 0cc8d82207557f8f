//! An agent that is a language model in a loop with the tools of a task.
//!
//! It speaks MCP with the task, and `chat/completions` (OpenAI and whoever is compatible) or `messages` (Anthropic) with the model.
//! It is the baseline that anybody can reproduce, and it knows nothing about tasks but what their endpoint says.
//!
//! * [`agent`]: the loop; [`limits`]: when it ends; [`conversation`]: what the model is shown.
//! * [`provider`]: the model; [`mcp`]: the task.
//! * [`trajectory`], [`usage`]: what is written down.

pub mod agent;
pub mod conversation;
pub mod limits;
pub mod mcp;
pub mod provider;
pub mod trajectory;
pub mod usage;

pub use agent::{Agent, Ended, Failure};
