//! The connection state of a sender, and control packets that it must send before data. Source: RFC 9293, 3.5 and
//! 3.8.6.

use super::config::{Config, IdleRestart};
use super::{head::scale_for, timestamp::Timestamp};

/// Connection states (RFC 9293, 3.3.2) of an active opener that only sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    /// The SYN was sent or will be sent, and is not acknowledged.
    SynSent,
    Established,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    Nothing,
    Syn,
    /// A zero-window probe (RFC 9293, 3.8.6.1), without payload as in Linux.
    WindowProbe,
    /// A segment that exceeds the receiver's window, sent because the window was smaller than a segment until the
    /// persist timer expired: the override timeout of silly-window avoidance (RFC 9293, 3.8.6.2.1).
    Override,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Connection {
    pub(super) state: State,
    pub(super) pending: Pending,
    pub(super) window_scale: u8,
    /// Bytes of TCP options in each segment.
    pub(super) option_bytes: u8,
    /// The idle time after which the controller restarts.
    pub(super) idle_restart: IdleRestart,
    /// `TSval` of the last acknowledgement, which the next data echoes as `TSecr`.
    pub(super) tsecr: Timestamp,
    /// Bytes that earlier flows sent on the connection. The controller's sequence numbers count from the connection's
    /// first byte.
    pub(super) prior_bytes: u64,
}

impl Connection {
    pub(super) const fn new(config: &Config, receive_buffer: u64) -> Self {
        Self {
            state: State::Closed,
            pending: if config.handshake { Pending::Syn } else { Pending::Nothing },
            window_scale: scale_for(receive_buffer),
            option_bytes: config.option_bytes,
            idle_restart: config.slow_start_after_idle,
            tsecr: Timestamp(0),
            prior_bytes: 0,
        }
    }

    /// Opens the connection: with a handshake, unless there is nothing to send (`empty`).
    pub(super) fn open(&mut self, empty: bool) {
        let handshake = self.pending == Pending::Syn && !empty;
        self.state = if handshake { State::SynSent } else { State::Established };
    }
}
