#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.hpp"

namespace course::program {

/// A word, a number, a text or a whole operator of a source.
struct Piece {
  Token::Kind kind;
  std::string text;
  std::size_t first, last;  ///< its characters in the source, [first, last)
  bool is(std::string_view other) const { return text == other; }
  bool is_word() const { return kind == Token::Kind::Word; }
};

/// A statement, [first, last) among the pieces, and the statements inside it, list by list.
struct Statement {
  std::size_t first = 0, last = 0;
  std::vector<std::vector<Statement>> bodies = {};
  bool is_simple() const { return bodies.empty(); }
};

/// A function, or a variable outside all functions.
struct Definition {
  std::string name;
  std::size_t first = 0, body = 0,
              last = 0;  ///< among the pieces: where it, and what it does, begins and ends
  std::vector<Statement> statements = {};
};

/// What the tokens of a C++ source say of its structure, without a compiler's knowledge of names and types.
class Code {
 public:
  /// A source whose brackets do not match has no definitions.
  explicit Code(std::string source);

  const std::string& source() const { return source_; }
  const std::vector<Piece>& pieces() const { return pieces_; }
  const std::vector<Definition>& definitions() const { return definitions_; }

  /// The source's own characters from one piece to before another.
  std::string text(std::size_t first, std::size_t last) const;
  /// The bracket that closes, or opens, with this one: ( ) [ ] { }. Itself where it is no bracket.
  std::size_t partner(std::size_t at) const;

  /// The bracket that opens the condition of an if, for, while or switch.
  std::size_t condition(std::size_t at) const;

  /// Where the operand ends that begins here, or begins that ends here: a name, number or bracket with all
  /// calls, indices and members behind it. `at` itself where none does.
  std::size_t operand_end(std::size_t at) const;
  std::size_t operand_begin(std::size_t end) const;

  /// What stands between the commas of a call's brackets, of which the opening one is given.
  struct Range {
    std::size_t first, last;
  };
  std::vector<Range> arguments(std::size_t open) const;

  /// A name that a definition declares, where it is to be had, [first, last), and its type in short: "real",
  /// "integer", or its words.
  struct Name {
    std::string name, type;
    std::size_t first, last;
    bool is_at(std::size_t at) const { return first <= at && at < last; }
  };
  std::vector<Name> names(const Definition& definition) const;

  /// Whether a piece is the name in its own declaration.
  bool declares(std::size_t at) const;

  /// The innermost bracket that is open there; npos where none is.
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  std::size_t enclosing(std::size_t at) const { return enclosing_[at]; }

 private:
  void cut_into_pieces();
  bool match_brackets();
  std::size_t scope_end(std::size_t name, const Definition& definition) const;
  void find_definitions();
  std::size_t statement(std::size_t at, std::size_t end, std::vector<Statement>& list) const;
  std::vector<Statement> statements(std::size_t first, std::size_t last) const;
  void lambdas(Statement& statement) const;
  bool begins_lambda(std::size_t brace, std::size_t first) const;
  std::string type_before(std::size_t name) const;
  bool is(std::size_t at, std::string_view text) const { return at < pieces_.size() && pieces_[at].is(text); }

  std::string source_;
  std::vector<Piece> pieces_;
  std::map<std::size_t, std::size_t> partners_;
  std::vector<std::size_t> enclosing_;
  std::vector<Definition> definitions_;
};

}  // namespace course::program
