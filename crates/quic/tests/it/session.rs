//! Files over QUIC on credits, over loopback.

use std::fs;
use std::net::Ipv4Addr;
use std::thread::spawn;
use std::time::Duration;

use shallop_core::BitsPerSec;
use shallop_quic::Config;
use shallop_quic::identity::Identity;
use shallop_quic::session::{Receiving, Sending, Served, receive};
use shallop_quic::transfer::{ReceiveOptions, SendOptions, Sources};

pub fn a_folder_arrives_as_it_is_and_a_second_time_nothing_moves() {
    let link = BitsPerSec::at_least_one(300_000_000);
    let wait = Duration::from_millis(20);
    let config = Config { wait, slack: Duration::from_millis(20), ..Config::new(link) };
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = from.path().join("a folder");
    fs::create_dir_all(folder.join("deep/er")).unwrap();
    let large: Vec<u8> =
        (0..3_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    fs::write(folder.join("large"), &large).unwrap();
    fs::write(folder.join("deep/er/small"), b"small").unwrap();
    fs::write(folder.join("empty"), b"").unwrap();
    let identity = Identity::make().unwrap();
    let receiving = Receiving::bind((Ipv4Addr::LOCALHOST, 0).into(), config, &identity).unwrap();
    let (address, place) = (receiving.address(), to.path().to_owned());
    let thread = spawn(move || {
        [(); 2].map(|()| {
            let connection = receiving.accept().unwrap();
            receive(&connection, &place, ReceiveOptions::default(), &()).unwrap()
        })
    });
    let sources = Sources::collect(&[folder]).unwrap();
    let reports = [(); 2].map(|()| {
        let sending = Sending::connect(address, config, Some(identity.fingerprint())).unwrap();
        sending.send(&sources, SendOptions::default(), &()).unwrap()
    });
    let received = thread.join().unwrap();
    assert!(fs::read(to.path().join("a folder/large")).unwrap() == large);
    assert_eq!(fs::read(to.path().join("a folder/deep/er/small")).unwrap(), b"small");
    assert_eq!(fs::read(to.path().join("a folder/empty")).unwrap(), b"");
    let [first, second] = reports;
    assert!(first.on_credits && received[0].on_credits);
    assert_eq!((first.transfer.files, first.transfer.bytes), (3, 3_000_005));
    assert_eq!((second.transfer.files, second.transfer.skipped), (0, 3));
    assert!(first.credits.data_packets > 3_000_000 / 1_408, "{first:?}");
    assert!(first.credits.without_credit * 200 <= first.credits.data_packets, "{first:?}");
}

pub fn senders_of_one_host_that_are_alive_do_not_end_each_other() {
    let link = BitsPerSec::at_least_one(100_000_000);
    let wait = Duration::from_millis(20);
    let config = Config { wait, slack: Duration::from_millis(20), ..Config::new(link) };
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let identity = Identity::make().unwrap();
    let receiving = Receiving::bind((Ipv4Addr::LOCALHOST, 0).into(), config, &identity).unwrap();
    let (address, fingerprint) = (receiving.address(), identity.fingerprint());
    let senders = ["one", "two", "three"].map(|name| {
        let path = from.path().join(name);
        fs::write(&path, vec![name.len() as u8; 800_000]).unwrap();
        spawn(move || {
            let sources = Sources::collect(&[path]).unwrap();
            let sending = Sending::connect(address, config, Some(fingerprint)).unwrap();
            sending.send(&sources, SendOptions::default(), &()).unwrap()
        })
    });
    std::thread::scope(|scope| {
        for _ in 0..senders.len() {
            let connection = receiving.accept().unwrap();
            let (receiving, place) = (&receiving, to.path());
            scope.spawn(move || {
                let options = ReceiveOptions::default();
                let served = receiving.serve(&connection, Some(place), options, &()).unwrap();
                assert!(matches!(served, Served::Files(report) if report.transfer.files == 1));
            });
        }
    });
    for sender in senders {
        assert_eq!(sender.join().unwrap().transfer.files, 1);
    }
    assert_eq!(fs::read_dir(to.path()).unwrap().count(), 3);
}
