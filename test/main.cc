// The main of every test program: temporary files lie in one folder of the process, which goes when it ends.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const char* base = std::getenv("TMPDIR");
  // a short name: paths of sockets hold about a hundred characters
  std::string folder = std::string(base && *base ? base : "/tmp") + "/hct-XXXXXX";
  if (!::mkdtemp(folder.data())) return 1;
  std::filesystem::permissions(folder, std::filesystem::perms(0755));  // tests that are another user look in as well
  ::setenv("TMPDIR", folder.c_str(), 1);
  const int status = RUN_ALL_TESTS();
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, ignored)) {
    // read-only folders of a store are emptied too
    if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) {
      std::filesystem::permissions(entry.path(), std::filesystem::perms::owner_all, std::filesystem::perm_options::add,
                                   ignored);
    }
  }
  std::filesystem::remove_all(folder, ignored);
  return status;
}
