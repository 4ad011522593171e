//! A network as nodes and links. Link `l` is two ports: `2l` leads from its first node to its second, `2l + 1` back.

use shallop_core::{BitsPerSec, Bytes, Node, Span};

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Flows start and end here; packets for others are not passed on.
    Host,
    /// Passes packets on.
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
    /// The largest packet at IP.
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

    /// How many ports there are.
    #[must_use]
    pub fn ports(&self) -> usize {
        self.links.len() * 2
    }

    /// The link of this port.
    #[must_use]
    pub fn link_of(&self, port: u32) -> &GraphLink {
        &self.links[(port / 2) as usize]
    }

    /// The node this port belongs to.
    #[must_use]
    pub fn near(&self, port: u32) -> Node {
        let link = self.link_of(port);
        if port.is_multiple_of(2) { link.a } else { link.b }
    }

    /// The node this port leads to.
    #[must_use]
    pub fn far(&self, port: u32) -> Node {
        self.near(port ^ 1)
    }

    /// What this node is.
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
