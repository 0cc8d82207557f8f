//! Decision support registers itself.

use proctor_simulation::{
    registry::{MachineSource, SimulatorPlugin, factory},
    tool::Tool,
};
use serde_json::Value;

use super::{Blueprint, CdsHooks, blueprint::config_schema, tools};

/// Decision support by CDS Hooks.
pub struct CdsHooksPlugin;

impl SimulatorPlugin for CdsHooksPlugin {
    fn name(&self) -> &'static str {
        "CdsHooks"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["Cds-Hooks", "Cds_Hooks"]
    }

    fn path(&self) -> &'static str {
        "cds-services"
    }

    fn endpoints(&self) -> &'static [(&'static str, &'static str)] {
        &[("cds_services", "cds-services")]
    }

    fn config_schema(&self) -> Value {
        config_schema()
    }

    fn tools(&self) -> &'static [Tool] {
        tools::TOOLS
    }

    fn machine(&self) -> MachineSource {
        MachineSource::Own(|simulator| Ok(factory(Blueprint::read(simulator)?, CdsHooks::branch)))
    }
}
