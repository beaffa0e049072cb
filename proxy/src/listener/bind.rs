//! Binding: one socket per worker for each address.

use std::fs::{self, Permissions};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use socket2::{Domain, Protocol, SockAddr, Socket, TcpKeepalive, Type};

use super::{Share, tls};
use crate::config::{ListenAddress, ServerTls};
use crate::error::BindError;

const BACKLOG: i32 = 4096;
/// A client that is silent for so long is asked by the kernel whether it is still there: one that
/// left without a word answers with a reset or not at all.
const KEEPALIVE: TcpKeepalive = TcpKeepalive::new()
    .with_time(Duration::from_mins(1))
    .with_interval(Duration::from_secs(15))
    .with_retries(4);

/// Binds what is wanted: the address with its real port, and a share for each worker.
pub(crate) fn every(
    wanted: &ListenAddress,
    certificate: Option<&ServerTls>,
    workers: usize,
) -> Result<(ListenAddress, Vec<Share>), BindError> {
    let failed = |source| BindError::Listen {
        address: wanted.clone(),
        source,
    };
    let real = |sockets: &[TcpListener], asked: SocketAddr| match sockets.first() {
        Some(socket) => socket.local_addr().map_err(failed),
        None => Ok(asked),
    };
    match wanted {
        ListenAddress::Tcp(address) => {
            let sockets = tcp(*address, workers).map_err(failed)?;
            let address = ListenAddress::Tcp(real(&sockets, *address)?);
            Ok((address, sockets.into_iter().map(Share::Tcp).collect()))
        }
        ListenAddress::Tls(address) => {
            let files = certificate.ok_or_else(|| BindError::NoCertificate {
                address: wanted.clone(),
            })?;
            let config = tls::load(files)?;
            let sockets = tcp(*address, workers).map_err(failed)?;
            let address = ListenAddress::Tls(real(&sockets, *address)?);
            let share = |socket| Share::Tls(socket, config.clone());
            Ok((address, sockets.into_iter().map(share).collect()))
        }
        ListenAddress::Unix(path) => {
            let sockets = unix(path, workers).map_err(failed)?;
            let shares = sockets.into_iter().map(Share::Unix).collect();
            Ok((wanted.clone(), shares))
        }
    }
}

/// The file of a Unix listener, to be removed when the listener is gone.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// Device and inode: by the end somebody else may listen at the same path.
    inode: (u64, u64),
}

impl SocketFile {
    /// Of a listener that was just bound, if it is one with a file.
    pub(crate) fn of(listener: &ListenAddress) -> Option<Self> {
        let ListenAddress::Unix(path) = listener else {
            return None;
        };
        let metadata = fs::symlink_metadata(path).ok()?;
        Some(Self {
            path: path.clone(),
            inode: (metadata.dev(), metadata.ino()),
        })
    }

    /// Removes it, if it is still the same.
    pub(crate) fn remove(self) {
        let there = fs::symlink_metadata(&self.path);
        if there.is_ok_and(|there| (there.dev(), there.ino()) == self.inode) {
            // One that stays is replaced at the next start.
            drop(fs::remove_file(&self.path));
        }
    }
}

/// One `SO_REUSEPORT` listener per worker on the same address. A first bind without the option
/// proves that nobody else holds the port.
fn tcp(address: SocketAddr, workers: usize) -> io::Result<Vec<TcpListener>> {
    let probe = inet(address, Sharing::Alone)?;
    let address = TcpListener::from(probe).local_addr()?;
    (0..workers)
        .map(|_| Ok(inet(address, Sharing::Workers)?.into()))
        .collect()
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Sharing {
    Alone,
    Workers,
}

fn inet(address: SocketAddr, sharing: Sharing) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM.nonblocking(),
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    if sharing == Sharing::Workers {
        socket.set_reuse_port(true)?;
    }
    // Accepted connections inherit both, so that they cost no call for each.
    socket.set_tcp_keepalive(&KEEPALIVE)?;
    socket.set_tcp_nodelay(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// One listening socket, mode 0600, as a descriptor for each worker: the kernel wakes all of
/// them and gives each client to one. A socket that nobody answers on is replaced.
fn unix(path: &Path, workers: usize) -> io::Result<Vec<UnixListener>> {
    clear_stale(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    // Before `listen`, until which every connect is refused: nobody slips in with the umask's mode.
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    socket.listen(BACKLOG)?;
    (0..workers)
        .map(|_| Ok(socket.try_clone()?.into()))
        .collect()
}

/// Removes a socket whose process is gone, and nothing else.
fn clear_stale(path: &Path) -> io::Result<()> {
    let kind = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !kind.is_socket() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "a file that is no socket is there",
        ));
    }
    match crate::dial::is_answered(path) {
        Ok(true) => Err(io::ErrorKind::AddrInUse.into()),
        Ok(false) => fs::remove_file(path),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
