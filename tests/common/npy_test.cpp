#include "tensor/npy.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>

#include "complaint.hpp"

namespace course {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The bytes of a .npy file, put together by hand. `header` is the text after the length.
std::string npy_bytes(const std::string& header, const std::string& data, char major = 1) {
  std::string length;
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) length += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return "\x93NUMPY" + std::string{major, '\0'} + length + header + data;
}

std::string header_of(const std::string& descr, const std::string& shape,
                      const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

/// The bytes of `value` with the highest first.
template <class T>
std::string big_endian(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  if constexpr (std::endian::native == std::endian::little) std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

template <class T>
std::string little_endian(T value) {
  const std::string bytes = big_endian(value);
  return {bytes.rbegin(), bytes.rend()};
}

class Npy : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "npy_test.XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path path(const std::string& name = "x.npy") const { return folder_ / name; }

  fs::path put(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary) << bytes;
    return path();
  }

  /// What reading the file says; it must name the file and stay on one line.
  static std::string read_error(const fs::path& path) {
    return error_of(path, [&] { read_npy<float>(path); });
  }

  template <class Call>
  static std::string error_of(const fs::path& path, Call call) {
    const std::string message = complaint_of<NpyError>(call);
    EXPECT_EQ(message.find(path.string() + ": "), 0u) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }

  std::size_t files_in_folder() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  fs::path folder_;
};

TEST_F(Npy, RoundTripKeepsShapeAndEveryBit) {
  std::mt19937 random(11);
  for (const Shape& shape :
       {Shape{}, {0}, {1}, {7}, {3, 0, 5}, {2, 3}, {4, 61, 32}, {2, 1, 3, 2, 1}, {40001}}) {
    Tensor narrow(shape);
    Tensor64 wide(shape);
    for (float& value : narrow.values()) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    for (double& value : wide.values()) value = std::ldexp(random(), static_cast<int>(random() % 600) - 300);
    write_npy(path("narrow.npy"), narrow);
    write_npy(path("wide.npy"), wide);
    const Tensor narrow_again = read_npy<float>(path("narrow.npy"));
    EXPECT_EQ(narrow_again.shape(), shape);
    for (Index i = 0; i < narrow.size(); ++i) {
      if (std::isnan(narrow[i])) {
        EXPECT_TRUE(std::isnan(narrow_again[i]));
      } else {
        EXPECT_EQ(std::bit_cast<std::uint32_t>(narrow[i]), std::bit_cast<std::uint32_t>(narrow_again[i]));
      }
    }
    EXPECT_EQ(read_npy<double>(path("wide.npy")).values(), wide.values());
    EXPECT_EQ(read_npy<double>(path("narrow.npy")).shape(), shape);
  }
}

// The files in common/data were written by NumPy: what we write is the same to the byte.
TEST_F(Npy, WritesWhatNumPyWrites) {
  const fs::path data = COURSE_DATA_DIR;
  for (const char* name : {"golden/q.npy", "golden/causal_lse.npy"}) {
    write_npy(path(), read_npy<double>(data / name));
    EXPECT_TRUE(bytes_of(path()) == bytes_of(data / name)) << name;
  }
  write_npy(path(), read_npy<float>(data / "minilm/v.npy"));
  EXPECT_TRUE(bytes_of(path()) == bytes_of(data / "minilm/v.npy"));
}

TEST_F(Npy, WritesAHeaderThatNumPyReads) {
  write_npy(path(), Tensor({3}, 1.0f));
  const std::string bytes = bytes_of(path());
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(bytes.find("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } "), 10u);
  EXPECT_EQ(bytes.size(), 128u + 3 * 4);
  EXPECT_EQ(bytes[127], '\n');
  write_npy(path(), Tensor64(Shape{}, 1.0));
  EXPECT_TRUE(mentions(bytes_of(path()), "'<f8', 'fortran_order': False, 'shape': (), }"));
}

