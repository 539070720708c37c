// The referee's own streams through a GPU's memory as PTX for sm_80 and up: one that reads, one that copies.
#pragma once

namespace hc::bench {

/// hc_read(data, vectors, out): reads `vectors` 16-byte words, four in flight per thread; writes only if their xor is a
/// value that data never has. hc_copy(from, to, vectors): copies as many. Both take whole tiles of four words a thread:
/// `vectors` is a multiple of four times the threads of a block.
inline constexpr char kDevicePtx[] = R"PTX(
.version 7.4
.target sm_80
.address_size 64

.visible .entry hc_read(.param .u64 p_data, .param .u64 p_vectors, .param .u64 p_out)
{
  .reg .pred %p<3>;
  .reg .b32 %r<24>;
  .reg .b64 %d<16>;
  ld.param.u64 %d1, [p_data];
  ld.param.u64 %d2, [p_vectors];
  ld.param.u64 %d3, [p_out];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  shl.b32 %r5, %r2, 2;
  mul.wide.u32 %d4, %r1, %r5;
  cvt.u64.u32 %d5, %r3;
  mul.wide.u32 %d6, %r4, %r5;
  mul.wide.u32 %d7, %r2, 16;
  mov.u32 %r6, 0;
$read_tile:
  setp.ge.u64 %p1, %d4, %d2;
  @%p1 bra $read_end;
  add.u64 %d8, %d4, %d5;
  shl.b64 %d8, %d8, 4;
  add.u64 %d8, %d1, %d8;
  add.u64 %d9, %d8, %d7;
  add.u64 %d10, %d9, %d7;
  add.u64 %d11, %d10, %d7;
  ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%d8];
  ld.global.v4.u32 {%r11, %r12, %r13, %r14}, [%d9];
  ld.global.v4.u32 {%r15, %r16, %r17, %r18}, [%d10];
  ld.global.v4.u32 {%r19, %r20, %r21, %r22}, [%d11];
  xor.b32 %r7, %r7, %r8;
  xor.b32 %r9, %r9, %r10;
  xor.b32 %r11, %r11, %r12;
  xor.b32 %r13, %r13, %r14;
  xor.b32 %r15, %r15, %r16;
  xor.b32 %r17, %r17, %r18;
  xor.b32 %r19, %r19, %r20;
  xor.b32 %r21, %r21, %r22;
  xor.b32 %r7, %r7, %r9;
  xor.b32 %r11, %r11, %r13;
  xor.b32 %r15, %r15, %r17;
  xor.b32 %r19, %r19, %r21;
  xor.b32 %r7, %r7, %r11;
  xor.b32 %r15, %r15, %r19;
  xor.b32 %r6, %r6, %r7;
  xor.b32 %r6, %r6, %r15;
  add.u64 %d4, %d4, %d6;
  bra $read_tile;
$read_end:
  setp.ne.u32 %p2, %r6, 0x5bd1e995;
  @%p2 bra $read_quit;
  st.global.u32 [%d3], %r6;
$read_quit:
  ret;
}

.visible .entry hc_copy(.param .u64 p_from, .param .u64 p_to, .param .u64 p_vectors)
{
  .reg .pred %p<2>;
  .reg .b32 %r<24>;
  .reg .b64 %d<20>;
  ld.param.u64 %d1, [p_from];
  ld.param.u64 %d2, [p_to];
  ld.param.u64 %d3, [p_vectors];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  shl.b32 %r5, %r2, 2;
  mul.wide.u32 %d4, %r1, %r5;
  cvt.u64.u32 %d5, %r3;
  mul.wide.u32 %d6, %r4, %r5;
  mul.wide.u32 %d7, %r2, 16;
$copy_tile:
  setp.ge.u64 %p1, %d4, %d3;
  @%p1 bra $copy_end;
  add.u64 %d8, %d4, %d5;
  shl.b64 %d8, %d8, 4;
  add.u64 %d9, %d1, %d8;
  add.u64 %d10, %d9, %d7;
  add.u64 %d11, %d10, %d7;
  add.u64 %d12, %d11, %d7;
  add.u64 %d13, %d2, %d8;
  add.u64 %d14, %d13, %d7;
  add.u64 %d15, %d14, %d7;
  add.u64 %d16, %d15, %d7;
  ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%d9];
  ld.global.v4.u32 {%r11, %r12, %r13, %r14}, [%d10];
  ld.global.v4.u32 {%r15, %r16, %r17, %r18}, [%d11];
  ld.global.v4.u32 {%r19, %r20, %r21, %r22}, [%d12];
  st.global.v4.u32 [%d13], {%r7, %r8, %r9, %r10};
  st.global.v4.u32 [%d14], {%r11, %r12, %r13, %r14};
  st.global.v4.u32 [%d15], {%r15, %r16, %r17, %r18};
  st.global.v4.u32 [%d16], {%r19, %r20, %r21, %r22};
  add.u64 %d4, %d4, %d6;
  bra $copy_tile;
$copy_end:
  ret;
}
)PTX";

}  // namespace hc::bench
