#include "course/locate/small_edits.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace course::program {

namespace {

using Kind = SmallEdit::Kind;
using Words = std::vector<std::string>;

/// What is written for what, of operators and names that mean neighbouring things.
const std::map<std::string, Words> taken_for{{"+", {"-", "*"}},
                                             {"-", {"+", "/"}},
                                             {"*", {"/", "+"}},
                                             {"/", {"*"}},
                                             {"<", {"<=", ">"}},
                                             {"<=", {"<", ">="}},
                                             {">", {">=", "<"}},
                                             {">=", {">", "<="}},
                                             {"==", {"!=", "<=", ">="}},
                                             {"!=", {"=="}},
                                             {"&&", {"||"}},
                                             {"||", {"&&"}},
                                             {"=", {"+=", "*="}},
                                             {"+=", {"=", "-=", "*="}},
                                             {"-=", {"+=", "="}},
                                             {"*=", {"/=", "+=", "="}},
                                             {"/=", {"*="}},
                                             {"++", {"--"}},
                                             {"continue", {"break", "return"}},
                                             {"break", {"continue", "return"}},
                                             {"return", {"continue", "break"}},
                                             {"min", {"max", "lowest", "infinity"}},
                                             {"max", {"min", "infinity", "lowest"}},
                                             {"lowest", {"infinity", "max", "min"}},
                                             {"infinity", {"max", "lowest"}},
                                             {"exp", {"exp2", "log", "expm1"}},
                                             {"exp2", {"exp"}},
                                             {"log", {"log1p", "exp", "log2", "log10"}},
                                             {"log2", {"log"}},
                                             {"log10", {"log"}},
                                             {"log1p", {"log"}},
                                             {"expm1", {"exp"}},
                                             {"true", {"false"}},
                                             {"false", {"true"}},
                                             {"int", {"float", "double", "std::int64_t"}},
                                             {"float", {"int", "double"}},
                                             {"MPI_FLOAT", {"MPI_BYTE", "MPI_INT", "MPI_DOUBLE"}},
                                             {"MPI_BYTE", {"MPI_FLOAT"}},
                                             {"MPI_DOUBLE", {"MPI_FLOAT"}},
                                             {"MPI_INT", {"MPI_FLOAT"}},
                                             {"MPI_MAX", {"MPI_SUM", "MPI_MIN"}},
                                             {"MPI_SUM", {"MPI_MAX"}},
                                             {"__syncwarp", {"__syncthreads"}},
                                             {"rows", {"cols", "row"}},
                                             {"cols", {"rows"}},
                                             {"x", {"y"}},
                                             {"y", {"x"}}};

/// Calls that wait, whatever they are called.
bool waits(const std::string& name) {
  return std::ranges::any_of(std::array{"Wait", "Sync", "sync", "Barrier"},
                             [&](const char* part) { return name.find(part) != std::string::npos; });
}

/// The small edits of one function.
class Editor {
 public:
  Editor(const Code& code, const Definition& definition, int rank, std::vector<SmallEdit>& edits)
      : code_(code),
        pieces_(code.pieces()),
        here_(definition),
        rank_(rank),
        edits_(edits),
        names_(code.names(definition)) {}

  void run() {
    lists(here_.statements);
    for (std::size_t i = here_.body; i < here_.last; ++i) {
      neighbours(i);
      number(i);
      sign(i);
      one_more_or_less(i);
      term(i);
      brackets(i);
      call(i);
      other_name(i);
      other_factor(i);
    }
    names_throughout();
    missing_waits();
  }

 private:
  bool is(std::size_t at, std::string_view text) const { return at < here_.last && pieces_[at].is(text); }

  void add(int rank, std::size_t first, std::size_t last, std::string text, Kind kind = Kind::Other) {
    const std::size_t from = pieces_[first].first;
    const std::size_t to = last > first ? pieces_[last - 1].last : from;
    edits_.push_back({kind, from, to, std::move(text), rank_ + rank});
  }

  void insert(int rank, std::size_t before, const std::string& text) {
    add(rank, before, before, text, Kind::Missing);
  }

