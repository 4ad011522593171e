//! Flows one after the other on a connection that is kept: what an end takes over from the one before it. The path is
//! known, so are the window and the answer to congestion; nothing greets. A flow that starts after a silence does what
//! its controller does then. Each flow counts its bytes from zero, its controller from the connection's first.

use shallop_control::Window;

use super::receiver::Receiver;
use super::sender::{Errand, Sender};

impl<W: Window + Clone> Sender<W> {
    pub(super) fn take_over(&mut self, before: &Self) {
        self.window = before.window.clone();
        self.allowed = self.window.window().get();
        (self.rtt, self.delivery) = (before.rtt, before.delivery);
        (self.pace, self.pace_due) = (before.pace, before.pace_due);
        (self.sent_at, self.tell_reduced) = (before.sent_at, before.tell_reduced);
        self.earlier = before.earlier + before.board.next();
        self.errand = Errand::None;
    }
}

impl Receiver {
    pub(super) fn take_over(&mut self, before: &Self) {
        (self.echo, self.quick) = (before.echo, before.quick);
    }
}