TEST_F(Npy, ReadsBothByteOrders) {
  const std::vector<float> expected{1.5f, -2.0f};
  const auto read = [&](const std::string& descr, const std::string& data) {
    return read_npy<float>(put(npy_bytes(header_of(descr, "(2,)"), data))).values();
  };
  EXPECT_EQ(read("<f4", little_endian(1.5f) + little_endian(-2.0f)), expected);
  EXPECT_EQ(read(">f4", big_endian(1.5f) + big_endian(-2.0f)), expected);
  EXPECT_EQ(read("<f8", little_endian(1.5) + little_endian(-2.0)), expected);
  EXPECT_EQ(read(">f8", big_endian(1.5) + big_endian(-2.0)), expected);
  EXPECT_EQ(read("<f2", std::string("\x00\x3e\x00\xc0", 4)), expected);
  EXPECT_EQ(read(">f2", std::string("\x3e\x00\xc0\x00", 4)), expected);
}

TEST_F(Npy, ReadsEveryKindOfFloat16) {
  const auto half = [&](std::uint16_t bits) {
    return read_npy<double>(put(npy_bytes(header_of(">f2", "()"), big_endian(bits))))[0];
  };
  EXPECT_EQ(half(0x0000), 0.0);
  EXPECT_TRUE(std::signbit(half(0x8000)));
  EXPECT_EQ(half(0x0001), std::ldexp(1, -24));     // the smallest subnormal number
  EXPECT_EQ(half(0x03ff), std::ldexp(1023, -24));  // the largest
  EXPECT_EQ(half(0x0400), std::ldexp(1, -14));     // the smallest normal number
  EXPECT_EQ(half(0x3555), 0.333251953125);
  EXPECT_EQ(half(0xfbff), -65504.0);  // the largest magnitude
  EXPECT_EQ(half(0x7c00), std::numeric_limits<double>::infinity());
  EXPECT_EQ(half(0xfc00), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(half(0x7e00)));
}

TEST_F(Npy, ReordersFortranOrder) {
  // The matrix [[0, 1, 2], [10, 11, 12]] column by column.
  std::string data;
  for (const float value : {0, 10, 1, 11, 2, 12}) data += little_endian(value);
  const Tensor matrix = read_npy<float>(put(npy_bytes(header_of("<f4", "(2, 3)", "True"), data)));
  EXPECT_EQ(matrix.shape(), (Shape{2, 3}));
  EXPECT_EQ(matrix.values(), (std::vector<float>{0, 1, 2, 10, 11, 12}));
}

TEST_F(Npy, ReordersFortranOrderOfFourAxes) {
  const Shape shape{2, 3, 4, 5};
  std::string data;  // the value at [a, b, c, d] is abcd in decimal; the first index runs fastest
  for (int d = 0; d < 5; ++d) {
    for (int c = 0; c < 4; ++c) {
      for (int b = 0; b < 3; ++b) {
        for (int a = 0; a < 2; ++a) data += big_endian(1000.0 * a + 100 * b + 10 * c + d);
      }
    }
  }
  const Tensor tensor = read_npy<float>(put(npy_bytes(header_of(">f8", "(2, 3, 4, 5)", "True"), data)));
  ASSERT_EQ(tensor.shape(), shape);
  EXPECT_EQ(tensor[0], 0);
  EXPECT_EQ(tensor[1], 1);                                 // [0, 0, 0, 1]
  EXPECT_EQ(tensor[((1 * 3 + 2) * 4 + 1) * 5 + 3], 1213);  // [1, 2, 1, 3]
  EXPECT_EQ(tensor[119], 1234);
}

TEST_F(Npy, ReadsVersionsTwoAndThree) {
  for (const char major : {'\2', '\3'}) {
    const fs::path file = put(npy_bytes(header_of("<f4", "(1,)"), little_endian(4.0f), major));
    EXPECT_EQ(read_npy<float>(file).values(), std::vector<float>{4.0f});
  }
}

TEST_F(Npy, ReadsHeadersWrittenAnotherWay) {
  for (const std::string header :
       {"{'shape':(1,1),'descr':'<f4','fortran_order':False}",
        "{\"descr\": \"<f4\", \"fortran_order\": True, \"shape\": ( 1 , 1 , ) , }          \n"}) {
    EXPECT_EQ(read_npy<float>(put(npy_bytes(header, little_endian(4.0f)))).shape(), (Shape{1, 1})) << header;
  }
}