  void append(int rank, std::size_t behind, const std::string& text) {
    const std::size_t at = pieces_[behind].last;
    edits_.push_back({Kind::Missing, at, at, text, rank_ + rank});
  }

  // ---- statements ----

  std::string text(const Statement& statement) const { return code_.text(statement.first, statement.last); }

  void lists(const std::vector<Statement>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Statement& one = list[i];
      remove(one);
      exchange_names(one);
      if (i + 1 < list.size()) exchange(one, list[i + 1]);
      if (i + 2 < list.size()) late(list, i);
      for (const std::vector<Statement>& body : one.bodies) {
        out_of(one, body);
        lists(body);
      }
      into(list, i);
    }
    guards(list);
  }

  bool declares(const Statement& statement) const {
    for (std::size_t i = statement.first; i < std::min(statement.first + 12, statement.last); ++i) {
      if (code_.declares(i)) return true;
    }
    return false;
  }

  void remove(const Statement& one) {
    if (!declares(one)) add(1, one.first, one.last, ";");
    if (!is(one.first, "if")) return;
    const std::size_t open = code_.condition(one.first), close = code_.partner(open);
    add(1, open + 1, close, "true");
    add(1, open + 1, close, "!(" + code_.text(open + 1, close) + ")");
    std::size_t alternative = close + 1;
    while (alternative < one.last && !is(alternative, "else"))
      alternative = std::max(alternative + 1, code_.partner(alternative) + 1);
    if (alternative < one.last) add(2, alternative, one.last, "");
  }

  /// Two names, or two members, for each other wherever they stand in one statement: a line that was copied
  /// and changed in part.
  void exchange_names(const Statement& one) {
    if (!one.is_simple()) return;
    std::map<std::string, std::string> types;
    for (std::size_t i = one.first; i < one.last; ++i) {
      const std::string type = is_member(i) ? "" : type_at(pieces_[i].text, i);
      if (type.empty()) continue;
      types[pieces_[i].text] = type;
      const bool has_member = (is(i + 1, ".") || is(i + 1, "->")) && !is(i + 3, "(");
      if (has_member) types[code_.text(i, i + 3)] = "a member";
    }
    for (const auto& [name, type] : types) {
      for (const auto& [other, its] : types) {
        if (name < other && type == its) exchange_in(one, name, other);
      }
    }
  }

  void exchange_in(const Statement& one, const std::string& name, const std::string& other) {
    std::string text;
    std::size_t done = pieces_[one.first].first;
    for (std::size_t i = one.first; i < one.last; ++i) {
      const std::size_t length = name.find_first_of(".>") == std::string::npos ? 1 : 3;
      const std::string here = is_member(i) ? "" : code_.text(i, std::min(i + length, one.last));
      if (here != name && here != other) continue;
      text += code_.source().substr(done, pieces_[i].first - done) + (here == name ? other : name);
      done = pieces_[i + length - 1].last;
    }
    add(2, one.first, one.last, text + code_.source().substr(done, pieces_[one.last - 1].last - done));
  }

  void exchange(const Statement& one, const Statement& next) {
    add(2, one.first, next.last, text(next) + " " + text(one), Kind::Order);
  }

  /// A statement that belongs two or three places further down, or up.
  void late(const std::vector<Statement>& list, std::size_t i) {
    for (std::size_t to = i + 2; to < std::min(list.size(), i + 4); ++to) {
      const std::string between = code_.text(list[i + 1].first, list[to].last);
      add(4, list[i].first, list[to].last, between + " " + text(list[i]), Kind::Order);
      add(4, list[i].first, list[to].last,
          text(list[to]) + " " + code_.text(list[i].first, list[to - 1].last), Kind::Order);
    }
  }

  /// The first or last statement of a loop or branch belongs before or behind it.
  void out_of(const Statement& one, const std::vector<Statement>& body) {
    if (body.empty() || !is(body.back().last, "}")) return;
    const auto without = [&](const Statement& left_out) {
      return code_.text(one.first, left_out.first) + ";" + code_.text(left_out.last, one.last);
    };
    add(2, one.first, one.last, text(body.front()) + " " + without(body.front()), Kind::Order);
    add(2, one.first, one.last, without(body.back()) + " " + text(body.back()), Kind::Order);
  }

