// What all workers in C++ answer alike: the greeting, refusals, goodbye.
#include "bench/serve.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace hc::bench {
namespace {

class Echo : public Service {
 public:
  int asked = 0;

 protected:
  Result<Json> hello(const Json& /*request*/) override { return Json{{"worker", "echo/1"}}; }
  Result<Json> dispatch(const std::string& op, const Json& request) override {
    ++asked;
    if (op == "fail") return Diagnostic{Code::not_available, "there is no echo"}.fix("shout");
    return Json{{"said", request.value("say", "")}};
  }
};

TEST(Serve, AnswersAfterAGreetingUntilBye) {
  Echo echo;
  EXPECT_EQ(echo.answer(R"({"op":"hello","protocol":1})").dump(), R"({"ok":true,"op":"hello","worker":"echo/1"})");
  EXPECT_EQ(echo.answer(R"({"op":"any","say":"x"})").dump(), R"({"ok":true,"op":"any","said":"x"})");
  EXPECT_FALSE(echo.done());
  EXPECT_EQ(echo.answer(R"({"op":"bye"})").dump(), R"({"ok":true,"op":"bye"})");
  EXPECT_TRUE(echo.done());
  EXPECT_EQ(echo.asked, 1);
}

TEST(Serve, NothingIsDoneForAStranger) {
  Echo echo;
  for (const char* line : {R"({"op":"any"})", R"({"op":"hello","protocol":2})", R"({"op":"hello"})", R"({"say":"x"})",
                           "[1]", "nonsense", R"({"op":"any"})"}) {
    const Json reply = echo.answer(line);
    EXPECT_FALSE(reply.value("ok", true)) << line;
    EXPECT_FALSE(reply.value("message", "").empty()) << line;
  }
  EXPECT_EQ(echo.asked, 0);
  EXPECT_NE(echo.answer(R"({"op":"hello","protocol":2})").value("message", "").find("speaks protocol 1"),
            std::string::npos);
}

TEST(Serve, ARefusalHasItsCodeAndItsHelp) {
  Echo echo;
  (void)echo.answer(R"({"op":"hello","protocol":1})");
  EXPECT_EQ(echo.answer(R"({"op":"fail"})").dump(),
            R"({"ok":false,"op":"fail","code":"NotAvailable","message":"there is no echo","help":"shout"})");
}

}  // namespace
}  // namespace hc::bench
