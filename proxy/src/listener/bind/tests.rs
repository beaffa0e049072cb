use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;

use super::{tcp, unix};

fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

#[test]
fn gives_every_worker_a_socket_on_the_same_port() {
    let sockets = tcp(loopback(), 3).unwrap();
    let first = sockets[0].local_addr().unwrap();
    assert_eq!(sockets.len(), 3);
    assert!(
        sockets
            .iter()
            .all(|socket| socket.local_addr().unwrap() == first)
    );
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a client, not the proxy")]
fn clients_are_answered_without_delay() {
    let sockets = tcp(loopback(), 1).unwrap();
    let _client = std::net::TcpStream::connect(sockets[0].local_addr().unwrap()).unwrap();
    sockets[0].set_nonblocking(false).unwrap();
    assert!(sockets[0].accept().unwrap().0.nodelay().unwrap());
}

#[test]
fn a_port_that_somebody_holds_is_in_use_even_if_they_would_share_it() {
    let sockets = tcp(loopback(), 1).unwrap();
    let taken = sockets[0].local_addr().unwrap();
    assert_eq!(tcp(taken, 1).unwrap_err().kind(), io::ErrorKind::AddrInUse);
}

#[test]
fn a_unix_socket_is_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxy.sock");
    let sockets = unix(&path, 2).unwrap();
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!((sockets.len(), mode & 0o777), (2, 0o600));
}

#[test]
fn a_unix_socket_is_replaced_only_when_nobody_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxy.sock");
    let sockets = unix(&path, 1).unwrap();
    assert_eq!(unix(&path, 1).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    drop(sockets);
    assert!(path.exists());
    unix(&path, 1).unwrap();
}

#[test]
fn a_file_that_is_no_socket_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes");
    fs::write(&path, "mine").unwrap();
    assert_eq!(
        unix(&path, 1).unwrap_err().kind(),
        io::ErrorKind::AlreadyExists
    );
    assert_eq!(fs::read(&path).unwrap(), b"mine");
}