  /// The statement before or behind a loop or branch belongs into it, first or last.
  void into(const std::vector<Statement>& list, std::size_t i) {
    const Statement& one = list[i];
    if (one.is_simple() || one.bodies.back().empty()) return;
    const std::vector<Statement>& body = one.bodies.back();
    const std::size_t open = body.front().first, close = body.back().last;
    if (!is(close, "}")) return;
    if (i > 0)
      add(3, list[i - 1].first, one.last,
          code_.text(one.first, open) + " " + text(list[i - 1]) + " " + code_.text(open, one.last),
          Kind::Order);
    if (i + 1 < list.size())
      add(3, one.first, list[i + 1].last,
          code_.text(one.first, close) + " " + text(list[i + 1]) + " " + code_.text(close, one.last),
          Kind::Order);
  }

  /// Guards and waits that stand elsewhere in the function, once more.
  void guards(const std::vector<Statement>& list) {
    if (list.empty()) return;
    for (const std::string& donor : donors()) {
      for (const Statement& statement : list) insert(4, statement.first, donor + " ");
      append(4, list.back().last - 1, " " + donor);
    }
  }

  const std::vector<std::string>& donors() {
    if (!donors_found_) find_donors(here_.statements);
    donors_found_ = true;
    return donors_;
  }

  void find_donors(const std::vector<Statement>& list) {
    for (const Statement& one : list) {
      const bool call = one.is_simple() && is(one.first + 1, "(") && waits(pieces_[one.first].text);
      const bool guard = is(one.first, "if") && one.last - one.first < 20 && leaves(one);
      if ((call || guard) && std::ranges::count(donors_, text(one)) == 0 && donors_.size() < 6)
        donors_.push_back(text(one));
      for (const std::vector<Statement>& body : one.bodies) find_donors(body);
    }
  }

  bool leaves(const Statement& one) const {
    for (std::size_t i = one.first; i < one.last; ++i) {
      if (is(i, "continue") || is(i, "return") || is(i, "break")) return true;
    }
    return false;
  }

  /// Of a request that is declared here, and in code of a device.
  void missing_waits() {
    Words waits;
    for (const auto& [name, type, first, last] : names_) {
      if (type == "MPI_Request")
        waits.insert(waits.end(), {"MPI_Wait(&" + name + ", MPI_STATUS_IGNORE);",
                                   "MPI_Waitall(static_cast<int>(std::size(" + name + ")), " + name +
                                       ", MPI_STATUSES_IGNORE);"});
      if (type.ends_with("MPI_Request >"))
        waits.push_back("MPI_Waitall(static_cast<int>(" + name + ".size()), " + name +
                        ".data(), MPI_STATUSES_IGNORE);");
    }
    for (std::size_t i = here_.first; i < here_.body; ++i) {
      if (is(i, "__global__") || is(i, "__device__")) waits.push_back("__syncthreads();");
    }
    for (const std::string& wait : waits) everywhere(here_.statements, wait);
  }

  void everywhere(const std::vector<Statement>& list, const std::string& added) {
    for (const Statement& one : list) {
      append(5, one.last - 1, " " + added);
      for (const std::vector<Statement>& body : one.bodies) everywhere(body, added);
    }
  }

  // ---- operators, numbers, signs ----

  bool begins_operand(std::size_t at) const {
    if (at == 0) return true;
    const Piece& before = pieces_[at - 1];
    return before.is("return") ||
           (before.kind == Token::Kind::Mark && !before.is(")") && !before.is("]") && !before.is("}"));
  }

  void neighbours(std::size_t at) {
    const auto known = taken_for.find(pieces_[at].text);
    if (known == taken_for.end()) return;
    const bool word = pieces_[at].is_word();
    if (!word && begins_operand(at)) return;
    const bool shifts = is(at + 1, pieces_[at].text) || is(at - 1, pieces_[at].text) || is(at + 1, ">=");
    if ((is(at, "<") || is(at, ">")) && shifts) return;
    if (is(at, "=") && code_.declares(at - 1)) return;
    for (const std::string& other : known->second) add(1, at, at + 1, other);
    if (is(at, "return") && !is(at + 1, ";")) {
      std::size_t end = at;
      while (end < here_.last && !is(end, ";"))
        end = code_.partner(end) > end ? code_.partner(end) + 1 : end + 1;
      for (const char* other : {"continue", "break"}) add(2, at, end, other);
    }
  }

