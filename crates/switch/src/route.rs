//! Forwarding: next hops from a table, and equal-cost multipath (ECMP) by a hash of the flow. With symmetric hashing,
//! the default, both directions of a flow take the same path. Credit transports need that, because their credits meter
//! the reverse path.
//!
//! The hash includes the number of hops to the destination. Tiers of a tree with equally many uplinks therefore choose
//! independently of each other, and both directions of a flow still agree: in each tier, packets that go up have as
//! many hops to go as packets of the other direction that go up on the other side.
//!
//! State: one entry for each node, and a table of next hops with a row for each switch. A column is a set of
//! destinations that all other nodes reach by the same paths up to the last hop: the hosts at a switch and at its twins
//! (`topology/src/twins.rs`). Copies of the routes share their tables.

use shallop_core::seed::hash;
use shallop_core::{End, Node};
use std::{collections::BTreeMap, sync::Arc};

/// Flag of a table entry: the other bits are the index of a group of equal-cost ports, not a port.
const GROUP: u32 = 1 << 31;
/// Flag of a table entry: the other bits are the index of a list with one table entry for each destination of the
/// column. Never combined with [`GROUP`].
const MEMBERS: u32 = 1 << 30;
/// Value of a table entry without a path, and of an absent port.
const NONE: u32 = u32::MAX;

/// The link between a host with only one link and its switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessLink {
    /// Port of the host, which sends to the switch.
    pub exit: u32,
    /// Port of the switch, which sends to the host.
    pub entry: u32,
    pub switch: Node,
}

/// How the routing table finds its row and column for a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TablePosition {
    /// A host with only one link, which shares the row and column of its switch.
    SingleHomed(AccessLink),
    /// Any other node: the column of the table in which it is a destination, and its position among the destinations of
    /// that column. `None` if packets go neither to the node nor to a host that is attached to it.
    Inner(Option<(u32, u32)>),
}

/// Row and column of a node in the routing table, and its position among the destinations of the column. A host with
/// only one link has the values of its switch.
#[derive(Clone, Copy, Debug)]
struct NodeIndex {
    row: u32,
    column: u32,
    member: u32,
    /// Port of a host with only one link that sends to its switch ([`AccessLink`]); [`NONE`] for other nodes.
    exit: u32,
    entry: u32,
}

/// Forwarding tables: the next hops of every node towards every destination.
#[derive(Clone, Debug)]
pub struct Routes {
    nodes: Arc<[NodeIndex]>,
    columns: usize,
    /// Table entry of each row and column, at row * `columns` + column: a port, [`GROUP`] plus the index of a group in
    /// `groups`, or [`MEMBERS`] plus the index in `groups` of a list of entries, one for each destination of the
    /// column.
    table: Arc<[u32]>,
    /// Groups of equal-cost ports, each preceded by its length and by the number of hops to the destination; and lists
    /// of table entries, one for each destination of a column.
    groups: Arc<[u32]>,
    symmetric: bool,
    salt: u64,
}

/// A routing table under construction.
#[derive(Clone, Debug)]
pub struct RouteTable {
    nodes: Vec<NodeIndex>,
    columns: usize,
    table: Vec<u32>,
    groups: Vec<u32>,
    /// Table entry of each group, by the group's hops and ports: equal groups are stored once.
    known: BTreeMap<Vec<u32>, u32>,
}

impl RouteTable {
    /// A table that routes only between switches and the hosts that are attached to them. `positions` has one element
    /// for each node.
    pub fn new(positions: &[TablePosition], columns: usize) -> Self {
        let none = NodeIndex { row: NONE, column: NONE, member: 0, exit: NONE, entry: NONE };
        let (mut nodes, mut rows) = (vec![none; positions.len()], 0);
        for (node, position) in nodes.iter_mut().zip(positions) {
            if let TablePosition::Inner(at) = *position {
                let (column, member) = at.unwrap_or((NONE, 0));
                *node = NodeIndex { row: rows, column, member, ..none };
                rows += 1;
            }
        }
        for (node, position) in positions.iter().enumerate() {
            if let TablePosition::SingleHomed(AccessLink { exit, entry, switch }) = *position {
                nodes[node] = NodeIndex { exit, entry, ..nodes[switch.0 as usize] };
            }
        }
        let table = vec![NONE; rows as usize * columns];
        Self { nodes, columns, table, groups: Vec::new(), known: BTreeMap::new() }
    }

