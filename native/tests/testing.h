// A test harness in one header: include it in one NAME_test.cc, write tests, and the file is a program.
//
//   TEST(AnEmptyBlockHoldsNoRecord) { EXPECT_EQ(Scan({}).position, 0u) << "said at a failure only"; }
//
//   NAME_test             runs all tests; exit code 1 where one fails or there is none
//   NAME_test Empty       runs those whose name contains "Empty"
#ifndef WELLFED_TESTS_TESTING_H_
#define WELLFED_TESTS_TESTING_H_

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace wellfed::testing {

struct Test {
  const char* name;
  void (*run)();
};

struct Registry {
  std::vector<Test> tests;
  int failures = 0;  // Of the test that runs.

  static Registry& Get() {
    static Registry registry;
    return registry;
  }
};

struct Registration {
  Registration(const char* name, void (*run)()) { Registry::Get().tests.push_back({name, run}); }
};

template <typename T>
std::string Show(const T& value) {
  std::ostringstream out;
  if constexpr (std::is_enum_v<T>) {
    out << static_cast<std::underlying_type_t<T>>(value);
  } else if constexpr (std::is_same_v<T, uint8_t>) {
    out << static_cast<int>(value);
  } else if constexpr (requires { out << value; }) {
    out << value;
  } else {
    out << '{';
    for (const auto& element : value) out << (&element == &*value.begin() ? "" : ", ") << Show(element);
    out << '}';
  }
  return out.str();
}

// One check. Reports itself when it ends, with what was streamed into it.
class Check {
 public:
  Check(bool holds, const char* file, int line, std::string text)
      : holds_(holds), file_(file), line_(line), text_(std::move(text)) {}
  Check(const Check&) = delete;
  ~Check() {
    if (holds_) return;
    ++Registry::Get().failures;
    const std::string note = note_.str();
    std::fprintf(stderr, "%s:%d: %s%s%s\n", file_, line_, text_.c_str(), note.empty() ? "" : "\n  ",
                 note.c_str());
  }

  template <typename T>
  Check& operator<<(const T& value) {
    if (!holds_) note_ << Show(value);
    return *this;
  }

 private:
  const bool holds_;
  const char* const file_;
  const int line_;
  const std::string text_;
  std::ostringstream note_;
};

template <typename A, typename B>
Check CheckEqual(const A& a, const B& b, const char* a_text, const char* b_text, const char* file, int line) {
  if (a == b) return Check(true, file, line, "");
  return Check(false, file, line,
               std::string("expected ") + a_text + " == " + b_text + "\n  " + a_text + " is " + Show(a) +
                   "\n  " + b_text + " is " + Show(b));
}

inline bool RunOne(const Test& test) {
  Registry::Get().failures = 0;
  try {
    test.run();
  } catch (const std::exception& error) {
    ++Registry::Get().failures;
    std::fprintf(stderr, "it threw: %s\n", error.what());
  }
  if (Registry::Get().failures > 0) std::fprintf(stderr, "FAILED %s\n", test.name);
  return Registry::Get().failures == 0;
}

inline int RunAll(const char* filter) {
  int ran = 0, failed = 0;
  for (const Test& test : Registry::Get().tests) {
    if (std::strstr(test.name, filter) == nullptr) continue;
    ++ran;
    failed += !RunOne(test);
  }
  std::printf("%d tests, %d failed\n", ran, failed);
  return ran == 0 || failed > 0;
}

}  // namespace wellfed::testing

#define TEST(name)                                                                 \
  static void name();                                                              \
  static const wellfed::testing::Registration registration_of_##name(#name, name); \
  static void name()

#define EXPECT(condition) \
  wellfed::testing::Check(static_cast<bool>(condition), __FILE__, __LINE__, "expected " #condition)

#define EXPECT_EQ(a, b) wellfed::testing::CheckEqual(a, b, #a, #b, __FILE__, __LINE__)

int main(int argc, char** argv) { return wellfed::testing::RunAll(argc > 1 ? argv[1] : ""); }

#endif  // WELLFED_TESTS_TESTING_H_
