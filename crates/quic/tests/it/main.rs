//! Endpoints, streams and certificates over loopback, hostile datagrams, and known answers of packets.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

mod addresses;
mod authority;
mod code;
mod examples;
mod hostile;
mod loopback;
mod memory;
mod streams;
mod vectors;

use pollster::block_on;
use shallop_core::BitsPerSec;
use shallop_quic::{Config, CreditStats, Endpoint, SendMode, Tls, code::Code, identity::SERVER_NAME};
use std::net::{Ipv4Addr, SocketAddr};
use std::thread::spawn;
use std::time::{Duration, Instant};

/// Any port of the loopback address.
const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A link of 200 Mb/s with a waiting time and a slack of 10 ms.
fn config() -> Config {
    let wait = Duration::from_millis(10);
    Config { wait, slack: wait, ..Config::new(BitsPerSec::at_least_one(200_000_000)) }
}

/// The settings of a server and of a client that know one code.
fn tls() -> (Tls, Tls) {
    let code = Code::make().unwrap();
    (Tls::server_with(code.clone()).unwrap(), Tls::client_with(code))
}

/// A server and a client with one code, both on the loopback address.
fn server_and_client(server: Config, client: Config) -> (Endpoint, Endpoint) {
    let (of_server, of_client) = tls();
    let listening = Endpoint::bind(ANY, server, of_server).unwrap();
    (listening, Endpoint::bind(ANY, client, of_client).unwrap())
}

/// Sends a stream of these bytes from one endpoint to another, which has this address. Returns the send mode at the
/// end, the counts of the sender, and the time that the stream took.
fn send_stream(from: &Endpoint, to: &Endpoint, address: SocketAddr, bytes: &[u8]) -> (SendMode, CreditStats, Duration) {
    let (to, limit) = (to.clone(), bytes.len() + 1);
    let received = spawn(move || {
        let connection = block_on(to.accept()).expect("the endpoint lives");
        let mut stream = block_on(connection.accept_uni()).unwrap();
        let all = block_on(stream.read_to_end(limit)).unwrap();
        (all, block_on(connection.closed()).to_string())
    });
    let connection = block_on(from.connect(address, SERVER_NAME)).unwrap();
    let begun = Instant::now();
    let mut stream = block_on(connection.open_uni()).unwrap();
    block_on(stream.write_all(bytes)).unwrap();
    block_on(stream.finished()).unwrap();
    let (mode, stats, took) = (connection.send_mode(), connection.stats(), begun.elapsed());
    connection.close(0, b"done");
    let (all, why) = received.join().unwrap();
    assert!(all == bytes, "{} bytes arrived", all.len());
    assert!(why.contains("done"), "{why}");
    (mode, stats, took)
}

shallop_testing::tests! {
    tests: [
        addresses::a_destination_that_the_kernel_refuses_ends_no_other_connection,
        addresses::a_destination_that_the_kernel_refuses_ends_no_other_endpoint_of_one_thread,
        addresses::one_address_takes_at_most_128_connections_and_leaves_room_for_others,
        addresses::the_handle_of_an_ended_connection_never_stands_for_another_one,
        addresses::credits_are_kept_over_each_family_of_one_socket,
        addresses::a_datagram_from_port_0_over_ipv4_ends_no_endpoint,
        addresses::a_datagram_from_port_0_over_ipv6_ends_no_endpoint,
        addresses::a_datagram_from_port_0_over_ipv4_ends_no_endpoint_of_both_families,
        authority::a_server_is_trusted_if_the_authority_has_signed_its_certificate_for_the_name,
        authority::a_server_that_asks_takes_clients_of_its_authority_and_no_others,
        authority::files_that_hold_no_certificate_or_key_or_an_open_one_are_named,
        code::ends_with_one_code_serve_each_other_and_another_code_is_named,
        code::strangers_are_closed_whatever_they_send_in_place_of_a_proof,
        code::a_proof_is_of_no_use_to_who_sends_it_back_or_passes_it_on,
        examples::a_file_arrives_whole_on_credits,
        examples::requests_are_answered_in_their_order_and_those_that_are_too_long_are_refused,
        loopback::data_leaves_on_credits_and_arrives_whole,
        loopback::peers_without_credits_get_plain_quic,
        loopback::streams_in_both_directions_are_answered,
        loopback::where_no_emulation_packet_is_answered_data_goes_on_without_credits,
        loopback::packets_of_no_connection_are_counted_and_get_no_answer,
        loopback::an_endpoint_ends_with_connections_that_nobody_accepted,
        memory::connections_at_rest_take_little_memory,
        streams::a_reset_reaches_the_reader_with_its_code,
        streams::a_stop_reaches_the_writer_with_its_code,
        streams::what_has_arrived_whole_was_not_stopped_and_a_finished_stream_takes_no_more,
        streams::stopped_streams_leave_room_for_others,
        streams::the_end_of_a_connection_has_a_code_and_a_reason,
        streams::a_future_that_is_polled_again_and_again_is_kept_once,
        // These need a processor for seconds, so they run after those that measure time.
        hostile::a_million_spoilt_packets_are_refused,
        hostile::any_stamps_are_taken_by_neither_end_twice,
        vectors::every_message_is_read_and_written_as_its_row_says,
        vectors::every_packet_is_read_and_written_as_its_row_says,
        vectors::the_page_shows_rows,
    ]
    children: [memory::measures_connections_at_rest]
}
