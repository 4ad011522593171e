//! The examples, over loopback.

use shallop_quic::{QuicError, code::Code};

#[path = "../../examples/file.rs"]
#[allow(dead_code, reason = "its main reads arguments")]
mod file;
#[path = "../../examples/request_response.rs"]
#[allow(dead_code, reason = "its main reads arguments")]
mod request_response;

pub fn a_file_arrives_whole_on_credits() {
    let folder = tempfile::tempdir().unwrap();
    let [original, copy] = ["original", "copy"].map(|name| folder.path().join(name));
    let bytes: Vec<u8> = (0..300_000_u32).map(|at| (at.wrapping_mul(at) >> 5) as u8).collect();
    std::fs::write(&original, &bytes).unwrap();
    let code = Code::make().unwrap();
    let endpoint = file::listen(([127, 0, 0, 1], 0).into(), code.clone()).unwrap();
    let address = endpoint.address();
    let to = copy.clone();
    let thread = std::thread::spawn(move || file::receive(&endpoint, &to).unwrap());
    let stats = file::send(&original, address, code).unwrap();
    assert_eq!(thread.join().unwrap(), 300_000);
    assert!(std::fs::read(&copy).unwrap() == bytes);
    assert!(stats.used >= stats.data_packets && stats.data_packets > 200, "{stats:?}");
}

pub fn requests_are_answered_in_their_order_and_those_that_are_too_long_are_refused() {
    let code = Code::make().unwrap();
    let server = request_response::listen(([127, 0, 0, 1], 0).into(), code.clone()).unwrap();
    let address = server.address();
    let thread = std::thread::spawn({
        let server = server.clone();
        move || request_response::serve(&server)
    });
    let answers = request_response::ask(address, code.clone(), &["one", "", "three more"]).unwrap();
    assert_eq!(answers, ["3 bytes", "0 bytes", "10 bytes"]);

    let long = "x".repeat(2 * request_response::LONGEST);
    let why = request_response::ask(address, code, &["short", &long]).unwrap_err();
    assert!(matches!(why, QuicError::Stopped(1) | QuicError::Reset(1)), "{why}");
    server.close();
    thread.join().unwrap();
}
