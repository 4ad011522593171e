//! What a run depends on: the plan without everything that its scheme cannot notice. Runs with equal effective plans
//! and equal seeds are equal in every byte of their results, so that one of them stands for all.
//!
//! | left out | because |
//! |---|---|
//! | the title, the default seed, the other schemes, the label of the scheme | no run reads them |
//! | the chip that a switch names | its buffers and pools are read |
//! | whether the scheme or the scenario configures switches | the run has the switches of the scheme |
//! | marks, if no packet is ECN-capable | no other packet is marked, or has a random draw made for it |
//! | `[kernel]`, if no host is a kernel | only kernels read it |
//! | queues of credits and what depends on them, if no transport has credits | ports have one queue then |
//!
//! Data of `ExpressPass` and `FlashPass` is ECN-capable, so that switches can distinguish it from unscheduled data
//! (Aeolus). It is marked, and results have the number of marks, although no endpoint responds to them.
//!
//! The rule about marks is in `switch/src/queue.rs` and `red.rs`, the rule about queues in `layout.rs` (`port_queues`).
//! Marks that drop packets which are not ECN-capable stay in the plan. So do marks of pools at dequeue, where packets
//! are served in another order.

use crate::kernel::KernelOptions;
use crate::plan::{Plan, QueueMarking, Scheme, Switch, Transport};
use shallop_core::BufferSize;
use shallop_switch::MarkAt;

/// Removes from a plan everything on which the runs of this scheme do not depend.
pub fn effective(plan: &Plan, scheme: usize) -> Plan {
    let transports = || (0..plan.groups.len()).map(|group| &plan.transport(scheme, group).transport);
    let has_credits = transports().any(|transport| transport.credits().is_some());
    let Scheme { transport, clean, .. } = plan.schemes[scheme].clone();
    let is_ecn_capable = clean.is_some() || transports().any(Transport::is_ecn_capable);
    let mut switches = plan.switches(scheme).to_vec();
    for switch in &mut switches {
        switch.chip = None;
        if !is_ecn_capable {
            leave_out_marks(switch);
        }
        if !has_credits {
            leave_out_credits(switch);
        }
    }
    let schemes = vec![Scheme { name: String::new(), transport, switches: None, clean }];
    let nic_credit_queue = plan.nic_credit_queue.filter(|_| has_credits);
    let kernel = if plan.has_kernels(scheme) { plan.kernel.clone() } else { KernelOptions::default() };
    let (title, seed) = (String::new(), 0);
    Plan { title, seed, switches, nic_credit_queue, kernel, schemes, ..plan.clone() }
}

fn leave_out_marks(switch: &mut Switch) {
    let leaves = |marking: &QueueMarking| marking.at == MarkAt::Dequeue;
    switch.mark = switch.mark.filter(QueueMarking::drops);
    switch.bcc = switch.bcc.filter(|bcc| bcc.at == MarkAt::Dequeue);
    if let Some(shared) = &mut switch.shared {
        shared.mark = shared.mark.filter(|mark| mark.drops() || leaves(mark));
    }
}

fn leave_out_credits(switch: &mut Switch) {
    const NOTHING: BufferSize = BufferSize::Packets(0);
    switch.credit_queue = NOTHING;
    switch.credit_burst = 0;
    switch.select = None;
    switch.unscheduled_above = NOTHING;
    switch.unscheduled_drop = None;
    switch.accounting = None;
    switch.emulation = true;
    switch.weights = None;
}
