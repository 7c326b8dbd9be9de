#include <gtest/gtest.h>

#include <map>

#include "audit/answer_symbols.hpp"
#include "text/text_file.hpp"

namespace course {
namespace {

AllowedSymbols list(const std::vector<std::string>& sections) {
  return {read_text(COURSE_SOURCE_DIR "/common/audit/allowed_symbols.txt"), sections};
}

TEST(AllowedSymbols, HoldWhatALessonNeeds) {
  const AllowedSymbols one_rank = list({"all"});
  for (const char* name :
       {"expf", "operator new(unsigned long)", "memcpy", "std::__throw_bad_alloc()", "malloc",
        "std::out_of_range::out_of_range(char const*)", "printf", "std::cout",
        "course::gemm(float, course::Factor, course::Factor, float, course::MatrixView<float>)"}) {
    EXPECT_TRUE(one_rank.allows(name)) << name;
  }
  EXPECT_FALSE(one_rank.allows("MPI_Send"));
  EXPECT_TRUE(list({"all", "mpi"}).allows("MPI_Send"));
}

TEST(AllowedSymbols, HoldNothingThatReachesFurther) {
  const AllowedSymbols mpi = list({"all", "mpi"});
  for (const char* name :
       {"open",
        "open64",
        "openat",
        "fopen",
        "fdopen",
        "mmap",
        "mprotect",
        "execve",
        "execl",
        "fork",
        "vfork",
        "clone",
        "system",
        "popen",
        "dlopen",
        "dlsym",
        "syscall",
        "ptrace",
        "kill",
        "raise",
        "getenv",
        "environ",
        "exit",
        "_exit",
        "atexit",
        "on_exit",
        "quick_exit",
        "write",
        "read",
        "socket",
        "unlink",
        "symlink",
        "signal",
        "sigaction",
        "prctl",
        "process_vm_readv",
        "PMPI_Send",
        "MPI_File_open",
        "MPI_Comm_spawn",
        "MPI_Win_create",
        "exp10x",
        "std::basic_ifstream<char, std::char_traits<char> >::basic_ifstream(char const*, std::_Ios_Openmode)",
        "std::filesystem::remove(std::filesystem::__cxx11::path const&)",
        "std::random_device::_M_getval()",
        "course::read_npy<float>(std::filesystem::__cxx11::path const&)",
        "course_adapter",
        "longjmp",
        "personality"}) {
    EXPECT_FALSE(mpi.allows(name)) << name;
  }
}

TEST(AllowedSymbols, HoldWhatCudasHeadersCall) {
  const AllowedSymbols gpu = list({"all", "gpu"});
  EXPECT_TRUE(gpu.allows("course::gpu::sync_threads(int)"));
  EXPECT_TRUE(gpu.allows("__tsan_read4"));
  EXPECT_FALSE(list({"all"}).allows("course::gpu::sync_threads(int)"));
  for (const char* name :
       {"course::gpu::begin(unsigned long, bool)", "course::gpu::end[abi:cxx11](bool)", "course::gpu::now",
        "course::gpu::take_findings[abi:cxx11]()", "course::gpu::memory_arena",
        "course::gpu::host_knows(unsigned int)", "course::gpu::run_all()", "course::gpu::reset_races()",
        "course::gpu::set_everything(int)"}) {
    EXPECT_FALSE(gpu.allows(name)) << name;
  }
}

TEST(UsurpedSymbol, IsTheFirstThatIsAnothers) {
  const AllowedSymbols of_others("[gpu]\n__tsan_*\ncourse::gpu::set(*\n", {"gpu"});
  const std::string own =
      "0000000000000000 T lesson09::softmax(int)\n0000000000000040 W course::gpu::set_up(int)\n";
  EXPECT_EQ(usurped_symbol(own, of_others), "");
  EXPECT_EQ(usurped_symbol(own + "0000000000000080 W __tsan_read4\n", of_others), "__tsan_read4");
  EXPECT_EQ(usurped_symbol("0000000000000000 T course::gpu::set(void*)\n", of_others),
            "course::gpu::set(void*)");
}

TEST(ForbiddenSymbol, IsTheFirstThatIsNotAllowed) {
  AllowedSymbols allowed("[all]\nexpf\n", {"all"});
  allowed.add("lesson01::*");
  EXPECT_EQ(forbidden_symbol(
                "\nobject.o:\n                 U expf\n                 U lesson01::softmax(int)\n", allowed),
            "");
  EXPECT_EQ(forbidden_symbol("                 U expf\n                 w getenv@GLIBC_2.2.5\n", allowed),
            "getenv");
}

/// Of an object with these undefined names.
std::string refusal_of(const std::vector<std::string>& undefined) {
  std::string listing;
  for (const std::string& name : undefined) listing += "                 U " + name + "\n";
  return refused_symbol({listing, ""}, read_text(COURSE_SOURCE_DIR "/common/audit/allowed_symbols.txt"), {},
                        "lesson01");
}

TEST(RefusedSymbol, IsSaidInWordsOfTheStudents) {
  const std::string end = ", which no answer to this lesson needs";
  for (const auto& [name, words] : std::map<std::string, std::string>{
           {"std::__basic_file<char>::~__basic_file()", "a file (std::ofstream and the like)"},
           {"std::basic_filebuf<char, std::char_traits<char> >::open(char const*, std::_Ios_Openmode)",
            "a file (std::ofstream and the like)"},
           {"std::basic_ifstream<char, std::char_traits<char> >::close()",
            "a file (std::ofstream and the like)"},
           {"VTT for std::basic_ofstream<char, std::char_traits<char> >",
            "a file (std::ofstream and the like)"},
           {"std::random_device::_M_getval()", "std::random_device"},
           {"std::filesystem::remove(std::filesystem::__cxx11::path const&)", "std::filesystem"},
           {"getenv", "getenv"}})
    EXPECT_EQ(refusal_of({"expf", name}), "uses " + words + end);
}

TEST(RefusedSymbol, IsTheOneThatAStudentKnows) {
  EXPECT_EQ(refusal_of({"std::__istream_extract(std::istream&, char*, long)", "__fread_chk", "fopen"}),
            "uses fopen, which no answer to this lesson needs");
  EXPECT_EQ(refusal_of({"std::__unknown()", "std::random_device::_M_fini()", "fopen"}),
            "uses std::random_device, which no answer to this lesson needs");
  EXPECT_EQ(refusal_of({"__fread_chk", "std::__unknown()"}),
            "uses __fread_chk, which no answer to this lesson needs");
}

TEST(RefusedSymbol, OfASystemCallSaysWhatMakesItAndWhatMakesNone) {
  const std::string said =
      refused_symbol({"                 U syscall\n", ""}, "[all]\nexpf\n", {}, "lesson01");
  EXPECT_NE(said.find("std::jthread"), std::string::npos) << said;
  EXPECT_NE(said.find("std::thread, a mutex"), std::string::npos) << said;
}

/// Ordinary C++20 that answers are written with.
TEST(AllowedSymbols, HoldFuturesSharedPointersAndResources) {
  const AllowedSymbols one_rank = list({"all"});
  for (const char* name :
       {"__libc_single_threaded", "std::nothrow", "std::future_error::~future_error()",
        "std::__future_base::_Result_base::_Result_base()", "std::pmr::get_default_resource()", "fesetround",
        "std::_Sp_make_shared_tag::_S_eq(std::type_info const&)", "pthread_cond_clockwait", "cexpf",
        "strtoll", "__isoc23_strtoull"})
    EXPECT_TRUE(one_rank.allows(name)) << name;
}

/// What a product of complex numbers, a power, an integer of 128 bits or a half becomes.
TEST(AllowedSymbols, HoldTheCompilersOwnArithmetic) {
  const AllowedSymbols one_rank = list({"all"});
  for (const char* name : {"__muldc3", "__mulsc3", "__divdc3", "__divsc3", "__powidf2", "__powisf2",
                           "__udivti3", "__umodti3", "__divti3", "__modti3", "__multi3", "__popcountdi2",
                           "__extendhfsf2", "__truncsfhf2", "__floattidf", "__fixdfti", "__fixunsdfti"})
    EXPECT_TRUE(one_rank.allows(name)) << name;
}

TEST(KernelEntry, IsAnInstructionNotAName) {
  EXPECT_EQ(kernel_entry("   0:\tendbr64\n   4:\tcall   9 <syscall_like>\n"), "");
  EXPECT_EQ(kernel_entry("   0:\tendbr64\n   4:\tsyscall\n"), "syscall");
  EXPECT_EQ(kernel_entry("   4:\tint    $0x80\n"), "int");
  EXPECT_EQ(kernel_entry("   4:\tint3\n"), "");
  EXPECT_EQ(kernel_entry("   4:\trepz syscall\n"), "syscall");
  EXPECT_EQ(kernel_entry("   4:\trex.W syscall\n"), "syscall");
  EXPECT_EQ(kernel_entry("   4:\tsvc\t#0x0\n"), "svc");
}

}  // namespace
}  // namespace course