  void number(std::size_t at) {
    const std::string& text = pieces_[at].text;
    if (pieces_[at].kind != Token::Kind::Number) return;
    std::set<std::string> others;
    if (text.find_first_not_of("0123456789") == std::string::npos && text.size() < 7) {
      const int value = std::stoi(text);
      for (const int other : {value + 1, value - 1, 0, 1, 2}) others.insert(std::to_string(other));
    } else {
      others = {"0.0f", "1.0f", "-" + text};
    }
    others.erase(text);
    for (const std::string& other : others) add(2, at, at + 1, other);
    const std::string_view limits = "-std::numeric_limits<float>::infinity()";
    if (text.find_first_not_of("0.f") == std::string::npos && text != "0")
      add(3, at, at + 1, std::string(limits));
  }

  void sign(std::size_t at) {
    if (is(at, "-") && begins_operand(at)) add(1, at, at + 1, "");
    if (is(at, "!")) add(1, at, at + 1, "");
    const std::size_t end = code_.operand_end(at);
    if (end == at || !begins_operand(at) || is(at - 1, ".") || is(at - 1, "->") || is(at - 1, "::")) return;
    const bool may_be_negative = is(at - 1, "(") || is(at - 1, ",") || is(at - 1, "=") ||
                                 is(at - 1, "return") || is(at - 1, "+=") || is(at - 1, "?") ||
                                 is(at - 1, ":");
    if (may_be_negative && is_expression(at, end) && wanted(at) != Wanted::Integer) insert(3, at, "-");
    if (is(at - 1, "&&") || is(at - 1, "||") || (is(at - 1, "(") && at > 1 && is(at - 2, "if")))
      insert(2, at, "!");
  }

  bool is_expression(std::size_t first, std::size_t end) const {
    return end > first && !code_.declares(first) && !is(first, "return") && !is(first, "const") &&
           !is(first, "if") && !is(first, "for") && !is(first, "while") && !is(first, "auto");
  }

  /// What kind of number is wanted at a place.
  enum class Wanted { Integer, Real, Either };

  Wanted wanted(std::size_t at) const {
    for (std::size_t open = code_.enclosing(at); open != Code::npos && open >= here_.body;
         open = code_.enclosing(open)) {
      if (is(open, "[")) return Wanted::Integer;
      if (!is(open, "(")) break;
      const std::string& callee = pieces_[open - 1].text;
      if (callee == "for" || callee.starts_with("MPI_") || callee.starts_with("nccl") || is_member(open - 1))
        return Wanted::Integer;
      if (callee == "if" || callee == "while") return Wanted::Either;
      if (const std::string type = type_at(callee, open); !type.empty() && type != "auto")
        return Wanted::Integer;
      if (callee == "exp" || callee == "log" || callee == "sqrt") return Wanted::Real;
    }
    std::size_t begin = at;
    while (begin > here_.body && !is(begin - 1, ";") && !is(begin - 1, "{") && !is(begin - 1, "}")) --begin;
    for (std::size_t i = begin; i < at; ++i) {
      if (!is(i, "=") && !is(i, "+=") && !is(i, "-=") && !is(i, "*=") && !is(i, "/=")) continue;
      const std::string type = type_at(pieces_[i - 1].text, i + 1);
      return type == "integer" ? Wanted::Integer : type == "auto" ? Wanted::Either : Wanted::Real;
    }
    return Wanted::Either;
  }

