#include "gpu/cuda_to_cpp/cuda_to_cpp.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <stdexcept>
#include <vector>

#include "gpu/cuda_to_cpp/host_calls.hpp"
#include "text/tokenizer.hpp"

namespace course::gpu {

namespace {

/// Words of CUDA that would compile and mean something else, or nothing; and those that hide accesses.
constexpr std::array unsupported_words{
    "__constant__",  "__managed__", "texture", "surface", "cooperative_groups",
    "__CUDA_ARCH__", "asm",         "__asm__", "__asm",   "COURSE_UNSEEN"};

class Rewriter {
 public:
  Rewriter(std::string_view cuda, std::string name) : tokens_(tokens_of(cuda)), name_(std::move(name)) {}

  std::string cpp() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      refuse_unsupported(tokens_[i]);
      if (tokens_[i].is("__device__")) refuse_device_variable(i);
      if (is_launch(i)) rewrite_launch(i);
      if (tokens_[i].is("__shared__")) rewrite_shared(i);
    }
    std::string all;
    for (const Token& token : tokens_) all += token.text;
    return all;
  }

 private:
  [[noreturn]] void fail(const Token& where, const std::string& what) const {
    throw std::invalid_argument(name_ + ":" + std::to_string(where.line) + ": " + what);
  }

  void refuse_unsupported(const Token& token) const {
    if (token.kind == Token::Kind::Word && std::ranges::count(unsupported_words, token.text) > 0)
      fail(token, "the simulator does not have " + token.text + "; docs/cuda-supported.md lists what it has");
  }

  /// A function's name, or a lambda's body, is followed by its parameters; a variable by what ends a
  /// declarator.
  void refuse_device_variable(std::size_t device) const {
    for (std::size_t at = next(device); at != none; at = next(at)) {
      if (tokens_[at].is("__align__") || tokens_[at].is("alignas")) at = closing(next(at));
      if (tokens_[at].is("(") || tokens_[at].is("{")) return;
      if (tokens_[at].is(";") || tokens_[at].is("=") || tokens_[at].is("["))
        fail(tokens_[device], "the simulator does not have __device__ variables; allocate device memory");
    }
  }

  bool are(std::size_t first, char mark, int count) const {
    for (int i = 0; i < count; ++i) {
      if (first + i >= tokens_.size() || !tokens_[first + i].is(std::string_view(&mark, 1))) return false;
    }
    return true;
  }

  bool is_launch(std::size_t i) const {
    const std::size_t before = previous(i);
    return are(i, '<', 3) && before != none && !tokens_[before].is("operator") && !tokens_[before].is("<");
  }

  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// The nearest token of code before, or behind.
  std::size_t previous(std::size_t i) const {
    while (i-- > 0) {
      if (tokens_[i].is_code()) return i;
    }
    return none;
  }
  std::size_t next(std::size_t i) const {
    while (++i < tokens_.size()) {
      if (tokens_[i].is_code()) return i;
    }
    return none;
  }

  /// The token that closes what opens at i, ()[]{} alike.
  std::size_t closing(std::size_t i) const {
    int depth = 0;
    for (std::size_t at = i; at < tokens_.size(); ++at) {
      if (tokens_[at].kind != Token::Kind::Mark) continue;
      const char c = tokens_[at].text.front();
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      if (depth == 0) return at;
    }
    fail(tokens_[i], "'" + tokens_[i].text + "' is not closed");
  }

  /// The token that opens what closes at i: a list of template arguments, or parentheses.
  std::size_t opening(std::size_t i, char open, char close) const {
    int depth = 0;
    for (std::size_t at = i + 1; at-- > 0;) {
      if (tokens_[at].is(std::string_view(&close, 1))) ++depth;
      if (tokens_[at].is(std::string_view(&open, 1)) && --depth == 0) return at;
    }
    fail(tokens_[i], "'" + tokens_[i].text + "' is not opened");
  }

