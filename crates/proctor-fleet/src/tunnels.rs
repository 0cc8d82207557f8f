//! Tunnels: how services in a devbox are reached from outside.
//!
//! A devbox has at most one tunnel, which leads to every port of its loopback interface. The key in its address is signed: it names
//! the devbox, disguised, and carries a proof that nobody but this installation can make. So nothing that opens a
//! tunnel is stored.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures::FutureExt as _;
use proctor_core::{
    canonical::hex,
    devbox::{Tunnel, TunnelAuth, TunnelSettings},
    id::kinds::{DevboxId, DevboxKind, OrganizationId},
    refused::{Refused, Step},
};
use proctor_devbox::{Duplex, Error, network};
use proctor_macros::boxed_futures;
use proctor_store::devboxes::DevboxRecord;
use subtle::ConstantTimeEq as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use uuid::Uuid;

use crate::{error::FleetError, fleet::Fleet, live::Live, suspending::is_away};

/// The bytes of a key: a proof, and the devbox in disguise. As hexadecimal digits they fit into one label of a host name, with
/// a port before them.
const PROOF: usize = 12;
const KEY: usize = PROOF + 16;

/// Where a tunnel is, and what opens it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunnelAddress {
    /// What its host names and paths have after the port.
    pub key: String,
    /// What its users must show, unless it is open to everybody.
    pub token: Option<String>,
}

#[boxed_futures]
impl Fleet {
    /// Gives a devbox a tunnel. One that has a tunnel keeps its key, and works by these settings from now on.
    pub async fn enable_tunnel(
        &self,
        organization: OrganizationId,
        id: DevboxId,
        settings: TunnelSettings,
    ) -> Result<DevboxRecord, FleetError> {
        let live = self.live_one(organization, id).await?;
        let fresh = self.new_tunnel(settings);
        let changed = live
            .change(self.store(), |record| {
                let tunnel = match &record.tunnel {
                    Some(tunnel) if tunnel.settings == settings => {
                        return Ok(Step::Unchanged(record));
                    }
                    Some(tunnel) => Tunnel {
                        settings,
                        ..tunnel.clone()
                    },
                    None => fresh.clone(),
                };
                let tunnel = Some(tunnel);
                Ok(Step::Changed(DevboxRecord { tunnel, ..record }))
            })
            .await?;
        if changed.is_changed() {
            live.cut_tunnel();
        }
        Ok(changed.into_inner())
    }

    /// Takes the tunnel of a devbox away, and ends what goes through it.
    pub async fn remove_tunnel(
        &self,
        organization: OrganizationId,
        id: DevboxId,
    ) -> Result<DevboxRecord, FleetError> {
        let live = self.live_one(organization, id).await?;
        let changed = live
            .change(self.store(), |record| match record.tunnel {
                None => Ok(Step::Unchanged(record)),
                Some(_) => Ok(Step::Changed(DevboxRecord {
                    tunnel: None,
                    ..record
                })),
            })
            .await?;
        live.cut_tunnel();
        Ok(changed.into_inner())
    }

    pub(crate) fn new_tunnel(&self, settings: TunnelSettings) -> Tunnel {
        let name = self.store().fresh_id::<DevboxKind>().uuid();
        Tunnel {
            name: name.simple().to_string(),
            settings,
            created_at: self.now(),
        }
    }

    /// Where the tunnel of a devbox is.
    pub fn tunnel_address(&self, devbox: DevboxId, tunnel: &Tunnel) -> TunnelAddress {
        let (proof, subject) = self.tunnel_proof(devbox, tunnel);
        let disguised = self.disguise(&proof, devbox.uuid());
        let token = || format!("tun_{}", hex(&self.derive("token of a tunnel", &subject)));
        TunnelAddress {
            key: hex(&[&proof[..], disguised.as_bytes()].concat()),
            token: match tunnel.settings.auth {
                TunnelAuth::Open => None,
                TunnelAuth::Authenticated => Some(token()),
            },
        }
    }

    /// The tunnel with this key, if there is one.
    pub fn find_tunnel(&self, key: &str) -> Option<OpenTunnel> {
        let bytes: [u8; KEY] = unhex(key)?;
        let (given, disguised) = bytes.split_first_chunk::<PROOF>()?;
        let disguised = Uuid::from_slice(disguised).ok()?;
        let id = DevboxId::from_uuid(self.disguise(given, disguised));
        let live = self.find_live(id)?;
        let record = live.record();
        let tunnel = record.tunnel.filter(|_| !record.life.is_over())?;
        let (proof, _) = self.tunnel_proof(id, &tunnel);
        bool::from(proof.ct_eq(given)).then(|| OpenTunnel {
            fleet: self.clone(),
            live,
            tunnel,
        })
    }