    /// Sets the ports by which a switch forwards packets to the destinations of a column, which are `hops` away. An
    /// empty slice means that there is no path.
    pub fn set(&mut self, node: Node, column: usize, hops: u32, ports: &[u32]) {
        let entry = self.entry(hops, ports);
        *self.at(node, column) = entry;
    }

    /// Sets the ports by which a node reaches each destination of a column, all one hop away.
    pub fn set_members(&mut self, node: Node, column: usize, ports: &[Vec<u32>]) {
        let entries: Vec<u32> = ports.iter().map(|ports| self.entry(1, ports)).collect();
        let entry = MEMBERS | self.groups.len() as u32;
        self.groups.extend(entries);
        *self.at(node, column) = entry;
    }

    fn at(&mut self, node: Node, column: usize) -> &mut u32 {
        let row = self.nodes[node.0 as usize].row as usize;
        &mut self.table[row * self.columns + column]
    }

    fn entry(&mut self, hops: u32, ports: &[u32]) -> u32 {
        match *ports {
            [] => return NONE,
            [port] => return port,
            _ => {}
        }
        let group = [&[hops], ports].concat();
        let groups = &mut self.groups;
        *self.known.entry(group).or_insert_with(|| {
            let entry = GROUP | groups.len() as u32;
            groups.extend([ports.len() as u32, hops]);
            groups.extend(ports);
            entry
        })
    }

    /// The finished routes. `salt` salts the ECMP hash; a `symmetric` hash ignores the direction of a flow.
    pub fn finish(self, symmetric: bool, salt: u64) -> Routes {
        let Self { nodes, columns, table, groups, .. } = self;
        let (nodes, table, groups) = (nodes.into(), table.into(), groups.into());
        Routes { nodes, columns, table, groups, symmetric, salt }
    }
}

impl Routes {
    /// A copy of the routes with another ECMP hash; see [`RouteTable::finish`] for the arguments. The tables are
    /// shared.
    #[must_use]
    pub fn hashed(&self, symmetric: bool, salt: u64) -> Self {
        Self { symmetric, salt, ..self.clone() }
    }

    /// Port by which a packet for the endpoint `end` leaves `node` towards the host `to`; `None` if there is no path.
    pub fn next(&self, node: Node, to: Node, end: End) -> Option<u32> {
        let (here, there) = (&self.nodes[node.0 as usize], &self.nodes[to.0 as usize]);
        if here.exit != NONE {
            return Some(here.exit);
        }
        if here.row == there.row {
            return Some(there.entry).filter(|&port| port != NONE);
        }
        let entry = *self.entry(here, there)?;
        if entry & GROUP == 0 {
            return Some(entry);
        }
        let group = self.group(entry);
        let key = if self.symmetric { end.flow() } else { end.0 };
        let (count, hops) = (group.len() as u64, self.groups[(entry & !GROUP) as usize + 1]);
        let hash = hash(self.salt ^ u64::from(key) ^ u64::from(hops) << 32);
        // A mask instead of a remainder saves the division.
        let choice = if count.is_power_of_two() { hash & (count - 1) } else { hash % count };
        Some(group[choice as usize])
    }

    /// Equal-cost ports by which packets leave `node` towards `to`; neither may be a host with only one link. Empty if
    /// there is no path, or if packets go neither to `to` nor to a host that is attached to it.
    pub fn ports(&self, node: Node, to: Node) -> &[u32] {
        let (here, there) = (&self.nodes[node.0 as usize], &self.nodes[to.0 as usize]);
        match self.entry(here, there) {
            None => &[],
            Some(&entry) if entry & GROUP != 0 => self.group(entry),
            Some(port) => std::slice::from_ref(port),
        }
    }

    /// Table entry for packets at `here` to `there`: a port or a group.
    #[inline]
    fn entry(&self, here: &NodeIndex, there: &NodeIndex) -> Option<&u32> {
        if there.column == NONE {
            return None;
        }
        let mut entry = &self.table[here.row as usize * self.columns + there.column as usize];
        if *entry & (GROUP | MEMBERS) == MEMBERS {
            entry = &self.groups[(*entry & !MEMBERS) as usize + there.member as usize];
        }
        Some(entry).filter(|entry| **entry != NONE)
    }

