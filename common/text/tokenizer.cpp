#include "text/tokenizer.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace course {

namespace {

bool begins_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool continues_word(char c) {
  return begins_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view source) : source_(source) {}

  std::vector<Token> tokens() {
    while (at_ < source_.size()) {
      const std::size_t end = end_of_token();
      std::string text(source_.substr(at_, end - at_));
      const int line = line_;
      line_ += static_cast<int>(std::ranges::count(text, '\n'));
      tokens_.push_back({kind_, std::move(text), line});
      at_ = end;
    }
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return source_.substr(at_); }

  std::size_t end_of_token() {
    const char c = source_[at_];
    if (std::isspace(static_cast<unsigned char>(c)) != 0 || rest().starts_with("\\\n")) return spaces();
    if (rest().starts_with("//")) return comment(line_end());
    if (rest().starts_with("/*")) return comment(after("*/", at_ + 2));
    if (const std::size_t quote = string_prefix(); quote != std::string_view::npos) return text(quote);
    if (begins_word(c)) return run(Token::Kind::Word, continues_word);
    if (std::isdigit(static_cast<unsigned char>(c)) != 0)
      return run(Token::Kind::Number, [](char d) { return continues_word(d) || d == '.' || d == '\''; });
    kind_ = Token::Kind::Mark;
    return at_ + 1;
  }

  template <class Belongs>
  std::size_t run(Token::Kind kind, Belongs belongs) {
    kind_ = kind;
    std::size_t end = at_;
    while (end < source_.size() && belongs(source_[end])) ++end;
    return end;
  }

  std::size_t spaces() {
    kind_ = Token::Kind::Space;
    std::size_t end = at_;
    while (end < source_.size()) {
      if (source_.substr(end).starts_with("\\\n")) ++end;
      if (std::isspace(static_cast<unsigned char>(source_[end])) == 0) break;
      ++end;
    }
    return end;
  }

  /// A comment of one line goes on behind a backslash.
  std::size_t line_end() const {
    std::size_t end = source_.find('\n', at_);
    while (end != std::string_view::npos && source_[end - 1] == '\\') end = source_.find('\n', end + 1);
    return std::min(end, source_.size());
  }

  std::size_t comment(std::size_t end) {
    kind_ = Token::Kind::Comment;
    return end;
  }

  std::size_t after(std::string_view what, std::size_t from) const {
    const std::size_t found = source_.find(what, from);
    return found == std::string_view::npos ? source_.size() : found + what.size();
  }

  /// Where the quote of a string or character stands that begins here, with u8, L, R and the like before it.
  std::size_t string_prefix() const {
    for (const std::string_view prefix : {"", "R", "L", "u", "U", "u8", "LR", "uR", "UR", "u8R"}) {
      const std::size_t quote = at_ + prefix.size();
      if (rest().starts_with(prefix) && quote < source_.size() &&
          (source_[quote] == '"' || (source_[quote] == '\'' && !prefix.ends_with('R'))))
        return quote;
    }
    return std::string_view::npos;
  }

  std::size_t text(std::size_t quote) {
    kind_ = Token::Kind::Text;
    if (quote > at_ && source_[quote - 1] == 'R') {
      const std::size_t open = source_.find('(', quote);
      if (open == std::string_view::npos) return source_.size();
      return after(")" + std::string(source_.substr(quote + 1, open - quote - 1)) + "\"", open);
    }
    for (std::size_t i = quote + 1; i < source_.size(); ++i) {
      if (source_[i] == '\\')
        ++i;
      else if (source_[i] == source_[quote])
        return i + 1;
      else if (source_[i] == '\n')
        return i;  // an apostrophe in words, as of #error
    }
    return source_.size();
  }

  std::string_view source_;
  std::size_t at_ = 0;
  int line_ = 1;
  Token::Kind kind_ = Token::Kind::Space;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) {
  return Tokenizer(source).tokens();
}

}  // namespace course