TEST_F(Npy, ReadsScalarsAndEmptyShapes) {
  const Tensor scalar = read_npy<float>(put(npy_bytes(header_of("<f4", "()"), little_endian(4.0f))));
  EXPECT_EQ(scalar.shape(), Shape{});
  EXPECT_EQ(scalar[0], 4.0f);
  for (const char* order : {"True", "False"}) {
    const Tensor empty =
        read_npy<float>(put(npy_bytes(header_of("<f4", "(3, 0, 1000000000000)", order), "")));
    EXPECT_EQ(empty.shape(), (Shape{3, 0, 1000000000000}));
  }
}

TEST_F(Npy, RefusesAMissingFile) {
  EXPECT_TRUE(mentions(read_error(path("absent.npy")), "No such file"));
  EXPECT_TRUE(mentions(read_error(path("absent.npy")), "expected a .npy file"));
}

TEST_F(Npy, RefusesWhatIsNoFileWithoutWaiting) {
  EXPECT_TRUE(mentions(read_error(folder_), "is a folder, expected a .npy file"));
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  ::alarm(20);  // ends the test if reading waits for somebody to write
  EXPECT_TRUE(mentions(read_error(path("fifo")), "is a device or a pipe, expected a .npy file"));
  EXPECT_TRUE(mentions(read_error("/dev/zero"), "is a device or a pipe, expected a .npy file"));
  ::alarm(0);
}

TEST_F(Npy, KeepsAMessageOnOneLine) {
  std::ofstream(path("two\nlines.npy")) << "text";
  EXPECT_TRUE(
      mentions(complaint_of<NpyError>([&] { read_npy<float>(path("two\nlines.npy")); }), "two?lines.npy: "));
}

TEST_F(Npy, RefusesOtherFormats) {
  EXPECT_TRUE(mentions(read_error(put("")), "ends inside its first 8 bytes"));
  EXPECT_TRUE(mentions(read_error(put("\x93NUM")), "expected 8 more bytes where there are 4"));
  EXPECT_TRUE(mentions(read_error(put("PK\x03\x04 a zip archive")), "begins with 'PK?? a'"));
  EXPECT_TRUE(mentions(read_error(put("PK\x03\x04 a zip archive")), "expected '\\x93NUMPY'"));
  EXPECT_TRUE(mentions(read_error(put(npy_bytes(header_of("<f4", "()"), little_endian(1.0f), 4))),
                       "version 4.0, expected 1.0, 2.0 or 3.0"));
  std::string minor = npy_bytes(header_of("<f4", "()"), little_endian(1.0f));
  minor[7] = 1;
  EXPECT_TRUE(mentions(read_error(put(minor)), "version 1.1, expected 1.0"));
}

TEST_F(Npy, RefusesATruncatedHeader) {
  const std::string whole = npy_bytes(header_of("<f4", "()"), "");
  EXPECT_TRUE(mentions(read_error(put(whole.substr(0, 9))), "ends inside its header length"));
  EXPECT_TRUE(mentions(read_error(put(whole.substr(0, 30))), "ends inside its header, expected"));
  const std::string huge_length = std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
  EXPECT_TRUE(mentions(read_error(put(huge_length)), "header of 4294967295 bytes, expected at most 2048"));
}

TEST_F(Npy, RefusesTruncatedDataAndTrailingBytes) {
  const std::string header = header_of("<f4", "(2, 3)");
  const std::string short_error = read_error(put(npy_bytes(header, std::string(23, 'x'))));
  EXPECT_TRUE(mentions(short_error, "truncated: float32 [2, 3] needs 6 values of 4 bytes"));
  EXPECT_TRUE(mentions(short_error, "only 23 bytes follow the header"));
  EXPECT_TRUE(mentions(read_error(put(npy_bytes(header, std::string(25, 'x')))),
                       "too long: 1 bytes follow the 24 expected of float32 [2, 3]"));
  EXPECT_TRUE(mentions(read_error(put(npy_bytes(header_of("<f8", "(0,)"), "x"))), "too long: 1 bytes"));
}

