// The timer's own device code as PTX for sm_80 and up: a blocking kernel, a reading flush, an empty kernel, a clock
// meter.
#pragma once

namespace hc::bench {

/// hc_block(flag, timeout_ns, gave_up): spins until *flag != 0, or sets *gave_up after timeout_ns.
/// hc_flush(data, vectors, out): reads `vectors` 16-byte words; writes only if their xor is a value that data never
/// has. hc_empty(): nothing. hc_clock(out, spin_ns): out[0] = SM cycles, out[1] = globaltimer nanoseconds of a spin of
/// about spin_ns.
inline constexpr char kTimerPtx[] = R"PTX(
.version 7.4
.target sm_80
.address_size 64

.visible .entry hc_block(.param .u64 p_flag, .param .u64 p_timeout, .param .u64 p_out)
{
  .reg .pred %p<3>;
  .reg .b32 %r<3>;
  .reg .b64 %d<8>;
  ld.param.u64 %d1, [p_flag];
  ld.param.u64 %d2, [p_timeout];
  ld.param.u64 %d3, [p_out];
  mov.u64 %d4, %globaltimer;
$spin:
  ld.volatile.global.u32 %r1, [%d1];
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra $done;
  mov.u64 %d5, %globaltimer;
  sub.u64 %d6, %d5, %d4;
  setp.lt.u64 %p2, %d6, %d2;
  @%p2 bra $spin;
  mov.u32 %r2, 1;
  st.volatile.global.u32 [%d3], %r2;
$done:
  ret;
}

.visible .entry hc_flush(.param .u64 p_data, .param .u64 p_vectors, .param .u64 p_out)
{
  .reg .pred %p<3>;
  .reg .b32 %r<16>;
  .reg .b64 %d<12>;
  ld.param.u64 %d1, [p_data];
  ld.param.u64 %d2, [p_vectors];
  ld.param.u64 %d3, [p_out];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  mad.wide.u32 %d4, %r1, %r2, 0;
  cvt.u64.u32 %d5, %r3;
  add.u64 %d4, %d4, %d5;
  mul.wide.u32 %d6, %r4, %r2;
  mov.u32 %r5, 0;
$next:
  setp.ge.u64 %p1, %d4, %d2;
  @%p1 bra $end;
  shl.b64 %d7, %d4, 4;
  add.u64 %d8, %d1, %d7;
  ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%d8];
  xor.b32 %r10, %r6, %r7;
  xor.b32 %r11, %r8, %r9;
  xor.b32 %r10, %r10, %r11;
  xor.b32 %r5, %r5, %r10;
  add.u64 %d4, %d4, %d6;
  bra $next;
$end:
  setp.ne.u32 %p2, %r5, 0x5bd1e995;
  @%p2 bra $quit;
  st.global.u32 [%d3], %r5;
$quit:
  ret;
}

.visible .entry hc_empty()
{
  ret;
}

.visible .entry hc_clock(.param .u64 p_out, .param .u64 p_spin)
{
  .reg .pred %p<2>;
  .reg .b64 %d<10>;
  ld.param.u64 %d1, [p_out];
  ld.param.u64 %d2, [p_spin];
  mov.u64 %d3, %globaltimer;
$edge:
  mov.u64 %d4, %globaltimer;
  setp.eq.u64 %p1, %d3, %d4;
  @%p1 bra $edge;
  mov.u64 %d5, %clock64;
$turn:
  mov.u64 %d6, %globaltimer;
  sub.u64 %d7, %d6, %d4;
  setp.lt.u64 %p1, %d7, %d2;
  @%p1 bra $turn;
  mov.u64 %d8, %clock64;
  sub.u64 %d8, %d8, %d5;
  st.global.u64 [%d1], %d8;
  st.global.u64 [%d1+8], %d7;
  ret;
}
)PTX";

}  // namespace hc::bench