  /// Of an operand that is a bound, an index, a count or a rank.
  void one_more_or_less(std::size_t at) {
    const std::size_t end = code_.operand_end(at);
    if (end == at || !begins_operand(at) || is(at - 1, ".") || is(at - 1, "::") || is(at - 1, "->")) return;
    if (!is_expression(at, end) || pieces_[at].kind == Token::Kind::Number) return;
    const std::string type = end == at + 1 ? type_at(pieces_[at].text, at) : "";
    if (!type.empty() && type != "integer" && type != "auto") return;
    const bool ends = is(end, ")") || is(end, "]") || is(end, ";") || is(end, ",") || is(end, "<") ||
                      is(end, "<=") || is(end, ">") || is(end, ">=") || is(end, "+") || is(end, "-") ||
                      is(end, "==");
    if (!ends || wanted(at) == Wanted::Real) return;
    append(3, end - 1, " + 1");
    append(3, end - 1, " - 1");
  }

  /// An operator with what stands on one side of it: too much.
  void term(std::size_t at) {
    static const std::array<std::string_view, 7> joining{"+", "-", "*", "/", "%", "&&", "||"};
    if (std::ranges::count(joining, pieces_[at].text) == 0 || begins_operand(at)) return;
    const std::size_t end = code_.operand_end(at + 1);
    const std::size_t begin = code_.operand_begin(at);
    if (end > at + 1) add(2, at, end, "");
    if (begin < at && end > at + 1) {
      add(2, begin, at + 1, is(at, "-") ? "-" : "");
      if (is(at, "-") || is(at, "/"))
        add(2, begin, end, code_.text(at + 1, end) + " " + pieces_[at].text + " " + code_.text(begin, at),
            Kind::Order);
    }
    if (is(at, "%") && end > at + 1) steps_back(at, end);
  }

  /// (rank + 1) % size, for (rank - 1 + size) % size.
  void steps_back(std::size_t at, std::size_t end) {
    if (!is(at - 1, ")")) return;
    const std::size_t open = code_.partner(at - 1);
    const std::string size = code_.text(at + 1, end);
    for (std::size_t i = open + 1; i < at - 1; ++i) {
      if (is(i, "+") && code_.operand_end(i + 1) == at - 1)
        add(2, i, at - 1, "- " + code_.text(i + 1, at - 1) + " + " + size);
      if (is(i, "-")) add(2, i, i + 1, "+ " + size + " - ");
    }
  }

  /// f(a + b) for f(a) + b and a + f(b), (a + b) * c for a + b * c, and the other way.
  void brackets(std::size_t at) {
    static const std::array<std::string_view, 5> joining{"+", "-", "*", "/", "%"};
    if (is(at, "(") && code_.partner(at) > at) {
      const std::size_t close = code_.partner(at);
      const std::size_t begin = code_.operand_begin(at);
      for (std::size_t i = at + 1; i < close; ++i) {
        if (code_.partner(i) > i) {
          i = code_.partner(i);
          continue;
        }
        if (std::ranges::count(joining, pieces_[i].text) == 0 || begins_operand(i)) continue;
        const std::string left = code_.text(at + 1, i), right = code_.text(i + 1, close),
                          name = code_.text(begin, at), sign = " " + pieces_[i].text + " ";
        add(3, begin, close + 1, name + "(" + left + ")" + sign + right);
        add(3, begin, close + 1, left + sign + name + "(" + right + ")");
      }
      if (begin == at) add(3, at, close + 1, code_.text(at + 1, close));
    }
    if (std::ranges::count(joining, pieces_[at].text) == 0 || begins_operand(at)) return;
    const std::size_t begin = code_.operand_begin(at), end = code_.operand_end(at + 1);
    if (begin == at || end == at + 1) return;
    add(4, begin, end, "(" + code_.text(begin, end) + ")");
    if (is(at - 1, ")") && begin < code_.partner(at - 1))
      add(3, begin, end,
          code_.text(begin, at - 1) + " " + pieces_[at].text + " " + code_.text(at + 1, end) + ")");
  }

  // ---- calls and names ----

