//! Addresses to which the kernel refuses to send. They cost datagrams and end neither the endpoint nor its other
//! connections.

use crate::{config, send_stream, server_and_client, tls};
use pollster::block_on;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, ipproto, sendto, socket_with};
use shallop_quic::identity::SERVER_NAME;
use shallop_quic::{Endpoint, MultiEndpoint, SendMode};
use shallop_testing::{Cause, Outcome, Stop, need, soon};
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use std::{os::fd::OwnedFd, pin::pin};

static BYTES: [u8; 300_000] = [7; 300_000];
/// The broadcast address of the loopback interface: a socket without `SO_BROADCAST` gets EACCES.
const REFUSED: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 255, 255, 255)), 9);

pub fn a_destination_that_the_kernel_refuses_ends_no_other_connection() {
    let (server, endpoint) = server_and_client(config(), config());
    let mut refused = pin!(endpoint.connect(REFUSED, SERVER_NAME));
    let state = refused.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(state.is_pending());
    assert!(soon(|| endpoint.datagram_drops().unsent > 0), "nothing was refused");
    send_stream(&endpoint, &server, server.address(), &BYTES);
}

pub fn a_destination_that_the_kernel_refuses_ends_no_other_endpoint_of_one_thread() {
    let socket = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (server_tls, client_tls) = tls();
    let of_server = socket();
    let address = of_server.local_addr().unwrap();
    let mut all = MultiEndpoint::new().unwrap();
    let server = all.add(of_server, config(), server_tls, 1).unwrap();
    let own = all.add(socket(), config(), client_tls, 2).unwrap();
    all.connect(own, REFUSED, SERVER_NAME).unwrap();
    let sending = all.connect(own, address, SERVER_NAME).unwrap();
    let (mut stream, mut accepted, mut arriving) = (None, None, None);
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < Duration::from_secs(20), "nothing has arrived");
        all.turn(Instant::now() + Duration::from_millis(1)).expect("no socket has failed");
        if stream.is_none() {
            stream = all.open(sending);
            if let Some(stream) = stream {
                assert_eq!(all.write(sending, stream, b"ahoy"), 4);
                all.finish(sending, stream);
            }
        }
        accepted = accepted.or_else(|| all.accept(server));
        let Some(connection) = accepted else { continue };
        arriving = arriving.or_else(|| all.accept_stream(connection));
        let Some(arriving) = arriving else { continue };
        let mut into = [0; 10];
        if let Poll::Ready(count) = all.read(connection, arriving, &mut into) {
            assert_eq!(&into[..count.unwrap()], b"ahoy");
            break;
        }
    }
    assert!(all.datagram_drops(own).unsent > 0, "the kernel has refused nothing");
}

pub fn one_address_takes_at_most_128_connections_and_leaves_room_for_others() {
    let (server_tls, client_tls) = tls();
    let local = |last, tls| Endpoint::bind((Ipv4Addr::new(127, 0, 0, last), 0).into(), config(), tls).unwrap();
    let (server, first, second) = (local(1, server_tls), local(1, client_tls.clone()), local(2, client_tls));
    let connect = |from: &Endpoint| block_on(from.connect(server.address(), SERVER_NAME));
    let held: Vec<_> = (0..128).map(|_| connect(&first).unwrap()).collect();
    let why = connect(&first).err().unwrap().to_string();
    assert!(why.contains("refused"), "{why}");
    connect(&second).expect("another address has room");
    drop(held);
}

pub fn the_handle_of_an_ended_connection_never_stands_for_another_one() {
    let (server, client) = server_and_client(config(), config());
    let connect = || {
        let made = block_on(client.connect(server.address(), SERVER_NAME)).unwrap();
        (made, block_on(server.accept()).unwrap())
    };
    let (first, at_server) = connect();
    drop(first);
    block_on(at_server.closed());
    // QUIC forgets the connection after three probe timeouts, while this handle is still there.
    std::thread::sleep(Duration::from_millis(1_500));
    let (second, other) = connect();
    at_server.close(0, b"not the other one");
    drop(at_server);
    let mut stream = block_on(second.open_uni()).unwrap();
    block_on(stream.write_all(b"ahoy")).unwrap();
    stream.finish();
    let mut arriving = block_on(other.accept_uni()).unwrap();
    assert_eq!(block_on(arriving.read_to_end(10)).unwrap(), b"ahoy");
}

