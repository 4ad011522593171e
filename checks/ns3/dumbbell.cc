// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// One run of the check in ns-3: endless flows, each from a host of its own, through one router to one receiver.
//
// Arguments are `key=value`: transport (an ns-3 TypeId); rate and access (bit/s, with the framing of an ns-3 link);
// delay (of the bottleneck, ns); buffer (packets); mark (packets; 0 for a plain queue); warm_up, end, rto_min and
// ack_delay (ns); receive_buffer (B); seed; delays and starts (ns, a comma between flows); trace (a file; optional).
// Prints one line of JSON with counts between warm_up and end: packets that left, were dropped and were marked at the
// bottleneck, and recoveries and timeouts of senders.
// All other values are ns-3's defaults, except those in `Settings`.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

using namespace ns3;

namespace
{

using Words = std::map<std::string, std::string>;

// As in shallop, packets have 1460 B of payload and 40 B of headers, without timestamps.
constexpr uint32_t SEGMENT = 1460;

struct Counts
{
    uint64_t sent = 0;
    uint64_t dropped = 0;
    uint64_t marked = 0;
    uint64_t payload = 0;
    uint64_t recoveries = 0;
    uint64_t timeouts = 0;
};

struct Bottleneck
{
    Ptr<Queue<Packet>> queue;
    Ptr<QueueDisc> disc;
    Ptr<PacketSink> sink;

    Counts Now() const
    {
        Counts counts;
        counts.sent = queue->GetTotalReceivedPackets() - queue->GetNPackets();
        counts.dropped = queue->GetTotalDroppedPackets();
        counts.payload = sink->GetTotalRx();
        if (disc)
        {
            const auto& stats = disc->GetStats();
            counts.dropped += stats.nTotalDroppedPackets;
            counts.marked = stats.nTotalMarkedPackets;
        }
        return counts;
    }
};

uint64_t g_recoveries = 0;
uint64_t g_timeouts = 0;
std::ofstream g_trace;

std::vector<uint64_t> List(const std::string& text)
{
    std::vector<uint64_t> numbers;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');)
    {
        numbers.push_back(std::stoull(part));
    }
    return numbers;
}

TimeValue Span(const std::string& nanoseconds)
{
    return TimeValue(NanoSeconds(std::stoull(nanoseconds)));
}

void Settings(const Words& words)
{
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(std::stoull(words.at("seed")));
    const uint32_t buffer = std::stoul(words.at("receive_buffer"));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(TypeId::LookupByName(words.at("transport"))));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    // The send buffer is larger, so that the sender always has data.
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(2 * buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", Span(words.at("ack_delay")));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", Span(words.at("rto_min")));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
}

void Fill(Ptr<Socket> socket, uint32_t room)
{
    while (room >= SEGMENT && socket->Send(Create<Packet>(SEGMENT * (room / SEGMENT))) > 0)
    {
        room = socket->GetTxAvailable();
    }
}

void Begin(Ptr<Socket> socket, Address to)
{
    socket->Bind();
    socket->SetSendCallback(MakeCallback(&Fill));
    socket->Connect(to);
}

void OnState(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t state)
{
    g_recoveries += state == TcpSocketState::CA_RECOVERY;
    g_timeouts += state == TcpSocketState::CA_LOSS;
}

void OnWindow(uint32_t flow, uint32_t, uint32_t window)
{
    g_trace << Simulator::Now().GetNanoSeconds() << ',' << flow << ',' << window << '\n';
}

Ptr<Socket> Sender(Ptr<Node> node, uint32_t flow)
{
    // Each BBR flow draws its own phases; with ns-3's default all flows would have equal phases.
    Config::SetDefault("ns3::TcpBbr::Stream", UintegerValue(4 + flow));
    auto socket = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
    socket->TraceConnectWithoutContext("CongState", MakeCallback(&OnState));
    if (g_trace.is_open())
    {
        socket->TraceConnectWithoutContext("CongestionWindow", MakeBoundCallback(&OnWindow, flow));
    }
    return socket;
}

// A queue disc that marks a packet if `mark` or more packets are before it, including the packet in the device.
Ptr<QueueDisc> Marking(Ptr<NetDevice> device, uint32_t buffer, uint32_t mark)
{
    TrafficControlHelper control;
    control.SetRootQueueDisc("ns3::RedQueueDisc",
                             "UseEcn", BooleanValue(true),
                             "UseHardDrop", BooleanValue(false),
                             "Gentle", BooleanValue(false),
                             "QW", DoubleValue(1.0),
                             "MeanPktSize", UintegerValue(1500),
                             "MinTh", DoubleValue(mark - 1),
                             "MaxTh", DoubleValue(mark - 1),
                             "MaxSize", QueueSizeValue(QueueSize(PACKETS, buffer - 1)));
    return control.Install(device).Get(0);
}

