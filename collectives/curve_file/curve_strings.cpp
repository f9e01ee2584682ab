#include "collectives/curve_file/curve_strings.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/text/printable.hpp"

namespace distsim::curves {
namespace {

std::string as_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_character_length(text);
    out += length == 0 ? printable(text.substr(0, 1)) : std::string(text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace

void make_utf8(google::protobuf::Message& message) {
  using google::protobuf::FieldDescriptor;
  const auto& access = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  access.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool text = field->type() == FieldDescriptor::TYPE_STRING;
    if (!text && field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      if (text)
        access.SetString(&message, field, as_utf8(access.GetString(message, field)));
      else
        make_utf8(*access.MutableMessage(&message, field));
      continue;
    }
    for (int i = 0; i < access.FieldSize(message, field); ++i) {
      if (text)
        access.SetRepeatedString(&message, field, i, as_utf8(access.GetRepeatedString(message, field, i)));
      else
        make_utf8(*access.MutableRepeatedMessage(&message, field, i));
    }
  }
}

}  // namespace distsim::curves
