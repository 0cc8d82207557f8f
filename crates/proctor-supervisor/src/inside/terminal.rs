//! A terminal of the box's own, opened by the process that becomes the program in it.

use std::{io, os::fd::OwnedFd};

use rustix::{
    fs::{Mode, OFlags},
    pty::OpenptFlags,
    termios::{InputModes, OptionalActions, Winsize},
};

use crate::spec::Terminal;

/// Opens a terminal of this size and makes it the one of this process's session. Answers the end that is typed into, and the
/// end of the program.
///
/// It is opened in the file system that the box's terminals have for themselves: what the box put in place of `/dev/ptmx` does
/// not matter, and what is no terminal has no other end.
pub(super) fn open(size: Terminal) -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let ours = rustix::fs::open("/dev/pts/ptmx", flags, Mode::empty())?;
    rustix::pty::unlockpt(&ours)?;
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let theirs = rustix::pty::ioctl_tiocgptpeer(&ours, flags)?;
    rustix::termios::tcsetwinsize(
        &ours,
        Winsize {
            ws_col: size.columns,
            ws_row: size.rows,
            ws_xpixel: 0,
            ws_ypixel: 0,
        },
    )?;
    let mut attributes = rustix::termios::tcgetattr(&theirs)?;
    // Erasing takes a whole character away, not a byte of it.
    attributes.input_modes |= InputModes::IUTF8;
    rustix::termios::tcsetattr(&theirs, OptionalActions::Now, &attributes)?;
    rustix::process::ioctl_tiocsctty(&theirs)?;
    Ok((ours, theirs))
}
