//! A network as a graph of nodes and full-duplex links. Link `l` has two ports: `2l` sends from its node `a` to its
//! node `b`, `2l + 1` from `b` to `a`.

use shallop_core::{BitsPerSec, Bytes, Node, Span};

/// How a host's link takes packets from its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicMode {
    /// The link asks its ends in turn whenever it is free: nothing but metered packets is ever queued here.
    Fair,
    /// Ends send what they may into one finite queue, which drops.
    Fifo,
}

shallop_core::words! { NicMode { Fair = "fair", Fifo = "fifo" } }

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Flows start and end here. It does not forward packets.
    Host,
    /// Forwards packets.
    Switch,
}

/// A full-duplex link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphLink {
    /// One end.
    pub a: Node,
    /// The other end.
    pub b: Node,
    /// Rate of each direction.
    pub rate: BitsPerSec,
    /// Propagation delay of each direction.
    pub delay: Span,
    /// MTU: the largest IP packet.
    pub mtu: Bytes,
}

/// A network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// By node number.
    pub nodes: Vec<NodeKind>,
    /// By link number.
    pub links: Vec<GraphLink>,
}

impl Graph {
    /// Adds a node.
    pub fn add(&mut self, kind: NodeKind) -> Node {
        self.nodes.push(kind);
        Node(self.nodes.len() as u32 - 1)
    }

    /// Adds a link.
    pub fn connect(&mut self, link: GraphLink) {
        self.links.push(link);
    }

    /// Number of ports.
    #[must_use]
    pub fn ports(&self) -> usize {
        self.links.len() * 2
    }

    /// The link of this port.
    #[must_use]
    pub fn link_of(&self, port: u32) -> &GraphLink {
        &self.links[(port / 2) as usize]
    }

    /// The node to which this port belongs.
    #[must_use]
    pub fn near(&self, port: u32) -> Node {
        let link = self.link_of(port);
        if port.is_multiple_of(2) { link.a } else { link.b }
    }

    /// The node at the other end of this port's link.
    #[must_use]
    pub fn far(&self, port: u32) -> Node {
        self.near(port ^ 1)
    }

    /// The kind of this node.
    #[must_use]
    pub fn kind(&self, node: Node) -> NodeKind {
        self.nodes[node.0 as usize]
    }

    /// The hosts, in ascending order.
    pub fn hosts(&self) -> impl Iterator<Item = Node> + '_ {
        let all = (0..self.nodes.len() as u32).map(Node);
        all.filter(|&node| self.kind(node) == NodeKind::Host)
    }
}
