// Manifests survive the way through JSON, and a damaged one is refused by the name of the field.
#include "runtime/manifest.h"

#include <gtest/gtest.h>

namespace hc::runtime {
namespace {

Manifest sample() {
  Manifest manifest;
  manifest.kernel = "softmax";
  manifest.shared_object = "/cache/0123.so";
  manifest.source_sha256 = std::string(64, 'a');
  manifest.config = "block_sizes=[1,4096]";
  manifest.args = {"f32[4096,2560]", "0.5"};
  manifest.storages = {{"x", DType::f32, 4096 * 2560, 0, false, false}, {"out", DType::bf16, 7, -1, true, true}};
  return manifest;
}

TEST(Manifest, RoundTrip) {
  const Manifest in = sample();
  const auto out = manifest_from_json(*parse_json(to_json(in).dump()));
  ASSERT_TRUE(out.ok()) << diag::render(out.error());
  EXPECT_EQ(to_json(out.value()).dump(), to_json(in).dump());
  EXPECT_EQ(out.value().storages[1].dtype, DType::bf16);
  EXPECT_EQ(out.value().storages[1].param_index, -1);
  EXPECT_TRUE(out.value().storages[1].returned);
  EXPECT_EQ(to_json(in)["schema"], "manifest/1");
}

TEST(Manifest, EveryFieldIsNeededAndOfItsKind) {
  const Json whole = to_json(sample());
  for (const auto& [name, value] : whole.items()) {
    Json without = whole;
    without.erase(name);
    const auto missing = manifest_from_json(without);
    ASSERT_FALSE(missing.ok()) << name;
    EXPECT_NE(missing.error().message.find(name), std::string::npos) << missing.error().message;
    Json wrong = whole;
    wrong[name] = 3.5;
    EXPECT_FALSE(manifest_from_json(wrong).ok()) << name;
  }
  for (const auto& [name, value] : whole["storages"][0].items()) {
    Json without = whole;
    without["storages"][0].erase(name);
    EXPECT_FALSE(manifest_from_json(without).ok()) << name;
  }
}

TEST(Manifest, UnknownSchemaDtypeAndSize) {
  Json json = to_json(sample());
  json["schema"] = "manifest/2";
  EXPECT_FALSE(manifest_from_json(json).ok());
  json = to_json(sample());
  json["storages"][0]["dtype"] = "f17";
  EXPECT_FALSE(manifest_from_json(json).ok());
  json = to_json(sample());
  json["storages"][0]["numel"] = -1;
  EXPECT_FALSE(manifest_from_json(json).ok());
  EXPECT_FALSE(manifest_from_json(Json::array()).ok());
}

}  // namespace
}  // namespace hc::runtime
