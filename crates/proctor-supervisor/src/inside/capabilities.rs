//! Capabilities: what root of a box may do inside it.

use rustix::{io, thread::CapabilitySet};

/// What installers and servers need of root, and nothing that reaches the kernel's configuration. Files cannot be given capabilities: what they would gain is
/// refused anyway, and the marks would stay on the server's disk.
pub(super) const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Makes everything outside `kept` unattainable for this process and all it starts.
pub(super) fn drop_bounding_set(kept: CapabilitySet) -> io::Result<()> {
    for bit in 0..64 {
        let capability = CapabilitySet::from_bits_retain(1 << bit);
        if kept.contains(capability) {
            continue;
        }
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // The first number that the kernel does not know.
            Err(io::Errno::INVAL) => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Gives up every capability outside `kept`.
pub(super) fn keep_capabilities(kept: CapabilitySet) -> io::Result<()> {
    rustix::thread::set_capabilities(
        None,
        rustix::thread::CapabilitySets {
            effective: kept,
            permitted: kept,
            inheritable: CapabilitySet::empty(),
        },
    )
}
