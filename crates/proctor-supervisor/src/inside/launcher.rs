//! The launcher: forks a supervisor for every order it gets, and ends with its server.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::PathBuf,
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use serde::{Deserialize, Serialize};

use super::{seccomp::Filter, supervisor};
use crate::{
    name::BoxId,
    sys::{self, Fork},
};

/// An order to bring a box up. The connection on which its supervisor shall report comes with it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    /// The directory of the backend.
    pub data: PathBuf,
    /// The box, whose plan is there.
    pub id: BoxId,
}

const LONGEST_ORDER: usize = 16 << 10;
/// The most descriptors in a packet: those of the layers, of the disk and of everything that a box sees of the host.
const MOST_FDS: usize = 3 + proctor_devbox_types::MOST_SHARED;

/// Sends an order and one end of the connection to its supervisor.
pub fn send_order(
    launcher: BorrowedFd<'_>,
    order: &Order,
    connection: BorrowedFd<'_>,
) -> io::Result<()> {
    let bytes = serde_json::to_vec(order)?;
    if bytes.len() > LONGEST_ORDER {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    send_with_fds(launcher, &bytes, &[connection])
}

/// Sends `bytes` and copies of `fds` as one packet.
pub(super) fn send_with_fds(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    rustix::net::sendmsg(
        socket,
        &[IoSlice::new(bytes)],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

/// Receives one packet and the descriptors that came with it. No bytes: the other side has gone.
pub fn receive_with_fds(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    receive(socket, buffer, RecvFlags::empty())
}

/// The same without waiting.
pub(super) fn receive_at_once(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    receive(socket, buffer, RecvFlags::DONTWAIT)
}

fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    flags: RecvFlags,
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    let got = rustix::net::recvmsg(
        socket,
        &mut [IoSliceMut::new(buffer)],
        &mut ancillary,
        flags,
    )?;
    let fds = ancillary
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            _ => None,
        })
        .flatten()
        .collect();
    Ok((got.bytes, fds))
}

/// The launcher's whole life. Its orders come on standard input, which is a socket.
pub fn run() -> ! {
    sys::exit_now(i32::from(follow_orders().is_err()))
}

fn follow_orders() -> io::Result<()> {
    let server = sys::adopt_fd(0).ok_or(io::ErrorKind::NotConnected)?;
    sys::close_all_but(3, server.as_fd())?;
    sys::block_signals()?;
    sys::ignore_children();
    rustix::thread::set_name(c"proctor-launch")?;
    let filter = Filter::compile();
    let mut buffer = vec![0; LONGEST_ORDER];
    loop {
        let (length, mut fds) = match receive_with_fds(server.as_fd(), &mut buffer) {
            Ok(got) => got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if length == 0 {
            return Ok(());
        }
        let Some(connection) = fds.pop() else {
            continue;
        };
        let Ok(order) = serde_json::from_slice::<Order>(&buffer[..length]) else {
            continue;
        };
        match sys::fork()? {
            Fork::Parent(_) => {}
            Fork::Child => {
                // The launcher's socket must not stay open here: the server would never see the launcher's end.
                std::mem::forget(server);
                supervisor::run(order, connection, filter);
            }
        }
    }
}