    fn tunnel_proof(&self, devbox: DevboxId, tunnel: &Tunnel) -> ([u8; PROOF], Vec<u8>) {
        let subject = [devbox.uuid().as_bytes(), tunnel.name.as_bytes()].concat();
        let secret = self.derive("key of a tunnel", &subject);
        let mut proof = [0; PROOF];
        proof.copy_from_slice(&secret[..PROOF]);
        (proof, subject)
    }

    /// Hides an id behind what follows from the proof beside it, or finds it again.
    fn disguise(&self, proof: &[u8], id: Uuid) -> Uuid {
        let mask = self.derive("devbox of a tunnel", proof);
        let mut bytes = id.into_bytes();
        for (byte, mask) in bytes.iter_mut().zip(mask) {
            *byte ^= mask;
        }
        Uuid::from_bytes(bytes)
    }

    fn derive(&self, purpose: &str, subject: &[u8]) -> [u8; 32] {
        self.store().derive_secret(purpose, subject)
    }
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != 2 * N || !text.as_bytes().iter().all(is_hex) {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

/// A tunnel that somebody has found by its key.
pub struct OpenTunnel {
    fleet: Fleet,
    live: Arc<Live>,
    tunnel: Tunnel,
}

impl OpenTunnel {
    /// Whether somebody may use it who shows this token.
    pub fn admits(&self, token: Option<&str>) -> bool {
        match self.fleet.tunnel_address(self.live.id, &self.tunnel).token {
            None => true,
            Some(wanted) => {
                let given = token.unwrap_or_default();
                bool::from(given.as_bytes().ct_eq(wanted.as_bytes()))
            }
        }
    }

    /// Connects to a port of the devbox's loopback interface. A suspended devbox is brought back if the tunnel may do that.
    pub async fn connect(&self, port: u16) -> Result<TunnelStream, FleetError> {
        let ended = self.live.tunnel_end();
        let record = self.live.record();
        let launch = record.setup.launch.wake_on_http;
        let wakes = launch.unwrap_or(self.tunnel.settings.wake_on_http);
        let workplace = if is_away(&record) && wakes {
            self.fleet.awake(&self.live).await?
        } else {
            self.live.running()?
        };
        if port == network::PROXY_PORT {
            // The devbox's own way out is not a service of it.
            return Err(Error::NoListener(port).into());
        }
        let inner = workplace.devbox.connect(port).await?;
        let closing = self.fleet.closing().clone();
        let ended = async move {
            tokio::select! {
                () = ended.cancelled() => {}
                () = closing.cancelled() => {}
            }
        };
        let stream = TunnelStream {
            inner,
            fleet: self.fleet.clone(),
            live: Arc::clone(&self.live),
            counts: self.tunnel.settings.http_keep_alive,
            ended: Box::pin(ended),
        };
        stream.passed();
        Ok(stream)
    }
}

/// Why a devbox that stands still was not brought back, in a sentence that says what to do.
pub(crate) const STANDS_STILL: &str = "resume it, or let requests wake it (wake_on_http)";

impl OpenTunnel {
    /// What to tell somebody whose request finds the devbox in another state.
    pub fn advice(&self, refused: &Refused) -> String {
        if is_away(&self.live.record()) {
            format!("{refused}: {STANDS_STILL}")
        } else {
            refused.to_string()
        }
    }
}

/// A connection through a tunnel. It ends with the tunnel, and what passes counts as use of the devbox if the tunnel says so.
pub struct TunnelStream {
    inner: Box<dyn Duplex>,
    fleet: Fleet,
    live: Arc<Live>,
    counts: bool,
    ended: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl TunnelStream {
    fn passed(&self) {
        if self.counts {
            self.live.touch(self.fleet.now());
        }
    }

    fn is_over(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match self.ended.poll_unpin(context) {
            Poll::Ready(()) => {
                self.ended = Box::pin(std::future::ready(()));
                Err(io::ErrorKind::ConnectionAborted.into())
            }
            Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for TunnelStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.is_over(context)?;
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        if read.is_ready() {
            self.passed();
        }
        read
    }
}

impl AsyncWrite for TunnelStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.is_over(context)?;
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        if written.is_ready() {
            self.passed();
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_lead_back_to_their_bytes_and_nothing_else_does() {
        assert_eq!(unhex(&hex(&[0, 127, 255])), Some([0, 127, 255]));
        for wrong in ["", "00", "0g", "0G", "FF", "+1", "é"] {
            assert_eq!(unhex::<1>(wrong), (wrong == "00").then_some([0]), "{wrong}");
        }
    }
}
