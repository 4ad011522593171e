//! Files over QUIC on credits, over loopback.

use shallop_core::BitsPerSec;
use shallop_quic::{Config, Tls, code::Code, identity::SERVER_NAME};
use shallop_transfer::protocol::{ReceiveOptions, SendOptions, SourcePaths};
use shallop_transfer::session::{ReceiveServer, SendSession, Served, receive};
use shallop_transfer::{limits::Limits, ping::round_trip};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::{thread::spawn, time::Duration};

fn config(mbps: u64) -> Config {
    let (wait, link) = (Duration::from_millis(20), BitsPerSec::at_least_one(mbps * 1_000_000));
    Config { wait, slack: wait, ..Config::new(link) }
}

fn bind(config: Config) -> (ReceiveServer, Code) {
    let code = Code::make().unwrap();
    let tls = Tls::server_with(code.clone()).unwrap();
    (ReceiveServer::bind(Some((Ipv4Addr::LOCALHOST, 0).into()), config, &tls).unwrap(), code)
}

fn connect(to: SocketAddr, config: Config, code: &Code) -> SendSession {
    let tls = Tls::client_with(code.clone());
    SendSession::connect(&[to], SERVER_NAME, config, &tls).unwrap()
}

pub fn a_folder_arrives_on_credits_and_a_second_time_nothing_is_sent() {
    let config = config(300);
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = from.path().join("a folder");
    fs::create_dir_all(folder.join("deep/er")).unwrap();
    let large: Vec<u8> = (0..3_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    fs::write(folder.join("large"), &large).unwrap();
    fs::write(folder.join("deep/er/small"), b"small").unwrap();
    fs::write(folder.join("empty"), b"").unwrap();
    let (server, code) = bind(config);
    let (address, place) = (server.address(), to.path().to_owned());
    let thread = spawn(move || {
        [(); 2].map(|()| {
            let connection = server.accept().unwrap();
            receive(&connection, &place, ReceiveOptions::default(), &()).unwrap()
        })
    });
    let sources = SourcePaths::collect(&[folder]).unwrap();
    let reports = [(); 2].map(|()| {
        let session = connect(address, config, &code);
        session.send(&sources, SendOptions::default(), &()).unwrap()
    });
    let received = thread.join().unwrap();
    assert!(fs::read(to.path().join("a folder/large")).unwrap() == large);
    assert_eq!(fs::read(to.path().join("a folder/deep/er/small")).unwrap(), b"small");
    assert_eq!(fs::read(to.path().join("a folder/empty")).unwrap(), b"");
    let [first, second] = reports;
    assert!(first.on_credits && received[0].on_credits);
    assert_eq!((first.transfer.files, first.transfer.bytes), (3, 3_000_005));
    assert_eq!((second.transfer.files, second.transfer.skipped), (0, 3));
    // The largest datagram has 1,472 bytes.
    assert!(first.credits.data_packets > 3_000_000 / 1_472, "{first:?}");
    assert!(first.credits.without_credit * 200 <= first.credits.data_packets, "{first:?}");
}

pub fn a_connection_without_a_thread_is_refused_alone() {
    let config = config(100);
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(from.path().join("a"), vec![7; 300_000]).unwrap();
    let sources = SourcePaths::collect(&[from.path().join("a")]).unwrap();
    let (server, code) = bind(config);
    // Two for a connection at rest. With a transfer one more accepts streams, and one reads a stream.
    let server = server.with_limits(Limits::of_threads(4, 4));
    let address = server.address();
    let send = || {
        let tls = Tls::client_with(code.clone());
        let session = SendSession::connect(&[address], SERVER_NAME, config, &tls).map_err(|why| why.to_string())?;
        session.send(&sources, SendOptions::default(), &()).map_err(|why| why.to_string())
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let serve = |connection| _ = server.serve(&connection, Some(to.path()), ReceiveOptions::default(), &());
            server.each(serve).unwrap();
        });
        let idle = [(); 2].map(|()| connect(address, config, &code));
        for idle in &idle {
            round_trip(idle.connection(), Duration::from_secs(10)).unwrap();
        }
        let refused = send();
        drop(idle);
        // The threads of the connections that left are free again.
        let is_sent = shallop_testing::soon(|| send().is_ok());
        server.close();
        let why = refused.unwrap_err();
        assert!(why.contains("the receiver has no thread for this connection"), "{why}");
        assert!(is_sent);
    });
}

pub fn three_live_senders_of_one_host_all_finish() {
    let config = config(100);
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (server, code) = bind(config);
    let address = server.address();
    let senders = ["one", "two", "three"].map(|name| {
        let path = from.path().join(name);
        fs::write(&path, vec![name.len() as u8; 800_000]).unwrap();
        let code = code.clone();
        spawn(move || {
            let sources = SourcePaths::collect(&[path]).unwrap();
            let session = connect(address, config, &code);
            session.send(&sources, SendOptions::default(), &()).unwrap()
        })
    });
    std::thread::scope(|scope| {
        for _ in 0..senders.len() {
            let connection = server.accept().unwrap();
            let (server, place) = (&server, to.path());
            scope.spawn(move || {
                let options = ReceiveOptions::default();
                let outcome = server.serve(&connection, Some(place), options, &()).unwrap();
                assert!(matches!(outcome, Served::Files(report) if report.transfer.files == 1));
            });
        }
    });
    for sender in senders {
        assert_eq!(sender.join().unwrap().transfer.files, 1);
    }
    assert_eq!(fs::read_dir(to.path()).unwrap().count(), 3);
}

pub fn a_connection_on_which_nothing_begins_is_closed() {
    let config = config(100);
    let to = tempfile::tempdir().unwrap();
    let (server, code) = bind(config);
    let idle = connect(server.address(), config, &code);
    let connection = server.accept().unwrap();
    let options = ReceiveOptions { stall_timeout: Duration::from_millis(50), ..ReceiveOptions::default() };
    let why = server.serve(&connection, Some(to.path()), options, &()).unwrap_err().to_string();
    let heard = pollster::block_on(idle.connection().accept_any()).map(drop).unwrap_err().to_string();
    for text in [why, heard] {
        assert!(text.contains("nothing has come from the peer for 0.05 s"), "{text}");
    }
}
