#include "tensor/tensor.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "complaint.hpp"

namespace course {
namespace {

/// 0, 1, 2, ... in row-major order, so that a value says where it came from.
Tensor counted(const Shape& shape) {
  Tensor tensor(shape);
  std::iota(tensor.values().begin(), tensor.values().end(), 0.0f);
  return tensor;
}

TEST(Shape, ReadsLikeAList) {
  EXPECT_EQ(to_string(Shape{12, 512, 32}), "[12, 512, 32]");
  EXPECT_EQ(to_string(Shape{}), "[]");
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(element_count({3, 4, 5}), 60);
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({3, 0, 5}), 0);
}

TEST(Shape, RefusesWhatNoIndexCounts) {
  const Index largest = std::numeric_limits<Index>::max();
  EXPECT_EQ(element_count({largest, 1}), largest);
  EXPECT_EQ(element_count({largest, largest, 0}), 0);
  EXPECT_TRUE(mentions(complaint_of<std::invalid_argument>([&] {
                         element_count({largest, 2});
                       }),
                       std::to_string(largest) + ", 2]"));
  EXPECT_TRUE(mentions(complaint_of<std::invalid_argument>([] { element_count({3, -4}); }), "extent -4"));
}

TEST(TensorOf, StartsEmptyOrFilled) {
  EXPECT_EQ(Tensor().size(), 0);
  EXPECT_EQ(Tensor().shape(), Shape{0});
  EXPECT_EQ(Tensor({2, 2}, 7.0f).values(), (std::vector<float>{7, 7, 7, 7}));
  EXPECT_EQ(Tensor(Shape{}).size(), 1);
}

TEST(TensorOf, RefusesValuesThatDoNotFillItsShape) {
  const std::string message = complaint_of<std::invalid_argument>([] {
    Tensor({2, 3}, std::vector<float>{1, 2, 3, 4});
  });
  EXPECT_TRUE(mentions(message, "[2, 3]"));
  EXPECT_TRUE(mentions(message, "needs 6 values, not 4"));
}

TEST(TensorOf, ViewsShareItsNumbers) {
  Tensor matrix = counted({2, 3});
  matrix.matrix()(1, 0) = 10;
  EXPECT_EQ(matrix[3], 10);
  Tensor heads = counted({2, 3, 4});
  heads.heads()(1, 2, 3) = 20;
  EXPECT_EQ(heads[23], 20);
  EXPECT_EQ(std::as_const(heads).heads().head(1)(1, 0), 16);
  Tensor vector = counted({3});
  vector.flat()[2] = 30;
  EXPECT_EQ(vector[2], 30);
}

TEST(TensorOf, RefusesAViewOfAnotherRank) {
  Tensor matrix({2, 3});
  const std::string message = complaint_of<std::invalid_argument>([&] { matrix.heads(); });
  EXPECT_TRUE(mentions(message, "[2, 3]"));
  EXPECT_TRUE(mentions(message, "has 2 axes, expected 3"));
  EXPECT_THROW(matrix.flat(), std::invalid_argument);
  EXPECT_THROW(Tensor({2}).matrix(), std::invalid_argument);
}

TEST(MatrixView, RowsAreAViewOfTheSameNumbers) {
  Tensor matrix = counted({4, 2});
  const MatrixView<const float> middle = matrix.matrix().rows(1, 2);
  EXPECT_EQ(middle.rows(), 2);
  EXPECT_EQ(middle.row(1)[0], 4);
  EXPECT_EQ(matrix.matrix().rows(4, 0).size(), 0);
  EXPECT_THROW(matrix.matrix().rows(3, 2), std::out_of_range);
  EXPECT_THROW(matrix.matrix().rows(-1, 2), std::out_of_range);
}

TEST(MatrixView, ChecksIndicesInCheckedBuilds) {
  if (!check_bounds) GTEST_SKIP() << "this build does not check bounds";
  Tensor matrix({4, 2});
  EXPECT_TRUE(
      mentions(complaint_of<std::out_of_range>([&] { matrix.matrix()(4, 0); }), "row 4 is outside 0..3"));
  EXPECT_TRUE(
      mentions(complaint_of<std::out_of_range>([&] { matrix.matrix()(0, -1); }), "col -1 is outside 0..1"));
  EXPECT_TRUE(mentions(complaint_of<std::out_of_range>([&] {
                         Tensor({1, 4, 2}).heads().head(1);
                       }),
                       "head 1"));
}

TEST(OutsideView, NamesThePlaceOfTheCall) {
  Tensor tensor({2, 3, 4});
  const MatrixView<float> whole = tensor.heads().head(1);
  const int line = __LINE__;
  EXPECT_TRUE(mentions(complaint_of<OutsideView>([&] { whole.rows(2, 2); }),
                       "(tensor_test.cpp, line " + std::to_string(line + 1) + ")"));
  try {
    whole.rows(2, 2);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const OutsideView& error) {
    EXPECT_EQ(error.data(), whole.data());
  }
}

TEST(OutsideView, NamesThePlaceOfAnIndexInCheckedBuilds) {
  if (!check_bounds) GTEST_SKIP() << "this build does not check bounds";
  Tensor tensor({2, 3, 4});
  const MatrixView<float> part = tensor.heads().head(1).rows(1, 2);
  const int line = __LINE__;
  const std::string place = "(tensor_test.cpp, line ";
  EXPECT_TRUE(mentions(complaint_of<OutsideView>([&] { part.row(2); }), place + std::to_string(line + 2)));
  EXPECT_TRUE(mentions(complaint_of<OutsideView>([&] { tensor.heads()(0, 3, 0); }), place));
  EXPECT_TRUE(
      mentions(complaint_of<OutsideView>([&] { part.rows(0, 0)(0, 0); }), "row 0 of a view that has none"));
  try {
    part(1, 4);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const OutsideView& error) {
    EXPECT_EQ(error.axis(), std::string("col"));
    EXPECT_EQ(error.extent(), 4);
  }
}

TEST(Cast, KeepsShapeAndValues) {
  const Tensor64 wide = cast<double>(counted({2, 3}));
  EXPECT_EQ(wide.shape(), (Shape{2, 3}));
  EXPECT_EQ(wide[5], 5.0);
  EXPECT_EQ(cast<float>(Tensor64({1}, 1e-50))[0], 0.0f);
}

TEST(Slice, TakesARangeOfAnyAxis) {
  const Tensor tensor = counted({2, 3, 2});
  EXPECT_EQ(slice(tensor, 0, 1, 1).values(), (std::vector<float>{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(slice(tensor, 1, 1, 2).values(), (std::vector<float>{2, 3, 4, 5, 8, 9, 10, 11}));
  EXPECT_EQ(slice(tensor, 2, 1, 1).values(), (std::vector<float>{1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(slice(tensor, 1, 1, 2).shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(slice(tensor, 1, 3, 0).shape(), (Shape{2, 0, 2}));
}

TEST(Slice, RefusesWhatIsNotThere) {
  const Tensor tensor({2, 3});
  const std::string message = complaint_of<std::out_of_range>([&] { slice(tensor, 1, 2, 2); });
  EXPECT_TRUE(mentions(message, "[2, 3]"));
  EXPECT_TRUE(mentions(message, "2 from 2"));
  EXPECT_THROW(slice(tensor, 1, -1, 2), std::out_of_range);
  EXPECT_THROW(slice(tensor, 1, 1, -1), std::out_of_range);
  EXPECT_THROW(slice(tensor, 1, 4, 0), std::out_of_range);
  EXPECT_THROW(slice(tensor, 1, std::numeric_limits<Index>::max(), 1), std::out_of_range);
  EXPECT_TRUE(
      mentions(complaint_of<std::out_of_range>([&] { slice(tensor, 2, 0, 1); }), "axis 2 of shape [2, 3]"));
  EXPECT_THROW(slice(tensor, -1, 0, 1), std::out_of_range);
}

TEST(Take, TakesEntriesOfAnyAxisInAnyOrder) {
  const Tensor tensor = counted({2, 3, 2});
  const auto taken = [&](Index axis, const std::vector<Index>& indices) {
    return take(tensor, axis, indices);
  };
  EXPECT_EQ(taken(0, {1, 0}).values(), (std::vector<float>{6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(taken(1, {2, 0}).values(), (std::vector<float>{4, 5, 0, 1, 10, 11, 6, 7}));
  EXPECT_EQ(taken(2, {1, 1, 1}).shape(), (Shape{2, 3, 3}));
  EXPECT_EQ(taken(1, {}).shape(), (Shape{2, 0, 2}));
  EXPECT_TRUE(mentions(complaint_of<std::out_of_range>([&] {
                         taken(1, {0, 3});
                       }),
                       "no entry 3 along axis 1 of shape [2, 3, 2]"));
  EXPECT_THROW(taken(1, {-1}), std::out_of_range);
  EXPECT_THROW(taken(3, {}), std::out_of_range);
}

TEST(Concatenate, JoinsAlongAnyAxis) {
  const Tensor a({1, 2}, std::vector<float>{1, 2});
  const Tensor b({1, 2}, std::vector<float>{3, 4});
  EXPECT_EQ(concatenate<float>({a, b}, 0).values(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(concatenate<float>({a, b}, 0).shape(), (Shape{2, 2}));
  EXPECT_EQ(concatenate<float>({a, b}, 1).shape(), (Shape{1, 4}));
}

TEST(Concatenate, RefusesTensorsThatDoNotAgree) {
  const std::string message = complaint_of<std::invalid_argument>([] {
    concatenate<float>({Tensor({2, 3}), Tensor({2, 4})}, 0);
  });
  EXPECT_TRUE(mentions(message, "[2, 3], [2, 4]"));
  EXPECT_TRUE(mentions(message, "axis 0"));
  EXPECT_THROW(concatenate<float>({Tensor({2, 3}), Tensor({2})}, 0), std::invalid_argument);
  EXPECT_THROW(concatenate<float>({}, 0), std::invalid_argument);
  EXPECT_THROW(concatenate<float>({Tensor({2})}, 1), std::out_of_range);
}

// Cutting a tensor anywhere, empty pieces included, and joining the pieces gives it back.
TEST(Concatenate, UndoesSlice) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    Shape shape(1 + random() % 4);
    for (Index& extent : shape) extent = random() % 5;
    const Index axis = random() % shape.size();
    const Tensor whole = counted(shape);
    std::vector<Tensor> parts;
    for (Index first = 0; first < shape[axis] || parts.empty();) {
      const Index count = random() % (shape[axis] - first + 1);
      parts.push_back(slice(whole, axis, first, count));
      first += count;
    }
    const Tensor joined = concatenate(parts, axis);
    EXPECT_EQ(joined.shape(), whole.shape());
    EXPECT_EQ(joined.values(), whole.values()) << "shape " << to_string(shape) << ", axis " << axis;
  }
}

}  // namespace
}  // namespace course
