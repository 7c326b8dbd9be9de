#include "course/locate/code.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace course::program {

namespace {

/// Without << and >>, since two brackets of template arguments may stand so.
constexpr std::array operators{"::", "->", "++", "--", "<=", ">=", "==", "!=", "&&",
                               "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="};

/// Words before a name that are no type.
const std::set<std::string_view> no_types{"return", "else",     "throw", "new",       "delete",
                                          "case",   "goto",     "using", "namespace", "struct",
                                          "class",  "typename", "enum",  "co_return", "co_yield"};

std::string short_type(const std::string& words) {
  static const std::map<std::string, std::string> kinds{
      {"float", "real"},       {"double", "real"},       {"int", "integer"},
      {"Index", "integer"},    {"size_t", "integer"},    {"long", "integer"},
      {"unsigned", "integer"}, {"ptrdiff_t", "integer"}, {"int64_t", "integer"}};
  const auto kind = kinds.find(words);
  return kind == kinds.end() ? words : kind->second;
}

/// Whether a line ends in these blanks, and does not go on behind a backslash.
bool ends_line(const std::string& blanks) {
  for (std::size_t at = blanks.find('\n'); at != std::string::npos; at = blanks.find('\n', at + 1)) {
    if (at == 0 || blanks[at - 1] != '\\') return true;
  }
  return false;
}

}  // namespace

Code::Code(std::string source) : source_(std::move(source)) {
  cut_into_pieces();
  if (match_brackets()) find_definitions();
}

void Code::cut_into_pieces() {
  bool begins_line = true, directive = false, goes_on = false;
  std::size_t at = 0;
  for (const Token& token : tokens_of(source_)) {
    const std::size_t end = at + token.text.size();
    if (token.kind == Token::Kind::Space && ends_line(token.text) && !goes_on) {
      begins_line = true;
      directive = false;
    } else if (token.is_code()) {
      directive = directive || (begins_line && token.is("#"));
      begins_line = false;
      if (!directive) {
        const bool joins = !pieces_.empty() && token.kind == Token::Kind::Mark && pieces_.back().last == at &&
                           std::ranges::count(operators, pieces_.back().text + token.text) > 0;
        if (joins) {
          pieces_.back().text += token.text;
          pieces_.back().last = end;
        } else {
          pieces_.push_back({token.kind, token.text, at, end});
        }
      }
    }
    goes_on = token.is("\\");  // and a carriage return before the line's end
    at = end;
  }
}

bool Code::match_brackets() {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const std::string& text = pieces_[i].text;
    enclosing_.push_back(open.empty() ? npos : open.back());
    if (pieces_[i].kind != Token::Kind::Mark || text.size() != 1) continue;
    if (std::string_view("([{").find(text) != std::string_view::npos) open.push_back(i);
    const std::size_t kind = std::string_view(")]}").find(text);
    if (kind == std::string_view::npos) continue;
    if (open.empty() || !is(open.back(), std::string_view("([{").substr(kind, 1))) return false;
    partners_[i] = open.back();
    partners_[open.back()] = i;
    open.pop_back();
  }
  return open.empty();
}

void Code::find_definitions() {
  std::size_t first = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (is(i, ";")) {
      const auto set = std::find_if(pieces_.begin() + static_cast<std::ptrdiff_t>(first),
                                    pieces_.begin() + static_cast<std::ptrdiff_t>(i),
                                    [](const Piece& piece) { return piece.is("="); });
      const std::size_t body = static_cast<std::size_t>(set - pieces_.begin());
      if (body < i && body > first && !is(first, "using"))
        definitions_.push_back({pieces_[body - 1].text, first, body + 1, i});
      first = i + 1;
    } else if (is(i, "}")) {
      first = i + 1;
    } else if (is(i, "{")) {
      std::size_t bracket = first;
      while (bracket < i && !is(bracket, "(")) ++bracket;
      const bool is_function = bracket < i && bracket > first && !is(first, "enum");
      const auto head = [&](std::string_view word) {
        return std::any_of(pieces_.begin() + static_cast<std::ptrdiff_t>(first),
                           pieces_.begin() + static_cast<std::ptrdiff_t>(i),
                           [&](const Piece& piece) { return piece.is(word); });
      };
      if (is_function) {
        const std::size_t end = partner(i);
        definitions_.push_back({pieces_[bracket - 1].text, first, i + 1, end, statements(i + 1, end)});
        i = end;
        first = i + 1;
      } else if (head("namespace") || head("struct") || head("class") || head("extern")) {
        first = i + 1;
      } else {
        i = partner(i);  // an enum, or a variable in braces
      }
    } else if (is(i, "(") || is(i, "[")) {
      i = partner(i);
    }
  }
}

