//! Persistent connections: what an endpoint takes over from the previous flow on its connection. The round-trip time
//! and the controller's state are known, and there is no handshake. If the connection was idle in between, the
//! controller restarts as configured. Each flow counts its bytes from zero; the controller counts all bytes of the
//! connection.

use super::{connection::Pending, receiver::Receiver, sender::Sender};
use shallop_control::Window;

impl<W: Window + Clone> Sender<W> {
    pub(super) fn reuse(&mut self, before: &Self) {
        self.controller = before.controller.clone();
        self.limits.cwnd = self.controller.window().get();
        (self.rtt, self.delivery_rate) = (before.rtt, before.delivery_rate);
        self.pacer = before.pacer;
        self.offload = before.offload.reused();
        self.timers.last_sent = before.timers.last_sent;
        self.ecn.send_cwr = before.ecn.send_cwr;
        self.connection.prior_bytes = before.connection.prior_bytes + before.scoreboard.snd_nxt;
        self.connection.pending = Pending::Nothing;
        self.connection.tsecr = before.connection.tsecr;
        let window = before.limits.right_edge.saturating_sub(before.scoreboard.snd_una);
        self.limits.right_edge = self.limits.right_edge.max(window);
    }
}

impl Receiver {
    pub(super) fn reuse(&mut self, before: &Self) {
        (self.echo, self.quick_acks) = (before.echo, before.quick_acks);
        self.window = before.window.continued(before.rcv_nxt());
    }
}
