#include "gpu/cuda_to_cpp/host_calls.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <stdexcept>

namespace course::gpu {

namespace {

/// Those of std's that people call in kernels. The functions of <cmath>, std::move and types are the
/// device's, too.
constexpr std::array hosts_of_std{"accumulate", "clamp", "copy",      "copy_n", "exchange",      "fill",
                                  "fill_n",     "iota",  "max",       "min",    "minmax",        "reduce",
                                  "sort",       "swap",  "transform", "count",  "numeric_limits"};

/// What stands before parentheses and is no function's name.
constexpr std::array no_names{"alignas",       "__align__", "__launch_bounds__", "__attribute__", "decltype",
                              "static_assert", "noexcept",  "requires",          "explicit"};

/// What may stand right before a call; another word there is the type of a declaration.
constexpr std::array before_calls{"return", "else", "do", "case", "and", "or", "not"};

/// The code without comments and the preprocessor's lines.
std::vector<Token> code_of(const std::vector<Token>& tokens) {
  std::vector<Token> code;
  bool begins_line = true, is_directive = false;
  for (const Token& token : tokens) {
    if (token.kind == Token::Kind::Space && token.text.find('\n') != std::string::npos) {
      if (!token.text.starts_with("\\\n")) is_directive = false;
      begins_line = true;
    } else if (token.is_code()) {
      is_directive |= begins_line && token.is("#");
      begins_line = false;
      if (!is_directive) code.push_back(token);
    }
  }
  return code;
}

class Source {
 public:
  Source(const std::vector<Token>& tokens, const std::string& name) : code_(code_of(tokens)), name_(name) {}

  void refuse_host_calls() {
    collect_functions();
    for (std::size_t at = 0; at < code_.size(); ++at)
      if (is(at, "__global__") || is(at, "__device__")) check_function(at);
  }

 private:
  bool is(std::size_t at, std::string_view text) const { return at < code_.size() && code_[at].is(text); }
  bool is_word(std::size_t at) const { return at < code_.size() && code_[at].kind == Token::Kind::Word; }
  template <class Words>
  bool is_one_of(std::size_t at, const Words& words) const {
    return is_word(at) && std::ranges::count(words, code_[at].text) > 0;
  }

  /// The token that closes what opens at `at`; the end, where none does.
  std::size_t closing(std::size_t at, std::string_view open, std::string_view close) const {
    int depth = 0;
    for (; at < code_.size(); ++at) {
      if (is(at, open)) ++depth;
      if (is(at, close) && --depth == 0) break;
    }
    return at;
  }

  /// Enters namespaces, and passes over the bodies of functions and classes.
  void collect_functions() {
    for (std::size_t at = 0; at < code_.size();) at = is(at, "}") ? at + 1 : behind_declaration(at);
    for (const std::string& name : of_device_) of_host_.erase(name);
  }

  std::size_t behind_declaration(std::size_t first) {
    std::size_t name = code_.size();
    bool may_be_named = true;
    for (std::size_t at = first; at < code_.size(); ++at) {
      if (is(at, "operator") || is(at, "=")) may_be_named = false;
      if (is(at, "(")) {
        if (may_be_named && at > first && is_word(at - 1) && !is_one_of(at - 1, no_names)) {
          name = at - 1;
          may_be_named = false;
        }
        at = closing(at, "(", ")");
      } else if (is(at, ";")) {
        note_function(first, name, at, false);
        return at + 1;
      } else if (is(at, "{")) {
        if (has(first, at, "namespace") || (is(first, "extern") && at == first + 2)) return at + 1;
        const std::size_t end = closing(at, "{", "}");
        note_function(first, name, at, true);
        if (name != code_.size() || has(first, at, "operator")) return end + 1;
        at = end;
      }
    }
    return code_.size();
  }

  bool has(std::size_t first, std::size_t behind, std::string_view word) const {
    return std::any_of(code_.begin() + first, code_.begin() + behind,
                       [&](const Token& token) { return token.is(word); });
  }

  /// `name` of the declaration from `first` on, whose body, or semicolon, stands at `end`.
  void note_function(std::size_t first, std::size_t name, std::size_t end, bool is_defined) {
    if (name == code_.size() || is(name - 1, ":")) return;
    if (has(first, end, "__device__") || has(first, end, "__global__"))
      of_device_.insert(code_[name].text);
    else if (is_defined)
      of_host_.emplace(code_[name].text, code_[name].line);
  }

  void check_function(std::size_t device) const {
    if (is(device + 1, "__host__") || (device > 0 && is(device - 1, "__host__"))) return;
    std::size_t at = device;
    for (; at < code_.size() && !is(at, "{"); ++at) {
      if (is(at, "(")) at = closing(at, "(", ")");
      if (is(at, ";") || is(at, "=")) return;
    }
    const std::size_t end = closing(at, "{", "}");
    for (; at < end; ++at) {
      check_std(at);
      const auto found = is_word(at) ? of_host_.find(code_[at].text) : of_host_.end();
      if (found != of_host_.end() && is_call(at) && !is_declared_within(device, end, found->first))
        fail(at, found->first + "() is a function of the host (line " + std::to_string(found->second) +
                     "), which nvcc lets no kernel call: write __device__ before it");
    }
  }

  bool is_call(std::size_t at) const {
    if (at == 0 || is(at - 1, ".") || is(at - 1, ":") || (is(at - 1, ">") && is(at - 2, "-"))) return false;
    if (is_word(at - 1) && !is_one_of(at - 1, before_calls)) return false;
    return is(at + 1, "(") || (is(at + 1, "<") && is(closing(at + 1, "<", ">") + 1, "("));
  }

  /// A parameter or a variable hides the function.
  bool is_declared_within(std::size_t first, std::size_t behind, const std::string& name) const {
    for (std::size_t at = first; at < behind; ++at)
      if (is(at, name) && !is(at + 1, "(") && !is(at + 1, "<")) return true;
    return false;
  }

  void check_std(std::size_t at) const {
    if (!is(at, "std") || !is(at + 1, ":") || !is(at + 2, ":") || !is_one_of(at + 3, hosts_of_std)) return;
    const std::string& called = code_[at + 3].text;
    if (called == "numeric_limits" && !is(closing(at + 4, "<", ">") + 4, "(")) return;
    const std::string instead =
        called == "max" || called == "min" ? "; CUDA has f" + called + "f and " + called
        : called == "numeric_limits" ? "; INFINITY is there, and a constexpr variable outside the function"
                                     : "; docs/cuda-supported.md lists what it may call";
    fail(at, "std::" + called + " is a function of the host, which nvcc lets no kernel call" + instead);
  }

  [[noreturn]] void fail(std::size_t at, const std::string& what) const {
    throw std::invalid_argument(name_ + ":" + std::to_string(code_[at].line) + ": " + what);
  }

  std::vector<Token> code_;
  const std::string& name_;
  std::map<std::string, int> of_host_;  ///< with the line of each
  std::set<std::string> of_device_;
};

}  // namespace

void refuse_host_calls(const std::vector<Token>& tokens, const std::string& name) {
  Source(tokens, name).refuse_host_calls();
}

}  // namespace course::gpu