    #[inline]
    fn group(&self, entry: u32) -> &[u32] {
        let start = (entry & !GROUP) as usize;
        &self.groups[start + 2..][..self.groups[start] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inner(column: u32) -> TablePosition {
        TablePosition::Inner(Some((column, 0)))
    }

    /// Routes of a network of two switches whose first switch has `ports` towards the second, `hops` away.
    fn routes(symmetric: bool, hops: u32, ports: &[u32]) -> Routes {
        let mut table = RouteTable::new(&[inner(0), inner(1)], 2);
        table.set(Node(0), 1, hops, ports);
        table.finish(symmetric, 7)
    }

    fn choice(routes: &Routes, end: End) -> Option<u32> {
        routes.next(Node(0), Node(1), end)
    }

    #[test]
    fn both_directions_of_a_flow_take_the_same_port_if_the_hash_is_symmetric() {
        let ports = [10, 11, 12];
        let (symmetric, asymmetric) = (routes(true, 3, &ports), routes(false, 3, &ports));
        let same = |routes: &Routes, flow| choice(routes, End::sender(flow)) == choice(routes, End::receiver(flow));
        assert!((0..100).all(|flow| same(&symmetric, flow)));
        assert!((0..100).filter(|&flow| same(&asymmetric, flow)).count() < 60);
        let counts = ports.map(|port| (0..300).filter(|&f| choice(&symmetric, End::sender(f)) == Some(port)).count());
        assert!(counts.iter().all(|&n| n > 70), "{counts:?}");
    }

    #[test]
    fn tiers_choose_independently_of_one_another() {
        let (near, far) = (routes(true, 3, &[0, 1]), routes(true, 4, &[0, 1]));
        let alike = (0..1000).filter(|&f| choice(&near, End(f)) == choice(&far, End(f))).count();
        assert!((400..600).contains(&alike), "{alike} of 1000 choices alike");
    }

    #[test]
    fn a_single_port_is_chosen_and_without_a_path_none_is() {
        let routes = routes(true, 1, &[5]);
        assert_eq!(routes.next(Node(0), Node(1), End(0)), Some(5));
        assert_eq!(routes.next(Node(1), Node(0), End(0)), None);
    }

    #[test]
    fn packets_for_a_single_homed_host_take_the_route_to_its_switch() {
        let host = |exit, entry| TablePosition::SingleHomed(AccessLink { exit, entry, switch: Node(0) });
        let mut table = RouteTable::new(&[inner(0), inner(1), host(2, 3), host(4, 5)], 2);
        table.set(Node(1), 0, 1, &[9]);
        let routes = table.finish(true, 0);
        let next = |node, to| routes.next(Node(node), Node(to), End(0));
        assert_eq!([next(2, 3), next(0, 3), next(1, 3)], [Some(2), Some(5), Some(9)]);
        assert_eq!([next(0, 1), next(0, 0)], [None, None]);
    }

    #[test]
    fn members_of_a_column_differ_in_the_last_hop_only() {
        let member = |number| TablePosition::Inner(Some((0, number)));
        let (none, columns) = (TablePosition::Inner(None), 1);
        let mut table = RouteTable::new(&[member(0), member(1), none, none], columns);
        table.set_members(Node(2), 0, &[vec![10], vec![11, 12]]);
        table.set(Node(3), 0, 2, &[20]);
        table.set(Node(0), 0, 2, &[30, 31]);
        let routes = table.finish(true, 0);
        let ports = |node, to| routes.ports(Node(node), Node(to));
        assert_eq!([ports(2, 0), ports(3, 0), ports(0, 1)], [&[10][..], &[20], &[30, 31]]);
        assert_eq!([ports(2, 1), ports(3, 1), ports(0, 2)], [&[11, 12][..], &[20], &[]]);
        assert_eq!(routes.next(Node(2), Node(0), End(0)), Some(10));
        assert!((0..20).all(|end| routes.next(Node(2), Node(1), End(end)).unwrap() / 2 <= 6));
        assert_eq!(routes.next(Node(0), Node(2), End(0)), None);
    }

    #[test]
    fn equal_groups_of_a_node_are_stored_once() {
        let mut table = RouteTable::new(&[0, 1, 2].map(inner), 3);
        (1..3).for_each(|column| table.set(Node(0), column, 4, &[6, 8]));
        assert_eq!(table.groups, [2, 4, 6, 8]);
        table.set(Node(0), 2, 5, &[6, 8]);
        assert_eq!(table.groups.len(), 8, "the hash depends on the hops");
    }
}
