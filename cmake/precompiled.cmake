# Headers of the standard library, fmt, JSON and GoogleTest, parsed once instead of once a file. Sources include what they
# use all the same: a build without HC_PCH shows it.
set(hc_headers <algorithm> <charconv> <cmath> <filesystem> <functional> <map> <memory> <optional> <set> <string> <vector>
               <fmt/format.h>)
if(HC_PCH)
  # One set of flags for all who share the headers; and what gcc 12 thinks of its own std::string when it comes out of a
  # precompiled header is wrong.
  add_compile_options(-fopenmp -Wno-array-bounds -Wno-stringop-overflow -Wno-restrict)
  file(WRITE ${CMAKE_BINARY_DIR}/precompiled.cc "")
  add_library(hc_library_headers STATIC ${CMAKE_BINARY_DIR}/precompiled.cc)
  target_link_libraries(hc_library_headers PRIVATE hc_flags fmt::fmt nlohmann_json::nlohmann_json)
  target_precompile_headers(hc_library_headers PRIVATE ${hc_headers} "${CMAKE_SOURCE_DIR}/src/base/json.h")
  if(HC_TESTS)
    find_package(GTest REQUIRED)
    file(WRITE ${CMAKE_BINARY_DIR}/precompiled_main.cc "int main() {}\n")
    add_executable(hc_test_headers EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/precompiled_main.cc)
    target_link_libraries(hc_test_headers PRIVATE hc_flags hc_base GTest::gtest)
    target_precompile_headers(hc_test_headers PRIVATE ${hc_headers} "${CMAKE_SOURCE_DIR}/src/base/json.h" <gtest/gtest.h>)
  endif()
endif()

# More of the same that only the tests' inlining brings out.
set(hc_test_quiet -Wno-stringop-overread -Wno-maybe-uninitialized -Wno-dangling-pointer -Wno-free-nonheap-object
                  -Wno-use-after-free -Wno-nonnull)
if(TARGET hc_test_headers)
  target_compile_options(hc_test_headers PRIVATE ${hc_test_quiet})
endif()

function(hc_precompiled target headers)
  if(HC_PCH)
    if(headers STREQUAL hc_test_headers)
      target_compile_options(${target} PRIVATE ${hc_test_quiet})
    endif()
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endif()
endfunction()