TEST_F(Npy, RefusesHugeShapesBeforeAllocating) {
  const std::string data(24, 'x');
  EXPECT_TRUE(mentions(read_error(put(npy_bytes(header_of("<f4", "(1000000000000,)"), data))),
                       "needs 1000000000000 values of 4 bytes, but only 24 bytes"));
  EXPECT_TRUE(mentions(read_error(put(npy_bytes(header_of("<f4", "(1000000000000, 1000000000000)"), data))),
                       "[1000000000000, 1000000000000] has too many elements"));
  // 2^61 * 8 bytes is 0 modulo 2^64.
  EXPECT_TRUE(
      mentions(read_error(put(npy_bytes(header_of("<f8", "(2305843009213693952,)"), ""))), "truncated"));
  EXPECT_TRUE(mentions(read_error(put(npy_bytes(header_of("<f4", "(99999999999999999999,)"), data))),
                       "expected extents from 0 to"));
  std::string axes;
  for (int i = 0; i < 65; ++i) axes += "1, ";
  EXPECT_TRUE(mentions(read_error(put(npy_bytes(header_of("<f4", "(" + axes + ")"), little_endian(1.0f)))),
                       "has 65 axes, expected at most 64"));
}

TEST_F(Npy, RefusesOtherDtypes) {
  for (const std::string descr : {"<i4", "|u1", "<c8", "<f16", "<f42", "f4", "=f4", "|O", ""}) {
    const std::string message = read_error(put(npy_bytes(header_of(descr, "()"), "xxxx")));
    EXPECT_TRUE(mentions(message, "dtype '" + descr + "', expected float16, float32 or float64"));
  }
}

TEST_F(Npy, RefusesAMalformedHeader) {
  const std::string good = "'descr': '<f4', 'fortran_order': False";
  const std::string structured = "[('a', '<f4'), ('b', '<f4')]";
  for (const std::string& header : {std::string(),
                                    std::string("{"),
                                    std::string("{'descr': xfx}"),
                                    std::string("{'descr': '<f4"),
                                    "{" + good + "}",
                                    "{" + good + ", 'shape': ()",
                                    "{" + good + ", 'shape': ()} # x",
                                    "{" + good + ", 'shape' ()}",
                                    "{" + good + ", 'shape': (), 'shape': ()}",
                                    "{" + good + ", 'shape': (), 'extra': 1}",
                                    "{" + good + ", 'shape': (), 'extra': '1'}",
                                    "{" + good + ", 'extra': True}",
                                    "{" + good + " 'shape': ()}",
                                    "{" + good + ", 'shape': '()'}",
                                    std::string("{'descr': '<f4', 'fortran_order': 0, 'shape': ()}"),
                                    std::string("{'descr': '<f4', 'fortran_order': 'true', 'shape': ()}"),
                                    "{'descr': " + structured + ", 'fortran_order': False, 'shape': ()}",
                                    std::string(2048, '{'),
                                    "{" + std::string(2046, 'x') + "}",
                                    "{'" + std::string(2000, 'x') + "': '"}) {
    const std::string message = read_error(put(npy_bytes(header, little_endian(1.0f))));
    EXPECT_TRUE(mentions(message, "the header '" + header.substr(0, 60)));
    EXPECT_TRUE(
        mentions(message, "expected one like {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"));
  }
}

TEST_F(Npy, RefusesAMalformedShape) {
  for (const std::string shape : {"[1]", "(1)", "(1 1)", "(1, 1]", "(1, -1)", "(1, -0)", "(1, +1)", "(1, 01)",
                                  "(1, x)", "(1, ,)", "(1, 1.0)", "(1, 1L)", "(,)", "1", "(1,"}) {
    const std::string message = read_error(put(npy_bytes(header_of("<f4", shape), little_endian(1.0f))));
    EXPECT_TRUE(mentions(message, "is not that of a plain array, expected one like")) << shape;
  }
}