std::vector<Statement> Code::statements(std::size_t first, std::size_t last) const {
  std::vector<Statement> list;
  while (first < last) first = statement(first, last, list);
  return list;
}

std::size_t Code::statement(std::size_t at, std::size_t end, std::vector<Statement>& list) const {
  Statement made{at, at};
  const auto body = [&](std::size_t from) {
    std::vector<Statement> inner;
    if (is(from, "{")) {
      inner = statements(from + 1, partner(from));
      from = partner(from) + 1;
    } else if (from < end) {
      from = statement(from, end, inner);
    }
    made.bodies.push_back(std::move(inner));
    return from;
  };
  if (is(at, "{")) {
    at = body(at);
  } else if (is(at, "if") || is(at, "for") || is(at, "while") || is(at, "switch")) {
    const std::size_t open = condition(at);
    at = is(open, "(") ? body(partner(open) + 1) : open;
    if (is(at, "else")) at = body(at + 1);
  } else if (is(at, "do")) {
    at = body(at + 1);
    while (at < end && !is(at, ";")) ++at;
    ++at;
  } else {
    while (at < end && !is(at, ";")) at = partner(at) > at ? partner(at) + 1 : at + 1;
    ++at;
  }
  made.last = std::min(at, end);
  if (made.is_simple()) lambdas(made);
  if (made.last > made.first) list.push_back(std::move(made));
  return std::max(at, list.empty() ? at : list.back().last);
}

std::size_t Code::condition(std::size_t at) const {
  return is(at + 1, "constexpr") ? at + 2 : at + 1;
}

/// Behind the brackets of captures or parameters, and what may stand between: mutable, noexcept, -> a type.
bool Code::begins_lambda(std::size_t brace, std::size_t first) const {
  std::size_t at = brace - 1;
  while (at > first && (pieces_[at].is_word() || is(at, "::") || is(at, "<") || is(at, ">") || is(at, "->")))
    --at;
  const bool has_type = std::any_of(pieces_.begin() + static_cast<std::ptrdiff_t>(at),
                                    pieces_.begin() + static_cast<std::ptrdiff_t>(brace),
                                    [](const Piece& piece) { return piece.is("->"); });
  const bool adjoins = at + 1 == brace || is(at + 1, "mutable") || is(at + 1, "noexcept") || has_type;
  return adjoins && (is(at, ")") || is(at, "]"));
}

/// The bodies of lambdas are lists of statements of their own; the statement stays one of itself.
void Code::lambdas(Statement& statement) const {
  for (std::size_t i = statement.first; i < statement.last; ++i) {
    if (!is(i, "{") || i == statement.first || !begins_lambda(i, statement.first)) continue;
    statement.bodies.push_back(statements(i + 1, partner(i)));
    i = partner(i);
  }
}

std::string Code::text(std::size_t first, std::size_t last) const {
  if (first >= last) return "";
  return source_.substr(pieces_[first].first, pieces_[last - 1].last - pieces_[first].first);
}

std::size_t Code::partner(std::size_t at) const {
  const auto found = partners_.find(at);
  return found == partners_.end() ? at : found->second;
}

std::size_t Code::operand_end(std::size_t at) const {
  const auto is_primary = [&](std::size_t i) {
    return i < pieces_.size() && (pieces_[i].is_word() || pieces_[i].kind == Token::Kind::Number);
  };
  std::size_t end = at;
  if (is_primary(at))
    end = at + 1;
  else if (is(at, "("))
    end = partner(at) + 1;
  while (end > at) {
    if (is(end, "(") || is(end, "["))
      end = partner(end) + 1;
    else if ((is(end, ".") || is(end, "->") || is(end, "::")) && is_primary(end + 1))
      end += 2;
    else if (is(end, "<") && is(end - 1, "numeric_limits") && is(end + 2, ">"))
      end += 3;
    else
      break;
  }
  return end;
}

std::size_t Code::operand_begin(std::size_t end) const {
  std::size_t begin = end;
  while (begin > 0) {
    const std::size_t last = begin - 1;
    if (is(last, ")") || is(last, "]")) {
      begin = partner(last);
      if (begin > 0 && (pieces_[begin - 1].is_word() || is(begin - 1, ")") || is(begin - 1, "]")) &&
          !is(begin - 1, "return"))
        continue;
    } else if (pieces_[last].is_word() || pieces_[last].kind == Token::Kind::Number) {
      begin = last;
    } else {
      break;
    }
    if (begin > 1 && (is(begin - 1, ".") || is(begin - 1, "->") || is(begin - 1, "::")))
      --begin;
    else
      break;
  }
  return begin;
}

