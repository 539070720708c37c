// Reading machine code, classes of instructions, and texts side by side.
#include "cli/disassembly.h"

#include <gtest/gtest.h>

#include "cli/baseline_view.h"

namespace hc::cli {
namespace {

TEST(Disassembly, ClassesOfInstructions) {
  using enum InstructionClass;
  const std::pair<const char*, InstructionClass> cases[] = {
      {"vmovups zmm0,ZMMWORD PTR [rdi+rax*4]", vector_load},
      {"vmovups ZMMWORD PTR [rdi+rax*4],zmm0", vector_store},
      {"vmovntps YMMWORD PTR [rdi],ymm1", streaming_store},
      {"vaddps ymm0,ymm1,YMMWORD PTR [rsi]", vector_load},
      {"vfmadd231ps ymm0,ymm1,YMMWORD PTR [rsi]", fma},
      {"vbroadcastss ymm0,DWORD PTR [rsi]", vector_load},
      {"vmovss xmm0,DWORD PTR [rsi]", other},
      {"vaddps ymm0,ymm1,ymm2", other},
      {"mov rax,QWORD PTR [rdi]", other},
      {"lea rax,[rdi+rdi*2]", other},
      {"prefetcht0 BYTE PTR [rsi+0x400]", prefetch},
      {"ldr q0, [x1, #16]", vector_load},
      {"str q0, [x1], #16", vector_store},
      {"ldr x0, [x1]", other},
      {"stnp q0, q1, [x2]", streaming_store},
      {"fmla v0.4s, v1.4s, v2.4s", fma},
  };
  for (const auto& [text, kind] : cases) EXPECT_EQ(classify(text), kind) << text;
}

TEST(Disassembly, KeepsTheKernelsOwnFunctionsWithoutAddresses) {
  const Disassembly code = read_disassembly(
      "\nkernel.so:     file format elf64-x86-64\n\n0000000000001070 <deregister_tm_clones>:\n"
      "    1070:\tlea    rdi,[rip+0x2fa9]        # 4020 <completed.0>\n\n0000000000001180 <hc_call>:\n"
      "    1180:\tvmovups ymm0,YMMWORD PTR [rdi]\n    1188:\tjne    1180 <hc_call+0x10>\n"
      "    118a:\tcall   1060 <GOMP_parallel@plt>\n    118f:\tnop\n    1190:\tret\n");
  EXPECT_EQ(code.lines, (std::vector<std::string>{"hc_call:", "  vmovups ymm0,YMMWORD PTR [rdi]", "  jne <hc_call>",
                                                  "  call <GOMP_parallel@plt>", "  ret"}));
  EXPECT_EQ(code.instructions, 4);
  EXPECT_EQ(code.counts[static_cast<size_t>(InstructionClass::vector_load)], 1);
}

TEST(SideBySide, MarksWhatDiffersAndLeavesOutWhatDoesNot) {
  const std::vector<std::string> left = {"a", "b", "c", "d", "e", "f", "g"},
                                 right = {"a", "b", "x", "d", "e", "f", "g", "h"};
  EXPECT_EQ(side_by_side(left, right, 3, 1), "...\nb     b\nc   | x\nd     d\n...\ng     g\n    > h\n");
  EXPECT_EQ(side_by_side(left, left, 3, 1), "");
  EXPECT_EQ(side_by_side({"one"}, {}, 3, -1), "one <\n");
  EXPECT_EQ(side_by_side({}, {}, 3, -1), "");
}

TEST(SideBySide, LongLinesAreCut) { EXPECT_EQ(side_by_side({"abcdef"}, {"abcdeg"}, 4, 0), "abc~ | abcd\n"); }

TEST(Disassembly, ADumpEndsWhereNoJumpGoesFurther) {
  const Disassembly code = read_dump(
      "\nx.bin:     file format binary\n\n\n0000000000000000 <.data>:\n   0:\tvmovups zmm0,ZMMWORD PTR [rdi]\n"
      "   6:\tje     0x9\n   8:\tret\n   9:\tvmovups ZMMWORD PTR [rsi],zmm0\n   f:\tret\n"
      "  10:\tadd    BYTE PTR [rax],al\n",
      "softmax");
  EXPECT_EQ(code.lines, (std::vector<std::string>{"softmax:", "  vmovups zmm0,ZMMWORD PTR [rdi]", "  je 0x9", "  ret",
                                                  "  vmovups ZMMWORD PTR [rsi],zmm0", "  ret"}));
  EXPECT_EQ(code.counts[static_cast<size_t>(InstructionClass::vector_store)], 1);
}

}  // namespace
}  // namespace hc::cli
