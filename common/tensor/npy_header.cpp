#include "tensor/npy_header.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <string_view>

namespace course::npy {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr Index kMaxHeaderBytes = 65535;  // what format 1.0 can hold; a plain array's header takes about 100

/// Parses the header's Python dictionary, for example
/// {'descr': '<f4', 'fortran_order': False, 'shape': (12, 512, 32), }.
class HeaderParser {
 public:
  HeaderParser(const fs::path& path, std::string_view padded)
      : path_(path), text_(padded.substr(0, padded.find_last_not_of(kBlanks) + 1)), rest_(text_) {}

  Header parse() {
    Header header;
    std::set<std::string_view> keys;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      if (!keys.insert(key).second) reject("has the key " + quoted(key) + " twice, expected it once");
      expect(':');
      value(key, header);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!rest_.empty()) reject("goes on with " + quoted(rest_) + ", expected its end");
    if (keys.size() != 3) reject("lacks a key, expected 'descr', 'fortran_order' and 'shape'");
    return header;
  }

 private:
  [[noreturn]] void reject(const std::string& problem) const {
    fail(path_, "the header " + quoted(text_) + " " + problem);
  }

  [[noreturn]] void reject_rest(const std::string& expected) const {
    reject("has " + quoted(rest_) + ", expected " + expected);
  }

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size())); }

  bool accept(char wanted) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) reject_rest(quoted({&wanted, 1}));
  }

  bool accept_word(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void value(std::string_view key, Header& header) {
    if (key == "descr") {
      dtype(header);
    } else if (key == "fortran_order") {
      header.fortran_order = boolean();
    } else if (key == "shape") {
      header.shape = shape();
    } else {
      reject("has the key " + quoted(key) + ", expected 'descr', 'fortran_order' and 'shape'");
    }
  }

  /// A string in single or double quotes. The strings of a header hold no escapes.
  std::string_view string() {
    skip_blanks();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    const std::size_t end = rest_.find(quote, 1);
    if ((quote != '\'' && quote != '"') || end == std::string_view::npos) reject_rest("a quoted string");
    const std::string_view content = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return content;
  }

  void dtype(Header& header) {
    skip_blanks();
    const std::string expected = "float16, float32 or float64 ('<f2', '<f4', '<f8' or with '>')";
    if (rest_.starts_with('[')) reject("has a structured dtype, expected " + expected);
    const std::string_view descr = string();
    const bool known = descr.size() == 3 && (descr[0] == '<' || descr[0] == '>') && descr[1] == 'f' &&
                       (descr[2] == '2' || descr[2] == '4' || descr[2] == '8');
    if (!known) fail(path_, "has the dtype " + quoted(descr) + ", expected " + expected);
    header.little_endian = descr[0] == '<';
    header.item_bytes = descr[2] - '0';
  }

  bool boolean() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    reject_rest("True or False");
  }

  /// A tuple of extents: (), (3,), (3, 4) or (3, 4, ). In Python (3) is a number.
  Shape shape() {
    Shape extents;
    expect('(');
    while (!accept(')')) {
      extents.push_back(extent());
      if (accept(',')) continue;
      if (extents.size() == 1) reject_rest("',' after the only extent of a shape");
      expect(')');
      break;
    }
    if (static_cast<Index>(extents.size()) > kMaxAxes) {
      fail(path_,
           "has " + std::to_string(extents.size()) + " axes, expected at most " + std::to_string(kMaxAxes));
    }
    return extents;
  }

  Index extent() {
    skip_blanks();
    Index number = 0;
    const char* const end = rest_.data() + rest_.size();
    const auto [stop, error] = std::from_chars(rest_.data(), end, number);
    const bool octal_looking = rest_.size() > 1 && rest_[0] == '0' && stop - rest_.data() > 1;
    if (error != std::errc() || rest_.front() == '-' || octal_looking) {
      reject_rest("an extent from 0 to " + std::to_string(std::numeric_limits<Index>::max()));
    }
    rest_.remove_prefix(stop - rest_.data());
    return number;
  }

  static constexpr std::string_view kBlanks = " \t\n\r";

  const fs::path& path_;
  std::string_view text_;
  std::string_view rest_;
};

}  // namespace

std::string dtype_name(const Header& header) {
  return "float" + std::to_string(8 * header.item_bytes);
}

Header read_header(File& file, Index& remaining) {
  std::array<unsigned char, 12> start{};  // magic, version (major, minor), header length in 2 or 4 bytes
  const Index magic_bytes = kMagic.size();
  const auto take = [&](unsigned char* bytes, Index count, const std::string& what) {
    if (count > remaining) {
      fail(file.path(), "ends inside its " + what + ", expected " + std::to_string(count) +
                            " more bytes where there are " + std::to_string(remaining));
    }
    file.read(bytes, count);
    remaining -= count;
  };
  take(start.data(), magic_bytes + 2, "first 8 bytes, which name the format");
  if (!std::equal(kMagic.begin(), kMagic.end(), start.begin(),
                  [](char a, unsigned char b) { return static_cast<unsigned char>(a) == b; })) {
    fail(file.path(), "is not a .npy file: it begins with " +
                          quoted({reinterpret_cast<const char*>(start.data()), kMagic.size()}) +
                          ", expected '\\x93NUMPY'");
  }
  const int major = start[6];
  const int minor = start[7];
  if (major < 1 || major > 3 || minor != 0) {
    fail(file.path(), "has the format version " + std::to_string(major) + "." + std::to_string(minor) +
                          ", expected 1.0, 2.0 or 3.0");
  }
  const Index length_bytes = major == 1 ? 2 : 4;
  take(start.data() + 8, length_bytes, "header length");
  Index header_bytes = 0;
  for (Index i = length_bytes - 1; i >= 0; --i) header_bytes = header_bytes << 8 | start[8 + i];
  if (header_bytes > kMaxHeaderBytes) {
    fail(file.path(), "has a header of " + std::to_string(header_bytes) + " bytes, expected at most " +
                          std::to_string(kMaxHeaderBytes));
  }
  std::string text(header_bytes, '\0');
  take(reinterpret_cast<unsigned char*>(text.data()), header_bytes, "header");
  return HeaderParser(file.path(), text).parse();
}

std::string header_text(Index item_bytes, const Shape& shape) {
  std::string extents;
  for (const Index extent : shape) extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
  if (shape.size() == 1) extents += ",";
  std::string dictionary = "{'descr': '<f" + std::to_string(item_bytes) +
                           "', 'fortran_order': False, 'shape': (" + extents + "), }";
  constexpr std::size_t kAlignment = 64;
  const std::size_t prefix = kMagic.size() + 4;  // version and header length, two bytes each
  const std::size_t used = prefix + dictionary.size() + 1;
  dictionary.append((kAlignment - used % kAlignment) % kAlignment, ' ').append(1, '\n');
  const char low = static_cast<char>(dictionary.size() & 0xff);
  const char high = static_cast<char>(dictionary.size() >> 8);
  return std::string(kMagic) + std::string{1, 0, low, high} + dictionary;
}

}  // namespace course::npy
