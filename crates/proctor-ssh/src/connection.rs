//! Who a connection belongs to, and which channels it may open.

use std::sync::Arc;

use proctor_core::causes::with_causes;
use proctor_fleet::Entrance;
use proctor_fleet::Fleet;
use russh::{
    Channel, ChannelId, ChannelOpenFailure, Pty,
    keys::PublicKey,
    server::{Auth, ChannelOpenHandle, Handler, Msg, PublicKeyOffer, Session, VerifiedPublicKey},
};
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{identity::fingerprint, sessions};

/// Channels of one connection at a time.
const MOST_CHANNELS: usize = 64;

/// One connection.
pub(crate) struct Connection {
    fleet: Fleet,
    tasks: TaskTracker,
    /// Cancelled when it is known where the connection leads.
    known: CancellationToken,
    /// Cancelled when the connection is over, or shall be.
    over: CancellationToken,
    entrance: Option<Arc<Entrance>>,
    channels: Arc<Semaphore>,
}

impl Connection {
    pub(crate) fn new(
        fleet: Fleet,
        tasks: TaskTracker,
        known: CancellationToken,
        over: CancellationToken,
    ) -> Self {
        Self {
            fleet,
            tasks,
            known,
            over,
            entrance: None,
            channels: Arc::new(Semaphore::new(MOST_CHANNELS)),
        }
    }

    async fn look_up(&self, user: &str, key: &PublicKey) -> Option<Entrance> {
        match self.fleet.entrance(&fingerprint(key), user).await {
            Ok(entrance) => entrance,
            Err(error) => {
                tracing::warn!(error = %with_causes(&error), "an SSH key could not be looked up");
                None
            }
        }
    }

    /// Ends the connection with its devbox.
    fn end_with(&self, entrance: &Entrance) {
        let (ending, closing) = entrance.ended();
        let over = self.over.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = ending.cancelled() => {}
                () = closing.cancelled() => {}
                () = over.cancelled() => {}
            }
            over.cancel();
        });
    }

    /// Does the work of a channel until it is over, the connection is, or the devbox.
    fn in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        let over = self.over.clone();
        self.tasks
            .spawn(async move { over.run_until_cancelled_owned(work).await });
    }
}

impl Handler for Connection {
    type Error = russh::Error;

    async fn auth_publickey_offered(
        &mut self,
        user: &str,
        offer: PublicKeyOffer<'_>,
    ) -> Result<Auth, russh::Error> {
        Ok(match self.look_up(user, offer.public_key).await {
            Some(_) => Auth::Accept,
            None => Auth::reject(),
        })
    }

    async fn auth_publickey(
        &mut self,
        user: &str,
        key: VerifiedPublicKey<'_>,
    ) -> Result<Auth, russh::Error> {
        let Some(entrance) = self.look_up(user, key.public_key).await else {
            return Ok(Auth::reject());
        };
        self.end_with(&entrance);
        self.entrance = Some(Arc::new(entrance));
        self.known.cancel();
        Ok(Auth::Accept)
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        let (Some(entrance), Ok(slot)) = (
            self.entrance.clone(),
            Arc::clone(&self.channels).try_acquire_owned(),
        ) else {
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
            return Ok(());
        };
        reply.accept().await;
        let handle = session.handle();
        self.in_background(async move {
            sessions::serve(channel, handle, &entrance).await;
            drop(slot);
        });
        Ok(())
    }

    async fn channel_open_direct_tcpip(
        &mut self,
        channel: Channel<Msg>,
        host_to_connect: &str,
        port_to_connect: u32,
        _originator_address: &str,
        _originator_port: u32,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        let (true, Ok(port)) = (is_loopback(host_to_connect), u16::try_from(port_to_connect))
        else {
            let reason = ChannelOpenFailure::AdministrativelyProhibited;
            reply.reject(reason).await;
            return Ok(());
        };
        let (Some(entrance), Ok(slot)) = (
            self.entrance.clone(),
            Arc::clone(&self.channels).try_acquire_owned(),
        ) else {
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
            return Ok(());
        };
        self.in_background(async move {
            match entrance.connect(port).await {
                Ok(mut inside) => {
                    reply.accept().await;
                    let mut outside = channel.into_stream();
                    let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
                }
                Err(error) => {
                    tracing::debug!(error = %with_causes(&error), port, "a port was not forwarded");
                    reply.reject(ChannelOpenFailure::ConnectFailed).await;
                }
            }
            drop(slot);
        });
        Ok(())
    }

    // What follows is answered at once, in the order of the requests; what comes of them is for the channel's own task, which hears of them too.

    async fn pty_request(
        &mut self,
        channel: ChannelId,
        _term: &str,
        _columns: u32,
        _rows: u32,
        _width: u32,
        _height: u32,
        _modes: &[(Pty, u32)],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        session.channel_success(channel)
    }

    async fn env_request(
        &mut self,
        channel: ChannelId,
        _name: &str,
        _value: &str,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        session.channel_success(channel)
    }

    async fn shell_request(
        &mut self,
        channel: ChannelId,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        session.channel_success(channel)
    }

    async fn exec_request(
        &mut self,
        channel: ChannelId,
        _command: &[u8],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        session.channel_success(channel)
    }

    async fn subsystem_request(
        &mut self,
        channel: ChannelId,
        name: &str,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        if name == sessions::SFTP {
            session.channel_success(channel)
        } else {
            session.channel_failure(channel)
        }
    }

    async fn x11_request(
        &mut self,
        channel: ChannelId,
        _single: bool,
        _protocol: &str,
        _cookie: &str,
        _screen: u32,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        session.channel_failure(channel)
    }
}

/// Whether a host is the devbox itself: nothing else can be reached by it.
fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse()
            .is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_devbox_itself_can_be_reached() {
        for own in [
            "localhost",
            "LOCALHOST",
            "127.0.0.1",
            "::1",
            "[::1]",
            "127.8.8.8",
        ] {
            assert!(is_loopback(own), "{own}");
        }
        for foreign in [
            "",
            "example.org",
            "10.0.0.1",
            "0.0.0.0",
            "localhost.example.org",
            "169.254.169.254",
        ] {
            assert!(!is_loopback(foreign), "{foreign}");
        }
    }
}
