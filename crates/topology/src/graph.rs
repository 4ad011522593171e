//! A network as a graph of nodes and full-duplex links. Link `l` has two ports: port `2l` sends from node `a` to node
//! `b`, port `2l + 1` from `b` to `a`.

use shallop_core::{BitsPerSec, Bytes, Node, Span};

/// Order in which the link of a host takes packets from the endpoints of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicMode {
    /// The link takes a packet from its endpoints in turn whenever it is free, so that only metered packets are queued.
    Fair,
    /// Endpoints send into one finite queue, which may drop packets.
    Fifo,
}

shallop_options::string_enum! { NicMode { Fair = "fair", Fifo = "fifo" } }

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A node that sends and receives flows, but does not forward packets.
    Host,
    Switch,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    pub rate: BitsPerSec,
    /// Propagation delay, including the time that a host at the end takes to process a packet.
    pub delay: Span,
    /// Largest IP packet, in bytes.
    pub mtu: Bytes,
}

/// A full-duplex link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphLink {
    pub a: Node,
    pub b: Node,
    /// The directions from `a` to `b` and from `b` to `a`.
    pub ways: [Way; 2],
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Kind of each node; the index is the node's number.
    pub nodes: Vec<NodeKind>,
    /// Links of the network; the index is the link's number.
    pub links: Vec<GraphLink>,
}

impl Graph {
    pub fn add(&mut self, kind: NodeKind) -> Node {
        self.nodes.push(kind);
        Node(self.nodes.len() as u32 - 1)
    }

    pub fn connect(&mut self, link: GraphLink) {
        self.links.push(link);
    }

    /// Number of ports: two for each link.
    pub fn ports(&self) -> usize {
        self.links.len() * 2
    }

    /// The direction of a link into which a port sends.
    pub fn link_of(&self, port: u32) -> &Way {
        &self.links[(port / 2) as usize].ways[(port % 2) as usize]
    }

    /// Node to which a port belongs, and from which it sends.
    pub fn near(&self, port: u32) -> Node {
        let link = &self.links[(port / 2) as usize];
        if port.is_multiple_of(2) { link.a } else { link.b }
    }

    /// Node at the other end of the link of a port.
    pub fn far(&self, port: u32) -> Node {
        self.near(port ^ 1)
    }

    pub fn kind(&self, node: Node) -> NodeKind {
        self.nodes[node.0 as usize]
    }

    /// Hosts, in ascending order of their numbers.
    pub fn hosts(&self) -> impl Iterator<Item = Node> + '_ {
        let all = (0..self.nodes.len() as u32).map(Node);
        all.filter(|&node| self.kind(node) == NodeKind::Host)
    }
}