/// The Internet checksum (RFC 1071).
fn checksum(parts: &[&[u8]]) -> u16 {
    let bytes = parts.concat();
    let words = bytes.chunks(2).map(|of| u32::from(of[0]) << 8 | u32::from(*of.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

/// Skips the test if the machine does not have this address.
fn family(of: IpAddr) -> Outcome {
    let bound = UdpSocket::bind((of, 0)).map_err(|why| format!("no address {of}: {why}"));
    need(Cause::Ipv6, bound).map(drop)
}

fn raw(address: IpAddr) -> Result<OwnedFd, Stop> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, Some(ipproto::UDP));
    need(Cause::Root, socket.map_err(|why| format!("no raw socket: {why}")))
}

/// Sends a UDP datagram from source port 0.
fn send_from_port_0(raw: &OwnedFd, to: SocketAddr, payload: &[u8]) {
    let length = (8 + payload.len()) as u16;
    let [p0, p1] = to.port().to_be_bytes();
    let [l0, l1] = length.to_be_bytes();
    let mut udp = vec![0, 0, p0, p1, l0, l1, 0, 0];
    udp.extend(payload);
    // Over IPv4 the checksum 0 means that there is none.
    if let IpAddr::V6(ip) = to.ip() {
        let sum = checksum(&[&ip.octets(), &ip.octets(), &[0, 0, l0, l1, 0, 0, 0, 17], &udp]);
        udp[6..8].copy_from_slice(&sum.to_be_bytes());
    }
    let host = SocketAddr::new(to.ip(), 0);
    assert_eq!(sendto(raw, &udp, SendFlags::empty(), &host).unwrap(), udp.len());
}

/// An Initial packet of an unknown QUIC version, which a server answers with Version Negotiation (RFC 9000, 6.1).
fn unknown_version() -> Vec<u8> {
    let mut packet = vec![0xC0, 0xFF, 0x11, 0x22, 0x33, 8];
    packet.extend([1; 8]);
    packet.push(8);
    packet.extend([2; 8]);
    packet.resize(1_200, 0);
    packet
}

/// Sends datagrams from port 0 through `address` to an endpoint that listens at `listening`.
fn survives_port_0(listening: IpAddr, address: IpAddr) -> Outcome {
    family(listening)?;
    family(address)?;
    let raw = raw(address)?;
    let (server_tls, client_tls) = tls();
    let server = Endpoint::bind((listening, 0).into(), config(), server_tls).unwrap();
    let to = SocketAddr::new(address, server.address().port());
    for sent in 1..=3 {
        send_from_port_0(&raw, to, &unknown_version());
        assert!(soon(|| server.datagram_drops().unanswerable == sent), "it has not arrived");
    }
    // An equal packet from another port is answered.
    let socket = UdpSocket::bind((address, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.send_to(&unknown_version(), to).unwrap();
    assert!(socket.recv(&mut [0; 2_000]).unwrap() > 0);
    assert_eq!(server.datagram_drops().unsent, 0);
    let own = Endpoint::bind((address, 0).into(), config(), client_tls).unwrap();
    send_stream(&own, &server, to, &BYTES);
    Ok(())
}

pub fn credits_are_kept_over_each_family_of_one_socket() -> Outcome {
    family(Ipv6Addr::LOCALHOST.into())?;
    let (server_tls, client_tls) = tls();
    let any = (Ipv6Addr::UNSPECIFIED, 0).into();
    let server = Endpoint::bind(any, config(), server_tls).unwrap();
    for ip in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
        let own = Endpoint::bind((ip, 0).into(), config(), client_tls.clone()).unwrap();
        // If the DSCP were not received, credits would end after 64 emulation packets.
        let to = (ip, server.address().port()).into();
        assert_eq!(send_stream(&own, &server, to, &BYTES).0, SendMode::Credits);
    }
    Ok(())
}

pub fn a_datagram_from_port_0_over_ipv4_ends_no_endpoint() -> Outcome {
    survives_port_0(Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into())
}

pub fn a_datagram_from_port_0_over_ipv6_ends_no_endpoint() -> Outcome {
    survives_port_0(Ipv6Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into())
}

pub fn a_datagram_from_port_0_over_ipv4_ends_no_endpoint_of_both_families() -> Outcome {
    survives_port_0(Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::LOCALHOST.into())
}
