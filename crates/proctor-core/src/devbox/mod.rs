//! Devboxes: what one is asked to be, and the only ways through its life.
//!
//! * [`life`]: the states of a devbox, as methods that either succeed or say why not.
//! * [`launch`]: what a devbox is launched with, and which sizes there are.
//! * [`request`]: what somebody asks for, before anything is looked up.
//! * [`setup`]: what a devbox is made from, and for whom.
//! * [`tunnel`]: how services in a devbox can be reached.
//!
//! How a box is made, and what runs in it, is not here.

pub mod launch;
pub mod life;
pub mod request;
pub mod setup;
pub mod tunnel;

pub use launch::{
    AfterIdle, IdleAction, LaunchParameters, ResourceSize, Resources, Sizing, UserParameters,
};
pub use life::{DevboxFailure, DevboxLife, DevboxStatus, ShutdownReason, Transition};
pub use request::{BaseRequest, DevboxDefinition, DevboxRequest, LaunchRequest};
pub use setup::{DevboxBase, DevboxSetup, Initiator, agent_devbox};
pub use tunnel::{Tunnel, TunnelAuth, TunnelSettings};
