// Classes of PTX and SASS instructions, texts of both read, and a cubin given to whatever disassembler there is.
#include "cli/gpu_code.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/files.h"

namespace hc::cli {
namespace {

std::string data(const std::string& name) {
  return read_file(std::string(HC_SOURCE_DIR) + "/test/data/" + name).value_or("");
}

int64_t counted(const GpuCode& code, GpuClass kind) { return code.counts[static_cast<size_t>(kind)]; }

TEST(GpuCode, ClassesOfPtx) {
  using enum GpuClass;
  const std::pair<const char*, GpuClass> cases[] = {
      {"ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];", load},
      {"@%p1 ld.global.L1::evict_last.b32 %r1, [%rd1];", load},
      {"ld.shared::cta.f32 %f1, [%r1];", shared},
      {"ld.param.u64 %rd1, [x];", constant},
      {"st.global.b32 [%rd1], %r1;", store},
      {"st.local.f32 [%rd1], %f1;", local},
      {"cp.async.bulk.tensor.2d.shared::cluster.global [%r1], [%rd1];", copy},
      {"cp.async.commit_group;", barrier},
      {"red.global.add.f32 [%rd1], %f1;", atomic},
      {"wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%f1}, %rd1, %rd2, 1, 1, 1, 0, 0;", mma},
      {"wgmma.fence.sync.aligned;", barrier},
      {"add.rn.f32 %f1, %f2, %f3;", fp32},
      {"max.f16x2 %r1, %r2, %r3;", fp16},
      {"fma.rn.f64 %fd1, %fd2, %fd3, %fd4;", fp64},
      {"tanh.approx.f32 %f1, %f2;", special},
      {"and.b32 %r1, %r2, 31;", integer},
      {"and.pred %p1, %p2, %p3;", integer},
      {"cvt.rn.bf16x2.f32 %r1, %f1, %f2;", conversion},
      {"selp.b32 %r1, %r2, %r3, %p1;", move},
      {"mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;", barrier},
      {"nosuch.thing;", other},
  };
  for (const auto& [text, kind] : cases) EXPECT_EQ(classify_ptx(text), kind) << text;
}

TEST(GpuCode, ClassesOfSass) {
  using enum GpuClass;
  const std::pair<const char*, GpuClass> cases[] = {
      {"@!P0 LDG.E.128 R8, desc[UR4][R4.64]", load},
      {"STG.E.128 desc[UR4][R4.64], R8", store},
      {"UTMALDG.2D [UR8], [UR4]", copy},
      {"LDSM.16.M88.4 R4, [R2]", shared},
      {"LDL.LU R1, [R1+0x4]", local},
      {"ULDC.64 UR4, c[0x0][0x208]", constant},
      {"HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], R24", mma},
      {"FADD.FTZ R1, R2, R3", fp32},
      {"HADD2.BF16_V2 R1, R2, R3", fp16},
      {"HADD2.F32 R1, -RZ, R2.H0_H0", conversion},
      {"F2FP.BF16.F32.PACK_AB R1, R2, R3", conversion},
      {"IMAD.MOV.U32 R1, RZ, RZ, R2", move},
      {"IMAD.WIDE R2, R0, R4, c[0x0][0x210]", integer},
      {"UIADD3 UR4, UR4, 0x1, URZ", integer},
      {"SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R2", barrier},
      {"WARPGROUP.DEPBAR.LE gsb0, 0x0", barrier},
      {"BSSY B0, `(.L_x_3)", control},
      {"NOSUCH R1", other},
  };
  for (const auto& [text, kind] : cases) EXPECT_EQ(classify_sass(text), kind) << text;
}

TEST(GpuCode, AModuleOfPtxIsCounted) {
  const GpuCode code = read_ptx(data("rows.ptx"));
  ASSERT_FALSE(code.lines.empty());
  EXPECT_EQ(code.lines.front(), "scale_rows:");
  EXPECT_EQ(code.lines[7], "$L__BB0_1:");
  EXPECT_EQ(code.lines[8], "  @%p1 ld.global.v4.b32 { %r3, %r4, %r5, %r6 }, [ %rd3 + 0 ]");
  EXPECT_EQ(code.lines.back(), "  ret");
  EXPECT_EQ(code.instructions, 23);
  const std::pair<GpuClass, int> wanted[] = {
      {GpuClass::load, 1},    {GpuClass::store, 1},    {GpuClass::copy, 1},    {GpuClass::shared, 1},
      {GpuClass::local, 1},   {GpuClass::constant, 2}, {GpuClass::mma, 1},     {GpuClass::fp32, 2},
      {GpuClass::fp16, 1},    {GpuClass::special, 1},  {GpuClass::integer, 3}, {GpuClass::move, 3},
      {GpuClass::barrier, 2}, {GpuClass::control, 2},  {GpuClass::other, 0},   {GpuClass::conversion, 1}};
  for (const auto& [kind, n] : wanted) EXPECT_EQ(counted(code, kind), n) << gpu_class_name(kind);
}

TEST(GpuCode, SassOfEitherToolIsCounted) {
  const GpuCode code = read_sass(data("rows.sass"));
  ASSERT_FALSE(code.lines.empty());
  EXPECT_EQ(code.lines.front(), "scale_rows:");
  EXPECT_EQ(code.lines[5], ".L_x_0:");
  EXPECT_EQ(code.lines[6], "  @!P0 LDG.E.128.CONSTANT R8, desc[UR4][R4.64]");
  EXPECT_EQ(code.instructions, 21) << "what only pads does not count";
  EXPECT_EQ(counted(code, GpuClass::other), 0);
  EXPECT_EQ(counted(code, GpuClass::load), 1);
  EXPECT_EQ(counted(code, GpuClass::barrier), 2);
  EXPECT_EQ(counted(code, GpuClass::control), 3);
  const GpuCode other = read_sass(
      "\tcode for sm_90\n\t\tFunction : twice\n\t.headerflags\t@\"EF_CUDA_SM90\"\n"
      "        /*0000*/                   FADD R1, R2, R2 ;                 /* 0x0000000202017221 */\n"
      "                                                                     /* 0x000fe20000000000 */\n"
      "        /*0010*/                   EXIT ;                            /* 0x000000000000794d */\n");
  EXPECT_EQ(other.lines, (std::vector<std::string>{"twice:", "  FADD R1, R2, R2", "  EXIT"}));
  GpuCode both = code;
  append(other, &both);
  EXPECT_EQ(both.instructions, 23);
  EXPECT_EQ(counted(both, GpuClass::fp32), 3);
}

TEST(GpuCode, ACubinGoesToTheToolThatIsThere) {
  const std::string folder = make_temp_folder("tools");
  const std::string tool = join_path(folder, "nvdisasm");
  ASSERT_EQ(write_file_atomic(join_path(folder, "k.cubin"), "none"), "");
  const Result<GpuCode> none = disassemble_cubin(join_path(folder, "k.cubin"), {tool});
  if (!none.ok()) {
    EXPECT_EQ(none.error().code, Code::not_available);
    EXPECT_FALSE(none.error().help.empty());
  }
  const std::string script =
      "#!/bin/sh\n[ \"$1\" = -c ] && cat " + std::string(HC_SOURCE_DIR) + "/test/data/rows.sass\n";
  ASSERT_EQ(write_file_atomic(tool, script), "");
  ASSERT_EQ(::chmod(tool.c_str(), 0755), 0);
  const Result<GpuCode> code = disassemble_cubin(join_path(folder, "k.cubin"), {tool});
  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_EQ(code.value().instructions, 21);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hc::cli