std::vector<Code::Range> Code::arguments(std::size_t open) const {
  std::vector<Range> all;
  const std::size_t close = partner(open);
  std::size_t first = open + 1;
  for (std::size_t i = first; i <= close; ++i) {
    if (i == close || is(i, ",")) {
      if (i > first) all.push_back({first, i});
      first = i + 1;
    } else if (partner(i) > i) {
      i = partner(i);
    }
  }
  return all;
}

/// The words before a name that make a type, in short; empty where none stands there.
std::string Code::type_before(std::size_t name) const {
  if (name == 0 || !pieces_[name].is_word()) return "";
  std::size_t at = name - 1;
  while (at > 0 && (is(at, "&") || is(at, "*") || is(at, "&&") || is(at, "const") || is(at, "__restrict__")))
    --at;
  const std::size_t last = at;
  if (is(at, ">")) {
    int depth = 0;
    for (; at > 0; --at) {
      if (is(at, ">")) ++depth;
      if (is(at, "<") && --depth == 0) break;
      const bool of_type = pieces_[at].is_word() || pieces_[at].kind == Token::Kind::Number || is(at, "<") ||
                           is(at, ">") || is(at, "::") || is(at, ",") || is(at, "*");
      if (!of_type) return "";
    }
    if (at == 0) return "";
    --at;
  }
  if (!pieces_[at].is_word() || no_types.contains(pieces_[at].text)) return "";
  std::string words;
  for (std::size_t i = at; i <= last; ++i) {
    if (!is(i, "const")) words += (words.empty() ? "" : " ") + pieces_[i].text;
  }
  const bool by_mark = last + 1 < name && !is(name - 1, "const");
  // "a * b" and "a & b" may be operations: of a type that is not known, only "T& x" is a declaration.
  const bool is_known = last != at || short_type(words) != words || words == "auto";
  const auto touches_type = [&] {
    return !is(name - 1, "*") && pieces_[name - 1].first == pieces_[name - 2].last &&
           pieces_[name - 1].last < pieces_[name].first;
  };
  if (by_mark && !is_known && !touches_type()) return "";
  return words.empty() ? "" : short_type(words) + (by_mark && is(name - 1, "*") ? " *" : "");
}

bool Code::declares(std::size_t at) const {
  const std::size_t next = at + 1;
  const bool goes_on = is(next, "=") || is(next, ";") || is(next, ",") || is(next, ")") || is(next, "(") ||
                       is(next, "{") || is(next, "[") || is(next, ":");
  return goes_on && !type_before(at).empty();
}

/// Where the block ends that a name is declared in, or the loop, branch or lambda that it is declared for.
std::size_t Code::scope_end(std::size_t name, const Definition& definition) const {
  if (name < definition.body) return definition.last;
  std::size_t open = enclosing(name);
  if (open != npos && is(open, "[")) open = enclosing(open);
  if (open == npos || open < definition.body) return definition.last;
  const std::size_t close = partner(open);
  if (is(open, "{")) return close;
  std::size_t end = close + 1;
  while (end < definition.last && !is(end, "{") && !is(end, ";"))
    end = partner(end) > end ? partner(end) + 1 : end + 1;
  return std::max(end, partner(end));
}

std::vector<Code::Name> Code::names(const Definition& definition) const {
  std::vector<Name> all;
  const auto add = [&](std::size_t at, const std::string& type) {
    all.push_back({pieces_[at].text, type, std::max(at + 1, definition.body), scope_end(at, definition)});
  };
  for (std::size_t i = definition.first; i < definition.last; ++i) {
    if (is(i, "auto")) {
      std::size_t open = i + 1;
      while (is(open, "&") || is(open, "&&")) ++open;
      if (is(open, "[")) {
        for (std::size_t name = open + 1; name < partner(open); name += 2) add(name, "auto");
      }
    }
    if (!declares(i) || i + 2 == definition.body) continue;  // a variable's own name
    const std::string type = type_before(i);
    add(i, type);
    if (i < definition.body) continue;
    // More names behind commas, outside the brackets of parameters.
    for (std::size_t at = i + 1; at < definition.last && !is(at, ";") && partner(at) >= at; ++at) {
      if (is(at, ",") && at + 2 < definition.last && pieces_[at + 1].is_word() &&
          (is(at + 2, "=") || is(at + 2, ",") || is(at + 2, ";")))
        add(at + 1, type);
      if (partner(at) > at) at = partner(at);
    }
  }
  return all;
}

}  // namespace course::program
