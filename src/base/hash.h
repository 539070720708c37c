// SHA-256 of text (OpenSSL's).
#pragma once

#include <string>
#include <string_view>

namespace hc {

/// 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace hc