  void call(std::size_t at) {
    if (!is(at, "(") || at == 0 || !pieces_[at - 1].is_word()) return;
    if (is(at - 1, "if") || is(at - 1, "for") || is(at - 1, "while")) return;
    const std::vector<Code::Range> all = code_.arguments(at);
    const std::size_t begin = code_.operand_begin(at), end = code_.partner(at) + 1;
    if (all.size() == 1) add(2, begin, end, "(" + code_.text(at + 1, end - 1) + ")");
    if (all.size() == 2) {
      for (const Code::Range& one : all) add(3, begin, end, "(" + code_.text(one.first, one.last) + ")");
    }
    for (std::size_t i = 0; i + 1 < all.size(); ++i)
      add(3, all[i].first, all[i + 1].last,
          code_.text(all[i + 1].first, all[i + 1].last) + ", " + code_.text(all[i].first, all[i].last),
          Kind::Order);
  }

  /// The type of the name that is to be had there; empty where none is.
  std::string type_at(const std::string& name, std::size_t at) const {
    std::string type;
    for (const Code::Name& one : names_) {
      if (one.name == name && one.is_at(at)) type = one.type;  // the innermost comes last
    }
    return type;
  }

  /// The names of this type that are to be had there; a type that is not written may be any.
  std::set<std::string> like(const std::string& type, std::size_t at) const {
    std::set<std::string> names;
    for (const Code::Name& one : names_) {
      if (one.is_at(at) && (one.type == type || one.type == "auto" || type == "auto")) names.insert(one.name);
    }
    return names;
  }

  bool is_member(std::size_t at) const { return is(at - 1, ".") || is(at - 1, "->"); }

  void other_name(std::size_t at) {
    if (!pieces_[at].is_word() || code_.declares(at)) return;
    if (is_member(at)) {
      for (const std::string& other : members(is(at + 1, "("))) {
        if (other != pieces_[at].text) add(3, at, at + 1, other);
      }
      return;
    }
    const std::string type = type_at(pieces_[at].text, at);
    if (type.empty()) return;
    for (const std::string& other : like(type, at)) {
      const bool written = type != "auto" && type_at(other, at) != "auto";
      if (other != pieces_[at].text) add(written ? 3 : 5, at, at + 1, other);
    }
  }

  /// What stands behind a dot in this function.
  std::set<std::string> members(bool called) const {
    std::set<std::string> all;
    for (std::size_t i = here_.body; i + 1 < here_.last; ++i) {
      const bool is_call = is(i + 1, "(") && code_.partner(i + 1) == i + 2;
      if (pieces_[i].is_word() && is_member(i) && is_call == called && (called || !is(i + 1, "(")))
        all.insert(pieces_[i].text);
    }
    return all;
  }

  /// A factor or divisor too few, or a term.
  void other_factor(std::size_t at) {
    const std::size_t end = code_.operand_end(at);
    if (end == at || !begins_operand(at) || is_member(at) || is(at - 1, "::") || !is_expression(at, end))
      return;
    const bool ends =
        is(end, ";") || is(end, ")") || is(end, "+") || is(end, "-") || is(end, ",") || is(end, "*");
    if (!ends || pieces_[at].kind == Token::Kind::Number) return;
    if (wanted(at) == Wanted::Integer) return;
    const std::string type = end == at + 1 ? type_at(pieces_[at].text, at) : "";
    if (type == "integer") return;
    for (const std::string& name : like("real", at)) {
      if (type_at(name, at) != "real") continue;
      for (const char* sign : {" * ", " / "}) append(6, end - 1, sign + name);
      for (const char* sign : {" - ", " + "}) append(7, end - 1, sign + name);
    }
  }

  /// A name for another wherever it is used, and two for each other.
  void names_throughout() {
    std::map<std::string, std::string> types;
    for (const Code::Name& one : names_) types[one.name] = one.type;
    for (const auto& [name, type] : types) {
      for (const auto& [other, its] : types) {
        if (name == other || type != its || type == "auto") continue;
        throughout({{name, other}});
        if (name < other) throughout({{name, other}, {other, name}});
      }
    }
  }

