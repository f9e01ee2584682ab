// Einsum: sizes that follow from its equation.
#include <algorithm>
#include <cctype>
#include <map>

#include "base/text/printable.hpp"
#include "sim/opgraph/onnx/onnx_reader.hpp"

namespace distsim::opgraph {
namespace {

struct Equation {
  std::vector<std::string> terms;  ///< a letter for each dimension of an input
  std::string result;
};

/// Nothing where dimensions are left open ("...").
std::optional<Equation> equation_of(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  if (text.find('.') != text.npos) return std::nullopt;
  Equation out;
  const std::size_t arrow = text.find("->");
  const std::string terms = text.substr(0, arrow);
  for (std::size_t begin = 0; begin <= terms.size();) {
    const std::size_t end = std::min(terms.find(',', begin), terms.size());
    out.terms.push_back(terms.substr(begin, end - begin));
    begin = end + 1;
  }
  if (arrow != text.npos) {
    out.result = text.substr(arrow + 2);
    return out;
  }
  for (char letter = 'A'; letter <= 'z'; ++letter) {  // those that occur once, in their order
    if (std::isalpha(static_cast<unsigned char>(letter)) != 0 && std::ranges::count(terms, letter) == 1)
      out.result += letter;
  }
  return out;
}

}  // namespace

Result<void> OnnxLowering::einsum() {
  const std::optional<Equation> equation = equation_of(text("equation"));
  if (!equation) return unknown();
  const std::string named = "equation: found " + in_quotes(text("equation"), 60);
  if (equation->terms.size() != static_cast<std::size_t>(node_->input_size()))
    return wrong(named + " for " + std::to_string(node_->input_size()) + " inputs, expected a term for each");
  std::map<char, std::int64_t> sizes;
  Ids inputs;
  for (int i = 0; i < node_->input_size(); ++i) {
    TRY_ASSIGN(const Id t, tensor(i));
    inputs.push_back(t);
    const std::string& term = equation->terms[static_cast<std::size_t>(i)];
    const Dims dims = eager_.dims(t);
    if (term.size() != dims.size())
      return wrong(named + ", expected " + std::to_string(dims.size()) + " letters for the dimensions of input " +
                   std::to_string(i));
    for (std::size_t d = 0; d < dims.size(); ++d) {
      std::int64_t& size = sizes.try_emplace(term[d], dims[d]).first->second;
      if (size != dims[d] && size != 1 && dims[d] != 1)
        return wrong(named + ", expected one size of " + in_quotes(std::string(1, term[d])) + ", not " +
                     std::to_string(size) + " and " + std::to_string(dims[d]));
      size = size == 1 ? dims[d] : size;
    }
  }
  Dims result;
  for (const char letter : equation->result) {
    const auto at = sizes.find(letter);
    if (at == sizes.end() || std::ranges::count(equation->result, letter) > 1)
      return wrong(named + ", expected a result of letters of the inputs, each once");
    result.push_back(at->second);
  }
  TRY_ASSIGN(result, checked(std::move(result)));
  return give(eager_.opaque("onnx::Einsum", inputs, {result}, {eager_.element(inputs.front())}).front());
}

}  // namespace distsim::opgraph