  /// Where the launched expression begins: name, space::name<arguments>, this->name, table[i], (*pointer).
  std::size_t callee_of(std::size_t launch) const {
    std::size_t first = previous(launch);
    while (true) {
      if (tokens_[first].is(">")) first = previous(opening(first, '<', '>'));
      while (tokens_[first].is("]")) first = previous(opening(first, '[', ']'));
      if (tokens_[first].is(")")) return opening(first, '(', ')');
      const std::size_t link = previous(first);
      if (link == none) return first;
      const std::size_t before = previous(link);
      if (before == none) return tokens_[link].is(":") ? link : first;
      const bool scope = tokens_[link].is(":") && tokens_[before].is(":");
      const bool arrow = tokens_[link].is(">") && tokens_[before].is("-");
      if (!scope && !arrow && !tokens_[link].is(".")) return first;
      const std::size_t owner = tokens_[link].is(".") ? before : previous(before);
      const bool named =
          owner != none && (tokens_[owner].kind == Token::Kind::Word || tokens_[owner].is(">") ||
                            tokens_[owner].is("]") || tokens_[owner].is(")"));
      if (!named || tokens_[owner].is("return")) return before;  // ::name
      first = owner;
    }
  }

  /// The `>>>` that ends the configuration: behind brackets of every kind that have been opened and closed.
  /// A `<` that follows a word without a blank opens template arguments.
  std::size_t configuration_end(std::size_t launch) const {
    int angles = 0;
    for (std::size_t at = launch + 3; at < tokens_.size(); ++at) {
      const Token& token = tokens_[at];
      if (token.is("(") || token.is("[") || token.is("{")) {
        at = closing(at);
      } else if (token.is("<") && tokens_[at - 1].kind == Token::Kind::Word) {
        ++angles;
      } else if (token.is(">") && angles > 0) {
        --angles;
      } else if (are(at, '>', 3)) {
        return at;
      } else if (token.is(";")) {
        break;
      }
    }
    fail(tokens_[launch], "the launch's <<< has no >>>");
  }

  std::string source_of(std::size_t first, std::size_t behind) const {
    std::string all;
    for (std::size_t i = first; i < behind; ++i)
      if (tokens_[i].is_code()) all += tokens_[i].text;
    return all;
  }

  /// The same on one line, with a blank where the source has any.
  std::string line_of(std::size_t first, std::size_t behind) const {
    std::string all;
    for (std::size_t i = first; i < behind; ++i) {
      if (tokens_[i].is_code())
        all += tokens_[i].text;
      else if (!all.ends_with(' ') && i + 1 < behind)
        all += ' ';
    }
    return all;
  }

  void rewrite_launch(std::size_t launch) {
    const std::size_t callee = callee_of(launch);
    const std::size_t end = configuration_end(launch);
    const std::size_t open = next(end + 2);
    if (open == none || !tokens_[open].is("("))
      fail(tokens_[launch], "the launch's >>> is not followed by its arguments");
    closing(open);
    // The first lambda finds the kernel's function, where it can be told. The second's parameters are copies,
    // as a kernel's are, and each thread gets its own. What the callee's expression names is copied, too: the
    // kernel runs later.
    const std::string function =
        "::course::gpu::function_of(course_call, " + line_of(callee, launch) + ", 0)";
    tokens_[callee].text = "::course::gpu::Kernel(\"" + source_of(callee, launch) + "\", " +
                           std::to_string(tokens_[launch].line) + ", [=](auto course_call) -> decltype(" +
                           function + ") { return " + function +
                           "; }, [=](auto... course_argument) COURSE_UNSEEN { " + tokens_[callee].text;
    tokens_[launch].text = "(course_argument...); }).configured(";
    tokens_[launch + 1].text.clear();
    tokens_[launch + 2].text.clear();
    tokens_[end].text = ")";
    tokens_[end + 1].text.clear();
    tokens_[end + 2].text.clear();
  }

  /// `__shared__ T a[n], b;` becomes `typedef T a__extent[n], b__extent; auto& a = ...; auto& b = ...;`: an
  /// array's type need not be read, only its name.
  void rewrite_shared(std::size_t shared) {
    bool dynamic = false;
    for (std::size_t at = previous(shared); at != none && is_specifier(at); at = previous(at))
      dynamic |= take_specifier(at);
    std::size_t end = shared;
    for (std::size_t at = next(shared); at != none && is_specifier(at); at = next(at))
      dynamic |= take_specifier(at);
    const std::vector<std::size_t> names = declared(shared, end);
    tokens_[shared].text = "typedef";
    for (const std::size_t name : names) {
      const std::string variable = tokens_[name].text;
      const std::string type = variable + "__extent";
      tokens_[name].text = type;
      tokens_[end].text += " auto& " + variable + " = ::course::gpu::" +
                           (dynamic ? "dynamic_shared<" + type + ">();" : "shared<" + type + ">([] {});");
    }
  }