  void throughout(const std::map<std::string, std::string>& renamed) {
    std::set<std::string> met;  // where a name is first met, it is declared
    std::string text;
    std::size_t begin = 0, done = 0, count = 0;
    for (std::size_t i = here_.first; i < here_.last; ++i) {
      const auto other = renamed.find(pieces_[i].text);
      if (other == renamed.end() || is_member(i) || met.insert(pieces_[i].text).second) continue;
      if (count++ == 0)
        begin = pieces_[i].first;
      else
        text += code_.source().substr(done, pieces_[i].first - done);
      text += other->second;
      done = pieces_[i].last;
    }
    if (count >= 2) edits_.push_back({Kind::Other, begin, done, text, rank_ + 4});
  }

  const Code& code_;
  const std::vector<Piece>& pieces_;
  const Definition& here_;
  int rank_;
  std::vector<SmallEdit>& edits_;
  std::vector<Code::Name> names_;
  Words donors_;  ///< whole statements
  bool donors_found_ = false;
};

/// The code of a text, without blanks and comments: two edits with one of these are one.
std::string code_alone(const std::string& source) {
  std::string code;
  for (const Token& token : tokens_of(source)) {
    if (token.is_code()) code += token.text + ' ';
  }
  return code;
}

/// By line of the source, from 0: whether it has a name that the check's words have, too. A name of many
/// lines leads nowhere.
std::vector<bool> lines_of_words(const Code& code, const std::set<std::string>& words) {
  constexpr std::size_t most_lines = 8;
  const std::string& source = code.source();
  std::vector<bool> leads(1 + std::ranges::count(source, '\n'));
  std::map<std::string, std::set<std::size_t>> lines;
  std::size_t line = 0, done = 0;
  for (const Piece& piece : code.pieces()) {
    line += std::count(source.begin() + done, source.begin() + piece.first, '\n');
    done = piece.first;
    if (piece.is_word() && words.contains(piece.text)) lines[piece.text].insert(line);
  }
  for (const auto& [word, its] : lines) {
    for (const std::size_t one : its) leads[one] = leads[one] || its.size() <= most_lines;
  }
  return leads;
}

/// How far each definition is from the function: 0 for itself, 1 for what it names, and so on; those that it
/// does not reach are far.
std::vector<int> distances(const Code& code, const std::string& function) {
  constexpr int far = 5;
  const std::vector<Definition>& all = code.definitions();
  std::vector<int> distances(all.size(), far);
  const auto names = [&](const Definition& from, const std::string& name) {
    return std::any_of(code.pieces().begin() + static_cast<std::ptrdiff_t>(from.body),
                       code.pieces().begin() + static_cast<std::ptrdiff_t>(from.last),
                       [&](const Piece& piece) { return piece.text == name; });
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name.starts_with(function)) distances[i] = 0;
  }
  for (int step = 0; step + 1 < far; ++step) {
    for (std::size_t from = 0; from < all.size(); ++from) {
      for (std::size_t to = 0; distances[from] == step && to < all.size(); ++to) {
        if (names(all[from], all[to].name)) distances[to] = std::min(distances[to], step + 1);
      }
    }
  }
  return distances;
}

}  // namespace

std::string SmallEdit::applied_to(const std::string& source) const {
  return source.substr(0, first) + text + source.substr(last);
}

std::vector<SmallEdit> small_edits(const Code& code, const std::string& function,
                                   const std::set<std::string>& words) {
  constexpr int sooner = 4;
  std::vector<SmallEdit> all;
  const std::vector<int> far = distances(code, function);
  for (std::size_t i = 0; i < far.size(); ++i)
    Editor(code, code.definitions()[i], far[i] == 0 ? -sooner : 2 * far[i], all).run();
  const std::vector<bool> leads = lines_of_words(code, words);
  for (SmallEdit& edit : all) {
    const auto first = code.source().begin();
    if (leads[std::count(first, first + edit.first, '\n')]) edit.rank -= sooner;
  }
  std::ranges::stable_sort(all, {}, &SmallEdit::rank);
  // By a hash of the whole: two that share one by chance cost one of them.
  const std::hash<std::string> hash;
  std::set<std::size_t> seen{hash(code_alone(code.source()))};
  std::erase_if(all, [&](const SmallEdit& edit) {
    return !seen.insert(hash(code_alone(edit.applied_to(code.source())))).second;
  });
  return all;
}

}  // namespace course::program