TEST_F(Npy, NamesTheValueOutsideFloat32) {
  std::string data;
  for (const double value : {1.0, 2.0, 3.0, 4.0, -1e39, 6.0}) data += little_endian(value);
  const fs::path rows = put(npy_bytes(header_of("<f8", "(2, 3)"), data));
  EXPECT_TRUE(
      mentions(read_error(rows), "has -1e+39 at [1, 1], expected magnitudes up to float32's 3.40282e+38"));
  EXPECT_EQ(read_npy<double>(rows)[4], -1e39);
  // In Fortran order the fifth value is that of row 0, column 2.
  const fs::path columns = put(npy_bytes(header_of("<f8", "(2, 3)", "True"), data));
  EXPECT_TRUE(mentions(read_error(columns), "has -1e+39 at [0, 2]"));
  // The largest float32 is not outside, and neither infinity nor NaN is a finite value.
  for (const double fine :
       {static_cast<double>(std::numeric_limits<float>::max()), -std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(read_npy<float>(put(npy_bytes(header_of("<f8", "()"), little_endian(fine))))[0], fine);
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(read_npy<float>(put(npy_bytes(header_of("<f8", "()"), little_endian(nan))))[0]));
}

TEST_F(Npy, KeepsTheBitsOfANan) {
  for (const std::uint32_t bits : {0x7fa0f111u, 0x7fe0f111u, 0xffc00000u}) {
    write_npy(path(), Tensor({1}, std::vector<float>{std::bit_cast<float>(bits)}));
    EXPECT_EQ(std::bit_cast<std::uint32_t>(read_npy<float>(path())[0]), bits);
  }
}

TEST_F(Npy, RequireFiniteNamesValueAndIndex) {
  Tensor tensor({2, 3, 4}, 1.0f);
  EXPECT_NO_THROW(require_finite(path(), tensor));
  tensor[23] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(mentions(error_of(path(), [&] { require_finite(path(), tensor); }),
                       "has inf at [1, 2, 3], expected finite numbers"));
  tensor[6] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(mentions(error_of(path(), [&] { require_finite(path(), tensor); }), "nan at [0, 1, 2]"));
}

TEST_F(Npy, WritingReplacesAFileAndLeavesNothingElse) {
  write_npy(path(), Tensor({1000}, 1.0f));
  write_npy(path(), Tensor({2}, 2.0f));
  EXPECT_EQ(read_npy<float>(path()).values(), (std::vector<float>{2, 2}));
  EXPECT_EQ(files_in_folder(), 1u);
}

// Whoever opened the older file goes on reading it whole.
TEST_F(Npy, WritingNeverChangesAnOpenFile) {
  write_npy(path(), Tensor({1000}, 1.0f));
  const std::string before = bytes_of(path());
  std::ifstream reader(path(), std::ios::binary);
  write_npy(path(), Tensor({2}, 2.0f));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), before);
}

TEST_F(Npy, LeavesNothingWhenTheDiskIsFull) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1000, before.rlim_max};
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = error_of(path(), [&] { write_npy(path(), Tensor({1000})); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, handler);
  EXPECT_TRUE(mentions(message, "cannot be written: File too large"));
  EXPECT_EQ(files_in_folder(), 0u);
}

TEST_F(Npy, RefusesToWriteWhereItCannot) {
  const Tensor tensor({2});
  const auto write_error = [&](const fs::path& target) {
    return error_of(target, [&] { write_npy(target, tensor); });
  };
  EXPECT_TRUE(mentions(write_error(path("absent") / "x.npy"), "cannot be written: No such file"));
  EXPECT_TRUE(mentions(write_error(folder_), "it is a folder, expected a file or a free name"));
  EXPECT_TRUE(mentions(write_error(path("x") / ""), "cannot be written"));
  EXPECT_TRUE(mentions(write_error(path(std::string(300, 'x'))), "cannot be written: File name too long"));
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_TRUE(mentions(write_error(path("fifo")), "a device or a pipe, expected a file"));
  const Tensor deep(Shape(65, 1));
  EXPECT_TRUE(
      mentions(error_of(path(), [&] { write_npy(path(), deep); }), "has 65 axes, expected at most 64"));
  EXPECT_EQ(files_in_folder(), 1u) << "a temporary file was left behind";
}

}  // namespace
}  // namespace course