  bool is_specifier(std::size_t at) const {
    const std::string& word = tokens_[at].text;
    return word == "extern" || word == "static" || word == "__align__" || word == "alignas" ||
           (word == ")" && is_alignment(previous(opening(at, '(', ')'))));
  }

  bool is_alignment(std::size_t at) const {
    return at != none && (tokens_[at].is("__align__") || tokens_[at].is("alignas"));
  }

  /// Storage is aligned for every type, and belongs to the block: returns whether it was `extern`.
  bool take_specifier(std::size_t at) {
    const bool dynamic = tokens_[at].is("extern");
    std::size_t first = at;
    std::size_t last = at;
    if (tokens_[at].is(")")) first = previous(opening(at, '(', ')'));
    if (is_alignment(at)) last = closing(next(at));
    for (std::size_t i = first; i <= last; ++i)
      if (tokens_[i].is_code()) tokens_[i] = {Token::Kind::Space, "", tokens_[i].line};
    return dynamic;
  }

  /// The names that a declaration declares; sets `end` to its semicolon.
  std::vector<std::size_t> declared(std::size_t shared, std::size_t& end) const {
    std::vector<std::size_t> names;
    std::size_t name = none;
    bool sized = false;  // what follows the name is its extent
    for (end = next(shared); end != none; end = next(end)) {
      const Token& token = tokens_[end];
      if (token.is("<")) {
        end = template_end(end);
      } else if (token.is("[")) {
        end = closing(end);
        sized = true;
      } else if (token.is(",") || token.is(";")) {
        if (name == none) fail(tokens_[shared], "this __shared__ declares no name");
        names.push_back(name);
        if (token.is(";")) return names;
        name = none;
        sized = false;
      } else if (token.is("(") || token.is("=") || token.is("{")) {
        fail(token, "a __shared__ variable is a plain variable or array without an initial value");
      } else if (token.kind == Token::Kind::Word && !sized) {
        name = end;
      }
    }
    fail(tokens_[shared], "this __shared__ declaration does not end");
  }

  std::size_t template_end(std::size_t open) const {
    int depth = 0;
    for (std::size_t at = open; at < tokens_.size(); ++at) {
      if (tokens_[at].is("(")) at = closing(at);
      if (tokens_[at].is("<")) ++depth;
      if (tokens_[at].is(">") && --depth == 0) return at;
    }
    fail(tokens_[open], "'<' is not closed");
  }

  std::vector<Token> tokens_;
  std::string name_;
};

/// cudaFoo, ncclFoo, __shfl_foo and the like.
bool looks_like_cuda(const std::string& word) {
  for (const std::string_view prefix : {"cuda", "nccl"})
    if (word.starts_with(prefix) && word.size() > 4 && std::isupper(static_cast<unsigned char>(word[4])) != 0)
      return true;
  constexpr std::array prefixes{"__shfl",   "__reduce_", "__match_",  "__threadfence", "__syncthreads_",
                                "__nanosl", "__active",  "__pipelin", "__half",        "__cluster"};
  return std::ranges::any_of(prefixes, [&](const char* prefix) { return word.starts_with(prefix); });
}

}  // namespace

std::vector<std::string> notes_on_unknown_words(std::string_view cuda, const std::string& name,
                                                std::string_view headers) {
  std::set<std::string> known;
  for (const Token& token : tokens_of(headers)) known.insert(token.text);
  std::vector<std::string> notes;
  for (const Token& token : tokens_of(cuda)) {
    if (token.kind != Token::Kind::Word || !looks_like_cuda(token.text)) continue;
    if (known.insert(token.text).second)
      notes.push_back(name + ":" + std::to_string(token.line) + ": the simulator does not have " +
                      token.text + "; docs/cuda-supported.md lists what it has");
  }
  return notes;
}

std::string cuda_to_cpp(std::string_view cuda, const std::string& name) {
  refuse_host_calls(tokens_of(cuda), name);
  return Rewriter(cuda, name).cpp();
}

std::string simulated_source(std::string_view cuda, const std::string& name) {
  return "#include \"cuda_runtime.h\"\n#line 1 \"" + name + "\"\n" + cuda_to_cpp(cuda, name);
}

}  // namespace course::gpu
