// A small worker to copy from: e^x of one f32 tensor under the common timer. Protocol 1 of
// docs/worker-protocol.md.
#include <openssl/sha.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <regex>

#include "bench/timer.h"

using Json = nlohmann::ordered_json;
std::vector<float> x, y;

[[noreturn]] void refuse(const std::string& why) { throw std::runtime_error(why); }

int launch(void*, void*) {
  std::transform(x.begin(), x.end(), y.begin(), [](float v) { return std::exp(v); });
  return 0;
}

std::string sha256(const void* data, size_t bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(static_cast<const unsigned char*>(data), bytes, digest);
  std::string hex;
  for (const int byte : digest) hex += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  return hex;
}

// The generator of docs/measurement.md, Philox 4x32-10: normal value `i` of stream 0, the first argument's.
float drawn(uint64_t i, uint64_t seed) {
  uint32_t c[4] = {uint32_t(i / 4), uint32_t(i / 4 >> 32), 0, 0};
  uint32_t k[2] = {uint32_t(seed), uint32_t(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t p = uint64_t{c[0]} * 0xD2511F53, q = uint64_t{c[2]} * 0xCD9E8D57;
    c[0] = uint32_t(q >> 32) ^ c[1] ^ k[0], c[1] = uint32_t(q);
    c[2] = uint32_t(p >> 32) ^ c[3] ^ k[1], c[3] = uint32_t(p);
    k[0] += 0x9E3779B9, k[1] += 0xBB67AE85;
  }
  const uint32_t word = c[i % 4];
  const uint32_t sum = (word & 255) + (word >> 8 & 255) + (word >> 16 & 255) + (word >> 24);
  return float(int32_t(16384 * sum + (word * 0x9E3779B9 >> 18)) - 8364032) * 0x1.bb6854p-22F;
}

Json prepare(const Json& request) {
  x.clear();  // a refusal leaves nothing to time
  const std::string name = request.at("implementation"), operation = request.value("operation", "");
  if (name != "exp" || (operation != "" && operation != "exp")) {
    refuse("this worker has `exp` alone, not " + (operation.empty() ? name : operation));
  }
  const Json args = request.value("args", Json::array());
  const std::string spec = args.size() == 1 ? args[0].get<std::string>() : "";
  size_t count = std::regex_match(spec, std::regex(R"(f32\[\d+(,\d+)*\])"));
  for (const char* at = spec.c_str() + 4; count > 0 && at[-1] != ']';) {
    char* end = nullptr;
    if (__builtin_mul_overflow(count, strtoull(at, &end, 10), &count)) refuse(spec + " is too large");
    at = end + 1;
  }
  if (count == 0) refuse("one contiguous f32 tensor of normal values is needed, not " + args.dump());
  std::vector<float> made(count);
  for (size_t i = 0; i < count; ++i) made[i] = drawn(i, request.value("seed", uint64_t{0}));
  y.assign(count, 0);
  x = std::move(made);
  const std::string hashes = "0:" + sha256(x.data(), 4 * count) + "\n";
  return {{"implementation", "exp"},
          {"version", "1"},
          {"threads", 1},
          {"bytes", 8 * count},
          {"inputs_sha256", sha256(hashes.data(), hashes.size())}};
}

Json check(const Json& request) {
  if (request.value("run", true)) std::fill(y.begin(), y.end(), NAN), launch(nullptr, nullptr);  // poisoned, then run
  const std::string folder = request.value("out_dir", ""), path = folder.empty() ? "" : folder + "/0.bin";
  if (!path.empty()) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(y.data()), std::streamsize(4 * y.size()));
    if (!file.flush()) refuse("cannot write " + path);
  }
  Json output{{"index", 0}, {"dtype", "f32"}, {"numel", y.size()}, {"path", path}};
  output["sha256"] = sha256(y.data(), 4 * y.size());
  output["nan_count"] = std::count_if(y.begin(), y.end(), [](float v) { return std::isnan(v); });
  return {{"outputs", Json::array({output})}};
}

Json timed(const Json& request) {
  const std::string mode = request.value("mode", "single");
  if (mode != "single") refuse("this worker times single launches, not " + mode);
  HillclimbTimerOptions options{};
  options.abi = HILLCLIMB_TIMER_ABI;
  options.mode = HILLCLIMB_TIMER_SINGLE;
  options.threads = 1;
  options.blocks = request.value("blocks", 5);
  options.min_block_s = request.value("min_block_s", 0.005);
  options.warmup_s = request.value("warmup_s", 0.02);
  options.flush_bytes = request.value("flush_bytes", int64_t{-1});
  options.max_launches = request.value("max_launches", int64_t{0});
  HillclimbTimerResult* result = nullptr;
  if (const char* why = hillclimb_timer_run(&options, launch, nullptr, &result)) refuse(why);
  Json reply{{"clock", result->clock}, {"mode", mode}, {"threads", 1}, {"flush_bytes", result->flush_bytes}};
  for (const auto* b = result->blocks; b < result->blocks + result->block_count; ++b) {
    const std::vector<double> seconds(b->seconds, b->seconds + b->readings);
    reply["blocks"].push_back(
        {{"seconds", seconds}, {"launches", b->launches}, {"mid_monotonic_s", b->mid_monotonic_s}});
  }
  hillclimb_timer_free(result);
  return reply;
}

Json answer(const std::string& op, const Json& request) {
  if (op == "hello" && request.value("protocol", 0) != 1) refuse("this worker speaks protocol 1");
  if (op == "hello")
    return {{"protocol", 1}, {"worker", "example-cpp/1"}, {"offers", Json::array({Json{{"implementation", "exp"}}})}};
  if (op == "bye") return Json::object();
  if (op != "prepare" && op != "check" && op != "time") refuse("no such op: " + op);
  if (request.value("slot", "main") != "main") refuse("this worker has the slot `main` alone");
  if (op == "prepare") return prepare(request);
  if (x.empty()) refuse("nothing is prepared");
  return op == "check" ? check(request) : timed(request);
}

int main() {
  FILE* replies = fdopen(dup(1), "w");  // keep the real standard output for replies,
  dup2(2, 1);                           // and send whatever a library prints to standard error
  for (std::string line; std::getline(std::cin, line);) {
    std::string op;
    Json reply;
    try {
      const Json request = Json::parse(line);
      op = request.at("op");
      reply = {{"ok", true}, {"op", op}};
      reply.update(answer(op, request));
    } catch (const std::exception& error) {  // a worker answers every request, whatever happens
      const char* code = op == "prepare" ? "NotAvailable" : "MeasurementFailed";
      reply = {{"ok", false}, {"op", op}, {"code", code}, {"message", error.what()}};
    }
    const auto lenient = Json::error_handler_t::replace;
    fprintf(replies, "%s\n", reply.dump(-1, ' ', false, lenient).c_str());
    fflush(replies);
    if (op == "bye") break;
  }
}