std::string Packets(uint32_t number)
{
    return std::to_string(number) + "p";
}

// With flow control, a full queue would stop the layer above, which drops packets without counting them.
NetDeviceContainer Join(Ptr<Node> from, Ptr<Node> to, const std::string& rate, uint64_t delay, uint32_t buffer,
                        bool flowControl = false)
{
    PointToPointHelper link;
    if (!flowControl)
    {
        link.DisableFlowControl();
    }
    link.SetDeviceAttribute("DataRate", StringValue(rate + "bps"));
    link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(delay)));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(Packets(buffer)));
    return link.Install(from, to);
}

Bottleneck Build(const Words& words)
{
    const auto delays = List(words.at("delays"));
    const auto starts = List(words.at("starts"));
    const uint32_t buffer = std::stoul(words.at("buffer"));
    const uint32_t mark = std::stoul(words.at("mark"));
    NodeContainer hosts;
    hosts.Create(delays.size());
    NodeContainer ends;
    ends.Create(2);
    InternetStackHelper().Install(NodeContainer(hosts, ends));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    TrafficControlHelper control;
    const auto add = [&](const NetDeviceContainer& devices) {
        const auto interfaces = addresses.Assign(devices);
        if (devices.Get(0)->GetObject<NetDeviceQueueInterface>())
        {
            control.Uninstall(devices);
        }
        addresses.NewNetwork();
        return interfaces;
    };
    const auto narrow = Join(ends.Get(0), ends.Get(1), words.at("rate"), std::stoull(words.at("delay")),
                             mark > 0 ? 1 : buffer, mark > 0);
    const auto there = add(narrow).GetAddress(1);
    Bottleneck bottleneck;
    bottleneck.queue = DynamicCast<PointToPointNetDevice>(narrow.Get(0))->GetQueue();
    // The reverse path never delays acknowledgements.
    DynamicCast<PointToPointNetDevice>(narrow.Get(1))->GetQueue()->SetMaxSize(QueueSize("1000000p"));
    if (mark > 0)
    {
        bottleneck.disc = Marking(narrow.Get(0), buffer, mark);
    }
    const uint16_t port = 9;
    PacketSinkHelper sinks("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    bottleneck.sink = DynamicCast<PacketSink>(sinks.Install(ends.Get(1)).Get(0));
    for (uint32_t flow = 0; flow < delays.size(); ++flow)
    {
        add(Join(hosts.Get(flow), ends.Get(0), words.at("access"), delays[flow], 1'000'000));
        Simulator::ScheduleWithContext(hosts.Get(flow)->GetId(), NanoSeconds(starts.at(flow)), &Begin,
                                       Sender(hosts.Get(flow), flow), InetSocketAddress(there, port));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    return bottleneck;
}

Counts RunUntil(const Bottleneck& bottleneck, const std::string& when)
{
    Simulator::Stop(NanoSeconds(std::stoull(when)) - Simulator::Now());
    Simulator::Run();
    auto counts = bottleneck.Now();
    counts.recoveries = g_recoveries;
    counts.timeouts = g_timeouts;
    return counts;
}

} // namespace

int main(int argc, char* argv[])
{
    Words words;
    for (int at = 1; at < argc; ++at)
    {
        const std::string word = argv[at];
        const auto equals = word.find('=');
        words[word.substr(0, equals)] = word.substr(equals + 1);
    }
    Settings(words);
    if (words.count("trace"))
    {
        g_trace.open(words["trace"]);
        g_trace << "ns,flow,window\n";
    }
    const auto bottleneck = Build(words);
    const auto before = RunUntil(bottleneck, words.at("warm_up"));
    const auto after = RunUntil(bottleneck, words.at("end"));
    std::cout << "{\"sent\": " << after.sent - before.sent
              << ", \"dropped\": " << after.dropped - before.dropped
              << ", \"marked\": " << after.marked - before.marked
              << ", \"payload\": " << after.payload - before.payload
              << ", \"recoveries\": " << after.recoveries - before.recoveries
              << ", \"timeouts\": " << after.timeouts - before.timeouts
              << ", \"cpu_s\": " << static_cast<double>(std::clock()) / CLOCKS_PER_SEC << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
