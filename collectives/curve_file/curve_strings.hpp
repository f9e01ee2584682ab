// Text of other programs in a curve file: flags, names of hosts, topologies, libraries.
#pragma once

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace distsim::curves {

/// In all text of a message and of those within it, bytes that are no UTF-8 become \xNN: protobuf refuses to read them
/// back. To be done before the checksum.
void make_utf8(google::protobuf::Message& message);

}  // namespace distsim::curves
