#include "gpu/cuda_to_cpp/cuda_to_cpp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "complaint.hpp"

namespace course::gpu {

namespace {

std::string cpp(const std::string& cuda) {
  return cuda_to_cpp(cuda, "a.cu");
}

/// @param callee as the source has it; a finding's name of it has no blanks
std::string kernel(const std::string& callee) {
  std::string name = callee;
  std::erase(name, ' ');
  const std::string function = "::course::gpu::function_of(course_call, " + callee + ", 0)";
  return "::course::gpu::Kernel(\"" + name + "\", 1, [=](auto course_call) -> decltype(" + function +
         ") { return " + function + "; }, [=](auto... course_argument) COURSE_UNSEEN { " + callee +
         "(course_argument...); })";
}

std::string refusal(const std::string& cuda) {
  return complaint_of<std::invalid_argument>([&] { cpp(cuda); });
}

TEST(CudaToCpp, LaunchBecomesACall) {
  EXPECT_EQ(cpp("scale<<<grid, block>>>(x, 2 * n);"),
            kernel("scale") + ".configured(grid, block)(x, 2 * n);");
  EXPECT_EQ(cpp("  a::b::scale<<<1, f(2), 3>>>();"),
            "  " + kernel("a::b::scale") + ".configured(1, f(2), 3)();");
  EXPECT_EQ(cpp("return ::scale<<<1, 2>>>();"), "return " + kernel("::scale") + ".configured(1, 2)();");
}

TEST(CudaToCpp, TemplateArgumentsAndShiftsEndNoConfiguration) {
  EXPECT_EQ(cpp("scale<4, A<int>><<<1, 2>>>(x)"), kernel("scale<4, A<int>>") + ".configured(1, 2)(x)");
  EXPECT_EQ(cpp("scale<unsigned long><<<1, 2>>>(x)"),
            kernel("scale<unsigned long>") + ".configured(1, 2)(x)");
  EXPECT_EQ(cpp("k<<<grid<8>(n), block_of<A<B<int>>>::size>>>(x)"),
            kernel("k") + ".configured(grid<8>(n), block_of<A<B<int>>>::size)(x)");
  EXPECT_EQ(cpp("k<<<(n >> 3), (1 << 5)>>>(x)"), kernel("k") + ".configured((n >> 3), (1 << 5))(x)");
  EXPECT_EQ(cpp("f<g<h<int>>>(x); a << b; a <b> c;"), "f<g<h<int>>>(x); a << b; a <b> c;");
}

TEST(CudaToCpp, CalleeMayBeAnyExpression) {
  EXPECT_EQ(cpp("kernels[i]<<<1, 2>>>(x)"), kernel("kernels[i]") + ".configured(1, 2)(x)");
  EXPECT_EQ(cpp("(*pointer)<<<1, 2>>>(x)"), kernel("(*pointer)") + ".configured(1, 2)(x)");
  EXPECT_EQ(cpp("this->kernel<<<1, 2>>>(x)"), kernel("this->kernel") + ".configured(1, 2)(x)");
  EXPECT_EQ(cpp("a.kernel<<<1, 2>>>(x)"), kernel("a.kernel") + ".configured(1, 2)(x)");
}

TEST(CudaToCpp, EveryLineStaysWhereItIs) {
  const std::string cuda =
      "int a; // k<<<1>>>(b)\n\nk\n  <<<1,\n  2>>>\n (a,\n b);\n#define GO(k) \\\n k<<<1, 1>>>(0)\nend";
  const std::string made = cpp(cuda);
  EXPECT_EQ(std::ranges::count(made, '\n'), std::ranges::count(cuda, '\n'));
  EXPECT_NE(made.find(", 4, [=]"), std::string::npos) << made;
  EXPECT_NE(made.find(", 9, [=]"), std::string::npos) << made;
  EXPECT_EQ(made.substr(made.rfind('\n')), "\nend");
}

TEST(CudaToCpp, StringsAndCommentsAreLeftAlone) {
  for (const std::string same :
       {"\"k<<<1, 2>>>(x) __shared__\"", "/* k<<<1, 2>>>(x)\n */", "R\"z(k<<<1>>>() )\" )z\"", "'\"' + 'a'",
        "// k<<<1>>>(x) \\\n still __shared__\n", "u8\"__shared__\"", "1'000'000 + 0x1p-3f"})
    EXPECT_EQ(cpp(same), same);
}

TEST(CudaToCpp, SharedVariablesBelongToTheBlock) {
  EXPECT_EQ(cpp("__shared__ float tile[32][33];"),
            "typedef float tile__extent[32][33]; auto& tile = ::course::gpu::shared<tile__extent>([] {});");
  EXPECT_EQ(cpp("__shared__ A<int, 3> a[n], b;"),
            "typedef A<int, 3> a__extent[n], b__extent; auto& a = ::course::gpu::shared<a__extent>([] {}); "
            "auto& b = "
            "::course::gpu::shared<b__extent>([] {});");
  EXPECT_EQ(cpp("extern __shared__ float4 all[];"),
            " typedef float4 all__extent[]; auto& all = ::course::gpu::dynamic_shared<all__extent>();");
  EXPECT_EQ(
      cpp("extern __shared__ __align__(16) unsigned char raw[];"),
      " typedef  unsigned char raw__extent[]; auto& raw = ::course::gpu::dynamic_shared<raw__extent>();");
  EXPECT_EQ(cpp("static __shared__ volatile int last;"),
            " typedef volatile int last__extent; auto& last = ::course::gpu::shared<last__extent>([] {});");
}

TEST(CudaToCpp, RefusesWhatItCannotRead) {
  EXPECT_EQ(refusal("\nk<<<1, 2>>> x"), "a.cu:2: the launch's >>> is not followed by its arguments");
  EXPECT_EQ(refusal("k<<<1, 2;"), "a.cu:1: the launch's <<< has no >>>");
  EXPECT_EQ(refusal("\n\n__constant__ float c[4];"),
            "a.cu:3: the simulator does not have __constant__; docs/cuda-supported.md lists what it has");
  EXPECT_EQ(refusal("COURSE_UNSEEN"),
            "a.cu:1: the simulator does not have COURSE_UNSEEN; docs/cuda-supported.md lists what it has");
  EXPECT_EQ(refusal("\n__device__ float total[4];"),
            "a.cu:2: the simulator does not have __device__ variables; allocate device memory");
  EXPECT_EQ(refusal("__device__ int last = 3;"),
            "a.cu:1: the simulator does not have __device__ variables; allocate device memory");
  EXPECT_EQ(refusal("template <class T> __device__ __forceinline__ T f(T* x); auto g = [=] __device__ { };"),
            "nothing was thrown");
  EXPECT_EQ(refusal("__shared__ float x = 3;"),
            "a.cu:1: a __shared__ variable is a plain variable or array without an initial value");
  EXPECT_EQ(refusal("__shared__ float x"), "a.cu:1: this __shared__ declaration does not end");
  EXPECT_EQ(refusal("k<<<1, 2>>>(x"), "a.cu:1: '(' is not closed");
}

TEST(CudaToCpp, RefusesCallsOfTheHostsFunctionsInKernels) {
  const std::string half = "float half(float x) { return x / 2; }\n";
  const std::string why =
      "half() is a function of the host (line 1), which nvcc lets no kernel call: write __device__ before it";
  EXPECT_EQ(refusal(half + "__global__ void k(float* x) {\n x[0] = half(x[1]); }"), "a.cu:3: " + why);
  EXPECT_EQ(refusal(half + "struct A { __device__ float f() const { return half(1); } };"), "a.cu:2: " + why);
  EXPECT_EQ(refusal(half + "auto f = [=] __device__ (int i) { return half(i); };"), "a.cu:2: " + why);
  EXPECT_EQ(refusal("namespace a { template <class T> T half(T x) { return x / 2; }\n}"
                    "__global__ void __launch_bounds__(2) k(float* x) { x[0] = half<float>(x[1]); }"),
            "a.cu:2: " + why);
  for (const std::string right :
       {"void g() { half(1); }", "__device__ void g(A a) { a.half(1); b::half(2); }",
        "__device__ float half(float x);  __global__ void k() { half(1); }",
        "__global__ void k() { const auto half = [](float x) { return x; }; half(1); }",
        "__host__ __device__ void g() { half(1); }", "__device__ void g(float (*half)(float)) { half(1); }"})
    EXPECT_EQ(refusal(half + right), "nothing was thrown") << right;
  EXPECT_EQ(
      refusal("#define A {\nconstexpr float half(float x) { return x / 2; }\n"
              "__global__ void k() { constexpr float x = half(1); }"),
      "a.cu:3: half() is a function of the host (line 2), which nvcc lets no kernel call: write __device__ "
      "before it");
}

TEST(CudaToCpp, RefusesFunctionsOfStdThatNoKernelMayCall) {
  EXPECT_EQ(
      refusal("__global__ void k(float* x) {\n  x[0] = std::max(x[1], x[2]);\n}"),
      "a.cu:2: std::max is a function of the host, which nvcc lets no kernel call; CUDA has fmaxf and max");
  EXPECT_EQ(refusal("__device__ float f() { return -std::numeric_limits<float>::infinity(); }"),
            "a.cu:1: std::numeric_limits is a function of the host, which nvcc lets no kernel call; INFINITY "
            "is there, and a constexpr variable outside the function");
  EXPECT_EQ(refusal("__device__ void f(int& a, int& b) { std::swap(a, b); }"),
            "a.cu:1: std::swap is a function of the host, which nvcc lets no kernel call; "
            "docs/cuda-supported.md lists what it may call");
  for (const std::string right :
       {"int most(int a, int b) { return std::max(a, b); }",
        "__global__ void k(float* x) { x[0] = std::exp(x[0]) + std::size_t(3) + std::fmax(x[1], x[2]); }",
        "__global__ void k(int* x) { x[0] = std::numeric_limits<float>::digits; }",
        "constexpr float none = -std::numeric_limits<float>::infinity(); __global__ void k() {}"})
    EXPECT_EQ(refusal(right), "nothing was thrown") << right;
}

TEST(CudaToCpp, UnknownWordsOfCudaAreNoted) {
  const std::string headers = "cudaError_t cudaMalloc(void**); T __shfl_sync(T);";
  EXPECT_EQ(
      notes_on_unknown_words("cudaMalloc(&x);\n__shfl_sync(1); cudart(); my_cudaFoo();", "a.cu", headers),
      std::vector<std::string>{});
  EXPECT_EQ(notes_on_unknown_words("cudaMalloc(&x);\ncudaFoo(); // cudaBar\ncudaFoo();", "a.cu", headers),
            std::vector<std::string>{
                "a.cu:2: the simulator does not have cudaFoo; docs/cuda-supported.md lists what it has"});
}

}  // namespace

}  // namespace course::gpu
