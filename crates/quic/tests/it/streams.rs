//! The end of streams and connections: error codes and reasons reach the peer, with and without credits.

use crate::{config, server_and_client};
use pollster::block_on;
use shallop_quic::{Config, Connection, Endpoint, QuicError};
use std::{sync::Arc, time::Duration};

/// Both ends of a connection.
struct Pair {
    client: Connection,
    server: Connection,
    _endpoints: [Endpoint; 2],
}

fn pair(credits: bool) -> Pair {
    let config = Config { credits, ..config() };
    let (listening, connecting) = server_and_client(config, config);
    let client = block_on(connecting.connect(listening.address(), "shallop")).unwrap();
    let server = block_on(listening.accept()).unwrap();
    Pair { client, server, _endpoints: [listening, connecting] }
}

pub fn a_reset_reaches_the_reader_with_its_code() {
    for credits in [true, false] {
        let Pair { client, server, .. } = &pair(credits);
        block_on(async {
            let mut send = client.open_uni().await.unwrap();
            send.write_all(b"begun").await.unwrap();
            let mut recv = server.accept_uni().await.unwrap();
            assert_eq!(recv.id(), send.id());
            assert_eq!(recv.read(&mut [0; 5]).await.unwrap(), 5);
            send.reset(17);
            let why = recv.read_to_end(100).await.unwrap_err();
            assert!(matches!(why, QuicError::Reset(17)), "{why}");
        });
    }
}

pub fn a_stop_reaches_the_writer_with_its_code() {
    for credits in [true, false] {
        let Pair { client, server, .. } = &pair(credits);
        block_on(async {
            let (mut send, _recv) = client.open_bi().await.unwrap();
            send.write_all(b"begun").await.unwrap();
            let (_send, recv) = server.accept_bi().await.unwrap();
            recv.stop(23);
            assert_eq!(send.stopped().await.unwrap(), Some(23));
            let why = send.write_all(b"more").await.unwrap_err();
            assert!(matches!(why, QuicError::Stopped(23)), "{why}");
            let why = send.finished().await.unwrap_err();
            assert!(matches!(why, QuicError::Stopped(23)), "{why}");
        });
    }
}

pub fn what_has_arrived_whole_was_not_stopped_and_a_finished_stream_takes_no_more() {
    let Pair { client, server, .. } = &pair(true);
    block_on(async {
        let mut send = client.open_uni().await.unwrap();
        send.write_all(b"all").await.unwrap();
        send.finish();
        let why = send.write(b"more").await.unwrap_err();
        assert!(matches!(why, QuicError::Finished), "{why}");
        let mut recv = server.accept_uni().await.unwrap();
        assert_eq!(recv.read_to_end(100).await.unwrap(), b"all");
        assert_eq!(recv.read(&mut [0; 5]).await.unwrap(), 0);
        assert_eq!(send.stopped().await.unwrap(), None);
        send.finished().await.unwrap();
    });
}

pub fn stopped_streams_leave_room_for_others() {
    // More than the stream limit of the peer (100).
    const STREAMS: usize = 250;
    for (credits, finishes) in [(true, false), (true, true), (false, false), (false, true)] {
        let Pair { client, server, .. } = &pair(credits);
        block_on(async {
            for _ in 0..STREAMS {
                let mut send = client.open_uni().await.unwrap();
                send.write_all(&vec![1; 20_000]).await.unwrap();
                if finishes {
                    send.finish();
                    drop(send);
                    server.accept_uni().await.unwrap().stop(1);
                } else {
                    server.accept_uni().await.unwrap().stop(1);
                    assert_eq!(send.stopped().await.unwrap(), Some(1));
                }
            }
        });
    }
}

pub fn the_end_of_a_connection_has_a_code_and_a_reason() {
    let Pair { client, server, .. } = &pair(true);
    client.close(42, b"that is all");
    // A second close has no effect.
    client.close(43, b"more");
    let why = block_on(server.closed());
    assert!(matches!(&why, QuicError::Closed { code: 42, reason } if reason == "that is all"), "{why}");
    assert_eq!(why.to_string(), "the peer has closed the connection: that is all");
    let why = block_on(server.open_uni()).err().unwrap();
    assert!(matches!(why, QuicError::Closed { code: 42, .. }), "{why}");
    assert!(matches!(block_on(client.closed()), QuicError::Lost(_)));
}

pub fn a_future_that_is_polled_again_and_again_is_kept_once() {
    use std::task::{Context, Poll};
    use std::{future::Future, pin::pin};

    struct Count(std::sync::atomic::AtomicUsize);
    impl std::task::Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
    }
    let Pair { client, server, .. } = &pair(true);
    let count = Arc::new(Count(0.into()));
    let waker = Arc::clone(&count).into();
    let mut accepts = pin!(server.accept_uni());
    for _ in 0..1_000 {
        assert!(accepts.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    // References: `count`, `waker`, and the registered one.
    assert!(Arc::strong_count(&count) <= 4, "{}", Arc::strong_count(&count));
    let mut send = block_on(client.open_uni()).unwrap();
    block_on(send.write_all(b"here")).unwrap();
    let woken = || count.0.load(std::sync::atomic::Ordering::SeqCst);
    while woken() == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let begun = std::time::Instant::now();
    loop {
        match accepts.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(stream) => break assert!(stream.is_ok()),
            Poll::Pending => assert!(begun.elapsed() < Duration::from_secs(10)),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
